"""trec_eval's measures of a judged run, by trec_eval's names and in its layout.

Measures that `skrank.metrics` has are computed there under the preset "trec_eval"; the
others, counts and variants that only trec_eval names, are defined here, query by query.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from skrank.cli._errors import CommandError
from skrank.metrics import get_measure

_LEAST = 1e-5  # what a geometric mean takes for 0
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = tuple(i / 10 for i in range(11))


class Judged:
    """A judged run as the functions below see it.

    Parameters
    ----------
    run : JudgedRun
        Retrieved documents in trec_eval's order, and judged ones not retrieved.
    level : float, default=1
        Lowest relevant grade.

    Attributes
    ----------
    relevant : list of ndarray
        For each query, whether each retrieved document is relevant, best first.
    judged : list of ndarray
        For each query, whether each retrieved document was judged.
    n_relevant, n_nonrelevant : ndarray of shape (n_queries,)
        Judged documents, retrieved or not.
    """

    def __init__(self, run, level=1):
        self.run = run
        self.level = level
        cuts = run.ptr[1:-1]
        self.relevant = np.split(run.y >= level, cuts)
        self.judged = np.split(run.judged, cuts)
        self.n_relevant = run.n_relevant(level)
        n_judged = np.array([judged.sum() for judged in self.judged])
        self.n_nonrelevant = n_judged + np.diff(run.missing_ptr) - self.n_relevant

    @property
    def queries(self):
        """Ids of the evaluated queries."""
        return self.run.queries

    def each(self, function: Callable[..., float]) -> np.ndarray:
        """Apply a function of (relevant, n_relevant) to every query."""
        return np.array([function(*q) for q in zip(self.relevant, self.n_relevant)])

    def measured(self, name: str) -> np.ndarray:
        """Values of a measure of `skrank.metrics`, 0 for queries without documents."""
        y, _, groups, retrieved = self.run.with_missing()
        known, sizes = np.unique(groups, return_counts=True)
        ptr = np.concatenate(([0], np.cumsum(sizes)))
        measure = get_measure(name, "trec_eval")
        options = {"ties": "stable"}  # the rows are in order
        if "relevance_level" in measure.get_params():
            options["relevance_level"] = self.level
        values = np.zeros(len(self.queries))
        values[np.searchsorted(self.queries, known)] = measure.set_params(
            **options
        ).per_query(y, -np.arange(len(y)), ptr, retrieved=retrieved)
        return values


@dataclass(frozen=True)
class Family:
    """A measure of trec_eval, with its parameters if it has any.

    Attributes
    ----------
    values : callable
        ``values(judged, parameter)`` or ``values(judged)``, shape (n_queries,).
    cutoffs : tuple
        Default parameters; empty if there are none.
    summary : {"mean", "sum", "geometric"}
        How the values of queries are summed up.
    official : bool
        Whether trec_eval prints it by default.
    text : str
        How a parameter is written in the name of a line.
    """

    values: Callable[..., np.ndarray]
    cutoffs: tuple = ()
    summary: str = "mean"
    official: bool = False
    text: str = "{}"

    def parameter(self, text):
        """Parse a parameter."""
        return int(text) if self.text == "{}" else float(text)

    def total(self, values):
        """Sum up the values of all queries."""
        if self.summary == "geometric":
            return float(np.exp(np.mean(np.log(np.maximum(values, _LEAST)))))
        return values.sum() if self.summary == "sum" else float(values.mean())


def _measured(name):
    return lambda judged: judged.measured(name)


def _measured_at(name):
    return lambda judged, k: judged.measured(f"{name}@{k}")


def _num_rel_ret(judged):
    return judged.each(lambda relevant, total: int(relevant.sum()))


def _num_nonrel_judged_ret(judged):
    pairs = zip(judged.relevant, judged.judged)
    return np.array([int((known & ~relevant).sum()) for relevant, known in pairs])


def _bpref(judged):
    """Judged documents only: how many non-relevant ones stand above relevant ones."""

    def value(relevant, known, n_relevant, n_nonrelevant):
        if not n_relevant:
            return 0.0
        wrong = np.cumsum(known & ~relevant)[relevant]
        bound = max(min(n_relevant, n_nonrelevant), 1)
        return float(np.sum(1 - np.minimum(wrong, bound) / bound)) / n_relevant

    parts = (judged.relevant, judged.judged, judged.n_relevant, judged.n_nonrelevant)
    return np.array([value(*query) for query in zip(*parts)])


def _interpolated(relevant, total, recall):
    """Highest precision at any rank with at least this recall."""
    needed = int(recall * total + 0.5)
    hits = np.cumsum(relevant)
    if not len(hits) or needed > hits[-1]:
        return 0.0
    precision = hits / np.arange(1, len(hits) + 1)
    return float(precision[hits >= needed].max())


def _iprec(judged, recall):
    return judged.each(lambda relevant, total: _interpolated(relevant, total, recall))


def _eleven_points(judged):
    return np.mean([_iprec(judged, recall) for recall in _RECALLS], axis=0)


def _rprec_mult(judged, factor):
    def value(relevant, total):
        cut = int(factor * total + 0.9)
        return float(relevant[:cut].sum() / cut) if cut else 0.0

    return judged.each(value)


def _relative_precision(judged, k):
    return judged.each(lambda r, n: float(r[:k].sum() / min(k, n)) if n else 0.0)


def _utility(judged):
    return judged.each(lambda r, n: float(r.sum() - (~r).sum()))


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)


def _set_precision(judged):
    return _ratio(_num_rel_ret(judged), judged.run.n_retrieved)


def _set_recall(judged):
    return _ratio(_num_rel_ret(judged), judged.n_relevant)


def _set_relative_precision(judged):
    best = np.minimum(judged.n_relevant, judged.run.n_retrieved)
    return _ratio(_num_rel_ret(judged), best)


def _set_f(judged):
    precision, recall = _set_precision(judged), _set_recall(judged)
    return _ratio(2 * precision * recall, precision + recall)


def _rbp(judged):
    """Gains are fractions of the highest grade of the query; the level is ignored."""
    run = judged.run
    missing = np.split(run.missing_y, run.missing_ptr[1:-1])

    def value(y, others):
        highest = max(y.max(initial=1.0), others.max(initial=1.0))
        return float(0.1 * np.sum(y / highest * 0.9 ** np.arange(len(y))))

    pairs = zip(np.split(run.y, run.ptr[1:-1]), missing)
    return np.array([value(*pair) for pair in pairs])


def _rbp_residual(judged):
    """What the documents without judgement, and those below the last, could add."""

    def value(known):
        if known.all():
            return 0.0
        weight = 0.9 ** np.arange(len(known))
        return float(0.9 ** len(known) + 0.1 * weight[~known].sum())

    return np.array([value(known) for known in judged.judged])


def _binary_gain(judged):
    """Mean over relevant documents of 1 / log2(2 + non-relevant ones above)."""

    def value(relevant, total):
        wrong = np.cumsum(~relevant)[relevant]
        return float(np.sum(1 / np.log2(2 + wrong))) / max(total, 1)

    return judged.each(value)


def _unjudged(judged, k):
    return np.array([float((~known[:k]).sum()) / k for known in judged.judged])


FAMILIES: dict[str, Family] = {
    "num_ret": Family(lambda j: j.run.n_retrieved, summary="sum", official=True),
    "num_rel": Family(lambda j: j.n_relevant, summary="sum", official=True),
    "num_rel_ret": Family(_num_rel_ret, summary="sum", official=True),
    "map": Family(_measured("map"), official=True),
    "gm_map": Family(_measured("map"), summary="geometric", official=True),
    "Rprec": Family(_measured("rprec"), official=True),
    "bpref": Family(_bpref, official=True),
    "recip_rank": Family(_measured("mrr"), official=True),
    "iprec_at_recall": Family(_iprec, _RECALLS, official=True, text="{:.2f}"),
    "P": Family(_measured_at("p"), _CUTOFFS, official=True),
    "recall": Family(_measured_at("recall"), _CUTOFFS),
    "gm_bpref": Family(_bpref, summary="geometric"),
    "Rprec_mult": Family(
        _rprec_mult, tuple(i / 5 for i in range(1, 11)), text="{:.2f}"
    ),
    "utility": Family(_utility),
    "11pt_avg": Family(_eleven_points),
    "binG": Family(_binary_gain),
    "ndcg": Family(_measured("ndcg")),
    "ndcg_cut": Family(_measured_at("ndcg"), _CUTOFFS),
    "map_cut": Family(_measured_at("map"), _CUTOFFS),
    "relative_P": Family(_relative_precision, _CUTOFFS),
    "success": Family(_measured_at("success"), (1, 5, 10)),
    "set_P": Family(_set_precision),
    "set_relative_P": Family(_set_relative_precision),
    "set_recall": Family(_set_recall),
    "set_map": Family(lambda j: _set_precision(j) * _set_recall(j)),
    "set_F": Family(_set_f),
    "num_nonrel_judged_ret": Family(_num_nonrel_judged_ret, summary="sum"),
    "rbp": Family(_rbp),
    "rbp_resid": Family(_rbp_residual),
    "unj": Family(_unjudged, (5, 10, 20)),
}

_GROUPS = {
    "official": [name for name, family in FAMILIES.items() if family.official],
    "all": list(FAMILIES),
    "all_trec": list(FAMILIES),
}


@dataclass(frozen=True)
class Line:
    """Values of one measure: one line for each query and one for all."""

    name: str
    family: Family
    values: np.ndarray

    @property
    def for_queries(self):
        """Whether trec_eval prints the values of single queries."""
        return self.family.summary != "geometric"

    @property
    def total(self):
        """Value for all queries."""
        return self.family.total(self.values)


def parse_measures(names) -> list[tuple[str, tuple]]:
    """Measures and parameters that ``-m`` arguments name.

    Parameters
    ----------
    names : sequence of str
        Such as ``["map", "P.5,10", "ndcg_cut_10", "official"]``.

    Returns
    -------
    list of (name, parameters)
        In trec_eval's order, each once.
    """
    wanted: dict[str, tuple] = {}
    for name in names:
        for family in _GROUPS.get(name, ()):
            wanted.setdefault(family, FAMILIES[family].cutoffs)
        if name not in _GROUPS:
            family, cutoffs = _parse(name)
            wanted[family] = tuple(sorted({*wanted.get(family, ()), *cutoffs}))
    return [(family, wanted[family]) for family in FAMILIES if family in wanted]


def _parse(name):
    family, _, text = name.partition(".")
    if family not in FAMILIES and family.rpartition("_")[0] in FAMILIES:
        family, _, text = name.rpartition("_")  # the name of an output line
    if family not in FAMILIES:
        known = ", ".join([*FAMILIES, "official", "all"])
        raise CommandError(f"unknown measure {name!r}. There are: {known}")
    known = FAMILIES[family]
    if not text:
        return family, known.cutoffs
    if not known.cutoffs:
        raise CommandError(f"measure {family} takes no parameters, got {name!r}")
    try:
        cutoffs = tuple(known.parameter(part) for part in text.split(","))
    except ValueError:
        raise CommandError(
            f"parameters of {family} must be numbers, as in "
            f"{family}.{known.cutoffs[0]}, got {text!r}"
        ) from None
    if min(cutoffs) < 0 or (known.text == "{}" and min(cutoffs) < 1):
        raise CommandError(f"parameters of {family} must be positive, got {text!r}")
    return family, cutoffs


def evaluate_run(judged: Judged, measures) -> Iterator[Line]:
    """Evaluate measures on a judged run.

    Parameters
    ----------
    judged : Judged
        Run and judgements.
    measures : list of (name, parameters)
        As returned by `parse_measures`.

    Yields
    ------
    Line
        In trec_eval's order.
    """
    for name, cutoffs in measures:
        family = FAMILIES[name]
        if not family.cutoffs:
            yield Line(name, family, family.values(judged))
        for cutoff in cutoffs:
            label = f"{name}_{family.text.format(cutoff)}"
            yield Line(label, family, family.values(judged, cutoff))


def format_line(name, query, value) -> str:
    """Format a value as trec_eval does."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, (int, np.integer)):
        text = f"{value}"
    else:
        text = f"{value:6.4f}"
    return f"{name:<22}\t{query}\t{text}"
