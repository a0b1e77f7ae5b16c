"""RankLib: the text of a model file against the rule of RankLib."""

from xml.etree import ElementTree

import numpy as np
import pytest
from _exported import (
    EXTREME,
    assert_like_predict,
    frozen,
    hard_rows,
    sums_by_hand,
)

from skrank.export import score_ranklib, to_ranklib


def test_every_single_precision_value_goes_the_same_way(forest):
    rows = hard_rows(forest)
    text = to_ranklib(forest, missing="zero")
    served = score_ranklib(text, rows)
    assert served.dtype == np.float32
    np.testing.assert_array_equal(served, sums_by_hand(forest, rows, True))
    complete = hard_rows(forest, missing=False)
    served = score_ranklib(text, complete)
    assert_like_predict(forest, complete, served)


def test_extreme_thresholds():
    rows = hard_rows(EXTREME)
    served = score_ranklib(to_ranklib(EXTREME, missing="zero"), rows)
    np.testing.assert_array_equal(served, sums_by_hand(EXTREME, rows, True))


def test_missing_values_that_do_not_go_where_0_goes_are_refused():
    tree = (2, 0.5, False, 1.0, 2.0)  # 0 goes left, a missing value right
    with pytest.raises(ValueError, match="feature 2 sends missing values elsewhere"):
        to_ranklib(frozen([tree]))
    for threshold, missing_left in ((0.5, True), (0.0, True), (-0.5, False)):
        ranker = frozen([(2, threshold, missing_left, 1.0, 2.0)])
        rows = hard_rows(ranker)
        served = score_ranklib(to_ranklib(ranker), rows)
        np.testing.assert_array_equal(served, sums_by_hand(ranker, rows))


def test_learned_directions_are_refused_as_a_whole(forests):
    with pytest.raises(ValueError, match="missing='zero' sends them where 0 goes"):
        to_ranklib(forests["LambdaMART", 0.3])


def test_the_form_of_the_text():
    ranker = frozen([(1, 0.1, True, 3.0, (0, 2.0, True, 4.0, 5.0)), -1.5])
    text = to_ranklib(ranker)
    first, *lines = text.splitlines()
    assert first == "## LambdaMART"
    assert text.endswith("</ensemble>\n")
    # RankLib glues the lines together and takes nodes by position: no white space.
    glued = "".join(lines)
    assert "> " not in glued
    assert " <" not in glued
    ensemble = ElementTree.fromstring(glued)
    assert [tree.attrib for tree in ensemble] == [
        {"id": "1", "weight": "1.0"},
        {"id": "2", "weight": "1.0"},
    ]
    (root,) = ensemble[0]
    assert [node.tag for node in root] == ["feature", "threshold", "split", "split"]
    assert [node.attrib.get("pos") for node in root] == [None, None, "left", "right"]
    assert root[0].text == "2"  # features count from 1
    # 0.1 in single precision is above 0.1, so the number before it is taken.
    single = np.nextafter(np.float32(0.1), np.float32(0))
    assert float(root[1].text) == float(single)
    assert [node.tag for node in root[2]] == ["output"]
    assert ensemble[1][0][0].text == "-1.5"


def test_the_rule_of_ranklib_itself():
    text = (
        '## LambdaMART\n<ensemble><tree id="1" weight="0.5"><split><feature>1</feature>'
        '<threshold>0.5</threshold><split pos="left"><output>1.0</output></split>'
        '<split pos="right"><output>2.0</output></split></split></tree></ensemble>'
    )
    above = np.nextafter(np.float32(0.5), np.float32(1))
    X = np.array([[0.5], [above], [0.4], [np.nan]])
    assert score_ranklib(text, X).tolist() == [0.5, 1.0, 0.5, 0.5]


def test_linear_models_keep_their_constant(linear, data):
    X = data[0].astype(np.float32)
    text = to_ranklib(linear)
    first, terms = text.splitlines()
    assert first == "## Linear Regression"
    numbers = [float(term.split(":")[1]) for term in terms.split()]
    assert numbers == [linear.intercept_, *linear.coef_]
    assert [term.split(":")[0] for term in terms.split()] == list("012345")
    served = score_ranklib(text, X)
    expected = linear.predict(X.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(served, expected, rtol=1e-6, atol=1e-6)


def test_another_kind_of_model_is_refused():
    with pytest.raises(ValueError, match="the first line must be"):
        score_ranklib("## RankNet\n", np.zeros((1, 1)))
