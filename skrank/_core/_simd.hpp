// Inner loops of the kernels, one query at a time.
//
// Everything here is plain C++ that the compiler vectorises.
// Documents stand in the order that the caller chose: by grade for RankNet, hinge and
// Plackett-Luce, by score for the lambda-weighted pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "_clones.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// Vectors never cross a function boundary: everything that takes one is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace skrank {

constexpr double LN2 = 0.69314718055994530942;
// Products of terms up to e^700 still fit a double.
constexpr double MAX_LOG_PRODUCT = 700.0;

// Four numbers at once, by the vector extension of GCC and Clang: the compiler maps them
// to whatever registers the machine has. Rows of pairs are short, so the loops below run
// over whole vectors into PADDING numbers beyond the last document, which the callers
// fill with values that add nothing.
typedef double Vec __attribute__((vector_size(32)));
typedef int64_t Mask __attribute__((vector_size(32)));
constexpr int LANES = 4;
constexpr int PADDING = LANES;

SKRANK_INLINE Vec load(const double *p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
SKRANK_INLINE void store(double *p, Vec v) { std::memcpy(p, &v, sizeof v); }
SKRANK_INLINE double sum(Vec v) { return (v[0] + v[1]) + (v[2] + v[3]); }
SKRANK_INLINE Vec where(Mask mask, Vec yes, Vec no) {
    return mask ? yes : no;
}
SKRANK_INLINE Vec magnitude(Vec v) {
    return (Vec)((Mask)v & (int64_t)0x7fffffffffffffff);
}

// exp(x), relative error about 2e-16; x is clipped to [-708, 708].
SKRANK_INLINE Vec exp_clipped(Vec x) {
    const double inv_ln2 = 1.4426950408889634074;
    const double ln2_high = 6.93147180369123816490e-01;  // 33 bits: k * ln2_high exact
    const double ln2_low = 1.90821492927058770002e-10;
    const double round = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integer
    const Vec limit = Vec{} + 708.0;
    x = where(x < -limit, -limit, x);
    x = where(x > limit, limit, x);
    const Vec shifted = x * inv_ln2 + round;
    const Vec k = shifted - round;
    const Vec r = (x - k * ln2_high) - k * ln2_low;
    Vec p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * (Vec)(((Mask)shifted + 1023) << 52);  // the low bits of `shifted` hold k
}

// `m` numbers from p, the rest of the vector filled up.
SKRANK_INLINE Vec load_some(const double *p, int m, double fill) {
    Vec v;
    for (int l = 0; l < LANES; l++) v[l] = l < m ? p[l] : fill;
    return v;
}
SKRANK_INLINE void store_some(double *p, int m, Vec v) {
    for (int l = 0; l < LANES; l++)
        if (l < m) p[l] = v[l];
}

SKRANK_INLINE void pad(double *x, int m, double value) {
    for (int l = 0; l < PADDING; l++) x[m + l] = value;
}

// `out` has room for PADDING numbers beyond m, which become 0.
SKRANK_CLONES
static void exp_shifted(const double *x, double shift, int m, double *out) {
    int j = 0;
    for (; j + LANES <= m; j += LANES) store(out + j, exp_clipped(load(x + j) - shift));
    store(out + j, exp_clipped(load_some(x + j, m - j, shift) - shift));
    pad(out, m, 0.0);
}

// Two vectors at a time, since every comparison waits for the last one.
template <bool Largest>
SKRANK_INLINE double extreme_of(const double *x, int m) {
    double best = x[0];
    int j = 1;
    if (m >= 2 * LANES) {
        Vec a = load(x), b = load(x + LANES);
        for (j = 2 * LANES; j + 2 * LANES <= m; j += 2 * LANES) {
            const Vec c = load(x + j), d = load(x + j + LANES);
            a = where(Largest ? c > a : c < a, c, a);
            b = where(Largest ? d > b : d < b, d, b);
        }
        a = where(Largest ? b > a : b < a, b, a);
        best = a[0];
        for (int l = 1; l < LANES; l++)
            if (Largest ? a[l] > best : a[l] < best) best = a[l];
    }
    for (; j < m; j++)
        if (Largest ? x[j] > best : x[j] < best) best = x[j];
    return best;
}
SKRANK_INLINE double max_of(const double *x, int m) { return extreme_of<true>(x, m); }
SKRANK_INLINE double min_of(const double *x, int m) { return extreme_of<false>(x, m); }

// For callers that are not cloned themselves: without AVX these comparisons are slow.
SKRANK_CLONES
static void find_extremes(const double *x, int m, double *bottom, double *top) {
    *bottom = min_of(x, m);
    *top = max_of(x, m);
}

// Sum of logarithms as one product, mantissa * 2^exponent, so that a sum over millions
// of terms takes one call of log. Terms must be positive.
struct LogSum {
    double mantissa = 1.0;
    int64_t exponent = 0;

    SKRANK_MEMBER void multiply(double factor) {
        const double product = mantissa * factor;
        int64_t bits;
        std::memcpy(&bits, &product, sizeof bits);
        exponent += ((bits >> 52) & 0x7ff) - 1023;
        bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
        std::memcpy(&mantissa, &bits, sizeof mantissa);
    }
    double value() const { return std::log(mantissa) + LN2 * (double)exponent; }
};

// Vector of products that are folded into a LogSum before they can overflow.
class LogProducts {
    Vec product = {1.0, 1.0, 1.0, 1.0};
    LogSum logs;
    int budget, left;

  public:
    explicit LogProducts(int terms) : budget(terms), left(terms) {}
    // How many more factors each lane may take, at most `wanted`.
    SKRANK_MEMBER int room(int wanted) {
        if (left == 0) fold();
        const int n = wanted < left ? wanted : left;
        left -= n;
        return n;
    }
    SKRANK_MEMBER Vec get() const { return product; }
    SKRANK_MEMBER void set(Vec p) { product = p; }
    SKRANK_MEMBER void fold() {
        for (int l = 0; l < LANES; l++) logs.multiply(product[l]);
        product = Vec{1.0, 1.0, 1.0, 1.0};
        left = budget;
    }
    // The sum of logarithms so far; starts again from 0.
    SKRANK_MEMBER double take() {
        fold();
        const double value = logs.value();
        logs = LogSum();
        return value;
    }
};

// ------------------------------------------------------------------ RankNet pairs

// Pairs (i, j), j >= lower[i]: grade i > grade j. Adds log(1 + exp(x[j] - x[i])).
// `e` holds exp(x - shift), so that a pair costs one division and no exp; products of
// `chunk` terms under the logarithm cannot overflow.
template <bool Hessian>
SKRANK_INLINE double ranknet_factorised_body(const double *e, const int *lower,
                                             const double *weight, int m, int chunk,
                                             double *grad, double *hess) {
    double loss = 0.0;
    LogProducts logs(chunk);
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double inverse = 1.0 / e[i], w = weight ? weight[i] : 1.0;
        Vec slope = {}, curvature = {};
        for (int j = lower[i]; j < m;) {
            const int stop = j + LANES * logs.room((m - j + LANES - 1) / LANES);
            Vec product = logs.get();
            for (; j < stop; j += LANES) {
                const Vec odds = load(e + j) * inverse, t = 1.0 + odds;
                const Vec wrong = odds / t;
                product *= t;
                slope += wrong;
                store(grad + j, load(grad + j) + w * wrong);
                if (Hessian) {
                    const Vec h = wrong * (1.0 - wrong);
                    curvature += h;
                    store(hess + j, load(hess + j) + w * h);
                }
            }
            logs.set(product);
        }
        grad[i] -= w * sum(slope);
        if (Hessian) hess[i] += w * sum(curvature);
        if (weight) loss += w * logs.take();
    }
    return loss + logs.take();
}

// The same for scores so far apart that exp(x - shift) leaves the range of a double.
// x is padded with -inf.
template <bool Hessian>
SKRANK_INLINE double ranknet_wide_body(const double *x, const int *lower,
                                       const double *weight, int m, double *grad,
                                       double *hess) {
    double loss = 0.0;
    LogProducts logs(512);  // terms are at most 2
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double x_i = x[i], w = weight ? weight[i] : 1.0;
        Vec slope = {}, curvature = {}, linear = {};
        for (int j = lower[i]; j < m;) {
            const int stop = j + LANES * logs.room((m - j + LANES - 1) / LANES);
            Vec product = logs.get();
            for (; j < stop; j += LANES) {
                const Vec gap = load(x + j) - x_i, e = exp_clipped(-magnitude(gap));
                const Mask reversed = gap > 0.0;
                const Vec t = 1.0 + e, inverse = 1.0 / t;
                const Vec wrong = where(reversed, inverse, e * inverse);
                product *= t;
                linear += where(reversed, gap, Vec{});
                slope += wrong;
                store(grad + j, load(grad + j) + w * wrong);
                if (Hessian) {
                    const Vec h = e * inverse * inverse;
                    curvature += h;
                    store(hess + j, load(hess + j) + w * h);
                }
            }
            logs.set(product);
        }
        loss += w * sum(linear);
        grad[i] -= w * sum(slope);
        if (Hessian) hess[i] += w * sum(curvature);
        if (weight) loss += w * logs.take();
    }
    return loss + logs.take();
}

SKRANK_CLONES
static double ranknet_factorised(const double *e, const int *lower,
                                 const double *weight, int m, int chunk,
                                 double *grad) {
    return ranknet_factorised_body<false>(e, lower, weight, m, chunk, grad, nullptr);
}

SKRANK_CLONES
static double ranknet_factorised_hessian(const double *e, const int *lower,
                                         const double *weight, int m, int chunk,
                                         double *grad, double *hess) {
    return ranknet_factorised_body<true>(e, lower, weight, m, chunk, grad, hess);
}

SKRANK_CLONES
static double ranknet_wide(const double *x, const int *lower, const double *weight,
                           int m, double *grad) {
    return ranknet_wide_body<false>(x, lower, weight, m, grad, nullptr);
}

SKRANK_CLONES
static double ranknet_wide_hessian(const double *x, const int *lower,
                                   const double *weight, int m, double *grad,
                                   double *hess) {
    return ranknet_wide_body<true>(x, lower, weight, m, grad, hess);
}

// `hess` may be null; `e` is work space. Arrays of documents have room for PADDING more.
static double ranknet_pairs(double *x, const int *lower, const double *weight,
                            int m, double *e, double *grad, double *hess) {
    if (m == 0) return 0.0;
    double top, bottom;
    find_extremes(x, m, &bottom, &top);
    const double chunk = MAX_LOG_PRODUCT / (top - bottom + LN2);
    if (!(chunk >= 8.0)) {  // also when the range is infinite
        pad(x, m, -std::numeric_limits<double>::infinity());
        return hess ? ranknet_wide_hessian(x, lower, weight, m, grad, hess)
                    : ranknet_wide(x, lower, weight, m, grad);
    }
    exp_shifted(x, bottom + 0.5 * (top - bottom), m, e);
    const int n = (int)std::min(chunk, 512.0);
    return hess ? ranknet_factorised_hessian(e, lower, weight, m, n, grad, hess)
                : ranknet_factorised(e, lower, weight, m, n, grad);
}

// ------------------------------------------------------------------ softmax

// out = exp(x - top); returns the sum.
SKRANK_INLINE double exp_and_sum(const double *x, double top, int m, double *out) {
    Vec total = {};
    int j = 0;
    for (; j + LANES <= m; j += LANES) {
        const Vec e = exp_clipped(load(x + j) - top);
        store(out + j, e);
        total += e;
    }
    double rest = 0.0;
    const Vec e = exp_clipped(load_some(x + j, m - j, top) - top);
    for (int l = 0; l < m - j; l++) rest += e[l];
    store_some(out + j, m - j, e);
    return sum(total) + rest;
}

// Softmax of x; returns log(sum(exp(x))).
SKRANK_CLONES
static double softmax(const double *x, int m, double *out) {
    const double top = max_of(x, m), total = exp_and_sum(x, top, m, out);
    const double inverse = 1.0 / total;
    for (int j = 0; j < m; j++) out[j] *= inverse;
    return top + std::log(total);
}

// Cross entropy of the softmax of x with `target`, a distribution.
SKRANK_CLONES
static double softmax_cross_entropy(const double *x, const double *target, int m,
                                    double *grad) {
    const double top = max_of(x, m), total = exp_and_sum(x, top, m, grad);
    const double inverse = 1.0 / total;
    Vec expected = {};
    int j = 0;
    for (; j + LANES <= m; j += LANES) {
        const Vec goal = load(target + j);
        expected += goal * (load(x + j) - top);
        store(grad + j, load(grad + j) * inverse - goal);
    }
    double rest = 0.0;
    for (; j < m; j++) {
        rest += target[j] * (x[j] - top);
        grad[j] = grad[j] * inverse - target[j];
    }
    return std::log(total) - (sum(expected) + rest);
}

// ------------------------------------------------------------------ Plackett-Luce

// Sum of top - x[t] + log(tail[t]) over the first k positions; tails become 1 / tail.
// `range` bounds |log(tail[t])|, so that products of tails stay finite.
SKRANK_INLINE double invert_tails(const double *x, int k, double top, double range,
                                  double *tail) {
    LogProducts logs((int)(690.0 / (range + 1.0)));
    Vec below = {};
    int t = 0;
    while (t + LANES <= k) {
        const int end = t + LANES * logs.room((k - t) / LANES);
        Vec product = logs.get();
        for (; t < end; t += LANES) {
            const Vec part = load(tail + t);
            product *= part;
            below += top - load(x + t);
            store(tail + t, 1.0 / part);
        }
        logs.set(product);
    }
    double loss = logs.take() + sum(below);
    for (; t < k; t++) {
        loss += (top - x[t]) + std::log(tail[t]);
        tail[t] = 1.0 / tail[t];
    }
    return loss;
}

// Stages t < k of drawing the documents in the given order without replacement:
// sum of w[t] * (log sum_{u >= t} exp(x[u]) - x[t]). `w` may be null (all ones);
// `e` and `tail` are work space.
SKRANK_CLONES
static double plackett_luce_narrow(const double *x, const double *w, int m, int k,
                                   double top, double bottom, double *e, double *tail,
                                   double *grad) {
    exp_shifted(x, top, m, e);
    double total = 0.0, loss = 0.0;
    for (int t = m - 1; t >= 0; t--) tail[t] = total += e[t];
    if (w) {
        for (int t = 0; t < k; t++) {
            loss += w[t] * ((top - x[t]) + std::log(tail[t]));
            tail[t] = w[t] / tail[t];
        }
    } else {
        loss = invert_tails(x, k, top, std::fmax(top - bottom, std::log((double)m)), tail);
    }
    double inverse_sum = 0.0;
    for (int t = 0; t < k; t++) {
        inverse_sum += tail[t];
        grad[t] = e[t] * inverse_sum - (w ? w[t] : 1.0);
    }
    for (int t = k; t < m; t++) grad[t] = e[t] * inverse_sum;
    return loss;
}

// The same when exp(x - max) would underflow: every sum is kept relative to the largest
// score still to be drawn, so that only exponentials of numbers <= 0 occur.
static double plackett_luce_wide(const double *x, const double *w, int m, int k,
                                 double *highest, double *tail, double *grad) {
    double top = x[m - 1], sum = 0.0;
    for (int t = m - 1; t >= 0; t--) {
        if (x[t] > top) {
            sum *= std::exp(top - x[t]);
            top = x[t];
        }
        sum += std::exp(x[t] - top);
        highest[t] = top;
        tail[t] = sum;
    }
    double loss = 0.0, inverse_sum = 0.0;
    for (int t = 0; t < m; t++) {
        const double weight = t < k ? (w ? w[t] : 1.0) : 0.0;
        if (t > 0) inverse_sum *= std::exp(highest[t] - highest[t - 1]);
        inverse_sum += weight / tail[t];
        grad[t] = std::exp(x[t] - highest[t]) * inverse_sum - weight;
        loss += weight == 0.0 ? 0.0 : weight * (std::log(tail[t]) + (highest[t] - x[t]));
    }
    return loss;
}

static double plackett_luce_stages(const double *x, const double *w, int m, int k,
                                   double *e, double *tail, double *grad) {
    if (m == 0) return 0.0;
    double top, bottom;
    find_extremes(x, m, &bottom, &top);
    if (top - bottom <= 300.0)
        return plackett_luce_narrow(x, w, m, k, top, bottom, e, tail, grad);
    return plackett_luce_wide(x, w, m, k, e, tail, grad);
}

// ------------------------------------------------------------------ hinge pairs

// Pairs (i, j), j >= lower[i], of documents in order of grade: adds
// max(0, margin - (x[i] - x[j])), squared or not.
template <bool Squared>
SKRANK_INLINE double hinge_direct_body(double *x, const int *lower,
                                       const double *weight, int m, double margin,
                                       double *grad) {
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    double loss = 0.0;
    pad(x, m, -std::numeric_limits<double>::infinity());
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double x_i = x[i], w = weight ? weight[i] : 1.0;
        Vec row_loss = {}, slope = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec gap = (load(x + j) - x_i) + margin;
            const Mask active = gap > 0.0;
            const Vec slack = where(active, gap, Vec{});
            const Vec pull = Squared ? slack + slack : where(active, one, Vec{});
            row_loss += Squared ? slack * slack : slack;
            slope += pull;
            store(grad + j, load(grad + j) + w * pull);
        }
        grad[i] -= w * sum(slope);
        loss += w * sum(row_loss);
    }
    return loss;
}

SKRANK_CLONES
static double hinge_direct(double *x, const int *lower, const double *weight,
                           int m, double margin, double *grad) {
    return hinge_direct_body<false>(x, lower, weight, m, margin, grad);
}

SKRANK_CLONES
static double squared_hinge_direct(double *x, const int *lower,
                                   const double *weight, int m, double margin,
                                   double *grad) {
    return hinge_direct_body<true>(x, lower, weight, m, margin, grad);
}

struct Moments {
    double weight = 0.0, first = 0.0, second = 0.0;
};

// Prefix sums over grade levels 0 .. n - 1 that take O(log n) to extend and to read.
// Nothing is ever subtracted, so a sum holds no trace of documents outside it.
class LevelSums {
    Moments *nodes;
    int n;

  public:
    LevelSums(Moments *memory, int n_levels) : nodes(memory), n(n_levels) {
        for (int i = 0; i <= n; i++) nodes[i] = Moments();
    }
    void add(int level, double weight, double x) {
        const double first = weight * x, second = first * x;
        for (int i = level + 1; i <= n; i += i & -i) {
            nodes[i].weight += weight;
            nodes[i].first += first;
            nodes[i].second += second;
        }
    }
    Moments below(int level) const {
        Moments sum;
        for (int i = level; i > 0; i -= i & -i) {
            sum.weight += nodes[i].weight;
            sum.first += nodes[i].first;
            sum.second += nodes[i].second;
        }
        return sum;
    }
};

// The same in O(m log m): documents are visited by score, and the documents that violate
// the margin against the visited one are kept in sums by grade level. `x` is in order of
// grade, `by_score` its order by score, `level` numbers the grades from the best (0).
template <bool Squared>
static double hinge_sorted_body(const double *x, const int *by_score, const int *level,
                                int n_levels, const double *weight, int m,
                                double margin, Moments *memory, double *grad) {
    const double centre = x[by_score[m / 2]];  // sums of squares stay small
    double loss = 0.0;
    LevelSums worse(memory, n_levels);
    for (int r = 0, next = 0; r < m; r++) {
        const int i = by_score[r];
        const double slack = margin - (x[i] - centre);
        for (; next < m && x[by_score[next]] - centre + slack > 0.0; next++) {
            const int j = by_score[next];
            worse.add(n_levels - 1 - level[j], 1.0, x[j] - centre);
        }
        const Moments s = worse.below(n_levels - 1 - level[i]);
        const double w = weight ? weight[i] : 1.0, sum = s.weight * slack + s.first;
        loss += w * (Squared ? slack * (sum + s.first) + s.second : sum);
        grad[i] -= w * (Squared ? 2.0 * sum : s.weight);
    }
    LevelSums better(memory, n_levels);
    for (int r = m - 1, next = m - 1; r >= 0; r--) {
        const int j = by_score[r];
        const double slack = margin + (x[j] - centre);
        for (; next >= 0 && slack - (x[by_score[next]] - centre) > 0.0; next--) {
            const int i = by_score[next];
            better.add(level[i], weight ? weight[i] : 1.0, x[i] - centre);
        }
        const Moments s = better.below(level[j]);
        grad[j] += Squared ? 2.0 * (s.weight * slack - s.first) : s.weight;
    }
    return loss;
}

static double hinge_sorted(const double *x, const int *by_score, const int *level,
                           int n_levels, const double *weight, int m, double margin,
                           bool squared, Moments *memory, double *grad) {
    return squared ? hinge_sorted_body<true>(x, by_score, level, n_levels, weight, m,
                                             margin, memory, grad)
                   : hinge_sorted_body<false>(x, by_score, level, n_levels, weight, m,
                                              margin, memory, grad);
}

}  // namespace skrank
