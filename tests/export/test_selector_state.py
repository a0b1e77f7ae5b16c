"""What selectors of features from a file must hold."""

import copy

import numpy as np
import pytest

from skrank.datasets import make_ranking
from skrank.export._selector_state import check_feature_selector
from skrank.rankers import SubsetRegression
from skrank.selection import (
    GAS,
    L1PathSelector,
    QueryRFE,
    QueryRFECV,
    SelectByMeasure,
)

X, Y, GROUPS = make_ranking(n_queries=8, n_features=4, n_informative=2, random_state=0)
FITTED = [
    selector.fit(X, Y, GROUPS)
    for selector in (
        GAS(2),
        L1PathSelector(2, n_steps=5),
        QueryRFE(SubsetRegression(), n_repeats=1, random_state=0),
        QueryRFECV(SubsetRegression(), n_repeats=1, cv=2, random_state=0),
        SelectByMeasure(2),
    )
]


@pytest.mark.parametrize("selector", FITTED, ids=lambda s: type(s).__name__)
def test_every_learned_attribute_is_looked_at(selector):
    check_feature_selector(selector)
    for name, value in vars(selector).items():
        if not name.endswith("_"):
            continue
        for other in (None, np.zeros(9), "x"):
            edited = copy.copy(selector)
            setattr(edited, name, other)
            # Of two arrays of the same length, either may be to blame.
            blamed = f"{name}|coefs_" if name == "l1s_" else name
            with pytest.raises(ValueError, match=blamed):
                check_feature_selector(edited)
        edited = copy.copy(selector)
        delattr(edited, name)
        with pytest.raises(ValueError, match=f"the attribute {name} is missing"):
            check_feature_selector(edited)
        if isinstance(value, np.ndarray) and value.dtype == float:
            edited = copy.copy(selector)
            setattr(edited, name, np.full_like(value, np.nan))
            if name != "validation_values_":
                with pytest.raises(ValueError, match=f"{name} must be finite"):
                    check_feature_selector(edited)


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("n_features_", 3, "2, as support_"),
        ("support_", np.zeros(4, dtype=bool), "True for some features"),
        ("order_", np.array([0, 0]), "the kept features"),
        ("directions_", np.array([1, 1, 1, 2]), "1 or -1"),
        ("feature_names_in_", np.array(["a", "b"], dtype=object), "4 names"),
        ("objective_", np.nan, "a finite number"),
    ],
)
def test_attributes_that_contradict_each_other(name, value, accepted):
    edited = copy.copy(FITTED[0])
    setattr(edited, name, value)
    with pytest.raises(ValueError, match=f"GAS: {name} must be {accepted}"):
        check_feature_selector(edited)


def test_rankings_and_rankers_of_other_features():
    edited = copy.copy(FITTED[2])
    edited.ranking_ = edited.ranking_[::-1] + 1
    with pytest.raises(ValueError, match="ranking_ must be 1 for the kept features"):
        check_feature_selector(edited)
    edited = copy.copy(FITTED[2])
    edited.estimator_ = SubsetRegression().fit(X, Y, GROUPS)
    with pytest.raises(ValueError, match="an estimator fitted on 2 features"):
        check_feature_selector(edited)
