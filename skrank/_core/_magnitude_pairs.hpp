// Misordered preference pairs by the magnitude of their error, documents in the order of
// their grades.
#pragma once

#include "_graded_queries.hpp"
#include "_hinge_pairs.hpp"
#include "_sort.hpp"

namespace skrank {

// Adds (d[j] - d[i])^p, p = 1 or 2, for all pairs (i, j), j >= lower[i], with x[i] < x[j];
// d holds residuals, scores minus grades, so that d[i] < d[j] for all of these.
template <bool Squared>
SKRANK_INLINE double misordered_direct_body(double *x, const double *d, const int *lower,
                                            const double *weight, int m, double *grad) {
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    double loss = 0.0;
    pad(x, m, -INFINITE);
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double w = weight ? weight[i] : 1.0;
        Vec row_loss = {}, row_slope = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Mask active = load(x + j) > x[i];
            const Vec error = where(active, load(d + j) - d[i], Vec{});
            const Vec slope = Squared ? error + error : where(active, one, Vec{});
            row_loss += Squared ? error * error : error;
            row_slope += slope;
            store(grad + j, load(grad + j) + w * slope);
        }
        grad[i] -= w * sum(row_slope);
        loss += w * sum(row_loss);
    }
    return loss;
}

SKRANK_CLONES
static double misordered_direct(double *x, const double *d, const int *lower,
                                const double *weight, int m, bool squared,
                                double *grad) {
    return squared ? misordered_direct_body<true>(x, d, lower, weight, m, grad)
                   : misordered_direct_body<false>(x, d, lower, weight, m, grad);
}

// The same in O(m log m): as for hinges, documents are visited by score and gathered in
// sums by grade level.
template <bool Squared>
static double misordered_body(const double *x, const double *d, const int *by_score,
                              const int *level, int n_levels, const double *weight,
                              int m, LevelSums &sums, double *grad) {
    constexpr int power = Squared ? 2 : 1;
    double loss = 0.0;
    sums.clear();
    for (int r = 0, next = 0; r < m; r++) {
        const int i = by_score[r];
        for (; next < m && x[by_score[next]] > x[i]; next++) {
            const int j = by_score[next];
            sums.add<power>(n_levels - 1 - level[j], 1.0, d[j]);
        }
        const Totals worse = sums.below<power>(
            n_levels - 1 - level[i], [=](double lowest) { return lowest - d[i]; });
        const double w = weight ? weight[i] : 1.0;
        loss += w * worse.of[power];
        grad[i] -= power * w * worse.of[power - 1];
    }
    sums.clear();
    for (int r = m - 1, next = m - 1; r >= 0; r--) {
        const int j = by_score[r];
        for (; next >= 0 && x[by_score[next]] < x[j]; next--) {
            const int i = by_score[next];
            sums.add<power - 1>(level[i], weight ? weight[i] : 1.0, -d[i]);
        }
        const Totals better = sums.below<power - 1>(
            level[j], [=](double lowest) { return lowest + d[j]; });
        grad[j] += power * better.of[power - 1];
    }
    return loss;
}

// Mean over the documents that a pair with a weight has. Sums of squares stay small around
// it, and a document that is in no such pair, however far away, costs them no digit.
static double mean_in_pairs(const double *d, const int *lower, const double *weight,
                            int m) {
    double sum = 0.0;
    int count = 0, reached = m;  // worse documents of a pair begin there
    for (int i = 0; i < m; i++) {
        const bool preferred = lower[i] < m && (!weight || weight[i] > 0.0);
        if (preferred && reached == m) reached = lower[i];
        if (!preferred && i < reached) continue;
        sum += d[i] / m;
        count++;
    }
    return count ? sum / count * m : 0.0;
}

// Adds (d[j] - d[i])^2 for all pairs (i, j), j >= lower[i], by sums over whole grades.
static double squared_differences(const double *d, const int *lower,
                                  const double *weight, int m, double *grad) {
    const double centre = mean_in_pairs(d, lower, weight, m);
    double loss = 0.0;
    double first = 0.0, second = 0.0;  // of the worse documents
    for (int i = m - 1, next = m; i >= 0; i--) {
        while (next > lower[i]) {
            const double other = d[--next] - centre;
            first += other;
            second += other * other;
        }
        const double w = weight ? weight[i] : 1.0, own = d[i] - centre;
        if (w == 0.0) continue;
        const double sum = first - (m - next) * own;
        loss += w * (second - own * (first + sum));
        grad[i] -= 2.0 * w * sum;
    }
    double total = 0.0, better = 0.0;  // weights, and their sum with the residuals
    for (int j = 0, next = 0; j < m; j++) {
        for (; lower[next] <= j; next++) {
            const double w = weight ? weight[next] : 1.0;
            if (w == 0.0) continue;
            total += w;
            better += w * (d[next] - centre);
        }
        if (total > 0.0) grad[j] += 2.0 * (total * (d[j] - centre) - better);
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
    constexpr int n_arrays = LevelSums::ROOM + 2, n_index_arrays = 2;
    sum_graded_losses(
        queries, scores, 1.0, n_arrays, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            const int m = q.size;
            double *work = scratch.array(0), *sorted = scratch.array(LevelSums::ROOM);
            double *d = scratch.array(LevelSums::ROOM + 1);
            int *level = scratch.indices(0), *by_score = level + m;
            gather(residuals + q.start, q.order, m, 1.0, d);
            if (m <= DIRECT_SIZE)
                return misordered_direct(q.x, d, q.lower, q.weight, m, squared,
                                         q.gradient);
            const int n_levels = number_levels(q.lower, m, level);
            sort_descending(q.x, m, work, sorted, by_score);
            // What the sort left in `work` is not needed any more.
            LevelSums sums(work, n_levels);
            return squared ? misordered_body<true>(q.x, d, by_score, level, n_levels,
                                                   q.weight, m, sums, q.gradient)
                           : misordered_body<false>(q.x, d, by_score, level, n_levels,
                                                    q.weight, m, sums, q.gradient);
        },
        n_index_arrays);
}

}  // namespace skrank
