// Ordered weighted averages of hinge losses, documents in the order of their grades.
//
// All documents that a preferred one is compared with are worse than it is, so their
// losses are ordered as their scores are, whoever the preferred document is. One order by
// score then serves all preferred documents of a grade, whose active losses are the first
// ones of it.
#pragma once

#include "_graded_queries.hpp"
#include "_sort.hpp"

namespace skrank {

// Sums over a first part of the documents; scores are taken from the centre.
struct OwaSums {
    double weight = 0.0, first = 0.0, second = 0.0;

    void add(double w, double x) {
        weight += w;
        first += w * x;
        second += w * x * x;
    }
};

// The worse documents of one grade level by descending score, with the weights of their
// places; those of equal score share the mean of theirs, which no order of rows changes.
struct OwaOthers {
    const double *x;  // scores in the order of the grades
    double centre;
    int *place;     // of the documents
    double *share;  // their weights
    int size = 0;

    void take(const int *by_score, int m, int lower, const double *alpha) {
        size = 0;
        for (int r = 0; r < m; r++)
            if (by_score[r] >= lower) place[size++] = by_score[r];
        for (int first = 0, end; first < size; first = end) {
            double total = alpha[first];  // NaN is not even equal to itself
            for (end = first + 1; end < size && x[place[end]] == x[place[first]]; end++)
                total += alpha[end];
            std::fill(share + first, share + end, total / (end - first));
        }
    }
    double at(int t) const { return x[place[t]] - centre; }
};

// Losses and slopes of the documents `members` of one grade level, by descending score.
// The first pass adds the losses and the slopes of the preferred documents, the second
// one, from the other end, the slopes of the other documents.
template <bool Squared>
static double owa_level(const OwaOthers &others, const int *members, int n_members,
                        const double *weight, double margin, double *grad) {
    const double *x = others.x, centre = others.centre;
    double loss = 0.0;
    OwaSums active;
    for (int k = 0, next = 0; k < n_members; k++) {
        const int i = members[k];
        const double slack = margin - (x[i] - centre), w = weight ? weight[i] : 1.0;
        for (; next < others.size && others.at(next) + slack > 0.0; next++)
            active.add(others.share[next], others.at(next));
        const double sum = active.weight * slack + active.first;
        loss += w * (Squared ? slack * (sum + active.first) + active.second : sum);
        grad[i] -= w * (Squared ? 2.0 * sum : active.weight);
    }
    OwaSums above;
    for (int t = others.size - 1, next = n_members - 1; t >= 0; t--) {
        const double slack = margin + others.at(t);
        for (; next >= 0 && slack - (x[members[next]] - centre) > 0.0; next--) {
            const int i = members[next];
            above.add(weight ? weight[i] : 1.0, x[i] - centre);
        }
        const double pull = Squared ? 2.0 * (above.weight * slack - above.first)
                                    : above.weight;
        grad[others.place[t]] += others.share[t] * pull;
    }
    return loss;
}

// One query; `work` has 3 m numbers or more, `indices` 3 m.
static double owa_pairs(const double *x, const int *lower, const double *weight, int m,
                        const double *alpha, double margin, bool squared, double *work,
                        int *indices, double *grad, Scratch &scratch) {
    int *by_score = indices, *members = indices + m, *place = indices + 2 * m;
    double *sorted = work + SORT_WORK_DOUBLES * m;
    sort_descending(x, m, work, sorted, by_score);
    // What the sort left in `work` is not needed any more.
    OwaOthers others = {x, x[by_score[m / 2]], place, work};
    double loss = 0.0;
    for (int first = 0; first < m && lower[first] < m; first = lower[first]) {
        if (scratch.spend(4 * m)) break;
        const int end = lower[first];
        others.take(by_score, m, end, alpha);
        int n_members = 0;
        for (int r = 0; r < m; r++)
            if (by_score[r] >= first && by_score[r] < end)
                members[n_members++] = by_score[r];
        loss += squared ? owa_level<true>(others, members, n_members, weight, margin, grad)
                        : owa_level<false>(others, members, n_members, weight, margin,
                                           grad);
    }
    return loss;
}

// `alpha` has a weight for each place of the longest query.
static void owa_losses(const GradedQueries &queries, const double *scores,
                       const double *alpha, double margin, bool squared, double *values,
                       double *gradient, int n_threads) {
    constexpr int n_arrays = SORT_WORK_DOUBLES + 1, n_index_arrays = 3;
    sum_graded_losses(
        queries, scores, 1.0, n_arrays, n_threads, values, gradient,
        [=](const GradedQuery &q, Scratch &scratch) {
            return owa_pairs(q.x, q.lower, q.weight, q.size, alpha, margin, squared,
                             scratch.array(0), scratch.indices(0), q.gradient, scratch);
        },
        n_index_arrays);
}

}  // namespace skrank
