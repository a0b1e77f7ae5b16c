"""evaluate: runs against judgements, by measures of every kind."""

import enum
import html
import importlib.util
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skrank._core._id_arrays import id_list
from skrank.aggregation import CombSUM
from skrank.datasets import Qrels, Run, judge_run, load_qrels, load_run
from skrank.metrics import (
    AP,
    NDCG,
    EvaluationResult,
    FunctionMeasure,
    average_precision,
    evaluate,
    evaluate_measure,
    get_measure,
    known_measures,
    ndcg_score,
    trec_measures,
)
from skrank.metrics._conventions import conventions_of
from skrank.metrics._table import _tex

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.8}, "q2": {"a": 0.5, "d": 0.1}, "q4": {"a": 1.0}}
SHARED = ["map", "recip_rank", "bpref", "Rprec", "P_5", "recall_10", "ndcg_cut_10"]


def tables(seed, tied=False):
    """Judgements and a run of 30 queries, one in five without relevant documents."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(30):
        ids = [f"d{i}" for i in range(50)]
        judged = rng.choice(ids, size=rng.integers(1, 30), replace=False).tolist()
        found = rng.choice(ids, size=rng.integers(1, 40), replace=False).tolist()
        grades = rng.integers(-1, 4, len(judged)) * (q % 5 > 0)
        scores = rng.normal(size=len(found)).round(0 if tied else 9)
        qrels[f"q{q}"] = dict(zip(judged, grades.tolist()))
        run[f"q{q + 2}"] = dict(zip(found, scores.tolist()))
    return qrels, Run.from_dict(run)


def test_by_hand():
    result = evaluate(QRELS, RUN, ["map", "ndcg@10", "mrr"])
    assert isinstance(result, EvaluationResult)
    assert result.query_ids.tolist() == ["q1", "q2"]
    assert result.unjudged_queries.tolist() == ["q4"]
    assert result.unretrieved_queries.tolist() == ["q3"]
    ideal = 2 + 1 / np.log2(3)
    assert result.per_query["map"].tolist() == [1 / 4, 1]
    assert result.per_query["ndcg@10"] == pytest.approx([2 / np.log2(3) / ideal, 1])
    assert result["map"] == 5 / 8
    assert result.summary["mrr"] == 3 / 4
    assert result.n_queries == 2
    assert result.run_id == "skrank"
    complete = evaluate(QRELS, RUN, "map", complete=True)
    assert complete.per_query["map"].tolist() == [1 / 4, 1, 0]
    assert float(complete) == pytest.approx(5 / 12)
    assert float(evaluate(QRELS, RUN, "p@1", depth=1)) == 1 / 2
    assert float(evaluate(QRELS, RUN, "recall", depth=1)) == 1 / 2


@pytest.mark.parametrize("options", [{}, {"complete": True}, {"depth": 7}])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_values_are_those_of_trec_eval(seed, tied, options):
    qrels, run = tables(seed, tied)
    result = evaluate(qrels, run, SHARED, **options)
    names = {"depth": "max_results"}
    renamed = {names.get(name, name): value for name, value in options.items()}
    expected = trec_measures(qrels, run, SHARED, **renamed)
    assert result.query_ids.tolist() == expected.topics
    for name in SHARED:
        np.testing.assert_allclose(
            result.per_query[name], expected.per_query[name], atol=1e-14
        )
        assert result[name] == pytest.approx(expected.summary[name])


def test_real_runs(data_dir):
    folder = data_dir / "trec_eval"
    paths = folder / "qrels.test", str(folder / "results.test")
    lines = (folder / "out.test.a").read_text().splitlines()
    expected = {name.strip(): value for name, _, value in map(str.split, lines)}
    names = [*SHARED, "infAP", "num_rel_ret", "gm_map", "iprec_at_recall_0.10"]
    result = evaluate(*paths, names)
    assert result.run_id == "STANDARD"
    found = result.to_dict()["measures"]
    for name in names:
        text = f"{found[name]:.4f}" if "." in expected[name] else str(found[name])
        assert text == expected[name]
    with pytest.raises(
        ValueError, match=r"evaluate takes judgements first .*, but .*re"
    ):
        evaluate(paths[1], paths[0])


@pytest.mark.parametrize("name", sorted({*known_measures()} - {"mse"}))
@pytest.mark.parametrize("preset", ["trec_eval", "skrank", "lightgbm"])
def test_every_measure_of_the_package(name, preset):
    qrels, run = tables(3, tied=True)
    measure = get_measure(name, preset=preset)
    judged = judge_run(qrels, run)
    # The documents in the order of the run, before those that it lacks.
    place = {pair: i for i, pair in enumerate(zip(run.groups, run.docids))}
    pairs = zip(judged.groups.tolist(), judged.docids.tolist())
    order = np.argsort([place.get(pair, len(place)) for pair in pairs], kind="stable")
    expected = evaluate_measure(
        measure,
        judged.y[order],
        judged.scores[order],
        groups=judged.groups[order],
        docids=judged.docids[order],
        per_query=True,
    )
    result = evaluate(qrels, run, name, preset=preset)
    np.testing.assert_allclose(result.per_query[name], expected, atol=1e-14)
    assert result[name] == pytest.approx(measure.mean(expected), nan_ok=True)


def test_errors_of_scores_need_a_score_for_every_document():
    qrels = {"q": {"a": 2, "b": 0}}
    assert float(evaluate(qrels, {"q": {"a": 1.0, "b": 0.5}}, "mse")) == 5 / 8
    with pytest.raises(ValueError, match="mse needs finite scores; y_score holds inf"):
        evaluate(qrels, {"q": {"a": 1.0}}, "mse")


def test_measures_that_are_objects_and_functions():
    def first_grade(y_true, y_score):
        return y_true[np.argmax(y_score)]

    qrels, run = tables(4)
    result = evaluate(qrels, run, [NDCG(k=5), AP(), first_grade, ndcg_score])
    assert result.measures == ("ndcg@5", "map", "first_grade", "ndcg")
    linear = evaluate(qrels, run, [NDCG(k=5, gain="linear", empty_query=0.0)])
    assert linear["ndcg@5"] == pytest.approx(evaluate(qrels, run, "ndcg@5")["ndcg@5"])
    judged = judge_run(qrels, run)
    best = judged.y.filled(0)[judged.ptr[:-1]]
    np.testing.assert_array_equal(result.per_query["first_grade"], best)


def test_scores_are_compared_in_the_precision_of_the_convention():
    run = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    # trec_eval cannot tell them apart, and takes b first.
    assert float(evaluate({"q": {"a": 1}}, run, "mrr")) == 1 / 2
    assert float(evaluate({"q": {"a": 1}}, run, "mrr", preset="skrank")) == 1
    tied = {"q": {"b": 1.0, "c": 1.0, "a": 1.0}}
    for preset, value in (("trec_eval", 1 / 2), ("lightgbm", 1), ("skrank", 11 / 18)):
        found = evaluate({"q": {"b": 1}}, tied, "mrr", preset=preset)
        assert float(found) == pytest.approx(value)
    # Of four documents of equal score, trec_eval keeps the last ids.
    shallow = evaluate({"q": {"a": 1}}, tied, "mrr", preset="lightgbm", depth=2)
    assert float(shallow) == 0


def test_trec_evals_own_measures_and_cut_offs():
    result = evaluate(QRELS, RUN, ["P.1,2", "num_rel", "gm_map"])
    assert result.measures == ("P_1", "P_2", "num_rel", "gm_map")
    assert result["num_rel"] == 3
    assert result["gm_map"] == pytest.approx(np.sqrt(1 / 4))
    with pytest.raises(ValueError, match="unknown measure 'gm_map'"):
        evaluate(QRELS, RUN, "gm_map", preset="skrank")


def test_nothing_to_measure():
    with pytest.warns(UndefinedMetricWarning, match="map is undefined: no query carr"):
        result = evaluate(
            {"q": {"a": 0}, "r": {"a": 0}}, {"q": {"a": 1}, "r": {"b": 1}}, "map"
        )
    assert result["map"] == 0
    with pytest.warns(UndefinedMetricWarning, match="ndcg is undefined"):
        result = evaluate({"q": {"a": 0}}, {"q": {"a": 1}}, [NDCG()])
    assert np.isnan(result["ndcg"])
    assert result.to_dict()["measures"] == {"ndcg": None}
    assert "ndcg on the 0 with a value" in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("measures", "error", "message"),
    [
        ("mapp", ValueError, "unknown measure 'mapp' .did you mean 'map'"),
        (["map", "map"], ValueError, "evaluate: measures has 'map' twice"),
        ([AP(), AP(ties="best")], ValueError, "evaluate: measures has 'map' twice"),
        ([], ValueError, "evaluate: measures must name at least one"),
        (5, TypeError, "evaluate: measures must be a measure, the name of one"),
        (b"map", TypeError, "evaluate: measures must be a measure, the name of one"),
        (np.array("map"), TypeError, "evaluate: measures must be a measure, the na"),
        ([5], TypeError, "measure must be a name such as 'ndcg@10'"),
        ([AP], TypeError, "got the class AP"),
        ("runid", ValueError, "unknown measure 'runid'"),
    ],
)
def test_measures_that_are_none(measures, error, message):
    with pytest.raises(error, match=message):
        evaluate(QRELS, RUN, measures)


def test_bad_options_and_tables():
    with pytest.raises(ValueError, match=r"preset must be one of .* got 'x'"):
        evaluate(QRELS, RUN, preset="x")
    with pytest.raises(ValueError, match="depth must be a whole number >= 1 or None"):
        evaluate(QRELS, RUN, depth=0)
    with pytest.raises(
        ValueError, match="no query is both in the qrels and in the run"
    ):
        evaluate({"x": {"a": 1}}, RUN)
    with pytest.raises(TypeError, match=r"evaluate: qrels must be a Qrels, .* got 3$"):
        evaluate(3, RUN)
    with pytest.raises(
        TypeError, match="evaluate takes judgements first and then a ru"
    ):
        evaluate(Run.from_dict(RUN), Qrels.from_dict(QRELS))
    with pytest.raises(FileNotFoundError, match="qrels: cannot read 'absent'"):
        evaluate("absent", RUN)
    with pytest.raises(ValueError, match="run must hold scores; row 0 has nan"):
        evaluate(QRELS, {"q1": {"a": np.nan}})


def in_groups(layout, n_groups):
    def measured(qrels, run):
        for _ in range(n_groups):
            qrels = {query: {"g": judged} for query, judged in qrels.items()}
        return trec_measures(qrels, run, judgement_format=layout)

    return measured


@pytest.mark.parametrize(
    "function",
    [
        evaluate,
        judge_run,
        lambda *t: trec_measures(*t, "map"),
        in_groups("qrels_jg", 1),
        in_groups("qrels_prefs", 1),
        in_groups("prefs", 2),
    ],
)
def test_ids_of_documents_that_cannot_match(function):
    message = (
        "no document of the run is judged, because the types of ids differ: the qrels "
        "have the documents '101', '102', the run has 101, 102"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        function({"q": {"101": 1, "102": 0}}, {"q": {101: 0.9, 102: 0.1}})
    # Other documents of the same type are in order, and so are some that match.
    function({"q": {"a": 1}}, {"q": {"b": 0.9}})
    function({"q": {1: 1}}, {"q": {np.int64(2): 0.9, 3.0: 0.5}})
    function({"q": {"a": 1, 2: 1}}, {"q": {"b": 0.9, 3: 0.5}})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (evaluate, "the qrels have no queries, the run has 'q1', 'q2', 'q4'$"),
        (trec_measures, "the run has 'q1', 'q2', 'q4', the qrels have no queries$"),
    ],
)
def test_no_queries_at_all(function, message):
    with pytest.raises(ValueError, match=message):
        function({}, RUN)


def test_measures_of_the_user_stay_as_they_are():
    measure = AP(ties="docid")
    evaluate(QRELS, RUN, measure)
    assert measure.ties == "docid"


def test_depth_cuts_equal_scores_by_document_id_under_every_preset():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.5}}
    assert float(evaluate(qrels, run, "p@1", depth=1, preset="mslr")) == 0.0
    assert float(evaluate(qrels, run, "p@1", preset="mslr")) == 1.0


# Renderings ---------------------------------------------------------------------------


def test_text():
    result = evaluate(QRELS, RUN, ["map", "num_rel_ret"])
    assert str(result) == repr(result) == result.to_text()
    assert result.to_text().splitlines()[:4] == [
        "measure       value",
        "-------------------",
        "map          0.6250",
        "num_rel_ret       2",
    ]
    notes = " ".join(result.to_text().splitlines()[5:])
    assert notes == (
        "Means over 2 queries; num_rel_ret is a sum; 1 judged query not in the run, "
        "left out; 1 query of the run not judged, left out. Conventions of preset "
        "trec_eval: relevant above 0; equal scores by falling document id; 0 for "
        "queries without relevant documents."
    )
    assert result.to_text(per_query=True, digits=2).splitlines()[:5] == [
        "query   map  num_rel_ret",
        "------------------------",
        "q1     0.25            1",
        "q2     1.00            1",
        "all    0.62            2",
    ]
    complete = evaluate(QRELS, RUN, "map", complete=True)
    assert "1 judged query not in the run, counted with nothing" in " ".join(
        str(complete).split()
    )


@pytest.mark.parametrize("preset", [None, "letor4", "skrank", "lightgbm"])
def test_every_rendering_names_the_conventions(preset):
    names = ["ndcg@10", "map"]
    result = evaluate(QRELS, RUN, names, preset=preset)
    measures = [get_measure(name, preset or "trec_eval") for name in names]
    assert result.conventions == conventions_of(measures, result.preset)
    assert result.conventions.startswith(f"Conventions of preset {result.preset}: ")
    assert result.to_latex().count(_tex(result.conventions)) == 1
    texts = [str(result), result.to_text(per_query=True), result.to_html()]
    for text in (*texts, result.to_markdown()):
        assert " ".join(html.unescape(text).split()).count(result.conventions) == 1


def test_conventions_of_measures_that_have_their_own():
    def first_grade(y_true, y_score):
        return y_true[np.argmax(y_score)]

    treated = "Conventions: equal scores as the function treats them"
    assert evaluate(QRELS, RUN, first_grade).conventions.startswith(treated)
    own = evaluate(QRELS, RUN, ["map", NDCG(k=5)]).conventions
    assert own.startswith("Conventions: ")
    assert "equal scores by falling document id (map)" in own
    only_theirs = evaluate(QRELS, RUN, ["num_ret"])
    told = " ".join(str(only_theirs).split())
    assert told.endswith("left out. Conventions of preset trec_eval.")


def test_html_escapes_names():
    result = evaluate({"<q>": {"a": 1}}, {"<q>": {"a": 1.0}}, "map")
    assert result._repr_html_() == result.to_html()
    assert "<tr><td>map</td><td>1.0000</td></tr>" in result.to_html()
    assert "<td>&lt;q&gt;</td>" in result.to_html(per_query=True)


def test_markdown():
    result = evaluate(QRELS, RUN, ["map", "num_rel_ret"])
    table = "\n".join(result.to_markdown().splitlines()[:4])
    assert table == (
        "| measure     |  value |\n"
        "|-------------|--------|\n"
        "| map         | 0.6250 |\n"
        "| num_rel_ret |      2 |"
    )
    assert result.to_markdown().splitlines()[4:] == ["", result._caption()]
    assert result.to_markdown(per_query=True, digits=2).splitlines()[:5] == [
        "| query |  map | num_rel_ret |",
        "|-------|------|-------------|",
        "| q1    | 0.25 |           1 |",
        "| q2    | 1.00 |           1 |",
        "| all   | 0.62 |           2 |",
    ]
    barred = evaluate({"q|1": {"a": 1}}, {"q|1": {"a": 1.0}}, "map")
    assert r"| q\|1  | 1.0000 |" in barred.to_markdown(per_query=True).splitlines()


def test_latex():
    result = evaluate(QRELS, RUN, ["map", "num_rel_ret"])
    assert result.to_latex(per_query=True, digits=2).splitlines() == [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_tex(result._caption())}}}",
        r"  \begin{tabular}{lrr}",
        r"  \toprule",
        r"  query &  map & num\_rel\_ret \\",
        r"  \midrule",
        r"  q1    & 0.25 &             1 \\",
        r"  q2    & 1.00 &             1 \\",
        r"  all   & 0.62 &             2 \\",
        r"  \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    assert r"  map           & 0.6250 \\" in result.to_latex().splitlines()


def test_data_frame_and_json():
    result = evaluate(QRELS, RUN, ["map", "num_ret"])
    frame = result.to_pandas()
    assert frame.index.tolist() == ["q1", "q2"]
    assert frame.index.name == "query_id"
    pd.testing.assert_series_equal(
        frame["map"], pd.Series([0.25, 1.0], frame.index, name="map")
    )
    assert json.loads(json.dumps(result.to_dict())) == {
        "run": "skrank",
        "preset": "trec_eval",
        "conventions": result.conventions,
        "measures": {"map": 0.625, "num_ret": 4},
        "queries": {"q1": {"map": 0.25, "num_ret": 2}, "q2": {"map": 1, "num_ret": 2}},
    }


def test_data_frame_of_queries_that_are_tuples():
    queries = [("a", 1), ("b", 2)]
    tables = [{query: {"d": 1.0} for query in queries} for _ in range(2)]
    frame = evaluate(*tables, "map").to_pandas()
    assert (frame.index.nlevels, frame.index.tolist()) == (1, queries)
    assert frame["map"].tolist() == [1.0, 1.0]


def test_one_value():
    result = evaluate(QRELS, RUN, ["map", "mrr"])
    with pytest.raises(TypeError, match=r"there are 2; choose one, as in result\['map"):
        float(result)
    with pytest.raises(KeyError, match="no measure 'x' among map, mrr"):
        result["x"]


@pytest.mark.skipif(
    importlib.util.find_spec("ranx") is None, reason="ranx is not installed"
)
@pytest.mark.filterwarnings("ignore")  # numba warns of its own insides
def test_values_are_those_of_ranx():
    import ranx

    qrels, run = tables(7)
    judged = {
        query: {docid: max(grade, 0) for docid, grade in table.items()}
        for query, table in qrels.items()
        if query in run.to_dict()
    }
    kept = {query: run.to_dict()[query] for query in judged}
    names = [
        "ndcg@10", "ndcg_burges@5", "dcg_burges", "map", "map-l2", "mrr", "mrr@10-l2",
        "recall@5", "precision@5-l2", "f1@10-l2", "r-precision-l2", "hit_rate@5",
    ]  # fmt: skip
    ours = evaluate(judged, kept, names)
    theirs = ranx.evaluate(ranx.Qrels(judged), ranx.Run(kept), names, return_mean=False)
    for name in names:
        np.testing.assert_allclose(np.sort(ours.per_query[name]), np.sort(theirs[name]))


def test_levels_of_relevance_as_ranx_writes_them():
    qrels, run = tables(8)
    pairs = {"map-l2": "map(rel=2)", "precision@5-l2": "p(rel=2)@5"}
    result = evaluate(qrels, run, [*pairs, *pairs.values()])
    for theirs, ours in pairs.items():
        np.testing.assert_array_equal(result.per_query[theirs], result.per_query[ours])


def test_files_of_compressed_text(tmp_path):
    import gzip

    (tmp_path / "qrels.gz").write_bytes(gzip.compress(b"q 0 a 1\n"))
    (tmp_path / "run").write_text("q Q0 a 1 2.0 bm25\n")
    result = evaluate(tmp_path / "qrels.gz", tmp_path / "run", "map")
    assert (result.run_id, float(result)) == ("bm25", 1.0)
    again = evaluate(
        load_qrels(tmp_path / "qrels.gz"), load_run(tmp_path / "run"), "map"
    )
    assert again.to_dict() == result.to_dict()


def test_an_own_way_to_values_is_respected():
    class Doubled(AP):
        def per_query(self, *args, **options):
            return 2 * super().per_query(*args, **options)

    options = {"ties": "docid", "empty_query": 0.0}
    result = evaluate(*tables(2, tied=True), [AP(**options), Doubled(**options, k=99)])
    values = list(result.per_query.values())
    np.testing.assert_allclose(values[1], 2 * values[0])


def test_queries_without_documents():
    # Only pooled documents are judged, none of which the run retrieved.
    qrels = {"q1": {"a": -1}, "q2": {"a": 1, "b": 0}}
    run = {"q2": {"b": 1.0, "a": 0.5}}
    found = evaluate(qrels, run, ["map", "mrr", "ndcg@1"], complete=True)
    assert {name: values.tolist() for name, values in found.per_query.items()} == {
        "map": [0.0, 0.5], "mrr": [0.0, 0.5], "ndcg@1": [0.0, 0.0],
    }  # fmt: skip
    run = {"q2": {"a": 1.0, "b": 0.5}}
    for ties in ("docid", "average", "stable"):
        (values,) = evaluate(
            qrels, run, AP(ties=ties), complete=True
        ).per_query.values()
        np.testing.assert_array_equal(values, [np.nan, 1.0])


@pytest.mark.parametrize("ties", ["docid", "average", "stable"])
def test_measures_see_the_same_documents_alone_and_together(ties):
    qrels, run = tables(9, tied=True)
    names = ["ndcg", "ndcg@10", "map", "mrr", "p@5", "recall@7", "bpref", "err", "rbp"]
    measures = [get_measure(name).set_params(ties=ties) for name in names]
    together = evaluate(qrels, run, measures)
    functions = [FunctionMeasure(_first_grade, ties=ties, k=1)] * (ties == "docid")
    for measure in measures + functions:
        alone = evaluate(qrels, run, [measure])
        judged = judge_run(qrels, run)
        expected = evaluate_measure(
            measure, judged.y, judged.scores, groups=judged.groups,
            docids=judged.docids, per_query=True,
        )  # fmt: skip
        if ties != "stable":  # the order of the rows differs
            np.testing.assert_allclose(alone.per_query[measure.name], expected)
        if measure in measures:
            np.testing.assert_array_equal(
                together.per_query[measure.name], alone.per_query[measure.name]
            )


def _first_grade(y_true, y_score, k):
    return y_true[np.argsort(-y_score)[:k]].mean()


class Names(str, enum.Enum):  # noqa: UP042, whose members print by other names
    FIRST = "z"
    LAST = "a"


@pytest.mark.parametrize("last", [3, "3"], ids=["mixed", "texts"])
def test_members_of_enumerations_are_their_texts(last):
    names = np.array([Names.FIRST, Names.LAST, last], dtype=object)
    texts = np.array(["z", "a", str(last)])
    y, ones, groups = np.array([1.0, 0, 0]), np.ones(3), np.zeros(3, dtype=int)
    for docids in (names, texts):
        found = average_precision(y, ones, groups=groups, docids=docids, ties="docid")
        assert found == 1.0
        run = Run(groups, docids, ones, "mine")
        assert id_list(CombSUM().aggregate([run]).docids) == list(docids[[0, 1, 2]])
    judged = dict(zip(names.tolist(), [1, 0, 0]))
    measured = trec_measures({"q": judged}, {"q": dict.fromkeys(names, 1.0)})
    assert list(measured.per_query["map"]) == [1.0]
    queries = {name: {"d": 1} for name in names}
    assert list(trec_measures(queries, queries).topics) == list(names[[2, 1, 0]])
    result = evaluate(queries, queries, ["map"])
    assert set(result.to_dict()["queries"]) == {"z", "a", "3"}
    assert "FIRST" not in result.to_text(per_query=True)
