// One loop over the queries for every kernel, with memory for every thread.
//
// A query is handled by one thread, which writes nothing but what belongs to this query,
// so results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "_team.hpp"

namespace skrank {

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

// Memory for `n` objects, none of which is made. It begins with a cache line of its own, so
// that threads do not take lines from each other.
template <class T>
class Lines {
    static constexpr std::align_val_t LINE{64};
    T *first;

   public:
    explicit Lines(Index n)
        : first(n ? static_cast<T *>(::operator new(n * sizeof(T), LINE)) : nullptr) {}
    Lines(Lines &&other) noexcept : first(std::exchange(other.first, nullptr)) {}
    ~Lines() {
        if (first) ::operator delete(first, LINE);
    }
    T *get() const { return first; }
};

// The memory of one thread, not initialised. Arrays follow each other without a gap.
//
// A body that may take long on its own asks `spend` now and then whether to give up.
class Scratch {
    // Operations between two looks at the watch: some hundredths of a second.
    static constexpr int64_t SPAN = 1 << 23;

    Watch &watch;
    bool is_caller;
    int64_t left = SPAN;
    Index stride;
    Lines<double> doubles;
    Lines<int> ints;

    __attribute__((noinline, cold)) bool look() noexcept {
        if (is_caller) watch.look();
        const bool stop = watch.stopped();
        left = stop ? 0 : SPAN;
        return stop;
    }

   public:
    Scratch(const Room &room, Watch &watch, bool is_caller)
        : watch(watch),
          is_caller(is_caller),
          stride(room.length),
          doubles(stride * room.arrays),
          ints(stride * room.index_arrays) {}

    double *array(int i) const { return doubles.get() + i * stride; }
    int *indices(int i) const { return ints.get() + i * stride; }

    // Notes some operations of about a nanosecond each; returns whether to give up, because
    // another thread has failed or a signal has raised an exception. What the body leaves
    // behind then does not matter. An exception is none of the means: GCC takes it that
    // cloned functions throw nothing.
    [[nodiscard]] bool spend(int64_t operations) noexcept {
        left -= operations;
        return __builtin_expect(left < 0, 0) && look();
    }
};

// Calls body(first, last, scratch) for parts of 0 ... n - 1 that lie side by side. Threads
// take them as they go, because queries differ in length by orders of magnitude, and their
// pairs by the square of that.
inline void for_each_chunk(Index n, int chunk, int n_threads, const Room &room,
                           Callback<Index, Index, Scratch &> body) {
    const Index n_chunks = (n + chunk - 1) / chunk;
    const int team = team_size(static_cast<int>(std::min<Index>(n_threads, n_chunks)));
    Watch watch;
    std::vector<Scratch> scratch;
    scratch.reserve(team);
    for (int t = 0; t < team; t++) scratch.emplace_back(room, watch, t == 0);
    std::atomic<Index> next{0};
    run_team(team, watch, [&](int t) {
        while (!watch.stopped()) {
            const Index first = next.fetch_add(chunk, std::memory_order_relaxed);
            if (first >= n) break;
            body(first, std::min(first + chunk, n), scratch[t]);
            if (t == 0) watch.look();
        }
    });
}

// Calls body(i, scratch) for i = 0 ... n - 1.
template <class Body>
void for_each(Index n, int chunk, int n_threads, const Room &room, const Body &body) {
    for_each_chunk(n, chunk, n_threads, room, [&](Index first, Index last, Scratch &scratch) {
        for (Index i = first; i < last; i++) body(i, scratch);
    });
}

// Calls body(query, scratch) for every query that has documents.
template <class Body>
void for_each_query(const Queries &queries, int chunk, int n_threads, const Room &room,
                    const Body &body) {
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
