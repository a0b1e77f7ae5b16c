"""Differences between versions of scikit-learn, hidden from all other files."""

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


__all__ = ["CallbackSupportMixin", "with_callbacks"]
