"""Energy + loss + data as one objective."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import check_grad

from skrank._core._queries import QueryIndex
from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.energies import LinearEnergy, MLPEnergy
from skrank.losses import (
    BaseLoss,
    HingeLoss,
    ListNetLoss,
    LogisticLoss,
    LogLoss,
    LVQ2Loss,
    PreparedLoss,
    SquaredLoss,
)


@pytest.fixture
def data(ragged, rng):
    X, y, groups = ragged
    index = QueryIndex.from_groups(groups, canonical=True)
    weight = rng.uniform(0.5, 2.0, size=len(y))
    return GroupedRows.from_index(X, y, index, sample_weight=weight)


@pytest.mark.parametrize(
    "energy",
    [
        LinearEnergy(),
        LinearEnergy(fit_intercept=True),
        MLPEnergy(hidden_layer_sizes=(5,), activation="tanh"),
    ],
    ids=["linear", "intercept", "network"],
)
@pytest.mark.parametrize(
    "loss",
    [SquaredLoss(), LogisticLoss(), LogLoss(), ListNetLoss()],
    ids=lambda loss: type(loss).__name__,
)
def test_gradient_of_the_whole(energy, loss, data):
    energy = energy.setup(data.X)
    objective = Objective(energy, loss, data, alpha=0.1)
    rng = np.random.RandomState(0)
    params = energy.init_params(6, rng) + 0.1 * rng.normal(size=energy.n_params(6))
    error = check_grad(
        lambda p: objective.value_gradient(p)[0],
        lambda p: objective.value_gradient(p)[1],
        params,
    )
    assert error < 1e-5


@pytest.mark.parametrize("loss", [SquaredLoss(), LogLoss(), ListNetLoss()])
def test_batches_average_to_the_whole(loss, data):
    objective = Objective(LinearEnergy(), loss, data, alpha=0.1)
    params = np.linspace(-1, 1, 6)
    batches = [objective.batch(np.array([q])) for q in range(data.n_queries)]
    parts = [batch.value_gradient(params) for batch in batches]
    value, gradient = objective.value_gradient(params)
    np.testing.assert_allclose(np.mean([v for v, _ in parts]), value)
    np.testing.assert_allclose(np.mean([g for _, g in parts], axis=0), gradient)


def test_single_queries_are_prepared_once(data):
    objective = Objective(LinearEnergy(), LogLoss(), data, alpha=0.1)
    first = objective.batch(np.array([2]), "a source of randomness")
    again = objective.batch(np.array([2]))
    assert again.prepared is first.prepared
    assert again.rng is None
    assert np.shares_memory(first.data.X, data.X)


def test_penalty_leaves_the_intercept_alone(data):
    objective = Objective(LinearEnergy(fit_intercept=True), SquaredLoss(), data, 1.0)
    free = Objective(LinearEnergy(fit_intercept=True), SquaredLoss(), data, 0.0)
    params = np.arange(7.0)
    added = objective.value_gradient(params)[0] - free.value_gradient(params)[0]
    np.testing.assert_allclose(added, 0.5 * np.sum(params[:6] ** 2))


def test_no_preference_means_no_gradient():
    data = GroupedRows(np.ones((3, 2)), np.ones(3), np.array([0, 2, 3]))
    objective = Objective(LinearEnergy(), LogLoss(), data, alpha=0.0)
    value, gradient = objective.value_gradient(np.ones(2))
    assert value == 0.0
    assert gradient.tolist() == [0.0, 0.0]
    assert data.has_preference().tolist() == [False, False]


def test_subset_keeps_rows_with_their_query(data):
    part = data.subset(np.array([3, 1]))
    rows = np.r_[data.ptr[3] : data.ptr[4], data.ptr[1] : data.ptr[2]]
    np.testing.assert_array_equal(part.X, data.X[rows])
    np.testing.assert_array_equal(part.y, data.y[rows])
    np.testing.assert_array_equal(part.sample_weight, data.sample_weight[rows])
    assert np.diff(part.ptr).tolist() == np.diff(data.ptr)[[3, 1]].tolist()


def test_only_kinked_losses_have_a_smooth_version(data):
    hinge = Objective(LinearEnergy(), HingeLoss(), data, 0.1)
    params = np.linspace(-1, 1, 6)
    exact = hinge.value_gradient(params)[0]
    assert 0 <= exact - hinge.smoothed(0.01).value_gradient(params)[0] <= 0.005
    listnet = Objective(LinearEnergy(), ListNetLoss(), data, 0.1)
    assert not hasattr(listnet, "smoothed")
    assert listnet.why_not("smoothed") == "ListNetLoss has no smooth version"


def test_coordinates_ignore_what_is_constant_within_queries(data):
    X = data.X.copy()
    X[:, 0] += 1e4 * np.repeat(np.arange(data.n_queries), np.diff(data.ptr))
    shifted = GroupedRows(X, data.y, data.ptr)
    frames = [
        Objective(LinearEnergy(), LogLoss(), part, 0.0).coordinates()
        for part in (data, shifted)
    ]
    np.testing.assert_allclose(frames[0].factor, frames[1].factor, atol=1e-4)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss()])
def test_coordinates_of_losses_of_documents_are_not_centred(loss, data):
    found = Objective(LinearEnergy(), loss, data, 0.1).coordinates()
    expected = LinearEnergy().coordinates(data.X, 0.1)
    np.testing.assert_array_equal(found.factor, expected.factor)


def test_another_loss_keeps_threads_and_noise(data):
    noise = np.random.RandomState(0)
    options = {"alpha": 0.1, "n_threads": 3, "rng": noise}
    objective = Objective(LinearEnergy(), LVQ2Loss(), data, **options)
    for other in (objective.smoothed(0.1), objective.relaxed()):
        assert other.rng is noise
        assert (other.n_threads, other.alpha, other.data) == (3, 0.1, data)


class Structured(BaseLoss):
    """A toy loss that names the most violated ranking and measures exactly."""

    unit = "query"

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return PreparedStructured(y, ptr, sample_weight, n_threads)


class PreparedStructured(PreparedLoss):
    def __init__(self, *rows):
        super().__init__(*rows)
        self.total_weight = float(self.n_queries)

    def most_violated(self, raw):
        """The best wrong document of a query against its best right one."""
        values, gradient = np.zeros(self.n_queries), np.zeros_like(raw)
        for q in range(self.n_queries):
            rows = np.arange(self.ptr[q], self.ptr[q + 1])
            right = rows[np.argmax(self.y[rows])]
            wrong = rows[np.argmax(raw[rows] + (rows != right))]
            values[q] = raw[wrong] + (wrong != right) - raw[right]
            gradient[wrong] += 1.0
            gradient[right] -= 1.0
        return values, gradient

    def measure(self, raw):
        """Whether the first document has the highest grade."""
        first = np.array([np.argmax(raw[a:b]) + a for a, b in pairwise(self.ptr)])
        best = np.array([self.y[a:b].max() for a, b in pairwise(self.ptr)])
        return (self.y[first] == best).astype(float)


def test_room_for_structured_losses_and_exact_measures(data):
    """Cutting planes and direct search ask an objective for these by name."""
    objective = Objective(LinearEnergy(), Structured(), data, alpha=0.3)
    assert not hasattr(objective, "smoothed")
    params = np.random.default_rng(0).normal(size=data.X.shape[1])
    value, gradient = objective.most_violated(params)
    raw = data.X @ params
    expected = objective.prepared.most_violated(raw)[0].mean()
    assert value == pytest.approx(expected)
    step = 1e-6 * np.random.default_rng(1).normal(size=len(params))
    change = objective.most_violated(params + step)[0] - value
    assert change == pytest.approx(gradient @ step, rel=1e-4)
    assert objective.measure(params) == objective.prepared.measure(raw).mean()
    listnet = Objective(LinearEnergy(), ListNetLoss(), data, 0.1)
    assert not hasattr(listnet, "most_violated")
    assert listnet.why_not("most_violated") == (
        "ListNetLoss cannot name the most violated ranking"
    )
    assert listnet.why_not("measure") == "ListNetLoss is not an exact measure"
