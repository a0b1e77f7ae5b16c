"""Boolean retrieval: expressions with AND, OR and NOT."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank.text._index import Documents, InvertedIndex, Postings, as_index
from skrank.text._matching import check_pairs
from skrank.text._saving import FittedToIndex
from skrank.text._texts import as_texts
from skrank.text._tokenizer import Analyzer

_TOKEN = re.compile(r'[()]|"[^"]*"|[^\s()"]+|"')
_STRENGTH = {"OR": 1, "AND": 2, "NOT": 3}


@dataclass(frozen=True, eq=False)
class _Matches:
    """Documents of an expression: those listed, or all others.

    Attributes
    ----------
    documents : ndarray, dtype intp
        Ascending numbers.
    others : bool
        Whether the documents are those that are not listed.
    """

    documents: np.ndarray
    others: bool = False

    def __invert__(self) -> "_Matches":
        return _Matches(self.documents, not self.others)

    def __and__(self, other: "_Matches") -> "_Matches":
        one, two = self.documents, other.documents
        if self.others and other.others:
            return _Matches(np.union1d(one, two), True)
        if self.others:
            return _Matches(two[~_among(two, one)])
        if other.others:
            return _Matches(one[~_among(one, two)])
        few, many = sorted((one, two), key=len)
        return _Matches(few[_among(few, many)])

    def __or__(self, other: "_Matches") -> "_Matches":
        return ~(~self & ~other)


def _among(wanted: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return which of some numbers are among others, which ascend."""
    if len(numbers) == 0:
        return np.zeros(len(wanted), dtype=bool)
    place = np.searchsorted(numbers, wanted)
    return numbers[np.minimum(place, len(numbers) - 1)] == wanted


class BooleanModel(Parameters, FittedToIndex):
    """Find the documents that satisfy Boolean expressions.

    An expression consists of words, ``AND``, ``OR`` and ``NOT`` in capital letters,
    parentheses, and phrases in double quotes. NOT binds more strongly than AND, and AND
    more strongly than OR; words without an operator between them are joined by AND.

    Words and phrases are split into terms by the tokenizer of the index. A word of
    several terms stands for all of them; one without terms, such as a function word,
    is left out together with the operator that joins it. A term that the index does not
    know matches no document, and so does an expression without terms. The terms of a
    phrase follow each other in a document, which needs an index with positions.

    Parameters
    ----------
    field : str, default=None
        Name of the field to search; None searches whole documents.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents.
    postings_ : Postings
        Postings of the searched field.

    References
    ----------
    [Liu2011]_, section 1.2.1.1, where the Boolean model is the first of all.

    Examples
    --------
    >>> from skrank.text import BooleanModel
    >>> model = BooleanModel().fit(["sort rows", "sort columns", "invert a matrix"])
    >>> model.search(["sort AND NOT rows", "matrix OR columns", '"sort rows"'])
    [array([1]), array([1, 2]), array([0])]
    """

    field: str | None = None
    tokenizer: Analyzer | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    def fit(self, documents: Documents | InvertedIndex, y: None = None) -> Self:
        """Index documents, with positions.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, one such sequence for each field, a `TextCollection`,
            or a fitted index, which need not have positions.
        y : None
            Ignored.

        Returns
        -------
        BooleanModel
            The model itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, or the documents have no such field.
        TypeError
            If a document is missing or no string.
        """
        self._check_parameters()
        if not isinstance(documents, InvertedIndex):
            documents = as_index(documents, self.tokenizer, with_positions=True)
        self._keep_index(as_index(documents))
        self.postings_ = self.index_.postings(self.field)
        return self

    def search(self, queries: Iterable[str]) -> list[np.ndarray]:
        """Find the documents that satisfy each expression.

        Parameters
        ----------
        queries : sequence of str
            Expressions.

        Returns
        -------
        list of ndarray of shape (n_found,), dtype intp
            Ascending document numbers. Complexity: O(P log P) for the P postings of the
            terms of an expression; NOT costs nothing but where it is the last to act.

        Raises
        ------
        ValueError
            If an expression lacks an operand, an operator or a parenthesis, or has a
            phrase and the index no positions.
        TypeError
            If a query is missing or no string.
        """
        self._check_fitted("postings_")
        return [
            self._resolved(_Parser(self, query, place).parse())
            for place, query in enumerate(as_texts(queries, "queries"))
        ]

    def score(self, queries: Iterable[str]) -> np.ndarray:
        """Say for all documents whether they satisfy each expression.

        Parameters
        ----------
        queries : sequence of str
            Expressions.

        Returns
        -------
        ndarray of shape (n_queries, n_documents), dtype float64
            1 for documents that do, 0 for others.

        Raises
        ------
        ValueError, TypeError
            As `search`.
        """
        found = self.search(queries)
        scores = np.zeros((len(found), self.postings_.n_documents))
        for row, documents in zip(scores, found):
            row[documents] = 1.0
        return scores

    def score_pairs(
        self,
        queries: Iterable[str],
        query_of: npt.ArrayLike,
        document_of: npt.ArrayLike,
    ) -> np.ndarray:
        """Say for chosen (query, document) pairs whether the document satisfies it.

        Parameters
        ----------
        queries : sequence of str
            Expressions.
        query_of, document_of : array-like of shape (n_pairs,), dtype int
            The number of the query and of the document of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,), dtype float64
            1 for documents that do, 0 for others.

        Raises
        ------
        ValueError, TypeError
            As `search`, and if a number names no query or no document.
        """
        found = self.search(queries)
        n = self.postings_.n_documents
        query_of, document_of = check_pairs(query_of, document_of, len(found), n)
        sizes = [len(documents) for documents in found]
        first = np.repeat(np.arange(len(found)), sizes) * n
        keys = first + np.concatenate([np.empty(0, dtype=np.intp), *found])
        return _among(query_of * n + document_of, keys).astype(np.float64)

    def _resolved(self, matches: _Matches | None) -> np.ndarray:
        if matches is None:
            return np.empty(0, dtype=np.intp)
        if not matches.others:
            return matches.documents
        everything = np.arange(self.postings_.n_documents)
        return everything[~_among(everything, matches.documents)]

    def _of_word(self, word: str) -> _Matches | None:
        """Return the documents with all terms of a word; None without terms."""
        matches = None
        for term in self.index_._tokenize([word])[0]:
            found = _Matches(self._documents_of(term))
            matches = found if matches is None else matches & found
        return matches

    def _documents_of(self, term: str) -> np.ndarray:
        return self.postings_.document_of[self._list_of(term)].astype(np.intp)

    def _list_of(self, term: str) -> slice:
        number = self.index_.vocabulary_.get(term)
        if number is None:
            return slice(0, 0)
        return slice(*self.postings_.counts.indptr[number : number + 2].tolist())

    def _of_phrase(self, phrase: str) -> _Matches | None:
        """Return the documents in which the terms of a phrase follow each other."""
        terms = self.index_._tokenize([phrase])[0]
        if len(terms) < 2:
            return self._of_word(phrase)
        # A term at position p of a document begins no phrase but that at p less the
        # place of the term in it, so that these beginnings have to meet.
        starts = None
        for place, term in enumerate(terms):
            begins = _beginnings(self.postings_, self._list_of(term), place)
            starts = begins if starts is None else starts[_among(starts, begins)]
        assert starts is not None
        return _Matches(np.unique(starts >> _POSITION_BITS).astype(np.intp))


# A place holds the number of the document above this many bits, and the position, which
# is a number of 31 bits, in them.
_POSITION_BITS = 32


def _beginnings(postings: Postings, of_term: slice, place: int) -> np.ndarray:
    """Return ascending places where a phrase may begin, by one of its terms."""
    if postings.positions is None:
        raise ValueError(
            "phrases need an index with positions; make it by "
            "InvertedIndex(with_positions=True)"
        )
    starts = postings.position_starts[of_term.start : of_term.stop + 1]
    documents = postings.document_of[of_term].astype(np.int64)
    positions = postings.positions[starts[0] : starts[-1]].astype(np.int64) - place
    places = (np.repeat(documents, np.diff(starts)) << _POSITION_BITS) + positions
    return places[positions >= 0]


class _Parser:
    """Reads one expression, with two stacks instead of calls that nest with it."""

    def __init__(self, model: BooleanModel, query: str, place: int):
        self._model = model
        self._where = f"queries must hold Boolean expressions; item {place} "
        self._tokens = _TOKEN.findall(query)
        self._operands: list[_Matches | None] = []
        self._operators: list[str] = []

    def parse(self) -> _Matches | None:
        """Return what the expression matches; None without terms."""
        if not self._tokens:
            return None
        after_operand = False
        for token in self._tokens:
            if after_operand and token not in ("AND", "OR", ")"):
                self._push("AND")
                after_operand = False
            if token in ("AND", "OR"):
                if not after_operand:
                    raise self._error(f"has nothing before {token}")
                self._push(token)
                after_operand = False
            elif token in ("NOT", "("):
                self._operators.append(token)
            elif token == ")":
                if not after_operand:
                    raise self._error("has nothing before )")
                self._close()
            else:
                self._operands.append(self._operand(token))
                after_operand = True
        if not after_operand:
            raise self._error(f"ends with {self._tokens[-1]}")
        while self._operators:
            if self._operators[-1] == "(":
                raise self._error("has a ( without )")
            self._apply()
        return self._operands.pop()

    def _operand(self, token: str) -> _Matches | None:
        if token == '"':
            raise self._error("has a phrase without its second quote")
        if token.startswith('"'):
            return self._model._of_phrase(token[1:-1])
        return self._model._of_word(token)

    def _push(self, operator: str) -> None:
        """Apply what binds at least as strongly as an operator, and keep that."""
        while (
            self._operators
            and self._operators[-1] != "("
            and _STRENGTH[self._operators[-1]] >= _STRENGTH[operator]
        ):
            self._apply()
        self._operators.append(operator)

    def _close(self) -> None:
        while self._operators and self._operators[-1] != "(":
            self._apply()
        if not self._operators:
            raise self._error("has a ) without (")
        self._operators.pop()

    def _apply(self) -> None:
        operator, right = self._operators.pop(), self._operands.pop()
        if operator == "NOT":
            self._operands.append(None if right is None else ~right)
            return
        left = self._operands.pop()
        if left is None or right is None:
            self._operands.append(right if left is None else left)
        else:
            self._operands.append(left & right if operator == "AND" else left | right)

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"{self._where}{problem}: {shown(' '.join(self._tokens))}")
