"""Base classes of rankers: input, groups, scoring and ranking.

A ranker implements ``_fit(data, validation)`` on rows that are already checked and
grouped by query, and ``_predict(X)``, which returns scores. All checks of what users
pass to a ranker are made here.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._compat import CallbackSupportMixin, task_of_fit, with_callbacks
from skrank._core._finite import (
    NotFiniteError,
    checked_rows,
    quiet,
    require_finite_scores,
)
from skrank._core._informative import n_warnings
from skrank._core._inner import as_answer
from skrank._core._messages import shown
from skrank._core._missing import rows_with_nan
from skrank._core._parameters import InvalidParameterError, Parameters
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._segments import segment_ranks
from skrank._core._sparse import check_sparse
from skrank._core._tables import naming_text, refuse_dates, refuse_series
from skrank._core._times import check_times, times_of_index
from skrank._core._validation import (
    check_grades,
    check_groups,
    check_options,
    check_scores,
    check_weights,
    n_rows,
    naming,
    qid_of_index,
    resolve_groups,
)
from skrank._equal_scores import EqualScoresMixin, warn_of_equal_scores
from skrank._rows import (
    GroupedRows,
    SideData,
    checked_preferences,
    read_only,
)
from skrank._training_data import (
    hinting_at_pipelines,
    overflow_in_data,
    warn_of_other_ranges,
    warn_of_training_data,
)
from skrank._validation_sets import ValidationSet, validation_sets
from skrank.metrics import make_ranking_scorer
from skrank.metrics._gain import Gain
from skrank.metrics._leakage import last_times
from skrank.metrics._registry import MeasureLike

__all__ = ["BaseRanker"]

ArrayOrCSR = npt.ArrayLike | sparse.csr_matrix | sparse.csr_array
_SeveralSets = Mapping[str, Any] | Sequence[Any]
_FitMethod = Callable[[GroupedRows, GroupedRows | None], Any]


def _hides_groups(method):
    """Have a method take ``groups`` that its signature does not name.

    scikit-learn reads the signature, and takes whatever stands there for metadata that
    a user must request or decline; here there is nothing to request.
    """
    signature = inspect.signature(method)
    named = [p for p in signature.parameters.values() if p.name != "groups"]
    method.__signature__ = signature.replace(parameters=named)
    return method


class BaseRanker(EqualScoresMixin, Parameters, CallbackSupportMixin, BaseEstimator):
    """Base class of all rankers.

    Subclasses implement ``_fit(data, validation)``, which sets fitted attributes, and
    ``_predict(X)``, which returns scores. Groups reach `fit` and `score` by
    scikit-learn's metadata routing without any ``set_fit_request``.

    A ranker that learns from more than rows, grades, queries and weights lists the
    further arguments of `fit` in ``_side_data``. They are passed by name, and are
    checked, grouped, sliced and held out with the rows.
    """

    __metadata_request__fit = {
        "groups": True,
        "sample_weight": True,
        "X_val": True,
        "y_val": True,
        "groups_val": True,
        "times": True,
    }
    __metadata_request__score = dict.fromkeys(
        ("groups", "sample_weight", "measure", "gain", "times"), True
    )

    #: "pointwise", "pairwise", "listwise" or "any"; shown in the tables of the guide.
    approach: ClassVar[str]
    _accepts_sparse = True
    _accepts_missing = False
    _sums_features = True  # so that large ones may overflow
    _side_data: ClassVar[tuple[SideData, ...]] = ()
    #: Whether scores of a document depend on the other documents of its query.
    _needs_groups = False
    #: Whether `fit` takes ``preferences=`` in place of grades.
    _takes_preferences = False
    #: Why a ranker of pairs takes no ``preferences=``, as a clause.
    _why_grades: ClassVar[str | None] = None

    def __init_subclass__(cls, **kwargs):
        if "_side_data" in vars(cls) or "_takes_preferences" in vars(cls):
            _state_arguments_of_fit(cls)
        super().__init_subclass__(**kwargs)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Return the constructor arguments that the common tests run over."""
        return [{}]

    def fit(
        self,
        X: ArrayOrCSR,
        y: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        X_val: ArrayOrCSR | _SeveralSets | None = None,
        y_val: npt.ArrayLike | _SeveralSets | None = None,
        groups_val: npt.ArrayLike | _SeveralSets | None = None,
        times: npt.ArrayLike | None = None,
        **side_data: Any,
    ) -> Self:
        """Learn to rank the documents of each query.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades >= 0; higher is better. None may be masked: drop documents
            that nobody judged.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, as any hashable id and in any order. If None, the
            ids are read from a level named "qid" of the pandas index of ``y`` or ``X``.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document. In pairwise losses a pair has the weight of its
            preferred document; in listwise losses a query has the mean weight of its
            documents. Rankers that use weights otherwise say so.
        X_val : array-like of shape (n_val_documents, n_features), default=None
            Rows of validation queries, for early stopping and model selection. Several
            sets of them are a mapping from names to rows, or a list or tuple of tables:
            arrays of two dimensions, data frames or CSR matrices. Those of a list are
            called "validation_0", "validation_1" and so on. ``validation_rule`` of the
            ranker says which of them decide; by default the last one.
        y_val : array-like of shape (n_val_documents,), default=None
            Relevance grades of the validation rows; for several sets a mapping with the
            same names, or a list or tuple in the same order.
        groups_val : array-like of shape (n_val_documents,), default=None
            The query of each validation row; for several sets like ``y_val``.
        times : array-like of shape (n_documents,), default=None
            Time of each row, as numbers or dates; nothing is learned from it. The last
            time of each query is kept, so that scoring can tell later rows of a query
            from those that were trained on. None reads a level "time" of the index.
        **side_data : array-likes
            Further data that the ranker learns from; most rankers take none.

        Returns
        -------
        BaseRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, grades or features are not finite, a
            parameter is out of range, or the model would not be finite
            (`skrank.exceptions.NotFiniteError`). The ranker is then as it was before.

        Warns
        -----
        TrainingDataWarning
            If no query, or no validation query, prefers a document to another, the
            documents of each query have the same features, y and groups look swapped,
            one gain dwarfs all others, no tree could be split, or all scores are equal.
        """
        given = {"sample_weight": sample_weight, **side_data}
        if times is not None:  # `fit` of a class of the user's may not know it
            given["times"] = times
        validation = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
        return self._learn(self._fit, X, y, groups, given, validation)

    @with_callbacks
    def _learn(
        self,
        method: _FitMethod,
        X,
        y,
        groups,
        given,
        validation=None,
        *,
        reset=True,
        in_order=False,
    ) -> Self:
        """Check and group what was passed and hand it to a method that learns.

        Both `fit` and ``partial_fit`` come through here, the latter with
        ``reset=False`` from the second call on, and with ``in_order=True`` because a
        stream of queries is not to be sorted by their ids.
        """
        self._check_parameters()
        held_out: dict[str, Any] = dict.fromkeys(_ABOUT_VALIDATION)
        given = self._known_arguments(given)
        times = given.pop("times", None)
        held_out |= validation or {}
        for side in self._side_data:
            if side.for_validation:
                held_out[side.name] = given.pop(f"{side.name}_val", None)
        told = n_warnings()
        # The features must be those of a model that goes on.
        goes_on = getattr(self, "warm_start", False) and "query_ids_" in vars(self)
        try:
            data, index = self._training_rows(
                X, y, groups, given, reset and not goes_on, in_order
            )
            times = self._times_of_rows(times, y, X)
            rows = self._validation_rows(held_out, given)
            # None is documented: the number of iterations is not known beforehand.
            self._callback_context = self._init_callback_context(
                max_subtasks=None  # pyright: ignore[reportArgumentType]
            )
            if not in_order:  # a stream may come query by query
                warn_of_training_data(self, data, index)
            if rows is not None:
                warn_of_other_ranges(self, data, rows)
            with task_of_fit(self._callback_context, self, data):
                self._train(method, data, rows)
            self._note_queries(data, index, reset)
            self._note_times(times, index)
            if not in_order and n_warnings() == told:
                warn_of_equal_scores(self, data)
        finally:
            # The context holds on to the fit, and would be pickled with the ranker.
            vars(self).pop("_callback_context", None)
        return self

    def _train(self, method: _FitMethod, data, validation) -> None:
        """Call a method that learns, and make sure that it learned finite numbers.

        Only where it did not are the data searched for the cause.
        """
        try:
            with quiet():
                method(data, validation)
                for name, values in self._learned():
                    if not np.isfinite(values).all():
                        raise NotFiniteError(
                            f"{type(self).__name__}: {name} is not finite after the "
                            "fit; scale the features and grades, or make smaller steps"
                        )
        except Exception as error:
            cause = overflow_in_data(
                error, data, validation, sums_features=self._sums_features
            )
            if cause is None:
                raise
            raise NotFiniteError(f"{type(self).__name__}: {cause}") from error

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the numbers of the model that must be finite, with their names."""
        for name in ("params_", "coef_", "intercept_", "baseline_", "loss_curve_"):
            if name in vars(self):
                yield name, np.asarray(vars(self)[name])

    def _known_arguments(self, given):
        """Return the arguments that are not None; refuse those that `fit` lacks."""
        known = {"sample_weight"}
        for name, parameter in inspect.signature(self.fit).parameters.items():
            if name not in ("X", "y") and parameter.kind is not parameter.VAR_KEYWORD:
                known.add(name)
        for name in given:
            if name not in known:
                if self._why_grades and name == "preferences":
                    raise TypeError(
                        f"{type(self).__name__}.fit takes no preferences in place of "
                        f"grades, because {self._why_grades}"
                    )
                meant: str | None = _MEANT_BY.get(name)
                begin = f"did you mean {meant}? It" if meant else "it"
                raise TypeError(
                    f"{type(self).__name__}.fit takes no {name}; {begin} takes "
                    f"{', '.join(sorted(known))}"
                )
        return {name: value for name, value in given.items() if value is not None}

    def _training_rows(
        self, X, y, groups, given, reset, in_order
    ) -> tuple[GroupedRows, QueryIndex]:
        """Check and group training rows, judged by grades or by preferences."""
        preferences = given.pop("preferences", None)
        weight = given.pop("sample_weight", None)
        needs_y = _is_unjudged(y, preferences)
        rows = self._check_rows(X, reset=reset, needs_y=needs_y, training=True)
        n = n_rows(rows)
        grades = None
        if preferences is None:
            grades = check_grades(y, n_samples=n, warn=True)
            ids = self._query_ids("fit", groups, y, X, n_samples=n)
            weight = check_weights(weight, n)
        else:
            # Pairs say which documents are compared, so that queries are optional.
            groups = qid_of_index(X) if groups is None else groups
            ids = np.zeros(n, dtype=np.intp)
            if groups is not None:
                ids = check_groups(groups, n)
            preferences = checked_preferences(preferences, weight, ids)
            weight = None  # of pairs, and kept with them
        # In the order of their ids, because results must not depend on that of the
        # rows; only a stream is learned from as it comes.
        index = QueryIndex.from_groups(ids, canonical=not in_order)
        return GroupedRows.from_index(
            rows,
            grades,
            index,
            sample_weight=weight,
            preferences=preferences,
            feature_names=getattr(self, "feature_names_in_", None),
            side=self._checked_side_data(given, n),
        ), index

    def _validation_rows(self, held_out, given) -> GroupedRows | None:
        """Check and group validation rows; ``given`` is the side data of training."""
        if all(held_out[name] is None for name in ("X_val", "y_val", "groups_val")):
            for side in self._side_data:
                if side.for_validation and held_out[side.name] is not None:
                    raise ValueError(
                        f"{side.name}_val needs X_val, y_val and groups_val"
                    )
            return None
        sides = [side.name for side in self._side_data if side.for_validation]
        arguments = {
            name + ("_val" if name in sides else ""): values
            for name, values in held_out.items()
        }
        sets = validation_sets(arguments)
        return GroupedRows.joined(
            {each.name: self._rows_of_set(each, given) for each in sets}
        )

    def _rows_of_set(self, held: ValidationSet, given) -> GroupedRows:
        """Check and group the rows of one set of validation queries."""
        place = held.place
        X_val, y_val, groups_val = map(held.arguments.get, _ABOUT_VALIDATION)
        if X_val is None or y_val is None:
            raise ValueError(f"X_val{place} and y_val{place} must be given together")
        sides = {}
        for side in self._side_data:
            if not side.for_validation:
                continue
            values = sides[side.name] = held.arguments[f"{side.name}_val"]
            if (side.name in given) != (values is not None):
                raise ValueError(
                    f"{side.name} and {side.name}_val must be given together, so that "
                    "validation queries are ranked like those of training"
                )
        name = f"X_val{place}"
        with hinting_at_pipelines():
            X = self._check_rows(X_val, reset=False, name=name, training=True)
        n = n_rows(X)
        ids = self._query_ids(
            f"fit with X_val{place}",
            groups_val,
            y_val,
            X_val,
            n_samples=n,
            name=f"groups_val{place}",
        )
        return GroupedRows.from_index(
            X,
            check_grades(y_val, n_samples=n, name=f"y_val{place}"),
            QueryIndex.from_groups(ids, canonical=True),
            feature_names=getattr(self, "feature_names_in_", None),
            side=self._checked_side_data(sides, n, f"_val{place}"),
        )

    def _query_ids(
        self, caller, groups, *containers, n_samples, name="groups"
    ) -> np.ndarray:
        """Return the query id of each row, for a method that cannot do without."""
        return resolve_groups(
            groups,
            *containers,
            n_samples=n_samples,
            caller=f"{type(self).__name__}.{caller}",
            name=name,
        )

    def _checked_side_data(self, given, n, suffix="") -> dict[str, np.ndarray]:
        return {
            side.name: side.check(given[side.name], n, side.name + suffix)
            for side in self._side_data
            if given.get(side.name) is not None
        }

    def _note_queries(self, data, index, reset) -> None:
        """Store the training queries."""
        ids, sizes = index.ids, index.sizes
        without = int((~data.has_preference()).sum())
        if data.preferences is not None and len(ids) == 1 and ids.dtype == np.intp:
            ids, sizes = ids[:0], sizes[:0]  # the rows came without queries
        self.query_ids_, self.query_sizes_ = ids, sizes
        self.n_queries_without_preference_ = without

    def _times_of_rows(self, times, *containers) -> np.ndarray | None:
        """Return the time of each row, if it is known."""
        times = times_of_index(*containers) if times is None else times
        return None if times is None else check_times(times, n_rows(containers[-1]))

    def _note_times(self, times, index) -> None:
        """Store the last time of each training query."""
        vars(self).pop("query_times_", None)
        if times is not None and len(index.ids) == len(self.query_ids_):
            self.query_times_ = last_times(times, index)

    def _learned_accepts(self) -> tuple[bool, bool]:
        """Return whether the model takes sparse rows, and whether missing values.

        Rankers whose parameters decide about training rows ask what has been learned
        here, since parameters that are set later wait for the next `fit`.
        """
        return self._accepts_sparse, self._accepts_missing

    def _check_rows(self, X, *, reset, needs_y=False, name="X", training=False) -> Any:
        """Check rows alone; grades are checked by rules of their own."""
        takes = (self._accepts_sparse, self._accepts_missing)
        takes = takes if training else self._learned_accepts()
        # None makes scikit-learn raise its own error for a missing y.
        y: Any = None if needs_y else "no_validation"
        check_sparse(X, name)
        refuse_series(X, name)
        refuse_dates(X, name)
        by_name = naming(name, only_where_silent=name == "X")
        takes_names = hasattr(self, "categorical_features")
        by_place = naming_text(X, name, takes_names=takes_names, in_fit=reset)
        with by_name, by_place:
            rows = checked_rows(
                self, rows_with_nan(X), *takes, y=y, reset=reset, order="C"
            )
        return read_only(rows)

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> Any:
        raise NotImplementedError

    def _predict(self, X) -> np.ndarray:
        raise NotImplementedError

    @_hides_groups
    def predict(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the scores of documents.

        A second argument, ``groups``, is ignored: the scores of this ranker do not
        depend on the query of a document. It may be passed so that all rankers can be
        called in the same way.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better. Only differences within a query mean anything.

        Raises
        ------
        ValueError
            If X does not fit the training rows, or a score is not finite.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        with quiet():
            return require_finite_scores(self._predicted(rows), rows)

    def _predicted(self, *rows) -> np.ndarray:
        """Return what `_predict` says of rows, which is one number of each."""
        name = f"{type(self).__name__}._predict"
        return as_answer(self._predict(*rows), name, n_rows(rows[0]))

    def rank(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the rank of each document within its query.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.

        Returns
        -------
        ndarray of shape (n_documents,)
            Ranks, from 1 for the best document of a query; documents with equal scores
            rank in the order of their rows.
        """
        ranks, _ = self._ranks(X, groups, "rank")
        return ranks

    def top_documents(
        self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None, *, k: int = 10
    ) -> np.ndarray:
        """Return the rows of the best documents of each query.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.
        k : int, default=10
            Number of documents of each query; a query with fewer gives all it has.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, query after query and best first.

        Raises
        ------
        ValueError
            If ``k`` is below 1.
        """
        check_depth(k)
        ranks, index = self._ranks(X, groups, "top_documents")
        return first_rows(index.take(ranks), index, k)

    def _ranks(self, X, groups, method):
        ids = self._query_ids(method, groups, X, n_samples=n_rows(X))
        scores = np.asarray(self._scores(X, ids), dtype=np.float64)
        # The scores may come from an estimator that is not ours.
        index = QueryIndex.from_groups(check_groups(ids, len(scores)))
        ranks = segment_ranks(index.take(scores), index.ptr)
        return index.restore(np.asarray(ranks, dtype=np.intp)), index

    def score(
        self,
        X: ArrayOrCSR,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        measure: MeasureLike = "ndcg@10",
        gain: Gain | None = None,
        times: npt.ArrayLike | None = None,
    ) -> float:
        """Return the mean of a measure over queries, by default of NDCG@10.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades; masked where nobody judged the document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document; a query has the mean weight of its documents.
        measure : str, BaseMeasure or callable, default="ndcg@10"
            Measure, its name or a function, as in `skrank.metrics.get_measure`.
        gain : str, callable or mapping, default=None
            Gain of a grade, for measures that have one; None leaves that of the
            measure.
        times : array-like of shape (n_documents,), default=None
            Time of each row, for the check of leakage after a fit with ``times``.

        Returns
        -------
        float
            Mean of the measure; of an error, of which less is better, its negative.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or there is no such measure.
        """
        given = {"measure": measure, "gain": gain}
        check_options(BaseRanker.score, given, caller=f"{type(self).__name__}.score")
        groups = self._query_ids("score", groups, y, X, n_samples=n_rows(X))
        options: dict[str, Any] = {} if gain is None else {"gain": gain}
        scorer: Any = make_ranking_scorer(measure, **options)
        return scorer(self, X, y, groups, sample_weight, times=times)

    def _by_query(self, function, X, groups, method):
        """Return ``function(X)``, or ``function(X, ptr)`` if queries are needed."""
        rows = self._check_rows(X, reset=False)
        with quiet():
            if not self._needs_groups:
                return require_finite_scores(function(rows), rows)
            ids = self._query_ids(method, groups, X, n_samples=rows.shape[0])
            index = QueryIndex.from_groups(ids)
            grouped = rows if index.order is None else take_rows(rows, index.order)
            scores = index.restore(function(grouped, index.ptr))
            return require_finite_scores(scores, rows)

    def _scores(self, X, groups) -> np.ndarray:
        """Return scores, for a caller who knows the queries."""
        return self.predict(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        return tags


_ABOUT_VALIDATION = ("X_val", "y_val", "groups_val")

# What arguments of other libraries are called here.
_MEANT_BY = dict.fromkeys(
    ("group", "group_id", "group_ids", "qid", "qids", "query_id", "query_ids"),
    "groups, with one query id per row",
) | dict.fromkeys(
    ("eval_set", "eval_group", "eval_qid", "validation_data"),
    "X_val, y_val and groups_val",
)


def _is_unjudged(y, preferences) -> bool:
    """Return whether there are no judgements; refuse those of both kinds."""
    if y is not None and preferences is not None:
        raise ValueError("pass either y or preferences, not both")
    return y is None and preferences is None


_PREFERENCES_DOC = """array-like of shape (n_pairs, 2), default=None
            Row numbers of two documents each, of which the first is preferred to the
            second. They take the place of ``y``, and ``sample_weight`` holds one weight
            for each pair. Pairs must stay within a query. Without ``groups`` and a
            level "qid", all rows are one query, and a normalisation by query is one by
            pairs; with them, the pairs of a query share its weight under such a
            normalisation. Row numbers mean nothing in a part of the rows, so that
            cross-validation needs grades."""


def _state_arguments_of_fit(cls):
    """Give a class a `fit` whose signature and docstring name its side data."""
    arguments = {"preferences": _PREFERENCES_DOC} if cls._takes_preferences else {}
    for side in cls._side_data:
        arguments[side.name] = side.doc
        if side.for_validation:
            arguments[f"{side.name}_val"] = (
                f"array-like of shape (n_val_documents,), default=None\n            "
                f"The same for validation rows; needed with ``{side.name}``."
            )

    def fit(self, X, y=None, groups=None, **data):
        return BaseRanker.fit(self, X, y, groups, **data)

    signature = inspect.signature(BaseRanker.fit)
    known = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    known += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in arguments
    ]
    fit.__signature__ = signature.replace(parameters=known)
    fit.__qualname__, fit.__module__ = f"{cls.__qualname__}.fit", cls.__module__
    entries = "\n".join(
        f"{name} : " + inspect.cleandoc(doc).replace("\n", "\n    ")
        for name, doc in arguments.items()
    )
    if BaseRanker.fit.__doc__:  # python -OO keeps no docstrings
        # CPython 3.13 strips the indentation of docstrings, older ones keep it.
        head, tail = inspect.cleandoc(BaseRanker.fit.__doc__).split("**side_data :")
        tail = tail[tail.index("\n\n") :]
        fit.__doc__ = head + entries + tail
    cls.fit = fit
    # scikit-learn finds requests under the mangled name of ``__metadata_request__fit``,
    # which Python makes only for names that stand in the body of a class.
    requests = dict.fromkeys(arguments, True)
    setattr(cls, f"_{cls.__name__.lstrip('_')}__metadata_request__fit", requests)


def check_start_scores(scores: npt.ArrayLike, n_samples: int, name: str) -> np.ndarray:
    """Check that there is one finite score to start from for each row.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Scores to start from.
    n_samples : int
        Number of rows.
    name : str
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_samples,), dtype float64
        Scores to start from.

    Raises
    ------
    ValueError
        If a score is not finite or the length differs.
    """
    scores = check_scores(scores, n_samples, name=name)
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} must be finite")
    return scores


def check_depth(k: int) -> None:
    """Raise an error unless the number of wanted documents is at least 1."""
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise InvalidParameterError(f"k must be a whole number >= 1, got {shown(k)}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")


def first_rows(ranks: np.ndarray, index: QueryIndex, k: int) -> np.ndarray:
    """Return the row numbers of ranks 1 to k, query after query and best first.

    Parameters
    ----------
    ranks : ndarray of shape (n_documents,)
        Ranks within queries, grouped by query.
    index : QueryIndex
        Index of the queries of the rows.
    k : int
        Last rank that is wanted.

    Returns
    -------
    ndarray of shape (n_selected,)
        Row numbers.
    """
    rows = np.arange(len(ranks)) if index.order is None else index.order
    kept = np.flatnonzero(ranks <= k)
    return rows[kept[np.lexsort((ranks[kept], index.codes[kept]))]]


class GroupsAtPredictMixin:
    """Mixin of rankers whose scores of a document may depend on others of its query.

    `predict` then takes ``groups``, which scikit-learn's metadata routing passes on
    through pipelines without any ``set_predict_request``.
    """

    __metadata_request__predict = {"groups": True}

    _needs_groups = True

    def predict(self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the scores of documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order. Needed by models in which a document's
            score depends on the other documents of its query, ignored by others.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better. Only differences within a query mean anything.

        Raises
        ------
        ValueError
            If the model needs groups and there are none, X does not fit the training
            rows, or a score is not finite.
        """
        check_is_fitted(self)
        return self._by_query(self._predicted, X, groups, "predict")

    def _scores(self, X, groups) -> np.ndarray:
        return self.predict(X, groups)
