// Logistic pairs of documents that stand next to each other in perturbed rankings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "_for_each_query.hpp"
#include "_simd.hpp"
#include "_sort.hpp"

namespace skrank {

// Rankings by scores plus noise: noise[t * stride + row] in ranking t. Two neighbours, the
// upper one in rank r, cost by_rank[r] times the difference of their gains; preferred is
// the one of the higher grade, whatever the gains are.
struct Perturbed {
    const double *grade, *gain, *noise, *by_rank;
    Index stride;
    int n_rankings;
};

// The loops over the terms of a series are unrolled: their coefficients are divisions
// otherwise, one after the other.

// log(1 + z) for z in [0, 1], by the series of the inverse hyperbolic tangent of
// z / (2 + z), whose square is at most 1 / 9.
SKRANK_INLINE Vec log_one_plus(Vec z) {
    const Vec t = z / (2.0 + z), square = t * t;
    Vec sum = {};
#pragma GCC unroll 18
    for (int k = 35; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    return 2.0 * t * sum;
}

// log(x) for normal numbers x > 0: x is 2^k times a number z in [sqrt(1/2), sqrt(2)), whose
// logarithm is the series of the inverse hyperbolic tangent of (z - 1) / (z + 1).
SKRANK_INLINE Vec log_of_normal(Vec x) {
    const double ln2_high = 6.93147180369123816490e-01;  // 33 bits: k * ln2_high exact
    const double ln2_low = 1.90821492927058770002e-10;
    const int64_t root_of_half = 0x3fe6a09e667f3bcd;  // its bits
    const Mask exponent = ((Mask)x - root_of_half) >> 52;
    const Vec z = (Vec)((Mask)x - (exponent << 52));
    // Small whole numbers are the low bits of 1.5 * 2^52.
    const Vec k = (Vec)(exponent + 0x4338000000000000) - 6755399441055744.0;
    const Vec t = (z - 1.0) / (z + 1.0), square = t * t;
    Vec series = {};
#pragma GCC unroll 10
    for (int j = 21; j > 1; j -= 2) series = series * square + 1.0 / j;
    return k * ln2_high + (2.0 * t + (2.0 * t * square * series + k * ln2_low));
}

// Draws from the logistic distribution: scale * log(u / (1 - u)) where u is bits + 1/2 in
// units of 2^-32.
SKRANK_INLINE Vec logistic_of(const uint32_t *bits, double scale) {
    using Bits = uint32_t __attribute__((vector_size(LANES * sizeof(uint32_t))));
    Bits some;
    std::memcpy(&some, bits, sizeof some);
    // Whole numbers below 2^52 are the low bits of 2^52.
    const Mask wide = __builtin_convertvector(some, Mask) | 0x4330000000000000;
    const Vec u = (((Vec)wide - 4503599627370496.0) + 0.5) / 4294967296.0;
    return scale * log_of_normal(u / (1.0 - u));
}

SKRANK_CLONES static void logistic_draws(const uint32_t *bits, Index n, double scale,
                                         double *out) {
    Index i = 0;
    for (; i + LANES <= n; i += LANES) store(out + i, logistic_of(bits + i, scale));
    uint32_t rest[LANES] = {};
    std::copy(bits + i, bits + n, rest);
    store_some(out + i, static_cast<int>(n - i), logistic_of(rest, scale));
}

constexpr int DRAWS_AT_ONCE = 1 << 14;

static void draw_logistic(const uint32_t *bits, Index n, double scale, double *out,
                          int n_threads) {
    for_each_chunk(n, DRAWS_AT_ONCE, n_threads, {}, [=](Index first, Index last, Scratch &) {
        logistic_draws(bits + first, last - first, scale, out + first);
    });
}

// Pairs by the difference of their scores, that of the preferred document first. The
// arrays have room for PADDING more.
struct NeighbourPairs {
    double *gap, *cost, *slope, *curvature;
    int *preferred, *other;
    int count;
};

// Pairs of several rankings are looked at together, as long as they are no more than these
// or the documents of the query: a few pairs would leave most of a vector empty.
constexpr int PAIRS_AT_ONCE = 256;

// The loss of the pairs; fills in the slopes and curvatures.
SKRANK_CLONES static double neighbour_terms(NeighbourPairs pairs) {
    pad(pairs.gap, pairs.count, 0.0);
    pad(pairs.cost, pairs.count, 0.0);
    Vec loss = {};
    for (int k = 0; k < pairs.count; k += LANES) {
        const Vec gap = load(pairs.gap + k), cost = load(pairs.cost + k);
        const Vec z = exp_clipped(-magnitude(gap)), inverse = 1.0 / (1.0 + z);
        const Mask right = gap > 0.0;
        loss += cost * (log_one_plus(z) + where(right, Vec{}, -gap));
        store(pairs.slope + k, cost * inverse * where(right, z, 1.0 + Vec{}));
        store(pairs.curvature + k, cost * z * inverse * inverse);
    }
    return sum(loss);
}

// What stands next to a document in a ranking.
struct Neighbours {
    int rank;          // number of documents above
    int above, below;  // of the next ones; -1 if there is none
    bool tied;         // whether another key is equal: then the rest is not known
};

// By looking at all keys, which are padded with -inf, twice.
SKRANK_CLONES static Neighbours neighbours_of(const double *key, int m, int document) {
    const double inf = std::numeric_limits<double>::infinity();
    const Vec own = key[document] + Vec{};
    Vec least = inf + Vec{}, most = -inf + Vec{};
    Mask n_above = {}, n_equal = {};
    for (int i = 0; i < m; i += LANES) {
        const Vec other = load(key + i);
        const Mask higher = other > own, lower = other < own;
        n_above -= higher;
        n_equal -= other == own;
        least = where(higher & (other < least), other, least);
        most = where(lower & (other > most), other, most);
    }
    double next_above = inf, next_below = -inf;
    int64_t rank = 0, equal = 0;
    for (int l = 0; l < LANES; l++) {
        next_above = least[l] < next_above ? least[l] : next_above;
        next_below = most[l] > next_below ? most[l] : next_below;
        rank += n_above[l];
        equal += n_equal[l];
    }
    Mask at = {0, 1, 2, 3}, above = {}, below = {}, n_above_equal = {}, n_below_equal = {};
    for (int i = 0; i < m; i += LANES) {
        const Vec other = load(key + i);
        const Mask is_above = other == next_above + Vec{};
        const Mask is_below = other == next_below + Vec{};
        above += at & is_above;
        below += at & is_below;
        n_above_equal -= is_above;
        n_below_equal -= is_below;
        at += LANES;
    }
    int64_t up = 0, down = 0, n_up = 0, n_down = 0;
    for (int l = 0; l < LANES; l++) {
        up += above[l], down += below[l];
        n_up += n_above_equal[l], n_down += n_below_equal[l];
    }
    Neighbours found = {static_cast<int>(rank), -1, -1, false};
    if (rank > 0) found.above = static_cast<int>(up);
    if (rank + equal < m) found.below = static_cast<int>(down);
    found.tied = equal != 1 || (rank > 0 && n_up != 1) || (found.below >= 0 && n_down != 1);
    return found;
}

// Up to so many documents that differ in grade from most others, and up to a quarter of
// all, it is faster to look for their neighbours than to sort.
constexpr int FEW_DOCUMENTS = 12;

// Lists the documents whose grade is not that of more than half of them; returns their
// number, or -1 if they are not few.
inline int few_documents(const double *grade, int m, int *few) {
    double common = grade[0];
    int votes = 0;
    for (int i = 0; i < m; i++) {
        if (votes == 0) common = grade[i];
        votes += grade[i] == common ? 1 : -1;
    }
    int n = 0;
    for (int i = 0; i < m; i++) {
        if (grade[i] == common) continue;
        if (n == FEW_DOCUMENTS || 4 * (n + 1) > m) return -1;
        few[n++] = i;
    }
    return n;
}

struct RankedDocument {
    int row;
    double grade, gain, score;
};

// Pairs of one query, of several rankings, that are gathered until they are looked at.
struct GatheredPairs {
    const double *score, *grade, *gain, *by_rank, *weight;  // weight may be null
    double share;
    double *gradient, *hessian;
    NeighbourPairs pairs;
    double total = 0.0;

    RankedDocument document(int row) const {
        return {row, grade[row], gain[row], score[row]};
    }

    // Without branches: which of the two is preferred is a matter of chance.
    void add(int rank, const RankedDocument &a, const RankedDocument &b) {
        const int right = a.grade > b.grade, rows[] = {b.row, a.row};
        const int p = rows[right], k = pairs.count;
        const double difference = std::fabs(a.gain - b.gain);
        const double cost = share * by_rank[rank] * difference;
        pairs.preferred[k] = p, pairs.other[k] = rows[1 - right];
        pairs.gap[k] = (2 * right - 1) * (a.score - b.score);
        pairs.cost[k] = weight ? cost * weight[p] : cost;
        pairs.count += difference != 0.0;  // else the next one takes its place
    }

    // Adds the losses and derivatives of the pairs, which are done then.
    void settle() {
        total += neighbour_terms(pairs);
        for (int k = 0; k < pairs.count; k++) {
            const int p = pairs.preferred[k], o = pairs.other[k];
            gradient[p] -= pairs.slope[k], gradient[o] += pairs.slope[k];
            hessian[p] += pairs.curvature[k], hessian[o] += pairs.curvature[k];
        }
        pairs.count = 0;
    }

    // The pairs of a ranking of `m` documents by their keys, found by looking for the
    // neighbours of some of them; returns false, and adds none, if others have their keys.
    bool add_neighbours(const double *key, int m, const int *few, int n_few) {
        const int earlier = pairs.count;
        for (int i = 0; i < n_few; i++) {
            const Neighbours next = neighbours_of(key, m, few[i]);
            if (next.tied) {  // its neighbours are no documents then
                pairs.count = earlier;
                return false;
            }
            const RankedDocument own = document(few[i]);
            if (next.below >= 0) add(next.rank, own, document(next.below));
            // A pair of two of the few is that of the upper one.
            const bool alone = next.above >= 0 &&
                               std::find(few, few + n_few, next.above) == few + n_few;
            if (alone) add(next.rank - 1, document(next.above), own);
        }
        return true;
    }

    void add_sorted(const int *order, int m) {
        RankedDocument upper = document(order[0]);
        for (int r = 0; r + 1 < m; r++) {
            const RankedDocument lower = document(order[r + 1]);
            add(r, upper, lower);
            upper = lower;
        }
    }
};

// Means over the rankings, times `scale`; queries of scale 0 are skipped. A pair has the
// weight of its preferred document. Derivatives are added to those that are there.
static void neighbour_losses(const Queries &queries, const double *scores,
                             const Perturbed &perturbed, const double *weight,
                             const double *scale, double *values, double *gradient,
                             double *hessian, int n_threads) {
    const Index longest = std::max<Index>(queries.longest(), PAIRS_AT_ONCE);
    const Room room = {longest + PADDING, 6 + SORT_WORK_DOUBLES, 3};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        if (q.size < 2 || scale[q.number] == 0.0) return;
        const double *x = scores + q.start, *grade = perturbed.grade + q.start;
        double *key = scratch.array(0), *sorted = scratch.array(1);
        int *order = scratch.indices(0);
        GatheredPairs gathered = {
            x, grade, perturbed.gain + q.start, perturbed.by_rank,
            weight ? weight + q.start : nullptr,
            scale[q.number] / perturbed.n_rankings,
            gradient + q.start, hessian + q.start,
            {scratch.array(2), scratch.array(3), scratch.array(4), scratch.array(5),
             scratch.indices(1), scratch.indices(2), 0}};
        int few[FEW_DOCUMENTS];
        const int n_few = few_documents(grade, q.size, few);
        const int most = std::max<int>(q.size, PAIRS_AT_ONCE);
        for (int t = 0; t < perturbed.n_rankings; t++) {
            if (scratch.spend(40 * (int64_t)q.size)) break;
            const double *noise = perturbed.noise + t * perturbed.stride + q.start;
            for (int i = 0; i < q.size; i++) key[i] = x[i] + noise[i];
            pad(key, q.size, -std::numeric_limits<double>::infinity());
            if (gathered.pairs.count + q.size > most) gathered.settle();
            if (n_few >= 0 && gathered.add_neighbours(key, q.size, few, n_few)) continue;
            sort_descending(key, q.size, scratch.array(6), sorted, order);
            gathered.add_sorted(order, q.size);
        }
        gathered.settle();
        values[q.number] = gathered.total;
    });
}

}  // namespace skrank
