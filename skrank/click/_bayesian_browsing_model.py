"""The Bayesian browsing model: the places of the user browsing model, in one pass."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from skrank.click._browsing import BaseBrowsingModel, PlacesMixin
from skrank.click._cells import Cells
from skrank.click._counting import BehaviourPriorMixin
from skrank.click._posterior import BasePosteriorModel


class BayesianBrowsingModel(
    BaseBrowsingModel, PlacesMixin, BasePosteriorModel, BehaviourPriorMixin
):
    r"""Posterior distributions of relevance for users who browse as in the UBM.

    .. math::

       P(E_i = 1 \mid C_1, \dots, C_{i-1}) = \beta_{t_i, s_i}, \qquad
       P(C_i = 1 \mid E_i = 1, R) = R

    with the last click :math:`t_i` before rank i (0 if there is none) and the distance
    :math:`s_i = i - t_i`. Each :math:`\beta` maximises the likelihood when relevance
    is averaged over its prior with mean :math:`\mu`; then the posterior of each pair is
    known in closed form:

    .. math::

       \beta_{t,s} &= \min\left(1, \frac{1}{\mu}
       \frac{\#\text{clicks at } (t, s)}{\#\text{impressions at } (t, s)}\right), \\
       p(R \mid C) &\propto R^{e_0 + a - 1} (1 - R)^{b - 1}
       \prod_{t,s} (1 - \beta_{t,s} R)^{e_{t,s}}

    where :math:`e_0` counts the clicks on the pair and :math:`e_{t,s}` its skips at
    :math:`(t, s)`.

    Attributes
    ----------
    examination_ : ndarray of shape (n_ranks, n_distances)
        The probabilities :math:`\beta`, by rank and distance from 1; 0 where the
        distance exceeds the rank. What lies beyond has the values of the last rank and
        of the greatest distance.

    Notes
    -----
    One pass over the log counts all that the model needs. `relevance_density` returns
    densities, and `preference` the probability that one document is more relevant than
    another. The sums of eq. 13.7 and 13.9 as printed in [Liu2011]_ run over all
    sessions, not over m of them. Complexity: O(n) for n impressions, and O(f) for f
    pairs at the places where they were skipped.

    References
    ----------
    [Liu2009]_; [Liu2011]_, section 13.2.1.2, eq. 13.6–13.10.

    Examples
    --------
    >>> from skrank.click import BayesianBrowsingModel, Sessions
    >>> clicks = [[1, 0], [1, 0], [1, 1], [0, 0]]
    >>> sessions = Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, clicks)
    >>> model = BayesianBrowsingModel().fit(sessions)
    >>> model.preference("q", "a", "b") > 0.5
    True
    """

    short_name: ClassVar[str] = "bbm"
    aliases: ClassVar[tuple[str, ...]] = ("bayesian_browsing",)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"max_rank": 3}, {"prior_clicks": 2.0, "prior_skips": 3.0}]

    def _estimate(self, cells: Cells) -> None:
        places, n_ranks, width = self._in_table(cells)
        placed = replace(cells, slot=places)
        clicks, shown = (
            placed.by_slot(counts, n_ranks * width)
            for counts in (cells.clicks, cells.shown)
        )
        # A place where nothing is known has the share 0.5 of the prior.
        mean = self._prior_mean()
        examination = np.minimum(self._share(clicks / mean, shown), 1.0)
        self.examination_ = self._table_of(examination, n_ranks)
        self._store_moments(cells)

    def _factors(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        rank, distance = np.divmod(cells.slot, self.slot_width_)
        return self.examination_[rank, distance], cells.skips

    def _examination_table(self) -> np.ndarray:
        return self.examination_
