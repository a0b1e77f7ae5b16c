// How close the terms of a query stand in a document.
//
// Terms are lists of ascending positions. The closest pair of two lists is found by one
// merge; the shortest cover by a sweep that always moves the first of the list heads.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "../_core/_for_each_query.hpp"

namespace skrank {

struct PairLookups {
    const Index *ptr;
    const Index *postings;  // -1 where the document lacks the term
    Index n_pairs;
};

struct PositionLists {
    const Index *ptr;
    const int32_t *positions;
    Index n_postings, n_positions;
};

struct Places {
    const int32_t *first, *last;  // ascending, at least one
};

// What is measured of each pair, in this order.
enum Proximity {
    SPAN,         // terms from the first to the last occurrence
    OCCURRENCES,  // of all terms
    COVER,        // terms of the shortest segment with every term that occurs
    MATCHED,      // terms that occur
    LEAST,        // of the distances of pairs of terms
    MEAN,
    MOST,
    N_PROXIMITIES,
};

inline int64_t closest(const Places &a, const Places &b) {
    const int32_t *i = a.first, *j = b.first;
    int64_t least = INT64_MAX;
    while (i < a.last && j < b.last) {
        const int64_t distance = static_cast<int64_t>(*i) - *j;
        least = std::min(least, distance < 0 ? -distance : distance);
        distance < 0 ? i++ : j++;
    }
    return least;
}

inline int64_t shortest_cover(const std::vector<Places> &terms,
                              std::vector<const int32_t *> &heads) {
    heads.clear();
    int64_t right = -1, best = INT64_MAX;
    for (const Places &places : terms) {
        heads.push_back(places.first);
        right = std::max<int64_t>(right, *places.first);
    }
    for (;;) {
        size_t left = 0;
        for (size_t t = 1; t < heads.size(); t++)
            if (*heads[t] < *heads[left]) left = t;
        best = std::min(best, right - *heads[left] + 1);
        if (++heads[left] == terms[left].last) return best;
        right = std::max<int64_t>(right, *heads[left]);
    }
}

inline void measure_proximity(const std::vector<Places> &terms,
                              std::vector<const int32_t *> &heads, double *out) {
    const double none = std::numeric_limits<double>::infinity();
    std::fill(out, out + LEAST, 0.0);
    out[LEAST] = out[MEAN] = out[MOST] = none;
    if (terms.empty()) return;
    int64_t first = INT64_MAX, last = -1, occurrences = 0;
    for (const Places &places : terms) {
        first = std::min<int64_t>(first, *places.first);
        last = std::max<int64_t>(last, *(places.last - 1));
        occurrences += places.last - places.first;
    }
    out[SPAN] = static_cast<double>(last - first + 1);
    out[OCCURRENCES] = static_cast<double>(occurrences);
    out[COVER] = static_cast<double>(shortest_cover(terms, heads));
    out[MATCHED] = static_cast<double>(terms.size());
    if (terms.size() < 2) return;
    int64_t least = INT64_MAX, most = 0, sum = 0, n = 0;
    for (size_t i = 0; i < terms.size(); i++)
        for (size_t j = 0; j < i; j++, n++) {
            const int64_t distance = closest(terms[i], terms[j]);
            least = std::min(least, distance);
            most = std::max(most, distance);
            sum += distance;
        }
    out[LEAST] = static_cast<double>(least);
    out[MEAN] = static_cast<double>(sum) / static_cast<double>(n);
    out[MOST] = static_cast<double>(most);
}

inline void proximities_of_pairs(const PairLookups &pairs, const PositionLists &lists,
                                 double *out, int n_threads) {
    for_each_chunk(
        pairs.n_pairs, 256, n_threads, Room{},
        [&](Index first_pair, Index last_pair, Scratch &scratch) {
            std::vector<Places> terms;
            std::vector<const int32_t *> heads;
            for (Index p = first_pair; p < last_pair; p++) {
                terms.clear();
                int64_t work = 0;
                for (Index i = pairs.ptr[p]; i < pairs.ptr[p + 1]; i++) {
                    const Index posting = pairs.postings[i];
                    if (posting < 0 || posting >= lists.n_postings) continue;
                    const Index start = lists.ptr[posting], end = lists.ptr[posting + 1];
                    if (start == end) continue;
                    terms.push_back({lists.positions + start, lists.positions + end});
                    work += end - start;
                }
                measure_proximity(terms, heads, out + p * N_PROXIMITIES);
                if (scratch.spend(4 * work * static_cast<int64_t>(terms.size()))) return;
            }
        });
}

}  // namespace skrank
