// What a measure is when it is smoothed: a sum over documents or positions.
#pragma once

#include "_for_each_query.hpp"
#include "_simd.hpp"

namespace skrank {

// With g the gain of a document, d the discount of its rank:
// - GAIN_DISCOUNT: the sum of g d;
// - AVERAGE_PRECISION: the sum of g d (1 + the gains above);
// - CASCADE: the sum of g d times the product of 1 - g above.
enum Form { GAIN_DISCOUNT = 0, AVERAGE_PRECISION = 1, CASCADE = 2 };

// A query has the value factor[q] times the sum; those of factor 0 are skipped.
struct SmoothMeasure {
    Queries queries;
    int form;
    const double *gain;      // of each row
    const double *factor;    // of each query
    const double *discount;  // of the ranks 1, 2, ... n_ranks
    int n_ranks;             // behind the last of them all discounts are 0
};

// Documents of positive gain, in the order of the rows; returns how many.
inline int find_gains(const double *gain, int m, int *chosen) {
    int n = 0;
    for (int i = 0; i < m; i++) {
        chosen[n] = i;
        n += gain[i] != 0.0;
    }
    return n;
}

}  // namespace skrank
