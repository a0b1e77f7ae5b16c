// Histograms of quantised gradients.
//
// A gradient and a hessian are rounded to integers and packed into one 64-bit word, so
// that a histogram needs one addition per row and feature, and sums are exact.
#pragma once

#include <algorithm>
#include <cstring>

#include "_layout.hpp"

namespace skrank {

constexpr bool LITTLE_ENDIAN_WORDS = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

typedef int64_t Packed;  // gradient << 32, plus hessian

inline int64_t gradient_of(Packed sum) {
    // The hessian below is not negative, so it never borrows from the gradient.
    return sum >> 32;
}
inline int64_t hessian_of(Packed sum) { return sum & 0xffffffffLL; }

// Adds a row to the histograms of 8 features. Their bins are loaded as one word, because
// loads and stores, of which each histogram needs one, are what limits the speed.
inline void add_row(const uint8_t *row, Packed value, Packed *histogram) {
    uint64_t word;
    std::memcpy(&word, row, sizeof word);
    for (int j = 0; j < HALF; j++) {
        const int shift = 8 * (LITTLE_ENDIAN_WORDS ? j : HALF - 1 - j);
        histogram[j * N_BINS + (word >> shift & 0xff)] += value;
    }
}

// Adds the rows to the histograms of some features of a block, ``W`` bytes wide. A null
// ``rows`` stands for all rows: these are cheap to read twice, and half the histograms
// leave room for them in the first-level cache.
template <int W, int FEATURES>
inline void add_rows(const uint8_t *bins, const int32_t *rows, const Packed *packed,
                     int64_t first, int64_t last, Packed *histogram) {
    constexpr int AHEAD = 32;
    if (rows == nullptr) {
        for (int j = 0; j < FEATURES; j += HALF) {
            for (int64_t i = first; i < last; i++) {
                add_row(bins + i * W + j, packed[i], histogram + j * N_BINS);
            }
        }
        return;
    }
    const auto add = [=](int64_t i) {
        const uint8_t *row = bins + static_cast<int64_t>(rows[i]) * W;
        for (int j = 0; j < FEATURES; j += HALF) {
            add_row(row + j, packed[i], histogram + j * N_BINS);
        }
    };
    const int64_t near_end = std::max(first, last - AHEAD);
    for (int64_t i = first; i < near_end; i++) {
        __builtin_prefetch(bins + static_cast<int64_t>(rows[i + AHEAD]) * W);
        add(i);
    }
    for (int64_t i = near_end; i < last; i++) add(i);
}

}  // namespace skrank
