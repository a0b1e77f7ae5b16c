"""The published order of the models, on held-out sessions of a real log."""

import numpy as np
import pytest

from skrank.click import (
    CascadeModel,
    ClickChainModel,
    DependentClickModel,
    DynamicBayesianNetwork,
    PositionBasedModel,
    RandomClickModel,
    UserBrowsingModel,
    load_sessions,
)

MODELS = {
    "ubm": UserBrowsingModel(tol=1e-4),
    "dbn": DynamicBayesianNetwork(tol=1e-4),
    "dcm": DependentClickModel(),
    "ccm": ClickChainModel(),
    "pbm": PositionBasedModel(tol=1e-4),
    "cascade": CascadeModel(),
    "random": RandomClickModel(),
}


@pytest.fixture(scope="module")
def held_out(data_dir):
    """Perplexities and log-likelihoods of every fourth session of a log."""
    path = data_dir / "yandex-clicks" / "trainSample"
    sessions = load_sessions(path, format="yandex", stray_clicks="drop")
    test = np.arange(len(sessions)) % 4 == 0
    perplexity, likelihood = {}, {}
    for name, model in MODELS.items():
        model.fit(sessions[~test])
        perplexity[name] = model.perplexity(sessions[test], per_rank=False)
        likelihood[name] = model.score(sessions[test])
    return perplexity, likelihood


def test_order_of_perplexities(held_out):
    perplexity, _ = held_out
    assert perplexity["ubm"] < perplexity["dcm"] < perplexity["cascade"]
    assert perplexity["dbn"] < perplexity["dcm"]
    assert max(perplexity.values()) == perplexity["random"]


def test_order_of_likelihoods(held_out):
    _, likelihood = held_out
    assert likelihood["ubm"] > likelihood["dbn"] > likelihood["dcm"] > -np.inf
    assert likelihood["ubm"] > likelihood["pbm"] > likelihood["random"]
    assert likelihood["cascade"] == -np.inf
