// Dot products of rows with a float64 vector, and their transpose, for row-major
// float32 or float64 matrices. Sums are float64 whatever the type of the matrix.
#pragma once

#include "_clones.hpp"
#include "_for_each_query.hpp"

namespace skrank {

// Every row is read once, faster than the hardware foresees it; asking for it this many
// bytes ahead halves the time.
constexpr Index AHEAD = 4096, LINE = 64;

template <typename T>
SKRANK_INLINE void
prefetch(const T* from, Index count)
{
    const char* p = reinterpret_cast<const char*>(from) + AHEAD;
    const Index bytes = count * static_cast<Index>(sizeof(T));
    for (Index j = 0; j < bytes; j += LINE) __builtin_prefetch(p + j);
}

template <typename T>
SKRANK_INLINE void
matvec_body(const T* X, Index n, Index d, const double* w, double* out)
{
    for (Index i = 0; i < n; i++) {
        const T* a = X + i * d;
        prefetch(a, d);
        double s[8] = {0};  // independent sums, so that additions need not wait
        Index j = 0;
        for (; j + 8 <= d; j += 8)
            for (int k = 0; k < 8; k++) s[k] += w[j + k] * static_cast<double>(a[j + k]);
        double sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        for (; j < d; j++) sum += w[j] * a[j];
        out[i] = sum;
    }
}

// Four rows at a time: the sums are loaded and stored once for all four.
template <typename T>
SKRANK_INLINE void
rmatvec_body(const T* X, Index n, Index d, const double* v, double* acc)
{
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
        const T *a = X + i * d, *b = a + d, *c = b + d, *e = c + d;
        prefetch(a, 4 * d);
        double va = v[i], vb = v[i + 1], vc = v[i + 2], ve = v[i + 3];
        #pragma omp simd
        for (Index j = 0; j < d; j++)
            acc[j] += (va * a[j] + vb * b[j]) + (vc * c[j] + ve * e[j]);
    }
    for (; i < n; i++) {
        const T* a = X + i * d;
        double va = v[i];
        #pragma omp simd
        for (Index j = 0; j < d; j++) acc[j] += va * a[j];
    }
}

SKRANK_CLONES static void
matvec(const float* X, Index n, Index d, const double* w, double* out)
{ matvec_body(X, n, d, w, out); }

SKRANK_CLONES static void
matvec(const double* X, Index n, Index d, const double* w, double* out)
{ matvec_body(X, n, d, w, out); }

SKRANK_CLONES static void
rmatvec(const float* X, Index n, Index d, const double* v, double* acc)
{ rmatvec_body(X, n, d, v, acc); }

SKRANK_CLONES static void
rmatvec(const double* X, Index n, Index d, const double* v, double* acc)
{ rmatvec_body(X, n, d, v, acc); }

// Blocks of rows. Their number depends on the shape of the matrix only: each block of the
// transposed product has sums of its own, and so the order of additions, and every bit,
// is the same for any number of threads.
constexpr Index MAX_BLOCKS = 64, MIN_BLOCK_ENTRIES = 1 << 15;

inline Index count_blocks(Index n, Index d) {
    const Index blocks = std::min(MAX_BLOCKS, n * std::max<Index>(d, 1) / MIN_BLOCK_ENTRIES);
    return std::max<Index>(1, blocks);
}

// out = X w.
template <typename T>
void matvec_blocks(const T* X, Index n, Index d, const double* w, double* out, int n_threads)
{
    const Index blocks = count_blocks(n, d);
    for_each(blocks, 1, n_threads, {}, [=](Index b, Scratch&) {
        const Index lo = n * b / blocks, hi = n * (b + 1) / blocks;
        matvec(X + lo * d, hi - lo, d, w, out + lo);
    });
}

// Adds the parts of X^T v to `sums`, one row of d numbers per block.
template <typename T>
void rmatvec_blocks(const T* X, Index n, Index d, const double* v, double* sums, int n_threads)
{
    const Index blocks = count_blocks(n, d);
    for_each(blocks, 1, n_threads, {}, [=](Index b, Scratch&) {
        const Index lo = n * b / blocks, hi = n * (b + 1) / blocks;
        rmatvec(X + lo * d, hi - lo, d, v + lo, sums + b * d);
    });
}

}  // namespace skrank
