// Growing one tree on sparse rows, from sums over their entries.
//
// Only large leaves keep their sums. When one of them is split, the entries of the smaller
// child are taken off its sums, which are then those of the larger child; so no step takes
// longer for a leaf of few rows than its entries do, however many features there are.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "_sparse_sums.hpp"

namespace skrank {

class SparseGrower : public SparseSums {
   public:
    SparseGrower(const SparseRows &data, const Features &features)
        : SparseSums(data, features) {}

   private:
    // From this number of entries on, threads share the features.
    static constexpr double MANY_ENTRIES = 1 << 14;

    // Sums of a leaf that keeps none, which are all zero between two leaves, and the
    // features that have entries in it.
    std::vector<Packed> passing, passing_counts;
    std::vector<int32_t> touched;
    std::vector<uint8_t> is_touched;
    std::vector<Packed> of_level, counts_of_level;

    double entries_of(const Leaf &leaf) const { return leaf.size() * cells_of_row(); }

    // Whether the sums of a leaf are worth being kept: their places are not many more than
    // the entries that they sum.
    bool is_large(const Leaf &leaf) const {
        return 4.0 * entries_of(leaf) >= static_cast<double>(histogram_size());
    }

    int threads_for(double entries) {
        watch->look();
        watch->finish();
        options.n_threads = threads.check(options.n_threads);
        return entries < MANY_ENTRIES ? 1 : options.n_threads;
    }

    void open(const std::vector<int> &opened, bool subtract) override {
        search(opened, subtract, false);
    }

    // What is to be done for a leaf that is searched.
    struct Task {
        Search search;
        Sums sums, counts;
        Portion rows;
        bool passing = false, fresh = false;  // whether sums are not kept, and still missing
    };

    void search(const std::vector<int> &opened, bool subtract, bool counted) {
        double entries = 0.0;
        for (const int k : opened) entries += entries_of(leaves[k]);
        const int n_threads = threads_for(entries);
        std::vector<Task> tasks;
        for (const int k : opened) {
            leaves[k].best = Candidate();
            if (!may_split(leaves[k])) continue;
            tasks.push_back(task_of(k, counted, n_threads));
            draw_for_node(tasks.back().search);
        }
        const bool has_rest = subtract && may_split(leaves[opened[1]]);
        find_memory(counted);
        const Portion part = portion(leaves[opened.front()]);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            const int t = omp_get_thread_num();
            const Range range = share_of(t, omp_get_num_threads(), {0, n_features});
            if (has_rest) add<-1>(part, range, sums_in(leaves[opened[1]].histogram));
            for (Task &task : tasks) {
                if (watch->stopped()) continue;
                task.search.found[t] = best_in(range, task);
            }
        }
        if (watch->stopped()) forget();
        watch->finish();
        for (const Task &task : tasks) settle(task.search);
        for (const int k : opened) keep(k);
    }

    Task task_of(int k, bool counted, int n_threads) {
        Leaf &leaf = leaves[k];
        Task task;
        task.search = start_search(k, counted, n_threads);
        task.rows = portion(leaf);
        task.fresh = leaf.histogram.empty();
        task.passing = task.fresh && !is_large(leaf);
        if (task.fresh && !task.passing) {
            take_histogram(leaf);
            std::fill(leaf.histogram.begin(), leaf.histogram.end(), 0);
        }
        return task;
    }

    // An exception must not leave a parallel region, so that memory is found before.
    void find_memory(bool counted) {
        passing.resize(histogram_size());
        if (counted) passing_counts.resize(histogram_size());
        touched.resize(n_features);
        is_touched.resize(n_features);
    }

    // Makes what must be zero between two leaves zero, after an interrupt.
    void forget() {
        std::fill(passing.begin(), passing.end(), 0);
        std::fill(passing_counts.begin(), passing_counts.end(), 0);
        std::fill(is_touched.begin(), is_touched.end(), 0);
    }

    // The best split of a leaf on some features.
    Candidate best_in(Range range, Task &task) {
        Candidate best = task.search.nothing();
        Leaf &leaf = leaves[task.search.leaf];
        const Sums sums = sums_in(task.passing ? passing : leaf.histogram);
        const Sums counts = sums_in(passing_counts);
        const bool counted = task.search.counted;
        if (counted) add<0>(task.rows, range, counts);
        if (!task.passing) {
            if (task.fresh) add<1>(task.rows, range, sums);
            for (int f = range.begin; f < range.end; f++) {
                search_feature(task.search, f, sums, counts, best);
            }
        } else {
            int32_t *const begin = touched.data() + range.begin;
            int32_t *end = add_touching(task.rows, range, sums, begin);
            end = std::partition(begin, end, [&](int32_t f) {
                return may_gain(task.search, sums.features[f]);
            });
            std::sort(begin, end);  // of equal gains, that of the lower feature is taken
            for (const int32_t *f = begin; f < end; f++) {
                search_feature(task.search, *f, sums, counts, best);
            }
            clear(task.rows, range, sums);
        }
        if (counted) clear(task.rows, range, counts);
        return best;
    }

    // Adds rows to sums that are zero, and lists the features that have entries.
    int32_t *add_touching(const Portion &p, Range range, const Sums &sums, int32_t *to) {
        for_entries(p, range, [&](int64_t at, int64_t i) {
            const int32_t f = data.feature[at];
            const Packed value = p.values[i];
            if (!is_touched[f]) is_touched[f] = 1, *to++ = f;
            sums.features[f] += value;
            sums.bins[first[f] + data.place[at]] += value;
        });
        return to;
    }

    void clear(const Portion &p, Range range, const Sums &sums) {
        for_entries(p, range, [&](int64_t at, int64_t) {
            const int32_t f = data.feature[at];
            is_touched[f] = 0;
            sums.features[f] = 0;
            sums.bins[first[f] + data.place[at]] = 0;
        });
    }

    // Whether a split on a feature may be allowed. One side of it has no row of the common
    // bin, and no more than the hessian of the entries.
    static bool may_gain(const Search &s, Packed entries) {
        return static_cast<double>(hessian_of(entries)) >= s.terms.min_weight;
    }

    void search_feature(const Search &s, int f, const Sums &sums, const Sums &counts,
                        Candidate &best) const {
        if (!s.tried[f] || !may_gain(s, sums.features[f])) return;
        Packed h[N_BINS], c[N_BINS];
        expand(f, s.sum, sums, h);
        if (s.counted) expand(f, s.n_rows, counts, c);
        finder.search_feature(s, f, h, s.counted ? c : nullptr, best);
    }

    void search_counted(int k) override {
        Leaf &leaf = leaves[k];
        leaf.counted = true;
        gather(leaf);  // its rows have moved
        holders.erase(std::remove(holders.begin(), holders.end(), k), holders.end());
        search({k}, false, true);
    }

    LevelLeaf root_of_level() override { return {0}; }

    // Searches a level, some features at a time so that the sums of all its leaves take no
    // more memory than there may be.
    LevelCandidate search_level(const LevelSearch &search, std::vector<LevelLeaf> &level,
                                bool counted) override {
        double entries = 0.0;
        for (const LevelLeaf &own : level) entries += entries_of(leaves[own.leaf]);
        const int n_threads = threads_for(entries);
        const int64_t n = static_cast<int64_t>(search.leaves.size());
        LevelCandidate best;
        best.score = -std::numeric_limits<double>::infinity();
        for (Range range = {0, 0}; range.end < n_features && n > 0;) {
            range = next_range(range.end, n * (counted ? 2 : 1));
            const int64_t size = size_of(range);
            of_level.assign(n * size, 0);
            if (counted) counts_of_level.assign(n * size, 0);
            std::vector<LevelCandidate> found(n_threads, best);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
            {
                const int t = omp_get_thread_num();
                found[t].feature = -1;
                found[t].score = -std::numeric_limits<double>::infinity();
                search_range(search, level, range,
                             share_of(t, omp_get_num_threads(), range), counted, found[t]);
            }
            watch->finish();
            for (const LevelCandidate &other : found) {  // equal scores: the lower feature
                if (other.feature < 0) continue;
                if (best.feature < 0 || other.score > best.score) best = other;
            }
        }
        return best;
    }

    int64_t size_of(Range range) const {
        return range.end - range.begin + first[range.end] - first[range.begin];
    }

    // The features from ``begin`` on whose sums fit into the memory for ``n`` leaves.
    Range next_range(int begin, int64_t n) const {
        const int64_t room = options.max_bytes / static_cast<int64_t>(sizeof(Packed)) / n;
        Range range = {begin, begin + 1};
        while (range.end < n_features && size_of({begin, range.end + 1}) <= room) range.end++;
        return range;
    }

    // The sums of one leaf of a level for the features of a range; indices are those of all.
    Sums sums_of_level(std::vector<Packed> &all, int search, Range range) const {
        Packed *start = all.data() + search * size_of(range);
        return {start - range.begin, start + (range.end - range.begin) - first[range.begin]};
    }

    void search_range(const LevelSearch &search, const std::vector<LevelLeaf> &level,
                      Range range, Range mine, bool counted, LevelCandidate &best) {
        for (const LevelLeaf &own : level) {
            if (own.search < 0) continue;
            const Portion rows = portion(leaves[own.leaf]);
            add<1>(rows, mine, sums_of_level(of_level, own.search, range));
            if (counted) add<0>(rows, mine, sums_of_level(counts_of_level, own.search, range));
        }
        FeatureSums gains;
        for (int f = mine.begin; f < mine.end && !watch->stopped(); f++) {
            if (search.tried[f]) judge_feature(search, f, range, counted, gains, best);
        }
    }

    void judge_feature(const LevelSearch &search, int f, Range range, bool counted,
                       FeatureSums &gains, LevelCandidate &best) {
        const bool by_category = finder.is_categorical(f);
        bool any = by_category;
        const int n = static_cast<int>(search.leaves.size());
        for (int i = 0; i < n && !any; i++) {
            const Sums sums = sums_of_level(of_level, i, range);
            any = may_gain(search.leaves[i], sums.features[f]);
        }
        if (!any) return;
        Packed h[N_BINS], c[N_BINS];
        finder.clear(f, gains);
        for (int i = 0; i < n && by_category; i++) {
            const Search &s = search.leaves[i];
            expand(f, s.sum, sums_of_level(of_level, i, range), h);
            finder.add_categories(s, f, h, gains);
        }
        if (by_category) finder.order_categories(search.smoothing, gains);
        const bool may_pass = !by_category && !any_missing[f];
        for (int i = 0; i < n; i++) {
            const Search &s = search.leaves[i];
            const Sums sums = sums_of_level(of_level, i, range);
            if (may_pass && !may_gain(s, sums.features[f])) continue;
            expand(f, s.sum, sums, h);
            finder.accumulate(f, h);
            if (counted) {
                expand(f, s.n_rows, sums_of_level(counts_of_level, i, range), c);
                finder.accumulate(f, c);
            }
            finder.add(s, f, h, counted ? c : nullptr, gains);
        }
        finder.choose(search, f, gains, best);
    }

    std::vector<Packed> sums_on_the_left(const LevelSearch &search,
                                         const std::vector<LevelLeaf> &level,
                                         LevelCandidate &best) override {
        std::vector<Packed> left(search.leaves.size(), 0);
        double balance = 0.0;
        for (const LevelLeaf &own : level) {
            if (own.search < 0) continue;
            const Leaf &leaf = leaves[own.leaf];
            const Portion rows = portion(leaf);
            Packed &sum = left[own.search];
            for (int64_t i = 0; i < rows.n; i++) {
                const int64_t row = rows.of != nullptr ? rows.of[i] : i;
                if (goes_left(bin_of(row, best.feature), best)) sum += rows.values[i];
            }
            balance += 2.0 * hessian_of(sum) - hessian_of(leaf.sum);
        }
        if (!best.saw_missing) best.missing_left = balance > 0;
        return left;
    }

    void prepare_children(int left, int right, std::vector<Packed>, bool last,
                          std::vector<LevelLeaf> &next) override {
        const bool left_is_small = leaves[left].size() <= leaves[right].size();
        const int small = left_is_small ? left : right, large = left_is_small ? right : left;
        if (last || !may_split(leaves[large])) return;
        gather(leaves[small]);
        gather(leaves[large]);
        if (may_split(leaves[small])) next.push_back({small});
        next.push_back({large});
    }
};

}  // namespace skrank
