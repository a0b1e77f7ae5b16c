"""What a ranker would reach, told from the clicks on the rankings of another one."""

import warnings
from collections.abc import Iterable
from dataclasses import field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from skrank._core._inner import scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, Parameters, PositiveInt, Seed
from skrank._core._segments import segment_sum
from skrank._core._sparse import is_mapping
from skrank._core._validation import (
    as_numbers,
    calling,
    check_arguments,
    check_scores,
    n_rows,
    naming,
)
from skrank.click import Sessions
from skrank.click._labels import relevance_of
from skrank.click._sessions_lookup import Missing
from skrank.metrics._compare import check_names_of_runs
from skrank.metrics._significance import scales_of
from skrank.unbiased._counterfactual_estimate import (
    CounterfactualEstimate,
    IntervalKind,
    Intervals,
    values_of_units,
)
from skrank.unbiased._counterfactual_log import (
    LARGEST,
    LEAST,
    N_GROUPS,
    Documents,
    Sums,
    check_exposure,
    parts_of,
)
from skrank.unbiased._counterfactual_measures import AdditiveMeasure, rank_weights
from skrank.unbiased._weights import Clip


class CounterfactualEvaluator(Parameters, BaseEstimator):
    r"""An estimate of what rankers would reach, from a log of clicks on other rankings.

    A measure that is a sum over the documents d of a query, with a weight
    :math:`\lambda` of the rank that a new ranker gives them and with the probability
    :math:`\gamma` that a user who looks at them clicks, has over queries the mean

    .. math:: \Delta = \mathbb{E}_q \sum_{d} \lambda(\text{rank}(d)) \, \gamma_d .

    The log shows N sessions s with clicks :math:`c_{sd}` on documents that users looked
    at with probability :math:`\alpha_{sd}`, which depends on the place; 0 stands for
    what was not shown. Let :math:`\rho_{sd}` be the propensity, :math:`\alpha_{sd}` or
    the exposure below, :math:`\tau` the parameter ``clip``, and
    :math:`\hat\gamma_d` a predicted relevance. The estimators are

    .. math::
        \hat\Delta_\text{IPS} &= \frac1N \sum_{s, d}
            \frac{\lambda_d \, c_{sd}}{\max(\rho_{sd}, \tau)} \\
        \hat\Delta_\text{SNIPS} &= \sum_{s, d}
            \frac{\lambda_d \, c_{sd}}{\max(\rho_{sd}, \tau)} \Bigl/ \sum_{s, d}
            \frac{c_{sd}}{\max(\rho_{sd}, \tau)} \\
        \hat\Delta_\text{DM} &= \frac1N \sum_{s, d} \lambda_d \, \hat\gamma_d \\
        \hat\Delta_\text{DR} &= \hat\Delta_\text{DM} + \frac1N \sum_{s, d}
            \frac{\lambda_d}{\max(\rho_{sd}, \tau)}
            \bigl( c_{sd} - \alpha_{sd} \, \hat\gamma_d \bigr)

    where sums over d of propensity 0 have no term.

    ``"ips"`` is right in the mean if propensities are, and if whatever the new ranker
    ranks has been shown. ``"snips"`` needs propensities up to a factor only, and
    estimates the mean weight of a *relevant* document, on another scale than the rest:
    with the measure "arp", the average rank of relevant documents. ``"dm"`` believes
    the prediction. ``"dr"`` is right for each document if its :math:`\rho` or its
    prediction is, given that :math:`\alpha` is right. It needs documents that change
    their places, or are not always shown: where each click weighs by its own place and
    all documents are shown, predictions cancel, and ``"dr"`` is ``"ips"`` without
    ``clip``.

    With ``exposure``, :math:`\rho_d` is the probability that the document was looked
    at, over all lists that may be shown for the query. This makes up for lists that
    were cut off at some length, and varies less, if documents had a chance to be shown.

    Clicks on several rankers are estimated at once: what is summed up depends on
    documents only. Complexity: O(n) for n impressions, besides looking them up, and
    O(R m log m) for R rankers of m documents.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="dcg@10"
        A measure that is a sum over documents: "dcg@10", "p@10", "rbp", or "arp", the
        sum of the ranks of relevant documents, of which less is better; "ndcg@10", in
        which the best ranking is that by predicted relevance; or a function of an array
        of ranks, from 1 on, that returns their weights. A click stands for the grade 1.
    propensities : array-like, estimator, model of clicks or None, default=None
        Curve, with the propensity of place k at ``[k - 1]``, or anything else that
        `to_propensities` takes. Models of places know examination, and relevance, but
        for a factor: the first place is taken to be looked at always. None where
        `evaluate` is given the propensity of each impression, or for
        ``estimator="dm"``.
    estimator : {"ips", "snips", "dm", "dr"}, default="ips"
        How to estimate; see above.
    clip : float, default=None
        Least propensity :math:`\tau`, which trades bias for less variance; None takes
        propensities as they are.
    unit : {"query", "session"}, default="query"
        What intervals take for drawn at random: "query" holds for new queries and for
        any number of sessions of each; "session" for new sessions of the same queries
        in the same shares, of which there may be few. Above 4096, sessions are taken
        in as many groups.
    interval : {"t", "bootstrap"}, default="t"
        Student's interval, or the bootstrap one, corrected for bias and skewness.
    confidence : float, default=0.95
        Coverage of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap samples.
    random_state : int, RandomState instance or None, default=0
        Seed of these.

    Notes
    -----
    Estimates vary as ratios do: standard errors are those of the linearised ratio of
    sums over units. With ``exposure="logged"``, they take the exposure for known.

    The order of the rows of documents changes no bit. That of the sessions changes the
    last digits of sums and, of more than 4096 sessions as units, which are one group.

    References
    ----------
    [Joachims2017]_, sections 3 and 4, for inverse propensities;
    [Swaminathan2015]_, section 4, for self-normalisation; [Oosterhuis2020]_ for
    exposure under the policy; [Oosterhuis2023]_ for the doubly robust estimator
    without trust bias.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import Sessions, SimulatedUser
    >>> from skrank.unbiased import CounterfactualEvaluator
    >>> user = SimulatedUser(examination="position", max_grade=2)
    >>> clicks = user.click(np.tile([0, 2, 1], 4000), np.arange(4001) * 3, 0)
    >>> log = Sessions.from_lists(  # "a" was always first
    ...     ["q", "p"] * 2000, [list("abc")] * 4000, clicks.reshape(-1, 3)
    ... )
    >>> groups, docids = ["p", "p", "p", "q", "q", "q"], list("abc") * 2
    >>> runs = {"old": [3, 2, 1] * 2, "new": [1, 3, 2] * 2}
    >>> evaluator = CounterfactualEvaluator("dcg@3", user.propensities(3))
    >>> found = evaluator.evaluate(log, runs, groups, docids)
    >>> round(found["old"], 1), round(found["new"], 1)  # 0.63 + 0.25, 1 + 0.63 / 2
    (0.9, 1.3)
    >>> found.difference("new", "old").pvalue < 0.05
    True
    """

    measure: AdditiveMeasure = field(default="dcg@10", kw_only=False)
    propensities: Any = field(default=None, kw_only=False)
    estimator: Literal["ips", "snips", "dm", "dr"] = "ips"
    clip: Clip = None
    unit: Literal["query", "session"] = "query"
    interval: IntervalKind = "t"
    confidence: Fraction = 0.95
    n_resamples: PositiveInt = 2000
    random_state: Seed = 0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Return the constructor arguments that the common tests run over."""
        curve = [1.0, 0.5, 0.3]
        return [
            {"propensities": curve},
            {"measure": "arp", "propensities": curve, "estimator": "snips"},
            {"propensities": curve, "clip": 0.4, "unit": "session"},
        ]

    def evaluate(
        self,
        sessions: Sessions | Iterable[Sessions],
        runs: Any,
        groups: npt.ArrayLike,
        docids: npt.ArrayLike,
        *,
        X: Any = None,
        propensities: npt.ArrayLike | None = None,
        exposure: Any = None,
        relevance: Any = None,
        missing: Missing = "raise",
    ) -> CounterfactualEstimate:
        """Estimate the measure of rankers from a log.

        Parameters
        ----------
        sessions : Sessions, or iterable of Sessions
            Log; or its parts, as `iter_sessions` yields them, of which one at a time
            is held in memory. ``unit="session"`` with ``exposure="logged"`` goes
            through them twice, and needs a list.
        runs : dict of str to array-like of shape (n_documents,), or to fitted ranker
            Scores of each ranker, higher is better, −inf for documents that it does not
            rank; or a fitted estimator whose ``predict`` gives the scores for ``X``. A
            single one of these need not be in a dict, and gets the name "ranker".
        groups : array-like of shape (n_documents,)
            Query id of each document, of the same kind as those of the log.
        docids : array-like of shape (n_documents,)
            Document id of each; a document has one row for a query.
        X : array-like or sparse matrix of shape (n_documents, n_features), default=None
            Features, needed if ``runs`` or ``relevance`` holds estimators.
        propensities : array-like of shape (n_impressions,), default=None
            Probability that each impression was looked at, in place of the parameter.
        exposure : "logged" or array-like of shape (n_documents,), default=None
            Probability that each document was looked at in a session of its query, over
            the lists that the logging policy draws: known numbers, such as those of
            `plackett_luce_exposure`; or "logged", the mean over the sessions of the
            query. None weighs each click by the place where it happened.
        relevance : array-like of shape (n_documents,), or model, default=None
            Probability that each document is clicked if it is looked at: numbers; a
            fitted model of clicks; or a fitted estimator that predicts them from ``X``,
            such as `RegressionEM`. Needed for "dm", "dr" and NDCG. A prediction that
            has learned from other sessions than these keeps "dr" free of bias.
        missing : {"raise", "drop"}, default="raise"
            What to do with impressions of documents that ``docids`` lacks: raise an
            error, or leave out sessions of other queries and count clicks on documents
            that are not ranked as nothing.

        Returns
        -------
        CounterfactualEstimate
            Estimates with intervals; it prints as a table.

        Raises
        ------
        TypeError
            If ``sessions`` is something else.
        ValueError
            If lengths differ, a document has no row or several, an option is unknown,
            or propensities, relevance or features are missing.

        Warns
        -----
        UserWarning
            If "ips" or "snips" gives weight to documents of which the log does not tell
            anything, which counts them as not relevant.
        """
        self._check_parameters()
        check_arguments(CounterfactualEvaluator.evaluate, missing=missing)
        documents = Documents(groups, docids)
        runs = runs if is_mapping(runs) else {"ranker": runs}
        check_names_of_runs(runs, None, "scores or fitted rankers")
        predicted = _relevance(relevance, X, documents)
        if predicted is None and self.estimator in ("dm", "dr"):
            raise ValueError(
                f"relevance must be given for estimator={self.estimator!r}: a number "
                "for each document, a fitted model of clicks, or a fitted estimator"
            )
        scores = {
            str(name): _scores(f"runs[{shown(name)}]", run, X, documents)
            for name, run in runs.items()
        }
        work = _Work(self, documents, scores, predicted)
        found = work.through(sessions, propensities, exposure, missing)
        if self.estimator in ("ips", "snips"):
            _warn_unsupported(found)
        return found


class _Work:
    """One evaluation: weights of documents, and the sums of a log."""

    def __init__(self, owner, documents, scores, predicted):
        self.owner, self.documents, self.names = owner, documents, tuple(scores)
        self.predicted, self.ptr = predicted, documents.index.ptr
        self.clip = 0.0 if owner.clip is None else float(owner.clip)
        self.measure = rank_weights(owner.measure, self.ptr, predicted)
        if self.measure.normalized and owner.estimator == "snips":
            raise ValueError(
                "estimator 'snips' normalises by itself; take 'dcg' in place of "
                f"{self.measure.name!r}"
            )
        self.weights = np.array(
            [
                self.measure.of_rows(run, self.ptr, f"runs[{shown(name)}]")
                for name, run in scores.items()
            ]
        )
        self.of_model = np.zeros((len(scores), documents.index.n_queries))
        if owner.estimator in ("dm", "dr"):
            self.of_model = self._by_query(self.weights * predicted)
        n = N_GROUPS if owner.unit == "session" else 0
        self.n_kept = 0
        self.group_sums, self.group_norms = np.zeros((n, len(scores))), np.zeros(n)

    def _by_query(self, rows) -> np.ndarray:
        """Return sums over documents for each run and query."""
        return np.array([segment_sum(row, self.ptr) for row in rows])

    def through(self, sessions, given, exposure, missing) -> CounterfactualEstimate:
        """Go through a log, and estimate."""
        owner, documents = self.owner, self.documents
        known, fixed = None, exposure is None
        logged = isinstance(exposure, str) and exposure == "logged"
        if not fixed and not logged:
            known = check_exposure(exposure, documents)
        grouped = owner.unit == "session"
        if logged and grouped and iter_once(sessions):
            raise ValueError(
                "exposure='logged' with unit='session' goes through sessions twice; "
                "they must be Sessions or a list of them, got an iterator"
            )
        sums = Sums.zeros(documents.index.n_queries, len(documents))
        log = (documents, owner.propensities, given, missing)
        needed = owner.estimator != "dm"
        for part in parts_of(sessions, *log, needed=needed):
            part.add_to(sums, self.clip, fixed=fixed)
            if grouped and not logged:
                self._group(part, known)
        if not sums.sessions.any():
            raise ValueError(
                "sessions must hold at least one session of a query of groups, got none"
            )
        if logged:
            times = np.repeat(np.maximum(sums.sessions, 1.0), np.diff(self.ptr))
            known = sums.examined / times
            if grouped:
                for part in parts_of(sessions, *log, needed=needed):
                    self._group(part, known)
        if known is not None:
            sums.weigh(known, self.clip, self.ptr)
        return self._estimate(sums)

    def _group(self, part, exposure) -> None:
        """Add sessions to the sums of their groups."""
        has_value = np.append(self.measure.scale != 0, False)[part.query]
        kept = np.flatnonzero(has_value)
        group = (self.n_kept + np.arange(len(kept))) % N_GROUPS
        self.n_kept += len(kept)
        query, weights = part.query[kept], part.weights(exposure, self.clip)
        add = lambda numbers: np.bincount(group, numbers, N_GROUPS)
        estimator, row = self.owner.estimator, part.row
        if estimator == "snips":
            self.group_norms += add(part.values(weights * part.click)[kept])
        else:
            self.group_norms += np.bincount(group, minlength=N_GROUPS)
        told = weights * part.click
        if estimator == "dr":
            told -= weights * part.examined * self.predicted[row]
        for i, own in enumerate(self.weights):
            values = self.of_model[i][query]
            if estimator != "dm":
                values = values + part.values(own[row] * told)[kept]
            self.group_sums[:, i] += add(values)

    def _estimate(self, sums) -> CounterfactualEstimate:
        """Return the estimate that follows from the sums of a log."""
        owner = self.owner
        without_value = (self.measure.scale == 0) & (sums.sessions > 0)
        n_without = int(sums.sessions[without_value].sum())
        sums.leave_out(without_value, self.ptr)
        used = sums.sessions > 0
        if owner.estimator == "snips" and not sums.weight.any():
            raise ValueError(
                "sessions must hold a click for estimator 'snips', which divides by "
                "their weight, got none"
            )
        if not used.any():
            raise ValueError(
                f"sessions must hold a query for which measure {self.measure.name!r} "
                "has a value: relevance is 0 for all documents of each"
            )
        totals = self.of_model * sums.sessions
        if owner.estimator != "dm":
            told = sums.weight
            if owner.estimator == "dr":
                told = told - sums.predicted * self.predicted
            totals = totals + self._by_query(self.weights * told)
        snips = owner.estimator == "snips"
        norms = segment_sum(sums.weight, self.ptr) if snips else sums.sessions
        if owner.unit == "query":
            units, unit_norms = totals.T[used], norms[used]
        else:
            n = min(self.n_kept, N_GROUPS)
            units, unit_norms = self.group_sums[:n], self.group_norms[:n]
        estimates, values = values_of_units(units, unit_norms)
        own = (owner.interval, owner.confidence, owner.n_resamples, owner.random_state)
        by = Intervals(*own)
        errors, ends = by.of_means(values)
        rates = np.full(totals.shape, np.nan)
        np.divide(totals, norms, out=rates, where=norms > 0)
        return CounterfactualEstimate(
            names=self.names,
            estimator=owner.estimator,
            measure_name=self.measure.name,
            greater_is_better=self.measure.greater_is_better,
            estimates=estimates,
            standard_errors=errors,
            intervals=ends,
            values=values,
            query_ids=self.documents.index.ids[used],
            n_sessions=sums.sessions[used].astype(np.intp),
            per_query=dict(zip(self.names, rates[:, used])),
            n_clicks=int(sums.clicks.sum()),
            unit=owner.unit,
            intervals_by=by,
            notes=tuple(_notes(sums, n_without)),
            **self._support(sums),
        )

    def _support(self, sums) -> dict[str, Any]:
        """Return what tells how much of the log each estimate rests on."""
        n = len(self.names)
        sessions = np.repeat(sums.sessions, np.diff(self.ptr))
        size = np.abs(_scaled(self.weights))
        all_weight = np.maximum((size * sessions).sum(axis=1), LEAST)
        missing = np.maximum(sessions - sums.supported, 0.0)
        never = (sums.supported == 0) & (sessions > 0)
        effective, clipped = np.full(n, np.nan), 0.0
        if self.owner.estimator != "dm":
            # By those of documents with clicks: another may weigh far more.
            weights = _scaled(np.where(sums.square > 0, self.weights, 0.0))
            squares = (weights**2 * sums.square).sum(axis=1)
            whole = (weights * sums.weight).sum(axis=1) ** 2
            effective = np.divide(whole, squares, out=np.zeros(n), where=squares > 0)
            all_of_it = float(sums.full_weight.sum())
            if all_of_it > 0:
                clipped = max(0.0, 1.0 - float(sums.weight.sum()) / all_of_it)
        return {
            "effective_sample_sizes": effective,
            # Sums of the same numbers in another order differ by rounding.
            "clipped_share": clipped if self.clip and clipped > 1e-12 else 0.0,
            "n_unsupported": ((self.weights != 0) & never).sum(axis=1),
            "unsupported_shares": (size * missing).sum(axis=1) / all_weight,
        }


def _scaled(weights: np.ndarray) -> np.ndarray:
    """Return the weights of each ranker times a power of two, near 1 at most."""
    return weights / scales_of(weights.T)[:, None]


def iter_once(sessions: Any) -> bool:
    """Return whether parts of a log can be gone through only once."""
    return not isinstance(sessions, (Sessions, list, tuple))


def _notes(sums, n_without) -> list[str]:
    notes = []
    if n_without:
        notes.append(f"{n_without} sessions of queries without a value are left out")
    if sums.n_left_out:
        notes.append(f"{sums.n_left_out} sessions of other queries are left out")
    if sums.n_unranked:
        notes.append(f"{sums.n_unranked} impressions are of documents not ranked")
    return notes


def _warn_unsupported(found: CounterfactualEstimate) -> None:
    """Warn of the ranker of which the log tells least."""
    worst = int(np.argmax(found.unsupported_shares))
    share = found.unsupported_shares[worst]
    if share > 1e-9:
        never = int(found.n_unsupported[worst])
        warnings.warn(
            f"the log does not tell of {100 * share:.2g} % of the weight that "
            f"{found.measure_name} gives to the ranking of {found.names[worst]!r}, "
            f"where {never} documents were never shown; they count as not relevant. "
            "exposure= makes up for documents that are shown at times, "
            "estimator='dr' for others",
            UserWarning,
            stacklevel=3,
        )


def _scores(name, run, X, documents) -> np.ndarray:
    """Return the scores of a run in the order of the queries."""
    n = len(documents)
    if hasattr(run, "predict"):
        run = _predicted(name, run, X, documents, "predict")
    return documents.index.take(check_scores(run, n, name=name))


def _predicted(name, estimator, X, documents, method) -> np.ndarray:
    """Return what an estimator predicts for documents, in their input order."""
    if X is None:
        raise ValueError(f"{name} is an estimator, which needs X to predict")
    if n_rows(X) != len(documents):
        raise ValueError(
            f"X must have a row for each of {len(documents)} documents of groups, got "
            f"{n_rows(X)}"
        )
    ids = documents.index.restore(documents.groups)
    return scores_of(estimator, X, ids, response_method=method)


def _relevance(relevance, X, documents) -> np.ndarray | None:
    """Return predicted relevance in the order of the queries."""
    if relevance is None:
        return None
    n, index = len(documents), documents.index
    if isinstance(relevance, type):
        raise TypeError(f"relevance must be a fitted model, got {shown(relevance)}")
    if hasattr(relevance, "predict_examination"):
        return _attraction(relevance, documents)
    if hasattr(relevance, "predict"):
        found = _predicted("relevance", relevance, X, documents, None)
        return index.take(np.asarray(found, dtype=np.float64))
    if hasattr(relevance, "relevance"):
        return relevance_of(
            relevance, documents.groups, documents.docids, name="relevance"
        )
    with naming("relevance"):
        numbers = as_numbers(relevance, "relevance")
    if numbers.shape != (n,) or not (np.abs(numbers) <= LARGEST).all():
        raise ValueError(
            f"relevance must hold one number from -{LARGEST:g} to {LARGEST:g} for each "
            f"of {n} documents, or be a fitted model, got {shown(relevance)}"
        )
    return index.take(numbers)


def _attraction(model, documents) -> np.ndarray:
    """Return the probability of a click, given a look, by a model of clicks.

    Documents that stand alone in a list are looked at, and nothing else has a say.
    """
    n = len(documents)
    alone = Sessions.from_arrays(
        np.arange(n), documents.groups, documents.docids, None, np.zeros(n)
    )
    with calling("relevance"):
        return np.asarray(model.predict_proba(alone, kind="marginal"))
