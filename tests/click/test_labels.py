"""Labels, propensities and rows of features from logs, against plain loops."""

import numpy as np
import pytest

from skrank.click import (
    Sessions,
    SimulatedUser,
    to_labels,
    to_propensities,
    to_rows,
)


class Model:
    """A model of clicks that knows a table of relevances."""

    def __init__(self, table, examination=(1.0, 0.5, 0.25)):
        self.table, self.examination = table, np.array(examination)

    def relevance(self, query, document):
        pairs = zip(query.tolist(), document.tolist())
        return np.array([self.table[q, d] for q, d in pairs])

    def predict_proba(self, sessions, kind="conditional"):
        assert kind == "marginal"
        query = sessions.query_ids[sessions.query[sessions.session]]
        relevance = self.relevance(query, sessions.document_ids[sessions.document])
        return self.examination[sessions.position - 1] * relevance


SESSIONS = Sessions.from_lists(
    ["q", "p", "q"],
    [["a", "b", "c"], ["b", "a"], ["c", "a"]],
    [[0, 1, 0], [0, 0], [1, 1]],
)
TABLE = {
    ("p", "a"): 0.3,
    ("p", "b"): 0.0,
    ("q", "a"): 0.3,
    ("q", "b"): 0.9,
    ("q", "c"): 1.0,
}


def test_labels_of_the_pairs_of_a_log():
    labels = to_labels(Model(TABLE), SESSIONS, n_grades=2, method="threshold")
    assert labels.to_dict() == {"p": {"a": 0, "b": 0}, "q": {"a": 0, "b": 1, "c": 1}}


@pytest.mark.parametrize("per_query", [False, True])
@pytest.mark.parametrize("n_grades", [1, 2, 3, 5, 50])
def test_quantiles_by_a_loop(per_query, n_grades):
    rng = np.random.RandomState(n_grades)
    queries, documents = np.repeat(np.arange(4), 15), np.tile(np.arange(15), 4)
    relevance = rng.randint(0, 9, 60) / 8
    order = rng.permutation(60)
    queries, documents, relevance = queries[order], documents[order], relevance[order]
    found = to_labels(
        relevance, (queries, documents), n_grades=n_grades, per_query=per_query
    )
    expected = []
    for q, r in zip(queries, relevance):
        others = relevance[queries == q] if per_query else relevance
        expected.append(n_grades * sum(others < r) // len(others))
    assert found.y.tolist() == expected
    assert found.groups.tolist() == queries.tolist()
    assert found.docids.tolist() == documents.tolist()


def test_grades_of_different_relevances_are_of_equal_size():
    relevance = np.random.RandomState(0).permutation(100) / 100
    y = to_labels(relevance, (np.zeros(100), np.arange(100)), n_grades=4).y
    assert np.bincount(y.astype(int)).tolist() == [25] * 4


def test_thresholds_belong_to_the_grade_above():
    pairs = ["q"] * 4, list("abcd")
    options = {"n_grades": 3, "method": "threshold", "thresholds": [0.2, 0.5]}
    assert to_labels([0.1, 0.2, 0.5, 0.6], pairs, **options).y.tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"thresholds": [0.5]}, ValueError, "thresholds are for method='threshold'"),
        (
            {"method": "threshold", "thresholds": [0.5]},
            ValueError,
            "thresholds must hold 2 numbers in ascending order",
        ),
        (
            {"method": "threshold", "thresholds": [0.5, 0.5]},
            ValueError,
            "thresholds must hold 2 numbers in ascending order",
        ),
        (
            {"model": [0.5]},
            ValueError,
            "model must hold one number for each of 5 pairs",
        ),
        ({"model": [0.5] * 4 + [np.nan]}, ValueError, "model must hold finite numbers"),
        ({"model": "x"}, TypeError, "model must be a fitted model of clicks"),
        ({"model": Model}, TypeError, "model must be a fitted model of clicks"),
        ({"pairs": [1]}, TypeError, "pairs must be Sessions or a tuple"),
        ({"pairs": (["q"], ["a", "b"])}, ValueError, "as many query ids as document"),
        (
            {"pairs": (["q", "q"], ["a", "a"])},
            ValueError,
            "pairs hold document 'a' twice for query 'q'",
        ),
    ],
)
def test_wrong_labels(change, error, words):
    arguments = {"model": Model(TABLE), "pairs": SESSIONS, "n_grades": 3} | change
    with pytest.raises(error, match=words):
        to_labels(**arguments)


def test_propensities_of_a_model_are_its_examination():
    found = to_propensities(Model(TABLE), SESSIONS)
    # The document without relevance tells nothing.
    expected = np.array([1.0, 0.5, 0.25, 1.0, 0.5, 1.0, 0.5])
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    clipped = to_propensities(Model(TABLE), SESSIONS, clip=0.4)
    np.testing.assert_allclose(clipped, np.maximum(expected, 0.4), rtol=1e-15)


class Estimator:
    """An estimator of propensities."""

    propensities_ = np.array([1.0, 0.4, 0.3, 0.2])


@pytest.mark.parametrize(
    ("model", "places"),
    [
        (Estimator(), [1.0, 0.4, 0.3]),
        (SimulatedUser(examination="position"), [1.0, 1 / 2, 1 / 3]),
        ([1.0, 0.7, 0.0], [1.0, 0.7, 1e-6]),
        (SESSIONS, [0.5, 1.0, 1e-6]),  # rates 1/3, 2/3 and 0
    ],
)
def test_propensities_of_places(model, places):
    expected = np.array(places)[SESSIONS.position - 1]
    np.testing.assert_allclose(to_propensities(model, SESSIONS), expected)


def test_propensities_of_a_log_alone():
    found = to_propensities(SESSIONS)
    np.testing.assert_array_equal(found, to_propensities(SESSIONS, SESSIONS))
    assert to_propensities(SESSIONS[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ([1.0, 0.5], {}, "model must hold a propensity for each of 3 places"),
        ([1.0, 0.5, 2.0], {}, "that of place 3 is 2"),
        ([1.0, 0.5, np.nan], {}, "that of place 3 is nan"),
        ([1.0] * 3, {"clip": 0.0}, "clip must be above 0 and at most 1"),
        ([1.0] * 3, {"clip": np.nan}, "clip must be"),
        ([1.0] * 3, {"sessions": None}, "sessions must be given"),
    ],
)
def test_wrong_propensities(model, options, words):
    with pytest.raises(ValueError, match=words):
        to_propensities(model, **({"sessions": SESSIONS} | options))


def test_no_model_of_propensities():
    with pytest.raises(TypeError, match="model must be an estimator of propensities"):
        to_propensities("x", SESSIONS)


GROUPS = ["q", "p", "q", "p", "q", "r"]
DOCIDS = ["c", "a", "a", "b", "b", "a"]
X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_rows_of_a_log(kind):
    table = X
    if kind == "frame":
        table = pytest.importorskip("pandas").DataFrame(X, columns=["f", "g"])
    elif kind == "sparse":
        table = pytest.importorskip("scipy.sparse").csr_array(X)
    propensities = to_propensities([1.0, 0.5, 0.2], SESSIONS)
    rows = to_rows(SESSIONS, table, GROUPS, DOCIDS, propensities=propensities)
    place = {pair: i for i, pair in enumerate(zip(GROUPS, DOCIDS))}
    shown = SESSIONS.document_ids[SESSIONS.document].tolist()
    queries = SESSIONS.query_ids[SESSIONS.query[SESSIONS.session]].tolist()
    expected = [place[pair] for pair in zip(queries, shown)]
    found, y, groups = rows
    found = found.toarray() if kind == "sparse" else np.asarray(found)
    np.testing.assert_array_equal(found, X[expected])
    assert y.tolist() == SESSIONS.click.tolist()
    assert groups.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert rows.positions.tolist() == [1, 2, 3, 1, 2, 1, 2]
    assert rows.query.tolist() == queries
    assert rows.propensities.tolist() == [1.0, 0.5, 0.2, 1.0, 0.5, 1.0, 0.5]


def test_impressions_without_features_can_be_left_out():
    known = [d != "a" for d in DOCIDS]
    table = X[known], np.array(GROUPS)[known], np.array(DOCIDS)[known]
    rows = to_rows(SESSIONS, *table, missing="drop")
    assert rows.positions.tolist() == [2, 3, 1, 1]
    assert rows.groups.tolist() == [0, 0, 1, 2]
    assert rows.y.tolist() == [1, 0, 0, 1]
    with pytest.raises(
        ValueError, match="2 of 5 pairs of the log have no row, such as"
    ):
        to_rows(SESSIONS, *table)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((X, GROUPS[:5], DOCIDS), "as many rows, got 6, 5 and 6"),
        ((X, ["q"] * 6, ["a"] * 6), "row 1 has 'a' a second time for query 'q'"),
        ((X, np.arange(6), DOCIDS), "groups holds int, the log str .text is read as"),
        ((X[:0], [], []), "5 of 5 pairs of the log have no row"),
    ],
)
def test_wrong_rows(arguments, words):
    with pytest.raises(ValueError, match=words):
        to_rows(SESSIONS, *arguments)


def test_unknown_ways_with_missing_rows_are_refused():
    with pytest.raises(ValueError, match="missing must be 'raise' or 'drop', got 'x'"):
        to_rows(SESSIONS, X, GROUPS, DOCIDS, missing="x")


def test_equal_relevance_in_two_queries_is_no_tie():
    """That of the last pair of one query and of the first pair of the next."""
    pairs = list("qqrr"), list("abcd")
    found = to_labels([0.5, 0.9, 0.9, 0.95], pairs, n_grades=2, per_query=True)
    assert found.y.tolist() == [0, 1, 0, 1]


def test_wrong_propensities_of_rows():
    with pytest.raises(ValueError, match="propensities must hold one number for each"):
        to_rows(SESSIONS, X, GROUPS, DOCIDS, propensities=[1.0])


@pytest.mark.parametrize("pairs", [(["q"], ["a"], ["b"]), [["q"], ["a"]]], ids=repr)
def test_pairs_are_a_tuple_of_two(pairs):
    with pytest.raises(TypeError, match="pairs must be Sessions or a tuple of query"):
        to_labels([0.5], pairs)
