// Sums of many logarithms that take few calls of log: a product of the terms instead.
#pragma once

#include "_simd.hpp"

namespace skrank {

// Products of terms up to e^700 still fit a double.
constexpr double MAX_LOG_PRODUCT = 700.0;

// Sum of logarithms as one product, mantissa * 2^exponent, so that a sum over millions
// of terms takes one call of log. Terms must be positive.
struct LogSum {
    double mantissa = 1.0;
    int64_t exponent = 0;

    SKRANK_MEMBER void multiply(double factor) {
        const double product = mantissa * factor;
        int64_t bits;
        std::memcpy(&bits, &product, sizeof bits);
        exponent += ((bits >> 52) & 0x7ff) - 1023;
        bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
        std::memcpy(&mantissa, &bits, sizeof mantissa);
    }
    double value() const { return std::log(mantissa) + LN2 * (double)exponent; }
};

// Vector of products that are folded into a LogSum before they can overflow.
class LogProducts {
    Vec product = {1.0, 1.0, 1.0, 1.0};
    LogSum logs;
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
        const double value = logs.value();
        logs = LogSum();
        return value;
    }
};

}  // namespace skrank
