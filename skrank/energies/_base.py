"""What an energy is: a family of scoring functions with parameters in one vector.

An energy E(q, d) is low for documents that suit the query ([Fang2016]_, eq. 2).
Losses, measures and users think in scores, where higher is better, so an energy object
computes scores and the energy is their negative.

An energy that depends on the label, E(q, d, r), has one score per document and label,
and says with ``labels_`` which labels there are. An energy that looks at all documents
of a query says so with ``needs_groups``.

An energy knows no losses. It offers its scores and, for a solver, the product of a
gradient with respect to the scores and its Jacobian.
"""

import functools
import inspect
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from skrank._core._finite import checked_array
from skrank._core._inner import as_answer, as_floats, is_of_user, numbers_of
from skrank._core._learned import Learned
from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank._core._sparse import check_sparse, narrow_csr
from skrank._core._validation import as_numbers, naming

#: Methods that take rows, and the place of these among the arguments.
_PLACES_OF_ROWS = {"setup": 0, "transform": 0, "coordinates": 0, "document_scores": 1}


def _of_sound_rows(function, place):
    """Have a method take sparse rows as CSR, and refuse those beyond their shape."""

    @functools.wraps(function)
    def method(self, *args, **named):
        X: Any = args[place] if len(args) > place else named.get("X")
        check_sparse(X, once=True)
        _check_takes(self, X)
        if sparse.issparse(X) and X.format != "csr":
            if "X" in named:
                named["X"] = narrow_csr(X)
            else:
                args = (*args[:place], narrow_csr(X), *args[place + 1 :])
        return function(self, *args, **named)

    return method


def _check_takes(energy, X):
    if sparse.issparse(X) and not energy.accepts_sparse:
        raise TypeError(
            f"{type(energy).__name__} takes X as an array, got a sparse matrix; use "
            f"{energy._instead_of_sparse}"
        )


def _of_fitting_arrays(function):
    """Have a method take parameters and rows as its compiled code needs them.

    It trusts their lengths: of parameters that are too many, it would read the first.
    """

    of_user = is_of_user(function)

    @functools.wraps(function)
    def evaluate(self, params, X, *rest, **named):
        # Solvers pass arrays for which nothing is to be done.
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd"
        if not (plain and X.flags.c_contiguous) and not sparse.issparse(X):
            with naming("X", only_where_silent=True):
                X = checked_array(
                    X,
                    dtype=[np.float64, np.float32],
                    order="C",
                    ensure_all_finite=False,
                    ensure_min_samples=0,
                    ensure_min_features=0,
                    input_name="X",
                )
        _check_takes(self, X)
        check_sparse(X, once=True)
        n = self.n_params(X.shape[1])
        if type(params) is not np.ndarray or params.dtype.char != "d":
            params = as_numbers(params, "params")
        if params.shape != (n,):
            raise ValueError(
                f"params must hold the {n} parameters of {type(self).__name__} for "
                f"{X.shape[1]} features, got shape {params.shape}"
            )
        found = function(self, np.ascontiguousarray(params), X, *rest, **named)
        if not of_user:
            return found
        name = f"{type(self).__name__}.{function.__name__}"
        if function.__name__ == "scores":
            return _scores_of_rows(found, name, X)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(
                f"{name} must return scores and a function, got {shown(found)}"
            )
        scores, vjp = found

        def pulled(gradient):
            return as_answer(vjp(gradient), f"the function of {name}", n, "parameters")

        return _scores_of_rows(scores, name, X), pulled

    return evaluate


def _scores_of_rows(scores, name, X) -> np.ndarray:
    """Return what a method of the user's has returned as scores of rows."""
    scores, n = numbers_of(scores, name), X.shape[0]
    if scores.ndim not in (1, 2) or len(scores) != n:
        raise ValueError(
            f"what {name} returns must hold scores of {n} rows, got an array of shape "
            f"{scores.shape}"
        )
    return scores


def _of_one_vector(function):
    """Have a method return one number for each parameter."""

    @functools.wraps(function)
    def start(self, n_features, rng):
        found, n = function(self, n_features, rng), self.n_params(n_features)
        name = f"{type(self).__name__}.{function.__name__}"
        return as_floats(found, name, n, "parameters")

    return start


class BaseEnergy(Learned, Parameters, BaseEstimator):
    r"""Base class of scoring functions with a flat parameter vector.

    Subclasses declare their parameters as annotated class attributes, implement
    `n_params`, `init_params`, `scores` and `scores_and_vjp`, and call ``super().setup``
    if they extend `setup`.

    An energy with several scores per document, such as the K − 1 differences
    :math:`f(x) - b_k` of a score and the thresholds :math:`b_1 \le \ldots \le
    b_{K-1}` between K grades, has ``n_outputs`` > 1 (known after `setup`, which sees
    the grades) and columns of scores. Where the thresholds are in ascending order,
    scores never increase from left to right, and ``ordered_outputs`` says so.
    The thresholds are parameters like others, by convention the last ones: they start
    where `init_params` puts them, are left alone by the penalty where `penalty_mask`
    has zeros, and stay in order if `constraint` names that set, or if the parameters
    are the first threshold and the logarithms of the increments.
    `document_scores` returns f(x), by which documents are ranked.
    """

    #: Name by which rankers and the registry know the energy; set by concrete classes.
    short_name: ClassVar[str]
    #: Whether ``X`` may be a CSR matrix.
    accepts_sparse = False
    #: Number of scores of a document; with ``labels_``, of the score under the labels.
    n_outputs = 1
    #: Whether the scores of a document never increase from one column to the next.
    ordered_outputs = False
    #: Whether energies are never negative, as distances are. Losses that square the
    #: energy of the preferred document, and pull it to 0 thereby, are meant for these.
    non_negative = False
    #: Whether scores are linear in the parameters, so convex losses stay convex.
    linear = False
    #: Whether scores of a document depend on the other documents of its query, so that
    #: prediction needs to know the queries.
    needs_groups = False
    #: Whether `constraint` names a set that the parameters must stay in.
    constrained = False
    #: Labels r of E(q, d, r) in ascending order, one column of scores for each; None
    #: for energies that do not depend on the label.
    labels_ = None

    _learned_by = "setup(X, ...)"
    _instead_of_sparse = "X.toarray()"

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in ("scores", "scores_and_vjp"):
            own = vars(cls).get(name)
            if inspect.isfunction(own):
                setattr(cls, name, _of_fitting_arrays(own))
        for name, place in _PLACES_OF_ROWS.items():
            own = vars(cls).get(name)
            if inspect.isfunction(own):
                setattr(cls, name, _of_sound_rows(own, place))
        own = vars(cls).get("init_params")
        if inspect.isfunction(own):
            cls.init_params = _of_one_vector(own)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments that the contract tests run over."""
        return [{}]

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Check the parameters and learn what precedes training.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Training rows.
        rng : RandomState, default=None
            Source of randomness, such as the choice of landmarks.
        y : ndarray of shape (n_documents,), default=None
            Training grades, for energies that depend on labels.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts.

        Returns
        -------
        Self
            The energy itself, with attributes that end in an underscore.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        TypeError
            If a parameter has a wrong type.
        """
        self._check_parameters()
        return self

    def transform(self, X):
        """Return rows as the other methods take them; called once per data set.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_documents, n_transformed)
            ``X`` itself unless the energy has features of its own.
        """
        return X

    def n_params(self, n_features: int) -> int:
        """Return the length of the parameter vector.

        Here and in the methods below, ``n_features`` is the number of columns of
        ``transform(X)``, which for energies with features of their own is not that of
        ``X``.
        """
        raise NotImplementedError

    def init_params(self, n_features: int, rng) -> np.ndarray:
        """Return parameters to start from, shape (n_params,), float64.

        ``n_features`` is the number of columns of ``transform(X)``.
        """
        raise NotImplementedError

    def scores(self, params, X, ptr=None) -> np.ndarray:
        """Return scores as a loss sees them: negative energies.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts; always given where `needs_groups` is true.

        Returns
        -------
        ndarray of shape (n_documents,) or (n_documents, n_outputs)
            float64; with ``labels_``, one column per label.
        """
        raise NotImplementedError

    def document_scores(self, params, X, ptr=None) -> np.ndarray:
        """Return the scores by which documents are ranked.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts.

        Returns
        -------
        ndarray
            The scores themselves, unless several scores of a document make one.
        """
        return self.scores(params, X, ptr)

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores, and the function that pulls a gradient back to parameters.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        rng : RandomState, default=None
            Given while training with noise, such as dropout.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts.

        Returns
        -------
        scores : ndarray of shape (n_documents,) or (n_documents, n_outputs)
            Scores.
        vjp : callable
            ``vjp(gradient)``, given an array like the scores, is the gradient with
            respect to the parameters.
        """
        raise NotImplementedError

    def penalty_mask(self, n_features: int) -> np.ndarray:
        """Return ones for the parameters that the L2 penalty shrinks, else zeros.

        ``n_features`` is the number of columns of ``transform(X)``.
        """
        return np.ones(self.n_params(n_features))

    def constraint(self, n_features: int) -> Any:
        """Return the set that the parameters must stay in, or None.

        Parameters
        ----------
        n_features : int
            Number of columns of ``transform(X)``.

        Returns
        -------
        object or None
            With methods ``feasible(params)`` and ``project(params)``; None where any
            parameters will do.
        """
        return None

    def coordinates(self, X, alpha: float = 0.0, ptr=None) -> Any:
        """Return coordinates in which a loss of the scores is well conditioned.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Training rows.
        alpha : float, default=0.0
            Strength of the L2 penalty.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts, for losses that see only differences of scores
            within a query.

        Returns
        -------
        object or None
            With methods ``to_params(v)``, ``from_params(params)`` and
            ``pull(gradient)``; None when the parameters serve as they are.
        """
        return None


def unfitted(energy: BaseEnergy) -> BaseEnergy:
    """Return a copy of an energy with its parameters and without what it learned.

    Parameters
    ----------
    energy : BaseEnergy
        Any energy.

    Returns
    -------
    BaseEnergy
    """
    return cast(BaseEnergy, clone(energy))
