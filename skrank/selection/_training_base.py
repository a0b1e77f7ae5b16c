"""What all selectors of documents to train on share: the systems, and what is drawn."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank._core._best_first import best_first
from skrank._core._parameters import Parameters, Seed
from skrank._core._queries import QueryIndex
from skrank._core._validation import as_numbers, resolve_groups


@dataclass(frozen=True, eq=False)
class TrainingSelection:
    """Documents to train on, and how probable it was that each is among them.

    Attributes
    ----------
    rows : ndarray of shape (n_selected,), dtype intp
        Rows of the selected documents, in ascending order.
    probability : ndarray of shape (n_selected,)
        Probability of each to be selected, in (0, 1]; 1 where nothing is drawn.

    Examples
    --------
    >>> from skrank.selection import InfAPSampling
    >>> chosen = InfAPSampling(0.5, random_state=0).select([4, 3, 2, 1], [0] * 4)
    >>> chosen.probability.tolist(), chosen.weights.tolist()
    ([0.5, 0.5], [2.0, 2.0])
    """

    rows: np.ndarray
    probability: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Inverse probabilities, for ``sample_weight``, shape (n_selected,)."""
        return 1.0 / self.probability


class BaseTrainingSelector(Parameters, BaseEstimator):
    """Base class of selectors of documents that are worth training on.

    A subclass says in `_probabilities` how probable it is that a document is selected,
    and which ones are, from the ranks that retrieval systems give to the documents.

    See Also
    --------
    skrank.aggregation.join_runs : Makes the array of scores of several runs.
    """

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    @abstractmethod
    def _chosen(
        self, ranks: np.ndarray, index: QueryIndex
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the marks of selected documents, and the probability of each."""

    def select(
        self, scores: npt.ArrayLike, groups: npt.ArrayLike | None = None
    ) -> TrainingSelection:
        """Select documents of every query.

        Parameters
        ----------
        scores : array-like of shape (n_documents,) or (n_documents, n_systems)
            Scores of one or several retrieval systems, higher is better; NaN or −inf
            where a system did not retrieve the document. Documents of equal score keep
            the order of their rows.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of ``scores``.

        Returns
        -------
        TrainingSelection
            Rows and their probabilities. Complexity: O(n S log m) for n documents, m
            in a query, and S systems.

        Raises
        ------
        ValueError
            If scores are no numbers, lengths differ, or an argument is malformed.
        """
        self._check_parameters()
        table = as_numbers(scores, "scores")
        if table.ndim not in (1, 2) or not table.size:
            raise ValueError(
                "scores must hold one row per document and one column per system, got "
                f"shape {table.shape}"
            )
        caller = f"{type(self).__name__}.select"
        ids = resolve_groups(groups, scores, n_samples=len(table), caller=caller)
        index = QueryIndex.from_groups(ids, canonical=True)
        ranks = ranks_of_systems(index.take(table.reshape(len(table), -1)), index.ptr)
        marks, probability = self._chosen(ranks, index)
        rows = np.flatnonzero(index.restore(marks))
        return TrainingSelection(rows, index.restore(probability)[rows])


def ranks_of_systems(scores: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return the rank of each document in its query by each system.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_systems)
        Scores, NaN or −inf for what a system did not retrieve.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents, n_systems)
        Ranks from 1; infinity for what a system did not retrieve.
    """
    place = np.arange(len(scores)) - np.repeat(ptr[:-1], np.diff(ptr)) + 1.0
    ranks = np.empty(scores.shape)
    for j in range(scores.shape[1]):
        values = np.where(np.isnan(scores[:, j]), -np.inf, scores[:, j])
        ranks[best_first(values, ptr), j] = place
        ranks[values == -np.inf, j] = np.inf
    return ranks


class SampledMixin(Parameters):
    """Selectors that draw documents at random.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Source of randomness.
    """

    random_state: Seed = None

    def _rng(self) -> np.random.RandomState:
        return check_random_state(self.random_state)
