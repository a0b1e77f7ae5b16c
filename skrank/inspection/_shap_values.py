"""Exact Shapley values of linear rankers and of rankers of trees."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._inner import name_of
from skrank._core._messages import shown
from skrank._core._parameters import NonNegativeInt, NThreads
from skrank._core._pipelines import (
    fitted_last_step,
    last_step,
    rows_of_last_step,
)
from skrank._core._queries import QueryIndex
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_options, n_rows, resolve_groups
from skrank.base import BaseRanker
from skrank.inspection._categories import levels_as_given
from skrank.inspection._explanation import (
    Explanation,
    PreferenceExplanation,
    check_place,
)
from skrank.rankers._score_form import FormError, TreeForm, linear_form, tree_form
from skrank.trees import _forest


def shap_values(
    estimator: Any,
    X: Any,
    background: Any = None,
    groups: npt.ArrayLike | None = None,
    *,
    background_groups: npt.ArrayLike | None = None,
    output: NonNegativeInt | None = None,
    n_jobs: NThreads = None,
) -> Explanation:
    r"""Contributions of the features to scores, exactly and summing to the scores.

    .. math:: \phi_j(x) = \sum_{S \subseteq F \setminus \{j\}}
              \frac{|S|!\, (d - |S| - 1)!}{d!}
              \left( v_x(S \cup \{j\}) - v_x(S) \right), \qquad
              f(x) = v_x(\emptyset) + \sum_j \phi_j(x)

    where :math:`v_x(S)` is what is expected of the score if only the features in S are
    known to be those of x. With a background it is the mean of f over rows that take
    the features in S from x and all others from a row of the background
    ("interventional"). Without one, which is for rankers of trees only, each split on
    an unknown feature goes both ways, by the shares of the training documents that did
    ("path-dependent").

    A ranking is about differences within a query, and so is
    ``background="query"``: each document is compared with all documents of its query,
    and the contributions say what lifts it above their mean score.

    Linear rankers have :math:`\phi_j(x) = w_j (x_j - \bar x_j)` with the means of the
    background. For trees with L leaves and at most D different features on a path, n
    documents take O(n L D) per tree by the covers of the nodes: the weights of the
    coalitions are an integral over products that D / 2 points give exactly. Against a
    background, a document takes O(L (D + u)) per tree, where u is the number of ways in
    which rows of the background turn off a path to a leaf, at most their number. Values
    have the same bits for any number of threads.

    Parameters
    ----------
    estimator : ranker, Pipeline or search
        Fitted. Of a pipeline, the last step is explained, on the columns that reach it.
    X : array-like, DataFrame or CSR matrix of shape (n_documents, n_features)
        Documents to explain.
    background : array-like of shape (n_background, n_features) or "query", default=None
        Documents to compare with. Linear rankers need them.
    groups : array-like of shape (n_documents,), default=None
        The query of each row of ``X``, for ``background="query"`` and for steps that
        scale by query.
    background_groups : array-like of shape (n_background,), default=None
        The query of each row of ``background``, for steps that scale by query.
    output : int, default=None
        Sum of trees to explain in place of the score, for rankers that combine several,
        such as `McRank`, in another way than by a weighted sum.
    n_jobs : int, default=None
        Number of threads; None takes that of the ranker.

    Returns
    -------
    Explanation
        Contributions, base values, data and names of the features.

    Raises
    ------
    ValueError
        If the score is neither linear nor a sum of trees, or a linear ranker is given
        no background.
    TypeError
        If the estimator is no ranker of skrank.

    References
    ----------
    [Lundberg2020]_, eq. 1 and algorithms 1 to 3; [Yu2022]_; [Owen1972]_ for the
    integral.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import shap_values
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, random_state=0).fit(X, y, groups)
    >>> explanation = shap_values(ranker, X)
    >>> explanation.values.shape == X.shape
    True
    >>> bool(np.allclose(explanation.scores, ranker.predict(X)))
    True
    """
    check_options(shap_values, locals())
    last = _fitted_ranker(estimator)
    explainer = _explainer(last, output, "shap_values")
    ids = None
    by_query = isinstance(background, str)
    if by_query:
        if background != "query":
            raise ValueError(
                f'background must be rows, "query" or None, got {shown(background)}'
            )
        ids = resolve_groups(groups, X, n_samples=n_rows(X), caller="shap_values")
        groups = ids
    reaching = rows_of_last_step(estimator, X, groups)
    rows = last._check_rows(reaching, reset=False)
    n_threads = effective_n_threads(n_jobs or getattr(last, "n_jobs", None))
    if by_query:
        values, base = _against_queries(explainer, rows, ids, n_threads)
    else:
        others = None
        if background is not None:
            others = rows_of_last_step(estimator, background, background_groups)
            others = last._check_rows(others, reset=False, name="background")
        values, mean = explainer.explain(rows, others, n_threads)
        base = np.full(len(values), mean)
    data = _dense(rows)
    levels = levels_as_given(estimator, X, reaching, data)
    return Explanation(values, base, data, _names(estimator, last, X), levels)


def explain_preference(
    estimator: Any,
    X: Any,
    a: int,
    b: int,
    groups: npt.ArrayLike | None = None,
    *,
    output: NonNegativeInt | None = None,
) -> PreferenceExplanation:
    r"""Contributions of the features to the difference of two documents' scores.

    .. math:: f(x_a) - f(x_b) = \sum_j \phi_j

    The contributions are the Shapley values of document a against document b as the
    only background: a feature of which both have the same value contributes 0, and
    exchanging the documents changes the signs. Complexity: that of `shap_values` for
    one document.

    Parameters
    ----------
    estimator : ranker, Pipeline or search
        A fitted linear ranker or ranker of trees, or a pipeline that ends in one.
    X : array-like, DataFrame or CSR matrix of shape (n_documents, n_features)
        Documents.
    a, b : int
        Rows of the two documents.
    groups : array-like of shape (n_documents,), default=None
        The query of each row, for steps that scale by query.
    output : int, default=None
        Sum of trees to explain in place of the score, as in `shap_values`.

    Returns
    -------
    PreferenceExplanation
        Contributions, scores, data and names of the features.

    Raises
    ------
    ValueError
        If the score is neither linear nor a sum of trees, or there is no such row.
    TypeError
        If the estimator is no ranker of skrank, or a row is no integer.

    References
    ----------
    [Sundararajan2020]_, section 2, "baseline Shapley".

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import explain_preference
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> explanation = explain_preference(ranker, X, 3, 5)
    >>> scores = ranker.predict(X)
    >>> round(explanation.difference, 6) == round(float(scores[3] - scores[5]), 6)
    True
    """
    check_options(explain_preference, locals())
    last = _fitted_ranker(estimator)
    explainer = _explainer(last, output, "explain_preference")
    reaching = rows_of_last_step(estimator, X, groups)
    rows = last._check_rows(reaching, reset=False)
    pair = [check_place(a, "a", rows.shape[0]), check_place(b, "b", rows.shape[0])]
    both = rows[pair]
    values, base = explainer.explain(both[:1], both[1:], 1)
    data = _dense(both)  # of all rows, it would not fit into memory
    levels = levels_as_given(estimator, X, reaching, data, pair)
    return PreferenceExplanation(
        values=values[0],
        scores=np.array([base + values[0].sum(), base]),
        data=data,
        feature_names=_names(estimator, last, X),
        documents=(pair[0], pair[1]),
        display_data=levels,
    )


def _fitted_ranker(estimator) -> BaseRanker:
    last = fitted_last_step(estimator)
    if not isinstance(last, BaseRanker):
        within = getattr(last, "estimator_", None)
        is_adapter = hasattr(within, "get_params")
        holds_one = is_adapter and isinstance(last_step(within), BaseRanker)
        advice = "; pass its estimator_, and rows as that takes them" * holds_one
        raise TypeError(
            "estimator must be a fitted ranker of skrank, or a pipeline or search that "
            f"ends in one, got {shown(last)}{advice}"
        )
    return last


class _Linear(NamedTuple):
    """A linear function of the rows."""

    coef: np.ndarray
    intercept: float
    name: str

    def explain(self, X, Z, n_threads):
        """Return the contributions to the scores of X, and the mean score of Z."""
        if Z is None:
            raise ValueError(
                f"background is missing: {self.name} is linear, and what a feature "
                "contributes is its coefficient times the difference from other "
                'documents; pass rows such as those of training, or "query"'
            )
        mean = np.ravel(np.asarray(Z.mean(axis=0, dtype=np.float64)))
        values = (_dense(X).astype(np.float64) - mean) * self.coef
        return values, self.intercept + float(mean @ self.coef)


class _Trees(NamedTuple):
    """A weighted sum of trees, and what they add to."""

    ranker: Any
    form: TreeForm
    init: Any

    def explain(self, X, Z, n_threads):
        """Return the contributions to the scores of X, and the mean score of Z."""
        trees = self.form.ensemble
        rows = _dense(self.ranker.bin_mapper_.encode(X))
        others = np.empty((0, rows.shape[1]), dtype=rows.dtype)
        if Z is not None:
            others = _dense(self.ranker.bin_mapper_.encode(Z))
        dtype = np.result_type(rows, others)
        values, mean = _forest.contributions(
            np.ascontiguousarray(rows, dtype=dtype),
            np.ascontiguousarray(others, dtype=dtype),
            *trees.arrays(),
            trees.count_,
            self.form.scale,
            n_threads,
        )
        base = self.form.start + mean
        if self.init is not None:
            more, start = self.init.explain(X, Z, n_threads)
            values, base = values + more, base + start
        return values, base


def _explainer(ranker, output, caller) -> _Linear | _Trees:
    """Return what explains a ranker; raise an error that says why there is nothing."""
    name = type(ranker).__name__
    if getattr(ranker, "_needs_groups", False):
        raise _refusal(
            name, "a score depends on the other documents of the query", caller
        )
    try:
        if hasattr(ranker, "ensemble_"):
            form = tree_form(ranker, output)
            return _Trees(ranker, form, _init_explainer(ranker, form, caller))
        if output is not None:
            raise ValueError(f"output: {name} has no sums of trees; leave it out")
        return _Linear(*linear_form(ranker), name)
    except FormError as error:
        hint = ""
        if hasattr(ranker, "ensemble_") and not ranker.ensemble_.is_linear:
            hint = "; output=k explains the k-th sum of trees"
        raise _refusal(name, error.reason, caller, hint) from None


def _init_explainer(ranker, form, caller):
    if form.init is None:
        return None
    if form.ensemble.n_outputs > 1 or not isinstance(form.init, BaseRanker):
        name = name_of(form.init)
        reason = f"its trees start from the scores of {name}"
        if form.ensemble.n_outputs == 1:
            reason += ", which is no ranker of skrank"
        raise _refusal(type(ranker).__name__, reason, caller)
    return _explainer(form.init, None, caller)


def _refusal(name, reason, caller, hint="") -> ValueError:
    return ValueError(
        f"{name} cannot be explained: {reason}{hint}. {caller} takes rankers whose "
        "scores are linear or a sum of trees; query_partial_dependence and "
        "query_permutation_importance take any ranker"
    )


def _against_queries(explainer, rows, ids, n_threads):
    """Explain each document against all documents of its query."""
    index = QueryIndex.from_groups(ids)
    grouped = index.take(rows)
    values = np.empty(rows.shape)
    base = np.empty(rows.shape[0])
    for start, stop in zip(index.ptr[:-1], index.ptr[1:]):
        own = grouped[start:stop]
        values[start:stop], base[start:stop] = explainer.explain(own, own, n_threads)
    return index.restore(values), index.restore(base)


def _dense(rows) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _names(estimator, ranker, X) -> list[str]:
    """Return the names of the features of the last step."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        names = _transformed_names(estimator)
    if names is None:
        names = [f"x{j}" for j in range(ranker.n_features_in_)]
    return [str(name) for name in names]


def _transformed_names(estimator):
    """Return the names of the columns that leave the steps before the last one."""
    steps = getattr(getattr(estimator, "best_estimator_", estimator), "steps", None)
    if not steps or len(steps) < 2:
        return None
    before = getattr(estimator, "best_estimator_", estimator)[:-1]
    try:
        return before.get_feature_names_out()
    except (AttributeError, ValueError):  # a step that does not name its columns
        return None
