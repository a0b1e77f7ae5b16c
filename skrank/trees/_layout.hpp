// Where the bins of a feature stand.
//
// Bins are bytes in blocks of features: all rows of the first 16 features, then all rows
// of the next 16, the last block 8 wide where that holds the rest. A row of a block is
// one or half a cache line sector, and the histogram of a block fits the first-level
// cache, so a small node costs as much per row as a large one.
#pragma once

#include <cstdint>

namespace skrank {

constexpr int WIDTH = 16;         // features of a block
constexpr int HALF = WIDTH / 2;   // of a narrow last one
constexpr int N_BINS = 256;       // bins of a feature, the last for missing values
constexpr int MISSING = 255;      // the bin of missing values

struct Layout {
    int64_t n_rows;
    int n_features, n_blocks, last_width;

    Layout(int64_t rows, int features)
        : n_rows(rows),
          n_features(features),
          n_blocks((features + WIDTH - 1) / WIDTH),
          last_width(features - (n_blocks - 1) * WIDTH <= HALF ? HALF : WIDTH) {}

    int width(int block) const { return block + 1 < n_blocks ? WIDTH : last_width; }
    int64_t start(int block) const { return n_rows * WIDTH * block; }
    int64_t bytes() const {
        return n_blocks ? start(n_blocks - 1) + n_rows * last_width : 0;
    }
};

}  // namespace skrank
