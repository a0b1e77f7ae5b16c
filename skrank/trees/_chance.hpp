// Random numbers by what they are for rather than by turn.
//
// A number depends on a seed and on what it belongs to, such as a feature and a bin, so
// that neither threads nor the order of the search change what is drawn.
#pragma once

#include <cmath>
#include <cstdint>

#include "../_core/_clones.hpp"

namespace skrank {

// A generator with random access: the same number for the same counter.
SKRANK_INLINE uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// The draws of one node, or of one level of a symmetric tree.
struct Chance {
    uint64_t seed = 0;
    double noise = 0.0;  // standard deviation of what is added to a score
    bool one = false;    // whether each feature has one threshold only, drawn at random

    // Score of a split after which the leaves explain ``explained``: its root, which has
    // the unit of a gradient, and noise. The sum of four uniform numbers is normal
    // enough, and costs one number.
    double score(double explained, int feature, int bin, bool side) const {
        return score(explained, draw(feature, bin, side));
    }
    double score(double explained, int32_t drawn) const {
        // By the mean and the standard deviation of the sum.
        const double normal = (drawn - MEAN) / DEVIATION;
        return std::sqrt(std::fmax(explained, 0.0)) + noise * normal;
    }

    // The sum of four numbers below 65,536.
    static constexpr int32_t LARGEST = 4 * 0xffff;
    SKRANK_MEMBER int32_t draw(int feature, int bin, bool side) const {
        const uint64_t place = static_cast<uint64_t>(feature) << 9 | side << 8 | bin;
        const uint64_t bits = mix(seed ^ place);
        return static_cast<int32_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                    (bits >> 32 & 0xffff) + (bits >> 48));
    }

    // What must be drawn at least for a score above ``best``, or less. Rounding keeps the
    // order of numbers, so that it is enough to look at one number below.
    int32_t least_draw(double explained, double best) const {
        const double away = best - std::sqrt(std::fmax(explained, 0.0));
        const double least = std::floor(away / noise * DEVIATION + MEAN) - 1.0;
        if (!(least > 0.0)) return 0;
        const auto draw = static_cast<int32_t>(std::fmin(least, LARGEST + 1.0));
        return score(explained, draw - 1) <= best ? draw : 0;
    }

    // A place below ``n``.
    int pick(int feature, bool side, int n) const {
        const uint64_t bits = mix(~seed ^ (static_cast<uint64_t>(feature) << 1 | side));
        return static_cast<int>((bits >> 32) * n >> 32);
    }

   private:
    static constexpr double MEAN = 131070.0, DEVIATION = 37837.227;
};

}  // namespace skrank
