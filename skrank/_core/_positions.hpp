// Most violated rankings where every position has a weight: assignments of documents.
//
// Document i in position p adds weight[p] * score[i] to the score of the ranking, and
// scale * discount[p] * gain[i] to the measure, which a violating ranking goes without.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "_for_each_query.hpp"
#include "_sort.hpp"

namespace skrank {

// Documents of one query, by falling scores, and its positions.
struct Places {
    int size;
    const double *score, *gain;  // of each document
    const double *weight, *discount;  // of each position
};

// Work space of an assignment.
struct Matching {
    double *u, *v;       // dual numbers of documents and positions
    double *shortest;    // lengths of the paths to positions
    int *position;       // of each document, -1 for none
    int *document;       // in each position, -1 for none
    int *through;        // the document from which a path leads to a position
    char *seen_document, *seen_position;
};

// What remains of the cost of document i in position p; never negative, and 0 where the
// document stands.
inline double reduced_cost(const Places &q, const Matching &m, int i, int p) {
    const double cost = q.gain[i] * q.discount[p] - q.score[i] * q.weight[p];
    return cost - m.u[i] - m.v[p];
}

// Finds a place for one more document along the shortest of the paths on which others
// change theirs, and moves the dual numbers so that no cost becomes negative. Returns false
// if the search is to be given up.
inline bool place_document(const Places &q, Matching &m, int first, Scratch &scratch) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::fill(m.shortest, m.shortest + q.size, infinity);
    std::fill(m.through, m.through + q.size, first);  // scores may not be numbers
    std::fill(m.seen_document, m.seen_document + q.size, 0);
    std::fill(m.seen_position, m.seen_position + q.size, 0);
    double length = 0.0;
    int end = -1;
    for (int i = first; end < 0;) {
        if (scratch.spend(2 * q.size)) return false;
        m.seen_document[i] = 1;
        double least = infinity;
        int nearest = -1;
        for (int p = 0; p < q.size; p++) {
            if (m.seen_position[p]) continue;
            const double other = length + reduced_cost(q, m, i, p);
            if (other < m.shortest[p]) {
                m.shortest[p] = other;
                m.through[p] = i;
            }
            // Among equally near positions, a free one ends the search.
            if (m.shortest[p] < least || nearest < 0 ||
                (m.shortest[p] == least && m.document[p] < 0)) {
                least = m.shortest[p];
                nearest = p;
            }
        }
        length = least;
        m.seen_position[nearest] = 1;
        if (m.document[nearest] < 0)
            end = nearest;
        else
            i = m.document[nearest];
    }
    for (int i = 0; i < q.size; i++)
        if (m.seen_document[i])
            m.u[i] += i == first ? length : length - m.shortest[m.position[i]];
    for (int p = 0; p < q.size; p++)
        if (m.seen_position[p]) m.v[p] -= length - m.shortest[p];
    for (int p = end, i = -1; i != first;) {
        i = m.through[p];
        m.document[p] = i;
        std::swap(m.position[i], p);
    }
    return true;
}

// The positions that minimise the sum of gain * discount - score * weight; gains are at
// least 0, scores and weights fall. By the scores alone, documents would stay in their
// order, which dual numbers prove; documents without gain are at home there, so that only
// the others need a search. Returns false if it is to be given up.
inline bool assign(const Places &q, Matching &m, Scratch &scratch) {
    std::fill(m.document, m.document + q.size, -1);
    const auto change = [&q](int p) {
        return (q.weight[p] - q.weight[p + 1]) * (0.5 * (q.score[p] + q.score[p + 1]));
    };
    // From the middle, so that no digits are lost beside a score that is far from others.
    const int middle = q.size / 2;
    m.v[middle] = 0.0;
    for (int p = middle; p + 1 < q.size; p++) m.v[p + 1] = m.v[p] + change(p);
    for (int p = middle; p > 0; p--) m.v[p - 1] = m.v[p] - change(p - 1);
    for (int i = 0; i < q.size; i++) {
        m.u[i] = -q.score[i] * q.weight[i] - m.v[i];
        m.position[i] = -1;
        if (q.gain[i] * q.discount[i] > 0.0) continue;
        m.position[i] = i;
        m.document[i] = i;
    }
    for (int i = 0; i < q.size; i++)
        if (m.position[i] < 0 && !place_document(q, m, i, scratch)) return false;
    return true;
}

// Arrays of all queries: scores, gains and mean weights in perfect rankings of each
// document; weights and discounts of the positions of each query, one after the other;
// scale, greatest value of the measure and weight of each query.
struct Positions {
    Queries queries;
    const double *scores, *gain, *target;
    const double *weight, *discount;
    const double *scale, *best, *query_weight;
};

// Writes a query's slopes, the weights of positions less those in a perfect ranking, and
// returns the value of the ranking. `own` are the weights that documents take, `lost` the
// discounts, `order` the documents by scores that nearly fall.
//
// The slopes sum to 0, so that the sum of slopes times scores is one over gaps between
// scores, each times the slopes of the documents above it. These sum to 0, too, where
// documents change places among themselves, however wide the gap below them is.
inline double value_of_places(const Positions &all, const Query &q, const int *order,
                              const double *own, const double *lost, double *gradient) {
    constexpr double ROUNDING = 1e-14;
    const double *score = all.scores + q.start, *gain = all.gain + q.start;
    const double w = all.query_weight[q.number];
    double rise = 0.0, measure = 0.0, ahead = 0.0, total = 0.0;
    for (int r = 0; r < q.size; r++) {
        const int i = order[r];
        const double slope = own[i] - all.target[q.start + i];
        ahead += slope;
        total += own[i];
        if (r + 1 < q.size && std::abs(ahead) > ROUNDING * total)
            rise += ahead * (score[i] - score[order[r + 1]]);
        measure += gain[i] * lost[i];
        gradient[q.start + i] = w * slope;
    }
    const double value = all.best[q.number] - all.scale[q.number] * measure + rise;
    return w * std::max(value, 0.0);
}

// Where weights are the discounts, what a document adds in a position is a product, and the
// most violated ranking sorts documents. Equal ones share their positions.
static void most_violated_sorts(const Positions &all, double *values, double *gradient,
                                int n_threads) {
    const Room room = {all.queries.longest() + PADDING, 3 + SORT_WORK_DOUBLES, 1};
    for_each_query(
        all.queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
            if (all.query_weight[q.number] == 0.0) return;
            double *key = scratch.array(0), *sorted = scratch.array(1);
            double *own = scratch.array(2), *work = scratch.array(3);
            int *order = scratch.indices(0);
            const double *discount = all.discount + q.start;
            for (int i = 0; i < q.size; i++)
                key[i] = all.scores[q.start + i] -
                         all.scale[q.number] * all.gain[q.start + i];
            sort_descending(key, q.size, work, sorted, order);
            for (int start = 0, end; start < q.size; start = end) {
                double sum = 0.0;
                end = end_of_run(sorted, start, q.size);
                for (int r = start; r < end; r++) sum += discount[r];
                for (int r = start; r < end; r++) own[order[r]] = sum / (end - start);
            }
            values[q.number] = value_of_places(all, q, order, own, own, gradient);
        });
}

// Other weights need an assignment. Documents of equal score and gain share positions.
static void most_violated_assignments(const Positions &all, double *values,
                                      double *gradient, int n_threads) {
    const Room room = {all.queries.longest() + PADDING, 7 + SORT_WORK_DOUBLES, 6};
    for_each_query(
        all.queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
            if (all.query_weight[q.number] == 0.0) return;
            double *score = scratch.array(0), *gain = scratch.array(1);
            double *own = scratch.array(2), *lost = scratch.array(3);
            int *order = scratch.indices(0);
            Matching m = {scratch.array(4), scratch.array(5), scratch.array(6),
                          scratch.indices(1), scratch.indices(2), scratch.indices(3),
                          reinterpret_cast<char *>(scratch.indices(4)),
                          reinterpret_cast<char *>(scratch.indices(5))};
            sort_descending(all.scores + q.start, q.size, scratch.array(7), score, order);
            const double *g = all.gain + q.start;
            const double least = *std::min_element(g, g + q.size);
            const double origin = score[q.size / 2];
            for (int r = 0; r < q.size; r++) {
                score[r] -= origin;
                gain[r] = all.scale[q.number] * (g[order[r]] - least);
            }
            const double *weight = all.weight + q.start, *discount = all.discount + q.start;
            if (!assign({q.size, score, gain, weight, discount}, m, scratch)) return;
            for (int start = 0, end; start < q.size; start = end) {
                end = end_of_run(score, start, q.size);
                for (int r = start; r < end; r++) {
                    double sum = 0.0;
                    int n = 0;
                    for (int t = start; t < end; t++)
                        if (gain[t] == gain[r]) {
                            sum += weight[m.position[t]];
                            n++;
                        }
                    own[order[r]] = sum / n;
                    lost[order[r]] = discount[m.position[r]];
                }
            }
            values[q.number] = value_of_places(all, q, order, own, lost, gradient);
        });
}

}  // namespace skrank
