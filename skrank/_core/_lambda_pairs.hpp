// Pairs weighted by what a swap of two documents would change in a measure.
//
// Documents stand in order of score, so that a pair (i, j) has i < j. Every measure with
// compiled terms has swaps of the form |gain[i] - gain[j]| * |a[i] - b[j]|, with a and b
// that depend on the current ranking only; they are prefix sums here.
#pragma once

#include "_for_each_query.hpp"
#include "_simd.hpp"

namespace skrank {

enum DeltaKind { GAIN_DISCOUNT, AVERAGE_PRECISION, RECIPROCAL_RANK, CASCADE };

// Weights of pairs are divided by near + steep * |x_i - x_j|.
struct Damping {
    double near = 1.0, steep = 0.0;
};

// Scores that are all equal tell nothing about which pairs are close.
SKRANK_INLINE Damping damping_between(double near, double bottom, double top) {
    Damping damping;
    if (near > 0.0 && top > bottom) damping = {near, 1.0};
    return damping;
}

struct LambdaSums {
    double loss = 0.0;
    double pull = 0.0;  // sum of |lambda| over pairs
};

// log(1 + z) / u with u = z / (2 + z) and z in [0, 1]: 2 atanh(u) / u as a polynomial in
// u^2, interpolated at Chebyshev nodes; relative error 2e-16.
SKRANK_INLINE Vec log1p_over_u(Vec v) {
    Vec p = v * 0.17780763826113302 + 0.098807890487647862;
    p = p * v + 0.13591305485579894;
    p = p * v + 0.15363676248891633;
    p = p * v + 0.18182859800473911;
    p = p * v + 0.22222190861346283;
    p = p * v + 0.28571429111657159;
    p = p * v + 0.399999999952876;
    p = p * v + 0.66666666666682572;
    p = p * v + 2.0;
    return p;
}

// Row i against all documents below it. `e` is exp(x - shift), or x itself when Wide.
// The padding of b makes the weights beyond the last document 0.
template <bool Weighted, bool Wide>
SKRANK_INLINE LambdaSums lambda_row(const double *x, const double *e,
                                    const double *gain, const double *weight,
                                    double *b, double a_i, int i, int m,
                                    Damping damping, double *grad, double *hess) {
    pad(b, m, a_i);
    const double x_i = x[i], gain_i = gain[i], e_i = Wide ? 0.0 : e[i];
    const double inverse = Wide ? 0.0 : 1.0 / e_i;
    Vec weight_i = {};
    if (Weighted) weight_i += weight[i];
    Vec loss = {}, pull = {}, slope = {}, curvature = {};
    for (int j = i + 1; j < m; j += LANES) {
        const Vec gap = x_i - load(x + j);  // >= 0
        const Vec z = Wide ? exp_clipped(-gap) : load(e + j) * inverse;
        const Vec t1 = 1.0 + z, t2 = 2.0 + z, t12 = t1 * t2;
        const Vec distance = damping.near + damping.steep * gap;
        // One division serves the sigmoid, the logarithm and the damping.
        const Vec both = 1.0 / (t12 * distance), inv = both * distance;
        const Vec right = t2 * inv, u = z * t1 * inv;
        const Vec wrong = z * right;  // chance that j beats i
        const Vec dg = gain_i - load(gain + j);
        const Mask agrees = dg > 0.0;  // the upper document is the preferred one
        Vec w = magnitude(dg * (a_i - load(b + j))) * (both * t12);
        if (Weighted) w *= where(agrees, weight_i, load(weight + j));
        const Vec lambda = w * where(agrees, wrong, right);
        const Vec signed_lambda = where(agrees, lambda, -lambda);
        const Vec h = w * wrong * right;
        loss += w * (u * log1p_over_u(u * u) + where(agrees, Vec{}, gap));
        pull += lambda;
        slope += signed_lambda;
        curvature += h;
        store(grad + j, load(grad + j) + signed_lambda);
        store(hess + j, load(hess + j) + h);
    }
    grad[i] -= sum(slope);
    hess[i] += sum(curvature);
    LambdaSums sums;
    sums.loss = sum(loss);
    sums.pull = sum(pull);
    return sums;
}

// b[j] for row i of the cascade model: with stop probabilities p = gain,
// |delta| = |p_i - p_j| * reach_i * |d_i - sum_{i<t<j} d_t p_t Q_t - d_j Q_j|, where
// Q_j is the chance to pass all documents strictly between i and j.
SKRANK_INLINE void cascade_row(const double *gain, const double *discount,
                               double reach, int i, int m, double *b) {
    double between = 0.0, pass = reach;
    for (int j = i + 1; j < m; j++) {
        b[j] = between + discount[j] * pass;
        between += discount[j] * gain[j] * pass;
        pass *= 1.0 - gain[j];
    }
}

template <bool Weighted, bool Wide>
SKRANK_INLINE LambdaSums lambda_rows(bool cascade, const double *x, const double *e,
                                     const double *gain, const double *weight,
                                     const double *discount, const double *a,
                                     double *b, int rows, int m, Damping damping,
                                     double *grad, double *hess, Scratch &scratch) {
    LambdaSums total;
    double reach = 1.0;
    for (int i = 0; i < rows; i++) {
        if (scratch.spend(2 * (m - i))) break;
        double a_i = cascade ? reach * discount[i] : a[i];
        if (cascade) {
            cascade_row(gain, discount, reach, i, m, b);
            reach *= 1.0 - gain[i];
        }
        const LambdaSums row = lambda_row<Weighted, Wide>(
            x, e, gain, weight, b, a_i, i, m, damping, grad, hess);
        total.loss += row.loss;
        total.pull += row.pull;
    }
    return total;
}

#define SKRANK_LAMBDA_ARGUMENTS                                                        \
    bool cascade, const double *x, const double *e, const double *gain,               \
        const double *weight, const double *discount, const double *a, double *b,     \
        int rows, int m, Damping damping, double *grad, double *hess, Scratch &scratch
#define SKRANK_LAMBDA_VALUES \
    cascade, x, e, gain, weight, discount, a, b, rows, m, damping, grad, hess, scratch

SKRANK_CLONES static LambdaSums lambda_plain(SKRANK_LAMBDA_ARGUMENTS) {
    return lambda_rows<false, false>(SKRANK_LAMBDA_VALUES);
}
SKRANK_CLONES static LambdaSums lambda_plain_wide(SKRANK_LAMBDA_ARGUMENTS) {
    return lambda_rows<false, true>(SKRANK_LAMBDA_VALUES);
}
SKRANK_CLONES static LambdaSums lambda_weighted(SKRANK_LAMBDA_ARGUMENTS) {
    return lambda_rows<true, false>(SKRANK_LAMBDA_VALUES);
}
SKRANK_CLONES static LambdaSums lambda_weighted_wide(SKRANK_LAMBDA_ARGUMENTS) {
    return lambda_rows<true, true>(SKRANK_LAMBDA_VALUES);
}

#undef SKRANK_LAMBDA_ARGUMENTS
#undef SKRANK_LAMBDA_VALUES

// With hits(i) relevant documents up to rank i and S the prefix sums of relevance times
// discount, a swap changes AP by (hits_i + 1 - g_i) d_i + S_{j-1} - S_i - hits_j d_j.
static void average_precision_terms(const double *gain, const double *discount, int m,
                                    double *a, double *b) {
    double hits = 0.0, sum = 0.0;
    for (int i = 0; i < m; i++) {
        const double before = sum;
        hits += gain[i];
        sum += gain[i] * discount[i];
        a[i] = (hits + 1.0 - gain[i]) * discount[i] - sum;
        b[i] = hits * discount[i] - before;
    }
}

// Only swaps that move the first relevant document change its discount: rows above it
// (a relevant document comes up) and its own row (it goes down, to the rank of j or of
// the second relevant document). Returns the number of rows.
static int reciprocal_rank_terms(const double *gain, const double *discount, int m,
                                 double *a, double *b) {
    int first = 0;
    while (first < m && gain[first] == 0.0) first++;
    if (first == m) return 0;
    int second = first + 1;
    while (second < m && gain[second] == 0.0) second++;
    for (int j = 0; j < m; j++) {
        a[j] = discount[j];
        b[j] = gain[j] > 0.0 ? discount[first] : discount[std::min(j, second)];
    }
    return first + 1;
}

// Sums over the pairs with at least one of the first `top` documents. `weight` may be
// null. Arrays of documents have room for PADDING more; e, a and b are work space.
static LambdaSums lambda_pairs(int kind, double *x, double *gain, double *weight,
                               const double *discount, int top, int m, double near,
                               double *e, double *a, double *b, double *grad,
                               double *hess, Scratch &scratch) {
    int rows = std::min(top, m);
    while (rows > 0 && discount[rows - 1] == 0.0) rows--;  // below the cut-off
    if (kind == GAIN_DISCOUNT) {
        std::copy(discount, discount + m, a);
        std::copy(discount, discount + m, b);
    } else if (kind == AVERAGE_PRECISION) {
        average_precision_terms(gain, discount, m, a, b);
    } else if (kind == RECIPROCAL_RANK) {
        rows = std::min(rows, reciprocal_rank_terms(gain, discount, m, a, b));
    }
    const bool cascade = kind == CASCADE;
    const Damping damping = damping_between(near, x[m - 1], x[0]);
    pad(x, m, x[m - 1]);
    pad(gain, m, 0.0);
    if (weight) pad(weight, m, 0.0);
    if (!(x[0] - x[m - 1] <= 600.0)) {  // exponentials would leave the range of a double
        return (weight ? lambda_weighted_wide : lambda_plain_wide)(
            cascade, x, x, gain, weight, discount, a, b, rows, m, damping, grad, hess,
            scratch);
    }
    exp_shifted(x, 0.5 * (x[0] + x[m - 1]), m, e);
    return (weight ? lambda_weighted : lambda_plain)(
        cascade, x, e, gain, weight, discount, a, b, rows, m, damping, grad, hess,
            scratch);
}

// The same for GAIN_DISCOUNT and all pairs, with documents in order of gain: pairs of
// equal gain, which would add nothing, are then never visited. `lower` is where the
// lower gains begin, `discount` that of the current rank of each document.
template <bool Weighted, bool Wide>
SKRANK_INLINE LambdaSums graded_rows(const double *x, const double *e,
                                     const double *gain, const double *weight,
                                     double *discount, const int *lower, int m,
                                     Damping damping, double *grad, double *hess,
                                     Scratch &scratch) {
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    LambdaSums total;
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(2 * (m - lower[i]))) break;
        const double x_i = x[i], gain_i = gain[i], d_i = discount[i];
        const double w_i = Weighted ? weight[i] : 1.0;
        Vec e_i = {}, loss = {}, slope = {}, curvature = {};
        if (!Wide) e_i += e[i];
        pad(discount, m, d_i);  // no change beyond the last document
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec gap = x_i - load(x + j);
            const Mask reversed = gap < 0.0;
            Vec larger, smaller;  // proportional to the chances of the two orders
            if (Wide) {
                larger = one;
                smaller = exp_clipped(-magnitude(gap));
            } else {
                const Vec e_j = load(e + j);
                larger = where(reversed, e_j, e_i);
                smaller = where(reversed, e_i, e_j);
            }
            const Vec t1 = larger + smaller, t2 = t1 + larger, t12 = t1 * t2;
            const Vec distance = damping.near + damping.steep * magnitude(gap);
            const Vec both = 1.0 / (t12 * distance), inv = both * distance;
            const Vec scale = t2 * inv, u = smaller * t1 * inv;
            const Vec likely = larger * scale, unlikely = smaller * scale;
            Vec w = (gain_i - load(gain + j)) * magnitude(d_i - load(discount + j));
            w *= both * t12;
            if (Weighted) w *= w_i;
            const Vec lambda = w * where(reversed, likely, unlikely);
            const Vec h = w * likely * unlikely;
            loss += w * (u * log1p_over_u(u * u) - where(reversed, gap, Vec{}));
            slope += lambda;
            curvature += h;
            store(grad + j, load(grad + j) + lambda);
            store(hess + j, load(hess + j) + h);
        }
        grad[i] -= sum(slope);
        hess[i] += sum(curvature);
        total.loss += sum(loss);
        total.pull += sum(slope);
    }
    return total;
}

#define SKRANK_GRADED_ARGUMENTS                                                        \
    const double *x, const double *e, const double *gain, const double *weight,       \
        double *discount, const int *lower, int m, Damping damping, double *grad,     \
        double *hess, Scratch &scratch
#define SKRANK_GRADED_VALUES \
    x, e, gain, weight, discount, lower, m, damping, grad, hess, scratch

SKRANK_CLONES static LambdaSums graded_plain(SKRANK_GRADED_ARGUMENTS) {
    return graded_rows<false, false>(SKRANK_GRADED_VALUES);
}
SKRANK_CLONES static LambdaSums graded_plain_wide(SKRANK_GRADED_ARGUMENTS) {
    return graded_rows<false, true>(SKRANK_GRADED_VALUES);
}
SKRANK_CLONES static LambdaSums graded_weighted(SKRANK_GRADED_ARGUMENTS) {
    return graded_rows<true, false>(SKRANK_GRADED_VALUES);
}
SKRANK_CLONES static LambdaSums graded_weighted_wide(SKRANK_GRADED_ARGUMENTS) {
    return graded_rows<true, true>(SKRANK_GRADED_VALUES);
}

#undef SKRANK_GRADED_ARGUMENTS
#undef SKRANK_GRADED_VALUES

static LambdaSums graded_pairs(double *x, double *gain, const double *weight,
                               double *discount, const int *lower, int m, double near,
                               double *e, double *grad, double *hess,
                               Scratch &scratch) {
    double top, bottom;
    find_extremes(x, m, &bottom, &top);
    const Damping damping = damping_between(near, bottom, top);
    pad(x, m, bottom);
    pad(gain, m, 0.0);
    if (!(top - bottom <= 300.0)) {  // products of two exponentials must fit a double
        return (weight ? graded_weighted_wide : graded_plain_wide)(
            x, x, gain, weight, discount, lower, m, damping, grad, hess, scratch);
    }
    exp_shifted(x, 0.5 * (top + bottom), m, e);
    return (weight ? graded_weighted : graded_plain)(
        x, e, gain, weight, discount, lower, m, damping, grad, hess, scratch);
}

}  // namespace skrank
