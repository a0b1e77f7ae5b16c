// Most violated rankings where every pair of a relevant and another document counts.
//
// A measure of binary relevance does not change when two documents of one class change
// places, and the pairs weigh most when each class keeps the order of the scores. So what
// remains to be found is how the two sorted classes interleave.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "_for_each_query.hpp"
#include "_sort.hpp"

namespace skrank {

enum BinaryMeasure { AVERAGE_PRECISION, RECIPROCAL_RANK, GAIN_DISCOUNT };

// Two sorted classes, and a measure of their interleaving: `scale` times the sum of
// discount[rank of relevant document i], each times i + 1 for average precision, or the
// discount of the first of them. The measure falls by this while the pairs, of weight
// `pull`, change in score.
struct Classes {
    const double *relevant, *other;  // scores, descending
    int n_relevant, n_other;
    const double *discount;  // of as many ranks as there are documents
    double scale, pull;
    BinaryMeasure measure;

    // How often the discount of relevant document i counts, where all of them do.
    int times(int i) const { return measure == AVERAGE_PRECISION ? i + 1 : 1; }
};

// above[j] becomes the number of relevant documents above the other document j, for
// first <= j < last, if it is known to be in low ... high.
//
// Every other document may choose for itself, because what it gains where relevant document
// i falls below it, the loss of precision there and the difference of scores, is the less
// the lower it stands itself: the choices never cross.
inline void choose_places(const Classes &c, int first, int last, int low, int high,
                          int *above) {
    while (first < last) {
        const int j = first + (last - first) / 2;
        double gain = 0.0, best = 0.0;
        int place = high;
        for (int i = high - 1; i >= low; i--) {
            gain += c.scale * c.times(i) * (c.discount[i + j] - c.discount[i + j + 1]) +
                    c.pull * (c.other[j] - c.relevant[i]);
            if (gain > best) {
                best = gain;
                place = i;
            }
        }
        above[j] = place;
        choose_places(c, first, j, low, place, above);
        first = j + 1;
        low = place;
    }
}

// before[i] becomes the number of other documents above relevant document i, where the
// discount is 0 beyond rank k: others then no longer choose for themselves.
//
// A table over the first k ranks holds how well the first relevant documents can stand with
// given numbers of others above them. The relevant document that is the first one beyond
// rank k, and those below it, lose nothing by others above them but score.
//
// Returns false, with places that mean nothing, if it is to give up.
inline bool choose_places_up_to(const Classes &c, int k, Scratch &scratch, int *before) {
    const int R = c.n_relevant, N = c.n_other, rows = std::min(R, k);
    const int width = std::min(N, k) + 1;
    std::vector<double> best(width, 0.0), sum(N + 1, 0.0);
    std::vector<char> taken(static_cast<size_t>(rows) * width);
    for (int j = 0; j < N; j++) sum[j + 1] = sum[j] + c.other[j];
    const auto pairs = [&](int i, int j) { return c.pull * (sum[j] - j * c.relevant[i]); };
    // How many others stand above document i where nothing but the scores counts.
    const auto by_score = [&](int i) {
        const double *end = c.other + N;
        const auto at = std::lower_bound(c.other, end, c.relevant[i], std::greater<>());
        return static_cast<int>(at - c.other);
    };
    double highest = -std::numeric_limits<double>::infinity();
    int escape = rows, least = 0;  // the first document beyond rank k
    for (int i = 0; i <= rows; i++) {
        const int inside = std::min(N, k - i);  // others above a document in rank k + 1
        if (scratch.spend(2 * width + 32 * static_cast<int64_t>(R - i))) return false;
        if (i < R && inside == k - i) {
            double value = best[inside];
            for (int t = i; t < R; t++) value += pairs(t, std::max(by_score(t), inside));
            if (value > highest) {
                highest = value;
                escape = i;
                least = inside;
            }
        }
        if (i == rows) break;
        for (int j = 0; j <= std::min(N, k - 1 - i); j++) {
            best[j] += pairs(i, j) - c.scale * (i + 1) * c.discount[i + j];
            taken[static_cast<size_t>(i) * width + j] = j == 0 || best[j] > best[j - 1];
            if (j > 0) best[j] = std::max(best[j], best[j - 1]);
        }
        if (i + 1 == R && best[std::min(N, k - 1 - i)] > highest) {
            escape = R;
            least = std::min(N, k - 1 - i);
        }
    }
    for (int t = escape; t < R; t++) before[t] = std::max(by_score(t), least);
    for (int i = escape - 1, j = least; i >= 0; i--) {
        j = std::min(j, k - 1 - i);
        while (!taken[static_cast<size_t>(i) * width + j]) j--;
        before[i] = j;
    }
    return true;
}

// The same for the discount of the first relevant rank. All relevant documents stand below
// the other documents before it; those after it place themselves by their scores.
inline void choose_first(const Classes &c, int *above) {
    double sum = 0.0;  // of the scores of the first `place` relevant documents
    double change = 0.0, best = -c.scale * c.discount[0];
    int place = 0, first = 0;
    for (int j = 0; j < c.n_other; j++) {
        while (place < c.n_relevant && (place == 0 || c.relevant[place] >= c.other[j]))
            sum += c.relevant[place++];
        above[j] = place;
        change += c.pull * (place * c.other[j] - sum);
        const double value = change - c.scale * c.discount[j + 1];
        if (value > best) {
            best = value;
            first = j + 1;
        }
    }
    std::fill(above, above + first, 0);
}

// before[i] becomes the number of other documents above relevant document i.
inline void count_before(const Classes &c, const int *above, int *before) {
    for (int i = 0, j = 0; i < c.n_relevant; i++) {
        while (j < c.n_other && above[j] <= i) j++;
        before[i] = j;
    }
}

// above[j] becomes the number of relevant documents above the other document j.
inline void count_above(const Classes &c, const int *before, int *above) {
    for (int j = 0, i = 0; j < c.n_other; j++) {
        while (i < c.n_relevant && before[i] <= j) i++;
        above[j] = i;
    }
}

// What the measure of an interleaving falls short of its greatest value.
inline double shortfall(const Classes &c, const int *before) {
    if (c.measure == RECIPROCAL_RANK)
        return c.scale * (c.discount[0] - c.discount[before[0]]);
    double sum = 0.0;
    for (int i = 0; i < c.n_relevant; i++)
        sum += c.times(i) * (c.discount[i] - c.discount[i + before[i]]);
    return c.scale * sum;
}

// slope[order[r]] becomes `factor` times the mean of count[r] + `offset` over documents of
// the same class and score, which makes no difference to which of them is which. Returns
// the sum of slopes times scores.
inline double spread(const double *scores, const int *count, const int *order, int n,
                     double factor, double offset, double *slope) {
    double product = 0.0;
    for (int start = 0, end; start < n; start = end) {
        double sum = 0.0;
        end = end_of_run(scores, start, n);
        for (int r = start; r < end; r++) sum += count[r] + offset;
        const double mean = factor * (sum / (end - start));
        for (int r = start; r < end; r++) slope[order[r]] = mean;
        product += factor * sum * scores[start];
    }
    return product;
}

// Values of most violated rankings, and subgradients, times the weights of the queries;
// queries of weight 0 are skipped. `relevance` is 1 or 0, and the discount 0 beyond rank k.
static void most_violated_interleavings(const Queries &queries, const double *scores,
                                        const double *relevance, BinaryMeasure measure,
                                        const double *discount, int k,
                                        const double *scale,
                                        const double *query_weight, double *values,
                                        double *gradient, int n_threads) {
    const Room room = {queries.longest() + PADDING, 4 + SORT_WORK_DOUBLES, 4};
    for_each_query(queries, PAIR_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
        const double w = query_weight[q.number];
        double *x = scratch.array(0), *sorted = scratch.array(1);
        double *slope = scratch.array(2), *work = scratch.array(4);
        int *row = scratch.indices(0), *order = scratch.indices(1);
        int *above = scratch.indices(2), *before = scratch.indices(3);
        const double *s = scores + q.start, *is = relevance + q.start;
        // Sums of pairs do not depend on where the scores begin, but their rounding does.
        const double origin = amid(s, q.size);
        int R = 0, N = q.size;
        for (int i = 0; i < q.size; i++) {
            const int at = is[i] > 0.0 ? R++ : --N;
            x[at] = s[i] - origin;
            row[at] = i;
        }
        N = q.size - R;
        if (w == 0.0 || R == 0 || N == 0) return;
        // Others came from the end; equal scores need not keep the order of the rows.
        sort_descending(x, R, work, sorted, order);
        sort_descending(x + R, N, work, sorted + R, order + R);
        for (int r = 0; r < R; r++) order[r] = row[order[r]];
        for (int r = R; r < q.size; r++) order[r] = row[R + order[r]];
        const double pull = 2.0 / (static_cast<double>(R) * N);
        const Classes c = {sorted, sorted + R, R, N, discount, scale[q.number], pull, measure};
        if (measure == AVERAGE_PRECISION && k < q.size) {
            if (!choose_places_up_to(c, k, scratch, before)) return;
            count_above(c, before, above);
        } else {
            if (measure == RECIPROCAL_RANK)
                choose_first(c, above);
            else
                choose_places(c, 0, N, 0, R, above);
            count_before(c, above, before);
        }
        double value = shortfall(c, before);
        value += spread(c.relevant, before, order, R, -pull, 0.0, slope);
        value += spread(c.other, above, order + R, N, -pull, -R, slope);
        values[q.number] = w * std::max(value, 0.0);
        for (int i = 0; i < q.size; i++) gradient[q.start + i] = w * slope[i];
    });
}

}  // namespace skrank
