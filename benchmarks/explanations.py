"""Shapley values of the same trees by skrank, LightGBM and the package shap.

``python -m benchmarks.explanations`` trains LightGBM's ``lambdarank``, hands its trees
to the other two and has each of them explain the same documents on one thread, in
turns. By the covers of the nodes all three compute the same values; against other
documents, skrank and shap do. Printed are CPU seconds (minimum and median over
rounds), the time relative to skrank's, and the median over documents of the largest
difference from its values, relative to the largest value: shap takes the background's
values and thresholds in single precision, so that a document may stand on the other
side of a split.
"""

import argparse
import time

import numpy as np

from benchmarks.data import make_mslr_like
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.trees import TreeEnsemble, _forest


def from_lightgbm(booster):
    """Return the trees of a LightGBM model without categories, with their counts."""
    trees = [_nodes(tree) for tree in booster.dump_model()["tree_info"]]
    thresholds = np.full((booster.num_feature(), 255), np.inf)
    ensemble = TreeEnsemble.empty().append(
        [{**tree, "bin": np.zeros_like(tree["feature"])} for tree in trees],
        [0] * len(trees),
        thresholds,
    )
    ensemble.threshold_ = np.concatenate([tree["threshold"] for tree in trees])
    return ensemble


def _nodes(tree):
    """Arrays of a tree, whose right children follow their left ones."""
    found = {"feature": [], "threshold": [], "left": [], "missing_left": []}
    found |= {"value": [], "count": []}
    waiting = [tree["tree_structure"]]
    for node in waiting:  # which grows
        leaf = "leaf_value" in node
        if not leaf and node["missing_type"] == "Zero":
            raise ValueError("zeros as missing values have no counterpart")
        # Without missing values in training, LightGBM reads one as 0.
        goes = node.get("default_left")
        if not leaf and node["missing_type"] == "None":
            goes = node["threshold"] >= 0
        found["feature"].append(-1 if leaf else node["split_feature"])
        found["threshold"].append(np.inf if leaf else node["threshold"])
        found["left"].append(-1 if leaf else len(waiting))
        found["missing_left"].append(bool(goes))
        found["value"].append(node.get("leaf_value", 0.0))
        found["count"].append(node["leaf_count" if leaf else "internal_count"])
        if not leaf:
            waiting += [node["left_child"], node["right_child"]]
    types = dict.fromkeys(("feature", "left"), np.int32)
    types |= {"missing_left": np.uint8, "count": np.int64}
    arrays = {k: np.array(v, dtype=types.get(k, float)) for k, v in found.items()}
    n = len(found["feature"])
    return arrays | {
        "category": np.full(n, -1, dtype=np.int32),
        "categories": np.zeros((0, 4), dtype=np.uint64),
        "gain": np.zeros(n),
        "weight": np.zeros(n),
    }


def as_shap_trees(ensemble):
    """Return what ``shap.TreeExplainer`` takes for these trees, without categories."""
    ends = [*ensemble.roots_[1:], len(ensemble.feature_)]
    trees = []
    for begin, end in zip(ensemble.roots_, ends, strict=True):
        leaf = ensemble.feature_[begin:end] < 0
        left = np.where(leaf, -1, ensemble.left_[begin:end] - begin)
        right = np.where(leaf, -1, left + 1)
        goes = ensemble.missing_left_[begin:end].astype(bool)
        trees.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": np.where(goes, left, right),
                "features": np.where(leaf, -2, ensemble.feature_[begin:end]),
                "thresholds": np.where(leaf, -2.0, ensemble.threshold_[begin:end]),
                "values": ensemble.value_[begin:end, None],
                "node_sample_weight": ensemble.count_[begin:end].astype(float),
            }
        )
    return {"trees": trees}


def contributions(ensemble, X, background=None):
    """Return the Shapley values by the compiled code itself, on one thread."""
    background = np.empty((0, X.shape[1])) if background is None else background
    arrays = *ensemble.arrays(), ensemble.count_, np.ones(ensemble.n_trees)
    return _forest.contributions(X, background, *arrays, n_threads=1)


def contestants(booster, ensemble, X, background):
    """Functions that return Shapley values, by title and name."""
    import shap

    trees = as_shap_trees(ensemble)
    by_covers = shap.TreeExplainer(trees, feature_perturbation="tree_path_dependent")
    by_rows = shap.TreeExplainer(
        trees, background, feature_perturbation="interventional"
    )

    def lightgbm():
        return booster.predict(X, pred_contrib=True, num_threads=1)[:, :-1]

    return {
        "by covers": {
            "skrank": lambda: contributions(ensemble, X)[0],
            "LightGBM": lightgbm,
            "shap": lambda: by_covers.shap_values(X, check_additivity=False),
        },
        f"against {len(background)} documents": {
            "skrank": lambda: contributions(ensemble, X, background)[0],
            "shap": lambda: by_rows.shap_values(X, check_additivity=False),
        },
    }


def trained(data, n_trees, n_leaves):
    """Return a LightGBM model."""
    import lightgbm

    options = {"objective": "lambdarank", "num_leaves": n_leaves, "verbose": -1}
    options |= {"num_threads": 1, "seed": 0}
    rows = lightgbm.Dataset(data.X, data.y.astype(int), group=np.diff(data.ptr))
    return lightgbm.train(options, rows, n_trees)


def measure(functions, rounds):
    """CPU seconds of every round by name, and the values of each function."""
    seconds, values = {name: [] for name in functions}, {}
    for _ in range(rounds):
        for name, function in functions.items():
            begin = time.process_time()
            values[name] = function()
            seconds[name].append(time.process_time() - begin)
    return seconds, values


def print_table(title, seconds, values):
    """Print one line for each contestant."""
    own, best = values["skrank"], min(seconds["skrank"])
    print(f"{title:24}{'min s':>9}{'median s':>10}{'ratio':>8}{'difference':>12}")
    for name, times in seconds.items():
        apart = np.median(np.abs(values[name] - own).max(axis=1)) / np.abs(own).max()
        print(
            f"{name:24}{min(times):9.3f}{np.median(times):10.3f}"
            f"{min(times) / best:8.1f}{apart:12.1e}"
        )
    print()


def main(argv=None):
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--queries", type=int, default=200, help="training queries")
    parser.add_argument("--documents", type=int, default=1000, help="to explain")
    parser.add_argument("--background", type=int, default=100, help="documents")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--rounds", type=int, default=3)
    add_outputs(parser)
    options = parser.parse_args(argv)
    data = make_mslr_like(options.queries, seed=1)
    X = np.ascontiguousarray(make_mslr_like(100, seed=3).X, dtype=np.float64)
    background = X[-options.background :]
    booster = trained(data, options.trees, options.leaves)
    ensemble = from_lightgbm(booster)
    titles = contestants(booster, ensemble, X[: options.documents], background)
    record = {}
    for title, functions in titles.items():
        record[title], values = measure(functions, options.rounds)
        print_table(title, record[title], values)

    def draw():
        return bar_figure(
            [
                Panel(
                    f"{title}, s", {name: min(t) for name, t in seconds.items()}, "log"
                )
                for title, seconds in record.items()
            ]
        )

    write_outputs(options, record, draw)


if __name__ == "__main__":
    main()
