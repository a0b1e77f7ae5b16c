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

// Whether the scores of a query never rise; NaN is none of these.
SKRANK_INLINE bool never_rises(const double *x, int m) {
    bool falls = x[0] == x[0];
    for (int i = 1; i < m; i++) falls &= x[i] <= x[i - 1];
    return falls;
}

// Rows by descending score, counted from the first row of all, and whether the score in a
// place is that of the place before it in its query. Runs are often in order already.
static void orders_with_ties(const Queries &queries, const double *x, Index *order,
                             uint8_t *tied, int n_threads) {
    const Room room = {queries.longest(), 1 + SORT_WORK_DOUBLES, 1};
    for_each_query(queries, LIGHT_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const double *sorted = x + q.start;
        if (never_rises(sorted, q.size)) {
            for (int r = 0; r < q.size; r++) order[q.start + r] = q.start + r;
        } else {
            int *own = scratch.indices(0);
            sort_descending(x + q.start, q.size, scratch.array(1), scratch.array(0), own);
            for (int r = 0; r < q.size; r++) order[q.start + r] = q.start + own[r];
            sorted = scratch.array(0);
        }
        tied[q.start] = 0;
        for (int r = 1; r < q.size; r++) tied[q.start + r] = sorted[r] == sorted[r - 1];
    });
}

// Parts of the documents of some list: `parts` has a number for each of its entries, and
// `rows` the row to which it belongs; without rows, entries are the rows in their order.
struct PartList {
    const double *parts;
    const Index *rows, *ptr;
};

// Sorts the numbers of each document, array after array, by exchanges of whole arrays.
SKRANK_CLONES
static void sort_arrays(double *arrays, Index stride, int n_arrays, int m) {
    for (int end = n_arrays - 1; end > 0; end--)
        for (int i = 0; i < end; i++) {
            double *a = arrays + i * stride, *b = a + stride;
            for (int d = 0; d < m; d++) {
                const double low = b[d] < a[d] ? b[d] : a[d];
                const double high = b[d] < a[d] ? a[d] : b[d];
                a[d] = low;
                b[d] = high;
            }
        }
}

// The same for many arrays, where exchanges would be quadratic in their number.
static void sort_many_arrays(double *arrays, Index stride, int n_arrays, int m,
                             double *numbers) {
    for (int d = 0; d < m; d++) {
        for (int i = 0; i < n_arrays; i++) numbers[i] = arrays[i * stride + d];
        std::sort(numbers, numbers + n_arrays);
        for (int i = 0; i < n_arrays; i++) arrays[i * stride + d] = numbers[i];
    }
}

// Sums over lists from the smallest part to the largest, so that they do not depend on
// the order of the lists. `fill` is the part of documents that a list of a query lacks;
// NaN is no part.
static void sums_of_parts(const Queries &queries, const std::vector<PartList> &lists,
                          const double *fill, double *sums, int n_threads) {
    constexpr int MANY = 10;
    const int n = static_cast<int>(lists.size());
    const Index longest = queries.longest();
    const Room room = {longest + n, n + 1};
    for_each_query(queries, LIGHT_CHUNK, n_threads, room, [&](Query q, Scratch &scratch) {
        double *arrays = scratch.array(0);
        for (int i = 0; i < n; i++) {
            const PartList &list = lists[i];
            double *own = arrays + i * longest;
            if (list.rows) {
                std::fill(own, own + q.size, fill ? fill[q.number * n + i] : 0.0);
                for (Index e = list.ptr[q.number]; e < list.ptr[q.number + 1]; e++)
                    own[list.rows[e] - q.start] = list.parts[e];
            } else {
                std::copy(list.parts + q.start, list.parts + q.start + q.size, own);
            }
            for (int d = 0; d < q.size; d++) own[d] = own[d] == own[d] ? own[d] : 0.0;
        }
        // A sum of two numbers has one order.
        if (n > MANY)
            sort_many_arrays(arrays, longest, n, q.size, arrays + n * longest);
        else if (n > 2)
            sort_arrays(arrays, longest, n, q.size);
        std::copy(arrays, arrays + q.size, sums + q.start);
        for (int i = 1; i < n; i++)
            for (int d = 0; d < q.size; d++) sums[q.start + d] += arrays[i * longest + d];
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
