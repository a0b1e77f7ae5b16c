"""What all online rankers have in common."""

import json
import pickle

import numpy as np
import pytest
from _tamper import read, write
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank import config_context
from skrank.click import SimulatedUser
from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError, TrainingDataWarning
from skrank.export import (
    from_json,
    load_model,
    save_model,
    to_elasticsearch,
    to_json,
    to_ranklib,
    to_solr,
)
from skrank.inspection import explain_preference, shap_values
from skrank.metrics import ndcg_score
from skrank.online import PDGD, DuelingBanditRanker, MultileaveRanker
from skrank.online import _base_ranker as base_ranker
from skrank.online._interaction import Audience

X, Y, GROUPS = make_ranking(n_queries=12, n_features=5, n_informative=3, random_state=0)
RANKERS = [
    PDGD(max_iter=2, random_state=0),
    PDGD(hidden_layer_sizes=(3,), max_iter=2, random_state=0),
    DuelingBanditRanker(max_iter=2, random_state=0),
    MultileaveRanker(max_iter=2, random_state=0, n_candidates=3),
]
over_rankers = pytest.mark.parametrize("ranker", RANKERS, ids=repr)

_CLICKS = "partial_fit takes clicks, 0 or 1, in the place of grades"
_STEPS = "a step of double length is not two steps"


def expected_failures(ranker):
    """Checks of scikit-learn that cannot hold, each with its reason."""
    return {
        "check_fit_score_takes_y": _CLICKS,
        "check_n_features_in_after_fitting": _CLICKS,
        "check_sample_weight_equivalence_on_dense_data": _STEPS,
        "check_sample_weight_equivalence_on_sparse_data": _STEPS,
    }


@pytest.fixture(autouse=True)
def _one_query(request):
    if "check" not in request.fixturenames:
        yield
        return
    with config_context(assume_single_query=True, check_leakage=False):
        yield


@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
@parametrize_with_checks(
    [PDGD(max_iter=2), DuelingBanditRanker(max_iter=2), MultileaveRanker(max_iter=2)],
    expected_failed_checks=expected_failures,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def learned(ranker, X, groups, seed=0, n=3):
    """Parameters after some proposals and clicks that depend on the rows."""
    ranker = clone(ranker)
    first = X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0]
    for day in range(n):
        shown = ranker.propose(X, groups, random_state=seed + day)
        clicks = (first[shown.rows] > 0.3).astype(int)
        ranker.partial_fit(X, clicks, groups, shown=shown)
    return ranker


@over_rankers
def test_the_same_seed_gives_the_same_model(ranker):
    one, two = clone(ranker).fit(X, Y, GROUPS), clone(ranker).fit(X, Y, GROUPS)
    np.testing.assert_array_equal(one.params_, two.params_)
    other = clone(ranker).set_params(random_state=1).fit(X, Y, GROUPS)
    assert not np.array_equal(one.params_, other.params_)
    for n_jobs in (1, 2):
        again = clone(ranker).set_params(n_jobs=n_jobs).fit(X, Y, GROUPS)
        np.testing.assert_array_equal(one.params_, again.params_)


@over_rankers
def test_the_order_of_queries_changes_nothing(ranker):
    order = np.concatenate([np.flatnonzero(q == GROUPS) for q in (5, 3, *range(6, 12))])
    rows = np.sort(order)
    one = learned(ranker, X[rows], GROUPS[rows])
    two = learned(ranker, X[order], GROUPS[order])
    np.testing.assert_array_equal(one.params_, two.params_)
    mixed = np.lexsort((GROUPS, np.arange(len(X)) % 3))
    mixed = mixed[np.argsort(GROUPS[mixed] % 2, kind="stable")]
    grouped = mixed[np.argsort(GROUPS[mixed], kind="stable")]
    one = learned(ranker, X[mixed], GROUPS[mixed])
    two = learned(ranker, X[grouped], GROUPS[grouped])
    np.testing.assert_array_equal(one.params_, two.params_)
    fits = [clone(ranker).fit(X[o], Y[o], GROUPS[o]).params_ for o in (rows, order)]
    np.testing.assert_array_equal(*fits)


@over_rankers
def test_a_proposal_shows_each_document_once_and_within_its_query(ranker):
    names = np.array([f"q{g:02d}" for g in GROUPS])
    ranker = clone(ranker).set_params(length=3)
    shown = ranker.propose(X, names, random_state=0)
    assert shown.query_ids.tolist() == sorted(set(names))
    assert len(shown) == 12
    assert len(set(shown.rows.tolist())) == len(shown.rows)
    for i, query in enumerate(shown.query_ids):
        rows = shown.rows[shown.ptr[i] : shown.ptr[i + 1]]
        assert set(names[rows]) == {query}
        assert len(rows) == min(3, (names == query).sum())
    ranker.set_params(length=None)
    assert sorted(ranker.propose(X, names).rows) == list(range(len(X)))


@over_rankers
def test_sparse_rows_and_small_floats(ranker):
    dense = learned(ranker, X, GROUPS)
    as_sparse = learned(ranker, sparse.csr_matrix(X), GROUPS)
    np.testing.assert_allclose(as_sparse.params_, dense.params_, rtol=1e-9, atol=1e-12)
    small = X.astype(np.float32)
    single = learned(ranker, small, GROUPS)
    double = learned(ranker, small.astype(float), GROUPS)
    np.testing.assert_allclose(single.params_, double.params_, rtol=1e-3, atol=1e-5)


@over_rankers
def test_a_batch_adds_up_the_steps_of_its_lists(ranker):
    ranker = clone(ranker)
    shown = ranker.propose(X, GROUPS, random_state=0)
    start = ranker.params_.copy()
    clicks = (X[shown.rows, 0] > 0.3).astype(np.uint8)
    steps = np.zeros_like(start)
    for i in range(len(shown)):
        alone = pickle.loads(pickle.dumps(ranker))
        only = np.zeros_like(clicks)
        places = slice(shown.ptr[i], shown.ptr[i + 1])
        only[places] = clicks[places]
        steps += alone.partial_fit(X, only, GROUPS, shown=shown).params_ - start
    whole = ranker.partial_fit(X, clicks, GROUPS, shown=shown)
    np.testing.assert_allclose(whole.params_ - start, steps, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*has learned no order")  # where none wins
@over_rankers
def test_the_weight_of_a_query_multiplies_its_steps(ranker):
    one_pass = clone(ranker).set_params(max_iter=1, shuffle=False)
    first = GROUPS == 0
    plain = clone(one_pass).fit(X[first], Y[first], GROUPS[first])
    start = clone(one_pass)
    start.propose(X, GROUPS)
    weight = np.full(first.sum(), 3.0)
    heavy = clone(one_pass).fit(X[first], Y[first], GROUPS[first], sample_weight=weight)
    step = plain.params_ - start.params_
    np.testing.assert_allclose(heavy.params_ - start.params_, 3.0 * step, atol=1e-12)


@over_rankers
def test_model_files_go_on_learning(ranker, tmp_path):
    ranker = learned(ranker, X, GROUPS)
    save_model(ranker, tmp_path / "model.skrank")
    loaded = load_model(tmp_path / "model.skrank")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    for one in (ranker, loaded):
        shown = one.propose(X, GROUPS, random_state=9)
        clicks = (X[shown.rows, 0] > 0.3).astype(int)
        one.partial_fit(X, clicks, GROUPS, shown=shown)
    np.testing.assert_array_equal(loaded.params_, ranker.params_)
    assert loaded.n_impressions_ == ranker.n_impressions_ == 48


@over_rankers
@pytest.mark.parametrize(
    "name", ["n_impressions_", "seed_", "query_grades_", "params_"]
)
def test_attributes_are_checked_when_loaded(ranker, name, tmp_path):
    path = tmp_path / "model.skrank"
    save_model(learned(ranker, X, GROUPS), path)
    document, members = read(path)
    document["model"]["state"][name] = -1
    write(path, document, members)
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        load_model(path)


@over_rankers
@pytest.mark.filterwarnings("ignore:.* has learned no order")
def test_the_curve_is_one_less_the_mean_ndcg_at_10_of_what_was_shown(
    ranker, monkeypatch
):
    """Of lists of twelve places, by the measure of the package for each list."""
    X, y, groups = make_ranking(n_queries=6, docs_per_query=15, random_state=0)
    seen, values_of_lists = [], base_ranker.values_of_lists

    def noting(measure, y, ptr, shown):
        for query, start, end in zip(shown.queries, shown.ptr[:-1], shown.ptr[1:]):
            grades = np.asarray(y)[ptr[query] : ptr[query + 1]]
            scores = np.full(len(grades), -np.inf)
            scores[shown.rows[start:end] - ptr[query]] = -np.arange(end - start)
            seen.append(ndcg_score(grades, scores, groups=[0] * len(grades), k=10))
        return values_of_lists(measure, y, ptr, shown)

    monkeypatch.setattr(base_ranker, "values_of_lists", noting)
    options = {"max_iter": 1} | ({"length": 12} if hasattr(ranker, "length") else {})
    ranker = clone(ranker).set_params(**options).fit(X, y, groups)
    np.testing.assert_allclose(ranker.loss_curve_, [1.0 - np.mean(seen)])


@over_rankers
def test_a_fitted_ranker_goes_on(ranker):
    ranker = clone(ranker).fit(X, Y, GROUPS)
    assert ranker.n_impressions_ == 24
    assert len(ranker.loss_curve_) == 2
    shown = ranker.propose(X, GROUPS + 100, random_state=0)
    ranker.partial_fit(X, np.ones(len(shown.rows)), GROUPS + 100, shown=shown)
    assert ranker.n_impressions_ == 36
    assert len(ranker.query_ids_) == 24


@over_rankers
def test_early_stopping_on_validation_queries(ranker):
    ranker = clone(ranker).set_params(max_iter=30, n_iter_no_change=2)
    test = GROUPS >= 8
    rows = X[~test], Y[~test], GROUPS[~test]
    ranker.fit(*rows, X_val=X[test], y_val=Y[test], groups_val=GROUPS[test])
    assert len(ranker.validation_curve_) == ranker.n_iter_
    found = ranker.score(X[test], Y[test], GROUPS[test])
    assert found == pytest.approx(ranker.validation_curve_.max())


@pytest.mark.parametrize("update", ["mean", "best"])
def test_steps_of_a_multileaving_lead_to_its_winners(update):
    """[Schuth2016]_: the mean of the winners, or of the best of them."""
    credits = np.random.default_rng(0).integers(0, 4, size=(200, 5))
    found = MultileaveRanker(update=update)._towards(credits)
    for (current, *others), shares in zip(credits.tolist(), found):
        winners = [i for i, credit in enumerate(others) if credit > current]
        if update == "best":
            winners = [i for i in winners if others[i] == max(others)]
        expected = np.zeros(4)
        expected[winners] = 1 / max(len(winners), 1)
        np.testing.assert_array_equal(shares, expected)


def test_the_loss_of_a_pass_is_the_regret():
    """A query with one list has that list's NDCG, which its order tells."""
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    ranker = PDGD(max_iter=1, random_state=0).fit(X, y, [0, 0])
    assert ranker.loss_curve_[0] in (0.0, pytest.approx(1.0 - 1.0 / np.log2(3.0)))


@pytest.mark.parametrize("examination", ["cascade", "position"])
@pytest.mark.parametrize("behaviour", ["perfect", "navigational", "informational"])
def test_an_audience_clicks_as_its_user_does(behaviour, examination):
    user = SimulatedUser(behaviour, examination=examination, noise=0.1, max_grade=4)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 200).astype(float)
    ptr = np.append(0, np.cumsum(rng.integers(1, 9, 30)))
    rows = rng.integers(0, 200, ptr[-1])
    audience = Audience(user, y)
    for seed in range(5):
        found = audience.click(rows, ptr, np.random.RandomState(seed))
        np.testing.assert_array_equal(found, user.click(y[rows], ptr, seed))
        alone = audience.click(rows[:5], np.array([0, 5]), np.random.RandomState(seed))
        np.testing.assert_array_equal(alone, user.click(y[rows[:5]], [0, 5], seed))


@over_rankers
def test_wrong_input_is_refused(ranker):
    ranker = clone(ranker)
    shown = ranker.propose(X, GROUPS, random_state=0)
    clicks = np.zeros(len(shown.rows))
    with pytest.raises(ValueError, match="same rows"):
        ranker.partial_fit(X[:-1], clicks, GROUPS[:-1], shown=shown)
    with pytest.raises(ValueError, match="same rows"):
        ranker.partial_fit(X, clicks, np.minimum(GROUPS, 10), shown=shown)
    with pytest.raises(ValueError, match="same X and groups"):
        ranker.partial_fit(X, clicks, GROUPS[::-1], shown=shown)
    with pytest.raises(TypeError, match="shown must be what propose returned, got"):
        ranker.partial_fit(X, clicks, GROUPS, shown=shown.rows)
    with pytest.raises(ValueError, match=r"clicks must be 0 or 1, got 0.5 in place 2"):
        ranker.partial_fit(X, [0, 0, 0.5, *clicks[3:]], GROUPS, shown=shown)
    with pytest.raises(ValueError, match="one number for each of the"):
        ranker.partial_fit(X, clicks[1:], GROUPS, shown=shown)
    with pytest.raises(ValueError, match="features"):
        ranker.propose(X[:, 1:], GROUPS)
    with pytest.raises(ValueError, match="needs to know the query"):
        ranker.propose(X)
    with pytest.raises(InvalidParameterError, match="learning_rate_decay must be"):
        ranker.set_params(learning_rate_decay=1.5).propose(X, GROUPS)
    with pytest.raises(InvalidParameterError, match="user must be"):
        clone(ranker).set_params(user="greedy", learning_rate_decay=1.0).fit(
            X, Y, GROUPS
        )


@over_rankers
def test_a_call_that_fails_leaves_the_ranker_as_it_was(ranker):
    ranker = learned(ranker, X, GROUPS)
    before = ranker.params_.copy()
    shown = ranker.propose(X, GROUPS, random_state=0)
    wrong = X.copy()
    wrong[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ranker.partial_fit(wrong, np.ones(len(shown.rows)), GROUPS, shown=shown)
    np.testing.assert_array_equal(ranker.params_, before)
    assert ranker.n_impressions_ == 36


@over_rankers
def test_a_linear_model_is_exported_and_explained(ranker):
    ranker = clone(ranker).fit(X, Y, GROUPS)
    if "energy_" in vars(ranker):
        assert not hasattr(ranker, "coef_")
        assert not hasattr(ranker, "intercept_")
        with pytest.raises(ValueError, match="it has no coefficients of the features"):
            to_json(ranker)
        return
    scores = ranker.predict(X)
    assert ranker.intercept_ == 0.0
    coef = ranker.coef_.astype(np.float32)  # Solr and Elasticsearch read single floats
    np.testing.assert_allclose(from_json(to_json(ranker)).predict(X), scores)
    weights = [f"{j + 1}:{w!r}" for j, w in enumerate(ranker.coef_.tolist())]
    written = to_ranklib(ranker, missing="zero").split()
    assert written[-len(weights) :] == weights
    names = list("abcde")
    server = json.loads(to_solr(ranker, "m", feature_names=names))
    assert list(server["params"]["weights"].values()) == coef.tolist()
    assert "linear" in to_elasticsearch(ranker, "m", feature_names=names)
    expected = (X - X.mean(axis=0)) * ranker.coef_
    parts = shap_values(ranker, X, background=X)
    np.testing.assert_allclose(parts.values, expected, atol=1e-12)
    told = explain_preference(ranker, X, 0, 1)
    np.testing.assert_allclose(told.values.sum(), scores[0] - scores[1], atol=1e-12)


def test_passes_without_a_value_have_no_regret():
    X, _, groups = make_ranking(n_queries=5, random_state=0)
    ranker = PDGD(max_iter=2, random_state=0)
    with pytest.warns(TrainingDataWarning):
        ranker.fit(X, np.zeros(len(X)), groups)
    assert ranker.loss_curve_.tolist() == [0.0]
