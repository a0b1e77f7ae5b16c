// Measures of positions that are distributions over documents: SmoothRank, SoftSort and
// NeuralSort.
#pragma once

#include "_smooth_measure.hpp"
#include "_softmax.hpp"
#include "_sort.hpp"

namespace skrank {

// Position j holds document i with a probability proportional to the exponential of
// - GAUSSIAN_KERNEL: -(x_i - t_j)^2, t_j being the score at rank j;
// - LAPLACE_KERNEL: -|x_i - t_j|;
// - SORTING_NETWORK: (m + 1 - 2 j) x_i - A_i, A_i being the sum of all |x_i - x_u|.
enum Relaxation { GAUSSIAN_KERNEL = 0, LAPLACE_KERNEL = 1, SORTING_NETWORK = 2 };

// One query; arrays of documents, with zeros in PADDING numbers more. (Loops over whole
// vectors do the same for every document, where it may stand; the compiler's own would
// round differently at the end of a list.)
struct SoftSorting {
    int m;
    const double *x, *gain;
    const double *sorted;  // scores, the largest first
    const int *order;      // document at each rank
    double *distance;      // the sums A
    double *p;             // work space: logits, then probabilities
    double *to_x;          // derivatives by x
    double *to_distance;   // derivatives by A, or by the scores at ranks
};

// Puts the distribution of position j into p; returns its expected gain.
SKRANK_INLINE double soft_position(const SoftSorting &s, int kind, int j) {
    const double t = s.sorted[j], slope = s.m - 1.0 - 2.0 * j;
    for (int i = 0; i < s.m; i += LANES) {
        const Vec x = load(s.x + i), gap = x - t;
        if (kind == GAUSSIAN_KERNEL) store(s.p + i, -gap * gap);
        if (kind == LAPLACE_KERNEL) store(s.p + i, -magnitude(gap));
        if (kind == SORTING_NETWORK) store(s.p + i, slope * x - load(s.distance + i));
    }
    // The document at this rank has the largest logit.
    const double inverse = 1.0 / exp_and_sum(s.p, s.p[s.order[j]], s.m, s.p);
    pad(s.p, s.m, 0.0);
    Vec expected = {};
    for (int i = 0; i < s.m; i += LANES) {
        const Vec p = inverse * load(s.p + i);
        store(s.p + i, p);
        expected += p * load(s.gain + i);
    }
    return sum(expected);
}

// Adds `pull` times the derivative of the expected gain of position j, which is in p.
SKRANK_INLINE void move_position(const SoftSorting &s, int kind, int j, double expected,
                                 double pull) {
    const double t = s.sorted[j], slope = s.m - 1.0 - 2.0 * j;
    Vec to_t = {};
    for (int i = 0; i < s.m; i += LANES) {
        const Vec logit = pull * load(s.p + i) * (load(s.gain + i) - expected);
        const Vec gap = load(s.x + i) - t;
        Vec step = slope * logit;
        if (kind == GAUSSIAN_KERNEL) step = -2.0 * gap * logit;
        if (kind == LAPLACE_KERNEL)
            step = where(gap > 0.0, -logit, where(gap < 0.0, logit, Vec{}));
        if (kind == SORTING_NETWORK)
            store(s.to_distance + i, load(s.to_distance + i) - logit);
        store(s.to_x + i, load(s.to_x + i) + step);
        to_t -= step;
    }
    if (kind != SORTING_NETWORK) s.to_distance[j] += sum(to_t);
}

// Value of the form of expected gains by position, and its derivatives. Always inlined, so
// that it is rounded as a part of cloned functions whatever the compiler thinks of sizes.
SKRANK_INLINE double form_of_positions(int form, const double *gain,
                                       const double *discount, int n, double *pull) {
    double value = 0.0;
    if (form == GAIN_DISCOUNT) {
        for (int j = 0; j < n; j++) value += discount[j] * gain[j];
        std::copy(discount, discount + n, pull);
    } else if (form == AVERAGE_PRECISION) {
        double above = 0.0, below = 0.0;
        for (int j = 0; j < n; j++) {
            pull[j] = discount[j] * (1.0 + above);
            value += gain[j] * pull[j];
            above += gain[j];
        }
        for (int j = n - 1; j >= 0; j--) {
            pull[j] += below;
            below += discount[j] * gain[j];
        }
    } else {
        double reach = 1.0, rest = 0.0;
        for (int j = 0; j < n; j++) {
            pull[j] = reach;
            reach *= 1.0 - gain[j];
        }
        for (int j = n - 1; j >= 0; j--) {
            pull[j] *= discount[j] - rest;
            rest = discount[j] * gain[j] + (1.0 - gain[j]) * rest;
        }
        value = rest;
    }
    return value;
}

// The sums A less that of the document in the middle, by the ranks. Only their differences
// count, and those of near documents keep their digits beside a score that is far away.
inline void sum_distances(const SoftSorting &s) {
    const int middle = s.m / 2;
    const auto change = [&s](int r) {
        return (s.sorted[r] - s.sorted[r + 1]) * (2.0 * (r + 1) - s.m);
    };
    double sum = 0.0;
    s.distance[s.order[middle]] = 0.0;
    for (int r = middle; r + 1 < s.m; r++) s.distance[s.order[r + 1]] = sum += change(r);
    sum = 0.0;
    for (int r = middle; r > 0; r--) s.distance[s.order[r - 1]] = sum -= change(r - 1);
}

// Moves derivatives by A to x. Documents of equal score do not move each other.
inline void move_distances(const SoftSorting &s) {
    double all = 0.0, above = 0.0;
    for (int i = 0; i < s.m; i++) all += s.to_distance[i];
    for (int first = 0, end; first < s.m; first = end) {
        double run = 0.0;
        end = end_of_run(s.sorted, first, s.m);
        for (int r = first; r < end; r++) run += s.to_distance[s.order[r]];
        const double below = all - above - run;
        for (int r = first; r < end; r++) {
            const int i = s.order[r];
            s.to_x[i] += (s.m - end - first) * s.to_distance[i] + below - above;
        }
        above += run;
    }
}

// Moves derivatives by the scores at ranks to x. Documents of equal score share those of
// their ranks, whose order among them is none but that of the rows.
inline void move_ranks(const SoftSorting &s) {
    for (int first = 0, end; first < s.m; first = end) {
        double run = 0.0;
        end = end_of_run(s.sorted, first, s.m);
        for (int r = first; r < end; r++) run += s.to_distance[r];
        for (int r = first; r < end; r++) s.to_x[s.order[r]] += run / (end - first);
    }
}

template <int Kind>
SKRANK_INLINE double position_form_body(const SoftSorting &s, int form,
                                        const double *discount, int n, double *expected,
                                        double *pull, Scratch &scratch) {
    double value = 0.0;
    if (form == GAIN_DISCOUNT) {
        for (int j = 0; j < n && !scratch.spend(4 * s.m); j++) {
            const double gain = soft_position(s, Kind, j);
            value += discount[j] * gain;
            move_position(s, Kind, j, gain, discount[j]);
        }
        return value;
    }
    for (int j = 0; j < n && !scratch.spend(4 * s.m); j++)
        expected[j] = soft_position(s, Kind, j);
    value = form_of_positions(form, expected, discount, n, pull);
    for (int j = 0; j < n && !scratch.spend(4 * s.m); j++) {
        soft_position(s, Kind, j);
        move_position(s, Kind, j, expected[j], pull[j]);
    }
    return value;
}

SKRANK_CLONES
static double position_form(const SoftSorting &s, int kind, int form,
                            const double *discount, int n, double *expected,
                            double *pull, Scratch &scratch) {
    if (kind == GAUSSIAN_KERNEL)
        return position_form_body<GAUSSIAN_KERNEL>(s, form, discount, n, expected, pull,
                                                   scratch);
    if (kind == LAPLACE_KERNEL)
        return position_form_body<LAPLACE_KERNEL>(s, form, discount, n, expected, pull,
                                                  scratch);
    return position_form_body<SORTING_NETWORK>(s, form, discount, n, expected, pull,
                                               scratch);
}

// Values and gradients.
static void position_measures(const SmoothMeasure &measure, const double *scores, int kind,
                              double inverse_width, double *values, double *gradient,
                              int n_threads) {
    const Room room = {measure.queries.longest() + PADDING,
                       9 + SORT_WORK_DOUBLES, 1};
    for_each_query(
        measure.queries, PAIR_CHUNK, n_threads, room, [&](Query q, Scratch &scratch) {
            const double factor = measure.factor[q.number];
            if (factor == 0.0) return;
            const int m = q.size, n = std::min(m, measure.n_ranks);
            double *x = scratch.array(0), *sorted = scratch.array(1);
            double *gain = scratch.array(8);
            const SoftSorting s = {m,
                                   x,
                                   gain,
                                   sorted,
                                   scratch.indices(0),
                                   scratch.array(2),
                                   scratch.array(3),
                                   scratch.array(4),
                                   scratch.array(5)};
            const double origin = amid(scores + q.start, m);
            for (int i = 0; i < m; i++)
                x[i] = inverse_width * (scores[q.start + i] - origin);
            std::copy(measure.gain + q.start, measure.gain + q.start + m, gain);
            sort_descending(x, m, scratch.array(9), sorted, scratch.indices(0));
            for (double *array : {x, gain, s.distance}) pad(array, m, 0.0);
            std::fill(s.to_x, s.to_x + m + PADDING, 0.0);
            std::fill(s.to_distance, s.to_distance + m + PADDING, 0.0);
            if (kind == SORTING_NETWORK) sum_distances(s);
            values[q.number] =
                factor * position_form(s, kind, measure.form, measure.discount, n,
                                       scratch.array(6), scratch.array(7), scratch);
            if (kind == SORTING_NETWORK)
                move_distances(s);
            else
                move_ranks(s);
            for (int i = 0; i < m; i++)
                gradient[q.start + i] = factor * inverse_width * s.to_x[i];
        });
}

}  // namespace skrank
