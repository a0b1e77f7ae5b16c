// Dot products of rows with a float64 vector, and their transpose, for row-major
// float32 or float64 matrices. Sums are float64 whatever the type of the matrix.
#pragma once
#include <cstddef>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SKRANK_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SKRANK_CLONES
#endif

namespace skrank {

// Four rows at a time read the vector once and keep four independent sums busy.
template <typename T>
static inline __attribute__((always_inline)) void
matvec_body(const T* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* w, double* out)
{
    std::ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const T *a = X + i * d, *b = a + d, *c = b + d, *e = c + d;
        double sa = 0, sb = 0, sc = 0, se = 0;
        #pragma omp simd reduction(+:sa, sb, sc, se)
        for (std::ptrdiff_t j = 0; j < d; j++) {
            double v = w[j];
            sa += v * a[j];
            sb += v * b[j];
            sc += v * c[j];
            se += v * e[j];
        }
        out[i] = sa;
        out[i + 1] = sb;
        out[i + 2] = sc;
        out[i + 3] = se;
    }
    for (; i < n; i++) {
        const T* a = X + i * d;
        double sa = 0;
        #pragma omp simd reduction(+:sa)
        for (std::ptrdiff_t j = 0; j < d; j++) sa += w[j] * a[j];
        out[i] = sa;
    }
}

template <typename T>
static inline __attribute__((always_inline)) void
rmatvec_body(const T* X, std::ptrdiff_t n, std::ptrdiff_t d, const double* v, double* acc)
{
    std::ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const T *a = X + i * d, *b = a + d, *c = b + d, *e = c + d;
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
