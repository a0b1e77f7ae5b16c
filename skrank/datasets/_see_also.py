"""A real retrieval task made of what is installed anyway: load_see_also."""

import importlib
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral
from os import PathLike

import joblib
import numpy as np
from sklearn.utils import check_random_state

from skrank._core._queries import rows_of_queries
from skrank.datasets._container import RankingData
from skrank.datasets._docstrings import collect_docstrings
from skrank.text import BM25, InvertedIndex, LetorFeatures

_PARAMETER_SECTIONS = (
    "Parameters",
    "Other Parameters",
    "Returns",
    "Yields",
    "Attributes",
    "Methods",
    "Raises",
    "Warns",
)
_EXAMPLE_SECTIONS = ("Examples",)
_LEFT_OUT = ("References",)
_SAME, _LISTED, _LISTED_BY_LISTED = 3, 2, 1

_DESCRIPTION = """\
"See also": finding the function that a sentence asks for
---------------------------------------------------------

Documents: {n_documents} public functions and classes of {packages}.
Queries:   {n_queries} sentences, the first of a docstring each; {n_features} features.
Judgements: the "See Also" sections, written by the authors of these packages.
    3  the sentence is the document's own
    2  listed in the "See Also" section of a document of grade 3
    1  listed in the "See Also" section of a document of grade 2
    0  everything else

The sentence itself and the "See Also" sections are taken out of all documents, so that
neither gives the answer away. The rows of a query are what a first search (BM25 over
whole documents) finds, at most {n_candidates} documents in the order of their names.
{n_without} queries for which that search finds no document of grade 1 or more were left
out. Judged documents that it misses are not added: they would be recognised by their
low scores (Minka and Robertson, "Selection bias in the LETOR datasets", 2008).

Grades of the {n_rows} rows: {grades}.
"""


@dataclass(frozen=True, eq=False)
class SeeAlsoData(RankingData):
    """What `load_see_also` returns; unpacks as ``X, y, groups``.

    Attributes
    ----------
    query_texts : dict of str to str
        The sentence of each query.
    DESCR : str
        How the data were made, and counts.
    """

    query_texts: dict[str, str] = field(default_factory=dict, repr=False)
    DESCR: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False)
class _Task:
    """All queries of the task; rows are grouped by query."""

    X: np.ndarray
    y: np.ndarray
    ptr: np.ndarray
    document_of: np.ndarray
    document_names: np.ndarray
    query_names: np.ndarray
    query_texts: np.ndarray
    feature_names: list[str]
    n_without: int


def load_see_also(
    *,
    packages: tuple[str, ...] = ("numpy", "scipy", "sklearn"),
    n_queries: int | None = None,
    n_candidates: int = 30,
    random_state=0,
    as_frame: bool = False,
    data_home: str | PathLike | None = None,
) -> SeeAlsoData:
    """Load a retrieval task made of the docstrings of installed packages.

    Queries are the first sentences of docstrings. Documents are the docstrings of all
    public functions and classes without these sentences. A document whose own sentence
    the query is has grade 3; what its section "See Also" lists has grade 2; what these
    list in turn has grade 1. Features are those of `skrank.text.LetorFeatures` over
    four fields (name, description, parameters, examples) and the whole document.

    The documents of a query are the first ``n_candidates`` found by BM25 over whole
    documents, so that the task is to rank better than BM25 does. Nothing is downloaded,
    and nothing is written unless ``data_home`` is given. The same versions of the
    packages give the same data.

    Parameters
    ----------
    packages : tuple of str, default=("numpy", "scipy", "sklearn")
        Installed packages with numpydoc docstrings.
    n_queries : int, default=None
        Number of queries to draw; None takes all, about 1,600 for the default packages.
    n_candidates : int, default=30
        Largest number of documents per query.
    random_state : int, RandomState instance or None, default=0
        Draws the queries where ``n_queries`` is given. They keep their order.
    as_frame : bool, default=False
        Whether features and grades are pandas objects whose index has a level
        ``"qid"``.
    data_home : str or path, default=None
        Folder in which the extracted features are cached. Without it they are kept in
        memory for the next call of the process.

    Returns
    -------
    SeeAlsoData
        Unpacks as ``X, y, groups``. ``X`` holds the features, its column
        ``"whole.bm25"`` the score of the first search; ``y`` grades 0 to 3; ``groups``
        the query of each row, which is the name of the first object with the sentence.
        ``docids`` are public names of documents, ``feature_names`` the columns,
        ``query_texts`` the sentences and ``DESCR`` a description with counts.

    Raises
    ------
    ImportError
        If a package is not installed.
    ValueError
        If there are fewer queries than asked for, or the packages yield none.

    Examples
    --------
    >>> from skrank.datasets import load_see_also
    >>> data = load_see_also(packages=("numpy",), n_queries=50, n_candidates=10)
    >>> X, y, groups = data
    >>> len(X) == len(y) == len(groups) == len(data.docids)
    True
    >>> len(data.query_texts)
    50
    >>> data.feature_names[:2].tolist()
    ['name.covered', 'name.covered_ratio']
    """
    packages = (packages,) if isinstance(packages, str) else tuple(packages)
    _check_count(n_candidates, "n_candidates", minimum=2)
    task = _cached_task(packages, n_candidates, data_home)
    chosen = _choose_queries(len(task.ptr) - 1, n_queries, random_state)
    rows, ptr = rows_of_queries(task.ptr, chosen)
    y = task.y[rows]
    texts = zip(task.query_names[chosen].tolist(), task.query_texts[chosen])
    data = SeeAlsoData(
        X=task.X[rows],
        y=y,
        groups=np.repeat(task.query_names[chosen], np.diff(ptr)),
        feature_names=np.array(task.feature_names, dtype=object),
        _docids=task.document_names[task.document_of[rows]],
        query_texts=dict(texts),
        DESCR=_describe(task, packages, n_candidates, chosen, y),
    )
    return data.to_frame() if as_frame else data


def _check_count(value, name, minimum):
    if not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}, got {value!r}")


def _choose_queries(n_available, n_queries, random_state):
    if n_queries is None:
        return np.arange(n_available)
    _check_count(n_queries, "n_queries", minimum=1)
    if n_queries > n_available:
        raise ValueError(
            f"n_queries={n_queries} is more than the {n_available} queries that the "
            "packages yield"
        )
    rng = check_random_state(random_state)
    return np.sort(rng.permutation(n_available)[:n_queries])


def _describe(task, packages, n_candidates, chosen, y):
    counts = np.bincount(y.astype(int), minlength=4)
    grades = ", ".join(f"{count} of grade {g}" for g, count in enumerate(counts))
    return _DESCRIPTION.format(
        n_documents=len(task.document_names),
        packages=", ".join(
            f"{name} {version}" for name, version in _versions(packages)
        ),
        n_queries=len(chosen),
        n_features=len(task.feature_names),
        n_candidates=n_candidates,
        n_without=task.n_without,
        n_rows=len(y),
        grades=grades,
    )


def _versions(packages):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(
            (name, getattr(importlib.import_module(name), "__version__", "unknown"))
            for name in packages
        )


def _cached_task(packages, n_candidates, data_home):
    if data_home is None:
        return _task_in_memory(packages, n_candidates)
    memory = joblib.Memory(data_home, verbose=0)
    return memory.cache(_build_task)(_versions(packages), n_candidates)


@lru_cache(maxsize=2)
def _task_in_memory(packages, n_candidates):
    return _build_task(_versions(packages), n_candidates)


def _build_task(versions, n_candidates):
    """Collect, judge, index, search and describe; versions are for the cache's key."""
    documents = collect_docstrings([name for name, _ in versions])
    grades_of = _judge(documents)
    if not grades_of:
        names = ", ".join(name for name, _ in versions)
        raise ValueError(
            f"no docstring of {names} has a 'See Also' section to judge by"
        )
    extractor = LetorFeatures().fit(InvertedIndex().fit(_fields(documents)))
    texts = list(grades_of)
    query_of, document_of = _search(extractor.index_, texts, n_candidates)
    y = np.array(
        [grades_of[texts[q]].get(d, 0) for q, d in zip(query_of, document_of.tolist())],
        dtype=np.float64,
    )
    best = np.zeros(len(texts))
    np.maximum.at(best, query_of, y)
    kept_row = best[query_of] > 0
    query_of, document_of, y = query_of[kept_row], document_of[kept_row], y[kept_row]
    kept = np.flatnonzero(best > 0)
    names = [documents[min(_owners(grades_of[texts[q]]))].name for q in kept]
    sizes = np.bincount(query_of, minlength=len(texts))[kept]
    return _Task(
        X=extractor.extract(texts, query_of, document_of),
        y=y,
        ptr=np.concatenate(([0], np.cumsum(sizes))).astype(np.intp),
        document_of=document_of,
        document_names=np.array([d.name for d in documents], dtype=object),
        query_names=np.array(names),
        query_texts=np.array([texts[q] for q in kept], dtype=object),
        feature_names=extractor.feature_names_,
        n_without=int(len(texts) - len(kept)),
    )


def _fields(documents):
    """Searchable fields of documents, without summaries and "See Also"."""
    special = (*_PARAMETER_SECTIONS, *_EXAMPLE_SECTIONS, *_LEFT_OUT)

    def text(document, titles):
        return "\n".join(document.sections.get(title, "") for title in titles)

    def others(document):
        return [title for title in document.sections if title not in special]

    return {
        "name": [document.name for document in documents],
        "description": [text(document, others(document)) for document in documents],
        "parameters": [text(document, _PARAMETER_SECTIONS) for document in documents],
        "examples": [
            without_output(text(document, _EXAMPLE_SECTIONS)) for document in documents
        ],
    }


def without_output(examples):
    """Text and code of examples, without what the code prints.

    Some of SciPy's examples are put together at import with numbers drawn anew, and
    the data set must not depend on them.

    Parameters
    ----------
    examples : str
        Text of a section "Examples".

    Returns
    -------
    str
        Its lines but those between code and the next code or empty line.
    """
    kept, printing = [], False
    for line in examples.splitlines():
        code = line.lstrip().startswith((">>>", "..."))
        if code or not line.strip() or not printing:
            kept.append(line)
            printing = code
    return "\n".join(kept)


def _search(index, texts, n_candidates):
    """Candidates of every query by BM25: (query, document) in ascending order."""
    found, scores = BM25().fit(index).retrieve(texts, n_candidates)
    query_of = np.repeat(np.arange(len(texts)), found.shape[1])
    matched = scores.ravel() > 0
    query_of, document_of = query_of[matched], found.ravel()[matched]
    # by name, so that the order of rows says nothing about relevance
    order = np.lexsort((document_of, query_of))
    return query_of[order], document_of[order]


def _judge(documents) -> dict[str, dict[int, int]]:
    """Grades of documents for each query text, from the "See Also" sections.

    Objects that share a first sentence share a query and are all of grade 3. Queries
    come in the order of the name of their first object.
    """
    links = _resolve_links(documents)
    owners_of: dict[str, list[int]] = {}
    for number, document in enumerate(documents):
        owners_of.setdefault(document.summary, []).append(number)
    grades_of = {}
    for text, owners in owners_of.items():
        listed = {target for owner in owners for target in links[owner]}
        if listed.difference(owners):
            distant = {target for number in listed for target in links[number]}
            grades = dict.fromkeys(distant, _LISTED_BY_LISTED)
            grades.update(dict.fromkeys(listed, _LISTED))
            grades.update(dict.fromkeys(owners, _SAME))
            grades_of[text] = grades
    return grades_of


def _owners(grades):
    return [number for number, grade in grades.items() if grade == _SAME]


def _resolve_links(documents) -> list[set[int]]:
    """Numbers of the documents that each document's "See Also" lists."""
    number_of: dict[str, int] = {}
    for number, document in enumerate(documents):
        for alias in document.aliases:
            number_of.setdefault(alias, number)
    links = []
    for number, document in enumerate(documents):
        targets = (_resolve(name, document, number_of) for name in document.see_also)
        links.append({t for t in targets if t is not None and t != number})
    return links


def _resolve(name, document, number_of):
    """Number of the document that a name means, as seen from another document.

    A name is looked up as it stands, then in the modules of the document from the
    innermost outwards; None if it is not in the collection, as methods are.
    """
    if name.startswith("np."):
        name = "numpy." + name[3:]
    if name in number_of:
        return number_of[name]
    for alias in document.aliases:
        module = alias.rpartition(".")[0]
        while module:
            if f"{module}.{name}" in number_of:
                return number_of[f"{module}.{name}"]
            module = module.rpartition(".")[0]
    return None
