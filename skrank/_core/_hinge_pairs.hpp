// Hinge losses of preference pairs, documents in the order of their grades.
#pragma once

#include "_gap_windows.hpp"
#include "_graded_queries.hpp"
#include "_sort.hpp"

namespace skrank {

// Up to this many documents all pairs, in wide registers, are faster than sorting; the
// second number holds where sums are taken over more windows than one.
constexpr int DIRECT_SIZE = 512, DIRECT_SIZE_OF_RAMPS = 768;

// Value and slope of single gaps, and the curvature where there is a Hessian.
struct PlainHinge {
    SKRANK_MEMBER void at(Vec gap, Vec *value, Vec *slope) const {
        const Vec one = {1.0, 1.0, 1.0, 1.0};
        const Mask active = gap > 0.0;
        *value = where(active, gap, Vec{});
        *slope = where(active, one, Vec{});
    }
};

struct SquaredHinge {
    SKRANK_MEMBER void at(Vec gap, Vec *value, Vec *slope) const {
        const Vec slack = where(gap > 0.0, gap, Vec{});
        *value = slack * slack;
        *slope = slack + slack;
    }
    SKRANK_MEMBER Vec curvature(Vec gap) const {
        return where(gap > 0.0, Vec{} + 2.0, Vec{});
    }
};

SKRANK_INLINE Vec between(Vec v, double low, double high) {
    v = where(v > low, v, Vec{} + low);
    return where(v < high, v, Vec{} + high);
}

// See Hinge; the way from 0 to the gap lies in its climb, its steepest part and its fall.
template <bool Bent, bool Capped>
struct Ramp {
    double cap, rise, top, inverse, steep;

    explicit Ramp(const Hinge &hinge)
        : cap(hinge.cap),
          rise(hinge.rise),
          top(hinge.top),
          inverse(1.0 / hinge.width),
          steep(hinge.steep) {}

    SKRANK_MEMBER void at(Vec gap, Vec *value, Vec *slope) const {
        if (!Bent) {
            const Vec one = {1.0, 1.0, 1.0, 1.0};
            *value = between(gap, 0.0, cap);
            *slope = where((gap > 0.0) & ~(gap > cap), one, Vec{});
            return;
        }
        const Vec climb = between(gap, 0.0, rise);
        if (!Capped) {
            const Vec further = where(gap > rise, gap - rise, Vec{});
            *slope = climb * inverse;
            *value = further + 0.5 * climb * *slope;
            return;
        }
        const Vec middle = between(gap - rise, 0.0, top - rise);
        const Vec fall = between(gap - top, 0.0, rise);
        *slope = (climb - fall) * inverse;
        *value = steep * middle + 0.5 * (climb * (climb * inverse) +
                                         fall * ((rise - fall + rise) * inverse));
    }
};

// Pairs (i, j), j >= lower[i], of documents in order of grade: adds the losses of their
// gaps, margin - (x[i] - x[j]); `hess` counts with a Hessian only.
template <bool Hessian = false, class Loss>
SKRANK_INLINE double hinge_direct_body(const Loss &of_gap, double margin, double *x,
                                       const int *lower, const double *weight, int m,
                                       double *grad, double *hess = nullptr) {
    double loss = 0.0;
    pad(x, m, -INFINITE);
    for (int i = 0; i < m && lower[i] < m; i++) {
        const double x_i = x[i], w = weight ? weight[i] : 1.0;
        Vec row_loss = {}, row_slope = {}, row_curvature = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec gap = (load(x + j) - x_i) + margin;
            Vec value, slope;
            of_gap.at(gap, &value, &slope);
            row_loss += value;
            row_slope += slope;
            store(grad + j, load(grad + j) + w * slope);
            if constexpr (Hessian) {
                const Vec curvature = of_gap.curvature(gap);
                row_curvature += curvature;
                store(hess + j, load(hess + j) + w * curvature);
            }
        }
        grad[i] -= w * sum(row_slope);
        if (Hessian) hess[i] += w * sum(row_curvature);
        loss += w * sum(row_loss);
    }
    return loss;
}

SKRANK_CLONES
static double plain_hinge_direct(const Hinge &hinge, double *x, const int *lower,
                                 const double *weight, int m, double *grad) {
    return hinge_direct_body(PlainHinge(), hinge.margin, x, lower, weight, m, grad);
}

SKRANK_CLONES
static double bent_hinge_direct(const Hinge &hinge, double *x, const int *lower,
                                const double *weight, int m, double *grad) {
    return hinge_direct_body(Ramp<true, false>(hinge), hinge.margin, x, lower, weight, m,
                             grad);
}

SKRANK_CLONES
static double capped_hinge_direct(const Hinge &hinge, double *x, const int *lower,
                                  const double *weight, int m, double *grad) {
    return hinge_direct_body(Ramp<false, true>(hinge), hinge.margin, x, lower, weight, m,
                             grad);
}

SKRANK_CLONES
static double bent_ramp_direct(const Hinge &hinge, double *x, const int *lower,
                               const double *weight, int m, double *grad) {
    return hinge_direct_body(Ramp<true, true>(hinge), hinge.margin, x, lower, weight, m,
                             grad);
}

SKRANK_CLONES
static double squared_hinge_direct(const Hinge &hinge, double *x, const int *lower,
                                   const double *weight, int m, double *grad) {
    return hinge_direct_body(SquaredHinge(), hinge.margin, x, lower, weight, m, grad);
}

SKRANK_CLONES
static double squared_hinge_hessian_direct(const Hinge &hinge, double *x,
                                           const int *lower, const double *weight, int m,
                                           double *grad, double *hess) {
    return hinge_direct_body<true>(SquaredHinge(), hinge.margin, x, lower, weight, m,
                                   grad, hess);
}

static double hinge_direct(const Hinge &hinge, double *x, const int *lower,
                           const double *weight, int m, double *grad, double *hess) {
    if (hess)
        return squared_hinge_hessian_direct(hinge, x, lower, weight, m, grad, hess);
    const bool bent = hinge.width > 0.0, capped = hinge.cap < INFINITE;
    const auto direct = hinge.squared    ? squared_hinge_direct
                        : bent && capped ? bent_ramp_direct
                        : bent           ? bent_hinge_direct
                        : capped         ? capped_hinge_direct
                                         : plain_hinge_direct;
    return direct(hinge, x, lower, weight, m, grad);
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

static_assert(LevelSums::ROOM >= SORT_WORK_DOUBLES, "sorting needs room");
constexpr int HINGE_ARRAYS = LevelSums::ROOM + 2, HINGE_INDEX_ARRAYS = 4;

// One query; `hess`, which only squares have, may be null.
static double hinge_pairs(const Hinge &hinge, const GradedQuery &q, Scratch &scratch,
                          double *hess) {
    const int m = q.size;
    const bool is_ramp = hinge.width > 0.0 || hinge.cap < INFINITE;
    // Differences of infinite scores, and of NaN, are in no order.
    const auto not_finite = [](double x) { return x - x != 0.0; };
    if (m <= (is_ramp ? DIRECT_SIZE_OF_RAMPS : DIRECT_SIZE) ||
        std::any_of(q.x, q.x + m, not_finite))
        return hinge_direct(hinge, q.x, q.lower, q.weight, m, q.gradient, hess);
    double *work = scratch.array(0), *x = scratch.array(LevelSums::ROOM);
    double *weight = q.weight ? scratch.array(LevelSums::ROOM + 1) : nullptr;
    int *level = scratch.indices(0), *slot = scratch.indices(1);
    int *place = scratch.indices(2), *begins = scratch.indices(3);
    const int n_levels = number_levels(q.lower, m, level);
    sort_descending(q.x, m, work, x, place);
    for (int r = 0; r < m; r++) slot[r] = n_levels - 1 - level[place[r]];
    if (weight) gather(q.weight, place, m, 1.0, weight);
    // What the sort left in `work` is not needed any more.
    LevelSums sums(work, n_levels);
    return add_pairs(hinge, {x, weight, slot, place, m}, {x, nullptr, slot, place, m},
                     n_levels, sums, begins, q.gradient, hess);
}

// Values, gradient and, unless `hessian` is null, the diagonal of the Hessian.
static void hinge_losses(const GradedQueries &queries, const double *scores,
                         const Hinge &hinge, double *values, double *gradient,
                         double *hessian, int n_threads) {
    sum_graded_losses(
        queries, scores, 1.0, HINGE_ARRAYS + 1, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            double *hess = hessian ? scratch.array(HINGE_ARRAYS) : nullptr;
            if (hess) std::fill(hess, hess + q.size, 0.0);
            const double loss = hinge_pairs(hinge, q, scratch, hess);
            if (hess) scatter(hess, q.order, q.size, 1.0, hessian + q.start);
            return loss;
        },
        HINGE_INDEX_ARRAYS);
}

}  // namespace skrank
