// Sum over the other documents of a query of a small network on pairs.
//
// The network has one layer of hidden units on both documents. What a unit gets from a
// pair is a number of the one plus a number of the other, so that exp of the sum is a
// product and a pair costs no exp per hidden unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "_for_each_query.hpp"
#include "_log_products.hpp"

namespace skrank {

// Scaled tanh [LeCun1998], section 4.4: HEIGHT tanh(2 z / 3).
constexpr double TANH_HEIGHT = 1.7159;
constexpr double TANH_SLOPE = 2.0 / 3.0;

// From e = exp(4 z / 3): tanh(2 z / 3) = 1 - 2 / (e + 1).
SKRANK_INLINE Vec scaled_tanh_of_exp(Vec e) {
    return TANH_HEIGHT - 2.0 * TANH_HEIGHT / (e + 1.0);
}
SKRANK_INLINE Vec scaled_tanh_slope(Vec out) {
    return TANH_SLOPE * TANH_HEIGHT - (TANH_SLOPE / TANH_HEIGHT) * out * out;
}

// A query of m documents. Both tables are stored unit by unit, `stride` numbers each:
// exp(4 u / 3) and exp(4 v / 3), or 4 u / 3 and 4 v / 3 themselves if Wide.
struct PairQuery {
    const double *u, *v;
    const double *weight;  // of the hidden units
    double bias;
    int m, n_hidden;
    int64_t stride;
};

// Hidden units of the pairs (j, k ... k + 3), and what comes out.
template <bool Wide>
SKRANK_INLINE Vec pair_output(const PairQuery &q, int j, int k, double *hidden) {
    Vec z = Vec{} + q.bias;
    for (int h = 0; h < q.n_hidden; h++) {
        const double mine = q.u[h * q.stride + j];
        const Vec theirs = load(q.v + h * q.stride + k);
        const Vec e = Wide ? exp_clipped(mine + theirs) : mine * theirs;
        const Vec unit = scaled_tanh_of_exp(e);
        store(hidden + h * LANES, unit);
        z += q.weight[h] * unit;
    }
    return scaled_tanh_of_exp(exp_clipped((2.0 * TANH_SLOPE) * z));
}

SKRANK_INLINE void add(double *sum, Vec v) { store(sum, load(sum) + v); }

// Lanes that hold another document of the query.
SKRANK_INLINE Mask others(int j, int k, int m) {
    const Mask lane = Mask{0, 1, 2, 3} + (int64_t)k;
    return (lane != (int64_t)j) & (lane < (int64_t)m);
}

// Rows first ... last - 1 of the pairs.
template <bool Wide>
SKRANK_INLINE void pair_sums_body(const PairQuery &q, int first, int last,
                                  double *hidden, double *out) {
    for (int j = first; j < last; j++) {
        Vec total = {};
        for (int k = 0; k < q.m; k += LANES) {
            const Vec o = pair_output<Wide>(q, j, k, hidden);
            total += where(others(j, k, q.m), o, Vec{});
        }
        out[j] = sum(total);
    }
}

// Adds to grad_v (like v), writes grad_u (like u); parameters: n_hidden weights, bias.
// `work` has 3 n_hidden vectors of LANES numbers.
template <bool Wide>
SKRANK_INLINE void pair_backward_body(const PairQuery &q, const double *pull, double *work,
                                      double *grad_u, double *grad_v,
                                      double *grad_params, Scratch &scratch) {
    const int width = LANES * q.n_hidden;
    double *hidden = work, *mine = work + width, *weight = work + 2 * width;
    Vec bias = {};
    std::fill(weight, weight + width, 0.0);
    for (int j = 0; j < q.m; j++) {
        if (scratch.spend(2 * static_cast<int64_t>(q.m) * q.n_hidden)) break;
        std::fill(mine, mine + width, 0.0);
        for (int k = 0; k < q.m; k += LANES) {
            const Vec o = pair_output<Wide>(q, j, k, hidden);
            const Vec dz = where(others(j, k, q.m), pull[j] * scaled_tanh_slope(o), Vec{});
            bias += dz;
            for (int h = 0; h < q.n_hidden; h++) {
                double *theirs = grad_v + h * q.stride + k;
                const Vec unit = load(hidden + h * LANES);
                const Vec d = dz * q.weight[h] * scaled_tanh_slope(unit);
                add(weight + h * LANES, dz * unit);
                add(mine + h * LANES, d);
                add(theirs, d);
            }
        }
        for (int h = 0; h < q.n_hidden; h++)
            grad_u[h * q.stride + j] = sum(load(mine + h * LANES));
    }
    for (int h = 0; h < q.n_hidden; h++) grad_params[h] = sum(load(weight + h * LANES));
    grad_params[q.n_hidden] = sum(bias);
}

SKRANK_CLONES
static void pair_sums(const PairQuery &q, int first, int last, double *hidden,
                      double *out) {
    pair_sums_body<false>(q, first, last, hidden, out);
}
SKRANK_CLONES
static void pair_sums_wide(const PairQuery &q, int first, int last, double *hidden,
                           double *out) {
    pair_sums_body<true>(q, first, last, hidden, out);
}
SKRANK_CLONES
static void pair_backward(const PairQuery &q, const double *pull, double *work,
                          double *grad_u, double *grad_v, double *grad_params,
                          Scratch &scratch) {
    pair_backward_body<false>(q, pull, work, grad_u, grad_v, grad_params, scratch);
}
SKRANK_CLONES
static void pair_backward_wide(const PairQuery &q, const double *pull, double *work,
                               double *grad_u, double *grad_v, double *grad_params,
                               Scratch &scratch) {
    pair_backward_body<true>(q, pull, work, grad_u, grad_v, grad_params, scratch);
}

// Bring rows of 2 n_hidden numbers, u then v, into the tables of a query; returns
// whether products of exponentials could leave the range of a double.
static bool load_pairs(const double *rows, int m, int n_hidden, int64_t stride,
                       double *u, double *v) {
    bool wide = false;
    for (int h = 0; h < n_hidden; h++) {
        double *mine = u + h * stride, *theirs = v + h * stride;
        double top = 0.0, other = 0.0;
        for (int j = 0; j < m; j++) {
            mine[j] = (2.0 * TANH_SLOPE) * rows[(int64_t)j * 2 * n_hidden + h];
            theirs[j] = (2.0 * TANH_SLOPE) * rows[(int64_t)j * 2 * n_hidden + n_hidden + h];
            top = std::max(top, std::fabs(mine[j]));
            other = std::max(other, std::fabs(theirs[j]));
        }
        pad(theirs, m, 0.0);
        wide = wide || !(top + other < MAX_LOG_PRODUCT);  // NaN counts as wide
    }
    if (!wide) {
        for (int h = 0; h < n_hidden; h++) {
            exp_shifted(u + h * stride, 0.0, m, u + h * stride);
            exp_shifted(v + h * stride, 0.0, m, v + h * stride);
        }
    }
    return wide;
}

constexpr int STRIP = 32;  // rows of pairs between two looks at the watch

static void pair_scores(const double *rows, const double *weight, double bias, int m,
                        int n_hidden, int64_t stride, double *work, double *out,
                        Scratch &scratch) {
    double *u = work, *v = work + n_hidden * stride;
    double *hidden = work + 2 * n_hidden * stride;
    const bool wide = load_pairs(rows, m, n_hidden, stride, u, v);
    const PairQuery q{u, v, weight, bias, m, n_hidden, stride};
    for (int first = 0, last; first < m; first = last) {
        last = std::min(first + STRIP, m);
        if (scratch.spend(static_cast<int64_t>(STRIP) * m * n_hidden)) break;
        (wide ? pair_sums_wide : pair_sums)(q, first, last, hidden, out);
    }
}

static void pair_gradient(const double *rows, const double *weight, double bias, int m,
                          int n_hidden, int64_t stride, const double *pull, double *work,
                          double *grad_rows, double *grad_params, Scratch &scratch) {
    const int64_t table = n_hidden * stride;
    double *u = work, *v = work + table, *grad_u = work + 2 * table;
    double *grad_v = work + 3 * table;
    const bool wide = load_pairs(rows, m, n_hidden, stride, u, v);
    std::fill(grad_v, grad_v + table, 0.0);
    const PairQuery q{u, v, weight, bias, m, n_hidden, stride};
    (wide ? pair_backward_wide : pair_backward)(q, pull, work + 4 * table, grad_u, grad_v,
                                                grad_params, scratch);
    for (int h = 0; h < n_hidden; h++) {
        for (int j = 0; j < m; j++) {
            grad_rows[(int64_t)j * 2 * n_hidden + h] = grad_u[h * stride + j];
            grad_rows[(int64_t)j * 2 * n_hidden + n_hidden + h] = grad_v[h * stride + j];
        }
    }
}

// The network: weights of the hidden units at the output, and the bias of the output.
struct PairNetwork {
    const double *weight;
    double bias;
    int n_hidden;
    bool average;  // divide by the number of other documents
};

// Sums, or means, over the other documents; rows of 2 n_hidden numbers. The score of a
// document that is alone in its query stays as it is. Queries are taken one at a time:
// their work grows with the square of their length, times the hidden units.
static void pair_potentials(const Queries &queries, const double *rows,
                            const PairNetwork &net, double *out, int n_threads) {
    const Index stride = queries.longest() + PADDING, n = net.n_hidden;
    const Room room = {n * (2 * stride + LANES), 1};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        if (q.size < 2) return;
        double *own = out + q.start;
        pair_scores(rows + 2 * n * q.start, net.weight, net.bias, q.size, net.n_hidden,
                    stride, scratch.array(0), own, scratch);
        if (net.average)
            for (int i = 0; i < q.size; i++) own[i] = own[i] / (q.size - 1);
    });
}

// Gradients with respect to the rows and, for each query, to the weights and the bias.
static void pair_potential_gradients(const Queries &queries, const double *rows,
                                     const PairNetwork &net, const double *pull,
                                     double *grad_rows, double *grad_output,
                                     int n_threads) {
    const Index stride = queries.longest() + PADDING, n = net.n_hidden;
    const Index n_work = n * (4 * stride + 3 * LANES);
    const Room room = {n_work + stride, 1};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        if (q.size < 2) return;
        double *scaled = scratch.array(0) + n_work;
        const double scale = net.average ? 1.0 / (q.size - 1) : 1.0;
        for (int i = 0; i < q.size; i++) scaled[i] = scale * pull[q.start + i];
        pair_gradient(rows + 2 * n * q.start, net.weight, net.bias, q.size, net.n_hidden,
                      stride, scaled, scratch.array(0), grad_rows + 2 * n * q.start,
                      grad_output + q.number * (n + 1), scratch);
    });
}

}  // namespace skrank
