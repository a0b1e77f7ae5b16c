// Passes of perceptrons with ordered thresholds over rows, one document after another.
//
// A perceptron is a row of parameters: the direction, and then the thresholds. It is
// trained by one thread from the first document to the last, so results do not depend on
// the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "_clones.hpp"
#include "_for_each_query.hpp"

namespace skrank {

// Rows that are asked for before they are needed, enough to hide the way to memory.
constexpr Index AHEAD_ROWS = 12;

template <typename T>
struct DenseRows {
    const T *X;
    Index d;

    // Rows come in random order, where the hardware foresees nothing.
    SKRANK_MEMBER void prefetch(Index i) const {
        const char *p = reinterpret_cast<const char *>(X + i * d);
        const Index bytes = d * static_cast<Index>(sizeof(T));
        for (Index j = 0; j < bytes; j += 64) __builtin_prefetch(p + j);
    }
    SKRANK_MEMBER Index entries(Index) const { return d; }
    SKRANK_MEMBER double dot(Index i, const double *w) const {
        const T *x = X + i * d;
        double s[8] = {0};  // independent sums, so that additions need not wait
        Index j = 0;
        for (; j + 8 <= d; j += 8)
            for (int k = 0; k < 8; k++) s[k] += w[j + k] * static_cast<double>(x[j + k]);
        double sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        for (; j < d; j++) sum += w[j] * x[j];
        return sum;
    }
    SKRANK_MEMBER void add_to(double *w, Index i, double step) const {
        const T *x = X + i * d;
        #pragma omp simd
        for (Index j = 0; j < d; j++) w[j] += step * x[j];
    }
};

template <typename T>
struct SparseRows {
    const T *data;
    const int *indices;
    const Index *indptr;

    SKRANK_MEMBER void prefetch(Index i) const {
        const Index first = indptr[i], end = indptr[i + 1];
        for (Index j = first; j < end; j += 16) {
            __builtin_prefetch(data + j);
            if (sizeof(T) == 8) __builtin_prefetch(data + j + 8);
            __builtin_prefetch(indices + j);
        }
    }
    SKRANK_MEMBER Index entries(Index i) const { return indptr[i + 1] - indptr[i]; }
    SKRANK_MEMBER double dot(Index i, const double *w) const {
        double s[4] = {0};
        Index j = indptr[i];
        const Index end = indptr[i + 1];
        for (; j + 4 <= end; j += 4)
            for (int k = 0; k < 4; k++) s[k] += w[indices[j + k]] * data[j + k];
        for (; j < end; j++) s[0] += w[indices[j]] * data[j];
        return (s[0] + s[2]) + (s[1] + s[3]);
    }
    SKRANK_MEMBER void add_to(double *w, Index i, double step) const {
        for (Index j = indptr[i]; j < indptr[i + 1]; j++) w[indices[j]] += step * data[j];
    }
};

// What a pass goes over: rows in an order, with the place of each grade among all grades
// and, perhaps, weights.
struct Lesson {
    const Index *order;
    Index n_steps;
    const int *place;
    const double *weight;  // or null
};

// Which documents a perceptron learns from: a share of them, drawn by the number of the
// perceptron and that of the document in the stream. So it does not matter in how many
// parts the stream comes.
struct Draw {
    double share;
    uint64_t seed, first;
};

// The mixing function of SplitMix64.
SKRANK_INLINE uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Moves thresholds to the nearest ones in ascending order, by pooling adjacent violators.
inline void restore_order(double *b, int m, double *sum, int *size) {
    int blocks = 0;
    for (int r = 0; r < m; r++) {
        sum[blocks] = b[r];
        size[blocks++] = 1;
        while (blocks > 1 &&
               sum[blocks - 2] / size[blocks - 2] > sum[blocks - 1] / size[blocks - 1]) {
            sum[blocks - 2] += sum[blocks - 1];
            size[blocks - 2] += size[blocks - 1];
            blocks--;
        }
    }
    for (int k = 0, r = 0; k < blocks; k++)
        for (int end = r + size[k]; r < end; r++) b[r] = sum[k] / size[k];
}

struct Progress {
    double corrected = 0.0, drawn = 0.0;
    Index work = 0;
};

// Steps from `begin` to `end` of one perceptron.
template <class Rows>
SKRANK_INLINE void learn_body(const Rows &rows, const Lesson &lesson, const Draw &draw,
                              uint64_t member, double *w, double *b, int m, double *sum,
                              int *size, Index begin, Index end, Progress *progress) {
    const bool all = draw.share >= 1.0;
    const uint64_t key = mixed(draw.seed + member * 0xd1342543de82ef95u);
    Progress now = *progress;
    for (Index t = begin; t < end; t++) {
        if (t + AHEAD_ROWS < lesson.n_steps) rows.prefetch(lesson.order[t + AHEAD_ROWS]);
        const uint64_t random = all ? 0 : mixed(key ^ (draw.first + static_cast<uint64_t>(t)));
        if (!all && static_cast<double>(random >> 11) * 0x1p-53 >= draw.share) continue;
        const Index i = lesson.order[t];
        const double weight = lesson.weight ? lesson.weight[i] : 1.0;
        if (weight == 0.0) continue;
        const double f = rows.dot(i, w);
        const int place = lesson.place[i];
        int n_wrong = 0, step = 0;
        bool crossed = false;
        for (int r = 0; r < m; r++) {
            const int side = r < place ? 1 : -1;
            const int tau = side * (f - b[r]) <= 0.0 ? side : 0;
            b[r] -= weight * tau;
            step += tau;
            n_wrong += tau != 0;
            crossed |= r > 0 && b[r - 1] > b[r];
        }
        if (step != 0) rows.add_to(w, i, weight * step);
        // Only steps of different lengths can get here.
        if (crossed) restore_order(b, m, sum, size);
        now.corrected += weight * n_wrong;
        now.drawn += weight;
        now.work += rows.entries(i) + m;
    }
    *progress = now;
}

#define SKRANK_LEARN(ROWS)                                                                 \
    SKRANK_CLONES static void learn_steps(                                                 \
        const ROWS &rows, const Lesson &lesson, const Draw &draw, uint64_t member,         \
        double *w, double *b, int m, double *sum, int *size, Index begin, Index end,       \
        Progress *progress) {                                                              \
        learn_body(rows, lesson, draw, member, w, b, m, sum, size, begin, end, progress);  \
    }
SKRANK_LEARN(DenseRows<float>)
SKRANK_LEARN(DenseRows<double>)
SKRANK_LEARN(SparseRows<float>)
SKRANK_LEARN(SparseRows<double>)
#undef SKRANK_LEARN

// Trains `count` perceptrons, whose parameters are rows of d + m numbers.
template <class Rows>
void learn_pass(const Rows &rows, const Lesson &lesson, const Draw &draw, double *params,
                Index count, Index d, Index m, double *corrected, double *drawn,
                int n_threads) {
    constexpr Index BLOCK = 256;
    for_each(count, HEAVY_CHUNK, n_threads, Room{m, 1, 1}, [&](Index j, Scratch &scratch) {
        double *w = params + j * (d + m);
        Progress progress;
        for (Index t = 0; t < lesson.n_steps; t += BLOCK) {
            const Index end = std::min(t + BLOCK, lesson.n_steps);
            const Index before = progress.work;
            learn_steps(rows, lesson, draw, static_cast<uint64_t>(j), w, w + d,
                        static_cast<int>(m), scratch.array(0), scratch.indices(0), t, end,
                        &progress);
            if (scratch.spend(progress.work - before + BLOCK)) return;
        }
        corrected[j] = progress.corrected;
        drawn[j] = progress.drawn;
    });
}

}  // namespace skrank
