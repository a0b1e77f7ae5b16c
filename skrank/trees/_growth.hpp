// Growing one tree, leaf by leaf or level by level, whatever form the rows have.
//
// Sums of quantised gradients are exact: a tree does not depend on the number of threads
// nor on the order of additions. The values of leaves are computed afterwards from the
// gradients as they were.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "_leaf_values.hpp"
#include "_levels.hpp"
#include "_measured_threads.hpp"
#include "_tree_rows.hpp"

namespace skrank {

// What is known of the features of all rows.
struct Features {
    int count;
    const int32_t *n_bins;
    const uint8_t *categorical;
    const int8_t *monotonic;
};

class TreeGrower : protected TreeRows {
   public:
    TreeGrower(int64_t n_rows, const Features &features)
        : TreeRows(n_rows),
          n_features(features.count),
          finder(features.count, features.n_bins, features.categorical,
                 features.monotonic) {}
    virtual ~TreeGrower() = default;

    using TreeRows::row_data;
    std::vector<Node> nodes;
    std::vector<uint64_t> categories;  // four words per set
    std::vector<Leaf> leaves;

    // Grows a tree on ``n`` rows; ``chosen`` lists them in ascending order, or is null
    // for all rows. Weights, if any, count in the search for splits, and not in the
    // values of leaves.
    void grow(const double *gradient, const double *hessian, const double *weight,
              const int32_t *chosen, int64_t n, bool stochastic, const GrowOptions &with) {
        options = with;
        finder.kernels = options.wide ? WIDE : PORTABLE;
        n_grown = n;
        options.n_threads = team_size(options.n_threads);
        options.n_threads = threads.start(options.n_threads, guessed_seconds());
        Watch watching;
        watch = &watching;
        all_rows = chosen == nullptr;
        quantise(gradient, hessian, weight, chosen, stochastic);
        nodes.assign(1, Node());
        categories.clear();
        leaves.clear();
        leaves.emplace_back();
        leaves[0].end = n;
        leaves[0].sum = total;
        queue = std::priority_queue<Waiting>();
        holders.clear();
        if (!all_rows) gather(leaves[0]);
        if (options.growth == SYMMETRIC) {
            split_levels();
        } else {
            split_leaves();
        }
        watching.finish();
        values.fit(nodes, leaves, rows.data(), gradient, hessian, options);
        threads.stop();
    }

    // Refines the values of the leaves of the last tree by one more Newton step.
    void step(const double *gradient, const double *hessian) {
        values.step(nodes, leaves, rows.data(), gradient, hessian, options);
    }

    void go(double share) { values.go(nodes, leaves, share); }

    // What the penalties on the values of the leaves add to the loss.
    double penalty(bool before) const {
        return values.penalty(nodes, leaves, before, options);
    }

    void scale(double factor) {
        for (const Leaf &leaf : leaves) nodes[leaf.node].value *= factor;
    }

    // Adds the value of its leaf to the score of every row the tree was grown on.
    void add_to(double *scores, int64_t stride) const {
        const int n_leaves = static_cast<int>(leaves.size());
        const int team = team_size(options.n_threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
        for (int k = 0; k < n_leaves; k++) {
            const double value = nodes[leaves[k].node].value;
            for (int64_t i = leaves[k].begin; i < leaves[k].end; i++) {
                scores[rows[i] * stride] += value;
            }
        }
    }

    // Adds the value of its leaf to the score of every row, grown on or not.
    virtual void add_to_all(double *scores, int64_t stride) const = 0;

   protected:
    // A leaf that waits to be split: those of lower depth first where that counts, then
    // those that gain most, then those of the lower number.
    struct Waiting {
        int depth;
        double gain;
        int leaf;
        bool operator<(const Waiting &other) const {
            if (depth != other.depth) return depth > other.depth;
            if (gain != other.gain) return gain < other.gain;
            return leaf > other.leaf;
        }
    };

    using TreeRows::goes_left;
    int n_features;
    LevelFinder finder;
    MeasuredThreads threads;
    std::vector<std::vector<Packed>> spare;
    std::priority_queue<Waiting> queue;
    std::vector<int> holders;  // leaves that keep their histogram

    // A leaf of a symmetric tree whose level is split next.
    struct LevelLeaf {
        int leaf;
        bool fresh = false;  // whether its histogram is still to be summed
        int part = -1;       // place in the level of the leaf to take off its histogram
        int search = -1;     // place in the search, if the leaf may be split
    };

    // What depends on the form of the rows.

    virtual int64_t histogram_size() const = 0;
    virtual double cells_of_row() const = 0;  // that are summed, on average
    virtual int64_t partition(const Leaf &leaf, const Candidate &c) = 0;
    // Searches the best splits of leaves. With ``subtract`` the second leaf holds the
    // histogram of the parent, and gets what the first leaves over.
    virtual void open(const std::vector<int> &opened, bool subtract) = 0;
    // Searches a leaf by true numbers of rows.
    virtual void search_counted(int k) = 0;
    virtual LevelLeaf root_of_level() = 0;
    // Searches the best split of a level, with ``counted`` by true numbers of rows.
    virtual LevelCandidate search_level(const LevelSearch &search,
                                        std::vector<LevelLeaf> &level, bool counted) = 0;
    // What goes left in each leaf of the search. Missing values that no leaf has seen will
    // follow the majority; so do categories, when they are chosen.
    virtual std::vector<Packed> sums_on_the_left(const LevelSearch &search,
                                                 const std::vector<LevelLeaf> &level,
                                                 LevelCandidate &best) = 0;
    // Adds two leaves, which shared a histogram, to the next level, the smaller one first.
    virtual void prepare_children(int left, int right, std::vector<Packed> histogram,
                                  bool last, std::vector<LevelLeaf> &next) = 0;

    bool goes_left(uint8_t bin, const Node &node) const {
        if (bin == MISSING) return node.missing_left;
        if (node.category < 0) return bin <= node.bin;
        return (categories[4 * node.category + (bin >> 6)] >> (bin & 63)) & 1;
    }

    int64_t least_rows() const { return std::max(options.min_samples_leaf, 1); }

    bool may_split(const Leaf &leaf) const {
        const bool deep = options.max_depth > 0 && leaf.depth >= options.max_depth;
        return !deep && leaf.size() >= 2 * least_rows();
    }

    void take_histogram(Leaf &leaf) {
        if (spare.empty()) spare.emplace_back(histogram_size());
        leaf.histogram = std::move(spare.back());
        spare.pop_back();
    }

    void drop(Leaf &leaf) {
        if (!leaf.histogram.empty()) spare.push_back(std::move(leaf.histogram));
        leaf.histogram.clear();
    }

    // Keeps the histogram of a leaf that will be split, until there are too many: then
    // the smallest leaf gives up its own, because it is the cheapest to sum again.
    void keep(int k) {
        if (leaves[k].best.feature < 0) {
            drop(leaves[k]);
            return;
        }
        if (leaves[k].histogram.empty()) return;
        holders.push_back(k);
        const int64_t bytes = histogram_size() * static_cast<int64_t>(sizeof(Packed));
        if (static_cast<int64_t>(holders.size()) * bytes <= options.max_bytes) return;
        const auto smallest = std::min_element(
            holders.begin(), holders.end(),
            [&](int a, int b) { return leaves[a].size() < leaves[b].size(); });
        drop(leaves[*smallest]);
        holders.erase(smallest);
    }

    Search start_search(int k, bool counts, int n_threads) const {
        const Leaf &leaf = leaves[k];
        Search s;
        s.leaf = k;
        const double step = gradient_unit / hessian_unit;
        const double unit = gradient_unit * step;  // of gains
        const double g = gradient_of(leaf.sum), h = hessian_of(leaf.sum);
        s.sum = leaf.sum;
        s.low = leaf.low / step;
        s.high = leaf.high / step;
        s.smoothing = options.smoothing / hessian_unit;
        s.n_rows = leaf.size();
        s.least_rows = least_rows();
        s.counted = counts;
        s.found.resize(n_threads);
        s.terms.gradient = g;
        s.terms.hessian = h;
        s.terms.l2 = options.l2 / hessian_unit;
        // Without curvature a leaf has no best value.
        const double least = s.terms.l2 > 0 ? 0.0 : 1.0;
        s.terms.min_weight = std::max(options.min_weight / hessian_unit, least);
        if (options.min_samples_leaf > 1) {
            // Numbers of rows as the hessian estimates them; exact where it is constant.
            // Counts come on top: a share of the rows with little hessian is no leaf.
            const double share = (options.min_samples_leaf - 1e-6) / leaf.size();
            s.terms.min_weight = std::max(s.terms.min_weight, share * h);
        }
        s.terms.base = 0.0;
        if (h + s.terms.l2 > 0) {
            s.terms.base = finder.constrained ? s.gain_at(g, h, s.value(g, h))
                                       : g * g / (h + s.terms.l2);
        }
        // What rounding alone may produce is not a gain.
        s.floor = options.min_gain / unit + 1e-12 * std::fabs(s.terms.base);
        if (options.growth != SYMMETRIC && leaf.depth > 0) {
            s.floor = std::max(s.floor, options.min_gain_to_noise * random_gain());
        }
        return s;
    }

    void draw_for_node(Search &s) const {
        s.tried = tried_features(leaves[s.leaf].node);
        s.chance = chance_of(leaves[s.leaf].node);
    }

    // What is drawn for a node, or for a level.
    Chance chance_of(int node) const {
        Chance chance;
        chance.seed = mix(mix(options.seed + 2) ^ static_cast<uint64_t>(node));
        chance.one = options.random_thresholds;
        chance.noise = options.noise * std::sqrt(random_gain());
        return chance;
    }

    // What a split at random gains on average, in units of the rounded gradients: the mean
    // square of the gradients, divided by the mean of the hessians.
    double random_gain() const {
        const auto weight = static_cast<double>(hessian_of(total));
        return weight > 0.0 ? squares / weight : 0.0;
    }

    // Features that a node, or a level, may split on: all, or some drawn for it.
    std::vector<uint8_t> tried_features(int node) const {
        const int d = n_features;
        std::vector<uint8_t> tried(d, 1);
        if (options.max_features <= 0 || options.max_features >= d) return tried;
        std::vector<std::pair<uint64_t, int>> keys(d);
        const uint64_t seed = mix(mix(options.seed + 1) ^ static_cast<uint64_t>(node));
        for (int f = 0; f < d; f++) keys[f] = {mix(seed ^ static_cast<uint64_t>(f)), f};
        std::nth_element(keys.begin(), keys.begin() + options.max_features, keys.end());
        std::fill(tried.begin(), tried.end(), 0);
        for (int k = 0; k < options.max_features; k++) tried[keys[k].second] = 1;
        return tried;
    }

    // Puts the best split of a leaf into the queue.
    void settle(const Search &s) {
        Leaf &leaf = leaves[s.leaf];
        // Equal gains: the lower feature, whatever thread found it.
        for (const Candidate &candidate : s.found) {
            if (candidate.feature < 0) continue;
            const bool first = leaf.best.feature < 0;
            if (first || candidate.score > leaf.best.score) leaf.best = candidate;
        }
        if (leaf.best.feature < 0) return;
        settle_missing(leaf);
        const int depth = options.growth == BY_DEPTH ? leaf.depth : 0;
        queue.push({depth, leaf.best.gain, s.leaf});
        leaf.best.gain *= gradient_unit * (gradient_unit / hessian_unit);
    }

   private:
    LeafValues values;

    // The leaf that gains most first, or level by level.
    void split_leaves() {
        open({0}, false);
        while (static_cast<int>(leaves.size()) < options.max_leaf_nodes && !queue.empty()) {
            const int k = queue.top().leaf;
            queue.pop();
            split(k);
        }
        for (const int k : holders) drop(leaves[k]);
    }

    // Rough estimate of the seconds that one thread needs for a tree.
    double guessed_seconds() const {
        const bool by_levels = options.growth == SYMMETRIC && options.max_depth > 0;
        const double leaves = by_levels ? std::exp2(std::min(options.max_depth, 30))
                                        : options.max_leaf_nodes;
        const double cells = static_cast<double>(n_grown) * cells_of_row();
        return 1e-9 * (cells * std::log2(leaves) + 2.0 * leaves * histogram_size());
    }

    // Missing values that the node did not see will follow the majority.
    void settle_missing(Leaf &leaf) const {
        Candidate &c = leaf.best;
        if (c.saw_missing) return;
        c.missing_left = 2 * hessian_of(c.left) > hessian_of(leaf.sum);
    }

    // Splits leaf k by its best candidate. If a child would be too small after all, the
    // rows of the leaf are counted and it is searched again.
    void split(int k) {
        const Candidate c = leaves[k].best;
        const int64_t n_left = partition(leaves[k], c);
        const int64_t n = leaves[k].size();
        if (std::min(n_left, n - n_left) < least_rows()) {
            if (!leaves[k].counted) search_counted(k);
            return;
        }
        std::vector<Packed> histogram;
        const int other = divide(k, c, n_left, histogram);
        const bool left_is_small = leaves[k].size() <= leaves[other].size();
        const bool is_last = other + 1 >= options.max_leaf_nodes;
        if (is_last || (!may_split(leaves[k]) && !may_split(leaves[other]))) {
            if (!histogram.empty()) spare.push_back(std::move(histogram));
            return;
        }
        const int small = left_is_small ? k : other, large = left_is_small ? other : k;
        const bool subtract = !histogram.empty();  // not given up for memory
        gather(leaves[small]);
        if (!subtract) gather(leaves[large]);
        leaves[large].histogram = std::move(histogram);
        open({small, large}, subtract);
    }

    // Makes two leaves of leaf k, whose rows have been parted; returns the number of the
    // right one. The histogram that leaf k had is moved out.
    int divide(int k, const Candidate &c, int64_t n_left, std::vector<Packed> &histogram) {
        Leaf left = std::move(leaves[k]);
        histogram = std::move(left.histogram);
        left.histogram.clear();
        left.best = Candidate();
        left.counted = false;
        Leaf right = left;
        left.end = right.begin = left.begin + n_left;
        left.sum = c.left;
        right.sum -= c.left;
        left.depth = ++right.depth;
        set_bounds(c, left, right);
        make_node(c, left, right);
        leaves[k] = std::move(left);
        leaves.push_back(std::move(right));
        holders.erase(std::remove(holders.begin(), holders.end(), k), holders.end());
        return static_cast<int>(leaves.size()) - 1;
    }

    void set_bounds(const Candidate &c, Leaf &left, Leaf &right) const {
        if (!finder.constrained) return;
        const double middle =
            0.5 * (c.left_value + c.right_value) * (gradient_unit / hessian_unit);
        if (finder.direction(c.feature) > 0) {
            left.high = std::min(left.high, middle);
            right.low = std::max(right.low, middle);
        } else if (finder.direction(c.feature) < 0) {
            left.low = std::max(left.low, middle);
            right.high = std::min(right.high, middle);
        }
    }

    void make_node(const Candidate &c, Leaf &left, Leaf &right) {
        const int child = static_cast<int>(nodes.size());
        Node &node = nodes[left.node];
        node.feature = c.feature;
        node.left = child;
        node.bin = static_cast<uint8_t>(c.bin);
        node.missing_left = c.missing_left;
        node.gain = c.gain;
        if (c.by_category) {
            node.category = static_cast<int32_t>(categories.size() / 4);
            categories.insert(categories.end(), c.categories, c.categories + 4);
        }
        nodes.emplace_back();
        nodes.emplace_back();
        left.node = child;
        right.node = child + 1;
    }

    // Splits the levels of a symmetric tree. Hessians tell the number of rows only about:
    // where a leaf proves too small for a split that it counted for, the level is searched
    // again by true numbers of rows.
    void split_levels() {
        std::vector<LevelLeaf> level;
        if (may_split(leaves[0])) level.push_back(root_of_level());
        const int most = options.max_depth > 0 ? options.max_depth : 1 << 30;
        bool counted = false;
        for (int depth = 0; depth < most && !level.empty();) {
            LevelSearch search = start_level(level, depth);
            const LevelCandidate best = search_level(search, level, counted);
            if (best.feature < 0 || (depth > 0 && best.gain < least_gain(search))) break;
            bool too_small = false;
            const std::vector<Part> parts = part_level(search, level, best, too_small);
            if (too_small && !counted) {
                counted = true;
                for (const LevelLeaf &own : level) sum_again(own);
                continue;
            }
            const size_t before = leaves.size();
            level = split_level(level, parts, depth + 1 == most);
            if (leaves.size() == before) break;
            counted = false;
            depth++;
        }
        for (Leaf &leaf : leaves) drop(leaf);
    }

    // What a level must gain: as much as its leaves would by noise, several times over.
    double least_gain(const LevelSearch &search) const {
        const auto n_leaves = static_cast<double>(search.leaves.size());
        return options.min_gain_to_noise * n_leaves * random_gain();
    }

    LevelSearch start_level(std::vector<LevelLeaf> &level, int depth) const {
        LevelSearch search;
        search.tried = tried_features(depth);
        search.chance = chance_of(depth);
        search.smoothing = options.smoothing / hessian_unit;
        const double l2 = options.l2 / hessian_unit;
        for (const Leaf &leaf : leaves) {
            const double g = gradient_of(leaf.sum), h = hessian_of(leaf.sum) + l2;
            if (h > 0) search.explained += g * g / h;
        }
        for (LevelLeaf &own : level) {
            own.search = -1;
            if (!may_split(leaves[own.leaf])) continue;
            own.search = static_cast<int>(search.leaves.size());
            search.leaves.push_back(start_search(own.leaf, false, 0));
        }
        return search;
    }

    // How the best split of a level parts a leaf of it.
    struct Part {
        Candidate best;
        bool split = false;
        int64_t n_left = 0;
    };

    // Parts the rows of the leaves of a level; a leaf is split if that gains something and
    // both sides are large enough.
    std::vector<Part> part_level(const LevelSearch &search,
                                 const std::vector<LevelLeaf> &level, LevelCandidate best,
                                 bool &too_small) {
        const std::vector<Packed> left = sums_on_the_left(search, level, best);
        std::vector<Part> parts(level.size());
        for (size_t i = 0; i < level.size(); i++) {
            if (level[i].search < 0) continue;
            const Leaf &leaf = leaves[level[i].leaf];
            Part &part = parts[i];
            part.best = best;
            const Search &s = search.leaves[level[i].search];
            if (!finder.splits(s, left[level[i].search], part.best)) continue;
            part.n_left = partition(leaf, part.best);
            part.split = std::min(part.n_left, leaf.size() - part.n_left) >= least_rows();
            too_small |= !part.split;
        }
        return parts;
    }

    // Prepares the sums of a leaf that may have been parted, and is not split.
    void sum_again(const LevelLeaf &own) {
        if (own.search >= 0 && leaves[own.leaf].histogram.empty()) gather(leaves[own.leaf]);
    }

    // Splits the leaves of a level; returns those of the next level, and of the ``last``
    // one only those that were left as they are.
    std::vector<LevelLeaf> split_level(const std::vector<LevelLeaf> &level,
                                       const std::vector<Part> &parts, bool last) {
        std::vector<LevelLeaf> next;
        for (size_t i = 0; i < level.size(); i++) {
            const LevelLeaf &own = level[i];
            if (own.search < 0) {
                drop(leaves[own.leaf]);
                continue;
            }
            if (!parts[i].split) {
                sum_again(own);
                next.push_back({own.leaf});
                continue;
            }
            Candidate c = parts[i].best;
            c.gain *= gradient_unit * (gradient_unit / hessian_unit);
            std::vector<Packed> histogram;
            const int other = divide(own.leaf, c, parts[i].n_left, histogram);
            prepare_children(own.leaf, other, std::move(histogram), last, next);
        }
        return next;
    }
};

}  // namespace skrank
