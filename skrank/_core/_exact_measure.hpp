// Values of a measure of rankings, from the gains of documents and the discounts of ranks.
//
// `DeltaTerms` of a measure say all about it but a constant for each query. Documents of
// equal score count with the mean over their orders, so that no order of rows pays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "_clones.hpp"
#include "_for_each_query.hpp"
#include "_measures.hpp"

namespace skrank {

// Documents up to which comparing all pairs of scores is faster than sorting: it has no
// branches that depend on the scores.
constexpr int FEW_DOCUMENTS = 48;
constexpr int LANES = 8;
using ScoreLanes = double __attribute__((vector_size(8 * LANES)));
using CountLanes = std::int64_t __attribute__((vector_size(8 * LANES)));

enum MeasureKind { GAIN_DISCOUNT, AVERAGE_PRECISION, RECIPROCAL_RANK, CASCADE };

// A measure of all queries; discounts from rank `n` on are zero.
struct ExactMeasure {
    int kind;
    const double *gain;
    const double *discount;
    Index n;
    const double *scale;   // of each query
    const double *weight;  // of each query in the mean
};

// The sum of a measure over one query, from gains in the order of ranks. Where `score` is
// null, no two scores are equal.
inline double ranked_value(const ExactMeasure &measure, const double *gain,
                           const double *score, Index m) {
    switch (measure.kind) {
        case GAIN_DISCOUNT:
            return discounted_sum(gain, score, m, measure.discount, measure.n);
        case AVERAGE_PRECISION:
            return precision_sum(gain, score, m, measure.discount, measure.n);
        default:  // the first relevant document is where a user stops who seeks just one
            return cascade(gain, score, m, measure.discount, measure.n);
    }
}

// above[j] = number of the m scores above s[j], for some whole lanes from `first` on.
template <int BLOCKS>
SKRANK_INLINE void count_blocks(const double *s, int m, int first, std::int64_t *above) {
    ScoreLanes own[BLOCKS];
    CountLanes count[BLOCKS] = {};
    std::memcpy(own, s + first, sizeof own);
    for (int i = 0; i < m; i++)
        for (int b = 0; b < BLOCKS; b++) count[b] -= own[b] < s[i];  // true is -1
    std::memcpy(above + first, count, sizeof count);
}

// above[r] = number of scores above s[r]; returns their sum, which is smaller than that of
// m different ranks if two scores are equal. Arrays are padded to whole lanes.
SKRANK_CLONES std::int64_t count_above(const double *s, int m, std::int64_t *above) {
    int first = 0;
    for (; first + 2 * LANES < m; first += 3 * LANES) count_blocks<3>(s, m, first, above);
    if (first + LANES < m) {
        count_blocks<2>(s, m, first, above);
    } else if (first < m) {
        count_blocks<1>(s, m, first, above);
    }
    std::int64_t total = 0;
    for (int r = 0; r < m; r++) total += above[r];
    return total;
}

// The value of a query of few documents, without sorting. False if two scores are equal.
inline bool value_of_few(const ExactMeasure &measure, const double *gain,
                         const double *score, int m, double &value) {
    double s[FEW_DOCUMENTS] = {}, ranked[FEW_DOCUMENTS];
    std::int64_t above[FEW_DOCUMENTS];
    std::copy(score, score + m, s);
    if (2 * count_above(s, m, above) < m * (m - 1)) return false;
    for (int r = 0; r < m; r++) ranked[above[r]] = gain[r];
    value = ranked_value(measure, ranked, nullptr, m);
    return true;
}

// out[q] = value of query q under scores, without the constants of queries.
inline void exact_values(const Queries &queries, const ExactMeasure &measure,
                         const double *score, double *out, int n_threads) {
    for_each_query(queries, PAIR_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        static thread_local std::vector<double> gain, ranked;
        if (measure.scale[q.number] == 0.0) {
            out[q.number] = 0.0;
            return;
        }
        double value;
        if (q.size <= FEW_DOCUMENTS && value_of_few(measure, measure.gain + q.start,
                                                    score + q.start, q.size, value)) {
            out[q.number] = measure.scale[q.number] * value;
            return;
        }
        gain.resize(q.size);
        ranked.resize(q.size);
        rank_values(score + q.start, nullptr, measure.gain + q.start, q.size, gain.data(),
                    ranked.data());
        out[q.number] = measure.scale[q.number] *
                        ranked_value(measure, gain.data(), ranked.data(), q.size);
    });
}

}  // namespace skrank
