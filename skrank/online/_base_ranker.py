"""Rankers that show lists, and learn from the clicks on them."""

from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from skrank._core._finite import NotFiniteError, quiet
from skrank._core._parameters import Interval, Positive, PositiveInt, Seed
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_arguments, n_rows
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.metrics import NDCG
from skrank.online._base import Lists, check_clicks
from skrank.online._interaction import Audience, User, interact, values_of_lists
from skrank.online._proposal import Proposal, check_proposal
from skrank.rankers._iterations import ThreadsMixin
from skrank.rankers._online import BaseOnlineRanker
from skrank.rankers._rounds import draw_seed

#: Factor of the learning rate from one impression to the next.
Decay = Annotated[float, Interval(0, 1, "right")]


class BaseClickRanker(ThreadsMixin, BaseOnlineRanker):
    """Base class of online rankers: they show lists, and learn from clicks.

    A subclass implements `_show`, which draws a list for each query, and `_step`, which
    says where the clicks on them lead. `propose` and `partial_fit` serve real users;
    `fit` learns from simulated ones.

    Parameters
    ----------
    learning_rate : float
        Length of the steps.
    learning_rate_decay : float, default=1.0
        Factor of the learning rate from one impression to the next.
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.
    user : SimulatedUser or {"perfect", "navigational", "informational"}, \
default="perfect"
        Who clicks in `fit`: a simulated user, or the behaviour of one. The grades are
        seen by this user, and not by the ranker.
    max_iter : int, default=20
        Number of passes of `fit` over the training queries at most, each of which is
        one impression of every query.
    shuffle : bool, default=True
        Whether each pass of `fit` goes over the queries in an order of its own. Without
        it, they come in the order of their ids.

    Attributes
    ----------
    params_ : ndarray of shape (n_params,)
        Learned parameters.
    n_impressions_ : int
        Number of lists that were learned from.
    seed_ : int
        Seed of the draws of `fit`.
    loss_curve_ : ndarray of shape (n_iterations,)
        Regret in each pass of `fit`: 1 less the mean NDCG@10 of what was shown.
    """

    __metadata_request__partial_fit = {"groups": True, "shown": True}
    __metadata_request__propose = {"groups": True}

    learning_rate: Positive = 0.01
    learning_rate_decay: Decay = 1.0
    length: PositiveInt | None = 10
    user: User = "perfect"

    _steps_over = "queries"

    def _show(self, X: Any, ptr: np.ndarray, rng) -> Lists:
        """Draw a list for each of some queries."""
        raise NotImplementedError

    def _step(
        self, X: Any, ptr: np.ndarray, lists: Lists, clicked: np.ndarray, weight: Any
    ) -> np.ndarray:
        """Return the sum of the steps for lists and clicks, of shape (n_params,)."""
        raise NotImplementedError

    def _energy(self) -> BaseEnergy:
        """Return the family of scoring functions."""
        return LinearEnergy(n_jobs=self.n_jobs)

    def _begin_at(self, X, n_features: int) -> None:
        """Make the parameters to start from."""
        rng = check_random_state(self.random_state)
        self.seed_ = draw_seed(rng)
        energy = self._energy().setup(X, rng)
        if not energy.linear:
            self.energy_ = energy
        else:
            vars(self).pop("energy_", None)
        self.params_ = energy.init_params(n_features, rng)
        self.n_impressions_ = 0

    def _begin(self, data: GroupedRows) -> None:
        self._begin_at(data.X, data.X.shape[1])

    def _pass(self, data: GroupedRows, order: np.ndarray) -> float:
        rng = np.random.RandomState([self.seed_, self.n_impressions_ % 2**32])
        y = np.asarray(data.y, dtype=np.float64)
        audience, values = Audience(self.user, y), []
        for shown in interact(self, data, audience, order, rng):
            values.append(values_of_lists(NDCG(k=10), y, data.ptr, shown))
        found = np.concatenate(values)
        found = found[~np.isnan(found)]
        return float(1.0 - found.mean()) if len(found) else 0.0

    def _follow(
        self, X: Any, ptr: np.ndarray, lists: Lists, clicked: np.ndarray, weight: Any
    ) -> None:
        """Learn from clicks on lists, by the sum of what each of them says."""
        step = self._step(X, ptr, lists, clicked, weight)
        rate = self.learning_rate * self.learning_rate_decay**self.n_impressions_
        params = self.params_ + rate * step
        if not np.isfinite(params).all():
            raise NotFiniteError(
                f"{type(self).__name__}: params_ are not finite after "
                f"{self.n_impressions_} impressions; scale the features, or make "
                "smaller steps"
            )
        self.params_ = params
        self.n_impressions_ += len(ptr) - 1

    def _current(self) -> np.ndarray:
        return self.params_.copy()

    def _scores_at(self, params, X) -> np.ndarray:
        energy = vars(self).get("energy_")
        if energy is None:
            energy = LinearEnergy(n_jobs=self.n_jobs)
        return energy.scores(params, X)

    def _kernel_threads(self, n: int) -> int:
        # About 50 ns for each document of a ranking.
        return n_threads_for(50.0 * n, self.n_jobs)

    def propose(
        self,
        X: ArrayOrCSR,
        groups: npt.ArrayLike | None = None,
        *,
        random_state: Seed = None,
    ) -> Proposal:
        """Draw the list to show for each query.

        A ranker that has learned nothing yet proposes documents at random; the first
        call of `propose` or `partial_fit` says how many features there are. Complexity:
        that of the scores, and O(n log n) for n documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row for each document that could be shown.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. One list is drawn for each query; give an impression
            an id of its own to draw several for the same query.
        random_state : int, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        Proposal
            The lists, by rows of ``X``.

        Raises
        ------
        ValueError
            If groups are missing, or X does not fit the rows that were learned from.
        """
        self._check_parameters()
        check_arguments(BaseClickRanker.propose, random_state=random_state)
        first = not hasattr(self, "params_")
        rows = self._check_rows(X, reset=first)
        ids = self._query_ids("propose", groups, X, n_samples=n_rows(rows))
        if first:
            self._begin_at(rows, rows.shape[1])
            self._note_no_queries(ids)
        index = QueryIndex.from_groups(ids, canonical=True)
        grouped = rows if index.order is None else take_rows(rows, index.order)
        with quiet():
            rng = check_random_state(random_state)
            return Proposal._of(self._show(grouped, index.ptr, rng), index)

    def _note_no_queries(self, ids) -> None:
        """Note that nothing was learned from any query; ids will be of this type."""
        self.query_ids_ = ids[:0].copy()
        self.query_sizes_ = np.zeros(0, dtype=np.intp)
        self.query_grades_ = np.zeros((0, 2))
        self.n_queries_without_preference_ = 0

    def partial_fit(
        self,
        X: ArrayOrCSR,
        clicks: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        shown: Proposal | None = None,
    ) -> Self:
        """Learn from clicks on lists that were shown.

        All lists of a call are taken to be drawn from the parameters as they are, and
        the steps that they ask for are added up.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document, as `propose` was given them.
        clicks : array-like of shape (n_shown,)
            1 for documents that were clicked, 0 for others, in the order of
            ``shown.rows``. Without ``shown``, one number for each row.
        groups : array-like of shape (n_documents,), default=None
            The query of each row.
        shown : Proposal, default=None
            What `propose` returned. None says that all rows were shown, each query's in
            their own order; only rankers that need not know where a document comes from
            learn from that.

        Returns
        -------
        BaseRanker
            The ranker.

        Raises
        ------
        ValueError
            If groups are missing, a click is neither 0 nor 1, lengths or the number of
            features differ, ``shown`` was proposed for other rows, or it is missing and
            the ranker needs it.
        """
        n = n_rows(X)
        ids = self._query_ids("partial_fit", groups, X, n_samples=n)
        index = QueryIndex.from_groups(ids, canonical=True)
        if shown is None:
            if self._needs_proposal():
                raise ValueError(
                    f"{type(self).__name__}.partial_fit needs shown=, what propose "
                    "returned: clicks alone do not say which candidate they prefer"
                )
            clicked = index.take(check_clicks(clicks, n))
            places = np.arange(n) - np.repeat(index.ptr[:-1], index.sizes)
            lists = Lists(places.astype(np.int32), index.ptr)
            of_rows = index.restore(clicked)
        else:
            lists = check_proposal(shown, n, index)._lists
            clicked = check_clicks(clicks, len(shown.rows))
            of_rows = np.zeros(n, dtype=np.uint8)
            of_rows[shown.rows] = clicked

        def method(data, validation):
            if not hasattr(self, "params_"):
                self._begin(data)
            if lists.directions is not None:
                _check_width(lists.directions, self.params_, data.X)
            self._follow(
                _rows_in_order(data, index, ids), index.ptr, lists, clicked, None
            )

        first = not hasattr(self, "params_")
        return self._learn(method, X, of_rows, ids, {}, reset=first, in_order=True)

    def _needs_proposal(self) -> bool:
        """Return whether the ranker must know where documents come from."""
        return True

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scores, of linear rankers."""
        if "energy_" in vars(self):
            raise AttributeError(f"{type(self).__name__} has no coef_: not linear")
        return self.params_

    @property
    def intercept_(self) -> float:
        """Constant of the scores of linear rankers, which have none."""
        if "energy_" in vars(self):
            raise AttributeError(f"{type(self).__name__} has no intercept_: not linear")
        return 0.0


def _check_width(directions: np.ndarray, params: np.ndarray, X: Any) -> None:
    """Raise an error unless candidates were drawn for as many parameters."""
    if directions.shape[2] != len(params):
        raise ValueError(
            f"shown was proposed by candidates of {directions.shape[2]} parameters, "
            f"but X takes {len(params)}; pass the same rows"
        )


def _rows_in_order(data: GroupedRows, index: QueryIndex, ids: np.ndarray) -> Any:
    """Return rows, whose queries come as they were given, in the order of an index."""
    came = QueryIndex.from_groups(ids)
    place = np.arange(len(ids))
    if came.order is not None:
        place[came.order] = np.arange(len(ids))
    wanted = index.take(place)
    in_place = np.array_equal(wanted, np.arange(len(ids)))
    return data.X if in_place else take_rows(data.X, wanted)
