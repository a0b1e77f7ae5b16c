// Growing one tree, leaf by leaf, from histograms of quantised gradients.
//
// A gradient and a hessian are rounded to integers and packed into one 64-bit word, so
// that a histogram needs one addition per row and feature, and sums are exact: a tree
// does not depend on the number of threads nor on the order of additions. The values of
// leaves are computed afterwards from the gradients as they were.
#pragma once

#include <omp.h>

#include <queue>
#include <utility>
#include <vector>

#include "_binning.hpp"

namespace skrank {

typedef int64_t Packed;  // gradient << 32, plus hessian

inline int64_t gradient_of(Packed sum) {
    // The hessian below is not negative, so it never borrows from the gradient.
    return sum >> 32;
}
inline int64_t hessian_of(Packed sum) { return sum & 0xffffffffLL; }

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
};

struct Candidate {
    double gain = 0.0;
    int feature = -1;
    int bin = 0;                // last bin that goes left
    bool missing_left = false;
    Packed left = 0;
    double left_value = 0.0, right_value = 0.0;  // only with constraints
    uint64_t categories[4] = {0, 0, 0, 0};       // bins that go left
    bool by_category = false;
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

template <int W>
inline void add_rows(const uint8_t *bins, const int32_t *rows, const Packed *packed,
                     int64_t n, Packed *histogram) {
    constexpr int AHEAD = 32;
    for (int64_t i = 0; i < n; i++) {
        if (rows != nullptr && i + AHEAD < n) {
            __builtin_prefetch(bins + static_cast<int64_t>(rows[i + AHEAD]) * W);
        }
        const uint8_t *row = bins + (rows != nullptr ? rows[i] : i) * W;
        const Packed value = packed[i];
        for (int j = 0; j < W; j++) histogram[j * N_BINS + row[j]] += value;
    }
}

class Grower {
   public:
    Grower(const uint8_t *bins, int64_t n_rows, int n_features, const int32_t *n_bins,
           const uint8_t *categorical, const int8_t *monotonic)
        : layout(n_rows, n_features),
          bins(bins),
          n_bins(n_bins),
          categorical(categorical),
          monotonic(monotonic),
          packed(n_rows),
          ordered(n_rows),
          rows(n_rows),
          moved(n_rows) {
        for (int f = 0; f < n_features; f++) constrained |= monotonic[f] != 0;
    }

    std::vector<Node> nodes;
    std::vector<uint64_t> categories;  // four words per set
    std::vector<Leaf> leaves;
    const int32_t *row_data() const { return rows.data(); }

    // Grows a tree on ``n`` rows; ``chosen`` lists them in ascending order, or is null
    // for all rows.
    void grow(const double *gradient, const double *hessian, const int32_t *chosen,
              int64_t n, bool stochastic, const GrowOptions &with) {
        options = with;
        n_grown = n;
        all_rows = chosen == nullptr;
        quantise(gradient, hessian, chosen, stochastic);
        nodes.assign(1, Node());
        categories.clear();
        leaves.clear();
        leaves.emplace_back();
        Leaf &root = leaves[0];
        root.end = n;
        queue = std::priority_queue<std::pair<double, int>>();
        holders.clear();
        prepare_root(root);
        while (static_cast<int>(leaves.size()) < options.max_leaf_nodes && !queue.empty()) {
            const int k = -queue.top().second;
            queue.pop();
            split(k);
        }
        for (const int k : holders) drop(leaves[k]);
        fit_leaves(gradient, hessian);
    }

    // Adds the value of its leaf to the score of every row the tree was grown on.
    void add_to(double *scores, int64_t stride) const {
        const int n_leaves = static_cast<int>(leaves.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(options.n_threads)
        for (int k = 0; k < n_leaves; k++) {
            const double value = nodes[leaves[k].node].value;
            for (int64_t i = leaves[k].begin; i < leaves[k].end; i++) {
                scores[rows[i] * stride] += value;
            }
        }
    }

    // Adds the value of its leaf to the score of every row, grown on or not.
    void add_to_all(double *scores, int64_t stride) const {
#pragma omp parallel for schedule(static) num_threads(options.n_threads)
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
    const int32_t *n_bins;
    const uint8_t *categorical;
    const int8_t *monotonic;
    bool constrained = false, all_rows = true;
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

    int64_t histogram_size() const {
        return static_cast<int64_t>(layout.n_blocks) * WIDTH * N_BINS;
    }
    // Rounds gradients and hessians to integers whose sums over all rows fit 32 bits.
    void quantise(const double *gradient, const double *hessian, const int32_t *chosen,
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
        const double room = std::floor(2147483647.0 / std::max<int64_t>(n, 1)) - 1.0;
        const double levels = std::min(std::max(room, 1.0), 32767.0);
        gradient_unit = most_gradient > 0 ? most_gradient / levels : 1.0;
        hessian_unit = most_hessian > 0 ? most_hessian : 1.0;
        if (!constant_hessian) hessian_unit /= levels;
        const double to_gradient = 1.0 / gradient_unit, to_hessian = 1.0 / hessian_unit;
        const uint64_t seed = mix(options.seed);
#pragma omp parallel for schedule(static) num_threads(options.n_threads)
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
        }
    }

    void prepare_root(Leaf &root) {
        if (!all_rows) gather(root);
        fill_histogram(root);
        // Every row stands in one bin of the first feature.
        for (int b = 0; b < N_BINS; b++) root.sum += root.histogram[b];
        search(0);
    }

    std::vector<Packed> take_histogram() {
        if (spare.empty()) return std::vector<Packed>(histogram_size());
        std::vector<Packed> histogram = std::move(spare.back());
        spare.pop_back();
        return histogram;
    }

    void add_block(int block, const int32_t *of, const Packed *values, int64_t n,
                   Packed *histogram) const {
        const uint8_t *start = bins + layout.start(block);
        if (layout.width(block) == WIDTH) {
            add_rows<WIDTH>(start, of, values, n, histogram);
        } else {
            add_rows<WIDTH / 2>(start, of, values, n, histogram);
        }
    }

    // Rows from which cutting them between threads pays, beside cutting the blocks.
    static constexpr int64_t MANY_ROWS = 1 << 14;
    static constexpr int64_t FEW_ROWS = 1 << 9;

    void fill_histogram(Leaf &leaf) {
        leaf.histogram = take_histogram();
        if (all_rows && leaf.size() == n_grown) {
            sum_rows(nullptr, packed.data(), n_grown, leaf.histogram.data());
        } else {
            sum_rows(rows.data() + leaf.begin, ordered.data() + leaf.begin, leaf.size(),
                     leaf.histogram.data());
        }
    }

    // Sums of ``values`` in every bin, over the rows ``of`` or, if null, the first ones.
    void sum_rows(const int32_t *of, const Packed *values, int64_t n, Packed *histogram) {
        const int64_t size = histogram_size();
        const int n_threads = n < FEW_ROWS ? 1 : options.n_threads;
        if (n < MANY_ROWS || n_threads == 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads) if (n_threads > 1)
            for (int b = 0; b < layout.n_blocks; b++) {
                Packed *own = histogram + static_cast<int64_t>(b) * WIDTH * N_BINS;
                std::memset(own, 0, sizeof(Packed) * WIDTH * N_BINS);
                add_block(b, of, values, n, own);
            }
            return;
        }
        partial.resize((n_threads - 1) * size);
#pragma omp parallel num_threads(n_threads)
        {
            const int t = omp_get_thread_num(), team = omp_get_num_threads();
            const int64_t first = n * t / team, last = n * (t + 1) / team;
            Packed *mine = t == 0 ? histogram : partial.data() + (t - 1) * size;
            std::memset(mine, 0, sizeof(Packed) * size);
            for (int b = 0; b < layout.n_blocks; b++) {
                const uint8_t *start = bins + layout.start(b);
                Packed *own = mine + static_cast<int64_t>(b) * WIDTH * N_BINS;
                if (of != nullptr) {
                    add_block(b, of + first, values + first, last - first, own);
                } else if (layout.width(b) == WIDTH) {
                    add_rows<WIDTH>(start + first * WIDTH, nullptr, values + first,
                                    last - first, own);
                } else {
                    add_rows<WIDTH / 2>(start + first * (WIDTH / 2), nullptr,
                                        values + first, last - first, own);
                }
            }
#pragma omp barrier
#pragma omp for schedule(static)
            for (int64_t i = 0; i < size; i++) {
                Packed total = histogram[i];
                for (int u = 1; u < team; u++) total += partial[(u - 1) * size + i];
                histogram[i] = total;
            }
        }
    }

    // What the search of a leaf needs. Sums are whole numbers, in units of the rounded
    // gradients and hessians, so that what is right of a split is exact as well.
    struct Search {
        Packed sum;
        double l2, base, low, high;
        double min_weight;  // hessian that a child must have
        double smoothing;
        int64_t n_rows;
        const Packed *counts;  // rows per bin, or null where they are estimated

        double score(double g, double h) const {
            const double weight = h + l2;
            return weight > 0 ? g * g / weight : 0.0;
        }
        // Value that minimises the quadratic model, within the bounds of the leaf.
        double value(double g, double h) const {
            const double best = h + l2 > 0 ? -g / (h + l2) : 0.0;
            return std::min(std::max(best, low), high);
        }
        double gain_at(double g, double h, double value) const {
            return -(2.0 * g * value + (h + l2) * value * value);
        }
    };

    Search start_search(const Leaf &leaf, const Packed *counts) const {
        Search s;
        const double step = gradient_unit / hessian_unit;
        s.sum = leaf.sum;
        s.l2 = options.l2 / hessian_unit;
        s.low = leaf.low / step;
        s.high = leaf.high / step;
        s.min_weight = options.min_weight / hessian_unit;
        s.smoothing = options.smoothing / hessian_unit;
        s.n_rows = leaf.size();
        s.counts = counts;
        const double g = gradient_of(leaf.sum), h = hessian_of(leaf.sum);
        s.base = constrained ? s.gain_at(g, h, s.value(g, h)) : s.score(g, h);
        if (options.min_samples_leaf > 1) {
            // Numbers of rows as the hessian estimates them; exact where it is constant.
            // Counts come on top: a share of the rows with little hessian is no leaf.
            const double share = (options.min_samples_leaf - 1e-6) / leaf.size();
            s.min_weight = std::max(s.min_weight, share * h);
        }
        return s;
    }

    // Takes a split if it is better; ``n_left`` is only used with counts.
    bool consider(const Search &s, int f, int bin, bool missing_left, Packed left,
                  int64_t n_left, Candidate &best) const {
        const Packed right = s.sum - left;
        const double hl = hessian_of(left), hr = hessian_of(right);
        if (hl < s.min_weight || hr < s.min_weight) return false;
        if (s.counts != nullptr && std::min(n_left, s.n_rows - n_left) < least_rows()) {
            return false;
        }
        const double gl = gradient_of(left), gr = gradient_of(right);
        double gain, value_left = 0.0, value_right = 0.0;
        if (constrained) {
            value_left = s.value(gl, hl);
            value_right = s.value(gr, hr);
            if (monotonic[f] * (value_right - value_left) < 0) return false;
            gain = s.gain_at(gl, hl, value_left) + s.gain_at(gr, hr, value_right) - s.base;
        } else {
            gain = s.score(gl, hl) + s.score(gr, hr) - s.base;
        }
        if (gain <= best.gain) return false;
        best.gain = gain;
        best.feature = f;
        best.bin = bin;
        best.missing_left = missing_left;
        best.left = left;
        best.left_value = value_left;
        best.right_value = value_right;
        best.by_category = false;
        return true;
    }

    int64_t least_rows() const { return std::max(options.min_samples_leaf, 1); }

    void search_thresholds(const Search &s, int f, const Packed *h, Candidate &best) const {
        const Packed *counts = counts_of(s, f);
        const Packed missing = h[MISSING];
        const int64_t n_missing = counts == nullptr ? 0 : counts[MISSING];
        const bool any_missing = missing != 0 || n_missing != 0;
        Packed left = 0;
        int64_t n_left = 0;
        for (int b = 0; b + 1 < n_bins[f]; b++) {
            // The same sums as before
            if (h[b] == 0 && (counts == nullptr || counts[b] == 0)) continue;
            left += h[b];
            if (counts != nullptr) n_left += counts[b];
            consider(s, f, b, false, left, n_left, best);
            if (any_missing) {
                consider(s, f, b, true, left + missing, n_left + n_missing, best);
            }
        }
        if (any_missing) {  // all values left, missing ones right
            consider(s, f, n_bins[f] - 1, false, s.sum - missing, s.n_rows - n_missing,
                     best);
        }
    }

    static const Packed *counts_of(const Search &s, int f) {
        return s.counts == nullptr ? nullptr : s.counts + static_cast<int64_t>(f) * N_BINS;
    }

    // Categories in the order of their mean gradient. Without smoothing and L2, the best
    // cut of that order is the best of all subsets. Missing values go right.
    void search_categories(const Search &s, int f, const Packed *h, Candidate &best) const {
        int order[N_BINS], n_present = 0;
        double key[N_BINS];
        for (int b = 0; b < n_bins[f]; b++) {
            if (h[b] == 0) continue;
            key[b] = gradient_of(h[b]) / (hessian_of(h[b]) + s.smoothing);
            order[n_present++] = b;
        }
        std::sort(order, order + n_present, [&](int a, int b) {
            return key[a] < key[b] || (key[a] == key[b] && a < b);
        });
        const Packed *counts = counts_of(s, f);
        const Packed missing = h[MISSING];
        Packed left = 0;
        int64_t n_left = 0, n_known = 0;
        for (int i = 0; i < n_present && counts != nullptr; i++) n_known += counts[order[i]];
        int first = 0, last = 0;  // places in the order that go left
        for (int i = 0; i < n_present; i++) {
            left += h[order[i]];
            if (counts != nullptr) n_left += counts[order[i]];
            if (i + 1 == n_present && missing == 0) break;
            if (consider(s, f, 0, false, left, n_left, best)) first = 0, last = i + 1;
            if (missing == 0 || i + 1 == n_present) continue;
            // Missing values with the first categories: the others go left.
            if (consider(s, f, 0, false, s.sum - missing - left, n_known - n_left, best)) {
                first = i + 1, last = n_present;
            }
        }
        if (first == last) return;
        best.by_category = true;
        std::fill(best.categories, best.categories + 4, 0);
        for (int i = first; i < last; i++) {
            best.categories[order[i] >> 6] |= 1ULL << (order[i] & 63);
        }
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

    // Finds the best split of a leaf and puts it into the queue.
    void search(int k, const Packed *counts = nullptr) {
        Leaf &leaf = leaves[k];
        leaf.best = Candidate();
        if (!may_split(leaf)) return;
        const Search s = start_search(leaf, counts);
        const std::vector<uint8_t> tried = tried_features(leaf);
        const double unit = gradient_unit * gradient_unit / hessian_unit;
        // What rounding alone may produce is not a gain.
        const double floor = options.min_gain / unit + 1e-12 * std::fabs(s.base);
        const int n_threads = options.n_threads;
        std::vector<Candidate> found(n_threads);
#pragma omp parallel num_threads(n_threads) if (layout.n_features >= 32 && n_threads > 1)
        {
            Candidate best;
            best.gain = floor;
#pragma omp for schedule(static)
            for (int f = 0; f < layout.n_features; f++) {
                if (!tried[f]) continue;
                const Packed *h = leaf.histogram.data() + static_cast<int64_t>(f) * N_BINS;
                if (categorical[f]) {
                    search_categories(s, f, h, best);
                } else {
                    search_thresholds(s, f, h, best);
                }
            }
            found[omp_get_thread_num()] = best;
        }
        // Equal gains: the lower feature, whatever thread found it.
        for (const Candidate &candidate : found) {
            if (candidate.feature < 0) continue;
            const bool first = leaf.best.feature < 0;
            if (first || candidate.gain > leaf.best.gain) leaf.best = candidate;
        }
        if (leaf.best.feature < 0) return;
        settle_missing(leaf, counts);
        queue.emplace(leaf.best.gain, -k);
        leaf.best.gain *= unit;
    }

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
        fill_children(left_is_small ? k : other, left_is_small ? other : k,
                      std::move(histogram));
        for (const int child : {k, other}) {
            search(child);
            keep(child);
        }
    }

    void search_counted(int k) {
        Leaf &leaf = leaves[k];
        leaf.counted = true;
        gather(leaf);
        if (leaf.histogram.empty()) fill_histogram(leaf);
        std::fill(ordered.begin() + leaf.begin, ordered.begin() + leaf.end, 1);
        std::vector<Packed> counts = take_histogram();
        sum_rows(rows.data() + leaf.begin, ordered.data() + leaf.begin, leaf.size(),
                 counts.data());
        search(k, counts.data());
        spare.push_back(std::move(counts));
        holders.erase(std::remove(holders.begin(), holders.end(), k), holders.end());
        keep(k);
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

    void fill_children(int small, int large, std::vector<Packed> histogram) {
        gather(leaves[small]);
        fill_histogram(leaves[small]);
        if (histogram.empty()) {  // given up for memory
            gather(leaves[large]);
            fill_histogram(leaves[large]);
            return;
        }
        Packed *rest = histogram.data();
        const Packed *part = leaves[small].histogram.data();
        const int64_t size = histogram_size();
#pragma omp parallel for simd schedule(static) num_threads(options.n_threads) \
    if (size > MANY_ROWS)
        for (int64_t i = 0; i < size; i++) rest[i] -= part[i];
        leaves[large].histogram = std::move(histogram);
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
        if (!constrained) return;
        const double middle =
            0.5 * (c.left_value + c.right_value) * (gradient_unit / hessian_unit);
        if (monotonic[c.feature] > 0) {
            left.high = std::min(left.high, middle);
            right.low = std::max(right.low, middle);
        } else if (monotonic[c.feature] < 0) {
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
