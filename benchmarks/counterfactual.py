"""Estimates of what a ranker would reach, from clicks on another one, beside the truth.

A production ranker, trained on one percent of the training queries, draws lists of ten
documents by the Plackett–Luce distribution; a simulated user looks at place k with
probability 1 / k and clicks by the grades. From such logs of several lengths, DCG@10 of
a better ranker is estimated, where the gain of a document is the probability of a click
by who looks at it. That is known, so that bias, error and intervals can be judged.

Bias and RMSE are those of many logs, in percent of the truth; "coverage" is the share
of logs whose interval holds the truth, and "choice" that in which the difference of
both rankers is significant and of the right sign. Predictions of "dm" and "dr" are a
linear regression on the features, learned from a log of its own.

Run ``python -m benchmarks.counterfactual``; ``--help`` lists the options. MQ2008 is
looked for in the folder named by SKRANK_DATA (default ``../shared/data``); the other
collection is made of installed documentation.
"""

import argparse
import os
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.clicks import DATA, USERS
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank._core._queries import rows_of_queries
from skrank._core._segments import segment_order
from skrank.click import Sessions, SimulatedUser
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import RankSVM
from skrank.unbiased import CounterfactualEvaluator, plackett_luce_exposure

SHOWN = 10
MEASURE = "dcg@10"
GRADES = {"MQ2008": 2, "see_also": 4}  # the best, whether it occurs or not
PLACES = 1.0 / np.arange(1, SHOWN + 1)
# Options of the evaluator, what it is given besides, and what clicks weigh by.
CONTESTANTS = {
    "naive": ({"propensities": np.ones(SHOWN)}, ()),
    "ips, by place": ({}, ()),
    "ips": ({}, ("exposure",)),
    "ips, clip=0.05": ({"clip": 0.05}, ("exposure",)),
    "snips": ({"estimator": "snips"}, ("exposure",)),
    "dm": ({"estimator": "dm"}, ("relevance",)),
    "dr, by place": ({"estimator": "dr"}, ("relevance",)),
    "dr": ({"estimator": "dr"}, ("exposure", "relevance")),
    "dr, logged": ({"estimator": "dr", "logged": True}, ("exposure", "relevance")),
}


class Task(NamedTuple):
    """Documents that are ranked, by whom, and what users think of them."""

    X: np.ndarray
    groups: np.ndarray
    ptr: np.ndarray
    policy: np.ndarray
    runs: dict
    gamma: np.ndarray
    exposure: np.ndarray


def grouped(X, y, groups):
    """Rows with the documents of a query next to each other."""
    order = np.argsort(groups, kind="stable")
    _, codes = np.unique(groups[order], return_inverse=True)
    return X[order], y[order], codes


def make_task(data, user, seed):
    """Train both rankers, and look up what documents are worth."""
    train, test = (grouped(*part) for part in DATA[data](seed))
    X, y, groups = train
    rng = np.random.RandomState(seed)
    best = np.zeros(groups[-1] + 1)
    np.maximum.at(best, groups, y)
    some = rng.permutation(np.flatnonzero(best > 0))[: max(2, round(0.01 * len(best)))]
    rows = np.isin(groups, some)
    old = RankSVM(alpha=0.1).fit(X[rows], y[rows], groups[rows])
    new = RankSVM(alpha=1e-3).fit(X, y, groups)
    X, y, groups = test
    ptr = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups))
    scores = old.predict(X)
    scaled = QueryStandardScaler().fit_transform(scores[:, None], groups=groups).ravel()
    policy = 2.0 * scaled
    gamma = user.click_probability(y)
    exposure = plackett_luce_exposure(
        policy, groups, PLACES, n_samples=4000, random_state=seed
    )
    runs = {"new": new.predict(X), "old": scores}
    return Task(X, groups, ptr.astype(np.intp), policy, runs, gamma, exposure)


def make_log(task, n, rng):
    """Draw sessions: queries, lists and clicks."""
    queries = rng.randint(len(task.ptr) - 1, size=n)
    rows, ptr = rows_of_queries(task.ptr, queries)
    order = segment_order(task.policy[rows] + rng.gumbel(size=len(rows)), ptr)
    place = np.arange(len(rows)) - np.repeat(ptr[:-1], np.diff(ptr))
    kept = place < SHOWN
    shown = rows[(order + np.repeat(ptr[:-1], np.diff(ptr)))[kept]]
    click = rng.random_sample(len(shown)) < PLACES[place[kept]] * task.gamma[shown]
    bounds = np.append(0, np.cumsum(np.minimum(np.diff(ptr), SHOWN)))
    return Sessions(
        queries,
        shown,
        click.astype(np.uint8),
        bounds,
        np.arange(len(task.ptr) - 1),
        np.arange(len(task.groups)),
    )


def regression(task, log):
    """Predict the probability of a click by who looks, from the features."""
    looked = PLACES[log.position - 1]
    model = make_pipeline(StandardScaler(), Ridge(alpha=10.0))
    model.fit(task.X[log.document], log.click / looked, ridge__sample_weight=looked**2)
    return np.clip(model.predict(task.X), 0.0, 1.0)


def evaluate(name, task, log, predicted):
    """Return the estimate of one contestant."""
    options, uses = CONTESTANTS[name]
    options = {"propensities": PLACES, "unit": "session"} | options
    logged = options.pop("logged", False)
    given = {"exposure": "logged" if logged else task.exposure, "relevance": predicted}
    given = {key: given[key] for key in uses}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the log does not tell")
        return CounterfactualEvaluator(MEASURE, **options).evaluate(
            log, task.runs, task.groups, np.arange(len(task.groups)), **given
        )


def truths(task):
    """Return the measure of both rankers, and the mean weight of relevant documents."""
    queries = np.arange(len(task.ptr) - 1)
    once = Sessions(
        queries,
        task.ptr[:-1],
        np.zeros(len(queries)),
        np.append(queries, len(queries)),
        queries,
        np.arange(len(task.groups)),
    )
    found = evaluate("dm", task, once, task.gamma)
    return found.estimates, found.estimates / (task.gamma.sum() / len(queries))


def trial(name, found, truth, ratio):
    """Return relative error, coverage and choice of one estimate."""
    true = ratio if name == "snips" else truth
    low, high = found.intervals[0]
    gap = found.difference("new", "old")
    right = gap.pvalue < 0.05 and gap.estimate * (true[0] - true[1]) > 0
    return found["new"] / true[0] - 1, low <= true[0] <= high, right


def run(options):
    """Print a table for each setting, and return the figures of all."""
    cells = {}
    for data, behaviour, noise in product(options.data, options.users, options.noise):
        user = SimulatedUser(
            behaviour, examination="position", noise=noise, max_grade=GRADES[data]
        )
        trials = {}
        for seed in range(options.seeds):
            task = make_task(data, user, seed)
            truth, ratio = truths(task)
            rng = np.random.RandomState(1000 + seed)
            predicted = regression(task, make_log(task, 2000, rng))
            for n, _ in product(options.sessions, range(options.logs)):
                log = make_log(task, n, rng)
                for name in options.estimators:
                    found = evaluate(name, task, log, predicted)
                    trials.setdefault((n, name), []).append(
                        trial(name, found, truth, ratio)
                    )
            print(f"{data}, {behaviour}, noise {noise:g}: seed {seed}", file=sys.stderr)
        for (n, name), rows in trials.items():
            cells[data, behaviour, noise, n, name] = summary(rows)
        print(table(cells, (data, behaviour, noise), options), flush=True)
    return cells


def summary(rows):
    """Return bias, RMSE, coverage and choice in percent."""
    errors, covered, right = (np.array(column, float) for column in zip(*rows))
    return {
        "bias": 100 * float(np.nanmean(errors)),
        "RMSE": 100 * float(np.sqrt(np.nanmean(errors**2))),
        "coverage": 100 * float(covered.mean()),
        "choice": 100 * float(right.mean()),
    }


def table(cells, setting, options):
    """Text with a line for each contestant and number of sessions."""
    data, behaviour, noise = setting
    head = f"{'':16}{'sessions':>9}{'bias':>8}{'RMSE':>8}{'coverage':>10}{'choice':>8}"
    lines = [f"{data}, {behaviour} user, noise {noise:g}", head]
    for name, n in product(options.estimators, options.sessions):
        cell = cells[*setting, n, name]
        lines.append(
            f"{name:16}{n:9}{cell['bias']:+8.1f}{cell['RMSE']:8.1f}"
            f"{cell['coverage']:10.0f}{cell['choice']:8.0f}"
        )
    return "\n".join([*lines, ""])


def draw(record):
    """Draw the RMSE in each setting, for the longest logs."""
    most = max(cell["sessions"] for cell in record["cells"])
    panels = {}
    for cell in record["cells"]:
        if cell["sessions"] == most:
            key = f"{cell['data']}, {cell['user']}, {cell['noise']:g}\nRMSE in percent"
            panels.setdefault(key, {})[cell["estimator"]] = cell["RMSE"]
    return bar_figure([Panel(key, values) for key, values in panels.items()])


def parse_arguments(argv):
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.counterfactual", description=__doc__
    )
    names = list(CONTESTANTS)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--users", nargs="+", default=["navigational"], choices=USERS)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.1])
    parser.add_argument("--estimators", nargs="+", default=names, choices=names)
    parser.add_argument("--sessions", nargs="+", type=int, default=[300, 3000, 30_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--logs", type=int, default=40, help="logs of each seed")
    add_outputs(parser)
    return parser.parse_args(argv)


def main(argv=None):
    """Simulate and evaluate, and print a table for each setting."""
    options = parse_arguments(argv)
    root = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
    if "MQ2008" in options.data and not root.is_dir():
        sys.exit(f"no data in {root}; set SKRANK_DATA, or choose --data see_also")
    cells = run(options)
    names = ("data", "user", "noise", "sessions", "estimator")
    record = {"cells": [dict(zip(names, key)) | cell for key, cell in cells.items()]}
    write_outputs(options, record, lambda: draw(record))


if __name__ == "__main__":
    main()
