// Sums over pairs of preference edges, one query at a time.
//
// Documents stand in the order of their grades; document i is preferred to lower[i], ...,
// m - 1, and every such pair is an edge. The loss of two edges with u = a[j] - a[i] and
// v = b[l] - b[k] is log(1 + e^u + e^v). With c(t) = log(1 + e^t), the sum over one edge,
//
//     G(t) = sum_v w_v log(1 + e^t + e^v) = W c(t) + sum_v w_v log(1 + e^(v - c(t))),
//
// is a sum of logistic losses with a common margin, so e^(v - c) factorises into numbers
// of single documents, and a product of terms stands under one logarithm. G is analytic
// for |Im t| < pi, so a few dozen Chebyshev nodes replace it at all edges.
#pragma once

#include <vector>

#include "_for_each_query.hpp"
#include "_log_products.hpp"

namespace skrank {

// exp(-CUT) is nothing beside 1.
constexpr double CUT = 40.0;
// Beyond this range of scores, products of two exponentials would need very short chunks.
constexpr double FACTORISED_RANGE = 80.0;
constexpr double CELL = 4.0;
constexpr double LARGEST = 1e300;
constexpr double PI = 3.14159265358979323846;
constexpr int NODE_BLOCK = 4;

struct Edges {
    const int *lower;
    const double *weight;  // of preferred documents; may be null
    int m;
    double weight_of(int i) const { return weight ? weight[i] : 1.0; }
    double total() const {
        double sum = 0.0;
        for (int i = 0; i < m && lower[i] < m; i++) sum += weight_of(i) * (m - lower[i]);
        return sum;
    }
    double count() const {
        double sum = 0.0;
        for (int i = 0; i < m && lower[i] < m; i++) sum += m - lower[i];
        return sum;
    }
};

static inline double softplus(double t) {
    return t > 0.0 ? t + std::log1p(std::exp(-t)) : std::log1p(std::exp(t));
}
static inline double logistic(double t) {
    const double e = std::exp(-std::fabs(t));
    return (t < 0.0 ? e : 1.0) / (1.0 + e);
}

// value[k] = sum of w log(1 + x), slope[k] = sum of w x / (1 + x) over all edges, with
// x = e[j] inverse[i] s[k]. `share / product` is the sum of x / (1 + x) of the factors
// of a chunk, so that no edge costs a division. `e` is padded with zeros.
SKRANK_CLONES
static void logistic_sums(const double *e, const double *inverse, const int *lower,
                          const double *weight, int m, int chunk, const double *s,
                          double *value, double *slope, Scratch &scratch) {
    Vec product[NODE_BLOCK], share[NODE_BLOCK];
    LongProduct logs[NODE_BLOCK];
    double rate[NODE_BLOCK];
    for (int k = 0; k < NODE_BLOCK; k++) {
        product[k] = Vec{1.0, 1.0, 1.0, 1.0};
        share[k] = Vec{};
        rate[k] = value[k] = slope[k] = 0.0;
    }
    int left = chunk;
    for (int i = 0; i < m && lower[i] < m; i++) {
        if (scratch.spend(NODE_BLOCK * (m - lower[i]))) break;
        double factor[NODE_BLOCK];
        for (int k = 0; k < NODE_BLOCK; k++) factor[k] = inverse[i] * s[k];
        for (int j = lower[i]; j < m;) {
            const int vectors = std::min(left, (m - j + LANES - 1) / LANES);
            const int stop = j + LANES * vectors;
            for (; j < stop; j += LANES) {
                const Vec odds = load(e + j);
                for (int k = 0; k < NODE_BLOCK; k++) {
                    const Vec x = odds * factor[k], t = 1.0 + x;
                    share[k] = share[k] * t + x * product[k];
                    product[k] *= t;
                }
            }
            left -= vectors;
            if (left > 0 && !(weight && j >= m)) continue;
            left = chunk;
            for (int k = 0; k < NODE_BLOCK; k++) {
                for (int l = 0; l < LANES; l++) {
                    logs[k].multiply(product[k][l]);
                    rate[k] += share[k][l] / product[k][l];
                }
                product[k] = Vec{1.0, 1.0, 1.0, 1.0};
                share[k] = Vec{};
            }
        }
        if (!weight) continue;
        for (int k = 0; k < NODE_BLOCK; k++) {
            value[k] += weight[i] * logs[k].log();
            slope[k] += weight[i] * rate[k];
            logs[k] = LongProduct();
            rate[k] = 0.0;
        }
    }
    if (weight) return;
    for (int k = 0; k < NODE_BLOCK; k++) {
        for (int l = 0; l < LANES; l++) {
            logs[k].multiply(product[k][l]);
            rate[k] += share[k][l] / product[k][l];
        }
        value[k] = logs[k].log();
        slope[k] = rate[k];
    }
}

// G and its derivative for scores b whose range is at most FACTORISED_RANGE.
class FactorisedSums {
    const Edges &edges;
    std::vector<double> e, inverse;
    int chunk;
    Scratch &scratch;

  public:
    double total, top;

    FactorisedSums(const double *b, double bottom, double highest, const Edges &edges,
                   Scratch &scratch)
        : edges(edges), e(edges.m + PADDING), inverse(edges.m + PADDING),
          scratch(scratch), total(edges.total()), top(highest - bottom) {
        const double middle = bottom + 0.5 * (highest - bottom);
        exp_shifted(b, middle, edges.m, e.data());
        for (int i = 0; i < edges.m; i++) inverse[i] = 1.0 / e[i];
        chunk = (int)std::min(64.0, (MAX_LOG_PRODUCT - 10.0) / (top + LN2));
    }
    void evaluate(const double *t, int n, double *value, double *slope) const {
        for (int k = 0; k < n; k += NODE_BLOCK) {
            double c[NODE_BLOCK], s[NODE_BLOCK], logs[NODE_BLOCK], rates[NODE_BLOCK];
            const int some = std::min(NODE_BLOCK, n - k);
            for (int l = 0; l < NODE_BLOCK; l++) {
                c[l] = softplus(t[k + (l < some ? l : 0)]);
                s[l] = std::exp(-c[l]);
            }
            logistic_sums(e.data(), inverse.data(), edges.lower, edges.weight, edges.m,
                          chunk, s, logs, rates, scratch);
            for (int l = 0; l < some; l++) {
                value[k + l] = total * c[l] + logs[l];
                slope[k + l] = logistic(t[k + l]) * (total - rates[l]);
            }
        }
    }
};

struct WeightedEdge {
    double v, weight;
    bool operator<(const WeightedEdge &other) const { return v < other.v; }
};
struct PlacedEdge {
    double u;
    int i, j;
    bool operator<(const PlacedEdge &other) const {
        if (u != other.u) return u < other.u;
        return i != other.i ? i < other.i : j < other.j;
    }
};

// Sums of w log(1 + e^gap) and w / (1 + e^-gap) over gaps v - c of at most CUT.
SKRANK_CLONES
static void window_sums(const double *v, const double *weight, int64_t n, double c,
                        double *value, double *slope) {
    LogProducts logs((int)(MAX_LOG_PRODUCT / (CUT + LN2)));
    Vec rates = {};
    for (int64_t k = 0; k < n;) {
        const int64_t vectors = (n - k + LANES - 1) / LANES;
        const int64_t stop = k + LANES * logs.room((int)std::min<int64_t>(vectors, 64));
        Vec product = logs.get();
        for (; k < stop; k += LANES) {
            const int some = (int)std::min<int64_t>(LANES, n - k);
            const Vec gap = some == LANES ? load(v + k) - c
                                          : load_some(v + k, some, c - 700.0) - c;
            const Vec x = exp_clipped(gap), t = 1.0 + x;
            const Vec w = some == LANES ? load(weight + k)
                                        : load_some(weight + k, some, 0.0);
            product *= t;
            rates += w * (x / t);
        }
        logs.set(product);
    }
    *value = logs.take();
    *slope = sum(rates);
}

// The same for any scores: edges sorted by v, of which only those within CUT of c(t)
// need a logarithm.
class SortedSums {
    std::vector<double> v, weight;
    std::vector<double> below, above;  // weights of those before, w v of those from here
    bool weighted;
    Scratch &scratch;

    double weighted_logs(size_t lo, size_t hi, double c) const {
        double logs = 0.0;
        for (size_t k = lo; k < hi; k++) logs += weight[k] * softplus(v[k] - c);
        return logs;
    }

  public:
    double total, top;

    SortedSums(const double *b, const Edges &edges, Scratch &scratch)
        : weighted(edges.weight != nullptr), scratch(scratch), total(edges.total()) {
        std::vector<WeightedEdge> sorted;
        sorted.reserve((size_t)edges.count());
        for (int i = 0; i < edges.m; i++)
            for (int j = edges.lower[i]; j < edges.m; j++)
                sorted.push_back({b[j] - b[i], edges.weight_of(i)});
        std::sort(sorted.begin(), sorted.end());
        const size_t n = sorted.size();
        v.resize(n);
        weight.resize(n);
        below.assign(n + 1, 0.0);
        above.assign(n + 1, 0.0);
        for (size_t k = 0; k < n; k++) {
            v[k] = sorted[k].v;
            weight[k] = sorted[k].weight;
            below[k + 1] = below[k] + weight[k];
        }
        for (size_t k = n; k-- > 0;) above[k] = above[k + 1] + weight[k] * v[k];
        top = std::max(0.0, v[n - 1]);
    }
    void evaluate(const double *t, int n, double *value, double *slope) const {
        for (int k = 0; k < n; k++) {
            const double c = softplus(t[k]);
            const auto first = std::lower_bound(v.begin(), v.end(), c - CUT);
            const auto last = std::upper_bound(first, v.end(), c + CUT);
            const size_t lo = first - v.begin(), hi = last - v.begin();
            double logs, rates;
            if (scratch.spend(hi - lo + 64)) break;
            window_sums(&v[lo], &weight[lo], hi - lo, c, &logs, &rates);
            if (weighted) logs = weighted_logs(lo, hi, c);
            const double inside = below[hi] - below[lo];
            value[k] = below[hi] * c + above[hi] + logs;
            slope[k] = logistic(t[k]) * (below[lo] + (inside - rates));
        }
    }
};

// Nodes that make the interpolation error of a cell of half-width h about 1e-15: the
// terms fall like rho^-k, where rho is the sum of the half-axes of the largest ellipse
// with foci at the ends of the cell that avoids the branch points at Im t = +-pi.
static int chebyshev_nodes(double half) {
    if (!(half > 1e-8)) return 4;
    const double ratio = PI / half;
    const double rho = ratio + std::sqrt(ratio * ratio + 1.0);
    return 4 + (int)(34.0 / std::log(rho));
}

// Clenshaw's recurrence for G and its derivative, each lane in a cell of its own.
SKRANK_CLONES
static void interpolate(const double *coefficients, int nodes, int cells, double low,
                        double width, const double *t, int n, double *value,
                        double *slope) {
    const double half = 0.5 * width, scale = half > 1e-300 ? 1.0 / half : 0.0;
    const double per_cell = 0.5 * scale;
    for (int k = 0; k < n; k += LANES) {
        const double *c[LANES];
        Vec x = {};
        for (int l = 0; l < LANES; l++) {
            const double place = t[k + (k + l < n ? l : 0)] - low;
            // NaN is not above 0, so it falls into the first cell.
            const double cell = std::min(std::max(0.0, place * per_cell), cells - 0.5);
            c[l] = coefficients + (size_t)2 * nodes * (int)cell;
            x[l] = (place - width * (int)cell - half) * scale;
            x[l] = std::min(std::max(x[l], -1.0), 1.0);
        }
        const Vec twice = x + x;
        Vec p = {}, p_last = {}, q = {}, q_last = {};
        for (int r = nodes - 1; r > 0; r--) {
            const Vec a = {c[0][2 * r], c[1][2 * r], c[2][2 * r], c[3][2 * r]};
            const Vec b = {c[0][2 * r + 1], c[1][2 * r + 1], c[2][2 * r + 1],
                           c[3][2 * r + 1]};
            const Vec p_next = twice * p - p_last + a, q_next = twice * q - q_last + b;
            p_last = p;
            q_last = q;
            p = p_next;
            q = q_next;
        }
        const Vec a = {c[0][0], c[1][0], c[2][0], c[3][0]};
        const Vec b = {c[0][1], c[1][1], c[2][1], c[3][1]};
        store_some(value + k, n - k, x * p - p_last + a);
        store_some(slope + k, n - k, x * q - q_last + b);
    }
}

// G between `low` and `high` as Chebyshev series in cells of equal width.
class Series {
    std::vector<double> coefficients;
    double low, high, width, total;
    int nodes, cells;

  public:
    // Cost of building the series, in evaluations of G.
    static double cost(double low, double high) {
        const double cells = std::max(1.0, std::ceil((high - low) / CELL));
        return cells * chebyshev_nodes(0.5 * (high - low) / cells);
    }
    template <class Sums>
    Series(const Sums &sums, double low, double high)
        : low(low), high(high), total(sums.total) {
        cells = (int)std::max(1.0, std::ceil((high - low) / CELL));
        width = (high - low) / cells;
        nodes = chebyshev_nodes(0.5 * width);
        coefficients.assign((size_t)2 * nodes * cells, 0.0);
        std::vector<double> cosines(4 * nodes), t(nodes), value(nodes), slope(nodes);
        for (int k = 0; k < 4 * nodes; k++) cosines[k] = std::cos(PI * k / (2 * nodes));
        for (int cell = 0; cell < cells; cell++) {
            for (int k = 0; k < nodes; k++)
                t[k] = low + width * (cell + 0.5 + 0.5 * cosines[2 * k + 1]);
            sums.evaluate(t.data(), nodes, value.data(), slope.data());
            double *out = &coefficients[(size_t)2 * nodes * cell];
            for (int r = 0; r < nodes; r++) {
                double p = 0.0, q = 0.0;
                for (int k = 0; k < nodes; k++) {
                    const double cosine = cosines[(r * (2 * k + 1)) % (4 * nodes)];
                    p += value[k] * cosine;
                    q += slope[k] * cosine;
                }
                out[2 * r] = (r ? 2.0 : 1.0) / nodes * p;
                out[2 * r + 1] = (r ? 2.0 : 1.0) / nodes * q;
            }
        }
    }
    void evaluate(const double *t, int n, double *value, double *slope) const {
        interpolate(coefficients.data(), nodes, cells, low, width, t, n, value, slope);
        for (int k = 0; k < n; k++) {
            // Outside of its cells a series means nothing, and G is known there.
            if (t[k] < low) {  // below -CUT, where G only depends on the other edges
                slope[k] *= std::exp(t[k] - low);
            } else if (t[k] > high) {  // CUT above all others
                value[k] = total * t[k];
                slope[k] = total;
            }
        }
    }
};

// Adds sum_u w_u G(u), and its derivative with respect to a to `grad`.
template <class Function>
double sum_over_edges(const Function &function, const double *a, const Edges &edges,
                      double scale, double *grad, Scratch &scratch) {
    std::vector<double> t(edges.m), value(edges.m), slope(edges.m);
    double loss = 0.0;
    for (int i = 0; i < edges.m && edges.lower[i] < edges.m; i++) {
        const int first = edges.lower[i], n = edges.m - first;
        if (scratch.spend(16 * n)) break;
        for (int k = 0; k < n; k++) t[k] = a[first + k] - a[i];
        function.evaluate(t.data(), n, value.data(), slope.data());
        const double w = edges.weight_of(i);
        double row = 0.0, pull = 0.0;
        for (int k = 0; k < n; k++) {
            row += value[k];
            pull += slope[k];
            grad[first + k] += scale * w * slope[k];
        }
        loss += w * row;
        grad[i] -= scale * w * pull;
    }
    return loss;
}

// The same where G has kinks all over a wide range: edges sorted by u, and a series for
// every stretch of CELL that holds more edges than a series has nodes.
static double sum_over_sorted_edges(const SortedSums &sums, const double *a,
                                    const Edges &edges, double scale, bool direct,
                                    double *grad) {
    std::vector<PlacedEdge> sorted;
    sorted.reserve((size_t)edges.count());
    for (int i = 0; i < edges.m; i++)
        for (int j = edges.lower[i]; j < edges.m; j++)
            sorted.push_back({a[j] - a[i], i, j});
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> t, value, slope;
    double loss = 0.0;
    for (size_t first = 0, last; first < sorted.size(); first = last) {
        for (last = first; last < sorted.size(); last++)
            if (sorted[last].u > sorted[first].u + CELL) break;
        const int n = (int)(last - first);
        t.resize(n);
        value.resize(n);
        slope.resize(n);
        for (int k = 0; k < n; k++) t[k] = sorted[first + k].u;
        if (!direct && n > Series::cost(t[0], t[n - 1]))
            Series(sums, t[0], t[n - 1]).evaluate(t.data(), n, value.data(),
                                                  slope.data());
        else
            sums.evaluate(t.data(), n, value.data(), slope.data());
        for (int k = 0; k < n; k++) {
            const PlacedEdge &edge = sorted[first + k];
            const double w = edges.weight_of(edge.i), pull = scale * w * slope[k];
            loss += w * value[k];
            grad[edge.j] += pull;
            grad[edge.i] -= pull;
        }
    }
    return loss;
}

// sum_u w_u G(u), G from b; adds scale times its derivative with respect to a.
static double edge_pairs_one_side(const double *a, const double *b, const Edges &edges,
                                  double scale, bool direct, double *grad,
                                  Scratch &scratch) {
    double bottom, highest, a_bottom, a_highest;
    find_extremes(b, edges.m, &bottom, &highest);
    find_extremes(a, edges.m, &a_bottom, &a_highest);
    const double range = a_highest - a_bottom;
    if (!(highest - bottom < LARGEST && range < LARGEST))  // no order of differences
        return std::numeric_limits<double>::quiet_NaN();
    if (!(highest - bottom <= FACTORISED_RANGE))
        return sum_over_sorted_edges(SortedSums(b, edges, scratch), a, edges, scale,
                                     direct, grad);
    const FactorisedSums sums(b, bottom, highest, edges, scratch);
    const double low = std::max(-range, -CUT), high = std::min(range, sums.top + CUT);
    if (direct || edges.count() <= Series::cost(low, high))
        return sum_over_edges(sums, a, edges, scale, grad, scratch);
    return sum_over_edges(Series(sums, low, high), a, edges, scale, grad, scratch);
}

// Mean over e' of the loss of the pairs (e, e'), summed over e; weights of pairs are
// products of weights of edges. `b` may be null: the scores a on both sides. Adds to the
// gradients. Needs memory: may throw std::bad_alloc.
static double edge_pairs_query(const double *a, const double *b, const Edges &edges,
                               bool direct, double *grad_a, double *grad_b,
                               Scratch &scratch) {
    const double total = edges.total();
    if (!(total > 0.0)) return 0.0;
    const double scale = (b ? 1.0 : 2.0) / total;
    const double value = edge_pairs_one_side(a, b ? b : a, edges, scale, direct, grad_a,
                                             scratch);
    if (b) edge_pairs_one_side(b, a, edges, scale, direct, grad_b, scratch);
    return value / total;
}

}  // namespace skrank
