"""A valid call of every method of the models of clicks."""

from functools import cache

from skrank import inspection
from skrank.click import (
    BaseClickModel,
    BayesianBrowsingModel,
    CascadeModel,
    DocumentClickModel,
    DynamicBayesianNetwork,
    Sessions,
)

CLICKS = [[1, 0], [1, 1], [0, 0], [0, 1]]
# What is done with a model so that its parameters are looked at.
USES = {BaseClickModel: lambda model: model.fit(log())}


@cache
def log():
    """Return a small log."""
    return Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, CLICKS)


def _fitted():
    return CascadeModel().fit(log())


def _posterior():
    return BayesianBrowsingModel().fit(log())


DISPLAYS = (inspection.ExaminationCurveDisplay, inspection.PerplexityCurveDisplay)
CURVES = {"cascade": [1.0, 0.5]}


def displays(call, method):
    """Return calls of displays by the names of methods."""
    calls = {}
    for cls in DISPLAYS:
        name, more = cls.__name__, {}
        if cls is inspection.PerplexityCurveDisplay:
            more["kind"] = "marginal"
        calls[f"{name}.from_models"] = call(
            cls.from_models, models=_fitted(), sessions=log(), **more
        )
    # Both have it from their base class.
    drawn = method(lambda: inspection.ExaminationCurveDisplay(CURVES), "plot")
    return calls | {"_RankCurves.plot": drawn}


def methods(method):
    """Return calls by the names of methods."""
    pair = {"query": "q", "document": "a"}
    of_sessions = {"sessions": log()}
    kind = {"kind": "marginal"}
    models = {
        "BaseClickModel.examination_by_rank": of_sessions,
        "BaseClickModel.log_likelihood": of_sessions | {"per_session": True},
        "BaseClickModel.perplexity": of_sessions | kind | {"per_rank": True},
        "BaseClickModel.predict_examination": of_sessions,
        "BaseClickModel.predict_proba": of_sessions | kind,
        "BaseClickModel.relevance": pair,
        "BaseClickModel.relevance_table": {"as_frame": False},
        "BaseClickModel.score": of_sessions,
    }
    calls = {
        name: method(_fitted, name.rpartition(".")[2], **arguments)
        for name, arguments in models.items()
    }
    return calls | {
        "BaseClickModel.fit": method(CascadeModel, "fit", **of_sessions),
        "BaseClickModel.sample": method(
            _fitted, "sample", queries=["q"], documents=[["a", "b"]], random_state=0
        ),
        "BaseCountingModel.fit": method(DocumentClickModel, "fit", **of_sessions),
        "BaseCountingModel.merge": method(_fitted, "merge", other=_fitted()),
        "BaseCountingModel.partial_fit": method(_fitted, "partial_fit", **of_sessions),
        "BasePosteriorModel.preference": method(
            _posterior, "preference", **pair, other="b"
        ),
        "BasePosteriorModel.relevance_density": method(
            _posterior, "relevance_density", **pair, n_points=9
        ),
        "DynamicBayesianNetwork.fit": method(
            DynamicBayesianNetwork, "fit", **of_sessions
        ),
    }
