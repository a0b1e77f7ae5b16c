// Ranking measures of one query.
//
// A ranking arrives as arrays in the order of the ranks. Where `score` is not null,
// documents of equal score form a block, and the value is its expectation over all
// orders of every block; where it is null the order is taken as it is.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace skrank {

using Index = std::ptrdiff_t;

struct Scored {
    double score;
    double key;
    Index row;
};

// Higher score first, then smaller key, then earlier row.
inline bool ranks_before(const Scored& a, const Scored& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.key != b.key) return a.key < b.key;
    return a.row < b.row;
}

struct Plain {
    double score;
    Index row;
};

inline bool plain_before(const Plain& a, const Plain& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
}

inline void rank_rows_keyed(const double* score, const double* key, Index m,
                            Index first, Index* order) {
    static thread_local std::vector<Scored> space;
    space.resize(m);
    for (Index i = 0; i < m; i++) space[i] = {score[i], key[i], first + i};
    std::sort(space.begin(), space.end(), ranks_before);
    for (Index i = 0; i < m; i++) order[i] = space[i].row;
}

inline void rank_rows_plain(const double* score, Index m, Index first, Index* order) {
    static thread_local std::vector<Plain> space;
    space.resize(m);
    for (Index i = 0; i < m; i++) space[i] = {score[i], first + i};
    std::sort(space.begin(), space.end(), plain_before);
    for (Index i = 0; i < m; i++) order[i] = space[i].row;
}

inline void rank_rows(const double* score, const double* key, Index m, Index first,
                      Index* order) {
    if (key)
        rank_rows_keyed(score, key, m, first, order);
    else
        rank_rows_plain(score, m, first, order);
}

// End of the block of equal scores that starts at position i.
inline Index block_end(const double* score, Index i, Index m) {
    Index j = i + 1;
    if (score)
        while (j < m && score[j] == score[i]) j++;
    return j;
}

inline double sum(const double* v, Index from, Index to) {
    double total = 0;
    for (Index i = from; i < to; i++) total += v[i];
    return total;
}

// Σ_j value_j · discount_j; discounts beyond n_discounts are zero.
inline double discounted_sum(const double* value, const double* score, Index m,
                             const double* discount, Index n_discounts) {
    const Index n = std::min(m, n_discounts);
    double total = 0;
    for (Index i = 0; i < n;) {
        const Index j = block_end(score, i, m);
        if (j == i + 1)
            total += value[i] * discount[i];
        else
            total += sum(value, i, j) / double(j - i) * sum(discount, i, std::min(j, n));
        i = j;
    }
    return total;
}

// Σ_j [relevant at j] · (relevant documents up to j) · discount_j.
// Inside a block of n documents with r relevant, position i holds a relevant one with
// probability r/n, and (i − 1)(r − 1)/(n − 1) of the others come before it on average.
inline double precision_sum(const double* relevant, const double* score, Index m,
                            const double* discount, Index n_discounts) {
    const Index end = std::min(m, n_discounts);
    double hits = 0, total = 0;
    for (Index i = 0; i < end;) {
        const Index j = block_end(score, i, m);
        if (j == i + 1) {
            hits += relevant[i];
            total += relevant[i] * hits * discount[i];
        } else {
            const double n = double(j - i), r = sum(relevant, i, j);
            for (Index p = i; p < std::min(j, end) && r > 0; p++)
                total += r / n * (hits + 1 + double(p - i) * (r - 1) / (n - 1))
                         * discount[p];
            hits += r;
        }
        i = j;
    }
    return total;
}

// Σ_j (precision after j) over relevant documents when a whole block enters the list at
// once, as thresholds on the score do.
inline double threshold_precision_sum(const double* relevant, const double* score,
                                      Index m, Index k) {
    double hits = 0, total = 0;
    for (Index i = 0; i < std::min(m, k);) {
        const Index j = block_end(score, i, m);
        const double r = sum(relevant, i, j);
        hits += r;
        total += r * hits / double(j);
        i = j;
    }
    return total;
}

// Mean over the subsets of size i of the products of `pass` over the subset, for
// i = 0..depth, divided into `mean`: the chance to get past i documents of a block
// whose order is random.
inline void symmetric_means(const double* stop, Index n, Index depth,
                            std::vector<double>& mean) {
    mean.assign(depth + 1, 0.0);
    mean[0] = 1;
    for (Index t = 1; t <= n; t++)
        for (Index i = std::min(t, depth); i >= 1; i--)
            mean[i] = (double(t - i) * mean[i] + double(i) * (1 - stop[t - 1]) * mean[i - 1])
                      / double(t);
}

inline void hypergeometric_means(double n, double hits, Index depth,
                                 std::vector<double>& mean) {
    mean.assign(depth + 1, 0.0);
    mean[0] = 1;
    for (Index i = 1; i <= depth; i++)
        mean[i] = mean[i - 1] * std::max(0.0, n - hits - double(i - 1)) / (n - double(i - 1));
}

// Σ_j discount_j · stop_j · Π_{i<j} (1 − stop_i): the user who reads from the top and
// stops at document j with probability stop_j.
inline double cascade(const double* stop, const double* score, Index m,
                      const double* discount, Index n_discounts) {
    static thread_local std::vector<double> pass;
    const Index end = std::min(m, n_discounts);
    double reach = 1, total = 0;
    for (Index i = 0; i < end && reach > 0;) {
        const Index j = block_end(score, i, m);
        if (j == i + 1) {
            total += reach * stop[i] * discount[i];
            reach *= 1 - stop[i];
        } else {
            const Index depth = std::min(j, end) - i;
            bool sure = true;
            for (Index p = i; p < j; p++) sure = sure && (stop[p] == 0 || stop[p] == 1);
            if (sure)
                hypergeometric_means(double(j - i), sum(stop, i, j), depth, pass);
            else
                symmetric_means(stop + i, j - i, depth, pass);
            for (Index p = 0; p < depth; p++)
                total += reach * (pass[p] - pass[p + 1]) * discount[i + p];
            for (Index p = i; p < j; p++) reach *= 1 - stop[p];
        }
        i = j;
    }
    return total;
}

// Mean of min(above + t, limit) over t = 0..n.
inline double mean_capped(double above, Index n, double limit) {
    double total = 0;
    for (Index t = 0; t <= n; t++) total += std::min(above + double(t), limit);
    return total / double(n + 1);
}

// Σ over relevant documents of 1 − min(nonrelevant above, R) / min(N, R); `grade` is 1
// for relevant, 0 for judged nonrelevant, negative for documents that do not count.
// A relevant document of a block sits anywhere among its nonrelevant ones.
inline double preference_sum(const double* grade, const double* score, Index m, double R,
                             double N) {
    double above = 0, total = 0;
    const double most = std::min(N, R);
    for (Index i = 0; i < m;) {
        const Index j = block_end(score, i, m);
        Index relevant = 0, other = 0;
        for (Index p = i; p < j; p++) {
            relevant += grade[p] > 0;
            other += grade[p] == 0;
        }
        if (relevant)
            total += double(relevant)
                     * (most > 0 ? 1 - mean_capped(above, other, R) / most : 1.0);
        above += double(other);
        i = j;
    }
    return total;
}

// The c = min(k, m) largest values, larger first and earlier row first; returns c.
inline Index select_top(const double* v, Index m, Index k, double* top, Index* row) {
    Index c = 0;
    const Index head = std::min(k, m);
    for (; c < head; c++) {
        Index p = c;
        for (; p > 0 && top[p - 1] < v[c]; p--) {
            top[p] = top[p - 1];
            row[p] = row[p - 1];
        }
        top[p] = v[c];
        row[p] = c;
    }
    double last = c ? top[c - 1] : 0;
    for (Index i = c; i < m; i++) {
        if (!(v[i] > last)) continue;
        Index p = c - 1;
        for (; p > 0 && top[p - 1] < v[i]; p--) {
            top[p] = top[p - 1];
            row[p] = row[p - 1];
        }
        top[p] = v[i];
        row[p] = i;
        last = top[c - 1];
    }
    return c;
}

inline double gain_of(double grade, bool exp2) {
    return exp2 ? std::exp2(grade) - 1 : grade;
}

// Mean gain over all documents whose score equals `score`, in the list or below it.
inline double mean_gain_at(const double* grade, const double* s, Index m, double score,
                           bool exp2) {
    double total = 0, count = 0;
    for (Index i = 0; i < m; i++)
        if (s[i] == score) {
            total += gain_of(grade[i], exp2);
            count++;
        }
    return total / count;
}

constexpr Index SELECT_LIMIT = 64;

// DCG at k ≤ SELECT_LIMIT without sorting the whole list.
inline double top_dcg(const double* grade, const double* s, Index m,
                      const double* discount, Index k, bool exp2, bool average) {
    double top[SELECT_LIMIT];
    Index row[SELECT_LIMIT];
    const Index c = select_top(s, m, k, top, row);
    double total = 0;
    for (Index i = 0; i < c;) {
        const Index j = average ? block_end(top, i, c) : i + 1;
        // Only the last block can have documents outside the selection.
        if (average && j == c && c < m) {
            Index equal = 0;
            for (Index p = 0; p < m; p++) equal += s[p] == top[i];
            if (equal > j - i) {
                total += mean_gain_at(grade, s, m, top[i], exp2) * sum(discount, i, j);
                break;
            }
        }
        double gain = 0;
        for (Index p = i; p < j; p++) gain += gain_of(grade[row[p]], exp2);
        total += j == i + 1 ? gain * discount[i]
                            : gain / double(j - i) * sum(discount, i, j);
        i = j;
    }
    return total;
}

// DCG of the grades in decreasing order.
inline double ideal_dcg(const double* grade, Index m, const double* discount, Index k,
                        bool exp2) {
    const Index n = std::min(m, k);
    double total = 0;
    if (n <= SELECT_LIMIT) {
        double top[SELECT_LIMIT];
        Index row[SELECT_LIMIT];
        select_top(grade, m, n, top, row);
        for (Index i = 0; i < n; i++) total += gain_of(top[i], exp2) * discount[i];
        return total;
    }
    static thread_local std::vector<double> space;
    space.assign(grade, grade + m);
    std::partial_sort(space.begin(), space.begin() + n, space.end(),
                      [](double a, double b) { return a > b; });
    for (Index i = 0; i < n; i++) total += gain_of(space[i], exp2) * discount[i];
    return total;
}

// Pairs of documents with different grades: in the right order, in the wrong order,
// with equal scores. Rows come in decreasing order of score. O(m log m).
struct PairCounts {
    double concordant, discordant, tied;
};

inline PairCounts count_pairs(const double* grade, const double* score, Index m) {
    static thread_local std::vector<double> level;
    static thread_local std::vector<Index> tree, code, in_block;
    level.assign(grade, grade + m);
    std::sort(level.begin(), level.end());
    level.erase(std::unique(level.begin(), level.end()), level.end());
    const Index n_levels = Index(level.size());
    tree.assign(n_levels + 1, 0);
    in_block.assign(n_levels, 0);
    code.resize(m);
    for (Index i = 0; i < m; i++)
        code[i] = std::lower_bound(level.begin(), level.end(), grade[i]) - level.begin();
    auto seen_up_to = [&](Index c) {  // documents above with a level < c
        Index total = 0;
        for (; c > 0; c -= c & -c) total += tree[c];
        return total;
    };
    PairCounts pairs = {0, 0, 0};
    for (Index i = 0; i < m;) {
        Index j = i;
        double same = 0;
        for (; j < m && score[j] == score[i]; j++) {
            const Index lower = seen_up_to(code[j]);
            const Index higher = i - seen_up_to(code[j] + 1);
            pairs.discordant += double(lower);
            pairs.concordant += double(higher);
            same += double(in_block[code[j]]++);
        }
        pairs.tied += double(j - i) * double(j - i - 1) / 2 - same;
        for (Index p = i; p < j; p++) {
            in_block[code[p]] = 0;
            for (Index c = code[p] + 1; c <= n_levels; c += c & -c) tree[c]++;
        }
        i = j;
    }
    return pairs;
}

// Chance that the document at block [from, to) is among the first d.
inline double inclusion(double from, double to, double d) {
    return std::clamp((d - from) / (to - from), 0.0, 1.0);
}

// Extrapolated rank-biased overlap of two rankings of the same documents, each given
// as the block [from, to) of positions of every document.
inline double rank_biased_overlap(const double* from1, const double* to1,
                                  const double* from2, const double* to2, Index m,
                                  double p) {
    double total = 0, weight = 1, agreement = 0;
    for (Index d = 1; d <= m; d++) {
        double overlap = 0;
        for (Index i = 0; i < m; i++)
            overlap += inclusion(from1[i], to1[i], double(d))
                       * inclusion(from2[i], to2[i], double(d));
        agreement = overlap / double(d);
        total += (1 - p) * weight * agreement;
        weight *= p;
    }
    return total + agreement * weight;
}

}  // namespace skrank
