"""The robust second stage: where it starts, and what it approaches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.losses import HingeLoss, MCELoss
from skrank.rankers import LambdaMART, RankSVM, SigmoidRanker
from skrank.solvers import LBFGS, SmoothingHomotopy

FOREST = LambdaMART(n_estimators=5, min_samples_leaf=5, n_jobs=1, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_features=5, n_informative=3, random_state=0)


def starts_of(ranker, data):
    """Scores before the first step of the second stage."""
    begun = []

    def note(state):
        begun.append(state["energy"].scores(state["params"], state["data"].X))
        return True

    return ranker.set_params(callback=note).fit(*data), begun[0]


@pytest.mark.parametrize(
    ("base", "refines"),
    [
        (None, True),
        (RankSVM(alpha=0.1), True),
        (Ridge(), True),
        (FOREST, False),
        (RankSVM(kernel="rbf", n_components=5, random_state=0), False),
        (make_pipeline(StandardScaler(), RankSVM()), False),
    ],
)
def test_starts_with_the_scores_of_the_first_stage(data, base, refines):
    ranker, start = starts_of(SigmoidRanker(base), data)
    expected = ranker.estimator_.predict(data[0])
    assert_allclose(start - start[0], expected - expected[0], rtol=1e-9, atol=1e-12)
    assert ranker.refines_coef_ == refines
    assert len(ranker.coef_) == 5 + (not refines)


@pytest.mark.parametrize("base", [None, Ridge(), FOREST])
def test_first_stage_sees_the_feature_names(data, base):
    pd = pytest.importorskip("pandas")
    X, y, groups = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    # Rows without names would make the first stage warn, which is an error in tests.
    held_out = {"X_val": frame, "y_val": y, "groups_val": groups}
    ranker = SigmoidRanker(base, random_state=0).fit(frame, y, groups, **held_out)
    assert ranker.estimator_.feature_names_in_.tolist() == list(frame.columns)
    expected = SigmoidRanker(base, random_state=0).fit(
        X, y, groups, X_val=X, y_val=y, groups_val=groups
    )
    # A frame holds column after column, which BLAS may sum in another order.
    assert_allclose(ranker.predict(frame), expected.predict(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(ranker.energies(frame), -ranker.predict(frame))


@pytest.mark.parametrize("loss", ["sigmoid", "ramp"])
@pytest.mark.parametrize("base", [RankSVM(), FOREST])
def test_lowers_its_loss(data, loss, base):
    ranker = SigmoidRanker(base, loss=loss, alpha=1e-4).fit(*data)
    X, y, groups = data
    ptr = np.append(0, np.cumsum(np.unique(groups, return_counts=True)[1]))
    prepared = ranker.loss_.prepare(y, ptr)
    first, second = (
        prepared.value_gradient(stage.predict(X))[0].sum()
        for stage in (ranker.estimator_, ranker)
    )
    assert second < first


def test_the_ramp_without_a_cap_is_the_ranking_svm(data):
    solver = SmoothingHomotopy(final_width=1e-4, tol=1e-9)
    settings = {"alpha": 0.01, "solver": solver}
    ranker = SigmoidRanker(loss="ramp", cap=np.inf, **settings).fit(*data)
    expected = RankSVM(hinge="linear", **settings).fit(*data).coef_
    assert_allclose(ranker.coef_, expected, rtol=1e-3, atol=1e-4)


def test_outliers_turn_the_hinge_and_not_the_sigmoid():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y, groups = (X[:, 0] > 0).astype(float), np.repeat(np.arange(30), 10)
    X[groups < 6] *= -15.0  # judgements that are wrong, and far off
    svm = RankSVM(hinge="linear", alpha=1e-3).fit(X, y, groups)
    assert svm.coef_[0] < 0.0
    # From a start that is merely right, both stages follow their own loss.
    start = RankSVM(alpha=1e-3).fit(X[groups >= 6], y[groups >= 6], groups[groups >= 6])
    assert start.coef_[0] > 0.0
    prepared = {
        name: loss.prepare(y, np.arange(0, 301, 10))
        for name, loss in (("hinge", HingeLoss()), ("sigmoid", MCELoss()))
    }

    def slope(name):
        return prepared[name].value_gradient(start.predict(X))[1] @ X[:, 0]

    assert slope("hinge") > 0.0  # down to smaller coefficients
    assert slope("sigmoid") < 0.0


def test_takes_sparse_rows_groups_and_preferences(data, tmp_path):
    X, y, groups = data
    dense = SigmoidRanker(RankSVM(solver=LBFGS(tol=1e-10))).fit(X, y, groups)
    ranker = SigmoidRanker(RankSVM(solver=LBFGS(tol=1e-10)))
    ranker.fit(sparse.csr_matrix(X), y, groups)
    assert_allclose(ranker.coef_, dense.coef_, rtol=1e-4, atol=1e-6)
    u, v = np.nonzero((groups[:, None] == groups) & (y[:, None] > y))
    pairs = np.column_stack([u, v])
    paired = SigmoidRanker().fit(X, preferences=pairs)
    assert_allclose(paired.coef_, SigmoidRanker().fit(X, y, groups).coef_, rtol=1e-3)
    for base in (RankSVM(), FOREST):
        ranker = SigmoidRanker(base).fit(X, y, groups)
        save_model(ranker, tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert_array_equal(loaded.predict(X), ranker.predict(X))


def test_base_rankers_may_compare_the_documents_of_a_query(data):
    from skrank.preprocessing import QueryStandardScaler

    X, y, groups = data
    base = make_pipeline(QueryStandardScaler(), RankSVM())
    ranker = SigmoidRanker(base).fit(X, y, groups)
    order = np.random.default_rng(0).permutation(len(y))
    found = ranker.predict(X[order], groups[order])
    assert_allclose(found, ranker.predict(X, groups)[order], rtol=1e-12)
    with pytest.raises(ValueError, match="groups"):
        ranker.predict(X)
