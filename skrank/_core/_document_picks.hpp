// Documents picked one after the other: by what systems would gain or lose by their grade,
// by a mixture of systems that have been right so far, and by the pairs that they close.
//
// Systems are columns of a table of ranks from 1, in the order of the rows of a query;
// infinity stands for what a system did not retrieve. `pick` becomes the place of a
// document in the order of picks, or -1. Of equally good documents the first row is taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "_for_each_query.hpp"

namespace skrank {

// Whether a number is above another by more than the rounding of sums over systems, in
// whose order equal documents differ.
inline bool above(double a, double b) {
    return a > b + 1e-12 * (1.0 + std::abs(b));
}

// What a selector that asks for grades one by one has to go by.
struct Ranked {
    const double *ranks;     // of shape (n_documents, n_systems)
    const double *relevant;  // 1 or 0 for each document
    const int *wanted;       // number of documents to pick from each query
    int n_systems;

    bool retrieved(Index row) const {
        const double *own = ranks + row * n_systems;
        return std::any_of(own, own + n_systems, [](double r) { return std::isfinite(r); });
    }
};

// H[k] = 1 + 1/2 + ... + 1/k.
inline std::vector<double> harmonic_numbers(Index longest) {
    std::vector<double> sums(longest + 1, 0.0);
    for (Index k = 1; k <= longest; k++) sums[k] = sums[k - 1] + 1.0 / k;
    return sums;
}

// The number of documents of a query that a system retrieved.
inline int depth_of(const Ranked &ranked, const Query &query, int s) {
    int depth = 0;
    for (int i = 0; i < query.size; i++) {
        depth += std::isfinite(ranked.ranks[(query.start + i) * ranked.n_systems + s]);
    }
    return depth;
}

// The sum of |a - b| over all pairs of n numbers, which are sorted.
inline double spread(double *x, int n) {
    std::sort(x, x + n);
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += (2.0 * k - n + 1) * x[k];
    return sum;
}

// Minimal test collections. With a_ij = 1 / max(r_i, r_j), the sum precision of a system is
// the sum of a_ij x_i x_j over i <= j, and h_i the derivative of its expected value by the
// probability x_i that document i is relevant. The grade of i changes the difference of
// two systems by as much as their h_i differ.
inline void pick_by_difference(const Queries &queries, const Ranked &ranked, double prior,
                               int *pick, int n_threads) {
    const Index longest = queries.longest(), n_systems = ranked.n_systems;
    const std::vector<double> harmonic = harmonic_numbers(longest);
    const auto body = [&](const Query &query, Scratch &scratch) {
        const int m = query.size;
        const double *ranks = ranked.ranks + query.start * n_systems;
        double *inverse = scratch.array(0), *slope = inverse + longest * n_systems;
        double *sorted = slope + longest * n_systems, *mean = sorted + n_systems;
        int *picked = pick + query.start;
        for (Index s = 0; s < n_systems; s++) {
            const int depth = depth_of(ranked, query, static_cast<int>(s));
            for (int i = 0; i < m; i++) {
                const double rank = ranks[i * n_systems + s];
                const bool found = std::isfinite(rank);
                inverse[i * n_systems + s] = found ? 1.0 / rank : 0.0;
                // The ranks above have 1 / rank in common with it, those below their own.
                slope[i * n_systems + s] =
                    found ? 1.0 / rank + prior * (1.0 - 1.0 / rank + harmonic[depth] -
                                                  harmonic[static_cast<int>(rank)])
                          : 0.0;
            }
        }
        for (int i = 0; i < m; i++) {
            mean[i] = 0.0;
            for (Index s = 0; s < n_systems; s++) mean[i] += inverse[i * n_systems + s];
        }
        for (int place = 0; place < ranked.wanted[query.number]; place++) {
            if (scratch.spend(10 * m * n_systems)) return;
            int best = -1;
            double most = -1.0;
            for (int i = 0; i < m; i++) {
                if (picked[i] >= 0 || mean[i] == 0.0) continue;
                std::copy_n(slope + i * n_systems, n_systems, sorted);
                const double weight = spread(sorted, static_cast<int>(n_systems));
                const bool no_less = !above(most, weight);
                if (above(weight, most) || (no_less && above(mean[i], mean[best]))) {
                    most = weight;
                    best = i;
                }
            }
            if (best < 0) break;
            picked[best] = place;
            const double change = ranked.relevant[query.start + best] - prior;
            const double *own = inverse + best * n_systems;
            for (Index e = 0; e < m * n_systems; e += n_systems) {
                for (Index s = 0; s < n_systems; s++) {
                    slope[e + s] += change * std::min(inverse[e + s], own[s]);
                }
            }
        }
    };
    const Room room{2 * longest * n_systems + n_systems + longest, 1, 0};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, body);
}

// Hedge: each system vouches for a document with (1/2)(1/r + ... + 1/Z), which it gains if
// the document is relevant, and loses otherwise.
inline void pick_by_mixture(const Queries &queries, const Ranked &ranked, double log_beta,
                            int *pick, int n_threads) {
    const Index longest = queries.longest(), n_systems = ranked.n_systems;
    const std::vector<double> harmonic = harmonic_numbers(longest);
    const auto body = [&](const Query &query, Scratch &scratch) {
        const int m = query.size;
        const double *ranks = ranked.ranks + query.start * n_systems;
        double *vouched = scratch.array(0), *log_weight = vouched + longest * n_systems;
        double *weight = log_weight + n_systems;
        int *picked = pick + query.start;
        for (Index s = 0; s < n_systems; s++) {
            const int depth = depth_of(ranked, query, static_cast<int>(s));
            for (int i = 0; i < m; i++) {
                const double rank = ranks[i * n_systems + s];
                vouched[i * n_systems + s] =
                    std::isfinite(rank)
                        ? 0.5 * (harmonic[depth] - harmonic[static_cast<int>(rank) - 1])
                        : 0.0;
            }
        }
        std::fill_n(log_weight, n_systems, 0.0);
        for (int place = 0; place < ranked.wanted[query.number]; place++) {
            if (scratch.spend(2 * m * n_systems + 20 * n_systems)) return;
            const double largest = *std::max_element(log_weight, log_weight + n_systems);
            for (Index s = 0; s < n_systems; s++) {
                weight[s] = std::exp(log_weight[s] - largest);
            }
            int best = -1;
            double most = -1.0;
            for (int i = 0; i < m; i++) {
                if (picked[i] >= 0 || !ranked.retrieved(query.start + i)) continue;
                double sum = 0.0;
                for (Index s = 0; s < n_systems; s++) {
                    sum += weight[s] * vouched[i * n_systems + s];
                }
                if (above(sum, most)) {
                    most = sum;
                    best = i;
                }
            }
            if (best < 0) break;
            picked[best] = place;
            const double sign = ranked.relevant[query.start + best] > 0 ? -1.0 : 1.0;
            for (Index s = 0; s < n_systems; s++) {
                log_weight[s] += sign * log_beta * vouched[best * n_systems + s];
            }
        }
    };
    const Room room{longest * n_systems + 2 * n_systems, 1, 0};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, body);
}

// The pairs of a query whose first document has the better grade and a score that is above
// that of the second, or below it by less than `slack`.
struct KeptPairs {
    const double *y, *scores, *slack;

    bool holds(const Query &query, int u, int v) const {
        const Index i = query.start + u, j = query.start + v;
        return y[i] > y[j] && scores[i] - scores[j] + slack[query.number] > 0.0;
    }
};

// Sums of x over the documents that each document precedes, and that precede it.
inline void sums_over_pairs(const Queries &queries, const KeptPairs &pairs, const double *x,
                            double *below, double *above, int n_threads) {
    for_each_query(queries, PAIR_CHUNK, n_threads, {}, [&](const Query &query, Scratch &scratch) {
        for (int u = 0; u < query.size; u++) {
            if (scratch.spend(query.size)) return;
            double sum = 0.0;
            for (int v = 0; v < query.size; v++) {
                if (!pairs.holds(query, u, v)) continue;
                sum += x[query.start + v];
                above[query.start + v] += x[query.start + u];
            }
            below[query.start + u] = sum;
        }
    });
}

// Writes the rows of the pairs of query q from place start[q] on.
inline void list_pairs(const Queries &queries, const KeptPairs &pairs, const Index *start,
                       Index *rows, int n_threads) {
    for_each_query(queries, PAIR_CHUNK, n_threads, {}, [&](const Query &query, Scratch &scratch) {
        Index place = start[query.number];
        for (int u = 0; u < query.size; u++) {
            if (scratch.spend(query.size)) return;
            for (int v = 0; v < query.size; v++) {
                if (!pairs.holds(query, u, v) || place == start[query.number + 1]) continue;
                rows[2 * place] = query.start + u;
                rows[2 * place + 1] = query.start + v;
                place++;
            }
        }
    });
}

// Picks the document with the most pairs to those picked before; of several, the one of
// the greatest `value`.
inline void pick_by_pairs(const Queries &queries, const KeptPairs &pairs, const double *value,
                          const int *wanted, int *pick, int n_threads) {
    const auto body = [&](const Query &query, Scratch &scratch) {
        int *closed = scratch.indices(0), *picked = pick + query.start;
        const double *own = value + query.start;
        std::fill_n(closed, query.size, 0);
        const int n = std::min(wanted[query.number], query.size);
        for (int place = 0; place < n; place++) {
            if (scratch.spend(4 * query.size)) return;
            int best = -1;
            for (int i = 0; i < query.size; i++) {
                if (picked[i] >= 0) continue;
                if (best < 0 || closed[i] > closed[best] ||
                    (closed[i] == closed[best] && own[i] > own[best])) {
                    best = i;
                }
            }
            picked[best] = place;
            for (int i = 0; i < query.size; i++) {
                closed[i] += pairs.holds(query, best, i) || pairs.holds(query, i, best);
            }
        }
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{queries.longest(), 0, 1}, body);
}

}  // namespace skrank
