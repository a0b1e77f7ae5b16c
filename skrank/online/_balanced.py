"""Balanced interleaving."""

import numpy as np

from skrank.online._base import BaseInterleaving, Lists
from skrank.online._interleaving import balanced_credit


class BalancedInterleaving(BaseInterleaving):
    r"""Balanced interleaving: the first documents of two rankings, in turn.

    The ranking that begins is drawn. Each adds its next document in turn, and one that
    is in the list already is passed over, so that every list consists of the first
    :math:`k_a` documents of one ranking and the first :math:`k_b` of the other, where
    these differ by 1 at most. With k the least depth at which either ranking holds the
    lowest document that was clicked, a ranking's credit is

    .. math:: h_r = \lvert \{ d \text{ clicked} : r \text{ ranks } d
              \text{ among its first } k \} \rvert.

    Of two rankings that differ by a shift alone, the one whose documents come first can
    win by clicks at random; the other methods do not have this fault.

    Complexity: O(n) for n documents.

    Parameters
    ----------
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.

    References
    ----------
    [Joachims2003]_; [Radlinski2008]_, algorithm 1.

    Examples
    --------
    >>> from skrank.online import BalancedInterleaving
    >>> rankings = [["a", "b", "c"], ["b", "d", "a"]]
    >>> mixed = BalancedInterleaving().interleave(rankings, random_state=0)
    >>> sorted(mixed.documents[:2].tolist())
    ['a', 'b']
    >>> mixed.credit(mixed.documents == "d")
    array([0., 1.])
    """

    _scheme = "balanced"

    def _credits(
        self, lists: Lists, clicked: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        assert lists.rankings is not None
        arguments = lists.rankings.arguments()
        credit = balanced_credit(*arguments, lists.shown, lists.ptr, clicked, n_threads)
        return credit.reshape(-1, lists.rankings.n_rankings)
