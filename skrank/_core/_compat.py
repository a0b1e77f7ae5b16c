"""What differs between versions of scikit-learn; the only file that may know."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9

    class CallbackSupportMixin:
        """Stand-in where scikit-learn has no callback protocol."""

        def _init_callback_context(self, **kwargs):
            return None

    def with_callbacks(method):
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "with_callbacks"]
