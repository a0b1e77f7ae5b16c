// Leaves that hold linear functions of the features on the path to them.
//
// A term adds coef * (x - center), where x is moved to the range of the values that the
// leaf was fitted to. A row that misses one of the features of its leaf gets the constant
// of the leaf alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "_forest.hpp"

namespace skrank {

// Terms of all nodes; those of node k are [start[k], start[k + 1]).
struct LinearTerms {
    const int64_t *start;
    const int32_t *feature;
    const double *coef, *center, *low, *high;
    int64_t n_terms;
};

template <typename T>
inline double sum_of_terms(const LinearTerms &terms, int64_t node, const T *row) {
    double sum = 0.0;
    for (int64_t t = terms.start[node]; t < terms.start[node + 1]; t++) {
        const double x = static_cast<double>(row[terms.feature[t]]);
        if (x != x) return 0.0;
        const double within = std::min(std::max(x, terms.low[t]), terms.high[t]);
        sum += terms.coef[t] * (within - terms.center[t]);
    }
    return sum;
}

// Adds trees [first, last) to the scores of n rows of d features. Throws if the terms do
// not fit, as those of a damaged file could.
template <typename T>
void add_linear_forest(const ForestArrays &from, const LinearTerms &terms, int64_t first,
                       int64_t last, const T *X, int64_t n, int64_t d, int n_outputs,
                       double *scores, int n_threads) {
    const Forest<T> forest(from, first, last, d, n_outputs, false);
    const int64_t start = from.roots[first];
    const int64_t stop = last < from.n_trees ? from.roots[last] : from.n_nodes;
    bool fits = terms.start[start] >= 0 && terms.start[stop] <= terms.n_terms;
    for (int64_t k = start; k < stop; k++) fits &= terms.start[k] <= terms.start[k + 1];
    if (!fits) throw std::invalid_argument("the terms of the leaves do not fit");
    for (int64_t t = terms.start[start]; t < terms.start[stop]; t++) {
        fits &= terms.feature[t] >= 0 && terms.feature[t] < d;
    }
    if (!fits) throw std::invalid_argument("the terms of the leaves do not fit");
    for_each((n + CHUNK_ROWS - 1) / CHUNK_ROWS, 1, n_threads, Room(),
             [&](Index chunk, Scratch &) {
        const int64_t end = std::min<int64_t>(n, (chunk + 1) * CHUNK_ROWS);
        for (int64_t i = chunk * CHUNK_ROWS; i < end; i++) {
            const T *row = X + i * d;
            for (int64_t t = 0; t < last - first; t++) {
                const int64_t node = start + forest.walk_one(row, t);
                scores[i * n_outputs + from.output[first + t]] +=
                    from.value[node] + sum_of_terms(terms, node, row);
            }
        }
    });
}

// What a leaf is fitted to, and what is found.
struct LinearLeaf {
    int64_t node, begin, end;
    std::vector<int32_t> feature;
    std::vector<double> coef, center, low, high;
};

// Fits the leaves of one tree to gradients and hessians: of the quadratic model of the
// loss, minus the inverse of Z'HZ + l2 I times Z'g, where Z holds the features, less their
// weighted means and divided by ``scale``. So the constants of the leaves stay as they are.
template <typename T>
class LinearFit {
   public:
    std::vector<LinearLeaf> leaves;

    LinearFit(const ForestArrays &from, const T *X, int64_t d, const double *gradient,
              const double *hessian, const double *scale, double l2)
        : from(from), X(X), d(d), gradient(gradient), hessian(hessian), scale(scale), l2(l2) {}

    // ``rows`` lists the rows that the tree was grown on, or is null for the first ones.
    void fit(const int32_t *rows, int64_t n, int n_threads) {
        sort_rows(rows, n, n_threads);
        for_each(static_cast<Index>(leaves.size()), 1, n_threads, Room(),
                 [&](Index k, Scratch &) { fit_leaf(leaves[k]); });
    }

   private:
    const ForestArrays &from;
    const T *X;
    int64_t d;
    const double *gradient, *hessian, *scale;
    double l2;
    std::vector<int32_t> sorted;  // rows, leaf by leaf

    void sort_rows(const int32_t *rows, int64_t n, int n_threads) {
        const Forest<T> forest(from, 0, 1, d, 1, false);
        std::vector<int32_t> leaf_of(n);
        for_each((n + CHUNK_ROWS - 1) / CHUNK_ROWS, 1, n_threads, Room(),
                 [&](Index chunk, Scratch &) {
            const int64_t end = std::min<int64_t>(n, (chunk + 1) * CHUNK_ROWS);
            for (int64_t i = chunk * CHUNK_ROWS; i < end; i++) {
                const int64_t r = rows != nullptr ? rows[i] : i;
                leaf_of[i] = forest.walk_one(X + r * d, 0);
            }
        });
        std::vector<int64_t> place(from.n_nodes + 1, 0);
        for (int64_t i = 0; i < n; i++) place[leaf_of[i] + 1]++;
        for (int64_t k = 0; k < from.n_nodes; k++) place[k + 1] += place[k];
        std::vector<int64_t> parent(from.n_nodes, -1);
        for (int64_t k = 0; k < from.n_nodes; k++) {
            if (from.feature[k] < 0) {
                leaves.push_back(
                    {k, place[k], place[k + 1], path_to(k, parent), {}, {}, {}, {}});
            } else {
                parent[from.left[k]] = parent[from.left[k] + 1] = k;
            }
        }
        sorted.resize(n);
        for (int64_t i = 0; i < n; i++) {
            sorted[place[leaf_of[i]]++] =
                static_cast<int32_t>(rows != nullptr ? rows[i] : i);
        }
    }

    // The features of numbers on the path to a leaf, ascending.
    std::vector<int32_t> path_to(int64_t leaf, const std::vector<int64_t> &parent) const {
        std::vector<int32_t> found;
        for (int64_t k = parent[leaf]; k >= 0; k = parent[k]) {
            if (from.category[k] < 0 && scale[from.feature[k]] > 0) {
                found.push_back(from.feature[k]);
            }
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    double hessian_of(int32_t row) const { return hessian != nullptr ? hessian[row] : 1.0; }

    // Moves the rows that miss none of the features to the front; returns their end.
    int64_t part_complete(const LinearLeaf &leaf) {
        const auto complete = [&](int32_t row) {
            for (const int32_t f : leaf.feature) {
                if (!std::isfinite(X[row * d + f])) return false;
            }
            return true;
        };
        return std::stable_partition(sorted.begin() + leaf.begin, sorted.begin() + leaf.end,
                                     complete) - sorted.begin();
    }

    void fit_leaf(LinearLeaf &leaf) {
        const int p = static_cast<int>(leaf.feature.size());
        if (p == 0) return;
        const int64_t end = part_complete(leaf);
        double total = 0.0;
        for (int64_t i = leaf.begin; i < end; i++) total += hessian_of(sorted[i]);
        if (!(total > 0.0)) {
            leaf.feature.clear();
            return;
        }
        leaf.center.assign(p, 0.0);
        leaf.low.assign(p, std::numeric_limits<double>::infinity());
        leaf.high.assign(p, -std::numeric_limits<double>::infinity());
        for (int64_t i = leaf.begin; i < end; i++) {
            const T *row = X + sorted[i] * d;
            const double h = hessian_of(sorted[i]);
            for (int j = 0; j < p; j++) {
                const double x = static_cast<double>(row[leaf.feature[j]]);
                leaf.center[j] += h * (x / scale[leaf.feature[j]]);
                leaf.low[j] = std::min(leaf.low[j], x);
                leaf.high[j] = std::max(leaf.high[j], x);
            }
        }
        for (double &center : leaf.center) center /= total;
        std::vector<double> A(p * p, 0.0), b(p, 0.0), z(p);
        for (int64_t i = leaf.begin; i < end; i++) {
            const int32_t r = sorted[i];
            for (int j = 0; j < p; j++) {
                const int32_t f = leaf.feature[j];
                z[j] = static_cast<double>(X[r * d + f]) / scale[f] - leaf.center[j];
            }
            const double g = gradient[r], h = hessian_of(r);
            for (int j = 0; j < p; j++) {
                b[j] -= g * z[j];
                for (int k = 0; k <= j; k++) A[j * p + k] += h * z[j] * z[k];
            }
        }
        leaf.coef = solved(A, b);
        for (int j = 0; j < p; j++) {
            leaf.coef[j] /= scale[leaf.feature[j]];
            leaf.center[j] *= scale[leaf.feature[j]];
        }
    }

    // Solves (A + l2 I) a = b by Cholesky's method, from the lower half of A. Features that
    // hang on those before them, as far as rounding tells, get no coefficient.
    std::vector<double> solved(std::vector<double> &A, std::vector<double> &b) const {
        const int p = static_cast<int>(b.size());
        std::vector<bool> free(p);
        for (int j = 0; j < p; j++) {
            const double size = A[j * p + j] += l2;
            for (int k = 0; k < j; k++) A[j * p + j] -= A[j * p + k] * A[j * p + k];
            free[j] = A[j * p + j] > 1e-9 * size;
            const double root = free[j] ? std::sqrt(A[j * p + j]) : 1.0;
            A[j * p + j] = root;
            for (int i = j + 1; i < p; i++) {
                double &entry = A[i * p + j];
                for (int k = 0; k < j; k++) entry -= A[i * p + k] * A[j * p + k];
                entry = free[j] ? entry / root : 0.0;
            }
        }
        for (int j = 0; j < p; j++) {
            for (int k = 0; k < j; k++) b[j] -= A[j * p + k] * b[k];
            b[j] = free[j] ? b[j] / A[j * p + j] : 0.0;
        }
        for (int j = p - 1; j >= 0; j--) {
            for (int i = j + 1; i < p; i++) b[j] -= A[i * p + j] * b[i];
            b[j] = free[j] ? b[j] / A[j * p + j] : 0.0;
        }
        return b;
    }
};

}  // namespace skrank
