// Growing one tree on dense rows, from histograms of all bins of all features.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "_sums.hpp"

namespace skrank {

class Grower : public RowSums {
   public:
    Grower(const uint8_t *bins, int64_t n_rows, const Features &features)
        : RowSums(bins, n_rows, features) {}

    // Adds the value of its leaf to the score of every row, grown on or not.
    void add_to_all(double *scores, int64_t stride) const override {
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
    using RowSums::goes_left;
    double cells_of_row() const override { return layout.n_features; }

    // What one thread needs for a block of features; the arrays of the largest ones.
    struct LevelScratch {
        std::vector<Packed> histogram, counts;
        std::vector<FeatureSums> sums;
        LevelCandidate best;
    };
    std::vector<LevelScratch> scratch;
    std::vector<Packed> ones;

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

    // All that concerns a feature stays in the cache of one thread; few blocks are halved,
    // so that every thread gets its share.
    int features_at_once(int team) const {
        return team > 1 && layout.n_blocks < 4 * team ? HALF : WIDTH;
    }

    void open(const std::vector<int> &opened, bool subtract) override {
        search(opened, subtract, nullptr);
    }

    // Sums the histograms that are missing and searches the best splits, with ``counts``
    // by true numbers of rows.
    void search(const std::vector<int> &opened, bool subtract, const Packed *counts) {
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
            if (!may_split(leaves[k])) continue;
            searches.push_back(start_search(k, counts != nullptr, n_threads));
            draw_for_node(searches.back());
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
            for (size_t i = 0; i < searches.size(); i++) best[i] = searches[i].nothing();
            const int step = features_at_once(omp_get_num_threads());
#pragma omp for schedule(static)
            for (int from = 0; from < layout.n_features; from += step) {
                if (watch->stopped()) continue;
                for (Leaf *leaf : summed) {
                    if (many) continue;
                    const Portion p = portion(*leaf);
                    sum_block(from, step, p, 0, p.n, histogram_at(*leaf, from));
                }
                const int end = std::min(from + step, layout.n_features);
                for (int f = from; f < end; f++) {
                    const int64_t start = static_cast<int64_t>(f) * N_BINS;
                    if (rest != nullptr) finder.kernels.subtract(part + start, rest + start);
                    search_feature(searches, f, counts, best);
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

    Packed *histogram_at(Leaf &leaf, int f) const {
        return leaf.histogram.data() + static_cast<int64_t>(f) * N_BINS;
    }

    // Takes the best splits of leaves on a feature where they are better.
    void search_feature(const std::vector<Search> &searches, int f, const Packed *counts,
                        Candidate *best) {
        if (counts != nullptr) counts += static_cast<int64_t>(f) * N_BINS;
        for (size_t i = 0; i < searches.size(); i++) {
            const Packed *h = histogram_at(leaves[searches[i].leaf], f);
            finder.search_feature(searches[i], f, h, counts, best[i]);
        }
    }

    void search_counted(int k) override {
        Leaf &leaf = leaves[k];
        leaf.counted = true;
        std::fill(ordered.begin() + leaf.begin, ordered.begin() + leaf.end, 1);
        Leaf counts;
        take_histogram(counts);
        sum_rows({rows.data() + leaf.begin, ordered.data() + leaf.begin, leaf.size()},
                 counts.histogram.data());
        gather(leaf);
        holders.erase(std::remove(holders.begin(), holders.end(), k), holders.end());
        search({k}, false, counts.histogram.data());
        drop(counts);
    }

    LevelLeaf root_of_level() override {
        take_histogram(leaves[0]);
        return {0, true};
    }

    // Sums what is missing of the histograms and searches the best split of the level.
    LevelCandidate search_level(const LevelSearch &search, std::vector<LevelLeaf> &level,
                                bool counted) override {
        watch->look();
        watch->finish();
        options.n_threads = threads.check(options.n_threads);
        int64_t n_rows = 0, largest = 0;
        for (const LevelLeaf &own : level) {
            n_rows += leaves[own.leaf].size();
            largest = std::max(largest, leaves[own.leaf].size());
        }
        const bool parallel = n_rows >= MANY_ROWS || layout.n_features >= FEW_FEATURES;
        const int n_threads = parallel ? options.n_threads : 1;
        find_memory(n_threads, counted ? largest : 0);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            for (const LevelLeaf &own : level) {
                Leaf &leaf = leaves[own.leaf];
                if (!own.fresh || leaf.size() < MANY_ROWS) continue;
                sum_rows(portion(leaf), leaf.histogram.data());
            }
            LevelScratch &mine = scratch[omp_get_thread_num()];
            mine.best = LevelCandidate();
            mine.best.score = -std::numeric_limits<double>::infinity();
            const int step = features_at_once(omp_get_num_threads());
#pragma omp for schedule(static)
            for (int from = 0; from < layout.n_features; from += step) {
                if (watch->stopped()) continue;
                complete(level, from, step);
                search_block(search, level, from, step, counted, mine);
            }
        }
        watch->finish();
        for (LevelLeaf &own : level) own.fresh = false, own.part = -1;
        LevelCandidate best = scratch[0].best;
        for (int t = 1; t < n_threads; t++) {  // equal scores: the lower feature
            const LevelCandidate &other = scratch[t].best;
            if (other.feature >= 0 && (best.feature < 0 || other.score > best.score)) {
                best = other;
            }
        }
        return best;
    }

    // An exception must not leave a parallel region, so that memory is found before.
    void find_memory(int n_threads, int64_t n_ones) {
        partial.resize((n_threads - 1) * histogram_size());
        if (static_cast<int>(scratch.size()) < n_threads) scratch.resize(n_threads);
        for (int t = 0; t < n_threads; t++) {
            scratch[t].histogram.resize(WIDTH * N_BINS);
            scratch[t].sums.resize(WIDTH);
            if (n_ones > 0) scratch[t].counts.resize(WIDTH * N_BINS);
        }
        ones.assign(n_ones, 1);
    }

    // Completes the histograms of a level for the features of a block or of half a block.
    // They hold sums over all bins up to each one, so that what is taken off another one
    // need not be summed up again.
    void complete(const std::vector<LevelLeaf> &level, int from, int step) {
        const int end = std::min(from + step, layout.n_features);
        for (const LevelLeaf &own : level) {
            Leaf &leaf = leaves[own.leaf];
            if (own.fresh && leaf.size() < MANY_ROWS) {
                sum_block(from, step, portion(leaf), 0, leaf.size(),
                          histogram_at(leaf, from));
            }
            if (own.fresh) accumulate(from, step, histogram_at(leaf, from));
            if (own.part < 0) continue;
            Leaf &part = leaves[level[own.part].leaf];
            for (int f = from; f < end; f++) {
                finder.kernels.subtract(histogram_at(part, f), histogram_at(leaf, f));
            }
        }
    }

    void accumulate(int from, int step, Packed *h) const {
        const int end = std::min(from + step, layout.n_features);
        for (int f = from; f < end; f++, h += N_BINS) finder.accumulate(f, h);
    }

    // The accumulated sums of a leaf from feature ``from`` on, summed again if its
    // histogram is not kept.
    const Packed *block_of(Leaf &leaf, int from, int step, std::vector<Packed> &room) const {
        if (!leaf.histogram.empty()) return histogram_at(leaf, from);
        return sum_up(portion(leaf), from, step, room);
    }

    const Packed *sum_up(const Portion &p, int from, int step,
                         std::vector<Packed> &room) const {
        sum_block(from, step, p, 0, p.n, room.data());
        accumulate(from, step, room.data());
        return room.data();
    }

    void search_block(const LevelSearch &search, const std::vector<LevelLeaf> &level,
                      int from, int step, bool counted, LevelScratch &mine) {
        const int end = std::min(from + step, layout.n_features);
        bool any = false, any_category = false;
        for (int f = from; f < end; f++) {
            if (!search.tried[f]) continue;
            any = true;
            any_category |= finder.is_categorical(f);
            finder.clear(f, mine.sums[f - from]);
        }
        const auto for_each = [&](auto work) {
            for (const LevelLeaf &own : level) {
                if (own.search < 0) continue;
                Leaf &leaf = leaves[own.leaf];
                const Packed *h = block_of(leaf, from, step, mine.histogram);
                if (counted) sum_up(portion(leaf, ones.data()), from, step, mine.counts);
                for (int f = from; f < end; f++) {
                    if (search.tried[f]) work(search.leaves[own.search], f, h);
                    h += N_BINS;
                }
            }
        };
        if (!any) return;
        if (any_category) {
            for_each([&](const Search &s, int f, const Packed *h) {
                if (!finder.is_categorical(f)) return;
                finder.add_categories(s, f, h, mine.sums[f - from]);
            });
        }
        for (int f = from; f < end && any_category; f++) {
            if (!search.tried[f] || !finder.is_categorical(f)) continue;
            finder.order_categories(search.smoothing, mine.sums[f - from]);
        }
        for_each([&](const Search &s, int f, const Packed *h) {
            const Packed *counts = mine.counts.data() + (f - from) * N_BINS;
            finder.add(s, f, h, counted ? counts : nullptr, mine.sums[f - from]);
        });
        for (int f = from; f < end; f++) {
            if (search.tried[f]) finder.choose(search, f, mine.sums[f - from], mine.best);
        }
    }

    std::vector<Packed> sums_on_the_left(const LevelSearch &search,
                                         const std::vector<LevelLeaf> &level,
                                         LevelCandidate &best) override {
        std::vector<Packed> left(search.leaves.size(), 0);
        const int from = best.feature / HALF * HALF;
        double balance = 0.0;
        for (const LevelLeaf &own : level) {
            if (own.search < 0) continue;
            Leaf &leaf = leaves[own.leaf];
            const Packed *h = block_of(leaf, from, HALF, scratch[0].histogram) +
                              (best.feature - from) * N_BINS;
            Packed &sum = left[own.search];
            sum = best.missing_left ? h[MISSING] : 0;
            if (!best.by_category) sum += h[best.bin];
            for (int b = 0; b < MISSING && best.by_category; b++) {
                if (goes_left(static_cast<uint8_t>(b), best)) sum += h[b];
            }
            balance += 2.0 * hessian_of(sum) - hessian_of(leaf.sum);
        }
        if (!best.saw_missing) best.missing_left = balance > 0;
        return left;
    }

    // The smaller leaf is summed; the larger one gets what that leaves over of the histogram
    // of their parent.
    void prepare_children(int left, int right, std::vector<Packed> histogram, bool last,
                          std::vector<LevelLeaf> &next) override {
        const bool left_is_small = leaves[left].size() <= leaves[right].size();
        const int small = left_is_small ? left : right, large = left_is_small ? right : left;
        const bool have = !histogram.empty();
        if (have) leaves[large].histogram = std::move(histogram);
        if (last || !may_split(leaves[large])) {
            drop(leaves[large]);
            return;
        }
        gather(leaves[small]);
        const int64_t bytes = histogram_size() * static_cast<int64_t>(sizeof(Packed));
        if (have && (n_histograms() + 1) * bytes <= options.max_bytes) {
            take_histogram(leaves[small]);
            next.push_back({small, true});
            next.push_back({large, false, static_cast<int>(next.size()) - 1});
            return;
        }
        drop(leaves[large]);
        gather(leaves[large]);
        if (may_split(leaves[small])) next.push_back({small});
        next.push_back({large});
    }

    int64_t n_histograms() const {
        return std::count_if(leaves.begin(), leaves.end(),
                             [](const Leaf &leaf) { return !leaf.histogram.empty(); });
    }
};

}  // namespace skrank
