"""Rankers that learn from biased clicks, beside those that learn from true grades.

The judged queries of a collection become a log of clicks. A production ranker, trained
on one percent of the training queries, ranks the others; its ten best documents are
shown so many times, and a simulated user clicks on them by their grades, but looks at
place k with probability 1 / k only. Rankers are trained on the clicks and measured on
the true grades of the test queries, beside the same rankers trained on the true grades
of the same documents (the skyline) and on the clicks as if they were grades (naive).

"gain" is the difference from the naive ranker of the same family, paired by seed; ± is
half of its 95 % interval over seeds, each with another fold or split, another
production ranker and other clicks. "gap" is the share of the distance from the naive
ranker to the skyline that the gain makes up for. For more than ten sessions of a query
(``--times``), rankers learn from click rates, with one row for each document.

Run ``python -m benchmarks.clicks``; ``--help`` lists the options. MQ2008 is looked for
in the folder named by SKRANK_DATA (default ``../shared/data``); the other collection is
made of installed documentation.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student
from sklearn.preprocessing import StandardScaler

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.click import Sessions, SimulatedUser
from skrank.datasets import load_letor, load_see_also
from skrank.metrics import evaluate_measure
from skrank.model_selection import train_test_query_split
from skrank.rankers import LambdaMART, RankSVM
from skrank.unbiased import (
    DualLearningRanker,
    InterventionPropensities,
    PropensityWeightedRanker,
    RegressionEM,
    UnbiasedLambdaMART,
)

MEASURE = "ndcg@10"
SHOWN = 10  # documents of a query
LONGEST = 10  # up to so many times, there is a row for each document each time
TREES: dict[str, Any] = {"n_estimators": 100, "min_samples_leaf": 50, "random_state": 0}
USERS = ("perfect", "navigational", "informational")
REGULARIZATION = (0.0, 0.1, 0.3, 1.0, 3.0)  # to choose the default from


class Log(NamedTuple):
    """What rankers learn from: a row for each document each time that it was shown.

    In what `Shown.rates` returns, the clicks are shares of the times, and a document
    has one row.
    """

    X: np.ndarray
    clicks: np.ndarray
    grades: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    propensities: np.ndarray
    swaps: Sessions | None = None


class Shown(NamedTuple):
    """What was shown, query after query, and a row of clicks for each time it was."""

    X: np.ndarray
    grades: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    clicks: np.ndarray
    propensities: np.ndarray
    swaps: Sessions

    def rates(self):
        """Return the log with one row for each document."""
        clicks = self.clicks.mean(axis=0)
        return Log(self.X, clicks, *self[1:4], self.propensities)

    def sessions(self):
        """Return the log with one row for each document and session."""
        n_times, n_queries = len(self.clicks), int(self.groups[-1]) + 1
        shifts = np.repeat(np.arange(n_times) * n_queries, len(self.groups))
        return Log(
            np.tile(self.X, (n_times, 1)),
            self.clicks.ravel(),
            np.tile(self.grades, n_times),
            np.tile(self.groups, n_times) + shifts,
            np.tile(self.positions, n_times),
            self.propensities,
            self.swaps,
        )


class Contestant(NamedTuple):
    """A ranker, what it is measured against, and how it is trained."""

    family: str
    train: Callable[[Log], Any]
    of_rates: bool = False


def mq2008(seed, part="test"):
    """Queries of one of the five folds: to train on, and to measure on."""
    fold = Path(os.environ.get("SKRANK_DATA", "../shared/data")) / "MQ2008"
    fold /= f"Fold{seed % 5 + 1}"
    return tuple(
        tuple(load_letor(fold / f"{part}.txt", dtype=np.float64))[:3]
        for part in ("train", PARTS[part])
    )


def see_also(seed, part="test"):
    """Half of the queries to test; of the others, half are validation queries."""
    X, y, groups = load_see_also()
    for _ in range(1 if part == "test" else 2):
        parts = train_test_query_split(
            X, y, groups=groups, test_size=0.5, random_state=seed
        )
        X, X_test, y, y_test, groups, groups_test = parts
    scaler = StandardScaler().fit(X)
    return (scaler.transform(X), y, groups), (
        scaler.transform(X_test),
        y_test,
        groups_test,
    )


PARTS = {"test": "test", "validation": "vali"}  # and the names of their files
DATA = {"MQ2008": mq2008, "see_also": see_also}


def production_ranking(X, y, groups, rng):
    """Rows of the documents that a ranker of few judgements shows, best first."""
    ids = np.unique(groups)
    best = np.zeros(len(ids))
    np.maximum.at(best, np.searchsorted(ids, groups), y)
    judged = rng.permutation(ids[best > 0])[: max(2, round(0.01 * len(ids)))]
    rows = np.isin(groups, judged)
    ranker = RankSVM(alpha=0.1).fit(X[rows], y[rows], groups[rows])
    return ranker.top_documents(X, groups, k=SHOWN)


def make_log(train, user, n_times, seed):
    """Clicks on what the production ranker shows, and on swaps of its documents."""
    X, y, groups = train
    rng = np.random.RandomState(seed)
    rows = production_ranking(X, y, groups, rng)
    _, first, sizes = np.unique(groups[rows], return_index=True, return_counts=True)
    order = np.argsort(first)
    sizes = sizes[order]
    places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ptr = np.append(0, np.cumsum(sizes))
    clicks = [user.click(y[rows], ptr, random_state=rng) for _ in range(n_times)]
    return Shown(
        X[rows],
        y[rows],
        np.repeat(np.arange(len(sizes)), sizes),
        places + 1,
        np.array(clicks, dtype=np.float64),
        user.propensities(SHOWN),
        swapped(rows, y, sizes, user, rng, min(n_times, LONGEST)),
    )


def swapped(rows, y, sizes, user, rng, n_times):
    """Sessions in which the first document changes its place with one at random."""
    ptr = np.append(0, np.cumsum(np.tile(sizes, n_times)))
    first = ptr[:-1]
    other = first + (rng.random_sample(len(first)) * np.diff(ptr)).astype(int)
    shown = np.tile(rows, n_times)
    shown[first], shown[other] = shown[other], shown[first]
    clicks = user.click(y[shown], ptr, random_state=rng)
    session = np.repeat(np.arange(len(first)), np.diff(ptr))
    query = session % len(sizes)
    places = np.arange(len(shown)) - np.repeat(first, np.diff(ptr))
    return Sessions.from_arrays(session, query, shown, places + 1, clicks)


def on_grades(make):
    """Train on true grades."""
    return lambda log: make().fit(log.X, log.grades, log.groups)


def on_clicks(make):
    """Train on clicks as if they were grades."""
    return lambda log: make().fit(log.X, log.clicks, log.groups)


def on_places(make):
    """Train on clicks and where they happened."""

    def train(log):
        return make(log).fit(log.X, log.clicks, log.groups, positions=log.positions)

    return train


def weighted(make, find, **options):
    """Train on clicks weighted by propensities; ``find(log)`` says which."""
    return on_places(lambda log: PropensityWeightedRanker(make(), find(log), **options))


def known(log):
    """The propensities of the simulation."""
    return log.propensities


def by_swaps(log):
    """Propensities from swaps with the first place."""
    return InterventionPropensities("all_pairs").fit(log.swaps).propensities_


def by_em(log):
    """An estimator of propensities from the log itself."""
    return RegressionEM(tol=0.02)


def svm():
    """Return a linear ranker."""
    return RankSVM(alpha=1e-3)


def trees():
    """Return boosted trees."""
    return LambdaMART(**TREES)


def trees_of_rates():
    """Return boosted trees for grades that are estimates of relevance."""
    return LambdaMART("ndcg(gain=linear)@30", **TREES)


class _LightGBM(NamedTuple):
    booster: Any

    def predict(self, X):
        return self.booster.predict(X)


def lightgbm(regularization=None):
    """Train LightGBM, with its own correction of places if there is a number."""

    def train(log):
        import lightgbm

        debiased = regularization is not None
        data = lightgbm.Dataset(
            log.X,
            log.clicks,
            group=np.bincount(log.groups),
            position=log.positions if debiased else None,
        )
        parameters = {
            "objective": "lambdarank",
            "verbose": -1,
            "seed": 0,
            "num_threads": len(os.sched_getaffinity(0)),
            "min_data_in_leaf": TREES["min_samples_leaf"],
        }
        if debiased:
            parameters["lambdarank_position_bias_regularization"] = regularization
        rounds = TREES["n_estimators"]
        return _LightGBM(lightgbm.train(parameters, data, num_boost_round=rounds))

    return train


def unbiased(regularization):
    """Return the training of UnbiasedLambdaMART at a setting."""
    options = TREES | {"regularization": regularization}
    return Contestant("trees", on_places(lambda log: UnbiasedLambdaMART(**options)))


CONTESTANTS = {
    "RankSVM, true grades": Contestant("linear", on_grades(svm)),
    "RankSVM, naive": Contestant("linear", on_clicks(svm)),
    "RankSVM, IPW, known": Contestant("linear", weighted(svm, known)),
    "RankSVM, IPW, click by click": Contestant(
        "linear", weighted(svm, known, estimate="clicks")
    ),
    "RankSVM, IPW, swaps": Contestant("linear", weighted(svm, by_swaps)),
    "RankSVM, IPW, RegressionEM": Contestant("linear", weighted(svm, by_em)),
    "DualLearningRanker": Contestant(
        "linear",
        on_places(lambda log: DualLearningRanker(max_iter=20, random_state=0)),
    ),
    "LambdaMART, true grades": Contestant("trees", on_grades(trees)),
    "LambdaMART, naive": Contestant("trees", on_clicks(trees)),
    "LambdaMART, IPW, known": Contestant("trees", weighted(trees, known)),
    "LambdaMART, IPW, click by click": Contestant(
        "trees", weighted(trees, known, estimate="clicks")
    ),
    "UnbiasedLambdaMART": Contestant(
        "trees", on_places(lambda log: UnbiasedLambdaMART(**TREES))
    ),
    **{f"UnbiasedLambdaMART, p={p:g}": unbiased(p) for p in REGULARIZATION},
    "LambdaMART, click rates": Contestant("trees", on_clicks(trees_of_rates), True),
    "LambdaMART, IPW, click rates": Contestant(
        "trees", weighted(trees_of_rates, known, estimate="grades"), True
    ),
    "LightGBM, naive": Contestant("trees", lightgbm()),
    "LightGBM, position bias": Contestant("trees", lightgbm(0.0)),
}
NEEDS = {"LightGBM": "lightgbm"}


def run(options):
    """Return test measures of all seeds, by collection, user, noise and times."""
    found: dict[tuple, dict[str, list[float]]] = {}
    for data in options.data:
        for seed in range(options.seeds):
            train, test = DATA[data](seed, options.part)
            for key in product(options.users, options.noise, options.times):
                behaviour, noise, times = key
                user = SimulatedUser(
                    behaviour, examination="position", eta=options.eta, noise=noise
                )
                shown = make_log(train, user, times, seed)
                cell = found.setdefault((data, *key), {})
                measure_all(options.rankers, shown, test, cell)
                print(f"  {data} {seed} {key}", file=sys.stderr)
    return found


def measure_all(names, shown, test, cell):
    """Train the contestants and add what they reach on the test queries."""
    X, y, groups = test
    rates = shown.rates()
    log = shown.sessions() if len(shown.clicks) <= LONGEST else None
    for name in names:
        contestant = CONTESTANTS[name]
        own = rates if contestant.of_rates else log
        if own is None and name.endswith("true grades"):
            own = rates  # they do not depend on the clicks
        if own is None:
            continue
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of EM that has not met its tolerance
            ranker = contestant.train(own)
        value = evaluate_measure(MEASURE, y, ranker.predict(X), groups=groups)
        cell.setdefault(name, []).append(float(value))
        cell.setdefault(f"{name} (s)", []).append(time.perf_counter() - begin)


def interval(values):
    """Mean over seeds, and half of its 95 % interval."""
    n = len(values)
    if n < 2:
        return float(np.mean(values)), float("nan")
    spread = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
    return float(np.mean(values)), float(spread)


def ends_of(cell, name):
    """Measures of the naive ranker of the same family and of its skyline, by seed."""
    contestant = CONTESTANTS[name]
    base = "RankSVM" if contestant.family == "linear" else "LambdaMART"
    naive = "click rates" if contestant.of_rates else "naive"
    ends = [cell.get(f"{base}, {end}") for end in (naive, "true grades")]
    return None if None in ends else np.array(ends)


def compared(cell, name):
    """Gain over the naive ranker, half of its interval, and the share of the gap."""
    ends = ends_of(cell, name)
    if ends is None:
        return float("nan"), float("nan"), float("nan")
    gain, half = interval(np.array(cell[name]) - ends[0])
    distance = float(np.mean(ends[1] - ends[0]))
    return gain, half, gain / distance if distance else float("nan")


def table(data, found, names):
    """Aligned text: a row for each ranker, three columns for each user and noise."""
    cells = {key[1:]: cell for key, cell in found.items() if key[0] == data}
    heads = [f"{user[:4]}.{noise:g}×{times}" for user, noise, times in cells]
    width = max(map(len, names)) + 2
    title = f"{data}, {MEASURE}"
    lines = [
        f"{title:<{width}}" + "".join(f"{h:>16}{'gain':>14}{'gap':>6}" for h in heads)
    ]
    lines.append("-" * len(lines[0]))
    for name in names:
        texts = []
        for cell in cells.values():
            if name not in cell:
                texts.append(" " * 36)
                continue
            gain, half, share = compared(cell, name)
            mean = f"{np.mean(cell[name]):.3f}"
            texts.append(f"{mean:>16}{f'{gain:+.3f}±{half:.3f}':>14}{share:>6.2f}")
        lines.append(f"{name:<{width}}" + "".join(texts))
    return "\n".join(lines)


def measured(cell):
    """Measures of a cell, without the times."""
    return {name: values for name, values in cell.items() if name in CONTESTANTS}


def draw(record):
    """Each collection and user in a panel, at its lowest noise."""
    first = {}
    for cell in record["cells"]:
        first.setdefault((cell["data"], cell["user"]), cell)
    return bar_figure(
        [
            Panel(f"{data}, {user}\n{MEASURE}", cell["mean and half width"], "points")
            for (data, user), cell in first.items()
        ]
    )


def parse_arguments(argv):
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clicks", description=__doc__
    )
    usable = [
        name
        for name in CONTESTANTS
        if all(
            find_spec(needed) for key, needed in NEEDS.items() if name.startswith(key)
        )
    ]
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--users", nargs="+", default=list(USERS), choices=USERS)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.1, 0.3])
    usual = [name for name in usable if ", p=" not in name]
    parser.add_argument("--rankers", nargs="+", default=usual, choices=usable)
    parser.add_argument(
        "--part", default="test", choices=PARTS, help="queries to measure on"
    )
    parser.add_argument("--eta", type=float, default=1.0, help="steepness of places")
    parser.add_argument(
        "--times", nargs="+", type=int, default=[10], help="sessions of a query"
    )
    parser.add_argument("--seeds", type=int, default=5)
    add_outputs(parser)
    return parser.parse_args(argv)


def main(argv=None):
    """Simulate, train and measure, and print a table for each collection."""
    options = parse_arguments(argv)
    root = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
    if "MQ2008" in options.data and not root.is_dir():
        sys.exit(f"no data in {root}; set SKRANK_DATA, or choose --data see_also")
    found = run(options)
    for data in options.data:
        print(table(data, found, options.rankers), end="\n\n")
    cells = [
        {
            "data": data,
            "user": user,
            "noise": noise,
            "times": times,
            "values": cell,
            "mean and half width": {n: interval(v) for n, v in measured(cell).items()},
            "gain, half width, gap": {n: compared(cell, n) for n in measured(cell)},
        }
        for (data, user, noise, times), cell in found.items()
    ]
    settings = {name: getattr(options, name) for name in ("eta", "seeds")}
    record = {"settings": settings, "cells": cells}
    write_outputs(options, record, lambda: draw(record))


if __name__ == "__main__":
    main()
