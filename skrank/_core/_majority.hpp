// Votes of runs between documents: Copeland's count, sorting by majority, local
// Kemenisation and Kendall's distance.
//
// `places` holds the rank of every document in every run, a row per document. A run
// prefers the document of the smaller place; NaN compares to nothing, so that a run has no
// vote on documents that it does not place.
#pragma once

#include <cmath>

#include "_clones.hpp"
#include "_for_each_query.hpp"

namespace skrank {

struct Runs {
    const double *places;
    const double *weight;
    int count;

    // Weight of the runs that prefer document a to b, less that of those for b.
    double majority(Index a, Index b) const {
        const double *x = places + a * count, *y = places + b * count;
        double votes = 0.0;
        for (int r = 0; r < count; r++)
            votes += weight[r] * ((x[r] < y[r]) - (x[r] > y[r]));
        return votes;
    }
};

// votes[j] += weight * (1 if place < places[j], -1 if place > places[j]).
SKRANK_CLONES
static void add_votes(double place, const double *places, double weight, int m,
                      double *votes) {
    for (int j = 0; j < m; j++) {
        const double before = place < places[j] ? weight : 0.0;
        const double behind = place > places[j] ? weight : 0.0;
        votes[j] += before - behind;
    }
}

// Documents that a majority places behind each one, less those that it places before it.
static void copeland_counts(const Queries &queries, const Runs &runs, double *counts,
                            int n_threads) {
    const Room room = {queries.longest(), runs.count + 1};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        double *votes = scratch.array(0);
        for (int r = 0; r < runs.count; r++)
            for (int i = 0; i < q.size; i++)
                scratch.array(r + 1)[i] = runs.places[(q.start + i) * runs.count + r];
        for (int i = 0; i < q.size; i++) {
            if (scratch.spend(static_cast<int64_t>(q.size) * runs.count)) return;
            std::fill(votes, votes + q.size, 0.0);
            for (int r = 0; r < runs.count; r++) {
                const double *places = scratch.array(r + 1);
                add_votes(places[i], places, runs.weight[r], q.size, votes);
            }
            int won = 0;
            for (int j = 0; j < q.size; j++) won += (votes[j] > 0.0) - (votes[j] < 0.0);
            counts[q.start + i] = won;
        }
    });
}

// Merges the sorted halves of order[0, m): a document of the right half goes first only
// if a majority prefers it, so that neighbours never stand against a majority.
static void merge_by_majority(const Runs &runs, Index start, int *order, int middle,
                              int m, int *work) {
    std::copy(order, order + middle, work);
    int left = 0, right = middle, at = 0;
    while (left < middle && right < m) {
        const bool from_right =
            runs.majority(start + order[right], start + work[left]) > 0.0;
        order[at++] = from_right ? order[right++] : work[left++];
    }
    std::copy(work + left, work + middle, order + at);
}

static void sort_by_majority(const Runs &runs, Query q, int *order, Scratch &scratch) {
    for (int run = 1; run < q.size; run *= 2) {
        if (scratch.spend(static_cast<int64_t>(q.size) * runs.count)) return;
        for (int first = 0; first + run < q.size; first += 2 * run)
            merge_by_majority(runs, q.start, order + first, run,
                              std::min(2 * run, q.size - first), scratch.indices(0));
    }
}

// Sorts the documents of each query, given in some order, in place.
static void majority_orders(const Queries &queries, const Runs &runs, int *order,
                            int n_threads) {
    const Room room = {queries.longest(), 0, 1};
    for_each_query(queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        sort_by_majority(runs, q, order + q.start, scratch);
    });
}

// Inserts document after document of an order behind those before it, and moves it up as
// long as a majority prefers it to the one before.
static void local_kemeny_orders(const Queries &queries, const Runs &runs, int *order,
                                int n_threads) {
    for_each_query(queries, HEAVY_CHUNK, n_threads, {}, [=](Query q, Scratch &scratch) {
        int *own = order + q.start;
        for (int i = 1; i < q.size; i++) {
            const int document = own[i];
            int j = i;
            while (j > 0 && runs.majority(q.start + document, q.start + own[j - 1]) > 0) {
                own[j] = own[j - 1];
                j--;
            }
            own[j] = document;
            if (scratch.spend(static_cast<int64_t>(i - j + 1) * runs.count)) return;
        }
    });
}

// Pairs i < j with x[i] > x[j]; sorts x.
static double inversions(double *x, int m, double *work) {
    double count = 0.0;
    for (int run = 1; run < m; run *= 2) {
        for (int first = 0; first + run < m; first += 2 * run) {
            const int last = std::min(m, first + 2 * run);
            std::copy(x + first, x + first + run, work);
            int left = 0, right = first + run, at = first;
            while (left < run && right < last) {
                if (x[right] < work[left]) {
                    count += run - left;
                    x[at++] = x[right++];
                } else {
                    x[at++] = work[left++];
                }
            }
            std::copy(work + left, work + run, x + at);
        }
    }
    return count;
}

// Weighted number of votes against an order of the documents of each query.
static void kendall_distances(const Queries &queries, const Runs &runs, const int *order,
                              double *distances, int n_threads) {
    const Room room = {queries.longest(), 2};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        double total = 0.0, *places = scratch.array(0);
        for (int r = 0; r < runs.count; r++) {
            if (scratch.spend(8 * static_cast<int64_t>(q.size))) return;
            int n = 0;
            for (int i = 0; i < q.size; i++) {
                const Index row = q.start + order[q.start + i];
                const double place = runs.places[row * runs.count + r];
                if (!std::isnan(place)) places[n++] = place;
            }
            total += runs.weight[r] * inversions(places, n, scratch.array(1));
        }
        distances[q.number] = total;
    });
}

}  // namespace skrank
