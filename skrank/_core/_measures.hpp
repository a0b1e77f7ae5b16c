// Ranking measures of one query.
//
// A ranking arrives as arrays in the order of the ranks. Where `score` is not null,
// documents of equal score form a block, and the value is its expectation over all
// orders of every block; where it is null the order is taken as it is.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "_runs.hpp"

namespace skrank {

using Index = std::ptrdiff_t;

// The vectors of the functions below are kept by each thread from one query to the next:
// allocating them would take longer than most queries do.

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

inline void rank_rows_by_key(const double* score, const double* key, Index m,
                             Index* order) {
    static thread_local std::vector<Scored> space;
    space.resize(m);
    for (Index i = 0; i < m; i++) space[i] = {score[i], key ? key[i] : 0.0, i};
    std::sort(space.begin(), space.end(), ranks_before);
    for (Index i = 0; i < m; i++) order[i] = space[i].row;
}

// Bits of a double that grow as the double falls.
inline std::uint64_t descending_bits(double x) {
    x += 0.0;  // -0.0 and 0.0 are one score
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? bits : ~bits & ~(std::uint64_t(1) << 63);
}

inline double from_descending_bits(std::uint64_t bits) {
    if (!(bits >> 63)) bits = ~bits & ~(std::uint64_t(1) << 63);
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline void order_two(std::uint64_t& a, std::uint64_t& b) {
    const std::uint64_t low = std::min(a, b), high = std::max(a, b);
    a = low;
    b = high;
}

// Merge sort without data-dependent branches: comparisons of random keys are what a
// branch predictor cannot learn, and the lists of queries are short.
inline void sort_keys(std::vector<std::uint64_t>& keys,
                      std::vector<std::uint64_t>& space) {
    const Index n = Index(keys.size());
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
        std::uint64_t* k = &keys[i];
        order_two(k[0], k[1]);
        order_two(k[2], k[3]);
        order_two(k[0], k[2]);
        order_two(k[1], k[3]);
        order_two(k[1], k[2]);
    }
    std::sort(keys.begin() + i, keys.end());
    space.resize(n);
    for (Index width = 4; width < n; width *= 2) {
        for (Index a = 0; a < n; a += 2 * width) {
            const std::uint64_t* left = keys.data() + a;
            const std::uint64_t* left_end = keys.data() + std::min(a + width, n);
            const std::uint64_t* right = left_end;
            const std::uint64_t* right_end = keys.data() + std::min(a + 2 * width, n);
            std::uint64_t* out = space.data() + a;
            while (left < left_end && right < right_end) {
                const std::uint64_t l = *left, r = *right;
                const bool take_left = l <= r;
                *out++ = take_left ? l : r;
                left += take_left;
                right += !take_left;
            }
            out = std::copy(left, left_end, out);
            std::copy(right, right_end, out);
        }
        keys.swap(space);
    }
}

constexpr Index PACKED_LIMIT = 1 << 16;

// Sort 48 bits of the score together with the row, because one word moves faster than
// two; the few scores that agree in 48 bits but not in all are put right afterwards.
inline void rank_rows_packed(const double* score, Index m, Index* order) {
    static thread_local std::vector<std::uint64_t> keys, space;
    const std::uint64_t row_mask = PACKED_LIMIT - 1;
    keys.resize(m);
    for (Index i = 0; i < m; i++)
        keys[i] = (descending_bits(score[i]) & ~row_mask) | std::uint64_t(i);
    sort_keys(keys, space);
    for (Index i = 0; i < m; i++) order[i] = Index(keys[i] & row_mask);
    for (Index i = 0; i < m;) {
        Index j = i + 1;
        while (j < m && (keys[j] | row_mask) == (keys[i] | row_mask)) j++;
        if (j > i + 1)
            std::sort(order + i, order + j, [score](Index a, Index b) {
                return score[a] != score[b] ? score[a] > score[b] : a < b;
            });
        i = j;
    }
}

// Rows of one query by decreasing score, then increasing key (if any), then row.
inline void rank_rows(const double* score, const double* key, Index m, Index* order) {
    if (key == nullptr && m <= PACKED_LIMIT)
        rank_rows_packed(score, m, order);
    else
        rank_rows_by_key(score, key, m, order);
}

// Values and scores of one query in the order of ranks; ranked_score may be null.
inline void rank_values(const double* score, const double* key, const double* value,
                        Index m, double* ranked, double* ranked_score) {
    static thread_local std::vector<Index> order;
    order.resize(m);
    rank_rows(score, key, m, order.data());
    for (Index i = 0; i < m; i++) ranked[i] = value[order[i]];
    if (ranked_score)
        for (Index i = 0; i < m; i++) ranked_score[i] = score[order[i]];
}

// End of the block of equal scores that starts at position i; without scores, the next one.
inline Index block_end(const double* score, Index i, Index m) {
    return score ? end_of_run(score, i, m) : i + 1;
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
        // Of a block beyond the cut-off, as many as are expected before it.
        const double within = j <= k ? 1.0 : double(k - i) / double(j - i);
        total += r * within * hits / double(j);
        i = j;
    }
    return total;
}

// A depth from which on nobody is left, as far as doubles can tell, of the users who
// read a block in random order: by Maclaurin's inequality, the share of those who get
// past i documents is at most (1 - the mean of stop)^i.
inline Index depth_of_interest(const double* stop, Index n, Index depth) {
    const double stopped = sum(stop, 0, n) / double(n);
    if (!(stopped > 0 && stopped < 1)) return depth;
    // At least 1, because no double below 1 has a logarithm of 1 - stopped below -37.
    const double needed = (std::log(stopped) - 42.0) / std::log1p(-stopped);
    return needed < double(depth) ? Index(needed) : depth;
}

// Mean over the subsets of size i of the products of `pass` over the subset, for
// i = 0..depth, divided into `mean`: the chance to get past i documents of a block
// whose order is random. Whoever asks for it may give up: `spend` says when.
template <class Spend>
inline void symmetric_means(const double* stop, Index n, Index depth,
                            std::vector<double>& mean, const Spend& spend) {
    mean.assign(depth + 1, 0.0);
    mean[0] = 1;
    for (Index t = 1; t <= n && !spend(std::min(t, depth)); t++)
        for (Index i = std::min(t, depth); i >= 1; i--)
            mean[i] = (double(t - i) * mean[i]
                       + double(i) * (1 - stop[t - 1]) * mean[i - 1])
                      / double(t);
}

// The same for a block where most documents stop nobody. Of its first i documents, h are
// of the others with a hypergeometric chance, which follows from that for i - 1: this
// takes the product of `depth` and of the number of the others, not of all documents.
template <class Spend>
inline void sparse_means(const double* stop, Index n, Index depth,
                         std::vector<double>& mean, const Spend& spend) {
    static thread_local std::vector<double> others, passed, chance;
    others.clear();
    for (Index t = 0; t < n; t++)
        if (stop[t] > 0) others.push_back(stop[t]);
    const Index count = Index(others.size()), most = std::min(count, depth);
    symmetric_means(others.data(), count, most, passed, spend);
    mean.assign(depth + 1, 0.0);
    chance.assign(most + 1, 0.0);
    chance[0] = 1;
    for (Index i = 0; i <= depth && !spend(2 * most + 1); i++) {
        for (Index h = 0; h <= std::min(i, most); h++) mean[i] += chance[h] * passed[h];
        if (i == depth) break;
        const double left = double(n - i);
        for (Index h = std::min(i + 1, most); h >= 0; h--) {
            const Index harmless = std::max<Index>(0, n - count - i + h);
            chance[h] *= double(harmless) / left;
            if (h > 0) chance[h] += chance[h - 1] * double(count - h + 1) / left;
        }
    }
}

inline void hypergeometric_means(double n, double hits, Index depth,
                                 std::vector<double>& mean) {
    mean.assign(depth + 1, 0.0);
    mean[0] = 1;
    for (Index i = 1; i <= depth; i++)
        mean[i] = mean[i - 1] * std::max(0.0, n - hits - double(i - 1))
                  / (n - double(i - 1));
}

// Σ_j discount_j · stop_j · Π_{i<j} (1 − stop_i): the user who reads from the top and
// stops at document j with probability stop_j. `spend` notes operations and says whether
// to give up; what is returned then does not matter.
template <class Spend>
inline double cascade(const double* stop, const double* score, Index m,
                      const double* discount, Index n_discounts, const Spend& spend) {
    static thread_local std::vector<double> pass;
    const Index end = std::min(m, n_discounts);
    double reach = 1, total = 0;
    for (Index i = 0; i < end && reach > 0;) {
        const Index j = block_end(score, i, m);
        if (j == i + 1) {
            total += reach * stop[i] * discount[i];
            reach *= 1 - stop[i];
        } else {
            Index depth = std::min(j, end) - i;
            bool sure = true;
            Index harmless = 0;
            for (Index p = i; p < j; p++) {
                sure = sure && (stop[p] == 0 || stop[p] == 1);
                harmless += stop[p] == 0;
            }
            if (sure) {
                hypergeometric_means(double(j - i), sum(stop, i, j), depth, pass);
            } else {
                depth = depth_of_interest(stop + i, j - i, depth);
                if (2 * harmless > j - i)
                    sparse_means(stop + i, j - i, depth, pass, spend);
                else
                    symmetric_means(stop + i, j - i, depth, pass, spend);
            }
            for (Index p = 0; p < depth; p++)
                total += reach * (pass[p] - pass[p + 1]) * discount[i + p];
            for (Index p = i; p < j; p++) reach *= 1 - stop[p];
        }
        i = j;
    }
    return total;
}

inline double cascade(const double* stop, const double* score, Index m,
                      const double* discount, Index n_discounts) {
    return cascade(stop, score, m, discount, n_discounts,
                   [](std::int64_t) { return false; });
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

// Put row i into the list of the c largest values so far, of at most k.
inline Index insert_top(const double* v, Index i, Index k, Index c, double* top,
                        Index* row) {
    if (c == k && !(v[i] > top[k - 1])) return c;
    Index p = c < k ? c : k - 1;
    for (; p > 0 && top[p - 1] < v[i]; p--) {
        top[p] = top[p - 1];
        row[p] = row[p - 1];
    }
    top[p] = v[i];
    row[p] = i;
    return std::min(c + 1, k);
}

// A value that at least k of the m reach: the k-th largest of the maxima of LANES
// interleaved parts. Vectorises, where selection itself cannot.
template <Index LANES>
inline double reached_by(const double* v, Index m, Index k) {
    double lane[LANES];
    for (Index j = 0; j < LANES; j++) lane[j] = v[j];
    Index i = LANES;
    for (; i + LANES <= m; i += LANES)
        for (Index j = 0; j < LANES; j++)
            lane[j] = lane[j] < v[i + j] ? v[i + j] : lane[j];
    for (Index j = 0; i < m; i++, j++) lane[j] = std::max(lane[j], v[i]);
    double reaching[LANES] = {};  // how many lanes have at least this maximum
    for (Index i = 0; i < LANES; i++)
        for (Index j = 0; j < LANES; j++)
            reaching[j] += lane[i] >= lane[j] ? 1.0 : 0.0;
    double bound = -HUGE_VAL;
    for (Index j = 0; j < LANES; j++)
        if (reaching[j] >= double(k)) bound = std::max(bound, lane[j]);
    return bound;
}

struct Selection {
    Index size;    // min(k, m)
    Index n_last;  // documents, selected or not, that equal the last selected value
};

// The min(k, m) largest values, larger first and earlier row first.
inline Selection select_top(const double* v, Index m, Index k, double* top, Index* row) {
    static thread_local std::vector<Index> candidate;
    Index c = 0, n_last = 0;
    if (k == 0) return {c, n_last};  // there is no last selected value
    // The bound below needs at least k of 16 lanes, and some rows in each to be sharp.
    if (k > 16 || m < 48) {
        for (Index i = 0; i < m; i++) c = insert_top(v, i, k, c, top, row);
        for (Index i = 0; i < m; i++) n_last += v[i] == top[c - 1];
        return {c, n_last};
    }
    const double bound = reached_by<16>(v, m, k);
    candidate.resize(m);
    Index n = 0;
    for (Index i = 0; i < m; i++) {
        candidate[n] = i;
        n += v[i] >= bound;
    }
    for (Index i = 0; i < n; i++) c = insert_top(v, candidate[i], k, c, top, row);
    for (Index i = 0; i < n; i++) n_last += v[candidate[i]] == top[c - 1];
    return {c, n_last};
}

inline double gain_of(double grade, bool exp2) {
    if (!exp2) return grade;
    const int whole = grade < 62 ? int(grade) : -1;  // a shift is cheaper than exp2
    if (whole == grade) return double((std::int64_t(1) << whole) - 1);
    // 1 + grade loses the last digits of a small grade.
    return grade < 0.5 ? std::expm1(grade * 0.6931471805599453) : std::exp2(grade) - 1;
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
    const Selection selected = select_top(s, m, k, top, row);
    const Index c = selected.size;
    double total = 0;
    for (Index i = 0; i < c;) {
        const Index j = average ? block_end(top, i, c) : i + 1;
        // Only the last block can have documents outside of the selection.
        if (average && j == c && selected.n_last > j - i) {
            total += mean_gain_at(grade, s, m, top[i], exp2) * sum(discount, i, j);
            break;
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
    static thread_local std::vector<std::uint64_t> keys, space;
    keys.resize(m);
    for (Index i = 0; i < m; i++) keys[i] = descending_bits(grade[i]);
    sort_keys(keys, space);
    for (Index i = 0; i < n; i++)
        total += gain_of(from_descending_bits(keys[i]), exp2) * discount[i];
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
        const Index j = end_of_run(score, i, m);
        double same = 0;
        for (Index p = i; p < j; p++) {
            const Index lower = seen_up_to(code[p]);
            const Index higher = i - seen_up_to(code[p] + 1);
            pairs.discordant += double(lower);
            pairs.concordant += double(higher);
            same += double(in_block[code[p]]++);
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

// A walk down a ranking that consists of blocks of documents of equal value. A document
// lies ahead, in the block of the present depth, or behind.
struct BlockWalk {
    enum Place : unsigned char { AHEAD, PRESENT, BEHIND };

    const double *from, *to;  // block [from, to) of positions of every document
    std::vector<Index> order;
    std::vector<Place> place;
    Index first, end;  // the present block

    void start(const double* block_from, const double* block_to, Index m) {
        from = block_from;
        to = block_to;
        first = end = 0;
        place.assign(m, AHEAD);
        order.assign(m, 0);
        next.resize(m);  // the next free position of the block that begins here
        for (Index i = 0; i < m; i++) next[Index(from[i])] = Index(from[i]);
        for (Index i = 0; i < m; i++) order[next[Index(from[i])]++] = i;
    }

    // Go on to the block that holds depth d; `moved(i, before, after)` is told of every
    // document whose place changes.
    template <class Moved>
    void reach(Index d, Moved moved) {
        if (d <= end) return;
        for (Index r = first; r < end; r++) set(order[r], BEHIND, moved);
        first = end;
        end = Index(to[order[first]]);
        for (Index r = first; r < end; r++) set(order[r], PRESENT, moved);
    }

    // Chance that a document of the present block is among the first d.
    double share(Index d) const { return double(d - first) / double(end - first); }

private:
    std::vector<Index> next;

    template <class Moved>
    void set(Index i, Place after, Moved moved) {
        const Place before = place[i];
        place[i] = after;
        moved(i, before, after);
    }
};

// Extrapolated rank-biased overlap of two rankings of the same documents, each given
// as the block [from, to) of positions of every document. The overlap at a depth follows
// from how many documents are where in the two rankings; every document changes its
// place twice in each, so that all depths together take O(m).
inline double rank_biased_overlap(const double* from1, const double* to1,
                                  const double* from2, const double* to2, Index m,
                                  double p) {
    static thread_local BlockWalk one, two;
    one.start(from1, to1, m);
    two.start(from2, to2, m);
    double count[3][3] = {};  // documents by place in the one and in the other ranking
    count[BlockWalk::AHEAD][BlockWalk::AHEAD] = double(m);
    double total = 0, weight = 1, agreement = 0;
    for (Index d = 1; d <= m; d++) {
        one.reach(d, [&](Index i, int before, int after) {
            count[before][two.place[i]] -= 1;
            count[after][two.place[i]] += 1;
        });
        two.reach(d, [&](Index i, int before, int after) {
            count[one.place[i]][before] -= 1;
            count[one.place[i]][after] += 1;
        });
        const double f1 = one.share(d), f2 = two.share(d);
        const double overlap =
            count[BlockWalk::BEHIND][BlockWalk::BEHIND]
            + f1 * count[BlockWalk::PRESENT][BlockWalk::BEHIND]
            + f2 * count[BlockWalk::BEHIND][BlockWalk::PRESENT]
            + f1 * f2 * count[BlockWalk::PRESENT][BlockWalk::PRESENT];
        agreement = overlap / double(d);
        total += (1 - p) * weight * agreement;
        weight *= p;
    }
    return total + agreement * weight;
}

}  // namespace skrank
