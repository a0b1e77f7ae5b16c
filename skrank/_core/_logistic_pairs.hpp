// Logistic losses of preference pairs, documents in the order of their grades.
#pragma once

#include "_graded_queries.hpp"
#include "_log_products.hpp"

namespace skrank {

// Pairs (i, j), j >= lower[i]: grade i > grade j. Adds log(1 + exp(x[j] - x[i])).
// `e` holds exp(x - shift), so that a pair costs one division and no exp; products of
// `chunk` terms under the logarithm cannot overflow. With weights, each row of pairs has
// a logarithm of its own, which is multiplied by its weight.
template <bool Hessian>
SKRANK_INLINE double logistic_factorised_body(const double *e, const int *lower,
                                             const double *weight, int m, int chunk,
                                             double *grad, double *hess,
                                             Scratch &scratch) {
    double loss = 0.0;
    LogProducts logs(chunk);
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(m - lower[i])) break;
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
SKRANK_INLINE double logistic_wide_body(const double *x, const int *lower,
                                       const double *weight, int m, double *grad,
                                       double *hess, Scratch &scratch) {
    double loss = 0.0;
    LogProducts logs(512);  // terms are at most 2
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(m - lower[i])) break;
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
static double logistic_factorised(const double *e, const int *lower,
                                 const double *weight, int m, int chunk,
                                 double *grad, Scratch &scratch) {
    return logistic_factorised_body<false>(e, lower, weight, m, chunk, grad, nullptr,
                                           scratch);
}

SKRANK_CLONES
static double logistic_factorised_hessian(const double *e, const int *lower,
                                         const double *weight, int m, int chunk,
                                         double *grad, double *hess,
                                         Scratch &scratch) {
    return logistic_factorised_body<true>(e, lower, weight, m, chunk, grad, hess,
                                          scratch);
}

SKRANK_CLONES
static double logistic_wide(const double *x, const int *lower, const double *weight,
                           int m, double *grad, Scratch &scratch) {
    return logistic_wide_body<false>(x, lower, weight, m, grad, nullptr, scratch);
}

SKRANK_CLONES
static double logistic_wide_hessian(const double *x, const int *lower,
                                   const double *weight, int m, double *grad,
                                   double *hess, Scratch &scratch) {
    return logistic_wide_body<true>(x, lower, weight, m, grad, hess, scratch);
}

// `hess` may be null; `e` is work space. Arrays of documents have room for PADDING more.
// Exponentials are taken around the middle of the scores, so that the largest and the
// smallest are equally far from leaving the range of a double.
static double logistic_pairs(double *x, const int *lower, const double *weight,
                            int m, double *e, double *grad, double *hess,
                            Scratch &scratch) {
    if (m == 0) return 0.0;
    double top, bottom;
    find_extremes(x, m, &bottom, &top);
    const double chunk = MAX_LOG_PRODUCT / (top - bottom + LN2);  // a term is < 2 e^range
    // Chunks of fewer terms would take more logarithms than they save. The negation also
    // catches an infinite range and NaN.
    if (!(chunk >= 8.0)) {
        pad(x, m, -INFINITE);
        return hess ? logistic_wide_hessian(x, lower, weight, m, grad, hess, scratch)
                    : logistic_wide(x, lower, weight, m, grad, scratch);
    }
    exp_shifted(x, bottom + 0.5 * (top - bottom), m, e);
    const int n = (int)std::min(chunk, 512.0);
    return hess ? logistic_factorised_hessian(e, lower, weight, m, n, grad, hess, scratch)
                : logistic_factorised(e, lower, weight, m, n, grad, scratch);
}

// Values, gradient and, unless `hessian` is null, the diagonal of the Hessian.
static void logistic_losses(const GradedQueries &queries, const double *scores,
                            double sigma, double *values, double *gradient,
                            double *hessian, int n_threads) {
    sum_graded_losses(
        queries, scores, sigma, 2, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            double *h = hessian ? scratch.array(1) : nullptr;
            if (h) std::fill(h, h + q.size, 0.0);
            const double loss = logistic_pairs(q.x, q.lower, q.weight, q.size,
                                               scratch.array(0), q.gradient, h, scratch);
            if (h) scatter(h, q.order, q.size, sigma * sigma, hessian + q.start);
            return loss;
        });
}

}  // namespace skrank
