"""Fitted rankers that several files export."""

import pytest
from _exported import LINEAR_RANKERS, TREE_RANKERS, make_data
from sklearn.base import clone


@pytest.fixture(scope="session")
def data():
    """A small ranking task."""
    return make_data()


@pytest.fixture(scope="session")
def forests():
    """Fitted rankers of trees, on data with missing values and without."""
    return {
        (type(ranker).__name__, missing): ranker.fit(*make_data(missing))
        for missing in (0.0, 0.3)
        for ranker in map(clone, TREE_RANKERS)
    }


@pytest.fixture(
    params=[(type(r).__name__, m) for r in TREE_RANKERS for m in (0.0, 0.3)],
    ids=lambda pair: f"{pair[0]}-{'missing' if pair[1] else 'complete'}",
)
def forest(request, forests):
    """One fitted ranker of trees."""
    return forests[request.param]


@pytest.fixture(params=LINEAR_RANKERS, ids=lambda r: type(r).__name__)
def linear(request, data):
    """One fitted linear ranker."""
    return clone(request.param).fit(*data)
