"""Learning to rank as scikit-learn estimators."""

from skrank._core._config import config_context, get_config
from skrank._version import __version__

__all__ = ["__version__", "config_context", "get_config"]
