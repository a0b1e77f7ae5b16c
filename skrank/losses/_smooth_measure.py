"""Ranking measures made smooth, as losses."""

from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import ndtr

from skrank._core import _smooth_measures
from skrank._core._parameters import Positive, invalid_parameter
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.losses._lambda import warn_unchanged
from skrank.metrics import FunctionMeasure, get_measure
from skrank.metrics._gain import discount_of_ranks
from skrank.metrics._registry import MeasureLike, measure_names

Method = Literal[
    "softrank",
    "softrank-gaussian",
    "probit-binomial",
    "sigmoid",
    "softmax",
    "softsort",
    "neuralsort",
]

# What the kernels call the forms of measures; a reciprocal rank is a cascade in which
# the user stops at any relevant document.
_FORMS = {
    "gain_discount": 0,
    "average_precision": 1,
    "reciprocal_rank": 2,
    "cascade": 2,
}
# What the kernel calls the relaxations of sorting.
_RELAXATIONS = {"softmax": 0, "softsort": 1, "neuralsort": 2}
# Discounts that the kernel of real ranks knows as functions.
_RULES = {"log2": 0, "reciprocal": 1}
_TABLE = 2


class SmoothMeasureLoss(BaseLoss):
    r"""A ranking measure, made differentiable by soft ranks.

    A measure is a sum over the documents j with a gain :math:`G_j` of the discounts
    :math:`\eta` of their ranks :math:`r_j`, in one of three forms:

    .. math::

        M = \sum_j G_j \eta(r_j), \qquad
        \sum_j G_j \eta(r_j) \Bigl(1 + \sum_{u \text{ above } j} G_u\Bigr), \qquad
        \sum_j G_j \eta(r_j) \prod_{u \text{ above } j} (1 - G_u),

    that of NDCG, DCG, precision, recall, F and RBP, that of average precision, and that
    of ERR, reciprocal rank and success. Its smooth version takes soft ranks, of which
    there are several kinds; the smaller ``width``, the closer it is to the measure, and
    the flatter between steeper steps. The loss of a query is 1 less the smooth measure,
    or the negative of it for a measure without an upper bound, such as DCG. It is not
    convex, so that what training finds depends on the start, and equal scores may be a
    place without a gradient.

    The unit is the query, with the mean weight of its rows; a query whose grades are
    all equal, or for which the measure is undefined, adds nothing.

    ===================== ============================================== ===============
    method                what is smooth                                 cost of a query
    ===================== ============================================== ===============
    "softrank"            the expectation of M over noisy scores         O(m r k)
    "softrank-gaussian"   the same, ranks being normal                   O(r (m + k))
    "probit-binomial"     the expectation over scores of trials          O(m r k)
    "sigmoid"             ranks as sums of sigmoids                      O(m r)
    "softmax"             documents at positions, by squared distance    O(m k)
    "softsort"            documents at positions, by distance            O(m k)
    "neuralsort"          documents at positions, as in NeuralSort       O(m k)
    ===================== ============================================== ===============

    for m documents, r of them with a gain, and k ranks that count, which are all m
    without a cut-off; the last three also sort.

    Parameters
    ----------
    measure : str or BaseMeasure, default="ndcg@10"
        Any measure of `skrank.metrics` with a ``rank_form``: NDCG, DCG, AP, RR, P, R,
        F, ERR, RBP and success, with any gain, discount and cut-off.
    method : str, default="sigmoid"
        How ranks become soft, with :math:`\tau` for ``width``:

        - "softrank" (SoftRank): scores are independent normal variables with standard
          deviation :math:`\tau`, so that u is above j with the probability
          :math:`\pi_{uj} = \Phi((s_u - s_j) / (\sqrt 2 \tau))`. For each j these events
          count as independent, so that its rank is Poisson binomial, and the
          expectation of M is summed exactly, by a recursion over u.
        - "softrank-gaussian": the distribution of a rank is replaced by the normal one
          with the same mean, and the same variance plus 1/400, rounded to whole ranks;
          what lies beyond the first and the last rank counts for these.
        - "probit-binomial" (decision-theoretic ranking): the same expectation where the
          score of a document is a number of successes in m trials with probability
          :math:`\Phi(\sqrt\pi s_j)`, taken for normal, or in :math:`m / \tau^2` trials.
          Shifts of all scores change it.
        - "sigmoid" (ApproxNDCG): ranks are :math:`1 + \sum_{u \ne j} 1 / (1 + e^{(s_j -
          s_u) / \tau})`, and discounts functions of real ranks; those that are neither
          "log2" nor "reciprocal" are interpolated by a cubic.
        - "softmax" (SmoothRank): position j holds document i with a probability
          proportional to :math:`e^{-(s_i - s_{(j)})^2 / \tau^2}`, where :math:`s_{(j)}`
          is the score at rank j.
        - "softsort" (SoftSort): the same with :math:`e^{-|s_i - s_{(j)}| / \tau}`.
        - "neuralsort" (NeuralSort, PiRank): the same with :math:`e^{((m + 1 - 2 j) s_i
          - \sum_u |s_i - s_u|) / \tau}`.

        The last three put distributions on positions that need not give every document
        one place in all, so that the smooth measure may exceed 1.
    width : float, default=1.0
        Temperature :math:`\tau`, in units of the scores.
    steepness : float, default=1.0
        For "sigmoid", how steep comparisons of soft *ranks* are: a cut-off at k
        multiplies a discount with :math:`1 / (1 + e^{\beta (r_j - k - 1/2)})`, and
        document u is above j to the extent :math:`1 / (1 + e^{\beta (r_u - r_j)})`,
        where :math:`\beta` is this divided by ``width``, so that both approach steps.

    References
    ----------
    [Liu2011]_, section 4.2.1, eq. 4.2–4.14 (in eq. 4.14 the gain must be that of
    document j; as printed, the sum does not depend on the scores); [Taylor2008]_,
    [Zoeter2008]_, [Qin2010b]_, [Chapelle2010b]_, [Grover2019]_, [Prillo2020]_ and
    [Swezey2021]_ for the methods.

    Examples
    --------
    >>> from skrank.losses import SmoothMeasureLoss
    >>> loss = SmoothMeasureLoss("ndcg@2", width=0.1)
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0.0, 0.1, -1.0], [0, 3])
    >>> values.round(2).tolist(), gradient.round(2).tolist()
    ([0.31], [-0.5, 0.5, 0.0])
    """

    short_name: ClassVar[str] = "smooth"
    unit = "query"
    convex = False

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    method: Method = "sigmoid"
    width: Positive = 1.0
    steepness: Positive = 1.0

    @property
    def shift_invariant(self):
        """Whether shifts change nothing: for all methods but "probit-binomial"."""
        return self.method != "probit-binomial"

    @classmethod
    def _variants(cls):
        measures = ["ndcg", "map", "err"]
        methods = sorted({*_RELAXATIONS, *_NOISY, "sigmoid"})
        return [
            *({"measure": a, "method": b} for a in measures for b in methods),
            *({"measure": a} for a in ("dcg@3", "map@3", "mrr", "p@2", "rbp")),
            {"measure": "mrr@3", "method": "softrank", "width": 0.3},
            {"width": 0.3, "steepness": 2.0},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        if get_measure(self.measure).rank_form is None:
            known = measure_names().measures
            names = sorted(name for name in known if known[name].rank_form is not None)
            accepted = f"a measure that can be smoothed, one of {', '.join(names)}"
            if isinstance(get_measure(self.measure), FunctionMeasure):
                accepted += ", because functions do not say what ranks in between are"
            raise invalid_parameter(self, "measure", accepted, self.measure)

    def smoothed(self, width: float) -> Self:
        """Return the same measure at another temperature.

        Parameters
        ----------
        width : float
            Temperature, in units of the scores.

        Returns
        -------
        SmoothMeasureLoss
        """
        return self._with(width=width)

    def _prepare(self, y, ptr, sample_weight, n_threads):
        data = PreparedLoss(y, ptr, sample_weight, n_threads)
        if self.method == "sigmoid":
            return _PreparedSigmoid(self, data)
        if self.method in _RELAXATIONS:
            return _PreparedPositions(self, data)
        return _NOISY[self.method](self, data)

    def _check_bound(self, prepared):
        super()._check_bound(prepared)
        measure = prepared.measure
        if measure.needs_cut_off and measure.k is None and prepared.total_weight:
            warn_unchanged(measure)


def smooth(
    measure: MeasureLike, method: Method = "sigmoid", **options: Any
) -> SmoothMeasureLoss:
    """Turn a ranking measure into a loss.

    Parameters
    ----------
    measure : str or BaseMeasure
        Any measure of `skrank.metrics` with a ``rank_form``, such as "ndcg@10".
    method : str, default="sigmoid"
        How ranks become smooth; see `SmoothMeasureLoss`.
    **options : dict
        Further parameters of `SmoothMeasureLoss`.

    Returns
    -------
    SmoothMeasureLoss

    Raises
    ------
    InvalidParameterError
        If the measure cannot be smoothed, or a parameter is not accepted.

    Examples
    --------
    >>> from skrank.losses import smooth
    >>> smooth("map", width=0.1)
    SmoothMeasureLoss(measure='map', width=0.1)
    """
    loss = SmoothMeasureLoss(measure, method=method, **options)
    loss._check_parameters()
    return loss


class _PreparedSmooth(PreparedLoss):
    """The terms of a measure, bound to grades."""

    n_columns = 1

    def __init__(self, loss, data):
        super().__init__(data.y, data.ptr, data.weight, data.n_threads)
        self.measure = get_measure(loss.measure)
        self.width = float(loss.width)
        # Measures without a form have been refused.
        kind: Any = self.measure.rank_form
        terms: Any = self.measure.delta_terms(self.y, self.ptr)
        self.form = _FORMS[kind]
        self.gain = np.ascontiguousarray(terms.gain, dtype=np.float64)
        weight = informative_query_weights(self.gain, self.ptr, self.weight)
        weight[terms.scale == 0.0] = 0.0
        self.query_weight = weight
        self.total_weight = float(weight.sum())
        #: What the sum over documents is multiplied by, and what is added to it.
        self.factor = -weight * terms.scale
        bound = self.measure.bounds[1]
        self.best = weight * (bound if np.isfinite(bound) else 0.0)
        self._set_discounts(terms)

    def _set_discounts(self, terms):
        # Ranks that do not count take time all the same.
        self.discount = np.trim_zeros(terms.discount, "b")

    def subset(self, queries):
        """Loss of some queries."""
        part, _ = self._part(queries, ["gain"], ["query_weight", "factor", "best"])
        part.total_weight = float(part.query_weight.sum())
        return part


class _PreparedSigmoid(_PreparedSmooth):
    """Discounts of real ranks."""

    def __init__(self, loss, data):
        super().__init__(loss, data)
        self.steepness = float(loss.steepness) / self.width

    def _set_discounts(self, terms):
        named = isinstance(terms.rule, str)
        self.rule = _RULES.get(terms.rule, _TABLE) if named else _TABLE
        self.cut_off = float(terms.k or 0)
        # A soft rank may be half a rank behind the last document.
        self.discount = discount_of_ranks(terms.rule, len(terms.discount) + 1)
        some = len(self.discount) > 1  # or there are no documents
        self.slope = np.gradient(self.discount) if some else np.zeros(1)

    def value_gradient(self, raw):
        values, gradient = _smooth_measures.sigmoid_ranks(
            self._centred_scores(raw),
            self.ptr,
            self.form,
            self.gain,
            self.factor,
            self.discount,
            self.slope,
            self.rule,
            self.cut_off,
            self.steepness,
            self.width,
            self.n_threads,
        )
        return self.best + values, gradient


class _PreparedPositions(_PreparedSmooth):
    """Positions that are distributions over documents."""

    def __init__(self, loss, data):
        super().__init__(loss, data)
        self.kind = _RELAXATIONS[loss.method]

    def value_gradient(self, raw):
        values, gradient = _smooth_measures.soft_positions(
            self._centred_scores(raw),
            self.ptr,
            self.form,
            self.gain,
            self.factor,
            self.discount,
            self.kind,
            self.width,
            self.n_threads,
        )
        return self.best + values, gradient


class _PreparedNoise(_PreparedSmooth):
    """Expectations over scores with noise of one variance."""

    normal = False

    def value_gradient(self, raw):
        values, gradient, _ = self._expected(
            self._centred_scores(raw), None, self.width
        )
        return self.best + values, gradient

    def _expected(self, means, variances, width):
        return _smooth_measures.noisy_scores(
            means,
            variances,
            self.ptr,
            self.form,
            self.gain,
            self.factor,
            self.discount,
            self.normal,
            width,
            self.n_threads,
        )


class _PreparedNormalRanks(_PreparedNoise):
    """The same with normal ranks."""

    normal = True


class _PreparedTrials(_PreparedNoise):
    """Expectations over numbers of successes, which have a variance of their own."""

    def value_gradient(self, raw):
        sizes = np.diff(self.ptr)
        trials = np.repeat(sizes / self.width / self.width, sizes)
        # The variance of the normal distribution in the link is 1 / pi.
        z = np.sqrt(np.pi) * self._scores(raw)
        hit, miss = ndtr(z), ndtr(-z)
        values, by_mean, by_variance = self._expected(
            trials * hit, trials * hit * miss, 1.0
        )
        slope = trials * np.exp(-0.5 * np.minimum(np.abs(z), 1e3) ** 2) / np.sqrt(2.0)
        return self.best + values, slope * (by_mean + (miss - hit) * by_variance)


_NOISY = {
    "softrank": _PreparedNoise,
    "softrank-gaussian": _PreparedNormalRanks,
    "probit-binomial": _PreparedTrials,
}
