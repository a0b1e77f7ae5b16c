"""Whole lists that a policy has drawn: their probabilities, and those of others."""

import warnings
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, Interval, PositiveInt, Seed
from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._segments import segment_ranks, segment_softmax
from skrank._core._sparse import is_mapping
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_groups,
    check_options,
    check_scores,
    n_rows,
)
from skrank.click import Sessions
from skrank.click._sessions import check_sessions
from skrank.metrics._compare import check_names_of_runs
from skrank.metrics._significance import scales_of
from skrank.unbiased._counterfactual_estimate import (
    CounterfactualEstimate,
    IntervalKind,
    Intervals,
    values_of_units,
)
from skrank.unbiased._counterfactual_log import LARGEST, Documents
from skrank.unbiased._positions import check_curve

# Documents of sessions that are looked at together.
_AT_ONCE = 2**20
# Logarithms of ratios that are this far from 0 are those of no float.
_FAR = 1e4
# Weights below this have squares that lose digits.
_TINY = 1e-60

_Most = Annotated[float, Interval(0, LARGEST, "right")] | None


def plackett_luce_exposure(
    scores: npt.ArrayLike,
    groups: npt.ArrayLike,
    propensities: npt.ArrayLike,
    *,
    n_samples: PositiveInt = 1000,
    random_state: Seed = None,
) -> np.ndarray:
    r"""Return how likely documents are looked at if lists are drawn by their scores.

    The Plackett–Luce policy fills the places from the first on, each by a document that
    is left, with a probability proportional to :math:`e^{f_d}`. Its exposure

    .. math:: \rho_d = \mathbb{E}_{\pi} \, \alpha_{\text{rank}(d)}

    is the mean over ``n_samples`` lists, drawn by adding Gumbel noise to the scores.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Scores f of the policy; those of a temperature T are divided by T. Documents of
        score −∞ are never shown.
    groups : array-like of shape (n_documents,)
        Query of each document.
    propensities : array-like of shape (n_places,)
        Probability of a look at each place, from the first on; nothing is shown beyond.
    n_samples : int, default=1000
        Number of lists of each query.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (n_documents,)
        Probabilities, for the argument ``exposure`` of `CounterfactualEvaluator`.
        Complexity: O(S m log m) for S samples of m documents.

    Raises
    ------
    ValueError
        If lengths differ, a score is NaN or ∞, or a propensity is not positive.

    References
    ----------
    [Oosterhuis2020]_ for the exposure.

    Examples
    --------
    >>> from skrank.unbiased import plackett_luce_exposure
    >>> one_place = plackett_luce_exposure(
    ...     [0.0, 0.0], ["q", "q"], [1.0], n_samples=4000, random_state=0
    ... )
    >>> [round(float(p), 1) for p in one_place]
    [0.5, 0.5]
    """
    check_options(plackett_luce_exposure, locals())
    n = n_rows(scores, "scores")
    if n_rows(groups, "groups") != n:
        raise ValueError(
            f"scores and groups must have one entry for each document, got {n} and "
            f"{n_rows(groups, 'groups')}"
        )
    index = QueryIndex.from_groups(check_groups(groups, n), canonical=True)
    own = index.take(check_scores(scores, n, name="scores"))
    shown_at_all = np.isfinite(own)
    if (own == np.inf).any():
        raise ValueError("scores must be finite, or -inf for documents never shown")
    if n:  # beside large scores, noise would be rounded away
        best = np.maximum.reduceat(own, index.ptr[:-1])
        best = np.where(np.isfinite(best), best, 0.0)
        with quiet():  # a score that is too far below has no chance
            own = own - np.repeat(best, index.sizes)
    curve = check_curve(propensities)
    table = np.zeros(int(index.sizes.max(initial=0)))
    table[: len(curve)] = curve[: len(table)]
    rng = check_random_state(random_state)
    sums = np.zeros(n)
    for _ in range(int(n_samples)):
        drawn = own + rng.gumbel(size=n)
        sums += table[segment_ranks(drawn, index.ptr) - 1]
    return index.restore(np.where(shown_at_all, sums / int(n_samples), 0.0))


def plackett_luce_log_probability(
    sessions: Sessions,
    scores: npt.ArrayLike,
    groups: npt.ArrayLike,
    docids: npt.ArrayLike,
) -> np.ndarray:
    r"""Return how likely a policy that draws lists by scores shows those of a log.

    .. math:: \log \pi(d_1, \dots, d_K) = \sum_{k=1}^{K} \Bigl( f_{d_k}
              - \log \sum_{d \notin \{d_1, \dots, d_{k-1}\}} e^{f_d} \Bigr)

    for lists of K documents out of those that ``docids`` holds for the query.

    Parameters
    ----------
    sessions : Sessions
        Log.
    scores : array-like of shape (n_documents,)
        Finite scores f of the policy; those of a temperature T are divided by T.
    groups : array-like of shape (n_documents,)
        Query id of each document, of the same kind as those of the log.
    docids : array-like of shape (n_documents,)
        Document id of each.

    Returns
    -------
    ndarray of shape (n_sessions,)
        Natural logarithms of probabilities. Complexity: O(n) for n documents of the
        queries of all sessions.

    Raises
    ------
    TypeError
        If ``sessions`` is something else.
    ValueError
        If lengths differ, a score is not finite, a document has no row, or a list
        holds one twice.

    References
    ----------
    [Liu2011]_, section 4.3.1, eq. 4.22, for whole lists.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import Sessions
    >>> from skrank.unbiased import plackett_luce_log_probability
    >>> log = Sessions.from_lists(["q"], [["b", "a"]], [[0, 1]])
    >>> scores, ids = np.log([2.0, 1.0, 1.0]), list("abc")
    >>> found = plackett_luce_log_probability(log, scores, ["q"] * 3, ids)
    >>> round(float(np.exp(found[0])), 4)  # 1/4 · 2/3
    0.1667
    """
    sessions = check_sessions(sessions)
    documents = Documents(groups, docids)
    own = check_scores(scores, len(documents), name="scores")
    if not np.isfinite(own).all():
        raise ValueError(
            "scores must be finite: documents that cannot be shown have "
            "no place in groups and docids"
        )
    own = documents.index.take(own)
    row = documents.rows_of(sessions, "raise")
    query = documents.queries_of(sessions)
    if (query < 0).any():
        session = int(np.argmin(query))
        raise ValueError(
            f"groups must hold the query of every session; that of session {session} "
            "is not among them"
        )
    ends = np.cumsum(documents.index.sizes[query])
    if not len(ends):
        return np.zeros(0)
    cuts = np.searchsorted(ends, np.arange(_AT_ONCE, int(ends[-1]), _AT_ONCE)) + 1
    found = [
        _log_probabilities(sessions[start:stop], row, own, documents, start, sessions)
        for start, stop in _pairs(np.unique([0, *cuts, len(sessions)]))
    ]
    return np.concatenate(found)


def _pairs(bounds):
    return zip(bounds[:-1].tolist(), bounds[1:].tolist())


def _log_probabilities(part, row, scores, documents, start, sessions) -> np.ndarray:
    """Return the log-probabilities of some sessions."""
    first, ptr, n = int(sessions.ptr[start]), part.ptr, len(part)
    row = row[first : first + part.n_impressions]
    candidates, bounds = rows_of_queries(
        documents.index.ptr, documents.queries_of(part)
    )
    # The candidate of each impression, by its place in its query.
    shift = bounds[:-1] - candidates[bounds[:-1]]
    listed = row + shift[part.session]
    times = np.bincount(listed, minlength=len(candidates))
    if (times > 1).any():
        session = start + int(np.searchsorted(bounds, np.argmax(times > 1), "right"))
        raise ValueError(
            "sessions must not show a document twice in a list, as session number "
            f"{session - 1} does"
        )
    left = np.where(times > 0, -np.inf, scores[candidates])
    # Of lists that leave no document out, nothing remains.
    some = np.maximum.reduceat(left, bounds[:-1]) > -np.inf
    safe = np.where(np.repeat(some, np.diff(bounds)), left, 0.0)
    rest = np.where(some, segment_softmax(safe, bounds)[1], -np.inf)
    total, sizes = np.zeros(n), part.sizes
    for place in range(int(sizes.max(initial=0)), 0, -1):
        has = np.flatnonzero(sizes >= place)
        own = scores[row[ptr[has] + place - 1]]
        rest[has] = np.logaddexp(rest[has], own)
        total[has] += own - rest[has]
    return total


def evaluate_lists(
    rewards: npt.ArrayLike,
    logged: npt.ArrayLike,
    runs: Any,
    *,
    groups: npt.ArrayLike | None = None,
    self_normalize: bool = False,
    max_weight: _Most = None,
    interval: IntervalKind = "t",
    confidence: Fraction = 0.95,
    n_resamples: PositiveInt = 2000,
    random_state: Seed = 0,
) -> CounterfactualEstimate:
    r"""Estimate what policies would earn, by lists that another policy has drawn.

    Nothing is assumed of users: a list s that the new policy shows more often than the
    logging policy has done counts as much more,

    .. math::
        \hat V &= \frac1N \sum_s \min(w_s, w_\text{max})\, r_s, \qquad
            w_s = \frac{\pi_\text{new}(s)}{\pi_\text{log}(s)} \\
        \hat V_\text{SN} &= \sum_s \min(w_s, w_\text{max})\, r_s \Bigl/
            \sum_s \min(w_s, w_\text{max})

    of which the first is right in the mean, without :math:`w_\text{max}`, if every list
    that the new policy may show had a chance. Long lists have weights of enormous
    variance; `CounterfactualEvaluator` needs less where rewards are sums over clicks.

    Parameters
    ----------
    rewards : array-like of shape (n_sessions,)
        What each list earned: the number of clicks, a purchase, minus the time until
        the first click.
    logged : array-like of shape (n_sessions,)
        Natural logarithm of the probability with which the logging policy drew the
        list, such as `plackett_luce_log_probability` returns it.
    runs : dict of str to array-like of shape (n_sessions,)
        The same of each new policy, −inf for lists that it never shows. A single array
        gets the name "policy".
    groups : array-like of shape (n_sessions,), default=None
        Query of each session. None takes sessions for independent of each other, else
        queries are.
    self_normalize : bool, default=False
        Whether to divide by the sum of the weights, which adds a bias that vanishes
        with the number of sessions, and mostly takes much of the variance.
    max_weight : float, default=None
        Largest weight, up to 1e50; None for any.
    interval : {"t", "bootstrap"}, default="t"
        Kind of the intervals, as in `CounterfactualEvaluator`.
    confidence : float, default=0.95
        Coverage of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap samples.
    random_state : int, RandomState instance or None, default=0
        Seed of these.

    Returns
    -------
    CounterfactualEstimate
        Estimates with intervals. The caption tells mean weights that differ from 1 by
        more than three standard errors: logged probabilities are then wrong, or lists
        had no chance to be shown. Complexity: O(n) for each policy.

    Raises
    ------
    ValueError
        If lengths differ, there is no session, a reward is not finite, or a
        log-probability is NaN, above 0, or −∞ for a list that was shown; if rewards,
        or ratios that nothing cuts off, are above 1e50.

    Warns
    -----
    UserWarning
        If ``self_normalize`` divides by 0, because no list has a weight.

    References
    ----------
    [Swaminathan2015]_, section 4, for self-normalisation.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.unbiased import evaluate_lists
    >>> lists = np.array([0, 1] * 50)  # drawn with probability 1/2 each
    >>> found = evaluate_lists(
    ...     rewards=lists, logged=np.log([0.5] * 100),
    ...     runs={"new": np.log(np.where(lists == 1, 0.8, 0.2))},
    ... )
    >>> round(found["new"], 4)
    0.8
    """
    check_options(evaluate_lists, locals())
    rewards = as_numbers(rewards, "rewards")
    if rewards.ndim != 1 or not len(rewards) or not np.isfinite(rewards).all():
        raise ValueError(
            "rewards must hold one finite number for each session, at least one, got "
            f"{shown(rewards)}"
        )
    n = len(rewards)
    logged = _log_probability(logged, n, "logged")
    if (logged == -np.inf).any():
        raise ValueError(
            "logged must be finite: lists that were shown had some probability; entry "
            f"{int(np.argmin(logged))} has -inf"
        )
    runs = runs if is_mapping(runs) else {"policy": runs}
    check_names_of_runs(runs, None, "log-probabilities")
    if (np.abs(rewards) > LARGEST).any():
        raise ValueError(
            f"rewards must be from -{LARGEST:g} to {LARGEST:g}, got "
            f"{rewards[np.argmax(np.abs(rewards))]:g}"
        )
    ratios = np.column_stack(
        [
            _log_probability(run, n, f"runs[{shown(name)}]") - logged
            for name, run in runs.items()
        ]
    )
    limit = np.log(LARGEST)
    if max_weight is None and (ratios > limit).any():
        raise ValueError(
            f"runs must be at most {LARGEST:g} times as likely as logged, unless "
            "max_weight cuts the weights off"
        )
    most = np.inf if max_weight is None else float(max_weight)
    weights = _Weights.of(ratios, most, self_normalize)
    ids = np.arange(n) if groups is None else check_groups(groups, n)
    by = Intervals(interval, confidence, n_resamples, random_state)
    names = tuple(map(str, runs))
    unit = "session" if groups is None else "query"
    return _of_weights(names, rewards, weights, self_normalize, ids, by, unit)


def _log_probability(values, n, name) -> np.ndarray:
    numbers = as_numbers(values, name, "log-probabilities")
    if numbers.shape != (n,) or not (numbers <= 1e-9).all():
        raise ValueError(
            f"{name} must hold one natural logarithm of a probability, at most 0, for "
            f"each of {n} sessions, got {shown(values)}"
        )
    return numbers


class _Weights(NamedTuple):
    """Weights of sessions for each policy.

    Attributes
    ----------
    whole : ndarray of shape (n_sessions, n_runs)
        Ratios of probabilities.
    cut : ndarray of shape (n_sessions, n_runs)
        No more than the largest weight; times any number, where they are divided by
        their sum.
    clipped_share : float
        Share of the weight of all that clipping has cut off.
    """

    whole: np.ndarray
    cut: np.ndarray
    clipped_share: float

    @classmethod
    def of(cls, ratios: np.ndarray, most: float, self_normalize: bool) -> "_Weights":
        """Return the weights of logarithms of ratios."""
        whole = np.exp(np.minimum(ratios, np.log(LARGEST)))
        cut = np.minimum(whole, most)
        top = max(float(ratios.max()), -_FAR)
        shares = np.exp(ratios - top), np.exp(np.minimum(ratios, np.log(most)) - top)
        before, after = (float(share.sum()) for share in shares)
        clipped = 1.0 - after / before if before > after else 0.0
        peak = ratios.max(axis=0)
        tiny = (peak < np.log(min(_TINY, most))) & (peak > -np.inf)
        if self_normalize and tiny.any():
            cut[:, tiny] = np.exp(ratios[:, tiny] - peak[tiny])
        return cls(whole, cut, clipped)


def _of_weights(
    names, rewards, weights, self_normalize, ids, by, unit
) -> CounterfactualEstimate:
    """Return the estimate from a reward and a weight for each session and policy."""
    cut = weights.cut
    width = cut.shape[1]
    index = QueryIndex.from_groups(as_ids(ids), canonical=True)
    sizes = index.sizes.astype(np.float64)
    add = lambda column: np.add.reduceat(index.take(column), index.ptr[:-1])
    # A power of two, so that small weights may be multiplied by small rewards.
    scale = float(np.ldexp(1.0, np.frexp(np.abs(rewards).max())[1]))
    totals = np.column_stack([add(column * (rewards / scale)) for column in cut.T])
    norms = np.column_stack(
        [add(column) if self_normalize else sizes for column in cut.T]
    )
    for name in (names[i] for i in range(width) if not norms[:, i].any()):
        warnings.warn(
            f"the estimate of {name!r} is NaN: it never shows a list that was logged",
            UserWarning,
            stacklevel=3,
        )
    each = [values_of_units(totals[:, [i]], norms[:, i]) for i in range(width)]
    estimates = np.concatenate([one for one, _ in each]) * scale
    values = np.concatenate([one for _, one in each], axis=1) * scale
    errors, ends = by.of_means(values)
    rates = np.full(totals.shape, np.nan)
    np.divide(totals, norms, out=rates, where=norms > 0)
    scaled = cut / scales_of(cut)
    squares, sums = (scaled**2).sum(axis=0), scaled.sum(axis=0)
    effective = np.divide(sums**2, squares, out=np.zeros(width), where=squares > 0)
    return CounterfactualEstimate(
        names=names,
        estimator="list SNIPS" if self_normalize else "list IPS",
        measure_name="reward",
        greater_is_better=True,
        estimates=estimates,
        standard_errors=errors,
        intervals=ends,
        values=values,
        query_ids=index.ids,
        n_sessions=index.sizes,
        per_query=dict(zip(names, rates.T * scale)),
        n_clicks=None,
        effective_sample_sizes=effective,
        clipped_share=weights.clipped_share,
        n_unsupported=np.zeros(width, dtype=np.intp),
        unsupported_shares=np.full(width, np.nan),
        unit=unit,
        intervals_by=by,
        notes=tuple(_doubts(names, weights.whole)),
    )


def _doubts(names, weights) -> list[str]:
    """Say which mean weights are too far from 1 to be so by chance."""
    n = len(weights)
    if n < 2:
        return []
    means, errors = weights.mean(axis=0), weights.std(axis=0, ddof=1) / np.sqrt(n)
    return [
        f"The mean weight of {name} is {mean:.3g} in place of 1"
        for name, mean, error in zip(names, means, errors)
        if abs(mean - 1.0) > 3.0 * error + 1e-9
    ]
