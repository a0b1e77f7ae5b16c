"""Documents, and pairs of documents, whose preferences agree with each other."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._choices import kept_pairs, picks_by_pairs, sums_over_kept
from skrank._core._finite import quiet
from skrank._core._in_steps import coordinates_of, first_eigenvector, gram_of
from skrank._core._parameters import NonNegative, NonNegativeInt
from skrank._core._threads import blas_threads, n_threads_for
from skrank.selection._training_base import (
    BaseTrainingSelector,
    Candidates,
    Chosen,
    SharedMixin,
)

# Steps of the power method, and the change of an entry from which it ends. Where two
# eigenvalues are so close that it does not, a mixture of their vectors is as good.
_MOST_STEPS = 200
_SETTLED = 1e-10

# The largest weight in the unit of features, far above the length of any difference.
# The features' part of the eigenvector is as much smaller than its last entry, and has
# as many digits less, while a greater weight would change its direction by a rounding.
_LARGEST_MU = 2.0**26


class PPCSelection(SharedMixin, BaseTrainingSelector):
    r"""Select documents, or pairs, whose preferences are consistent with each other.

    .. math::
        \mathrm{PPC}(\omega) = \sum_{q, q'} \frac{1}{\tilde m_q \tilde m_{q'}}
            \sum_{u \succ v} \sum_{u' \succ v'} \omega_{uv}^q \omega_{u'v'}^{q'}
            (x_u^q - x_v^q)^\top (x_{u'}^{q'} - x_{v'}^{q'}) = \|R \omega\|^2

    is the pairwise preference consistency of the pairs with :math:`\omega` = 1: how far
    the differences of their features point in one direction, in all queries. The sum is
    over pairs of which u has the better grade; over both orders of each pair, as it is
    sometimes printed, it would be 0. Query q has :math:`\tilde m_q` such pairs.

    Pairs are selected to maximize the consistency and the number of pairs,

    .. math:: \max_{\omega \in \{0, 1\}^p} \|R \omega\|^2 + \mu^2 (e^\top \omega)^2
              = \max_\omega \|\tilde R \omega\|^2,
              \qquad \tilde R = \binom{R}{\mu e^\top},
              \qquad e_{uv}^q = \frac{1}{\tilde m_q}

    where a pair counts as the share that it is of its query, as it does in the
    consistency. In print, e holds ones, which lets large queries outvote others, and
    the best :math:`\mu` depend on their sizes.

    First, the objective is replaced by its lower bound :math:`\lambda_1 (b_1^\top
    \omega)^2` with the first eigenvector of :math:`\tilde R^\top \tilde R`, which the
    pairs of positive :math:`b_1` maximize, or those of negative. Then the pairs of
    positive :math:`\omega^\top \tilde R^\top \tilde R` are taken, again and again, by
    which the objective never falls, until it stands still. :math:`\tilde R` is never
    built: :math:`\tilde R \tilde R^\top`, of the size of the features, is a sum of
    graph Laplacians of the queries, and whether a pair is selected, a comparison of two
    scores.

    Documents are selected to agree with the pairs,

    .. math:: \min_{\alpha \in \{0, 1\}^m, \; e^\top \alpha = n_q}
              \sum_{u, v} (\alpha_u \alpha_v - \omega_{uv})^2,

    where :math:`\omega` is symmetric: the pairs within as many documents as are to be
    selected shall be as many as possible. Solved for real numbers, :math:`\alpha` is
    the first eigenvector of :math:`\omega`. By that alone, few documents would all be
    of the best grade, without any pair. So documents are added one by one, the one with
    most pairs to those before, and of several the one with the greatest entry of the
    eigenvector.

    Similarity is the inner product, so features should be on one scale, as
    `skrank.preprocessing.QueryMinMaxScaler` brings them. Features and :math:`\mu` may
    be of any size; only their ratio counts. Of fewer documents than features, the
    documents are first written in coordinates of the space that they span, which
    changes no inner product. Complexity: O(n f k + k³ + n m) for n documents, m in a
    query, f features, and k = min(n, f), in memory of O(n f + k²). The term k³ is that
    of an eigenvector whose eigenvalue many others all but equal; usually it takes
    O(k²).

    Parameters
    ----------
    mu : float, default=1.0
        Weight :math:`\mu` of the number of pairs, in the unit of a difference of
        features. From the length of the longest difference on, all pairs are selected.
    max_iter : int, default=20
        Largest number of steps after the lower bound; 0 takes the pairs that maximize
        the bound.

    See Also
    --------
    skrank.rankers.RankSVM : Takes pairs as ``preferences``.

    References
    ----------
    [Geng2011]_; [Liu2011]_, section 13.3.2.2, eq. 13.12-13.16.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> from skrank.selection import PPCSelection
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> rows = PPCSelection(0.5).select(X, groups, y=y).rows
    >>> ranker = RankSVM().fit(X[rows], y[rows], groups[rows])
    >>> pairs = PPCSelection().select_pairs(X, groups, y=y)
    >>> ranker = RankSVM().fit(X, preferences=pairs, groups=groups)
    """

    mu: NonNegative = 1.0
    max_iter: NonNegativeInt = 20

    _needs_grades = True

    @classmethod
    def _variants(cls):
        return [{}, {"share": 0.5, "mu": 0.0, "max_iter": 0}]

    def select_pairs(
        self,
        X: Any,
        groups: npt.ArrayLike | None = None,
        *,
        y: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Select pairs of documents of each query, whatever ``share`` is.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Features, without missing values.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of X.
        y : array-like of shape (n_documents,)
            Grades.

        Returns
        -------
        ndarray of shape (n_pairs, 2), dtype intp
            Rows of the document of the better grade and of the other, as rankers take
            ``preferences``, in the order of query ids.

        Raises
        ------
        ValueError
            If features are missing or infinite, lengths differ, y is not given, or an
            argument is malformed.
        """
        candidates = self._candidates(X, groups, y, name="X", caller="select_pairs")
        consistent = _Consistency(candidates, float(self.mu), type(self).__name__)
        slack, scores = consistent.solved(self.max_iter)
        rows = kept_pairs(
            consistent.y, scores, slack, consistent.ptr, consistent.n_threads
        )
        order = candidates.index.order
        return rows if order is None else order[rows]

    def _chosen(self, candidates):
        consistent = _Consistency(candidates, float(self.mu), type(self).__name__)
        slack, scores = consistent.solved(self.max_iter)
        y, ptr = consistent.y, consistent.ptr
        value = consistent.values(slack, scores)
        wanted = self._n_wanted(candidates.index.sizes)
        pick = picks_by_pairs(
            y, scores, slack, value, wanted, ptr, consistent.n_threads
        )
        return Chosen(pick >= 0, np.ones(len(pick), dtype=bool))


class _Consistency:
    """The matrix of the differences of features, by its products.

    Features and mu are in units of 2 to the power of ``exponent``.

    Parameters
    ----------
    candidates : Candidates
        Rows and grades, grouped by query.
    mu : float
        Weight of the number of pairs.
    owner : str
        Name of the selector, for messages.
    """

    def __init__(self, candidates: Candidates, mu: float, owner: str):
        assert candidates.y is not None
        index, X = candidates.index, candidates.values
        finite = np.asarray(np.isfinite(X).all(axis=1))
        if not finite.all():
            row = int(np.flatnonzero(~index.restore(finite))[0])
            raise ValueError(
                f"{owner} compares features, which must be finite numbers; row {row} "
                "has others. Fill what is missing, or use a selector of ranks"
            )
        self.y, self.ptr = candidates.y, index.ptr
        self.codes, self.n_queries = index.codes, index.n_queries
        self.n_threads = n_threads_for(int((index.sizes**2).sum()))
        # Sums of the largest numbers would be infinite.
        exponent = _exponent(X)
        X = np.ldexp(X, -exponent)
        # Only differences count, of which large means would take the digits.
        means = np.add.reduceat(X, self.ptr[:-1]) / index.sizes[:, None]
        X -= means[self.codes]
        self._note_unit(X, mu, exponent)
        if len(X) < X.shape[1]:
            # X = R.T @ Q.T, in which the orthonormal Q changes no inner product.
            with blas_threads(1):
                X = coordinates_of(X)
        self.X = X
        self._note_grades(index.sizes)

    def _note_unit(self, X, mu, exponent):
        """Bring the features, in place, and mu to one unit, so that squares are finite.

        It is a power of two, by which no digit changes.
        """
        more = _exponent(X)
        np.ldexp(X, -more, out=X)
        self.exponent = exponent + more
        with quiet():
            self.mu = float(np.ldexp(mu, -self.exponent))
        self.mu = min(self.mu, _LARGEST_MU)

    def _note_grades(self, sizes):
        """Note which rows have one grade, and how many pairs there are."""
        n = len(self.y)
        self.order = np.lexsort((self.y, self.codes))
        y, codes = self.y[self.order], self.codes[self.order]
        new = (y[1:] != y[:-1]) | (codes[1:] != codes[:-1])
        self.starts = np.flatnonzero(np.append(True, new))
        counts = np.diff(np.append(self.starts, n))
        self.query_of_class = codes[self.starts]
        # Documents of the query with a lower grade, and with a higher one.
        lower = np.repeat(self.starts - self.ptr[self.query_of_class], counts)
        higher = sizes[codes] - lower - np.repeat(counts, counts)
        self.n_lower, self.n_higher = np.empty(n), np.empty(n)
        self.n_lower[self.order], self.n_higher[self.order] = lower, higher
        self.n_pairs = np.bincount(self.codes, self.n_lower, minlength=self.n_queries)
        self.share = 1.0 / np.maximum(self.n_pairs, 1.0)

    def gram(self) -> np.ndarray:
        """Return the products of the rows of the matrix, with mu times ones below."""
        n_features = self.X.shape[1]
        product = np.empty((n_features + 1, n_features + 1))
        weight = self.share[self.codes]
        degree = (self.n_lower + self.n_higher) * weight**2
        sums = np.add.reduceat(self.X[self.order], self.starts)
        sums *= self.share[self.query_of_class][:, None]
        balance = (self.n_lower - self.n_higher) * weight
        # The Laplacian of a graph of all pairs between classes of centred rows.
        product[:-1, :-1] = gram_of(self.X, degree) + gram_of(sums)
        total = np.add.reduceat(self.X, self.ptr[:-1]) * self.share[:, None]
        product[:-1, :-1] -= gram_of(total)
        counts = self.mu * self.share[self.codes]
        product[-1, :-1] = product[:-1, -1] = (balance * counts) @ self.X
        product[-1, -1] = (self.n_pairs * (self.mu * self.share) ** 2).sum()
        return product

    def pairs_of(self, direction) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much pairs may fall short, and the scores of documents."""
        scores = np.ascontiguousarray(self.X @ direction[:-1])
        return np.full(self.n_queries, self.mu * direction[-1]), scores

    def product(self, slack, scores) -> np.ndarray:
        """Return the sum of the columns of the pairs that are kept."""
        ones = np.ones(len(self.y))
        below, above = sums_over_kept(
            self.y, scores, slack, ones, self.ptr, self.n_threads
        )
        weight = self.share[self.codes]
        own = ((below - above) * weight) @ self.X
        return np.append(own, self.mu * (below @ weight))

    def solved(self, max_iter: int) -> tuple[np.ndarray, np.ndarray]:
        """Select pairs; see `pairs_of`."""
        with blas_threads(1):
            first = first_eigenvector(self.gram())
            found = []
            for direction in (first, -first):
                pairs = self.pairs_of(direction)
                column = self.product(*pairs)
                found.append((float(column @ column), pairs, column))
            # Without mu both have one value, and the greater half of the pairs counts.
            value, pairs, column = max(found, key=lambda one: (one[0], one[2][-1]))
            for _ in range(max_iter):
                if value <= 0:
                    break
                new = self.pairs_of(column / np.sqrt(value))
                column = self.product(*new)
                if column @ column <= value:
                    break
                value, pairs = float(column @ column), new
            return pairs

    def values(self, slack, scores) -> np.ndarray:
        """Return numbers that order documents by their entries in `eigenvectors`.

        Equal ones are ordered by how far their pairs lie along the common direction.
        """
        ones, given = np.ones(len(self.y)), (self.y, scores, slack)
        below, above = sums_over_kept(*given, ones, self.ptr, self.n_threads)
        lower, higher = sums_over_kept(*given, scores, self.ptr, self.n_threads)
        margin = (below - above) * scores - lower + higher
        rows = np.arange(len(margin))
        order = np.lexsort((-rows, margin, self.eigenvectors(slack, scores)))
        values = np.empty(len(order))
        values[order] = rows
        return values

    def eigenvectors(self, slack, scores) -> np.ndarray:
        """Return the first eigenvector of the kept pairs of each query.

        Its entries are not negative; all are 0 where no pair is kept. All queries take
        the steps of the power method together. Every edge joins two grades, so that
        eigenvalues of two grades come with both signs: the shift tells them apart.
        """
        starts, codes = self.ptr[:-1], self.codes

        def partners(x):
            below, above = sums_over_kept(
                self.y, scores, slack, x, self.ptr, self.n_threads
            )
            return below + above

        def lengths(x):
            return np.sqrt(np.add.reduceat(x * x, starts))

        degree = partners(np.ones(len(codes)))
        # Between 0 and the eigenvalue, and close to it where degrees are alike.
        shift = lengths(degree) / np.sqrt(np.diff(self.ptr))
        vector = degree / np.maximum(lengths(degree), 1.0)[codes]
        for _ in range(_MOST_STEPS):
            moved = partners(vector) + shift[codes] * vector
            length = lengths(moved)
            moved /= np.where(length > 0, length, 1.0)[codes]
            change = np.abs(moved - vector).max()
            vector = moved
            if change <= _SETTLED:
                break
        return vector


def _exponent(X) -> int:
    """Return the power of two just above all numbers in size; 0 if they are all 0."""
    return int(np.frexp(max(X.max(), -X.min()))[1])
