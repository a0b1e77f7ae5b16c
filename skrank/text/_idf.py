"""Inverse document frequencies."""

from typing import Literal

import numpy as np
import numpy.typing as npt

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
    n_documents: int,
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
    document_frequency : ndarray of shape (n_terms,)
        Number of documents that contain each term, n(t).
    n_documents : int
        Number of all documents, N.
    variant : {"log", "robertson", "smooth"}, default="log"
        Formula to use. ``"log"`` treats a term that no document contains as if one did.

    Returns
    -------
    ndarray of shape (n_terms,), dtype float64
        Inverse document frequency of each term.

    Raises
    ------
    ValueError
        If the variant is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.text import inverse_document_frequency
    >>> inverse_document_frequency(np.array([1.0, 10.0]), 10).round(3)
    array([2.303, 0.   ])
    """
    check_arguments(inverse_document_frequency, variant=variant)
    return _VARIANTS[variant](n_documents, np.asarray(document_frequency, dtype=float))
