"""What losses have in common that take the pairs of another loss."""

from dataclasses import field
from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if

from skrank._core._parameters import invalid_parameter
from skrank.losses._base import BaseLoss


def _inner_has(name):
    return available_if(lambda self: hasattr(self.loss, name))


class WrappedPairLoss(BaseLoss):
    """A pairwise loss over pairs of its own choice.

    What it can do is what the loss of a pair can do.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss, one that offers ``pair_loss(better, worse)``, such as
        `LogLoss` or `HingeLoss`. Its ``normalization`` holds here, too.
    """

    loss: BaseLoss = field(kw_only=False)

    #: Methods of which a loss needs one.
    _accepted: ClassVar[tuple[str, ...]] = ("pair_loss",)

    def _check_parameters(self):
        super()._check_parameters()
        if not any(hasattr(self.loss, name) for name in self._accepted):
            accepted = "a pairwise loss such as LogLoss() or HingeLoss()"
            raise invalid_parameter(self, "loss", accepted, self.loss)

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return self.loss.unit

    @property
    def convex(self):
        """Whether the loss of a pair is convex."""
        return self.loss.convex

    @property
    def descends(self):
        """Whether training lowers the loss of a pair."""
        return self.loss.descends

    @property
    def shift_invariant(self):
        """Whether the loss of a pair depends on the difference of scores alone."""
        return self.loss.shift_invariant

    @property
    def reads_labels(self):
        """Whether the loss takes energies that depend on the label."""
        return self.loss.reads_labels

    @property
    def compares_minima(self):
        """Whether documents are compared by their minima over the labels."""
        return self.loss.compares_minima

    @_inner_has("smoothed")
    def smoothed(self, width: float) -> Self:
        """Return the same pairs under the smooth version of the loss.

        Parameters
        ----------
        width : float
            How far the smooth loss may be from the loss; see that of the loss.

        Returns
        -------
        BaseLoss
            A loss of the same class.
        """
        inner: Any = self.loss
        return self._with(loss=inner.smoothed(width))

    @_inner_has("relaxed")
    def relaxed(self) -> Self:
        """Return the same pairs under the loss without its cap."""
        inner: Any = self.loss
        return self._with(loss=inner.relaxed())
