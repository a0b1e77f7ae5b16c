"""Readers of ranking data, and data sets that need no download."""

from skrank.datasets._see_also import load_see_also

__all__ = ["load_see_also"]
