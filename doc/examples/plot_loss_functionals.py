"""
The shapes of the loss functionals
==================================

A loss functional judges an energy function by two numbers: the energy of a right answer
and that of a wrong one. In the pairwise reading the answers are two documents of a
query, of which one is preferred; in the pointwise reading they are two labels of one
document. Learning moves both energies downhill, so the shape of the functional tells
what will happen to them. :doc:`/energy_based_ranking` has the formulas.
"""

# %%
# Functionals of the difference
# -----------------------------
#
# Most functionals see only how far the right energy lies above the wrong one. Every
# functional offers ``pair_loss``, which takes scores, that is, negative energies.

import matplotlib.pyplot as plt
import numpy as np

from skrank.losses import (
    EnergyLoss,
    HingeLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    NLLLoss,
    PerceptronLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)

gaps = np.linspace(-4.0, 4.0, 401)
kinds = {
    "With a kink": {
        "PerceptronLoss()": PerceptronLoss(),
        "HingeLoss(margin=1)": HingeLoss(margin=1.0),
        "LVQ2Loss(cap=2, margin=1)": LVQ2Loss(cap=2.0, margin=1.0),
    },
    "Smooth": {
        "NLLLoss(beta=4)": NLLLoss(beta=4.0),
        "LogLoss(), NLLLoss()": LogLoss(),
        "MCELoss(), MEELoss()": MCELoss(),
    },
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (title, losses) in zip(axes, kinds.items()):
    for (name, loss), style in zip(losses.items(), ("-", "--", "-.")):
        values, _, _ = loss.pair_loss(-gaps, np.zeros_like(gaps))
        ax.plot(gaps, values, style, label=name)
    ax.axvline(0.0, color="0.8", linewidth=1, zorder=0)
    ax.set_title(title)
    ax.set_xlabel("Energy of the right answer − that of the wrong one")
    ax.legend()
axes[0].set_ylabel("Loss")

# %%
# To the right of zero the order is wrong, and all of them fall to the left. What they
# differ in:
#
# - *How long do they push?* The perceptron stops as soon as the order is right, so
#   equal energies cost nothing and a flat surface is a minimum. The hinge asks for a
#   margin; the log loss never stops but pushes ever more gently.
# - *How hard do they push when far off?* Perceptron, hinge and log loss push as hard as
#   anywhere. LVQ2 and MCE give up: their slope vanishes on the far right, so a pair
#   whose order looks hopelessly wrong, perhaps by a wrong judgement, no longer counts.
#   The price is that they are not convex.
#
# Functionals of each energy on its own
# -------------------------------------
#
# The others care where the energies are, not only how far apart. Arrows show where
# a step of gradient descent moves the two energies.

ticks = np.linspace(-1.0, 3.0, 81)
right, wrong = np.meshgrid(ticks, ticks)
coarse = np.s_[4::9, 4::9]
pictures = {
    "EnergyLoss()": EnergyLoss(),
    "HingeLoss(margin=1)": HingeLoss(margin=1.0),
    "SquareSquareLoss(margin=2)": SquareSquareLoss(margin=2.0),
    "SquareExponentialLoss(gamma=1)": SquareExponentialLoss(gamma=1.0),
}
figure, axes = plt.subplots(
    2, 2, figsize=(8.5, 7.5), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, loss) in zip(axes.flat, pictures.items()):
    parts = loss.pair_loss(-right.ravel(), -wrong.ravel())
    values, slope_right, slope_wrong = (
        np.broadcast_to(part, right.size).reshape(right.shape) for part in parts
    )
    filled = ax.contourf(right, wrong, values, levels=12, cmap="cividis_r")
    # Slopes are with respect to scores, so they point where energies descend.
    ax.quiver(
        right[coarse],
        wrong[coarse],
        slope_right[coarse],
        slope_wrong[coarse],
        color="white",
        edgecolor="black",
        linewidth=0.5,
        width=0.008,
    )
    ax.plot(ticks, ticks, color="black", linestyle=":", linewidth=1)
    ax.set(title=name, aspect="equal")
    figure.colorbar(filled, ax=ax, label="Loss")
figure.supxlabel("Energy of the right answer")
figure.supylabel("Energy of the wrong answer")

# %%
# Above the dotted line the order is right.
#
# - The energy loss pulls the right energy down and leaves the wrong one where it is.
#   That is enough only if one cannot be lowered without raising the other.
# - The hinge moves both by the same amount, one down and the other up, until they are
#   a margin apart; it would not notice if both energies were a thousand higher.
# - Square-square and square-exponential have a place to go to: a right energy of zero.
#   They suit energies that are zero at best, such as distances and divergences. Once a
#   wrong energy is beyond its margin, square-square leaves it alone; square-exponential
#   goes on pushing, with a force that fades.
