// The best split of a whole level of a symmetric tree, from the histograms of its leaves.
//
// A split is judged by the sum of what it gains in every leaf. A leaf that may not be
// split so, or gains nothing, stays as it is and adds nothing to the sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "_splits.hpp"

namespace skrank {

// The search of one level.
struct LevelSearch {
    std::vector<Search> leaves;  // those that may be split
    std::vector<uint8_t> tried;
    Chance chance;
    double explained = 0.0;  // what the leaves of the tree explain before the split
    double smoothing = 0.0;

    // A gain, at least 0, up to which no split has a score above ``best``, whatever is
    // drawn for it. A gain that is only nearly the largest such one will do.
    double hopeless(double best) const {
        if (chance.noise == 0.0) return std::max(best, 0.0);
        const double root = best - chance.score(0.0, Chance::LARGEST);
        if (!(root > 0.0)) return 0.0;
        const double gain = root * root * (1.0 - 1e-9) - explained;
        const double highest = chance.score(explained + gain, Chance::LARGEST);
        return gain > 0.0 && highest <= best ? gain : 0.0;
    }
};

// The best split of a level; ``saw_missing`` tells of any of its leaves.
typedef Candidate LevelCandidate;

// What the splits on one feature gain in the leaves that have been added. The two rows
// are for missing values on the right and on the left; the second one is filled in from
// the first leaf on that has missing values, because until then it equals the first.
struct FeatureSums {
    double gain[2][N_BINS];
    bool any_missing;
    int n_places;
    int order[N_BINS];                   // categories as they are cut
    double key[N_BINS], weight[N_BINS];  // of categories
};

class LevelFinder : public SplitFinder {
   public:
    using SplitFinder::SplitFinder;

    bool is_categorical(int f) const { return categorical[f]; }

    void clear(int f, FeatureSums &sums) const {
        sums.any_missing = false;
        sums.n_places = n_bins[f];
        std::fill(sums.gain[0], sums.gain[0] + number_of_sums(f, sums), 0.0);
        if (!categorical[f]) return;
        std::fill(sums.key, sums.key + N_BINS, 0.0);
        std::fill(sums.weight, sums.weight + N_BINS, 0.0);
        for (int b = 0; b < N_BINS; b++) sums.order[b] = b;
    }

    // Adds what the categories of a leaf deviate from its mean gradient.
    void add_categories(const Search &s, int f, const Packed *h, FeatureSums &sums) const {
        const double mean = s.terms.hessian > 0 ? s.terms.gradient / s.terms.hessian : 0.0;
        for (int b = 0; b < n_bins[f]; b++) {
            sums.key[b] += gradient_of(h[b]) - mean * hessian_of(h[b]);
            sums.weight[b] += hessian_of(h[b]);
        }
    }

    // Orders categories by their mean deviation; in the first level, which has one leaf,
    // that is the order of their mean gradients, but for the smoothing.
    void order_categories(double smoothing, FeatureSums &sums) const {
        int n = 0;
        for (int b = 0; b < sums.n_places; b++) {
            if (sums.key[b] == 0.0 && sums.weight[b] == 0.0) continue;
            sums.key[b] /= sums.weight[b] + smoothing;
            sums.order[n++] = b;
        }
        sums.n_places = n;
        std::sort(sums.order, sums.order + sums.n_places, [&](int a, int b) {
            return sums.key[a] < sums.key[b] || (sums.key[a] == sums.key[b] && a < b);
        });
    }

    // Turns sums in the bins of a feature into sums of all bins up to each one, in place.
    // The order of categories is not known yet: theirs stay as they are.
    void accumulate(int f, Packed *h) const {
        if (categorical[f]) return;
        Packed sum = 0;
        for (int b = 0; b < n_bins[f]; b++) h[b] = sum += h[b];
    }

    // Adds the gains of one leaf, from accumulated sums; ``counts`` are those of its rows,
    // or null.
    void add(const Search &s, int f, const Packed *h, const Packed *counts,
             FeatureSums &sums) const {
        const int n = number_of_sums(f, sums);
        const bool missing = h[MISSING] != 0 || (counts != nullptr && counts[MISSING] != 0);
        if (missing && !sums.any_missing) {
            std::copy(sums.gain[0], sums.gain[0] + n, sums.gain[1]);
            sums.any_missing = true;
        }
        double *both = sums.any_missing && !missing ? sums.gain[1] : nullptr;
        if (categorical[f] || constrained || counts != nullptr) {
            add_one_by_one(s, f, h, counts, false, sums.gain[0], both, sums);
            if (missing) add_one_by_one(s, f, h, counts, true, sums.gain[1], nullptr, sums);
        } else {
            add_thresholds(s, h, 0, n, sums.gain[0], both);
            if (missing) add_thresholds(s, h, h[MISSING], n, sums.gain[1], nullptr);
        }
    }

    // Takes the best split on a feature if it is better.
    void choose(const LevelSearch &level, int f, const FeatureSums &sums,
                LevelCandidate &best) const {
        int place = -1;
        bool side = false;
        for (const bool missing_left : {false, true}) {
            if (missing_left && !sums.any_missing) break;
            const double *gains = sums.gain[missing_left];
            int first = 0, last = number_of_cuts(f, sums.n_places, sums.any_missing);
            if (level.chance.one) {
                first = level.chance.pick(f, missing_left, last);
                last = std::min(first + 1, last);
            }
            const int found = choose_place(level, f, missing_left, gains, first, last, best);
            if (found >= 0) place = found, side = missing_left;
        }
        if (place < 0) return;
        best.feature = f;
        best.saw_missing = sums.any_missing;
        best.by_category = categorical[f];
        best.bin = best.by_category ? 0 : place;
        best.missing_left = !best.by_category && side;
        best.take_left(nullptr, 0);
        if (!best.by_category) return;
        take_cut(f, {place, side}, sums.order, sums.n_places, best);
        double balance = 0.0;
        for (int i = 0; i < sums.n_places; i++) {
            const int b = sums.order[i];
            balance += best.takes(b) ? sums.weight[b] : -sums.weight[b];
        }
        if (!alone(f) && balance > 0.0) best.take_absent(sums.order, sums.n_places, n_bins[f]);
    }

    // Whether a leaf is split by these sums on the left; fills in gain and values.
    bool splits(const Search &s, Packed left, Candidate &c) const {
        c.left = left;
        c.gain = judge(s, c.feature, left, -1, c.left_value, c.right_value);
        return c.gain > s.floor;
    }

   private:
    // The number of sums of a feature: one for each place of a cut.
    int number_of_sums(int f, const FeatureSums &sums) const {
        return sums.n_places + alone(f);
    }

    // Adds the gains of the thresholds of a feature, with ``shift`` on the left of all. The
    // hessian on the left grows from bin to bin, so that those which leave enough of it on
    // both sides stand together: in small leaves, they are few.
    void add_thresholds(const Search &s, const Packed *h, Packed shift, int n, double *sum,
                        double *other) const {
        const double most = 1LL << 32;  // no sum is as large
        const auto least = static_cast<int64_t>(std::ceil(std::min(s.terms.min_weight, most)));
        const int first = n_below(h, n, least - hessian_of(shift));
        const int last = n_below(h, n, hessian_of(s.sum - shift) - least + 1);
        if (first >= last) return;
        kernels.add_gains(s.terms, h + first, shift, last - first, s.floor, sum + first,
                          other != nullptr ? other + first : nullptr);
    }

    // The number of places whose hessian, which ascends, is below a bound; without a branch
    // that a processor would have to guess.
    static int n_below(const Packed *h, int n, int64_t bound) {
        int found = 0;
        for (int step = N_BINS / 2; step > 0; step /= 2) {
            const int next = found + step;
            const int below = (next <= n) & (hessian_of(h[next - 1]) < bound);
            found += step * below;
        }
        return found;
    }

    // The same for categories, under constraints or by numbers of rows. Missing values may
    // be on the side of the first places: they go left with small numbers, whereas of
    // categories the others then go left.
    void add_one_by_one(const Search &s, int f, const Packed *h, const Packed *counts,
                        bool missing_first, double *sum, double *other,
                        const FeatureSums &sums) const {
        const int n = number_of_sums(f, sums);
        Packed left[N_BINS], n_left[N_BINS];
        sum_places(f, h, missing_first, sums, left);
        if (counts != nullptr) sum_places(f, counts, missing_first, sums, n_left);
        if (!constrained && counts == nullptr) {
            return kernels.add_gains(s.terms, left, 0, n, s.floor, sum, other);
        }
        double low = 0.0, high = 0.0;
        for (int i = 0; i < n; i++) {
            const int64_t count = counts == nullptr ? -1 : n_left[i];
            const double gain = judge(s, f, left[i], count, low, high);
            if (!(gain > s.floor)) continue;
            sum[i] += gain;
            if (other != nullptr) other[i] += gain;
        }
    }

    // Sums over what goes left if the cut is after each place.
    void sum_places(int f, const Packed *h, bool missing_first, const FeatureSums &sums,
                    Packed *left) const {
        const int n = sums.n_places;
        if (!categorical[f]) {
            for (int i = 0; i < n; i++) left[i] = h[i] + (missing_first ? h[MISSING] : 0);
            return;
        }
        Packed sum = 0;
        for (int i = 0; i < n; i++) {
            const Packed own = h[sums.order[i]];
            sum += own;
            left[i] = alone(f) ? own : sum;
        }
        if (alone(f)) {
            // Rows of a level may show in no sum, and it is one of the others.
            sum = 0;
            for (int b = 0; b < n_bins[f]; b++) sum += h[b];
            left[n] = sum;
        }
        for (int i = 0; i < number_of_sums(f, sums) && missing_first; i++) {
            left[i] = sum - left[i];
        }
    }

    // The place of the best score of a row of gains, if it is better, or -1.
    int choose_place(const LevelSearch &level, int f, bool side, const double *gains,
                     int first, int last, LevelCandidate &best) const {
        const double hopeless = level.hopeless(best.score);
        while (first < last && !(gains[first] > hopeless)) first++;
        while (first < last && !(gains[last - 1] > hopeless)) last--;
        if (first >= last) return -1;
        const Chance &chance = level.chance;
        int32_t drawn[N_BINS], least = 0;
        if (chance.noise > 0.0) {
            kernels.draws(chance, f, side, first, last - first, drawn);
            const double most = *std::max_element(gains + first, gains + last);
            least = chance.least_draw(level.explained + most, best.score);
        }
        int place = -1;
        for (int i = first; i < last; i++) {
            double score = gains[i];
            if (chance.noise > 0.0) {
                if (drawn[i - first] < least) continue;
                score = chance.score(level.explained + gains[i], drawn[i - first]);
            }
            if (!(gains[i] > 0.0) || score <= best.score) continue;
            best.score = score;
            best.gain = gains[i];
            place = i;
        }
        return place;
    }
};

}  // namespace skrank
