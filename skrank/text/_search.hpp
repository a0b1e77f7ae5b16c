// Scores of documents for queries, and the best of them.
//
// A query is a sum over the postings of its terms, in the order of the terms, to which an
// offset of the document and a constant of the query are added: the order of a sparse
// product, whose bits the results have. A query is the task of one thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../_core/_clones.hpp"
#include "_postings.hpp"

namespace skrank {

struct WeighedQueries {
    const Index *ptr;
    const int32_t *terms;
    const double *weights;
    const double *totals;     // factors of the offsets
    const double *constants;  // or null
    Index count;
};

struct WeighedPostings {
    PostingLists lists;
    const double *weights;
    const double *offsets;  // or null
};

// Documents in the order in which a search returns them.
struct Hit {
    double score;
    int32_t document;
    bool operator<(const Hit &other) const {  // is better
        return score > other.score ||
               (score == other.score && document < other.document);
    }
};

// The k best of the hits that are offered, as a heap with the worst on top.
class BestHits {
    size_t k;
    std::vector<Hit> heap;

   public:
    explicit BestHits(Index k) : k(static_cast<size_t>(k)) {}

    void clear() { heap.clear(); }

    // No document with a lower score gets in.
    double threshold() const {
        return heap.size() < k ? -std::numeric_limits<double>::infinity()
                               : heap.front().score;
    }

    void offer(const Hit &hit) {
        if (heap.size() < k) {
            heap.push_back(hit);
            std::push_heap(heap.begin(), heap.end());
        } else if (hit < heap.front()) {
            std::pop_heap(heap.begin(), heap.end());
            heap.back() = hit;
            std::push_heap(heap.begin(), heap.end());
        }
    }

    Index write(Index *documents, double *scores) {
        std::sort_heap(heap.begin(), heap.end());
        for (size_t i = 0; i < heap.size(); i++) {
            documents[i] = heap[i].document;
            scores[i] = heap[i].score;
        }
        return static_cast<Index>(heap.size());
    }
};

// A sum that no posting has been added to is -0.0, which no sum becomes: 0.0 is added to
// every product, and what is added to -0.0 is not -0.0 unless both are.
constexpr double UNTOUCHED = -0.0;
inline bool touched(double sum) { return sum != 0.0 || !std::signbit(sum); }
inline double product(double u, double w) { return u * w + 0.0; }

// Documents whose sums are kept at a time: they stay in the cache of a processor.
constexpr Index SEARCH_BLOCK = 4096;
// Sums that are compared with the threshold at a time.
constexpr int SEARCH_GROUP = 16;
// Postings per document below which a list of the documents is faster than a scan.
constexpr Index SEARCH_DENSITY = 16;

// Adds the postings of a term from `at` on that are of documents first ... first + n - 1;
// returns the next one. A number out of order ends the loop, and nothing is written.
SKRANK_INLINE Index add_postings(const int32_t *documents, const double *weights,
                                 double u, Index at, Index end, Index first, Index n,
                                 double *sums) {
    for (; at < end; at++) {
        const uint32_t place = static_cast<uint32_t>(documents[at]) -
                               static_cast<uint32_t>(first);
        if (place >= static_cast<uint32_t>(n)) break;
        sums[place] += product(u, weights[at]);
    }
    return at;
}

// Whether one of a group of values is above a threshold.
SKRANK_INLINE bool any_above(const double *values, double threshold) {
    int above = 0;
    for (int i = 0; i < SEARCH_GROUP; i++) above |= values[i] > threshold;
    return above != 0;
}

SKRANK_CLONES
static int next_group_above(const double *values, int from, int to, double threshold) {
    for (; from < to; from += SEARCH_GROUP)
        if (any_above(values + from, threshold)) return from;
    return to;
}

SKRANK_CLONES
static void shifted(const double *sums, const double *offsets, double total,
                    double constant, Index n, double *scores) {
    for (Index i = 0; i < n; i++) {
        double score = sums[i];
        if (offsets) score += total * offsets[i];
        scores[i] = score + constant;
    }
}

// The work space of one thread.
class Searcher {
    const WeighedPostings &postings;
    const WeighedQueries &queries;
    BestHits best;
    std::vector<double> sums, scores;  // of a block
    std::vector<double> all_sums;      // of all documents, where these are listed
    std::vector<int32_t> listed;
    std::vector<Index> at;  // next posting of each term

    double offset(Index query, Index document) const {
        return queries.totals[query] * postings.offsets[document];
    }
    bool is_shifted() const { return postings.offsets || queries.constants; }
    double constant(Index query) const {
        return queries.constants ? queries.constants[query] : 0.0;
    }

    void offer_block(Index query, Index first, Index n) {
        const double *values = sums.data();
        if (is_shifted()) {
            const double *offsets = postings.offsets ? postings.offsets + first : nullptr;
            shifted(values, offsets, offsets ? queries.totals[query] : 0.0,
                    constant(query), n, scores.data());
            values = scores.data();
        }
        // The values behind the last document are those of an untouched one.
        const int end = static_cast<int>(n);
        int i = 0;
        while ((i = next_group_above(values, i, end, best.threshold())) < end) {
            const int stop = std::min(i + SEARCH_GROUP, end);
            for (; i < stop; i++)
                if (values[i] > best.threshold() && touched(sums[i]))
                    best.offer({values[i], static_cast<int32_t>(first + i)});
        }
    }

    void scan(Index query, Scratch &scratch) {
        const PostingLists &lists = postings.lists;
        const Index q0 = queries.ptr[query], n_terms = queries.ptr[query + 1] - q0;
        at.assign(n_terms, 0);
        for (Index t = 0; t < n_terms; t++) at[t] = lists.ptr[queries.terms[q0 + t]];
        for (Index first = 0; first < lists.n_documents; first += SEARCH_BLOCK) {
            const Index n = std::min(SEARCH_BLOCK, lists.n_documents - first);
            Index added = 0;
            for (Index t = 0; t < n_terms; t++) {
                const Index end = lists.ptr[queries.terms[q0 + t] + 1], from = at[t];
                at[t] = add_postings(lists.documents, postings.weights,
                                     queries.weights[q0 + t], from, end, first, n,
                                     sums.data());
                added += at[t] - from;
            }
            if (added == 0) continue;
            offer_block(query, first, n);
            std::fill(sums.begin(), sums.end(), UNTOUCHED);
            if (scratch.spend(n + added)) return;
        }
    }

    void list(Index query) {
        const PostingLists &lists = postings.lists;
        all_sums.resize(lists.n_documents, UNTOUCHED);
        listed.resize(most_listed());  // no query has more postings here
        Index n = 0;
        for (Index e = queries.ptr[query]; e < queries.ptr[query + 1]; e++) {
            const Index term = queries.terms[e];
            for (Index p = lists.ptr[term]; p < lists.ptr[term + 1]; p++) {
                const int32_t d = lists.documents[p];
                if (static_cast<uint32_t>(d) >= static_cast<uint32_t>(lists.n_documents))
                    break;
                listed[n] = d;
                n += !touched(all_sums[d]);
                all_sums[d] += product(queries.weights[e], postings.weights[p]);
            }
        }
        for (Index i = 0; i < n; i++) {
            const int32_t d = listed[i];
            double score = all_sums[d];
            if (postings.offsets) score += offset(query, d);
            if (is_shifted()) score += constant(query);
            if (score >= best.threshold()) best.offer({score, d});
            all_sums[d] = UNTOUCHED;
        }
    }

    Index most_listed() const { return postings.lists.n_documents / SEARCH_DENSITY + 1; }

   public:
    Searcher(const WeighedPostings &postings, const WeighedQueries &queries, Index k)
        : postings(postings),
          queries(queries),
          best(k),
          sums(SEARCH_BLOCK + SEARCH_GROUP, UNTOUCHED),
          scores(SEARCH_BLOCK + SEARCH_GROUP, -std::numeric_limits<double>::infinity()) {}

    Index search(Index query, Index *documents, double *found, Scratch &scratch) {
        const PostingLists &lists = postings.lists;
        Index n = 0;
        for (Index e = queries.ptr[query]; e < queries.ptr[query + 1]; e++)
            n += lists.ptr[queries.terms[e] + 1] - lists.ptr[queries.terms[e]];
        best.clear();
        if (n <= most_listed()) {
            list(query);
            if (scratch.spend(4 * n)) return 0;
        } else {
            scan(query, scratch);
        }
        return best.write(documents, found);
    }
};

// The k best documents of each query that contain one of its terms; rows that are not
// full keep what they hold.
inline void search(const WeighedPostings &postings, const WeighedQueries &queries,
                   Index k, Index *documents, double *scores, Index *n_found,
                   int n_threads) {
    // Few searchers, because each has memory for all documents.
    const Index chunk = std::max<Index>(1, queries.count / (8 * std::max(n_threads, 1)));
    for_each_chunk(queries.count, static_cast<int>(std::min<Index>(chunk, 1 << 20)),
                   n_threads, Room{},
                   [&](Index first, Index last, Scratch &scratch) {
                       Searcher searcher(postings, queries, k);
                       for (Index q = first; q < last; q++)
                           n_found[q] = searcher.search(q, documents + q * k,
                                                        scores + q * k, scratch);
                   });
}

// The scores of all documents for each query.
inline void score_all(const WeighedPostings &postings, const WeighedQueries &queries,
                      double *scores, int n_threads) {
    const PostingLists &lists = postings.lists;
    const Index n = lists.n_documents;
    for_each(queries.count, HEAVY_CHUNK, n_threads, Room{}, [&](Index q, Scratch &scratch) {
        double *row = scores + q * n;
        std::fill(row, row + n, 0.0);
        for (Index e = queries.ptr[q]; e < queries.ptr[q + 1]; e++) {
            const Index start = lists.ptr[queries.terms[e]];
            const Index end = lists.ptr[queries.terms[e] + 1];
            add_postings(lists.documents, postings.weights, queries.weights[e], start, end,
                         0, n, row);
            if (scratch.spend(end - start)) return;
        }
        if (postings.offsets || queries.constants)
            shifted(row, postings.offsets, postings.offsets ? queries.totals[q] : 0.0,
                    queries.constants ? queries.constants[q] : 0.0, n, row);
    });
}

// The k best of dense scores of all documents, whatever they contain.
inline void best_of_rows(const double *scores, Index n_rows, Index n, Index k,
                         Index *documents, double *found, int n_threads) {
    for_each(n_rows, HEAVY_CHUNK, n_threads, Room{}, [&](Index q, Scratch &) {
        BestHits best(k);
        const double *row = scores + q * n;
        for (Index d = 0; d < n; d++)
            if (row[d] >= best.threshold()) best.offer({row[d], static_cast<int32_t>(d)});
        best.write(documents + q * k, found + q * k);
    });
}

}  // namespace skrank
