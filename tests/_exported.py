"""Rankers to export, rows that are hard to route, and scores summed by hand."""

import json
import math

import numpy as np

from skrank.datasets import make_ranking
from skrank.export import from_json, to_json
from skrank.rankers import (
    MART,
    BoostedRanker,
    LambdaMART,
    ListMLE,
    ListNet,
    LogisticRanker,
    RandomForestRanker,
    RankNet,
    RankSVM,
    SubsetRegression,
)

LARGEST = float(np.finfo(np.float32).max)
NAMES = ["bm25", 'odd "name"', "clicks é", "age<5", "x"]
TREE_RANKERS = [
    LambdaMART(n_estimators=8, min_samples_leaf=5),
    MART(n_estimators=8, min_samples_leaf=5),
    BoostedRanker(n_estimators=8, max_leaf_nodes=4),
    RandomForestRanker(n_estimators=6, max_leaf_nodes=16, random_state=0),
]
LINEAR_RANKERS = [
    RankSVM(),
    RankNet(),
    ListNet(),
    ListMLE(),
    LogisticRanker(),
    SubsetRegression(),
]


def make_data(missing=0.0):
    return make_ranking(
        n_queries=20, n_features=5, n_informative=3, missing=missing, random_state=0
    )


def frozen(trees, baseline=0.0, n_features=5):
    """A ranker of trees given as nested tuples.

    A leaf is a number, a split ``(feature, threshold, missing_left, left, right)``.
    """
    document = {
        "format": "skrank-scoring-function",
        "format_version": 1,
        "versions": {"skrank": "0"},
        "ranker": "Test",
        "n_features": n_features,
        "feature_names": None,
        "kind": "trees",
        "baseline": baseline,
        "categories": {},
        "precision": "double",
        "trees": [flat(tree) for tree in trees],
    }
    return from_json(json.dumps(document))


def flat(tree):
    nodes = [tree]
    columns = {"feature": [], "threshold": [], "left": [], "missing_left": []}
    columns["value"] = []
    for node in nodes:  # grows in the loop
        is_leaf = not isinstance(node, tuple)
        feature, threshold, missing_left = (-1, None, False) if is_leaf else node[:3]
        if threshold is not None and math.isinf(threshold):
            threshold = None
        columns["feature"].append(feature)
        columns["threshold"].append(threshold)
        columns["missing_left"].append(missing_left)
        columns["left"].append(-1 if is_leaf else len(nodes))
        columns["value"].append(node if is_leaf else 0.0)
        nodes += [] if is_leaf else node[3:]
    return columns


EXTREME = frozen(
    [
        (0, 1e300, True, 1.0, (1, -1e300, True, 3.0, 4.0)),
        (0, math.inf, False, (1, 0.1, False, 1.0, 2.0), (2, -0.0, True, 3.0, 4.0)),
        (3, 1e-42, False, (3, -1e-42, True, 5.0, 6.0), 7.0),
        (4, 16777216.5, True, (4, -0.9999999, False, 8.0, 9.0), 10.0),
        0.25,
    ],
    baseline=-0.1,
)


def hard_rows(ranker, *, missing=True, seed=0):
    """Single precision rows on, just below and just above every threshold."""
    trees = json.loads(to_json(ranker))["trees"]
    rng = np.random.default_rng(seed)
    pools = [[0.0, -0.0, 1e-45, -1e-45, LARGEST, -LARGEST, 1.0] for _ in NAMES]
    for tree in trees:
        for feature, threshold in zip(tree["feature"], tree["threshold"]):
            if feature >= 0 and threshold is not None and abs(threshold) < LARGEST:
                near = np.float32(threshold)
                below, above = (
                    np.nextafter(near, np.float32(s * 9e9)) for s in (-1, 1)
                )
                pools[feature] += [near, below, above]
    rows = np.stack([rng.choice(np.array(p, np.float32), 600) for p in pools], axis=1)
    rows[:100] = rng.normal(size=(100, len(NAMES)))
    if missing:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def sums_by_hand(ranker, rows, zero_for_missing=False):
    """Walk down every tree row by row; add in single precision.

    Thresholds are compared in double precision, as they were learned.
    """
    document = json.loads(to_json(ranker))
    totals = []
    for row in rows.astype(np.float32):
        total = np.float32(0)
        if document["baseline"]:
            total += np.float32(document["baseline"])
        for tree in document["trees"]:
            k = 0
            while tree["feature"][k] >= 0:
                x, threshold = float(row[tree["feature"][k]]), tree["threshold"][k]
                if math.isnan(x) and zero_for_missing:
                    x = 0.0
                if math.isnan(x):
                    left = tree["missing_left"][k]
                else:
                    left = threshold is None or x <= threshold
                k = tree["left"][k] + (not left)
            total += np.float32(tree["value"][k])
        totals.append(total)
    return np.array(totals)


def assert_like_predict(ranker, rows, served):
    """Equal up to the rounding of sums in single precision."""
    with np.errstate(all="ignore"):  # scikit-learn adds the largest numbers up
        expected = ranker.predict(rows)
    document = json.loads(to_json(ranker))
    size = sum(np.max(np.abs(tree["value"])) for tree in document["trees"])
    size += abs(document["baseline"])
    tolerance = (len(document["trees"]) + 2) * np.finfo(np.float32).eps * size
    assert np.max(np.abs(expected - served)) <= tolerance
