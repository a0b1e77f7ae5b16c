// Ordered weighted averages of hinge losses, documents in the order of their grades.
//
// All documents that a preferred one is compared with are worse than it is, so their
// losses are ordered as their scores are, whoever the preferred document is. One order by
// score then serves all preferred documents of a grade, whose active losses are the first
// ones of it.
#pragma once

#include "_gap_windows.hpp"
#include "_graded_queries.hpp"
#include "_sort.hpp"

namespace skrank {

// Gathers the documents at places `first` ... `end` - 1 in the order of the grades by
// descending score.
static void take_level(const double *x, const int *by_score, int m, int first, int end,
                       Documents *documents) {
    int n = 0;
    for (int r = 0; r < m; r++) {  // without a branch that depends on the grade
        const int i = by_score[r];
        documents->x[n] = x[i];
        documents->place[n] = i;
        n += (i >= first) & (i < end);
    }
    documents->size = n;
}

// The weights of places; documents of equal score share the mean of theirs, which no order
// of rows changes.
static void share_places(const double *alpha, Documents *others) {
    const double *x = others->x;
    for (int first = 0, end; first < others->size; first = end) {
        double total = 0.0;
        end = end_of_run(x, first, others->size);
        for (int r = first; r < end; r++) total += alpha[r];
        std::fill(others->weight + first, others->weight + end, total / (end - first));
    }
}

constexpr int OWA_ARRAYS = 4, OWA_INDEX_ARRAYS = 4;
static_assert(OWA_ARRAYS > SORT_WORK_DOUBLES, "sorting needs room");

static double owa_pairs(const Hinge &hinge, const double *alpha, const GradedQuery &q,
                        Scratch &scratch) {
    const int m = q.size, *lower = q.lower;
    int *by_score = scratch.indices(0), *begins = scratch.indices(1);
    sort_descending(q.x, m, scratch.array(0), scratch.array(SORT_WORK_DOUBLES), by_score);
    // What the sort left in the arrays is not needed any more.
    Documents members = {scratch.array(0), q.weight ? scratch.array(1) : nullptr, nullptr,
                         scratch.indices(2), 0};
    Documents others = {scratch.array(2), scratch.array(3), nullptr, scratch.indices(3), 0};
    double loss = 0.0;
    SumsOfAll sums;
    for (int first = 0; first < m && lower[first] < m; first = lower[first]) {
        if (scratch.spend(4 * m)) break;
        take_level(q.x, by_score, m, first, lower[first], &members);
        if (q.weight) gather(q.weight, members.place, members.size, 1.0, members.weight);
        take_level(q.x, by_score, m, lower[first], m, &others);
        share_places(alpha, &others);
        loss += add_pairs(hinge, members, others, 1, sums, begins, q.gradient);
    }
    return loss;
}

// `alpha` has a weight for each place of the longest query.
static void owa_losses(const GradedQueries &queries, const double *scores,
                       const double *alpha, const Hinge &hinge, double *values,
                       double *gradient, int n_threads) {
    sum_graded_losses(
        queries, scores, 1.0, OWA_ARRAYS, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            return owa_pairs(hinge, alpha, q, scratch);
        },
        OWA_INDEX_ARRAYS);
}

}  // namespace skrank
