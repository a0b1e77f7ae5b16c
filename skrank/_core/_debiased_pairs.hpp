// Lambda pairs with a factor for the place where each of the two documents was shown.
#pragma once

#include "_for_each_query.hpp"
#include "_graded_queries.hpp"
#include "_lambda_pairs.hpp"
#include "_sort.hpp"

// The options and the normalisation of lambda losses; their own loop is not needed here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "_lambda_losses.hpp"
#pragma GCC diagnostic pop

namespace skrank {

// Factors of documents as the preferred one of a pair and as the other one.
struct PlaceFactors {
    const double *preferred, *other;
};

// What is summed, by row: the derivatives, and the losses of the pairs in which the row is
// the preferred document, or the other one, each without the factor of the row itself.
struct DebiasedSums {
    double *gradient, *hessian, *as_preferred, *as_other;
};

// Documents of one query in the order of their gains.
struct DebiasedQuery {
    double *x, *gain, *weight, *discount, *preferred, *other, *inside;
    DebiasedSums sums;
    double *by_row, *sorted, *sort_work;
    int *by_score;

    static constexpr int ARRAYS = 13 + SORT_WORK_DOUBLES;
    explicit DebiasedQuery(const Scratch &scratch)
        : x(scratch.array(0)),
          gain(scratch.array(1)),
          weight(scratch.array(2)),
          discount(scratch.array(3)),
          preferred(scratch.array(4)),
          other(scratch.array(5)),
          inside(scratch.array(6)),
          sums{scratch.array(7), scratch.array(8), scratch.array(9), scratch.array(10)},
          by_row(scratch.array(11)),
          sorted(scratch.array(12)),
          sort_work(scratch.array(13)),
          by_score(scratch.indices(0)) {}
};

// The sum over all pairs; `lower` is where the lower gains begin. A pair counts if one of
// its documents is inside of the truncation.
SKRANK_CLONES
static LambdaSums debiased_pairs(DebiasedQuery s, const int *lower, int m, Damping damping,
                                 Scratch &scratch) {
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    LambdaSums total;
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(4 * (m - lower[i]))) break;
        const double x_i = s.x[i], gain_i = s.gain[i], d_i = s.discount[i];
        const double w_i = s.weight[i], p_i = s.preferred[i];
        const bool all = s.inside[i] > 0.0;
        Vec loss = {}, slope = {}, curvature = {};
        for (int j = lower[i]; j < m; j += LANES) {
            const Vec gap = x_i - load(s.x + j);
            const Vec smaller = exp_clipped(-magnitude(gap));
            const Vec t1 = 1.0 + smaller, u = smaller / (t1 + one);
            const Vec likely = one / t1, unlikely = smaller / t1;
            Vec w = (gain_i - load(s.gain + j)) * magnitude(d_i - load(s.discount + j));
            w *= w_i / (damping.near + damping.steep * magnitude(gap));
            if (!all) w *= load(s.inside + j);
            const Mask reversed = gap < 0.0;
            const Vec of_pair = w * (u * log1p_over_u(u * u) - where(reversed, gap, Vec{}));
            const Vec debiased = of_pair * load(s.other + j);
            store(s.sums.as_other + j, load(s.sums.as_other + j) + p_i * of_pair);
            loss += debiased;
            w *= p_i * load(s.other + j);
            const Vec lambda = w * where(reversed, likely, unlikely);
            const Vec h = w * likely * unlikely;
            slope += lambda;
            curvature += h;
            store(s.sums.gradient + j, load(s.sums.gradient + j) + lambda);
            store(s.sums.hessian + j, load(s.sums.hessian + j) + h);
        }
        s.sums.gradient[i] -= sum(slope);
        s.sums.hessian[i] += sum(curvature);
        s.sums.as_preferred[i] += sum(loss);
        total.loss += p_i * sum(loss);
        total.pull += sum(slope);
    }
    return total;
}

static void load_query(const DebiasedQuery &s, const LambdaMeasure &measure,
                       const PlaceFactors &factors, const double *scores,
                       const double *weights, const int *order, Query q, double sigma,
                       int truncation) {
    const int m = q.size;
    gather(scores + q.start, order, m, sigma, s.x);
    gather(measure.gain + q.start, order, m, 1.0, s.gain);
    gather(factors.preferred + q.start, order, m, 1.0, s.preferred);
    gather(factors.other + q.start, order, m, 1.0, s.other);
    if (weights) gather(weights, order, m, 1.0, s.weight);
    else std::fill(s.weight, s.weight + m, 1.0);
    scatter(measure.discount, s.by_score, m, 1.0, s.by_row);
    gather(s.by_row, order, m, 1.0, s.discount);
    for (int r = 0; r < m; r++) s.by_row[s.by_score[r]] = r < truncation ? 1.0 : 0.0;
    gather(s.by_row, order, m, 1.0, s.inside);
    for (double *numbers : {s.sums.gradient, s.sums.hessian, s.sums.as_preferred,
                            s.sums.as_other})
        std::fill(numbers, numbers + m + PADDING, 0.0);
    // Equal gains beyond the last document would not do: the weights must be 0.
    pad(s.inside, m, 0.0);
    pad(s.other, m, 0.0);
    pad(s.x, m, s.x[m - 1]);
    pad(s.gain, m, 0.0);
    pad(s.discount, m, 0.0);
}

// The measure must be of the kind GAIN_DISCOUNT.
static void debiased_losses(const GradedQueries &graded, const double *scores,
                            const LambdaMeasure &measure, const LambdaOptions &options,
                            const PlaceFactors &factors, double *values,
                            const DebiasedSums &out, int n_threads) {
    const Queries &queries = graded.queries;
    const Room room = {queries.longest() + PADDING, DebiasedQuery::ARRAYS, 1};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const int m = q.size;
        const double scale = measure.scale[q.number], sigma = options.sigma;
        if (m < 2 || scale == 0.0) return;
        const DebiasedQuery s(scratch);
        const double *weights = graded.weight ? graded.weight + q.start : nullptr;
        const int *order = graded.order + q.start;
        const int top = options.truncation > 0 ? options.truncation : m;
        sort_descending(scores + q.start, m, s.sort_work, s.sorted, s.by_score);
        load_query(s, measure, factors, scores, weights, order, q, sigma, top);
        double highest, lowest;
        find_extremes(s.x, m, &lowest, &highest);
        const Damping damping = damping_between(options.damping, lowest, highest);
        const LambdaSums sums = debiased_pairs(s, graded.lower + q.start, m, damping, scratch);
        double factor = scale;
        if (options.normalize) factor *= slope_norm(sigma * scale * sums.pull, weights, m);
        values[q.number] = factor * sums.loss;
        scatter(s.sums.gradient, order, m, factor * sigma, out.gradient + q.start);
        scatter(s.sums.hessian, order, m, factor * sigma * sigma, out.hessian + q.start);
        scatter(s.sums.as_preferred, order, m, factor, out.as_preferred + q.start);
        scatter(s.sums.as_other, order, m, factor, out.as_other + q.start);
    });
}

}  // namespace skrank
