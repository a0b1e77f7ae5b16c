"""Old names, labels that are not read, and measures without swap deltas."""

import numpy as np
import pytest

from skrank import losses
from skrank.losses import (
    HingeLoss,
    LambdaLoss,
    ListNetLoss,
    LogLoss,
    SquaredHingeLoss,
    SquaredLoss,
)
from skrank.metrics import NDCG, get_measure

OLD = [
    ("RankNetLoss", (2.5,), LogLoss(2.5), r"LogLoss\(sigma\)"),
    ("PairwiseHingeLoss", (0.3,), HingeLoss(0.3), r"HingeLoss\(margin\)"),
    ("PairwiseSquaredHingeLoss", (0.3,), SquaredHingeLoss(0.3), "SquaredHingeLoss"),
    ("SmoothedHingeLoss", (0.3,), HingeLoss(0.3, width=1.0), "width=width"),
    ("SmoothedHingeLoss", (0.3, 0.2), HingeLoss(0.3, width=0.2), "width=width"),
]


@pytest.mark.parametrize(("name", "arguments", "new", "spelling"), OLD)
def test_old_names_warn_and_work(name, arguments, new, spelling, rng):
    with pytest.warns(DeprecationWarning, match=f"{name} is now .*{spelling}"):
        old = getattr(losses, name)
    loss = old(*arguments)
    y, raw = rng.integers(0, 3, 9), rng.normal(size=9)
    for found, expected in zip(
        loss.value_gradient(y, raw, [0, 9]), new.value_gradient(y, raw, [0, 9])
    ):
        np.testing.assert_array_equal(found, expected)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'NoLoss'"):
        losses.NoLoss  # noqa: B018


@pytest.mark.parametrize("loss", [SquaredLoss(), ListNetLoss(), LambdaLoss()])
def test_labels_are_refused_in_a_sentence(loss):
    message = f"{type(loss).__name__} compares scores of documents, but there is one"
    with pytest.raises(TypeError, match=message):
        loss.prepare([1.0, 0.0], [0, 2], labels=[0, 1])


class Unranked(NDCG):
    """A measure that says that its swaps mean nothing."""

    has_swap_deltas = False


def test_measures_without_swap_deltas_are_refused_by_name():
    message = "LambdaLoss: measure must be one that .* such as 'ndcg@10'.*Unranked"
    with pytest.raises(ValueError, match=message):
        LambdaLoss(Unranked()).prepare([1.0, 0.0], [0, 2])


@pytest.mark.skipif(
    not hasattr(get_measure("mse"), "has_swap_deltas"),
    reason="measures do not say yet whether they have swap deltas",
)
def test_the_mean_squared_error_has_no_swap_deltas():
    with pytest.raises(ValueError, match="got 'mse'"):
        LambdaLoss("mse").prepare([1.0, 0.0], [0, 2])
