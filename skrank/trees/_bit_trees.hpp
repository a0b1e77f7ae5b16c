// Scores of rows under trees of few different tests, such as symmetric ones.
//
// All tests of a tree are done for many rows at a time, whether or not a row would come to
// them, and their bits make the number of a leaf: no branch, no walk, and wide registers
// do most of it. A table tells the leaf that each combination of bits leads to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../_core/_clones.hpp"

namespace skrank {

constexpr int MOST_TESTS = 8;   // different tests of a tree; the table has 2^8 places then
constexpr int BIT_ROWS = 128;   // rows whose columns are compared at a time
// Columns are apart by another number of cache lines than a power of two, so that they do
// not displace each other.
constexpr int COLUMN_STRIDE = BIT_ROWS + 16;

template <typename T>
struct BitTest {
    T threshold;        // values above it set the bit
    int32_t column;
    bool missing_left;  // otherwise missing values set the bit
    bool operator==(const BitTest &other) const {
        return threshold == other.threshold && column == other.column &&
               missing_left == other.missing_left;
    }
};

// A tree whose tests and places are entries of common arrays.
struct BitTree {
    int32_t first_test = 0, n_tests = -1;  // -1: the tree has too many tests
    int64_t first_place = 0;
};

// Integers as wide as the values they come from vectorise best.
template <typename T>
struct PlaceOf;
template <>
struct PlaceOf<float> {
    using type = int32_t;
};
template <>
struct PlaceOf<double> {
    using type = int64_t;
};

// Sets a bit for each value above the threshold, and for missing ones or not.
template <typename T, typename Place>
SKRANK_INLINE void set_bits(const T *__restrict values, T threshold, bool missing_left,
                            Place bit, Place *__restrict place) {
    if (missing_left) {  // comparisons with NaN are false
        for (int i = 0; i < BIT_ROWS; i++) place[i] |= values[i] > threshold ? bit : 0;
    } else {
        for (int i = 0; i < BIT_ROWS; i++) place[i] |= values[i] <= threshold ? 0 : bit;
    }
}

// One test at a time: GCC 12 vectorises none of the loops where all are in one function.
SKRANK_CLONES static void test_rows(const float *__restrict values, float threshold,
                                    bool missing_left, int32_t bit,
                                    int32_t *__restrict place) {
    set_bits(values, threshold, missing_left, bit, place);
}
SKRANK_CLONES static void test_rows(const double *__restrict values, double threshold,
                                    bool missing_left, int64_t bit,
                                    int64_t *__restrict place) {
    set_bits(values, threshold, missing_left, bit, place);
}

// Adds one tree to the scores of BIT_ROWS rows or fewer.
template <typename T>
void add_bit_tree(const BitTest<T> *tests, int n_tests, const T *columns,
                  const double *table, int n, double *scores, int64_t stride) {
    using Place = typename PlaceOf<T>::type;
    Place place[BIT_ROWS] = {};
    for (int k = 0; k < n_tests; k++) {
        test_rows(columns + static_cast<int64_t>(tests[k].column) * COLUMN_STRIDE,
                  tests[k].threshold, tests[k].missing_left, Place(1) << k, place);
    }
    if (stride == 1) {
        for (int i = 0; i < n; i++) scores[i] += table[place[i]];
    } else {
        for (int i = 0; i < n; i++) scores[i * stride] += table[place[i]];
    }
}

// Copies the columns of some features out of BIT_ROWS rows or fewer. Few rows at a time:
// one line of each column is filled while the rows stay in the cache.
template <typename T>
void take_columns(const T *rows, int n, int64_t d, const std::vector<int32_t> &features,
                  T *columns) {
    constexpr int FEW = 16;
    const int n_columns = static_cast<int>(features.size());
    for (int first = 0; first < BIT_ROWS; first += FEW) {
        const int m = std::min(FEW, std::max(n - first, 0));
        for (int c = 0; c < n_columns; c++) {
            const T *from = rows + first * d + features[c];
            T *to = columns + static_cast<int64_t>(c) * COLUMN_STRIDE + first;
            for (int i = 0; i < m; i++) to[i] = from[i * d];
            for (int i = m; i < FEW; i++) to[i] = 0;
        }
    }
}

}  // namespace skrank
