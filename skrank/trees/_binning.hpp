// Quantile bins: thresholds of one feature, and the bins of blocks of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../_core/_clones.hpp"
#include "../_core/_for_each_query.hpp"
#include "_layout.hpp"

namespace skrank {

constexpr int BIN_ROWS = 1024;  // rows binned at a time: a column stays in the cache

// A value v <= t goes left exactly if it is at most ``low``.
template <typename T>
inline T between(T low, T high) {
    const T middle = low / 2 + high / 2;
    return middle >= low && middle < high ? middle : low;
}

// Sorts by the bytes of the values: positive numbers ascend as integers, negative ones
// descend.
inline void sort_values(float *values, int64_t n, std::vector<uint32_t> &work) {
    constexpr int BITS = 11, SIZE = 1 << BITS;
    work.resize(2 * n);
    uint32_t *from = work.data(), *to = from + n;
    std::vector<int64_t> counts(3 * SIZE, 0);
    for (int64_t i = 0; i < n; i++) {
        uint32_t key;
        const float value = values[i] + 0.0f;  // one zero, not two
        std::memcpy(&key, &value, sizeof key);
        key ^= (key >> 31) ? 0xffffffffu : 0x80000000u;
        from[i] = key;
        for (int d = 0; d < 3; d++) counts[d * SIZE + ((key >> (d * BITS)) & (SIZE - 1))]++;
    }
    for (int d = 0; d < 3; d++) {
        int64_t *start = &counts[d * SIZE], total = 0;
        for (int k = 0; k < SIZE; k++) {
            const int64_t count = start[k];
            start[k] = total;
            total += count;
        }
        for (int64_t i = 0; i < n; i++) {
            to[start[(from[i] >> (d * BITS)) & (SIZE - 1)]++] = from[i];
        }
        std::swap(from, to);
    }
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = from[i] ^ ((from[i] >> 31) ? 0x80000000u : 0xffffffffu);
        std::memcpy(&values[i], &key, sizeof key);
    }
}
inline void sort_values(double *values, int64_t n, std::vector<uint32_t> &) {
    for (int64_t i = 0; i < n; i++) values[i] += 0.0;
    std::sort(values, values + n);
}

// The different values of a column, ascending, and how many rows have each of them.
template <typename T>
struct Tally {
    std::vector<T> distinct;
    std::vector<int64_t> counts;

    // Adds rows of a value that is no smaller than those before.
    void add(T value, int64_t count) {
        if (distinct.empty() || value != distinct.back()) {
            distinct.push_back(value);
            counts.push_back(0);
        }
        counts.back() += count;
    }
    // Adds rows of any value.
    void insert(T value, int64_t count) {
        if (count == 0) return;
        const auto at = std::lower_bound(distinct.begin(), distinct.end(), value);
        const auto place = counts.begin() + (at - distinct.begin());
        if (at != distinct.end() && *at == value) {
            *place += count;
        } else {
            counts.insert(place, count);
            distinct.insert(at, value);
        }
    }
};

// Thresholds between the values of ``n`` rows, at most ``max_bins - 1``; returns how many.
// Few distinct values get a bin each; otherwise bins hold about equal counts, and a
// value that would fill one by itself gets it, with what little precedes it.
template <typename T>
int find_thresholds(const Tally<T> &tally, int64_t n, int max_bins, T *thresholds) {
    const std::vector<T> &distinct = tally.distinct;
    const std::vector<int64_t> &counts = tally.counts;
    const int64_t n_distinct = static_cast<int64_t>(distinct.size());
    int found = 0;
    if (n_distinct <= max_bins) {
        for (int64_t i = 1; i < n_distinct; i++) {
            thresholds[found++] = between(distinct[i - 1], distinct[i]);
        }
        return found;
    }
    // Values that fill a bin by themselves, and what is left for the others.
    std::vector<uint8_t> heavy(n_distinct, 0);
    int64_t rest = n, n_bins = max_bins;
    for (bool changed = true; changed;) {
        const double target = n_bins > 0 ? static_cast<double>(rest) / n_bins : n;
        changed = false;
        for (int64_t i = 0; i < n_distinct; i++) {
            if (heavy[i] || counts[i] < target) continue;
            heavy[i] = changed = true;
            rest -= counts[i];
            n_bins--;
        }
    }
    int64_t filled = 0;  // rows of other values since the last threshold
    for (int64_t i = 0; i + 1 < n_distinct && found < max_bins - 1; i++) {
        if (!heavy[i]) filled += counts[i];
        // No bin left: the others join their heavy neighbours.
        const double target = n_bins > 0 ? static_cast<double>(rest) / n_bins
                                         : std::numeric_limits<double>::infinity();
        const bool full = filled >= target || (heavy[i + 1] && filled >= 0.5 * target);
        if (!heavy[i] && !full) continue;
        thresholds[found++] = between(distinct[i], distinct[i + 1]);
        if (!heavy[i]) n_bins--;
        rest -= filled;
        filled = 0;
    }
    return found;
}

// Bins of one column of up to BIN_ROWS values: how many thresholds lie below each.
// A binary search without branches, which the compiler runs for several values at once;
// hence always all BIN_ROWS of them.
// ``thresholds`` has 255 places, infinity after the last.
template <typename T>
SKRANK_INLINE void find_bins(const T *column, const T *thresholds, bool categorical,
                             uint8_t *bins) {
    for (int i = 0; i < BIN_ROWS; i++) {
        const T v = column[i];
        int p = 0;
        p += (thresholds[p + 127] < v) << 7;
        p += (thresholds[p + 63] < v) << 6;
        p += (thresholds[p + 31] < v) << 5;
        p += (thresholds[p + 15] < v) << 4;
        p += (thresholds[p + 7] < v) << 3;
        p += (thresholds[p + 3] < v) << 2;
        p += (thresholds[p + 1] < v) << 1;
        p += thresholds[p] < v;
        bins[i] = static_cast<uint8_t>(v == v ? p : MISSING);
    }
    if (!categorical) return;
    // The thresholds of a categorical feature are its categories.
    for (int i = 0; i < BIN_ROWS; i++) {
        const bool known = bins[i] < MISSING && thresholds[bins[i]] == column[i];
        if (!known) bins[i] = MISSING;
    }
}

// Row i of the bins is row ``order[i]`` of X, or row i where there is no order.
template <typename T>
SKRANK_INLINE void bin_block(const T *X, const int64_t *order, int64_t n_features,
                             int64_t first, int64_t last, int block, int width,
                             const T *thresholds, const uint8_t *categorical,
                             uint8_t *out) {
    T column[BIN_ROWS];
    uint8_t bins[BIN_ROWS];
    const int n = static_cast<int>(last - first);
    for (int j = 0; j < width; j++) {
        const int64_t f = static_cast<int64_t>(block) * WIDTH + j;
        if (f >= n_features) {
            for (int i = 0; i < n; i++) out[(first + i) * width + j] = 0;
            continue;
        }
        for (int i = 0; i < n; i++) {
            const int64_t row = order ? order[first + i] : first + i;
            column[i] = X[row * n_features + f];
        }
        for (int i = n; i < BIN_ROWS; i++) column[i] = 0;
        find_bins(column, thresholds + f * MISSING, categorical[f], bins);
        for (int i = 0; i < n; i++) out[(first + i) * width + j] = bins[i];
    }
}

// Bins of rows [first, last) of one block of features.
SKRANK_CLONES static void bin_rows(const float *X, const int64_t *order,
                                   int64_t n_features, int64_t first, int64_t last,
                                   int block, int width, const float *thresholds,
                                   const uint8_t *categorical, uint8_t *out) {
    bin_block(X, order, n_features, first, last, block, width, thresholds, categorical,
              out);
}
SKRANK_CLONES static void bin_rows(const double *X, const int64_t *order,
                                   int64_t n_features, int64_t first, int64_t last,
                                   int block, int width, const double *thresholds,
                                   const uint8_t *categorical, uint8_t *out) {
    bin_block(X, order, n_features, first, last, block, width, thresholds, categorical,
              out);
}

// Thresholds of the features of one block from some rows, read once for all of them.
template <typename T>
void block_thresholds(const T *X, int64_t n_features, const int32_t *rows,
                      int64_t n_sampled, int block, int max_bins,
                      const uint8_t *categorical, T *thresholds, int32_t *n_thresholds,
                      Scratch &scratch) {
    const int64_t first = static_cast<int64_t>(block) * WIDTH;
    const int width = static_cast<int>(std::min<int64_t>(WIDTH, n_features - first));
    std::vector<T> columns(static_cast<size_t>(width) * n_sampled);
    std::vector<int64_t> sizes(width, 0);
    for (int64_t i = 0; i < n_sampled; i++) {
        const T *row = X + static_cast<int64_t>(rows[i]) * n_features + first;
        for (int j = 0; j < width; j++) {
            if (row[j] == row[j]) columns[j * n_sampled + sizes[j]++] = row[j];
        }
    }
    std::vector<uint32_t> work;
    for (int j = 0; j < width; j++) {
        const int64_t f = first + j;
        T *to = thresholds + f * MISSING;
        if (categorical[f]) continue;  // its categories were put there by the caller
        std::fill(to, to + MISSING, std::numeric_limits<T>::infinity());
        if (scratch.spend(32 * sizes[j])) break;
        sort_values(&columns[j * n_sampled], sizes[j], work);
        Tally<T> tally;
        for (int64_t i = 0; i < sizes[j]; i++) tally.add(columns[j * n_sampled + i], 1);
        n_thresholds[f] = find_thresholds(tally, sizes[j], max_bins, to);
    }
}

// Thresholds of all features; a block of features is the work of one thread.
template <typename T>
void all_thresholds(const T *X, int64_t n_features, const int32_t *rows,
                    int64_t n_sampled, int max_bins, const uint8_t *categorical,
                    T *thresholds, int32_t *n_thresholds, int n_threads) {
    for_each((n_features + WIDTH - 1) / WIDTH, 1, n_threads, {}, [=](Index b, Scratch &s) {
        block_thresholds(X, n_features, rows, n_sampled, static_cast<int>(b), max_bins,
                         categorical, thresholds, n_thresholds, s);
    });
}

// Bins of all rows; `out` has as many bytes as the layout says.
template <typename T>
void bin_all_rows(const T *X, const int64_t *order, const Layout &layout,
                  const T *thresholds, const uint8_t *categorical, uint8_t *out,
                  int n_threads) {
    const int64_t n = layout.n_rows;
    for_each((n + BIN_ROWS - 1) / BIN_ROWS, 1, n_threads, {}, [=](Index k, Scratch &) {
        const int64_t first = k * BIN_ROWS, last = std::min<int64_t>(n, first + BIN_ROWS);
        for (int b = 0; b < layout.n_blocks; b++)
            bin_rows(X, order, layout.n_features, first, last, b, layout.width(b),
                     thresholds, categorical, out + layout.start(b));
    });
}

}  // namespace skrank
