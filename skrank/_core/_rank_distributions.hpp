// Expected measures of noisy scores: SoftRank.
//
// Scores are independent normal variables. Document u is above i with the probability
// that its score is larger; given i, these events are taken to be independent of each
// other, so that the rank of i has a Poisson binomial distribution: rank-binomial.
#pragma once

#include "_smooth_measure.hpp"

namespace skrank {

// Beyond so many standard deviations a double says that the order is certain.
constexpr double CERTAIN = 40.0;
// Least variance of a rank under the normal approximation: all but 1e-22 is within half
// a rank, and derivatives stay finite.
constexpr double LEAST_RANK_VARIANCE = 1.0 / 400.0;
// Share of users who go on beyond a document that counts as none: its inverse is finite.
constexpr double NOBODY = 1e-290;
// Numbers of the recursion that are kept at a time, which fit into a cache.
constexpr Index KEPT_NUMBERS = 1 << 15;

inline double normal_density(double z) {
    return 0.39894228040143267794 * std::exp(-0.5 * z * z);
}
inline double normal_tail(double z) { return 0.5 * std::erfc(0.70710678118654752440 * z); }

// How every document u of a query compares with one of them: u is above with the
// probability p, below with q = 1 - p.
struct Rivals {
    int m;
    double *p, *q;
    double *z, *density;  // normal quantile of p, and the density there
    double *pull;         // derivative of the form by p
};

inline void compare(const double *x, const double *variance, int i, const Rivals &r) {
    for (int u = 0; u < r.m; u++) {
        const double sum = variance ? variance[u] + variance[i] : 2.0;
        const double deviation = std::sqrt(std::max(sum, 1e-300));
        double z = (x[u] - x[i]) / deviation;
        z = z > CERTAIN ? CERTAIN : z < -CERTAIN ? -CERTAIN : z;
        const double tail = normal_tail(std::abs(z));
        r.p[u] = z > 0.0 ? 1.0 - tail : tail;
        r.q[u] = z > 0.0 ? tail : 1.0 - tail;
        r.z[u] = z;
        r.density[u] = normal_density(z);
    }
    // A document is no rival of itself.
    r.p[i] = r.density[i] = r.z[i] = 0.0;
    r.q[i] = 1.0;
}

// Moves the derivatives by p to the scores and, unless it is null, their variances.
inline void move_rivals(const Rivals &r, const double *variance, int i, double *grad,
                        double *variance_grad) {
    double total = 0.0, variance_total = 0.0;
    for (int u = 0; u < r.m; u++) {
        if (u == i || r.density[u] == 0.0) continue;
        const double sum = std::max(variance ? variance[u] + variance[i] : 2.0, 1e-300);
        const double step = r.pull[u] * (r.density[u] / std::sqrt(sum));
        grad[u] += step;
        total += step;
        if (variance_grad) {
            const double by_variance = -0.5 * r.pull[u] * r.density[u] * r.z[u] / sum;
            variance_grad[u] += by_variance;
            variance_total += by_variance;
        }
    }
    grad[i] -= total;
    if (variance_grad) variance_grad[i] += variance_total;
}

// The recursion over rivals, in whole vectors: ranks that count are filled up with others
// of discount 0. State a[r] is the sum over all events in which r of the
// rivals so far are above, of their probability times the product of 1 - gain of these
// for a cascade; state b, for average precision, has the sum of their gains in place of
// the product.
struct RankRecursion {
    int form;
    int n;                // ranks, a multiple of LANES
    const double *gain;   // of the rivals
    double *kept;         // states within a block of rivals
    double *checkpoints;  // states before each block
    double *adjoint;      // of a, and of b behind it, with zeros behind each
    int block;            // rivals per block

    // A state has zeros in LANES numbers before a, and before b behind it.
    int part() const { return LANES + n; }
    int state() const { return (form == AVERAGE_PRECISION ? 2 : 1) * part(); }
};

// One more rival. Behind `t` rivals, ranks beyond t + 1 have no probability.
SKRANK_INLINE void add_rival(const RankRecursion &k, double p, double q, double gain,
                             int t, const double *a, double *out) {
    const int last = std::min(k.n, t + 2);
    const double up = k.form == CASCADE ? p * (1.0 - gain) : p;
    std::fill(out, out + k.state(), 0.0);
    a += LANES, out += LANES;
    for (int r = 0; r < last; r += LANES)
        store(out + r, q * load(a + r) + up * load(a + r - 1));
    if (k.form != AVERAGE_PRECISION) return;
    const double *b = a + k.part();
    out += k.part();
    for (int r = 0; r < last; r += LANES)
        store(out + r, q * load(b + r) + p * (load(b + r - 1) + gain * load(a + r - 1)));
}

// The adjoint of `add_rival`; returns the derivative by p.
SKRANK_INLINE double drop_rival(const RankRecursion &k, double p, double q, double gain,
                                int t, const double *a) {
    const int last = std::min(k.n, t + 1);
    double *to_a = k.adjoint, *to_b = k.adjoint + k.part();
    a += LANES;
    Vec pull = {};
    if (k.form == AVERAGE_PRECISION) {
        const double *b = a + k.part();
        for (int r = 0; r < last; r += LANES) {
            const Vec stay_a = load(to_a + r), stay_b = load(to_b + r);
            const Vec up_b = load(to_b + r + 1), up_a = load(to_a + r + 1) + gain * up_b;
            pull += load(a + r) * (up_a - stay_a);
            pull += load(b + r) * (up_b - stay_b);
            store(to_a + r, q * stay_a + p * up_a);
            store(to_b + r, q * stay_b + p * up_b);
        }
        return sum(pull);
    }
    const double passed = k.form == CASCADE ? 1.0 - gain : 1.0;
    for (int r = 0; r < last; r += LANES) {
        const Vec stay = load(to_a + r), up = passed * load(to_a + r + 1);
        pull += load(a + r) * (up - stay);
        store(to_a + r, q * stay + p * up);
    }
    return sum(pull);
}

// Expected part of one document in the form, without its gain; leaves the derivatives by
// p in r.pull. There are discounts of `n_ranks` ranks. States are kept for one block of
// rivals at a time, and computed again from where the block began, so that memory does not
// grow with the product of rivals and ranks. (Taking rivals out of the last state would
// need no memory, and no digits would be left of it.)
SKRANK_CLONES
static double expected_part(const RankRecursion &k, const Rivals &r,
                            const double *discount, int n_ranks, Scratch &scratch) {
    const int m = r.m, size = k.state();
    const int n_blocks = (m + k.block - 1) / k.block;
    const double *end = nullptr;
    std::fill(k.checkpoints, k.checkpoints + size, 0.0);
    k.checkpoints[LANES] = 1.0;
    for (int pass = 0; pass < 2 * n_blocks; pass++) {
        // Forward over all blocks; then backward, where the last one is still there.
        const bool forward = pass < n_blocks;
        const int c = forward ? pass : 2 * n_blocks - 1 - pass;
        const int first = c * k.block, last = std::min(first + k.block, m);
        if (forward || c < n_blocks - 1) {
            std::copy(k.checkpoints + (Index)c * size, k.checkpoints + (Index)(c + 1) * size,
                      k.kept);
            for (int u = first; u < last; u++) {
                if (scratch.spend(2 * k.n)) return 0.0;
                double *state = k.kept + (Index)(u - first) * size;
                add_rival(k, r.p[u], r.q[u], k.gain[u], u, state, state + size);
            }
            end = k.kept + (Index)(last - first) * size;
        }
        if (forward) {
            if (c + 1 < n_blocks)
                std::copy(end, end + size, k.checkpoints + (Index)(c + 1) * size);
            if (c + 1 < n_blocks) continue;
            std::fill(k.adjoint, k.adjoint + 2 * k.part(), 0.0);
            std::copy(discount, discount + n_ranks, k.adjoint);
            std::copy(discount, discount + n_ranks, k.adjoint + k.part());
            continue;
        }
        for (int u = last - 1; u >= first; u--) {
            if (scratch.spend(2 * k.n)) return 0.0;
            r.pull[u] = drop_rival(k, r.p[u], r.q[u], k.gain[u], u,
                                   k.kept + (Index)(u - first) * size);
        }
    }
    // The adjoint of the first state, in which no rival is above, is the expectation.
    return k.adjoint[0];
}

// Sums over ranks r of discount[r] P(r), and of r times that, for a normal variable in
// place of the rank, rounded; with derivatives by its mean and variance.
struct NormalRank {
    double value[2], by_mean[2], by_variance[2];
};

inline NormalRank normal_rank(double mean, double variance, const double *discount, int n,
                              int m) {
    NormalRank s = {};
    const double deviation = std::sqrt(variance);
    for (int r = 1; r <= n; r++) {
        const double here = discount[r - 1], next = r < n ? discount[r] : 0.0;
        const double fall[2] = {here - next, r * here - (r + 1) * next};
        // There is no rank behind the last document.
        const double z = (r + 0.5 - mean) / deviation;
        const double below = r < m ? normal_tail(-z) : 1.0;
        const double density = r < m ? normal_density(z) : 0.0;
        for (int t = 0; t < 2; t++) {
            s.value[t] += fall[t] * below;
            s.by_mean[t] -= fall[t] * density / deviation;
            s.by_variance[t] -= fall[t] * density * z / (2.0 * variance);
        }
    }
    return s;
}

// The same as `expected_part` with a normal variable in place of the rank.
//
// In a cascade, weighing each event by the product of 1 - gain of the rivals above makes
// another Poisson binomial distribution of their number, with odds that are multiplied by
// 1 - gain, times the product over all rivals of 1 - gain p. For average precision the
// gains above have, given the rank, the mean of jointly normal variables.
inline double normal_part(int form, const double *gain, const Rivals &r,
                          const double *discount, int n) {
    const int m = r.m;
    const bool cascade = form == CASCADE;
    double mean = 1.0, variance = LEAST_RANK_VARIANCE, reach = 1.0;
    double gain_mean = 0.0, gain_variance = 0.0;
    for (int u = 0; u < m; u++) {
        const double passed = cascade ? r.q[u] + (1.0 - gain[u]) * r.p[u] : 1.0;
        const bool tilts = cascade && passed > NOBODY;
        const double p = tilts ? (1.0 - gain[u]) * r.p[u] / passed : r.p[u];
        const double q = tilts ? r.q[u] / passed : r.q[u];
        reach *= passed;
        mean += p;
        variance += p * q;
        gain_mean += gain[u] * r.p[u];
        gain_variance += gain[u] * r.p[u] * r.q[u];
    }
    const NormalRank s = normal_rank(mean, variance, discount, n, m);
    double part = reach * s.value[0];
    double by_mean = reach * s.by_mean[0], by_variance = reach * s.by_variance[0];
    double by_gain_mean = 0.0, by_gain_variance = 0.0;
    if (form == AVERAGE_PRECISION) {
        const double ratio = gain_variance / variance, level = 1.0 + gain_mean - ratio * mean;
        const double tilt = s.value[1] - mean * s.value[0];
        part = level * s.value[0] + ratio * s.value[1];
        by_mean = level * s.by_mean[0] + ratio * (s.by_mean[1] - s.value[0]);
        by_variance = level * s.by_variance[0] + ratio * s.by_variance[1] -
                      tilt * ratio / variance;
        by_gain_mean = s.value[0];
        by_gain_variance = tilt / variance;
    }
    for (int u = 0; u < m; u++) {
        const double skew = r.q[u] - r.p[u], left = 1.0 - gain[u];
        const double passed = cascade ? r.q[u] + left * r.p[u] : 1.0;
        if (!cascade) {
            r.pull[u] = by_mean + by_variance * skew +
                        gain[u] * (by_gain_mean + by_gain_variance * skew);
        } else if (passed > NOBODY) {
            const double tilted = (r.q[u] - left * r.p[u]) / passed;
            r.pull[u] = (by_mean + by_variance * tilted) * (left / passed / passed) -
                        part * (gain[u] / passed);
        } else {
            r.pull[u] = 0.0;  // nobody reaches this document
        }
    }
    return part;
}

// Values and gradients; `variance` of each score may be null, for 1. Scores come times
// inverse_width, variances as they are. `variance_gradient` may be null.
static void noisy_measures(const SmoothMeasure &measure, const double *scores,
                           const double *variance, double inverse_width, bool normal,
                           double *values, double *gradient, double *variance_gradient,
                           int n_threads) {
    const Index longest = measure.queries.longest();
    const Index n = std::min<Index>(longest, measure.n_ranks);
    const Index part = (n + LANES - 1) / LANES * LANES + LANES;
    const Index size = (measure.form == AVERAGE_PRECISION ? 2 : 1) * part;
    const Index root = (Index)std::ceil(std::sqrt((double)longest));
    const Index block = std::min(longest, std::max(root, KEPT_NUMBERS / size));
    const Index kept = (block + 1) * size, checkpoints = (longest / block + 1) * size;
    const Index recursion = normal ? 0 : kept + checkpoints + 2 * part;
    // Arrays of documents stand behind those of the recursion, each as long as the longest.
    const int arrays = 8 + (int)((recursion + longest - 1) / longest);
    for_each_query(
        measure.queries, HEAVY_CHUNK, n_threads, {longest, arrays, 1},
        [&](Query q, Scratch &scratch) {
            const double factor = measure.factor[q.number];
            if (factor == 0.0) return;
            const int m = q.size;
            const double *gain = measure.gain + q.start;
            const double *noise = variance ? variance + q.start : nullptr;
            double *x = scratch.array(0), *grad = scratch.array(1);
            double *noise_grad = variance_gradient ? scratch.array(2) : nullptr;
            const Rivals rivals = {m,
                                   scratch.array(3),
                                   scratch.array(4),
                                   scratch.array(5),
                                   scratch.array(6),
                                   scratch.array(7)};
            const int n_ranks = (int)std::min<Index>(m, n);
            RankRecursion k = {measure.form, (n_ranks + LANES - 1) / LANES * LANES, gain,
                               scratch.array(8), nullptr, nullptr, (int)block};
            k.checkpoints = k.kept + kept;
            k.adjoint = k.checkpoints + checkpoints;
            for (int i = 0; i < m; i++) x[i] = inverse_width * scores[q.start + i];
            std::fill(grad, grad + m, 0.0);
            if (noise_grad) std::fill(noise_grad, noise_grad + m, 0.0);
            int *chosen = scratch.indices(0);
            const int n_chosen = n_ranks ? find_gains(gain, m, chosen) : 0;
            double value = 0.0;
            for (int c = 0; c < n_chosen && !scratch.spend((int64_t)50 * m); c++) {
                const int i = chosen[c];
                compare(x, noise, i, rivals);
                const double part =
                    normal ? normal_part(measure.form, gain, rivals, measure.discount, n_ranks)
                           : expected_part(k, rivals, measure.discount, n_ranks, scratch);
                value += gain[i] * part;
                for (int u = 0; u < m; u++) rivals.pull[u] *= gain[i];
                move_rivals(rivals, noise, i, grad, noise_grad);
            }
            values[q.number] = factor * value;
            for (int i = 0; i < m; i++) {
                gradient[q.start + i] = factor * inverse_width * grad[i];
                if (noise_grad) variance_gradient[q.start + i] = factor * noise_grad[i];
            }
        });
}

}  // namespace skrank
