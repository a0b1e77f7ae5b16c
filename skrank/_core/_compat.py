"""Differences between versions of scikit-learn, which no other file may know."""

try:
    # The replacement below has less than the real class, and needs no more.
    from sklearn.callback import (
        CallbackSupportMixin,  # pyright: ignore[reportAssignmentType]
        with_callbacks,
    )
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:
        """Replacement where scikit-learn has no callback protocol."""

        def _init_callback_context(self, **kwargs):
            return None

    def with_callbacks(method):
        """Return the method unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "with_callbacks"]
