"""Inverse document frequencies."""

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import Interval
from skrank._core._validation import check_arguments

IdfVariant = Literal["log", "robertson", "smooth"]


def _log(n_documents, frequency):
    return np.log(n_documents / np.maximum(frequency, 1.0))


def _smooth(n_documents, frequency):
    return np.log1p((n_documents - frequency + 0.5) / (frequency + 0.5))


def _robertson(n_documents, frequency):
    return np.log((n_documents - frequency + 0.5) / (frequency + 0.5))


# The smooth variant adds 1 inside the logarithm, hence log1p.
_VARIANTS = {"log": _log, "smooth": _smooth, "robertson": _robertson}


def inverse_document_frequency(
    document_frequency: npt.ArrayLike,
    n_documents: Annotated[int, Interval(1, None)],
    variant: IdfVariant = "log",
) -> np.ndarray:
    r"""Compute the inverse document frequency of terms.

    With :math:`N` documents, :math:`n(t)` of which contain the term,

    - ``"log"``: :math:`\log (N / n(t))` ([Liu2011]_, eq. 1.1);
    - ``"robertson"``: :math:`\log ((N - n(t) + 0.5) / (n(t) + 0.5))`, negative for
      terms in more than half of the documents ([Robertson1976]_);
    - ``"smooth"``: :math:`\log (1 + (N - n(t) + 0.5) / (n(t) + 0.5))`, never negative.

    Parameters
    ----------
    document_frequency : array-like of shape (n_terms,)
        Number of documents that contain each term, n(t), from 0 to N.
    n_documents : int
        Number of all documents, N, at least 1.
    variant : {"log", "robertson", "smooth"}, default="log"
        Formula to use. ``"log"`` treats a term that no document contains as if one did.

    Returns
    -------
    ndarray of shape (n_terms,), dtype float64
        Inverse document frequency of each term.

    Raises
    ------
    ValueError
        If the variant is unknown, there are no documents, or a frequency is no number
        from 0 to N.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.text import inverse_document_frequency
    >>> inverse_document_frequency(np.array([1.0, 10.0]), 10).round(3)
    array([2.303, 0.   ])
    """
    check_arguments(
        inverse_document_frequency, n_documents=n_documents, variant=variant
    )
    try:
        frequency = np.asarray(unmasked(document_frequency))
        numeric = frequency.dtype.kind in "biuf"
    except ValueError:  # lists of different lengths
        numeric = False
    if not numeric:
        raise ValueError(
            f"document_frequency must hold numbers, got {shown(document_frequency)}"
        )
    frequency = frequency.astype(np.float64)
    if not np.all((frequency >= 0) & (frequency <= n_documents)):
        raise ValueError(
            f"document_frequency must hold numbers from 0 to n_documents={n_documents}"
        )
    return _VARIANTS[variant](n_documents, frequency)
