// Scores of rows under a forest of trees.
//
// Trees of few different tests are added by their bits; see _bit_trees.hpp. The others:
// Eight rows walk down a tree together, so that the loads of one hide behind those of
// the others, and a test costs no branch. A leaf is its own left child.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../_core/_for_each_query.hpp"
#include "_bit_trees.hpp"
#include "_layout.hpp"

namespace skrank {

template <typename T>
struct Step {
    T threshold;        // a value at most this goes left
    uint32_t feature;   // its top bit: missing values go left
    int32_t left;       // the right child is the next one
};
constexpr uint32_t MISSING_LEFT = 0x80000000u;
constexpr int TOGETHER = 8;    // rows that walk together
constexpr int WALK_ROWS = 64;  // rows that see all trees before the next ones do

// Values of type T are compared with thresholds that were found in double. Rounded down,
// a threshold sends every value of type T to the same side as before.
template <typename T>
inline T round_down(double x) {
    T t = static_cast<T>(x);
    if (static_cast<double>(t) > x) t = std::nextafter(t, -std::numeric_limits<T>::infinity());
    return t;
}

// Whether a set of categories, one of many, holds the one of this number.
template <typename T>
inline bool in_set(const uint64_t *categories, int32_t set, T code) {
    if (!(code >= 0 && code < N_BINS)) return false;
    const int bit = static_cast<int>(code);
    return (categories[4 * int64_t(set) + (bit >> 6)] >> (bit & 63)) & 1;
}

// The arrays of all nodes of a forest; see the Python class for what they hold.
struct ForestArrays {
    const int32_t *feature;
    const double *threshold;
    const int32_t *left;
    const uint8_t *missing_left;
    const int32_t *category;
    const double *value;
    int64_t n_nodes;
    const int64_t *roots;
    const int32_t *output;
    int64_t n_trees;
    const uint64_t *categories;
    int64_t n_sets;
};

// What prediction needs of the trees [first, last) of a forest.
template <typename T>
class Forest {
   public:
    // Throws if the arrays would lead a row astray, as those of a damaged file could. For
    // few rows, tables of bits would cost more than they bring.
    Forest(const ForestArrays &from, int64_t first, int64_t last, int64_t n_features,
           int n_outputs, bool by_bits)
        : from(from), n_outputs(n_outputs), first_tree(first) {
        if (first < 0 || last > from.n_trees) throw std::invalid_argument("no such trees");
        start = from.roots[first];
        const int64_t stop = last < from.n_trees ? from.roots[last] : from.n_nodes;
        check(start >= 0 && stop <= from.n_nodes && start < stop);
        steps.resize(stop - start);
        by_category.assign(last - first, 0);
        for (int64_t t = first; t < last; t++) {
            const int64_t begin = from.roots[t], end = t + 1 < last ? from.roots[t + 1] : stop;
            check(begin >= start && begin < end && end <= stop);
            check(from.output[t] >= 0 && from.output[t] < n_outputs);
            for (int64_t k = begin; k < end; k++) take(t, k, end, n_features);
        }
        bit_trees.resize(last - first);
        if (by_bits) find_bits(stop, n_features);
    }

    // Numbers that a thread needs room for.
    int64_t n_scratch() const {
        return static_cast<int64_t>(columns_of.size()) * COLUMN_STRIDE;
    }

    // Adds the trees to the scores of ``n`` rows. Values of categorical features are
    // numbers of categories; ``columns`` is room for ``n_scratch`` numbers.
    void add(const T *X, int64_t n, int64_t d, double *scores, T *columns) const {
        const int64_t n_trees = static_cast<int64_t>(by_category.size());
        const bool any_bits = !columns_of.empty();
        const int64_t step = any_bits ? BIT_ROWS : WALK_ROWS;
        for (int64_t begin = 0; begin < n; begin += step) {
            const int64_t m = std::min<int64_t>(step, n - begin);
            const T *rows = X + begin * d;
            double *out = scores + begin * n_outputs;
            if (any_bits) take_columns(rows, static_cast<int>(m), d, columns_of, columns);
            const bool any = any_walk && has_missing(rows, m * d);
            for (int64_t t = 0; t < n_trees; t++) {
                double *to = out + from.output[first_tree + t];
                const BitTree &tree = bit_trees[t];
                if (tree.n_tests >= 0) {
                    add_bit_tree(tests.data() + tree.first_test, tree.n_tests, columns,
                                 places.data() + tree.first_place, static_cast<int>(m), to,
                                 n_outputs);
                } else {
                    walk_all(rows, m, d, t, any, to);
                }
            }
        }
    }

    // The leaf of one row in one tree.
    int32_t walk_one(const T *row, int64_t tree) const {
        int32_t at = root(tree);
        while (steps[at].left != at) {
            const Step<T> &step = steps[at];
            const T v = row[step.feature & ~MISSING_LEFT];
            bool right;
            if (v != v) {
                right = !(step.feature & MISSING_LEFT);
            } else if (from.category[start + at] >= 0) {
                right = !in_set(from.categories, from.category[start + at], v);
            } else {
                right = !(v <= step.threshold);
            }
            at = step.left + right;
        }
        return at;
    }

   private:
    ForestArrays from;
    int n_outputs;
    int64_t first_tree, start = 0;  // first node
    std::vector<Step<T>> steps;
    std::vector<uint8_t> by_category;
    bool any_walk = true;            // whether a tree is not added by its bits
    std::vector<BitTree> bit_trees;  // one per tree
    std::vector<BitTest<T>> tests;
    std::vector<double> places;
    std::vector<int32_t> columns_of;  // features of the columns

    static void check(bool holds) {
        if (!holds) throw std::invalid_argument("the arrays of the trees do not fit");
    }

    // One node; children follow their parent within the tree, so every walk ends.
    void take(int64_t tree, int64_t k, int64_t end, int64_t n_features) {
        Step<T> &step = steps[k - start];
        const int32_t f = from.feature[k];
        if (f < 0) {
            step.threshold = std::numeric_limits<T>::infinity();
            step.feature = MISSING_LEFT;
            step.left = static_cast<int32_t>(k - start);
            return;
        }
        // In 64 bits: the index comes from a file and may be the largest of 32.
        check(f < n_features && from.left[k] > k && int64_t(from.left[k]) + 1 < end);
        check(from.category[k] < from.n_sets);
        step.threshold = round_down<T>(from.threshold[k]);
        step.feature =
            static_cast<uint32_t>(f) | (from.missing_left[k] ? MISSING_LEFT : 0u);
        step.left = static_cast<int32_t>(from.left[k] - start);
        by_category[tree - first_tree] |= from.category[k] >= 0;
    }

    int32_t root(int64_t tree) const {
        return static_cast<int32_t>(from.roots[first_tree + tree] - start);
    }
    double leaf_value(int32_t at) const { return from.value[start + at]; }

    // Finds the trees of few different tests, and the leaf of each combination of bits.
    void find_bits(int64_t stop, int64_t n_features) {
        const int64_t n_trees = static_cast<int64_t>(bit_trees.size());
        std::vector<int32_t> column_of(n_features, -1);
        std::vector<uint8_t> test_of(steps.size());
        any_walk = false;
        for (int64_t t = 0; t < n_trees; t++) {
            const int64_t begin = root(t), end = t + 1 < n_trees ? root(t + 1) : stop - start;
            BitTree &tree = bit_trees[t];
            tree.first_test = static_cast<int32_t>(tests.size());
            if (by_category[t] || !find_tests(begin, end, test_of, tree)) {
                tests.resize(tree.first_test);
                tree.n_tests = -1;
                any_walk = true;
                continue;
            }
            tree.first_place = static_cast<int64_t>(places.size());
            for (int place = 0; place < 1 << tree.n_tests; place++) {
                int64_t at = begin;
                while (steps[at].left != at) {
                    at = steps[at].left + (place >> test_of[at] & 1);
                }
                places.push_back(leaf_value(static_cast<int32_t>(at)));
            }
            for (int k = 0; k < tree.n_tests; k++) {  // features become columns
                int32_t &column = column_of[tests[tree.first_test + k].column];
                if (column < 0) {
                    column = static_cast<int32_t>(columns_of.size());
                    columns_of.push_back(tests[tree.first_test + k].column);
                }
                tests[tree.first_test + k].column = column;
            }
        }
    }

    // Numbers the different tests of a tree; returns whether there are few.
    bool find_tests(int64_t begin, int64_t end, std::vector<uint8_t> &test_of,
                    BitTree &tree) {
        tree.n_tests = 0;
        for (int64_t k = begin; k < end; k++) {
            const Step<T> &step = steps[k];
            if (step.left == k) continue;
            const BitTest<T> test = {step.threshold,
                                     static_cast<int32_t>(step.feature & ~MISSING_LEFT),
                                     (step.feature & MISSING_LEFT) != 0};
            const auto first = tests.begin() + tree.first_test;
            const auto found = std::find(first, tests.end(), test);
            test_of[k] = static_cast<uint8_t>(found - first);
            if (found != tests.end()) continue;
            if (++tree.n_tests > MOST_TESTS) return false;
            tests.push_back(test);
        }
        return true;
    }

    // Adds one tree to the scores of some rows, eight at a time if it has no categories.
    void walk_all(const T *rows, int64_t n, int64_t d, int64_t tree, bool any_missing,
                  double *to) const {
        int64_t i = 0;
        for (; i + TOGETHER <= n && !by_category[tree]; i += TOGETHER) {
            if (any_missing) {
                walk<true>(rows + i * d, d, tree, to + i * n_outputs);
            } else {
                walk<false>(rows + i * d, d, tree, to + i * n_outputs);
            }
        }
        for (; i < n; i++) to[i * n_outputs] += leaf_value(walk_one(rows + i * d, tree));
    }

    static bool has_missing(const T *values, int64_t n) {
        bool any = false;
        for (int64_t i = 0; i < n; i++) any |= values[i] != values[i];
        return any;
    }

    template <bool ANY_MISSING>
    void walk(const T *rows, int64_t d, int64_t tree, double *out) const {
        int32_t at[TOGETHER];
        for (int k = 0; k < TOGETHER; k++) at[k] = root(tree);
        int32_t moved;
        do {
            moved = 0;
            for (int k = 0; k < TOGETHER; k++) {
                const Step<T> &step = steps[at[k]];
                const T v = rows[k * d + (step.feature & ~MISSING_LEFT)];
                int right = !(v <= step.threshold);
                if (ANY_MISSING) right &= !((v != v) & (step.feature >> 31));
                const int32_t next = step.left + right;
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (int k = 0; k < TOGETHER; k++) out[k * n_outputs] += leaf_value(at[k]);
    }
};

// Entries ptr[r] ... ptr[r + 1] - 1 belong to row r. Where there is none, the value is zero.
template <typename T>
struct SparseX {
    const int64_t *ptr;
    const int32_t *feature;
    const T *value;
};

// Adds trees to the scores of n sparse rows. Only features with a column, of which there
// are ``n_columns``, are written down, a few rows at a time; the nodes name columns.
template <typename T>
void add_forest_to_sparse(const ForestArrays &from, int64_t first_tree, int64_t last_tree,
                          const SparseX<T> &X, const int32_t *column_of, int64_t n_columns,
                          int64_t n, int n_outputs, double *scores, int n_threads) {
    const Forest<T> forest(from, first_tree, last_tree, n_columns, n_outputs, n >= BIT_ROWS);
    const Room room = {std::max<Index>(forest.n_scratch(), BIT_ROWS * n_columns), 2};
    for_each((n + BIT_ROWS - 1) / BIT_ROWS, 1, n_threads, room,
             [&](Index k, Scratch &scratch) {
        const int64_t first = k * BIT_ROWS, m = std::min<int64_t>(BIT_ROWS, n - first);
        T *rows = reinterpret_cast<T *>(scratch.array(0));
        std::fill(rows, rows + m * n_columns, T(0));
        for (int64_t r = 0; r < m; r++) {
            for (int64_t e = X.ptr[first + r]; e < X.ptr[first + r + 1]; e++) {
                const int32_t column = column_of[X.feature[e]];
                if (column >= 0) rows[r * n_columns + column] = X.value[e];
            }
        }
        forest.add(rows, m, n_columns, scores + first * n_outputs,
                   reinterpret_cast<T *>(scratch.array(1)));
    });
}

constexpr int64_t CHUNK_ROWS = 1024;  // of one thread at a time

// Adds trees [first_tree, last_tree) to the scores of n rows of d features.
template <typename T>
void add_forest(const ForestArrays &from, int64_t first_tree, int64_t last_tree,
                const T *X, int64_t n, int64_t d, int n_outputs, double *scores,
                int n_threads) {
    const Forest<T> forest(from, first_tree, last_tree, d, n_outputs, n >= BIT_ROWS);
    const Room room = {forest.n_scratch(), forest.n_scratch() > 0};
    for_each((n + CHUNK_ROWS - 1) / CHUNK_ROWS, 1, n_threads, room,
             [&](Index k, Scratch &scratch) {
        const int64_t first = k * CHUNK_ROWS, m = std::min(CHUNK_ROWS, n - first);
        T *columns = room.arrays ? reinterpret_cast<T *>(scratch.array(0)) : nullptr;
        forest.add(X + first * d, m, d, scores + first * n_outputs, columns);
    });
}

}  // namespace skrank
