"""Conventional relevance models and the text features of learning to rank."""

from skrank.text._base import BaseTextModel
from skrank.text._bm25 import BM25
from skrank.text._features import LetorFeatures
from skrank.text._idf import inverse_document_frequency
from skrank.text._index import InvertedIndex, Postings
from skrank.text._language_model import BaseLanguageModel
from skrank.text._lm_absolute import LMAbsoluteDiscount
from skrank.text._lm_dirichlet import LMDirichlet
from skrank.text._lm_jelinek_mercer import LMJelinekMercer
from skrank.text._stem import stem_plural
from skrank.text._stopwords import ENGLISH_STOP_WORDS
from skrank.text._tokenizer import Tokenizer, tokenize
from skrank.text._vsm import VectorSpace

__all__ = [
    "BM25",
    "ENGLISH_STOP_WORDS",
    "BaseLanguageModel",
    "BaseTextModel",
    "InvertedIndex",
    "LMAbsoluteDiscount",
    "LMDirichlet",
    "LMJelinekMercer",
    "LetorFeatures",
    "Postings",
    "Tokenizer",
    "VectorSpace",
    "inverse_document_frequency",
    "stem_plural",
    "tokenize",
]
