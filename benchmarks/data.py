"""Synthetic ranking data with the shape of MSLR-WEB, fixed by its seed.

Query sizes are log-normal with mean 120, 136 features of three kinds (normal, rounded
log-normal with ties, counts), some with an offset per query, and grades 0 to 4 in the
proportions 52, 32, 13, 2 and 1 % cut from a non-linear function of 40 of the features.
"""

import numpy as np

from skrank._rows import GroupedRows

PROPORTIONS = (0.52, 0.32, 0.13, 0.02, 0.01)
SHAPES = {"S": (1000, 1), "M": (6000, 2), "T": (2000, 3)}  # queries, seed
N_FEATURES = 136


def query_sizes(n_queries, rng, mean=120.0, spread=0.55, largest=800):
    """Ragged query sizes, log-normal."""
    log_mean = np.log(mean) - 0.5 * spread**2
    sizes = np.rint(np.exp(rng.normal(log_mean, spread, n_queries)))
    return np.clip(sizes, 1, largest).astype(np.intp)


def make_mslr_like(n_queries=1000, seed=1, n_features=N_FEATURES, noise=0.9):
    """Make ranking data with features.

    Parameters
    ----------
    n_queries : int, default=1000
        Number of queries of about 120 documents.
    seed : int, default=1
        Seed of queries and documents. Features and grades depend on each other in the
        same way for every seed, so that one seed trains and another tests.
    n_features : int, default=136
        Number of features.
    noise : float, default=0.9
        Standard deviation of what the features do not tell, in units of what they do.

    Returns
    -------
    GroupedRows
    """
    rng = np.random.default_rng(seed)
    sizes = query_sizes(n_queries, rng)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    query = np.repeat(np.arange(n_queries), sizes)
    X = _features(query, n_queries, n_features, rng)
    utility = _utility(X)
    utility += rng.normal(0.0, 0.5, n_queries)[query]
    utility += rng.normal(0.0, noise, len(query))
    return GroupedRows(X, _grades(utility), ptr)


def make_shape(name):
    """The data set named "S", "M" or "T"."""
    n_queries, seed = SHAPES[name]
    return make_mslr_like(n_queries, seed)


def make_kernel_data(n_queries=6000, seed=2):
    """Grades, pointer array and scores of about the quality of a trained model.

    Parameters
    ----------
    n_queries : int, default=6000
        Number of queries of about 120 documents.
    seed : int, default=2
        Seed.

    Returns
    -------
    data : GroupedRows
        Without features.
    scores : ndarray of shape (n_documents,)
    """
    rng = np.random.default_rng(seed)
    sizes = query_sizes(n_queries, rng)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    query = np.repeat(np.arange(n_queries), sizes)
    utility = rng.normal(size=len(query)) + rng.normal(0.0, 0.4, n_queries)[query]
    y = _grades(utility)
    return GroupedRows(None, y, ptr), 0.4 * y + rng.standard_normal(len(y))


def _features(query, n_queries, n_features, rng):
    schema = np.random.default_rng(7)  # the kinds of columns, the same for every seed
    kind = schema.choice(3, n_features, p=[0.6, 0.3, 0.1])
    by_query = schema.random(n_features) < 0.3
    X = rng.standard_normal((len(query), n_features), dtype=np.float32)
    offset = 0.7 * rng.standard_normal((n_queries, n_features), dtype=np.float32)
    for j in range(n_features):
        column = X[:, j]
        if by_query[j]:
            column += offset[query, j]
        if kind[j] > 0:
            np.exp(column.clip(-4, 4), out=column)
        if kind[j] == 1:
            np.round(column, 2, out=column)
        elif kind[j] == 2:
            np.floor(column, out=column)
    return X


def _utility(X):
    """A sum of log-features, products of two and threshold rules."""
    schema = np.random.default_rng(9)
    n_features = X.shape[1]
    chosen = schema.permutation(n_features)[: min(40, n_features)]

    def signal(j):
        return np.sign(X[:, j]) * np.log1p(np.abs(X[:, j].astype(np.float64)))

    weights = schema.normal(size=len(chosen)) * np.exp(-np.arange(len(chosen)) / 12.0)
    utility = sum(w * signal(j) for w, j in zip(weights, chosen))
    for _ in range(10):
        a, b = schema.choice(chosen[:20], size=2)
        utility += 0.5 * np.tanh(signal(a)) * np.tanh(signal(b))
        utility += 0.6 * ((signal(a) > 0.4) & (signal(b) < 0.1))
    return utility / utility.std()


def _grades(utility):
    cuts = np.quantile(utility, np.cumsum(PROPORTIONS)[:-1])
    return np.searchsorted(cuts, utility).astype(np.float64)
