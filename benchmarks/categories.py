"""Five ways to use a column of names: ``python -m benchmarks.categories``.

The data are made up: 500 queries of 25 documents to train on and as many to measure. A
document has five features of numbers and a site, of which some are frequent and most
rare, as words are; its grade depends on the site as much as on the features together.
LambdaMART has its defaults. NDCG@10, means over data sets.
"""

import argparse

import numpy as np
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skrank.metrics import evaluate_measure
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import LambdaMART

N_QUERIES, N_DOCUMENTS, N_FEATURES = 500, 25, 5
MOST_ONE_HOT = 40  # more columns of zeros and ones take long


def made_up(n_levels, seed):
    """Frames, grades and queries to train on and to measure."""
    import pandas as pd

    rng = np.random.default_rng([seed, n_levels])
    frequency = 1.0 / np.arange(1, n_levels + 1)
    effect, slope = rng.normal(size=n_levels), rng.normal(size=N_FEATURES)
    slope /= np.linalg.norm(slope)
    parts = []
    for _ in range(2):
        n = N_QUERIES * N_DOCUMENTS
        X = rng.normal(size=(n, N_FEATURES))
        site = rng.choice(n_levels, size=n, p=frequency / frequency.sum())
        latent = X @ slope + effect[site] + rng.normal(scale=0.5, size=n)
        y = np.searchsorted([0.0, 1.0, 2.0, 3.0], latent).astype(float)
        frame = pd.DataFrame(X).rename(columns="f{}".format)
        names = [f"s{level}" for level in site]
        groups = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
        parts.append((frame.assign(site=names), y, groups))
    return parts


def without(ranker):
    """The numbers alone."""
    drop = make_column_transformer(("drop", ["site"]), remainder="passthrough")
    return make_pipeline(drop, ranker)


def by_category(ranker):
    """Splits by sets of names."""
    return make_pipeline(ranker)


def by_level(ranker):
    """Splits that part one name from the others."""
    return make_pipeline(ranker.set_params(one_hot_max_levels=255))


def one_hot(ranker):
    """A column of zeros and ones for each name."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, ["site"]), remainder="passthrough")
    return make_pipeline(columns, ranker)


def target_statistics(ranker):
    """How much better the documents of a name were judged than others."""
    return make_pipeline(QueryTargetEncoder(["site"], random_state=0), ranker)


WAYS = {
    "without the site": without,
    "splits by category": by_category,
    "level by level": by_level,
    "one-hot": one_hot,
    "target statistics": target_statistics,
}


def measured(way, n_levels, seed):
    """NDCG@10 on the queries to measure."""
    (X, y, groups), (X_test, y_test, test_groups) = made_up(n_levels, seed)
    with sklearn.config_context(enable_metadata_routing=True):
        model = way(LambdaMART(random_state=seed).set_fit_request(groups=True))
        model.fit(X, y, groups=groups)
        scores = model.predict(X_test)
    return evaluate_measure("ndcg@10", y_test, scores, groups=test_groups)


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.categories", description=__doc__
    )
    parser.add_argument("--levels", type=int, nargs="+", default=[5, 40, 200, 3000])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(argv)
    print(f"{'levels':>8}" + "".join(f"{name:>20}" for name in WAYS))
    for n_levels in options.levels:
        cells = []
        for name, way in WAYS.items():
            if name == "one-hot" and n_levels > MOST_ONE_HOT:
                cells.append(f"{'-':>20}")
                continue
            found = [measured(way, n_levels, seed) for seed in range(options.seeds)]
            cells.append(f"{np.mean(found):20.4f}")
        print(f"{n_levels:8}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
