// Measures of ranks that are sums of sigmoids: ApproxNDCG and its relatives.
#pragma once

#include "_smooth_measure.hpp"

namespace skrank {

// Ratios of exponentials of scores stay in the range of a double up to this difference.
constexpr double MAX_RATIO_RANGE = 600.0;

// The discount as a function of real ranks.
enum DiscountRule { INVERSE_LOG2 = 0, RECIPROCAL = 1, TABLE = 2 };

struct RealDiscount {
    int rule;
    // Values and slopes at the ranks 1 ... n_table, between which a cubic runs.
    const double *table, *slope;
    int n_table;
    double cut_off;    // 0 for none
    double steepness;  // of the cut-off, and of comparisons of ranks

    SKRANK_MEMBER void at(double rank, double *value, double *derivative) const {
        if (rule == INVERSE_LOG2) {
            *value = LN2 / std::log1p(rank);
            *derivative = -*value * *value / (LN2 * (1.0 + rank));
        } else if (rule == RECIPROCAL) {
            *value = 1.0 / rank;
            *derivative = -*value * *value;
        } else {
            interpolate(rank, value, derivative);
        }
        if (cut_off > 0.0) cut(rank, value, derivative);
    }

  private:
    SKRANK_MEMBER void interpolate(double rank, double *value, double *derivative) const {
        // The comparisons are such that NaN finds a place in the table.
        double at = rank >= 1.0 ? rank - 1.0 : 0.0;
        at = at < n_table - 1 ? at : n_table - 1;
        const int left = std::min((int)at, std::max(n_table - 2, 0));
        const int right = std::min(left + 1, n_table - 1);
        const double t = at - left, u = 1.0 - t, rise = table[right] - table[left];
        *value = u * table[left] + t * table[right] +
                 t * u * (u * (slope[left] - rise) - t * (slope[right] - rise));
        *derivative = rise + (1.0 - 2.0 * t) * (u * (slope[left] - rise) -
                                                t * (slope[right] - rise)) -
                      t * u * (slope[left] + slope[right] - 2.0 * rise);
    }

    SKRANK_MEMBER void cut(double rank, double *value, double *derivative) const {
        const double x = steepness * (cut_off + 0.5 - rank);
        const double e = std::exp(-std::abs(x)), larger = 1.0 / (1.0 + e);
        const double inside = x > 0.0 ? larger : e * larger;
        const double bell = e * larger * larger;
        *derivative = *derivative * inside - *value * steepness * bell;
        *value *= inside;
    }
};

// Rank of document i, 1 plus a sigmoid of each difference of scores; slopes[j] is its
// derivative with respect to x[j]. For scores close to each other x holds exponentials,
// and zeros beyond; for others (`Wide`) the scores themselves, and -inf beyond.
template <bool Wide>
SKRANK_INLINE double sigmoid_rank(const double *x, int i, int m, double *slopes) {
    const double own = x[i], inverse = 1.0 / own;
    Vec total = {};
    for (int j = 0; j < m; j += LANES) {
        if (Wide) {
            const Vec gap = load(x + j) - own, e = exp_clipped(-magnitude(gap));
            const Vec larger = 1.0 / (1.0 + e), smaller = e * larger;
            total += where(gap > 0.0, larger, smaller);
            store(slopes + j, larger * smaller);
        } else {
            const Vec odds = load(x + j) * inverse, below = 1.0 / (1.0 + odds);
            const Vec above = odds * below;
            total += above;
            store(slopes + j, above * below);
        }
    }
    slopes[i] = 0.0;
    return 0.5 + sum(total);  // a document is above itself by one half
}

SKRANK_INLINE void move_rank(const double *slopes, double pull, int i, int m,
                             double *grad) {
    Vec total = {};
    for (int j = 0; j < m; j += LANES) {
        const Vec s = load(slopes + j);
        total += s;
        store(grad + j, load(grad + j) + pull * s);
    }
    grad[i] -= pull * sum(total);
}

// Arrays of the documents of positive gain, with room for PADDING numbers more.
struct ChosenRanks {
    int n;
    double *rank, *gain, *pull;  // pull: derivative of the form by the rank
    double *slopes;              // work space
};

// Average precision of real ranks. A document counts as above another by the sigmoid of
// the difference of their ranks.
SKRANK_INLINE double precision_of_ranks(const ChosenRanks &c, const RealDiscount &discount,
                                        Scratch &scratch) {
    const double steepness = discount.steepness;
    double value = 0.0;
    for (int i = 0; i < c.n && !scratch.spend(4 * c.n); i++) {
        Vec hits = {}, slope = {};
        for (int u = 0; u < c.n; u += LANES) {
            const Vec gap = steepness * (c.rank[i] - load(c.rank + u));
            const Vec e = exp_clipped(-magnitude(gap)), larger = 1.0 / (1.0 + e);
            const Vec smaller = e * larger, g = load(c.gain + u);
            const Vec h = g * larger * smaller;
            hits += g * where(gap > 0.0, larger, smaller);
            slope += h;
            store(c.slopes + u, h);
        }
        double d, derivative;
        discount.at(c.rank[i], &d, &derivative);
        const double g = c.gain[i], above = 1.0 + (sum(hits) - 0.5 * g);
        value += g * d * above;
        const double pull = g * d * steepness;
        for (int u = 0; u < c.n; u++) c.pull[u] -= pull * c.slopes[u];
        c.pull[i] += g * derivative * above + pull * sum(slope);
    }
    return value;
}

// The cascade of real ranks: the product over documents u of 1 - g_u P(u above i).
SKRANK_INLINE double cascade_of_ranks(const ChosenRanks &c, const RealDiscount &discount,
                                      Scratch &scratch) {
    const double steepness = discount.steepness;
    double value = 0.0;
    for (int i = 0; i < c.n && !scratch.spend(4 * c.n); i++) {
        const double own_gain = c.gain[i];
        c.gain[i] = 0.0;  // a document does not stop at itself
        Vec reach = Vec{} + 1.0, slope = {};
        for (int u = 0; u < c.n; u += LANES) {
            const Vec gap = steepness * (c.rank[i] - load(c.rank + u));
            const Vec e = exp_clipped(-magnitude(gap)), larger = 1.0 / (1.0 + e);
            const Vec smaller = e * larger, g = load(c.gain + u);
            const Vec above = where(gap > 0.0, larger, smaller);
            const Vec below = where(gap > 0.0, smaller, larger);
            const Vec passed = below + (1.0 - g) * above;  // 1 - g above, never 0
            const Vec h = g * above * (below / passed);
            reach *= passed;
            slope += h;
            store(c.slopes + u, h);
        }
        c.gain[i] = own_gain;
        double d, derivative;
        discount.at(c.rank[i], &d, &derivative);
        const double arrives = own_gain * ((reach[0] * reach[1]) * (reach[2] * reach[3]));
        value += arrives * d;
        const double pull = arrives * d * steepness;
        for (int u = 0; u < c.n; u++) c.pull[u] += pull * c.slopes[u];
        c.pull[i] += arrives * derivative - pull * sum(slope);
    }
    return value;
}

// Sum of the form; grad receives its derivative with respect to x.
template <bool Wide>
SKRANK_INLINE double sigmoid_form(const double *x, int m, int form, const int *chosen,
                                  const ChosenRanks &c, const RealDiscount &discount,
                                  double *slopes, double *grad, Scratch &scratch) {
    double value = 0.0;
    if (form == GAIN_DISCOUNT) {
        for (int a = 0; a < c.n && !scratch.spend(m); a++) {
            const int i = chosen[a];
            double d, derivative;
            discount.at(sigmoid_rank<Wide>(x, i, m, slopes), &d, &derivative);
            value += c.gain[a] * d;
            move_rank(slopes, c.gain[a] * derivative, i, m, grad);
        }
        return value;
    }
    for (int a = 0; a < c.n && !scratch.spend(m); a++)
        c.rank[a] = sigmoid_rank<Wide>(x, chosen[a], m, slopes);
    pad(c.rank, c.n, INFINITE);
    pad(c.gain, c.n, 0.0);
    std::fill(c.pull, c.pull + c.n, 0.0);
    value = form == CASCADE ? cascade_of_ranks(c, discount, scratch)
                            : precision_of_ranks(c, discount, scratch);
    for (int a = 0; a < c.n && !scratch.spend(m); a++) {
        sigmoid_rank<Wide>(x, chosen[a], m, slopes);
        move_rank(slopes, c.pull[a], chosen[a], m, grad);
    }
    return value;
}

SKRANK_CLONES
static double sigmoid_form_factorised(const double *x, int m, int form, const int *chosen,
                                      const ChosenRanks &c, const RealDiscount &discount,
                                      double *slopes, double *grad, Scratch &scratch) {
    return sigmoid_form<false>(x, m, form, chosen, c, discount, slopes, grad, scratch);
}

SKRANK_CLONES
static double sigmoid_form_wide(const double *x, int m, int form, const int *chosen,
                                const ChosenRanks &c, const RealDiscount &discount,
                                double *slopes, double *grad, Scratch &scratch) {
    return sigmoid_form<true>(x, m, form, chosen, c, discount, slopes, grad, scratch);
}

// Values and gradients; the sigmoid of a difference of scores is that of inverse_width
// times the difference.
static void sigmoid_measures(const SmoothMeasure &measure, const double *scores,
                             double inverse_width, const RealDiscount &discount,
                             double *values, double *gradient, int n_threads) {
    const Room room = {measure.queries.longest() + PADDING, 8, 1};
    for_each_query(
        measure.queries, PAIR_CHUNK, n_threads, room, [&](Query q, Scratch &scratch) {
            const double factor = measure.factor[q.number];
            if (factor == 0.0) return;
            const int m = q.size;
            const double *gain = measure.gain + q.start;
            double *x = scratch.array(0), *e = scratch.array(1), *grad = scratch.array(2);
            int *chosen = scratch.indices(0);
            const ChosenRanks c = {find_gains(gain, m, chosen), scratch.array(3),
                                   scratch.array(4), scratch.array(5), scratch.array(6)};
            gather(gain, chosen, c.n, 1.0, c.gain);
            for (int i = 0; i < m; i++) x[i] = inverse_width * scores[q.start + i];
            std::fill(grad, grad + m, 0.0);
            double top, bottom, value, *slopes = scratch.array(7);
            find_extremes(x, m, &bottom, &top);
            // The negation also catches an infinite range and NaN.
            if (!(top - bottom <= MAX_RATIO_RANGE)) {
                pad(x, m, -INFINITE);
                value = sigmoid_form_wide(x, m, measure.form, chosen, c, discount, slopes,
                                          grad, scratch);
            } else {
                exp_shifted(x, bottom + 0.5 * (top - bottom), m, e);
                value = sigmoid_form_factorised(e, m, measure.form, chosen, c, discount,
                                                slopes, grad, scratch);
            }
            values[q.number] = factor * value;
            for (int i = 0; i < m; i++)
                gradient[q.start + i] = factor * inverse_width * grad[i];
        });
}

}  // namespace skrank
