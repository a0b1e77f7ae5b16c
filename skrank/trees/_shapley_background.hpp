// What each feature contributes to the scores of rows, against rows of a background.
//
// For a row x and a row z of the background, a coalition S has the score of the row that
// takes the features of S from x and the others from z. A leaf of value v is reached by it
// if S holds the a features of its path at which z would turn off, and none of the b ones
// at which x would. Where both would turn off at the same feature, no coalition gets there;
// otherwise the Shapley values of this game are
//     v (a - 1)! b! / (a + b)!  and  -v a! (b - 1)! / (a + b)!
// for the features of the two kinds, and 0 for the others.
//
// Of a row, a leaf needs to know at which features of its path it stays, which is a set of
// bits. The rows of the background that have the same set count as one, so that a large
// background costs little more than a small one.
#pragma once

#include <algorithm>
#include <memory>

#include "_shapley.hpp"

namespace skrank {

constexpr int SHAPLEY_BITS = 64;        // features on a path at most
constexpr int64_t BACKGROUND_ROWS = 16; // that a thread takes at a time

// (a - 1)! b! / (a + b)!, which is a B(a, b + 1) / a of the beta function.
class CoalitionWeights {
    std::vector<double> table;

   public:
    CoalitionWeights() : table((SHAPLEY_BITS + 1) * (SHAPLEY_BITS + 1), 0.0) {
        for (int b = 0; b <= SHAPLEY_BITS; b++) {
            double weight = 1.0 / (b + 1);  // of a = 1
            for (int a = 1; a <= SHAPLEY_BITS; a++) {
                table[a * (SHAPLEY_BITS + 1) + b] = weight;
                weight *= static_cast<double>(a) / (a + b + 1);
            }
        }
    }
    double operator()(int a, int b) const { return table[a * (SHAPLEY_BITS + 1) + b]; }
};

struct PathTest {
    int32_t node;   // among the inner nodes of the tree
    uint8_t left;   // whether the path goes left
    uint64_t bit;   // of the feature
};

struct PathLeaf {
    double value;
    std::vector<PathTest> tests;
    std::vector<int32_t> features;
    uint64_t all = 0;                // the bits of all features
    std::vector<uint64_t> stays;     // sets of bits of the background
    std::vector<double> shares;      // of the background that has each set
};

// A tree whose leaves know the background.
class BackgroundTree {
    const ForestArrays &from;
    std::vector<PathNode> nodes;
    std::vector<PathLeaf> leaves;

    void add_leaf(const Slots &slots, int32_t parent, bool is_left, double value) {
        PathLeaf leaf;
        leaf.value = value;
        for (int32_t at = parent; at >= 0; at = nodes[at].parent) {
            const int32_t feature = slots.features[nodes[at].slot];
            const auto found =
                std::find(leaf.features.begin(), leaf.features.end(), feature);
            const int64_t number = found - leaf.features.begin();
            if (found == leaf.features.end()) leaf.features.push_back(feature);
            if (number >= SHAPLEY_BITS) {
                throw std::invalid_argument(
                    "background: a tree tests more than 64 features on the way to a leaf; "
                    "leave background out, or grow trees with a lower max_depth");
            }
            const uint64_t bit = uint64_t(1) << number;
            leaf.tests.push_back({at, static_cast<uint8_t>(is_left), bit});
            leaf.all |= bit;
            is_left = nodes[at].is_left;
        }
        leaves.push_back(std::move(leaf));
    }

    template <typename T>
    void decide(const T *row, uint8_t *left) const {
        for (size_t i = 0; i < nodes.size(); i++) {
            const int64_t k = nodes[i].node;
            const T v = row[from.feature[k]];
            if (v != v) {
                left[i] = from.missing_left[k] != 0;
            } else if (from.category[k] >= 0) {
                left[i] = in_set(from.categories, from.category[k], v);
            } else {
                left[i] = static_cast<double>(v) <= from.threshold[k];
            }
        }
    }

    // The features at which a row stays on the path to a leaf.
    SKRANK_MEMBER static uint64_t stays(const PathLeaf &leaf, const uint8_t *left) {
        uint64_t off = 0;
        for (const PathTest &test : leaf.tests)
            off |= left[test.node] != test.left ? test.bit : 0;
        return leaf.all & ~off;
    }

    template <typename T>
    void meet(const T *Z, int64_t n, int64_t d) {
        std::vector<uint8_t> left(nodes.size() * n);
        for (int64_t i = 0; i < n; i++) decide(Z + i * d, left.data() + i * nodes.size());
        std::vector<uint64_t> sets(n);
        for (PathLeaf &leaf : leaves) {
            for (int64_t i = 0; i < n; i++)
                sets[i] = stays(leaf, left.data() + i * nodes.size());
            std::sort(sets.begin(), sets.end());
            for (int64_t i = 0, next; i < n; i = next) {
                next = std::upper_bound(sets.begin() + i, sets.end(), sets[i]) - sets.begin();
                leaf.stays.push_back(sets[i]);
                leaf.shares.push_back(static_cast<double>(next - i) / n);
                if (sets[i] == leaf.all) expected += leaf.value * leaf.shares.back();
            }
        }
    }

   public:
    double expected = 0.0;

    template <typename T>
    BackgroundTree(const ForestArrays &from, int64_t tree, const Slots &slots,
                   double scale, const T *Z, int64_t n, int64_t d)
        : from(from), nodes(inner_nodes(from, tree, slots, scale)) {
        for (size_t i = 0; i < nodes.size(); i++) {
            const int32_t here = static_cast<int32_t>(i);
            if (nodes[i].left < 0) add_leaf(slots, here, true, nodes[i].value_left);
            if (nodes[i].right < 0) add_leaf(slots, here, false, nodes[i].value_right);
        }
        meet(Z, n, d);
        if (nodes.empty()) expected = scale * from.value[from.roots[tree]];
    }

    int64_t room() const { return static_cast<int64_t>(nodes.size()); }

    // Operations for one row at most.
    int64_t work() const {
        int64_t n = 1;
        for (const PathLeaf &leaf : leaves) n += leaf.tests.size() + leaf.stays.size();
        return n;
    }

    // Adds the contributions to one row.
    template <typename T>
    void add(const T *row, const CoalitionWeights &weights, uint8_t *left,
             double *out) const {
        decide(row, left);
        for (const PathLeaf &leaf : leaves) add_leaf_to(leaf, stays(leaf, left), weights, out);
    }

   private:
    static void add_leaf_to(const PathLeaf &leaf, uint64_t own,
                            const CoalitionWeights &weights, double *out) {
        const uint64_t off = leaf.all & ~own;
        const int b = __builtin_popcountll(off);
        double against = 0.0;
        for (size_t i = 0; i < leaf.stays.size(); i++) {
            const uint64_t theirs = leaf.stays[i];
            if (off & ~theirs) continue;
            uint64_t lacking = leaf.all & ~theirs;
            const int a = __builtin_popcountll(lacking);
            const double amount = leaf.value * leaf.shares[i];
            if (b > 0) against += amount * weights(b, a);
            if (a == 0) continue;
            const double toward = amount * weights(a, b);
            for (; lacking; lacking &= lacking - 1)
                out[leaf.features[__builtin_ctzll(lacking)]] += toward;
        }
        if (against == 0.0) return;
        for (uint64_t bits = off; bits; bits &= bits - 1)
            out[leaf.features[__builtin_ctzll(bits)]] -= against;
    }
};

// Writes the contributions of all features to the scores of n rows, sum_t scale_t f_t,
// against the rows of Z; returns the mean score of these.
template <typename T>
double background_contributions(const ForestArrays &from, const double *scale, const T *Z,
                                int64_t n_background, const T *X, int64_t n, int64_t d,
                                int n_outputs, double *out, int n_threads) {
    // Throws if the arrays would lead a row astray.
    const Forest<T> checked(from, 0, from.n_trees, d, n_outputs, false);
    const Slots slots(from, d);
    const CoalitionWeights weights;
    std::vector<std::unique_ptr<BackgroundTree>> trees(from.n_trees);
    for_each(from.n_trees, 1, n_threads, {}, [&](Index t, Scratch &) {
        trees[t] = std::make_unique<BackgroundTree>(from, t, slots, scale[t], Z,
                                                    n_background, d);
    });
    double expected = 0.0;
    int64_t room = 0;
    for (const auto &tree : trees) {
        expected += tree->expected;
        room = std::max(room, tree->room());
    }
    const Index n_tasks = (n + BACKGROUND_ROWS - 1) / BACKGROUND_ROWS;
    for_each(n_tasks, 1, n_threads, {}, [&](Index task, Scratch &scratch) {
        const int64_t first = task * BACKGROUND_ROWS;
        const int64_t last = std::min<int64_t>(first + BACKGROUND_ROWS, n);
        std::vector<uint8_t> left(room);
        std::fill(out + first * d, out + last * d, 0.0);
        for (const auto &tree : trees) {
            const int64_t work = tree->work();
            for (int64_t i = first; i < last; i++) {
                tree->add(X + i * d, weights, left.data(), out + i * d);
                if (scratch.spend(work)) return;
            }
        }
    });
    return expected;
}

}  // namespace skrank
