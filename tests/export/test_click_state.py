"""Models of clicks in files: what a file may say of relevance and of users."""

import io

import numpy as np
import pytest

from skrank import click
from skrank.click import ClickChainModel, Sessions, UserBrowsingModel
from skrank.click._counting import BaseCountingModel
from skrank.export import load_model, save_model


@pytest.mark.parametrize("relevance", [0.0, -0.0])
def test_a_relevance_by_which_nothing_can_be_divided_is_refused(relevance):
    lists = [["a", "b"], ["b", "a"], ["a", "c"]]
    sessions = Sessions.from_lists(["q"] * 3, lists, [[1, 0], [0, 1], [0, 0]])
    model, file = ClickChainModel().fit(sessions), io.BytesIO()
    save_model(model, file)
    assert np.isfinite(load_model(file.getvalue()).predict_proba(sessions)).all()
    model.relevance_[0], model.relevance_variance_[0] = relevance, 0.0
    file = io.BytesIO()
    save_model(model, file)
    with pytest.raises(ValueError, match="relevance_ must be probabilities > 0"):
        load_model(file.getvalue())


@pytest.mark.parametrize("shape", [(3, 4), (4, 3)], ids=["distances", "ranks"])
def test_a_table_of_examination_that_does_not_fit_the_model_is_refused(shape):
    lists = [["a", "b", "c"], ["b", "a", "c"]]
    sessions = Sessions.from_lists(["q"] * 2, lists, [[1, 0, 1], [0, 1, 0]])
    model = UserBrowsingModel(max_rank=3).fit(sessions)
    assert model.examination_.shape == (3, 3)
    model.examination_ = np.full(shape, 0.5)
    file = io.BytesIO()
    save_model(model, file)
    with pytest.raises(ValueError, match="a table of 3 distances and at most max_rank"):
        load_model(file.getvalue())


COUNTING = [
    model
    for model in map(vars(click).get, click.__all__)
    if isinstance(model, type)
    and issubclass(model, BaseCountingModel)
    and not model.__name__.startswith("Base")
]


@pytest.mark.parametrize("cls", COUNTING)
def test_counts_of_a_file_take_further_sessions_or_are_refused(cls):
    """Every number of a slot, and every part of the counts alone."""
    lists = [list("abc"), list("ba"), list("c")]
    sessions = Sessions.from_lists(["q", "q", "p"], lists, [[1, 0, 1], [0, 0], [1]])
    more = Sessions.from_lists(["q", "r"], [list("abd"), list("x")], [[0, 1, 0], [0]])
    names = [f"cell_{part}_" for part in ("pair", "slot", "clicks", "skips")]
    n_taken = 0
    for options in cls._variants():
        fitted = cls(**options).fit(sessions)
        cells = [getattr(fitted, name) for name in names]
        n = len(cells[0])
        changed = [[part[:end] for part in cells] for end in range(n + 1)]
        for i in range(n):
            for slot in (-1, *range(9), 99, 100, 101):
                slots = cells[1].copy()
                slots[i] = slot
                changed.append([cells[0], slots, *cells[2:]])
        for arrays in changed:
            for name, array in zip(names, arrays):
                setattr(fitted, name, array)
            file = io.BytesIO()
            save_model(fitted, file)
            try:
                load_model(file.getvalue())
            except ValueError as error:
                is_empty = "at least one number, got array([], " in str(error)
                assert is_empty == (len(arrays[0]) == 0)
                continue
            n_taken += 1
            one, two, three = (load_model(file.getvalue()) for _ in range(3))
            one.partial_fit(more)
            two.merge(three)
            for model in (one, two):
                assert np.isfinite(model.predict_proba(more)).all()
    assert n_taken


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cell_pair_", -1),
        ("cell_pair_", 4),
        ("cell_slot_", -1),
        ("cell_slot_", 3),
        ("cell_clicks_", -1),
        ("cell_skips_", -1),
    ],
)
@pytest.mark.parametrize("place", [0, -1])
def test_counts_of_pairs_and_places_that_there_are_not(name, value, place):
    lists = [list("abc"), list("da")]
    sessions = Sessions.from_lists(["q", "q"], lists, [[1, 0, 1], [0, 1]])
    model = click.PositionBasedModel().fit(sessions)
    assert len(model.pair_query_) == 4
    assert len(model.examination_) == 3
    getattr(model, name)[place] = value
    file = io.BytesIO()
    save_model(model, file)
    with pytest.raises(
        ValueError, match=rf"{name} must be (numbers below|counts >= 0)"
    ):
        load_model(file.getvalue())
