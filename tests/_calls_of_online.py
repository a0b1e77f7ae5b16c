"""Valid calls of interleavings and of rankers that learn online, for `_calls`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank import inspection, online

LISTS = [["a", "b", "c"], ["b", "c", "a"]]
GROUPS = np.repeat([0, 1, 2], 4)
GRADES = np.array([2.0, 0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1])
X = np.random.default_rng(0).normal(size=(12, 3)) + GRADES[:, None]
_ROWS = {"X": X, "y": GRADES, "groups": GROUPS}
_RUNS = {"a": X[:, 0], "b": X[:, 1]}
_CURVES = {
    "impressions": {"a": [0, 5]},
    "offline": {"a": [[0.2, 0.4]]},
    "steps": {"a": [1, 2]},
    "regret": {"a": [[0.1, 0.2]]},
    "measure_name": "ndcg@10",
}


def _mixed():
    return online.TeamDraftInterleaving().interleave(LISTS, 0)


def _run():
    return online.simulate_online(
        online.PDGD(), **_ROWS, n_impressions=5, random_state=0
    )


def interleave(method) -> Any:
    """Use an interleaving, which checks its parameters."""
    return method.interleave(LISTS, 0)


def functions(call: Callable) -> dict[str, Any]:
    """Return the calls of functions."""
    return {
        "online.compare_interleaved": call(
            online.compare_interleaved,
            runs=_RUNS,
            y=GRADES,
            groups=GROUPS,
            n_impressions=20,
        ),
        "online.simulate_online": call(
            online.simulate_online,
            ranker=online.PDGD(),
            **_ROWS,
            n_impressions=5,
            X_val=X,
            y_val=GRADES,
            groups_val=GROUPS,
        ),
    }


def methods(method: Callable) -> dict[str, Any]:
    """Return the calls of methods."""
    return {
        "BaseClickRanker.partial_fit": method(
            online.PDGD, "partial_fit", X=X, clicks=GRADES > 1, groups=GROUPS
        ),
        "BaseClickRanker.propose": method(online.PDGD, "propose", X=X, groups=GROUPS),
        "BaseInterleaving.interleave": method(
            online.TeamDraftInterleaving, "interleave", rankings=LISTS
        ),
        "InterleavedList.credit": method(_mixed, "credit", clicks=[1, 0, 0]),
        "InterleavingComparison.from_credits": method(
            lambda: online.InterleavingComparison,
            "from_credits",
            credits=np.eye(2),
            names=["a", "b"],
        ),
        "RegretCurveDisplay.plot": method(
            lambda: inspection.RegretCurveDisplay(**_CURVES), "plot"
        ),
        "RegretCurveDisplay.from_runs": method(
            lambda: inspection.RegretCurveDisplay, "from_runs", runs={"a": _run()}
        ),
    }


#: How objects are used whose parameters are checked then.
USES: dict[type, Callable] = {online.BaseInterleaving: interleave}

#: Records that functions return.
RETURNED = {"InterleavedList", "InterleavingComparison", "OnlineRun", "Proposal"}


def display(make: Callable) -> dict[str, Any]:
    """Return the call that draws a display."""
    return {"RegretCurveDisplay": make(inspection.RegretCurveDisplay, **_CURVES)}
