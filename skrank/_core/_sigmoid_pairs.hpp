// Sigmoid losses of preference pairs, documents in the order of their grades.
#pragma once

#include "_graded_queries.hpp"

namespace skrank {

// Ratios of exponentials of scores stay in the range of a double up to this difference.
constexpr double MAX_FACTORISED_RANGE = 600.0;

// Pairs (i, j), j >= lower[i]: grade i > grade j. Adds 1 / (1 + exp(x[i] - x[j])).
// `e` holds exp(x - shift) and zeros beyond, so that a pair costs one division.
SKRANK_CLONES
static double sigmoid_factorised(const double *e, const int *lower,
                                 const double *weight, int m, double *grad,
                                 Scratch &scratch) {
    double loss = 0.0;
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(m - lower[i])) break;
        const double inverse = 1.0 / e[i], w = weight ? weight[i] : 1.0;
        Vec wrong = {}, slope = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec odds = load(e + j) * inverse, right = 1.0 / (1.0 + odds);
            const Vec p = odds * right, h = p * right;
            wrong += p;
            slope += h;
            store(grad + j, load(grad + j) + w * h);
        }
        grad[i] -= w * sum(slope);
        loss += w * sum(wrong);
    }
    return loss;
}

// The same for any range of scores; x is padded with -inf.
SKRANK_CLONES
static double sigmoid_wide(const double *x, const int *lower, const double *weight,
                           int m, double *grad, Scratch &scratch) {
    double loss = 0.0;
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(m - lower[i])) break;
        const double x_i = x[i], w = weight ? weight[i] : 1.0;
        Vec wrong = {}, slope = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec gap = load(x + j) - x_i, e = exp_clipped(-magnitude(gap));
            const Vec larger = 1.0 / (1.0 + e), smaller = e * larger;
            const Vec h = larger * smaller;
            wrong += where(gap > 0.0, larger, smaller);
            slope += h;
            store(grad + j, load(grad + j) + w * h);
        }
        grad[i] -= w * sum(slope);
        loss += w * sum(wrong);
    }
    return loss;
}

// `e` is work space. Arrays of documents have room for PADDING numbers more.
static double sigmoid_pairs(double *x, const int *lower, const double *weight, int m,
                            double *e, double *grad, Scratch &scratch) {
    double top, bottom;
    find_extremes(x, m, &bottom, &top);
    // The negation also catches an infinite range and NaN.
    if (!(top - bottom <= MAX_FACTORISED_RANGE)) {
        pad(x, m, -INFINITE);
        return sigmoid_wide(x, lower, weight, m, grad, scratch);
    }
    exp_shifted(x, bottom + 0.5 * (top - bottom), m, e);
    return sigmoid_factorised(e, lower, weight, m, grad, scratch);
}

static void sigmoid_losses(const GradedQueries &queries, const double *scores,
                           double beta, double *values, double *gradient,
                           int n_threads) {
    sum_graded_losses(queries, scores, beta, 1, n_threads, values, gradient,
                      [=](const GradedQuery &q, Scratch &scratch) {
                          return sigmoid_pairs(q.x, q.lower, q.weight, q.size,
                                               scratch.array(0), q.gradient, scratch);
                      });
}

}  // namespace skrank
