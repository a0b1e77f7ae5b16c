"""The contract of losses, over all public losses and the variants that they name."""

import contextlib
import inspect
import pickle
from itertools import pairwise

import numpy as np
import pytest
from _labels import label
from sklearn.base import clone

from skrank import losses
from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.energies import BaseEnergy
from skrank.exceptions import NotFiniteError
from skrank.losses import BaseLoss

PUBLIC = [getattr(losses, name) for name in losses.__all__]
CONCRETE = [
    cls
    for cls in PUBLIC
    if issubclass(cls, BaseLoss) and not cls.__name__.startswith("Base")
]
LOSSES = [cls(**variant) for cls in CONCRETE for variant in cls._variants()]
LABELS = np.arange(4.0)
LOG = losses.LogLoss()
WRAPPERS = [losses.ExplicitPairsLoss, losses.SampledPairsLoss]

each_loss = pytest.mark.parametrize("loss", LOSSES, ids=label)


def is_pointwise(loss):
    return getattr(loss, "reading", None) == "pointwise"


def columns(loss):
    """Number of scores of a document."""
    return len(LABELS) if is_pointwise(loss) else loss.n_outputs


def draws(loss):
    """Whether what is drawn, or given, depends on the rows that are prepared."""
    if isinstance(loss, losses.ListNetLoss):
        return loss.top_k > 2 and isinstance(loss.n_samples, int)
    random_kinds = (losses.BPRLoss, losses.SampledPairsLoss, losses.BoltzmannLoss)
    return isinstance(loss, random_kinds) or "random" in (
        getattr(loss, "ties", None),
        getattr(loss, "topology", None),
    )


def overflows(loss):
    """Whether differences of scores in the hundreds are more than a double can hold."""
    exponential = isinstance(
        getattr(loss, "loss", loss), (losses.ExponentialLoss, losses.PNormPushLoss)
    )
    return exponential or getattr(loss, "penalty", None) == "exponential"


def reads_row_numbers(loss):
    return (
        draws(loss)
        or isinstance(loss, losses.ExplicitPairsLoss)
        or getattr(loss, "ties", None) == "stable"
    )


class Data:
    """Ragged queries: without a tie in the scores, with equal grades, of one row."""

    def __init__(self, seed=0, sizes=(5, 1, 7, 3, 9, 2)):
        rng = np.random.default_rng(seed)
        n = sum(sizes)
        self.ptr = np.concatenate(([0], np.cumsum(sizes)))
        self.y = rng.integers(0, 4, n).astype(float)
        self.y[:3] = [0.0, 1.0, 2.0]
        self.y[6:13] = 1.0
        self.scores = rng.permutation(n) * 0.21 + rng.uniform(0, 0.1, n) - 2.0
        self.weight = rng.uniform(0.2, 2.0, n)
        self.labels_raw = rng.normal(size=(n, 4))
        self.columns_raw = rng.normal(size=(n, 9))

    def raw(self, loss):
        if is_pointwise(loss):
            return self.labels_raw
        n_outputs = loss.n_outputs
        return self.scores if n_outputs == 1 else self.columns_raw[:, :n_outputs].copy()

    def prepare(self, loss, weight=None, **options):
        if is_pointwise(loss):
            options["labels"] = LABELS
        return loss.prepare(self.y, self.ptr, weight, **options)


@pytest.fixture
def data():
    return Data()


def finite_differences(function, x, step=1e-4):
    """Fourth-order central differences of a scalar function."""
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = step
        near = function(x + e) - function(x - e)
        far = function(x + 2.0 * e) - function(x - 2.0 * e)
        gradient[i] = (8.0 * near - far) / (12.0 * step)
    return gradient


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


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_the_derivative_of_the_value(loss, weighted, data):
    if getattr(loss, "normalize", False) or getattr(loss, "damping", None):
        pytest.skip("factors are held fixed, as the deltas are")
    prepared = data.prepare(loss, data.weight if weighted else None)
    raw = data.raw(loss)
    values, gradient = prepared.value_gradient(raw)
    assert gradient.shape == raw.shape
    expected = finite_differences(lambda s: prepared.value_gradient(s)[0].sum(), raw)
    rounding = 1e-11 * np.abs(values).sum()  # of a large value, over a small step
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8 + rounding)


@each_loss
def test_hessian_is_offered_exactly_where_announced_and_true(loss, data):
    prepared = data.prepare(loss, data.weight)
    assert hasattr(prepared, "gradient_hessian") == loss.has_hessian
    if not loss.has_hessian:
        return
    raw = data.raw(loss)
    values, gradient, hessian = prepared.gradient_hessian(raw)
    both((values, gradient), prepared.value_gradient(raw), rtol=1e-14)
    if getattr(loss, "normalize", False) or getattr(loss, "damping", None):
        return
    for i in np.ndindex(raw.shape):
        e = np.zeros_like(raw)
        e[i] = 1e-4
        up, down, far_up, far_down = (
            prepared.value_gradient(raw + k * e)[1][i] for k in (1, -1, 2, -2)
        )
        expected = (8 * (up - down) - (far_up - far_down)) / 12e-4
        np.testing.assert_allclose(hessian[i], expected, rtol=1e-6, atol=1e-7)


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


@each_loss
def test_a_constant_weight_of_a_query_is_its_repetition(loss, data):
    if reads_row_numbers(loss) and getattr(loss, "ties", None) != "stable":
        return
    if getattr(loss, "normalize", False):
        return  # not linear in the weight of a query
    query = np.repeat(np.arange(6), np.diff(data.ptr))
    twice = np.flatnonzero(query == 0)
    rows = np.concatenate((np.arange(len(data.y)), twice))
    weighted = data.prepare(loss, np.where(query == 0, 2.0, 1.0))
    repeated = loss.prepare(
        data.y[rows],
        np.append(data.ptr, data.ptr[-1] + len(twice)),
        **({"labels": LABELS} if is_pointwise(loss) else {}),
    )
    raw = data.raw(loss)
    values, gradient = weighted.value_gradient(raw)
    again, slopes = repeated.value_gradient(raw[rows])
    summed = np.zeros_like(gradient)
    np.add.at(summed, rows, slopes)
    np.testing.assert_allclose(weighted.total_weight, repeated.total_weight)
    np.testing.assert_allclose(values.sum(), again.sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, summed, rtol=1e-11, atol=1e-13)


@each_loss
def test_rows_of_a_query_may_come_in_any_order(loss, data):
    if reads_row_numbers(loss):
        return
    query = np.repeat(np.arange(6), np.diff(data.ptr))
    moved = np.lexsort((np.random.default_rng(1).random(len(query)), query))
    values, gradient = data.prepare(loss, data.weight).value_gradient(data.raw(loss))
    other = Data()
    other.y = data.y[moved]
    found = other.prepare(loss, data.weight[moved]).value_gradient(
        data.raw(loss)[moved]
    )
    both(found, (values, gradient[moved]), rtol=1e-10, atol=1e-12)


@each_loss
def test_queries_do_not_see_each_other(loss, data):
    raw = data.raw(loss)
    values, gradient = data.prepare(loss, data.weight).value_gradient(raw)
    if reads_row_numbers(loss) and getattr(loss, "ties", None) != "stable":
        return
    for q, (a, b) in enumerate(pairwise(data.ptr)):
        options = {"labels": LABELS} if is_pointwise(loss) else {}
        one = loss.prepare(data.y[a:b], [0, b - a], data.weight[a:b], **options)
        value, slope = one.value_gradient(raw[a:b])
        np.testing.assert_allclose(value[0], values[q], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(slope, gradient[a:b], rtol=1e-12, atol=1e-13)


@each_loss
def test_subsets_of_queries_are_parts_of_the_whole(loss, data):
    prepared = data.prepare(loss, data.weight)
    if not hasattr(prepared, "subset"):
        return
    raw = data.raw(loss)
    values, gradient = prepared.value_gradient(raw)
    total = 0.0
    for queries in ([2, 0], [1], [5, 3, 4]):
        part = prepared.subset(np.array(queries))
        total += part.total_weight
        rows = np.concatenate([np.arange(*data.ptr[q : q + 2]) for q in queries])
        both(
            part.value_gradient(raw[rows]),
            (values[queries], gradient[rows]),
            rtol=1e-12,
            atol=1e-14,
        )
    np.testing.assert_allclose(total, prepared.total_weight)


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
    data = Data(sizes=BATCHED_SIZES)
    data.y[8:28] = 2.0
    return data


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_batches_average_to_the_whole(loss, weighted, labelled):
    if (labelled and not loss.reads_labels) or (is_pointwise(loss) and not labelled):
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
@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_a_bit(loss, n_threads):
    many = Data(sizes=np.random.default_rng(0).integers(3, 90, 100))
    raw = (0.01 if overflows(loss) else 1.0) * many.raw(loss)
    if getattr(loss, "n_samples", None) == "exact":
        return  # refused for such long lists
    one = many.prepare(loss).value_gradient(raw)
    other = many.prepare(loss, n_threads=n_threads).value_gradient(raw)
    for a, b in zip(one, other):
        np.testing.assert_array_equal(a, b)


@each_loss
def test_shift_invariance_is_told_truthfully(loss, data):
    prepared = data.prepare(loss, data.weight)
    is_same = True
    for scale in (1.0, 0.1, -0.1):  # small ones are within all caps
        raw = scale * data.raw(loss)
        expected = prepared.value_gradient(raw)[0]
        moved = prepared.value_gradient(raw + 0.83 * scale)[0]
        is_same &= np.allclose(expected, moved, rtol=1e-9, atol=1e-9)
    assert is_same == loss.shift_invariant


@each_loss
def test_convexity_is_told_truthfully(loss):
    rng = np.random.default_rng(1)
    bent = []
    for seed in range(3):
        data = Data(seed)
        prepared = data.prepare(loss, data.weight)
        for scale in (0.3, 1.0, 3.0, 9.0):
            ends = rng.normal(size=(2, 15, *data.raw(loss).shape)) * scale
            for a, b in zip(*ends):
                low, middle, high = (
                    prepared.value_gradient(x)[0].sum() for x in (a, (a + b) / 2, b)
                )
                bent.append((middle - (low + high) / 2) / (1 + abs(middle)))
    assert (max(bent) <= 1e-9) == loss.convex


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
def test_clone_and_pickle_evaluate_to_the_same(loss, data):
    raw = data.raw(loss)
    prepared = data.prepare(loss, data.weight)
    expected = prepared.value_gradient(raw)
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss))):
        for a, b in zip(data.prepare(copy, data.weight).value_gradient(raw), expected):
            np.testing.assert_array_equal(a, b)
    again = pickle.loads(pickle.dumps(prepared)).value_gradient(raw)
    for a, b in zip(again, expected):
        np.testing.assert_array_equal(a, b)


@each_loss
def test_parameters_are_checked_once_and_not_per_batch(loss, data, monkeypatch):
    checks = []
    monkeypatch.setattr(
        type(loss), "_check_parameters", lambda self: checks.append(self)
    )
    data.prepare(loss)
    assert checks == [loss]
    loss._bind(data.y, data.ptr, None, LABELS if is_pointwise(loss) else None)
    assert checks == [loss]


@pytest.mark.parametrize("huge", [0, 2])
@each_loss
def test_a_query_has_its_value_whatever_scores_stand_beside_it(loss, huge):
    """No sum runs over several queries, where small terms would be lost."""
    rng = np.random.default_rng(3)
    ptr = np.array([0, 5, 14, 18])
    y = np.array([0, 1, 2, 3, 0, 1, 0, 2, 3, 1, 1, 0, 0, 2, 3, 2, 1, 0.0])
    raw = rng.normal(size=18 if columns(loss) == 1 else (18, columns(loss)))
    beside = np.zeros(18, dtype=bool)
    beside[ptr[huge] : ptr[huge + 1]] = True
    if isinstance(loss, losses.ExplicitPairsLoss):
        loss = clone(loss).set_params(pairs=[[0, 1], [5, 6], [14, 15]])
        if loss.pair_weight is not None:
            loss.set_params(pair_weight=[1.0, 2.0, 3.0])
    options = {"labels": LABELS} if is_pointwise(loss) else {}
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
    np.testing.assert_allclose(
        other_gradient[~beside], gradient[~beside], rtol=1e-12, atol=1e-15
    )


EVALUATIONS = ("value_gradient", "gradient_hessian", "most_violated")


def long_query(loss):
    """A prepared query long enough for approximations, with its scores."""
    rng = np.random.default_rng(5)
    ptr = np.array([0, 45, 50, 50, 51])
    if isinstance(loss, losses.ExplicitPairsLoss):
        loss = losses.ExplicitPairsLoss(loss.loss, pairs=[[0, 1], [45, 46]])
    options = {"labels": LABELS} if is_pointwise(loss) else {}
    prepared = loss.prepare(rng.integers(0, 4, 51).astype(float), ptr, **options)
    return prepared, rng.normal(size=51 if columns(loss) == 1 else (51, columns(loss)))


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


@each_loss
def test_compiled_code_comes_to_an_end_for_any_scores(loss):
    """Differences of finite scores may overflow, so that it meets NaN all the same."""
    prepared, raw = long_query(loss)
    for name in EVALUATIONS:
        if hasattr(prepared, name):
            unchecked = inspect.unwrap(getattr(prepared, name).__func__)
            for rows in (0, 30, 47, [1, 2, 3, 40, 46]):
                scores = raw.copy()
                scores[rows] = np.nan
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
