// The best split of one leaf on one feature, from its histogram.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../_core/_clones.hpp"
#include "_histogram.hpp"

namespace skrank {

struct Candidate {
    double gain = 0.0;
    int feature = -1;
    int bin = 0;                // last bin that goes left
    bool missing_left = false;
    Packed left = 0;
    double left_value = 0.0, right_value = 0.0;  // only with constraints
    uint64_t categories[4] = {0, 0, 0, 0};       // bins that go left
    bool by_category = false;
};

// What decides between splits of one leaf. Sums are whole numbers, in units of the
// rounded gradients and hessians, so that what is right of a split is exact as well.
struct Terms {
    double gradient, hessian;  // sums of the leaf
    double l2, base;
    double min_weight;         // hessian that a child must have

    // Twice the decrease of the quadratic model.
    SKRANK_MEMBER double gain(double left_gradient, double left_hessian) const {
        const double right_gradient = gradient - left_gradient;
        const double left = left_hessian + l2, right = hessian - left_hessian + l2;
        const double total = left_gradient * left_gradient * right +
                             right_gradient * right_gradient * left;
        return total / (left * right) - base;
    }
    // Whether both children have enough hessian.
    SKRANK_MEMBER bool allows(double left_hessian) const {
        return (left_hessian >= min_weight) & (hessian - left_hessian >= min_weight);
    }
};

// Gains of splits with these sums on the left, -inf where they are not allowed; returns
// whether any is above ``least``. Several short loops, because the compiler vectorises
// each of them and would vectorise no loop that does everything.
SKRANK_INLINE bool gains_of(const Terms &given, const Packed *left, int n, double least,
                            double *gains) {
    const Terms terms = given;
    const double never = -std::numeric_limits<double>::infinity();
    double gradient[N_BINS], hessian[N_BINS];
    for (int i = 0; i < n; i++) {
        gradient[i] = static_cast<int32_t>(gradient_of(left[i]));
        hessian[i] = static_cast<int32_t>(left[i]);
    }
    for (int i = 0; i < n; i++) gains[i] = terms.gain(gradient[i], hessian[i]);
    for (int i = 0; i < n; i++) gains[i] = terms.allows(hessian[i]) ? gains[i] : never;
    int64_t above = 0;
    for (int i = 0; i < n; i++) above |= gains[i] > least;
    return above != 0;
}

SKRANK_INLINE void subtract_all(const Packed *part, Packed *whole) {
    for (int b = 0; b < N_BINS; b++) whole[b] -= part[b];
}

// What runs once per feature of each leaf, with the instructions this machine has and
// with those that every machine has.
struct Kernels {
    bool (*gains)(const Terms &, const Packed *, int, double, double *);
    void (*subtract)(const Packed *, Packed *);
};
SKRANK_CLONES static bool wide_gains(const Terms &terms, const Packed *left, int n,
                                     double least, double *gains) {
    return gains_of(terms, left, n, least, gains);
}
SKRANK_CLONES static void wide_subtract(const Packed *part, Packed *whole) {
    subtract_all(part, whole);
}
constexpr Kernels PORTABLE = {gains_of, subtract_all};
const Kernels WIDE = {wide_gains, wide_subtract};

// The search of one leaf.
struct Search {
    int leaf;
    Packed sum;
    Terms terms;
    double low, high;  // bounds of the value of a leaf
    double floor;      // gain that a split must be above
    double smoothing;
    int64_t n_rows, least_rows;
    const Packed *counts;  // rows per bin, or null where they are estimated
    const Packed *histogram;
    std::vector<uint8_t> tried;
    std::vector<Candidate> found;  // by each thread

    // Value that minimises the quadratic model, within the bounds of the leaf.
    double value(double g, double h) const {
        return std::min(std::max(-g / (h + terms.l2), low), high);
    }
    double gain_at(double g, double h, double value) const {
        return -(2.0 * g * value + (h + terms.l2) * value * value);
    }
};

class SplitFinder {
   public:
    bool constrained = false;
    Kernels kernels = WIDE;

    SplitFinder(int n_features, const int32_t *n_bins, const uint8_t *categorical,
                const int8_t *monotonic)
        : n_bins(n_bins), categorical(categorical), monotonic(monotonic) {
        for (int f = 0; f < n_features; f++) constrained |= monotonic[f] != 0;
    }

    int direction(int f) const { return monotonic[f]; }

    void search_feature(Search &s, int f, Candidate &best) const {
        if (!s.tried[f]) return;
        const Packed *h = s.histogram + static_cast<int64_t>(f) * N_BINS;
        if (categorical[f]) {
            search_categories(s, f, h, best);
        } else {
            search_thresholds(s, f, h, best);
        }
    }

   private:
    const int32_t *n_bins;
    const uint8_t *categorical;
    const int8_t *monotonic;

    // Takes a split if it is better; ``n_left`` is only used with counts.
    bool consider(const Search &s, int f, int bin, bool missing_left, Packed left,
                  int64_t n_left, Candidate &best) const {
        const Packed right = s.sum - left;
        const double hl = hessian_of(left), hr = hessian_of(right);
        if (!s.terms.allows(hl)) return false;
        if (s.counts != nullptr && std::min(n_left, s.n_rows - n_left) < s.least_rows) {
            return false;
        }
        const double gl = gradient_of(left), gr = gradient_of(right);
        double gain, value_left = 0.0, value_right = 0.0;
        if (constrained) {
            value_left = s.value(gl, hl);
            value_right = s.value(gr, hr);
            if (monotonic[f] * (value_right - value_left) < 0) return false;
            gain = s.gain_at(gl, hl, value_left) + s.gain_at(gr, hr, value_right) -
                   s.terms.base;
        } else {
            gain = s.terms.gain(gl, hl);
        }
        if (gain <= best.gain) return false;
        best.gain = gain;
        best.feature = f;
        best.bin = bin;
        best.missing_left = missing_left;
        best.left = left;
        best.left_value = value_left;
        best.right_value = value_right;
        best.by_category = false;
        return true;
    }

    // Thresholds of one feature, one by one.
    void search_one_by_one(const Search &s, int f, const Packed *h,
                           Candidate &best) const {
        const Packed *counts = counts_of(s, f);
        const Packed missing = h[MISSING];
        const int64_t n_missing = counts == nullptr ? 0 : counts[MISSING];
        const bool any_missing = missing != 0 || n_missing != 0;
        for (const bool missing_left : {false, true}) {
            if (missing_left && !any_missing) break;
            Packed left = missing_left ? missing : 0;
            int64_t n_left = missing_left ? n_missing : 0;
            // Right of the last one are only missing values, if any.
            const int n = n_bins[f] - (missing_left || !any_missing);
            for (int b = 0; b < n; b++) {
                left += h[b];
                if (counts != nullptr) n_left += counts[b];
                consider(s, f, b, missing_left, left, n_left, best);
            }
        }
    }

    // The same, all thresholds at a time.
    void search_thresholds(const Search &s, int f, const Packed *h, Candidate &best) const {
        if (constrained || s.counts != nullptr) return search_one_by_one(s, f, h, best);
        const int last = n_bins[f];
        Packed left[N_BINS];
        uint8_t bin[N_BINS];
        double gains[N_BINS];
        for (const bool missing_left : {false, true}) {
            if (missing_left && h[MISSING] == 0) break;
            Packed sum = missing_left ? h[MISSING] : 0;
            int n = 0;
            for (int b = 0; b < last; b++) {  // an empty bin adds no threshold
                sum += h[b];
                left[n] = sum;
                bin[n] = static_cast<uint8_t>(b);
                n += h[b] != 0;
            }
            // Right of the last one are only missing values, if any.
            if (missing_left || h[MISSING] == 0) n--;
            if (!kernels.gains(s.terms, left, n, best.gain, gains)) continue;
            const int i = static_cast<int>(std::max_element(gains, gains + n) - gains);
            best = Candidate();
            best.gain = gains[i];
            best.feature = f;
            best.bin = bin[i];
            best.missing_left = missing_left;
            best.left = left[i];
        }
    }

    static const Packed *counts_of(const Search &s, int f) {
        return s.counts == nullptr ? nullptr : s.counts + static_cast<int64_t>(f) * N_BINS;
    }

    // Categories in the order of their mean gradient. Without smoothing and L2, the best
    // cut of that order is the best of all subsets. Missing values go right.
    void search_categories(const Search &s, int f, const Packed *h, Candidate &best) const {
        int order[N_BINS], n_present = 0;
        double key[N_BINS];
        for (int b = 0; b < n_bins[f]; b++) {
            if (h[b] == 0) continue;
            key[b] = gradient_of(h[b]) / (hessian_of(h[b]) + s.smoothing);
            order[n_present++] = b;
        }
        std::sort(order, order + n_present, [&](int a, int b) {
            return key[a] < key[b] || (key[a] == key[b] && a < b);
        });
        const Packed *counts = counts_of(s, f);
        const Packed missing = h[MISSING];
        Packed left = 0;
        int64_t n_left = 0, n_known = 0;
        for (int i = 0; i < n_present && counts != nullptr; i++) n_known += counts[order[i]];
        int first = 0, last = 0;  // places in the order that go left
        for (int i = 0; i < n_present; i++) {
            left += h[order[i]];
            if (counts != nullptr) n_left += counts[order[i]];
            if (i + 1 == n_present && missing == 0) break;
            if (consider(s, f, 0, false, left, n_left, best)) first = 0, last = i + 1;
            if (missing == 0 || i + 1 == n_present) continue;
            // Missing values with the first categories: the others go left.
            if (consider(s, f, 0, false, s.sum - missing - left, n_known - n_left, best)) {
                first = i + 1, last = n_present;
            }
        }
        if (first == last) return;
        best.by_category = true;
        std::fill(best.categories, best.categories + 4, 0);
        for (int i = first; i < last; i++) {
            best.categories[order[i] >> 6] |= 1ULL << (order[i] & 63);
        }
    }
};

}  // namespace skrank
