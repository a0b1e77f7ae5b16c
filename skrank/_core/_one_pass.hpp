// Arithmetic in one pass over arrays.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "_clones.hpp"

namespace skrank {

template <class T>
SKRANK_INLINE void rectify_body(T *z, const T *bias, ptrdiff_t n, ptrdiff_t d) {
    for (ptrdiff_t i = 0; i < n; i++, z += d)
        for (ptrdiff_t j = 0; j < d; j++) {
            const T value = z[j] + bias[j];
            z[j] = value < 0 ? 0 : value;
        }
}

// The product is taken whether it is wanted or not: a branch would be guessed wrong for
// every other unit.
template <class T>
SKRANK_INLINE void outer_body(const T *left, const T *right, const T *outputs,
                              ptrdiff_t n, ptrdiff_t d, T *__restrict__ out) {
    for (ptrdiff_t i = 0; i < n; i++, outputs += d, out += d) {
        const T factor = left[i];
        for (ptrdiff_t j = 0; j < d; j++) {
            const T product = factor * right[j], active = outputs[j] > 0 ? 1 : 0;
            out[j] = product * active;
        }
    }
}

SKRANK_CLONES
static void rectify_clones(float *z, const float *bias, ptrdiff_t n, ptrdiff_t d) {
    rectify_body(z, bias, n, d);
}

SKRANK_CLONES
static void rectify_clones(double *z, const double *bias, ptrdiff_t n, ptrdiff_t d) {
    rectify_body(z, bias, n, d);
}

SKRANK_CLONES
static void outer_clones(const float *left, const float *right, const float *outputs,
                         ptrdiff_t n, ptrdiff_t d, float *out) {
    outer_body(left, right, outputs, n, d, out);
}

SKRANK_CLONES
static void outer_clones(const double *left, const double *right, const double *outputs,
                         ptrdiff_t n, ptrdiff_t d, double *out) {
    outer_body(left, right, outputs, n, d, out);
}

// z = max(z + bias, 0) for each of n rows of d numbers; NaN stays.
template <class T>
void rectify_rows(T *z, const T *bias, ptrdiff_t n, ptrdiff_t d) {
    rectify_clones(z, bias, n, d);
}

// out[i, j] = left[i] * right[j] where outputs[i, j] > 0, else 0.
template <class T>
void multiply_outer(const T *left, const T *right, const T *outputs, ptrdiff_t n,
                    ptrdiff_t d, T *out) {
    outer_clones(left, right, outputs, n, d, out);
}

// One step of Adam, in place.
SKRANK_CLONES
static void step_adam(double *__restrict__ params, const double *gradient,
                      double *__restrict__ mean, double *__restrict__ square,
                      ptrdiff_t n, double beta_1, double beta_2, double epsilon,
                      double root_scale, double rate) {
    const double rest_1 = 1.0 - beta_1, rest_2 = 1.0 - beta_2;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double g = gradient[i];
        mean[i] = mean[i] * beta_1 + g * rest_1;
        square[i] = square[i] * beta_2 + g * g * rest_2;
        params[i] -= mean[i] / (std::sqrt(square[i]) / root_scale + epsilon) * rate;
    }
}

// Energies, the negative scores, of the right label of each of n documents and of the most
// offending other one; infinite if there is none. Of equal labels the first offends.
static void find_offenders(const double *raw, const ptrdiff_t *column, ptrdiff_t n,
                           ptrdiff_t n_labels, double *right, double *wrong,
                           ptrdiff_t *offender) {
    for (ptrdiff_t i = 0; i < n; i++, raw += n_labels) {
        double score = -std::numeric_limits<double>::infinity();
        ptrdiff_t best = column[i] == 0 && n_labels > 1 ? 1 : 0;
        for (ptrdiff_t k = 0; k < n_labels; k++)
            if (k != column[i] && raw[k] > score) {
                score = raw[k];
                best = k;
            }
        right[i] = -raw[column[i]];
        wrong[i] = -score;
        offender[i] = best;
    }
}

// Adds what two labels of each of n documents have to slopes that are 0.
static void scatter_slopes(const double *right, const double *wrong,
                           const ptrdiff_t *column, const ptrdiff_t *offender,
                           ptrdiff_t n, ptrdiff_t n_labels, double *slopes) {
    for (ptrdiff_t i = 0; i < n; i++, slopes += n_labels) {
        slopes[column[i]] = right[i];
        slopes[offender[i]] += wrong[i];
    }
}

}  // namespace skrank
