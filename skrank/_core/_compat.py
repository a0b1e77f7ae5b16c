"""Differences between versions of scikit-learn, hidden from all other files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    # Type checkers see that the replacement below has fewer methods. Rankers call no
    # others.
    from sklearn.callback import (
        CallbackSupportMixin,  # pyright: ignore[reportAssignmentType]
        with_callbacks,
    )
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:
        """Replacement for versions of scikit-learn without callbacks."""

        def _init_callback_context(self, **kwargs):
            return None

    def with_callbacks(method):
        """Return the method unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "task_of_fit", "with_callbacks"]


@contextmanager
def task_of_fit(context: Any, estimator: Any, data: Any) -> Iterator[None]:
    """Tell the callbacks set by ``set_callbacks`` of the beginning and end of a fit.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext or None
        Context of the fit; None in versions of scikit-learn without callbacks.
    estimator : BaseEstimator
        Estimator that is being fitted.
    data : GroupedRows
        Training rows.
    """
    if context is None:
        yield
        return
    arguments = {"estimator": estimator, "X": data.X, "y": data.y}
    context.call_on_fit_task_begin(**arguments)
    yield
    context.call_on_fit_task_end(**arguments)
