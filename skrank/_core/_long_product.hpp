// A product that neither overflows nor becomes 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "_clones.hpp"

namespace skrank {

// Product of positive factors, mantissa * 2^exponent. A logarithm of it is a sum over
// millions of factors that takes one call of log, and factors can be taken out again.
// Factors must be normal numbers.
class LongProduct {
    double mantissa = 1.0;  // from 1 up to 2
    int64_t exponent = 0;

    SKRANK_MEMBER void take(double product) {
        int64_t bits;
        std::memcpy(&bits, &product, sizeof bits);
        exponent += ((bits >> 52) & 0x7ff) - 1023;
        bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
        std::memcpy(&mantissa, &bits, sizeof mantissa);
    }

  public:
    SKRANK_MEMBER void multiply(double factor) { take(mantissa * factor); }
    void multiply(const LongProduct &other) {
        take(mantissa * other.mantissa);
        exponent += other.exponent;
    }
    void divide(const LongProduct &other) {
        take(mantissa / other.mantissa);
        exponent -= other.exponent;
    }
    double value() const {
        return exponent < -1100 ? 0.0 : std::ldexp(mantissa, int(exponent));
    }
    double log() const { return std::log(mantissa) + std::log(2.0) * (double)exponent; }
};

}  // namespace skrank
