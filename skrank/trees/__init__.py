"""Trees for ranking: bins, growing and prediction."""

from skrank.trees._bins import BinMapper
from skrank.trees._categories import CategoryEncoder
from skrank.trees._ensemble import TreeEnsemble

__all__ = ["BinMapper", "CategoryEncoder", "TreeEnsemble"]
