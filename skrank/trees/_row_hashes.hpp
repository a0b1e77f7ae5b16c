// Numbers that say what a row holds, wherever it stands.
//
// A row's number is the sum, modulo 2^64, of one for each value and its column; a zero
// counts nothing, so that sparse rows have the numbers of the same rows in dense form. Two
// rows with different values have the same number only by chance.
#pragma once

#include <cstdint>
#include <cstring>

#include "../_core/_clones.hpp"
#include "../_core/_for_each_query.hpp"

namespace skrank {

// The last steps of the generator splitmix64, which spread every bit over all others.
SKRANK_INLINE uint64_t spread(uint64_t bits, int64_t column) {
    uint64_t x = bits + static_cast<uint64_t>(column + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Sums over the values of a row. The first 40 bits of its number are those of the values
// in single precision, so that rows have the same order in single and in double precision
// but for those that only the latter tells apart.
struct RowHash {
    uint64_t coarse = 0, fine = 0;

    SKRANK_MEMBER void add(float value, int64_t column) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        if (value != value) bits = ~uint32_t{0};  // one missing value, not many
        coarse += value == 0.0f ? 0 : spread(bits, column);
    }
    SKRANK_MEMBER void add(double value, int64_t column) {
        const float single = static_cast<float>(value);
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        add(single, column);
        const bool same = static_cast<double>(single) == value || value != value;
        fine += same ? 0 : spread(bits, column);
    }
    SKRANK_MEMBER uint64_t number() const {
        constexpr int FINE = 24;
        return coarse >> FINE << FINE | fine >> (64 - FINE);
    }
};

template <typename T>
SKRANK_INLINE uint64_t hash_of_row(const T *row, int64_t d) {
    RowHash hash;
    for (int64_t j = 0; j < d; j++) hash.add(row[j], j);
    return hash.number();
}

SKRANK_CLONES static void hash_dense(const float *X, int64_t d, int64_t first,
                                     int64_t last, uint64_t *out) {
    for (int64_t i = first; i < last; i++) out[i] = hash_of_row(X + i * d, d);
}
SKRANK_CLONES static void hash_dense(const double *X, int64_t d, int64_t first,
                                     int64_t last, uint64_t *out) {
    for (int64_t i = first; i < last; i++) out[i] = hash_of_row(X + i * d, d);
}

template <typename T>
void hash_all_rows(const T *X, int64_t n, int64_t d, uint64_t *out, int n_threads) {
    for_each_chunk(n, LIGHT_CHUNK, n_threads, {}, [=](Index first, Index last, Scratch &) {
        hash_dense(X, d, first, last, out);
    });
}

template <typename T>
void hash_all_entries(const int64_t *ptr, const int32_t *column, const T *value, int64_t n,
                      uint64_t *out) {
    for (int64_t i = 0; i < n; i++) {
        RowHash hash;
        for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) hash.add(value[e], column[e]);
        out[i] = hash.number();
    }
}

}  // namespace skrank
