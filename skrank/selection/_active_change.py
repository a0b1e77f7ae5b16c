"""Expected hypothesis change: documents whose grade would move the ranker most."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from skrank._core._finite import at_most_one, quiet
from skrank._core._messages import shown
from skrank._core._pipelines import last_step, rows_of_last_step
from skrank._core._queries import take_rows
from skrank.rankers._threshold_boosting import add_weak
from skrank.selection._active_base import BaseActiveSelector, Offers, Pool

# Pairs of documents that are looked at together.
_BLOCK = 1 << 18


# Documents that a judge has put far down would make slopes overflow.
_STEEPEST = np.exp(500.0)
# Lengths beyond this power of two are equal, so that sums of them are finite.
_LARGEST = 1000
# Scores farther from the mean of their query than so many times those judged.
_FARTHEST = 1e150


def _hinge(margin, m):
    return (margin > m).astype(np.float64)


def _squared_hinge(margin, m):
    return 2.0 * np.maximum(margin - m, 0.0)


@quiet()
def _exponential(margin, m):
    return np.minimum(np.exp(-m), _STEEPEST)


def _logistic(margin, m):
    return 1.0 / (1.0 + np.exp(np.clip(m, -500.0, 500.0)))


#: Falling slope of the loss of a pair, as a function of the margin and the difference.
_SLOPES: dict[str, Callable[[float, np.ndarray], np.ndarray]] = {
    "hinge": _hinge,
    "squared_hinge": _squared_hinge,
    "exponential": _exponential,
    "logistic": _logistic,
}


class ExpectedHypothesisChange(BaseActiveSelector):
    r"""Documents whose grade, not known yet, would change the ranker most.

    .. math:: C(x) = \sum_g P(g \mid x) \, \Bigl\lVert
              \frac{\partial D_g(w, x)}{\partial w} \Bigr\rVert, \qquad
              D_g(w, x) = \sum_{v:\, y_v \ne g} \psi\bigl(z_v\, w^T (\varphi(x) -
              \varphi(x_v))\bigr), \quad z_v = \operatorname{sgn}(g - y_v)

    where :math:`D_g` is the loss of the pairs that document x of grade g would form
    with the judged documents v of its query. The ranker is at a minimum of the loss of
    all pairs so far, so that its first step towards the new minimum goes along this
    gradient, and the document is judged whose expected step is largest. The hypothesis
    w is that of the ranker: the coefficients of the (kernel) features :math:`\varphi`
    of `RankSVM` and other linear rankers, or the weights of the weak rankers
    :math:`\varphi_t = h_t` of `RankBoost`.

    The posterior of a grade is that of normal distributions of scores around the mean
    of each grade, of one variance, where scores are taken relative to the mean score of
    their query; the share of grade g among the judged documents, each grade counted
    once more, is its prior.

    Documents of queries without judged ones form no pairs, and come last. The sum over
    pairs favours queries of which many documents are judged: limit it by
    ``max_per_query``, or take the mean.

    Complexity: O(G (P + n d)) for G grades, P pairs of a judged and another document,
    and n documents of d features, or of as many weak rankers. Memory O(n).

    Parameters
    ----------
    loss : {"auto", "hinge", "squared_hinge", "exponential", "logistic"}, default="auto"
        Loss :math:`\psi` of a pair; "auto" takes that of the ranker, with its
        parameters. Hinges have the margin of the loss of the ranker, or 1.
    pairs : {"sum", "mean"}, default="sum"
        Whether to take the sum of the loss over pairs, as the source, or the mean.

    See Also
    --------
    SVMSelectiveSampling : Documents that the ranker can hardly tell apart.

    References
    ----------
    [Donmez2008]_; [Liu2011]_, section 13.3.1.2. The posterior is our choice.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> from skrank.selection import ExpectedHypothesisChange
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> judged = np.arange(len(y)) % 4 == 0
    >>> ranker = RankSVM().fit(X[judged], y[judged], groups[judged])
    >>> grades = np.ma.masked_array(y, mask=~judged)
    >>> rows = ExpectedHypothesisChange().select(ranker, X, groups, n=5, y=grades)
    >>> bool(judged[rows].any())
    False
    """

    loss: Literal["auto", "hinge", "squared_hinge", "exponential", "logistic"] = "auto"
    pairs: Literal["sum", "mean"] = "sum"

    _needs_judged = True

    @classmethod
    def _variants(cls):
        others = [{"loss": loss} for loss in ("hinge", "squared_hinge", "exponential")]
        more = [{"loss": "logistic", "pairs": "mean"}, *others]
        return [*super()._variants(), *more]

    def _offers(self, pool):
        model = last_step(pool.ranker)
        features_of, slope = hypothesis_of(model), self._slope_of(model)
        scores = pool.scores()
        grades, posterior = grade_posterior(pool, scores)
        values = np.zeros(pool.index.n_documents)
        ids, ptr = pool.index.ids[pool.codes], pool.index.ptr
        rows = rows_of_last_step(pool.ranker, pool.rows(), ids)
        for q in range(pool.index.n_queries):
            places = np.arange(ptr[q], ptr[q + 1])
            known, new = places[pool.judged[places]], places[~pool.judged[places]]
            if not (len(known) and len(new)):
                continue
            known_phi = features_of(take_rows(rows, known))
            height = max(1, _BLOCK // len(known))
            for first in range(0, len(new), height):
                part = new[first : first + height]
                phi = features_of(take_rows(rows, part))
                gap = scores[part][:, None] - scores[known]
                for k, grade in enumerate(grades):
                    sign = np.sign(grade - pool.y[known])
                    step = sign * slope(sign * gap)
                    if self.pairs == "mean":
                        step /= max(1, np.count_nonzero(sign))
                    change = _norms(phi, known_phi, step)
                    values[part] += posterior[part, k] * change
        return Offers(pool.open[:, None], values[pool.open])

    def _slope_of(self, model) -> Callable[[np.ndarray], np.ndarray]:
        """Return the falling slope of the loss of a pair by the difference."""
        loss: Any = getattr(model, "loss_", None)
        if self.loss != "auto":
            return partial(_SLOPES[self.loss], float(getattr(loss, "margin", 1.0)))
        if not hasattr(loss, "margin_loss") or loss.unit != "pair":
            raise ValueError(
                "ExpectedHypothesisChange: loss='auto' takes the loss of pairs of the "
                f"ranker, which {type(model).__name__} does not have; set loss to one "
                f"of {', '.join(map(repr, _SLOPES))}"
            )

        @quiet()
        def slope(m):
            return np.minimum(-loss.margin_loss(m)[1], _STEEPEST)

        return slope


def _norms(phi, known_phi, step) -> np.ndarray:
    """Return the length of the gradient of the pairs of each new document.

    Parameters
    ----------
    phi : ndarray or CSR matrix of shape (n_new, n_parameters)
        Features of the hypothesis of the new documents.
    known_phi : ndarray or CSR matrix of shape (n_known, n_parameters)
        Those of the judged documents.
    step : ndarray of shape (n_new, n_known)
        Weight of each difference of features.
    """
    with quiet():
        found = np.ldexp(*_lengths(phi, known_phi, step))
    if (found < 2.0**_LARGEST).all():
        return found
    size, of_step = _exponent(phi, known_phi), _exponent(step)
    parts = _over(phi, size), _over(known_phi, size), _over(step, of_step)
    lengths, exponents = _lengths(*parts)
    return np.ldexp(lengths, np.minimum(exponents + size + of_step, _LARGEST))


def _lengths(phi, known_phi, step) -> tuple[np.ndarray, np.ndarray]:
    """Return what `_norms` does over powers of two, and their exponents.

    Without these, squares would overflow or vanish; they round nothing.
    """
    total = step.sum(axis=1)
    if sparse.issparse(phi):
        pulled = sparse.csr_array(step) @ sparse.csr_array(known_phi)
        moved = sparse.csr_array(
            sparse.csr_array(phi).multiply(total[:, None]) - pulled
        )
        own = np.frexp(abs(moved).max(axis=1).toarray().ravel())[1]
        of_entry = np.repeat(own, np.diff(moved.indptr))
        moved.data = np.ldexp(moved.data, -of_entry)
        squares = np.asarray(moved.multiply(moved).sum(axis=1)).ravel()
    else:
        moved = total[:, None] * phi - step @ known_phi
        own = np.frexp(np.abs(moved).max(axis=1, initial=0.0))[1]
        moved = np.ldexp(moved, -own[:, None])
        squares = np.einsum("ij,ij->i", moved, moved)
    return np.sqrt(squares), own


def _exponent(*arrays) -> int:
    """Return the power of two that is just above all numbers in size."""
    parts = (array.data if sparse.issparse(array) else array for array in arrays)
    largest = max(float(np.abs(part).max(initial=0.0)) for part in parts)
    return int(np.frexp(largest)[1])


def _over(array, exponent: int) -> Any:
    """Return an array over a power of two."""
    if not sparse.issparse(array):
        return np.ldexp(array, -exponent)
    array = sparse.csr_array(array)
    array.data = np.ldexp(array.data, -exponent)
    return array


def hypothesis_of(ranker: Any) -> Callable[[Any], Any]:
    """Return the features in which the scores of a ranker are linear.

    Parameters
    ----------
    ranker : estimator
        Fitted; a linear ranker, or one with weighted weak rankers.

    Returns
    -------
    callable
        Maps rows to features of shape (n_rows, n_parameters).

    Raises
    ------
    ValueError
        If the scores of the ranker are not linear in anything that it learned.
    """
    if np.ndim(getattr(ranker, "coef_", 0.0)) == 1:
        energy = getattr(ranker, "energy_", None)
        if energy is None:
            return _numbers
        return lambda X: energy.transform(_numbers(X))
    arrays = getattr(ranker, "_weak_arrays", None)
    if arrays is not None:
        return lambda X: _weak_ranks(_numbers(X), arrays())
    raise ValueError(
        "ExpectedHypothesisChange: ranker must be linear, such as RankSVM(), or add up "
        f"weak rankers, as RankBoost() does; got {shown(ranker)}"
    )


def _numbers(X) -> Any:
    if sparse.issparse(X):
        return X.tocsr()
    return np.ascontiguousarray(X, dtype=np.float64)


def _weak_ranks(X, arrays) -> np.ndarray:
    """Return what each weak ranker says of each document."""
    plain = arrays | {"weight": np.ones(len(arrays["weight"]))}
    ranks = np.zeros((len(plain["weight"]), len(X)))
    for t in range(len(ranks)):
        add_weak(ranks[t][:, None], X, plain, 1, t)
    return ranks.T


def grade_posterior(pool: Pool, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the grades that were given, and the probability of each by the scores.

    Parameters
    ----------
    pool : Pool
        Documents, some of them judged.
    scores : ndarray of shape (n_documents,)
        Scores, grouped by query.

    Returns
    -------
    grades : ndarray of shape (n_grades,)
        Distinct grades of the judged documents.
    posterior : ndarray of shape (n_documents, n_grades)
        Probabilities.
    """
    ptr, sizes = pool.index.ptr, pool.index.sizes
    scores = at_most_one(scores)
    relative = scores - np.repeat(np.add.reduceat(scores, ptr[:-1]) / sizes, sizes)
    # Beside a judged score of about 1, the others may be of any size.
    with quiet():
        relative = np.ldexp(relative, -_exponent(relative[pool.judged]))
    relative = np.clip(relative, -_FARTHEST, _FARTHEST)
    known, y = relative[pool.judged], pool.y[pool.judged]
    grades, number, count = np.unique(y, return_inverse=True, return_counts=True)
    mean = np.bincount(number, known) / count
    spread = known - mean[number]
    variance = max(float(spread @ spread) / len(known), 1e-12 * float(known @ known))
    prior = (count + 1.0) / (count + 1.0).sum()
    if variance == 0.0:  # a ranker that gives one score to all
        return grades, np.tile(prior, (len(scores), 1))
    # The square of the score, which is the same for all grades, would hide the rest.
    logs = np.log(prior) + (relative[:, None] * mean - 0.5 * mean**2) / variance
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return grades, weights / weights.sum(axis=1, keepdims=True)
