"""The collections on which defaults are studied: real and synthetic, small and large.

Every collection is a list of splits into training and validation queries. Test queries
of the LETOR collections are never read.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data import make_mslr_like
from skrank.datasets import (
    load_letor,
    load_letor_folds,
    load_see_also,
    make_ranking,
)
from skrank.model_selection import QueryKFold
from skrank.text import BM25, LetorFeatures


class Rows(NamedTuple):
    """Documents of some queries."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


class Split(NamedTuple):
    """What a ranker is trained on, and what it is measured on."""

    train: Rows
    validation: Rows


class Collection(NamedTuple):
    """A name, a sentence for readers, and what yields the splits for a seed.

    ``large`` collections take minutes with some contestants. The rows of synthetic
    collections depend on the seed, those of real ones do not. ``folder`` is where the
    files of a collection are, if it has any.
    """

    name: str
    about: str
    splits: Callable[[int], Iterator[Split]]
    large: bool = False
    folder: str | None = None


def data_folder():
    """The folder of the real collections."""
    return Path(os.environ.get("SKRANK_DATA", "../shared/data"))


def _part(data):
    return Rows(np.asarray(data.X, dtype=np.float32), data.y, data.groups)


def _letor(name, _seed):
    for fold in load_letor_folds(data_folder() / name, dtype=np.float32):
        yield Split(_part(fold.train), _part(fold.vali))


def _fifths(rows):
    """Five splits by query."""
    for train, validation in QueryKFold(5).split(rows.X, rows.y, rows.groups):
        yield Split(
            *(Rows(*(column[at] for column in rows)) for at in (train, validation))
        )


def _mslr(_seed):
    file = data_folder() / "MSLR-sample" / "msn1.fold1.train.5k.txt"
    data = load_letor(file, dtype=np.float32)
    whole = data.groups != data.groups[-1]  # the last query of the sample is cut
    return _fifths(Rows(*(column[whole] for column in _part(data))))


def _embedded(_seed):
    X, y, groups = load_see_also()
    return _fifths(Rows(np.asarray(X, dtype=np.float32), y, groups))


def _cranfield(_seed):
    """Text features of the 100 best documents of BM25 for each query."""
    folder = data_folder() / "Cranfield"
    titles, bodies = _fields(folder / "cran.all.1400", "T", "W")
    (queries,) = _fields(folder / "cran.qry", "W")
    judged = np.loadtxt(folder / "cranqrel", dtype=int, usecols=(0, 1, 2))
    grades = np.zeros((len(queries), len(titles)))
    # 1 is the best grade, 4 the least, and -1 stands for documents of no interest.
    for query, document, code in judged:
        grades[query - 1, document - 1] = 5 - code if code > 0 else 0
    texts = [f"{title} {body}" for title, body in zip(titles, bodies, strict=True)]
    found, _ = BM25().fit(texts).retrieve(queries, k=100)
    query_of, place = np.nonzero(found >= 0)
    document_of = found[query_of, place]
    extractor = LetorFeatures().fit({"title": titles, "body": bodies})
    X = extractor.extract(queries, query_of, document_of, dtype=np.float32)
    return _fifths(Rows(X, grades[query_of, document_of], query_of))


def _fields(path, *names):
    """The texts of some fields of a file in the format of SMART."""
    records = re.split(r"^\.I .*\n", path.read_text(encoding="latin-1"), flags=re.M)[1:]
    found = []
    for name in names:
        pattern = re.compile(rf"^\.{name}[ ]*\n(.*?)(?=^\.[A-Z][ ]*$|\Z)", re.M | re.S)
        matches = [pattern.search(record) for record in records]
        found.append([match.group(1).strip() if match else "" for match in matches])
    return found


def _synthetic(params, seed):
    """Linear and crossed signals; training and validation queries are as many."""
    n_queries = params["n_queries"]
    X, y, groups = make_ranking(
        **params | {"n_queries": 2 * n_queries}, random_state=seed
    )
    first = groups < n_queries
    rows = Rows(X.astype(np.float32), y, groups)
    yield Split(*(Rows(*(c[at] for c in rows)) for at in (first, ~first)))


def _mslr_like(n_queries, noise, seed):
    """Web-like features; the law of the grades is the same for every seed."""
    parts = (
        make_mslr_like(n, seed=at, noise=noise)
        for n, at in ((n_queries, 100 + seed), (min(n_queries, 500), 200 + seed))
    )
    yield Split(*map(_part, parts))


def _make_ranking(name, about, **params):
    return Collection(name, about, partial(_synthetic, params))


COLLECTIONS = [
    Collection(
        "MQ2008",
        "9.6k documents in small queries",
        partial(_letor, "MQ2008"),
        folder="MQ2008",
    ),
    Collection(
        "OHSUMED",
        "9.7k documents, 63 queries",
        partial(_letor, "OHSUMED"),
        folder="OHSUMED",
    ),
    Collection(
        "OHSUMED-min",
        "the same on raw scales",
        partial(_letor, "OHSUMED-min"),
        folder="OHSUMED-min",
    ),
    Collection(
        "MSLR",
        "42 queries of a web track, 136 features",
        _mslr,
        folder="MSLR-sample",
    ),
    Collection(
        "Cranfield", "text features of 225 queries", _cranfield, folder="Cranfield"
    ),
    Collection("docstrings", "the embedded task", _embedded),
    _make_ranking(
        "linear 2k", "50 queries, linear, noisy", n_queries=50, docs_per_query=40
    ),
    _make_ranking(
        "crossed 10k",
        "1,000 small queries, products of features",
        n_queries=1000,
        docs_per_query=10,
        nonlinearity=0.5,
        noise=0.3,
    ),
    _make_ranking(
        "weak 10k",
        "100 queries whose features tell little",
        n_queries=100,
        docs_per_query=100,
        noise=3.0,
        nonlinearity=0.2,
    ),
    _make_ranking(
        "missing 20k",
        "wide, a third of the values missing",
        n_queries=500,
        docs_per_query=40,
        n_features=100,
        missing=0.33,
    ),
    Collection("web 12k", "100 web-like queries", partial(_mslr_like, 100, 0.9)),
    Collection(
        "web 120k", "1,000 web-like queries", partial(_mslr_like, 1000, 0.9), True
    ),
    Collection(
        "noisy web 120k", "the same, noisier", partial(_mslr_like, 1000, 3.0), True
    ),
    Collection(
        "web 1M", "8,000 web-like queries", partial(_mslr_like, 8000, 0.9), True
    ),
]


def available(names=None, *, large=True):
    """The collections of these names, by default all that can be read."""
    chosen = [
        c for c in COLLECTIONS if (c.name in names if names else large or not c.large)
    ]
    for collection in chosen:
        folder = data_folder() / (collection.folder or "")
        if collection.folder is not None and not folder.is_dir():
            print(f"no {folder}; set SKRANK_DATA", file=sys.stderr)
        else:
            yield collection
