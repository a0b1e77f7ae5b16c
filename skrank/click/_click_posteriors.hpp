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

// Means and variances, by a rule of Gauss and Legendre with some nodes in (0, 1).
inline void posterior_moments(const Posteriors &all, const double *nodes,
                              const double *weights, Index n_nodes, double *mean,
                              double *variance, int n_threads) {
    for_each(all.n_pairs, HEAVY_CHUNK * 8, n_threads, {}, [=](Index pair, Scratch &) {
        const Posterior posterior = posterior_of(all, pair);
        const Support support = support_of(posterior);
        const double width = support.high - support.low;
        double total = 0.0, first = 0.0, second = 0.0;
        for (Index k = 0; k < n_nodes; k++) {
            const double log_density =
                posterior.log_density(support.low + width * nodes[k]);
            const double mass = weights[k] * std::exp(log_density - support.top);
            total += mass;
            first += mass * nodes[k];
            second += mass * nodes[k] * nodes[k];
        }
        const double centre = first / total;
        mean[pair] = support.low + width * centre;
        variance[pair] = width * width * std::max(0.0, second / total - centre * centre);
    });
}

// Densities, not normalised, at `n_points` places from `low` to `high`, both ends included.
inline void posterior_grids(const Posteriors &all, Index n_points, double *low, double *high,
                            double *density, int n_threads) {
    for_each(all.n_pairs, HEAVY_CHUNK * 8, n_threads, {}, [=](Index pair, Scratch &) {
        const Posterior posterior = posterior_of(all, pair);
        const Support support = support_of(posterior);
        low[pair] = support.low;
        high[pair] = support.high;
        const double step = (support.high - support.low) / (n_points - 1);
        for (Index k = 0; k < n_points; k++) {
            const double r = k + 1 < n_points ? support.low + step * k : support.high;
            density[pair * n_points + k] =
                std::exp(posterior.log_density(r) - support.top);
        }
    });
}

}  // namespace skrank
