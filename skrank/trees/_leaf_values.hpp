// Values of the leaves of a tree, by one Newton step or by several.
//
// A value u minimises, in each leaf, the loss at scores that are u higher, plus the
// penalties l2 / 2 u^2 and path_smoothing / 2 (u - p)^2, where p is what the first step
// found for the parent. Gradients are summed as they were, in a fixed order.
#pragma once

#include <algorithm>
#include <vector>

#include "_nodes.hpp"

namespace skrank {

class LeafValues {
   public:
    // The first step, from 0; fills in the weights and the counts of all nodes.
    void fit(std::vector<Node> &nodes, const std::vector<Leaf> &leaves, const int32_t *rows,
             const double *gradient, const double *hessian, const GrowOptions &options) {
        const int n_leaves = static_cast<int>(leaves.size());
        std::vector<double> gradients(nodes.size(), 0.0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(options.n_threads)
        for (int k = 0; k < n_leaves; k++) {
            const Sums sums = sums_of(leaves[k], rows, gradient, hessian);
            gradients[leaves[k].node] = sums.gradient;
            nodes[leaves[k].node].weight = sums.hessian;
            nodes[leaves[k].node].count = leaves[k].size();
        }
        for (int k = static_cast<int>(nodes.size()) - 1; k >= 0; k--) {
            Node &node = nodes[k];
            if (node.feature < 0) continue;
            node.count = nodes[node.left].count + nodes[node.left + 1].count;
            node.weight = nodes[node.left].weight + nodes[node.left + 1].weight;
            gradients[k] = gradients[node.left] + gradients[node.left + 1];
        }
        const std::vector<double> best = best_values(nodes, gradients, options);
        for (const Leaf &leaf : leaves) {
            nodes[leaf.node].value = options.learning_rate * within(leaf, best[leaf.node]);
        }
        from.assign(nodes.size(), 0.0);
        remember(nodes);
    }

    // One more step, from the gradients at the scores that the values have led to; they
    // must not have been multiplied by a learning rate.
    void step(std::vector<Node> &nodes, const std::vector<Leaf> &leaves, const int32_t *rows,
              const double *gradient, const double *hessian, const GrowOptions &options) {
        const int n_leaves = static_cast<int>(leaves.size());
        remember(nodes);
        from = to;
#pragma omp parallel for schedule(dynamic, 1) num_threads(options.n_threads)
        for (int k = 0; k < n_leaves; k++) {
            const Leaf &leaf = leaves[k];
            double &value = nodes[leaf.node].value;
            const Sums sums = sums_of(leaf, rows, gradient, hessian);
            const double more = leaf.node > 0 ? options.path_smoothing : 0.0;
            const double slope = sums.gradient + options.l2 * value +
                                 more * (value - parents[leaf.node]);
            const double weight = sums.hessian + options.l2 + more;
            if (weight > 0) value = within(leaf, value - slope / weight);
        }
        remember(nodes);
    }

    // Goes a share of the last step only, or all of it again.
    void go(std::vector<Node> &nodes, const std::vector<Leaf> &leaves, double share) const {
        for (const Leaf &leaf : leaves) {
            const double a = from[leaf.node], b = to[leaf.node];
            nodes[leaf.node].value = share == 1.0 ? b : a + share * (b - a);
        }
    }

    // What the penalties add to the loss, now or before the last step.
    double penalty(const std::vector<Node> &nodes, const std::vector<Leaf> &leaves,
                   bool before, const GrowOptions &options) const {
        double sum = 0.0;
        for (const Leaf &leaf : leaves) {
            const double value = before ? from[leaf.node] : nodes[leaf.node].value;
            sum += options.l2 * value * value;
            if (leaf.node == 0) continue;
            const double apart = value - parents[leaf.node];
            sum += options.path_smoothing * apart * apart;
        }
        return 0.5 * sum;
    }

   private:
    struct Sums {
        double gradient = 0.0, hessian = 0.0;
    };
    std::vector<double> parents;   // by node: what was found for the parent
    std::vector<double> from, to;  // values before and after the last step

    void remember(const std::vector<Node> &nodes) {
        to.resize(nodes.size());
        for (size_t k = 0; k < nodes.size(); k++) to[k] = nodes[k].value;
    }

    static Sums sums_of(const Leaf &leaf, const int32_t *rows, const double *gradient,
                        const double *hessian) {
        Sums sums;
        for (int64_t i = leaf.begin; i < leaf.end; i++) {
            sums.gradient += gradient[rows[i]];
            sums.hessian += hessian != nullptr ? hessian[rows[i]] : 1.0;
        }
        return sums;
    }

    static double within(const Leaf &leaf, double value) {
        return std::min(std::max(value, leaf.low), leaf.high);
    }

    // The values that minimise the quadratic model in all nodes, with a penalty on the
    // squared difference to the value of the parent.
    std::vector<double> best_values(const std::vector<Node> &nodes,
                                    const std::vector<double> &gradients,
                                    const GrowOptions &options) {
        std::vector<double> best(nodes.size());
        for (size_t k = 0; k < nodes.size(); k++) {
            const double weight = nodes[k].weight + options.l2;
            best[k] = weight > 0 ? -gradients[k] / weight : 0.0;
        }
        const double more = options.path_smoothing;
        parents.assign(nodes.size(), 0.0);
        for (size_t k = 0; k < nodes.size() && more > 0.0; k++) {  // parents come first
            if (nodes[k].feature < 0) continue;
            for (const int child : {nodes[k].left, nodes[k].left + 1}) {
                parents[child] = best[k];
                best[child] = (more * best[k] - gradients[child]) /
                              (nodes[child].weight + options.l2 + more);
            }
        }
        return best;
    }
};

}  // namespace skrank
