"""The energy framework contains classical models, and its parts combine freely.

Fang & Liu (2016), section 4: a choice of energy and loss functional gives linear SVM,
logistic regression, ridge regression, RankSVM, RankNet and ListMLE.
"""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from skrank.datasets import make_ranking
from skrank.energies import (
    AbsoluteLabelEnergy,
    EmbeddingEnergy,
    KernelEnergy,
    LinearEnergy,
    MLPEnergy,
    ProductLabelEnergy,
    PrototypeEnergy,
    SquaredLabelEnergy,
)
from skrank.exceptions import TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.losses import (
    EnergyLoss,
    HingeLoss,
    ListMLELoss,
    ListNetLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    MEELoss,
    NLLLoss,
    PerceptronLoss,
    SampledPairsLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import EnergyRanker, ListMLE, RankNet, RankSVM
from skrank.solvers import LBFGS, SGD, Adam, SmoothingHomotopy

ALPHA = 0.05


@pytest.fixture(scope="module")
def data():
    """Rows, grades 0 to 2, queries."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(25), rng.integers(2, 12, size=25))
    X = rng.normal(size=(len(groups), 4))
    y = np.digitize(X @ [1.5, -1.0, 0.5, 0] + rng.normal(size=len(X)), [-0.5, 1.0])
    return X, y.astype(float), groups


def pointwise(energy, loss, solver, data, alpha=ALPHA):
    return EnergyRanker(energy, loss, solver=solver, alpha=alpha, n_jobs=1).fit(*data)


@pytest.mark.parametrize("margin", [1.0, 2.0])
def test_linear_svm(data, margin):
    # Eq. 5 in the hinge: max(0, M - 2 r f) = M max(0, 1 - r g) with g = 2 f / M, so
    # the mean over n documents plus alpha/2 |w|^2 is, in terms of v = 2 w / M,
    # (alpha M^2 / 4) (|v|^2 / 2 + C sum) with C = 4 / (alpha n M).
    X, y, groups = data
    binary = (y > 0).astype(float)
    energy, loss = ProductLabelEnergy(LinearEnergy()), HingeLoss(margin)
    solver = SmoothingHomotopy(final_width=1e-6, max_iter=3000, tol=1e-9)
    loss = loss.set_params(reading="pointwise")
    ranker = pointwise(energy, loss, solver, (X, binary, groups))
    svm = LinearSVC(
        loss="hinge",
        C=4 / (ALPHA * len(y) * margin),
        fit_intercept=False,
        tol=1e-10,
        max_iter=500_000,
        random_state=0,
    ).fit(X, binary)
    np.testing.assert_allclose(2 / margin * ranker.coef_, svm.coef_[0], atol=2e-4)
    np.testing.assert_array_equal(ranker.predict_labels(X), svm.predict(X))
    # The printed sign of eq. 6, M + 2 r f, would learn the reverse.
    assert np.corrcoef(ranker.predict(X), binary)[0, 1] > 0.5


@pytest.mark.parametrize("loss", [LogLoss(), NLLLoss()], ids=repr)
def test_logistic_regression(data, loss):
    # log(1 + exp(-2 r f)) is the logistic loss of g = 2 f; v = 2 w gives
    # alpha/2 |w|^2 = alpha/8 |v|^2, so C = 4 / (alpha n). The intercept is free.
    X, y, groups = data
    binary = (y > 0).astype(float)
    solver = LBFGS(tol=1e-10, max_iter=1000)
    loss = clone(loss).set_params(reading="pointwise")
    ranker = pointwise(ProductLabelEnergy(), loss, solver, (X, binary, groups))
    peer = LogisticRegression(C=4 / (ALPHA * len(y)), tol=1e-10, max_iter=1000)
    peer.fit(X, binary)
    np.testing.assert_allclose(2 * ranker.coef_, peer.coef_[0], atol=1e-6)
    np.testing.assert_allclose(2 * ranker.intercept_, peer.intercept_[0], atol=1e-6)
    np.testing.assert_allclose(
        2 * ranker.predict(X), peer.decision_function(X), atol=1e-5
    )


def test_ridge_regression(data):
    # mean of (f - y)^2 / 2 plus alpha/2 |w|^2 is (sum + alpha n |w|^2) / (2 n).
    X, y, _ = data
    solver = LBFGS(tol=1e-12, max_iter=1000)
    loss = EnergyLoss(reading="pointwise")
    ranker = pointwise(SquaredLabelEnergy(), loss, solver, data)
    ridge = Ridge(alpha=ALPHA * len(y)).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, ridge.coef_, atol=1e-7)
    np.testing.assert_allclose(ranker.intercept_, ridge.intercept_, atol=1e-7)


def test_energy_and_perceptron_loss_differ_for_finitely_many_labels(data):
    # Section 4.1 calls them equal: so they are if every real number is a label. With
    # R = {0, 1, 2} the perceptron subtracts the distance to the nearest label.
    X, y, _ = data
    energy = SquaredLabelEnergy(LinearEnergy())
    energy.setup(X, y=y)
    raw = energy.scores(np.array([1.0, -0.5, 0.2, 0.0]), X)
    f = X @ [1.0, -0.5, 0.2, 0.0]
    nearest = np.clip(np.round(f), 0, 2)
    ptr = np.array([0, len(y)])
    values = [
        loss(reading="pointwise").prepare(y, ptr, labels=energy.labels_)
        for loss in (EnergyLoss, PerceptronLoss)
    ]
    energy_loss, perceptron = (v.value_gradient(raw)[0][0] for v in values)
    np.testing.assert_allclose(
        energy_loss - perceptron, 0.5 * np.sum((f - nearest) ** 2)
    )


def pair_differences(X, y, groups):
    """Signed differences for a binary classifier, and their classes."""
    pairs = np.argwhere((groups[:, None] == groups) & (y[:, None] > y))
    sign = np.where(np.arange(len(pairs)) % 2, 1, -1)
    return (X[pairs[:, 0]] - X[pairs[:, 1]]) * sign[:, None], sign


def test_rank_svm(data):
    X, y, groups = data
    solver = SmoothingHomotopy(final_width=1e-5, max_iter=2000)
    ranker = EnergyRanker(
        LinearEnergy(), HingeLoss(), solver=solver, alpha=ALPHA, n_jobs=1
    )
    ranker.fit(*data)
    named = RankSVM(hinge="linear", solver=solver, alpha=ALPHA, n_jobs=1).fit(*data)
    np.testing.assert_allclose(ranker.coef_, named.coef_, atol=1e-7)
    differences, sign = pair_differences(X, y, groups)
    svm = LinearSVC(
        loss="hinge",
        C=1 / (ALPHA * len(sign)),
        fit_intercept=False,
        tol=1e-9,
        max_iter=500_000,
        random_state=0,
    ).fit(differences, sign)
    np.testing.assert_allclose(ranker.coef_, svm.coef_[0], atol=1e-4)


def test_ranknet(data):
    X, y, groups = data
    solver = LBFGS(tol=1e-9, max_iter=1000)
    ranker = EnergyRanker(
        LinearEnergy(), LogLoss(), solver=solver, alpha=ALPHA, n_jobs=1
    )
    named = RankNet(solver=solver, alpha=ALPHA, n_jobs=1).fit(*data)
    np.testing.assert_array_equal(ranker.fit(*data).coef_, named.coef_)
    differences, sign = pair_differences(X, y, groups)
    peer = LogisticRegression(
        C=1 / (ALPHA * len(sign)), fit_intercept=False, tol=1e-10, max_iter=1000
    ).fit(differences, sign)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-6)


def test_ranknet_with_hidden_units(data):
    made = [
        EnergyRanker(MLPEnergy((5,), n_jobs=1), LogLoss(), solver=Adam(max_iter=5)),
        RankNet((5,), solver=Adam(max_iter=5)),
    ]
    scores = [
        ranker.set_params(random_state=0, n_jobs=1).fit(*data).predict(data[0])
        for ranker in made
    ]
    np.testing.assert_array_equal(*scores)


def test_listmle():
    # Grades without ties, so that the ideal ranking is one; eq. 22 by SciPy.
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 6)
    X = rng.normal(size=(72, 3))
    y = np.concatenate([rng.permutation(6) for _ in range(12)]).astype(float)
    solver = LBFGS(tol=1e-10, max_iter=1000)
    ranker = EnergyRanker(
        LinearEnergy(), ListMLELoss(), solver=solver, alpha=ALPHA, n_jobs=1
    )
    named = ListMLE(solver=solver, alpha=ALPHA, n_jobs=1).fit(X, y, groups)
    np.testing.assert_array_equal(ranker.fit(X, y, groups).coef_, named.coef_)

    def objective(w):
        total = 0.0
        for q in range(12):
            rows = np.flatnonzero(groups == q)
            energies = -(X[rows[np.argsort(-y[rows])]] @ w)
            total += sum(energies[j] + logsumexp(-energies[j:]) for j in range(6))
        return total / 12 + ALPHA / 2 * w @ w

    peer = minimize(objective, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(ranker.coef_, peer.x, atol=1e-4)


# ---------------------------------------------------------------- free combination

SMALL = make_ranking(n_queries=10, n_features=4, n_informative=3, random_state=0)

SCALAR = [LinearEnergy(), KernelEnergy(n_components=5), MLPEnergy((3,))]
LABELLED = [
    SquaredLabelEnergy(),
    AbsoluteLabelEnergy(KernelEnergy(n_components=5)),
    ProductLabelEnergy(MLPEnergy((3,))),
    EmbeddingEnergy(MLPEnergy((3,), n_outputs=2)),
    PrototypeEnergy(),
]
FUNCTIONALS = [
    EnergyLoss(),
    PerceptronLoss(),
    HingeLoss(),
    LogLoss(),
    MCELoss(),
    LVQ2Loss(margin=0.5),
    SquareSquareLoss(),
    SquareExponentialLoss(),
    NLLLoss(),
    MEELoss(),
    SampledPairsLoss(LogLoss(), 3, random_state=0),
]
CASES = [(energy, "pairwise") for energy in SCALAR + LABELLED]
CASES += [(energy, "pointwise") for energy in LABELLED]


def fit(ranker, X, y, groups):
    """Fit; a line search may well fail on a kink, and three steps never suffice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Pairs of energies of labels may well be least where all scores are equal.
        warnings.simplefilter("ignore", TrainingDataWarning)
        return ranker.fit(X, y, groups)


@pytest.mark.parametrize("loss", FUNCTIONALS, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize(("energy", "reading"), CASES, ids=lambda v: str(v)[:24])
def test_any_energy_any_loss_any_solver(energy, reading, loss):
    if reading == "pointwise" and isinstance(loss, SampledPairsLoss):
        pytest.skip("pairs only")
    if "reading" in loss.get_params():
        loss = clone(loss).set_params(reading=reading)
    X, y, groups = SMALL
    for solver in (LBFGS(), SGD(learning_rate=1e-3), Adam()):
        solver.set_params(max_iter=3)
        ranker = EnergyRanker(energy, loss, solver=solver, random_state=0, n_jobs=1)
        fit(ranker, X, y, groups)
        assert np.all(np.isfinite(ranker.predict(X)))
        assert np.all(np.isfinite(ranker.energies(X)))
        assert len(ranker.loss_curve_) == ranker.n_iter_ <= 3


@pytest.mark.parametrize("energy", LABELLED, ids=lambda v: type(v).__name__)
def test_exact_minimisation_over_the_labels(energy):
    X, y, groups = SMALL
    loss = NLLLoss(reading="pointwise")
    solver = Adam(max_iter=3)
    ranker = EnergyRanker(energy, loss, solver=solver, random_state=0).fit(X, y, groups)
    labels = np.unique(y)
    table = np.column_stack([ranker.energies(X, labels=r) for r in labels])
    np.testing.assert_array_equal(ranker.energies(X), table.min(axis=1))
    expected = labels[table.argmin(axis=1)]
    np.testing.assert_array_equal(ranker.predict_labels(X), expected)
    own = table[np.arange(len(y)), np.searchsorted(labels, y)]
    np.testing.assert_array_equal(ranker.energies(X, labels=y), own)
    with pytest.raises(ValueError, match="found 9"):
        ranker.energies(X, labels=9)


def test_losses_of_documents_refuse_energies_of_labels_and_the_reverse():
    X, y, groups = SMALL
    with pytest.raises(TypeError, match="ListNetLoss compares scores of documents"):
        EnergyRanker(AbsoluteLabelEnergy(), ListNetLoss()).fit(X, y, groups)
    with pytest.raises(TypeError, match="there is one energy per document"):
        EnergyRanker(LinearEnergy(), HingeLoss(reading="pointwise")).fit(X, y, groups)


def test_grid_search_over_the_parts():
    X, y, groups = SMALL
    grid = {
        "energy": [SquaredLabelEnergy(), ProductLabelEnergy(MLPEnergy((2,)))],
        "loss": [NLLLoss(reading="pointwise"), SquareExponentialLoss()],
        "loss__reading": ["pointwise"],
    }
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            EnergyRanker(solver=Adam(max_iter=2), random_state=0, n_jobs=1),
            grid,
            cv=QueryKFold(2),
            scoring=make_ranking_scorer("ndcg@5"),
        ).fit(X, y, groups=groups)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    inner = {"energy__base__fit_intercept": [False, True], "loss__margin": [0.5, 1.0]}
    ranker = EnergyRanker(
        SquaredLabelEnergy(LinearEnergy()), HingeLoss(), solver=Adam()
    )
    ranker.set_params(loss__reading="pointwise", solver__max_iter=2, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ranker, inner, cv=QueryKFold(2), error_score="raise")
        search.fit(X, y, groups=groups)
    assert set(search.best_params_) == set(inner)


@pytest.mark.parametrize("energy", LABELLED[:4], ids=lambda v: type(v).__name__)
def test_sparse_rows_equal_dense_rows(energy):
    X, y, groups = SMALL
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    ranker = EnergyRanker(
        energy, NLLLoss(reading="pointwise"), solver=Adam(max_iter=3), random_state=0
    )
    dense = ranker.fit(X, y, groups).predict(X)
    rows = sparse.csr_array(X)
    found = clone(ranker).fit(rows, y, groups).predict(rows)
    np.testing.assert_allclose(found, dense, rtol=1e-5, atol=1e-7)


def test_prototypes_of_features_refuse_sparse_rows():
    X, y, groups = SMALL
    ranker = EnergyRanker(PrototypeEnergy(), NLLLoss(reading="pointwise"))
    with pytest.raises(TypeError, match="dense data is required"):
        ranker.fit(sparse.csr_array(X), y, groups)


@pytest.mark.parametrize("energy", LABELLED, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize(
    "loss", [NLLLoss(reading="pointwise"), SampledPairsLoss(HingeLoss(), 3)], ids=repr
)
def test_pickle_clone_and_model_file(energy, loss, tmp_path):
    X, y, groups = SMALL
    ranker = EnergyRanker(energy, loss, solver=Adam(max_iter=2), random_state=0)
    scores = fit(ranker, X, y, groups).predict(X)
    save_model(ranker, tmp_path / "model.skrank")
    copies = [pickle.loads(pickle.dumps(ranker)), load_model(tmp_path / "model.skrank")]
    for copy in copies:
        np.testing.assert_array_equal(copy.predict(X), scores)
        np.testing.assert_array_equal(copy.energies(X), ranker.energies(X))
        assert repr(clone(copy)) == repr(clone(ranker))


@pytest.mark.parametrize("energy", LABELLED, ids=lambda v: type(v).__name__)
def test_threads_and_order_of_queries_do_not_matter(energy):
    X, y, groups = SMALL
    made = EnergyRanker(
        energy, LogLoss(reading="pointwise"), solver=Adam(max_iter=2), random_state=0
    )
    expected = clone(made).set_params(n_jobs=1).fit(X, y, groups).predict(X)
    moved = np.argsort(-groups, kind="stable")
    for order, n_jobs in [(np.arange(len(y)), 2), (moved, 1)]:
        again = clone(made).set_params(n_jobs=n_jobs)
        again.fit(X[order], y[order], groups[order])
        np.testing.assert_array_equal(again.predict(X), expected)
