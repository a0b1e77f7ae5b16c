// Vectors of four doubles, and what the kernels compute with them.
//
// The vector extension of GCC and Clang is used instead of intrinsics: one source serves
// every instruction set, and `_clones.hpp` builds it for several of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "_clones.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// Vectors never cross a function boundary: everything that takes one is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace skrank {

constexpr double LN2 = 0.69314718055994530942;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// The compiler maps a Vec to whatever registers the machine has. Rows of pairs are short,
// and a scalar loop for the rest of a row would cost as much as the row itself; so loops
// run over whole vectors into PADDING numbers beyond the last document, which the callers
// fill with values that add nothing.
typedef double Vec __attribute__((vector_size(32)));
typedef int64_t Mask __attribute__((vector_size(32)));
constexpr int LANES = 4;
constexpr int PADDING = LANES;

// Rows begin at any document, so loads and stores are never aligned; memcpy says so
// without breaking the rules of aliasing, and compiles to one instruction.
SKRANK_INLINE Vec load(const double *p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
SKRANK_INLINE void store(double *p, Vec v) { std::memcpy(p, &v, sizeof v); }
// The order of these additions is fixed, so that a sum has the same bits everywhere.
SKRANK_INLINE double sum(Vec v) { return (v[0] + v[1]) + (v[2] + v[3]); }
SKRANK_INLINE Vec where(Mask mask, Vec yes, Vec no) {
    return mask ? yes : no;
}
SKRANK_INLINE Vec magnitude(Vec v) {
    return (Vec)((Mask)v & (int64_t)0x7fffffffffffffff);
}

// exp(x), relative error about 2e-16; x is clipped to [-708, 708], so that the result is
// neither infinite nor subnormal and its exponent can be put together from bits. NaN
// stays NaN, because it fails both comparisons.
SKRANK_INLINE Vec exp_clipped(Vec x) {
    const double inv_ln2 = 1.4426950408889634074;
    const double ln2_high = 6.93147180369123816490e-01;  // 33 bits: k * ln2_high exact
    const double ln2_low = 1.90821492927058770002e-10;
    const double round = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integer
    const Vec limit = Vec{} + 708.0;
    x = where(x < -limit, -limit, x);
    x = where(x > limit, limit, x);
    const Vec shifted = x * inv_ln2 + round;
    const Vec k = shifted - round;
    const Vec r = (x - k * ln2_high) - k * ln2_low;
    Vec p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * (Vec)(((Mask)shifted + 1023) << 52);  // the low bits of `shifted` hold k
}

// `m` numbers from p, the rest of the vector filled up.
SKRANK_INLINE Vec load_some(const double *p, int m, double fill) {
    Vec v;
    for (int l = 0; l < LANES; l++) v[l] = l < m ? p[l] : fill;
    return v;
}
SKRANK_INLINE void store_some(double *p, int m, Vec v) {
    for (int l = 0; l < LANES; l++)
        if (l < m) p[l] = v[l];
}

SKRANK_INLINE void pad(double *x, int m, double value) {
    for (int l = 0; l < PADDING; l++) x[m + l] = value;
}

// exp(x - shift). `out` has room for PADDING numbers beyond m, which become 0: as factors
// of pairs they add nothing.
SKRANK_CLONES
static void exp_shifted(const double *x, double shift, int m, double *out) {
    int j = 0;
    for (; j + LANES <= m; j += LANES) store(out + j, exp_clipped(load(x + j) - shift));
    store(out + j, exp_clipped(load_some(x + j, m - j, shift) - shift));
    pad(out, m, 0.0);
}

// Two vectors at a time, since every comparison waits for the last one.
template <bool Largest>
SKRANK_INLINE double extreme_of(const double *x, int m) {
    double best = x[0];
    int j = 1;
    if (m >= 2 * LANES) {
        Vec a = load(x), b = load(x + LANES);
        for (j = 2 * LANES; j + 2 * LANES <= m; j += 2 * LANES) {
            const Vec c = load(x + j), d = load(x + j + LANES);
            a = where(Largest ? c > a : c < a, c, a);
            b = where(Largest ? d > b : d < b, d, b);
        }
        a = where(Largest ? b > a : b < a, b, a);
        best = a[0];
        for (int l = 1; l < LANES; l++)
            if (Largest ? a[l] > best : a[l] < best) best = a[l];
    }
    for (; j < m; j++)
        if (Largest ? x[j] > best : x[j] < best) best = x[j];
    return best;
}
SKRANK_INLINE double max_of(const double *x, int m) { return extreme_of<true>(x, m); }
SKRANK_INLINE double min_of(const double *x, int m) { return extreme_of<false>(x, m); }

// For callers that are not cloned themselves: without AVX these comparisons are slow.
SKRANK_CLONES
static void find_extremes(const double *x, int m, double *bottom, double *top) {
    *bottom = min_of(x, m);
    *top = max_of(x, m);
}

}  // namespace skrank
