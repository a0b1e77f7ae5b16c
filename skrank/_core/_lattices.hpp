// Most violated rankings where pairs of documents of different gain count, and the measure
// is a sum of gains times discounts of ranks.
//
// Documents of equal gain keep the order of their scores, as in `_interleavings.hpp`, so
// that a ranking is a path through the lattice of how many documents of each gain stand
// above: the best one is found from the top down, state by state.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "_positions.hpp"

namespace skrank {

// Documents of one query in blocks of equal gain, which falls from block to block and is
// multiplied by the scale of the measure; within a block, scores fall.
struct Lattice {
    std::vector<int> start;  // of each block, and the number of documents at the end
    std::vector<double> gain;
    std::vector<double> sum;  // of the scores of all documents from this one on in its block
    const double *score, *discount;
    double pull;  // 2 / pairs of documents of different gain

    int blocks() const { return static_cast<int>(gain.size()); }
    int size(int block) const { return start[block + 1] - start[block]; }

    // What it adds to the score of the ranking, relative to a perfect one, and to the loss of
    // the measure, to place the next document of a block in some rank: it comes before all
    // documents of higher gain that are left.
    double place(const int *placed, int block, int rank) const {
        int higher = 0;
        double scores = 0.0;
        for (int b = 0; b < block; b++) {
            const int next = start[b] + placed[b];
            higher += start[b + 1] - next;
            if (next < start[b + 1]) scores += sum[next];
        }
        return pull * (higher * score[start[block] + placed[block]] - scores) -
               gain[block] * discount[rank];
    }
};

// Number of ways to take documents from the top of each block.
inline Index states_of(const Lattice &lattice) {
    Index n = 1;
    for (int b = 0; b < lattice.blocks(); b++) n *= lattice.size(b) + 1;
    return n;
}

// rank[i] becomes the rank, from 0, of document i. Returns false if it is to be given up.
inline bool best_path(const Lattice &lattice, int *rank, Scratch &scratch) {
    const int K = lattice.blocks();
    const Index n = states_of(lattice);
    std::vector<double> best(n, -std::numeric_limits<double>::infinity());
    std::vector<unsigned char> last(n);  // the block of the lowest document
    std::vector<int> placed(K, 0);
    std::vector<Index> stride(K, 1);
    for (int b = K - 2; b >= 0; b--) stride[b] = stride[b + 1] * (lattice.size(b + 1) + 1);
    best[0] = 0.0;
    for (Index state = 0; state + 1 < n; state++) {
        if (scratch.spend(4 * K * K)) return false;
        int height = 0;
        for (int b = 0; b < K; b++) height += placed[b];
        for (int b = 0; b < K; b++) {
            if (placed[b] == lattice.size(b)) continue;
            const double value = best[state] + lattice.place(placed.data(), b, height);
            if (value > best[state + stride[b]]) {
                best[state + stride[b]] = value;
                last[state + stride[b]] = static_cast<unsigned char>(b);
            }
        }
        for (int b = K - 1; ++placed[b] > lattice.size(b); b--) placed[b] = 0;
    }
    placed.assign(K, 0);
    for (int b = 0; b < K; b++) placed[b] = lattice.size(b);
    Index state = n - 1;
    for (int height = lattice.start[K] - 1; height >= 0; height--) {
        int b = last[state];
        while (placed[b] == 0) b = (b + 1) % K;  // scores that are not numbers lead nowhere
        rank[lattice.start[b] + --placed[b]] = height;
        state -= stride[b];
    }
    return true;
}

// slope[i] becomes the share of each document in the score of the ranking, less that in a
// perfect one: by `pull` for each document of higher gain below it, and less for each of
// lower gain above it. Documents of equal score and gain share. Returns the sum of slopes
// times scores.
inline double slopes_of(const Lattice &lattice, const int *rank, double *slope) {
    const int K = lattice.blocks(), m = lattice.start[K];
    std::vector<int> block(m), placed(K, 0);
    for (int b = 0; b < K; b++)
        for (int i = lattice.start[b]; i < lattice.start[b + 1]; i++) block[rank[i]] = b;
    for (int r = 0; r < m; r++) {
        const int own = block[r];
        int turned = 0;
        for (int b = 0; b < own; b++) turned += lattice.size(b) - placed[b];
        for (int b = own + 1; b < K; b++) turned -= placed[b];
        slope[lattice.start[own] + placed[own]++] = lattice.pull * turned;
    }
    double product = 0.0;
    for (int b = 0, i = 0; b < K; b++)
        while (i < lattice.start[b + 1]) {
            double sum = 0.0;
            const int end = end_of_run(lattice.score, i, lattice.start[b + 1]);
            for (int j = i; j < end; j++) sum += slope[j];
            product += sum * lattice.score[i];
            const double mean = sum / (end - i);
            while (i < end) slope[i++] = mean;
        }
    return product;
}

// Documents are given in a perfect order: row order[r] of the query has place r, and its
// gain does not rise with r. `all.target` and `all.weight` are not read.
static void most_violated_paths(const Positions &all, const int *perfect, double *values,
                                double *gradient, int n_threads) {
    const Room room = {all.queries.longest() + PADDING, 3 + SORT_WORK_DOUBLES, 3};
    for_each_query(
        all.queries, HEAVY_CHUNK, n_threads, room, [=](Query q, Scratch &scratch) {
            const double w = all.query_weight[q.number];
            if (w == 0.0) return;
            double *x = scratch.array(0), *score = scratch.array(1);
            double *slope = scratch.array(2), *work = scratch.array(3);
            int *order = scratch.indices(0), *rank = scratch.indices(1);
            const int *row = perfect + q.start;
            const double *s = all.scores + q.start, *gain = all.gain + q.start;
            const double origin = amid(s, q.size);
            for (int r = 0; r < q.size; r++) x[r] = s[row[r]] - origin;
            Lattice lattice = {{0}, {}, std::vector<double>(q.size), score,
                               all.discount + q.start, 0.0};
            double n_pairs = 0.0;
            for (int first = 0, end = 0; first < q.size; first = end) {
                while (end < q.size && gain[row[end]] == gain[row[first]]) end++;
                sort_descending(x + first, end - first, work, score + first, order + first);
                for (int r = first; r < end; r++) order[r] = row[first + order[r]];
                double sum = 0.0;
                for (int r = end - 1; r >= first; r--) lattice.sum[r] = sum += score[r];
                n_pairs += static_cast<double>(end - first) * (q.size - end);
                lattice.start.push_back(end);
                lattice.gain.push_back(all.scale[q.number] * gain[row[first]]);
            }
            lattice.pull = 2.0 / n_pairs;
            if (!best_path(lattice, rank, scratch)) return;
            double value = all.best[q.number] + slopes_of(lattice, rank, slope);
            for (int r = 0; r < q.size; r++) {
                value -= all.scale[q.number] * gain[order[r]] * lattice.discount[rank[r]];
                gradient[q.start + order[r]] = w * slope[r];
            }
            values[q.number] = w * std::max(value, 0.0);
        });
}

}  // namespace skrank
