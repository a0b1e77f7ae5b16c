// Dot products of rows with a float64 vector, and their transpose, for row-major
// float32 or float64 matrices. Sums are float64 whatever the type of the matrix.
#pragma once
#include <cstddef>

#include "_clones.hpp"

namespace skrank {

// Rows stream through the cache once; asking for them this far ahead halves the time.
constexpr std::ptrdiff_t AHEAD = 4096, LINE = 64;

template <typename T>
static inline __attribute__((always_inline)) void
prefetch(const T* from, std::ptrdiff_t count)
{
    const char* p = reinterpret_cast<const char*>(from) + AHEAD;
    const std::ptrdiff_t bytes = count * static_cast<std::ptrdiff_t>(sizeof(T));
    for (std::ptrdiff_t j = 0; j < bytes; j += LINE) __builtin_prefetch(p + j);
}

template <typename T>
static inline __attribute__((always_inline)) void
matvec_body(const T* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* w, double* out)
{
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const T* a = X + i * d;
        prefetch(a, d);
        double s[8] = {0};
        std::ptrdiff_t j = 0;
        for (; j + 8 <= d; j += 8)
            for (int k = 0; k < 8; k++) s[k] += w[j + k] * static_cast<double>(a[j + k]);
        double sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        for (; j < d; j++) sum += w[j] * a[j];
        out[i] = sum;
    }
}

// Four rows at a time: the sums are loaded and stored once for all four.
template <typename T>
static inline __attribute__((always_inline)) void
rmatvec_body(const T* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* v, double* acc)
{
    std::ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const T *a = X + i * d, *b = a + d, *c = b + d, *e = c + d;
        prefetch(a, 4 * d);
        double va = v[i], vb = v[i + 1], vc = v[i + 2], ve = v[i + 3];
        #pragma omp simd
        for (std::ptrdiff_t j = 0; j < d; j++)
            acc[j] += (va * a[j] + vb * b[j]) + (vc * c[j] + ve * e[j]);
    }
    for (; i < n; i++) {
        const T* a = X + i * d;
        double va = v[i];
        #pragma omp simd
        for (std::ptrdiff_t j = 0; j < d; j++) acc[j] += va * a[j];
    }
}

SKRANK_CLONES static void
matvec(const float* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* w, double* out)
{ matvec_body(X, n, d, w, out); }

SKRANK_CLONES static void
matvec64(const double* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* w, double* out)
{ matvec_body(X, n, d, w, out); }

SKRANK_CLONES static void
rmatvec(const float* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* v, double* acc)
{ rmatvec_body(X, n, d, v, acc); }

SKRANK_CLONES static void
rmatvec64(const double* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* v, double* acc)
{ rmatvec_body(X, n, d, v, acc); }

}  // namespace skrank
