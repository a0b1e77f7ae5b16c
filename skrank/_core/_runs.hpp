// Runs of equal numbers, such as documents of equal score in the order of the scores.
#pragma once

namespace skrank {

// End of the run of equal numbers that begins at `first`, before `n`. NaN, which is not
// even equal to itself, is a run of its own, so that walks over runs always get on.
template <class Place>
Place end_of_run(const double *x, Place first, Place n) {
    Place end = first + 1;
    while (end < n && x[end] == x[first]) end++;
    return end;
}

}  // namespace skrank
