// Kendall's correlation of many rankings of the documents of the same queries.
//
// A ranking is one bit for each pair of documents that it puts in the order of the rows,
// and one for each that it puts the other way round. Two rankings are then compared by
// counting bits, 64 pairs at a time, which beats sorting up to thousands of documents.
// Pairs are taken in batches, so that the memory does not grow with their number, and
// the sum over queries of two rankings is that of one thread, in the order of queries.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "_clones.hpp"
#include "_for_each_query.hpp"

namespace skrank {

enum class Similarity : int { TAU = 0, CONCORDANCE = 1 };

// Pairs of a query whose first document is one of a range, in words of the batch.
struct PairRange {
    Index start;         // first row of the query
    int size;            // documents of the query
    int first, last;     // range of first documents
    Index word, n_words; // place in the batch
    bool ends;           // whether no pairs of the query follow
};

SKRANK_CLONES static void count_pairs(const uint64_t *up, const uint64_t *down,
                                      const uint64_t *other_up, const uint64_t *other_down,
                                      Index n, int64_t *same, int64_t *opposite) {
    int64_t agree = 0, differ = 0;
    for (Index w = 0; w < n; w++) {
        agree += __builtin_popcountll((up[w] & other_up[w]) | (down[w] & other_down[w]));
        differ += __builtin_popcountll((up[w] & other_down[w]) | (down[w] & other_up[w]));
    }
    *same += agree;
    *opposite += differ;
}

class RankCorrelations {
    static constexpr Index MOST_WORDS = 1024;     // of a ranking, so that caches hold them
    static constexpr Index ALL_WORDS = 1 << 21;   // of all rankings, 32 MB

    const double *values;  // of shape (n_rankings, n_documents)
    Index n, count, capacity;
    Similarity kind;
    double *sums;  // of shape (n_rankings, n_rankings)
    std::vector<uint64_t> up, down;
    std::vector<PairRange> batch;
    // Of a query that the batch before has begun.
    std::vector<int64_t> same, opposite, decided;
    std::vector<int64_t> decided_of;  // of each range of the batch and each ranking
    // Of all batches: one by itself ends before it would look for signals.
    Watch watch;

   public:
    RankCorrelations(const double *values, Index n, Index count, Similarity kind,
                     const Queries &queries, double *sums)
        : values(values), n(n), count(count), kind(kind), sums(sums) {
        // The pairs of any one document fit.
        capacity = std::min(MOST_WORDS, ALL_WORDS / std::max<Index>(count, 1));
        capacity = std::max(capacity, queries.longest() / 64 + 1);
        up.resize(capacity * count);
        down.resize(capacity * count);
        same.resize(count * count);
        opposite.resize(count * count);
        decided.resize(count);
    }

    void run(const Queries &queries, int n_threads) {
        Index word = 0;
        for (Index q = 0; q < queries.count; q++) {
            const Index start = queries.ptr[q];
            const int size = static_cast<int>(queries.ptr[q + 1] - start);
            for (int first = 0; first + 1 < size;) {
                int last = first;
                Index n_pairs = 0;
                const Index room = 64 * (capacity - word);
                while (last + 1 < size && n_pairs + size - last - 1 <= room) {
                    n_pairs += size - last - 1;
                    last++;
                }
                if (last == first) {
                    flush(n_threads);
                    word = 0;
                    continue;
                }
                const Index n_words = (n_pairs + 63) / 64;
                batch.push_back({start, size, first, last, word, n_words, last + 1 == size});
                word += n_words;
                first = last;
            }
        }
        flush(n_threads);
    }

   private:
    void flush(int n_threads) {
        if (batch.empty()) return;
        decided_of.assign(batch.size() * count, 0);
        for_each(count, 1, n_threads, {}, [this](Index a, Scratch &scratch) {
            for (size_t s = 0; s < batch.size(); s++) {
                if (scratch.spend(128 * batch[s].n_words)) return;
                write_bits(a, s);
            }
        });
        // The later a ranking, the more others precede it: the long rows go first.
        for_each(count, 1, n_threads, {}, [this](Index i, Scratch &scratch) {
            const Index a = count - 1 - i;
            for (Index b = 0; b <= a; b++) {
                if (scratch.spend(2 * capacity)) return;
                compare(a, b);
            }
        });
        batch.clear();
        watch.look();
        watch.finish();
    }

    void write_bits(Index a, size_t s) {
        const PairRange &range = batch[s];
        const double *x = values + a * n + range.start;
        uint64_t *ups = up.data() + a * capacity + range.word;
        uint64_t *downs = down.data() + a * capacity + range.word;
        uint64_t greater = 0, less = 0;
        int64_t n_decided = 0;
        int bit = 0;
        Index w = 0;
        const auto store = [&] {
            ups[w] = greater;
            downs[w++] = less;
            n_decided += __builtin_popcountll(greater | less);
            greater = less = 0;
            bit = 0;
        };
        for (int i = range.first; i < range.last; i++) {
            const double own = x[i];
            for (int j = i + 1; j < range.size; j++) {
                greater |= static_cast<uint64_t>(own > x[j]) << bit;
                less |= static_cast<uint64_t>(own < x[j]) << bit;
                if (++bit == 64) store();
            }
        }
        if (bit) store();
        decided[a] += n_decided;
        if (!range.ends) return;
        decided_of[s * count + a] = decided[a];
        decided[a] = 0;
    }

    void compare(Index a, Index b) {
        int64_t agree = same[a * count + b], differ = opposite[a * count + b];
        double sum = sums[a * count + b];
        for (size_t s = 0; s < batch.size(); s++) {
            const PairRange &range = batch[s];
            const Index i = a * capacity + range.word, j = b * capacity + range.word;
            count_pairs(&up[i], &down[i], &up[j], &down[j], range.n_words, &agree, &differ);
            if (!range.ends) continue;
            const double pairs = 0.5 * range.size * (range.size - 1.0);
            if (kind == Similarity::CONCORDANCE) {
                sum += agree / pairs;
            } else {
                const double decided_a = static_cast<double>(decided_of[s * count + a]);
                const double decided_b = static_cast<double>(decided_of[s * count + b]);
                // A ranking of equal places alone resembles none.
                if (decided_a > 0 && decided_b > 0) {
                    sum += (agree - differ) / std::sqrt(decided_a * decided_b);
                }
            }
            agree = differ = 0;
        }
        same[a * count + b] = agree;
        opposite[a * count + b] = differ;
        sums[a * count + b] = sum;
    }
};

static void rank_correlations(const double *values, Index n, Index count, int kind,
                              const Queries &queries, double *sums, int n_threads) {
    RankCorrelations(values, n, count, static_cast<Similarity>(kind), queries, sums)
        .run(queries, n_threads);
}

}  // namespace skrank
