"""Runs that all tests of aggregation take."""

import pytest
from _runs import make_runs


@pytest.fixture(params=["partial", "complete", "ties"])
def runs(request):
    """Dictionaries of four runs."""
    return make_runs(complete=request.param == "complete", ties=request.param == "ties")
