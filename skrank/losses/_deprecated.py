"""Losses under the names that they had before twins became one class."""

from skrank.losses._hinge import HingeLoss, SquaredHingeLoss
from skrank.losses._sigmoid import LogLoss


class SmoothedHingeLoss(HingeLoss):
    """`HingeLoss` with a width of 1 by default, under its old name.

    Parameters
    ----------
    margin : float, default=1.0
        Difference of scores from which on a pair costs nothing.
    width : float, default=1.0
        Length of the parabola that replaces the kink.
    """

    def __init__(self, margin: float = 1.0, width: float = 1.0):
        super().__init__(margin, width=width)


#: Old name: (class, how to spell it now).
OLD_NAMES = {
    "PairwiseHingeLoss": (HingeLoss, "HingeLoss(margin)"),
    "PairwiseSquaredHingeLoss": (SquaredHingeLoss, "SquaredHingeLoss(margin)"),
    "RankNetLoss": (LogLoss, "LogLoss(sigma)"),
    "SmoothedHingeLoss": (SmoothedHingeLoss, "HingeLoss(margin, width=width)"),
}
