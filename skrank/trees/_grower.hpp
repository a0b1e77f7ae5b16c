// Growing one tree, leaf by leaf, from histograms of quantised gradients.
//
// Sums of quantised gradients are exact: a tree does not depend on the number of threads
// nor on the order of additions. The values of leaves are computed afterwards from the
// gradients as they were.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "../_core/_team.hpp"
#include "_measured_threads.hpp"
#include "_splits.hpp"

namespace skrank {

struct GrowOptions {
    int max_leaf_nodes;     // at least 2
    int max_depth;          // 0: no limit
    int min_samples_leaf;   // rows
    double min_weight;      // sum of hessians of a leaf
    double l2;
    double min_gain;
    double learning_rate;
    double smoothing;       // added to the hessian where categories are ordered
    int max_features;       // features tried per split; 0: all
    int64_t max_bytes;      // memory of the histograms of leaves, about
    uint64_t seed;
    int n_threads;
    bool wide;              // whether to use the instructions this machine has
};

struct Node {
    int32_t feature = -1;  // -1: a leaf
    int32_t left = -1;     // the right child is the next one
    int32_t category = -1; // set of categories, -1 for a threshold
    uint8_t bin = 0, missing_left = 0;
    double value = 0.0, gain = 0.0, weight = 0.0;
    int64_t count = 0;
};

struct Leaf {
    int64_t begin = 0, end = 0;
    Packed sum = 0;
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    int depth = 0, node = 0;
    bool counted = false;  // searched by true numbers of rows
    std::vector<Packed> histogram;
    Candidate best;
    int64_t size() const { return end - begin; }
};

// A generator with random access: the same number for the same counter.
inline uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

class Grower {
   public:
    Grower(const uint8_t *bins, int64_t n_rows, int n_features, const int32_t *n_bins,
           const uint8_t *categorical, const int8_t *monotonic)
        : layout(n_rows, n_features),
          bins(bins),
          finder(n_features, n_bins, categorical, monotonic),
          packed(n_rows),
          ordered(n_rows),
          rows(n_rows),
          moved(n_rows) {}

    std::vector<Node> nodes;
    std::vector<uint64_t> categories;  // four words per set
    std::vector<Leaf> leaves;
    const int32_t *row_data() const { return rows.data(); }

    // Grows a tree on ``n`` rows; ``chosen`` lists them in ascending order, or is null
    // for all rows.
    void grow(const double *gradient, const double *hessian, const int32_t *chosen,
              int64_t n, bool stochastic, const GrowOptions &with) {
        options = with;
        finder.kernels = options.wide ? WIDE : PORTABLE;
        n_grown = n;
        options.n_threads = team_size(options.n_threads);
        options.n_threads = threads.start(options.n_threads, guessed_seconds());
        Watch watching;
        watch = &watching;
        all_rows = chosen == nullptr;
        const Packed sum = quantise(gradient, hessian, chosen, stochastic);
        nodes.assign(1, Node());
        categories.clear();
        leaves.clear();
        leaves.emplace_back();
        leaves[0].end = n;
        leaves[0].sum = sum;
        queue = std::priority_queue<std::pair<double, int>>();
        holders.clear();
        if (!all_rows) gather(leaves[0]);
        open({0});
        while (static_cast<int>(leaves.size()) < options.max_leaf_nodes && !queue.empty()) {
            const int k = -queue.top().second;
            queue.pop();
            split(k);
        }
        for (const int k : holders) drop(leaves[k]);
        watching.finish();
        fit_leaves(gradient, hessian);
        threads.stop();
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
    void add_to_all(double *scores, int64_t stride) const {
        const int team = team_size(options.n_threads);
#pragma omp parallel for schedule(static) num_threads(team)
        for (int64_t r = 0; r < layout.n_rows; r++) {
            int32_t at = 0;
            while (nodes[at].feature >= 0) {
                const Node &node = nodes[at];
                const int block = node.feature / WIDTH;
                const uint8_t bin = bins[layout.start(block) + r * layout.width(block) +
                                         node.feature % WIDTH];
                at = node.left + !goes_left(bin, node);
            }
            scores[r * stride] += nodes[at].value;
        }
    }

   private:
    Layout layout;
    const uint8_t *bins;
    SplitFinder finder;
    MeasuredThreads threads;
    bool all_rows = true;
    int64_t n_grown = 0;
    double gradient_unit = 1.0, hessian_unit = 1.0;
    bool constant_hessian = false;
    GrowOptions options;
    std::vector<Packed> packed, ordered;
    std::vector<int32_t> rows, moved;
    std::vector<Packed> partial;
    std::vector<std::vector<Packed>> spare;
    std::priority_queue<std::pair<double, int>> queue;  // gain, minus the leaf
    std::vector<int> holders;  // leaves that keep their histogram
    Watch *watch = nullptr;    // of the tree that grows

    int64_t histogram_size() const {
        return static_cast<int64_t>(layout.n_blocks) * WIDTH * N_BINS;
    }

    // Rough estimate of the seconds that one thread needs for a tree.
    double guessed_seconds() const {
        const double leaves = options.max_leaf_nodes;
        const double cells = static_cast<double>(n_grown) * layout.n_features;
        return 1e-9 * (cells * std::log2(leaves) + 2.0 * leaves * histogram_size());
    }

    // Rounds gradients and hessians to integers whose sums over all rows fit 32 bits;
    // returns the sum.
    Packed quantise(const double *gradient, const double *hessian, const int32_t *chosen,
                    bool stochastic) {
        const int64_t n = n_grown;
        double most_gradient = 0.0, most_hessian = 0.0;
        double least_hessian = std::numeric_limits<double>::infinity();
#pragma omp parallel for schedule(static) num_threads(options.n_threads) \
    reduction(max : most_gradient, most_hessian) reduction(min : least_hessian)
        for (int64_t i = 0; i < n; i++) {
            const int64_t r = chosen != nullptr ? chosen[i] : i;
            rows[i] = static_cast<int32_t>(r);
            most_gradient = std::max(most_gradient, std::fabs(gradient[r]));
            const double h = hessian != nullptr ? hessian[r] : 1.0;
            most_hessian = std::max(most_hessian, h);
            least_hessian = std::min(least_hessian, h);
        }
        constant_hessian = least_hessian == most_hessian;
        // Sums of 32 bits must not overflow even if all gradients are the largest one; one
        // level is kept for rounding up. More than 15 bits would not change a split.
        const double room = std::floor(2147483647.0 / std::max<int64_t>(n, 1)) - 1.0;
        const double levels = std::min(std::max(room, 1.0), 32767.0);
        gradient_unit = most_gradient > 0 ? most_gradient / levels : 1.0;
        hessian_unit = most_hessian > 0 ? most_hessian : 1.0;
        if (!constant_hessian) hessian_unit /= levels;
        const double to_gradient = 1.0 / gradient_unit, to_hessian = 1.0 / hessian_unit;
        const uint64_t seed = mix(options.seed);
        Packed sum = 0;
#pragma omp parallel for schedule(static) num_threads(options.n_threads) \
    reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            const int64_t r = rows[i];
            const double g = gradient[r] * to_gradient;
            const double h = (hessian != nullptr ? hessian[r] : 1.0) * to_hessian;
            double up_g = 0.5, up_h = 0.5;
            if (stochastic) {
                const uint64_t bits = mix(seed ^ static_cast<uint64_t>(r));
                up_g = (bits >> 32) * 0x1p-32;
                up_h = (bits & 0xffffffffULL) * 0x1p-32;
            }
            if (constant_hessian) up_h = 0.5;
            const int64_t whole_g = static_cast<int64_t>(std::floor(g + up_g));
            const int64_t whole_h = static_cast<int64_t>(std::floor(h + up_h));
            packed[r] = whole_g * (1LL << 32) + whole_h;
            sum += packed[r];
        }
        return sum;
    }

    // From this number of rows on, threads share the rows; below, only the features.
    static constexpr int64_t MANY_ROWS = 1 << 12;
    // Below this number of features, and for few rows, one thread does it all.
    static constexpr int FEW_FEATURES = 32;

    // Rows whose ``values`` are summed; a null ``of`` stands for the first rows.
    struct Portion {
        const int32_t *of;
        const Packed *values;
        int64_t n;
    };

    Portion portion(const Leaf &leaf) const {
        if (all_rows && leaf.size() == n_grown) return {nullptr, packed.data(), n_grown};
        return {rows.data() + leaf.begin, ordered.data() + leaf.begin, leaf.size()};
    }

    // Sums in every bin of a block of features, from ``f`` on, or of half a block.
    void sum_block(int f, int step, const Portion &p, int64_t first, int64_t last,
                   Packed *histogram) const {
        const int width = layout.width(f / WIDTH);
        const uint8_t *start = bins + layout.start(f / WIDTH) + f % WIDTH;
        Packed *own = histogram + static_cast<int64_t>(f) * N_BINS;
        std::memset(own, 0, sizeof *own * N_BINS * std::min(step, width));
        if (width == HALF) {
            add_rows<HALF, HALF>(start, p.of, p.values, first, last, own);
        } else if (step == WIDTH) {
            add_rows<WIDTH, WIDTH>(start, p.of, p.values, first, last, own);
        } else {
            add_rows<WIDTH, HALF>(start, p.of, p.values, first, last, own);
        }
    }

    // Sums in every bin; the threads of a team share the rows.
    void sum_rows(const Portion &p, Packed *histogram) {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t size = histogram_size();
        Packed *mine = t == 0 ? histogram : partial.data() + (t - 1) * size;
        for (int f = 0; f < layout.n_features; f += WIDTH) {
            if (t == 0) watch->look();
            if (watch->stopped()) break;
            sum_block(f, WIDTH, p, p.n * t / team, p.n * (t + 1) / team, mine);
        }
        if (team == 1) return;
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t i = 0; i < size; i++) {
            Packed total = histogram[i];
            for (int u = 1; u < team; u++) total += partial[(u - 1) * size + i];
            histogram[i] = total;
        }
    }

    void take_histogram(Leaf &leaf) {
        if (spare.empty()) spare.emplace_back(histogram_size());
        leaf.histogram = std::move(spare.back());
        spare.pop_back();
    }

    // The leaves without a histogram, each with room for one.
    std::vector<Leaf *> take_missing(const std::vector<int> &opened) {
        std::vector<Leaf *> missing;
        for (const int k : opened) {
            if (!leaves[k].histogram.empty()) continue;
            take_histogram(leaves[k]);
            missing.push_back(&leaves[k]);
        }
        return missing;
    }

    Search start_search(int k, const Packed *counts, int n_threads) const {
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
        s.counts = counts;
        s.histogram = leaf.histogram.data();
        s.tried = tried_features(leaf);
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
        return s;
    }

    // Features that a node may split on: all, or some drawn for the node.
    std::vector<uint8_t> tried_features(const Leaf &leaf) const {
        const int d = layout.n_features;
        std::vector<uint8_t> tried(d, 1);
        if (options.max_features <= 0 || options.max_features >= d) return tried;
        std::vector<std::pair<uint64_t, int>> keys(d);
        const uint64_t seed = mix(mix(options.seed + 1) ^ static_cast<uint64_t>(leaf.node));
        for (int f = 0; f < d; f++) keys[f] = {mix(seed ^ static_cast<uint64_t>(f)), f};
        std::nth_element(keys.begin(), keys.begin() + options.max_features, keys.end());
        std::fill(tried.begin(), tried.end(), 0);
        for (int k = 0; k < options.max_features; k++) tried[keys[k].second] = 1;
        return tried;
    }

    // Sums the histograms that are missing and searches the best splits, with ``counts``
    // by true numbers of rows. With ``subtract`` the second leaf holds the histogram of
    // the parent, and gets what the first leaves over.
    void open(const std::vector<int> &opened, bool subtract = false,
              const Packed *counts = nullptr) {
        watch->look();
        watch->finish();
        options.n_threads = threads.check(options.n_threads);
        const std::vector<Leaf *> summed = take_missing(opened);
        bool many = false;
        for (const Leaf *leaf : summed) many |= leaf->size() >= MANY_ROWS;
        const bool parallel = many || layout.n_features >= FEW_FEATURES;
        const int n_threads = parallel ? options.n_threads : 1;
        std::vector<Search> searches;
        for (const int k : opened) {
            leaves[k].best = Candidate();
            if (may_split(leaves[k])) searches.push_back(start_search(k, counts, n_threads));
        }
        // An exception must not leave a parallel region, so that memory is found here.
        if (many) partial.resize((n_threads - 1) * histogram_size());
        const Packed *part = leaves[opened.front()].histogram.data();
        Packed *rest = nullptr;
        if (subtract && may_split(leaves[opened[1]])) {
            rest = leaves[opened[1]].histogram.data();
        }
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            for (Leaf *leaf : summed) {
                if (many) sum_rows(portion(*leaf), leaf->histogram.data());
            }
            Candidate best[2];
            for (size_t i = 0; i < searches.size(); i++) best[i].gain = searches[i].floor;
            // All that concerns a feature stays in the cache of one thread; few blocks
            // are halved, so that every thread gets its share.
            const int team = omp_get_num_threads();
            const int step = team > 1 && layout.n_blocks < 4 * team ? HALF : WIDTH;
#pragma omp for schedule(static)
            for (int from = 0; from < layout.n_features; from += step) {
                if (watch->stopped()) continue;
                for (Leaf *leaf : summed) {
                    if (many) continue;
                    const Portion p = portion(*leaf);
                    sum_block(from, step, p, 0, p.n, leaf->histogram.data());
                }
                const int end = std::min(from + step, layout.n_features);
                for (int f = from; f < end; f++) {
                    const int64_t start = static_cast<int64_t>(f) * N_BINS;
                    if (rest != nullptr) finder.kernels.subtract(part + start, rest + start);
                    for (size_t i = 0; i < searches.size(); i++) {
                        finder.search_feature(searches[i], f, best[i]);
                    }
                }
            }
            for (size_t i = 0; i < searches.size(); i++) {
                searches[i].found[omp_get_thread_num()] = best[i];
            }
        }
        watch->finish();
        for (const Search &s : searches) settle(s);
        for (const int k : opened) keep(k);
    }

    // Puts the best split of a leaf into the queue.
    void settle(const Search &s) {
        Leaf &leaf = leaves[s.leaf];
        // Equal gains: the lower feature, whatever thread found it.
        for (const Candidate &candidate : s.found) {
            if (candidate.feature < 0) continue;
            const bool first = leaf.best.feature < 0;
            if (first || candidate.gain > leaf.best.gain) leaf.best = candidate;
        }
        if (leaf.best.feature < 0) return;
        settle_missing(leaf, s.counts);
        queue.emplace(leaf.best.gain, -s.leaf);
        leaf.best.gain *= gradient_unit * gradient_unit / hessian_unit;
    }

    int64_t least_rows() const { return std::max(options.min_samples_leaf, 1); }

    bool may_split(const Leaf &leaf) const {
        const bool deep = options.max_depth > 0 && leaf.depth >= options.max_depth;
        return !deep && leaf.size() >= 2 * least_rows();
    }

    // Missing values that the node did not see will follow the majority.
    void settle_missing(Leaf &leaf, const Packed *counts) const {
        Candidate &c = leaf.best;
        const int64_t at = static_cast<int64_t>(c.feature) * N_BINS + MISSING;
        if (c.by_category || leaf.histogram[at] != 0) return;
        if (counts != nullptr && counts[at] != 0) return;
        c.missing_left = 2 * hessian_of(c.left) > hessian_of(leaf.sum);
    }

    bool goes_left(uint8_t bin, const Node &node) const {
        if (bin == MISSING) return node.missing_left;
        if (node.category < 0) return bin <= node.bin;
        return (categories[4 * node.category + (bin >> 6)] >> (bin & 63)) & 1;
    }

    bool goes_left(uint8_t bin, const Candidate &c) const {
        if (bin == MISSING) return c.missing_left;
        if (c.by_category) return (c.categories[bin >> 6] >> (bin & 63)) & 1;
        return bin <= c.bin;
    }

    // Moves the rows of a leaf so that those that go left come first, in their order;
    // returns their number.
    int64_t partition(const Leaf &leaf, const Candidate &c) {
        const int block = c.feature / WIDTH, width = layout.width(block);
        const uint8_t *column = bins + layout.start(block) + c.feature % WIDTH;
        uint8_t left[N_BINS];
        for (int b = 0; b < N_BINS; b++) left[b] = goes_left(static_cast<uint8_t>(b), c);
        const int64_t n = leaf.size();
        const int n_threads = n < MANY_ROWS ? 1 : options.n_threads;
        int32_t *own = rows.data() + leaf.begin;
        std::vector<int64_t> n_left(n_threads + 1, 0), n_right(n_threads + 1, 0);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            const int t = omp_get_thread_num(), team = omp_get_num_threads();
            const int64_t first = n * t / team, last = n * (t + 1) / team;
            int32_t *to = moved.data() + leaf.begin + first;
            int64_t front = 0, back = last - first;
            for (int64_t i = first; i < last; i++) {
                const int32_t r = own[i];
                const bool is_left = left[column[static_cast<int64_t>(r) * width]];
                to[front] = to[back - 1] = r;  // one of the two is written over
                front += is_left;
                back -= !is_left;
            }
            n_left[t + 1] = front;
            n_right[t + 1] = last - first - front;
#pragma omp barrier
#pragma omp single
            for (int u = 0; u < n_threads; u++) {
                n_left[u + 1] += n_left[u];
                n_right[u + 1] += n_right[u];
            }
            std::memcpy(own + n_left[t], to, front * sizeof *to);
            int32_t *right = own + n_left[n_threads] + n_right[t];
            for (int64_t i = 0; i < last - first - front; i++) {
                right[i] = to[last - first - 1 - i];
            }
        }
        return n_left[n_threads];
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
        Leaf left = std::move(leaves[k]);
        std::vector<Packed> histogram = std::move(left.histogram);
        left.best = Candidate();
        left.counted = false;
        Leaf right = left;
        left.end = right.begin = left.begin + n_left;
        left.sum = c.left;
        right.sum -= c.left;
        left.depth = ++right.depth;
        set_bounds(c, left, right);
        make_node(c, left, right);
        const int other = static_cast<int>(leaves.size());
        const bool left_is_small = left.size() <= right.size();
        leaves[k] = std::move(left);
        leaves.push_back(std::move(right));
        holders.erase(std::remove(holders.begin(), holders.end(), k), holders.end());
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

    void search_counted(int k) {
        Leaf &leaf = leaves[k];
        leaf.counted = true;
        std::fill(ordered.begin() + leaf.begin, ordered.begin() + leaf.end, 1);
        Leaf counts;
        take_histogram(counts);
        sum_rows({rows.data() + leaf.begin, ordered.data() + leaf.begin, leaf.size()},
                 counts.histogram.data());
        gather(leaf);
        holders.erase(std::remove(holders.begin(), holders.end(), k), holders.end());
        open({k}, false, counts.histogram.data());
        drop(counts);
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
        holders.push_back(k);
        const int64_t bytes = histogram_size() * static_cast<int64_t>(sizeof(Packed));
        if (static_cast<int64_t>(holders.size()) * bytes <= options.max_bytes) return;
        const auto smallest = std::min_element(
            holders.begin(), holders.end(),
            [&](int a, int b) { return leaves[a].size() < leaves[b].size(); });
        drop(leaves[*smallest]);
        holders.erase(smallest);
    }

    // Packed gradients in the order of the rows of a leaf.
    void gather(const Leaf &leaf) {
        const int32_t *of = rows.data();
#pragma omp parallel for schedule(static) num_threads(options.n_threads) \
    if (leaf.size() > MANY_ROWS)
        for (int64_t i = leaf.begin; i < leaf.end; i++) {
            ordered[i] = packed[of[i]];
        }
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

    // Values of the leaves from the gradients as they were, in a fixed order of sums.
    void fit_leaves(const double *gradient, const double *hessian) {
        const int n_leaves = static_cast<int>(leaves.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(options.n_threads)
        for (int k = 0; k < n_leaves; k++) {
            const Leaf &leaf = leaves[k];
            double g = 0.0, h = 0.0;
            for (int64_t i = leaf.begin; i < leaf.end; i++) {
                g += gradient[rows[i]];
                h += hessian != nullptr ? hessian[rows[i]] : 1.0;
            }
            Node &node = nodes[leaf.node];
            const double best = h + options.l2 > 0 ? -g / (h + options.l2) : 0.0;
            node.value =
                options.learning_rate * std::min(std::max(best, leaf.low), leaf.high);
            node.weight = h;
            node.count = leaf.size();
        }
        for (int k = static_cast<int>(nodes.size()) - 1; k >= 0; k--) {
            Node &node = nodes[k];
            if (node.feature < 0) continue;
            node.count = nodes[node.left].count + nodes[node.left + 1].count;
            node.weight = nodes[node.left].weight + nodes[node.left + 1].weight;
        }
    }
};

}  // namespace skrank
