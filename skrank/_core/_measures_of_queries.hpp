// Ranking measures of all queries, one value per query.
//
// Values of queries without documents stay as they are.
#pragma once

#include "_for_each_query.hpp"
#include "_measures.hpp"

namespace skrank {

// Values of documents, in the order of the ranks unless a function says otherwise, and
// their scores: null where the order is taken as it is.
struct RankedRows {
    Queries queries;
    const double *value, *score;
};

// out[q] = measure(value, score, query).
template <class Measure>
void measure_queries(const RankedRows &rows, double *out, int n_threads, Measure measure) {
    for_each_query(rows.queries, PAIR_CHUNK, n_threads, {}, [&](Query q, Scratch &) {
        const double *score = rows.score ? rows.score + q.start : nullptr;
        out[q.number] = measure(rows.value + q.start, score, q);
    });
}

// A discount for each of the first `n` ranks; those beyond are zero.
struct Discount {
    const double *of_rank;
    Index n;
};

// Rows by decreasing score, then increasing key (may be null), then row.
inline void rank_all_rows(const Queries &queries, const double *score, const double *key,
                          Index *order, int n_threads) {
    for_each_query(queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        Index *own = order + q.start;
        rank_rows(score + q.start, key ? key + q.start : nullptr, q.size, own);
        for (int i = 0; i < q.size; i++) own[i] += q.start;
    });
}

// The values, and unless `ranked_score` is null the scores, in that order.
inline void rank_all_values(const RankedRows &rows, const double *key, double *ranked,
                            double *ranked_score, int n_threads) {
    for_each_query(rows.queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        rank_values(rows.score + q.start, key ? key + q.start : nullptr,
                    rows.value + q.start, q.size, ranked + q.start,
                    ranked_score ? ranked_score + q.start : nullptr);
    });
}

inline void discounted_sums(const RankedRows &rows, Discount discount, double *out,
                            int n_threads) {
    measure_queries(rows, out, n_threads, [=](const double *v, const double *s, Query q) {
        return discounted_sum(v, s, q.size, discount.of_rank, discount.n);
    });
}

inline void precision_sums(const RankedRows &rows, Discount discount, double *out,
                           int n_threads) {
    measure_queries(rows, out, n_threads, [=](const double *v, const double *s, Query q) {
        return precision_sum(v, s, q.size, discount.of_rank, discount.n);
    });
}

inline void threshold_precision_sums(const RankedRows &rows, Index k, double *out,
                                     int n_threads) {
    measure_queries(rows, out, n_threads, [=](const double *v, const double *s, Query q) {
        return threshold_precision_sum(v, s, q.size, k);
    });
}

inline void cascades(const RankedRows &rows, Discount discount, double *out,
                     int n_threads) {
    // Blocks of equal scores may take quadratic time.
    for_each_query(rows.queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &scratch) {
        const double *score = rows.score ? rows.score + q.start : nullptr;
        out[q.number] =
            cascade(rows.value + q.start, score, q.size, discount.of_rank, discount.n,
                    [&](std::int64_t n) { return scratch.spend(n); });
    });
}

inline void preference_sums(const RankedRows &rows, const double *n_relevant,
                            const double *n_other, double *out, int n_threads) {
    measure_queries(rows, out, n_threads, [=](const double *v, const double *s, Query q) {
        return preference_sum(v, s, q.size, n_relevant[q.number], n_other[q.number]);
    });
}

// The same as `discounted_sums` of gains for rows that are not ranked.
inline void top_dcgs(const RankedRows &rows, Discount discount, bool exp2, bool average,
                     double *out, int n_threads) {
    measure_queries(rows, out, n_threads, [=](const double *v, const double *s, Query q) {
        return top_dcg(v, s, q.size, discount.of_rank, discount.n, exp2, average);
    });
}

inline void ideal_dcgs(const RankedRows &rows, Discount discount, bool exp2, double *out,
                       int n_threads) {
    measure_queries(rows, out, n_threads, [=](const double *v, const double *, Query q) {
        return ideal_dcg(v, q.size, discount.of_rank, discount.n, exp2);
    });
}

// Three numbers per query: concordant, discordant and tied pairs.
inline void count_all_pairs(const RankedRows &rows, double *out, int n_threads) {
    for_each_query(rows.queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        const PairCounts pairs =
            count_pairs(rows.value + q.start, rows.score + q.start, q.size);
        double *own = out + 3 * q.number;
        own[0] = pairs.concordant;
        own[1] = pairs.discordant;
        own[2] = pairs.tied;
    });
}

// Blocks [from, to) of positions of every document in two rankings.
struct Blocks {
    const double *from1, *to1, *from2, *to2;
};

inline void rank_biased_overlaps(const Queries &queries, const Blocks &blocks, double p,
                                 double *out, int n_threads) {
    for_each_query(queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        out[q.number] = rank_biased_overlap(blocks.from1 + q.start, blocks.to1 + q.start,
                                            blocks.from2 + q.start, blocks.to2 + q.start,
                                            q.size, p);
    });
}

}  // namespace skrank
