// Softmax of scores, and its cross entropy with a distribution.
#pragma once

#include "_for_each_query.hpp"
#include "_simd.hpp"

namespace skrank {

// out = exp(x - top); returns the sum. Relative to the largest score nothing overflows,
// and the sum is at least 1.
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

// Weighted cross entropies of all queries; those of weight 0 are skipped, and their
// places in `values` and `gradient` stay as they are.
inline void softmax_cross_entropies(const Queries &queries, const double *scores,
                                    const double *target, const double *query_weight,
                                    double *values, double *gradient, int n_threads) {
    for_each_query(queries, LIGHT_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        const double w = query_weight[q.number];
        if (w == 0.0) return;
        double *grad = gradient + q.start;
        values[q.number] = w * softmax_cross_entropy(scores + q.start, target + q.start,
                                                     q.size, grad);
        if (w != 1.0)
            for (int i = 0; i < q.size; i++) grad[i] = w * grad[i];
    });
}

}  // namespace skrank
