// The mean of a measure along a line of scores, a + t x.
//
// The ranking of a query changes only where two of its documents change places. On a grid
// of steps, the order at one step is nearly that at the next, and insertion sort puts it
// right in as many moves as pairs have changed places. The exact search visits the places
// themselves: between two of them the measure is constant.
#pragma once

#include <cmath>
#include <cstdint>

#include "_exact_measure.hpp"
#include "_long_product.hpp"

namespace skrank {

// Sums over queries are added up over this many parts of them, whatever the number of
// threads.
constexpr Index LINE_PARTS = 16;
constexpr Index LINE_BUCKETS = 1024;

// Calls body(part, first query, last query, scratch) for each part of the queries.
template <class Body>
void for_each_part(Index n_queries, int n_threads, Body body) {
    const Index size = (n_queries + LINE_PARTS - 1) / LINE_PARTS;
    for_each(LINE_PARTS, HEAVY_CHUNK, n_threads, {}, [&](Index part, Scratch &scratch) {
        const Index first = std::min(part * size, n_queries);
        body(part, first, std::min(first + size, n_queries), scratch);
    });
}

// Scores of a few documents at t. Returns whether they fall strictly, row after row.
// Arrays are padded to whole lanes.
SKRANK_CLONES bool falls_at(const double *a, const double *x, double t, int m, double *s) {
    for (int first = 0; first < m; first += LANES) {
        ScoreLanes start, along;
        std::memcpy(&start, a + first, sizeof start);
        std::memcpy(&along, x + first, sizeof along);
        start += t * along;
        std::memcpy(s + first, &start, sizeof start);
    }
    CountLanes falling = ~CountLanes{};
    int r = 0;
    for (; r + LANES < m; r += LANES) {
        ScoreLanes own, next;
        std::memcpy(&own, s + r, sizeof own);
        std::memcpy(&next, s + r + 1, sizeof next);
        falling &= own > next;
    }
    std::int64_t all = -1;
    for (int j = 0; j < LANES; j++) all &= falling[j];
    for (; r + 1 < m; r++) all &= -std::int64_t(s[r] > s[r + 1]);
    return all != 0;
}

// The ranking of a query of few documents as it moves along a line. While scores stay in
// order, that is all there is to see; where they do not, ranks are counted.
struct ShortRanking {
    double a[FEW_DOCUMENTS], x[FEW_DOCUMENTS], gain[FEW_DOCUMENTS];
    std::int64_t above[FEW_DOCUMENTS], before[FEW_DOCUMENTS];
    double s[FEW_DOCUMENTS], ranked[FEW_DOCUMENTS];
    int m;
    bool in_order;  // rows are in the order of the ranks

    void start(const double *all_a, const double *all_x, const double *gains,
               const int *order, int size) {
        m = size;
        for (int r = 0; r < m; r++) {
            a[r] = all_a[order[r]];
            x[r] = all_x[order[r]];
            gain[r] = gains[order[r]];
        }
        // What lies beyond the last row is compared, too, and never looked at.
        for (int r = m; r < std::min(m + LANES, FEW_DOCUMENTS); r++) a[r] = x[r] = 0.0;
        in_order = true;
        std::fill(before, before + m, -1);
    }

    void put_in_order() {
        double old_a[FEW_DOCUMENTS], old_x[FEW_DOCUMENTS], old_gain[FEW_DOCUMENTS];
        std::copy(a, a + m, old_a);
        std::copy(x, x + m, old_x);
        std::copy(gain, gain + m, old_gain);
        for (int r = 0; r < m; r++) {
            const int rank = int(above[r]);
            a[rank] = old_a[r];
            x[rank] = old_x[r];
            gain[rank] = old_gain[r];
        }
        in_order = true;
    }

    // The value at t; `value` is that at the step before.
    double move(const ExactMeasure &measure, double t, double value, bool first) {
        const bool falls = falls_at(a, x, t, m, s);
        if (in_order && falls && !first) return value;
        if (falls) {
            std::copy(gain, gain + m, ranked);
            return ranked_value(measure, ranked, nullptr, m);
        }
        if (2 * count_above(s, m, above) < m * (m - 1)) return tied_value(measure);
        if (!in_order && std::equal(above, above + m, before)) {
            put_in_order();
            return value;
        }
        in_order = false;
        std::copy(above, above + m, before);
        for (int r = 0; r < m; r++) ranked[int(above[r])] = gain[r];
        return ranked_value(measure, ranked, nullptr, m);
    }

    double tied_value(const ExactMeasure &measure) {
        double score[FEW_DOCUMENTS];
        rank_values(s, nullptr, gain, m, ranked, score);
        // The next step must not take this value for its own.
        std::fill(before, before + m, -1);
        in_order = false;
        return ranked_value(measure, ranked, score, m);
    }
};

// The ranking of one query as it moves along a line.
struct MovingRanking {
    std::vector<int> order;
    std::vector<double> score, gain;

    void start(const int *rows, Index m) {
        order.assign(rows, rows + m);
        score.resize(m);
        gain.resize(m);
    }

    // Scores at t; returns whether the order has changed, and says whether two are equal.
    // It may give up half-way, which the scratch remembers.
    bool move(const double *a, const double *x, double t, bool &tied, Scratch &scratch) {
        const int m = int(order.size());
        bool moved = false, same = false;
        int *o = order.data();
        double *s = score.data();
        for (int r = 0; r < m; r++) s[r] = a[o[r]] + t * x[o[r]];
        for (int r = 1; r < m; r++) {
            const double own = s[r];
            same |= own == s[r - 1];
            if (own < s[r - 1]) continue;
            const int row = o[r];
            int p = r;
            for (; p > 0 && (s[p - 1] < own || (s[p - 1] == own && o[p - 1] > row)); p--) {
                s[p] = s[p - 1];
                o[p] = o[p - 1];
            }
            if (p == r) continue;
            if (scratch.spend(r - p)) break;
            same |= p > 0 && s[p - 1] == own;
            same |= s[p + 1] == own;
            s[p] = own;
            o[p] = row;
            moved = true;
        }
        tied = same;
        return moved;
    }

    double value(const ExactMeasure &measure, const double *all_gains, bool tied) {
        const Index m = Index(order.size());
        // Ties reach over the cut-off, and so do hits that do not count.
        const Index n = tied ? m : std::min(m, measure.n);
        for (Index r = 0; r < n; r++) gain[r] = all_gains[order[r]];
        return ranked_value(measure, gain.data(), tied ? score.data() : nullptr, n);
    }
};

// out[k] = Σ_q weight · value at step[k]. Steps ascend, step[zero] is 0, and `order` holds
// the rows of each query, counted from its first, in the order of the scores `a`.
inline void grid_values(const Queries &queries, const ExactMeasure &measure,
                        const double *a, const double *x, const int *order,
                        const double *step, Index n_steps, Index zero, double *out,
                        int n_threads) {
    std::vector<double> sums(LINE_PARTS * n_steps, 0.0);
    for_each_part(queries.count, n_threads, [&](Index part, Index first, Index last,
                                                Scratch &scratch) {
        static thread_local MovingRanking ranking;
        ShortRanking few;
        double *sum = &sums[part * n_steps];
        for (Index q = first; q < last; q++) {
            const Index start = queries.ptr[q], m = queries.ptr[q + 1] - start;
            const double factor = measure.weight[q] * measure.scale[q];
            if (factor == 0.0 || m == 0) continue;
            const auto sweep = [&](Index from, Index end, Index by) {
                if (m <= FEW_DOCUMENTS) {
                    few.start(a + start, x + start, measure.gain + start, order + start,
                              int(m));
                    double value = 0.0;
                    for (Index k = from; k != end; k += by) {
                        value = few.move(measure, step[k], value, k == from);
                        sum[k] += factor * value;
                    }
                    return;
                }
                ranking.start(order + start, m);
                bool was_tied = true;
                double value = 0.0;
                for (Index k = from; k != end && !scratch.spend(m); k += by) {
                    bool tied;
                    const bool moved =
                        ranking.move(a + start, x + start, step[k], tied, scratch);
                    if (moved || tied || was_tied)
                        value = ranking.value(measure, measure.gain + start, tied);
                    was_tied = tied;
                    sum[k] += factor * value;
                }
            };
            sweep(zero, n_steps, 1);
            sweep(zero - 1, -1, -1);
        }
    });
    for (Index k = 0; k < n_steps; k++) {
        out[k] = 0.0;
        for (Index part = 0; part < LINE_PARTS; part++) out[k] += sums[part * n_steps + k];
    }
}

struct LineEvent {
    double t, change;
};

inline Index bucket_of(double t) {
    const double place = (t / (1.0 + std::fabs(t)) + 1.0) * (0.5 * LINE_BUCKETS);
    return std::min(Index(place), LINE_BUCKETS - 1);
}

// Pairs of blocks whose places are held at a time, but for a share of all of them.
constexpr Index FEW_PAIRS = 1 << 21, MOST_SLICES = 16;

// One query on the way from t = -infinity to infinity. Documents of equal a and x never
// part; each set of them is one block. A block counts the documents above it, and those
// of them that are relevant (or the chance to get past them), one event at a time. So the
// counts are right again after events of the same place, whatever their order.
class LineSweep {
    struct Block {
        double a, x;
        Index first, size;
        double gain;       // sum over the block
        LongProduct pass;  // product of the factors 1 - gain that are not 0
        Index stops;       // number of those that are 0
        Index above;       // documents above
        double gain_above;
        LongProduct pass_above;
        Index stops_above;
        double value;
    };
    std::vector<Index> rows;
    std::vector<Block> blocks;
    std::vector<double> gains, equal, key;
    std::vector<std::pair<int, int>> pairs;
    std::vector<Index> order, count;

    double value_of(const ExactMeasure &measure, const Block &b) const {
        if (b.above >= measure.n) return 0.0;
        const double *d = measure.discount + b.above;
        const Index n = measure.n - b.above;
        switch (measure.kind) {
            case GAIN_DISCOUNT:
                if (b.size == 1) return b.gain * d[0];
                return b.gain / double(b.size) * sum(d, 0, std::min(b.size, n));
            case AVERAGE_PRECISION:
                if (b.size == 1) return b.gain * (b.gain_above + b.gain) * d[0];
                return b.gain_above * sum(d, 0, std::min(b.size, n)) * b.gain /
                           double(b.size) +
                       precision_sum(&gains[b.first], &equal[0], b.size, d, n);
            default:
                if (b.stops_above > 0) return 0.0;
                return b.pass_above.value() *
                       cascade(&gains[b.first], &equal[0], b.size, d, n);
        }
    }

    void start(const ExactMeasure &measure, const double *a, const double *x,
               const double *gain, Index m) {
        rows.resize(m);
        for (Index i = 0; i < m; i++) rows[i] = i;
        std::sort(rows.begin(), rows.end(), [=](Index i, Index j) {
            if (x[i] != x[j]) return x[i] < x[j];
            if (a[i] != a[j]) return a[i] > a[j];
            return i < j;
        });
        gains.resize(m);
        equal.assign(m, 0.0);
        blocks.clear();
        double total = 0.0;
        LongProduct past;
        Index stopped = 0;
        for (Index r = 0; r < m;) {
            const Index i = rows[r];
            Block b{a[i], x[i], r, 0, 0.0, LongProduct(), 0, r, total, past, stopped, 0.0};
            do {
                gains[r] = gain[rows[r]];
                b.gain += gains[r];
                if (gains[r] == 1.0)
                    b.stops++;
                else
                    b.pass.multiply(1.0 - gains[r]);
                r++;
                b.size++;
            } while (r < m && a[rows[r]] == b.a && x[rows[r]] == b.x);
            total += b.gain;
            past.multiply(b.pass);
            stopped += b.stops;
            b.value = value_of(measure, b);
            blocks.push_back(b);
        }
    }

    // The upper block u, which was above s from the start, falls below s.
    double swap(const ExactMeasure &measure, Block &u, Block &s) {
        u.above += s.size;
        s.above -= u.size;
        u.gain_above += s.gain;
        s.gain_above -= u.gain;
        if (measure.kind >= RECIPROCAL_RANK) {
            u.pass_above.multiply(s.pass);
            s.pass_above.divide(u.pass);
            u.stops_above += s.stops;
            s.stops_above -= u.stops;
        }
        const double before = u.value + s.value;
        u.value = value_of(measure, u);
        s.value = value_of(measure, s);
        return u.value + s.value - before;
    }

    // Calls body(t, u, s) for all places t at which a block s, which is below a block u at
    // first, comes to be above it. Returns false where it was given up.
    template <class Body>
    bool each_place(Scratch &scratch, Body body) const {
        const Index n = Index(blocks.size());
        for (Index u = 0; u < n; u++) {
            if (scratch.spend(2 * (n - u))) return false;
            for (Index s = u + 1; s < n; s++) {
                const double t = -((blocks[s].a - blocks[u].a) / (blocks[s].x - blocks[u].x));
                if (blocks[u].x != blocks[s].x && std::isfinite(t)) body(t, u, s);
            }
        }
        return true;
    }

    // Goes along the buckets `first` to `last` of the line; false where it was given up.
    bool visit(const ExactMeasure &measure, Index first, Index last, double factor,
               std::vector<LineEvent> &events, Scratch &scratch) {
        key.clear();
        pairs.clear();
        const bool whole = first == 0 && last == LINE_BUCKETS;
        const bool found = each_place(scratch, [&](double t, Index u, Index s) {
            if (!whole) {
                const Index b = bucket_of(t);
                if (b < first || b >= last) return;
            }
            key.push_back(-t);  // because the order of ranks is from high to low
            pairs.push_back({int(u), int(s)});
        });
        if (!found) return false;
        order.resize(key.size());
        if (!key.empty()) rank_rows(key.data(), nullptr, Index(key.size()), order.data());
        for (const Index e : order) {
            if (scratch.spend(16)) return false;
            const double change =
                swap(measure, blocks[pairs[e].first], blocks[pairs[e].second]);
            if (change != 0.0) events.push_back({-key[e], factor * change});
        }
        return true;
    }

   public:
    // Appends the places where the value changes; returns the value at t = -infinity.
    //
    // The places of all pairs of a long query would fill the memory. It visits the line
    // in slices, so that those of a few millions of pairs are there at a time.
    double sweep(const ExactMeasure &measure, const double *a, const double *x,
                 const double *gain, Index m, double factor,
                 std::vector<LineEvent> &events, Scratch &scratch) {
        start(measure, a, x, gain, m);
        double value = 0.0;
        for (const Block &b : blocks) value += b.value;
        const Index n = Index(blocks.size()), all = n * (n - 1) / 2;
        const Index most = std::max(FEW_PAIRS, all / MOST_SLICES);
        count.assign(LINE_BUCKETS, 0);
        if (all > most) {
            const auto counted = [&](double t, Index, Index) { count[bucket_of(t)]++; };
            if (!each_place(scratch, counted)) return 0.0;
        }
        for (Index first = 0; first < LINE_BUCKETS;) {
            Index last = first, held = 0;
            do {
                held += count[last++];
            } while (last < LINE_BUCKETS && held + count[last] <= most);
            if (!visit(measure, first, last, factor, events, scratch)) return 0.0;
            first = last;
        }
        return factor * value;
    }
};

// Where bucket b begins, and bucket b - 1 ends.
inline double bucket_edge(Index b) {
    const double place = 2.0 * double(b) / LINE_BUCKETS - 1.0;
    return place / (1.0 - std::fabs(place));
}

struct LineBest {
    double value, from, to;  // mean times the weight, and where it is reached
};

// The part of the line with the largest value. Parts narrower than `width`, as an angle,
// do not count; of equal values the widest part does.
class LineScan {
    double value, width, from = -HUGE_VAL;

   public:
    LineBest best;
    LineScan(double start, double width)
        : value(start), width(width), best{-HUGE_VAL, 0.0, 0.0} {}

    void until(double t) {
        const double angle = std::atan(t) - std::atan(from);
        // Sums that are equal but for their rounding are one value.
        const double slack = 1e-12 * (1.0 + std::fabs(value));
        if (angle > width &&
            (value > best.value + slack ||
             (value > best.value - slack &&
              angle > std::atan(best.to) - std::atan(best.from))))
            best = {value, from, t};
        from = t;
    }

    void at(const LineEvent &event) {
        if (event.t > from) until(event.t);
        value += event.change;
    }

    // Goes on to a place at which a value is known, without a look at what lies between.
    void skip(double start, double t, double known) {
        until(start);
        from = t;
        value = known;
    }
};

// The changes of some queries: all of them, and their sums over the buckets.
struct LinePart {
    std::vector<LineEvent> events;
    std::vector<double> change, rise;
    double start = 0.0;  // the value at t = -infinity

    void sweep(const Queries &queries, const ExactMeasure &measure, const double *a,
               const double *x, Index first, Index last, Scratch &scratch) {
        static thread_local LineSweep line;
        change.assign(LINE_BUCKETS, 0.0);
        rise.assign(LINE_BUCKETS, 0.0);
        for (Index q = first; q < last; q++) {
            const Index begin = queries.ptr[q], m = queries.ptr[q + 1] - begin;
            const double factor = measure.weight[q] * measure.scale[q];
            if (factor == 0.0 || m == 0) continue;
            start += line.sweep(measure, a + begin, x + begin, measure.gain + begin, m,
                                factor, events, scratch);
        }
        for (const LineEvent &event : events) {
            const Index b = bucket_of(event.t);
            change[b] += event.change;
            rise[b] += std::max(event.change, 0.0);
        }
    }
};

// Buckets in which the value may come up to the best value at an end of some bucket, with
// the value at the beginning of each bucket and behind the last one.
inline std::vector<char> open_buckets(const std::vector<LinePart> &parts,
                                      std::vector<double> &before) {
    std::vector<double> rise(LINE_BUCKETS, 0.0);
    before.assign(LINE_BUCKETS + 1, 0.0);
    for (const LinePart &part : parts) before[0] += part.start;
    double reached = before[0];
    for (Index b = 0; b < LINE_BUCKETS; b++) {
        before[b + 1] = before[b];
        for (const LinePart &part : parts) {
            before[b + 1] += part.change[b];
            rise[b] += part.rise[b];
        }
        reached = std::max(reached, before[b + 1]);
    }
    // Of equal values the widest part is wanted, so that those count that come close.
    const double slack = 1e-11 * (1.0 + std::fabs(reached));
    std::vector<char> is_open(LINE_BUCKETS);
    for (Index b = 0; b < LINE_BUCKETS; b++)
        is_open[b] = before[b] + rise[b] >= reached - slack;
    return is_open;
}

// The exact maximum along the line. Only those buckets of the line are sorted in which
// the changes upwards could lead beyond what is reached at an end of some bucket.
inline LineBest exact_line(const Queries &queries, const ExactMeasure &measure,
                           const double *a, const double *x, double width,
                           int n_threads) {
    std::vector<LinePart> parts(LINE_PARTS);
    for_each_part(queries.count, n_threads,
                  [&](Index part, Index first, Index last, Scratch &scratch) {
                      parts[part].sweep(queries, measure, a, x, first, last, scratch);
                  });
    std::vector<double> before;
    const std::vector<char> is_open = open_buckets(parts, before);
    std::vector<std::vector<LineEvent>> found(LINE_BUCKETS);
    for (const LinePart &part : parts)
        for (const LineEvent &event : part.events) {
            const Index b = bucket_of(event.t);
            if (is_open[b]) found[b].push_back(event);
        }
    LineScan scan(before[0], width);
    for (Index b = 0; b < LINE_BUCKETS; b++) {
        if (!is_open[b]) {
            scan.skip(bucket_edge(b), bucket_edge(b + 1), before[b + 1]);
            continue;
        }
        std::stable_sort(found[b].begin(), found[b].end(),
                         [](const LineEvent &l, const LineEvent &r) { return l.t < r.t; });
        for (const LineEvent &event : found[b]) scan.at(event);
    }
    scan.until(HUGE_VAL);
    return scan.best;
}

}  // namespace skrank
