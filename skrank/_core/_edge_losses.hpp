// Losses over the preference edges of queries: pairs of edges and stars of edges.
#pragma once

#include "_edge_pairs.hpp"
#include "_graded_queries.hpp"

namespace skrank {

// Multivariate sigmoids: for each preferred document, log(1 + sum of e^(x_k - x_i)) over
// the documents below it. `tops` and `logs` are work space of m numbers; writes the
// gradient.
static double star_query(const double *x, const int *lower, const double *weight, int m,
                         double *tops, double *logs, double *grad) {
    double top = -INFINITE, sum = 0.0, loss = 0.0;
    // tops[j] + logs[j] is the logarithm of the sum over the documents j, ..., m - 1. Of
    // their sum, large scores would leave no digit of the second.
    for (int j = m - 1; j >= 0; j--) {
        if (x[j] > top) {
            sum = sum * std::exp(top - x[j]) + 1.0;
            top = x[j];
        } else {
            sum += std::exp(x[j] - top);
        }
        tops[j] = top;
        logs[j] = std::log(sum);
    }
    double force = 0.0;  // sum of w p_i e^(sum at `level` - sum below i)
    int start = 0, level = 0;  // first document of the current grade, and below the last
    for (int i = 0; i < m; i++) {
        if (i > start && lower[i] != lower[start]) {
            // Documents from here on lie below those of the last grade.
            const int next = lower[start];
            if (force > 0.0)
                force *= std::exp((tops[next] - tops[level]) + (logs[next] - logs[level]));
            level = next;
            for (int r = start; r < i; r++) {
                const double w = weight ? weight[r] : 1.0;
                const double gap = (tops[next] - x[r]) + logs[next];
                const double wrong = w * logistic(gap);
                loss += w * softplus(gap);
                grad[r] -= wrong;
                force += wrong;
            }
            start = i;
        }
        grad[i] = force > 0.0 ? force * std::exp((x[i] - tops[level]) - logs[level]) : 0.0;
    }
    return loss;
}

// One pair of edges: log(1 + e^u + e^v), and the shares of e^u and e^v.
static inline double pair_loss(double u, double v, double *p, double *q) {
    const double top = std::max(0.0, std::max(u, v));
    const double x = std::exp(u - top), y = std::exp(v - top), one = std::exp(-top);
    const double sum = one + x + y;
    *p = x / sum;
    *q = y / sum;
    // Near 0 the logarithm of the sum would lose the digits of x and y.
    return top > 0.0 ? top + std::log(sum) : std::log1p(x + y);
}

// `second`, and with it its gradient, may be null. Queries are taken one at a time: the
// work of one grows with the number of its edges, times that of the nodes of a series.
static void edge_pair_losses(const GradedQueries &graded, const double *first,
                             const double *second, bool direct, double *values,
                             double *gradient_first, double *gradient_second,
                             int n_threads) {
    const Queries &queries = graded.queries;
    const Room room = {queries.longest() + PADDING, 5};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const int *order = graded.order + q.start;
        double *a = scratch.array(0), *grad_a = scratch.array(1);
        double *b = second ? scratch.array(2) : nullptr, *grad_b = scratch.array(3);
        double *weight = graded.weight ? scratch.array(4) : nullptr;
        gather(first + q.start, order, q.size, 1.0, a);
        if (b) gather(second + q.start, order, q.size, 1.0, b);
        if (weight) gather(graded.weight + q.start, order, q.size, 1.0, weight);
        std::fill(grad_a, grad_a + q.size, 0.0);
        if (b) std::fill(grad_b, grad_b + q.size, 0.0);
        const Edges edges{graded.lower + q.start, weight, q.size};
        values[q.number] = edge_pairs_query(a, b, edges, direct, grad_a, grad_b,
                                              scratch);
        scatter(grad_a, order, q.size, 1.0, gradient_first + q.start);
        if (b) scatter(grad_b, order, q.size, 1.0, gradient_second + q.start);
    });
}

// Given pairs of edges i -> j and k -> l, four rows each, `n_pairs` of them per query;
// those of weight 0 are skipped. Without `second`, both gradients are one array.
static void sampled_edge_pair_losses(const Queries &queries, const double *first,
                                     const double *second, const int *pairs,
                                     const double *pair_weight, Index n_pairs,
                                     double *values, double *gradient_first,
                                     double *gradient_second, int n_threads) {
    for_each_query(queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &scratch) {
        if (scratch.spend(64 * n_pairs)) return;
        const double *x = first + q.start, *y = second ? second + q.start : x;
        double *g = gradient_first + q.start, *h = gradient_second + q.start;
        double total = 0.0;
        for (Index s = q.number * n_pairs; s < (q.number + 1) * n_pairs; s++) {
            const int *pair = pairs + 4 * s;
            const double w = pair_weight[s];
            if (w == 0.0) continue;
            double p, r;
            total += w * pair_loss(x[pair[1]] - x[pair[0]], y[pair[3]] - y[pair[2]], &p, &r);
            g[pair[1]] += w * p;
            g[pair[0]] -= w * p;
            h[pair[3]] += w * r;
            h[pair[2]] -= w * r;
        }
        values[q.number] = total;
    });
}

static void star_losses(const GradedQueries &queries, const double *scores,
                        double *values, double *gradient, int n_threads) {
    sum_graded_losses(queries, scores, 1.0, 2, n_threads, values, gradient,
                      [=](const GradedQuery &q, Scratch &scratch) {
                          return star_query(q.x, q.lower, q.weight, q.size,
                                            scratch.array(0), scratch.array(1),
                                            q.gradient);
                      });
}

}  // namespace skrank
