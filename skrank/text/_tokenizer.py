"""From text to terms."""

import re
from collections.abc import Callable, Collection, Iterable

from sklearn.base import BaseEstimator

from skrank.text._stem import stem_plural
from skrank.text._stopwords import ENGLISH_STOP_WORDS

Analyzer = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")
# aB | ABc: where camel case starts a new part
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STEMMERS: dict[str, Callable[[str], str]] = {"plural": stem_plural}


class _TermsOfWord(dict):
    """Terms of each raw word, worked out the first time that the word is met."""

    def __init__(self, analyse):
        super().__init__()
        self._analyse = analyse

    def __missing__(self, word):
        terms = self[word] = self._analyse(word)
        return terms


class Tokenizer(BaseEstimator):
    """Split texts into terms.

    A word is a run of Unicode letters, digits and underscores. It is split into the
    parts of an identifier, put into lower case, compared with the stop words and
    stemmed, in this order.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether to fold case.
    split_identifiers : bool, default=True
        Whether ``snake_case`` and ``CamelCase`` are several terms. Underscores are
        part of the term otherwise.
    stop_words : {"english"}, collection of str or None, default="english"
        Terms to leave out, compared before stemming.
    stemmer : {"plural"}, callable or None, default="plural"
        ``"plural"`` is `stem_plural`; a callable maps a term to its stem.
    min_length : int, default=1
        Shortest term to keep, in characters before stemming.

    See Also
    --------
    tokenize : The same with the default parameters, for one text.

    Examples
    --------
    >>> from skrank.text import Tokenizer
    >>> Tokenizer()("The MinMaxScaler of column_values")
    ['min', 'max', 'scaler', 'column', 'value']
    >>> Tokenizer(split_identifiers=False)("The MinMaxScaler of column_values")
    ['minmaxscaler', 'column_value']
    """

    def __init__(
        self,
        *,
        lowercase: bool = True,
        split_identifiers: bool = True,
        stop_words: str | Collection[str] | None = "english",
        stemmer: str | Callable[[str], str] | None = "plural",
        min_length: int = 1,
    ):
        self.lowercase = lowercase
        self.split_identifiers = split_identifiers
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.min_length = min_length

    def __call__(self, text: str) -> list[str]:
        """Terms of one text.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            The terms in the order of the text.
        """
        return self.tokenize_all([text])[0]

    def tokenize_all(self, texts: Iterable[str]) -> list[list[str]]:
        """Split many texts into terms; every distinct word is analysed once.

        Parameters
        ----------
        texts : iterable of str
            The texts.

        Returns
        -------
        list of list of str
            The terms of each text.

        Raises
        ------
        TypeError
            If something is not a string, or a single string is given.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be an iterable of strings, got one string")
        terms_of = _TermsOfWord(self._word_analyser())
        tokenized = []
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(
                    f"texts must hold strings, item {i} is a {type(text).__name__}"
                )
            terms: list[str] = []
            for word in _WORD.findall(text):
                terms += terms_of[word]
            tokenized.append(terms)
        return tokenized

    def _word_analyser(self):
        stop_words = _resolve_stop_words(self.stop_words)
        stem = _resolve_stemmer(self.stemmer)

        def analyse(word):
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


def _identifier_parts(word):
    parts = (part for piece in word.split("_") for part in _CAMEL_BOUNDARY.split(piece))
    return [part for part in parts if part]


def _resolve_stop_words(stop_words):
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(
                "stop_words must be 'english', a collection of words or None, "
                f"got {stop_words!r}"
            )
        return ENGLISH_STOP_WORDS
    return frozenset(stop_words)


def _resolve_stemmer(stemmer):
    if stemmer is None or callable(stemmer):
        return stemmer
    if stemmer not in _STEMMERS:
        raise ValueError(
            f"stemmer must be one of {sorted(_STEMMERS)}, a callable or None, "
            f"got {stemmer!r}"
        )
    return _STEMMERS[stemmer]


def tokenize(text: str) -> list[str]:
    """Split one text by the default `Tokenizer`.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        Lower-case terms without stop words, plurals as singulars.

    Examples
    --------
    >>> from skrank.text import tokenize
    >>> tokenize("Solves the linear equations A x = b for x.")
    ['solve', 'linear', 'equation', 'x', 'b', 'x']
    """
    return Tokenizer()(text)
