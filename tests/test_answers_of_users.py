"""Answers of energies, losses and the like of the user's are looked at, and named."""

import re
from typing import Any

import numpy as np
import pytest
from _odd import NOT_FINITE, ODD_ANSWERS
from sklearn.utils.metaestimators import available_if

from skrank.aggregation import BaseAggregator
from skrank.base import BaseRanker
from skrank.datasets import make_ranking
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.exceptions import NotFiniteError
from skrank.losses import (
    BaseLoss,
    BaseMarginLoss,
    ExplicitPairsLoss,
    LogLoss,
    PreparedLoss,
)
from skrank.metrics import BaseMeasure, evaluate_measure, ndcg_score
from skrank.rankers import BoostedRanker, EnergyRanker


@pytest.fixture
def data():
    return make_ranking(n_queries=6, random_state=0)


class OwnEnergy(BaseEnergy):
    """A linear energy, one method of which answers oddly."""

    short_name = "own_of_tests"
    odd: str = ""
    answer: Any = None

    def _answer(self, method, found):
        return self.answer(len(found)) if self.odd == method else found

    def n_params(self, n_features):
        return n_features

    def init_params(self, n_features, rng):
        return self._answer("init_params", np.full(n_features, 0.1))

    def scores(self, params, X, ptr=None):
        return self._answer("scores", X @ params)

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        def vjp(gradient):
            return self._answer("the function of", X.T @ gradient)

        return self._answer("scores_and_vjp", X @ params), vjp


@pytest.mark.parametrize("kind", ODD_ANSWERS)
@pytest.mark.parametrize(
    "method", ["init_params", "scores", "scores_and_vjp", "the function of"]
)
def test_energies_of_users_must_answer_with_numbers(kind, method, data):
    answer, message = ODD_ANSWERS[kind]
    if method in ("init_params", "the function of"):
        message = message.replace("rows", "parameters")
    elif kind == "of two axes":  # scores may have columns
        return
    else:
        message = message.replace("one number for each of", "scores of")
    ranker = EnergyRanker(OwnEnergy(), LogLoss()).fit(*data)
    before = vars(ranker).copy()
    ranker.set_params(energy__odd=method, energy__answer=answer)
    name = "the function of OwnEnergy.scores_and_vjp" if " " in method else method
    with pytest.raises(ValueError, match=f"what .*{name} returns .*{message}"):
        ranker.fit(*data).energies(data[0])
    if method != "scores":
        assert ranker.params_ is before["params_"]


def test_energies_of_users_return_scores_and_a_function(data):
    class Own(OwnEnergy):
        def scores_and_vjp(self, params, X, rng=None, ptr=None):
            return X @ params

    message = r"Own.scores_and_vjp must return scores and a function"
    with pytest.raises(TypeError, match=message):
        EnergyRanker(Own(), LogLoss()).fit(*data)


class OwnPrepared(PreparedLoss):
    """Squared errors, one of whose arrays is odd."""

    def __init__(self, y, ptr, sample_weight, n_threads, odd):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.total_weight, self.odd = float(self.n_documents), odd

    def _arrays(self, raw):
        errors = raw - self.y
        arrays = [
            np.add.reduceat(errors**2, self.ptr[:-1]),
            2.0 * errors,
            np.full(len(errors), 2.0),
        ]
        if self.odd is not None:
            place, answer = self.odd
            arrays[place] = answer(len(arrays[place]))
        return tuple(arrays)

    def value_gradient(self, raw):
        return self._arrays(raw)[:2]

    @available_if(lambda self: True)
    def gradient_hessian(self, raw):
        return self._arrays(raw)


class OwnLoss(BaseLoss):
    short_name = "own_of_tests"
    unit = "document"
    shift_invariant = False
    convex = has_hessian = True
    odd: Any = None

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return OwnPrepared(y, ptr, sample_weight, n_threads, self.odd)


@pytest.mark.parametrize("kind", [*ODD_ANSWERS, "NaN", "infinite", "masked"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_losses_of_users_must_answer_with_numbers(kind, place, data):
    answer, message = (ODD_ANSWERS | NOT_FINITE)[kind]
    message = re.sub(r"one number .*", "return arrays of the shapes", message)
    loss = OwnLoss(odd=(place, answer))
    rankers = [BoostedRanker(loss, n_estimators=2, min_samples_leaf=2)]
    if place < 2:
        rankers.append(EnergyRanker(LinearEnergy(), loss))
    for ranker in rankers:
        with pytest.raises(
            ValueError, match=rf"OwnPrepared.* {message}|OwnLoss became"
        ):
            ranker.fit(*data)
    for ranker in rankers:
        ranker.set_params(loss__odd=None).fit(*data)


def test_losses_of_users_return_arrays(data):
    class Own(OwnPrepared):
        def value_gradient(self, raw):
            return super().value_gradient(raw)[0]

    prepared = Own(data[1], [0, len(data[1])], None, 1, None)
    with pytest.raises(
        TypeError, match=r"Own.value_gradient must return 2 arrays, got"
    ):
        prepared.value_gradient(np.zeros(len(data[1])))


@pytest.mark.parametrize("kind", [*ODD_ANSWERS, "NaN", "infinite"])
def test_curvatures_of_users_must_be_numbers(kind, data):
    answer, message = (ODD_ANSWERS | NOT_FINITE)[kind]

    class Own(BaseMarginLoss):
        short_name = "own_of_tests"

        def margin_loss(self, margins):
            return margins**2, 2.0 * margins

        def margin_curvature(self, margins):
            return answer(len(margins))

    message = message.replace("rows", "margins")
    with pytest.raises(ValueError, match=rf"margin_curvature .*{message}|Own became"):
        BoostedRanker(Own(), n_estimators=2, min_samples_leaf=2).fit(*data)


def test_masked_answers_are_no_numbers(data):
    X, y, groups = data

    class Own(BaseRanker):
        def _fit(self, data, validation):
            pass

        def _predict(self, X):
            return np.ma.masked_array(np.zeros(len(X)), np.arange(len(X)) == 2)

    class Fusion(BaseAggregator):
        def _combine(self, joined):
            return np.ma.masked_array(np.zeros(joined.n_documents), True)

    with pytest.raises(NotFiniteError, match=r"row 2, .* gets the score nan"):
        Own().fit(X, y, groups).predict(X)
    with pytest.raises(ValueError, match="Fusion: the fused scores are not finite"):
        Fusion().predict(np.nan_to_num(X), groups)


def test_slips_of_users_do_not_change_the_data_of_the_caller(data):
    X, y, groups = data
    given = y.astype(float)

    def capped(grades):
        grades[grades > 1] = 1.0
        return grades

    class Own(BaseMeasure):
        short_name = "own_of_tests"
        changed: str = "y"

        def _values(self, documents):
            return capped(getattr(documents, self.changed))[documents.ptr[:-1]]

    class InPlace(OwnPrepared):
        def value_gradient(self, raw):
            raw -= self.y
            return self._arrays(raw)[:2]

    # A function has grades of its own, which it may change.
    found = ndcg_score(given, X[:, 0], groups=groups, gain=capped)
    expected = ndcg_score(y, X[:, 0], groups=groups, gain=lambda g: np.minimum(g, 1.0))
    assert found == expected
    for changed in ("y", "y_score"):
        with pytest.raises(ValueError, match="read-only"):
            evaluate_measure(Own(changed=changed), given, 9.0 * X[:, 0], groups=groups)
    prepared = InPlace(y, [0, len(y)], None, 1, None)
    raw = np.zeros(len(y))
    with pytest.raises(ValueError, match="read-only"):
        prepared.value_gradient(raw)
    assert raw.max() == 0.0
    np.testing.assert_array_equal(given, y)


@pytest.mark.parametrize("dtype", ["f2", "f4", "g", ">f8", "u1", "i8", "?"])
def test_numbers_of_any_type_are_numbers(dtype, data):
    """0 and 1 are the same numbers in all of these types."""

    class Own(BaseMarginLoss):
        short_name = "own_of_tests"
        dtype: str = "f8"

        def margin_loss(self, margins):
            return np.zeros(len(margins), self.dtype), np.ones(len(margins), self.dtype)

        def margin_curvature(self, margins):
            return np.ones(len(margins), self.dtype)

    def steps(dtype):
        return lambda n: (np.arange(n) % 2).astype(dtype)

    options = {"n_estimators": 2, "min_samples_leaf": 2, "random_state": 0}
    of_documents = (OwnLoss(odd=(1, steps(kind))) for kind in (dtype, "f8"))
    pairs = (Own(dtype=dtype), Own()), tuple(of_documents)
    for loss, plain in pairs:
        found, expected = (
            BoostedRanker(one, **options).fit(*data).predict(data[0])
            for one in (loss, plain)
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "g", ">f8", "u1", "i8", "?"])
def test_fused_scores_of_any_type_are_scores(dtype):
    class Fusion(BaseAggregator):
        def _combine(self, joined):
            return (np.arange(joined.n_documents) % 2).astype(dtype)

    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    assert sorted(Fusion().aggregate(runs)["q"].values()) == [0.0, 1.0]


class OwnMargin(BaseMarginLoss):
    """The log loss, whose answers are the columns of one array."""

    short_name = "own_margin_of_tests"

    def margin_loss(self, margins):
        value, slope = LogLoss().margin_loss(margins)
        both = np.column_stack([value, slope])
        return both[:, 0], both[:, 1]


def test_answers_may_have_strides(data):
    X, y, groups = data
    pairs = np.array([[0, 1], [2, 1], [3, 4]])
    for own, loss in (
        (OwnMargin(), LogLoss()),
        (ExplicitPairsLoss(OwnMargin(), pairs), ExplicitPairsLoss(LogLoss(), pairs)),
    ):
        found = EnergyRanker(LinearEnergy(), own, alpha=0.1).fit(X, y, groups)
        expected = EnergyRanker(LinearEnergy(), loss, alpha=0.1).fit(X, y, groups)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-7)
