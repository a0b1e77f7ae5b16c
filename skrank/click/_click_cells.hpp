// Clicks and skips counted by pair of query and document and by slot, and the EM steps of
// the models in which a click takes one probability per pair and one per slot.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../_core/_for_each_query.hpp"
#include "../_core/_long_product.hpp"

namespace skrank {

// Rank of the last click before each impression, 0 if there is none, and rank of the last
// click of each session.
inline void click_context(const Index *ptr, Index n_sessions, const uint8_t *click,
                          int32_t *before, int32_t *last, int n_threads) {
    for_each(n_sessions, LIGHT_CHUNK, n_threads, {}, [=](Index s, Scratch &) {
        int32_t latest = 0;
        for (Index i = ptr[s]; i < ptr[s + 1]; i++) {
            before[i] = latest;
            if (click[i]) latest = static_cast<int32_t>(i - ptr[s] + 1);
        }
        last[s] = latest;
    });
}

// The order of n rows by ascending code, rows of one code as they were given.
inline void stable_order(const Index *code, Index n, Index n_codes, const Index *given,
                         Index *order) {
    std::vector<Index> next(n_codes + 1, 0);
    for (Index i = 0; i < n; i++) next[code[i] + 1]++;
    for (Index c = 0; c < n_codes; c++) next[c + 1] += next[c];
    for (Index i = 0; i < n; i++) {
        const Index row = given ? given[i] : i;
        order[next[code[row]]++] = row;
    }
}

// Numbers the distinct pairs of two codes, in their order; returns how many there are.
inline Index number_pairs(const Index *query, const Index *document, Index n,
                          Index n_queries, Index n_documents, Index *pair,
                          Index *pair_query, Index *pair_document) {
    std::vector<Index> by_document(n), order(n);
    stable_order(document, n, n_documents, nullptr, by_document.data());
    stable_order(query, n, n_queries, by_document.data(), order.data());
    Index count = 0;
    for (Index place = 0; place < n; place++) {
        const Index i = order[place];
        const bool same = count && pair_query[count - 1] == query[i] &&
                          pair_document[count - 1] == document[i];
        if (!same) {
            pair_query[count] = query[i];
            pair_document[count] = document[i];
            count++;
        }
        pair[i] = count - 1;
    }
    return count;
}

// What was counted: cells of one pair each lie side by side, by ascending slot.
struct CellCounts {
    Index *pair, *slot;
    int64_t *clicks, *skips;
};

// An impression: its pair, and its slot with the click in the last bit.
struct Impression {
    Index pair, place;
};

// Moves impressions into the ascending order of a code, those of one code as they were.
template <class Code>
void sort_by_code(const std::vector<Impression> &from, Index n_codes, const Code &code,
                  std::vector<Impression> &to) {
    std::vector<Index> next(n_codes + 1, 0);
    for (const Impression &row : from) next[code(row) + 1]++;
    for (Index c = 0; c < n_codes; c++) next[c + 1] += next[c];
    for (const Impression &row : from) to[next[code(row)]++] = row;
}

// Counts impressions whose slot is not negative; returns the number of cells.
inline Index count_cells(const Index *pair, const Index *slot, const uint8_t *click,
                         Index n, Index n_pairs, Index n_slots, const CellCounts &cells) {
    std::vector<Impression> rows;
    rows.reserve(n);
    for (Index i = 0; i < n; i++)
        if (slot[i] >= 0) rows.push_back({pair[i], 2 * slot[i] + (click[i] != 0)});
    std::vector<Impression> sorted(rows.size());
    sort_by_code(rows, n_slots, [](const Impression &row) { return row.place >> 1; }, sorted);
    sort_by_code(sorted, n_pairs, [](const Impression &row) { return row.pair; }, rows);
    Index last = -1;
    for (const Impression &row : rows) {
        const Index place = row.place >> 1;
        if (last < 0 || cells.pair[last] != row.pair || cells.slot[last] != place) {
            last++;
            cells.pair[last] = row.pair;
            cells.slot[last] = place;
            cells.clicks[last] = cells.skips[last] = 0;
        }
        const int64_t clicked = row.place & 1;
        cells.clicks[last] += clicked;
        cells.skips[last] += 1 - clicked;
    }
    return last + 1;
}

// Cells of pair p are ptr[p] ... ptr[p + 1] - 1.
struct Cells {
    const Index *ptr, *slot;
    const double *clicks, *skips;
    Index n_pairs, n_slots;
};

// A click has the probability attraction[pair] * examination[slot].
struct Browsing {
    const double *attraction, *examination;
};

// Pseudo-counts that stand for what is known before any log.
struct PseudoCounts {
    double clicks, skips, behaviour;
};

// Parts of the pairs whose cells are about as many. They depend on the data alone, so that
// sums over parts do so, too; their tables take no more memory than the cells.
inline std::vector<Index> parts_of_pairs(const Cells &cells) {
    constexpr Index MOST = 64, LEAST_CELLS = 2048;
    const Index n_cells = cells.ptr[cells.n_pairs];
    const Index size = std::max(LEAST_CELLS, 4 * cells.n_slots);
    const Index n_parts = std::clamp<Index>(n_cells / size, 1, MOST);
    std::vector<Index> bounds(n_parts + 1, cells.n_pairs);
    for (Index part = 0; part < n_parts; part++)
        bounds[part] = std::lower_bound(cells.ptr, cells.ptr + cells.n_pairs,
                                        n_cells / n_parts * part) - cells.ptr;
    return bounds;
}

// Logarithms of probabilities, each as often as was counted: small counts are multiplied
// up, for a logarithm takes longer than several products.
class CountedLogs {
    static constexpr double LEAST = 1e-150;  // its square still is a number
    double product = 1.0, sum = 0.0;
    LongProduct logs;

   public:
    void add(double probability, double count) {
        probability = std::max(probability, LEAST);
        if (count > 4.0) {
            sum += count * std::log(probability);
            return;
        }
        for (; count > 0.0; count -= 1.0) {
            product *= probability;
            if (product < LEAST) {
                logs.multiply(product);
                product = 1.0;
            }
        }
    }
    double value() {
        logs.multiply(product);
        product = 1.0;
        return sum + logs.log();
    }
};

// The step for one pair: expected examinations are added by slot, and the attraction after
// the step is returned.
inline double step_pair(const Cells &cells, const Browsing &now, const PseudoCounts &prior,
                        Index pair, double *examined, CountedLogs &logs) {
    const double a = now.attraction[pair];
    double attracted = 0.0, shown = 0.0, clicks = 0.0;
    for (Index c = cells.ptr[pair]; c < cells.ptr[pair + 1]; c++) {
        const double g = now.examination[cells.slot[c]];
        const double clicked = cells.clicks[c], skipped = cells.skips[c];
        const double both = a * g, skip = std::max(1.0 - both, 1e-150);
        const double share = skipped / skip;
        attracted += share * (a - both);
        examined[cells.slot[c]] += clicked + share * (g - both);
        clicks += clicked;
        shown += clicked + skipped;
        logs.add(skip, skipped);
    }
    logs.add(a, clicks);
    const double weight = shown + prior.clicks + prior.skips;
    return weight > 0.0 ? (attracted + clicks + prior.clicks) / weight : a;
}

// Clicks and impressions of each slot.
struct SlotCounts {
    const double *clicks, *shown;
};

// One step of EM. Returns the log-likelihood of the parameters before the step.
inline double browsing_step(const Cells &cells, const Browsing &now,
                            const PseudoCounts &prior, const SlotCounts &slots,
                            double *attraction, double *examination, int n_threads) {
    const std::vector<Index> bounds = parts_of_pairs(cells);
    const Index n_parts = static_cast<Index>(bounds.size()) - 1;
    std::vector<double> table(n_parts * cells.n_slots, 0.0), values(n_parts, 0.0);
    for_each(n_parts, 1, n_threads, {}, [&](Index part, Scratch &) {
        double *examined = table.data() + part * cells.n_slots;
        CountedLogs logs;
        for (Index p = bounds[part]; p < bounds[part + 1]; p++)
            attraction[p] = step_pair(cells, now, prior, p, examined, logs);
        values[part] = logs.value();
    });
    CountedLogs logs;
    for (Index slot = 0; slot < cells.n_slots; slot++)
        logs.add(now.examination[slot], slots.clicks[slot]);
    double log_likelihood = logs.value();
    for (const double value : values) log_likelihood += value;
    for (Index slot = 0; slot < cells.n_slots; slot++) {
        double examined = prior.behaviour;
        for (Index part = 0; part < n_parts; part++)
            examined += table[part * cells.n_slots + slot];
        const double weight = slots.shown[slot] + 2.0 * prior.behaviour;
        examination[slot] = weight > 0.0 ? examined / weight : now.examination[slot];
    }
    return log_likelihood;
}

// Probabilities of examination by rank and by the distance to the last click before, which
// is the rank if there is none. What lies beyond the table has the values of its edge.
struct Examination {
    const double *table;
    Index n_ranks, n_distances;

    double at(Index rank, Index last_click) const {
        const Index row = std::min(rank, n_ranks);
        const Index distance = std::min({rank - last_click, row, n_distances});
        return table[(row - 1) * n_distances + distance - 1];
    }
};

// Probabilities of examination that know of no click. O(m^2) for m documents, unless
// examination depends on nothing but the rank.
inline void browsing_examination(const Index *ptr, Index n_sessions, const double *a,
                                 const Examination &examination, double *probability,
                                 int n_threads) {
    Index longest = 0;
    for (Index s = 0; s < n_sessions; s++) longest = std::max(longest, ptr[s + 1] - ptr[s]);
    const Room room = {longest + 1, 1};
    for_each(n_sessions, LIGHT_CHUNK, n_threads, room, [=](Index s, Scratch &scratch) {
        const Index m = ptr[s + 1] - ptr[s];
        const double *attraction = a + ptr[s];
        double *chance = scratch.array(0);  // that the last click so far is at this rank
        chance[0] = 1.0;
        for (Index rank = 1; rank <= m; rank++) {
            double total = 0.0;
            if (examination.n_distances == 1) {
                total = examination.at(rank, 0);
            } else {
                const double clicked = attraction[rank - 1];
                for (Index t = 0; t < rank; t++) {
                    const double examined = examination.at(rank, t);
                    total += chance[t] * examined;
                    chance[t] *= 1.0 - clicked * examined;
                }
                chance[rank] = clicked * total;
            }
            probability[ptr[s] + rank - 1] = total;
        }
    });
}

// Clicks that are drawn one after another; `uniform` holds a number for each impression.
inline void draw_browsing(const Index *ptr, Index n_sessions, const double *a,
                          const Examination &examination, const double *uniform,
                          uint8_t *click, int n_threads) {
    for_each(n_sessions, LIGHT_CHUNK, n_threads, {}, [=](Index s, Scratch &) {
        Index last = 0;
        for (Index i = ptr[s]; i < ptr[s + 1]; i++) {
            const Index rank = i - ptr[s] + 1;
            click[i] = uniform[i] < a[i] * examination.at(rank, last);
            if (click[i]) last = rank;
        }
    });
}

}  // namespace skrank
