// Stable sort of the documents of one query by descending score.
#pragma once

#include <algorithm>
#include <limits>

namespace skrank {

constexpr int SORT_WORK_DOUBLES = 2;  // work space per document

// order[r] = document in position r. Ties keep their order; NaN counts as -inf.
static void sort_descending(const double *x, int m, double *work, double *sorted_x,
                            int *order) {
    for (int i = 0; i < m; i++) {
        work[i] = x[i] == x[i] ? x[i] : -std::numeric_limits<double>::infinity();
        order[i] = i;
    }
    std::stable_sort(order, order + m, [work](int a, int b) { return work[a] > work[b]; });
    for (int r = 0; r < m; r++) sorted_x[r] = work[order[r]];
}

}  // namespace skrank
