import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skrank._core._queries import QueryIndex
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model
from skrank.metrics import evaluate_measure, get_measure
from skrank.rankers import RankGP
from skrank.rankers._exact_measure import ExactMeasure
from skrank.rankers._formulas import (
    columns_for,
    depth_of,
    parse,
    start_of,
    substituted,
    text_of,
    values_of,
)
from skrank.rankers._rankgp import _Breeder

SMALL = {"population_size": 40, "max_iter": 8, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_features=5, n_informative=3, random_state=1)


def test_the_formula_parses_to_the_same_scores(data):
    X, y, groups = data
    ranker = RankGP("map", **SMALL).fit(X, y, groups)
    tokens = parse(ranker.formula_)
    assert text_of(tokens) == ranker.formula_
    assert_array_equal(values_of(tokens, columns_for(X), 1), ranker.predict(X))
    value = evaluate_measure("map", y, ranker.predict(X), groups=groups)
    assert_allclose(1 - ranker.loss_curve_[-1], value)


def by_tokens(tokens, X):
    """The same as `values_of`, with a stack of plain arrays."""
    stack = []
    for token in tokens:
        if isinstance(token, str):
            b, a = stack.pop(), stack.pop()
            if token == "/":
                small = np.abs(b) < 1e-100
                value = np.where(small, 1.0, a / np.where(small, 1.0, b))
            else:
                value = {"+": a + b, "-": a - b, "*": a * b}[token]
            stack.append(np.clip(value, -1e100, 1e100))
        elif isinstance(token, float):
            stack.append(np.full(len(X), token))
        else:
            stack.append(np.clip(X[:, token], -1e100, 1e100))
    return stack[0]


@pytest.mark.parametrize(
    "text",
    [
        "x0",
        "-0.5",
        "(x0 + x1)",
        "((x0 - 0.25) * (x1 / x2))",
        "(x2 / (x0 - x0))",
        "(1e-30 * ((x0 * 1e+30) / (x1 + -2.0)))",
    ],
)
@pytest.mark.parametrize("n", [1, 255, 256, 1000, 5000])
def test_values_of_formulas(text, n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    tokens = parse(text)
    assert text_of(tokens) == text
    found = [values_of(tokens, columns_for(X), n_threads) for n_threads in (1, 3)]
    assert_array_equal(found[0], by_tokens(tokens, X))
    assert_array_equal(found[0], found[1])


def test_values_stay_finite():
    X = np.array([[1e300, -1e300, 0.0, 1e-300]])
    for text in ("(x0 * x0)", "((x0 * x0) - (x0 * x0))", "(x0 / x3)", "(x1 / x2)"):
        assert np.isfinite(values_of(parse(text), columns_for(X), 1)).all()
    assert values_of(parse("(x1 / x2)"), columns_for(X), 1) == [1.0]


@pytest.mark.parametrize(
    "text",
    ["", "()", "(x0)", "x0 x1", "(x0 + )", "(x0 + x1", "x0 + x1", "(x0 ^ x1)", "x"]
    + ["(x0 + x1 x2)", "(+ x0 x1)", "1.2.3", "1e999", "((x0 + x1) - x2))", "nan"]
    + ["x0 (x1 + x2"],
)
def test_texts_that_are_no_formula(text):
    with pytest.raises(ValueError, match="a formula must consist of features"):
        parse(text)


def test_blanks_around_formulas_and_depths_on_either_side():
    for text in ("(x0 + (x1 * x2))", "((x1 * x2) + x0)"):
        assert parse(f" {text} \n") == parse(text)
        assert depth_of(parse(text)) == 2


def test_parts_of_formulas():
    tokens = parse("((x0 - 0.25) * (x1 / x2))")
    assert tokens == (0, 0.25, "-", 1, 2, "/", "*")
    assert [start_of(tokens, end) for end in range(7)] == [0, 1, 0, 3, 4, 3, 0]
    assert depth_of(tokens) == 2
    assert substituted((2, 0, "+"), 2, [tokens]) == (*tokens, 0, "+")


def test_features_beyond_the_last_one_are_refused():
    with pytest.raises(ValueError, match="feature x3 is beyond the 3 there are"):
        values_of(parse("x3"), columns_for(np.ones((2, 3))), 1)


def test_the_best_formula_lives_on(data):
    ranker = RankGP(**SMALL, n_populations=1).fit(*data)
    assert (np.diff(ranker.loss_curve_) <= 0).all()
    assert len(ranker.loss_curve_) == 16


def test_finds_a_product():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (300, 3))
    y = np.floor(X[:, 0] / X[:, 1])
    groups = np.repeat(np.arange(30), 10)
    ranker = RankGP("ndcg", random_state=0, max_iter=15).fit(X, y, groups)
    assert ranker.score(X, y, groups) > 0.99


def test_of_formulas_as_good_the_shortest_is_the_best():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    y = (X[:, 1] > 0).astype(float)
    ranker = RankGP("ndcg", n_populations=1, n_layers=1, max_iter=1, random_state=0)
    ranker.set_params(population_size=300).fit(X, y, groups)
    # Sums such as (x1 + x1) are among the first formulas, too.
    assert ranker.formula_ == "x1"
    assert ranker.loss_curve_[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("crossover", "mutation", "learns"),
    [(0, 0.0, False), (1, 0.0, True), (0.0, 1.0, True)],
    ids=["neither", "crossover", "mutation"],
)
def test_children_differ_by_crossover_and_mutation(data, crossover, mutation, learns):
    ranker = RankGP(**SMALL, n_layers=1, crossover=crossover, mutation=mutation)
    curve = ranker.fit(*data).loss_curve_
    assert (curve[-1] < curve[0]) == learns


def test_features_that_say_nothing_are_left_out(data):
    X, y, groups = data
    X = np.column_stack([np.ones(len(y)), np.sin(groups), X])
    ranker = RankGP("map", **SMALL).fit(X, y, groups)
    named = {token for token in parse(ranker.formula_) if isinstance(token, int)}
    assert named
    assert not named & {0, 1}


def test_validation_chooses_the_formula(data):
    X, y, groups = data
    held = groups < 5
    ranker = RankGP("map", **SMALL, validation_measure="map")
    ranker.fit(
        *(part[~held] for part in data),
        X_val=X[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    curve = ranker.validation_curve_
    assert ranker.best_iteration_ == np.argmax(curve) + 1 < len(curve)
    value = evaluate_measure(
        "map", y[held], ranker.predict(X[held]), groups=groups[held]
    )
    assert_allclose(value, curve.max())
    assert curve[-1] < curve.max()


def test_formulas_keep_to_their_depth(data):
    ranker = RankGP(**SMALL, max_depth=2, n_layers=1).fit(*data)
    assert depth_of(parse(ranker.formula_)) <= 2


def test_saving(data, tmp_path):
    ranker = RankGP(**SMALL).fit(*data)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.formula_ == ranker.formula_
    assert_array_equal(loaded.predict(data[0]), ranker.predict(data[0]))


def test_sparse_rows_give_the_same_formula(data):
    X, y, groups = data
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = RankGP(**SMALL).fit(X, y, groups)
    assert RankGP(**SMALL).fit(sparse.csr_matrix(X), y, groups).formula_ == (
        dense.formula_
    )


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_extreme_features(data, size):
    X, y, groups = data
    ranker = RankGP(**SMALL).fit(X * size, y, groups)
    assert ranker.score(X * size, y, groups) > 0.7


@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize(
    ("y", "groups"),
    [([0.0] * 6, [0, 0, 0, 1, 1, 1]), ([0.0, 1, 2, 0, 1, 2], range(6))],
    ids=["no relevant document", "one document"],
)
def test_nothing_to_learn(y, groups):
    X = np.ones((6, 2))
    ranker = RankGP(**SMALL).fit(X, np.array(y), np.array(groups))
    assert np.isfinite(ranker.predict(X)).all()


def test_shares_of_children_add_up_to_at_most_one(data):
    with pytest.raises(InvalidParameterError, match="mutation must be at most 1 - "):
        RankGP(crossover=0.8, mutation=0.3).fit(*data)


def test_children_are_made_by_mutation_beside_crossover(data):
    with_it, without = (
        RankGP(**SMALL, n_layers=1, crossover=0.5, mutation=mutation).fit(*data)
        for mutation in (0.5, 0.0)
    )
    assert with_it.formula_ != without.formula_


@pytest.mark.filterwarnings("ignore:.*same grade")
def test_only_a_better_formula_takes_the_place_of_the_best():
    X, groups = np.random.default_rng(0).normal(size=(20, 9)), np.repeat([0, 1], 10)
    small = SMALL | {"max_iter": 1, "population_size": 9}
    rankers = [RankGP(**small, n_layers=n).fit(X, np.ones(20), groups) for n in (1, 2)]
    assert rankers[0].formula_ == rankers[1].formula_


@pytest.mark.parametrize("max_depth", [1, 2])
def test_formulas_are_as_deep_as_allowed_and_no_deeper(data, max_depth):
    X, y, groups = data
    rows = GroupedRows.from_index(X, y, QueryIndex.from_groups(groups))
    exact = ExactMeasure(get_measure("map"), rows, 1)
    ranker = RankGP(**SMALL, max_depth=max_depth)
    breeder = _Breeder(ranker, rows, exact, np.random.RandomState(0))
    breeder.begin_layer()
    for _ in range(2):
        formulas = [tokens for p in breeder.populations for tokens in p]
        assert max(map(depth_of, formulas)) == max_depth
        breeder.next_generation()
    part = (0, 1, "+") if max_depth == 1 else (0, 1, "+", 2, "*")
    assert breeder._with_part((3,), part) == part
    assert breeder._with_part((3,), (*part, 4, "-")) == (3,)
