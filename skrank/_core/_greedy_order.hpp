// The greedy order of Cohen, Schapire and Singer: documents by their preferences.
#pragma once

#include <algorithm>

#include "_for_each_query.hpp"

namespace skrank {

// Scores of the voters, `n_voters` numbers for each row, and what each voter weighs.
struct Voters {
    const double *scores, *weight;
    int count;
};

// Adds sign(mine - theirs[u]) * weight to sum[u] of m documents.
inline void add_signs(const double *theirs, double mine, double weight, int m,
                      double *sum) {
    for (int u = 0; u < m; u++)
        sum[u] += weight * ((mine > theirs[u] ? 1.0 : 0.0) - (mine < theirs[u] ? 1.0 : 0.0));
}

// rank[i] is the place of row i in its query, from 1. The best potential, the preference
// for a document over all those that are left less that for them over it, takes the next
// place; of equal potentials the first row does.
static void greedy_ranks(const Queries &queries, const Voters &voters, double *rank,
                         int n_threads) {
    const int n = voters.count;
    const Room room = {queries.longest(), n + 1, 1};
    for_each_query(
        queries, HEAVY_CHUNK, n_threads, room, [&](Query q, Scratch &scratch) {
            const int m = q.size;
            const double *rows = voters.scores + q.start * n;
            double *potential = scratch.array(n);
            int *left = scratch.indices(0);
            for (int u = 0; u < m; u++) {
                left[u] = u;
                potential[u] = 0.0;
                for (int t = 0; t < n; t++) scratch.array(t)[u] = rows[u * (Index)n + t];
            }
            for (int v = 0; v < m; v++) {
                if (scratch.spend((int64_t)m * n)) return;
                for (int t = 0; t < n; t++) {
                    const double *x = scratch.array(t);
                    add_signs(x, x[v], -voters.weight[t], m, potential);
                }
            }
            for (int place = 1, rest = m; rest > 0; place++, rest--) {
                if (scratch.spend((int64_t)rest * n)) return;
                const int best = static_cast<int>(
                    std::max_element(potential, potential + rest) - potential);
                rank[q.start + left[best]] = place;
                // All that are left lose the preference for or against this document.
                for (int t = 0; t < n; t++) {
                    double *x = scratch.array(t);
                    const double mine = x[best];
                    std::copy(x + best + 1, x + rest, x + best);
                    if (t == 0) {
                        std::copy(left + best + 1, left + rest, left + best);
                        std::copy(potential + best + 1, potential + rest, potential + best);
                    }
                    add_signs(x, mine, voters.weight[t], rest - 1, potential);
                }
                if (n == 0) {  // no voter: the order of the rows
                    std::copy(left + best + 1, left + rest, left + best);
                    std::copy(potential + best + 1, potential + rest, potential + best);
                }
            }
        });
}

}  // namespace skrank
