"""trec_measures: input forms, options, error messages and printed lines."""

import numpy as np
import pytest

from skrank.metrics import trec_measures

RUN = {"b": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "a": {"d1": 1.0, "d9": 1.0}}
QRELS = {"a": {"d1": 1, "d2": 1}, "b": {"d3": 2, "d1": 0, "d2": -1}, "c": {"d1": 1}}


def arrays(table):
    rows = [(q, d, v) for q, documents in table.items() for d, v in documents.items()]
    return tuple(zip(*rows))


def test_arrays_and_mappings_give_the_same_result():
    by_mapping = trec_measures(RUN, QRELS, "all_trec")
    by_arrays = trec_measures(arrays(RUN), arrays(QRELS), "all_trec")
    assert by_mapping.topics == by_arrays.topics == ["a", "b"]
    assert list(by_mapping.lines(True)) == list(by_arrays.lines(True))


def test_equal_scores_come_by_decreasing_document_id():
    result = trec_measures(RUN, QRELS, ["recip_rank", "num_rel"])
    np.testing.assert_array_equal(result.per_query["recip_rank"], [1 / 2, 1 / 3])
    assert result.summary["num_rel"] == 3


def test_complete_counts_missing_queries_as_zero():
    result = trec_measures(RUN, QRELS, "recip_rank", complete=True)
    np.testing.assert_array_equal(result.per_query["recip_rank"], [1 / 2, 1 / 3, 0])


def test_judged_only_closes_the_gaps():
    result = trec_measures(RUN, QRELS, "recip_rank", judged_only=True)
    np.testing.assert_array_equal(result.per_query["recip_rank"], [1, 1 / 2])


def test_max_results_and_relevance_level():
    result = trec_measures(RUN, QRELS, "num_rel_ret", max_results=2)
    np.testing.assert_array_equal(result.per_query["num_rel_ret"], [1, 0])
    result = trec_measures(RUN, QRELS, "num_rel_ret", relevance_level=2)
    np.testing.assert_array_equal(result.per_query["num_rel_ret"], [0, 1])


def test_utility_counts_the_collection():
    result = trec_measures(RUN, QRELS, "utility.0,0,0,1", n_collection=100)
    # not retrieved, not relevant: 100 - 2 - 2 + 1 and 100 - 3 - 1 + 1
    np.testing.assert_array_equal(result.per_query["utility_0,0,0,1"], [97, 97])


def test_printed_names_are_understood():
    result = trec_measures(RUN, QRELS, ["ndcg_cut_10", "P_5", "ndcg_cut.10"])
    assert list(result.summary) == ["P_5", "ndcg_cut_10"]


def test_lines_look_like_trec_eval():
    lines = list(trec_measures(RUN, QRELS, ["map", "num_ret"], run_id="x").lines())
    assert lines == [f"{'num_ret':<22}\tall\t5", f"{'map':<22}\tall\t0.2917"]


@pytest.mark.parametrize(
    ("run", "qrels", "measures", "message"),
    [
        (RUN, QRELS, "mapp", r"unknown trec_eval measure 'mapp'; known are runid"),
        (RUN, QRELS, "P.0", "positive cut-offs"),
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
        trec_measures(run, qrels, measures)


def test_tables_of_another_form_are_refused():
    with pytest.raises(TypeError, match="run must be a mapping"):
        trec_measures(3, QRELS)
