// Exact sums of gradients in the bins of dense rows.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "_growth.hpp"

namespace skrank {

class RowSums : public TreeGrower {
   protected:
    Layout layout;
    const uint8_t *bins;
    std::vector<Packed> partial;

    RowSums(const uint8_t *bins, int64_t n_rows, const Features &features)
        : TreeGrower(n_rows, features), layout(n_rows, features.count), bins(bins) {}

    int64_t histogram_size() const override {
        return static_cast<int64_t>(layout.n_blocks) * WIDTH * N_BINS;
    }

    // Below this number of features, and for few rows, one thread does it all.
    static constexpr int FEW_FEATURES = 32;

    // Sums in every bin of a block of features, from ``f`` on, or of half a block.
    void sum_block(int f, int step, const Portion &p, int64_t first, int64_t last,
                   Packed *own) const {
        const int width = layout.width(f / WIDTH);
        const uint8_t *start = bins + layout.start(f / WIDTH) + f % WIDTH;
        std::memset(own, 0, sizeof *own * N_BINS * std::min(step, width));
        if (width == HALF) {
            add_rows<HALF, HALF>(start, p.of, p.values, first, last, own);
        } else if (step == WIDTH) {
            add_rows<WIDTH, WIDTH>(start, p.of, p.values, first, last, own);
        } else {
            add_rows<WIDTH, HALF>(start, p.of, p.values, first, last, own);
        }
    }

    // Sums in every bin; the threads of a team share the rows.
    void sum_rows(const Portion &p, Packed *histogram) {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t size = histogram_size();
        Packed *mine = t == 0 ? histogram : partial.data() + (t - 1) * size;
        for (int f = 0; f < layout.n_features; f += WIDTH) {
            if (t == 0) watch->look();
            if (watch->stopped()) break;
            sum_block(f, WIDTH, p, p.n * t / team, p.n * (t + 1) / team,
                      mine + static_cast<int64_t>(f) * N_BINS);
        }
        if (team == 1) return;
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t i = 0; i < size; i++) {
            Packed total = histogram[i];
            for (int u = 1; u < team; u++) total += partial[(u - 1) * size + i];
            histogram[i] = total;
        }
    }

    int64_t partition(const Leaf &leaf, const Candidate &c) override {
        const int block = c.feature / WIDTH, width = layout.width(block);
        const uint8_t *column = bins + layout.start(block) + c.feature % WIDTH;
        return partition_by(leaf, c, [=](int32_t r) {
            return column[static_cast<int64_t>(r) * width];
        });
    }
};

}  // namespace skrank
