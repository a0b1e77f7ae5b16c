// Rank samples of a query and their Boltzmann distribution.
//
// The energy of a ranking is linear in the scores, sum_j c(r_j) s_j, with a table c that
// depends on the length of the query alone. Documents of a query stand in the order of
// the rows; `order` lists them from the best grade to the worst.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "_for_each_query.hpp"
#include "_simd.hpp"

namespace skrank {

// SplitMix64 [Steele2014]: one word of state, any seed is good.
struct SplitMix {
    uint64_t state;

    static uint64_t mixed(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    uint64_t next() { return mixed(state += 0x9e3779b97f4a7c15ULL); }
    // Uniform in 0 ... n - 1, up to a bias of n / 2^32.
    int below(int n) { return (int)(((next() >> 32) * (uint64_t)n) >> 32); }
};

// The draws of a query depend on the seed and on its grades, not on other queries.
static SplitMix query_generator(uint64_t seed, const double *y, const int *order,
                                int m) {
    SplitMix rng{seed};
    for (int p = 0; p < m; p++) {
        uint64_t bits;
        const double grade = y[order[p]] + 0.0;  // one kind of zero
        std::memcpy(&bits, &grade, sizeof bits);
        rng.state = SplitMix::mixed(rng.state ^ bits) + 0x9e3779b97f4a7c15ULL;
    }
    return rng;
}

// Grades of one query as levels, 0 for the best; level a is positions
// first[a] ... first[a + 1] - 1 of `order`.
struct Levels {
    int count;
    int *first;

    int size(int a) const { return first[a + 1] - first[a]; }
};

static Levels find_levels(const int *lower, int m, int *first) {
    int count = 0;
    for (int p = 0; p < m; p = lower[p]) first[count++] = p;
    first[count] = m;
    return {count, first};
}

// Exchange the levels of some documents of level a with as many of level b.
static void swap_subsets(SplitMix &rng, const Levels &levels, int a, int b, int *members,
                         int *level) {
    const int n = 1 + rng.below(std::min(levels.size(a), levels.size(b)));
    for (int side = 0; side < 2; side++) {
        const int from = side ? b : a, to = side ? a : b;
        int *group = members + levels.first[from];
        for (int i = 0; i < n; i++) {
            std::swap(group[i], group[i + rng.below(levels.size(from) - i)]);
            level[group[i]] = to;
        }
    }
}

// Sort positions by level, documents of one level in random order.
template <class Place>
static void place_by_level(SplitMix &rng, const Levels &levels, const int *level,
                           const int *order, int m, int *shuffled, int *next,
                           Place *place) {
    for (int p = m - 1; p > 0; p--) std::swap(shuffled[p], shuffled[rng.below(p + 1)]);
    std::copy(levels.first, levels.first + levels.count, next);
    for (int p = 0; p < m; p++) {
        const int i = shuffled[p];
        place[order[i]] = (Place)next[level[i]]++;
    }
}

// Sample i is the ranking by the grades for i = 0, then: the best two grades swapped in
// part (up to 35 % of the samples), two neighbouring lower grades (up to 55 %), the best
// and the worst grade (half of the rest), any permutation (the other half).
// `work` has 5 m + 2 numbers.
template <class Place>
static void draw_samples(SplitMix rng, const int *order, const int *lower, int m,
                         int n_samples, int *work, Place *places, Scratch &scratch) {
    int *level = work, *members = work + m, *shuffled = work + 2 * m;
    int *next = work + 3 * m;
    const Levels levels = find_levels(lower, m, work + 4 * m);
    const int last = levels.count - 1;
    for (int p = 0; p < m; p++) members[p] = shuffled[p] = p;
    for (int i = 0; i < n_samples && !scratch.spend((int64_t)8 * m); i++) {
        for (int a = 0; a <= last; a++)
            std::fill(level + levels.first[a], level + levels.first[a + 1], a);
        const double share = (double)i / n_samples;
        if (i > 0 && last > 0) {
            if (share < 0.35) {
                swap_subsets(rng, levels, 0, 1, members, level);
            } else if (share < 0.55) {
                const int upper = last == 1 ? 0 : 1 + rng.below(last - 1);
                swap_subsets(rng, levels, upper, upper + 1, members, level);
            } else if (share < 0.775) {
                swap_subsets(rng, levels, 0, last, members, level);
            } else {
                for (int p = m - 1; p > 0; p--)
                    std::swap(level[p], level[rng.below(p + 1)]);
            }
        }
        place_by_level(rng, levels, level, order, m, shuffled, next,
                       places + (int64_t)i * m);
    }
}

template <class Place>
SKRANK_INLINE Vec look_up(const double *table, const Place *place) {
    return Vec{table[place[0]], table[place[1]], table[place[2]], table[place[3]]};
}

template <class Place>
SKRANK_INLINE double energy_body(const double *s, const double *table,
                                 const Place *place, int m) {
    Vec total = {};
    double rest = 0.0;
    int j = 0;
    for (; j + LANES <= m; j += LANES)
        total += look_up(table, place + j) * load(s + j);
    for (; j < m; j++) rest += table[place[j]] * s[j];
    return sum(total) + rest;
}

// Energies of all samples of a query.
template <class Place>
static void sample_energies(const double *s, const double *table, const Place *places,
                            int m, int n_samples, double *energy, Scratch &scratch) {
    for (int i = 0; i < n_samples && !scratch.spend(m); i++)
        energy[i] = energy_body(s, table, places + (int64_t)i * m, m);
}

// grad_j = sum_i slope_i c(r_ij).
template <class Place>
static void pull_energies(const double *slope, const double *table, const Place *places,
                          int m, int n_samples, double *grad, Scratch &scratch) {
    std::fill(grad, grad + m, 0.0);
    for (int i = 0; i < n_samples && !scratch.spend(m); i++) {
        const Place *place = places + (int64_t)i * m;
        const double w = slope[i];
        int j = 0;
        for (; j + LANES <= m; j += LANES)
            store(grad + j, load(grad + j) + w * look_up(table, place + j));
        for (; j < m; j++) grad[j] += w * table[place[j]];
    }
}

// -(mix * expected gain - (1 - mix) * cross entropy) under p = softmax(-energy);
// energies are replaced by the derivatives with respect to them. `p` has n numbers.
static double boltzmann_value(double *energy, const double *gain, const double *target,
                              double mix, int n, double *p) {
    // Relative to the lowest energy, no exponential overflows and one of them is 1.
    double lowest = energy[0], z = 0.0, expected = 0.0, cross = 0.0;
    for (int i = 1; i < n; i++) lowest = std::min(lowest, energy[i]);
    for (int i = 0; i < n; i++) {
        p[i] = std::exp(lowest - energy[i]);
        z += p[i];
        cross += target[i] * (energy[i] - lowest);
    }
    cross += std::log(z);
    for (int i = 0; i < n; i++) {
        p[i] /= z;
        expected += p[i] * gain[i];
    }
    for (int i = 0; i < n; i++)
        energy[i] = mix * p[i] * (gain[i] - expected) + (1.0 - mix) * (target[i] - p[i]);
    return (1.0 - mix) * cross - mix * expected;
}

// The rankings of all queries: `n` per query, from places[start[q]] on, and what a unit
// of score adds to the energy in each place, from table[table_start[q]] on.
template <class Place>
struct RankSamples {
    const Index *start;
    const Place *places;
    const double *table;
    const Index *table_start;
    int n;

    const Place *places_of(const Query &q) const { return places + start[q.number]; }
    const double *table_of(const Query &q) const { return table + table_start[q.number]; }
};

constexpr int SAMPLES_CHUNK = 8;  // queries have many samples each

template <class Place>
static void draw_all_samples(const Queries &queries, const double *y, const int *order,
                             const int *lower, const Index *start, int n_samples,
                             uint64_t seed, Place *places, int n_threads) {
    const Room room = {5 * queries.longest() + 2, 0, 1};
    for_each_query(queries, SAMPLES_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const int *own = order + q.start;
        draw_samples(query_generator(seed, y + q.start, own, q.size), own, lower + q.start,
                     q.size, n_samples, scratch.indices(0), places + start[q.number], scratch);
    });
}

template <class Place>
static void all_sample_energies(const Queries &queries, const double *scores,
                                const RankSamples<Place> &samples, double *energy,
                                int n_threads) {
    for_each_query(queries, SAMPLES_CHUNK, n_threads, {}, [=](Query q, Scratch &scratch) {
        sample_energies(scores + q.start, samples.table_of(q), samples.places_of(q),
                        q.size, samples.n, energy + q.number * samples.n, scratch);
    });
}

// Queries of weight 0 are skipped: their places in `values` and `gradient` stay as they
// are. `gain` and `target` have one number per sample.
template <class Place>
static void boltzmann_losses(const Queries &queries, const double *scores,
                             const RankSamples<Place> &samples, const double *gain,
                             const double *target, const double *query_weight, double mix,
                             double *values, double *gradient, int n_threads) {
    const Room room = {samples.n, 2};
    for_each_query(queries, SAMPLES_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const double w = query_weight[q.number];
        if (w == 0.0) return;
        const Index first = q.number * samples.n;
        double *energy = scratch.array(0), *slope = energy;
        sample_energies(scores + q.start, samples.table_of(q), samples.places_of(q),
                        q.size, samples.n, energy, scratch);
        values[q.number] = w * boltzmann_value(energy, gain + first, target + first, mix,
                                               samples.n, scratch.array(1));
        for (int i = 0; i < samples.n; i++) slope[i] = w * energy[i];
        pull_energies(slope, samples.table_of(q), samples.places_of(q), q.size, samples.n,
                      gradient + q.start, scratch);
    });
}

}  // namespace skrank
