// One loop over the queries for every kernel, with memory for every thread.
//
// A query is handled by one thread, which writes nothing but what belongs to this query,
// so results do not depend on the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <vector>

namespace skrank {

using Index = std::ptrdiff_t;

// Indices that a thread takes at a time: fewer, the more work a query is, so that the
// last thread to finish has little left when the others are done.
constexpr int LIGHT_CHUNK = 64;  // linear time
constexpr int PAIR_CHUNK = 16;   // pairs of documents, or sorting
constexpr int HEAVY_CHUNK = 1;   // much more than one operation per pair

// Rows ptr[q] ... ptr[q + 1] - 1 belong to query q.
struct Queries {
    const Index *ptr;
    Index count;

    // Documents of the longest query.
    Index longest() const {
        Index most = 1;
        for (Index q = 0; q < count; q++) most = std::max(most, ptr[q + 1] - ptr[q]);
        return most;
    }
};

struct Query {
    Index number, start;  // its first row
    int size;             // number of documents, at least 1
};

// Memory that every thread needs: some arrays of `length` numbers, and some of indices.
struct Room {
    Index length = 0;
    int arrays = 0, index_arrays = 0;
};

// The memory of one thread, not initialised. Arrays follow each other without a gap.
class Scratch {
    // Whole cache lines of their own, so that threads do not take lines from each other.
    static constexpr Index LINE = 64;
    struct Free {
        void operator()(void *p) const { ::operator delete(p, std::align_val_t(LINE)); }
    };
    template <class T>
    static T *allocate(Index n) {
        return static_cast<T *>(::operator new(n * sizeof(T), std::align_val_t(LINE)));
    }
    Index stride;
    std::unique_ptr<double, Free> doubles;
    std::unique_ptr<int, Free> ints;

   public:
    explicit Scratch(const Room &room)
        : stride(room.length),
          doubles(room.arrays ? allocate<double>(stride * room.arrays) : nullptr),
          ints(room.index_arrays ? allocate<int>(stride * room.index_arrays) : nullptr) {}

    double *array(int i) const { return doubles.get() + i * stride; }
    int *indices(int i) const { return ints.get() + i * stride; }
};

// Calls body(i, scratch) for i = 0 ... n - 1. The schedule is dynamic because queries
// differ in length by orders of magnitude, and their pairs by the square of that.
//
// An exception must not leave a parallel region. The memory of the threads is found
// before it begins; what a body throws is kept, and thrown again after its end.
template <class Body>
void for_each(Index n, int chunk, int n_threads, const Room &room, Body body) {
    const Index n_chunks = (n + chunk - 1) / chunk;
    const int team = static_cast<int>(std::max<Index>(1, std::min<Index>(n_threads, n_chunks)));
    std::vector<Scratch> scratch;
    scratch.reserve(team);
    for (int t = 0; t < team; t++) scratch.emplace_back(room);
    std::exception_ptr failure;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        Scratch &mine = scratch[omp_get_thread_num()];
#pragma omp for schedule(dynamic, chunk)
        for (Index i = 0; i < n; i++) {
            try {
                body(i, mine);
            } catch (...) {
#pragma omp critical(skrank_failure)
                if (!failure) failure = std::current_exception();
            }
        }
    }
    if (failure) std::rethrow_exception(failure);
}

// Calls body(query, scratch) for every query that has documents.
template <class Body>
void for_each_query(const Queries &queries, int chunk, int n_threads, const Room &room,
                    Body body) {
    const Index *ptr = queries.ptr;
    for_each(queries.count, chunk, n_threads, room, [&](Index q, Scratch &scratch) {
        const int size = static_cast<int>(ptr[q + 1] - ptr[q]);
        if (size > 0) body(Query{q, ptr[q], size}, scratch);
    });
}

// Rows of a query in a given order, and back.
inline void gather(const double *x, const int *order, int m, double scale, double *out) {
    for (int r = 0; r < m; r++) out[r] = scale * x[order[r]];
}
inline void scatter(const double *x, const int *order, int m, double scale, double *out) {
    for (int r = 0; r < m; r++) out[order[r]] = scale * x[r];
}

}  // namespace skrank
