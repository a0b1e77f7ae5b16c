// Losses of boosting over preference pairs, documents in the order of their grades.
#pragma once

#include "_fidelity_sweep.hpp"
#include "_graded_queries.hpp"

namespace skrank {

// Ratios of exponentials of scores stay in the range of a double up to the first of these
// differences, and their powers of 5/2 up to the second one.
constexpr double MAX_EXPONENTIAL_RANGE = 600.0, MAX_FIDELITY_RANGE = 250.0;

// Whether the scores of a query differ by more than a range.
// The negation of the comparison also catches an infinite difference and NaN.
inline bool is_wide(const double *x, int m, double range, double *centre) {
    double bottom, top;
    find_extremes(x, m, &bottom, &top);
    *centre = bottom + 0.5 * (top - bottom);
    return !(top - bottom <= range);
}

// above[j] = sum of `down` over the documents of better grades than document j.
//
// A pair is a product of a factor of either document, so that running sums over the
// grades replace the sum over pairs.
inline void sums_above(const double *down, const int *lower, int m, double *above) {
    double sum = 0.0;
    for (int first = 0, end; first < m; first = end) {
        end = lower[first];
        double run = 0.0;  // of the documents of one grade
        for (int i = first; i < end; i++) {
            above[i] = sum;
            run += down[i];
        }
        sum += run;
    }
}

// x ** p; whole powers, which are what users ask for, take a few multiplications.
inline double to_power(double x, double p) {
    if (p > 64.0 || p != std::floor(p)) return std::pow(x, p);
    double result = 1.0;
    for (int left = static_cast<int>(p); left > 0; left >>= 1) {
        if (left & 1) result *= x;
        x *= x;
    }
    return result;
}

// The p-th power of the sum of the pairs of each worse document: value, gradient and,
// unless null, the diagonal of the Hessian. `up` holds exp(x - centre), `down` the weight
// over it.
inline double push_factorised(const double *up, const double *down, const int *lower,
                              int m, double p, double factor, double *above,
                              double *gradient, double *hessian) {
    sums_above(down, lower, m, above);
    double value = 0.0, first = 0.0, second = 0.0;
    for (int end = m; end > 0;) {
        // From the worst grade up: the slopes of all worse documents are there by then.
        int begin = end - 1;
        while (begin > 0 && lower[begin - 1] == end) begin--;
        for (int i = begin; i < end; i++) {
            gradient[i] -= down[i] * first;
            if (hessian) hessian[i] += down[i] * (first + down[i] * second);
        }
        for (int j = begin; j < end; j++) {
            if (!(above[j] > 0.0)) continue;
            const double sum = up[j] * above[j];
            const double power = factor * to_power(sum, p);
            const double slope = p * power, share = slope / above[j];
            value += power;
            gradient[j] += slope;
            first += share;
            if (hessian) {
                hessian[j] += p * slope;
                second += (p - 1.0) * share / above[j];
            }
        }
        end = begin;
    }
    return value;
}

// The weighted exponential of a pair; 0 without a weight, even where it overflows.
inline double pair_term(const double *x, const double *weight, int i, int j) {
    const double w = weight ? weight[i] : 1.0;
    return w == 0.0 ? 0.0 : w * std::exp(x[j] - x[i]);
}

// The same for any range of scores, pair by pair.
inline double push_wide(const double *x, const double *weight, const int *lower, int m,
                        double p, double factor, double *gradient, double *hessian,
                        Scratch &scratch) {
    double value = 0.0;
    for (int j = 0; j < m; j++) {
        if (scratch.spend(20 * static_cast<int64_t>(j))) break;
        double sum = 0.0;
        for (int i = 0; i < j && lower[i] <= j; i++) sum += pair_term(x, weight, i, j);
        // Without better documents there is nothing; NaN goes on.
        if (sum == 0.0) continue;
        const double power = factor * to_power(sum, p), slope = p * power;
        value += power;
        gradient[j] += slope;
        if (hessian) hessian[j] += p * slope;
        for (int i = 0; i < j && lower[i] <= j; i++) {
            const double share = pair_term(x, weight, i, j) / sum;
            if (!(share > 0.0)) continue;
            gradient[i] -= slope * share;
            if (hessian) hessian[i] += slope * share * (1.0 + (p - 1.0) * share);
        }
    }
    return value;
}

// `factors`, one number per query, may be null.
static void push_losses(const GradedQueries &queries, const double *scores, double p,
                        const double *factors, double *values, double *gradient,
                        double *hessian, int n_threads) {
    sum_graded_losses(
        queries, scores, 1.0, 4, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            double *up = scratch.array(0), *down = scratch.array(1);
            double *above = scratch.array(2), *curved = hessian ? scratch.array(3) : nullptr;
            const double factor = factors ? factors[q.number] : 1.0;
            if (curved) std::fill(curved, curved + q.size, 0.0);
            double centre, value;
            if (is_wide(q.x, q.size, MAX_EXPONENTIAL_RANGE, &centre)) {
                value = push_wide(q.x, q.weight, q.lower, q.size, p, factor, q.gradient,
                                  curved, scratch);
            } else {
                exp_shifted(q.x, centre, q.size, up);
                for (int i = 0; i < q.size; i++) {
                    down[i] = (q.weight ? q.weight[i] : 1.0) / up[i];
                }
                value = push_factorised(up, down, q.lower, q.size, p, factor, above,
                                        q.gradient, curved);
            }
            if (curved) scatter(curved, q.order, q.size, 1.0, hessian + q.start);
            return value;
        });
}

// The value of a loss along a line, and its first two derivatives.
struct Along {
    double value = 0.0, slope = 0.0, curvature = 0.0;

    // Adds factor * sum ** p for a sum with these derivatives.
    void add(double factor, double p, double sum, double first, double second) {
        if (sum == 0.0) return;  // nothing is better, or far too much so
        const double power = factor * to_power(sum, p);
        const double slope_of_log = first / sum;
        value += power;
        slope += p * power * slope_of_log;
        curvature += p * power * ((p - 1.0) * slope_of_log * slope_of_log + second / sum);
    }
};

// Along the ranks h: documents of better grades enter by sums of 1, h and h squared.
inline Along push_along(const double *up, const double *down, const double *h,
                        const int *lower, int m, double p, double factor) {
    Along found;
    double zeroth = 0.0, first = 0.0, second = 0.0;
    for (int begin = 0, end; begin < m; begin = end) {
        end = lower[begin];
        for (int j = begin; j < end; j++) {
            const double slope = h[j] * zeroth - first;
            const double curvature = h[j] * (slope - first) + second;
            found.add(factor, p, up[j] * zeroth, up[j] * slope, up[j] * curvature);
        }
        for (int i = begin; i < end; i++) {
            zeroth += down[i];
            first += down[i] * h[i];
            second += down[i] * h[i] * h[i];
        }
    }
    return found;
}

inline Along push_along_wide(const double *x, const double *weight, const double *h,
                             const int *lower, int m, double p, double factor,
                             Scratch &scratch) {
    Along found;
    for (int j = 0; j < m; j++) {
        if (scratch.spend(20 * static_cast<int64_t>(j))) break;
        double sum = 0.0, slope = 0.0, curvature = 0.0;
        for (int i = 0; i < j && lower[i] <= j; i++) {
            const double pair = pair_term(x, weight, i, j);
            const double step = h[j] - h[i];
            sum += pair;
            slope += pair * step;
            curvature += pair * step * step;
        }
        found.add(factor, p, sum, slope, curvature);
    }
    return found;
}

// Scores, ranks, weights and factors of a pair in the order of the grades. There is room
// for five arrays and two of indices more.
constexpr int RANKED_ARRAYS = 5, MORE_ARRAYS = 5;
struct RankedQuery {
    double *x, *h, *up, *down, *weight;
    bool wide;
};

// Calls body(query, lower, ranked, scratch) for every query, with its scores and ranks.
template <class Body>
void for_each_ranked(const GradedQueries &graded, const double *scores,
                     const double *ranks, double range, int n_threads, Body body) {
    const Room room = {graded.queries.longest() + PADDING, RANKED_ARRAYS + MORE_ARRAYS, 2};
    for_each_query(
        graded.queries, PAIR_CHUNK, n_threads, room, [&](Query q, Scratch &scratch) {
            const int *order = graded.order + q.start;
            RankedQuery r = {scratch.array(0), scratch.array(1), scratch.array(2),
                             scratch.array(3), nullptr, false};
            if (graded.weight) r.weight = scratch.array(4);
            gather(scores + q.start, order, q.size, 1.0, r.x);
            gather(ranks + q.start, order, q.size, 1.0, r.h);
            if (r.weight) gather(graded.weight + q.start, order, q.size, 1.0, r.weight);
            double centre;
            r.wide = is_wide(r.x, q.size, range, &centre);
            if (!r.wide) {
                exp_shifted(r.x, centre, q.size, r.up);
                for (int i = 0; i < q.size; i++) {
                    r.down[i] = (r.weight ? r.weight[i] : 1.0) / r.up[i];
                }
            }
            body(q, graded.lower + q.start, r, scratch);
        });
}

// One row of value, slope and curvature for every query; `factors` may be null.
static void lines(const GradedQueries &queries, const double *scores, const double *ranks,
                  double p, const double *factors, double *sums, int n_threads) {
    for_each_ranked(
        queries, scores, ranks, MAX_EXPONENTIAL_RANGE, n_threads,
        [=](Query q, const int *lower, const RankedQuery &r, Scratch &scratch) {
            const double factor = factors ? factors[q.number] : 1.0;
            const Along found =
                r.wide ? push_along_wide(r.x, r.weight, r.h, lower, q.size, p, factor,
                                         scratch)
                       : push_along(r.up, r.down, r.h, lower, q.size, p, factor);
            double *to = sums + 3 * q.number;
            to[0] = found.value;
            to[1] = found.slope;
            to[2] = found.curvature;
        });
}

// Sums over pairs that a weak ranker orders rightly, wrongly, and over all pairs.
struct Agreement {
    double right = 0.0, wrong = 0.0, all = 0.0;
};

// Weights of pairs exp(x[j] - x[i]) by what the ranks h in [0, 1] say of them: the right
// ones have h[i] (1 - h[j]), the wrong ones (1 - h[i]) h[j].
inline Agreement exponential_agreement(const double *up, const double *down,
                                       const double *h, const int *lower, int m) {
    Agreement found;
    double high = 0.0, low = 0.0;  // of worse documents, by their ranks
    for (int end = m; end > 0;) {
        int begin = end - 1;
        while (begin > 0 && lower[begin - 1] == end) begin--;
        for (int i = begin; i < end; i++) {
            found.right += down[i] * h[i] * low;
            found.wrong += down[i] * (1.0 - h[i]) * high;
            found.all += down[i] * (high + low);
        }
        for (int j = begin; j < end; j++) {
            high += up[j] * h[j];
            low += up[j] * (1.0 - h[j]);
        }
        end = begin;
    }
    return found;
}

inline Agreement exponential_agreement_wide(const double *x, const double *weight,
                                            const double *h, const int *lower, int m,
                                            Scratch &scratch) {
    Agreement found;
    for (int i = 0; i < m; i++) {
        if (scratch.spend(20 * static_cast<int64_t>(m - lower[i]))) break;
        for (int j = lower[i]; j < m; j++) {
            const double pair = pair_term(x, weight, i, j);
            found.right += pair * h[i] * (1.0 - h[j]);
            found.wrong += pair * (1.0 - h[i]) * h[j];
            found.all += pair;
        }
    }
    return found;
}

// Square roots of a vector, all of it at once.
SKRANK_INLINE Vec root(Vec v) {
    Vec r;
    for (int l = 0; l < LANES; l++) r[l] = std::sqrt(v[l]);
    return r;
}

// Fidelity of pairs (i, j), j >= lower[i], with z = exp(x[j] - x[i]): the loss is
// 1 - sqrt(1 / (1 + z)), written without cancellation, and its slope
// -z / (2 (1 + z) sqrt(1 + z)). `e` holds exp(x - centre), and zeros beyond.
SKRANK_CLONES
static double fidelity_factorised(const double *e, const int *lower, const double *weight,
                                  int m, double *grad, Scratch &scratch) {
    double loss = 0.0;
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(2 * static_cast<int64_t>(m - lower[i]))) break;
        const double inverse = 1.0 / e[i], w = weight ? weight[i] : 1.0;
        Vec values = {}, slope = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec z = load(e + j) * inverse, d = 1.0 + z, r = root(d);
            // Value z / (d + r) and slope z / (2 d r) share one division.
            const Vec dr = d * r, share = z / (dr * (d + r));
            values += share * dr;
            const Vec h = 0.5 * (share * (d + r));
            slope += h;
            store(grad + j, load(grad + j) + w * h);
        }
        grad[i] -= w * sum(slope);
        loss += w * sum(values);
    }
    return loss;
}

// One pair at any distance of its scores.
struct FidelityOfPair {
    double value, slope;

    FidelityOfPair(double gap) {  // of the worse document above the better one
        const double e = std::exp(-std::fabs(gap));
        const double right = gap > 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
        const double wrong = gap > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
        const double r = std::sqrt(right);
        value = wrong / (1.0 + r);
        slope = 0.5 * r * wrong;
    }
};

inline double fidelity_wide(const double *x, const int *lower, const double *weight, int m,
                            double *grad, Scratch &scratch) {
    double loss = 0.0;
    for (int i = 0; i < m; i++) {
        if (scratch.spend(20 * static_cast<int64_t>(m - lower[i]))) break;
        const double w = weight ? weight[i] : 1.0;
        for (int j = lower[i]; j < m; j++) {
            const FidelityOfPair pair(x[j] - x[i]);
            loss += w * pair.value;
            grad[i] -= w * pair.slope;
            grad[j] += w * pair.slope;
        }
    }
    return loss;
}

static void fidelity_losses(const GradedQueries &queries, const double *scores,
                            double *values, double *gradient, int n_threads) {
    sum_graded_losses(
        queries, scores, 1.0, 4, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            const int m = q.size;
            int *order = scratch.indices(0), *level = scratch.indices(1);
            const int n_levels = swept_levels(q.x, q.lower, m, level);
            if (n_levels > 0) {
                double *sorted = scratch.array(2), *ones = scratch.array(3);
                sort_descending(q.x, m, scratch.array(0), sorted, order);
                std::fill(ones, ones + m, 1.0);
                const double *weight = q.weight ? q.weight : ones;
                if (scratch.spend(100 * static_cast<int64_t>(m))) return 0.0;
                fidelity_sweep(sorted, order, level, n_levels, weight, ones, m, true,
                               q.gradient);
                return fidelity_sweep(sorted, order, level, n_levels, weight, ones, m,
                                      false, q.gradient)
                    .value;
            }
            double *e = scratch.array(0), centre;
            if (is_wide(q.x, m, MAX_FIDELITY_RANGE, &centre)) {
                return fidelity_wide(q.x, q.lower, q.weight, m, q.gradient, scratch);
            }
            exp_shifted(q.x, centre, m, e);
            return fidelity_factorised(e, q.lower, q.weight, m, q.gradient, scratch);
        },
        2);
}

// Slopes of pairs by what the ranks say, from sweeps with the ranks as weights; `work` has
// room for five arrays.
inline Agreement swept_agreement(const double *x, const double *weight, const double *h,
                                 const int *level, int n_levels, int m, int *order,
                                 double *work, Index stride) {
    double *sorted = work + 2 * stride, *better = work + 3 * stride;
    double *worse = work + 4 * stride;
    sort_descending(x, m, work, sorted, order);
    const auto slopes = [&](auto of_better, auto of_worse) {
        for (int i = 0; i < m; i++) {
            better[i] = (weight ? weight[i] : 1.0) * of_better(h[i]);
            worse[i] = of_worse(h[i]);
        }
        return fidelity_sweep(sorted, order, level, n_levels, better, worse, m, false,
                              nullptr)
            .slope;
    };
    const auto high = [](double rank) { return rank; };
    const auto low = [](double rank) { return 1.0 - rank; };
    const auto any = [](double) { return 1.0; };
    return {slopes(high, low), slopes(low, high), slopes(any, any)};
}

// Slopes of the fidelity of pairs by what the ranks say of them; `high` holds the ranks
// of the documents and zeros beyond.
SKRANK_CLONES
static void fidelity_agreement(const double *e, const double *high, const int *lower,
                               const double *weight, int m, Agreement *found,
                               Scratch &scratch) {
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(2 * static_cast<int64_t>(m - lower[i]))) break;
        const double inverse = 1.0 / e[i], w = weight ? weight[i] : 1.0;
        Vec all = {}, up = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec z = load(e + j) * inverse, d = 1.0 + z;
            const Vec slope = z / (d * root(d));
            all += slope;
            up += slope * load(high + j);
        }
        const double both = 0.5 * w * sum(all), above = 0.5 * w * sum(up);
        found->right += high[i] * (both - above);
        found->wrong += (1.0 - high[i]) * above;
        found->all += both;
    }
}

inline Agreement fidelity_agreement_wide(const double *x, const double *h,
                                         const int *lower, const double *weight, int m,
                                         Scratch &scratch) {
    Agreement found;
    for (int i = 0; i < m; i++) {
        if (scratch.spend(20 * static_cast<int64_t>(m - lower[i]))) break;
        for (int j = lower[i]; j < m; j++) {
            const FidelityOfPair pair(x[j] - x[i]);
            const double slope = (weight ? weight[i] : 1.0) * pair.slope;
            found.right += slope * h[i] * (1.0 - h[j]);
            found.wrong += slope * (1.0 - h[i]) * h[j];
            found.all += slope;
        }
    }
    return found;
}

// One row of three sums for every query; `fidelity` chooses the loss.
static void agreements(const GradedQueries &queries, const double *scores,
                       const double *ranks, bool fidelity, double *sums, int n_threads) {
    for_each_ranked(
        queries, scores, ranks, fidelity ? MAX_FIDELITY_RANGE : MAX_EXPONENTIAL_RANGE,
        n_threads, [=](Query q, const int *lower, const RankedQuery &r, Scratch &scratch) {
            const int m = q.size;
            Agreement found;
            int *level = scratch.indices(1);
            const int n_levels = fidelity ? swept_levels(r.x, lower, m, level) : 0;
            if (n_levels > 0) {
                if (scratch.spend(150 * static_cast<int64_t>(m))) return;
                double *work = scratch.array(RANKED_ARRAYS);
                found = swept_agreement(r.x, r.weight, r.h, level, n_levels, m,
                                        scratch.indices(0), work,
                                        scratch.array(RANKED_ARRAYS + 1) - work);
            } else if (fidelity && r.wide) {
                found = fidelity_agreement_wide(r.x, r.h, lower, r.weight, m, scratch);
            } else if (fidelity) {
                pad(r.h, m, 0.0);
                fidelity_agreement(r.up, r.h, lower, r.weight, m, &found, scratch);
            } else if (r.wide) {
                found = exponential_agreement_wide(r.x, r.weight, r.h, lower, m, scratch);
            } else {
                found = exponential_agreement(r.up, r.down, r.h, lower, m);
            }
            double *to = sums + 3 * q.number;
            to[0] = found.right;
            to[1] = found.wrong;
            to[2] = found.all;
        });
}

}  // namespace skrank
