// Fidelity losses of the pairs of long queries, without a visit to the pairs.
//
// With t = exp(-|x[i] - x[j]|), the slope of a pair is t (1 + t)^-1.5 / 2 in the right
// order and sqrt(t) (1 + t)^-1.5 / 2 in the wrong one. On [0, 1] a polynomial of TERMS
// terms stands for the power of 1 + t to the last digits of a double, so that the slope is
// a sum of powers of t, each of which is a product of one factor of either document:
// documents are visited by score, and the powers of those before are kept in running sums
// by grade. Sums only ever shrink from document to document, so nothing overflows.
#pragma once

#include "_graded_queries.hpp"
#include "_sort.hpp"

namespace skrank {

constexpr int TERMS = 20;           // (3 + sqrt(8)) ** -20 is 5e-16
constexpr int MAX_SWEPT_LEVELS = 16;
constexpr int SWEPT_SIZE = 80;      // documents per grade from which on a sweep is faster

struct FidelityTerms {
    double right[TERMS];  // (1 - (1 + t) ** -0.5) / t
    double wrong[TERMS];  // (1 + t) ** -0.5
    double slope[TERMS];  // (1 + t) ** -1.5 / 2

    FidelityTerms() {
        fit(right, [](long double t) {
            const long double root = std::sqrt(1.0L + t);
            return 1.0L / (root * (1.0L + root));
        });
        fit(wrong, [](long double t) { return 1.0L / std::sqrt(1.0L + t); });
        fit(slope, [](long double t) { return 0.5L / ((1.0L + t) * std::sqrt(1.0L + t)); });
    }

   private:
    // Coefficients of the polynomial through the values at Chebyshev's points.
    template <class Function>
    static void fit(double *coefficients, Function function) {
        constexpr long double PI = 3.14159265358979323846264338327950288L;
        long double at[TERMS], sum[TERMS] = {}, before[TERMS] = {}, current[TERMS] = {};
        for (int i = 0; i < TERMS; i++) {
            at[i] = function(0.5L + 0.5L * std::cos(PI * (i + 0.5L) / TERMS));
        }
        // T(k + 1) = 2 (2 t - 1) T(k) - T(k - 1), as polynomials in t.
        current[0] = 1.0L;
        for (int k = 0; k < TERMS; k++) {
            long double c = 0.0L;
            for (int i = 0; i < TERMS; i++) c += at[i] * std::cos(PI * k * (i + 0.5L) / TERMS);
            c *= (k ? 2.0L : 1.0L) / TERMS;
            long double next[TERMS];
            for (int i = 0; i < TERMS; i++) {
                sum[i] += c * current[i];
                const long double shifted = i ? current[i - 1] : 0.0L;
                next[i] = (k ? 2.0L : 1.0L) * (2.0L * shifted - current[i]) - before[i];
            }
            std::copy(current, current + TERMS, before);
            std::copy(next, next + TERMS, current);
        }
        for (int i = 0; i < TERMS; i++) coefficients[i] = static_cast<double>(sum[i]);
    }
};
static const FidelityTerms FIDELITY;

// Powers of t of the documents of one grade that were visited: t, t ** 2 ... as the better
// ones of a pair in the right order, and t ** 0.5, t ** 1.5 ... as the worse ones of a pair
// in the wrong order.
struct Visited {
    double right[TERMS], wrong[TERMS], count;
};

SKRANK_INLINE void shrink(Visited *levels, int n_levels, double gap) {
    // Beyond this gap, powers would be too small to be normal numbers.
    const Vec none = {};
    Vec e = exp_clipped(Vec{} - Vec{1.0, 0.5, 0.0, 0.0} * gap);
    const double t = gap < 600.0 ? e[0] : 0.0, half = gap < 600.0 ? e[1] : 0.0;
    const double t2 = t * t, t4 = t2 * t2;
    Vec right = {t, t2, t2 * t, t4}, wrong = {half, half * t, half * t2, half * t2 * t};
    for (int k = 0; k < TERMS; k += LANES) {
        // Sums of subnormal numbers take hundreds of times as long, and add nothing.
        right = where(right < 1e-290, none, right);
        wrong = where(wrong < 1e-290, none, wrong);
        for (int l = 0; l < n_levels; l++) {
            Visited &v = levels[l];
            Vec r = load(v.right + k) * right, w = load(v.wrong + k) * wrong;
            store(v.right + k, where(magnitude(r) < 1e-290, none, r));
            store(v.wrong + k, where(magnitude(w) < 1e-290, none, w));
        }
        right *= t4;
        wrong *= t4;
    }
}

struct SweptSums {
    double value = 0.0, slope = 0.0;
};

// One query in the order of the scores: a pair weighs better[u] * worse[v]. Downwards, the
// sums over all pairs are returned. To `grad`, unless null, are added the slopes of the
// pairs with documents that were visited before: both directions give the gradient.
SKRANK_CLONES
static SweptSums fidelity_sweep(const double *sorted, const int *order, const int *level,
                                int n_levels, const double *better, const double *worse,
                                int m, bool upwards, double *grad) {
    Visited levels[MAX_SWEPT_LEVELS];
    std::memset(levels, 0, sizeof levels);
    // Upwards, all is as downwards with the scores negated and the grades reversed.
    const double *front = upwards ? worse : better, *back = upwards ? better : worse;
    SweptSums sums;
    double last = 0.0;
    for (int s = 0; s < m; s++) {
        const int r = upwards ? m - 1 - s : s, d = order[r];
        const int own = upwards ? n_levels - 1 - level[d] : level[d];
        if (s > 0 && sorted[r] != last) shrink(levels, n_levels, std::fabs(last - sorted[r]));
        last = sorted[r];
        Vec slope_right = {}, slope_wrong = {}, value_right = {}, value_wrong = {};
        double count = 0.0;
        for (int k = 0; k < TERMS; k += LANES) {
            Vec right = {}, wrong = {};
            for (int l = 0; l < own; l++) right += load(levels[l].right + k);
            for (int l = own + 1; l < n_levels; l++) wrong += load(levels[l].wrong + k);
            const Vec slope = load(FIDELITY.slope + k);
            slope_right += slope * right;
            slope_wrong += slope * wrong;
            value_right += load(FIDELITY.right + k) * right;
            value_wrong += load(FIDELITY.wrong + k) * wrong;
        }
        for (int l = own + 1; l < n_levels; l++) count += levels[l].count;
        const double down = back[d] * sum(slope_right), up = front[d] * sum(slope_wrong);
        sums.value += back[d] * sum(value_right) + front[d] * (count - sum(value_wrong));
        sums.slope += down + up;
        if (grad) grad[d] += upwards ? up - down : down - up;
        Visited &mine = levels[own];
        for (int k = 0; k < TERMS; k += LANES) {
            store(mine.right + k, load(mine.right + k) + front[d]);
            store(mine.wrong + k, load(mine.wrong + k) + back[d]);
        }
        mine.count += back[d];
    }
    return sums;
}

// Numbers the grades from the best, 0; returns how many there are, or 0 where visiting all
// pairs is the better way. The negation also sends NaN there, which passes it on.
inline int swept_levels(const double *x, const int *lower, int m, int *level) {
    int n_levels = 1;
    for (int r = 0; r < m; r++) {
        n_levels += r > 0 && lower[r - 1] == r;
        level[r] = n_levels - 1;
        if (n_levels > MAX_SWEPT_LEVELS || m < SWEPT_SIZE * n_levels) return 0;
        if (!(std::fabs(x[r]) < INFINITE)) return 0;
    }
    return n_levels;
}

}  // namespace skrank
