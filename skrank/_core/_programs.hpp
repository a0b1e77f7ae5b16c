// Formulas of features, written backwards: operands come before their operator.
//
// Every value stays within LARGEST, so that no formula leaves the finite numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "_clones.hpp"
#include "_for_each_query.hpp"

namespace skrank {

constexpr double LARGEST = 1e100;
constexpr int BLOCK_ROWS = 256;

// Tokens below 0 are operators; those below `n_columns` are columns, others constants.
enum Operator { PLUS = -1, MINUS = -2, TIMES = -3, OVER = -4 };

struct Program {
    const int *token;
    Index n_tokens;
    int depth;  // largest number of operands that wait at a time
    const double *constant;
};

struct Columns {
    const double *first;  // columns follow each other
    Index n_rows;
    int count;
};

SKRANK_INLINE double bounded(double x) { return std::min(std::max(x, -LARGEST), LARGEST); }

// left = left op right, for some rows.
SKRANK_CLONES void apply(int op, double *left, const double *right, int m) {
    switch (op) {
        case PLUS:
            for (int i = 0; i < m; i++) left[i] = bounded(left[i] + right[i]);
            break;
        case MINUS:
            for (int i = 0; i < m; i++) left[i] = bounded(left[i] - right[i]);
            break;
        case TIMES:
            for (int i = 0; i < m; i++) left[i] = bounded(left[i] * right[i]);
            break;
        default:  // a division by what is nearly nothing is 1
            for (int i = 0; i < m; i++) {
                const bool none = std::fabs(right[i]) < 1.0 / LARGEST;
                const double share = bounded(left[i] / (none ? 1.0 : right[i]));
                left[i] = none ? 1.0 : share;
            }
    }
}

inline void run_program(const Program &program, const Columns &columns, double *out,
                        int n_threads) {
    const Index n_blocks = (columns.n_rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const Room room{Index(BLOCK_ROWS), program.depth, 0};
    for_each(n_blocks, PAIR_CHUNK, n_threads, room, [&](Index block, Scratch &scratch) {
        const Index first = block * BLOCK_ROWS;
        const int m = int(std::min<Index>(BLOCK_ROWS, columns.n_rows - first));
        int top = 0;
        for (Index k = 0; k < program.n_tokens; k++) {
            const int token = program.token[k];
            if (token < 0) {
                apply(token, scratch.array(top - 2), scratch.array(top - 1), m);
                top--;
                continue;
            }
            double *values = scratch.array(top++);
            if (token >= columns.count) {
                std::fill(values, values + m, program.constant[token - columns.count]);
                continue;
            }
            const double *x = columns.first + token * columns.n_rows + first;
            for (int i = 0; i < m; i++) values[i] = bounded(x[i]);
        }
        std::copy(scratch.array(0), scratch.array(0) + m, out + first);
    });
}

}  // namespace skrank
