// Lambda losses of queries: ranking, pairs and normalisation.
#pragma once

#include "_for_each_query.hpp"
#include "_lambda_pairs.hpp"
#include "_sort.hpp"

namespace skrank {

// Terms of the measure whose change weights a pair; see the Python function.
struct LambdaMeasure {
    int kind;  // DeltaKind
    const double *gain, *discount, *scale;
};

struct LambdaOptions {
    double sigma;
    int truncation;  // 0: all pairs
    bool normalize;
    double damping;
};

// Documents of one query in the order in which pairs are visited.
struct LambdaQuery {
    double *x, *gain, *weight, *discount, *grad, *hess, *a, *b, *e, *sort_work;
    int *by_score;

    static constexpr int ARRAYS = 9 + SORT_WORK_DOUBLES;
    explicit LambdaQuery(const Scratch &scratch)
        : x(scratch.array(0)),
          gain(scratch.array(1)),
          weight(scratch.array(2)),
          discount(scratch.array(3)),
          grad(scratch.array(4)),
          hess(scratch.array(5)),
          a(scratch.array(6)),
          b(scratch.array(7)),
          e(scratch.array(8)),
          sort_work(scratch.array(9)),
          by_score(scratch.indices(0)) {}

    void load(const double *scores, const double *gains, const double *weights,
              const int *order, int m, double sigma) {
        gather(scores, order, m, sigma, x);
        gather(gains, order, m, 1.0, gain);
        if (weights) gather(weights, order, m, 1.0, weight);
        std::fill(grad, grad + m, 0.0);
        std::fill(hess, hess + m, 0.0);
    }
};

// Factor that turns the sum of all slopes S into log2(1 + S).
//
// The weight of the query does not count, so that it stays a factor of the loss.
static double slope_norm(double pull, const double *weight, int m) {
    if (weight) {
        double total = 0.0;
        for (int r = 0; r < m; r++) total += weight[r];
        pull = total > 0.0 ? pull * m / total : 0.0;
    }
    if (!(pull > 0.0)) return 1.0;
    return std::log1p(2.0 * pull) / (LN2 * (2.0 * pull));
}

// In the order of the gains, pairs of equal gain are never visited; that pays where all
// pairs count and the cut-off of the measure leaves more than half of the ranks.
// Otherwise, in the order of the scores, only the rows of the first ranks are visited.
static bool visit_by_gain(const LambdaMeasure &measure, const LambdaOptions &options,
                          int m) {
    return measure.kind == GAIN_DISCOUNT
           && (options.truncation <= 0 || options.truncation >= m)
           && measure.discount[m / 2] != 0.0;
}

// The deltas are those of the ranking by the scores `ranking`. Where these are not the
// current scores, the order of the ranking is not that of the scores, which only the visit
// by gain allows: the measure must be of the kind GAIN_DISCOUNT, without truncation.
static void lambda_losses(const GradedQueries &graded, const double *scores,
                          const double *ranking, const LambdaMeasure &measure, const LambdaOptions &options,
                          double *values, double *gradient, double *hessian,
                          int n_threads) {
    const Queries &queries = graded.queries;
    const Room room = {queries.longest() + PADDING, LambdaQuery::ARRAYS, 1};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const int m = q.size;
        const double scale = measure.scale[q.number], sigma = options.sigma;
        if (m < 2 || scale == 0.0) return;
        LambdaQuery s(scratch);
        const double *own_scores = scores + q.start, *gain = measure.gain + q.start;
        const double *weights = graded.weight ? graded.weight + q.start : nullptr;
        double *weight = weights ? s.weight : nullptr;
        const int *order = s.by_score;
        LambdaSums sums;
        sort_descending(ranking + q.start, m, s.sort_work, s.x, s.by_score);
        if (ranking != scores || visit_by_gain(measure, options, m)) {
            order = graded.order + q.start;
            scatter(measure.discount, s.by_score, m, 1.0, s.a);  // of every row
            gather(s.a, order, m, 1.0, s.discount);
            s.load(own_scores, gain, weights, order, m, sigma);
            sums = graded_pairs(s.x, s.gain, weight, s.discount, graded.lower + q.start,
                                m, options.damping, s.e, s.grad, s.hess, scratch);
        } else {
            const int top = options.truncation > 0 ? options.truncation : m;
            s.load(own_scores, gain, weights, order, m, sigma);
            sums = lambda_pairs(measure.kind, s.x, s.gain, weight, measure.discount, top,
                                m, options.damping, s.e, s.a, s.b, s.grad, s.hess, scratch);
        }
        double factor = scale;
        if (options.normalize) factor *= slope_norm(sigma * scale * sums.pull, weights, m);
        values[q.number] = factor * sums.loss;
        scatter(s.grad, order, m, factor * sigma, gradient + q.start);
        scatter(s.hess, order, m, factor * sigma * sigma, hessian + q.start);
    });
}

}  // namespace skrank
