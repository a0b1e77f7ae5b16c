"""Functions and estimators of the user's that cannot be called as such are named."""

from fractions import Fraction

import numpy as np
import pytest

from skrank.exceptions import InvalidParameterError
from skrank.experiments import Experiment, make_folds
from skrank.inspection import (
    EnergyTrainingDisplay,
    FeatureImportanceDisplay,
    GaussianEmbeddingDisplay,
    TrainingCurveDisplay,
)
from skrank.losses import BoltzmannLoss, HingeLoss, ListMLELoss, OWPCLoss
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.online import PDGD, simulate_online
from skrank.rankers import IRSVM, LambdaMART, RankNet, RankSVM
from skrank.solvers import SGD
from skrank.text import InvertedIndex

Y, PTR = np.array([2.0, 0.0, 1.0]), np.array([0, 3])


@pytest.fixture
def rows(rng):
    return {"X": rng.random((6, 2)), "y": [1, 0, 2] * 2, "groups": [1] * 3 + [2] * 3}


def test_a_callback_that_does_not_take_the_report(rows):
    with pytest.raises(TypeError, match=r"^the function callback failed: int\(\) arg"):
        RankNet(callback=int, max_iter=2).fit(**rows)


def test_callbacks_that_do_not_take_other_reports(rows, tmp_path):
    message = r"^the function callback failed: int\(\) arg"
    folds = make_folds(**rows | {"groups": [1, 1, 2, 2, 3, 3]}, n_splits=3)
    with pytest.raises(TypeError, match=message):
        Experiment(rankers={"a": RankSVM()}).run(
            folds, tmp_path / "results", callback=int
        )
    held = {f"{name}_val": value for name, value in rows.items()}
    with pytest.raises(TypeError, match=message):
        simulate_online(PDGD(), **rows, **held, n_impressions=2, callback=int)


def test_errors_within_a_callback_stay_as_they_are(rows):
    def failing(info):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        RankNet(callback=failing, max_iter=2).fit(**rows)


@pytest.mark.parametrize("found", [np.array(3), np.array("a"), np.full((2, 2), "a")])
def test_a_tokenizer_that_returns_an_array_without_terms(found):
    with pytest.raises(TypeError, match=r"^tokenizer must return lists of strings"):
        InvertedIndex(tokenizer=lambda text: found).fit(["a b"])


@pytest.mark.parametrize(
    ("g", "message"),
    [
        (len, r"^the function g failed: len\(\) takes exactly one"),
        (lambda x, m: None, r"^the function g "),
        (lambda x, m: "a", r"^the function g failed: .* must hold numbers"),
        (lambda x, m: x[:1], r"^the function g must return one finite number for each"),
        (lambda x, m: x * np.nan, r"^the function g must return one finite number"),
    ],
)
def test_weights_of_ranks(g, message):
    with pytest.raises((TypeError, ValueError), match=message):
        BoltzmannLoss(g=g).prepare(Y, PTR)


def _of_pairs(weights):
    return lambda: HingeLoss(grade_weights=weights).value_gradient(Y, Y, PTR)


HUGE = 10**400
ARRAYS = [
    ("grade_weights", _of_pairs),
    ("weights", lambda f: lambda: OWPCLoss(f).value_gradient(Y, Y, PTR)),
    (
        "position_weights",
        lambda f: lambda: ListMLELoss(position_weights=f).value_gradient(Y, Y, PTR),
    ),
    ("discount", lambda f: lambda: ndcg_score(Y, Y, groups=[0] * 3, discount=f)),
]


@pytest.mark.parametrize(("name", "call"), ARRAYS, ids=lambda v: str(v)[:20])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, *b: [HUGE] * len(a), "the result of the function {} must hold numb"),
        (lambda a, *b: HUGE, "the result of the function {} must hold numbers, got 1"),
        (lambda a, *b: "a", "the result of the function {} must hold numbers, got 'a'"),
        (
            lambda a, *b: np.ones(7),
            "the function {} must return one number for each of",
        ),
        (lambda a, *b: np.ones((len(a), 1)), "the function {} must return one number"),
    ],
)
def test_functions_that_return_no_numbers_or_too_many(name, call, function, message):
    with pytest.raises(ValueError, match="^" + message.format(name)):
        call(function)()


def test_tables_of_numbers_beyond_the_range_are_named():
    for call, name in [
        (_of_pairs({(2, 0): HUGE, (2, 1): 1, (1, 0): 1}), "grade_weights"),
        (_of_pairs({(HUGE, 0): 1}), "grade_weights"),
        (lambda: OWPCLoss([HUGE, 1]).value_gradient(Y, Y, PTR), "weights"),
        (
            lambda: ListMLELoss(position_weights=[HUGE]).value_gradient(Y, Y, PTR),
            "position_weights",
        ),
    ]:
        with pytest.raises(ValueError, match=rf"\b{name} must (hold|be) "):
            call()


@pytest.mark.parametrize("found", [HUGE, -HUGE, Fraction(HUGE), "a", np.ones(3)])
def test_rates_that_are_no_numbers_in_range(found, rows):
    def given(i):
        return found

    ranker = LambdaMART(learning_rate=given, n_estimators=2)
    message = r"^LambdaMART: learning_rate must be a number > 0 in every round, got "
    with pytest.raises(InvalidParameterError, match=message):
        ranker.fit(**rows)
    ranker = RankNet(solver=SGD(schedule=given), max_iter=2)
    with pytest.raises(InvalidParameterError, match=r"^SGD: schedule must return"):
        ranker.fit(**rows)


@pytest.mark.parametrize("found", [HUGE, [1.0, 2.0], np.ones(2), "a", {}])
def test_kernels_that_return_no_number(found, rows):
    message = "^KernelEnergy: the function kernel, which is called with two rows and m"
    with pytest.raises((TypeError, ValueError), match=message):
        RankSVM(kernel=lambda a, b: found).fit(**rows)


def test_weights_of_pairs_of_a_ranker_have_its_name(rows):
    message = "^the function rank_pair_weights must return one number for each of "
    with pytest.raises(ValueError, match=message):
        IRSVM(rank_pair_weights=lambda a, b: np.ones(2)).fit(**rows)


@pytest.mark.parametrize("function", [len, int, lambda y, s: None, lambda y, s: "a"])
def test_measures_that_are_no_measures(function, rows):
    ranker = RankSVM().fit(**rows)
    message = r"^measure must be a name" if function is int else "^the function measure"
    with pytest.raises(TypeError, match=message):
        make_ranking_scorer(function)(ranker, **rows)


@pytest.mark.parametrize("estimator", [5, None, "a", RankSVM])
def test_displays_of_what_is_no_estimator(estimator, rows):
    for call in (
        lambda: EnergyTrainingDisplay.from_training(estimator, **rows),
        lambda: FeatureImportanceDisplay.from_estimator(estimator),
        lambda: GaussianEmbeddingDisplay.from_estimator(estimator, **rows),
        lambda: TrainingCurveDisplay.from_estimator(estimator),
    ):
        with pytest.raises(TypeError, match=r"^estimator must be an estimator, got"):
            call()
