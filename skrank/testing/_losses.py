"""What every loss promises."""

import pickle
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank._core._finite import NotFiniteError
from skrank._core._inner import names_of_seeds
from skrank.losses import BaseLoss
from skrank.testing._common import (
    Check,
    called,
    close,
    copies_of,
    numeric_gradient,
    read_only,
    require,
    same_bits,
)

_LABELS = np.arange(4.0)


class GradedScores:
    """Ragged queries: without a tie in the scores, with equal grades, of one row.

    Parameters
    ----------
    seed : int, default=0
        Seed.
    sizes : sequence of int
        Documents of each query.
    """

    def __init__(self, seed: int = 0, sizes: Any = (5, 1, 7, 3, 9, 2)):
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

    def raw(self, loss: BaseLoss) -> np.ndarray:
        """Return scores of the shape that a loss takes."""
        if reads_labels_alone(loss):
            return self.labels_raw
        columns = loss.n_outputs
        return self.scores if columns == 1 else self.columns_raw[:, :columns].copy()

    def prepare(self, loss: BaseLoss, weight=None, **options):
        """Bind a loss to the grades."""
        return prepare(loss, self.y, self.ptr, weight, **options)


def prepare(loss: BaseLoss, y, ptr, weight=None, **options):
    """Bind a loss to grades, with labels where it needs them."""
    if reads_labels_alone(loss):
        options["labels"] = _LABELS
    return loss.prepare(y, ptr, weight, **options)


def reads_labels_alone(loss: BaseLoss) -> bool:
    """Whether a loss takes scores of labels and no others."""
    return getattr(loss, "reading", None) == "pointwise"


def draws(loss: BaseLoss) -> bool:
    """Whether the value depends on a seed, as of losses that draw pairs or orders."""
    seeds = names_of_seeds(loss)
    if not seeds:
        return False
    data = GradedScores()
    one, other = (
        data.prepare(clone(loss).set_params(**dict.fromkeys(seeds, seed)))
        for seed in (1, 2)
    )
    raw = data.raw(loss)
    return not same_bits(one.value_gradient(raw), other.value_gradient(raw))


def reads_row_numbers(loss: BaseLoss) -> bool:
    """Whether the value depends on the places of rows: drawn, given or tied ones."""
    return _names_rows(loss) or getattr(loss, "ties", None) == "stable" or draws(loss)


def _names_rows(loss):
    """Whether a parameter numbers the rows, as that of explicit pairs."""
    return "pairs" in loss.get_params(deep=False)


def holds_factors(loss: BaseLoss) -> bool:
    """Whether gradients are taken with factors held fixed that depend on scores."""
    held = getattr(loss, "normalize", False), getattr(loss, "damping", None)
    return any(held)


def check_shapes(loss: BaseLoss) -> None:
    """Check the shapes of values and gradients, and the total weight."""
    data = GradedScores()
    prepared = data.prepare(loss)
    raw = data.raw(loss)
    problem = None
    try:  # every evaluation looks at shapes
        prepared.value_gradient(raw)
    except (TypeError, ValueError) as error:
        problem = error
    require(problem is None, loss, f"cannot be evaluated: {problem}")
    total = prepared.total_weight
    require(
        np.isfinite(total) and total >= 0.0,
        loss,
        f"must state a finite total_weight >= 0, stated {total!r}",
    )


def check_gradient(loss: BaseLoss) -> None:
    """Check the gradient against finite differences of the value."""
    if holds_factors(loss):
        return
    data = GradedScores()
    for weight in (None, data.weight):
        prepared = data.prepare(loss, weight)
        raw = data.raw(loss)
        values, gradient = prepared.value_gradient(raw)
        expected = numeric_gradient(
            lambda s, prepared=prepared: prepared.value_gradient(s)[0].sum(), raw
        )
        rounding = 1e-11 * np.abs(values).sum()  # of a large value, over a small step
        require(
            close(gradient, expected, 1e-6, 1e-8 + rounding),
            loss,
            "has a gradient that is not the derivative of values.sum()"
            + ("" if weight is None else " with sample_weight"),
        )


def check_hessian(loss: BaseLoss) -> None:
    """Check that the Hessian is there where it is announced, and its diagonal true."""
    data = GradedScores()
    prepared = data.prepare(loss, data.weight)
    require(
        hasattr(prepared, "gradient_hessian") == loss.has_hessian,
        loss,
        f"says has_hessian={loss.has_hessian}, but its prepared loss "
        f"{'lacks' if loss.has_hessian else 'has'} gradient_hessian",
    )
    if not loss.has_hessian:
        return
    raw = data.raw(loss)
    values, gradient, hessian = prepared.gradient_hessian(raw)
    require(
        close((values, gradient), tuple(prepared.value_gradient(raw)), 1e-13, 1e-15),
        loss,
        "has other values or gradients in gradient_hessian than in value_gradient",
    )
    if holds_factors(loss):
        return
    expected = np.empty_like(raw)
    for i in np.ndindex(raw.shape):
        e = np.zeros_like(raw)
        e[i] = 1e-4
        up, down, far_up, far_down = (
            prepared.value_gradient(raw + k * e)[1][i] for k in (1, -1, 2, -2)
        )
        expected[i] = (8 * (up - down) - (far_up - far_down)) / 12e-4
    require(
        close(hessian, expected, 1e-6, 1e-7),
        loss,
        "has a Hessian whose diagonal is not the derivative of the gradient",
    )


def check_uninformative_queries(loss: BaseLoss) -> None:
    """Check that queries without preference count nothing, where documents do not."""
    if loss.unit == "document" or _names_rows(loss):
        return  # every document counts, or grades are not looked at
    y = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 2.0])  # sizes 2, 3 (equal grades), 1
    prepared = prepare(loss, y, [0, 2, 5, 6])
    raw = GradedScores().raw(loss)[:6]
    values, gradient = prepared.value_gradient(raw)
    require(
        not np.any(values[1:]) and not np.any(gradient[2:]),
        loss,
        f"says unit={loss.unit!r}, but queries whose grades are all equal add to its "
        "value or gradient",
    )


def check_query_weights(loss: BaseLoss) -> None:
    """Check that a constant weight of a query is its repetition."""
    if _names_rows(loss) or getattr(loss, "normalize", False) or draws(loss):
        return  # not linear in the weight of a query, or other rows are drawn
    data = GradedScores()
    query = np.repeat(np.arange(6), np.diff(data.ptr))
    twice = np.flatnonzero(query == 0)
    rows = np.concatenate((np.arange(len(data.y)), twice))
    weighted = data.prepare(loss, np.where(query == 0, 2.0, 1.0))
    ptr = np.append(data.ptr, data.ptr[-1] + len(twice))
    repeated = prepare(loss, data.y[rows], ptr)
    raw = data.raw(loss)
    values, gradient = weighted.value_gradient(raw)
    again, slopes = repeated.value_gradient(raw[rows])
    summed = np.zeros_like(gradient)
    np.add.at(summed, rows, slopes)
    kept = close(weighted.total_weight, repeated.total_weight, 1e-7)
    kept = kept and close(values.sum(), again.sum(), 1e-12)
    require(
        kept and close(gradient, summed, 1e-11, 1e-13),
        loss,
        "does not take a query of weight 2 as the same query twice, in its values, its "
        "gradient or its total_weight",
    )


def check_order_of_rows(loss: BaseLoss) -> None:
    """Check that the rows of a query may come in any order."""
    if reads_row_numbers(loss):
        return
    data = GradedScores()
    query = np.repeat(np.arange(6), np.diff(data.ptr))
    moved = np.lexsort((np.random.default_rng(1).random(len(query)), query))
    raw = data.raw(loss)
    values, gradient = data.prepare(loss, data.weight).value_gradient(raw)
    other = prepare(loss, data.y[moved], data.ptr, data.weight[moved])
    require(
        close(
            tuple(other.value_gradient(raw[moved])), (values, gradient[moved]), 1e-10
        ),
        loss,
        "changes with the order of the rows of a query",
    )


def check_queries_are_independent(loss: BaseLoss) -> None:
    """Check that queries do not see each other."""
    if _names_rows(loss) or draws(loss):
        return
    data = GradedScores()
    raw = data.raw(loss)
    values, gradient = data.prepare(loss, data.weight).value_gradient(raw)
    for q, (a, b) in enumerate(pairwise(data.ptr)):
        one = prepare(loss, data.y[a:b], [0, b - a], data.weight[a:b])
        value, slope = one.value_gradient(raw[a:b])
        require(
            close((value[0], slope), (values[q], gradient[a:b]), 1e-12, 1e-13),
            loss,
            "gives a query another value or gradient among others than alone",
        )


def check_subsets(loss: BaseLoss) -> None:
    """Check that subsets of queries, where they are offered, are parts of the whole."""
    data = GradedScores()
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
        require(
            close(
                tuple(part.value_gradient(raw[rows])),
                (values[queries], gradient[rows]),
                1e-12,
                1e-14,
            ),
            loss,
            "has a subset of queries with other values or gradients than in the whole",
        )
    require(
        close(total, prepared.total_weight, 1e-7),
        loss,
        "has subsets whose total_weight does not sum to that of the whole",
    )


def check_threads(loss: BaseLoss) -> None:
    """Check that the number of threads does not change a bit."""
    # Fewer documents would not be worth a second thread.
    sizes = np.random.default_rng(0).integers(3, 45, 200)
    many = GradedScores(sizes=sizes)
    raw = 0.01 * many.raw(loss)
    one, *others = (
        tuple(many.prepare(loss, n_threads=n).value_gradient(raw)) for n in (1, 2, 3)
    )
    for other in others:
        require(same_bits(other, one), loss, "changes with the number of threads")


def is_shift_invariant(loss: BaseLoss) -> bool:
    """Whether adding a constant to all scores changes nothing, on some data."""
    data = GradedScores()
    prepared = data.prepare(loss, data.weight)
    same = True
    for scale in (1.0, 0.1, -0.1):  # small ones are within all caps
        raw = scale * data.raw(loss)
        expected = prepared.value_gradient(raw)[0]
        moved = prepared.value_gradient(raw + 0.83 * scale)[0]
        same &= close(moved, expected, 1e-9, 1e-9)
    return same


def is_convex(loss: BaseLoss) -> bool:
    """Whether the loss is below each of its chords, on some data."""
    rng = np.random.default_rng(1)
    for seed in range(3):
        data = GradedScores(seed)
        prepared = data.prepare(loss, data.weight)
        for scale in (0.3, 1.0, 3.0, 9.0):
            ends = rng.normal(size=(2, 15, *data.raw(loss).shape)) * scale
            for a, b in zip(*ends):
                low, middle, high = (
                    prepared.value_gradient(x)[0].sum() for x in (a, (a + b) / 2, b)
                )
                if (middle - (low + high) / 2) / (1 + abs(middle)) > 1e-9:
                    return False
    return True


def check_shift_invariance(loss: BaseLoss) -> None:
    """Check that a loss which says that it is invariant to shifts is."""
    require(
        is_shift_invariant(loss) or not loss.shift_invariant,
        loss,
        "says shift_invariant=True, but changes when a constant is added to all scores",
    )


def check_convexity(loss: BaseLoss) -> None:
    """Check that a loss which says that it is convex is."""
    require(
        is_convex(loss) or not loss.convex,
        loss,
        "says convex=True, but lies above one of its chords",
    )


def check_labels(loss: BaseLoss) -> None:
    """Check that labels are read where the class says so, and refused elsewhere."""
    data = GradedScores()
    try:
        prepared = loss.prepare(data.y, data.ptr, labels=_LABELS)
    except TypeError:
        require(
            not loss.reads_labels, loss, "says reads_labels=True, but refuses labels"
        )
        return
    require(loss.reads_labels, loss, "says reads_labels=False, but takes labels")
    shape = np.shape(prepared.value_gradient(data.labels_raw)[1])
    require(
        shape == data.labels_raw.shape,
        loss,
        f"has a gradient of shape {shape} for labels and scores of shape "
        f"{data.labels_raw.shape}",
    )


def check_purity(loss: BaseLoss) -> None:
    """Check that inputs stay as they are, and that the result is the same again."""
    data = GradedScores()
    raw = data.raw(loss)
    prepared = data.prepare(loss, data.weight)
    first = tuple(np.array(part) for part in prepared.value_gradient(raw))
    prepared.value_gradient(0.5 * raw)
    require(
        same_bits(tuple(prepared.value_gradient(raw)), first),
        loss,
        "has other values or gradients at the same scores the second time",
    )
    y, weight = read_only(data.y), read_only(data.weight)
    try:
        found = prepare(loss, y, data.ptr, weight).value_gradient(read_only(raw))
    except ValueError as error:
        raise AssertionError(
            f"{called(loss)} cannot evaluate arrays that are read-only: {error}"
        ) from error
    require(
        draws(loss) or same_bits(tuple(found), first),
        loss,
        "has other values or gradients when it is prepared again",
    )


def check_finite(loss: BaseLoss) -> None:
    """Check that scores which are not finite are refused."""
    data = GradedScores()
    prepared = data.prepare(loss)
    for bad in (np.nan, np.inf):
        raw = data.raw(loss)
        raw = raw.copy()
        raw[3] = bad
        try:
            prepared.value_gradient(raw)
        except NotFiniteError:
            continue
        require(
            False,
            loss,
            f"takes {bad} for a score: derive what _prepare returns from PreparedLoss",
        )


def check_copies(loss: BaseLoss) -> None:
    """Check that clones and unpickled copies evaluate to the same."""
    data = GradedScores()
    raw = data.raw(loss)
    seeds = dict.fromkeys(names_of_seeds(loss), 0)
    loss = clone(loss).set_params(**seeds)
    prepared = data.prepare(loss, data.weight)
    expected = tuple(prepared.value_gradient(raw))
    again = pickle.loads(pickle.dumps(prepared)).value_gradient(raw)
    require(
        same_bits(tuple(again), expected),
        loss,
        "has other values after it was prepared and pickled",
    )
    for copied in copies_of(loss):
        found = data.prepare(copied, data.weight).value_gradient(raw)
        require(
            same_bits(tuple(found), expected),
            loss,
            "has other values after it was cloned or pickled",
        )


def checks_of_losses(loss: BaseLoss) -> Iterator[Check]:
    """Yield the checks of a loss."""
    yield from (
        check_copies,
        check_shapes,
        check_gradient,
        check_hessian,
        check_uninformative_queries,
        check_query_weights,
        check_order_of_rows,
        check_queries_are_independent,
        check_subsets,
        check_threads,
        check_shift_invariance,
        check_convexity,
        check_labels,
        check_purity,
        check_finite,
    )
