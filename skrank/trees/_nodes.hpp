// What a tree that grows is made of.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "_splits.hpp"

namespace skrank {

enum Growth {
    BY_LEAF,    // the leaf that gains most is split first
    BY_DEPTH,   // level by level; within a level, the leaf that gains most first
    SYMMETRIC,  // one split for all leaves of a level
};

struct GrowOptions {
    int growth;             // one of Growth
    int max_leaf_nodes;     // at least 2; without effect on symmetric trees
    int max_depth;          // 0: no limit, which symmetric trees need
    int min_samples_leaf;   // rows
    double min_weight;      // sum of hessians of a leaf
    double l2;
    double min_gain;
    double min_gain_to_noise;  // in units of what a split at random gains; not the first one
    double learning_rate;
    double smoothing;       // added to the hessian where categories are ordered
    double path_smoothing;  // penalty on the difference to the value of the parent
    double noise;           // of scores, in standard deviations of the gradients
    int max_features;       // features tried per split; 0: all
    bool random_thresholds; // one threshold per feature and split, drawn at random
    int64_t max_bytes;      // memory of the histograms of leaves, about
    uint64_t seed;
    int n_threads;
    bool wide;              // whether to use the instructions this machine has
};

struct Node {
    int32_t feature = -1;  // -1: a leaf
    int32_t left = -1;     // the right child is the next one
    int32_t category = -1; // set of categories, -1 for a threshold
    uint8_t bin = 0, missing_left = 0;
    double value = 0.0, gain = 0.0, weight = 0.0;
    int64_t count = 0;
};

struct Leaf {
    int64_t begin = 0, end = 0;
    Packed sum = 0;
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    int depth = 0, node = 0;
    bool counted = false;  // searched by true numbers of rows
    std::vector<Packed> histogram;
    Candidate best;
    int64_t size() const { return end - begin; }
};

}  // namespace skrank
