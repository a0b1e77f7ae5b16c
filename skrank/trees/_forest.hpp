// Scores of rows under a forest of trees.
//
// Eight rows walk down a tree together, so that the loads of one hide behind those of
// the others, and a test costs no branch. A leaf is its own left child.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../_core/_for_each_query.hpp"
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
    // Throws if the arrays would lead a row astray, as those of a damaged file could.
    Forest(const ForestArrays &from, int64_t first, int64_t last, int64_t n_features,
           int n_outputs)
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
    }

    // Adds the trees to the scores of ``n`` rows. Values of categorical features are
    // numbers of categories.
    void add(const T *X, int64_t n, int64_t d, double *scores) const {
        const int64_t n_trees = static_cast<int64_t>(by_category.size());
        for (int64_t begin = 0; begin < n; begin += WALK_ROWS) {
            const int64_t m = std::min<int64_t>(WALK_ROWS, n - begin);
            const T *rows = X + begin * d;
            double *out = scores + begin * n_outputs;
            const bool any = has_missing(rows, m * d);
            for (int64_t t = 0; t < n_trees; t++) {
                double *to = out + from.output[first_tree + t];
                if (by_category[t]) {
                    for (int64_t i = 0; i < m; i++) {
                        to[i * n_outputs] += leaf_value(walk_one(rows + i * d, t));
                    }
                    continue;
                }
                int64_t i = 0;
                for (; i + TOGETHER <= m; i += TOGETHER) {
                    if (any) {
                        walk<true>(rows + i * d, d, t, to + i * n_outputs);
                    } else {
                        walk<false>(rows + i * d, d, t, to + i * n_outputs);
                    }
                }
                for (; i < m; i++) to[i * n_outputs] += leaf_value(walk_one(rows + i * d, t));
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
                right = !holds(from.category[start + at], v);
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
    bool holds(int32_t set, T code) const {
        if (!(code >= 0 && code < N_BINS)) return false;
        const int bit = static_cast<int>(code);
        return (from.categories[4 * set + (bit >> 6)] >> (bit & 63)) & 1;
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

constexpr int64_t CHUNK_ROWS = 1024;  // of one thread at a time

// Adds trees [first_tree, last_tree) to the scores of n rows of d features.
template <typename T>
void add_forest(const ForestArrays &from, int64_t first_tree, int64_t last_tree,
                const T *X, int64_t n, int64_t d, int n_outputs, double *scores,
                int n_threads) {
    const Forest<T> forest(from, first_tree, last_tree, d, n_outputs);
    for_each((n + CHUNK_ROWS - 1) / CHUNK_ROWS, 1, n_threads, {}, [&](Index k, Scratch &) {
        const int64_t first = k * CHUNK_ROWS, m = std::min(CHUNK_ROWS, n - first);
        forest.add(X + first * d, m, d, scores + first * n_outputs);
    });
}

}  // namespace skrank
