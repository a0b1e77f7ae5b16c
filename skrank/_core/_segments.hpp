// Reductions, sorting and ranks within queries.
#pragma once

#include "_for_each_query.hpp"
#include "_softmax.hpp"
#include "_sort.hpp"

namespace skrank {

// Sums in the order of the rows.
static void segment_sums(const Queries &queries, const double *x, double *sums) {
    for (Index q = 0; q < queries.count; q++) {
        double total = 0.0;
        for (Index i = queries.ptr[q]; i < queries.ptr[q + 1]; i++) total += x[i];
        sums[q] = total;
    }
}

// Sums of the rows of a query up to each row.
static void segment_running_sums(const Queries &queries, const double *x, double *sums) {
    for (Index q = 0; q < queries.count; q++) {
        double total = 0.0;
        for (Index i = queries.ptr[q]; i < queries.ptr[q + 1]; i++)
            sums[i] = total += x[i];
    }
}

// The logarithm of the denominator of an empty query stays as it is.
inline void segment_softmaxes(const Queries &queries, const double *x,
                              double *probabilities, double *logsumexp, int n_threads) {
    for_each_query(queries, LIGHT_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        logsumexp[q.number] = softmax(x + q.start, q.size, probabilities + q.start);
    });
}

static void segment_orders(const Queries &queries, const double *x, int *order,
                           int n_threads) {
    const Room room = {queries.longest(), 1 + SORT_WORK_DOUBLES};
    for_each_query(queries, LIGHT_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        sort_descending(x + q.start, q.size, scratch.array(1), scratch.array(0),
                        order + q.start);
    });
}

// 1-based ranks of the rows from their order.
static void ranks_of_orders(const Queries &queries, const int *order, Index *ranks) {
    for (Index q = 0; q < queries.count; q++) {
        const Index start = queries.ptr[q];
        for (Index r = 0; r < queries.ptr[q + 1] - start; r++)
            ranks[start + order[start + r]] = r + 1;
    }
}

// lower[start + r]: the first place whose value is below that of place r.
static void lower_places(const Queries &queries, const double *y, const int *order,
                         int *lower) {
    for (Index q = 0; q < queries.count; q++) {
        const Index start = queries.ptr[q];
        const int size = static_cast<int>(queries.ptr[q + 1] - start);
        const int *own = order + start;
        int first = size;
        for (int r = size - 1; r >= 0; r--) {
            if (r + 1 < size && y[start + own[r]] > y[start + own[r + 1]]) first = r + 1;
            lower[start + r] = first;
        }
    }
}

// Sorts every run of equal grades by descending score; `work` has 2 m numbers and those
// that sorting needs.
static void sort_query_ties(const double *x, const int *order, const int *lower, int m,
                            double *work, int *permutation, int *out) {
    double *keys = work, *sorted = work + m, *sort_work = work + 2 * m;
    for (int first = 0, size; first < m; first += size) {
        size = lower[first] - first;
        gather(x, order + first, size, 1.0, keys);
        sort_descending(keys, size, sort_work, sorted, permutation);
        for (int r = 0; r < size; r++) out[first + r] = order[first + permutation[r]];
    }
}

static void sort_all_ties(const Queries &queries, const double *x, const int *order,
                          const int *lower, int *out, int n_threads) {
    const Room room = {queries.longest(), 2 + SORT_WORK_DOUBLES, 1};
    for_each_query(queries, LIGHT_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        sort_query_ties(x + q.start, order + q.start, lower + q.start, q.size,
                        scratch.array(0), scratch.indices(0), out + q.start);
    });
}

}  // namespace skrank
