"""Conventional relevance models and the text features of learning to rank."""

from skrank.text._base import BaseTextModel
from skrank.text._bm25 import BM25
from skrank.text._bm25f import BM25F
from skrank.text._boolean import BooleanModel
from skrank.text._collection import TextCollection
from skrank.text._features import LetorFeatures
from skrank.text._hits import HITS
from skrank.text._host_rank import HostRank
from skrank.text._idf import inverse_document_frequency
from skrank.text._index import InvertedIndex, Postings
from skrank.text._index_file import load_index, save_index
from skrank.text._language_model import BaseLanguageModel
from skrank.text._letor_tables import letor_table
from skrank.text._link_graph import LinkGraph
from skrank.text._lm_absolute import LMAbsoluteDiscount
from skrank.text._lm_dirichlet import LMDirichlet
from skrank.text._lm_jelinek_mercer import LMJelinekMercer
from skrank.text._lsi import LSI
from skrank.text._page_rank import BaseLinkModel, BasePageRank, PageRank
from skrank.text._pairs import PairFeatures
from skrank.text._porter import stem_porter
from skrank.text._propagation import propagate_links, propagate_site
from skrank.text._proximity import ProximityFeatures
from skrank.text._rm3 import RM3
from skrank.text._site_map import SiteMap
from skrank.text._stem import stem_plural
from skrank.text._stopwords import ENGLISH_STOP_WORDS, STOP_LISTS
from skrank.text._tokenizer import Tokenizer, tokenize
from skrank.text._topic_page_rank import TopicPageRank
from skrank.text._topical_hits import TopicalHITS
from skrank.text._topical_page_rank import TopicalPageRank
from skrank.text._trust_rank import TrustRank
from skrank.text._vsm import VectorSpace

__all__ = [
    "BM25",
    "BM25F",
    "ENGLISH_STOP_WORDS",
    "HITS",
    "LSI",
    "RM3",
    "STOP_LISTS",
    "BaseLanguageModel",
    "BaseLinkModel",
    "BasePageRank",
    "BaseTextModel",
    "BooleanModel",
    "HostRank",
    "InvertedIndex",
    "LMAbsoluteDiscount",
    "LMDirichlet",
    "LMJelinekMercer",
    "LetorFeatures",
    "LinkGraph",
    "PageRank",
    "PairFeatures",
    "Postings",
    "ProximityFeatures",
    "SiteMap",
    "TextCollection",
    "Tokenizer",
    "TopicPageRank",
    "TopicalHITS",
    "TopicalPageRank",
    "TrustRank",
    "VectorSpace",
    "inverse_document_frequency",
    "letor_table",
    "load_index",
    "propagate_links",
    "propagate_site",
    "save_index",
    "stem_plural",
    "stem_porter",
    "tokenize",
]
