"""What a fit promises: a finite model, data left alone, and words where it fails."""

import contextlib
import inspect
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from _labels import label
from _odd import ODD_ANSWERS
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._core._informative import inner_fit
from skrank._core._inner import scores_of
from skrank._equal_scores import _extreme_features
from skrank.aggregation import BaseAggregator
from skrank.base import BaseRanker, GroupsAtPredictMixin
from skrank.datasets import make_ranking
from skrank.discovery import all_objects
from skrank.energies import (
    KernelEnergy,
    LinearEnergy,
    MLPEnergy,
    NadarayaWatsonEnergy,
    PairwisePotentialEnergy,
)
from skrank.exceptions import NotFiniteError, TrainingDataWarning
from skrank.losses import (
    BaseMarginLoss,
    ExponentialLoss,
    HingeLoss,
    ListNetLoss,
    LogLoss,
    PNormPushLoss,
    SampledPairsLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)
from skrank.metrics import NDCG, FunctionMeasure, evaluate_measure
from skrank.model_selection import QueryKFold, QuerySubsample
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import (
    MART,
    SVMMAP,
    AssociationRuleRanker,
    BoostedRanker,
    CoordinateAscent,
    EnergyPointwise,
    EnergyRanker,
    GERank,
    LambdaMART,
    ListMLE,
    ListNet,
    LogisticRanker,
    NestedRanker,
    PNormPush,
    PRank,
    RandomForestRanker,
    RankNet,
    RankSVM,
    RobustSparseRanker,
    SubsetRegression,
)
from skrank.solvers import LBFGS, SmoothingHomotopy
from skrank.text import BM25

RANKERS = all_objects("ranker")
CASES = [(name, variant) for name in RANKERS for variant in RANKERS[name]._variants()]
DEFAULTS = [(name, RANKERS[name]._variants()[0]) for name in RANKERS]

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::scipy.linalg.LinAlgWarning",
)


def named(cases):
    ids = [label(f"{name}-{variant}") for name, variant in cases]
    return pytest.mark.parametrize(("name", "variant"), cases, ids=ids)


def make(name, variant, **params):
    ranker = RANKERS[name](**variant)
    known = ranker.get_params(deep=False)
    quick = {"n_estimators": 3, "min_samples_leaf": 2, "max_iter": 2, "random_state": 0}
    return ranker.set_params(**{k: v for k, v in quick.items() if k in known} | params)


def predict(ranker, X, groups):
    return (
        ranker.predict(X, groups=groups) if ranker._needs_groups else ranker.predict(X)
    )


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=12,
        docs_per_query=(3, 9),
        n_features=5,
        n_informative=3,
        random_state=0,
    )
    return X, y.astype(float), groups


def huge(data, where, value):
    """Data with one huge or tiny number, or all of them scaled to that size."""
    X, y, groups = (array.copy() for array in data)
    weight = np.ones(len(y))
    arrays = {"X": X, "y": y, "sample_weight": weight}
    if value < 1:
        arrays[where] *= value
    else:
        arrays[where].flat[0] = value
    return X, y, groups, weight


def outcome(function, *arguments, **more) -> tuple[Any, str | None]:
    """The result of a call and None, or None and the words of its ValueError."""
    try:
        return function(*arguments, **more), None
    except ValueError as error:
        return None, str(error)


@named(CASES)
@pytest.mark.parametrize("where", ["X", "y", "sample_weight"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # not those of NumPy
def test_huge_and_tiny_numbers(name, variant, where, data):
    """A finite model, or one sentence that names what to change; no NumPy warning."""
    others = (1e120, 1e40, 5e-324) if (name, variant) in DEFAULTS else ()
    for value in (1e300, *others):
        X, y, groups, weight = huge(data, where, value)
        ranker = make(name, variant)
        before = dict(vars(ranker))
        _, words = outcome(ranker.fit, X, y, groups, sample_weight=weight)
        if words is None:
            scores, words = outcome(predict, ranker, X, groups)
            assert words is not None or np.isfinite(scores).all()
            assert words is None or words.startswith("X: row ")
            continue
        accepted = (
            rf"\b{where} must|gain='exp2' overflows for grade|smaller learning_rate"
            "|gain must be 0 or from 1e-290 to 1e|gain='exp2' needs grades"
        )
        assert re.search(accepted + "|learning_rate smaller", words), words
        assert re.search("scale|use gain='linear'", words), words
        assert vars(ranker) == before


@named(CASES)
@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-200])
@pytest.mark.filterwarnings("ignore::UserWarning")  # not those of NumPy
def test_rows_that_are_all_huge_or_tiny(name, variant, scale, data):
    """A model without NaN that ranks the training rows, or one sentence about X."""
    X, y, groups = data
    ranker = make(name, variant)
    _, words = outcome(ranker.fit, X * scale, y, groups)
    if words is not None:
        assert re.search(r"\bX must (not )?hold numbers", words), words
        return
    for learned in vars(ranker).values():
        values = learned.data if sparse.issparse(learned) else learned
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            assert not np.isnan(values).any()
    scores, words = outcome(predict, ranker, X * scale, groups)
    assert words is None
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", all_objects("loss"))
def test_losses_of_huge_scores(name):
    """Each value of a loss is finite, or the error names the loss and the scores."""
    y, ptr = np.array([0, 1, 2, 3, 0, 1, 1, 0, 2, 1.0]), np.array([0, 4, 9, 10])
    rng = np.random.default_rng(0)
    cls = all_objects("loss")[name]
    # The largest finite value: the cube root of the largest number, or its logarithm.
    for variant in cls._variants():
        kind = variant.get("loss", cls(**variant))
        exponentials = isinstance(kind, (ExponentialLoss, PNormPushLoss))
        limit = 700.0 if exponentials else 5.6e102
        if variant.get("reading") == "pointwise":  # takes one score for each label
            continue
        for size in (1e308, 1e300, 1e200, 1e100, 5e-324):
            single = np.r_[size, rng.normal(size=9)]
            for raw in (single, size * np.linspace(-1, 1, 10), np.full(10, size)):
                loss = cls(**variant)
                prepared = loss.prepare(y, ptr)
                if loss.n_outputs > 1:
                    raw = np.outer(raw, np.linspace(-1, 1, loss.n_outputs))
                found, words = outcome(prepared.value_gradient, raw)
                if words is None:
                    assert np.isfinite(found[0]).all()
                    assert np.isfinite(found[1]).all()
                else:
                    exponential = variant.get("penalty") == "exponential"
                    assert size > limit or exponential
                    why = rf"{name} became (-?inf|nan)(, because| at) scores"
                    assert re.match(why, words)


@pytest.mark.parametrize("loss", [SquareExponentialLoss(), SquareSquareLoss()])
def test_diverging_boosting_names_the_loss(loss):
    """Steps by a sum over pairs overshoot where the loss is curved; a mean does not."""
    X, y, groups = make_ranking(n_queries=30, random_state=0)
    options = {"learning_rate": 0.1, "max_leaf_nodes": 31, "random_state": 0}
    ranker = BoostedRanker(loss, n_estimators=60, min_samples_leaf=5, **options)
    message = rf"BoostedRanker: {type(loss).__name__} grew .* normalization='query'"
    with pytest.raises(NotFiniteError, match=message):
        ranker.fit(X, y, groups)
    assert not hasattr(ranker, "ensemble_")
    curve = ranker.set_params(loss__normalization="query").fit(X, y, groups).loss_curve_
    assert curve[-1] < curve[0]


@pytest.mark.parametrize("validated", [False, True])
def test_a_warm_start_that_diverges_leaves_the_ranker_alone(validated):
    X, y, groups = make_ranking(n_queries=30, random_state=0)
    held = {"X_val": X, "y_val": y, "groups_val": groups} if validated else {}
    loss = SquareSquareLoss(normalization="query")
    ranker = BoostedRanker(loss, n_estimators=3, warm_start=True, n_iter_no_change=None)
    ranker.fit(X, y, groups, **held)
    before, scores = dict(vars(ranker)), ranker.predict(X)
    ranker.set_params(n_estimators=80, learning_rate=1e6)
    with pytest.raises(
        NotFiniteError, match=r"SquareSquareLoss .*learning_rate=1e\+06"
    ):
        ranker.fit(X, y, groups, **held)
    after = vars(ranker) | {"n_estimators": 3, "learning_rate": 0.1}
    assert after.keys() == before.keys()
    np.testing.assert_array_equal(ranker.predict(X), scores)
    assert ranker.ensemble_.n_trees == before["n_iter_"] == 3


def test_a_model_that_is_not_finite_is_refused(data):
    class Lost(SubsetRegression):
        def _fit(self, data, validation):
            self.coef_ = np.array([1.0, np.nan])

    with pytest.raises(NotFiniteError, match="Lost: coef_ is not finite after the fit"):
        Lost().fit(*data)


def test_scores_that_are_not_finite_are_refused(data):
    X, _, groups = data
    ranker = RankSVM().fit(*data)
    X = X.copy()
    X[4] = 1.7e308 * np.sign(ranker.coef_)
    ranker.params_ *= 10 / np.abs(ranker.params_).max()
    for rows in (X, sparse.csr_matrix(X)):
        message = (
            r"X: row 4, whose largest feature has the size 1\.7e\+308, gets the score "
            "inf, and scores must be finite; scale the features to the range of those"
        )
        with pytest.raises(ValueError, match=message):
            ranker.predict(rows)
    pairwise = EnergyRanker(PairwisePotentialEnergy(), solver="adam", max_iter=1)
    pairwise.set_params(random_state=0).fit(*data)
    assert np.isfinite(pairwise.predict(data[0], groups=groups)).all()


# Data that teach nothing --------------------------------------------------------------


def warnings_of(ranker, *data, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TrainingDataWarning)
        ranker.fit(*data, **more)
    assert all(w.filename == __file__ for w in caught)  # the user's line
    return [str(w.message) for w in caught]


@named(DEFAULTS)
def test_data_without_preference_are_warned_of(name, variant, data):
    X, y, groups = data
    ranker = make(name, variant)
    (single,) = warnings_of(ranker, X, y, np.arange(len(y)))
    assert f"holds {len(y)} different ids for {len(y)} rows" in single
    (between,) = warnings_of(ranker, X, groups % 3, groups)
    assert "each of the 12 queries all have the same grade" in between
    assert warnings_of(ranker, X, y, groups) == []
    (equal,) = warnings_of(ranker, X, np.ones_like(y), groups)
    # Pointwise rankers learn scores from grades alone, so that no more may be said.
    assert f"{name}: no query prefers a document to another" in equal
    assert f"all {len(y)} documents have the same grade, 1" in equal


EQUAL = "has learned no order: it gives all documents of a query the same score"


def is_flat(ranker, X, groups):
    scores = scores_of(ranker, X, groups)
    spans = [np.ptp(scores[groups == query]) for query in np.unique(groups)]
    return max(spans) <= 1e-12 * np.abs(scores).max()


@named(DEFAULTS)
def test_fits_to_tiny_features_either_learn_or_warn(name, variant, data):
    X, y, groups = data
    ranker = make(name, variant)
    told = warnings_of(ranker, 1e-20 * X, y, groups)
    # The scores of a nested ranker are places, which always differ.
    inner = ranker.estimators_ if isinstance(ranker, NestedRanker) else [ranker]
    if not all(is_flat(one, 1e-20 * X, groups) for one in inner):
        assert told == []
        return
    if ranker._has_warned_of_its_solver():
        assert told == []  # but there was a ConvergenceWarning
        return
    (message,) = told
    assert EQUAL.replace("it gives", ranker._giver) in message
    assert "no feature in X varies by more than " in message
    assert "e-20 (StandardScaler is a remedy)" in message
    own = ranker.get_params(deep=False)
    for parameter in ("alpha", "l1"):
        if own.get(parameter):
            assert f"{parameter}={own[parameter]:g}" in message


@pytest.mark.parametrize(
    ("ranker", "changes", "reason"),
    [
        (SVMMAP(alpha=1e6), {}, r"alpha=1e\+06 is stronger than what the features"),
        (RobustSparseRanker(l1=10.0), {}, "because l1=10 is stronger"),
        (
            EnergyRanker(alpha=1e9, loss=HingeLoss()),
            {"X": 1e-9},
            r"e-09 \(StandardScaler is a remedy\), or because alpha=1e\+09 is stronger",
        ),
        (ListNet(), {"y": 1e-20}, r"no two grades in y differ by more than 4e-20"),
        (EnergyPointwise(), {"y": 1e30}, r"grades in y are as large as 4e\+30"),
        (SubsetRegression(), {"weight": 1e-20}, "sample_weight holds no number above"),
        (SubsetRegression(), {"weight": "one"}, "only documents of equal grades in ea"),
        (AssociationRuleRanker(), {"weight": "one"}, "only documents of equal grades"),
        (
            AssociationRuleRanker(min_support=1.0),
            {},
            "because min_support=1 is stronger",
        ),
        (QuerySubsample(SVMMAP(alpha=1e6)), {}, r"estimator__alpha=1e\+06 is stronger"),
    ],
    ids=label,
)
def test_fits_that_learn_no_order_say_why(ranker, changes, reason, data):
    X, y, groups = data
    weight = changes.get("weight")
    if weight is not None:
        weight = np.eye(1, len(y))[0] if weight == "one" else np.full(len(y), weight)
    X, y = X * changes.get("X", 1.0), y * changes.get("y", 1.0)
    (message,) = warnings_of(ranker, X, y, groups, sample_weight=weight)
    assert re.search(rf"^{type(ranker).__name__} {EQUAL}.*{reason}", message)
    assert is_flat(ranker, X, groups)


def test_sparse_rows_and_preferences_that_teach_no_order_are_warned_of(data):
    X, y, groups = data
    rows = sparse.csr_matrix(1e-20 * np.abs(X))
    (message,) = warnings_of(RankSVM(), rows, y, groups)
    assert re.search("varies by more than .*e-20", message)
    pairs = np.array([[0, 1], [1, 2]])
    (message,) = warnings_of(RankSVM(), 1e-20 * X, preferences=pairs)
    assert "although the preferences and features differ" in message


@pytest.mark.parametrize(
    ("X", "told"),
    [
        ([[0.0, 0.0], [5.0, 1e-3]], None),
        ([[np.nan], [0.0], [1e10], [np.nan]], "vary by as much as 1e+10"),
        ([[np.nan, 1.0], [np.nan, 1.05]], "no feature in X varies by more than 0.05"),
    ],
)
@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.csr_array])
def test_the_widest_feature_tells_whether_features_are_extreme(X, told, kind):
    if kind is not np.array:
        X = np.nan_to_num(X)
    messages = list(_extreme_features(kind(X)))
    assert len(messages) == (told is not None)
    assert told is None or told in messages[0]


def test_equal_scores_that_are_right_are_not_warned_of(data):
    X, y, groups = data
    # Only in queries without preference do features differ.
    same = X[np.unique(groups, return_index=True)[1]][groups]
    for query in np.unique(groups):
        if len(set(y[groups == query])) == 1:
            same[groups == query] = X[groups == query]
    y = np.where(groups == groups[0], 1.0, y)
    same[groups == groups[0]] = X[groups == groups[0]]
    assert warnings_of(RankSVM(), same, y, groups) == []


def test_the_first_queries_may_all_be_alike():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 5)
    X, y = np.zeros((1000, 2)), rng.integers(0, 3, 1000)
    X[-20:, 0], X[:, 1] = rng.normal(size=20), 1e-20 * rng.normal(size=1000)
    ranker = RankSVM()
    assert warnings_of(ranker, X, y, groups) == []
    assert not is_flat(ranker, X, groups)


def test_streams_and_inner_fits_may_teach_nothing(data):
    X, y, groups = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingDataWarning)
        PRank(grades=[0, 1, 2, 3, 4]).partial_fit(0 * X, y, groups)
        with inner_fit():
            RankSVM().fit(1e-20 * X, y, groups)


def test_a_warning_that_is_an_error_leaves_the_ranker_as_it_was(data):
    X, y, groups = data
    ranker = RankSVM().fit(X, y, groups)
    before = ranker.coef_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingDataWarning)
        with pytest.raises(TrainingDataWarning, match=EQUAL):
            ranker.fit(1e-20 * X, y, groups)
    np.testing.assert_array_equal(ranker.coef_, before)


def test_swapped_arguments_are_warned_of(data):
    X, y, groups = data
    (found,) = warnings_of(RankSVM(max_iter=2), X, 100 + groups, y)
    assert "y holds 12 whole numbers" in found
    assert "fit(X, y, groups)" in found
    order = np.random.default_rng(0).permutation(len(y))
    # What is right is not warned of: rows in any order, grades sorted within queries.
    assert warnings_of(RankSVM(), X[order], y[order], groups[order]) == []
    inside = np.lexsort((y, groups))
    assert warnings_of(RankSVM(), X[inside], y[inside], groups[inside]) == []
    assert warnings_of(RankSVM(), X, np.arange(len(y)), groups) == []
    assert warnings_of(RankSVM(), X, np.sort(y), np.zeros(len(y))) == []


@pytest.mark.parametrize(
    ("y", "groups", "swapped"),
    [
        ([1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 0, 1], True),  # blocks of two rows
        ([1, 1, 2, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1, 0], False),  # of fewer
        ([1, 1, 1, 2, 2, 2, 3, 3, 3], [0, 1, 2] * 3, False),  # as many as queries
        ([1, 1, 2, 2, 3, 3], [0, 0, 1, 0, 0, 1], True),  # each query in two runs
        ([1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 0, 0], False),  # in fewer
        (
            [1, 1, 2, 2, 3, 3, 4, 4],
            [0, 0, 1, 1, 0, 0, 1, 1],
            False,
        ),  # as blocks
        ([1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 1, 1, 2, 2, 0, 1], False),  # more than those
        ([1, 1, 2, 2, 3, 3], [0] * 6, False),  # one query
        ([1, 1, 2, 2, 1, 1], [0, 1, 0, 1, 0, 1], False),  # a value in two blocks
        ([0.5, 0.5, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], False),  # no whole number
    ],
)
def test_what_looks_swapped(y, groups, swapped):
    """Whole numbers in one block each, and fewer values in two or more runs each."""
    X = np.random.default_rng(0).random((len(y), 2))
    found = warnings_of(RankSVM(max_iter=2), X, y, groups)
    assert any("look swapped" in message for message in found) == swapped


def test_grades_held_out_that_tell_nothing_are_warned_of(data):
    X, y, groups = data
    flat = np.where(groups == 0, 1 + y, 1.0)
    found = []
    for seed in range(3):  # the query that tells something may be held out
        ranker = RankNet(max_iter=2, early_stopping=True, random_state=seed)
        found += warnings_of(ranker, X, flat, groups)
    assert any("the grades held out by early_stopping" in text for text in found)


@pytest.mark.parametrize(
    "ranker",
    [LambdaMART(n_estimators=2), SubsetRegression(gain="exp2"), RankSVM()],
    ids=lambda ranker: type(ranker).__name__,
)
def test_gains_that_dwarf_others_are_warned_of(ranker, data):
    X, y, groups = data
    revenue = 100.0 * y + np.arange(len(y)) % 50
    found = warnings_of(ranker, X, revenue, groups)
    if isinstance(ranker, RankSVM):  # has no gain
        assert found == []
        return
    assert "linear gain" in found[0]
    assert re.search("(gain|measure)='(exp2|ndcg)", found[0])
    many_levels = np.round(y + np.arange(len(y)) % 9)  # up to 12, but close together
    assert warnings_of(ranker, X, many_levels, groups) == []


def test_the_advice_for_such_gains_can_be_followed(data):
    X, y, groups = data
    (found,) = warnings_of(LambdaMART(n_estimators=1), X, 100 * y, groups)
    assert "use linear gain, measure='ndcg(gain=linear)@30', or a mapping" in found
    linear = LambdaMART("ndcg(gain=linear)@30", n_estimators=1, min_samples_leaf=2)
    assert warnings_of(linear, X, 100 * y, groups) == []
    (found,) = warnings_of(
        LambdaMART(NDCG(k=5), n_estimators=1, min_samples_leaf=2), X, 100 * y, groups
    )
    assert "use linear gain, measure__gain='linear', or a mapping" in found
    message = "overflows for grade .*use gain='linear', as in the measure 'ndcg"
    with pytest.raises(ValueError, match=message):
        warnings_of(LambdaMART(n_estimators=1), X, 1e300 * y, groups)
    with pytest.raises(ValueError, match=message):
        linear.score(X, 1e4 * y, groups)
    assert 0 < linear.score(X, 1e4 * y, groups, gain="linear") <= 1
    # Of swapped arguments nothing else is said.
    (found,) = warnings_of(LambdaMART(n_estimators=1), X, 100 + 20 * groups, y)
    assert "look swapped" in found


def values_of(X, kind):
    return sparse.csr_matrix(X) if kind == "sparse" else X


@named(DEFAULTS)
def test_features_without_a_difference_are_warned_of(name, variant, data):
    X, y, groups = data
    ranker = make(name, variant)
    (equal,) = warnings_of(ranker, np.ones_like(X), y, groups)
    assert f"{name} learns no order of documents, because every feature has" in equal
    (between,) = warnings_of(ranker, groups[:, None] + np.ones_like(X), y, groups)
    assert "the documents of each of the 12 queries all have the same feat" in between


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_are_compared_by_what_they_hold(kind, data):
    X, y, groups = data
    one = np.zeros_like(X)
    one[7, 2] = 1
    assert warnings_of(RankSVM(), values_of(one, kind), y, groups) == []
    one[7, 2] = 0
    one[groups == groups[7], 3] = 2
    (found,) = warnings_of(RankSVM(), values_of(one, kind), y, groups)
    assert "same features" in found
    (found,) = warnings_of(
        RankSVM(), values_of(np.ones((3, 2)), kind), preferences=[[0, 1], [2, 1]]
    )
    assert "every feature has the same value in all rows" in found


def test_stored_zeros_tell_no_documents_apart():
    X = sparse.csr_matrix(([1.0, 0.0, 1.0], [1, 2, 1], [0, 2, 3]), shape=(2, 3))
    (found,) = warnings_of(RankSVM(), X, [0, 1], [1, 1])
    assert "same value in all rows" in found


@pytest.mark.parametrize("ranker", [LambdaMART(n_estimators=20), RankNet(max_iter=20)])
def test_validation_queries_that_tell_nothing_are_warned_of(ranker, data):
    X, y, groups = data
    if isinstance(ranker, LambdaMART):
        ranker.set_params(min_samples_leaf=2)
    rows = np.arange(len(y))
    (found,) = warnings_of(ranker, *data, X_val=X, y_val=y, groups_val=rows)
    assert "ndcg@10 of the validation queries cannot tell one model from an" in found
    assert f"groups_val holds {len(y)} different ids" in found
    (found,) = warnings_of(ranker, *data, X_val=X, y_val=groups % 3, groups_val=groups)
    assert "check whether y_val belongs to these rows, and groups_val to" in found
    assert warnings_of(ranker, *data, X_val=X, y_val=y, groups_val=groups) == []
    # Errors of scores need no preference.
    ranker.set_params(validation_measure="mse")
    assert warnings_of(ranker, *data, X_val=X, y_val=y, groups_val=rows) == []


def test_an_undefined_validation_measure_is_warned_of_once(data):
    X, y, groups = data
    ranker = LambdaMART(n_estimators=20, min_samples_leaf=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(*data, X_val=X, y_val=0 * y, groups_val=groups)
    assert len(ranker.validation_curve_) > 1
    told = [w for w in caught if w.category is UndefinedMetricWarning]
    assert len(told) == 1


def test_frames_that_name_different_queries_are_refused(data):
    pandas = pytest.importorskip("pandas")
    X, y, groups = data
    index = pandas.MultiIndex.from_arrays([groups, range(len(y))], names=["qid", "row"])
    frame, grades = pandas.DataFrame(X, index=index), pandas.Series(y, index=index)
    frame.columns = frame.columns.astype(str)
    RankSVM().fit(frame, grades)
    scaled = make_pipeline(QueryStandardScaler(), RankSVM())
    message = "X and y name different queries for the same rows .* first in row 0"
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(frame.iloc[::-1], grades)
    with pytest.raises(ValueError, match=message):
        scaled.fit(frame.iloc[::-1], grades)


@pytest.mark.parametrize("cls", [RankSVM, LogisticRanker])
def test_columns_that_no_row_uses_cost_nothing(cls, data):
    """The same model as without them, and 0 for their coefficients."""
    X, y, groups = data
    few = sparse.csr_matrix(X)
    places = np.array([3, 70_000, 900_000, 900_001, 2_999_999])
    wide = sparse.csr_matrix((few.data, places[few.indices], few.indptr))
    expected = cls(tol=1e-10).fit(few, y, groups)
    found = cls(tol=1e-10).fit(wide, y, groups)
    np.testing.assert_allclose(found.coef_[places], expected.coef_, rtol=1e-5)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-5)
    assert np.count_nonzero(found.coef_) == 5
    found.set_params(warm_start=True).fit(wide, y, groups)
    np.testing.assert_allclose(found.coef_[places], expected.coef_, rtol=1e-5)


@pytest.mark.parametrize("cls", [MART, LambdaMART, RandomForestRanker])
def test_trees_without_a_split_are_warned_of(cls, data):
    X, y, groups = data
    (small,) = warnings_of(cls(n_estimators=2, min_samples_leaf=60), X, y, groups)
    assert "a split needs 120 documents, min_samples_leaf=60 for each side" in small
    few = cls(n_estimators=2, min_samples_leaf=1)
    (constant,) = warnings_of(few, np.ones_like(X), y, groups)
    assert "every feature has the same value" in constant
    assert warnings_of(few, X, y, groups) == []


def test_what_need_not_be_warned_of(data):
    X, y, groups = data
    assert warnings_of(RankSVM(), X, preferences=[[0, 1], [2, 1]]) == []
    # The queries drawn may be without preference; the whole is not. Only what comes of
    # that is told, by the ranker that drew them.
    flat = np.where(groups > 0, 0.0, y)
    bag = QuerySubsample(RankSVM(), n_queries=2, random_state=1)
    (message,) = warnings_of(bag, X, flat, groups)
    assert message.startswith(f"QuerySubsample {EQUAL}")
    assert (
        warnings_of(
            LambdaMART(n_estimators=2, min_samples_leaf=2, init=RankSVM()), *data
        )
        == []
    )


# Words --------------------------------------------------------------------------------

PRIVATE = re.compile(
    r"(?<![\w.])_[A-Za-z]|\w*Mixin\b|BaseRanker|Base\w+Ranker|Prepared"
)


@named(DEFAULTS)
def test_no_message_names_a_private_class(name, variant, data):
    X, y, groups = data
    fitted = make(name, variant).fit(X, y, groups)
    calls: list[Any] = [
        lambda r: r.fit(),
        lambda r: r.fit(X, y, groups, None),
        lambda r: r.fit(X, y, groups, X=X),
        lambda r: r.fit(X, y, groups, nonsense=1),
        lambda r: r.fit("text", y, groups),
        lambda r: r.fit(X, object(), groups),
        lambda r: r.fit(X, y, 3),
        lambda r: r.fit(X, y, groups, sample_weight="text"),
        lambda r: r.predict(),
        lambda r: r.predict(X, groups, 1),
        lambda r: r.predict(X, nonsense=1),
        lambda r: r.rank(X, groups, 1),
        lambda r: r.rank(X),
        lambda r: r.score(X),
        lambda r: r.top_documents(X, groups, k="text"),
        lambda r: r.top_documents(X, groups, 1),
        lambda r: r.set_params(nonsense=1),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call(fitted)
        assert not PRIVATE.search(str(caught.value)), caught.value
    with pytest.raises(TypeError, match=rf"{name}.fit\(\) missing .* 'X'"):
        fitted.fit()


def test_messages_name_the_argument(data):
    X, y, groups = data
    ranker = RankSVM()
    with pytest.raises(ValueError, match="every validation row: pass groups_val="):
        ranker.fit(X, y, groups, X_val=X, y_val=y)
    held: dict[str, Any] = {"y_val": y, "groups_val": groups}
    with pytest.raises(ValueError, match="X_val has 2 features, but RankSVM is expec"):
        ranker.fit(X, y, groups, X_val=X[:, :2], **held)
    with pytest.raises(ValueError, match="Input X_val contains NaN"):
        ranker.fit(X, y, groups, X_val=np.full_like(X, np.nan), **held)
    with pytest.raises(ValueError, match="X_val must hold numbers, got"):
        ranker.fit(X, y, groups, X_val="text", **held)
    with pytest.raises(ValueError, match="y_val should be a 1d array"):
        ranker.fit(X, y, groups, X_val=X, y_val="text", groups_val=groups)
    with pytest.raises(ValueError, match="X must hold numbers, got"):
        ranker.fit("text", y, groups)
    with pytest.raises(ValueError, match="sample_weight must hold numeric weights"):
        ranker.fit(X, y, groups, sample_weight="text")
    with pytest.raises(ValueError, match="one weight for each of the 2 preferences, g"):
        ranker.fit(X, preferences=[[0, 1], [1, 2]], sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="y has 3 grades for"):
        ranker.fit(X, y, groups).score(X, y[:3], groups)
    with pytest.raises(ValueError, match=r"k must be a whole number >= 1, got 1\.5"):
        ranker.top_documents(X, groups, k=1.5)  # pyright: ignore[reportArgumentType]


def test_constructors_name_what_they_take():
    message = r"^RankSVM has no parameter 'gamma'; it takes hinge, margin, kernel, .*"
    with pytest.raises(TypeError, match=message):
        RankSVM(gamma=1)  # pyright: ignore[reportCallIssue]
    message = "^NDCG has no parameter 'gian'; did you mean 'gain'[?] It takes k, "
    with pytest.raises(TypeError, match=message):
        NDCG(gian="exp2")  # pyright: ignore[reportCallIssue]
    message = "^LambdaMART takes only measure by place, got 2 values; name the others"
    with pytest.raises(TypeError, match=message):
        LambdaMART("ndcg", 3)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("cls", [BM25, NDCG, HingeLoss, QueryKFold, LBFGS])
def test_methods_name_the_class_that_was_made(cls):
    methods = [
        (name, method)
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and method.__module__.startswith("skrank.")
    ]
    assert methods
    for _, method in methods:
        owner = method.__qualname__.partition(".")[0]
        assert not owner.startswith(("Base", "_"))
        assert not owner.endswith("Mixin")
    with pytest.raises(TypeError, match=r"BM25\.retrieve\(\) missing"):
        BM25().retrieve(["a"])  # pyright: ignore[reportCallIssue]


def test_messages_name_the_part(data):
    with pytest.raises(TypeError, match="init must score documents by one of predict"):
        MART(init=StandardScaler()).fit(*data)
    with pytest.raises(TypeError, match="estimator must score documents by one of"):
        QuerySubsample(StandardScaler()).fit(*data)
    with pytest.raises(ValueError, match="estimator must be a regressor with fit and"):
        SubsetRegression(StandardScaler()).fit(*data)
    solver = SmoothingHomotopy()
    for ranker in (EnergyRanker(loss=ListNetLoss()), LogisticRanker()):
        message = r"solver: SmoothingHomotopy cannot minimise (\w+), because \1 has no"
        with pytest.raises(TypeError, match=message):
            ranker.set_params(solver=solver).fit(*data)
    with pytest.raises(ValueError, match="loss must be a loss of preference pairs"):
        GERank(loss=ListNetLoss()).fit(*data)


def test_kernels_are_checked_by_name(data):
    with pytest.raises(
        ValueError, match=r"kernel must be one of .*'rbf'.*, got 'rbff'"
    ):
        RankSVM(kernel="rbff").fit(*data)
    message = r"kernel_params must be .* kernel='rbf' takes, gamma, got \{'gama': 1"
    with pytest.raises(ValueError, match=message):
        RankSVM(kernel="rbf", kernel_params={"gama": 1.0}).fit(*data)
    with pytest.raises(ValueError, match="takes, scale"):
        RankSVM(kernel=scaled_product, kernel_params={"gamma": 1.0}).fit(*data)
    # What Nystroem calls gamma is a parameter of a function like any other.
    options = {"kernel": lambda a, b, gamma: gamma * (a @ b), "n_components": 9}
    found = [
        RankSVM(**options, kernel_params={"gamma": g}, random_state=0).fit(*data)
        for g in (1.0, 1.0)
    ]
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)


def scaled_product(a, b, scale=1.0):
    return scale * (a @ b)


def test_a_warm_start_keeps_init(data):
    ranker = MART(n_estimators=2, min_samples_leaf=2, warm_start=True, init=Ridge(2.0))
    ranker.fit(*data).set_params(n_estimators=3).fit(*data)
    message = r"began with init=Ridge\(alpha=2.0\), got init=(Ridge\(alpha=3.0\)|None)"
    for other in (Ridge(3.0), None):
        with pytest.raises(ValueError, match=message):
            ranker.set_params(n_estimators=4, init=other).fit(*data)


def test_sparse_rows_converge_like_dense_ones():
    X, y, groups = make_ranking(n_queries=40, n_features=12, random_state=0)
    X = X * np.logspace(-3, 4, 12) + X[:, :1]  # of different scale, and correlated
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense, rare = (
            RankSVM().fit(X, y, groups),
            RankSVM().fit(sparse.csr_matrix(X), y, groups),
        )
    assert rare.converged_
    assert rare.n_iter_ == dense.n_iter_
    np.testing.assert_allclose(rare.predict(X), dense.predict(X), rtol=1e-6, atol=1e-6)


# The same bits ------------------------------------------------------------------------


def queries_moved(groups, seed):
    order = np.random.default_rng(seed).permutation(np.unique(groups))
    return np.concatenate([np.flatnonzero(groups == query) for query in order])


@named(CASES)
@pytest.mark.filterwarnings("ignore:.*is least where all scores are equal")
def test_the_order_of_queries_changes_no_bit(name, variant, data):
    X, y, groups = data
    first = make(name, variant).fit(X, y, groups)
    order = queries_moved(groups, 1)
    second = make(name, variant).fit(X[order], y[order], groups[order])
    for attribute in ("params_", "coef_", "baseline_", "loss_curve_"):
        if hasattr(first, attribute):
            ours, theirs = getattr(first, attribute), getattr(second, attribute)
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(predict(first, X, groups), predict(second, X, groups))


@named(DEFAULTS)
def test_names_that_keep_the_order_of_queries_change_no_bit(name, variant, data):
    X, y, groups = data
    first = make(name, variant).fit(X, y, groups)
    renamed = np.array([f"query {group:04d}" for group in groups])
    second = make(name, variant).fit(X, y, renamed)
    np.testing.assert_array_equal(
        predict(first, X, groups), predict(second, X, renamed)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layers", [(1,), (9,), (10, 33)], ids=str)
def test_scores_of_hidden_layers_do_not_depend_on_other_rows(layers, dtype):
    rng = np.random.default_rng(0)
    for n in (1, 7, 31, 32, 33, 100, 257):
        X = rng.normal(size=(n, 11)).astype(dtype)
        energy = MLPEnergy(layers).setup(X)
        params = energy.init_params(11, np.random.RandomState(0)) + 0.1
        for rows in (rng.permutation(n), np.arange(n)[::-2], np.array([n - 1])):
            for form in (np.asarray, sparse.csr_matrix):
                found = energy.scores(params, form(X[rows]))
                expected = energy.scores(params, form(X))[rows]
                if dtype == np.float64:
                    np.testing.assert_array_equal(found, expected)
                else:  # products on processors with AVX2 alone round by place
                    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# The data of the caller ---------------------------------------------------------------


class Evil(Ridge):
    """An estimator that writes into whatever it is given, where it can."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        for array in (X, y, sample_weight):
            overwrite(array)
        return self

    def predict(self, X):
        scores = super().predict(X)
        overwrite(X)
        return scores


def overwrite(array):
    array = array.data if sparse.issparse(array) else array
    with contextlib.suppress(TypeError, ValueError):  # absent, or read-only
        array[...] = 7.0


def evil_callback(info):
    data = info.get("data")
    if data is not None:
        for array in (data.X, data.y, data.sample_weight):
            overwrite(array)
    overwrite(info.get("params"))


@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_matrix], ids=str)
@pytest.mark.parametrize(
    "ranker",
    [
        MART(n_estimators=2, init=Evil(), min_samples_leaf=2),
        QuerySubsample(Evil()),
        SubsetRegression(Evil()),
        RankSVM(callback=evil_callback),
        RankNet(solver="adam", max_iter=2, callback=evil_callback, random_state=0),
        EnergyRanker(
            NadarayaWatsonEnergy(), callback=evil_callback, solver="adam", max_iter=2
        ),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_the_data_of_the_caller_are_left_alone(ranker, form, data):
    X, y, groups = data
    X, weight = form(X), np.ones(len(y))
    if sparse.issparse(X) and not ranker.__sklearn_tags__().input_tags.sparse:
        pytest.skip("takes dense rows")
    before = X.copy(), y.copy(), groups.copy()
    ranker.fit(X, y, groups, sample_weight=weight)
    predict(ranker, X, groups)
    for array, copy in zip((X, y, groups), before):
        different = array != copy
        assert not (different.nnz if sparse.issparse(different) else different.any())
    assert (weight == 1.0).all()
    assert all(array.flags.writeable for array in (y, groups, weight))


def test_constraints_of_an_individual_potential_are_kept(data):
    X, y, groups = data
    inner = NadarayaWatsonEnergy(leave_one_out=False, l1_bound=0.5)
    energy = PairwisePotentialEnergy(inner, 2)
    ranker = EnergyRanker(
        energy, HingeLoss(), solver="adam", max_iter=5, random_state=0
    )
    scales = ranker.fit(X, y, groups).params_[: X.shape[1]]
    assert scales.min() >= 0
    assert scales.sum() <= 0.5 * (1 + 1e-9)
    with pytest.raises(TypeError, match="LBFGS does not keep parameters within"):
        ranker.set_params(solver="lbfgs").fit(X, y, groups)


def test_kernels_of_huge_rows_name_x(data):
    X = data[0] * 1e200
    with pytest.raises(ValueError, match=r"kernel='rbf' is not finite .* X must"):
        KernelEnergy(n_components=9).setup(X, np.random.RandomState(0))


def test_complex_numbers_are_refused_on_one_line(data):
    X, y, groups = data
    for name, arguments in (("X", (X * 1j, y, groups)), ("y", (X, y * 1j, groups))):
        with pytest.raises(ValueError, match=f"^{name}: Complex data not supported$"):
            RankSVM().fit(*arguments)


@pytest.mark.filterwarnings("ignore:.*values of X_val lie beyond")
def test_sums_of_single_precision_that_overflow_are_no_warning(data):
    X, y, groups = data
    huge = np.resize(np.float32([3e38, -3e38]), X.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        ranker = RankNet(max_iter=2, random_state=0)
        held = {"X_val": huge, "y_val": y, "groups_val": groups}
        outcome(ranker.fit, np.float32(X), y, groups, **held)


def test_functions_that_take_other_arguments_are_named(data):
    X, y, groups = data
    for ranker, message in (
        (RankSVM(kernel=lambda a: 1.0), "KernelEnergy: the function kernel, .* failed"),
        (ListMLE(position_weights=lambda: 1), "the function position_weights failed"),
    ):
        with pytest.raises(TypeError, match=message):
            ranker.fit(X, y, groups)
    with pytest.raises(TypeError, match="the function tokenizer failed"):
        BM25(tokenizer=lambda: 1).fit(["a b", "c"])


class Broken:
    """A kernel that fails from one of its calls on."""

    def __init__(self, error, n_calls):
        self.error, self.n_left = error, n_calls

    def __call__(self, a, b):
        self.n_left -= 1
        if self.n_left < 0:
            raise self.error
        return float(a @ b)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("no"), ValueError),
        (TypeError("no"), TypeError),
        (np.linalg.LinAlgError("no"), ValueError),
        (StopIteration("no"), ValueError),
        (KeyError("no"), KeyError),
    ],
)
def test_a_kernel_that_fails_is_named_whenever_it_fails(error, kind, data):
    X, y, groups = data
    message = (
        "'no'" if kind is KeyError else "KernelEnergy: the function kernel, .*: no"
    )
    for n_calls in (0, 30):  # among the landmarks, and between them and rows
        ranker = RankSVM(kernel=Broken(error, n_calls), n_components=3)
        with pytest.raises(kind, match=message) as raised:
            ranker.fit(X, y, groups)
        assert type(raised.value.__cause__ or raised.value) is type(error)


def test_complex_numbers_of_functions_are_refused(data):
    X, y, groups = data
    for number in (0.5 + 2j, np.complex128(0.5 + 2j), np.timedelta64(3, "s"), None):
        ranker = RankSVM(kernel=Returns(number), n_components=3)
        with pytest.raises(TypeError, match=r"function kernel, .* it returned"):
            ranker.fit(X, y, groups)
        measure = FunctionMeasure(Returns(number))
        with pytest.raises(TypeError, match="must return a finite number"):
            evaluate_measure(measure, y, X[:, 0], groups=groups)


class Returns:
    """A function of two arguments that returns the same thing always."""

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, a, b):
        return self.answer


def test_a_measure_that_is_undefined_at_some_scores_is_not_climbed(data):
    def measure(y, s):
        return np.nan if y[np.argmax(s)] > 0 else 0.5

    ranker = CoordinateAscent(measure=FunctionMeasure(measure), random_state=0)
    with pytest.raises(ValueError, match="CoordinateAscent: measure is NaN"):
        ranker.fit(*data)


@pytest.mark.parametrize("kind", ODD_ANSWERS)
def test_what_solvers_find_is_checked_before_the_model_is_replaced(kind, data):
    answer, message = ODD_ANSWERS[kind]

    class Own(LBFGS):
        broken: bool = False

        def solve(self, objective, params, rng, monitor=None):
            result = super().solve(objective, params, rng, monitor)
            return (
                replace(result, params=answer(len(params))) if self.broken else result
            )

    ranker = EnergyRanker(LinearEnergy(), LogLoss(), solver=Own()).fit(*data)
    before = ranker.coef_
    message = message.replace("rows", "parameters")
    with pytest.raises(ValueError, match=f"what Own.solve returns .*{message}"):
        ranker.set_params(solver__broken=True).fit(*data)
    assert ranker.coef_ is before


@pytest.mark.parametrize("kind", ODD_ANSWERS)
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("make", [lambda loss: loss, SampledPairsLoss])
def test_margin_losses_of_users_must_answer_with_numbers(kind, place, make, data):
    answer, message = ODD_ANSWERS[kind]

    class Own(BaseMarginLoss):
        short_name = "own"

        def margin_loss(self, margins):
            found = [np.zeros(len(margins)), np.zeros(len(margins))]
            found[place] = answer(len(margins))
            return tuple(found)

    message = message.replace("rows", "margins")
    with pytest.raises(ValueError, match=f"what Own.margin_loss returns .*{message}"):
        EnergyRanker(LinearEnergy(), make(Own())).fit(*data)


def test_margin_losses_of_users_return_two_arrays(data):
    class Own(BaseMarginLoss):
        short_name = "own"

        def margin_loss(self, margins):
            return margins

    with pytest.raises(TypeError, match=r"Own.margin_loss must return two arrays"):
        EnergyRanker(LinearEnergy(), Own()).fit(*data)


def test_what_a_measure_raises_stays_as_it_is(data):
    X, y, groups = data

    def measure(y_true, y_score):
        raise StopIteration("no")

    ranker = LambdaMART(measure=FunctionMeasure(measure), n_estimators=2)
    with pytest.raises(StopIteration, match="no"):
        ranker.fit(X, y, groups)


@pytest.mark.parametrize("kind", ODD_ANSWERS)
def test_classes_of_users_must_answer_with_numbers(kind, data):
    X, y, groups = data
    answer, message = ODD_ANSWERS[kind]

    class Own(BaseRanker):
        def _fit(self, data, validation):
            pass

        def _predict(self, X):
            return answer(X.shape[0])

    class OwnOfQueries(GroupsAtPredictMixin, Own):
        def _predict(self, X, ptr):
            return answer(X.shape[0])

    class Fusion(BaseAggregator):
        def _combine(self, joined):
            return answer(joined.n_documents)

    for ranker in (Own().fit(X, y, groups), OwnOfQueries().fit(X, y, groups)):
        name = type(ranker).__name__
        with pytest.raises(
            ValueError, match=rf"what {name}._predict returns .*{message}"
        ):
            ranker.predict(X, groups)
    with pytest.raises(ValueError, match=f"what Fusion._combine returns .*{message}"):
        Fusion().predict(np.nan_to_num(X), groups)


def test_a_list_of_numbers_is_an_answer(data):
    X, y, groups = data

    class Own(BaseRanker):
        def _fit(self, data, validation):
            pass

        def _predict(self, X):
            return X[:, 0].tolist()

    np.testing.assert_array_equal(Own().fit(X, y, groups).predict(X), X[:, 0])


def test_a_power_that_overflows_is_named(data):
    message = r"PNormPushLoss became inf .* with p=1e\+300; lower p"
    with pytest.raises(NotFiniteError, match=message):
        PNormPush(p=1e300).fit(*data)
