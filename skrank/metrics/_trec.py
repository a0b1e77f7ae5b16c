"""Evaluate runs against judgements with trec_eval's measures, names and output."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank.metrics import _trec_topic as of_topic
from skrank.metrics._trec_topic import NOT_IN_POOL, UNJUDGED, Topic

_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = tuple(i / 10 for i in range(11))
_MULTIPLES = tuple(i / 5 for i in range(1, 11))
_SMALLEST_GEOMETRIC = 1e-5


@dataclass(frozen=True)
class _Family:
    """A measure of trec_eval with its parameters.

    ``kind`` tells how parameters are read and printed: one measure per rank cut-off
    ("cuts") or per number ("levels"); or a single measure with one number ("number"), a
    list of numbers ("numbers"), grade=gain pairs ("pairs"), or nothing ("none").
    """

    function: Any
    kind: str = "none"
    default: Any = None
    summary: str = "mean"


_FAMILIES: dict[str, _Family] = {
    "runid": _Family(None, summary="runid"),
    "num_q": _Family(None, summary="count"),
    "num_ret": _Family(of_topic.num_retrieved, summary="sum"),
    "num_rel": _Family(of_topic.num_relevant, summary="sum"),
    "num_rel_ret": _Family(of_topic.num_relevant_retrieved, summary="sum"),
    "map": _Family(of_topic.average_precision),
    "gm_map": _Family(of_topic.average_precision, summary="geometric"),
    "Rprec": _Family(of_topic.r_precision, default=1.0),
    "bpref": _Family(of_topic.bpref),
    "recip_rank": _Family(of_topic.reciprocal_rank),
    "iprec_at_recall": _Family(of_topic.interpolated_precision, "levels", _RECALLS),
    "P": _Family(of_topic.precision, "cuts", _CUTS),
    "relstring": _Family(of_topic.relevance_string, "number", 10, summary="none"),
    "recall": _Family(of_topic.recall, "cuts", _CUTS),
    "infAP": _Family(of_topic.inferred_ap),
    "gm_bpref": _Family(of_topic.bpref, summary="geometric"),
    "Rprec_mult": _Family(of_topic.r_precision, "levels", _MULTIPLES),
    "utility": _Family(of_topic.utility, "numbers", (1.0, -1.0, 0.0, 0.0)),
    "11pt_avg": _Family(of_topic.mean_interpolated_precision, "numbers", _RECALLS),
    "binG": _Family(of_topic.binary_g),
    "G": _Family(of_topic.graded_g, "pairs", {}),
    "ndcg": _Family(of_topic.ndcg, "pairs", {}),
    "ndcg_rel": _Family(of_topic.ndcg_rel, "pairs", {}),
    "Rndcg": _Family(of_topic.r_ndcg, "pairs", {}),
    "ndcg_cut": _Family(of_topic.ndcg_cut, "cuts", _CUTS),
    "map_cut": _Family(of_topic.average_precision, "cuts", _CUTS),
    "relative_P": _Family(of_topic.relative_precision, "cuts", _CUTS),
    "success": _Family(of_topic.success, "cuts", (1, 5, 10)),
    "set_P": _Family(of_topic.set_precision),
    "set_relative_P": _Family(of_topic.set_relative_precision),
    "set_recall": _Family(of_topic.set_recall),
    "set_map": _Family(of_topic.set_map),
    "set_F": _Family(of_topic.set_f, "number", 1.0),
    "num_nonrel_judged_ret": _Family(of_topic.num_nonrelevant_judged, summary="sum"),
    "rbp": _Family(of_topic.rbp, "number", 0.9),
    "rbp_resid": _Family(of_topic.rbp_residual),
    "unj": _Family(of_topic.unjudged_share, "cuts", (5, 10, 20)),
}

_OFFICIAL = tuple(_FAMILIES)[: tuple(_FAMILIES).index("P") + 1]
_NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "all_trec": tuple(_FAMILIES),
    "set": (
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_relative_P",
        "set_recall",
        "set_map",
        "set_F",
    ),
}


@dataclass(frozen=True)
class _Column:
    """One line of trec_eval's output: a family with one parameter."""

    name: str
    family: _Family
    parameter: Any

    def of(self, topic):
        return self.family.function(topic, self.parameter)


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

    Examples
    --------
    >>> from skrank.metrics import trec_measures
    >>> run, qrels = {"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}}
    >>> trec_measures(run, qrels, ["num_ret", "recip_rank"]).summary
    {'num_ret': 2, 'recip_rank': 0.5}
    """

    topics: list
    per_query: dict[str, np.ndarray]
    summary: dict[str, Any] = field(default_factory=dict)

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
        if per_query:
            for number, topic in enumerate(self.topics):
                for name, values in self.per_query.items():
                    if not name.startswith("gm_"):
                        yield _line(name, topic, values[number])
        for name, value in self.summary.items():
            yield _line(name, "all", value)


def _line(name, topic, value):
    text = f"{value:.4f}" if isinstance(value, (float, np.floating)) else str(value)
    return f"{name:<22}\t{topic}\t{text}"


def _as_dicts(table, what):
    """{query: {document: value}} from a mapping or from three arrays."""
    if isinstance(table, Mapping):
        return {qid: dict(documents) for qid, documents in table.items()}
    try:
        qids, docids, values = (np.asarray(column) for column in table)
    except (TypeError, ValueError):
        raise TypeError(
            f"{what} must be a mapping {{query: {{document: value}}}} or three arrays "
            "(query ids, document ids, values)"
        ) from None
    if not len(qids) == len(docids) == len(values):
        raise ValueError(
            f"{what}: the three arrays must be of equal length, got {len(qids)}, "
            f"{len(docids)} and {len(values)}"
        )
    result: dict = {}
    for qid, docid, value in zip(qids.tolist(), docids.tolist(), values.tolist()):
        documents = result.setdefault(qid, {})
        if docid in documents:
            raise ValueError(f"{what} holds document {docid!r} twice for query {qid!r}")
        documents[docid] = value
    return result


def _ranked_documents(scores, qid):
    """Documents by decreasing score, equal scores by decreasing id."""
    ranking = sorted(zip(scores.values(), scores.keys()), reverse=True)
    if any(score != score for score, _ in ranking):
        raise ValueError(f"run holds a NaN score for query {qid!r}")
    return [docid for _, docid in ranking]


def _topic(scores, judged, qid, options):
    documents = _ranked_documents(scores, qid)[: options["max_results"]]
    grades = [judged.get(docid) for docid in documents]
    ranked = np.array(
        [NOT_IN_POOL if g is None else UNJUDGED if g < 0 else g for g in grades],
        dtype=np.float64,
    )
    if options["judged_only"]:
        ranked = ranked[ranked >= 0]
    all_grades = np.array(list(judged.values()), dtype=np.float64)
    return Topic(
        ranked,
        all_grades[all_grades >= 0],
        options["relevance_level"],
        options["n_collection"],
    )


def _parameter_error(spec, expected):
    return ValueError(f"parameters of measure {spec!r} must be {expected}")


def _parse_parameters(family, text, spec):
    """Parameters of a family from the text after its name."""
    items = [item for item in text.split(",") if item]
    try:
        if family.kind == "cuts":
            cuts = sorted(int(float(item)) for item in items)
            if not cuts or cuts[0] < 1:
                raise _parameter_error(spec, "positive cut-offs")
            return cuts
        if family.kind == "levels":
            return sorted(float(item) for item in items)
        if family.kind == "numbers":
            return tuple(float(item) for item in items)
        if family.kind == "number":
            return _number(items[0].removeprefix("p="))
        if family.kind == "pairs":
            pairs = (item.split("=") for item in items)
            return {float(grade): float(gain) for grade, gain in pairs}
    except ValueError as error:
        raise _parameter_error(spec, f"of the form trec_eval takes ({error})") from None
    raise ValueError(f"measure {spec!r} takes no parameters")


def _number(text):
    return int(text) if re.fullmatch(r"\d+", text) else float(text)


def _split(spec):
    """Family name and parameter text of "P.5,10", "P_5" or "map"."""
    if spec in _FAMILIES:
        return spec, None
    candidates = [
        name for name in _FAMILIES if re.match(re.escape(name) + r"[._]", spec)
    ]
    if not candidates:
        raise ValueError(
            f"unknown trec_eval measure {spec!r}; known are {', '.join(_FAMILIES)} and "
            f"the groups {', '.join(_NICKNAMES)}"
        )
    name = max(candidates, key=len)
    return name, spec[len(name) + 1 :]


def _columns_of(spec):
    name, text = _split(spec)
    family = _FAMILIES[name]
    if text is None:
        parameters = family.default
    else:
        parameters = _parse_parameters(family, text, spec)
    if family.kind == "cuts":
        return [_Column(f"{name}_{k}", family, k) for k in parameters]
    if family.kind == "levels":
        return [_Column(f"{name}_{x:.2f}", family, x) for x in parameters]
    if family.function is of_topic.utility and len(parameters) != 4:
        raise _parameter_error(spec, "four numbers")
    printed = name if text is None else f"{name}_{text}"
    return [_Column(printed, family, parameters)]


def _columns(measures):
    """Columns in trec_eval's order, each once."""
    specs = [measures] if isinstance(measures, str) else list(measures)
    named = {_split(spec)[0] for spec in specs if spec not in _NICKNAMES}
    in_groups = (name for spec in specs for name in _NICKNAMES.get(spec, ()))
    # A measure named by itself replaces the default parameters it has in a group.
    specs = [spec for spec in specs if spec not in _NICKNAMES]
    specs += [name for name in in_groups if name not in named]
    order = {name: i for i, name in enumerate(_FAMILIES)}
    specs.sort(key=lambda spec: order[_split(spec)[0]])
    return list({c.name: c for spec in specs for c in _columns_of(spec)}.values())


def _summary(column, values, run_id):
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
        return sorted(topics, key=str)


def trec_measures(
    run: Mapping | Sequence,
    qrels: Mapping | Sequence,
    measures: str | Sequence[str] = "official",
    *,
    relevance_level: float = 1,
    max_results: int | None = None,
    complete: bool = False,
    judged_only: bool = False,
    n_collection: int = 0,
    run_id: str = "skrank",
) -> TrecResult:
    """Evaluate a run the way trec_eval does.

    Documents of equal score are ranked by decreasing document id, relevant documents
    that were not retrieved count, and values agree with trec_eval in all four decimals.

    Parameters
    ----------
    run : mapping {query: {document: score}} or three arrays
        The retrieved documents; the arrays hold query ids, document ids and scores.
    qrels : mapping {query: {document: grade}} or three arrays
        The judgements. A negative grade means "in the pool, not judged".
    measures : str or list of str, default="official"
        trec_eval's names with its parameters, such as ``"map"``, ``"P.5,10"``,
        ``"ndcg_cut_10"``, ``"ndcg.1=3,2=9"``, or the groups "official", "set" and
        "all_trec".
    relevance_level : float, default=1
        Grade from which a document is relevant (``-l``).
    max_results : int, default=None
        Documents per query that are looked at (``-M``).
    complete : bool, default=False
        Whether judged queries that the run does not contain count as 0 (``-c``).
    judged_only : bool, default=False
        Whether documents without judgement are taken out of the ranking (``-J``).
    n_collection : int, default=0
        Documents in the collection, for ``utility`` only (``-N``).
    run_id : str, default="skrank"
        Printed as ``runid``.

    Returns
    -------
    TrecResult
        Values per query, their summary, and trec_eval's lines.

    Raises
    ------
    ValueError
        If a measure is unknown, a document occurs twice, a score is NaN or run and
        judgements have no query in common.

    Examples
    --------
    >>> from skrank.metrics import trec_measures
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> qrels = {"q1": {"d1": 1, "d3": 1, "d4": 1}}
    >>> for line in trec_measures(run, qrels, ["map", "P.2"]).lines():
    ...     print(" ".join(line.split()))
    map all 0.5556
    P_2 all 0.5000
    """
    scores, judgements = _as_dicts(run, "run"), _as_dicts(qrels, "qrels")
    columns = _columns(measures)
    wanted = judgements if complete else judgements.keys() & scores.keys()
    if not wanted:
        raise ValueError("run and qrels have no query in common")
    options = {
        "relevance_level": relevance_level,
        "max_results": max_results,
        "judged_only": judged_only,
        "n_collection": n_collection,
    }
    ids = _sorted_topics(wanted)
    topics = [_topic(scores.get(q, {}), judgements[q], q, options) for q in ids]
    per_query: dict[str, np.ndarray] = {}
    summary: dict[str, Any] = {}
    for column in columns:
        values: Any = topics
        if column.family.function is not None:
            values = np.array([column.of(topic) for topic in topics])
            per_query[column.name] = values
        if column.family.summary != "none":
            summary[column.name] = _summary(column, values, run_id)
    return TrecResult(ids, per_query, summary)
