"""PRank, the perceptron with ordered thresholds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._grades import MAX_GRADES, distinct_grades
from skrank._core._parameters import Numbers, invalid_parameter
from skrank._core._rank_perceptrons import learn_dense, learn_sparse
from skrank._rows import GroupedRows
from skrank.energies import LinearEnergy
from skrank.rankers._graded import ThresholdsMixin, places_of
from skrank.rankers._online import BaseOnlineRanker


class BasePRank(ThresholdsMixin, BaseOnlineRanker):
    """Base class of PRank and of ensembles of it.

    The parameters are one row for each perceptron: its direction and its thresholds.

    Parameters
    ----------
    grades : sequence of float, default=None
        All grades that there are. None takes those of the rows of the first call, so
        that a later call of `partial_fit` refuses any other grade.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Direction w.
    intercept_ : float
        Constant of the scores; always 0.
    thresholds_ : ndarray of shape (n_grades - 1,)
        Thresholds between the grades, ascending.
    grades_ : ndarray of shape (n_grades,)
        Grades that the ranker knows, ascending.
    n_documents_seen_ : int
        Number of documents that were presented to the ranker, in all passes.
    loss_curve_ : ndarray of shape (n_iterations,)
        Mean number of thresholds that were on the wrong side of a document's score, in
        each pass.
    """

    approach = "pointwise"

    grades: Numbers | None = None

    def _n_perceptrons(self) -> int:
        return 1

    def _share(self) -> float:
        """Return the share of the documents that a perceptron learns from."""
        return 1.0

    def _begin(self, data: GroupedRows) -> None:
        if self.grades is None:
            self.grades_ = distinct_grades(
                data.y, "because documents are compared with a threshold for each"
            )
        else:
            self.grades_ = self._given_grades()
        # Of a direction that is zero and thresholds that are zero, all are mistaken.
        n_params = data.X.shape[1] + len(self.grades_) - 1
        self.params_ = np.zeros((self._n_perceptrons(), n_params))
        self.n_documents_seen_ = 0

    def _update(self, data, validation):
        self._check_stream()
        super()._update(data, validation)

    def _check_stream(self) -> None:
        """Refuse parameters, set since the last call, that a stream cannot follow."""
        if not hasattr(self, "params_"):
            return
        n = len(self.params_)
        if n != self._n_perceptrons():
            accepted = f"{n} as in the calls of partial_fit before"
            raise invalid_parameter(
                self, "n_estimators", accepted, self._n_perceptrons()
            )
        if self.grades is not None and not np.array_equal(
            self._given_grades(), self.grades_
        ):
            accepted = f"{self.grades_.tolist()} as in the calls of partial_fit before"
            raise invalid_parameter(self, "grades", accepted, self.grades)

    def _given_grades(self) -> np.ndarray:
        given = np.asarray(self.grades, dtype=np.float64)
        finite = np.isfinite(given).all() and np.all(given >= 0.0)
        grades = np.unique(given)
        if given.ndim != 1 or not 0 < len(grades) <= MAX_GRADES or not finite:
            accepted = (
                f"a sequence of finite numbers >= 0, at most {MAX_GRADES} different"
            )
            raise invalid_parameter(self, "grades", accepted, self.grades)
        return grades

    def _pass(self, data: GroupedRows, order: np.ndarray) -> float:
        name = type(self).__name__
        places = places_of(
            np.asarray(data.y), self.grades_, f"name all grades by {name}(grades=...)"
        )
        rest = {
            "place": places,
            "weight": data.sample_weight,
            "order": np.ascontiguousarray(order, dtype=np.intp),
            "params": self.params_,
            "n_thresholds": len(self.grades_) - 1,
            "share": self._share(),
            "seed": self._seed(),
            "first": self.n_documents_seen_,
            "n_threads": self._n_threads(data.X),
        }
        corrected, drawn = _learn(data.X, rest)
        self.n_documents_seen_ += len(order)
        weight = drawn.sum()
        return float(corrected.sum() / weight) if weight else 0.0

    def _seed(self) -> int:
        return 0  # nothing is drawn

    def _n_threads(self, X) -> int:
        return 1

    def _current(self) -> np.ndarray:
        return self.params_.copy()

    def _scores_at(self, params, X) -> np.ndarray:
        return LinearEnergy(n_jobs=1).scores(params[:, : X.shape[1]].mean(axis=0), X)

    def _learned(self) -> Iterator[tuple[str, Any]]:
        # The means over perceptrons are what the model consists of.
        yield "params_", self.params_
        # A direction is a sum of rows, so that scores overflow where this does. A
        # perceptron would take them for wrong, or for right, and go on.
        yield "the square of params_", np.square(self.params_)

    @property
    def coef_(self) -> np.ndarray:
        """Direction w, the mean over the perceptrons."""
        return self.params_[:, : self.n_features_in_].mean(axis=0)

    @property
    def intercept_(self) -> float:
        """Constant of the scores, which have none."""
        return 0.0

    @property
    def thresholds_(self) -> np.ndarray:
        """Ascending thresholds between the grades, the mean over the perceptrons."""
        return self.params_[:, self.n_features_in_ :].mean(axis=0)


def _learn(X, rest) -> tuple[np.ndarray, np.ndarray]:
    """Make a pass over rows, dense or sparse, by the compiled kernel."""
    if not sparse.issparse(X):
        return learn_dense(X, **rest)
    return learn_sparse(
        X.data,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.intp, copy=False),
        X.shape[1],
        **rest,
    )


class PRank(BasePRank):
    r"""PRank: a perceptron whose scores lie between ordered thresholds.

    A document of grade y, the place of which among the K grades is counted from 1,
    should have a score above the thresholds :math:`b_r` with :math:`r < y` and below
    the others. With :math:`z_r = 1` for the former and −1 for the latter,

    .. math:: \tau_r = z_r \text{ if } z_r (w^T x - b_r) \le 0, \text{ else } 0,
              \qquad w \leftarrow w + \Bigl(\sum_r \tau_r\Bigr) x, \qquad
              b_r \leftarrow b_r - \tau_r.

    The thresholds stay in order after every step. If unit vectors :math:`(w^*, b^*)`
    separate the documents by a margin :math:`\gamma`, then the sum of
    :math:`|\hat y - y|` over any number of documents with :math:`\lVert x \rVert \le R`
    is at most :math:`(K - 1)(R^2 + 1) / \gamma^2`. The book abbreviates the step as
    :math:`w + x`.

    `fit` makes up to ``max_iter`` passes in random order; `partial_fit` makes one, in
    the order of the rows. Scale the features: a step is as long as the document. The
    weight of a document multiplies its step; thresholds that such steps of different
    lengths would let cross are moved to the nearest ones in order.

    Complexity: O(n (d + K)) per pass over n documents with d features and K grades; the
    model takes O(d + K) memory, however long the stream is.

    References
    ----------
    [Liu2011]_, section 2.4.1; [Crammer2002]_, figure 2, lemma 1 and theorem 2.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import PRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = PRank(grades=(0, 1, 2, 3, 4))
    >>> for query in range(30):
    ...     rows = groups == query
    ...     ranker = ranker.partial_fit(X[rows], y[rows], groups[rows])
    >>> ranker.score(X, y, groups) > 0.6
    True
    >>> bool((ranker.thresholds_[1:] >= ranker.thresholds_[:-1]).all())
    True
    """

    @classmethod
    def _variants(cls):
        return [{}, {"shuffle": False}]
