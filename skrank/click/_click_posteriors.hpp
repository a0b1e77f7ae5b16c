// Posterior distributions of relevance: products of powers of linear functions on [0, 1].
//
//     p(r) ~ r^clicks * prod_j (1 - factor_j * r)^count_j,    factor_j <= 1.
//
// Counts may be millions, so that the density is a narrow peak somewhere. Its logarithm is
// concave: the peak is found by bisection of the slope, and the part of the interval that
// counts by steps of doubled length away from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../_core/_for_each_query.hpp"

namespace skrank {

// Factors of pair p are ptr[p] ... ptr[p + 1] - 1.
struct Posteriors {
    const Index *ptr;
    Index n_pairs;
    const double *clicks, *factor, *count;
};

// The density of one pair.
struct Posterior {
    double clicks;
    const double *factor, *count;
    Index size;

    double log_density(double r) const {
        double value = clicks > 0.0 ? clicks * std::log(r) : 0.0;
        for (Index j = 0; j < size; j++)
            if (count[j] > 0.0) value += count[j] * std::log1p(-factor[j] * r);
        return value;
    }
    double slope(double r) const {
        double value = clicks > 0.0 ? clicks / r : 0.0;
        for (Index j = 0; j < size; j++)
            if (count[j] > 0.0) value -= count[j] * factor[j] / (1.0 - factor[j] * r);
        return value;
    }
    double curvature(double r) const {
        double value = clicks > 0.0 ? clicks / (r * r) : 0.0;
        for (Index j = 0; j < size; j++) {
            const double ratio = factor[j] / (1.0 - factor[j] * r);
            if (count[j] > 0.0) value += count[j] * ratio * ratio;
        }
        return value;
    }
    double peak() const {
        double low = 0.0, high = 1.0;
        for (int step = 0; step < 60 && high - low > 1e-9 * high; step++) {
            const double middle = 0.5 * (low + high);
            (slope(middle) > 0.0 ? low : high) = middle;
        }
        return 0.5 * (low + high);
    }
};

// The part of [0, 1] in which the density is not below exp(-40) of its peak, or a little
// more of it, and the logarithm of the density at the peak.
struct Support {
    double low, high, top;
};

inline Support support_of(const Posterior &posterior) {
    constexpr double DROP = 40.0;
    const double peak = posterior.peak(), top = posterior.log_density(peak);
    // A step of 0, beside a peak without bounds, would never become longer.
    const double scale = std::max(std::numeric_limits<double>::min(),
                                  4.0 / (std::abs(posterior.slope(peak)) +
                                         std::sqrt(posterior.curvature(peak)) + 1.0));
    Support support = {peak, peak, top};
    for (double step = scale; support.low > 0.0; step *= 1.4) {
        support.low = std::max(0.0, peak - step);
        if (support.low > 0.0 && posterior.log_density(support.low) < top - DROP) break;
    }
    for (double step = scale; support.high < 1.0; step *= 1.4) {
        support.high = std::min(1.0, peak + step);
        if (support.high < 1.0 && posterior.log_density(support.high) < top - DROP) break;
    }
    return support;
}

inline Posterior posterior_of(const Posteriors &all, Index pair) {
    const Index start = all.ptr[pair];
    return {all.clicks[pair], all.factor + start, all.count + start,
            all.ptr[pair + 1] - start};
}

// Rules of Gauss and Jacobi on [0, 1]: integrals of u^left (1 - u)^right times what is smooth,
// where the exponents count only at an end that is 0 or 1. The rule without them comes first,
// then that with the left one, with the right one, and with both.
struct Rules {
    const double *nodes, *weights;
    Index n_nodes;
    double left, right;
};

// The moments of u, where r = low + (high - low) * u.
struct Moments {
    double total = 0.0, first = 0.0, second = 0.0;
};

// Powers that are not whole are steep, or not smooth, at the ends of [0, 1]: there the rule
// takes their broken parts, which all pairs have from the prior.
inline Moments moments_of(const Posterior &posterior, const Support &support,
                          const Rules &rules) {
    const bool at_0 = support.low == 0.0, at_1 = support.high == 1.0;
    const Index rule = rules.n_nodes * (2 * at_1 + at_0);
    const double left = at_0 ? rules.left : 0.0, right = at_1 ? rules.right : 0.0;
    const double width = support.high - support.low;
    Moments moments;
    for (Index k = 0; k < rules.n_nodes; k++) {
        const double u = rules.nodes[rule + k];
        double log_density = posterior.log_density(support.low + width * u) - support.top;
        if (left > 0.0) log_density -= left * std::log(u);
        if (right > 0.0) log_density -= right * std::log1p(-u);
        const double mass = rules.weights[rule + k] * std::exp(log_density);
        moments.total += mass;
        moments.first += mass * u;
        moments.second += mass * u * u;
    }
    return moments;
}

inline void posterior_moments(const Posteriors &all, const Rules &rules, double *mean,
                              double *variance, int n_threads) {
    for_each(all.n_pairs, HEAVY_CHUNK * 8, n_threads, {}, [=](Index pair, Scratch &) {
        const Posterior posterior = posterior_of(all, pair);
        const Support support = support_of(posterior);
        const double width = support.high - support.low;
        const Moments moments = moments_of(posterior, support, rules);
        const double centre = moments.first / moments.total;
        mean[pair] = support.low + width * centre;
        variance[pair] =
            width * width * std::max(0.0, moments.second / moments.total - centre * centre);
    });
}

// A scale on which densities have no steep ends: r grows like t^3 at 0, and 1 - r like
// (1 - t)^3 at 1.
inline double from_flat(double t) { return t * t * t * (10.0 - t * (15.0 - 6.0 * t)); }
inline double flat_slope(double t) { return 30.0 * t * t * (1.0 - t) * (1.0 - t); }
inline double to_flat(double r) {
    if (r <= 0.0 || r >= 1.0) return r;
    double low = 0.0, high = 1.0;
    for (int step = 0; step < 80 && high - low > 1e-15 * high; step++) {
        const double middle = 0.5 * (low + high);
        (from_flat(middle) < r ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

// Densities at `n_points` places from `low` to `high`, both ends included: of the relevance,
// or of its place t on the flat scale.
inline void posterior_grids(const Posteriors &all, const Rules &rules, Index n_points,
                            bool flat, double *low, double *high, double *density,
                            int n_threads) {
    for_each(all.n_pairs, HEAVY_CHUNK * 8, n_threads, {}, [=](Index pair, Scratch &) {
        const Posterior posterior = posterior_of(all, pair);
        const Support support = support_of(posterior);
        const double total = moments_of(posterior, support, rules).total;
        const double scale = 1.0 / (total * (support.high - support.low));
        low[pair] = flat ? to_flat(support.low) : support.low;
        high[pair] = flat ? to_flat(support.high) : support.high;
        const double step = (high[pair] - low[pair]) / (n_points - 1);
        for (Index k = 0; k < n_points; k++) {
            const double t = k + 1 < n_points ? low[pair] + step * k : high[pair];
            const double r = flat ? from_flat(t) : t, slope = flat ? flat_slope(t) : 1.0;
            // On the flat scale, the ends have no density, whatever its logarithm is.
            density[pair * n_points + k] =
                slope > 0.0
                    ? scale * slope * std::exp(posterior.log_density(r) - support.top)
                    : 0.0;
        }
    });
}

}  // namespace skrank
