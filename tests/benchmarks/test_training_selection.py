"""The benchmark of training selections: what is compared has the sizes that it says."""

import argparse

import numpy as np
import pytest

from benchmarks import training_selection
from benchmarks.study_data import Rows
from skrank.datasets import make_ranking


@pytest.fixture
def rows():
    return Rows(*make_ranking(n_queries=12, docs_per_query=20, random_state=0))


def test_selections_have_the_share_that_is_asked_for(rows):
    systems = np.arange(3)
    options = argparse.Namespace(seeds=2, mu=None)
    found = training_selection.selections(rows, systems, 0.25, options)
    for name, drawn in found.items():
        for chosen, weights in drawn:
            assert weights is None or len(weights) == len(chosen)
            if name != "depth pooling":
                assert len(chosen) == 12 * 5
    sizes = [
        len(training_selection.DepthPooling(k).select(rows.X[:, :3], rows.groups).rows)
        for k in range(1, 21)
    ]
    pool = len(found["depth pooling"][0][0])
    assert abs(pool - 60) == min(abs(size - 60) for size in sizes)


def test_curves_end_with_all_documents(rows, monkeypatch, capsys):
    monkeypatch.setattr(
        training_selection, "folds_of", lambda *_: [(rows, rows, np.arange(3))]
    )
    options = argparse.Namespace(folds=1, shares=[0.2, 0.4], seeds=2, mu=None)
    # Without a penalty worth the name, few documents take a solver very long.
    make = training_selection.RANKERS["RankSVM"]
    found = training_selection.compared("any", make, options)
    whole = training_selection.values_of(make, rows, rows, np.arange(240), None)
    for name, curve in found.curves.items():
        assert found.n_judged[name][-1] == 240
        np.testing.assert_allclose(curve[:, -1], np.nanmean(whole))
    record = training_selection.report("any", found)
    assert record["MTC"]["n"] == [48, 96, 240]
    gaps = found.per_query["MTC"] - found.per_query[training_selection.RANDOM]
    assert record["MTC"]["difference"][0] == pytest.approx(gaps[:2].mean())
    assert "MTC" in capsys.readouterr().out
