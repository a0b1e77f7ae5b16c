// Lists that are drawn from rankings to be shown, what clicks on them say of the rankings,
// and gradients from clicks on lists that were drawn from scores.
//
// The documents of an impression are numbered from 0. Random numbers belong to a seed and
// to the number of the impression, so that threads do not change what is drawn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "../_core/_for_each_query.hpp"
#include "../_core/_long_product.hpp"
#include "../trees/_chance.hpp"

namespace skrank {

enum Scheme { BALANCED, TEAM_DRAFT, PROBABILISTIC };

// The rankings of impression i are numbers i * count, ..., (i + 1) * count - 1.
struct Rankings {
    const int *document;
    const Index *ptr;
    int count;
};

// Documents that were shown, best place first.
struct Shown {
    const int *document;
    const Index *ptr;
    const uint8_t *click;
};

// The random numbers of one impression: the generator splitmix64.
class Draws {
    uint64_t state;

   public:
    Draws(uint64_t seed, Index number)
        : state(mix(seed ^ mix(static_cast<uint64_t>(number)))) {}

    uint64_t bits() {
        const uint64_t found = mix(state);
        state += 0x9e3779b97f4a7c15ULL;
        return found;
    }
    // Between 0 and 1, and neither of them.
    double uniform() { return ((bits() >> 12) + 0.5) * 0x1p-52; }
    int below(int n) { return static_cast<int>((bits() >> 32) * n >> 32); }
};

// The rankings of one impression while a list is drawn from them.
struct Deal {
    Rankings rankings;
    Index first;  // number of the first ranking
    int *used;    // whether a document is in the list
    int *next;    // by ranking: where its next document stands

    int length(int r) const {
        return static_cast<int>(rankings.ptr[first + r + 1] - rankings.ptr[first + r]);
    }
    const int *list(int r) const { return rankings.document + rankings.ptr[first + r]; }

    // Goes to the best document of ranking r that is not in the list, if there is one.
    bool advance(int r) const {
        const int *documents = list(r);
        while (next[r] < length(r) && used[documents[next[r]]]) next[r]++;
        return next[r] < length(r);
    }
};

// Each ranking adds its next document in turn, the one that begins being drawn; those
// that are in the list already are passed over.
inline void deal_balanced(const Deal &deal, int n, Draws &draws, int *shown, int *team) {
    const int begins = draws.below(deal.rankings.count);
    for (int r = 0; r < deal.rankings.count; r++) deal.next[r] = 0;
    for (int t = 0; t < n;) {
        int turn = begins;
        for (int s = 1; s < deal.rankings.count; s++) {
            const int r = (begins + s) % deal.rankings.count;
            if (deal.next[r] < deal.next[turn]) turn = r;
        }
        if (deal.next[turn] >= deal.length(turn)) {
            deal.next[turn] = std::numeric_limits<int>::max();
            bool over = true;
            for (int r = 0; r < deal.rankings.count; r++) {
                over &= deal.next[r] >= deal.length(r);
            }
            if (over) return;
            continue;
        }
        const int document = deal.list(turn)[deal.next[turn]++];
        if (deal.used[document]) continue;
        deal.used[document] = 1;
        shown[t] = document;
        team[t++] = turn;
    }
}

// In rounds, in each of which all rankings add their best document that is left, in an
// order that is drawn.
inline void deal_teams(const Deal &deal, int n, Draws &draws, int *turns, int *shown,
                       int *team) {
    const int count = deal.rankings.count;
    std::iota(turns, turns + count, 0);
    std::fill(deal.next, deal.next + count, 0);
    for (int t = 0; t < n;) {
        for (int r = count - 1; r > 0; r--) std::swap(turns[r], turns[draws.below(r + 1)]);
        const int before = t;
        for (int s = 0; s < count && t < n; s++) {
            const int r = turns[s];
            if (!deal.advance(r)) continue;
            const int document = deal.list(r)[deal.next[r]++];
            deal.used[document] = 1;
            shown[t] = document;
            team[t++] = r;
        }
        if (t == before) return;
    }
}

// For each place a ranking is drawn, and one of its documents that are left, with
// probabilities that fall by a power of the rank.
inline void deal_softly(const Deal &deal, int n, const double *weight, Draws &draws,
                        int *shown, int *team) {
    const int count = deal.rankings.count;
    std::fill(deal.next, deal.next + count, 0);
    for (int t = 0; t < n; t++) {
        int left = 0;
        for (int r = 0; r < count; r++) left += deal.advance(r);
        if (!left) return;
        int turn = 0;
        for (int which = draws.below(left); which >= 0; turn++) {
            which -= deal.next[turn] < deal.length(turn);
        }
        turn--;
        const int *documents = deal.list(turn);
        double total = 0.0;
        for (int k = deal.next[turn]; k < deal.length(turn); k++) {
            if (!deal.used[documents[k]]) total += weight[k];
        }
        double rest = total * draws.uniform();
        int drawn = documents[deal.next[turn]];
        for (int k = deal.next[turn]; k < deal.length(turn); k++) {
            if (deal.used[documents[k]]) continue;
            drawn = documents[k];  // the last one, if rounding leaves a rest
            if ((rest -= weight[k]) < 0.0) break;
        }
        deal.used[drawn] = 1;
        shown[t] = drawn;
        team[t] = turn;
    }
}

inline void rank_weights(double tau, Index longest, double *weight) {
    for (Index k = 0; k < longest; k++) weight[k] = std::pow(k + 1.0, -tau);
}

// Draws the list of each impression; `ptr` says where they begin. A place for which no
// document is left keeps what it holds.
inline void deal_lists(Queries queries, Rankings rankings, int scheme, const double *weight,
                       uint64_t seed, const Index *ptr, int *shown, int *team,
                       int n_threads) {
    const Index room = std::max<Index>(queries.longest(), rankings.count);
    const auto body = [&](const Query &q, Scratch &scratch) {
        const Deal deal{rankings, q.number * rankings.count, scratch.indices(0),
                        scratch.indices(1)};
        std::fill(deal.used, deal.used + q.size, 0);
        Draws draws(seed, q.number);
        const int n = static_cast<int>(ptr[q.number + 1] - ptr[q.number]);
        int *to = shown + ptr[q.number], *by = team + ptr[q.number];
        if (scheme == BALANCED) {
            deal_balanced(deal, n, draws, to, by);
        } else if (scheme == TEAM_DRAFT) {
            deal_teams(deal, n, draws, scratch.indices(2), to, by);
        } else {
            deal_softly(deal, n, weight, draws, to, by);
        }
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{room, 0, 3}, body);
}

// Clicks on what each ranking has among its first k, where k is the least for which one of
// them has the lowest document that was clicked.
inline void balanced_credits(Queries queries, Rankings rankings, Shown shown,
                             double *credit, int n_threads) {
    const auto body = [&](const Query &q, Scratch &scratch) {
        int *clicked = scratch.indices(0), lowest = -1;
        std::fill(clicked, clicked + q.size, 0);
        for (Index t = shown.ptr[q.number]; t < shown.ptr[q.number + 1]; t++) {
            if (!shown.click[t]) continue;
            clicked[lowest = shown.document[t]] = 1;
        }
        if (lowest < 0) return;
        const Deal deal{rankings, q.number * rankings.count, nullptr, nullptr};
        int depth = q.size;
        for (int r = 0; r < rankings.count; r++) {
            const int *list = deal.list(r), *end = list + deal.length(r);
            const int *at = std::find(list, end, lowest);
            if (at != end) depth = std::min(depth, static_cast<int>(at - list) + 1);
        }
        for (int r = 0; r < rankings.count; r++) {
            const int *list = deal.list(r);
            const int n = std::min(depth, deal.length(r));
            for (int k = 0; k < n; k++) credit[deal.first + r] += clicked[list[k]];
        }
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{queries.longest(), 0, 1}, body);
}

// Clicks, each shared between the rankings by the probability that the document was drawn
// from them: the mean of the credits over all assignments that may have led to the list.
inline void marginal_credits(Queries queries, Rankings rankings, Shown shown,
                             const double *weight, double *credit, int n_threads) {
    const auto body = [&](const Query &q, Scratch &scratch) {
        const Index from = shown.ptr[q.number];
        const int n = static_cast<int>(shown.ptr[q.number + 1] - from);
        int *place = scratch.indices(0);
        double *chance = scratch.array(0), *sum = scratch.array(1);
        const Deal deal{rankings, q.number * rankings.count, nullptr, nullptr};
        // Twice the same sweep: first the sums over rankings, then the shares of each.
        std::fill(sum, sum + n, 0.0);
        for (int sweep = 0; sweep < 2; sweep++) {
            for (int r = 0; r < rankings.count; r++) {
                std::fill(place, place + q.size, -1);
                for (int k = 0; k < deal.length(r); k++) place[deal.list(r)[k]] = k;
                for (int t = 0; t < n; t++) {
                    const int k = place[shown.document[from + t]];
                    chance[t] = k < 0 ? 0.0 : weight[k];
                    place[shown.document[from + t]] = -1;
                }
                // From the end: what is left never has digits cancelled.
                double left = 0.0;
                for (int k = deal.length(r) - 1; k >= 0; k--) {
                    if (place[deal.list(r)[k]] == k) left += weight[k];
                }
                for (int t = n - 1; t >= 0; t--) {
                    left += chance[t];
                    const double part = left > 0.0 ? chance[t] / left : 0.0;
                    if (sweep == 0) {
                        sum[t] += part;
                    } else if (shown.click[from + t] && sum[t] > 0.0) {
                        credit[deal.first + r] += part / sum[t];
                    }
                }
            }
        }
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{queries.longest(), 2, 1}, body);
}

// Rankings by columns of scores; documents with equal scores stand in an order that is
// drawn, and is the same for all columns.
inline void rank_columns(Queries queries, const double *scores, int count, uint64_t seed,
                         int *document, int n_threads) {
    const auto body = [&](const Query &q, Scratch &scratch) {
        Draws draws(seed, q.number);
        double *key = scratch.array(0);
        int *chance = scratch.indices(0);
        std::iota(chance, chance + q.size, 0);
        for (int k = q.size - 1; k > 0; k--) {
            std::swap(chance[k], chance[draws.below(k + 1)]);
        }
        for (int r = 0; r < count; r++) {
            for (int k = 0; k < q.size; k++) key[k] = scores[(q.start + k) * count + r];
            int *order = document + q.start * count + static_cast<Index>(r) * q.size;
            std::iota(order, order + q.size, 0);
            std::sort(order, order + q.size, [=](int a, int b) {
                if (key[a] != key[b]) return key[a] > key[b];
                return chance[a] < chance[b];
            });
        }
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{queries.longest(), 1, 1}, body);
}

// Lists drawn without replacement, with probabilities as exp(score): the largest sums of
// the scores and Gumbel noise.
inline void draw_lists(Queries queries, const double *scores, uint64_t seed,
                       const Index *ptr, int *shown, int n_threads) {
    const auto body = [&](const Query &q, Scratch &scratch) {
        Draws draws(seed, q.number);
        double *key = scratch.array(0);
        int *order = scratch.indices(0);
        std::iota(order, order + q.size, 0);
        for (int k = 0; k < q.size; k++) {
            key[k] = scores[q.start + k] - std::log(-std::log(draws.uniform()));
        }
        const int n = static_cast<int>(ptr[q.number + 1] - ptr[q.number]);
        std::partial_sort(order, order + n, order + q.size, [=](int a, int b) {
            return key[a] != key[b] ? key[a] > key[b] : a < b;
        });
        std::copy(order, order + n, shown + ptr[q.number]);
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{queries.longest(), 1, 1}, body);
}

inline double log_sum(double a, double b) {
    if (a < b) std::swap(a, b);
    return a + std::log1p(std::exp(b - a));  // a is finite
}

inline double logistic(double x) {
    if (x >= 0.0) return 1.0 / (1.0 + std::exp(-x));
    const double e = std::exp(x);
    return e / (1.0 + e);
}

// One list: scores by place, and the logarithm of the sum of exp(score) over the documents
// that are left after each place. Where `weight` is not null, it and `rest` hold the
// exponentials of both, relative to the sum over all documents.
struct DrawnList {
    const double *score, *tail, *weight, *rest;

    // log P(list with i and j exchanged) - log P(list), for places i < j.
    double exchange(int i, int j) const {
        return weight ? exchange_by_weights(i, j) : exchange_by_scores(i, j);
    }

  private:
    double exchange_by_weights(int i, int j) const {
        LongProduct ratio;
        double between = rest[j];
        for (int t = j; t > i; t--) {
            if (t < j) between += weight[t];
            ratio.multiply((between + weight[j]) / (between + weight[i]));
        }
        return ratio.log();
    }

    double exchange_by_scores(int i, int j) const {
        double log_ratio = 0.0, between = tail[j];
        for (int t = j; t > i; t--) {
            if (t < j) between = log_sum(score[t], between);
            log_ratio += log_sum(score[j], between) - log_sum(score[i], between);
        }
        return log_ratio;
    }
};

// Adds the gradient of one list to those of its documents.
inline void add_preferences(const DrawnList &list, const uint8_t *click, int n,
                            const int *document, double *gradient, Scratch &scratch) {
    const int cost = list.weight ? 8 : 128;  // of one place between two documents
    int seen = 0;  // up to the last click, and one more
    for (int t = 0; t < n; t++) {
        if (click[t]) seen = std::min(t + 2, n);
    }
    for (int i = 0; i < seen; i++) {
        if (!click[i]) continue;
        for (int j = 0; j < seen; j++) {
            if (click[j]) continue;
            const double apart = list.score[i] - list.score[j];
            const double slope = logistic(apart) * logistic(-apart);
            const double other = list.exchange(std::min(i, j), std::max(i, j));
            const double step = slope * logistic(other);
            gradient[document[i]] += step;
            gradient[document[j]] -= step;
            if (scratch.spend(cost * (1 + static_cast<int64_t>(std::abs(i - j))))) return;
        }
    }
}

inline void preference_gradients(Queries queries, const double *scores, Shown shown,
                                 double *gradient, int n_threads) {
    constexpr double NOTHING = -std::numeric_limits<double>::infinity();
    constexpr double LARGEST_EXPONENT = 300.0;
    const auto body = [&](const Query &q, Scratch &scratch) {
        const Index from = shown.ptr[q.number];
        const int n = static_cast<int>(shown.ptr[q.number + 1] - from);
        const int *document = shown.document + from;
        double *score = scratch.array(0), *tail = scratch.array(1);
        double *weight = scratch.array(2), *after = scratch.array(3);
        int *is_shown = scratch.indices(0);
        std::fill(is_shown, is_shown + q.size, 0);
        for (int t = 0; t < n; t++) {
            score[t] = scores[q.start + document[t]];
            is_shown[document[t]] = 1;
        }
        double top = NOTHING, rest = 0.0;
        for (int k = 0; k < q.size; k++) {
            if (!is_shown[k]) top = std::fmax(top, scores[q.start + k]);
        }
        for (int k = 0; k < q.size; k++) {
            if (!is_shown[k]) rest += std::exp(scores[q.start + k] - top);
        }
        double left = rest > 0.0 ? top + std::log(rest) : NOTHING;
        for (int t = n - 1; t >= 0; t--) {
            tail[t] = left;
            left = log_sum(score[t], left);
        }
        bool in_range = true;  // of numbers whose quotients a double holds
        for (int t = 0; t < n; t++) {
            weight[t] = std::exp(score[t] - left);
            after[t] = std::exp(tail[t] - left);
            in_range &= score[t] - left > -LARGEST_EXPONENT;
        }
        add_preferences({score, tail, in_range ? weight : nullptr, after},
                        shown.click + from, n, document, gradient + q.start, scratch);
    };
    for_each_query(queries, PAIR_CHUNK, n_threads, Room{queries.longest(), 4, 1}, body);
}

}  // namespace skrank
