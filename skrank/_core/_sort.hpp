// Stable sort of the documents of one query by descending score.
//
// A merge sort without branches that depend on the data: at the size of a query,
// mispredicted branches are what a textbook sort spends its time on.
#pragma once

#include "_simd.hpp"

namespace skrank {

constexpr int SORT_WORK_DOUBLES = 2;  // work space per document
constexpr int SORT_BLOCK = 16;

// Sorts up to 16 documents by counting, for each one, those that come before it.
SKRANK_INLINE void sort_block(const double *x, int first, int n, double *keys,
                              int *order) {
    const double lowest = -std::numeric_limits<double>::infinity();
    double block[SORT_BLOCK];
    for (int i = 0; i < n; i++) block[i] = x[i] == x[i] ? x[i] : lowest;
    for (int i = n; i < SORT_BLOCK; i++) block[i] = lowest;
    const Mask lane = {0, 1, 2, 3};
    int64_t ranks[SORT_BLOCK];
    for (int v = 0; v < SORT_BLOCK; v += LANES) {
        const Vec mine = load(block + v);
        Mask rank = {};
        for (int j = 0; j < v; j++) rank -= (block[j] + Vec{}) >= mine;
        for (int j = v; j < v + LANES; j++) {
            const Vec other = block[j] + Vec{};
            rank -= (other > mine) | ((other == mine) & (lane > j - v));
        }
        for (int j = v + LANES; j < SORT_BLOCK; j++) rank -= (block[j] + Vec{}) > mine;
        std::memcpy(ranks + v, &rank, sizeof rank);
    }
    for (int i = 0; i < n; i++) {
        keys[ranks[i]] = block[i];
        order[ranks[i]] = first + i;
    }
}

// Merges [0, middle) and [middle, n); ties come from the left.
SKRANK_INLINE void merge_runs(const double *keys, const int *order, int middle, int n,
                              double *out_keys, int *out_order) {
    int left = 0, right = middle, at = 0;
    while (left < middle && right < n) {
        const bool from_right = keys[right] > keys[left];
        const int source = from_right ? right : left;
        out_keys[at] = keys[source];
        out_order[at++] = order[source];
        right += from_right;
        left += !from_right;
    }
    const int rest = left < middle ? left : right;
    std::memcpy(out_keys + at, keys + rest, (n - at) * sizeof *keys);
    std::memcpy(out_order + at, order + rest, (n - at) * sizeof *order);
}

// The same for runs of equal length, from both ends at once: neither end can run out of
// documents before the middle, and the two chains of comparisons overlap in time.
SKRANK_INLINE void merge_equal_runs(const double *keys, const int *order, int run,
                                    double *out_keys, int *out_order) {
    int left = 0, right = run, left_end = run - 1, right_end = 2 * run - 1;
    for (int at = 0; at < run; at++) {
        const bool from_right = keys[right] > keys[left];
        const int source = from_right ? right : left;
        out_keys[at] = keys[source];
        out_order[at] = order[source];
        right += from_right;
        left += !from_right;
        const bool from_left = keys[right_end] > keys[left_end];
        const int last = from_left ? left_end : right_end;
        out_keys[2 * run - 1 - at] = keys[last];
        out_order[2 * run - 1 - at] = order[last];
        left_end -= from_left;
        right_end -= !from_left;
    }
}

// order[r] = document in position r, sorted_x[r] its score. Ties keep their order; NaN
// counts as -inf.
SKRANK_CLONES
static void sort_descending(const double *x, int m, double *work, double *sorted_x,
                            int *order) {
    double *keys = sorted_x, *other_keys = work;
    int *places = order, *other_places = reinterpret_cast<int *>(work + m);
    for (int i = 0; i < m; i += SORT_BLOCK)
        sort_block(x + i, i, std::min(m - i, SORT_BLOCK), keys + i, places + i);
    for (int run = SORT_BLOCK; run < m; run *= 2) {
        for (int i = 0; i < m; i += 2 * run) {
            const int n = std::min(m - i, 2 * run);
            if (n == 2 * run)
                merge_equal_runs(keys + i, places + i, run, other_keys + i,
                                 other_places + i);
            else
                merge_runs(keys + i, places + i, std::min(n, run), n, other_keys + i,
                           other_places + i);
        }
        std::swap(keys, other_keys);
        std::swap(places, other_places);
    }
    if (keys != sorted_x) {
        std::memcpy(sorted_x, keys, m * sizeof *keys);
        std::memcpy(order, places, m * sizeof *places);
    }
}

}  // namespace skrank
