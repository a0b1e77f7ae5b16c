// Hinge losses of preference pairs, documents in the order of their grades.
#pragma once

#include "_graded_queries.hpp"
#include "_sort.hpp"

namespace skrank {

// Up to this many documents all pairs, in wide registers, are faster than sorting.
constexpr int DIRECT_SIZE = 256;
// Beyond this ratio of scores to margin, sums by level lose the digits of the margin.
constexpr double DIRECT_RANGE = 1e8;

// Pairs (i, j), j >= lower[i], of documents in order of grade: adds
// max(0, margin - (x[i] - x[j])), squared or not; `hess` is null without Hessian.
template <bool Squared, bool Hessian = false>
SKRANK_INLINE double hinge_direct_body(double *x, const int *lower,
                                       const double *weight, int m, double margin,
                                       double *grad, double *hess = nullptr) {
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    double loss = 0.0;
    pad(x, m, -INFINITE);
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double x_i = x[i], w = weight ? weight[i] : 1.0;
        Vec row_loss = {}, slope = {}, curvature = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec gap = (load(x + j) - x_i) + margin;
            const Mask active = gap > 0.0;
            const Vec slack = where(active, gap, Vec{});
            const Vec pull = Squared ? slack + slack : where(active, one, Vec{});
            row_loss += Squared ? slack * slack : slack;
            slope += pull;
            store(grad + j, load(grad + j) + w * pull);
            if (Hessian) {
                const Vec bend = where(active, one + one, Vec{});
                curvature += bend;
                store(hess + j, load(hess + j) + w * bend);
            }
        }
        grad[i] -= w * sum(slope);
        if (Hessian) hess[i] += w * sum(curvature);
        loss += w * sum(row_loss);
    }
    return loss;
}

SKRANK_CLONES
static double hinge_direct(double *x, const int *lower, const double *weight,
                           int m, double margin, double *grad) {
    return hinge_direct_body<false>(x, lower, weight, m, margin, grad);
}

SKRANK_CLONES
static double squared_hinge_direct(double *x, const int *lower,
                                   const double *weight, int m, double margin,
                                   double *grad) {
    return hinge_direct_body<true>(x, lower, weight, m, margin, grad);
}

SKRANK_CLONES
static double squared_hinge_hessian_direct(double *x, const int *lower,
                                           const double *weight, int m, double margin,
                                           double *grad, double *hess) {
    return hinge_direct_body<true, true>(x, lower, weight, m, margin, grad, hess);
}

struct Moments {
    double weight = 0.0, first = 0.0, second = 0.0;
};

// Prefix sums over grade levels 0 .. n - 1 that take O(log n) to extend and to read.
// Nothing is ever subtracted, so a sum holds no trace of documents outside it.
class LevelSums {
    Moments *nodes;
    int n;

  public:
    LevelSums(Moments *memory, int n_levels) : nodes(memory), n(n_levels) {
        for (int i = 0; i <= n; i++) nodes[i] = Moments();
    }
    void add(int level, double weight, double x) {
        const double first = weight * x, second = first * x;
        for (int i = level + 1; i <= n; i += i & -i) {
            nodes[i].weight += weight;
            nodes[i].first += first;
            nodes[i].second += second;
        }
    }
    Moments below(int level) const {
        Moments sum;
        for (int i = level; i > 0; i -= i & -i) {
            sum.weight += nodes[i].weight;
            sum.first += nodes[i].first;
            sum.second += nodes[i].second;
        }
        return sum;
    }
};

// The same in O(m log m): documents are visited by score, and the documents that violate
// the margin against the visited one are kept in sums by grade level. `x` is in order of
// grade, `by_score` its order by score, `level` numbers the grades from the best (0).
// The first pass adds the losses and the slopes of the preferred documents, the second
// one, from the other end, the slopes of the other documents.
template <bool Squared>
static double hinge_sorted_body(const double *x, const int *by_score, const int *level,
                                int n_levels, const double *weight, int m,
                                double margin, Moments *memory, double *grad,
                                double *hess) {
    const double centre = x[by_score[m / 2]];  // sums of squares stay small
    double loss = 0.0;
    LevelSums worse(memory, n_levels);
    for (int r = 0, next = 0; r < m; r++) {
        const int i = by_score[r];
        const double slack = margin - (x[i] - centre);
        for (; next < m && x[by_score[next]] - centre + slack > 0.0; next++) {
            const int j = by_score[next];
            worse.add(n_levels - 1 - level[j], 1.0, x[j] - centre);
        }
        const Moments s = worse.below(n_levels - 1 - level[i]);
        const double w = weight ? weight[i] : 1.0, sum = s.weight * slack + s.first;
        loss += w * (Squared ? slack * (sum + s.first) + s.second : sum);
        grad[i] -= w * (Squared ? 2.0 * sum : s.weight);
        if (Squared && hess) hess[i] += 2.0 * w * s.weight;
    }
    LevelSums better(memory, n_levels);
    for (int r = m - 1, next = m - 1; r >= 0; r--) {
        const int j = by_score[r];
        const double slack = margin + (x[j] - centre);
        for (; next >= 0 && slack - (x[by_score[next]] - centre) > 0.0; next--) {
            const int i = by_score[next];
            better.add(level[i], weight ? weight[i] : 1.0, x[i] - centre);
        }
        const Moments s = better.below(level[j]);
        grad[j] += Squared ? 2.0 * (s.weight * slack - s.first) : s.weight;
        if (Squared && hess) hess[j] += 2.0 * s.weight;
    }
    return loss;
}

static double hinge_sorted(const double *x, const int *by_score, const int *level,
                           int n_levels, const double *weight, int m, double margin,
                           bool squared, Moments *memory, double *grad, double *hess) {
    return squared ? hinge_sorted_body<true>(x, by_score, level, n_levels, weight, m,
                                             margin, memory, grad, hess)
                   : hinge_sorted_body<false>(x, by_score, level, n_levels, weight, m,
                                              margin, memory, grad, hess);
}

// Numbers the grades from the best, 0; returns how many there are.
static int number_levels(const int *lower, int m, int *level) {
    int current = 0;
    for (int r = 0; r < m; r++) {
        if (r > 0 && lower[r - 1] == r) current++;
        level[r] = current;
    }
    return current + 1;
}

// One query; `work` has 3 m + 3 numbers or more, `indices` 2 m. `hess`, which only
// squares have, may be null.
static double hinge_pairs(double *x, const int *lower, const double *weight, int m,
                          double margin, bool squared, double *work, int *indices,
                          double *grad, double *hess) {
    const double scale = margin > 0.0 ? margin : 1.0;
    double bottom = 0.0, top = 0.0;
    if (m > DIRECT_SIZE) find_extremes(x, m, &bottom, &top);
    // The negation also sends NaN to the direct loop, which passes it on.
    if (m <= DIRECT_SIZE || !(top - bottom <= DIRECT_RANGE * scale)) {
        if (hess)
            return squared_hinge_hessian_direct(x, lower, weight, m, margin, grad, hess);
        return squared ? squared_hinge_direct(x, lower, weight, m, margin, grad)
                       : hinge_direct(x, lower, weight, m, margin, grad);
    }
    int *level = indices, *by_score = indices + m;
    const int n_levels = number_levels(lower, m, level);
    sort_descending(x, m, work, work + SORT_WORK_DOUBLES * m, by_score);
    // What the sort left in `work` is not needed any more.
    return hinge_sorted(x, by_score, level, n_levels, weight, m, margin, squared,
                        reinterpret_cast<Moments *>(work), grad, hess);
}

// Values, gradient and, unless `hessian` is null, the diagonal of the Hessian.
static void hinge_losses(const GradedQueries &queries, const double *scores,
                         double margin, bool squared, double *values, double *gradient,
                         double *hessian, int n_threads) {
    static_assert(sizeof(Moments) == 3 * sizeof(double), "sums must fit the work space");
    constexpr int n_work = SORT_WORK_DOUBLES + 1, n_index_arrays = 2;
    sum_graded_losses(
        queries, scores, 1.0, n_work + 1, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            double *hess = hessian ? scratch.array(n_work) : nullptr;
            if (hess) std::fill(hess, hess + q.size, 0.0);
            const double loss =
                hinge_pairs(q.x, q.lower, q.weight, q.size, margin, squared,
                            scratch.array(0), scratch.indices(0), q.gradient, hess);
            if (hess) scatter(hess, q.order, q.size, 1.0, hessian + q.start);
            return loss;
        },
        n_index_arrays);
}

}  // namespace skrank
