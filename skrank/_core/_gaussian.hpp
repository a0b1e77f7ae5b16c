// Divergences of Gaussians with diagonal covariances: values and gradients, one query
// and its documents at a time.
//
// A Gaussian is a row of 2 L numbers: L means, then L numbers s that stand for the
// variances v = elu(s) + 1, which is e^s for s < 0 and s + 1 otherwise. Everything is
// written in log v, which is s itself for s < 0, so that a variance that would underflow
// to 0 still has an exact logarithm.
#pragma once

#include "_for_each_query.hpp"
#include "_simd.hpp"

namespace skrank {

constexpr double LOG_2PI = 1.83787706640934548356;

// log(x) for normal x > 0, absolute error about 1e-16 (relative away from 1); keeps NaN
// and turns infinity into NaN.
SKRANK_INLINE Vec log_positive(Vec x) {
    const Mask bits = (Mask)x - 0x3fe6a09e667f3bcd;  // sqrt(1/2): mantissas around 1
    const Mask k = bits >> 52;
    const Vec m = (Vec)((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
    // k + 1.5 * 2^52 as an integer addition to the bits of 1.5 * 2^52.
    const Vec exponent = (Vec)(k + 0x4338000000000000) - 6755399441055744.0;
    const Vec z = (m - 1.0) / (m + 1.0), y = z * z;  // log m = 2 artanh z, |z| < 0.1716
    Vec p = y * (1.0 / 21.0) + 1.0 / 19.0;
    p = p * y + 1.0 / 17.0;
    p = p * y + 1.0 / 15.0;
    p = p * y + 1.0 / 13.0;
    p = p * y + 1.0 / 11.0;
    p = p * y + 1.0 / 9.0;
    p = p * y + 1.0 / 7.0;
    p = p * y + 1.0 / 5.0;
    p = p * y + 1.0 / 3.0;
    const Vec tail = 2.0 * z * y * p;
    return exponent * LN2 + (2.0 * z + tail) + (x - x);
}

// e^t - 1 - t >= 0 without cancellation, and e^t - 1. Divergences of almost equal
// Gaussians consist of nothing but the digits that the plain formula would lose.
SKRANK_INLINE Vec exp_excess(Vec t, Vec *expm1) {
    Vec p = t * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * t + 1.0 / 39916800.0;
    p = p * t + 1.0 / 3628800.0;
    p = p * t + 1.0 / 362880.0;
    p = p * t + 1.0 / 40320.0;
    p = p * t + 1.0 / 5040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    const Vec near = t * t * p, far = exp_clipped(t) - 1.0;
    const Mask small = magnitude(t) < 0.5;
    *expm1 = where(small, near + t, far);
    return where(small, near, far - t);
}

// log v, and its derivative with respect to s.
SKRANK_INLINE Vec log_variance(Vec s) {
    const Mask below = s < 0.0;
    return where(below, s, log_positive(where(below, Vec{} + 1.0, 1.0 + s)));
}
SKRANK_INLINE Vec log_variance_slope(Vec s) {
    return where(s < 0.0, Vec{} + 1.0, 1.0 / (1.0 + s));
}

// Terms of one dimension. `a` and `b` are log variances of document and query, `gap` the
// mean of the document minus that of the query. Slopes: with respect to gap, a and b.
struct Slopes {
    Vec gap, a, b;
};

// KL(N_d || N_q).
struct KullbackLeibler {
    static SKRANK_MEMBER Vec value(Vec gap, Vec a, Vec b) {
        Vec ignored;
        const Vec excess = exp_excess(a - b, &ignored);
        return 0.5 * (excess + gap * gap * exp_clipped(-b));
    }
    static SKRANK_MEMBER Slopes slopes(Vec gap, Vec a, Vec b) {
        Vec ratio;
        exp_excess(a - b, &ratio);
        const Vec pull = gap * exp_clipped(-b);
        return {pull, 0.5 * ratio, -0.5 * (ratio + gap * pull)};
    }
};

// KL(N_q || N_d).
struct ReverseKullbackLeibler {
    static SKRANK_MEMBER Vec value(Vec gap, Vec a, Vec b) {
        return KullbackLeibler::value(gap, b, a);
    }
    static SKRANK_MEMBER Slopes slopes(Vec gap, Vec a, Vec b) {
        const Slopes mirrored = KullbackLeibler::slopes(gap, b, a);
        return {mirrored.gap, mirrored.b, mirrored.a};
    }
};

// 1/2 KL(N_d || N_m) + 1/2 KL(N_q || N_m), where N_m has the mean and the variance of
// the mixture of both: v_m = (v_d + v_q) / 2 + gap^2 / 4. With t = (a - b) / 2 that is
// 1/2 log(cosh t + gap^2 e^{-(a + b) / 2} / 4).
struct JensenShannon {
    static SKRANK_MEMBER Vec excess(Vec gap, Vec a, Vec b, Vec *odd, Vec *far) {
        const Vec up = exp_clipped(0.25 * (a - b)), down = 1.0 / up;
        const Vec sinh_half = 0.5 * (up - down);
        *odd = sinh_half * (up + down);  // sinh t
        *far = 0.25 * gap * gap * exp_clipped(-0.5 * (a + b));
        return 2.0 * sinh_half * sinh_half + *far;
    }
    static SKRANK_MEMBER Vec value(Vec gap, Vec a, Vec b) {
        Vec odd, far;
        return 0.5 * log_positive(1.0 + excess(gap, a, b, &odd, &far));
    }
    static SKRANK_MEMBER Slopes slopes(Vec gap, Vec a, Vec b) {
        Vec odd, far;
        const Vec scale = 0.25 / (1.0 + excess(gap, a, b, &odd, &far));
        const Vec pull = gap * exp_clipped(-0.5 * (a + b)) * scale;
        return {pull, scale * (odd - far), -scale * (odd + far)};
    }
};

// -log of the integral of N_d N_q, which is -log N(gap; 0, v_d + v_q).
struct ExpectedLikelihood {
    static SKRANK_MEMBER Vec log_sum(Vec a, Vec b) {
        const Vec top = where(a > b, a, b);
        return top + log_positive(1.0 + exp_clipped(-magnitude(a - b)));
    }
    static SKRANK_MEMBER Vec value(Vec gap, Vec a, Vec b) {
        const Vec total = log_sum(a, b);
        return 0.5 * (LOG_2PI + total + gap * gap * exp_clipped(-total));
    }
    static SKRANK_MEMBER Slopes slopes(Vec gap, Vec a, Vec b) {
        const Vec total = log_sum(a, b);
        const Vec pull = gap * exp_clipped(-total), rest = 0.5 * (1.0 - gap * pull);
        return {pull, rest * exp_clipped(a - total), rest * exp_clipped(b - total)};
    }
};

// `query` and `document` hold 2 L numbers, `log_v` log variances of the query.
template <class Divergence>
SKRANK_INLINE double divergence_of(const double *document, const double *query,
                                   const double *log_v, int L) {
    Vec total = {};
    int j = 0;
    for (; j + LANES <= L; j += LANES)
        total += Divergence::value(load(document + j) - load(query + j),
                                   log_variance(load(document + L + j)),
                                   load(log_v + j));
    double value = sum(total);
    if (j < L) {
        const Vec last = Divergence::value(
            load_some(document + j, L - j, 0.0) - load_some(query + j, L - j, 0.0),
            log_variance(load_some(document + L + j, L - j, 0.0)),
            load_some(log_v + j, L - j, 0.0));
        for (int l = 0; l < L - j; l++) value += last[l];
    }
    return value;
}

template <class Divergence>
SKRANK_INLINE void divergences_body(const double *documents, int m, const double *query,
                                    int L, double *log_v, double *values) {
    for (int j = 0; j < L; j += LANES) {
        const int n = L - j < LANES ? L - j : LANES;
        store_some(log_v + j, n, log_variance(load_some(query + L + j, n, 0.0)));
    }
    for (int i = 0; i < m; i++)
        values[i] = divergence_of<Divergence>(documents + (int64_t)2 * L * i, query,
                                              log_v, L);
}

// Gradients of sum_i g[i] * divergence(document i, query).
template <class Divergence>
SKRANK_INLINE void divergence_gradients_body(const double *documents, int m,
                                             const double *query, const double *g,
                                             int L, double *grad_documents,
                                             double *grad_query) {
    for (int j = 0; j < L; j += LANES) {
        const int n = L - j < LANES ? L - j : LANES;
        const Vec s = load_some(query + L + j, n, 0.0), b = log_variance(s);
        const Vec centre = load_some(query + j, n, 0.0);
        Vec mean_sum = {}, log_sum = {};
        for (int i = 0; i < m; i++) {
            const double *row = documents + (int64_t)2 * L * i + j;
            double *out = grad_documents + (int64_t)2 * L * i + j;
            const Vec mean = n == LANES ? load(row) : load_some(row, n, 0.0);
            const Vec t = n == LANES ? load(row + L) : load_some(row + L, n, 0.0);
            const Slopes slope = Divergence::slopes(mean - centre, log_variance(t), b);
            const Vec pull = g[i] * slope.gap, log_pull = g[i] * slope.a;
            mean_sum += pull;
            log_sum += g[i] * slope.b;
            if (n == LANES) {
                store(out, pull);
                store(out + L, log_pull * log_variance_slope(t));
            } else {
                store_some(out, n, pull);
                store_some(out + L, n, log_pull * log_variance_slope(t));
            }
        }
        store_some(grad_query + j, n, -mean_sum);
        store_some(grad_query + L + j, n, log_sum * log_variance_slope(s));
    }
}

enum DivergenceKind { KL, REVERSE_KL, JENSEN_SHANNON, EXPECTED_LIKELIHOOD };

SKRANK_CLONES
static void divergences(int kind, const double *documents, int m, const double *query,
                        int L, double *log_v, double *values) {
    switch (kind) {
    case KL:
        divergences_body<KullbackLeibler>(documents, m, query, L, log_v, values);
        break;
    case REVERSE_KL:
        divergences_body<ReverseKullbackLeibler>(documents, m, query, L, log_v, values);
        break;
    case JENSEN_SHANNON:
        divergences_body<JensenShannon>(documents, m, query, L, log_v, values);
        break;
    default:
        divergences_body<ExpectedLikelihood>(documents, m, query, L, log_v, values);
    }
}

SKRANK_CLONES
static void divergence_gradients(int kind, const double *documents, int m,
                                 const double *query, const double *g, int L,
                                 double *grad_documents, double *grad_query) {
    switch (kind) {
    case KL:
        divergence_gradients_body<KullbackLeibler>(documents, m, query, g, L,
                                                   grad_documents, grad_query);
        break;
    case REVERSE_KL:
        divergence_gradients_body<ReverseKullbackLeibler>(documents, m, query, g, L,
                                                          grad_documents, grad_query);
        break;
    case JENSEN_SHANNON:
        divergence_gradients_body<JensenShannon>(documents, m, query, g, L,
                                                 grad_documents, grad_query);
        break;
    default:
        divergence_gradients_body<ExpectedLikelihood>(documents, m, query, g, L,
                                                      grad_documents, grad_query);
    }
}

constexpr int GAUSSIAN_CHUNK = 4;  // every document has 2 L numbers

// Documents and queries are rows of 2 L numbers; one value per document.
static void all_divergences(const Queries &queries, int kind, const double *documents,
                            const double *query_rows, int L, double *values,
                            int n_threads) {
    for_each_query(queries, GAUSSIAN_CHUNK, n_threads, {L, 1},
                   [=](Query q, Scratch &scratch) {
                       divergences(kind, documents + 2 * L * q.start, q.size,
                                   query_rows + 2 * L * q.number, L, scratch.array(0),
                                   values + q.start);
                   });
}

// Gradients of the sum of `weight` times divergence; those of a query without documents
// stay as they are.
static void all_divergence_gradients(const Queries &queries, int kind,
                                     const double *documents, const double *query_rows,
                                     const double *weight, int L, double *grad_documents,
                                     double *grad_queries, int n_threads) {
    for_each_query(queries, GAUSSIAN_CHUNK, n_threads, {}, [=](Query q, Scratch &) {
        const Index at = 2 * L * q.start, row = 2 * L * q.number;
        divergence_gradients(kind, documents + at, q.size, query_rows + row,
                             weight + q.start, L, grad_documents + at,
                             grad_queries + row);
    });
}

}  // namespace skrank
