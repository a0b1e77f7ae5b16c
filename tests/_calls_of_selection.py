"""Valid calls of selectors of documents and of features, for `_calls`."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from skrank import inspection, selection
from skrank.rankers import RankSVM, SubsetRegression
from skrank.selection._feature_base import BaseFeatureSelector

GROUPS = np.repeat([0, 1, 2], 4)
GRADES = np.array([2.0, 0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1])
X = np.random.default_rng(0).normal(size=(12, 3)) + GRADES[:, None]
ROWS = {"X": X, "y": GRADES, "groups": GROUPS}
TEST = {"X_test": X, "y_test": GRADES, "groups_test": GROUPS}
JUDGED = np.ma.masked_array(GRADES, mask=np.arange(12) % 2)
SHORT = {"n_initial": 6, "batch": 2, "n_rounds": 1}


@cache
def _ranker():
    return RankSVM(max_iter=5).fit(**ROWS)


@cache
def _comparison():
    return selection.compare_selectors(
        SubsetRegression(), **ROWS, **TEST, **SHORT, selectors={}, n_repeats=1
    )


def _selector():
    return selection.SelectByMeasure(1).fit(**ROWS)


def _selection():
    return selection.InfAPSampling(0.5, random_state=0).select(X, GROUPS)


# Two curves, one of them with a band.
_CURVES = {
    "n_documents": {"a": [1.0, 2.0], "b": [1.0, 2.0]},
    "values": {"a": [0.1, 0.2], "b": [0.2, 0.3]},
    "intervals": {"a": [[0.0, 0.2], [0.1, 0.3]]},
}


def display(make: Callable) -> dict[str, Any]:
    """Return the call that draws a display."""
    return {"LearningCurveDisplay": make(inspection.LearningCurveDisplay, **_CURVES)}


def functions(call: Callable) -> dict[str, Any]:
    """Return the calls of functions."""
    given = {"ranker": SubsetRegression(), **ROWS, **TEST, **SHORT}
    return {
        "selection.active_learning": call(selection.active_learning, **given),
        "selection.compare_selectors": call(
            selection.compare_selectors,
            **given,
            selectors={"a": selection.RandomSelection()},
            n_repeats=1,
        ),
        "selection.stat_ap": call(
            selection.stat_ap,
            selection=_selection(),
            y=GRADES,
            scores=X[:, 0],
            groups=GROUPS,
        ),
    }


def methods(method: Callable) -> dict[str, Any]:
    """Return the calls of methods."""
    pool = {"ranker": _ranker(), "X": X, "groups": GROUPS, "y": JUDGED}
    explore = {"strategy": "largest_loss_pair", "n_members": 2}
    return {
        "ActiveExploration.rank": method(
            lambda: selection.ActiveExploration(**explore), "rank", **pool
        ),
        "BaseActiveSelector.select": method(
            selection.SVMSelectiveSampling, "select", **pool
        ),
        "BaseTrainingSelector.select": method(
            selection.MTCSelection, "select", scores=X, groups=GROUPS, y=GRADES
        ),
        "PPCSelection.select_pairs": method(
            selection.PPCSelection, "select_pairs", X=X, groups=GROUPS, y=GRADES
        ),
        "TrainingSelection.joint_probability": method(
            _selection, "joint_probability", first=[0, 1], second=[1, 2]
        ),
        "TrainingSelection.to_qrels": method(
            _selection, "to_qrels", y=GRADES, groups=GROUPS, docids=np.arange(12)
        ),
        "LearningCurveDisplay.plot": method(
            lambda: inspection.LearningCurveDisplay(**_CURVES), "plot"
        ),
        "LearningCurveDisplay.from_comparison": method(
            lambda: inspection.LearningCurveDisplay,
            "from_comparison",
            comparison=_comparison(),
        ),
        "BaseFeatureSelector.fit": method(selection.SelectByMeasure, "fit", **ROWS),
        "BaseFeatureSelector.inverse_transform": method(
            _selector, "inverse_transform", X=X[:, :1]
        ),
        "BaseFeatureSelector.transform": method(_selector, "transform", X=X),
        "SelectorComparison.difference": method(
            _comparison, "difference", selector="random", reference="random"
        ),
        "SelectorComparison.interval": method(
            _comparison, "interval", selector="random"
        ),
        "SelectorComparison.mean": method(_comparison, "mean", selector="random"),
    }


def _select(selector):
    return selector.select(_ranker(), X, GROUPS, 1, y=JUDGED)


#: What is done with an object so that its parameters are looked at.
USES = {
    selection.BaseActiveSelector: _select,
    BaseFeatureSelector: lambda selector: selector.fit(**ROWS),
    selection.BaseTrainingSelector: lambda selector: selector.select(
        X, GROUPS, y=GRADES
    ),
}
RETURNED = ("ActiveLearningRun", "SelectorComparison", "TrainingSelection")
# What has no default, or none that suits three queries.
NEEDED = {"QueryRFECV": lambda: {"cv": 2, "n_repeats": 1}}
