// Likelihood of orders of documents under the Plackett-Luce model.
#pragma once

#include "_for_each_query.hpp"
#include "_log_products.hpp"

namespace skrank {

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
    // From the end: subtracting from the total would leave no digit of a small tail.
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
    if (top - bottom <= 300.0)  // sums of exponentials and their inverses stay normal
        return plackett_luce_narrow(x, w, m, k, top, bottom, e, tail, grad);
    return plackett_luce_wide(x, w, m, k, e, tail, grad);
}

// Weighted negative log-likelihoods of the first `top_k` positions of all queries (0: all
// positions) in the given orders. `stage_weight` may be null; queries of weight 0 are
// skipped, and their places in `values` and `gradient` stay as they are.
static void plackett_luce_losses(const Queries &queries, const double *scores,
                                 const int *order, const double *stage_weight,
                                 const double *query_weight, int top_k, double *values,
                                 double *gradient, int n_threads) {
    const Room room = {queries.longest() + PADDING, 4};
    for_each_query(queries, LIGHT_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const double w = query_weight[q.number];
        if (w == 0.0) return;
        double *x = scratch.array(0), *grad = scratch.array(3);
        const int *own = order + q.start;
        const int k = 0 < top_k && top_k < q.size ? top_k : q.size;
        gather(scores + q.start, own, q.size, 1.0, x);
        values[q.number] =
            w * plackett_luce_stages(x, stage_weight ? stage_weight + q.start : nullptr,
                                     q.size, k, scratch.array(1), scratch.array(2), grad);
        scatter(grad, own, q.size, w, gradient + q.start);
    });
}

}  // namespace skrank
