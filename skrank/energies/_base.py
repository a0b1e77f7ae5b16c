"""What an energy is: a family of scoring functions with parameters in one vector.

An energy E(q, d) is low for documents that suit the query (Fang & Liu 2016, eq. 2).
Losses, measures and users think in scores, where higher is better, so an energy object
computes scores and the energy is their negative.

An energy that depends on the label, E(q, d, r), has one score per document and label,
and says with ``labels_`` which labels there are. An energy that looks at all documents
of a query says so with ``needs_groups``.

An energy knows no losses. It offers its scores and, for a solver, the product of a
gradient with respect to the scores and its Jacobian.
"""

import numpy as np
from sklearn.base import BaseEstimator


class BaseEnergy(BaseEstimator):
    """Base class of scoring functions with a flat parameter vector.

    Subclasses implement `n_params`, `init_params`, `scores` and `scores_and_vjp`.
    """

    #: Whether ``X`` may be a CSR matrix.
    accepts_sparse = False
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

    def setup(self, X, rng=None, y=None, ptr=None):
        """Learn what precedes training, such as the scale of features.

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
        BaseEnergy
            The energy itself, with attributes that end in an underscore.
        """
        return self

    def transform(self, X):
        """Rows as the other methods take them; done once per data set.

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
        """Length of the parameter vector for ``n_features`` features."""
        raise NotImplementedError

    def init_params(self, n_features: int, rng):
        """Parameters to start from, shape (n_params,), float64."""
        raise NotImplementedError

    def scores(self, params, X, ptr=None):
        """Scores as a loss sees them: negative energies.

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

    def document_scores(self, params, X, ptr=None):
        """Scores by which documents are ranked.

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
        """Scores, and the function that pulls a gradient back to the parameters.

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

    def penalty_mask(self, n_features: int):
        """Which parameters the L2 penalty shrinks: ones and zeros, (n_params,)."""
        return np.ones(self.n_params(n_features))

    def constraint(self, n_features: int):
        """Set that the parameters must stay in, or None.

        Parameters
        ----------
        n_features : int
            Number of features.

        Returns
        -------
        object or None
            With methods ``feasible(params)`` and ``project(params)``; None where any
            parameters will do.
        """
        return None

    def coordinates(self, X, alpha: float = 0.0, ptr=None):
        """Coordinates in which a loss of these scores is well conditioned, or None.

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
