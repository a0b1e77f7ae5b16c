// Histograms of quantised gradients.
//
// A gradient and a hessian are rounded to integers and packed into one 64-bit word, so
// that a histogram needs one addition per row and feature, and sums are exact.
#pragma once

#include "_layout.hpp"

namespace skrank {

typedef int64_t Packed;  // gradient << 32, plus hessian

inline int64_t gradient_of(Packed sum) {
    // The hessian below is not negative, so it never borrows from the gradient.
    return sum >> 32;
}
inline int64_t hessian_of(Packed sum) { return sum & 0xffffffffLL; }

// Adds the rows to the histograms of some features of a block, ``W`` bytes wide.
template <int W, int FEATURES>
inline void add_rows(const uint8_t *bins, const int32_t *rows, const Packed *packed,
                     int64_t first, int64_t last, Packed *histogram) {
    constexpr int AHEAD = 32;
    for (int64_t i = first; i < last; i++) {
        if (rows != nullptr && i + AHEAD < last) {
            __builtin_prefetch(bins + static_cast<int64_t>(rows[i + AHEAD]) * W);
        }
        const uint8_t *row = bins + (rows != nullptr ? rows[i] : i) * W;
        const Packed value = packed[i];
        for (int j = 0; j < FEATURES; j++) histogram[j * N_BINS + row[j]] += value;
    }
}

}  // namespace skrank
