"""Valid calls of what reads logs and makes labels of them, for `_calls`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from skrank import click
from skrank.rankers import RankSVM

LISTS = [["a", "b"], ["b", "a"]]
COLUMNS = {
    "session": [1, 1, 2],
    "query": ["q", "q", "p"],
    "document": ["b", "a", "a"],
    "position": [2, 1, 1],
    "click": [1, 0, 0],
}
FRAME = pd.DataFrame(COLUMNS)
_JUDGED = {"q": {"a": 1, "b": 0}}
_TABLE = {"X": np.eye(2), "groups": ["q", "q"], "docids": ["a", "b"]}


def log() -> click.Sessions:
    """Return two sessions of one query."""
    return click.Sessions.from_lists(["q", "q"], LISTS, [[0, 1], [1, 1]])


def _graph():
    return click.ClickGraph().fit(log())


def _model():
    return click.InteractionModel(RankSVM(max_iter=2)).fit(log(), _JUDGED)


def functions(call: Callable) -> dict[str, Any]:
    """Return the calls of functions."""
    return {
        "click.interaction_features": call(click.interaction_features, sessions=log()),
        "click.to_labels": call(click.to_labels, model=[0.5, 0.7], pairs=log()),
        "click.to_preferences": call(
            click.to_preferences, source=[0.5, 0.7], pairs=log()
        ),
        "click.to_propensities": call(
            click.to_propensities, model=[1.0, 0.5], sessions=log()
        ),
        "click.to_rows": call(click.to_rows, sessions=log(), **_TABLE),
    }


def methods(method: Callable) -> dict[str, Any]:
    """Return the calls of methods."""
    ids = {"groups": ["q", "q"], "docids": ["a", "b"]}
    pairs = {"query": ["q", "q"], "document": ["a", "b"]}
    return {
        "ClickGraph.fit": method(click.ClickGraph, "fit", sessions=log()),
        "ClickGraph.relevance": method(_graph, "relevance", **pairs),
        "ClickGraph.similar_queries": method(_graph, "similar_queries", query="q"),
        "ClickPreferences.rows": method(
            lambda: click.to_preferences(log()), "rows", **ids
        ),
        "InteractionModel.fit": method(
            lambda: click.InteractionModel(RankSVM(max_iter=2)),
            "fit",
            sessions=log(),
            qrels=_JUDGED,
        ),
        "InteractionModel.predict": method(_model, "predict", sessions=log()),
        "InteractionModel.relevance": method(_model, "relevance", **pairs),
        "Sessions.concat": method(log, "concat", parts=[log()]),
        "Sessions.from_arrays": method(log, "from_arrays", **COLUMNS),
        "Sessions.from_frame": method(log, "from_frame", frame=FRAME),
        "Sessions.from_lists": method(
            log,
            "from_lists",
            queries=["q", "q"],
            documents=LISTS,
            clicks=[[0, 1], [1, 0]],
        ),
    }


#: How classes with parameters are used.
USES: dict[type, Callable] = {
    click.ClickGraph: lambda graph: graph.fit(log()),
    click.Sessions: lambda sessions: sessions.columns(),
    click.InteractionModel: lambda model: model.fit(log(), _JUDGED),
}
#: Arguments of constructors that have no default.
NEEDED: dict[str, Callable] = {
    "Sessions": lambda: {
        "query": [0],
        "document": [0, 1],
        "click": [0, 1],
        "ptr": [0, 2],
        "query_ids": ["q"],
        "document_ids": ["a", "b"],
    },
}
#: Functions that read and write files.
READ_AND_WRITE = {"click.iter_sessions", "click.load_sessions", "click.save_sessions"}
