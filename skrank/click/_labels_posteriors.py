"""The probability that one document is more relevant than another, by eq. 13.10."""

from dataclasses import dataclass

import numpy as np

# Pairs whose tables are in memory at once.
_PAIRS = 1 << 14
# Widths of densities are alike if their ratio is above this.
_ALIKE = 0.999


@dataclass(frozen=True, eq=False)
class PosteriorTables:
    """Densities of the relevance of documents, and their integrals.

    Attributes
    ----------
    low, high : ndarray of shape (n_documents,)
        Bounds outside of which the density is negligible.
    density : ndarray of shape (n_documents, n_points)
        Densities at equal distances from ``low`` to ``high``, with integral 1.
    below : ndarray of shape (n_documents, n_points)
        Probability of a smaller relevance.
    """

    low: np.ndarray
    high: np.ndarray
    density: np.ndarray
    below: np.ndarray

    @classmethod
    def of(
        cls, low: np.ndarray, high: np.ndarray, density: np.ndarray
    ) -> "PosteriorTables":
        """Return the tables of densities of any scale.

        Parameters
        ----------
        low, high : ndarray of shape (n_documents,)
            Bounds.
        density : ndarray of shape (n_documents, n_points)
            Densities at an odd number of points, at least 5.

        Returns
        -------
        PosteriorTables
        """
        low, high = (np.asarray(a, dtype=np.float64) for a in (low, high))
        density = np.asarray(density, dtype=np.float64)
        if density.ndim != 2 or density.shape[1] < 5 or density.shape[1] % 2 == 0:
            raise ValueError(
                "density must hold an odd number of points for each document, at least "
                f"5, got shape {density.shape}"
            )
        if not len(low) == len(high) == len(density) or not (low < high).all():
            raise ValueError("low and high must bound the density of each document")
        step = ((high - low) / (density.shape[1] - 1))[:, None]
        below = np.zeros_like(density)
        below[:, 1:] = np.cumsum(_of_cells(density) * step, axis=1)
        total = below[:, -1:].copy()
        if not ((total > 0) & np.isfinite(total)).all():
            raise ValueError("density must be positive somewhere between low and high")
        return cls(low, high, density / total, below / total)

    def probability_below(self, document: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the probabilities of smaller relevances than given ones.

        Parameters
        ----------
        document : ndarray of shape (n,), dtype intp
            Numbers of documents.
        r : ndarray of shape (n, k)
            Relevances for each of them.

        Returns
        -------
        ndarray of shape (n, k)
        """
        n_cells = self.density.shape[1] - 1
        low, high = self.low[document, None], self.high[document, None]
        step = (high - low) / n_cells
        place = np.clip((r - low) / step, 0.0, n_cells)
        cell = np.minimum(place.astype(np.intp), n_cells - 1)
        t = place - cell
        rows = document[:, None]
        left, right = self.below[rows, cell], self.below[rows, cell + 1]
        slopes = self.density[rows, cell] * step, self.density[rows, cell + 1] * step
        # The cubic that has these values and slopes at the ends of the cell.
        s = 1.0 - t
        value = left * s * s * (1 + 2 * t) + right * t * t * (3 - 2 * t)
        return value + s * t * (slopes[0] * s - slopes[1] * t)


def _of_cells(density: np.ndarray) -> np.ndarray:
    """Return the integral of each cell of length 1, by cubics through four points."""
    p = density
    cells = np.empty((len(p), p.shape[1] - 1))
    cells[:, 1:-1] = (13 * (p[:, 1:-2] + p[:, 2:-1]) - p[:, :-3] - p[:, 3:]) / 24
    cells[:, 0] = (9 * p[:, 0] + 19 * p[:, 1] - 5 * p[:, 2] + p[:, 3]) / 24
    cells[:, -1] = (9 * p[:, -1] + 19 * p[:, -2] - 5 * p[:, -3] + p[:, -4]) / 24
    return np.maximum(cells, 0.0)


def preference_probability(
    tables: PosteriorTables, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    r"""Return the probabilities that documents are more relevant than others.

    .. math:: P(R_1 > R_2) = \int p_1(r)\, F_2(r)\, dr

    The integral runs over the narrower of the two densities, over which the integral of
    the other one is smooth. Where both are as wide, it is the mean of both integrals,
    so that opposite preferences add up to one and equal densities give one half.

    Parameters
    ----------
    tables : PosteriorTables
        Densities.
    first, second : ndarray of shape (n_pairs,), dtype intp
        Numbers of documents.

    Returns
    -------
    ndarray of shape (n_pairs,)

    References
    ----------
    [Liu2011]_, eq. 13.10.
    """
    width = tables.high - tables.low
    swapped = width[first] > width[second]
    narrow = np.where(swapped, second, first)
    wide = np.where(swapped, first, second)
    probability = _integral_over_first(tables, narrow, wide)
    alike = width[narrow] > _ALIKE * width[wide]
    opposite = _integral_over_first(tables, wide[alike], narrow[alike])
    probability[alike] = 0.5 * (probability[alike] + (1.0 - opposite))
    return np.where(swapped, 1.0 - probability, probability)


def _integral_over_first(tables, first, second) -> np.ndarray:
    """Return the mean probability, over the first density, to be above the second."""
    width = tables.high - tables.low
    n_points = tables.density.shape[1]
    weights = np.ones(n_points)  # of Simpson's rule
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    places = np.linspace(0.0, 1.0, n_points)
    probability = np.empty(len(first))
    for start in range(0, len(first), _PAIRS):
        one, other = first[start : start + _PAIRS], second[start : start + _PAIRS]
        r = tables.low[one, None] + width[one, None] * places
        mass = tables.density[one] * weights
        below = tables.probability_below(other, r)
        # Divided by the same rule, so that certain preferences are 1.
        share = np.einsum("ij,ij->i", mass, below) / mass.sum(axis=1)
        probability[start : start + _PAIRS] = share
    return probability
