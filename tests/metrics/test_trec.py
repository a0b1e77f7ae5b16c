"""trec_measures: input forms, options, error messages and printed lines."""

import numpy as np
import pandas as pd
import pytest

from skrank.datasets import Qrels, Run, judge_run, load_qrels, load_run
from skrank.metrics import compare, evaluate_measure, get_measure, trec_measures

RUN = {"b": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "a": {"d1": 1.0, "d9": 1.0}}
QRELS = {"a": {"d1": 1, "d2": 1}, "b": {"d3": 2, "d1": 0, "d2": -1}, "c": {"d1": 1}}


def arrays(table):
    rows = [(q, d, v) for q, documents in table.items() for d, v in documents.items()]
    return tuple(zip(*rows))


def test_arrays_and_mappings_give_the_same_result():
    by_mapping = trec_measures(QRELS, RUN, "all_trec")
    by_arrays = trec_measures(arrays(QRELS), arrays(RUN), "all_trec")
    assert by_mapping.topics == by_arrays.topics == ["a", "b"]
    assert list(by_mapping.lines(True)) == list(by_arrays.lines(True))


def test_equal_scores_come_by_decreasing_document_id():
    result = trec_measures(QRELS, RUN, ["recip_rank", "num_rel"])
    np.testing.assert_array_equal(result.per_query["recip_rank"], [1 / 2, 1 / 3])
    assert result.summary["num_rel"] == 3


def test_complete_counts_missing_queries_as_zero():
    result = trec_measures(QRELS, RUN, "recip_rank", complete=True)
    np.testing.assert_array_equal(result.per_query["recip_rank"], [1 / 2, 1 / 3, 0])


def test_judged_only_closes_the_gaps():
    result = trec_measures(QRELS, RUN, "recip_rank", judged_only=True)
    np.testing.assert_array_equal(result.per_query["recip_rank"], [1, 1 / 2])


def test_max_results_and_relevance_level():
    result = trec_measures(QRELS, RUN, "num_rel_ret", max_results=2)
    np.testing.assert_array_equal(result.per_query["num_rel_ret"], [1, 0])
    result = trec_measures(QRELS, RUN, "num_rel_ret", relevance_level=2)
    np.testing.assert_array_equal(result.per_query["num_rel_ret"], [0, 1])


def test_utility_counts_the_collection():
    result = trec_measures(QRELS, RUN, "utility.0,0,0,1", n_collection=100)
    # not retrieved, not relevant: 100 - 2 - 2 + 1 and 100 - 3 - 1 + 1
    np.testing.assert_array_equal(result.per_query["utility_0,0,0,1"], [97, 97])


def test_printed_names_are_understood():
    result = trec_measures(QRELS, RUN, ["ndcg_cut_10", "P_5", "ndcg_cut.10"])
    assert list(result.summary) == ["P_5", "ndcg_cut_10"]


# Two judges; the second one states preferences of single pairs.
PREFERENCES = {
    "q": {
        "ann": {"s": {"a": 2, "b": 1, "c": 0}},
        "bob": {"s1": {"b": 2, "a": 1}, "s2": {"a": 2, "d": 1}},
    }
}


def test_preferences_by_hand():
    run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}  # c and d are not retrieved
    result = trec_measures(PREFERENCES, run, "all", judgement_format="prefs")
    found = {name: values[0] for name, values in result.per_query.items()}
    # ann: a > b, a > c, b > c, all fulfilled.
    # bob: b > a is not, a > d is, and so is b > d, which follows from the two.
    assert found["prefs_num_prefs_poss"] == 6
    assert found["prefs_num_prefs_ful"] == 5
    assert found["prefs_num_prefs_ful_ret"] == 1
    assert found["prefs_simp"] == 5 / 6
    assert found["prefs_simp_ret"] == 1 / 2
    # Pairs: (a, b) one of two votes, (a, c), (b, c), (a, d) and (b, d) one of one.
    assert found["prefs_pair"] == pytest.approx(4.5 / 5)
    assert found["prefs_avgjg"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["prefs_avgjg_ret"] == 1 / 2


def test_preferences_between_documents_that_were_not_retrieved():
    run = {"q": {"c": 1.0}}
    result = trec_measures(PREFERENCES, run, "all", judgement_format="prefs")
    found = {name: values[0] for name, values in result.per_query.items()}
    assert found["prefs_simp"] == 0  # a > c and b > c fail, the rest is not retrieved
    assert found["prefs_num_prefs_poss"] == 6
    assert found["prefs_simp_imp"] == found["prefs_pair_ret"] == 0


def test_preferences_from_arrays_equal_those_from_mappings():
    rows = [
        ("q", group, subgroup, document, level)
        for group, subgroups in PREFERENCES["q"].items()
        for subgroup, levels in subgroups.items()
        for document, level in levels.items()
    ]
    run = {"q": {"a": 3.0, "b": 1.0}}
    options = {"measures": "all_prefs", "judgement_format": "prefs"}
    by_arrays = trec_measures(list(zip(*rows)), run, **options)
    by_mapping = trec_measures(PREFERENCES, run, **options)
    assert list(by_arrays.lines(True)) == list(by_mapping.lines(True))


def test_contradictions_within_a_group_are_refused():
    run = {"q": {"a": 1.0}}
    for group, message in (
        ({"1": {"a": 2, "b": 1}, "2": {"b": 2, "a": 1}}, "contradict each other"),
        ({"1": {"a": 2, "b": 1}, "2": {"a": 0, "c": 1}}, "level 0 and another"),
    ):
        with pytest.raises(ValueError, match=message):
            trec_measures(
                {"q": {"g": group}}, run, "prefs_simp", judgement_format="prefs"
            )


def test_groups_of_judges_are_averaged():
    run = {"q": {"a": 2.0, "b": 1.0}}
    qrels = {"q": {"ann": {"a": 1}, "bob": {"b": 1}, "eve": {"c": 1}}}
    result = trec_measures(
        qrels, run, ["map_avgjg", "P_avgjg.1"], judgement_format="qrels_jg"
    )
    assert result.per_query["map_avgjg"] == pytest.approx([(1 + 1 / 2 + 0) / 3])
    assert result.per_query["P_avgjg_1"] == pytest.approx([1 / 3])


def test_standardized_values_by_hand():
    result = trec_measures(QRELS, RUN, ["num_ret", "map", "gm_map", "relstring"])
    reference = {
        "a": {"num_ret": (3.0, 0.5), "map": (0.25, 0.0)},
        "b": {"num_ret": (3.0, 0.0), "gm_map": (0.0, 1.0)},
    }
    z = result.standardized(reference)
    assert list(z.per_query) == ["Znum_ret", "Zmap", "Zgm_map", "relstring"]
    np.testing.assert_array_equal(z.per_query["Znum_ret"], [-2.0, 0.0])
    np.testing.assert_array_equal(z.per_query["Zmap"], [0.0, -1e6])
    assert z.per_query["Zgm_map"][1] == np.log(result.per_query["map"][1])
    assert z.summary["Znum_ret"] == -2.0


def test_scores_that_single_precision_cannot_tell_apart_are_tied():
    qrels = {"q": {"a": 1}}
    near = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    far = {"q": {"a": 1.0 + 1e-3, "b": 1.0}}
    assert trec_measures(qrels, near, "recip_rank").summary["recip_rank"] == 0.5
    assert trec_measures(qrels, far, "recip_rank").summary["recip_rank"] == 1.0


def test_lines_look_like_trec_eval():
    lines = list(trec_measures(QRELS, RUN, ["map", "num_ret"], run_id="x").lines())
    assert lines == [f"{'num_ret':<22}\tall\t5", f"{'map':<22}\tall\t0.2917"]


@pytest.mark.parametrize(
    ("run", "qrels", "measures", "message"),
    [
        (RUN, QRELS, "mapp", r"unknown trec_eval measure 'mapp'; known are runid"),
        (RUN, QRELS, "P.0", "positive cut-offs"),
        (RUN, QRELS, "ndcg_cut." + "9" * 20, r"positive cut-offs below 2\*\*63$"),
        (RUN, QRELS, "P.inf", "of the form trec_eval takes"),
        (RUN, QRELS, "Rprec_mult.-1", "must be >= 0$"),
        (RUN, QRELS, "Rprec_mult.nan", "must be >= 0$"),
        (RUN, QRELS, "iprec_at_recall.0.5,2", r"must be in \[0, 1\]$"),
        (RUN, QRELS, "11pt_avg.2", r"must be in \[0, 1\]$"),
        (RUN, QRELS, "rbp.2", r"must be in \[0, 1\]$"),
        (RUN, QRELS, "set_F.-1", "must be >= 0$"),
        (RUN, QRELS, "relstring.-1", "must be >= 0$"),
        (RUN, QRELS, "utility.1,inf,0,0", "must be finite numbers$"),
        (RUN, QRELS, "ndcg.1=nan", "must be finite numbers$"),
        (RUN, QRELS, "P.x", "of the form trec_eval takes"),
        (RUN, QRELS, "map.3", "takes no parameters"),
        (RUN, QRELS, "utility.1,2", "four numbers"),
        (RUN, {"z": {"d1": 1}}, "map", "no query in common"),
        ({"a": {"d1": np.nan}}, QRELS, "map", "NaN score for query 'a'"),
        ((["a", "a"], ["d", "d"], [1, 2]), QRELS, "map", "document 'd' twice"),
        ((["a"], ["d", "e"], [1]), QRELS, "map", "of equal length, got 1, 2 and 1"),
    ],
)
def test_bad_input(run, qrels, measures, message):
    with pytest.raises(ValueError, match=message):
        trec_measures(qrels, run, measures)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": "prefs_simp"}, "'prefs_simp' needs .* 'prefs' or 'qrels_prefs'"),
        ({"judgement_format": "jg"}, "judgement_format must be 'qrels', "),
        ({"max_results": 0}, "max_results must be a whole number >= 1 or None, got 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        trec_measures(QRELS, RUN, **options)


def test_tables_of_another_form_are_refused():
    with pytest.raises(TypeError, match="run must be a Run, a mapping"):
        trec_measures(QRELS, 3)


# The package's own objects ------------------------------------------------------------

SHARED = [
    "map",
    "Rprec",
    "recip_rank",
    "bpref",
    "ndcg",
    "P_1",
    "P_5",
    "P_30",
    "recall_5",
    "recall_30",
    "map_cut_5",
    "ndcg_cut_1",
    "ndcg_cut_5",
    "ndcg_cut_30",
    "success_1",
    "success_5",
    "set_P",
    "set_recall",
    "set_F",
]


def random_run(seed, *, tied, highest=3):
    """A run and judgements that overlap in part, over queries of several kinds."""
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for query in range(25):
        ids = [f"d{i}" for i in range(40)]
        found = rng.choice(ids, size=rng.integers(1, 30), replace=False)
        judged = rng.choice(ids, size=rng.integers(1, 30), replace=False)
        scores = rng.normal(size=len(found))
        scores = np.round(scores) if tied else scores
        grades = rng.integers(-1, highest + 1, size=len(judged))
        if query % 5 == 0:  # nothing relevant
            grades = np.minimum(grades, 0)
        run += [(f"q{query:02}", d, s) for d, s in zip(found, scores)]
        qrels += [(f"q{query:02}", d, g) for d, g in zip(judged, grades)]
    columns = [list(zip(*rows)) for rows in (run, qrels)]
    (groups, docids, scores), (judged_groups, judged_docids, y) = columns
    return (
        Run(np.array(groups), np.array(docids, object), np.array(scores), "t"),
        Qrels(
            np.array(judged_groups), np.array(judged_docids, object), np.array(y, float)
        ),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("depth", [None, 7])
def test_measures_of_judged_runs_are_those_of_trec_eval(seed, tied, depth):
    run, qrels = random_run(seed, tied=tied)
    expected = trec_measures(qrels, run, SHARED, max_results=depth)
    judged = judge_run(qrels, run, depth=depth)
    assert judged.queries.tolist() == expected.topics
    data = {"groups": judged.groups, "per_query": True}
    for name in SHARED:
        measure = get_measure(name, preset="trec_eval")
        data["docids"] = judged.docids
        values = evaluate_measure(measure, judged.y, judged.scores, **data)
        np.testing.assert_allclose(values, expected.per_query[name], atol=1e-14)
        # The rows are in trec_eval's order.
        measure.set_params(ties="stable")
        values = evaluate_measure(measure, judged.y, judged.scores, **data)
        np.testing.assert_allclose(values, expected.per_query[name], atol=1e-14)
        if not tied:
            measure.set_params(ties="average")
            values = evaluate_measure(measure, judged.y, judged.scores, **data)
            np.testing.assert_allclose(values, expected.per_query[name], atol=1e-14)


@pytest.mark.parametrize("p", [0.8, 0.95])
def test_rbp_of_binary_judgements(p):
    run, qrels = random_run(0, tied=False, highest=1)
    judged = judge_run(qrels, run, complete=True)
    values = evaluate_measure(
        f"rbp(p={p}, empty_query=0)",
        judged.y,
        judged.scores,
        groups=judged.groups,
        per_query=True,
    )
    expected = trec_measures(qrels, run, f"rbp.{p}", complete=True)
    np.testing.assert_allclose(values, expected.per_query[f"rbp_{p}"], atol=1e-14)


def test_the_order_of_rows_and_queries_does_not_matter(rng):
    run, qrels = random_run(5, tied=False)
    judged = judge_run(qrels, run)
    rows = rng.permutation(len(judged.y))
    for name in SHARED:
        one, other = (
            evaluate_measure(
                name, judged.y[part], judged.scores[part], groups=judged.groups[part]
            )
            for part in (slice(None), rows)
        )
        assert one == pytest.approx(other, abs=1e-14)


def test_objects_mappings_and_files_are_the_same_tables(tmp_path):
    run = load_run(b"a Q0 d1 1 3 t\na Q0 d2 2 2 t\n")
    qrels = load_qrels(b"a 0 d2 1\na 0 d3 1\n")
    (tmp_path / "run").write_text("a Q0 d1 1 3 t\na Q0 d2 2 2 t\n")
    (tmp_path / "qrels").write_text("a 0 d2 1\na 0 d3 1\n")
    by_hand = trec_measures({"a": {"d2": 1, "d3": 1}}, {"a": {"d1": 3, "d2": 2}})
    for pair in (
        (qrels, run),
        ({"a": {"d2": 1, "d3": 1}}, run),
        (str(tmp_path / "qrels"), tmp_path / "run"),
        (qrels.to_pandas(), run.to_pandas("pyterrier")),
    ):
        assert list(trec_measures(*pair).lines(True)) == list(by_hand.lines(True))


def test_judgements_come_before_the_run():
    run = load_run(b"a Q0 d1 1 3 t\na Q0 d2 2 2 t\n")
    qrels = load_qrels(b"a 0 d2 1\na 0 d3 1\n")
    order = r"trec_measures takes judgements first and then a run, trec_measures\(qrels"
    for pair, found in (
        ((run, qrels), "a run as qrels and judgements as run"),
        ((run, run), "a run as qrels$"),
        ((qrels, qrels), "judgements as run$"),
        ((run, {"a": {"d2": 1}}), "a run as qrels$"),
    ):
        with pytest.raises(TypeError, match=f"{order}.*, got {found}"):
            trec_measures(*pair)
    with pytest.raises(ValueError, match=f"{order}.*; here qrels holds fractions and"):
        trec_measures({"a": {"d2": 0.5}}, {"a": {"d2": 1}})
    # Numbers say nothing of tables whose kind is known.
    summary = trec_measures(Qrels.from_dict({"a": {"d2": 0.5}}), {"a": {"d2": 1}})
    assert summary.summary["num_rel"] == 0


def test_ids_that_are_no_text_are_ordered_as_text():
    run = {"q": {20: 1.0, 100: 1.0, 3: 1.0}}  # 3, 20, 100
    assert trec_measures({"q": {20: 1}}, run, "recip_rank").summary == {
        "recip_rank": 0.5
    }
    ids = [20, "100", 3, "b", 1, "a"]
    found = trec_measures({q: {"x": 1} for q in ids}, {q: {"x": 1.0} for q in ids})
    assert found.topics == [1, "100", 20, 3, "a", "b"]
    mixed = {"q": {20: 1.0, "100": 1.0, 3: 1.0}}
    assert trec_measures({"q": {"100": 1}}, mixed, "recip_rank").summary == {
        "recip_rank": pytest.approx(1 / 3)
    }


HOLES = [None, np.nan, pd.NA]


@pytest.mark.parametrize("hole", HOLES)
def test_missing_ids_and_numbers_are_named(hole):
    run = [["q", "q"], ["a", "b"], [2.0, 1.0]]
    qrels = [["q", "q"], ["a", "b"], [1, 0]]
    for field, (part, message) in enumerate(
        [
            (run, r"run \(query\) must hold one id per row; row 1 has none"),
            (qrels, r"qrels \(document\) must hold one id per row; row 1 has none"),
            (run, "run holds a NaN score"),
        ]
    ):
        kept = part[field]
        part[field] = [kept[0], hole]
        with pytest.raises(ValueError, match=message):
            trec_measures(qrels, run)
        part[field] = kept
    with pytest.raises(ValueError, match="qrels holds a NaN grade"):
        trec_measures([*qrels[:2], [1, hole]], run)
    with pytest.raises(ValueError, match="qrels holds a NaN grade for query 'q'"):
        trec_measures({"q": {"a": hole}}, {"q": {"a": 1.0}})
    with pytest.raises(ValueError, match="run holds a NaN score for query 'q'"):
        trec_measures({"q": {"a": 1}}, {"q": {"a": hole}})
    levels = {"q": {"ann": {"1": {"a": 1, "b": hole}}}}
    with pytest.raises(ValueError, match="qrels holds a NaN level for query 'q'"):
        trec_measures(levels, {"q": {"a": 1.0}}, "prefs", judgement_format="prefs")


@pytest.mark.parametrize("hole", HOLES)
def test_missing_ids_of_documents_are_named(hole):
    arguments = [1, 0], [2.0, 1.0]
    with pytest.raises(ValueError, match="docids must hold one document id per row; r"):
        evaluate_measure(
            "map", *arguments, groups=[0, 0], preset="trec_eval", docids=["a", hole]
        )
    with pytest.raises(ValueError, match="docids must hold one document id per row; r"):
        compare({"a": arguments[1]}, [1, 0], [0, 0], docids=["a", hole])


def test_ids_that_do_not_compare_are_ordered_as_text():
    values = evaluate_measure(
        "mrr",
        [1, 0, 0],
        [0.0, 0, 0],
        groups=[0, 0, 0],
        preset="trec_eval",
        docids=np.array([20, "100", 3], dtype=object),
    )
    assert values == 1 / 2  # "3", "20", "100"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("ndcg_cut_10", "ndcg@10"),
        ("P_10", "p@10"),
        ("P.5", "p@5"),
        ("recall_100", "recall@100"),
        ("map_cut_10", "map@10"),
        ("success_1", "success@1"),
        ("set_P", "p"),
        ("set_recall", "recall"),
        ("set_F", "f"),
        ("recip_rank", "mrr"),
        ("Rprec", "rprec"),
    ],
)
def test_spellings_of_trec_eval_name_measures(name, own):
    assert get_measure(name).name == own
    assert get_measure(name).get_params() == get_measure(own).get_params()


@pytest.mark.parametrize("name", ["ndcg_cut", "map_cut_x", "set_P_10", "P_", "iprec_1"])
def test_spellings_that_name_no_measure(name):
    with pytest.raises(ValueError, match=f"unknown measure {name!r}"):
        get_measure(name)


@pytest.mark.parametrize(
    ("form", "run", "qrels", "message"),
    [
        ("prefs", {"q": {"a": 1.0}}, {"q": {"a": 1}}, "qrels .* group 'a' has 1 "),
        ("prefs", {"q": {"a": 1.0}}, {"q": [1]}, r"qrels .* query 'q' has \[1\] inst"),
        (
            "prefs",
            {"q": {}},
            {"q": {"g": {"s": 1}}},
            "qrels .* subgroup 's' has 1 inst",
        ),
        ("qrels_jg", {"q": {"a": 1.0}}, {"q": {"a": 1}}, "qrels .* group 'a' has 1"),
        ("qrels_prefs", {"q": {"a": 1.0}}, {"q": {"a": 1}}, "qrels .* group 'a' has 1"),
        (
            "qrels",
            {"q": {"a": 1.0}},
            {"q": 5},
            "qrels .* query 'q' has 5 instead",
        ),
        ("qrels", {"q": 5}, {"q": {"a": 1}}, "run .* query 'q' has 5 instead"),
        ("qrels", {"q": [5]}, {"q": {"a": 1}}, r"run .* query 'q' has \[5\] instead"),
    ],
)
def test_mappings_of_too_few_levels(form, run, qrels, message):
    with pytest.raises(TypeError, match=message.replace(" .* ", " must be a .* ")):
        trec_measures(qrels, run, judgement_format=form)


@pytest.mark.parametrize("grades", [[[]], [[1.0]], [[1], [2, 3]], [[1], 2]])
def test_lists_in_place_of_grades_are_named(grades):
    documents = dict(zip("ab", grades))
    run = {"1": {"a": 2.0, "b": 1.0}}
    with pytest.raises(ValueError, match=r"qrels must hold (one grade|numeric grades)"):
        trec_measures({"1": documents}, run, "map")
    with pytest.raises(ValueError, match=r"run must hold (one score|numeric scores)"):
        trec_measures({"1": {"a": 1, "b": 0}}, {"1": documents}, "map")
    preferences = {"1": {"g": {"s": documents}}}
    with pytest.raises(ValueError, match=r"qrels must hold (one level|numeric levels)"):
        trec_measures(preferences, run, "all_prefs", judgement_format="prefs")


@pytest.mark.parametrize(
    "entry",
    [0.3, (), (1, 2, 3), "ab", (0.3, "x"), (0.3, np.nan), (0.3, -1.0), (None, 0.1)]
    + [[[0.3], [0.1]], {"x": 1, "y": 2}, (1e300, 1e-320), (np.inf, 1.0)],
)
def test_statistics_of_reference_runs_are_checked(entry):
    result = trec_measures({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map")
    message = r"^reference must hold pairs of a finite mean .* for map of topic 'q'"
    with pytest.raises(ValueError, match=message):
        result.standardized({"q": {"map": entry}})
