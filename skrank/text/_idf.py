"""Inverse document frequencies."""

import numpy as np
from numpy.typing import ArrayLike


def _log(n_documents, frequency):
    return np.log(n_documents / np.maximum(frequency, 1.0))


def _smooth(n_documents, frequency):
    return np.log1p((n_documents - frequency + 0.5) / (frequency + 0.5))


def _robertson(n_documents, frequency):
    return np.log((n_documents - frequency + 0.5) / (frequency + 0.5))


_VARIANTS = {"log": _log, "smooth": _smooth, "robertson": _robertson}


def inverse_document_frequency(
    document_frequency: ArrayLike, n_documents: int, variant: str = "log"
) -> np.ndarray:
    r"""Inverse document frequency of terms.

    With :math:`N` documents, :math:`n(t)` of which contain the term,

    - ``"log"``: :math:`\log (N / n(t))` (Liu 2011, eq. 1.1);
    - ``"robertson"``: :math:`\log ((N - n(t) + 0.5) / (n(t) + 0.5))`, negative for
      terms in more than half of the documents (Robertson & Spärck Jones 1976);
    - ``"smooth"``: :math:`\log (1 + (N - n(t) + 0.5) / (n(t) + 0.5))`, never negative.

    Parameters
    ----------
    document_frequency : ndarray of shape (n_terms,)
        The number of documents that contain each term, n(t).
    n_documents : int
        The number of documents, N.
    variant : {"log", "robertson", "smooth"}, default="log"
        The formula. ``"log"`` takes a term that no document contains as if one did.

    Returns
    -------
    ndarray of shape (n_terms,), dtype float64
        The weights.

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
    if variant not in _VARIANTS:
        raise ValueError(f"idf must be one of {sorted(_VARIANTS)}, got {variant!r}")
    return _VARIANTS[variant](n_documents, np.asarray(document_frequency, dtype=float))
