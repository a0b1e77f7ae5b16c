"""Stationary distributions against transition matrices written out."""

import numpy as np
import pytest
from _runs import close, queries_of, ranks_of
from sklearn.exceptions import ConvergenceWarning

from skrank.aggregation import MC1, MC4, aggregate


def mc1(d, docs, lists):
    pages = [e for entry in lists if d in entry for e in entry if entry_le(entry, e, d)]
    return [pages.count(e) / len(pages) for e in docs]


def entry_le(entry, e, d):
    ranks = ranks_of(entry)
    return ranks[e] <= ranks[d]


def mc2(d, docs, lists):
    own = [entry for entry in lists if d in entry]
    row = dict.fromkeys(docs, 0.0)
    for entry in own:
        better = [e for e in entry if entry_le(entry, e, d)]
        for e in better:
            row[e] += 1 / len(own) / len(better)
    return list(row.values())


def mc3(d, docs, lists):
    own = [entry for entry in lists if d in entry]
    row = dict.fromkeys(docs, 0.0)
    for entry in own:
        for e in entry:
            row[e if entry_le(entry, e, d) else d] += 1 / len(own) / len(entry)
    return list(row.values())


def mc4(d, docs, lists):
    row = dict.fromkeys(docs, 0.0)
    for e in docs:
        both = [entry for entry in lists if d in entry and e in entry]
        votes = sum(1 if entry_le(entry, e, d) else -1 for entry in both)
        row[e if e != d and votes > 0 else d] += 1 / len(docs)
    return list(row.values())


@pytest.mark.parametrize("teleport", [0.15, 0.01, 1.0])
@pytest.mark.parametrize("row", [mc1, mc2, mc3, mc4])
def test_stationary_distributions(runs, row, teleport):
    expected = {}
    for q, docs, lists in queries_of(runs):
        matrix = np.array([row(d, docs, lists) for d in docs])
        np.testing.assert_allclose(matrix.sum(axis=1), 1)
        matrix = (1 - teleport) * matrix + teleport / len(docs)
        mass = np.linalg.matrix_power(matrix, 10_000)[0]
        np.testing.assert_allclose(mass @ matrix, mass)
        expected[q] = dict(zip(docs, mass))
    close(aggregate(runs, row.__name__, teleport=teleport), expected, abs=1e-9)


def test_a_chain_that_is_cut_short_warns(runs):
    with pytest.warns(ConvergenceWarning, match="MC1: . queries are not stationary"):
        MC1(max_iter=1).aggregate(runs)


def test_documents_that_no_run_retrieved_are_no_states():
    scores = np.array([[2.0, 1.0], [1.0, 2.0], [np.nan, np.nan], [0.5, np.nan]])
    for method in ("mc1", "mc2", "mc3", "mc4"):
        found = aggregate(scores, method, np.zeros(4))
        assert found[2] == -np.inf
        assert found[[0, 1, 3]].sum() == pytest.approx(1)
        again = aggregate(scores[[0, 1, 3]], method, np.zeros(3))
        np.testing.assert_allclose(found[[0, 1, 3]], again)


@pytest.mark.parametrize("teleport", [0, 1.5, "x"])
def test_bad_probabilities_are_refused(runs, teleport):
    with pytest.raises(
        ValueError, match=r"MC4: teleport must be a number in \[1e-09, 1\]"
    ):
        MC4(teleport=teleport).aggregate(runs)


def test_a_teleport_lost_in_rounding_is_refused():
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}] * 2
    for chain in (MC1, MC4):
        with pytest.raises(
            ValueError, match=r"teleport must be a number in \[1e-09, 1\]"
        ):
            chain(teleport=1e-17).aggregate(runs)
    assert list(MC4(teleport=1e-9).aggregate(runs)["q"]) == ["a", "b", "c"]
