// Stable sort of the documents of one query by descending score.
//
// A merge sort without branches that depend on the data: at the size of a query,
// mispredicted branches are what a textbook sort spends its time on. Where a query is
// long enough to pay for tables, two passes over digits of the scores are faster still.
#pragma once

#include "_runs.hpp"
#include "_simd.hpp"

namespace skrank {

constexpr int SORT_WORK_DOUBLES = 2;  // work space per document
constexpr int SORT_BLOCK = 16;

// A number amid n > 0 scores, as the origin of their differences: the median of three, for
// one of them may be so large that beside it the digits of the others are lost.
inline double amid(const double *x, int n) {
    const double a = x[0], b = x[(n - 1) / 2], c = x[n - 1];
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Sorts up to N documents by counting, for each one, those that come before it.
template <int N>
SKRANK_INLINE void sort_up_to(const double *x, int first, int n, double *keys,
                              int *order) {
    const double lowest = -std::numeric_limits<double>::infinity();
    double block[N];
    for (int i = 0; i < n; i++) block[i] = x[i] == x[i] ? x[i] : lowest;
    for (int i = n; i < N; i++) block[i] = lowest;
    const Mask lane = {0, 1, 2, 3};
    int64_t ranks[N];
    for (int v = 0; v < N; v += LANES) {
        const Vec mine = load(block + v);
        Mask rank = {};
        for (int j = 0; j < v; j++) rank -= (block[j] + Vec{}) >= mine;
        for (int j = v; j < v + LANES; j++) {
            const Vec other = block[j] + Vec{};
            rank -= (other > mine) | ((other == mine) & (lane > j - v));
        }
        for (int j = v + LANES; j < N; j++) rank -= (block[j] + Vec{}) > mine;
        std::memcpy(ranks + v, &rank, sizeof rank);
    }
    for (int i = 0; i < n; i++) {
        keys[ranks[i]] = block[i];
        order[ranks[i]] = first + i;
    }
}

// Sorts up to 16 documents; the comparisons grow with the square of what they fill.
SKRANK_INLINE void sort_block(const double *x, int first, int n, double *keys,
                              int *order) {
    if (n <= SORT_BLOCK / 2)
        sort_up_to<SORT_BLOCK / 2>(x, first, n, keys, order);
    else if (n <= SORT_BLOCK * 3 / 4)
        sort_up_to<SORT_BLOCK * 3 / 4>(x, first, n, keys, order);
    else
        sort_up_to<SORT_BLOCK>(x, first, n, keys, order);
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

// From this many documents on, digits are faster than merging.
constexpr int SORT_DIGITS_FROM = 400;
constexpr int SORT_DIGIT_BITS = 11;
constexpr int SORT_DIGITS = 1 << SORT_DIGIT_BITS;
// Steps of insertion per document that digits may leave; what needs more is merged.
constexpr int SORT_STEPS = 4;

// Sums of what comes before.
SKRANK_INLINE void starts_of_counts(int *counts, int n) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        const int count = counts[i];
        counts[i] = total;
        total += count;
    }
}

// Sorts by insertion what is nearly sorted; returns false if it is not.
SKRANK_INLINE bool insert_few(int m, double *keys, int *order) {
    int64_t left = static_cast<int64_t>(SORT_STEPS) * m;
    for (int r = 1; r < m; r++) {
        if (!(keys[r] > keys[r - 1])) continue;
        const double key = keys[r];
        const int document = order[r];
        int at = r;
        for (; at > 0 && key > keys[at - 1]; at--) {
            keys[at] = keys[at - 1];
            order[at] = order[at - 1];
        }
        keys[at] = key;
        order[at] = document;
        if ((left -= r - at) < 0) return false;
    }
    return true;
}

// Scores are mapped to whole numbers of two digits, in equal steps from the largest
// score to the smallest. The map never turns an order round, so that only scores of the
// same number are left to insertion. Returns false, and leaves anything in `sorted_x` and
// `order`, if there are too many of these or a score is not finite.
SKRANK_CLONES
static bool sort_by_digits(const double *x, int m, double *work, double *sorted_x,
                           int *order) {
    double low = x[0], high = x[0];
    bool finite = true;
    for (int i = 0; i < m; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        finite &= x[i] - x[i] == 0.0;
    }
    const double scale = (SORT_DIGITS * SORT_DIGITS - 1) / (high - low);
    if (!finite || !(scale > 0.0) || scale - scale != 0.0) return false;
    int last[SORT_DIGITS] = {}, first[SORT_DIGITS] = {};
    int *number = reinterpret_cast<int *>(sorted_x);
    for (int i = 0; i < m; i++)
        number[i] = std::min(static_cast<int>((high - x[i]) * scale),
                             SORT_DIGITS * SORT_DIGITS - 1);
    for (int i = 0; i < m; i++) {
        last[number[i] % SORT_DIGITS]++;
        first[number[i] / SORT_DIGITS]++;
    }
    // Documents that stand close together share the first digit, and some of them both:
    // a quarter of their pairs, spread over the last digit, are steps of insertion.
    double steps = 0.0;
    for (int i = 0; i < SORT_DIGITS; i++) steps += double(first[i]) * first[i];
    if (steps > 4.0 * SORT_DIGITS * m) return false;
    starts_of_counts(last, SORT_DIGITS);
    starts_of_counts(first, SORT_DIGITS);
    int *documents = reinterpret_cast<int *>(work), *digits = documents + m;
    for (int i = 0; i < m; i++) {
        const int at = last[number[i] % SORT_DIGITS]++;
        documents[at] = i;
        digits[at] = number[i] / SORT_DIGITS;
    }
    for (int i = 0; i < m; i++) order[first[digits[i]]++] = documents[i];
    for (int r = 0; r < m; r++) sorted_x[r] = x[order[r]];
    return insert_few(m, sorted_x, order);
}

SKRANK_CLONES
static void sort_by_merging(const double *x, int m, double *work, double *sorted_x,
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

// order[r] = document in position r, sorted_x[r] its score. Ties keep their order; NaN
// counts as -inf.
[[maybe_unused]] static void sort_descending(const double *x, int m, double *work,
                                             double *sorted_x, int *order) {
    if (m < SORT_DIGITS_FROM || !sort_by_digits(x, m, work, sorted_x, order))
        sort_by_merging(x, m, work, sorted_x, order);
}

}  // namespace skrank
