// Sums of many logarithms that take few calls of log: a product of the terms instead.
#pragma once

#include "_long_product.hpp"
#include "_simd.hpp"

namespace skrank {

// Products of terms up to e^700 still fit a double.
constexpr double MAX_LOG_PRODUCT = 700.0;

// Vector of products that are folded into a long one before they can overflow.
class LogProducts {
    Vec product = {1.0, 1.0, 1.0, 1.0};
    LongProduct logs;
    int budget, left;

  public:
    explicit LogProducts(int terms) : budget(terms), left(terms) {}
    // How many more factors each lane may take, at most `wanted`.
    SKRANK_MEMBER int room(int wanted) {
        if (left == 0) fold();
        const int n = wanted < left ? wanted : left;
        left -= n;
        return n;
    }
    SKRANK_MEMBER Vec get() const { return product; }
    SKRANK_MEMBER void set(Vec p) { product = p; }
    SKRANK_MEMBER void fold() {
        for (int l = 0; l < LANES; l++) logs.multiply(product[l]);
        product = Vec{1.0, 1.0, 1.0, 1.0};
        left = budget;
    }
    // The sum of logarithms so far; starts again from 0.
    SKRANK_MEMBER double take() {
        fold();
        const double value = logs.log();
        logs = LongProduct();
        return value;
    }
};

}  // namespace skrank
