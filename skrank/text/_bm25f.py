"""BM25F, Okapi BM25 of documents with fields."""

from collections.abc import Mapping
from numbers import Real
from typing import Annotated

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import Interval, invalid_parameter
from skrank.text._bm25 import BM25
from skrank.text._idf import inverse_document_frequency
from skrank.text._index import Postings
from skrank.text._texts import MAX_COUNT

_INFINITE = 1e100  # as in BM25


class BM25F(BM25):
    r"""Okapi BM25 of documents with fields, whose term counts it adds up by weights.

    .. math::
        s(q, d) = \sum_{t \in q \cap d} IDF(t)
            \frac{(k_1 + 1)\, \widetilde{TF}(t, d)}{k_1 + \widetilde{TF}(t, d)}
            \cdot \frac{(k_3 + 1)\, TF(t, q)}{k_3 + TF(t, q)}, \qquad
        \widetilde{TF}(t, d) = \sum_f
            \frac{w_f\, TF_f(t, d)}{1 - b_f + b_f\, LEN_f(d) / avdl_f}

    A sum of the scores of fields would let a term that stands in each of them count
    several times, as if it were several terms; here, saturation sees it as one. IDF(t)
    counts the documents that contain the term in any field. With a single field of
    weight 1, this is `BM25`.

    Parameters
    ----------
    k1 : float, default=1.2
        Saturation of the weighted term frequency: the larger, the more do repetitions
        of a term count. 0 only asks whether the term occurs.
    b : float or mapping of str to float, default=0.75
        Strength of the normalisation by the length of a field, from 0 (none) to 1
        (full): one for all fields, or one for each; 0.75 for fields that are not named.
    weights : mapping of str to float, default=None
        Weight of each field, at least 0; 1 for fields that are not named. None gives
        all fields the weight 1.

    Attributes
    ----------
    offsets_ : None
        BM25F has no offset per document.

    See Also
    --------
    BM25 : The same of one field, or of whole documents as if they had none.

    References
    ----------
    [Robertson2004]_; [Zaragoza2004]_ for the normalisation of each field.

    Examples
    --------
    >>> from skrank.text import BM25F
    >>> documents = {"title": ["sort", "matrix"], "body": ["rows", "sort the rows"]}
    >>> BM25F(weights={"title": 3}).fit(documents).score(["sort"]).round(3)
    array([[0.287, 0.16 ]])
    """

    b: Annotated[float, Interval(0, 1)] | Mapping[str, float] = 0.75
    weights: Mapping[str, float] | None = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"b": 0.3, "weights": {}, "k1": 0.9, "idf": "robertson"},
            {"b": {}, "k3": 8.0, "idf": "log"},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        bounds = {"b": (self.b, 1.0), "weights": (self.weights, MAX_COUNT)}
        for name, (values, most) in bounds.items():
            if not isinstance(values, Mapping):
                continue
            for field, value in values.items():
                if not _is_number(value) or not 0 <= value <= most:
                    wanted = "1" if most == 1 else "2**53"
                    raise invalid_parameter(
                        self,
                        f"{name}[{shown(field)}]",
                        f"a number from 0 to {wanted}",
                        value,
                    )

    def _weigh_documents(self, postings):
        fields = self._fields(postings)
        frequency = np.zeros(len(postings.counts.data))
        for name, part in fields.items():
            strength = float(self._strength(name))
            mean = part.average_length or 1.0  # 0 if all fields are empty
            norm = 1 - strength + strength * part.lengths / mean
            # The norm of a field is 0 only where it is empty, and has no postings.
            share = part.counts.data / norm[part.document_of]
            whole = postings.find(part.term_of, part.document_of.astype(np.intp))
            frequency[whole] += float((self.weights or {}).get(name, 1.0)) * share
        idf = inverse_document_frequency(
            postings.document_frequency, postings.collection_size, self.idf
        )
        k1 = float(min(self.k1, _INFINITE))
        # Without a weight and with k1 = 0, this is 0 / 0: no occurrence that counts.
        total = np.where(frequency > 0, frequency + k1, 1.0)
        return idf[postings.term_of] * ((k1 + 1) * frequency / total), None

    def _fields(self, postings: Postings) -> Mapping[str, Postings]:
        """Return the postings of the fields that are scored."""
        known = self.index_.fields_
        named = [self.weights or {}, self.b if isinstance(self.b, Mapping) else {}]
        for name in (name for names in named for name in names):
            if name not in known:
                raise ValueError(
                    f"weights and b must name fields of the documents, {known}, got "
                    f"{shown(name)}"
                )
        if postings.fields is not None:
            return postings.fields
        if self.field is None and len(known) > 1:
            raise ValueError(
                "BM25F needs the postings of the fields, got those of none"
            )
        return {next(iter(known)) if self.field is None else self.field: postings}

    def _strength(self, name: str) -> float:
        return self.b.get(name, 0.75) if isinstance(self.b, Mapping) else self.b


def _is_number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
