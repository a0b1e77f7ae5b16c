// The best of all weak rankers that look at one feature, and their sum.
//
// A weak ranker says h(x) in [0, 1] of a document. For ranks h and potentials w of the
// documents, what counts is the sum of w h: the decrease of a loss along h. For ranks
// [x > threshold], all features and thresholds follow from one histogram of potentials
// over the bins. Potentials are rounded to integers whose sums are exact, so that neither
// the order of additions nor the number of threads changes a result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../_core/_for_each_query.hpp"
#include "_histogram.hpp"

namespace skrank {

// Ranks 1 above a bin and 0 up to it; `bin` is -1 where all values but missing ones are
// above, and the last one where none is. Documents without a value have rank `missing`.
struct Threshold {
    int32_t feature = -1, bin = -1;
    int missing = 0;
    int64_t sum = 0;

    bool beats(const Threshold &other) const {
        return std::llabs(sum) > std::llabs(other.sum);
    }
};

class ThresholdSearch {
   public:
    ThresholdSearch(const uint8_t *bins, int64_t n_rows, int n_features,
                    const int32_t *n_bins)
        : layout(n_rows, n_features), bins(bins), n_bins(n_bins), whole(n_rows) {}

    double unit = 1.0;               // of the integers
    std::vector<Packed> histogram;   // sums of potentials in every bin
    Threshold best;

    // `low` and `high` say whether missing values may have the rank 0, and 1.
    void search(const double *potential, bool low, bool high, int n_threads) {
        const double scale = find_unit(potential);
        sum_rows(potential, scale, team_size(n_threads));
        best = Threshold();
        for (int f = 0; f < layout.n_features; f++) {
            const Threshold other = best_of(f, low, high);
            if (other.beats(best)) best = other;  // of equals, the first feature
        }
    }

   private:
    Layout layout;
    const uint8_t *bins;
    const int32_t *n_bins;
    std::vector<Packed> whole;    // rounded potentials
    std::vector<Packed> partial;  // histograms of the other threads

    int64_t histogram_size() const {
        return static_cast<int64_t>(layout.n_blocks) * WIDTH * N_BINS;
    }

    // Chooses the unit, as small as sums over all rows allow; returns 1 / unit. It is a
    // power of two, so that scaling is exact.
    double find_unit(const double *potential) {
        const int64_t n = layout.n_rows;
        double most = 0.0;
        bool finite = true;
        for (int64_t i = 0; i < n; i++) {
            const double size = std::fabs(potential[i]);
            finite &= size < std::numeric_limits<double>::infinity();
            most = std::max(most, size);
        }
        if (!finite) throw std::invalid_argument("potentials must be finite");
        int exponent = 0;
        std::frexp(most, &exponent);  // most < 2 ** exponent
        exponent -= 62 - std::ilogb(static_cast<double>(n)) - 1;
        exponent = std::max(exponent, -1022);
        unit = std::ldexp(1.0, exponent);
        return std::ldexp(1.0, -exponent);
    }

    // Sums in every bin; the threads of a team share the rows.
    void sum_rows(const double *potential, double scale, int team) {
        const int64_t size = histogram_size(), n = layout.n_rows;
        histogram.resize(size);
        partial.resize((team - 1) * size);
        Watch watch;
        run_team(team, watch, [&](int t) {
            const int64_t first = n * t / team, last = n * (t + 1) / team;
            for (int64_t i = first; i < last; i++) {
                whole[i] = std::llrint(potential[i] * scale);
            }
            Packed *mine = t == 0 ? histogram.data() : partial.data() + (t - 1) * size;
            for (int b = 0; b < layout.n_blocks && !watch.stopped(); b++) {
                if (t == 0) watch.look();
                sum_block(b, first, last, mine);
            }
        });
        for (int64_t k = 0; k < static_cast<int64_t>(partial.size()); k += size) {
            for (int64_t i = 0; i < size; i++) histogram[i] += partial[k + i];
        }
    }

    void sum_block(int block, int64_t first, int64_t last, Packed *to) const {
        Packed *own = to + static_cast<int64_t>(block) * WIDTH * N_BINS;
        const uint8_t *start = bins + layout.start(block);
        std::memset(own, 0, sizeof *own * N_BINS * WIDTH);
        if (layout.width(block) == HALF) {
            add_rows<HALF, HALF>(start, nullptr, whole.data(), first, last, own);
        } else {
            add_rows<WIDTH, WIDTH>(start, nullptr, whole.data(), first, last, own);
        }
    }

    // Of equal sums, the lowest threshold and the rank 0 of missing values.
    Threshold best_of(int f, bool low, bool high) const {
        const Packed *sums = histogram.data() + static_cast<int64_t>(f) * N_BINS;
        const int64_t missing = sums[MISSING];
        Threshold best, tried;
        tried.feature = f;
        int64_t above = 0;
        for (int b = 0; b < n_bins[f]; b++) above += sums[b];
        // All values against missing ones first, if there are any.
        for (int b = -1; b + 1 < n_bins[f]; b++) {
            if (b >= 0) above -= sums[b];
            if (b < 0 && missing == 0) continue;
            tried.bin = b;
            for (tried.missing = !low; tried.missing <= high; tried.missing++) {
                // Where every document has the same rank, nothing is said.
                if (b < 0 && tried.missing) continue;
                tried.sum = above + (tried.missing ? missing : 0);
                if (tried.beats(best)) best = tried;
            }
        }
        // With rank 1 alone, missing values are told from all others above the last bin.
        if (!low && n_bins[f] > 0) {
            tried.bin = n_bins[f] - 1;
            tried.missing = 1;
            tried.sum = missing;
            if (tried.beats(best)) best = tried;
        }
        return best;
    }
};

// Ranks of a value: 1 above `low` and 0 up to it where the two bounds are equal, a line
// between them otherwise.
struct Ramp {
    double low, high, missing;

    double of(double x) const {
        if (x != x) return missing;
        if (low == high) return x > low;
        return std::min(std::max((x - low) / (high - low), 0.0), 1.0);
    }
};

constexpr int64_t RANKED_ROWS = 1024;  // of one thread at a time

// Adds the sum of weak rankers [first, last), times their weights, to the scores of rows.
template <typename T>
void add_ranks(const T *X, int64_t n, int64_t d, const int32_t *feature, const double *low,
               const double *high, const double *missing, const double *weight,
               int64_t first, int64_t last, double *scores, int n_threads) {
    constexpr int64_t FEW = 64;  // rows that see all weak rankers before the next ones do
    for_each((n + RANKED_ROWS - 1) / RANKED_ROWS, 1, n_threads, {},
             [=](Index k, Scratch &scratch) {
        const int64_t end = std::min<int64_t>(n, (k + 1) * RANKED_ROWS);
        for (int64_t r = k * RANKED_ROWS; r < end; r += FEW) {
            const int64_t m = std::min<int64_t>(FEW, end - r);
            if (scratch.spend(m * (last - first))) return;
            for (int64_t t = first; t < last; t++) {
                const T *column = X + r * d + feature[t];
                const Ramp ramp = {low[t], high[t], missing[t]};
                for (int64_t i = 0; i < m; i++) {
                    scores[r + i] += weight[t] * ramp.of(column[i * d]);
                }
            }
        }
    });
}

constexpr int64_t SUMMED_ROWS = 4096;

// Sums of potentials times ranks on a line between two bounds, for every feature, and of
// the potentials of missing values; ``sums`` has two rows. Parts of a fixed number of rows
// are added in their order, whatever thread has summed them.
template <typename T>
void sum_ramps(const T *X, int64_t n, int64_t d, const double *low, const double *high,
               const double *potential, double *sums, int n_threads) {
    const int64_t n_parts = (n + SUMMED_ROWS - 1) / SUMMED_ROWS;
    std::vector<double> parts(2 * d * n_parts, 0.0);
    for_each(n_parts, 1, n_threads, {}, [&](Index k, Scratch &scratch) {
        double *ranked = parts.data() + 2 * d * k, *missing = ranked + d;
        const int64_t end = std::min<int64_t>(n, (k + 1) * SUMMED_ROWS);
        for (int64_t i = k * SUMMED_ROWS; i < end; i++) {
            const T *row = X + i * d;
            if (scratch.spend(2 * d)) return;
            for (int64_t j = 0; j < d; j++) {
                const double x = row[j], w = potential[i];
                // A feature without a range says nothing.
                const double span = high[j] > low[j] ? high[j] - low[j] : 1.0;
                const double rank = std::min(std::max((x - low[j]) / span, 0.0), 1.0);
                ranked[j] += x == x ? w * rank : 0.0;
                missing[j] += x == x ? 0.0 : w;
            }
        }
    });
    std::fill(sums, sums + 2 * d, 0.0);
    for (int64_t k = 0; k < n_parts; k++) {
        for (int64_t j = 0; j < 2 * d; j++) sums[j] += parts[2 * d * k + j];
    }
}

}  // namespace skrank
