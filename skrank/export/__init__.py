"""Model files that are safe to load, and models for search engines."""

from skrank.export._elasticsearch import score_elasticsearch, to_elasticsearch
from skrank.export._expression import to_expression
from skrank.export._json import FrozenRanker, from_json, to_json
from skrank.export._model_file import load_model, save_model
from skrank.export._ranklib import score_ranklib, to_ranklib
from skrank.export._solr import score_solr, to_solr

__all__ = [
    "FrozenRanker",
    "from_json",
    "load_model",
    "save_model",
    "score_elasticsearch",
    "score_ranklib",
    "score_solr",
    "to_elasticsearch",
    "to_expression",
    "to_json",
    "to_ranklib",
    "to_solr",
]
