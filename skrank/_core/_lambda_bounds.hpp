// Bounds of the LambdaLoss framework: logistic pairs whose weights depend on two ranks.
#pragma once

#include "_for_each_query.hpp"
#include "_lambda_pairs.hpp"
#include "_sort.hpp"

namespace skrank {

// What weighs the pairs of documents i and j with gains g in ranks r, whose discounts are
// d. If each_other, either document loses g * d for every document that is put ahead of
// it, whatever the other's gain. Otherwise the one of lower gain loses
// |g_i - g_j| * (by_discount * |d_i - d_j| + apart[|r_i - r_j|]) if it is ahead.
struct BoundTerms {
    bool each_other;
    const double *gain, *discount, *apart, *scale;
    double by_discount;
};

// Documents in the order of their ranks; arrays have room for PADDING numbers more.
struct BoundQuery {
    double *x, *e, *gain, *discount, *apart, *weight, *grad, *hess, *sort_work;
    int *by_rank;
    int size;

    static constexpr int ARRAYS = 8 + SORT_WORK_DOUBLES;
    BoundQuery(const Scratch &scratch, int size)
        : x(scratch.array(0)),
          e(scratch.array(1)),
          gain(scratch.array(2)),
          discount(scratch.array(3)),
          apart(scratch.array(4)),
          weight(scratch.array(5)),
          grad(scratch.array(6)),
          hess(scratch.array(7)),
          sort_work(scratch.array(8)),
          by_rank(scratch.indices(0)),
          size(size) {}
};

// Weights of the orders in which document i, and in which j is ahead.
struct PairCosts {
    Vec behind, ahead;
};

template <bool EachOther>
SKRANK_INLINE PairCosts pair_costs(const BoundQuery &s, int i, int j, double by_discount) {
    if (EachOther) {  // `weight` is 0 in the padding, `apart` tells it from documents
        const Vec own = Vec{} + s.gain[i] * s.discount[i] * s.weight[i];
        return {own * load(s.apart + j),
                load(s.gain + j) * load(s.discount + j) * load(s.weight + j)};
    }
    const Vec difference = s.gain[i] - load(s.gain + j);
    const Vec cost = magnitude(difference)
                     * (by_discount * magnitude(s.discount[i] - load(s.discount + j))
                        + load(s.apart + (j - i)));
    const Mask upper = difference > 0.0;
    return {where(upper, cost * s.weight[i], Vec{}),
            where(upper, Vec{}, cost * load(s.weight + j))};
}

template <bool EachOther, bool Wide>
SKRANK_INLINE double bound_rows(const BoundQuery &s, double by_discount, Scratch &scratch) {
    const Vec one = {1.0, 1.0, 1.0, 1.0};
    const int m = s.size;
    double total = 0.0;
    for (int i = 0; i < m - 1; i++) {
        if (scratch.spend(2 * (m - i))) break;
        if (!EachOther) pad(s.gain, m, s.gain[i]);  // pairs with the padding cost nothing
        Vec e_i = {}, loss = {}, slope = {}, curvature = {};
        if (!Wide) e_i += s.e[i];
        for (int j = i + 1; j < m; j += LANES) {
            const Vec gap = s.x[i] - load(s.x + j);
            const Mask reversed = gap < 0.0;
            Vec larger = one, smaller;  // proportional to the chances of the two orders
            if (Wide) {
                smaller = exp_clipped(-magnitude(gap));
            } else {
                const Vec e_j = load(s.e + j);
                larger = where(reversed, e_j, e_i);
                smaller = where(reversed, e_i, e_j);
            }
            const PairCosts cost = pair_costs<EachOther>(s, i, j, by_discount);
            const Vec t1 = larger + smaller, t2 = t1 + larger, inv = 1.0 / (t1 * t2);
            const Vec scale = t2 * inv, u = smaller * t1 * inv;
            const Vec likely = larger * scale, unlikely = smaller * scale;
            const Vec both = cost.behind + cost.ahead;
            const Vec lambda = cost.ahead * where(reversed, unlikely, likely)
                               - cost.behind * where(reversed, likely, unlikely);
            const Vec h = both * likely * unlikely;
            loss += both * (u * log1p_over_u(u * u))
                    + where(reversed, -cost.behind, cost.ahead) * gap;
            slope += lambda;
            curvature += h;
            store(s.grad + j, load(s.grad + j) - lambda);
            store(s.hess + j, load(s.hess + j) + h);
        }
        s.grad[i] += sum(slope);
        s.hess[i] += sum(curvature);
        total += sum(loss);
    }
    return total;
}

SKRANK_CLONES static double bound_each(const BoundQuery &s, double d, Scratch &scratch) {
    return bound_rows<true, false>(s, d, scratch);
}
SKRANK_CLONES static double bound_each_wide(const BoundQuery &s, double d,
                                            Scratch &scratch) {
    return bound_rows<true, true>(s, d, scratch);
}
SKRANK_CLONES static double bound_lower(const BoundQuery &s, double d, Scratch &scratch) {
    return bound_rows<false, false>(s, d, scratch);
}
SKRANK_CLONES static double bound_lower_wide(const BoundQuery &s, double d,
                                             Scratch &scratch) {
    return bound_rows<false, true>(s, d, scratch);
}

// The documents of a query by the scores `ranking`, and what weighs their pairs.
static void load_bound(const BoundQuery &s, const double *scores, const double *ranking,
                       const double *gain, const double *weight, const BoundTerms &terms,
                       double sigma) {
    const int m = s.size;
    sort_descending(ranking, m, s.sort_work, s.x, s.by_rank);
    gather(scores, s.by_rank, m, sigma, s.x);
    gather(gain, s.by_rank, m, 1.0, s.gain);
    if (weight)
        gather(weight, s.by_rank, m, 1.0, s.weight);
    else
        std::fill(s.weight, s.weight + m, 1.0);
    std::copy(terms.discount, terms.discount + m, s.discount);
    if (terms.each_other)
        std::fill(s.apart, s.apart + m, 1.0);
    else
        std::copy(terms.apart, terms.apart + m, s.apart);
    for (double *array : {s.x, s.gain, s.weight, s.discount, s.apart}) pad(array, m, 0.0);
    std::fill(s.grad, s.grad + m, 0.0);
    std::fill(s.hess, s.hess + m, 0.0);
}

static double bound_pairs(const BoundQuery &s, const BoundTerms &terms, Scratch &scratch) {
    double top, bottom;
    find_extremes(s.x, s.size, &bottom, &top);
    const bool wide = !(top - bottom <= 300.0);  // products of two exponentials must fit
    if (!wide) exp_shifted(s.x, 0.5 * (top + bottom), s.size, s.e);
    pad(s.x, s.size, bottom);
    if (terms.each_other)
        return (wide ? bound_each_wide : bound_each)(s, terms.by_discount, scratch);
    return (wide ? bound_lower_wide : bound_lower)(s, terms.by_discount, scratch);
}

// Ranks, and with them the weights, are those by the scores `ranking`. A pair has the
// weight of the document that should not be behind; `weight` may be null. Queries of
// scale 0 are skipped.
static void bound_losses(const Queries &queries, const double *scores,
                         const double *ranking, const double *weight,
                         const BoundTerms &terms, double sigma, double *values,
                         double *gradient, double *hessian, int n_threads) {
    const Room room = {queries.longest() + PADDING, BoundQuery::ARRAYS, 1};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const double scale = terms.scale[q.number];
        if (q.size < 2 || scale == 0.0) return;
        const BoundQuery s(scratch, q.size);
        load_bound(s, scores + q.start, ranking + q.start, terms.gain + q.start,
                   weight ? weight + q.start : nullptr, terms, sigma);
        values[q.number] = scale * bound_pairs(s, terms, scratch);
        scatter(s.grad, s.by_rank, q.size, scale * sigma, gradient + q.start);
        scatter(s.hess, s.by_rank, q.size, scale * sigma * sigma, hessian + q.start);
    });
}

}  // namespace skrank
