"""A real retrieval task made of the docstrings of installed packages."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from os import PathLike
from typing import Annotated, Any

import joblib
import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import Interval, PositiveInt, Seed
from skrank._core._paths import checked_path
from skrank._core._queries import rows_of_queries
from skrank._core._validation import check_arguments
from skrank.datasets._container import RankingData
from skrank.datasets._docstrings import Documented, collect_docstrings, imported
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

The sentences and the "See Also" sections are taken out of all documents, so that
neither gives the answer away. The rows of a query are the documents that a first search
(BM25 over whole documents) finds, at most {n_candidates} of them, in the order of their
names. {n_without} queries for which that search finds no document of grade 1 or more
were left out. Judged documents that it misses are not added: they would be recognised
by their low scores (Minka and Robertson, "Selection bias in the LETOR datasets", 2008).

Grades of the {n_rows} rows: {grades}.
"""


@dataclass(frozen=True, eq=False)
class SeeAlsoData(RankingData):
    """Data set of `load_see_also`, which unpacks as ``X, y, groups``.

    Attributes
    ----------
    query_texts : dict of str to str
        Sentence of each query, by query id.
    DESCR : str
        Description of the data and the way they were made.
    """

    query_texts: dict[str, str] = field(default_factory=dict, repr=False)
    DESCR: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False)
class _Task:
    """All queries of the task, with rows grouped by query."""

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
    packages: Sequence[str] = ("numpy", "scipy", "sklearn"),
    n_queries: PositiveInt | None = None,
    n_candidates: Annotated[int, Interval(2, None)] = 30,
    random_state: Seed = 0,
    as_frame: bool = False,
    data_home: str | PathLike | None = None,
) -> SeeAlsoData:
    """Load a retrieval task made of the docstrings of installed packages.

    Queries are the first sentences of docstrings. Documents are the docstrings of all
    public functions and classes, without these sentences. A document whose own sentence
    is the query has grade 3; documents that its section "See Also" lists have grade 2;
    documents that these list in turn have grade 1. Features are those of
    `skrank.text.LetorFeatures` over four fields (name, description, parameters,
    examples) and the whole document.

    The documents of a query are the first ``n_candidates`` that BM25 finds among whole
    documents, so that the task is to rank them better than BM25 does. Nothing is
    downloaded, and nothing is written unless ``data_home`` is given. The same versions
    of the packages give the same data.

    Parameters
    ----------
    packages : tuple of str, default=("numpy", "scipy", "sklearn")
        Installed packages with numpydoc docstrings.
    n_queries : int, default=None
        Number of queries to draw; None takes all, about 1,600 for the default packages.
    n_candidates : int, default=30
        Maximum number of documents of a query, at least 2.
    random_state : int, RandomState instance or None, default=0
        Source of randomness of the draw, where ``n_queries`` is given. The chosen
        queries keep their order.
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
        ``"whole.bm25"`` the score of the first search; ``y`` holds grades from 0 to 3;
        ``groups`` holds the query of each row, named after the first object that has
        the sentence. ``docids`` holds the public names of the documents,
        ``feature_names`` the names of the columns, ``query_texts`` the sentences, and
        ``DESCR`` a description of the data.

    Raises
    ------
    ImportError
        If a package is not installed.
    ValueError
        If an argument is not accepted, there are fewer queries than asked for, or the
        packages yield no query at all.

    References
    ----------
    [Minka2008]_, for the choice of documents by the first search alone.

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
    packages = (packages,) if isinstance(packages, str) else packages
    check_arguments(
        load_see_also,
        packages=packages,
        as_frame=as_frame,
        n_queries=n_queries,
        n_candidates=n_candidates,
        random_state=random_state,
    )
    if data_home is not None:
        data_home = checked_path(data_home, "data_home")
    packages = tuple(packages)
    task = _cached_task(packages, n_candidates, data_home)
    chosen = _choose_queries(len(task.ptr) - 1, n_queries, random_state)
    rows, ptr = rows_of_queries(task.ptr, chosen)
    y = task.y[rows]
    texts = zip(task.query_names[chosen].tolist(), task.query_texts[chosen])
    data = SeeAlsoData(
        X=task.X[rows],
        y=y,
        groups=np.repeat(task.query_names[chosen], np.diff(ptr)),
        _feature_names=np.array(task.feature_names, dtype=object),
        _docids=task.document_names[task.document_of[rows]],
        query_texts=dict(texts),
        DESCR=_describe(task, packages, n_candidates, chosen, y),
    )
    return data.to_frame() if as_frame else data


def _choose_queries(
    n_available: int, n_queries: int | None, random_state: Seed
) -> np.ndarray:
    """Return the numbers of the chosen queries, ascending."""
    if n_queries is None:
        return np.arange(n_available)
    if n_queries > n_available:
        raise ValueError(
            f"n_queries={n_queries} is more than the {n_available} queries that the "
            "packages yield"
        )
    rng = check_random_state(random_state)
    return np.sort(rng.permutation(n_available)[:n_queries])


def _describe(
    task: _Task,
    packages: tuple[str, ...],
    n_candidates: int,
    chosen: np.ndarray,
    y: np.ndarray,
) -> str:
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


def _versions(packages: Sequence[str]) -> tuple[tuple[str, str], ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(
            (name, getattr(imported(name), "__version__", "unknown"))
            for name in packages
        )


def _cached_task(
    packages: tuple[str, ...], n_candidates: int, data_home: str | PathLike | None
) -> _Task:
    if data_home is None:
        return _task_in_memory(packages, n_candidates)
    memory: Any = joblib.Memory(data_home, verbose=0)
    return memory.cache(_build_task)(_versions(packages), n_candidates)


@lru_cache(maxsize=2)
def _task_in_memory(packages: tuple[str, ...], n_candidates: int) -> _Task:
    return _build_task(_versions(packages), n_candidates)


def _build_task(versions: tuple[tuple[str, str], ...], n_candidates: int) -> _Task:
    """Collect, judge and index the documents, then search and compute features.

    The versions of the packages are not used but are part of the key of the cache.
    """
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


def _fields(documents: list[Documented]) -> dict[str, list[str]]:
    """Return the fields to search, without summaries and "See Also" sections."""
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


def without_output(examples: str) -> str:
    """Remove the output of the code from the text of examples.

    Some of SciPy's examples are put together at import with newly drawn numbers, on
    which the data set must not depend.

    Parameters
    ----------
    examples : str
        Text of a section "Examples".

    Returns
    -------
    str
        Text without the lines between a line of code and the next line of code or the
        next empty line.
    """
    kept, printing = [], False
    for line in examples.splitlines():
        code = line.lstrip().startswith((">>>", "..."))
        if code or not line.strip() or not printing:
            kept.append(line)
            printing = code
    return "\n".join(kept)


def _search(
    index: InvertedIndex, texts: list[str], n_candidates: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of queries and documents that BM25 finds, in ascending order."""
    found, scores = BM25().fit(index).retrieve(texts, n_candidates)
    query_of = np.repeat(np.arange(len(texts)), found.shape[1])
    matched = scores.ravel() > 0
    query_of, document_of = query_of[matched], found.ravel()[matched]
    # Documents are sorted by name, so that the order of the rows tells nothing about
    # their relevance.
    order = np.lexsort((document_of, query_of))
    return query_of[order], document_of[order]


def _judge(documents: list[Documented]) -> dict[str, dict[int, int]]:
    """Grade documents for each query text by the "See Also" sections.

    Objects that share a first sentence share a query and all have grade 3. Queries come
    in the order of the name of their first object.
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


def _owners(grades: dict[int, int]) -> list[int]:
    """Return the documents whose own sentence is the query."""
    return [number for number, grade in grades.items() if grade == _SAME]


def _resolve_links(documents: list[Documented]) -> list[set[int]]:
    """Return the documents that the "See Also" section of each document lists."""
    number_of: dict[str, int] = {}
    for number, document in enumerate(documents):
        for alias in document.aliases:
            number_of.setdefault(alias, number)
    links = []
    for number, document in enumerate(documents):
        targets = (_resolve(name, document, number_of) for name in document.see_also)
        links.append({t for t in targets if t is not None and t != number})
    return links


def _resolve(name: str, document: Documented, number_of: dict[str, int]) -> int | None:
    """Return the number of the document that a name means in another document.

    A name is looked up as it stands, then in the modules of the other document, from
    the innermost outwards. Names that are not in the collection, such as methods, give
    None.
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
