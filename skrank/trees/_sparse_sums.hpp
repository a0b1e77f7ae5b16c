// Exact sums of gradients in the bins of sparse rows, in time of the entries.
//
// The entries of a row are the features whose bin is not the common one, that of zero. A
// sum has a place for each bin of each feature that has entries at all; what is in the
// common bins is what the entries leave over of the sum of all rows. Sums are whole
// numbers, so that this is exact, and trees are those of the same rows in dense form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "_growth.hpp"

namespace skrank {

// Rows ptr[r] ... ptr[r + 1] - 1 of the entries belong to row r, by ascending features.
struct SparseRows {
    int64_t n_rows;
    const int64_t *ptr;
    const int32_t *feature;
    const uint8_t *place;   // the bin, or for missing values the number of bins
    const uint8_t *common;  // of each feature: the bin of rows without an entry
};

class SparseSums : public TreeGrower {
   protected:
    SparseRows data;
    const int32_t *n_bins;
    std::vector<int64_t> first;   // place of the first bin of each feature, and the end
    std::vector<int64_t> before;  // entries of earlier features, and of all
    std::vector<uint8_t> any_missing;

    SparseSums(const SparseRows &data, const Features &features)
        : TreeGrower(data.n_rows, features),
          data(data),
          n_bins(features.n_bins),
          first(features.count + 1, 0),
          before(features.count + 1, 0),
          any_missing(features.count, 0) {
        for (int64_t e = 0; e < data.ptr[data.n_rows]; e++) {
            const int32_t f = data.feature[e];
            before[f + 1]++;
            any_missing[f] |= data.place[e] == n_bins[f];
        }
        for (int f = 0; f < features.count; f++) {
            const int64_t places = before[f + 1] > 0 ? n_bins[f] + any_missing[f] : 0;
            first[f + 1] = first[f] + places;
            before[f + 1] += before[f];
        }
    }

    // Sums of the entries of all features, followed by those of their bins.
    struct Sums {
        Packed *features, *bins;
    };
    Sums sums_in(std::vector<Packed> &histogram) const {
        return {histogram.data(), histogram.data() + n_features};
    }
    int64_t histogram_size() const override { return n_features + first[n_features]; }
    double cells_of_row() const override {
        return static_cast<double>(before[n_features]) / n_rows;
    }

    // Features [begin, end).
    struct Range {
        int begin, end;
    };
    // The share of one of a team of threads, of about as many entries as the others.
    Range share_of(int thread, int team, Range all) const {
        const auto bound = [&](int t) {
            if (t == 0) return all.begin;
            if (t == team) return all.end;
            const int64_t low = before[all.begin], entries = before[all.end] - low;
            const auto from = before.begin();
            const int64_t at = low + entries / team * t + entries % team * t / team;
            return static_cast<int>(
                std::lower_bound(from + all.begin, from + all.end, at) - from);
        };
        return {bound(thread), bound(thread + 1)};
    }

    uint8_t bin_of(int64_t row, int32_t f) const {
        const int32_t *begin = data.feature + data.ptr[row];
        const int32_t *end = data.feature + data.ptr[row + 1];
        const int32_t *found = std::lower_bound(begin, end, f);
        if (found == end || *found != f) return data.common[f];
        const uint8_t place = data.place[found - data.feature];
        return place == n_bins[f] ? MISSING : place;
    }

    // Calls ``work(entry, i)`` for the entries of the i-th row of a portion.
    template <class Work>
    void for_entries(const Portion &p, Range range, Work work) const {
        constexpr int LOOK = 1 << 12;
        const bool whole = range.begin == 0 && range.end == n_features;
        const int32_t *const features = data.feature;
        for (int64_t i = 0; i < p.n; i++) {
            if (i % LOOK == LOOK - 1) {
                if (omp_get_thread_num() == 0) watch->look();
                if (watch->stopped()) return;
            }
            const int64_t row = p.of != nullptr ? p.of[i] : i;
            int64_t at = data.ptr[row], end = data.ptr[row + 1];
            if (!whole) {
                at = std::lower_bound(features + at, features + end, range.begin) - features;
            }
            for (; at < end && features[at] < range.end; at++) work(at, i);
        }
    }

    // Adds the entries of rows to sums; with ``Sign`` 0 their number.
    template <int Sign>
    void add(const Portion &p, Range range, const Sums &sums) const {
        for_entries(p, range, [&](int64_t at, int64_t i) {
            const int32_t f = data.feature[at];
            const Packed value = Sign == 0 ? 1 : Sign * p.values[i];
            sums.features[f] += value;
            sums.bins[first[f] + data.place[at]] += value;
        });
    }

    // The sums in all bins of a feature, from those of its entries and that of all rows.
    void expand(int f, Packed all, const Sums &sums, Packed *h) const {
        const int n = n_bins[f];
        const Packed *from = sums.bins + first[f];
        const bool none = first[f + 1] == first[f];
        if (none) {
            std::fill(h, h + n, 0);
        } else {
            std::copy(from, from + n, h);
        }
        h[MISSING] = any_missing[f] ? from[n] : 0;
        h[data.common[f]] += all - sums.features[f];
    }

    int64_t partition(const Leaf &leaf, const Candidate &c) override {
        const int32_t f = c.feature;
        return partition_by(leaf, c, [=](int32_t r) { return bin_of(r, f); });
    }

   public:
    void add_to_all(double *scores, int64_t stride) const override {
        const int team = team_size(options.n_threads);
#pragma omp parallel for schedule(static) num_threads(team)
        for (int64_t r = 0; r < n_rows; r++) {
            int32_t at = 0;
            while (nodes[at].feature >= 0) {
                const Node &node = nodes[at];
                at = node.left + !goes_left(bin_of(r, node.feature), node);
            }
            scores[r * stride] += nodes[at].value;
        }
    }
};

}  // namespace skrank
