"""What every model of clicks shares: sessions in, probabilities of clicks out.

A model says what it learns from sessions, and three things about clicks: their
probabilities given what happened before in the session, those that know of no other
click, and how clicks are drawn. Likelihood, perplexity and simulation follow.
"""

from abc import abstractmethod
from collections.abc import Iterable, MutableSequence, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import quiet
from skrank._core._id_arrays import id_array, id_list
from skrank._core._missing import is_polars
from skrank._core._parameters import NThreads, Parameters, Seed
from skrank._core._segments import segment_sum
from skrank._core._validation import check_arguments
from skrank.click._log import Log
from skrank.click._pair_table import PairTable
from skrank.click._sessions import Sessions, check_sessions
from skrank.click._sessions_ids import ids_of, lists_of

Kind = Literal["conditional", "marginal"]


class BaseClickModel(Parameters, BaseEstimator):
    """Base class of models of clicks.

    A model is fitted to `Sessions`, which scikit-learn can slice, so that
    ``cross_val_score`` and ``GridSearchCV`` take it with ``y=None``.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs. Results do not depend on it.

    Attributes
    ----------
    short_name : str
        Name of the model on the command line.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the queries of the sessions, in ascending order.
    document_ids_ : ndarray of shape (n_documents,)
        Ids of their documents, in ascending order.
    pair_query_ : ndarray of shape (n_pairs,)
        Number of the query of each pair of query and document that was shown.
    pair_document_ : ndarray of shape (n_pairs,)
        Number of the document of each pair.
    relevance_ : ndarray of shape (n_pairs,)
        Relevance of the document of each pair for its query, from 0 to 1.
    """

    short_name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    # What `relevance_table` shows of each pair, and what it calls that.
    _columns: ClassVar[dict[str, str]] = {"relevance": "relevance_"}

    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments that the common tests try."""
        return [{}]

    @abstractmethod
    def fit(self, sessions: Sessions, y: Any = None) -> Self:
        """Fit the model to sessions.

        Parameters
        ----------
        sessions : Sessions
            Sessions with their clicks, of any lengths.
        y : None
            Ignored; scikit-learn passes it.

        Returns
        -------
        BaseClickModel
            The model itself.
        """

    @abstractmethod
    def _conditional(self, log: Log) -> np.ndarray:
        """Return the probability of each click, given what happened before it."""

    @abstractmethod
    def _marginal_examination(self, log: Log) -> np.ndarray:
        """Return how likely each document is examined when no click is known."""

    def _marginal(self, log: Log) -> np.ndarray:
        """Return the probability of each click when no other click is known."""
        return self._attraction(log) * self._marginal_examination(log)

    @abstractmethod
    def _draw(self, log: Log, uniform: np.ndarray) -> np.ndarray:
        """Return clicks that follow from random numbers, one for each impression."""

    @abstractmethod
    def _attraction(self, log: Log) -> np.ndarray:
        """Return the probability that each document is clicked if it is examined."""

    @abstractmethod
    def _unknown(self) -> dict[str, float]:
        """Return the values of a pair that was never shown, by attribute."""

    def _pairs(self) -> PairTable:
        return PairTable(
            self.query_ids_, self.document_ids_, self.pair_query_, self.pair_document_
        )

    def _store_pairs(self, table: PairTable) -> None:
        self.query_ids_, self.document_ids_ = table.query_ids, table.document_ids
        self.pair_query_, self.pair_document_ = table.query, table.document

    def _log_of(self, sessions: Any) -> Log:
        check_is_fitted(self)
        sessions = check_sessions(sessions)
        return Log(sessions, self._pairs().locate(sessions), self.n_jobs)

    def _of_pairs(self, name: str, pair: np.ndarray) -> np.ndarray:
        """Return an attribute of numbered pairs; −1 stands for a pair not known."""
        return np.append(getattr(self, name), self._unknown()[name])[pair]

    def predict_proba(
        self, sessions: Sessions, kind: Kind = "conditional"
    ) -> np.ndarray:
        """Return the probability of a click on each impression.

        Parameters
        ----------
        sessions : Sessions
            Sessions. Pairs of query and document that were not among those of `fit`
            have the values that the prior gives them.
        kind : {"conditional", "marginal"}, default="conditional"
            "conditional" is the probability given the clicks and skips above it in the
            same session; the likelihood of a session is their product. "marginal" is
            the probability when nothing is known but the documents: their clicks are
            not looked at.

        Returns
        -------
        ndarray of shape (n_impressions,)
            Probabilities, in the order of ``sessions.document``.
        """
        log = self._log_of(sessions)
        check_arguments(self.predict_proba, kind=kind)
        return self._conditional(log) if kind == "conditional" else self._marginal(log)

    def log_likelihood(
        self, sessions: Sessions, *, per_session: bool = False
    ) -> float | np.ndarray:
        """Return the natural logarithm of the probability of all clicks and skips.

        Parameters
        ----------
        sessions : Sessions
            Sessions.
        per_session : bool, default=False
            Whether to return one number for each session instead of their sum.

        Returns
        -------
        float or ndarray of shape (n_sessions,)
            Log-likelihood; −inf for what the model holds to be impossible, such as two
            clicks in a session of the cascade model.
        """
        log = self._log_of(sessions)
        check_arguments(self.log_likelihood, per_session=per_session)
        events = log.probabilities_of_events(self._conditional(log))
        with quiet():
            values = segment_sum(np.log(events), log.ptr)
        return values if per_session else float(values.sum())

    def score(self, sessions: Sessions, y: Any = None) -> float:
        """Return the mean log-likelihood of a session.

        Parameters
        ----------
        sessions : Sessions
            Sessions, at least one.
        y : None
            Ignored; scikit-learn passes it.

        Returns
        -------
        float
            Sum of `log_likelihood` over all sessions, divided by their number. Higher
            is better.
        """
        values = self.log_likelihood(sessions, per_session=True)
        _check_some(sessions)
        return float(np.mean(values))

    def perplexity(
        self,
        sessions: Sessions,
        *,
        per_rank: bool = True,
        kind: Kind = "marginal",
    ) -> float | np.ndarray:
        r"""Return how surprised the model is by clicks and skips at each rank.

        .. math::

           p_r = 2^{-\frac{1}{N_r} \sum_s c_{s,r} \log_2 q_{s,r}
                 + (1 - c_{s,r}) \log_2 (1 - q_{s,r})}

        with the predicted probability :math:`q_{s,r}` of a click in session :math:`s`
        at rank :math:`r`, over the :math:`N_r` sessions that reach this rank. It is 1
        if all is foreseen, and 2 for a coin.

        Parameters
        ----------
        sessions : Sessions
            Sessions, at least one.
        per_rank : bool, default=True
            Whether to return one number for each rank instead of their mean.
        kind : {"conditional", "marginal"}, default="marginal"
            Kind of the probabilities, as in `predict_proba`.

        Returns
        -------
        float or ndarray of shape (n_ranks,)
            Perplexity; infinite if something impossible happened.
        """
        log = self._log_of(sessions)
        check_arguments(self.perplexity, per_rank=per_rank, kind=kind)
        _check_some(sessions)
        marginal = kind == "marginal"
        probability = self._marginal(log) if marginal else self._conditional(log)
        with quiet():
            bits = np.log2(log.probabilities_of_events(probability))
        counts = np.bincount(log.rank)[1:]
        with quiet():
            values = np.exp2(-np.bincount(log.rank, weights=bits)[1:] / counts)
        return values if per_rank else float(values.mean())

    def predict_examination(self, sessions: Sessions) -> np.ndarray:
        """Return the probability that each document is examined.

        Parameters
        ----------
        sessions : Sessions
            Sessions, whose clicks are not looked at.

        Returns
        -------
        ndarray of shape (n_impressions,)
            Probabilities; in some models, they depend on the documents above. A
            marginal probability of a click is the product of this one and of the
            probability that the document is clicked if it is examined.
        """
        return self._marginal_examination(self._log_of(sessions))

    def examination_by_rank(self, sessions: Sessions) -> np.ndarray:
        """Return how likely the documents at each rank are examined.

        Parameters
        ----------
        sessions : Sessions
            Sessions, at least one, whose clicks are not looked at.

        Returns
        -------
        ndarray of shape (n_ranks,)
            Mean of `predict_examination` over the sessions that reach the rank.
        """
        examined = self.predict_examination(sessions)
        _check_some(sessions)
        rank = sessions.position
        return np.bincount(rank, weights=examined)[1:] / np.bincount(rank)[1:]

    def relevance(self, query: Any, document: Any) -> float | np.ndarray:
        """Look up the relevance of documents for queries.

        Parameters
        ----------
        query : id, or array-like of shape (n,)
            Query id, or one for each document.
        document : id, or array-like of shape (n,)
            Document id, or several.

        Returns
        -------
        float or ndarray of shape (n,)
            Relevance; that of the prior for pairs that were never shown.
        """
        check_is_fitted(self)
        pair, is_one = self._pairs_of_ids(query, document)
        values = self._of_pairs("relevance_", pair)
        return float(values[0]) if is_one else values

    def _pairs_of_ids(
        self, query: Any, document: Any, name: str = "document"
    ) -> tuple[np.ndarray, bool]:
        """Return the numbers of pairs, and whether only one was asked for."""
        is_one = not _is_list(document)
        documents = ids_of(_listed(document), name, "document id")
        queries = ids_of(_listed(query), "query", "query id")
        if not _is_list(query):
            queries = queries[np.zeros(len(documents), dtype=np.intp)]
        if len(queries) != len(documents):
            raise ValueError(
                f"query and {name} must hold one id each for a pair, got "
                f"{len(queries)} and {len(documents)}"
            )
        return self._pairs().find_ids(queries, documents), is_one

    def relevance_table(self, *, as_frame: bool = False) -> Any:
        """Return what was learned of each pair of query and document, as a table.

        Parameters
        ----------
        as_frame : bool, default=False
            Whether to return a data frame of pandas.

        Returns
        -------
        dict of str to ndarray, or DataFrame
            Columns ``query`` and ``document`` with the ids of each pair,
            ``relevance``, and what else the model knows of it.

        Raises
        ------
        ImportError
            If pandas is asked for and not installed.
        """
        check_is_fitted(self)
        check_arguments(self.relevance_table, as_frame=as_frame)
        columns = {
            "query": self.query_ids_[self.pair_query_],
            "document": self.document_ids_[self.pair_document_],
        }
        columns |= {name: vars(self)[own] for name, own in self._columns.items()}
        if not as_frame:
            return columns
        from skrank.datasets._container import import_pandas

        pd = import_pandas("relevance_table")
        return pd.DataFrame(
            {
                name: pd.Series(id_list(column), dtype=object)
                if column.dtype.kind in "OUS"
                else column
                for name, column in columns.items()
            }
        )

    def sample(
        self,
        queries: Sessions | npt.ArrayLike,
        documents: Iterable[Sequence] | None = None,
        *,
        random_state: Seed = None,
    ) -> Sessions:
        """Draw the clicks of simulated users.

        Parameters
        ----------
        queries : Sessions, or array-like of shape (n_sessions,)
            Sessions whose documents are shown again, or the id of the query of each
            session.
        documents : iterable of sequences, default=None
            Ids of the documents of each session, the first place first; None if
            ``queries`` are sessions.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        Sessions
            The same lists with other clicks.
        """
        check_arguments(self.sample, random_state=random_state)
        if isinstance(queries, Sessions):
            if documents is not None:
                raise ValueError("documents must be None, because queries are sessions")
            sessions = queries
        elif documents is None:
            raise ValueError(
                "documents must hold the documents of each session, unless queries are "
                "Sessions"
            )
        else:
            lists = lists_of(documents, "documents")
            no_clicks = [[0] * len(row) for row in lists]
            sessions = Sessions.from_lists(queries, lists, no_clicks)
        log = self._log_of(sessions)
        uniform = check_random_state(random_state).random_sample(len(log.click))
        return replace(sessions, click=self._draw(log, uniform))


def _is_list(ids: Any) -> bool:
    """Return whether these are several ids; a tuple may be one."""
    if is_polars(ids) or isinstance(ids, (MutableSequence, memoryview, range)):
        return True
    return hasattr(ids, "__array__") and np.ndim(ids) > 0


def _listed(ids: Any) -> Any:
    return ids if _is_list(ids) else id_array([ids])


def _check_some(sessions: Sessions) -> None:
    if not sessions.n_impressions:
        raise ValueError(
            f"sessions must hold at least one impression, got {sessions!r}"
        )
