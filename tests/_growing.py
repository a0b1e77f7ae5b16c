"""Trees grown on small data, and what their splits should gain, in plain NumPy.

Gradients and hessians are whole numbers up to 7. The engine rounds to multiples of
max / 32767, and 7 divides 32767, so that nothing is rounded away.
"""

from itertools import combinations

import numpy as np

from skrank.trees import BinMapper, _grower

MOST = 7


def make_grower(X, *, categorical=(), monotonic=None, alone=()):
    """Levels of ``categorical`` go left in sets, and those of ``alone`` one by one."""
    mapper = BinMapper(categorical_features=[*categorical, *alone]).fit(X)
    kind = mapper.is_categorical_.astype(np.uint8)
    kind[list(alone)] = 2
    monotonic = np.zeros(X.shape[1]) if monotonic is None else np.asarray(monotonic)
    return mapper, _grower.Grower(
        mapper.transform(X),
        len(X),
        mapper.n_bins_,
        kind,
        monotonic.astype(np.int8),
    )


def grow(grower, gradient, hessian=None, rows=None, **options):
    defaults = {
        "min_samples_leaf": 1,
        "min_weight": 0.0,
        "smoothing": 0.0,
        "learning_rate": 1.0,
        "stochastic": False,
        "max_leaf_nodes": 8,
    }
    return grower.grow(gradient, hessian, rows, **(defaults | options))


def goes_left(tree, mapper, k, X):
    """Which rows go left at node k."""
    column = X[:, tree["feature"][k]]
    missing = np.isnan(column)
    if tree["category"][k] >= 0:
        known = mapper.thresholds_[tree["feature"][k]]
        words = tree["categories"][tree["category"][k]]
        chosen = [known[b] for b in range(255) if int(words[b // 64]) >> (b % 64) & 1]
        return np.isin(column, chosen) & ~missing
    threshold = mapper.thresholds_[tree["feature"][k], tree["bin"][k]]
    return np.where(missing, tree["missing_left"][k] == 1, column <= threshold)


def rows_of_nodes(tree, mapper, X, rows):
    """Rows of every node, and the leaf of every row."""
    rows_of = {0: rows}
    for k in range(len(tree["feature"])):  # children follow their parents
        if tree["feature"][k] >= 0:
            left = goes_left(tree, mapper, k, X[rows_of[k]])
            rows_of[tree["left"][k]] = rows_of[k][left]
            rows_of[tree["left"][k] + 1] = rows_of[k][~left]
    return rows_of


def subsets(column):
    """Every way to send some categories, and missing values, to the left."""
    values = [*np.unique(column[~np.isnan(column)])]
    values += [np.nan] * bool(np.isnan(column).any())
    for size in range(1, len(values)):
        for chosen in combinations(values, size):
            yield np.isin(column, chosen) | (np.isnan(column) & np.isnan(chosen).any())


def singles(column):
    """Every way to part one category from all others, or missing values from all."""
    missing = np.isnan(column)
    for value in np.unique(column[~missing]):
        yield column == value
        yield (column != value) & ~missing
    yield ~missing


def cuts(column):
    """Every way to cut numbers, with missing values on either side."""
    missing = np.isnan(column)
    for value in np.unique(column[~missing]):
        yield (column <= value) & ~missing
        yield (column <= value) | missing


def score(g, h, l2):
    return np.sum(g) ** 2 / (np.sum(h) + l2) if np.sum(h) + l2 > 0 else 0.0


def gain_of(left, g, h, l2):
    parts = score(g[left], h[left], l2) + score(g[~left], h[~left], l2)
    return parts - score(g, h, l2)


def whole_numbers(rng, n):
    gradient = rng.integers(-MOST, MOST + 1, size=n).astype(float)
    hessian = rng.integers(1, MOST + 1, size=n).astype(float)
    gradient[rng.integers(n)], hessian[rng.integers(n)] = MOST, MOST
    return gradient, hessian


def some_rows(rng, n, d, missing=0.2):
    X = rng.integers(0, 6, size=(n, d)).astype(float)
    X[rng.random((n, d)) < missing] = np.nan
    return X


def predict(tree, mapper, X):
    rows_of = rows_of_nodes(tree, mapper, X, np.arange(len(X)))
    values = np.empty(len(X))
    for k, rows in rows_of.items():
        if tree["feature"][k] < 0:
            values[rows] = tree["value"][k]
    return values


def large_problem(rng, n=40_000, d=36):
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[rng.random((n, d)) < 0.05] = np.nan
    X[:, 5] = rng.integers(0, 40, size=n)
    gradient = np.nan_to_num(X[:, 0] * X[:, 1]) + np.sin(X[:, 5]) + rng.normal(size=n)
    return X, gradient.astype(float), rng.random(n)


def assert_same_trees(a, b):
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
