"""The contract of losses, over all public losses and the variants that they name."""

import contextlib
import inspect
import re

import numpy as np
import pytest
from _labels import label
from sklearn.base import clone

from skrank import losses
from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.energies import BaseEnergy
from skrank.exceptions import NotFiniteError, TrainingDataWarning
from skrank.losses import BaseLoss
from skrank.metrics import NDCG
from skrank.testing import contract_checks
from skrank.testing._losses import (
    GradedScores,
    draws,
    is_convex,
    is_shift_invariant,
    reads_labels_alone,
)

# Few documents may well be alike to a measure.
pytestmark = pytest.mark.filterwarnings("ignore:.*tells no documents of a query apart")

PUBLIC = [
    public
    for public in (getattr(losses, name) for name in losses.__all__)
    if inspect.isclass(public)
]
CONCRETE = [
    cls
    for cls in PUBLIC
    if issubclass(cls, BaseLoss) and not cls.__name__.startswith("Base")
]
LOSSES = [cls(**variant) for cls in CONCRETE for variant in cls._variants()]
LABELS = np.arange(4.0)
LOG = losses.LogLoss()
WRAPPERS = [losses.ExplicitPairsLoss, losses.SampledPairsLoss]

# Losses that sort the documents of queries of more than 768, and sum over windows.
SORTED = [
    loss
    for loss in LOSSES
    if isinstance(
        loss,
        (
            losses.HingeLoss,
            losses.LVQ2Loss,
            losses.MagnitudePreservingLoss,
            losses.OWPCLoss,
            losses.PerceptronLoss,
            losses.SquaredHingeLoss,
        ),
    )
    and getattr(loss, "grade_weights", None) is None
    and getattr(loss, "reading", None) != "pointwise"
]

each_loss = pytest.mark.parametrize("loss", LOSSES, ids=label)
each_size = pytest.mark.parametrize(
    ("loss", "times"),
    [*((loss, 1) for loss in LOSSES), *((loss, 200) for loss in SORTED)],
    ids=label,
)


def columns(loss):
    """Number of scores of a document."""
    return len(LABELS) if reads_labels_alone(loss) else loss.n_outputs


def overflows(loss):
    """Whether differences of scores in the hundreds are more than a double can hold."""
    exponential = isinstance(
        getattr(loss, "loss", loss), (losses.ExponentialLoss, losses.PNormPushLoss)
    )
    return exponential or getattr(loss, "penalty", None) == "exponential"


@pytest.fixture
def data():
    return GradedScores()


def both(found, expected, **tolerances):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, **tolerances)


def test_every_public_loss_is_here():
    assert {cls for cls in PUBLIC if cls.__name__.endswith("Loss")} >= set(CONCRETE)
    left_out = {cls.__name__ for cls in PUBLIC} - {cls.__name__ for cls in CONCRETE}
    assert left_out == {
        "BaseLoss",
        "BaseMarginLoss",
        "GainOfBetter",
        "PreparedLoss",
    }


def test_short_names_are_unique():
    wrappers = (losses.ExplicitPairsLoss, losses.SampledPairsLoss)
    names = [cls.short_name for cls in CONCRETE if cls not in wrappers]
    assert len(set(names)) == len(names)
    assert all("short_name" in vars(cls) for cls in CONCRETE if cls not in wrappers)


@pytest.mark.parametrize("cls", CONCRETE)
def test_variants_name_every_choice(cls):
    variants = cls._variants()
    assert all(set(v) <= set(inspect.signature(cls).parameters) for v in variants)
    for field in vars(cls).get("__annotations__", {}):
        hint = str(cls.__dataclass_fields__[field].type)
        if "ClassVar" not in hint:
            assert any(field in variant for variant in variants), field


@pytest.mark.parametrize(
    ("loss", "check"),
    [case for loss in LOSSES for case in contract_checks(loss)],
    ids=lambda value: getattr(value, "__name__", None) or label(value),
)
def test_contract(loss, check):
    check(loss)


@each_loss
def test_flags_about_the_shape_are_told_truthfully(loss):
    assert is_shift_invariant(loss) == loss.shift_invariant
    assert is_convex(loss) == loss.convex


@each_size
def test_what_the_scores_of_a_query_have_in_common_costs_no_digits(loss, times):
    if not loss.shift_invariant or columns(loss) != 1:
        return
    rng = np.random.default_rng(0)
    ptr = times * np.array([0, 2, 2, 5, 6, 20])
    y = rng.integers(0, 4, ptr[-1]).astype(np.float64)
    y[:5] = [1.0, 0.0, 2.0, 0.0, 1.0]
    scores = rng.integers(-3, 4, ptr[-1]) / 4.0
    origins = 2.0**48 * np.repeat(rng.integers(-3, 4, 5), np.diff(ptr))
    prepared = loss.prepare(y, ptr)
    near, far = (prepared.value_gradient(scores + by) for by in (0.0, origins))
    both(far, near, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("place", [0, 2, 4])
def test_what_scores_have_in_common_is_found_beside_an_outlier(place):
    scores = 2.0**48 + np.array([0.0, 0.25, 0.75, 1.0, 0.5])
    scores[place] = 2.0**60
    prepared = losses.ListNetLoss().prepare(np.arange(5.0), [0, 5])
    others = np.delete(prepared._centred_scores(scores), place)
    assert np.abs(others).max() <= 1.0
    np.testing.assert_array_equal(np.diff(others), np.diff(np.delete(scores, place)))


@each_loss
def test_queries_without_preference_count_nothing(loss):
    if loss.unit == "document" or isinstance(loss, losses.ExplicitPairsLoss):
        return  # every document counts, or grades are not looked at
    y = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 2.0])  # sizes 2, 3 (equal grades), 1
    prepared = loss.prepare(y, [0, 2, 5, 6])
    values, gradient = prepared.value_gradient(np.linspace(1.0, -1.0, 6))
    assert values[1:].tolist() == [0.0, 0.0]
    assert gradient[2:].tolist() == [0.0] * 4
    np.testing.assert_allclose(prepared.total_weight, 1.0)
    if getattr(loss, "against", None) == "zero":
        return  # it warns
    without = loss.prepare(y[2:], [0, 3, 4])
    assert without.total_weight == 0.0
    assert not np.any(without.value_gradient(np.arange(4.0))[1])


class RawScores(BaseEnergy):
    """An energy whose parameters are the raw scores of the rows, which X numbers."""

    def __init__(self, columns, labels):
        self.columns = columns
        self.labels_ = labels

    def n_params(self, n_features):
        return self.columns * N_ROWS

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        table, rows = params.reshape(-1, self.columns), X[:, 0].astype(int)

        def vjp(gradient):
            slopes = np.zeros_like(table)
            np.add.at(slopes, rows, gradient.reshape(-1, self.columns))
            return slopes.ravel()

        raw = table[rows]
        return (raw[:, 0] if self.columns == 1 else raw), vjp


# The long query has too many lists of three to sum, and too many ties to enumerate.
BATCHED_SIZES = (5, 1, 26, 3, 9, 2)
N_ROWS = sum(BATCHED_SIZES)


def batched_data():
    data = GradedScores(sizes=BATCHED_SIZES)
    data.y[8:28] = 2.0
    return data


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_batches_average_to_the_whole(loss, weighted, labelled):
    if (labelled and not loss.reads_labels) or (
        reads_labels_alone(loss) and not labelled
    ):
        return
    data = batched_data()
    rows = GroupedRows(
        np.arange(N_ROWS)[:, None].astype(float),
        data.y,
        data.ptr,
        sample_weight=data.weight if weighted else None,
    )
    raw = data.labels_raw if labelled else data.raw(loss)
    n_columns = 4 if labelled else loss.n_outputs
    energy = RawScores(n_columns, LABELS if labelled else None)
    objective = Objective(energy, loss, rows, alpha=0.0)
    if objective.prepared.draws_anew:
        return
    batches = [objective.batch(np.array([q])) for q in range(rows.n_queries)]
    values, slopes = zip(*(batch.value_gradient(raw.ravel()) for batch in batches))
    found = np.mean(values), np.mean(slopes, axis=0)
    both(found, objective.value_gradient(raw.ravel()), rtol=1e-12, atol=1e-14)


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_subsets_hold_what_was_drawn_to_the_bit(loss, weighted):
    if isinstance(loss, losses.ExplicitPairsLoss):
        return  # one query is summed in one go
    data = batched_data()
    prepared = data.prepare(loss, data.weight if weighted else None)
    if not hasattr(prepared, "subset"):
        assert prepared.draws_anew or not draws(loss)
        return
    raw = data.raw(loss)
    values, gradient = prepared.value_gradient(raw)
    for queries in ([0], [1], [2], [4, 2, 3], [2, 5, 2]):
        part = prepared.subset(np.array(queries))
        again = part.subset(np.arange(len(queries))[::-1])
        for held, order in ((part, queries), (again, queries[::-1])):
            rows = np.concatenate([np.arange(*data.ptr[q : q + 2]) for q in order])
            value, slope = held.value_gradient(raw[rows])
            np.testing.assert_array_equal(value, values[order])
            np.testing.assert_array_equal(slope, gradient[rows])


@pytest.mark.parametrize("cls", [losses.SampledPairsLoss, losses.CDNLoss])
@pytest.mark.parametrize("state", [None, np.random.RandomState(0)])
def test_losses_that_draw_anew_have_no_subsets(cls, state, data):
    first = {"topology": "random"} if cls is losses.CDNLoss else {"loss": LOG}
    prepared = data.prepare(cls(**first, random_state=state))
    assert prepared.draws_anew
    assert not hasattr(prepared, "subset")


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("inner", [losses.LogLoss(), losses.HingeLoss()])
def test_gradients_without_pairs_are_of_floating_point(wrap, inner):
    given = {"pairs": np.empty((0, 2), dtype=int)}
    loss = wrap(inner, **(given if wrap is losses.ExplicitPairsLoss else {}))
    prepared = loss.prepare([1.0, 1.0], [0, 2])
    for name in ("value_gradient", "gradient_hessian"):
        if hasattr(prepared, name):
            for part in getattr(prepared, name)([0.0, 1.0]):
                assert part.dtype == np.float64
                assert not part.any()


@each_loss
def test_smoothed_and_relaxed_are_what_they_say(loss, data):
    prepared = data.prepare(loss)
    raw = data.raw(loss)
    values = prepared.value_gradient(raw)[0].sum()
    if hasattr(loss, "smoothed"):
        smooth = loss.smoothed(0.01)
        found = data.prepare(smooth).value_gradient(raw)[0].sum()
        if getattr(loss, "width", 0.0) == 0.0:
            terms = prepared.total_weight * loss.n_outputs
            assert abs(found - values) <= 0.005 * terms + 1e-12
        assert type(smooth) is type(loss)
    if hasattr(loss, "relaxed"):
        relaxed = loss.relaxed()
        assert relaxed.convex
        assert data.prepare(relaxed).value_gradient(raw)[0].sum() >= values - 1e-12


@each_loss
def test_labels_are_read_or_refused(loss, data):
    if loss.reads_labels:
        prepared = loss.prepare(data.y, data.ptr, labels=LABELS)
        assert prepared.value_gradient(data.labels_raw)[1].shape == (27, 4)
        assert hasattr(prepared, "gradient_hessian") == loss.has_hessian
        return
    with pytest.raises(TypeError, match=f"{type(loss).__name__} compares scores of"):
        loss.prepare(data.y, data.ptr, labels=LABELS)


@each_loss
def test_parameters_are_checked_once_and_not_per_batch(loss, data, monkeypatch):
    checks = []
    monkeypatch.setattr(
        type(loss), "_check_parameters", lambda self: checks.append(self)
    )
    data.prepare(loss)
    assert checks == [loss]
    loss._bind(data.y, data.ptr, None, LABELS if reads_labels_alone(loss) else None)
    assert checks == [loss]


@pytest.mark.parametrize("huge", [0, 2])
@each_size
def test_a_query_has_its_value_whatever_scores_stand_beside_it(loss, times, huge):
    """No sum runs over several queries, where small terms would be lost."""
    rng = np.random.default_rng(3)
    n, ptr = 18 * times, times * np.array([0, 5, 14, 18])
    y = np.array([0, 1, 2, 3, 0, 1, 0, 2, 3, 1, 1, 0, 0, 2, 3, 2, 1, 0.0])
    y = np.repeat(y, times)
    raw = rng.normal(size=n if columns(loss) == 1 else (n, columns(loss)))
    beside = np.zeros(n, dtype=bool)
    beside[ptr[huge] : ptr[huge + 1]] = True
    if isinstance(loss, losses.ExplicitPairsLoss):
        loss = clone(loss).set_params(pairs=[[0, 1], [5, 6], [14, 15]])
        if loss.pair_weight is not None:
            loss.set_params(pair_weight=[1.0, 2.0, 3.0])
    options = {"labels": LABELS} if reads_labels_alone(loss) else {}
    prepared = loss.prepare(y, ptr, None, **options)
    values, gradient = prepared.value_gradient(raw)
    large = np.where(
        beside if raw.ndim == 1 else beside[:, None],
        (30.0 if overflows(loss) else 1e10) * raw,
        raw,
    )
    other_values, other_gradient = prepared.value_gradient(large)
    small = [q for q in range(3) if q != huge]
    np.testing.assert_allclose(
        np.asarray(other_values)[small], np.asarray(values)[small], rtol=1e-12
    )
    expected = gradient[~beside]
    rounding = 1e-15 * np.abs(expected).max()
    np.testing.assert_allclose(
        other_gradient[~beside], expected, rtol=1e-12, atol=rounding
    )


@pytest.mark.parametrize("grade", [0.0, 3.0])
@each_loss
def test_a_document_in_no_pair_with_a_weight_counts_nothing_wherever_it_is(loss, grade):
    """Where a document changes nothing nearby, it does not from far away."""
    if columns(loss) != 1:
        return
    if isinstance(loss, losses.ExplicitPairsLoss):
        loss = losses.ExplicitPairsLoss(loss.loss, [[0, 1], [1, 2], [4, 3]])
    prepared = loss.prepare(
        np.array([grade, 2.0, 1.0, 0.0, 2.0]),
        [0, 5],
        np.array([0.0, 1.0, 0.5, 1.0, 2.0]),
    )

    def moved(score):
        value, gradient = prepared.value_gradient([score, 0.5, -0.3, 0.7, 0.1])
        return value[0], gradient

    value, gradient = moved(0.0)
    nearby = [moved(score) for score in (-100.0, -1.0, 1.0, 100.0)]
    if all(
        np.allclose(v, value, rtol=1e-9) and np.allclose(g, gradient, rtol=1e-9)
        for v, g in nearby
    ):
        for score in (-720.0, 720.0, -1e8, 1e8, -1e17, 1e17):
            both(moved(score), (value, gradient), rtol=1e-9, atol=1e-12)


EVALUATIONS = ("value_gradient", "gradient_hessian", "most_violated")


def long_query(loss, m=45):
    """A prepared query long enough for approximations, with its scores."""
    rng = np.random.default_rng(5)
    n, ptr = m + 6, np.array([0, m, m + 5, m + 5, m + 6])
    if isinstance(loss, losses.ExplicitPairsLoss):
        loss = losses.ExplicitPairsLoss(loss.loss, pairs=[[0, 1], [m, m + 1]])
    options = {"labels": LABELS} if reads_labels_alone(loss) else {}
    prepared = loss.prepare(rng.integers(0, 4, n).astype(float), ptr, **options)
    return prepared, rng.normal(size=n if columns(loss) == 1 else (n, columns(loss)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@each_loss
def test_scores_that_are_not_finite_are_refused_by_name(loss, bad):
    prepared, raw = long_query(loss)
    raw[[3, 47]] = bad
    message = rf"scores are not finite: raw must .*; found {bad} in row 3"
    for name in EVALUATIONS:
        if hasattr(prepared, name):
            for scores in (raw, raw.tolist()):
                with pytest.raises(NotFiniteError, match=message):
                    getattr(prepared, name)(scores)


@pytest.mark.parametrize("raw", [None, np.nan, [np.nan, 1.0]])
def test_scores_of_any_shape_that_are_not_finite_are_refused(raw):
    prepared = losses.LogLoss().prepare([1.0, 0.0], [0, 2])
    with pytest.raises(NotFiniteError, match="raw must hold finite numbers; found nan"):
        prepared.value_gradient(raw)


@each_size
def test_compiled_code_comes_to_an_end_for_any_scores(loss, times):
    """Differences of finite scores may overflow, so that it meets NaN all the same."""
    m = 45 if times == 1 else 800
    prepared, raw = long_query(loss, m)
    least, most = np.finfo(float).min, np.finfo(float).max
    for name in EVALUATIONS:
        if hasattr(prepared, name):
            unchecked = inspect.unwrap(getattr(prepared, name).__func__)
            some = [1, 2, 3, 40, m + 1]
            for rows in (0, 30, m + 2, some, slice(0, m), slice(None)):
                for bad in (np.nan, least, most, np.where(raw[rows] < 0, least, most)):
                    scores = raw.copy()
                    scores[rows] = bad
                    with np.errstate(all="ignore"), contextlib.suppress(NotFiniteError):
                        unchecked(prepared, scores)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0])
@each_loss
def test_weights_and_grades_are_checked_by_name(loss, bad, data):
    data.weight[4] = bad
    message = rf"sample_weight must hold finite numbers >= 0; found {bad} in row 4"
    with pytest.raises(ValueError, match=message):
        data.prepare(loss, data.weight)
    if bad != -1.0 and loss._needs_grades:
        data.y[4] = bad
        with pytest.raises(ValueError, match=rf"y must hold .*; found {bad} in row 4"):
            data.prepare(loss)


@each_loss
def test_weights_have_a_finite_sum(loss, data):
    weight = np.full_like(data.weight, 1e308)
    message = f"whose sum, .* is finite, found {len(weight)} numbers up to 1e\\+308"
    with pytest.raises(ValueError, match=message):
        data.prepare(loss, weight)


@pytest.mark.filterwarnings("ignore:.*found no pair to train on")
@each_loss
def test_weights_of_what_is_compared_have_a_finite_sum(loss, data):
    # The sum of the rows is finite, that of what is made of them may be not.
    weight = np.zeros_like(data.weight)
    weight[0] = 1e308
    with pytest.raises(ValueError, match=r"sample_weight .* whose sum, for each doc"):
        data.prepare(loss, weight)
    weight[0] = 1e308 / len(weight)
    message = (
        f"sample_weight .*{type(loss).__name__} gives .* found {len(weight)} numbers"
    )
    try:
        prepared = data.prepare(loss, weight)
    except ValueError as error:
        assert re.search(message, str(error))  # noqa: PT017, not all losses do
    else:
        assert 0 <= prepared.total_weight < np.inf


@pytest.mark.parametrize(
    "labels", [[2, 1, 0], [0, np.nan], [np.inf, 0], [0, 0, 1, 2], [], [[0, 1, 2]]]
)
@pytest.mark.parametrize("reading", ["pairwise", "pointwise"])
def test_labels_that_do_not_ascend_name_no_columns(labels, reading):
    loss = losses.HingeLoss(reading=reading)
    with pytest.raises(ValueError, match=r"^labels must hold distinct finite numbers"):
        loss.prepare([2, 0, 1, 0], [0, 4], labels=labels)


def test_what_a_mask_hides_is_not_read():
    y, raw = np.array([2.0, 0, 1, 0]), np.zeros(4)
    hidden = [True, False, False, False]
    with pytest.raises(ValueError, match="y must hold finite grades; found nan in row"):
        LOG.value_gradient(np.ma.masked_array(y, hidden), raw, [0, 4])
    with pytest.raises(ValueError, match="sample_weight must hold finite numbers"):
        LOG.value_gradient(y, raw, [0, 4], np.ma.masked_array(np.ones(4), hidden))
    for mask in (hidden, True):
        with pytest.raises(NotFiniteError, match="raw must hold finite numbers; found"):
            LOG.value_gradient(y, np.ma.masked_array(raw, mask), [0, 4])


@pytest.mark.parametrize("loss", LOSSES, ids=label)
@pytest.mark.parametrize("ptr", [[0], [0, 0]], ids=["no query", "an empty query"])
def test_no_rows_have_no_loss(loss, ptr):
    if type(loss) in WRAPPERS:
        pytest.skip("a wrapper has parameters that depend on the rows")
    labels = LABELS if getattr(loss, "reading", None) == "pointwise" else None
    prepared = loss.prepare([], ptr, labels=labels)
    n_columns = loss.n_outputs if labels is None else len(labels)
    shape = (0,) if n_columns == 1 else (0, n_columns)
    values, gradient = prepared.value_gradient(np.zeros(shape))
    assert values.tolist() == [0.0] * (len(ptr) - 1)
    assert gradient.shape == shape


@each_loss
def test_empty_queries_change_nothing(loss, data):
    if isinstance(loss, losses.CDNLoss) and draws(loss):
        return  # it draws for all queries at once
    raw, starts = data.raw(loss), data.ptr
    prepared = data.prepare(loss, data.weight)
    n = len(starts) - 1
    for places in ([0], [3], [n], [0, 3, 3, n]):
        data.ptr = np.insert(starts, places, starts[places])
        filled = np.diff(data.ptr) > 0
        other = data.prepare(loss, data.weight)
        assert other.total_weight == pytest.approx(prepared.total_weight, rel=1e-13)
        for name in EVALUATIONS[:2]:
            if hasattr(prepared, name):
                values, *slopes = getattr(other, name)(raw)
                assert not np.any(values[~filled])
                expected = getattr(prepared, name)(raw)
                both((values[filled], *slopes), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "loss",
    [
        losses.LambdaLoss("map(relevance_level=5)"),
        losses.SmoothMeasureLoss("map(relevance_level=5)"),
        losses.SmoothMeasureLoss(NDCG(gain={0: 1, 1: 1, 2: 1})),
        losses.StructuredHingeLoss("mrr(relevance_level=5)"),
        losses.StructuredHingeLoss(NDCG(gain={0: 1, 1: 1, 2: 1})),
        losses.PermutationHingeLoss("map(relevance_level=5)"),
    ],
    ids=label,
)
def test_documents_that_are_alike_to_a_loss_are_told(loss):
    message = f"{type(loss).__name__} tells no documents of a query apart, although"
    with pytest.warns(TrainingDataWarning, match=message):
        loss.prepare([2, 1, 0, 1], [0, 2, 4])
    loss.prepare([1, 1, 0, 0], [0, 2, 4])  # of equal grades, the ranker warns
