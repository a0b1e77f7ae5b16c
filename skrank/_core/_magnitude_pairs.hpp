// Misordered preference pairs by the magnitude of their error, documents in the order of
// their grades.
#pragma once

#include "_graded_queries.hpp"
#include "_hinge_pairs.hpp"
#include "_sort.hpp"

namespace skrank {

// Adds (d[j] - d[i])^p, p = 1 or 2, for all pairs (i, j), j >= lower[i], with x[i] < x[j];
// d holds residuals, scores minus grades, so that d[i] < d[j] for all of these. As for
// hinges, documents are visited by score and gathered in sums by grade level.
template <bool Squared>
static double misordered_body(const double *x, const double *d, const int *by_score,
                              const int *level, int n_levels, const double *weight,
                              int m, Moments *memory, double *grad) {
    const double centre = d[by_score[m / 2]];  // sums of squares stay small
    double loss = 0.0;
    LevelSums worse(memory, n_levels);
    for (int r = 0, next = 0; r < m; r++) {
        const int i = by_score[r];
        for (; next < m && x[by_score[next]] > x[i]; next++) {
            const int j = by_score[next];
            worse.add(n_levels - 1 - level[j], 1.0, d[j] - centre);
        }
        const Moments s = worse.below(n_levels - 1 - level[i]);
        const double w = weight ? weight[i] : 1.0, own = d[i] - centre;
        const double sum = s.first - s.weight * own;
        loss += w * (Squared ? s.second - own * (s.first + sum) : sum);
        grad[i] -= w * (Squared ? 2.0 * sum : s.weight);
    }
    LevelSums better(memory, n_levels);
    for (int r = m - 1, next = m - 1; r >= 0; r--) {
        const int j = by_score[r];
        for (; next >= 0 && x[by_score[next]] < x[j]; next--) {
            const int i = by_score[next];
            better.add(level[i], weight ? weight[i] : 1.0, d[i] - centre);
        }
        const Moments s = better.below(level[j]);
        const double own = d[j] - centre;
        grad[j] += Squared ? 2.0 * (s.weight * own - s.first) : s.weight;
    }
    return loss;
}

// Adds (d[j] - d[i])^2 for all pairs (i, j), j >= lower[i], by sums over whole grades.
static double squared_differences(const double *d, const int *lower,
                                  const double *weight, int m, double *grad) {
    double centre = 0.0, loss = 0.0;  // sums of squares stay small around the mean
    for (int i = 0; i < m; i++) centre += d[i] / m;
    Moments worse;
    for (int i = m - 1, next = m; i >= 0; i--) {
        while (next > lower[i]) {
            const double other = d[--next] - centre;
            worse.weight += 1.0;
            worse.first += other;
            worse.second += other * other;
        }
        const double w = weight ? weight[i] : 1.0, own = d[i] - centre;
        const double sum = worse.first - worse.weight * own;
        loss += w * (worse.second - own * (worse.first + sum));
        grad[i] -= 2.0 * w * sum;
    }
    Moments better;
    for (int j = 0, next = 0; j < m; j++) {
        for (; lower[next] <= j; next++) {
            const double w = weight ? weight[next] : 1.0;
            better.weight += w;
            better.first += w * (d[next] - centre);
        }
        grad[j] += 2.0 * (better.weight * (d[j] - centre) - better.first);
    }
    return loss;
}

static void squared_difference_losses(const GradedQueries &queries,
                                      const double *residuals, double *values,
                                      double *gradient, int n_threads) {
    sum_graded_losses(queries, residuals, 1.0, 0, n_threads, values, gradient,
                      [=](const GradedQuery &q, Scratch &) {
                          return squared_differences(q.x, q.lower, q.weight, q.size,
                                                     q.gradient);
                      });
}

static void misordered_losses(const GradedQueries &queries, const double *scores,
                              const double *residuals, bool squared, double *values,
                              double *gradient, int n_threads) {
    static_assert(sizeof(Moments) == 3 * sizeof(double), "sums must fit the work space");
    constexpr int n_arrays = SORT_WORK_DOUBLES + 2, n_index_arrays = 2;
    sum_graded_losses(
        queries, scores, 1.0, n_arrays, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            const int m = q.size;
            double *work = scratch.array(0), *d = scratch.array(SORT_WORK_DOUBLES + 1);
            int *level = scratch.indices(0), *by_score = level + m;
            gather(residuals + q.start, q.order, m, 1.0, d);
            const int n_levels = number_levels(q.lower, m, level);
            sort_descending(q.x, m, work, work + SORT_WORK_DOUBLES * m, by_score);
            // What the sort left in `work` is not needed any more.
            Moments *memory = reinterpret_cast<Moments *>(work);
            return squared ? misordered_body<true>(q.x, d, by_score, level, n_levels,
                                                   q.weight, m, memory, q.gradient)
                           : misordered_body<false>(q.x, d, by_score, level, n_levels,
                                                    q.weight, m, memory, q.gradient);
        },
        n_index_arrays);
}

}  // namespace skrank
