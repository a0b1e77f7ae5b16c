// Quantile bins of sparse rows: those of the same rows in dense form, from the entries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "_binning.hpp"

namespace skrank {

// Entries ptr[r] ... ptr[r + 1] - 1 belong to row r, by ascending features. Where there is
// none, the value is zero.
template <typename T>
struct SparseValues {
    int64_t n_rows, n_features;
    const int64_t *ptr;
    const int32_t *feature;
    const T *value;
};

// The thresholds of each feature, or of a categorical one its categories.
template <typename T>
struct Cuts {
    const T *of;
    const int64_t *start;  // of each feature, and the end
    const uint8_t *categorical;

    // The number of the bin as `find_bins` finds it.
    int bin(int64_t f, T value) const {
        if (value != value) return MISSING;
        const T *begin = of + start[f], *end = of + start[f + 1];
        const T *found = std::lower_bound(begin, end, value);
        if (categorical[f] && (found == end || *found != value)) return MISSING;
        return static_cast<int>(found - begin);
    }
};

// Sorts the values of a column; few of them without the tables that many are worth.
template <typename T>
void sort_column(T *values, int64_t n, std::vector<uint32_t> &work) {
    if (n > BIN_ROWS) return sort_values(values, n, work);
    for (int64_t i = 0; i < n; i++) values[i] += T(0);  // one zero, not two
    std::sort(values, values + n);
}

// Thresholds of one feature from its entries, which they overwrite, and from zeros.
template <typename T>
int sparse_thresholds(T *values, int64_t n, int64_t n_zeros, int max_bins,
                      std::vector<uint32_t> &work) {
    sort_column(values, n, work);
    Tally<T> tally;
    for (int64_t i = 0; i < n; i++) tally.add(values[i], 1);
    tally.insert(T(0), n_zeros);
    return find_thresholds(tally, n + n_zeros, max_bins, values);
}

// Thresholds of all features from some rows. Those of a feature are the first
// ``found[f]`` places of ``columns`` from ``start[f]`` on, which has d + 1 entries; there
// are no more than the feature has entries.
template <typename T>
void all_sparse_thresholds(const SparseValues<T> &X, const int32_t *rows, int64_t n_sampled,
                           int max_bins, const uint8_t *categorical, int64_t *start,
                           T *columns, int32_t *found, int n_threads) {
    const int64_t d = X.n_features;
    std::vector<int64_t> stored(d, 0), at(d);
    const auto for_entries = [&](auto work) {
        for (int64_t i = 0; i < n_sampled; i++)
            for (int64_t e = X.ptr[rows[i]]; e < X.ptr[rows[i] + 1]; e++) work(e);
    };
    std::fill(start, start + d + 1, 0);
    for_entries([&](int64_t e) {
        stored[X.feature[e]]++;
        start[X.feature[e] + 1] += X.value[e] == X.value[e];
    });
    for (int64_t f = 0; f < d; f++) start[f + 1] += start[f];
    std::copy(start, start + d, at.begin());
    for_entries([&](int64_t e) {
        if (X.value[e] == X.value[e]) columns[at[X.feature[e]]++] = X.value[e];
    });
    for_each((d + BIN_ROWS - 1) / BIN_ROWS, 1, n_threads, {}, [&](Index b, Scratch &scratch) {
        std::vector<uint32_t> work;
        for (int64_t f = b * BIN_ROWS; f < std::min<int64_t>(d, (b + 1) * BIN_ROWS); f++) {
            const int64_t n = start[f + 1] - start[f];
            if (categorical[f]) continue;
            if (scratch.spend(32 * n)) break;
            found[f] = sparse_thresholds(columns + start[f], n, n_sampled - stored[f],
                                         max_bins, work);
        }
    });
}

// The bins of entries, where missing values have the one after those of the feature.
// Entries in the bin of zero are dropped: ``to_ptr`` says where those of a row begin.
template <typename T>
void bin_all_entries(const SparseValues<T> &X, const Cuts<T> &cuts, const int32_t *n_bins,
                     uint8_t *common, int64_t *to_ptr, int32_t *feature, uint8_t *place,
                     int n_threads) {
    for (int64_t f = 0; f < X.n_features; f++) {
        common[f] = static_cast<uint8_t>(cuts.bin(f, T(0)));
    }
    const Index n_chunks = (X.n_rows + BIN_ROWS - 1) / BIN_ROWS;
    to_ptr[0] = 0;
    for_each(n_chunks, 1, n_threads, {}, [&](Index k, Scratch &) {
        const int64_t last = std::min<int64_t>(X.n_rows, (k + 1) * BIN_ROWS);
        for (int64_t r = k * BIN_ROWS; r < last; r++) {
            int64_t kept = 0;
            for (int64_t e = X.ptr[r]; e < X.ptr[r + 1]; e++) {
                const int32_t f = X.feature[e];
                const int bin = cuts.bin(f, X.value[e]);
                if (bin == common[f]) continue;
                // At the start of the row, until it is known where the rows begin.
                feature[X.ptr[r] + kept] = f;
                place[X.ptr[r] + kept++] =
                    static_cast<uint8_t>(bin == MISSING ? n_bins[f] : bin);
            }
            to_ptr[r + 1] = kept;
        }
    });
    for (int64_t r = 0; r < X.n_rows; r++) {
        const int64_t from = X.ptr[r], n = to_ptr[r + 1], to = to_ptr[r];
        if (from != to) {
            std::copy(feature + from, feature + from + n, feature + to);
            std::copy(place + from, place + from + n, place + to);
        }
        to_ptr[r + 1] = to + n;
    }
}

// The bins of entries as bytes of dense rows.
inline void spread_entries(const Layout &layout, const int64_t *ptr, const int32_t *feature,
                           const uint8_t *place, const uint8_t *common,
                           const int32_t *n_bins, uint8_t *out) {
    for (int b = 0; b < layout.n_blocks; b++) {
        const int width = layout.width(b);
        uint8_t row[WIDTH] = {};
        for (int j = 0; j < width && b * WIDTH + j < layout.n_features; j++) {
            row[j] = common[b * WIDTH + j];
        }
        uint8_t *to = out + layout.start(b);
        for (int64_t r = 0; r < layout.n_rows; r++) std::copy(row, row + width, to + r * width);
    }
    for (int64_t r = 0; r < layout.n_rows; r++) {
        for (int64_t e = ptr[r]; e < ptr[r + 1]; e++) {
            const int32_t f = feature[e];
            const int b = f / WIDTH;
            out[layout.start(b) + r * layout.width(b) + f % WIDTH] =
                place[e] == n_bins[f] ? MISSING : place[e];
        }
    }
}

}  // namespace skrank
