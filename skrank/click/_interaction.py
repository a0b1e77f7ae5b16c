"""A model of how users interact with results, learned from human judgements."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._id_arrays import UnitError, comparable_ids, id_array, id_list
from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank._core._validation import as_numbers
from skrank.click._click_graph import ids_of_pairs_of, is_list
from skrank.click._sessions import Sessions, check_sessions
from skrank.click._sessions_lookup import find_rows
from skrank.datasets._run_likes import table_of
from skrank.rankers import RankNet
from skrank.text import tokenize

_DWELL = "dwell_time"


@dataclass(frozen=True, eq=False)
class InteractionFeatures:
    """What users did with each document of each query of a log.

    Attributes
    ----------
    query : ndarray of shape (n_pairs,)
        Query id of each pair.
    document : ndarray of shape (n_pairs,)
        Document id of each pair.
    X : ndarray of shape (n_pairs, n_features)
        Features.
    names : list of str
        Names of the features.
    background : dict of str to ndarray of shape (n_places,)
        Mean of each kind of behaviour in each place, over all queries.
    """

    query: np.ndarray
    document: np.ndarray
    X: np.ndarray
    names: list[str]
    background: dict[str, np.ndarray]


def interaction_features(
    sessions: Sessions,
    *,
    dwell_times: npt.ArrayLike | None = None,
    texts: Mapping[Any, str] | None = None,
    background: Mapping[str, npt.ArrayLike] | None = None,
) -> InteractionFeatures:
    r"""Describe each document of each query by how users dealt with it.

    What users do depends on the place of a document as well as on its relevance. With
    the mean :math:`b(k)` of a behaviour over all documents in place :math:`k`, the
    background, the deviation of a pair that was shown :math:`n` times is

    .. math:: \frac{1}{n} \sum_{i=1}^{n} \bigl(v_i - b(k_i)\bigr) .

    Parameters
    ----------
    sessions : Sessions
        Log.
    dwell_times : array-like of shape (n_impressions,), default=None
        Time, in any unit, that the user spent on each document after a click on it. It
        is not looked at where there was no click.
    texts : mapping of id to str, default=None
        Texts of the documents, such as their titles, by document id, for the words that
        they share with the query; documents without any have the empty text. The
        queries are their ids.
    background : mapping of str to array-like, default=None
        The background of another log, as in the attribute of the same name of what is
        returned, for features that a fitted model understands. Places beyond its last
        one are like that.

    Returns
    -------
    InteractionFeatures
        - ``log_impressions``, ``mean_position``, and ``click_share``, the share of the
          document in the clicks of the query;
        - for clicks and for clicks on the ``next`` and on the ``previous`` place,
          anywhere ``above`` and ``below``, for the ``last`` and the ``only`` click of a
          session: the rate, and its deviation from the background;
        - with ``dwell_times``: the mean over clicks of their logarithm, and its
          deviation;
        - with ``texts``: the number of words of the query, the share of them that the
          text has, and the share of the words of the text that the query has.

    Raises
    ------
    ValueError
        If lengths differ, a dwell time is negative or not finite, or the background
        lacks a behaviour.
    TypeError
        If an argument is of another kind.

    References
    ----------
    [Liu2011]_, section 13.2.2.1; [Agichtein2006]_.

    Examples
    --------
    >>> from skrank.click import Sessions, interaction_features
    >>> lists = [["a", "b"], ["b", "a"]]
    >>> log = Sessions.from_lists(["q", "q"], lists, [[1, 0], [1, 1]])
    >>> found = interaction_features(log)
    >>> found.background["click"].tolist()
    [1.0, 0.5]
    >>> column = found.names.index("click_deviation")
    >>> dict(zip(found.document.tolist(), found.X[:, column].tolist()))
    {'a': 0.25, 'b': -0.25}
    """
    sessions = check_sessions(sessions)
    pair, pair_query, pair_document = sessions.pairs()
    n_pairs, signals = len(pair_query), _signals(sessions)
    if dwell_times is not None:
        signals[_DWELL] = _log_times(dwell_times, sessions), sessions.click == 1
    place = sessions.position - 1
    means, columns = {}, _counts(sessions)
    for name, (value, counted) in signals.items():
        means[name] = (
            _mean_by(place[counted], value[counted], place.max(initial=-1) + 1)
            if background is None
            else _given(background, name)
        )
        own = pair[counted]
        columns[name] = _mean_by(own, value[counted], n_pairs)
        # Beyond its last place, a given background goes on as there.
        expected = means[name][np.minimum(place[counted], len(means[name]) - 1)]
        columns[f"{name}_deviation"] = _mean_by(own, value[counted] - expected, n_pairs)
    queries = sessions.query_ids[pair_query]
    documents = sessions.document_ids[pair_document]
    if texts is not None:
        columns |= _overlaps(queries, documents, texts)
    X = np.column_stack([np.asarray(c, dtype=np.float64) for c in columns.values()])
    return InteractionFeatures(queries, documents, X, list(columns), means)


def _signals(sessions: Sessions) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the behaviours by name: a value for each impression, and which count."""
    click = sessions.click.astype(np.float64)
    total = np.concatenate(([0.0], np.cumsum(click)))
    start = sessions.ptr[sessions.session]
    stop = sessions.ptr[sessions.session + 1]
    row = np.arange(len(click))
    above = total[row] - total[start]
    below = total[stop] - total[row + 1]
    padded = np.concatenate(([0.0], click, [0.0]))
    every = np.ones(len(click), dtype=bool)
    values = {
        "click": click,
        "click_next": np.where(row + 1 < stop, padded[2:], 0.0),
        "click_previous": np.where(row > start, padded[:-2], 0.0),
        "click_above": (above > 0).astype(np.float64),
        "click_below": (below > 0).astype(np.float64),
        "last_click": click * (below == 0),
        "only_click": click * (above + below == 0),
    }
    return {name: (value, every) for name, value in values.items()}


def _counts(sessions: Sessions) -> dict[str, np.ndarray]:
    pair, pair_query, _ = sessions.pairs()
    n_pairs, n_queries = len(pair_query), len(sessions.query_ids)
    clicks = np.bincount(pair, weights=sessions.click, minlength=n_pairs)
    of_query = np.bincount(pair_query, weights=clicks, minlength=n_queries)[pair_query]
    share = np.divide(clicks, of_query, out=np.zeros(n_pairs), where=of_query > 0)
    return {
        "log_impressions": np.log(np.bincount(pair, minlength=n_pairs)),
        "mean_position": _mean_by(pair, sessions.position, n_pairs),
        "click_share": share,
    }


def _mean_by(code: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Return the mean of the values of each code, 0 where there is none."""
    sums = np.bincount(code, weights=value, minlength=n)
    counts = np.bincount(code, minlength=n)
    return np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)


def _log_times(dwell_times: Any, sessions: Sessions) -> np.ndarray:
    times = as_numbers(dwell_times, "dwell_times", "times")
    if times.shape != (sessions.n_impressions,):
        raise ValueError(
            f"dwell_times must hold one time for each of {sessions.n_impressions} "
            f"impressions, got shape {times.shape}"
        )
    times = np.where(sessions.click == 1, times, 0.0)
    if not (np.isfinite(times) & (times >= 0)).all():
        raise ValueError("dwell_times must be finite and not negative where clicked")
    return np.log1p(times)


def _given(background: Any, name: str) -> np.ndarray:
    if not isinstance(background, Mapping) or name not in background:
        raise ValueError(
            f"background must be a mapping that holds {name!r}, as an earlier call "
            f"returns it, got {shown(background)}"
        )
    values = as_numbers(background[name], "background", "numbers")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"background must hold a finite number per place as {name!r}")
    return values


def _as_keys(documents: np.ndarray, texts: Mapping) -> tuple[np.ndarray, dict]:
    """Return documents, and the keys of texts by them where they may be dates."""
    if documents.dtype.kind not in "OmM":
        return documents, {}
    names = list(texts)
    try:
        keys = id_array(names)
    except UnitError:  # keys of several kinds, each of which may be one of a document
        keys = np.fromiter(names, dtype=object, count=len(names))
    documents, keys = comparable_ids(documents, keys)
    return documents, dict(zip(id_list(keys), names))


def _overlaps(queries, documents, texts: Any) -> dict[str, np.ndarray]:
    """Return how many words queries and texts of documents share."""
    if not isinstance(texts, Mapping):
        raise TypeError(
            f"texts must be a mapping of document ids to texts, got {shown(texts)}"
        )
    documents, key_of = _as_keys(documents, texts)
    names, words = id_list(queries), {}
    for one in dict.fromkeys(names):
        words[one] = set(tokenize(str(one)))
    columns = np.zeros((3, len(names)))
    known: dict[Any, set[str]] = {}
    for i, (query, document) in enumerate(zip(names, id_list(documents))):
        if document not in known:
            text = texts.get(key_of.get(document, document), "")
            if not isinstance(text, str):
                raise TypeError(f"texts must hold texts, got {shown(text)}")
            known[document] = set(tokenize(text))
        own, others = words[query], known[document]
        n_shared = len(own & others)
        shares = n_shared / max(len(own), 1), n_shared / max(len(others), 1)
        columns[:, i] = len(own), *shares
    return dict(zip(("query_words", "query_in_text", "text_in_query"), columns))


class InteractionModel(Parameters, BaseEstimator):
    r"""Relevance from all that users do, learned from human judgements.

    Models of clicks say how relevance makes users click. This one learns from examples
    what behaviour tells of relevance: each document of a query is described by
    `interaction_features`, whose deviations from the background have the influence of
    the place subtracted, and a ranker learns to order documents as people have judged
    them. It then grades all documents of the log, judged or not.

    Parameters
    ----------
    ranker : BaseRanker, default=None
        Ranker that learns; None takes ``RankNet(random_state=0)``, as in the
        literature. Its features have mean 0 and variance 1.
    deviations_only : bool, default=False
        Whether to leave out the behaviours themselves and keep their deviations.

    Attributes
    ----------
    ranker_ : BaseRanker
        Fitted ranker.
    names_ : list of str
        Names of the features.
    background_ : dict of str to ndarray
        Mean behaviour in each place.
    mean_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of the features.
    query_, document_ : ndarray of shape (n_pairs,)
        Ids of the pairs of the log.
    relevance_ : ndarray of shape (n_pairs,)
        Scores of these pairs; higher is better.
    n_judged_ : int
        Number of pairs with a judgement, which the ranker has learned from.

    See Also
    --------
    to_labels : Grades from these scores.

    References
    ----------
    [Liu2011]_, section 13.2.2.1; [Agichtein2006]_.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import InteractionModel, Sessions, SimulatedUser
    >>> grades = np.tile([0, 2, 1, 0], 50)
    >>> user = SimulatedUser(examination="position")
    >>> click = user.click(grades, np.arange(0, 201, 4), random_state=0)
    >>> log = Sessions.from_lists(
    ...     ["p", "q"] * 25, [list("abcd")] * 50, click.reshape(50, 4).tolist()
    ... )
    >>> judged = {"p": {"a": 0, "b": 2, "c": 1, "d": 0}}
    >>> model = InteractionModel().fit(log, judged)
    >>> model.relevance("q", "b") > model.relevance("q", "d")
    True
    """

    ranker: Any = field(default=None, kw_only=False)
    deviations_only: bool = False

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"deviations_only": True}]

    def fit(
        self,
        sessions: Sessions,
        qrels: Any,
        *,
        dwell_times: npt.ArrayLike | None = None,
        texts: Mapping[Any, str] | None = None,
    ) -> Self:
        """Learn from judgements what behaviour tells of relevance.

        Parameters
        ----------
        sessions : Sessions
            Log.
        qrels : Qrels, or what stands for it
            Judgements of some pairs of the log, also as nested dictionaries ``{query:
            {document: grade}}``, a data frame, or the path of a TREC file. Those of
            pairs that the log does not hold are not used.
        dwell_times, texts : optional
            As in `interaction_features`.

        Returns
        -------
        InteractionModel
            The model itself.

        Raises
        ------
        ValueError
            If no pair of the log is judged, or an argument is not accepted.
        """
        self._check_parameters()
        found = interaction_features(sessions, dwell_times=dwell_times, texts=texts)
        qrels = table_of("qrels", qrels, "InteractionModel.fit")
        row = find_rows(
            found.query, found.document, qrels.groups, qrels.docids, missing="drop"
        )
        judged = np.flatnonzero(row >= 0)
        judged = judged[qrels.y[row[judged]] >= 0]  # pooled and not judged
        if not len(judged):
            raise ValueError(
                f"qrels must judge pairs of the log; of its {len(qrels.y)} judgements "
                "none is of one"
            )
        chosen = [
            not self.deviations_only or name not in found.background
            for name in found.names
        ]
        self.names_ = [n for n, keep in zip(found.names, chosen) if keep]
        X = found.X[:, chosen]
        self.background_ = found.background
        self.mean_, scale = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        X = (X - self.mean_) / self.scale_
        ranker = RankNet(random_state=0) if self.ranker is None else self.ranker
        if not isinstance(ranker, BaseEstimator) or not hasattr(ranker, "predict"):
            raise TypeError(
                f"ranker must be a ranker that can be fitted, got {shown(ranker)}"
            )
        ranker = clone(ranker)
        self.ranker_ = ranker.fit(
            X[judged], qrels.y[row[judged]], groups=found.query[judged]
        )
        self.query_, self.document_ = found.query, found.document
        self.relevance_ = np.asarray(self.ranker_.predict(X), dtype=np.float64)
        self.n_judged_ = len(judged)
        return self

    def predict(
        self,
        sessions: Sessions,
        *,
        dwell_times: npt.ArrayLike | None = None,
        texts: Mapping[Any, str] | None = None,
    ) -> np.ndarray:
        """Score the pairs of another log, by the background of that of `fit`.

        Parameters
        ----------
        sessions : Sessions
            Log.
        dwell_times, texts : optional
            As in `fit`; needed if `fit` had them.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Scores of the pairs, in the order of ``sessions.pairs()``.

        Raises
        ------
        ValueError
            If there are other features than in `fit`.
        """
        check_is_fitted(self)
        found = interaction_features(
            sessions,
            dwell_times=dwell_times,
            texts=texts,
            background=self.background_,
        )
        missing = [name for name in self.names_ if name not in found.names]
        if missing:
            raise ValueError(
                f"predict needs dwell_times and texts as fit had them, to make the "
                f"feature {missing[0]!r}"
            )
        X = found.X[:, [found.names.index(name) for name in self.names_]]
        return self.ranker_.predict((X - self.mean_) / self.scale_)

    def relevance(
        self, query: npt.ArrayLike, document: npt.ArrayLike
    ) -> float | np.ndarray:
        """Return the scores of pairs of the log of `fit`.

        Parameters
        ----------
        query : id, or array-like of shape (n_pairs,)
            Query ids.
        document : id, or array-like of shape (n_pairs,)
            Document ids.

        Returns
        -------
        float or ndarray of shape (n_pairs,)
            Scores.

        Raises
        ------
        ValueError
            If the log does not hold a pair.
        """
        check_is_fitted(self)
        queries, documents = ids_of_pairs_of(query, document)
        row = find_rows(queries, documents, self.query_, self.document_, missing="drop")
        if (row < 0).any():
            first = int(np.flatnonzero(row < 0)[0])
            one = shown(documents.tolist()[first]), shown(queries.tolist()[first])
            raise ValueError(
                f"document {one[0]} was never shown for query {one[1]} in the log"
            )
        values = self.relevance_[row]
        is_one = not is_list(query) and not is_list(document)
        return float(values[0]) if is_one else values
