// Postings: the documents of each term, in ascending order, with counts and positions.
//
// Terms of documents are turned round in two passes over parts of the collection: the
// first counts the documents of each term, the second writes them to their places. A part
// is a run of documents, so that the result does not depend on how many there are.
#pragma once

#include <cstdint>
#include <vector>

#include "../_core/_for_each_query.hpp"

namespace skrank {

// Words of documents, each of which stands for some terms: none, one or several.
struct Tokens {
    const int32_t *words;  // of all documents, one after the other
    const Index *ptr;      // start of each document
    Index n_documents;
    const int32_t *terms;    // of all words
    const Index *terms_ptr;  // start of each word
    Index n_terms;

    template <class Body>
    void for_each_term(Index document, const Body &body) const {
        for (Index i = ptr[document]; i < ptr[document + 1]; i++)
            for (Index j = terms_ptr[words[i]]; j < terms_ptr[words[i] + 1]; j++)
                body(terms[j]);
    }
};

class PostingsBuilder {
    struct Count {
        int32_t term, count;
    };
    struct Part {
        Index first, last;
        std::vector<Count> counts;       // of its documents, one after the other
        std::vector<int32_t> n_distinct;  // of each of its documents
        std::vector<Index> place;        // of the next posting of each term
    };
    Tokens tokens;
    int n_threads;
    std::vector<Part> parts;

   public:
    PostingsBuilder(const Tokens &tokens, int n_threads)
        : tokens(tokens), n_threads(n_threads) {
        const Index n = tokens.n_documents, n_parts = std::max(n_threads, 1);
        for (Index p = 0; p < n_parts; p++)
            parts.push_back({n * p / n_parts, n * (p + 1) / n_parts, {}, {}, {}});
    }

    // Counts the terms of each document, and fills the start of each term.
    void count(Index *starts) {
        for_each_part([&](Part &part, Scratch &scratch) { count_part(part, scratch); });
        Index total = 0;
        for (Index t = 0; t < tokens.n_terms; t++) {
            starts[t] = total;
            for (Part &part : parts) {
                const Index n = part.place[t];
                part.place[t] = total;
                total += n;
            }
        }
        starts[tokens.n_terms] = total;
    }

    // Writes the postings; `count` has been called.
    void write(int32_t *documents, double *counts) const {
        for_each_part([&](const Part &part, Scratch &scratch) {
            std::vector<Index> place = part.place;
            const Count *at = part.counts.data();
            for (Index d = part.first; d < part.last; d++) {
                const int32_t n = part.n_distinct[d - part.first];
                for (int32_t i = 0; i < n; i++, at++) {
                    const Index p = place[at->term]++;
                    documents[p] = static_cast<int32_t>(d);
                    counts[p] = at->count;
                }
                if (scratch.spend(4 * n)) return;
            }
        });
    }

    // Writes the positions of each posting, which begin at `starts`.
    void write_positions(const Index *starts, int32_t *positions) const {
        for_each_part([&](const Part &part, Scratch &scratch) {
            std::vector<Index> place = part.place, next(tokens.n_terms);
            std::vector<Index> seen(tokens.n_terms, -1);
            for (Index d = part.first; d < part.last; d++) {
                int32_t position = 0;
                tokens.for_each_term(d, [&](int32_t term) {
                    if (seen[term] != d) {
                        seen[term] = d;
                        next[term] = starts[place[term]++];
                    }
                    positions[next[term]++] = position++;
                });
                if (scratch.spend(4 * position)) return;
            }
        });
    }

   private:
    template <class Body>
    void for_each_part(const Body &body) {
        for_each(static_cast<Index>(parts.size()), HEAVY_CHUNK, n_threads, Room{},
                 [&](Index p, Scratch &scratch) { body(parts[p], scratch); });
    }
    template <class Body>
    void for_each_part(const Body &body) const {
        for_each(static_cast<Index>(parts.size()), HEAVY_CHUNK, n_threads, Room{},
                 [&](Index p, Scratch &scratch) { body(parts[p], scratch); });
    }

    void count_part(Part &part, Scratch &scratch) const {
        part.place.assign(tokens.n_terms, 0);
        std::vector<Index> slot(tokens.n_terms, -1);  // of the last document with a term
        std::vector<Count> &counts = part.counts;
        for (Index d = part.first; d < part.last; d++) {
            const Index first = static_cast<Index>(counts.size());
            tokens.for_each_term(d, [&](int32_t term) {
                if (slot[term] < first) {
                    slot[term] = static_cast<Index>(counts.size());
                    counts.push_back({term, 0});
                    part.place[term]++;
                }
                counts[slot[term]].count++;
            });
            const Index n = static_cast<Index>(counts.size()) - first;
            part.n_distinct.push_back(static_cast<int32_t>(n));
            if (scratch.spend(8 * n)) return;
        }
    }
};

// Postings whose numbers have not been checked: of a file that may change under us.
struct PostingLists {
    const Index *ptr;
    const int32_t *documents;
    Index n_terms, n_postings, n_documents;

    bool has_list(Index term) const {
        return term >= 0 && term < n_terms && ptr[term] >= 0 &&
               ptr[term] <= ptr[term + 1] && ptr[term + 1] <= n_postings;
    }
};

enum PostingFault { NO_FAULT = 0, WRONG_STARTS, WRONG_ORDER, WRONG_COUNT };

// What is wrong with postings: the starts of terms, the documents or the counts.
inline PostingFault fault_of(const PostingLists &lists, const double *counts,
                             double most) {
    if (lists.ptr[0] != 0 || lists.ptr[lists.n_terms] != lists.n_postings)
        return WRONG_STARTS;
    for (Index t = 0; t < lists.n_terms; t++)
        if (!lists.has_list(t)) return WRONG_STARTS;
    bool ordered = true, counted = true;
    for (Index t = 0; t < lists.n_terms; t++) {
        Index before = -1;
        for (Index p = lists.ptr[t]; p < lists.ptr[t + 1]; p++) {
            ordered &= lists.documents[p] > before;
            before = lists.documents[p];
            counted &= counts[p] > 0.0 && counts[p] <= most;
        }
        ordered &= before < lists.n_documents;
    }
    if (!ordered) return WRONG_ORDER;
    return counted ? NO_FAULT : WRONG_COUNT;
}

// The posting of each (term, document), -1 where there is none.
inline void find_postings(const PostingLists &lists, Index n, const Index *terms,
                          const Index *documents, Index *found, int n_threads) {
    for_each(n, 1024, n_threads, Room{}, [&](Index i, Scratch &) {
        found[i] = -1;
        if (!lists.has_list(terms[i])) return;
        const int32_t *first = lists.documents + lists.ptr[terms[i]];
        const int32_t *last = lists.documents + lists.ptr[terms[i] + 1];
        const int32_t *at = std::lower_bound(first, last, documents[i]);
        if (at < last && *at == documents[i]) found[i] = at - lists.documents;
    });
}

}  // namespace skrank
