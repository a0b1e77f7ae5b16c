// What each feature contributes to the scores of rows, by the covers of the nodes.
//
// A leaf of value v whose path tests the features P adds to the score of a coalition S
//     v prod_{i in P} (i in S ? o_i : z_i),
// where o_i tells whether the row takes the turns of the path at feature i, and z_i is the
// product of the shares of the training rows that do. The Shapley value of this game is
//     v (o_j - z_j) int_0^1 prod_{i in P, i != j} (z_i (1 - t) + o_i t) dt,
// the integral of a polynomial of degree |P| - 1, which ceil(|P| / 2) points of the rule
// of Gauss and Legendre give exactly. At a point, the sum over the leaves below a node is
// one number, so that all features of all paths take time in proportion to the nodes.
//
// At a node of feature i with children L and R, H_n = r H_L + (1 - r) H_R is the sum below
// it, relative to the product P_n of the factors above it. With f = z_i (1 - t) + t for a
// row that has taken all turns at feature i so far and goes left with share c,
//     r = (z_i c (1 - t) + t) / f,    phi_i += z_i (1 - c) int P_n / f^2 (H_L - H_R) dt,
// for one that goes right r = z_i c (1 - t) / f and phi_i -= z_i c int ..., and for one that
// has left the path r = c, and nothing is added.
//
// Eight rows go through a tree together, one in each lane.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "../_core/_for_each_query.hpp"
#include "../_core/_simd.hpp"
#include "_forest.hpp"

namespace skrank {

constexpr int SHAPLEY_LANES = 8;                           // rows that go together
constexpr int SHAPLEY_VECS = SHAPLEY_LANES / LANES;        // in so many vectors
constexpr int SHAPLEY_BLOCKS = 4;                          // of lanes, for each tree
constexpr int SHAPLEY_ROWS = SHAPLEY_LANES * SHAPLEY_BLOCKS;

// Features that a forest tests, in dense numbers: rows and results hold no others.
class Slots {
    std::vector<int32_t> slot_of;

   public:
    std::vector<int32_t> features;

    Slots(const ForestArrays &from, int64_t n_features) : slot_of(n_features, -1) {
        for (int64_t k = 0; k < from.n_nodes; k++) {
            const int32_t f = from.feature[k];
            if (f < 0 || slot_of[f] >= 0) continue;
            slot_of[f] = static_cast<int32_t>(features.size());
            features.push_back(f);
        }
    }
    int32_t operator[](int32_t feature) const { return slot_of[feature]; }
    int64_t count() const { return static_cast<int64_t>(features.size()); }
};

// The points of the rule of Gauss and Legendre on [0, 1] and their weights.
struct Rule {
    std::vector<double> t, weight;

    explicit Rule(int m) : t(m), weight(m) {
        const double pi = 3.14159265358979323846;
        for (int i = 0; i < m; i++) {
            double x = std::cos(pi * (i + 0.75) / (m + 0.5)), slope = 1.0;
            for (int step = 0; step < 100; step++) {
                double before = 1.0, p = x;  // Legendre's polynomials of degree m - 1, m
                for (int k = 2; k <= m; k++) {
                    const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
                    before = p;
                    p = next;
                }
                slope = m * (x * p - before) / (x * x - 1.0);
                const double change = p / slope;
                x -= change;
                if (std::abs(change) < 1e-16) break;
            }
            t[i] = 0.5 * (1.0 - x);
            weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
        }
    }
};

// An inner node of a tree.
struct PathNode {
    int64_t node;                    // its number in the arrays
    int32_t slot;                    // of its feature
    int32_t parent;                  // among the inner nodes of the tree, or -1
    bool is_left;                    // of its parent
    int32_t left, right;             // among the inner nodes; -1 for a leaf
    double value_left, value_right;  // of leaves
};

// The inner nodes of a tree, parents before children, with the values of the leaves.
inline std::vector<PathNode> inner_nodes(const ForestArrays &from, int64_t tree,
                                         const Slots &slots, double scale) {
    const int64_t begin = from.roots[tree];
    const int64_t end = tree + 1 < from.n_trees ? from.roots[tree + 1] : from.n_nodes;
    std::vector<PathNode> nodes;
    std::vector<int32_t> parent(end - begin, -1), place(end - begin, -1);
    std::vector<uint8_t> is_left(end - begin, 0);
    for (int64_t k = begin; k < end; k++) {
        if (from.feature[k] < 0) continue;
        const int32_t here = static_cast<int32_t>(nodes.size());
        place[k - begin] = here;
        const int64_t left = from.left[k], right = left + 1;
        parent[left - begin] = parent[right - begin] = here;
        is_left[left - begin] = 1;
        nodes.push_back({k, slots[from.feature[k]], parent[k - begin],
                         is_left[k - begin] != 0, -1, -1, scale * from.value[left],
                         scale * from.value[right]});
    }
    for (PathNode &node : nodes) {
        node.left = place[from.left[node.node] - begin];
        node.right = place[from.left[node.node] + 1 - begin];
    }
    return nodes;
}

// Values of the features that are tested, a lane for each row: slot by slot, `lanes` of
// them for each block of as many rows.
template <typename T>
void lay_out(const T *X, int64_t n, int64_t d, const Slots &slots, int lanes, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double *lane = out + (i / lanes) * slots.count() * lanes + i % lanes;
        for (int64_t s = 0; s < slots.count(); s++) {
            lane[s * lanes] = static_cast<double>(X[i * d + slots.features[s]]);
        }
    }
}

// What a tree needs besides its nodes for contributions by covers.
struct PathSplit {
    int32_t above;    // nearest node above that tests the same feature, or -1
    bool above_left;  // whether the path goes left there
    double share;     // of the rows of the node that go left
    double z;         // product of the shares for this feature on the path to the node
};

class PathTree {
    int n_points = 1;
    std::vector<PathNode> nodes;
    std::vector<PathSplit> splits;
    std::vector<double> tables;  // of a node: r to the left, r to the right, weight / f^2
    const ForestArrays &from;

    static double share_left(const ForestArrays &from, const int64_t *count, int64_t k) {
        const double left = static_cast<double>(count[from.left[k]]);
        const double right = static_cast<double>(count[from.left[k] + 1]);
        if (!(left >= 0 && right >= 0 && left + right > 0)) {
            throw std::invalid_argument("count_ of the trees must be positive: node " +
                                        std::to_string(k) + " has no rows below it");
        }
        return left / (left + right);
    }

    PathSplit split_of(int32_t here, const int64_t *count) const {
        PathSplit split{-1, false, share_left(from, count, nodes[here].node), 1.0};
        for (int32_t at = here; nodes[at].parent >= 0; at = nodes[at].parent) {
            const int32_t up = nodes[at].parent;
            if (nodes[up].slot != nodes[here].slot) continue;
            const bool left = nodes[at].is_left;
            split.above = up;
            split.above_left = left;
            split.z = splits[up].z * (left ? splits[up].share : 1.0 - splits[up].share);
            break;
        }
        return split;
    }

    void fill_tables(const Rule &rule) {
        const int m = n_points;
        tables.resize(nodes.size() * 3 * m);
        for (size_t i = 0; i < nodes.size(); i++) {
            double *left = tables.data() + i * 3 * m, *right = left + m, *weight = right + m;
            for (int k = 0; k < m; k++) {
                const double t = rule.t[k], z = splits[i].z, f = z * (1.0 - t) + t;
                right[k] = z * splits[i].share * (1.0 - t) / f;
                left[k] = right[k] + t / f;
                weight[k] = rule.weight[k] / (f * f);
            }
        }
    }

   public:
    double expected = 0.0;

    PathTree(const ForestArrays &from, int64_t tree, const int64_t *count,
             const Slots &slots, double scale)
        : nodes(inner_nodes(from, tree, slots, scale)), from(from) {
        std::vector<int> n_features;  // on the path to and with a node
        int most = 1;
        for (size_t i = 0; i < nodes.size(); i++) {
            splits.push_back(split_of(static_cast<int32_t>(i), count));
            const int32_t up = nodes[i].parent;
            n_features.push_back((up < 0 ? 0 : n_features[up]) + (splits[i].above < 0));
            most = std::max(most, n_features[i]);
        }
        n_points = (most + 1) / 2;
        fill_tables(Rule(n_points));
        std::vector<double> mean(nodes.size());
        for (size_t i = nodes.size(); i-- > 0;) {
            const PathNode &at = nodes[i];
            const double left = at.left < 0 ? at.value_left : mean[at.left];
            const double right = at.right < 0 ? at.value_right : mean[at.right];
            mean[i] = splits[i].share * left + (1.0 - splits[i].share) * right;
        }
        expected = nodes.empty() ? scale * from.value[from.roots[tree]] : mean[0];
    }

    // Numbers that `add` needs for P and H each, and in masks.
    int64_t room() const { return int64_t(nodes.size()) * n_points * SHAPLEY_LANES; }
    int64_t masks() const { return int64_t(nodes.size()) * TURNS; }

    // Adds the contributions to eight rows, laid out by slots.
    SKRANK_MEMBER void add(const double *x, double *P, double *H, int64_t *masks,
                           double *phi) const {
        if (nodes.empty()) return;
        decide(x, masks);
        const int m = n_points;
        for (int k = 0; k < m * SHAPLEY_LANES; k++) P[k] = 1.0;
        for (size_t i = 0; i < nodes.size(); i++) descend(i, masks, P, H);
        for (size_t i = nodes.size(); i-- > 0;) ascend(i, masks, P, H, phi);
    }

   private:
    // Of a node: which rows go left, and which took all turns at its feature so far.
    static constexpr int TURNS = 2 * SHAPLEY_LANES;

    SKRANK_MEMBER static Mask mask_at(const int64_t *masks, int64_t node, int place) {
        Mask mask;
        std::memcpy(&mask, masks + node * TURNS + place * LANES, sizeof mask);
        return mask;
    }
    SKRANK_MEMBER static void put_mask(int64_t *masks, int64_t node, int place, Mask mask) {
        std::memcpy(masks + node * TURNS + place * LANES, &mask, sizeof mask);
    }

    SKRANK_MEMBER void decide(const double *x, int64_t *masks) const {
        for (size_t i = 0; i < nodes.size(); i++) {
            const int64_t k = nodes[i].node;
            const double *values = x + nodes[i].slot * SHAPLEY_LANES;
            for (int v = 0; v < SHAPLEY_VECS; v++) {
                const Vec value = load(values + v * LANES);
                const Mask missing = value != value;
                Mask goes = value <= (Vec{} + from.threshold[k]);
                if (from.category[k] >= 0) {
                    for (int l = 0; l < LANES; l++)
                        goes[l] = -int64_t(
                            in_set<double>(from.categories, from.category[k], value[l]));
                }
                goes = (goes & ~missing) | (missing & -int64_t(from.missing_left[k]));
                put_mask(masks, i, v, goes);
                Mask on = Mask{} - 1;
                const int32_t above = splits[i].above;
                if (above >= 0) {
                    const Mask over = mask_at(masks, above, v);
                    on = mask_at(masks, above, SHAPLEY_VECS + v) &
                         (splits[i].above_left ? over : ~over);
                }
                put_mask(masks, i, SHAPLEY_VECS + v, on);
            }
        }
    }

    // P of the children, and r in the place of H.
    SKRANK_MEMBER void descend(size_t i, const int64_t *masks, double *P, double *H) const {
        const int m = n_points, width = m * SHAPLEY_LANES;
        const PathNode &node = nodes[i];
        const double *to_left = tables.data() + i * 3 * m, *to_right = to_left + m;
        const Vec share = Vec{} + splits[i].share;
        const bool again = splits[i].above >= 0;
        for (int v = 0; v < SHAPLEY_VECS; v++) {
            const Mask left = mask_at(masks, i, v), on = mask_at(masks, i, SHAPLEY_VECS + v);
            for (int k = 0; k < m; k++) {
                const int at = k * SHAPLEY_LANES + v * LANES;
                Vec r = where(left, Vec{} + to_left[k], Vec{} + to_right[k]);
                if (again) r = where(on, r, share);
                store(H + i * width + at, r);
                const Vec p = load(P + i * width + at), part = p * r;
                if (node.left >= 0) store(P + node.left * width + at, part);
                if (node.right >= 0) store(P + node.right * width + at, p - part);
            }
        }
    }

    // H of the node, and what it adds to its feature.
    SKRANK_MEMBER void ascend(size_t i, const int64_t *masks, const double *P, double *H,
                              double *phi) const {
        const int m = n_points, width = m * SHAPLEY_LANES;
        const PathNode &node = nodes[i];
        const double *weight = tables.data() + (i * 3 + 2) * m;
        const Vec to_left = Vec{} + splits[i].z * (1.0 - splits[i].share);
        const Vec to_right = Vec{} - splits[i].z * splits[i].share;
        for (int v = 0; v < SHAPLEY_VECS; v++) {
            Vec total{};
            for (int k = 0; k < m; k++) {
                const int at = k * SHAPLEY_LANES + v * LANES;
                const Vec from_left = node.left < 0 ? Vec{} + node.value_left
                                                    : load(H + node.left * width + at);
                const Vec from_right = node.right < 0 ? Vec{} + node.value_right
                                                      : load(H + node.right * width + at);
                const Vec difference = from_left - from_right;
                total += load(P + i * width + at) * difference * weight[k];
                const Vec r = load(H + i * width + at);
                store(H + i * width + at, from_right + r * difference);
            }
            const Mask left = mask_at(masks, i, v), on = mask_at(masks, i, SHAPLEY_VECS + v);
            const Vec factor = where(left, to_left, to_right);
            double *to = phi + node.slot * SHAPLEY_LANES + v * LANES;
            store(to, load(to) + where(on, factor * total, Vec{}));
        }
    }
};

// A tree on some blocks of lanes: a cloned function must hold the whole loop.
SKRANK_CLONES
static void add_paths(const PathTree &tree, const double *x, int n_blocks, int64_t block,
                      double *P, double *H, int64_t *masks, double *phi) {
    for (int b = 0; b < n_blocks; b++)
        tree.add(x + b * block, P, H, masks, phi + b * block);
}

// Writes the contributions of all features to the scores of n rows, sum_t scale_t f_t,
// where a node weighs as much as the training rows that it counts; returns their mean.
template <typename T>
double path_contributions(const ForestArrays &from, const int64_t *count,
                          const double *scale, const T *X, int64_t n, int64_t d,
                          int n_outputs, double *out, int n_threads) {
    // Throws if the arrays would lead a row astray.
    const Forest<T> checked(from, 0, from.n_trees, d, n_outputs, false);
    const Slots slots(from, d);
    std::vector<PathTree> trees;
    double expected = 0.0;
    int64_t room = 0, n_masks = 0;
    for (int64_t t = 0; t < from.n_trees; t++) {
        trees.emplace_back(from, t, count, slots, scale[t]);
        expected += trees.back().expected;
        room = std::max(room, trees.back().room());
        n_masks = std::max(n_masks, trees.back().masks());
    }
    const int64_t block = slots.count() * SHAPLEY_LANES;
    const Index n_tasks = (n + SHAPLEY_ROWS - 1) / SHAPLEY_ROWS;
    for_each(n_tasks, 1, n_threads, {}, [&](Index task, Scratch &scratch) {
        const int64_t first = task * SHAPLEY_ROWS;
        const int64_t m = std::min<int64_t>(SHAPLEY_ROWS, n - first);
        std::vector<double> x(block * SHAPLEY_BLOCKS), phi(block * SHAPLEY_BLOCKS);
        std::vector<double> P(room), H(room);
        std::vector<int64_t> masks(n_masks);
        lay_out(X + first * d, m, d, slots, SHAPLEY_LANES, x.data());
        const int n_blocks = static_cast<int>((m + SHAPLEY_LANES - 1) / SHAPLEY_LANES);
        for (const PathTree &tree : trees) {
            add_paths(tree, x.data(), n_blocks, block, P.data(), H.data(), masks.data(),
                      phi.data());
            if (scratch.spend(tree.room() * n_blocks)) return;
        }
        for (int64_t i = 0; i < m; i++) {
            const double *lane = phi.data() + (i / SHAPLEY_LANES) * block + i % SHAPLEY_LANES;
            for (int64_t s = 0; s < slots.count(); s++)
                out[(first + i) * d + slots.features[s]] = lane[s * SHAPLEY_LANES];
        }
    });
    return expected;
}

}  // namespace skrank
