// Inner loops of the kernels, one query at a time.
//
// Everything here is plain C++ that the compiler vectorises. GCC on x86-64 builds three
// versions of each SKRANK_CLONES function and picks one when the module is loaded, so
// that one binary runs everywhere and still uses wide registers where they exist.
// Documents stand in the order that the caller chose: by grade for RankNet, hinge and
// Plackett-Luce, by score for the lambda-weighted pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && \
    !defined(__clang__) && __GNUC__ >= 12
#define SKRANK_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SKRANK_CLONES
#endif
#if defined(__GNUC__)
#define SKRANK_INLINE static inline __attribute__((always_inline))
#else
#define SKRANK_INLINE static inline
#endif

namespace skrank {

constexpr double LN2 = 0.69314718055994530942;
// Products of terms up to e^700 still fit a double.
constexpr double MAX_LOG_PRODUCT = 700.0;

// exp(x), relative error about 2e-16 for x in [-708, 708]; x below is taken as -708.
SKRANK_INLINE double exp_clipped(double x) {
    const double inv_ln2 = 1.4426950408889634074;
    const double ln2_high = 6.93147180369123816490e-01;  // 33 bits: k * ln2_high exact
    const double ln2_low = 1.90821492927058770002e-10;
    const double round = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integer
    x = x < -708.0 ? -708.0 : x;
    x = x > 708.0 ? 708.0 : x;
    const double shifted = x * inv_ln2 + round;
    const double k = shifted - round;
    const double r = (x - k * ln2_high) - k * ln2_low;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
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
    int64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the low bits of `shifted` hold k
    double power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

SKRANK_CLONES
static void exp_shifted(const double *x, double shift, int m, double *out) {
#pragma omp simd
    for (int j = 0; j < m; j++) out[j] = exp_clipped(x[j] - shift);
}

SKRANK_INLINE double max_of(const double *x, int m) {
    double top = x[0];
    for (int j = 1; j < m; j++) top = x[j] > top ? x[j] : top;
    return top;
}

SKRANK_INLINE double min_of(const double *x, int m) {
    double bottom = x[0];
    for (int j = 1; j < m; j++) bottom = x[j] < bottom ? x[j] : bottom;
    return bottom;
}

// Sum of logarithms as one product, mantissa * 2^exponent, so that a sum over millions
// of terms takes one call of log. Terms must be positive.
struct LogSum {
    double mantissa = 1.0;
    int64_t exponent = 0;

    inline void multiply(double factor) {
        const double product = mantissa * factor;
        int64_t bits;
        std::memcpy(&bits, &product, sizeof bits);
        exponent += ((bits >> 52) & 0x7ff) - 1023;
        bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
        std::memcpy(&mantissa, &bits, sizeof mantissa);
    }
    double value() const { return std::log(mantissa) + LN2 * (double)exponent; }
};

// ------------------------------------------------------------------ RankNet pairs

// Pairs (i, j), j >= lower[i]: grade i > grade j. Adds log(1 + exp(x[j] - x[i])).
// `e` holds exp(x - shift), so that a pair costs one division and no exp; `chunk` terms
// of the product under the logarithm cannot overflow.
template <bool Hessian>
SKRANK_INLINE double ranknet_factorised_body(const double *e, const int *lower,
                                             const double *weight, int m, int chunk,
                                             double *grad, double *hess) {
    double loss = 0.0;
    LogSum logs;
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double inverse = 1.0 / e[i], w = weight ? weight[i] : 1.0;
        double slope = 0.0, curvature = 0.0;
        for (int start = lower[i]; start < m; start += chunk) {
            const int stop = std::min(start + chunk, m);
            double product = 1.0;
#pragma omp simd reduction(+ : slope, curvature) reduction(* : product)
            for (int j = start; j < stop; j++) {
                const double odds = e[j] * inverse, t = 1.0 + odds;
                const double wrong = odds / t;
                product *= t;
                slope += wrong;
                grad[j] += w * wrong;
                if (Hessian) {
                    const double h = wrong * (1.0 - wrong);
                    curvature += h;
                    hess[j] += w * h;
                }
            }
            logs.multiply(product);
        }
        grad[i] -= w * slope;
        if (Hessian) hess[i] += w * curvature;
        if (weight) {
            loss += w * logs.value();
            logs = LogSum();
        }
    }
    return loss + logs.value();
}

// The same for scores so far apart that exp(x - shift) leaves the range of a double.
template <bool Hessian>
SKRANK_INLINE double ranknet_wide_body(const double *x, const int *lower,
                                       const double *weight, int m, double *grad,
                                       double *hess) {
    const int chunk = 512;  // terms are at most 2
    double loss = 0.0;
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double x_i = x[i], w = weight ? weight[i] : 1.0;
        double slope = 0.0, curvature = 0.0, linear = 0.0;
        LogSum logs;
        for (int start = lower[i]; start < m; start += chunk) {
            const int stop = std::min(start + chunk, m);
            double product = 1.0;
#pragma omp simd reduction(+ : slope, curvature, linear) reduction(* : product)
            for (int j = start; j < stop; j++) {
                const double gap = x[j] - x_i, e = exp_clipped(-std::fabs(gap));
                const double t = 1.0 + e, wrong = (gap > 0.0 ? 1.0 : e) / t;
                product *= t;
                linear += gap > 0.0 ? gap : 0.0;
                slope += wrong;
                grad[j] += w * wrong;
                if (Hessian) {
                    const double h = e / (t * t);
                    curvature += h;
                    hess[j] += w * h;
                }
            }
            logs.multiply(product);
        }
        loss += w * (linear + logs.value());
        grad[i] -= w * slope;
        if (Hessian) hess[i] += w * curvature;
    }
    return loss;
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

// `hess` may be null; `e` is work space.
static double ranknet_pairs(const double *x, const int *lower, const double *weight,
                            int m, double *e, double *grad, double *hess) {
    if (m == 0) return 0.0;
    const double top = max_of(x, m), bottom = min_of(x, m);
    const double chunk = MAX_LOG_PRODUCT / (top - bottom + LN2);
    if (!(chunk >= 8.0)) {  // also when the range is infinite
        return hess ? ranknet_wide_hessian(x, lower, weight, m, grad, hess)
                    : ranknet_wide(x, lower, weight, m, grad);
    }
    exp_shifted(x, bottom + 0.5 * (top - bottom), m, e);
    const int n = (int)chunk;
    return hess ? ranknet_factorised_hessian(e, lower, weight, m, n, grad, hess)
                : ranknet_factorised(e, lower, weight, m, n, grad);
}

// ------------------------------------------------------------------ softmax

// Replaces x by its softmax in `out`; returns log(sum(exp(x))).
SKRANK_CLONES
static double softmax(const double *x, int m, double *out) {
    double top = x[0];
#pragma omp simd reduction(max : top)
    for (int j = 0; j < m; j++) top = x[j] > top ? x[j] : top;
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (int j = 0; j < m; j++) {
        const double e = exp_clipped(x[j] - top);
        out[j] = e;
        total += e;
    }
    const double inverse = 1.0 / total;
#pragma omp simd
    for (int j = 0; j < m; j++) out[j] *= inverse;
    return top + std::log(total);
}

// Cross entropy of the softmax of x with `target`, a distribution.
SKRANK_CLONES
static double softmax_cross_entropy(const double *x, const double *target, int m,
                                    double *grad) {
    double top = x[0];
#pragma omp simd reduction(max : top)
    for (int j = 0; j < m; j++) top = x[j] > top ? x[j] : top;
    double total = 0.0, expected = 0.0;
#pragma omp simd reduction(+ : total, expected)
    for (int j = 0; j < m; j++) {
        const double gap = x[j] - top, e = exp_clipped(gap);
        grad[j] = e;
        total += e;
        expected += target[j] * gap;
    }
    const double inverse = 1.0 / total;
#pragma omp simd
    for (int j = 0; j < m; j++) grad[j] = grad[j] * inverse - target[j];
    return std::log(total) - expected;
}

// ------------------------------------------------------------------ Plackett-Luce

// Stages t < k of drawing the documents in the given order without replacement:
// sum of w[t] * (log sum_{u >= t} exp(x[u]) - x[t]). `w` may be null (all ones);
// `e` and `tail` are work space.
static double plackett_luce_narrow(const double *x, const double *w, int m, int k,
                                   double top, double *e, double *tail,
                                   double *grad) {
    exp_shifted(x, top, m, e);
    double sum = 0.0;
    for (int t = m - 1; t >= 0; t--) tail[t] = sum += e[t];
    double loss = 0.0, inverse_sum = 0.0;
    LogSum logs;
    for (int t = 0; t < k; t++) {
        const double weight = w ? w[t] : 1.0;
        loss += weight * (top - x[t]);
        if (w)
            loss += weight * std::log(tail[t]);
        else
            logs.multiply(tail[t]);
        inverse_sum += weight / tail[t];
        grad[t] = e[t] * inverse_sum - weight;
    }
    for (int t = k; t < m; t++) grad[t] = e[t] * inverse_sum;
    return loss + logs.value();
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
        loss += weight == 0.0 ? 0.0 : weight * (std::log(tail[t]) + highest[t] - x[t]);
    }
    return loss;
}

static double plackett_luce_stages(const double *x, const double *w, int m, int k,
                                   double *e, double *tail, double *grad) {
    if (m == 0) return 0.0;
    const double top = max_of(x, m), bottom = min_of(x, m);
    if (top - bottom <= 600.0)
        return plackett_luce_narrow(x, w, m, k, top, e, tail, grad);
    return plackett_luce_wide(x, w, m, k, e, tail, grad);
}

}  // namespace skrank
