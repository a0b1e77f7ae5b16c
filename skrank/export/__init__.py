"""Models as files: safe to load, exact to the bit."""

from skrank.export._model_file import load_model, save_model

__all__ = ["load_model", "save_model"]
