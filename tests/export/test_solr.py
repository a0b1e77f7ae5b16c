"""Solr: the text against the rule of its trees and of its linear models."""

import json

import numpy as np
import pytest
from _exported import (
    EXTREME,
    LARGEST,
    NAMES,
    assert_like_predict,
    frozen,
    hard_rows,
    sums_by_hand,
)
from numpy.testing import assert_allclose

from skrank.export import score_solr, to_solr
from skrank.export._solr import before_slack
from skrank.rankers import MART

SLACK = np.float32(1e-6)


def text_of(ranker, **options):
    return to_solr(ranker, "m", feature_names=NAMES, **options)


def test_every_single_precision_value_goes_the_same_way(forest):
    rows = hard_rows(forest)
    served = score_solr(text_of(forest), rows, feature_names=NAMES)
    assert served.dtype == np.float32
    np.testing.assert_array_equal(served, sums_by_hand(forest, rows))
    assert_like_predict(forest, rows, served)


def test_missing_values_go_where_0_goes_if_asked(forest):
    rows = hard_rows(forest)
    text = text_of(forest, missing="zero")
    served = score_solr(text, rows, feature_names=NAMES)
    np.testing.assert_array_equal(served, sums_by_hand(forest, rows, True))
    assert "isNullSameAsZero" not in text  # unknown before Solr 9.2
    assert '"missing"' not in text


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-4, 1.0, 1e6])
def test_thresholds_of_any_size(scale):
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=60) * scale
    ranker = frozen([(j % 5, t, False, 1.0, 2.0) for j, t in enumerate(thresholds)])
    rows = hard_rows(ranker)
    served = score_solr(text_of(ranker), rows, feature_names=NAMES)
    np.testing.assert_array_equal(served, sums_by_hand(ranker, rows))


def test_extreme_thresholds():
    rows = hard_rows(EXTREME)
    served = score_solr(text_of(EXTREME), rows, feature_names=NAMES)
    np.testing.assert_array_equal(served, sums_by_hand(EXTREME, rows))


def test_thresholds_that_are_too_far_apart_are_refused():
    ranker = frozen([(1, 1e-35, False, 1.0, 2.0), (1, 1e35, False, 1.0, 2.0)])
    with pytest.raises(ValueError, match=r"from 1e-35 to 1e\+35 in size"):
        text_of(ranker)


def test_what_is_written_makes_up_for_the_slack():
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-2, 8, size=20_000)
    wanted = (rng.choice([-1, 1], 20_000) * sizes).astype(np.float32)
    before, exact = before_slack(np.append(wanted, np.float32([0.0, LARGEST])))
    wanted = np.append(wanted, np.float32([0.0, LARGEST]))
    np.testing.assert_array_equal((before + SLACK)[exact], wanted[exact])
    assert exact[-2:].all()
    assert exact[np.abs(wanted) >= 32].all()
    # Where none was found, there is none: the sum jumps over the threshold.
    for want in wanted[~exact][:50]:
        near = np.float32(np.float64(want) - np.float64(SLACK))
        low = high = near
        for _ in range(50):
            low = np.nextafter(low, np.float32(-np.inf))
            high = np.nextafter(high, np.float32(np.inf))
            assert low + SLACK != want
            assert high + SLACK != want


def test_small_features_are_multiplied_by_a_power_of_two():
    ranker = frozen([(0, 1.1e-7, False, 1.0, 2.0), (1, 0.5, False, 1.0, 2.0)])
    first, second = json.loads(text_of(ranker))["features"]
    assert second == {"name": NAMES[1]}
    assert first["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
    assert float(first["norm"]["params"]["avg"]) == 0.0
    mantissa, _ = np.frexp(float(first["norm"]["params"]["std"]))
    assert mantissa == 0.5


def test_values_that_overflow_when_multiplied_do_not_join_the_missing_ones():
    rng = np.random.default_rng(0)
    x = (rng.uniform(1, 2, 400) * 1e-10).astype(np.float32)
    absent = rng.random(400) < 0.3
    x[absent] = np.nan
    y = np.where(absent, 0.0, 2.0 - (rng.random(400) < 0.1))
    ranker = MART(
        n_estimators=5, min_samples_leaf=2, max_leaf_nodes=3, random_strength=0.0
    )
    ranker.fit(x[:, None], y, np.repeat(np.arange(20), 20))
    text = to_solr(ranker, "small", feature_names=["a"])
    assert '"norm"' in text
    assert '"Infinity"' in text
    rows = np.array([[-3e38], [-1e30], [1e10], [1e30], [3e38], [np.nan]], np.float32)
    served = score_solr(text, rows, feature_names=["a"])
    assert_allclose(served, ranker.predict(rows), rtol=1e-6)


def test_the_form_of_a_tree():
    ranker = frozen([(1, 64.0, True, 3.0, (3, -64.0, False, 4.0, 5.0))])
    document = json.loads(text_of(ranker, store="shop"))
    assert document == {
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "name": "m",
        "store": "shop",
        "features": [{"name": NAMES[1]}, {"name": NAMES[3]}],  # those that are asked
        "params": {
            "isNullSameAsZero": False,
            "trees": [
                {
                    "weight": "1",
                    "root": {
                        "feature": NAMES[1],
                        "threshold": "64.0",  # 64 + 1e-6 is 64 in single precision
                        "missing": "left",
                        "left": {"value": "3.0"},
                        "right": {
                            "feature": NAMES[3],
                            "threshold": "-64.0",
                            "missing": "right",
                            "left": {"value": "4.0"},
                            "right": {"value": "5.0"},
                        },
                    },
                }
            ],
        },
    }
    constant = json.loads(text_of(frozen([], baseline=2.0)))
    assert constant["features"] == [{"name": NAMES[0]}]  # Solr wants one at least
    assert constant["params"]["trees"] == [{"weight": "1", "root": {"value": "2.0"}}]


def test_the_rule_of_solr_itself():
    """Left if and only if x <= threshold + 1e-6; NaN is 0 unless told otherwise."""
    root = {"feature": "a", "threshold": "-0.5", "missing": "left"}
    root |= {"left": {"value": "1"}, "right": {"value": "2"}}
    document = {
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "features": [{"name": "a"}],
        "params": {"trees": [{"weight": "3", "root": root}]},
    }
    X = np.array([[-0.5], [-0.4999993], [-0.4999987], [np.nan]])

    def scores():
        return score_solr(json.dumps(document), X, feature_names=["a"]).tolist()

    assert scores() == [3.0, 3.0, 6.0, 6.0]
    document["params"]["isNullSameAsZero"] = False
    assert scores() == [3.0, 3.0, 6.0, 3.0]
    norm = {"class": "org.apache.solr.ltr.norm.StandardNormalizer"}
    norm["params"] = {"avg": "1.0", "std": "2.0"}
    document["features"][0]["norm"] = norm
    X = np.array([[0.0], [1e-3], [3.0], [np.nan]])  # -0.5, above, above, missing
    assert scores() == [3.0, 6.0, 6.0, 3.0]


def test_linear_models_lose_their_constant_only(linear, data):
    X = data[0]
    text = text_of(linear)
    document = json.loads(text)
    assert document["class"] == "org.apache.solr.ltr.model.LinearModel"
    assert document["features"] == [{"name": name} for name in NAMES]
    weights = document["params"]["weights"]
    assert list(weights) == NAMES
    np.testing.assert_array_equal(
        list(weights.values()), linear.coef_.astype(np.float32)
    )
    served = score_solr(text, X, feature_names=NAMES)
    expected = linear.predict(X) - linear.intercept_
    size = np.abs(X) @ np.abs(linear.coef_)
    assert np.all(np.abs(served - expected) <= 8 * np.finfo(np.float32).eps * size)


def test_columns_are_found_by_name(forest):
    rows = hard_rows(forest)
    text = text_of(forest)
    order = [3, 1, 4, 0, 2]
    served = score_solr(text, rows[:, order], feature_names=[NAMES[j] for j in order])
    np.testing.assert_array_equal(served, sums_by_hand(forest, rows))


def test_wrong_options():
    ranker = frozen([(0, 0.5, False, 1.0, 2.0)])
    with pytest.raises(ValueError, match="Solr addresses features by name"):
        to_solr(ranker, "m")
    with pytest.raises(ValueError, match="name must be a string that is not empty"):
        to_solr(ranker, "", feature_names=NAMES)
    with pytest.raises(ValueError, match="missing must be 'learned' or 'zero'"):
        text_of(ranker, missing=0)
    document = json.loads(text_of(ranker)) | {"class": "other"}
    with pytest.raises(ValueError, match="class 'other' is unknown"):
        score_solr(json.dumps(document), np.zeros((1, 5)), feature_names=NAMES)
