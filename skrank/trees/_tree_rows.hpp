// The rows of a tree that grows, leaf after leaf, and their rounded gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../_core/_team.hpp"
#include "_chance.hpp"
#include "_nodes.hpp"

namespace skrank {

class TreeRows {
   public:
    const int32_t *row_data() const { return rows.data(); }

   protected:
    int64_t n_rows;
    bool all_rows = true;
    int64_t n_grown = 0;
    Packed total = 0;  // of all rows
    double gradient_unit = 1.0, hessian_unit = 1.0;
    double squares = 0.0;  // sum of the squares of the rounded gradients
    GrowOptions options;
    std::vector<Packed> packed, ordered;
    std::vector<int32_t> rows, moved;
    Watch *watch = nullptr;  // of the tree that grows

    explicit TreeRows(int64_t n_rows)
        : n_rows(n_rows), packed(n_rows), ordered(n_rows), rows(n_rows), moved(n_rows) {}

    // From this number of rows on, threads share the rows; below, only the features.
    static constexpr int64_t MANY_ROWS = 1 << 12;

    // Rounds gradients and hessians, times the weights if any, to integers whose sums over
    // all rows fit 32 bits.
    void quantise(const double *gradient, const double *hessian, const double *weight,
                    const int32_t *chosen, bool stochastic) {
        const int64_t n = n_grown;
        const auto gradient_at = [=](int64_t r) {
            return weight != nullptr ? weight[r] * gradient[r] : gradient[r];
        };
        const auto hessian_at = [=](int64_t r) {
            const double h = hessian != nullptr ? hessian[r] : 1.0;
            return weight != nullptr ? weight[r] * h : h;
        };
        double most_gradient = 0.0, most_hessian = 0.0;
        double least_hessian = std::numeric_limits<double>::infinity();
#pragma omp parallel for schedule(static) num_threads(options.n_threads) \
    reduction(max : most_gradient, most_hessian) reduction(min : least_hessian)
        for (int64_t i = 0; i < n; i++) {
            const int64_t r = chosen != nullptr ? chosen[i] : i;
            rows[i] = static_cast<int32_t>(r);
            most_gradient = std::max(most_gradient, std::fabs(gradient_at(r)));
            const double h = hessian_at(r);
            most_hessian = std::max(most_hessian, h);
            least_hessian = std::min(least_hessian, h);
        }
        const bool constant_hessian = least_hessian == most_hessian;
        // Sums of 32 bits must not overflow even if all gradients are the largest one; one
        // level is kept for rounding up. More than 15 bits would not change a split.
        const double room = std::floor(2147483647.0 / std::max<int64_t>(n, 1)) - 1.0;
        const double levels = std::min(std::max(room, 1.0), 32767.0);
        gradient_unit = unit_of(most_gradient, levels);
        hessian_unit = unit_of(most_hessian, constant_hessian ? 1.0 : levels);
        const double to_gradient = 1.0 / gradient_unit, to_hessian = 1.0 / hessian_unit;
        const uint64_t seed = mix(options.seed);
        Packed sum = 0;
        int64_t sum_of_squares = 0;
#pragma omp parallel for schedule(static) num_threads(options.n_threads) \
    reduction(+ : sum, sum_of_squares)
        for (int64_t i = 0; i < n; i++) {
            const int64_t r = rows[i];
            const double g = gradient_at(r) * to_gradient;
            const double h = hessian_at(r) * to_hessian;
            double up_g = 0.5, up_h = 0.5;
            if (stochastic) {
                const uint64_t bits = mix(seed ^ static_cast<uint64_t>(r));
                up_g = (bits >> 32) * 0x1p-32;
                up_h = (bits & 0xffffffffULL) * 0x1p-32;
            }
            if (constant_hessian) up_h = 0.5;
            const int64_t whole_g = rounded_down(g + up_g);
            const int64_t whole_h = rounded_down(h + up_h);
            packed[r] = whole_g * (1LL << 32) + whole_h;
            sum += packed[r];
            sum_of_squares += whole_g * whole_g;
        }
        total = sum;
        squares = static_cast<double>(sum_of_squares);
    }

    // What the largest number is so many times; its reciprocal is finite, too.
    static double unit_of(double most, double levels) {
        if (!(most > 0)) return 1.0;
        return std::max(most / levels, std::numeric_limits<double>::min());
    }

    // Derivatives that are no numbers count nothing; those of losses have been checked.
    static int64_t rounded_down(double x) {
        return std::fabs(x) <= 32769.0 ? static_cast<int64_t>(std::floor(x)) : 0;
    }

    // Rows whose ``values`` are summed; a null ``of`` stands for the first rows.
    struct Portion {
        const int32_t *of;
        const Packed *values;
        int64_t n;
    };

    // The rows of a leaf with their gradients, or with ``instead``.
    Portion portion(const Leaf &leaf, const Packed *instead = nullptr) const {
        const bool all = all_rows && leaf.size() == n_grown;
        const Packed *values = all ? packed.data() : ordered.data() + leaf.begin;
        if (instead != nullptr) values = instead;
        return {all ? nullptr : rows.data() + leaf.begin, values, leaf.size()};
    }

    // Packed gradients in the order of the rows of a leaf.
    void gather(const Leaf &leaf) {
        const int32_t *of = rows.data();
#pragma omp parallel for schedule(static) num_threads(options.n_threads) \
    if (leaf.size() > MANY_ROWS)
        for (int64_t i = leaf.begin; i < leaf.end; i++) {
            ordered[i] = packed[of[i]];
        }
    }

    bool goes_left(uint8_t bin, const Candidate &c) const {
        if (bin == MISSING) return c.missing_left;
        if (c.by_category) return (c.categories[bin >> 6] >> (bin & 63)) & 1;
        return bin <= c.bin;
    }

    // Moves the rows of a leaf so that those that go left come first, in their order;
    // returns their number. ``bin_of`` tells the bin of a row.
    template <class BinOf>
    int64_t partition_by(const Leaf &leaf, const Candidate &c, BinOf bin_of) {
        uint8_t left[N_BINS];
        for (int b = 0; b < N_BINS; b++) left[b] = goes_left(static_cast<uint8_t>(b), c);
        const int64_t n = leaf.size();
        const int n_threads = n < MANY_ROWS ? 1 : options.n_threads;
        int32_t *own = rows.data() + leaf.begin;
        std::vector<int64_t> n_left(n_threads + 1, 0), n_right(n_threads + 1, 0);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            const int t = omp_get_thread_num(), team = omp_get_num_threads();
            const int64_t first = n * t / team, last = n * (t + 1) / team;
            int32_t *to = moved.data() + leaf.begin + first;
            int64_t front = 0, back = last - first;
            for (int64_t i = first; i < last; i++) {
                const int32_t r = own[i];
                const bool is_left = left[bin_of(r)];
                to[front] = to[back - 1] = r;  // one of the two is written over
                front += is_left;
                back -= !is_left;
            }
            n_left[t + 1] = front;
            n_right[t + 1] = last - first - front;
#pragma omp barrier
#pragma omp single
            for (int u = 0; u < n_threads; u++) {
                n_left[u + 1] += n_left[u];
                n_right[u + 1] += n_right[u];
            }
            std::memcpy(own + n_left[t], to, front * sizeof *to);
            int32_t *right = own + n_left[n_threads] + n_right[t];
            for (int64_t i = 0; i < last - first - front; i++) {
                right[i] = to[last - first - 1 - i];
            }
        }
        return n_left[n_threads];
    }
};

}  // namespace skrank
