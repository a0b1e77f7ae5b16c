"""Rankers in pipelines of PyTerrier.

PyTerrier passes documents as data frames with the columns ``qid``, ``docno`` and
``features``, one array per row. `pyterrier_ranker` makes a transformer of a ranker that
learns from such frames and scores them, with the query ids as they are. Learners of
``pyterrier.ltr.apply_learned_model`` are told queries as LightGBM is: as sizes of
adjacent queries; `PyTerrierLearner` translates.
"""

from collections.abc import Sequence
from dataclasses import field
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._inner import check_scores_documents, fit_inner, scores_of
from skrank._core._levels import is_frame, names_of_columns
from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank._core._validation import as_numbers, n_rows
from skrank.datasets._run_likes import table_of


class PyTerrierLearner(Parameters, BaseEstimator):
    """A ranker as a learner of ``pyterrier.ltr.apply_learned_model(form="ltr")``.

    PyTerrier calls learners of this form as it calls LightGBM's: with the sizes of
    adjacent queries. They become the ids of queries 0, 1, … here, and the validation
    queries go to rankers that take some. `pyterrier_ranker` needs neither validation
    queries nor this detour.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline or any estimator that scores documents; it is cloned,
        never changed.

    Attributes
    ----------
    estimator_ : estimator
        Fitted estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.compat import PyTerrierLearner
    >>> from skrank.rankers import RankSVM
    >>> X, y = np.array([[1.0], [0.0], [3.0], [2.0]]), [1, 0, 1, 0]
    >>> learner = PyTerrierLearner(RankSVM()).fit(X, y, group=[2, 2])
    >>> int(learner.predict(X).argmax())
    2
    >>> import pyterrier as pt  # doctest: +SKIP
    >>> pipeline = features >> pt.ltr.apply_learned_model(  # doctest: +SKIP
    ...     learner, form="ltr"
    ... )
    """

    estimator: Any = field(kw_only=False)

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        eval_set: Sequence | None = None,
        eval_group: Sequence | None = None,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Documents, those of a query next to each other.
        y : array-like of shape (n_documents,)
            Relevance grades; negative ones, of documents that were not judged, become
            0.
        group : array-like of shape (n_queries,)
            Number of documents of each query.
        eval_set : sequence of one pair (X, y), default=None
            Validation documents.
        eval_group : sequence of one array, default=None
            Sizes of the validation queries.

        Returns
        -------
        Self
            The fitted learner.

        Raises
        ------
        ValueError
            If sizes are missing or do not sum to the number of rows.
        """
        validation = None
        if eval_set is not None:
            pairs, sizes = _only(eval_set, "eval_set"), _only(eval_group, "eval_group")
            if not isinstance(pairs, (list, tuple)) or len(pairs) != 2:
                raise ValueError(
                    f"eval_set must hold a pair (X, y), got {shown(pairs)}"
                )
            validation = {
                "X_val": pairs[0],
                "y_val": _grades(pairs[1], "eval_set"),
                "groups_val": _numbers(sizes, n_rows(pairs[0]), "eval_group"),
            }
        groups = _numbers(group, n_rows(X), "group")
        self.estimator_ = fit_inner(
            self.estimator, X, _grades(y, "y"), groups=groups, validation=validation
        )
        return self

    def predict(self, X: npt.ArrayLike) -> np.ndarray:
        """Score documents.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Documents.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores, higher is better.
        """
        check_is_fitted(self, "estimator_")
        return scores_of(self.estimator_, X, response_method="predict")


def _only(values, name):
    """Return the only entry of a sequence."""
    if not isinstance(values, (list, tuple)) or len(values) != 1:
        raise ValueError(f"{name} must hold one entry, got {shown(values)}")
    return values[0]


def _grades(y, name):
    return np.maximum(as_numbers(y, name, "numeric relevance grades"), 0.0)


def _numbers(sizes, n_documents, name):
    """Return the number of the query of each row from the sizes of the queries."""
    if sizes is None:
        raise ValueError(
            f"{name} must hold the sizes of the queries, got None; "
            "apply_learned_model passes them with form='ltr'"
        )
    counts = as_numbers(sizes, name)
    if counts.ndim != 1 or (counts < 0).any() or counts.sum() != n_documents:
        raise ValueError(
            f"{name} must hold one size per query, {n_documents} rows in all, got "
            f"{shown(sizes)}"
        )
    return np.repeat(np.arange(len(counts)), counts.astype(np.intp))


def pyterrier_ranker(estimator: Any) -> Any:
    """Return a transformer of PyTerrier that ranks by a ranker.

    It stands at the end of a pipeline whose earlier stages make the column
    ``features``. ``fit`` of the pipeline trains a clone of the ranker, which is told
    the queries; documents without a judgement have grade 0. Validation topics are
    optional, and go to rankers that take validation queries. An estimator that is
    fitted already scores as it is.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline or any estimator that scores documents.

    Returns
    -------
    pyterrier.Estimator
        Transformer with the attribute ``estimator_``, the fitted ranker. It adds the
        columns ``score`` and ``rank``.

    Raises
    ------
    ImportError
        If PyTerrier is not installed.
    TypeError
        If the estimator does not score documents.

    Examples
    --------
    >>> from skrank.compat import pyterrier_ranker
    >>> from skrank.rankers import LambdaMART
    >>> bm25 = index.bm25(include_fields=["text"])  # doctest: +SKIP
    >>> pipeline = bm25 >> features >> pyterrier_ranker(  # doctest: +SKIP
    ...     LambdaMART()
    ... )
    >>> pipeline.fit(topics, qrels)  # doctest: +SKIP
    >>> pipeline.transform(other_topics)  # doctest: +SKIP
    """
    check_scores_documents(estimator, "estimator")
    return _transformer_class()(estimator)


@cache
def _transformer_class() -> type:
    """Make the class of transformers, whose base is in PyTerrier."""
    try:
        import pyterrier as pt
        from pyterrier.model import add_ranks
    except ImportError:
        raise ImportError(
            "pyterrier_ranker needs PyTerrier; install it with: pip install "
            "python-terrier"
        ) from None

    class RankerTransformer(pt.Estimator):
        """A ranker that learns from data frames and scores them."""

        def __init__(self, estimator):
            super().__init__()
            self.estimator = estimator
            self.estimator_ = estimator

        def fit(
            self,
            topics_or_res_tr,
            qrels_tr,
            topics_or_res_va=None,
            qrels_va=None,
        ):
            """Train the ranker on the documents of topics with judgements."""
            self.estimator_ = fit_on_frames(
                self.estimator, topics_or_res_tr, qrels_tr, topics_or_res_va, qrels_va
            )
            return self

        def transform(self, inp):
            """Add the columns ``score`` and ``rank``."""
            scored = inp.copy()
            scored["score"] = scores_of_frame(self.estimator_, inp)
            return add_ranks(scored)

        def transform_outputs(self, inp_cols):
            """Return the names of the columns of the result."""
            added = ("score", "rank")
            return [*inp_cols, *(name for name in added if name not in inp_cols)]

        def __reduce__(self):
            return _rebuilt, (self.estimator, self.estimator_)

        def __repr__(self):
            return f"pyterrier_ranker({self.estimator!r})"

    return RankerTransformer


def _rebuilt(estimator, fitted):
    """Make a transformer anew from its pickle."""
    transformer = pyterrier_ranker(estimator)
    transformer.estimator_ = fitted
    return transformer


def fit_on_frames(
    estimator: Any, frame: Any, qrels: Any, valid: Any = None, qrels_valid: Any = None
) -> Any:
    """Return a clone of a ranker that is fitted on frames of PyTerrier.

    Parameters
    ----------
    estimator : estimator
        Ranker.
    frame : DataFrame
        Training documents, with the columns ``qid``, ``docno`` and ``features``.
    qrels : DataFrame or other judgements
        Judgements of the training topics.
    valid : DataFrame, default=None
        Validation documents, likewise.
    qrels_valid : DataFrame or other judgements, default=None
        Judgements of the validation topics.

    Returns
    -------
    estimator
    """
    X, y, groups = _rows(frame, qrels, "topics_or_res_tr", "qrels_tr")
    validation: dict[str, Any] | None = None
    if valid is not None and qrels_valid is not None and len(valid):
        parts = _rows(valid, qrels_valid, "topics_or_res_va", "qrels_va")
        validation = dict(zip(("X_val", "y_val", "groups_val"), parts))
    return fit_inner(estimator, X, y, groups=groups, validation=validation)


def scores_of_frame(estimator: Any, frame: Any) -> np.ndarray:
    """Return the scores of the documents of a frame of PyTerrier."""
    X, groups, _ = _documents(frame, "inp")
    if not len(X):
        return np.empty(0)
    return scores_of(estimator, X, groups, response_method="predict")


def _rows(frame, qrels, name, of_qrels):
    """Return features, grades and query ids; 0 is the grade of unjudged documents."""
    X, groups, docids = _documents(frame, name)
    if not len(X):
        raise ValueError(f"{name} must hold documents to train on, found none")
    if not is_frame(qrels):
        raise TypeError(f"{of_qrels} must be a data frame, got {shown(qrels)}")
    table = table_of("qrels", qrels, of_qrels).to_dict()
    grades = [
        table.get(query, {}).get(docid, 0.0)
        for query, docid in zip(groups.tolist(), docids)
    ]
    return X, np.maximum(np.array(grades), 0.0), groups


def _documents(frame, name):
    """Return the features, the query ids and the document ids of a frame."""
    wanted = ("qid", "docno", "features")
    missing = [column for column in wanted if column not in names_of_columns(frame)]
    if missing:
        raise ValueError(
            f"{name} must be a data frame with the columns qid, docno and features; it "
            f"lacks {', '.join(missing)}"
        )
    groups = np.asarray(frame["qid"], dtype=object)
    docids = np.asarray(frame["docno"], dtype=object).tolist()
    rows = [np.asarray(row, dtype=np.float64).ravel() for row in frame["features"]]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(
            f"{name}: features must have the same length in all rows, found "
            f"{min(lengths)} and {max(lengths)}"
        )
    return np.stack(rows) if rows else np.empty((0, 0)), groups, docids
