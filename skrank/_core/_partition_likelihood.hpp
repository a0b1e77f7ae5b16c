// Likelihood of ordered partitions of documents under the Plackett-Luce model.
//
// If document i arrives after an exponential time of rate exp(s[i]), the order of arrival
// has the Plackett-Luce distribution. So the documents of one grade, whose order does not
// matter, come before all documents of lower grades with the probability
//
//     P = integral over t of  W exp(-W t)  product over i of (1 - exp(-exp(s[i]) t)),
//
// where W is the sum of exp(s) over the lower grades: what a set of b! orders or 2^b subsets
// would take is one integral. In x = log(W t) its integrand is an entire function whose
// logarithm is concave, and falls off at least exponentially, so that the trapezoidal rule
// converges exponentially as the step shrinks.
#pragma once

#include "_for_each_query.hpp"
#include "_log_products.hpp"

namespace skrank {

// Documents of one grade, relative to the lower ones: s[i] is the score minus log(W), and
// a[i] = exp(s[i]). Arrays have room for PADDING numbers more.
struct Tied {
    double *s, *a;
    double *share;   // of one node: d log(1 - exp(-a exp(x))) / dx, in [0, 1]
    double *shares;  // their mean under the integrand
    int size;
};

// The logarithm of the integrand and minus its two first derivatives' sums over the ties.
struct PartitionNode {
    double log_value, slope, curvature;
};

// Logarithm of the integrand at x = log(W t), with its slope and its negative curvature.
SKRANK_CLONES
static PartitionNode partition_node(const Tied &tied, double x) {
    const double time = std::exp(x);
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    LogProducts logs(1400);  // factors are at least 1 - 1/e
    Vec below = {}, shares = {}, curvature = {};
    int j = 0;
    while (j < tied.size) {
        const int rest = (tied.size - j + LANES - 1) / LANES;
        const int end = j + LANES * logs.room(rest);
        Vec product = logs.get();
        for (; j < end; j += LANES) {
            Vec y = load(tied.a + j) * time;
            y = where(y > 700.0, one * 700.0, y);
            const Vec e = exp_clipped(-y), arrived = 1.0 - e;
            // (1 - exp(-y)) / y, whose difference would cancel where y is small.
            Vec p = y * (-1.0 / 87178291200.0) + 1.0 / 6227020800.0;
            p = p * -y + 1.0 / 479001600.0;
            p = p * -y + 1.0 / 39916800.0;
            p = p * -y + 1.0 / 3628800.0;
            p = p * -y + 1.0 / 362880.0;
            p = p * -y + 1.0 / 40320.0;
            p = p * -y + 1.0 / 5040.0;
            p = p * -y + 1.0 / 720.0;
            p = p * -y + 1.0 / 120.0;
            p = p * -y + 1.0 / 24.0;
            p = p * -y + 1.0 / 6.0;
            p = p * -y + 0.5;
            p = p * -y + 1.0;
            const Vec h = where(y < 0.6, p, arrived / y);
            const Vec z = load(tied.s + j) + x, inverse = 1.0 / h, share = e * inverse;
            product *= where(y < one, h, arrived);
            below += where(z < 0.0, z, Vec{});
            shares += share;
            curvature += share * (inverse - 1.0);
            store(tied.share + j, share);
        }
        logs.set(product);
    }
    return {x - time + sum(below) + logs.take(), 1.0 - time + sum(shares),
            time + sum(curvature)};
}

// Where the integrand is largest, about: the slope falls from above 0 to below 0 between
// 0 and log(1 + b).
static double partition_mode(const Tied &tied, double *curvature) {
    double low = 0.0, high = std::log1p((double)tied.size), x = 0.5 * high;
    for (int step = 0; step < 50; step++) {
        const PartitionNode node = partition_node(tied, x);
        *curvature = node.curvature;
        const double move = node.slope / node.curvature;
        if (!(move * move * node.curvature > 1e-2)) break;
        (node.slope > 0.0 ? low : high) = x;
        x += move;
        if (!(x > low && x < high)) x = 0.5 * (low + high);
    }
    return x;
}

// -log P, and in `shares` its negative derivatives with respect to s.
static double partition_block(const Tied &tied, Scratch &scratch) {
    const int b = tied.size;
    if (b == 1) {  // P = 1 / (1 + exp(-s))
        const double e = std::exp(-std::fabs(tied.s[0])), s = tied.s[0];
        tied.shares[0] = (s > 0.0 ? e : 1.0) / (1.0 + e);
        return std::fmax(-s, 0.0) + std::log1p(e);
    }
    // Documents so far behind wait in proportion to their strength: the logarithm of the
    // integrand is linear in their scores, of which huge ones would hide how it falls.
    double behind = 0.0;
    for (int i = 0; i < b; i++) {
        behind += std::fmin(0.0, tied.s[i] + 600.0);
        tied.s[i] = std::fmin(std::fmax(tied.s[i], -600.0), 600.0);
        tied.a[i] = std::exp(tied.s[i]);
    }
    pad(tied.a, b, 1e300);  // has always arrived
    pad(tied.s, b, 1e3);
    double curvature;
    const double mode = partition_mode(tied, &curvature);
    // The integrand varies within 1 / sqrt(curvature) about its mode and, where the last
    // of b documents is awaited, within 1 / log(b).
    const double step = std::fmin(0.6 / std::sqrt(curvature),
                                  0.3 / std::fmax(1.0, std::log((double)b)));
    std::fill(tied.shares, tied.shares + b, 0.0);
    const double top = partition_node(tied, mode).log_value;
    double total = 0.0;
    for (int side = 1; side >= -1; side -= 2) {
        // The slope is beyond 1 / 2 a little to the left, and steeper on the right.
        for (int k = side > 0 ? 0 : 1; k * step < 100.0; k++) {
            const double fall = partition_node(tied, mode + side * k * step).log_value - top;
            // Falls, once steep, stay so: the logarithm is concave.
            if (!(fall > -38.0) || scratch.spend(8 * b)) break;
            const double weight = std::exp(fall);
            total += weight;
            for (int i = 0; i < b; i++) tied.shares[i] += weight * tied.share[i];
        }
    }
    for (int i = 0; i < b; i++) tied.shares[i] /= total;
    return std::fmax(0.0, -(behind + top + std::log(step * total)));
}

// Logarithms of the sums of exp(x[u]) over u >= r, wherever a grade begins.
static void log_tails(const double *x, const int *lower, int m, double *log_tail) {
    double top = -INFINITE, total = 0.0;
    for (int r = m - 1; r >= 0; r--) {
        if (x[r] > top) {
            total *= std::exp(top - x[r]);
            top = x[r];
        }
        total += std::exp(x[r] - top);
        if (r == 0 || lower[r - 1] == r) log_tail[r] = top + std::log(total);
    }
}

// One query, whose documents come by grade: the sum of -log P over the grades that begin
// among the first k positions, each against all lower ones. `tied` has room for a grade.
static double partition_stages(const double *x, const int *lower, int m, int k, Tied tied,
                               double *log_tail, double *grad, Scratch &scratch) {
    log_tails(x, lower, m, log_tail);
    double loss = 0.0, pushed = 0.0, log_rest = 0.0;
    for (int first = 0, end; first < m; first = end) {
        end = lower[first];
        // Pushes of the grades above are shared by strength; relative to what was left
        // below them they cannot overflow.
        for (int r = first; r < end; r++)
            grad[r] = first ? pushed * std::exp(x[r] - log_rest) : 0.0;
        if (end == m || first >= k) {
            for (int r = end; r < m; r++) grad[r] = pushed * std::exp(x[r] - log_rest);
            break;
        }
        tied.size = end - first;
        for (int i = 0; i < tied.size; i++) tied.s[i] = x[first + i] - log_tail[end];
        loss += partition_block(tied, scratch);
        pushed = first ? pushed * std::exp(log_tail[end] - log_rest) : 0.0;
        log_rest = log_tail[end];
        for (int i = 0; i < tied.size; i++) {
            grad[first + i] -= tied.shares[i];
            pushed += tied.shares[i];
        }
    }
    return loss;
}

// Weighted negative log-likelihoods of the partitions of all queries by grade, down to
// position `top_k` (0: all of them); queries of weight 0 are skipped, and their places in
// `values` and `gradient` stay as they are.
static void partition_losses(const Queries &queries, const double *scores,
                             const int *order, const int *lower,
                             const double *query_weight, int top_k, double *values,
                             double *gradient, int n_threads) {
    const Room room = {queries.longest() + PADDING, 7};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const double w = query_weight[q.number];
        if (w == 0.0) return;
        double *x = scratch.array(0), *grad = scratch.array(1);
        const Tied tied = {scratch.array(2), scratch.array(3), scratch.array(4),
                           scratch.array(5), 0};
        const int *own = order + q.start, k = 0 < top_k && top_k < q.size ? top_k : q.size;
        gather(scores + q.start, own, q.size, 1.0, x);
        values[q.number] = w * partition_stages(x, lower + q.start, q.size, k, tied,
                                                scratch.array(6), grad, scratch);
        scatter(grad, own, q.size, w, gradient + q.start);
    });
}

}  // namespace skrank
