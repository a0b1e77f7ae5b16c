"""Ranking by association rules."""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank._core._energies import matvec
from skrank._core._grades import distinct_grades
from skrank._core._parameters import Interval, NonNegativeInt
from skrank._core._validation import check_arguments
from skrank._rows import GroupedRows
from skrank.base import BaseRanker
from skrank.trees import BinMapper

# Words of bits, or numbers made of them, that are looked at in one go.
_BLOCK = 1 << 21
# Units in 1 of the higher half of a share: sums of up to 2 ** 27 halves are exact.
_HALF = 2.0**26
_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


# What is learned, by the parameter ``mining``.
_TRAINING = ("training_items_", "training_codes_", "training_weight_")
_RULES = ("itemsets_", "support_", "confidence_")


class AssociationRuleRanker(BaseRanker):
    r"""Association rules: ranges of features that speak for a grade.

    A rule :math:`F \to y` says that documents with some features in certain ranges F
    have the grade y. Rules are kept whose support :math:`P(y, F)` and whose confidence
    :math:`P(y \mid F)` reach two thresholds, which minimises

    .. math:: -\sum_{F, y} H\bigl(P(y, F), \sigma_{\min}\bigr)\,
              H\bigl(P(y \mid F), \theta_{\min}\bigr), \qquad
              H(a, b) = [a \ge b].

    A document is scored by the rules that apply to it:

    .. math:: \bar\theta(y) = \frac{\sum_F P(y \mid F)}{\sum_F 1}, \qquad
              s = \sum_y y\, \frac{\bar\theta(y)}{\sum_{y'} \bar\theta(y')}.

    A grade without such a rule has :math:`\bar\theta(y) = 0`, and a document without
    any gets the mean grade of the training documents. Ranges hold about equally many
    documents; missing values are a range of their own.

    Complexity: each set of ranges costs one operation per 64 training documents. There
    are d b sets of one range for d features of b ranges, and about (d b)² / 2 of two,
    of which only those are looked at whose parts reach the support.

    Parameters
    ----------
    max_size : {1, 2, 3}, default=1
        Most features in a rule; the rules of the book have one.
    n_bins : int, default=10
        Number of ranges of a feature.
    min_support : float, default=0.001
        Least support :math:`\sigma_{\min}`: share of the documents that have the ranges
        and the grade.
    min_confidence : float, default=0.0
        Least confidence :math:`\theta_{\min}`: share of the documents with the ranges
        that have the grade.
    mining : {"fit", "predict"}, default="fit"
        When rules are sought: once, in `fit`; or on demand, when documents are to be
        scored, and then only those that apply to one of them. The scores are the same.
        On demand the training rows are kept, as numbers of ranges.

    Attributes
    ----------
    ranges_ : BinMapper
        Ranges of the features.
    grades_ : ndarray of shape (n_grades,)
        Training grades, ascending.
    prior_ : ndarray of shape (n_grades,)
        Share of the documents that have each grade.
    itemsets_ : ndarray of shape (n_itemsets, max_size)
        Ranges of the rules, numbered over all features, and -1 for none.
    confidence_ : ndarray of shape (n_itemsets, n_grades)
        Confidence of the rules; 0 where there is none.
    support_ : ndarray of shape (n_itemsets, n_grades)
        Support of the rules; 0 where there is none.

    References
    ----------
    [Veloso2008]_; [Liu2011]_, section 2.3.2, eq. 2.9–2.11.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import AssociationRuleRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = AssociationRuleRanker().fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    >>> len(ranker.describe(3))
    3
    """

    approach = "pointwise"
    _penalties = ("min_support", "min_confidence")
    _accepts_sparse = False
    _accepts_missing = True

    max_size: Annotated[int, Interval(1, 3)] = 1
    n_bins: Annotated[int, Interval(2, 254)] = 10
    min_support: Annotated[float, Interval(0, 1)] = 0.001
    min_confidence: Annotated[float, Interval(0, 1)] = 0.0
    mining: Literal["fit", "predict"] = "fit"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [
            {},
            {"max_size": 2, "n_bins": 4, "min_support": 0.01},
            {"max_size": 3, "n_bins": 2, "min_support": 0.05, "mining": "predict"},
            {"min_confidence": 0.2},
        ]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        self.ranges_ = BinMapper(max_bins=self.n_bins, random_state=0).fit(data.X)
        self.grades_ = distinct_grades(data.y, "for each of which rules are sought")
        codes = np.searchsorted(self.grades_, np.asarray(data.y))
        weight = data.sample_weight
        if weight is not None and not weight.any():
            weight = None  # no document counts more than another
        total = np.bincount(codes, weight, len(self.grades_)).astype(np.float64)
        self.prior_ = total / total.sum()
        for name in (*_TRAINING, *_RULES):
            vars(self).pop(name, None)  # of an earlier fit with the other mining
        if self.mining == "predict":
            self.training_items_ = self._items(data.X)
            self.training_codes_ = codes
            self.training_weight_ = weight
            return
        table = _Table.of(self._items(data.X), codes, weight, self._n_items())
        self.itemsets_, self.support_, self.confidence_ = self._mine(table)

    def _n_items(self) -> int:
        return int(self._first_items()[-1])

    def _first_items(self) -> np.ndarray:
        """Return the number of the first range of each feature, and that of all."""
        # One more for missing values.
        return np.append(0, np.cumsum(self.ranges_.n_bins_.astype(np.intp) + 1))

    def _items(self, X) -> np.ndarray:
        """Return the numbers of the ranges that each row is in, (n, n_features)."""
        mapper, first = self.ranges_, self._first_items()
        items, thresholds = np.empty(X.shape, dtype=np.int32), mapper.thresholds_
        for j, n_bins in enumerate(mapper.n_bins_):
            column = X[:, j].astype(thresholds.dtype, copy=False)
            place = np.searchsorted(thresholds[j, : max(n_bins - 1, 0)], column)
            items[:, j] = first[j] + np.where(np.isnan(column), n_bins, place)
        return items

    def _mine(self, table, demanded=None):
        """Return the item sets of the rules, with support and confidence.

        Parameters
        ----------
        table : _Table
            Training rows.
        demanded : _Table, default=None
            Rows to score; only sets that one of them has are looked at.

        Returns
        -------
        itemsets : ndarray of shape (n_itemsets, max_size)
        support, confidence : ndarrays of shape (n_itemsets, n_grades)
        """
        feature = np.repeat(
            np.arange(self.n_features_in_), np.diff(self._first_items())
        )
        found, level = [], iter([np.arange(table.n_items)[:, None]])
        for size in range(1, self.max_size + 1):
            kept = []
            blocks = (_blocks(sets, table.n_words * size) for sets in level)
            for sets in chain.from_iterable(blocks):
                if demanded is not None:
                    sets = sets[demanded.bits_of(sets).any(axis=1)]
                support = table.counts(sets) / table.total
                reached = (support >= self.min_support) & (support > 0)
                some = reached.any(axis=1)
                sets, support, reached = sets[some], support[some], reached[some]
                kept.append(sets)
                whole = support.sum(axis=1, keepdims=True)
                confidence = support / whole
                is_rule = reached & (confidence >= self.min_confidence)
                some = is_rule.any(axis=1)
                padded = np.full((int(some.sum()), self.max_size), -1, dtype=np.int32)
                padded[:, :size] = sets[some]
                is_rule = is_rule[some]
                rules = (
                    np.where(is_rule, part[some], 0.0) for part in (support, confidence)
                )
                found.append((padded, *rules))
            some = any(map(len, kept))
            level = _joined(np.concatenate(kept), feature) if some else iter([])
        empty = np.zeros((0, len(self.grades_)))
        found.append((np.empty((0, self.max_size), dtype=np.int32), empty, empty))
        itemsets, support, confidence = map(np.concatenate, zip(*found))
        return itemsets, support, confidence

    def _predict(self, X) -> np.ndarray:
        rows = _Table.of(self._items(X), None, None, self._n_items())
        if hasattr(self, "training_items_"):
            self._check_parameters()  # limits may be set after `fit`
            table = _Table.of(
                self.training_items_,
                self.training_codes_,
                self.training_weight_,
                self._n_items(),
            )
            itemsets, _, confidence = self._mine(table, rows)
        else:
            itemsets, confidence = self.itemsets_, self.confidence_
        n_grades = len(self.grades_)
        sums = np.zeros((X.shape[0], 3 * n_grades))
        of_rules = np.hstack([*_halves(confidence), confidence > 0])
        start = 0
        for sets in _blocks(itemsets, max(64, 64 * rows.n_words)):
            applies = rows.unpacked(sets).astype(np.float64)
            sums += applies.T @ of_rules[start : start + len(sets)]
            start += len(sets)
        # All three come out exactly, whatever other rows are scored.
        high, low, counts = np.split(sums, 3, axis=1)
        accumulated = high + low
        theta = np.divide(
            accumulated, counts, out=np.zeros_like(accumulated), where=counts > 0
        )
        total = theta.sum(axis=1, keepdims=True)
        share = np.where(total > 0, theta / np.where(total > 0, total, 1), self.prior_)
        return matvec(np.ascontiguousarray(share), self.grades_.astype(np.float64))

    def describe(self, n_rules: NonNegativeInt = 10) -> list[str]:
        """Return the most confident rules in words.

        Parameters
        ----------
        n_rules : int, default=10
            Number of rules; of equally confident ones those of more support come first.

        Returns
        -------
        list of str
            Rules such as "x3 > 0.5 and x7 <= 2: grade 2 (confidence 0.81, support
            0.04)".

        Raises
        ------
        ValueError
            If rules are mined on demand, so that there are none yet, or ``n_rules`` is
            not a whole number >= 0.
        """
        check_arguments(AssociationRuleRanker.describe, n_rules=n_rules)
        check_is_fitted(self)
        if hasattr(self, "training_items_"):
            raise ValueError("mining='predict' keeps no rules; take mining='fit'")
        order = np.lexsort((-self.support_.ravel(), -self.confidence_.ravel()))
        texts = []
        for place in order[:n_rules]:
            row, code = divmod(int(place), len(self.grades_))
            confidence = self.confidence_[row, code]
            if confidence == 0:
                break
            ranges = [self._in_words(i) for i in self.itemsets_[row] if i >= 0]
            texts.append(
                f"{' and '.join(ranges)}: grade {self.grades_[code]:g} (confidence "
                f"{confidence:.2g}, support {self.support_[row, code]:.2g})"
            )
        return texts

    def _in_words(self, item) -> str:
        first = self._first_items()
        j = int(np.searchsorted(first, item, side="right") - 1)
        place, n_bins = int(item - first[j]), int(self.ranges_.n_bins_[j])
        name = getattr(self, "feature_names_in_", {j: f"x{j}"})[j]
        thresholds = self.ranges_.thresholds_[j]
        if place == n_bins:
            return f"{name} is missing"
        if n_bins == 1:
            return f"{name} is there"
        if place == 0:
            return f"{name} <= {thresholds[0]:.4g}"
        if place == n_bins - 1:
            return f"{name} > {thresholds[place - 1]:.4g}"
        return f"{thresholds[place - 1]:.4g} < {name} <= {thresholds[place]:.4g}"


class _Table(NamedTuple):
    """Rows as sets of bits: for each item those of the rows that have it.

    Rows stand in the order of their grades, and those of each grade begin in a word of
    their own, so that the words of a grade can be counted by themselves.
    """

    bits: np.ndarray  # (n_items, n_words), uint64
    place: np.ndarray  # of each row among the bits
    starts: np.ndarray  # first word of each grade
    weight: np.ndarray | None  # (n_bits, n_grades)
    total: float

    @classmethod
    def of(cls, items, codes, weight, n_items) -> "_Table":
        """Make the table of rows; without grades all have the same."""
        n = len(items)
        codes = np.zeros(n, dtype=np.intp) if codes is None else codes
        sizes = np.bincount(codes)
        n_words = -(-sizes // 64)
        starts = np.cumsum(n_words) - n_words
        order = np.argsort(codes, kind="stable")
        within = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = np.empty(n, dtype=np.intp)
        place[order] = 64 * starts[codes[order]] + within
        n_bits = 64 * int(n_words.sum())
        bits = np.zeros((n_items, n_bits // 8), dtype=np.uint8)
        byte, bit = place // 8, (128 >> (place % 8)).astype(np.uint8)
        for column in items.T:
            np.bitwise_or.at(bits, (column, byte), bit)
        spread = None
        if weight is not None:
            spread = np.zeros((n_bits, len(sizes)))
            spread[place, codes] = weight
        total = float(n if weight is None else weight.sum())
        return cls(bits.view(np.uint64), place, starts, spread, total)

    @property
    def n_items(self) -> int:
        return len(self.bits)

    @property
    def n_words(self) -> int:
        return self.bits.shape[1]

    def bits_of(self, sets) -> np.ndarray:
        """Return the rows that have all items of each set, (n_sets, n_words)."""
        found = self.bits[sets[:, 0]]
        for column in sets.T[1:]:
            if (column >= 0).all():
                found &= self.bits[column]
            else:
                wanted = column >= 0
                found[wanted] &= self.bits[column[wanted]]
        return found

    def unpacked(self, sets) -> np.ndarray:
        """Return whether each row has all items of each set, (n_sets, n_rows)."""
        packed = self.bits_of(sets).view(np.uint8)
        return np.unpackbits(packed, axis=1)[:, self.place]

    def counts(self, sets) -> np.ndarray:
        """Return the weight of the rows of each grade that have all items of a set."""
        found = self.bits_of(sets)
        if self.weight is not None:
            bits = np.unpackbits(found.view(np.uint8), axis=1).astype(np.float64)
            # Of each set by itself, unlike a product of matrices.
            of_grades = np.ascontiguousarray(self.weight.T)
            return np.stack([matvec(bits, own) for own in of_grades], axis=1)
        if hasattr(np, "bitwise_count"):
            ones = np.bitwise_count(found)
        else:  # NumPy 1
            ones = _ONES[found.view(np.uint8)]
            ones = ones.reshape(*found.shape, 8).sum(axis=2, dtype=np.uint8)
        return np.add.reduceat(ones, self.starts, axis=1, dtype=np.int64)


def _halves(shares) -> tuple[np.ndarray, np.ndarray]:
    """Return two parts of numbers from 0 to 1 of which sums are exact in any order."""
    high = np.rint(shares * _HALF) / _HALF
    return high, np.rint((shares - high) * (2 * _HALF**2)) / (2 * _HALF**2)


def _blocks(sets, n_words) -> Iterator[np.ndarray]:
    """Yield parts of a list of sets that need so many words each."""
    step = max(1, _BLOCK // max(1, n_words))
    for start in range(0, len(sets), step):
        yield sets[start : start + step]


def _joined(sets, feature) -> Iterator[np.ndarray]:
    """Yield the sets with one item more of which two parts are among the given sets.

    Two sets that differ in their last item alone are joined; an item of each feature.
    There may be many more of them than given sets, so they come in parts.
    """
    sets = sets[np.lexsort(sets.T[::-1])]
    differs = (sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)
    first = np.append(0, np.flatnonzero(differs) + 1)[: len(sets)]
    last = np.append(first[1:], len(sets))
    # Set i is joined with all that come after it under the same prefix.
    n_after = np.repeat(last, last - first) - np.arange(len(sets)) - 1
    part = np.cumsum(n_after) // _BLOCK
    for chosen in np.split(np.arange(len(sets)), np.flatnonzero(np.diff(part)) + 1):
        counts = n_after[chosen]
        left = np.repeat(chosen, counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        right = left + 1 + np.arange(len(left)) - before
        apart = feature[sets[left, -1]] != feature[sets[right, -1]]
        yield np.column_stack([sets[left[apart]], sets[right[apart], -1:]])
