"""Models with a posterior distribution of the relevance of each pair."""

from abc import abstractmethod
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.special import roots_jacobi
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Interval
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_arguments
from skrank.click._cells import Cells
from skrank.click._counting import BaseCountingModel, PosteriorCount
from skrank.click._labels_posteriors import PosteriorTables, preference_probability
from skrank.click._models import posterior_grids, posterior_moments

_N_NODES, _N_POINTS = 64, 257
# Exponents of r, bounds of the factors of each pair, factors, and their exponents.
_Densities = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
_Points = Annotated[int, Interval(5, 2**20)]
# Nanoseconds for a factor at one place.
_WORK = 10


class BasePosteriorModel(BaseCountingModel):
    r"""Base class of Bayesian models of clicks.

    The relevance of a pair has a beta distribution before the log, and afterwards the
    density

    .. math::

       p(R) \propto R^{e_0 + a - 1} (1 - R)^{b - 1} \prod_j (1 - \gamma_j R)^{e_j}

    with whole numbers :math:`e_j` that add up over logs. Subclasses return the factors
    :math:`\gamma_j` of all slots and the counts that they are exponents of.

    Parameters
    ----------
    prior_clicks : float, default=1.0
        Parameter a, from 1 to 1e9, of the beta distribution of relevance before the
        log.
    prior_skips : float, default=1.0
        Parameter b, from 1 to 1e9. With the defaults, the distribution is the uniform
        one. Pairs in places where few users look stay close to the mean a / (a + b);
        where labels are made, it had better be that of documents (:ref:`click_prior`).

    Attributes
    ----------
    relevance_ : ndarray of shape (n_pairs,)
        Mean of the posterior distribution of each pair.
    relevance_variance_ : ndarray of shape (n_pairs,)
        Variance of it.
    """

    _columns: ClassVar[dict[str, str]] = {
        "relevance": "relevance_",
        "relevance_variance": "relevance_variance_",
    }

    prior_clicks: PosteriorCount = 1.0
    prior_skips: PosteriorCount = 1.0

    @abstractmethod
    def _factors(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the factor and the exponent of each cell."""

    def _unknown(self) -> dict[str, float]:
        a, b = self.prior_clicks, self.prior_skips
        variance = a * b / ((a + b) ** 2 * (a + b + 1))
        return {"relevance_": a / (a + b), "relevance_variance_": variance}

    def _store_moments(self, cells: Cells) -> None:
        densities = self._densities(cells, np.arange(len(cells.table)))
        work = _WORK * _N_NODES * len(densities[2])
        self.relevance_, self.relevance_variance_ = posterior_moments(
            *densities, *self._rules(), n_threads_for(work, self.n_jobs)
        )

    def _rules(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return rules of integration for the exponents of the prior."""
        left, right = self.prior_clicks % 1.0, self.prior_skips % 1.0
        return *_nodes(left, right), left, right

    def _densities(self, cells: Cells, pairs: np.ndarray) -> _Densities:
        """Return exponents, bounds and factors of pairs; −1 has those of the prior."""
        factor, count = self._factors(cells)
        bounds = np.append(cells.ptr, cells.ptr[-1])  # the last pair has no cell
        starts, sizes = bounds[pairs], np.diff(bounds)[pairs]
        ptr = np.append(0, np.cumsum(sizes + 1)).astype(np.intp)
        # Before its cells, each pair has the factor of the prior.
        places = np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes + 1) - 1
        rows = np.repeat(starts, sizes + 1) + places
        is_prior = places < 0
        rows[is_prior] = 0
        factor = np.where(is_prior, 1.0, np.append(factor, 0.0)[rows])
        count = np.where(is_prior, self.prior_skips - 1.0, np.append(count, 0)[rows])
        clicks = np.append(cells.by_pair(cells.clicks), 0)[pairs]
        return clicks + (self.prior_clicks - 1.0), ptr, factor, count

    def relevance_density(
        self, query: Any, document: Any, n_points: _Points = 129
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the posterior densities of the relevance of documents.

        Parameters
        ----------
        query : id, or array-like of shape (n,)
            Query id, or one for each document.
        document : id, or array-like of shape (n,)
            Document id, or several.
        n_points : int, default=129
            Number of places where a density is computed.

        Returns
        -------
        low, high : ndarrays of shape (n,)
            Bounds of the part of [0, 1] outside of which each density is negligible.
        density : ndarray of shape (n, n_points)
            Densities at equal distances from ``low`` to ``high``.

        Raises
        ------
        ValueError
            If there are not one query and one document for each pair, or fewer than 5
            places.
        """
        check_is_fitted(self)
        check_arguments(self.relevance_density, n_points=n_points)
        pairs, _ = self._pairs_of_ids(query, document)
        return self._grids(pairs, int(n_points), flat=False)

    def _grids(
        self, pairs: np.ndarray, n_points: int, flat: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return bounds and tables of the densities of pairs."""
        densities = self._densities(self._cells(), pairs)
        work = _WORK * (n_points + _N_NODES) * len(densities[2])
        n_threads = n_threads_for(work, self.n_jobs)
        return posterior_grids(*densities, *self._rules(), n_points, flat, n_threads)

    def _tables_of_ids(self, queries: Any, documents: Any) -> PosteriorTables:
        """Return tables to compare documents by."""
        check_is_fitted(self)
        return self._tables(self._pairs_of_ids(queries, documents)[0])

    def _tables(self, pairs: np.ndarray) -> PosteriorTables:
        """Return tables to compare pairs by.

        An order does not depend on the scale; on the flat one, densities whose powers
        are not whole are as smooth as others.
        """
        return PosteriorTables.of(*self._grids(pairs, _N_POINTS, flat=True))

    def preference(self, query: Any, document: Any, other: Any) -> float | np.ndarray:
        r"""Return how likely a document is more relevant than another one.

        .. math::

           P(R_j > R_i) = \iint_{r_j > r_i} p_j(r_j) \, p_i(r_i) \, dr_j \, dr_i

        Parameters
        ----------
        query : id, or array-like of shape (n,)
            Query id, or one for each document.
        document : id, or array-like of shape (n,)
            Document id, or several.
        other : id, or array-like of shape (n,)
            The document or the documents to compare with.

        Returns
        -------
        float or ndarray of shape (n,)
            Probabilities [Liu2011]_, eq. 13.10. They add up to 1 with those of the
            opposite, and are 0.5 for a document and itself; their error is below 1e-6.
            Complexity: O(f) for f factors of both densities.

        Raises
        ------
        ValueError
            If there are not as many documents as others.
        """
        check_is_fitted(self)
        first, is_one = self._pairs_of_ids(query, document)
        second, _ = self._pairs_of_ids(query, other, "other")
        if len(first) != len(second):
            raise ValueError(
                f"document and other must hold one id each for a comparison, got "
                f"{len(first)} and {len(second)}"
            )
        # A table is made once for each pair, however often it is compared.
        pairs, rows = np.unique(np.concatenate([first, second]), return_inverse=True)
        one, two = np.split(rows.reshape(-1), 2)
        chances = preference_probability(self._tables(pairs), one, two)
        return float(chances[0]) if is_one else chances


@lru_cache(maxsize=8)
def _nodes(left: float, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the four rules of Gauss and Jacobi that `posterior_moments` takes."""
    nodes, weights = [], []
    for a, b in ((0.0, 0.0), (left, 0.0), (0.0, right), (left, right)):
        x, w = roots_jacobi(_N_NODES, b, a)
        nodes.append((x + 1.0) / 2.0)
        weights.append(w / 2.0 ** (a + b + 1.0))
    return np.concatenate(nodes), np.concatenate(weights)
