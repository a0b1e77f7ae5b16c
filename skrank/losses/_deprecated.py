"""Losses under the names that they had before twins became one class."""

from skrank.losses._hinge import HingeLoss, SquaredHingeLoss
from skrank.losses._sigmoid import LogLoss


def smoothed_hinge_loss(margin: float = 1.0, width: float = 1.0) -> HingeLoss:
    """Return a `HingeLoss` with a width of 1 by default, as ``SmoothedHingeLoss`` had.

    Parameters
    ----------
    margin : float, default=1.0
        Difference of scores from which on a pair costs nothing.
    width : float, default=1.0
        Length of the parabola that replaces the kink.

    Returns
    -------
    HingeLoss
    """
    return HingeLoss(margin, width=width)


#: Old name: (class, how to spell it now).
OLD_NAMES = {
    "PairwiseHingeLoss": (HingeLoss, "HingeLoss(margin)"),
    "PairwiseSquaredHingeLoss": (SquaredHingeLoss, "SquaredHingeLoss(margin)"),
    "RankNetLoss": (LogLoss, "LogLoss(sigma)"),
    "SmoothedHingeLoss": (smoothed_hinge_loss, "HingeLoss(margin, width=width)"),
}
