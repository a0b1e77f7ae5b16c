"""Support vector machines for ranking: scikit-learn's machine, and bad input."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.svm import SVC, LinearSVC

from skrank.datasets import make_ranking
from skrank.exceptions import TrainingDataWarning
from skrank.export import load_model, save_model
from skrank.rankers import SVMClassifierRanker


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=12, n_features=4, n_informative=3, random_state=0)


def test_scores_are_those_of_the_machine(data):
    X, y, groups = data
    ranker = SVMClassifierRanker(alpha=0.01, threshold=2.0, random_state=0)
    ranker.fit(X, y, groups)
    peer = LinearSVC(C=1 / (0.01 * len(y)), random_state=0).fit(X, y >= 2)
    assert_allclose(ranker.predict(X), peer.decision_function(X), rtol=1e-6)
    assert_allclose(ranker.predict(X), X @ ranker.coef_ + ranker.intercept_)


@pytest.mark.parametrize(("hinge", "power"), [("squared", 2), ("linear", 1)])
def test_the_objective_is_that_of_the_docstring(data, hinge, power):
    X, y, groups = (part[:40] for part in data)
    ranker = SVMClassifierRanker(alpha=0.05, hinge=hinge, tol=1e-9, random_state=0)
    ranker.set_params(max_iter=1_000_000).fit(X, y, groups)
    z = np.where(y >= 1, 1.0, -1.0)

    def objective(v):
        loss = np.maximum(0.0, 1.0 - z * (X @ v[:-1] + v[-1])) ** power
        return 0.025 * v @ v + loss.mean()

    found = np.r_[ranker.coef_, ranker.intercept_]
    best = minimize(objective, found, method="Nelder-Mead", options={"maxiter": 2000})
    assert objective(found) <= best.fun + 1e-6


def test_other_classifiers_and_bad_ones(data, tmp_path):
    X, y, groups = data
    ranker = SVMClassifierRanker(SVC(kernel="rbf")).fit(X, y, groups)
    assert_array_equal(
        ranker.predict(X), SVC(kernel="rbf").fit(X, y >= 1).decision_function(X)
    )
    assert not hasattr(ranker, "coef_")
    with pytest.raises(
        ValueError, match="estimator must be a classifier with fit and d"
    ):
        SVMClassifierRanker(Ridge()).fit(X, y, groups)
    with pytest.raises(TypeError, match="SVC"):
        save_model(ranker, tmp_path / "model.json")
    ranker = SVMClassifierRanker(random_state=0).fit(X, y, groups)
    save_model(ranker, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert_array_equal(again.predict(X), ranker.predict(X))


def test_one_class_is_warned_of(data):
    X, y, groups = data
    with pytest.warns(
        TrainingDataWarning, match="none of the documents reach threshol"
    ):
        ranker = SVMClassifierRanker(threshold=9.0).fit(X, y, groups)
    assert ranker.estimator_ is None
    assert_array_equal(ranker.predict(X), 0.0)
    with pytest.warns(
        TrainingDataWarning, match="all of the documents reach threshold"
    ):
        SVMClassifierRanker(threshold=0.0).fit(X, y, groups)


@pytest.mark.parametrize("hinge", ["squared", "linear"])
@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-150, 1e-40, 1e40, 1e300])
def test_an_alpha_that_the_machine_would_not_end_with_is_refused(data, alpha, hinge):
    X, y, groups = data
    ranker = SVMClassifierRanker(alpha=alpha, hinge=hinge)
    message = r"SVMClassifierRanker: alpha must be a number from .* to .* got"
    for weight in (None, np.full(len(y), 1e50), np.full(len(y), 1e-50)):
        with pytest.raises(ValueError, match=message):
            ranker.fit(X, y, groups, sample_weight=weight)


@pytest.mark.filterwarnings("ignore:.*has learned no order")  # with strong penalties
@pytest.mark.parametrize("size", [1.0, 1e39, 1e69])
def test_the_machine_ends_with_every_alpha_that_is_taken(data, size):
    X, y, groups = data
    X = X / np.abs(X).max() * size
    strongest = 1e30 if size < 1e40 else 1e4
    for strength in (1e-29, strongest / 2):
        ranker = SVMClassifierRanker(alpha=1 / (strength * len(y)), random_state=0)
        assert np.isfinite(ranker.fit(X, y, groups).coef_).all()


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_more_features_than_the_machine_counts_are_refused():
    # The machine would end the process where it runs out of numbers, or of memory.
    code = """
import resource
import numpy as np
from scipy import sparse
from skrank.rankers import SVMClassifierRanker

with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 3 * 2**30,) * 2)
rows = np.repeat(np.arange(6), 2)
for width in (2**31 - 1, 2**31 - 3, 2**29):
    columns = np.tile([0, width - 1], 6)
    X = sparse.csr_matrix((np.arange(1.0, 13.0), (rows, columns)), shape=(6, width))
    try:
        SVMClassifierRanker().fit(X, [0, 1] * 3, [1] * 3 + [2] * 3)
    except (MemoryError, ValueError) as error:
        print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    first, *others = run.stdout.splitlines()
    assert first.startswith("ValueError X must have at most 2147483645 features, bec")
    assert [line.partition(",")[0] for line in others] == [
        "MemoryError X has 2147483645 features",
        "MemoryError X has 536870912 features",
    ], run.stderr


def test_sparse_rows_may_have_long_indices(data):
    X, y, groups = data
    short = sparse.csr_matrix(X)
    long = short.copy()
    long.indices = short.indices.astype(np.int64)
    long.indptr = short.indptr.astype(np.int64)
    ranker = SVMClassifierRanker(random_state=0).fit(long, y, groups)
    expected = SVMClassifierRanker(random_state=0).fit(short, y, groups).predict(short)
    assert long.indices.dtype == np.int64
    assert_array_equal(ranker.predict(long), expected)
