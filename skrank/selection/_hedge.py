"""Documents for which systems vouch that have been right so far."""

import numpy as np

from skrank._core._choices import picks_by_mixture
from skrank._core._parameters import Fraction
from skrank.selection._adaptive_base import BaseAdaptiveSelector


class HedgePooling(BaseAdaptiveSelector):
    r"""Select the documents that are likely to be relevant, by a mixture of systems.

    .. math::
        u = \arg\max_u \sum_s \omega_s \ell_s(u), \qquad
        \ell_s(u) = \frac{1}{2} \sum_{k = r_s(u)}^{Z_s} \frac{1}{k}, \qquad
        \omega_s \leftarrow \omega_s \,
            \beta^{\,(-1)^{x_u} \ell_s(u)}

    with the rank :math:`r_s(u)` of document u by system s, which retrieved :math:`Z_s`
    documents of the query. The loss of a system is what u costs its total precision:
    :math:`\ell_s(u)` if it is not relevant, :math:`x_u` = 0, and the negative of it if
    it is; 0 if the system did not retrieve u. Systems begin with equal weights
    :math:`\omega_s` for each query. Of equal documents, the first row is selected.

    Rankers that learn from what is found in this way see few documents that are not
    relevant and many on which systems agree, and need larger samples than others
    ([Liu2011]_, section 13.3.2.1). Complexity: O(n m :math:`\rho` S) for n documents, m
    in a query, and S systems.

    Parameters
    ----------
    beta : float, default=0.5
        Factor of the weight of a system for a loss of 1, in (0, 1). The smaller, the
        faster the mixture forgets systems that were wrong.

    See Also
    --------
    MTCSelection : Documents that tell systems apart.
    skrank.rankers.PreferenceOrdering : Mixes preferences by the same algorithm.

    References
    ----------
    [Aslam2003]_; [Freund1997]_; [Liu2011]_, section 13.3.2.1.

    Examples
    --------
    >>> from skrank.selection import HedgePooling
    >>> scores = [[4, 1], [3, 2], [2, 3], [1, 4]]
    >>> HedgePooling(0.5).select(scores, [0] * 4, y=[0, 0, 1, 1]).rows.tolist()
    [0, 3]
    """

    beta: Fraction = 0.5

    def _picks(self, candidates, relevant, wanted, n_threads):
        ptr, log_beta = candidates.index.ptr, float(np.log(self.beta))
        return picks_by_mixture(
            candidates.ranks, relevant, wanted, ptr, log_beta, n_threads
        )
