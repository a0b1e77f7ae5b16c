"""compare_runs: the values of evaluate, and the tests of compare."""

import numpy as np
import pytest

from skrank.datasets import Qrels, Run
from skrank.metrics import (
    NDCG,
    compare_runs,
    evaluate,
    fisher_randomization_test,
    get_measure,
    holm_correction,
)


@pytest.fixture
def tables():
    """Judgements of 12 queries and three runs with ties, one of fewer queries."""
    rng = np.random.default_rng(3)
    documents = [f"d{i}" for i in range(20)]
    qrels, runs = {}, {"bm25": {}, "dense": {}, "short": {}}
    for q in range(12):
        grades = rng.integers(0, 3, 20)
        qrels[f"q{q}"] = dict(zip(documents, grades.tolist()))
        for noise, run in enumerate(runs.values(), 1):
            found = rng.permutation(20)[:12]
            scores = (grades + noise * rng.normal(size=20)).round()
            run[f"q{q}"] = {documents[i]: float(scores[i]) for i in found}
    del runs["short"]["q1"], runs["short"]["q5"]
    runs["bm25"]["unjudged"] = {"d1": 1.0}
    return qrels, runs


@pytest.mark.parametrize("preset", [None, "skrank", "mslr"])
def test_values_are_those_of_evaluate(tables, preset):
    qrels, runs = tables
    names = ["map", "ndcg@5"]
    table = compare_runs(qrels, runs, names, preset=preset)
    assert table.systems == ("bm25", "dense", "short")
    assert f"preset {preset or 'trec_eval'}" in table.conventions
    for name, run in runs.items():
        result = evaluate(qrels, run, names, complete=True, preset=preset)
        assert table.query_ids.tolist() == result.query_ids.tolist()
        for measure in names:
            np.testing.assert_array_equal(
                table.per_query[measure][name], result.per_query[measure]
            )


def test_functions_stand_beside_names(tables):
    qrels, runs = tables

    def best(y_true, y_score):
        return float(y_true[np.argmax(y_score)])

    for preset in (None, "skrank"):
        table = compare_runs(qrels, runs, [best, "map"], preset=preset)
        for name, run in runs.items():
            result = evaluate(qrels, run, [best, "map"], complete=True, preset=preset)
            for measure, values in result.per_query.items():
                np.testing.assert_array_equal(table.per_query[measure][name], values)


@pytest.mark.parametrize("kind", [dict, Run.from_dict, str])
def test_swapped_arguments_are_told(tables, kind, tmp_path):
    qrels, runs = tables
    if kind is str:
        runs = {"bm25": str(tmp_path / "bm25.trec")}
    else:
        runs = {name: kind(run) for name, run in runs.items()}
    with pytest.raises(TypeError, match=r"as in compare_runs\(qrels, runs\), got"):
        compare_runs(runs, qrels, "map")


def test_significance_is_that_of_the_single_tests(tables):
    qrels, runs = tables
    table = compare_runs(qrels, runs, "map", n_permutations=500, random_state=1)
    values = list(table.per_query["map"].values())
    pairs = [(0, 1), (0, 2), (1, 2)]
    single = [
        fisher_randomization_test(
            values[i], values[j], n_permutations=500, random_state=1
        ).pvalue
        for i, j in pairs
    ]
    corrected = holm_correction(np.array(single))
    assert [table.pvalues[0][pair] for pair in pairs] == corrected.tolist()
    against = compare_runs(qrels, runs, "map", test="t", reference="dense")
    assert np.isnan(against.pvalues[0, 0, 2])
    assert against.reference == "dense"


def test_tables_of_every_kind(tables, tmp_path):
    qrels, runs = tables
    expected = compare_runs(qrels, runs, [NDCG(k=5)])
    lines = [
        f"{query} Q0 {docid} 1 {score} x\n"
        for query, table in runs["dense"].items()
        for docid, score in table.items()
    ]
    (tmp_path / "dense.run").write_text("".join(lines))
    given = {
        "bm25": Run.from_dict(runs["bm25"]),
        "dense": tmp_path / "dense.run",
        "short": Run.from_dict(runs["short"]).to_pandas(),
    }
    found = compare_runs(Qrels.from_dict(qrels), given, get_measure("ndcg@5"))
    np.testing.assert_array_equal(found.means, expected.means)
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"runs": {}}, ValueError, "runs must be a dict of names to runs, such as map"),
        ({"runs": {"a": 3}}, TypeError, r"^runs\['a'\]: compare_runs: run must be a R"),
        ({"qrels": 3}, TypeError, "^compare_runs: qrels must be a Qrels"),
        ({"runs": {"a": {"z": {"d": 1}}}}, ValueError, r"^runs\['a'\]: no query is bo"),
        ({"runs": {"a": {"q": {1: 0.5}}}}, ValueError, r"^runs\['a'\]: no document of"),
        ({"runs": {"a": {"q": {"d": np.nan}}}}, ValueError, r"^runs\['a'\]: run must"),
        ({"reference": "b"}, ValueError, "reference 'b' is not among runs"),
        ({"measures": "ndgc"}, ValueError, "unknown measure 'ndgc'"),
        ({"measures": []}, ValueError, "measures must be named once"),
        ({"preset": "x"}, ValueError, "preset must be one of"),
    ],
)
def test_bad_input(options, error, message):
    arguments = {"qrels": {"q": {"d": 1}}, "runs": {"a": {"q": {"d": 0.5}}}, **options}
    with pytest.raises(error, match=message):
        compare_runs(**arguments)
