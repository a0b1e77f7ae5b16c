"""From text to terms."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from sklearn.base import BaseEstimator

from skrank._core._messages import shown
from skrank._core._parameters import NonNegativeInt, Parameters
from skrank.text._porter import stem_porter
from skrank.text._stem import stem_plural
from skrank.text._stopwords import STOP_LISTS
from skrank.text._texts import as_texts, is_frame

Analyzer = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")
# Camel case starts a new part between a and B in aB, and between A and B in ABc.
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STEMMERS: dict[str, Callable[[str], str]] = {
    "plural": stem_plural,
    "porter": stem_porter,
    "porter-revised": partial(stem_porter, revised=True),
}


@dataclass(frozen=True)
class _Words:
    """Limit of a collection: of words, not the letters of a single string."""

    def __contains__(self, value) -> bool:
        if isinstance(value, str) or is_frame(value):
            return False
        return all(isinstance(word, str) for word in value)

    def __str__(self) -> str:
        return "of words"


class _TermsOfWord(dict[str, list[str]]):
    """Terms of each raw word, analysed when the word is met for the first time."""

    def __init__(self, analyse: Callable[[str], list[str]]):
        super().__init__()
        self._analyse = analyse

    def __missing__(self, word: str) -> list[str]:
        terms = self[word] = self._analyse(word)
        return terms


class Tokenizer(Parameters, BaseEstimator):
    """Split texts into terms.

    A word is a run of Unicode letters, digits and underscores. It is split into the
    parts of an identifier, put into lower case, compared with the stop words and
    stemmed, in this order.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether to put terms into lower case.
    split_identifiers : bool, default=True
        Whether ``snake_case`` and ``CamelCase`` become several terms. Otherwise
        underscores are part of the term.
    stop_words : str, collection of str or None, default="english"
        Terms to leave out, compared before stemming: ``"english"``, ``"english-short"``
        or ``"english-long"``, which are lists of function words (see `STOP_LISTS`), or
        any words; None keeps all terms.
    stemmer : {"plural", "porter", "porter-revised"}, callable or None, default="plural"
        Function that maps a term to its stem. ``"plural"`` takes `stem_plural`,
        ``"porter"`` and ``"porter-revised"`` take `stem_porter`, the latter with
        ``revised=True``; None leaves terms as they are.
    min_length : int, default=1
        Minimum number of characters of a term, before stemming.

    See Also
    --------
    tokenize : Split one text with the default parameters.

    Examples
    --------
    >>> from skrank.text import Tokenizer
    >>> Tokenizer()("The MinMaxScaler of column_values")
    ['min', 'max', 'scaler', 'column', 'value']
    >>> Tokenizer(split_identifiers=False)("The MinMaxScaler of column_values")
    ['minmaxscaler', 'column_value']
    >>> Tokenizer(stemmer="porter", stop_words="english-long")("Some rotating bodies")
    ['rotat', 'bodi']
    """

    lowercase: bool = True
    split_identifiers: bool = True
    stop_words: (
        Literal["english", "english-short", "english-long"]
        | Annotated[Collection, _Words()]
        | None
    ) = "english"
    stemmer: (
        Literal["plural", "porter", "porter-revised"] | Callable[[str], str] | None
    ) = "plural"
    min_length: NonNegativeInt = 1

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"lowercase": False, "split_identifiers": False},
            {"stop_words": ("the", "of"), "stemmer": None},
            {"stop_words": "english-long", "stemmer": "porter"},
            {"stop_words": "english-short", "stemmer": "porter-revised"},
            {"stop_words": None, "stemmer": str.upper, "min_length": 3},
        ]

    def __call__(self, text: str) -> list[str]:
        """Split one text into terms.

        Parameters
        ----------
        text : str
            Text to split.

        Returns
        -------
        list of str
            Terms in the order of the text.

        Raises
        ------
        ValueError
            If a parameter is not accepted.
        TypeError
            If the text is not a string.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a string, got {shown(text)}")
        return self.tokenize_all([text])[0]

    def tokenize_all(self, texts: Iterable[str]) -> list[list[str]]:
        """Split many texts into terms.

        Every distinct word is analysed once, so that the cost of the analysis grows
        with the vocabulary rather than with the texts.

        Parameters
        ----------
        texts : iterable of str
            Texts to split.

        Returns
        -------
        list of list of str
            Terms of each text.

        Raises
        ------
        ValueError
            If a parameter is not accepted.
        TypeError
            If a text is missing or not a string, or a single string is given.
        """
        terms_of = _TermsOfWord(self._checked_word_analyser())
        tokenized = []
        for text in as_texts(texts, "texts"):
            terms: list[str] = []
            for word in _WORD.findall(text):
                terms += terms_of[word]
            tokenized.append(terms)
        return tokenized

    def _checked_word_analyser(self) -> Callable[[str], list[str]]:
        """Return the function that maps a raw word to its terms, if there is one."""
        self._check_parameters()
        return self._word_analyser()

    def _word_analyser(self) -> Callable[[str], list[str]]:
        """Return the function that maps a raw word to its terms."""
        stop_words = _resolve_stop_words(self.stop_words)
        stem = (
            _STEMMERS[self.stemmer] if isinstance(self.stemmer, str) else self.stemmer
        )

        def analyse(word: str) -> list[str]:
            parts = _identifier_parts(word) if self.split_identifiers else [word]
            if self.lowercase:
                parts = [part.lower() for part in parts]
            kept = [
                part
                for part in parts
                if len(part) >= self.min_length and part not in stop_words
            ]
            return kept if stem is None else [stem(part) for part in kept]

        return analyse


def _identifier_parts(word: str) -> list[str]:
    if word.islower() and "_" not in word:  # most words
        return [word]
    parts = (part for piece in word.split("_") for part in _CAMEL_BOUNDARY.split(piece))
    return [part for part in parts if part]


def _resolve_stop_words(stop_words: Collection[str] | None) -> frozenset[str]:
    if isinstance(stop_words, str):
        return STOP_LISTS[stop_words]
    return frozenset(() if stop_words is None else stop_words)


def tokenize(text: str) -> list[str]:
    """Split one text by a `Tokenizer` with its default parameters.

    Parameters
    ----------
    text : str
        Text to split.

    Returns
    -------
    list of str
        Lower-case terms without stop words, plurals as singulars.

    Raises
    ------
    TypeError
        If the text is not a string.

    Examples
    --------
    >>> from skrank.text import tokenize
    >>> tokenize("Solves the linear equations A x = b for x.")
    ['solve', 'linear', 'equation', 'x', 'b', 'x']
    """
    return Tokenizer()(text)
