"""Evaluate runs against judgements with trec_eval's measures, names and output."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._id_arrays import id_list, id_text, in_order, with_common_keys
from skrank._core._messages import shown
from skrank._core._parameters import NonNegativeInt, PositiveInt
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_no_missing_id,
    check_options,
)
from skrank.datasets._judged_run import refuse_other_types, sample_of_ids
from skrank.datasets._run_likes import (
    QrelsLike,
    RunLike,
    in_their_places,
    kind_of,
    refuse_swapped_numbers,
    table_of,
)
from skrank.metrics._trec_names import FORMATS, Column, Format, Summary, columns
from skrank.metrics._trec_preferences import PreferenceTopic
from skrank.metrics._trec_topic import NOT_IN_POOL, UNJUDGED, Topic

# trec_eval takes geometric means of values no smaller than this.
_SMALLEST_GEOMETRIC = 1e-5
# What trec_eval reports where there is no mean and deviation to compare with.
_MISSING_ZSCORE = -1e6
_LARGEST_GRADE = 1e100


@dataclass(frozen=True, eq=False)
class TrecResult:
    """What trec_eval reports about a run.

    Parameters
    ----------
    topics : list
        Ids of the evaluated queries, in ascending order.
    per_query : dict of str to ndarray of shape (n_topics,)
        Values of each measure, by trec_eval's name, in trec_eval's order.
    summary : dict of str to float, int or str
        The "all" lines: means, sums for counts, geometric means for ``gm_*``.
    summarised_by : dict of str to str
        How each measure is summarised: "mean", "sum", "geometric", "count", "runid" or
        "none".

    Examples
    --------
    >>> from skrank.metrics import trec_measures
    >>> qrels, run = {"q1": {"d2": 1}}, {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> trec_measures(qrels, run, ["num_ret", "recip_rank"]).summary
    {'num_ret': 2, 'recip_rank': 0.5}
    """

    topics: list
    per_query: dict[str, np.ndarray]
    summary: dict[str, Any] = field(default_factory=dict)
    summarised_by: dict[str, Summary] = field(default_factory=dict)

    def lines(self, per_query: bool = False) -> Iterator[str]:
        """Yield trec_eval's output, line by line without line ends.

        Parameters
        ----------
        per_query : bool, default=False
            Whether the lines of single queries come first, as with trec_eval's ``-q``.

        Yields
        ------
        str
            Name, query id or "all", and value with four decimals.
        """
        check_arguments(TrecResult.lines, per_query=per_query)
        if per_query:
            for number, topic in enumerate(self.topics):
                for name, values in self.per_query.items():
                    if self.summarised_by.get(name) != "geometric":
                        yield trec_line(name, topic, values[number])
        for name, value in self.summary.items():
            yield trec_line(name, "all", value)

    def standardized(
        self, reference: Mapping[Any, Mapping[str, tuple[float, float]]]
    ) -> "TrecResult":
        """Express values in standard deviations from the mean of other runs.

        Parameters
        ----------
        reference : mapping {topic: {measure: (mean, standard deviation)}}
            Statistics of the reference runs, by trec_eval's names of measures.

        Returns
        -------
        TrecResult
            What trec_eval reports with ``-Z``: the names begin with "Z", and the value
            is −1,000,000 where the reference has no entry, or a deviation of 0 around
            another value.

        Raises
        ------
        TypeError
            If the reference is no such mapping.
        ValueError
            If a mean or a deviation is not finite, a deviation is negative, or one is
            so small that a value is not finite.
        """
        if not isinstance(reference, Mapping) or not all(
            isinstance(entries, Mapping) for entries in reference.values()
        ):
            raise TypeError(
                "reference must be a mapping {topic: {measure: (mean, standard "
                f"deviation)}}}}, got {shown(reference)}"
            )
        result = TrecResult(self.topics, {})
        for name, kind in self.summarised_by.items():
            is_text = kind in ("runid", "none")
            label = name if is_text else f"Z{name}"
            result.summarised_by[label] = kind
            if name not in self.per_query:  # runid and num_q
                total = self.summary[name]
                result.summary[label] = total if is_text else float(total)
            elif is_text:
                result.per_query[label] = self.per_query[name]
            else:
                values = self._standardized_values(name, kind, reference)
                result.per_query[label] = values
                result.summary[label] = _TOTALS[kind](values)
        return result

    def _standardized_values(self, name, kind, reference):
        values = np.asarray(self.per_query[name], dtype=np.float64)
        if kind == "geometric":  # the reference is that of logarithms
            values = np.log(np.maximum(values, _SMALLEST_GEOMETRIC))
        entries = [reference.get(topic, {}).get(name) for topic in self.topics]
        triples = zip(self.topics, values, entries)
        return np.array([_zscore(v, entry, name, topic) for topic, v, entry in triples])


_TOTALS = {
    "mean": lambda values: float(np.mean(values)),
    "sum": lambda values: float(np.sum(values)),
    "geometric": lambda values: float(np.exp(np.mean(values))),
}


def _zscore(value, entry, name, topic):
    if entry is None:
        return _MISSING_ZSCORE
    try:
        pair = as_numbers(entry, "reference")
    except (TypeError, ValueError):
        pair = np.zeros(0)
    mean, deviation = pair if pair.shape == (2,) else (np.nan, np.nan)
    with quiet():
        scaled = (value - mean) / deviation if deviation else 0.0
    if not (np.isfinite([mean, deviation, scaled]).all() and deviation >= 0):
        raise ValueError(
            "reference must hold pairs of a finite mean and a deviation >= 0 by which "
            f"values can be divided, got {shown(entry)} for {name} of topic "
            f"{shown(topic)}"
        )
    return scaled if deviation or value == mean else _MISSING_ZSCORE


def trec_line(name: str, topic: Any, value: Any) -> str:
    """Return a line of trec_eval's output: name, query id or "all", and value."""
    text = f"{value:.4f}" if isinstance(value, (float, np.floating)) else str(value)
    # The "Z" of standardized measures stands before the padded name.
    width = 23 if name.startswith("Z") else 22
    return f"{name:<{width}}\t{topic}\t{text}"


# Input ------------------------------------------------------------------------------

_LAYOUTS = {
    "run": ("query", "document", "score"),
    "qrels": ("query", "document", "grade"),
    "qrels_jg": ("query", "group", "document", "grade"),
    "qrels_prefs": ("query", "group", "document", "grade"),
    "prefs": ("query", "group", "subgroup", "document", "level"),
}
_WORDS = {3: "three", 4: "four", 5: "five"}


def _is_arrays(table):
    """Whether this is one array per field rather than rows of records."""
    if isinstance(table, np.ndarray):
        return table.ndim > 0
    if isinstance(table, (str, bytes)) or not isinstance(table, Sequence):
        return False
    return not any(hasattr(column, "_fields") for column in table)


def _as_dicts(table, what, layout):
    """Nested dictionaries from nested mappings or from one array per field."""
    names = _LAYOUTS[layout]
    if isinstance(table, Mapping):
        _check_nesting(table, what, names, names)
        return table
    if len(names) == 3 and not _is_arrays(table):
        return table_of(what, table, "trec_measures").to_dict()
    try:
        *ids, numbers = table
        arrays = [*(as_ids(column, what) for column in ids), np.asarray(numbers)]
    except (TypeError, ValueError):
        arrays = []
    if len(arrays) != len(names) or any(column.ndim != 1 for column in arrays):
        nested = _nested(names)
        fields = ", ".join("queries" if n == "query" else f"{n}s" for n in names)
        raise TypeError(
            f"{what} must be a mapping {nested} or {_WORDS[len(names)]} arrays "
            f"({fields}), got {shown(table)}"
        )
    lengths = [str(len(column)) for column in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"{what}: the {_WORDS[len(names)]} arrays must be of equal length, got "
            f"{', '.join(lengths[:-1])} and {lengths[-1]}"
        )
    for column, name in zip(arrays[:-1], names):
        check_no_missing_id(column, f"{what} ({name})", "id")
    arrays[-1] = _checked_numbers(arrays[-1], what, names[-1])
    result: dict = {}
    parts = *map(id_list, arrays[:-1]), arrays[-1].tolist()
    for *keys, document, value in zip(*parts):
        documents = result
        for key in keys:
            documents = documents.setdefault(key, {})
        if document in documents:
            raise ValueError(
                f"{what} holds document {shown(document)} twice for query "
                f"{shown(keys[0])}"
            )
        documents[document] = value
    return result


def _all_numbers(table):
    """Grades or scores of all queries; none if some are no numbers."""
    numbers = [number for documents in table.values() for number in documents.values()]
    try:
        return as_numbers(numbers, "numbers")
    except ValueError:
        return np.empty(0)


def _nested(names):
    """Name what nested mappings hold, such as ``{query: {document: grade}}``."""
    text = names[-1]
    for name in reversed(names[:-1]):
        text = f"{{{name}: {text}}}"
    return text


def _check_nesting(table, what, names, left):
    """Refuse anything but mappings above the documents; ``left`` are lower names."""
    for key, inner in table.items():
        if not isinstance(inner, Mapping):
            raise TypeError(
                f"{what} must be a mapping {_nested(names)}; {left[0]} {shown(key)} "
                f"has {shown(inner)} instead of {_nested(left[1:])}"
            )
        if len(left) > 3:
            _check_nesting(inner, what, names, left[1:])


def _checked_numbers(values, what, name, where=""):
    """Numbers, none of them missing."""
    numbers = as_numbers(values, what, f"numeric {name}s")
    if numbers.ndim != 1:  # lists of one length, for instance
        raise ValueError(
            f"{what} must hold one {name} for each document, got {shown(values)}{where}"
        )
    if np.isnan(numbers).any():
        raise ValueError(f"{what} holds a NaN {name}{where}")
    if name != "score" and np.abs(numbers).max(initial=0.0) > _LARGEST_GRADE:
        raise ValueError(
            f"{what} holds a {name} beyond {_LARGEST_GRADE:g}, whose sums would "
            f"overflow{where}"
        )
    return numbers


def _numbers_of(documents, what, name, qid):
    """Numbers of the documents of a query in their order."""
    return _checked_numbers(
        list(documents.values()), what, name, f" for query {shown(qid)}"
    )


def _ranked_documents(scores, qid, *, last_id_first=True):
    """Documents by decreasing score; equal scores by decreasing or increasing id."""
    # trec_eval keeps scores in single precision: what it cannot tell apart is a tie.
    with quiet():
        single = _numbers_of(scores, "run", "score", qid).astype(np.float32)
    # Ids that are no text are compared as the text that files would hold.
    documents = list(scores)
    texts = [id_text(document) for document in documents]
    numbers = (single if last_id_first else -single).tolist()
    keys = list(zip(numbers, texts))
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=last_id_first)
    return [documents[i] for i in order]


@dataclass(frozen=True)
class _Options:
    """What trec_eval's options say about topics."""

    relevance_level: float
    max_results: int | None
    judged_only: bool
    n_collection: int

    def qrels(self, scores, judged, qid):
        """Topic of one set of judgements."""
        documents = _ranked_documents(scores, qid)[: self.max_results]
        return self._judged(documents, judged, qid)

    def groups(self, scores, judged, qid):
        """Topics of several groups of judgements."""
        documents = _ranked_documents(scores, qid)[: self.max_results]
        return [self._judged(documents, judged[each], qid) for each in in_order(judged)]

    def preferences(self, scores, judged, qid):
        """Topic of judged preferences."""
        # Among equal scores, trec_eval ranks the first id first here, and only here.
        documents = _ranked_documents(scores, qid, last_id_first=False)
        for subgroups in judged.values():
            for levels in subgroups.values():
                _numbers_of(levels, "qrels", "level", qid)
        return PreferenceTopic(documents[: self.max_results], judged)

    def _judged(self, documents, judged, qid):
        grades = _numbers_of(judged, "qrels", "grade", qid)
        ranked = np.array(
            [_known(judged.get(document)) for document in documents], dtype=np.float64
        )
        if self.judged_only:
            ranked = ranked[ranked >= 0]
        return Topic(
            ranked, grades[grades >= 0], self.relevance_level, self.n_collection
        )


def _known(grade):
    if grade is None:
        return NOT_IN_POOL
    return UNJUDGED if grade < 0 else grade


def _summary(column: Column, values, run_id):
    how = column.family.summary
    if how == "runid":
        return run_id
    if how == "count":
        return len(values)
    if how == "sum":
        return int(np.sum(values))
    if how == "geometric":
        return float(np.exp(np.mean(np.log(np.maximum(values, _SMALLEST_GEOMETRIC)))))
    return float(np.mean(values))


def _sorted_topics(topics):
    try:
        return sorted(topics)
    except TypeError:  # ids that do not compare, such as 1 and "a"
        return sorted(topics, key=id_text)


def _evaluated_topics(scores, judgements, complete):
    common = judgements.keys() & scores.keys()
    if not common:
        raise ValueError(
            "run and qrels have no query in common: the run has "
            f"{sample_of_ids(scores, 'queries')}, the qrels have "
            f"{sample_of_ids(judgements, 'queries')}"
        )
    return _sorted_topics(judgements if complete else common)


def _refuse_unmatched(scores, judgements):
    """Raise an error if types of ids keep all documents from being judged."""
    common = judgements.keys() & scores.keys()
    if all(scores[q].keys().isdisjoint(_documents(judgements[q])) for q in common):
        refuse_other_types(
            {d for q in common for d in scores[q]},
            {d for q in common for d in _documents(judgements[q])},
        )


def _documents(judged: Mapping) -> Iterator[Any]:
    """Yield the documents of judgements, which may be in groups and subgroups."""
    for document, inner in judged.items():
        if isinstance(inner, Mapping):
            yield from _documents(inner)
        else:
            yield document


def trec_measures(
    qrels: QrelsLike,
    run: RunLike,
    measures: str | Sequence[str] = "official",
    *,
    judgement_format: Format = "qrels",
    relevance_level: float = 1,
    max_results: PositiveInt | None = None,
    complete: bool = False,
    judged_only: bool = False,
    n_collection: NonNegativeInt = 0,
    run_id: str = "skrank",
) -> TrecResult:
    """Evaluate a run the way trec_eval does.

    Documents of equal score, compared in single precision, are ranked by decreasing
    document id; relevant documents that were not retrieved count; and values agree with
    trec_eval in all four decimals.

    Parameters
    ----------
    qrels : Qrels, mapping {query: {document: grade}}, data frame, path or other table
        The judgements, in any form that `evaluate` takes. A negative grade means "in
        the pool, not judged". For other formats, mappings with further levels, or
        further arrays, between query and document.
    run : Run, mapping {query: {document: score}}, data frame, path or other table
        The retrieved documents, likewise.
    measures : str or list of str, default="official"
        trec_eval's names with its parameters, such as ``"map"``, ``"P.5,10"``,
        ``"ndcg_cut_10"``, ``"ndcg.1=3,2=9"``, or the groups "official", "set",
        "all_trec", "prefs", "all_prefs" and "qrels_jg". "official" and "all" are
        understood for every format.
    judgement_format : {"qrels", "qrels_jg", "prefs", "qrels_prefs"}, default="qrels"
        Format of the judgements (``-R``): grades; grades of several groups of judges,
        {query: {group: {document: grade}}}; preferences within groups and subgroups,
        {query: {group: {subgroup: {document: level}}}}; or groups of grades, taken as
        preferences.
    relevance_level : float, default=1
        Grade from which a document is relevant (``-l``).
    max_results : int, default=None
        Number of documents per query that are looked at (``-M``).
    complete : bool, default=False
        Whether judged queries that the run does not contain count as 0 (``-c``).
    judged_only : bool, default=False
        Whether documents without judgement are taken out of the ranking (``-J``).
    n_collection : int, default=0
        Number of documents in the collection, for ``utility`` only (``-N``).
    run_id : str, default="skrank"
        Name of the run, printed as ``runid``.

    Returns
    -------
    TrecResult
        Values per query, their summary, and trec_eval's lines.

    Raises
    ------
    ValueError
        If a measure is unknown or needs another format of judgements, a document occurs
        twice, a score is NaN, preferences contradict each other, or run and judgements
        have no query in common or ids of documents of different types.
    TypeError
        If run or judgements are of another form, or in each other's place.

    Notes
    -----
    Complexity O(n log n) for n retrieved documents; preferences take O(m²) memory for m
    judged documents of a query.

    Examples
    --------
    >>> from skrank.metrics import trec_measures
    >>> qrels = {"q1": {"d1": 1, "d3": 1, "d4": 1}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> for line in trec_measures(qrels, run, ["map", "P.2"]).lines():
    ...     print(" ".join(line.split()))
    map all 0.5556
    P_2 all 0.5000
    """
    check_options(trec_measures, locals())
    check_arguments(trec_measures, measures=measures)
    form = FORMATS[judgement_format]
    wanted = columns(measures, form)
    qrels, run = in_their_places(qrels, run, "trec_measures")
    scores = _as_dicts(run, "run", "run")
    judgements = _as_dicts(qrels, "qrels", judgement_format)
    if judgement_format == "qrels" and kind_of(qrels) is kind_of(run) is None:
        refuse_swapped_numbers(
            _all_numbers(judgements), _all_numbers(scores), "trec_measures"
        )
    levels = {"qrels": _LAYOUTS[judgement_format][:-1], "run": _LAYOUTS["run"][:-1]}
    tables = {"qrels": judgements, "run": scores}
    judgements, scores = with_common_keys(tables, levels)
    if judgement_format == "qrels_prefs":  # every group is one subgroup
        judgements = {
            query: {group: {"0": levels} for group, levels in groups.items()}
            for query, groups in judgements.items()
        }
    ids = _evaluated_topics(scores, judgements, complete)
    _refuse_unmatched(scores, judgements)
    options = _Options(relevance_level, max_results, judged_only, int(n_collection))
    make_topic = getattr(options, form)
    topics = [make_topic(scores.get(q, {}), judgements[q], q) for q in ids]
    result = TrecResult(ids, {})
    for column in wanted:
        values: Any = topics
        result.summarised_by[column.name] = column.family.summary
        if column.family.function is not None:
            values = np.array([column.of(topic) for topic in topics])
            result.per_query[column.name] = values
        if column.family.summary != "none":
            result.summary[column.name] = _summary(column, values, run_id)
    return result
