// The best split of one leaf on one feature, from its histogram.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../_core/_clones.hpp"
#include "_chance.hpp"
#include "_histogram.hpp"

namespace skrank {

struct Candidate {
    double score = 0.0;         // decides between candidates: the gain, unless there is noise
    double gain = 0.0;
    int feature = -1;
    int bin = 0;                // last bin that goes left
    bool missing_left = false;
    bool saw_missing = false;   // whether the leaf has missing values of the feature
    Packed left = 0;
    double left_value = 0.0, right_value = 0.0;  // only with constraints
    uint64_t categories[4] = {0, 0, 0, 0};       // bins that go left
    bool by_category = false;

    void take(int b) { categories[b >> 6] |= 1ULL << (b & 63); }
    bool takes(int b) const { return (categories[b >> 6] >> (b & 63)) & 1; }

    // Sends these categories left, and all others right.
    void take_left(const int *some, int n) {
        std::fill(categories, categories + 4, 0);
        for (int i = 0; i < n; i++) take(some[i]);
    }

    // Sends the categories left of which nothing is known: they follow the majority, or
    // they would all have the worst scores of the feature.
    void take_absent(const int *present, int n, int n_categories) {
        bool known[N_BINS] = {};
        for (int i = 0; i < n; i++) known[present[i]] = true;
        for (int b = 0; b < n_categories; b++) {
            if (!known[b]) take(b);
        }
    }
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

// Adds the gains of splits that are allowed and gain more than ``least`` to those of other
// leaves, in one array or in two; ``shift`` goes left in all of them.
SKRANK_INLINE void add_gains_of(const Terms &given, const Packed *left, Packed shift,
                                int n, double least, double *sum, double *other) {
    const Terms terms = given;
    double gradient[N_BINS], hessian[N_BINS], gains[N_BINS];
    for (int i = 0; i < n; i++) {
        const Packed both = left[i] + shift;
        gradient[i] = static_cast<int32_t>(gradient_of(both));
        hessian[i] = static_cast<int32_t>(both);
    }
    for (int i = 0; i < n; i++) gains[i] = terms.gain(gradient[i], hessian[i]);
    for (int i = 0; i < n; i++) {
        gains[i] = terms.allows(hessian[i]) & (gains[i] > least) ? gains[i] : 0.0;
    }
    for (int i = 0; i < n; i++) sum[i] += gains[i];
    if (other == nullptr) return;
    for (int i = 0; i < n; i++) other[i] += gains[i];
}

// What is drawn for the splits of a feature at ``n`` places from ``first`` on.
SKRANK_INLINE void draws_of(const Chance &given, int feature, bool side, int first, int n,
                            int32_t *drawn) {
    const Chance chance = given;
    for (int i = 0; i < n; i++) drawn[i] = chance.draw(feature, first + i, side);
}

SKRANK_INLINE void subtract_all(const Packed *part, Packed *whole) {
    for (int b = 0; b < N_BINS; b++) whole[b] -= part[b];
}

// What runs once per feature of each leaf, with the instructions this machine has and
// with those that every machine has.
struct Kernels {
    bool (*gains)(const Terms &, const Packed *, int, double, double *);
    void (*add_gains)(const Terms &, const Packed *, Packed, int, double, double *,
                      double *);
    void (*draws)(const Chance &, int, bool, int, int, int32_t *);
    void (*subtract)(const Packed *, Packed *);
};
SKRANK_CLONES static bool wide_gains(const Terms &terms, const Packed *left, int n,
                                     double least, double *gains) {
    return gains_of(terms, left, n, least, gains);
}
SKRANK_CLONES static void wide_add_gains(const Terms &terms, const Packed *left,
                                         Packed shift, int n, double least, double *sum,
                                         double *other) {
    add_gains_of(terms, left, shift, n, least, sum, other);
}
SKRANK_CLONES static void wide_draws(const Chance &chance, int feature, bool side,
                                     int first, int n, int32_t *drawn) {
    draws_of(chance, feature, side, first, n, drawn);
}
SKRANK_CLONES static void wide_subtract(const Packed *part, Packed *whole) {
    subtract_all(part, whole);
}
constexpr Kernels PORTABLE = {gains_of, add_gains_of, draws_of, subtract_all};
const Kernels WIDE = {wide_gains, wide_add_gains, wide_draws, wide_subtract};

// The search of one leaf.
struct Search {
    int leaf;
    Packed sum;
    Terms terms;
    double low, high;  // bounds of the value of a leaf
    double floor;      // gain that a split must be above
    double smoothing;
    int64_t n_rows, least_rows;
    bool counted;  // whether there are true numbers of rows, or estimates
    Chance chance;
    std::vector<uint8_t> tried;
    std::vector<Candidate> found;  // by each thread

    // What a split has to beat at first.
    Candidate nothing() const {
        Candidate c;
        c.gain = floor;
        c.score = chance.noise > 0.0 ? -std::numeric_limits<double>::infinity() : floor;
        return c;
    }
    double score(double gain, int feature, int bin, bool side) const {
        if (chance.noise == 0.0) return gain;
        return chance.score(terms.base + gain, feature, bin, side);
    }

    // Value that minimises the quadratic model, within the bounds of the leaf.
    double value(double g, double h) const {
        return std::min(std::max(-g / (h + terms.l2), low), high);
    }
    double gain_at(double g, double h, double value) const {
        return -(2.0 * g * value + (h + terms.l2) * value * value);
    }
};

// A feature each of whose categories is parted from all others, which is what a column of
// its own for each of them does.
constexpr uint8_t ALONE = 2;

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

    // Takes the best split on a feature if it is better. ``h`` are the sums in its bins,
    // and ``counts`` the numbers of rows, or null where they are estimated.
    void search_feature(const Search &s, int f, const Packed *h, const Packed *counts,
                        Candidate &best) const {
        if (!s.tried[f]) return;
        if (categorical[f]) {
            search_categories(s, f, h, counts, best);
        } else {
            search_thresholds(s, f, h, counts, best);
        }
        if (best.feature != f) return;
        best.saw_missing =
            h[MISSING] != 0 || (counts != nullptr && counts[MISSING] != 0);
    }

   protected:
    // Where the categories of a feature, in an order, are cut: after a place, or, where each
    // stands alone, into the one at a place and the others. The first ones go left, or the
    // others. Where each stands alone, one more place parts missing values from all of them.
    struct Cut {
        int place = -1;
        bool others_left = false;
    };

    const int32_t *n_bins;
    const uint8_t *categorical;  // 0, 1, or ALONE
    const int8_t *monotonic;

    bool alone(int f) const { return categorical[f] == ALONE; }

    // The number of places where a feature may be cut so that both sides have rows; missing
    // values may be all of one side.
    int number_of_cuts(int f, int n_present, bool any_missing) const {
        if (!alone(f)) return n_present - !any_missing;
        return any_missing ? n_present + 1 : n_present > 1 ? n_present : 0;
    }

    void take_cut(int f, Cut cut, const int *order, int n_present, Candidate &best) const {
        int chosen[N_BINS], n = 0;
        const bool all = cut.place == n_present;
        for (int i = 0; i < n_present; i++) {
            const bool first = all || (alone(f) ? i == cut.place : i <= cut.place);
            if (first != cut.others_left) chosen[n++] = order[i];
        }
        best.take_left(chosen, n);
        // What is not the one at the place is one of the others, also where it is absent.
        if (alone(f) && all != cut.others_left) best.take_absent(order, n_present, n_bins[f]);
    }

    // Gain of a split of these sums on the left, with the values of both sides where there
    // are constraints; -inf where it is not allowed. ``n_left`` is -1 where rows have not
    // been counted.
    double judge(const Search &s, int f, Packed left, int64_t n_left, double &value_left,
                 double &value_right) const {
        const double never = -std::numeric_limits<double>::infinity();
        const Packed right = s.sum - left;
        const double hl = hessian_of(left), hr = hessian_of(right);
        if (!s.terms.allows(hl)) return never;
        if (n_left >= 0 && std::min(n_left, s.n_rows - n_left) < s.least_rows) return never;
        const double gl = gradient_of(left), gr = gradient_of(right);
        if (!constrained) return s.terms.gain(gl, hl);
        value_left = s.value(gl, hl);
        value_right = s.value(gr, hr);
        if (monotonic[f] * (value_right - value_left) < 0) return never;
        return s.gain_at(gl, hl, value_left) + s.gain_at(gr, hr, value_right) -
               s.terms.base;
    }

   private:
    // Takes a split if it is better; ``place`` and ``side`` tell candidates of a feature
    // from each other.
    bool consider(const Search &s, int f, int place, bool side, Packed left,
                  int64_t n_left, Candidate &best) const {
        double value_left = 0.0, value_right = 0.0;
        if (!s.counted) n_left = -1;
        const double gain = judge(s, f, left, n_left, value_left, value_right);
        if (gain <= s.floor) return false;
        const double score = s.score(gain, f, place, side);
        if (score <= best.score) return false;
        best.score = score;
        best.gain = gain;
        best.feature = f;
        best.bin = place;
        best.missing_left = side;
        best.left = left;
        best.left_value = value_left;
        best.right_value = value_right;
        best.by_category = false;
        return true;
    }

    // Thresholds of one feature, one by one.
    void search_one_by_one(const Search &s, int f, const Packed *h, const Packed *counts,
                           Candidate &best) const {
        const Packed missing = h[MISSING];
        const int64_t n_missing = counts == nullptr ? 0 : counts[MISSING];
        const bool any_missing = missing != 0 || n_missing != 0;
        const auto empty = [&](int b) {
            return h[b] == 0 && (counts == nullptr || counts[b] == 0);
        };
        for (const bool missing_left : {false, true}) {
            if (missing_left && !any_missing) break;
            Packed left = missing_left ? missing : 0;
            int64_t n_left = missing_left ? n_missing : 0;
            // Right of the last one are only missing values, if any.
            const bool spared = missing_left || !any_missing;
            int only = -1;  // of the bins that are not empty
            if (s.chance.one) {
                int n_known = 0;
                for (int b = 0; b < n_bins[f]; b++) n_known += !empty(b);
                only = s.chance.pick(f, missing_left, n_known - spared);
            }
            int place = -1;
            for (int b = 0; b < n_bins[f] - spared; b++) {
                left += h[b];
                if (counts != nullptr) n_left += counts[b];
                place += !empty(b);
                if (only >= 0 && (place != only || empty(b))) continue;
                consider(s, f, b, missing_left, left, n_left, best);
            }
        }
    }

    // The same, all thresholds at a time.
    void search_thresholds(const Search &s, int f, const Packed *h, const Packed *counts,
                           Candidate &best) const {
        if (constrained || counts != nullptr) {
            return search_one_by_one(s, f, h, counts, best);
        }
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
            if (s.chance.one && n > 0) {
                const int only = s.chance.pick(f, missing_left, n);
                left[0] = left[only], bin[0] = bin[only], n = 1;
            }
            const double least = s.chance.noise > 0.0 ? s.floor : best.score;
            if (!kernels.gains(s.terms, left, n, least, gains)) continue;
            take_best(s, f, missing_left, n, left, bin, gains, best);
        }
    }

    // Takes the best of thresholds if it is better; the first of those that are equal.
    static void take_best(const Search &s, int f, bool missing_left, int n,
                          const Packed *left, const uint8_t *bin, const double *gains,
                          Candidate &best) {
        int i = -1;
        double score = best.score;
        if (s.chance.noise == 0.0) {
            i = static_cast<int>(std::max_element(gains, gains + n) - gains);
            score = gains[i];
        } else {
            for (int k = 0; k < n; k++) {
                if (gains[k] <= s.floor) continue;
                const double own = s.score(gains[k], f, bin[k], missing_left);
                if (own > score) score = own, i = k;
            }
        }
        if (i < 0) return;
        best = Candidate();
        best.score = score;
        best.gain = gains[i];
        best.feature = f;
        best.bin = bin[i];
        best.missing_left = missing_left;
        best.left = left[i];
    }

    // Categories in the order of their mean gradient. Without smoothing and L2, the best
    // cut of that order is the best of all subsets. Missing values go right, or to the
    // first categories.
    void search_categories(const Search &s, int f, const Packed *h, const Packed *counts,
                           Candidate &best) const {
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
        const Packed missing = h[MISSING], known = s.sum - missing;
        Packed first = 0;
        int64_t n_first = 0, n_known = 0;
        // Rows of a level may show in no sum. Where each stands alone, it is one of the others.
        for (int b = 0; b < n_bins[f] && counts != nullptr; b++) {
            if (h[b] != 0 || alone(f)) n_known += counts[b];
        }
        const bool any_missing = missing != 0 || (counts != nullptr && counts[MISSING] != 0);
        Cut cut;
        const int n_cuts = number_of_cuts(f, n_present, any_missing);
        const int only = s.chance.one ? s.chance.pick(f, false, n_cuts) : -1;
        for (int i = 0; i < n_cuts; i++) {
            if (i == n_present) {
                first = known, n_first = n_known;
            } else {
                if (alone(f)) first = 0, n_first = 0;
                first += h[order[i]];
                if (counts != nullptr) n_first += counts[order[i]];
            }
            if (only >= 0 && i != only) continue;
            if (consider(s, f, i, false, first, n_first, best)) cut = {i, false};
            if (!any_missing || first == known) continue;
            if (consider(s, f, i, true, known - first, n_known - n_first, best)) {
                cut = {i, true};
            }
        }
        if (cut.place < 0) return;
        best.by_category = true;
        best.bin = 0;
        best.missing_left = false;
        take_cut(f, cut, order, n_present, best);
        if (!alone(f) && 2 * hessian_of(best.left) > hessian_of(s.sum)) {
            best.take_absent(order, n_present, n_bins[f]);
        }
    }
};

}  // namespace skrank
