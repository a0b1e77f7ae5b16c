// Models of users who look at one document after another and stop at some place.
//
// A document that is examined is clicked with a probability of its own. The next one is
// examined with one probability after a skip and with another one after a click.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../_core/_for_each_query.hpp"
#include "../_core/_long_product.hpp"

namespace skrank {

struct Chains {
    const Index *ptr;
    Index n_sessions;
    const double *attraction, *after_skip, *after_click;  // of each impression
};

// Probabilities of examination that know of no click.
inline void chain_examination(const Chains &chains, double *probability, int n_threads) {
    for_each(chains.n_sessions, LIGHT_CHUNK, n_threads, {}, [=](Index s, Scratch &) {
        double examined = 1.0;
        for (Index i = chains.ptr[s]; i < chains.ptr[s + 1]; i++) {
            const double a = chains.attraction[i];
            probability[i] = examined;
            examined *= a * chains.after_click[i] + (1.0 - a) * chains.after_skip[i];
        }
    });
}

// The chance that the next document is examined, given what happened to this one, which
// was examined with some chance before.
inline double examined_next(const Chains &chains, Index i, double examined, bool clicked) {
    if (clicked) return chains.after_click[i];
    const double a = chains.attraction[i], skipped = 1.0 - examined * a;
    if (skipped <= 0.0) return 0.0;
    return examined * (1.0 - a) * chains.after_skip[i] / skipped;
}

// Probabilities of clicks, given what happened before in the session.
inline void chain_conditionals(const Chains &chains, const uint8_t *click,
                               double *probability, int n_threads) {
    for_each(chains.n_sessions, LIGHT_CHUNK, n_threads, {}, [=](Index s, Scratch &) {
        double examined = 1.0;
        for (Index i = chains.ptr[s]; i < chains.ptr[s + 1]; i++) {
            probability[i] = examined * chains.attraction[i];
            examined = examined_next(chains, i, examined, click[i]);
        }
    });
}

// Clicks that are drawn one after another; `uniform` holds a number for each impression.
inline void draw_chains(const Chains &chains, const double *uniform, uint8_t *click,
                        int n_threads) {
    for_each(chains.n_sessions, LIGHT_CHUNK, n_threads, {}, [=](Index s, Scratch &) {
        double examined = 1.0;
        for (Index i = chains.ptr[s]; i < chains.ptr[s + 1]; i++) {
            click[i] = uniform[i] < examined * chains.attraction[i];
            examined = examined_next(chains, i, examined, click[i]);
        }
    });
}

// The logarithm of a product whose factors may be zero.
class Likelihood {
    LongProduct logs;
    bool possible = true;

   public:
    void multiply(double factor) {
        possible = possible && factor > 0.0;
        if (possible) logs.multiply(factor);
    }
    double log() const {
        return possible ? logs.log() : -std::numeric_limits<double>::infinity();
    }
};

// What one session says of the documents that were examined.
//
// All up to the last click were. Behind it, the sums over all places to stop run backwards:
// `none` is the probability that no document from some place on is clicked if the user
// examines the one there. `examined` first holds the chance to go on from each place, given
// that nothing is clicked behind it.
inline double chain_session(const Chains &chains, const uint8_t *click, Index s, Index last,
                            double *examined) {
    const Index start = chains.ptr[s], end = chains.ptr[s + 1];
    const Index tail = start + last;  // the first impression behind the last click
    double none = 1.0;
    for (Index i = end - 1; i >= tail; i--) {
        const double on = chains.after_skip[i] * none;
        const double total = (1.0 - chains.after_skip[i]) + on;
        examined[i] = total > 0.0 ? on / total : 0.0;
        none = (1.0 - chains.attraction[i]) * total;
    }
    Likelihood likelihood;
    double chance = 1.0;
    for (Index i = start; i < tail; i++) {
        const double a = chains.attraction[i];
        likelihood.multiply(click[i] ? a : 1.0 - a);
        examined[i] = 1.0;
        if (i + 1 < tail)
            likelihood.multiply(click[i] ? chains.after_click[i] : chains.after_skip[i]);
    }
    if (last) {
        const double on = chains.after_click[tail - 1] * none;
        const double total = (1.0 - chains.after_click[tail - 1]) + on;
        likelihood.multiply(total);
        chance = total > 0.0 ? on / total : 0.0;
    } else {
        likelihood.multiply(none);
    }
    for (Index i = tail; i < end; i++) {
        const double on = examined[i];
        examined[i] = chance;
        chance *= on;
    }
    return likelihood.log();
}

// Expected examinations of all impressions, and the log-likelihood of each session.
inline void chain_posteriors(const Chains &chains, const uint8_t *click,
                             const int32_t *last, double *examined,
                             double *log_likelihood, int n_threads) {
    for_each(chains.n_sessions, LIGHT_CHUNK, n_threads, {}, [=](Index s, Scratch &) {
        log_likelihood[s] = chain_session(chains, click, s, last[s], examined);
    });
}

// Sums, by code, of numbers from 0 to 1. They are added as whole numbers, so that the sums
// are the same to the bit in any order; codes below 0 are left out.
inline void sums_by_code(const double *values, const Index *code, Index n, Index n_codes,
                         double *sums) {
    constexpr double UNIT = 4611686018427387904.0;  // 2^62
    __extension__ typedef __int128 Wide;
    std::vector<Wide> totals(n_codes, 0);
    for (Index i = 0; i < n; i++)
        if (code[i] >= 0) totals[code[i]] += static_cast<int64_t>(values[i] * UNIT);
    for (Index c = 0; c < n_codes; c++) sums[c] = static_cast<double>(totals[c]) / UNIT;
}

}  // namespace skrank
