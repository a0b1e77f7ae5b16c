"""What a loss is.

A loss compares scores with relevance grades, query by query. It is pure: it sees
grades, scores, the pointer array of the queries and weights, never features, parameters
or an optimizer. `BaseLoss` holds hyper-parameters; `BaseLoss.prepare` binds it to the
grades of a data set and does once what need not be repeated (sorting by grade, counting
pairs), and the resulting `PreparedLoss` is what a solver evaluates.

The value of a query is the *sum* over its units (documents, preference pairs, or the
query itself); ``values.sum() / total_weight`` is the mean over the units.
"""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from skrank._core import _segments

_SMALL = 4096  # documents; below, starting threads costs more than it saves


class BaseLoss(BaseEstimator):
    """A loss over queries, with its hyper-parameters.

    Subclasses set the class attributes and implement `prepare`.

    Attributes
    ----------
    unit : {"document", "pair", "query"}
        What the mean of the loss is taken over.
    n_outputs : int
        Number of scores per document.
    shift_invariant : bool
        Whether adding a constant to all scores of a query leaves the loss unchanged.
    convex : bool
        Whether the loss is convex in the scores.
    has_hessian : bool
        Whether prepared losses offer ``gradient_hessian``.
    reads_labels : bool
        Whether `prepare` takes ``labels``, so that raw scores may have one column per
        label: those of energies E(q, d, r) that depend on the label.
    compares_minima : bool
        Whether, of such energies, the minima over the labels of two documents are
        compared, so that documents are ranked by them, too.
    """

    unit = "document"
    n_outputs = 1
    shift_invariant = False
    convex = True
    has_hessian = False
    reads_labels = False
    compares_minima = False

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Relevance grades, grouped by query.
        ptr : array-like of shape (n_queries + 1,), dtype intp
            Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; None means ones.
        n_threads : int, default=1
            Number of threads of the compiled code. It does not change any result.

        Returns
        -------
        PreparedLoss
        """
        raise NotImplementedError

    def value_gradient(self, y, raw, ptr, sample_weight=None, *, n_threads: int = 1):
        """Evaluate the loss once, without keeping what `prepare` computed.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Relevance grades, grouped by query.
        raw : array-like of shape (n_documents,)
            Scores.
        ptr : array-like of shape (n_queries + 1,), dtype intp
            Pointer array of the queries.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; None means ones.
        n_threads : int, default=1
            Number of threads of the compiled code.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Sum of the loss over the units of each query.
        gradient : ndarray of shape (n_documents,)
            Gradient of ``values.sum()`` with respect to ``raw``.
        """
        return self.prepare(y, ptr, sample_weight, n_threads=n_threads).value_gradient(
            raw
        )

    def to_scores(self, raw):
        """Turn raw model output into scores by which documents are ranked.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Raw output.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        return np.asarray(raw)


class PreparedLoss:
    """A loss bound to the grades of a data set.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades, grouped by query.
    ptr : array-like of shape (n_queries + 1,)
        Pointer array of the queries.
    sample_weight : array-like of shape (n_documents,) or None
        Row weights.
    n_threads : int
        Number of threads of the compiled code.

    Attributes
    ----------
    total_weight : float
        Sum of the weights of the units that carry information; 0 if there are none.
    draws_anew : bool
        Whether the loss drew random numbers that should not serve twice, so that every
        batch is prepared anew.
    """

    total_weight: float
    draws_anew = False

    def __init__(self, y, ptr, sample_weight, n_threads):
        self.ptr = np.ascontiguousarray(ptr, dtype=np.intp)
        self.y = _rows(y, self.n_documents, "y")
        self.weight = None
        if sample_weight is not None:
            self.weight = _rows(sample_weight, self.n_documents, "sample_weight")
        self.n_threads = 1 if self.n_documents < _SMALL else int(n_threads)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.ptr) - 1

    @property
    def n_documents(self) -> int:
        """Number of documents, over all queries."""
        return int(self.ptr[-1])

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Scores.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Sum of the loss over the units of each query.
        gradient : ndarray of shape (n_documents,)
            Gradient of ``values.sum()``.
        """
        raise NotImplementedError

    def _scores(self, raw):
        """Scores as the kernels take them."""
        return _rows(raw, self.n_documents, "raw")


def _rows(array, n_documents, name):
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.shape != (n_documents,):
        raise ValueError(
            f"{name} must have one number per document, shape ({n_documents},); "
            f"got shape {array.shape}"
        )
    return array


def query_weights(y, ptr, sample_weight):
    """Weights of queries as the units of a loss.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    sample_weight : ndarray of shape (n_documents,) or None
        Row weights.

    Returns
    -------
    ndarray of shape (n_queries,)
        The mean weight of the rows of a query; 0 for a query whose grades are all
        equal, because it holds no information about the order.
    """
    sizes = np.diff(ptr)
    weights = np.ones(len(sizes))
    if sample_weight is not None:
        weights = _segments.segment_sum(sample_weight, ptr) / np.maximum(sizes, 1)
    weights[~has_preference(y, ptr)] = 0.0
    return weights


def has_preference(y, ptr):
    """Whether a query has two documents of different grade.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Returns
    -------
    ndarray of shape (n_queries,), dtype bool
    """
    differs = np.zeros(len(y))
    differs[1:] = y[1:] != y[:-1]
    starts = ptr[:-1][np.diff(ptr) > 0]
    differs[starts] = 0.0  # a change of query is not a change of grade
    return _segments.segment_sum(differs, ptr) > 0


def check_positive(value, name: str) -> float:
    """Check a hyper-parameter that must be a positive finite number.

    Parameters
    ----------
    value : object
        What the user passed.
    name : str
        Name of the hyper-parameter.

    Returns
    -------
    float
    """
    if not isinstance(value, Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)
