// Losses over the preference pairs of queries: documents from the best grade to the worst.
#pragma once

#include "_for_each_query.hpp"
#include "_simd.hpp"

namespace skrank {

// Rows in the order of their grades: document order[ptr[q] + r] of query q is preferred to
// those from place lower[ptr[q] + r] on. A pair has the weight of its preferred document;
// `weight`, one number per row, may be null.
struct GradedQueries {
    Queries queries;
    const int *order, *lower;
    const double *weight;
};

// One of them: arrays in the order of the grades, with room for PADDING numbers more.
struct GradedQuery {
    Index number, start;
    int size;
    const int *order, *lower;
    double *x;             // scores
    const double *weight;  // may be null
    double *gradient;      // zeros, to which the loss adds
};

// values[q] = loss(query, scratch), and the gradient that it leaves, times `scale`, goes
// back to the rows; scores come multiplied by `scale`. The loss has `n_arrays` arrays and
// `n_index_arrays` arrays of indices for itself.
template <class Loss>
void sum_graded_losses(const GradedQueries &graded, const double *scores, double scale,
                       int n_arrays, int n_threads, double *values, double *gradient,
                       Loss loss, int n_index_arrays = 0) {
    const Room room = {graded.queries.longest() + PADDING, n_arrays + 3, n_index_arrays};
    for_each_query(
        graded.queries, PAIR_CHUNK, n_threads, room, [&](Query q, Scratch &scratch) {
            const int *order = graded.order + q.start;
            double *x = scratch.array(n_arrays), *grad = scratch.array(n_arrays + 1);
            double *weight = graded.weight ? scratch.array(n_arrays + 2) : nullptr;
            gather(scores + q.start, order, q.size, scale, x);
            if (weight) gather(graded.weight + q.start, order, q.size, 1.0, weight);
            std::fill(grad, grad + q.size, 0.0);
            const GradedQuery query = {q.number, q.start, q.size, order,
                                       graded.lower + q.start, x, weight, grad};
            values[q.number] = loss(query, scratch);
            scatter(grad, order, q.size, scale, gradient + q.start);
        });
}

// Total weight of the pairs of every row, as the preferred document and as the other one.
inline void pair_weights(const GradedQueries &graded, double *preferred, double *other) {
    const Queries &queries = graded.queries;
    for (Index q = 0; q < queries.count; q++) {
        const Index start = queries.ptr[q];
        const int m = static_cast<int>(queries.ptr[q + 1] - start);
        double above = 0.0;
        for (int first = 0, end; first < m; first = end) {
            end = graded.lower[start + first];
            double run = 0.0;  // weight of the documents of one grade
            for (int r = first; r < end; r++) {
                const Index row = start + graded.order[start + r];
                const double w = graded.weight ? graded.weight[row] : 1.0;
                preferred[row] = w * (m - end);
                other[row] = above;
                run += w;
            }
            above += run;
        }
    }
}

}  // namespace skrank
