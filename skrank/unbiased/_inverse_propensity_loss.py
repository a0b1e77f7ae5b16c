"""Losses of true relevance, estimated from clicks."""

from dataclasses import field
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from skrank._core._parameters import invalid_parameter
from skrank._core._queries import rows_of_queries
from skrank.losses import BaseLoss, ExplicitPairsLoss, HingeLoss, LogisticLoss, LogLoss
from skrank.losses._base import PreparedLoss


class InversePropensityLoss(BaseLoss):
    r"""An unbiased estimate, from clicks, of a loss of true relevance.

    The grades are estimates of relevance from clicks, :math:`\hat r_i = c_i / p_i`:
    the inverse propensity of the place for clicked documents, 0 for others. Their mean
    over users is the relevance :math:`r_i`, be it 0 or 1 or a probability. What is
    linear in them is therefore right in the mean, whatever the propensities are. Of a
    loss :math:`\ell` of single documents and of one of pairs :math:`\phi` these are

    .. math::
        L &= \sum_i \hat r_i\, \ell(f(x_i), 1) + (1 - \hat r_i)\, \ell(f(x_i), 0) \\
        L &= \sum_i \hat r_i \sum_{j \neq i} \phi\bigl(f(x_i), f(x_j)\bigr)

    The second compares a clicked document with *all* others of its query, clicked or
    not: that the others were not clicked does not tell that they are not relevant. The
    first has negative terms where :math:`\hat r_i > 1`, so that it need not be convex.
    Row weights multiply :math:`\hat r_i` and :math:`1 - \hat r_i`.

    Complexity: up to three evaluations of a loss of documents; one of a loss of pairs,
    besides O(c²) for the c clicked documents of a query.

    Parameters
    ----------
    loss : BaseLoss, default=None
        A loss of single documents whose grade 1 means relevant and 0 not, such as
        `LogisticLoss` or `SquaredLoss`; or a loss of pairs that offers ``pair_loss``,
        without normalisation or ``grade_weights``. None means `LogLoss`.

    References
    ----------
    [Joachims2017]_, sections 4 and 6, for pairs; [Saito2020]_, section 3, for
    documents.

    Examples
    --------
    >>> from skrank.losses import HingeLoss
    >>> from skrank.unbiased import InversePropensityLoss
    >>> loss = InversePropensityLoss(HingeLoss())
    >>> values, gradient = loss.value_gradient([0, 4, 0], [0, 0, 0], [0, 3])
    >>> values.tolist(), gradient.tolist()
    ([8.0], [4.0, -8.0, 4.0])
    """

    loss: BaseLoss | None = field(default=None, kw_only=False)

    @classmethod
    def _variants(cls):
        return [{}, {"loss": HingeLoss()}, {"loss": LogisticLoss()}]

    def _inner(self) -> Any:
        return LogLoss() if self.loss is None else self.loss

    def _check_parameters(self):
        super()._check_parameters()
        loss = self._inner()
        if getattr(loss, "n_outputs", 1) != 1 or not (
            hasattr(loss, "pair_loss") or loss.unit == "document"
        ):
            accepted = (
                "a loss of documents or of pairs with one score for each document, "
                "such as LogisticLoss() or LogLoss()"
            )
            raise invalid_parameter(self, "loss", accepted, loss)
        sums = getattr(loss, "normalization", "pair") == "pair"
        if not sums or getattr(loss, "grade_weights", None) is not None:
            accepted = "a plain sum over pairs, without normalization or grade_weights"
            raise invalid_parameter(self, "loss", accepted, loss)

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return self._inner().unit

    @property
    def shift_invariant(self):
        """Whether the loss depends on differences of scores alone."""
        return self._inner().shift_invariant

    @property
    def convex(self):
        """Whether the loss is convex in the scores, whatever the grades."""
        return self._inner().convex and hasattr(self._inner(), "pair_loss")

    @property
    def descends(self):
        """Whether training lowers the loss."""
        return self._inner().descends

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``."""
        loss = self._inner()
        of_pairs = hasattr(loss, "pair_loss")
        return loss.has_hessian and (not of_pairs or hasattr(loss, "margin_curvature"))

    def to_scores(self, raw):
        """Turn raw model output into scores, as the loss inside does."""
        return self._inner().to_scores(raw)

    def _prepare(self, y, ptr, sample_weight, n_threads):
        data = PreparedLoss(y, ptr, sample_weight, n_threads)
        relevance = np.asarray(data.y)
        if (relevance < 0).any():
            row = int(np.argmax(relevance < 0))
            raise ValueError(
                "y must hold clicks over propensities, numbers >= 0; found "
                f"{relevance[row]:g} in row {row}"
            )
        if hasattr(self._inner(), "pair_loss"):
            return _Signed(data, self._inner(), list(self._of_pairs(data, relevance)))
        return _Signed(data, self._inner(), list(self._of_documents(data, relevance)))

    def _of_documents(self, data, relevance):
        """Yield the sign and the loss of each part of the sum over documents."""
        own = 1.0 if data.weight is None else data.weight
        none, rest = np.zeros_like(relevance), 1.0 - relevance
        for sign, grades, weight in (
            (1.0, none + 1.0, own * relevance),
            (1.0, none, own * np.maximum(rest, 0.0)),
            (-1.0, none, own * np.maximum(-rest, 0.0)),
        ):
            if weight.any():
                bound = self._inner()._bind(
                    grades, data.ptr, weight, n_threads=data.n_threads
                )
                yield sign, bound

    def _of_pairs(self, data, relevance):
        """Yield the losses of clicked above other documents, and above clicked ones."""
        loss, threads = self._inner(), data.n_threads
        weight = relevance if data.weight is None else relevance * data.weight
        clicked = (relevance > 0).astype(np.float64)
        yield 1.0, loss._bind(clicked, data.ptr, weight, n_threads=threads)
        pairs = _pairs_within(np.flatnonzero(clicked), data.ptr)
        if len(pairs):
            both = ExplicitPairsLoss(loss, pairs, weight[pairs[:, 0]])
            yield 1.0, both._bind(None, data.ptr, None, n_threads=threads)


def _pairs_within(rows: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return all ordered pairs of two different rows of one query."""
    bounds = np.searchsorted(rows, ptr)
    query = np.repeat(np.arange(len(ptr) - 1), np.diff(bounds))
    places, ends = rows_of_queries(bounds, query)
    pairs = np.column_stack([np.repeat(rows, np.diff(ends)), rows[places]])
    return pairs[pairs[:, 0] != pairs[:, 1]]


class _Signed(PreparedLoss):
    """Sum of prepared losses, of which some are subtracted."""

    def __init__(self, data, loss, parts):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.loss, self.parts = loss, parts
        self.total_weight = float(sum(s * part.total_weight for s, part in parts))

    def value_gradient(self, raw):
        return self._sums(raw, "value_gradient", 2)

    @available_if(lambda self: all(_has_hessian(part) for _, part in self.parts))
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._sums(raw, "gradient_hessian", 3)

    def _sums(self, raw, method, n_results):
        raw = self._scores(raw)
        totals = [np.zeros(self.n_queries), *(np.zeros_like(raw) for _ in range(2))]
        for sign, part in self.parts:
            results = getattr(part, method)(raw)
            for total, result in zip(totals[:n_results], results, strict=True):
                total += sign * result
        return tuple(totals[:n_results])


def _has_hessian(part) -> bool:
    return hasattr(part, "gradient_hessian")
