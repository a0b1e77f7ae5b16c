"""Valid calls of counterfactual evaluation, for `_calls`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank import unbiased
from skrank.click import Sessions

LISTS = [["a", "b"], ["b", "a"], ["a", "b"]]
TABLE = {"groups": ["q", "q", "p", "p"], "docids": ["a", "b", "a", "b"]}
RUNS = {"one": [2.0, 1.0, 2.0, 1.0], "two": [1.0, 2.0, 1.0, 2.0]}


def log() -> Sessions:
    """Return three sessions of two queries."""
    return Sessions.from_lists(["q", "q", "p"], LISTS, [[0, 1], [1, 1], [1, 0]])


def evaluate(evaluator, **more) -> unbiased.CounterfactualEstimate:
    """Use an evaluator, which checks its parameters."""
    given = {"relevance": [0.5] * 4, **more}
    if evaluator.propensities is None:
        given["propensities"] = [1.0, 0.5] * 3
    return evaluator.evaluate(log(), RUNS, **TABLE, **given)


def _evaluator():
    return unbiased.CounterfactualEvaluator("dcg", [1.0, 0.5])


def _estimate():
    return evaluate(_evaluator())


def functions(call: Callable) -> dict[str, Any]:
    """Return the calls of functions."""
    return {
        "unbiased.evaluate_lists": call(
            unbiased.evaluate_lists,
            rewards=[1.0, 0.0, 2.0],
            logged=[-1.0, -2.0, -1.0],
            runs={"one": [-1.5, -1.0, -0.5]},
            groups=["q", "q", "p"],
        ),
        "unbiased.plackett_luce_exposure": call(
            unbiased.plackett_luce_exposure,
            scores=[2.0, 1.0],
            groups=["q", "q"],
            propensities=[1.0, 0.5],
            n_samples=3,
        ),
        "unbiased.plackett_luce_log_probability": call(
            unbiased.plackett_luce_log_probability,
            sessions=log(),
            scores=[2.0, 1.0, 2.0, 1.0],
            **TABLE,
        ),
    }


def methods(method: Callable) -> dict[str, Any]:
    """Return the calls of methods."""
    return {
        "CounterfactualEstimate.difference": method(
            _estimate, "difference", first="one", second="two"
        ),
        "CounterfactualEstimate.to_html": method(_estimate, "to_html", digits=2),
        "CounterfactualEstimate.to_text": method(_estimate, "to_text", digits=2),
        "CounterfactualEvaluator.evaluate": method(
            _evaluator,
            "evaluate",
            sessions=log(),
            runs=RUNS,
            **TABLE,
            X=np.eye(4),
            exposure="logged",
            relevance=[0.5] * 4,
        ),
    }


#: How classes with parameters are used.
USES: dict[type, Callable] = {unbiased.CounterfactualEvaluator: evaluate}

#: Records that functions return.
RETURNED = ("CounterfactualEstimate",)
