"""Scoring functions: the part of a ranker that other systems need.

A scoring function of the raw features is linear or a sum of trees, or a formula, which
has languages of its own. Rankers whose scores have another form are refused here, once
for all formats.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown, surrogate_at
from skrank.base import BaseRanker
from skrank.energies import LinearEnergy
from skrank.export._scaling import fold_scaling
from skrank.rankers._formulas import Tokens, columns_for, parse, values_of
from skrank.rankers._score_form import FormError, linear_form, probe_rows
from skrank.trees import BinMapper, TreeEnsemble
from skrank.trees._bins import categories_of


@dataclass(frozen=True)
class LinearFunction:
    """The scoring function ``coef @ x + intercept``.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Coefficients.
    intercept : float
        Constant term.
    feature_names : tuple of str or None
        Names of the features, if the model knows them.
    ranker : str
        Name of the class that learned the function.
    """

    coef: np.ndarray
    intercept: float
    feature_names: tuple[str, ...] | None
    ranker: str

    kind: ClassVar[Literal["linear"]] = "linear"
    accepts_missing = False
    accepts_sparse = True

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.coef)

    def scores(self, X: Any, n_threads: int) -> np.ndarray:
        """Return the scores of rows."""
        has_intercept = self.intercept != 0.0
        params = np.append(self.coef, self.intercept) if has_intercept else self.coef
        energy = LinearEnergy(fit_intercept=has_intercept, n_jobs=n_threads)
        return energy.scores(params, X)


@dataclass(frozen=True)
class TreeFunction:
    """The scoring function ``baseline`` plus the sum of trees.

    Attributes
    ----------
    ensemble : TreeEnsemble
        The trees, of one output.
    baseline : float
        Score to which the trees add.
    categories : dict of int to ndarray
        Known values of each categorical feature, ascending, all of one precision.
    n_features : int
        Number of features.
    feature_names : tuple of str or None
        Names of the features, if the model knows them.
    ranker : str
        Name of the class that learned the function.
    """

    ensemble: TreeEnsemble
    baseline: float
    categories: dict[int, np.ndarray]
    n_features: int
    feature_names: tuple[str, ...] | None
    ranker: str

    kind: ClassVar[Literal["trees"]] = "trees"
    accepts_missing = True
    accepts_sparse = False

    def scores(self, X: Any, n_threads: int) -> np.ndarray:
        """Return the scores of rows."""
        # Trees add to the baseline one by one, which rounds as in the ranker itself.
        raw = np.full((X.shape[0], 1), self.baseline)
        self.ensemble.add_to(raw, self._encoded(X), n_threads=n_threads)
        return raw[:, 0]

    def _encoded(self, X):
        """Rows with numbers in place of categories, and NaN for unknown ones."""
        if not self.categories:
            return X
        columns = list(self.categories)
        X = np.array(X)
        X[:, columns] = _mapper(self.categories).encode(X[:, columns])
        return X


@dataclass(frozen=True)
class FormulaFunction:
    """The scoring function that a formula of the features is.

    Attributes
    ----------
    tokens : tuple
        The formula, operands first.
    n_features : int
        Number of features.
    feature_names : tuple of str or None
        Names of the features, if the model knows them.
    """

    tokens: Tokens
    n_features: int
    feature_names: tuple[str, ...] | None


def _mapper(categories):
    """Mapper of categorical features alone."""
    mapper = BinMapper()
    known = list(categories.values())
    mapper.n_bins_ = np.array([len(values) for values in known])
    mapper.is_categorical_ = np.ones(len(known), dtype=bool)
    mapper.cuts_ = np.concatenate(known)
    return mapper


def scoring_function(model: Any) -> LinearFunction | TreeFunction:
    """Return the scoring function of a ranker or of a pipeline that ends in one.

    Parameters
    ----------
    model : BaseRanker or Pipeline
        A fitted model.

    Returns
    -------
    LinearFunction or TreeFunction

    Raises
    ------
    TypeError
        If the model is no ranker.
    ValueError
        If the scores are neither linear nor a sum of trees.
    """
    ranker, steps = _ranker_and_steps(model)
    check_is_fitted(ranker)
    if getattr(ranker, "_needs_groups", False):
        raise _neither(ranker, "a score depends on the other documents of the query")
    names = _known_names(ranker, steps)
    function = getattr(ranker, "function_", None)
    if function is not None and not steps:
        return function
    if hasattr(ranker, "ensemble_"):
        if steps:
            raise ValueError(
                f"step {steps[0][0]!r} comes before a ranker of trees, whose "
                "thresholds are in the units of the step; trees need no scaling, so "
                "fit the ranker on the raw features"
            )
        return _tree_function(ranker, names)
    return _linear_function(ranker, steps, names)


def formula_function(model: Any) -> FormulaFunction:
    """Return the formula of a ranker or of a pipeline that ends in one.

    Parameters
    ----------
    model : BaseRanker or Pipeline
        A fitted model.

    Returns
    -------
    FormulaFunction

    Raises
    ------
    TypeError
        If the model is no ranker.
    ValueError
        If the scores are no formula of the raw features.
    """
    ranker, steps = _ranker_and_steps(model)
    check_is_fitted(ranker)
    if not hasattr(ranker, "formula_"):
        raise ValueError(
            f"{type(ranker).__name__} has no formula_, and an expression is a formula "
            "such as RankGP learns; to_elasticsearch, to_solr and to_ranklib write "
            "trees and linear functions"
        )
    if steps:
        raise ValueError(
            f"step {steps[0][0]!r} comes before a ranker of formulas, whose features "
            "are in the units of the step; fit the ranker on the raw features"
        )
    n_features, tokens = ranker.n_features_in_, parse(ranker.formula_)
    # A class may do more than evaluate its formula; then the scores of rows differ.
    rows = probe_rows(n_features)
    if not np.array_equal(
        ranker._predict(rows), values_of(tokens, columns_for(rows), 1)
    ):
        raise ValueError(
            f"{type(ranker).__name__} cannot be exported: its scores are not those of "
            "its formula; save_model keeps any model"
        )
    return FormulaFunction(tokens, n_features, _known_names(ranker, steps))


def _known_names(ranker, steps) -> tuple[str, ...] | None:
    names = getattr(steps[0][1] if steps else ranker, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _ranker_and_steps(model):
    ranker, steps = model, []
    if isinstance(model, Pipeline):
        steps = [s for s in model.steps[:-1] if s[1] is not None]
        steps = [s for s in steps if not isinstance(s[1], str)]  # "passthrough"
        ranker = model.steps[-1][1]
    if isinstance(ranker, type) or not isinstance(ranker, BaseRanker):
        hint = "; export its best_estimator_" if hasattr(ranker, "best_index_") else ""
        raise TypeError(
            "model must be a fitted ranker of skrank or a Pipeline that ends in one, "
            f"got {shown(ranker)}{hint}"
        )
    return ranker, steps


def _neither(ranker, reason):
    return ValueError(
        f"{type(ranker).__name__} cannot be exported: {reason}, and a model for other "
        "systems is a linear function or a sum of trees; save_model keeps any model"
    )


def _linear_function(ranker, steps, names):
    if hasattr(ranker, "formula_"):
        raise _neither(ranker, "its score is a formula, which to_expression writes")
    try:
        coef, intercept = linear_form(ranker)
    except FormError as error:
        raise _neither(ranker, error.reason) from None
    coef, intercept = fold_scaling(steps, coef, intercept)
    return LinearFunction(coef, intercept, names, type(ranker).__name__)


def _tree_function(ranker, names):
    ensemble = ranker.ensemble_
    if ensemble.n_outputs != 1:
        raise _neither(ranker, f"its score combines {ensemble.n_outputs} sums of trees")
    if getattr(ranker, "init_", None) is not None:
        raise _neither(ranker, "its trees start from the scores of another ranker")
    if ensemble.is_linear:
        raise _neither(ranker, "the leaves of its trees hold linear functions")
    encoder = getattr(ranker, "encoder_", None)  # files of older versions have none
    if encoder is not None and len(encoder.columns_):
        j = int(encoder.columns_[0])
        named = f"feature {j}" if names is None else f"feature {shown(names[j])}"
        raise _neither(
            ranker,
            f"{named} is categorical, and its levels are names or too many to be told "
            "apart",
        )
    mapper = ranker.bin_mapper_
    categories = {
        j: categories_of(mapper, j)
        for j in np.flatnonzero(mapper.is_categorical_).tolist()
    }
    function = TreeFunction(
        ensemble=ensemble,
        baseline=float(getattr(ranker, "baseline_", [0.0])[0]),
        categories=categories,
        n_features=ranker.n_features_in_,
        feature_names=names,
        ranker=type(ranker).__name__,
    )
    # A class may do more than add its trees; then the scores of a few rows differ.
    rows = probe_rows(function.n_features)
    if not np.array_equal(ranker._predict(rows), function.scores(rows, 1)):
        raise _neither(ranker, "its scores are not the sum of its trees")
    return function


def as_names(names: Any) -> list[Any]:
    """Return the entries of the argument ``feature_names``, which must be a sequence.

    Parameters
    ----------
    names : sequence of str
        Names given by the user.

    Returns
    -------
    list
        The entries, of any type.

    Raises
    ------
    TypeError
        If it is no sequence.
    """
    # A set has no order that anyone has chosen.
    if (
        isinstance(names, str | bytes | set | frozenset)
        or not isinstance(names, Iterable)
        or sparse.issparse(names)
        or getattr(names, "shape", None) == ()
    ):
        raise TypeError(f"feature_names must be a sequence of str, got {shown(names)}")
    return list(names)


def check_feature_names(
    names: Sequence[str] | None,
    function: LinearFunction | TreeFunction | FormulaFunction,
) -> list[str] | None:
    """Check the names of the features of a scoring function.

    Parameters
    ----------
    names : sequence of str or None
        Names given by the user; None takes those that the model knows.
    function : LinearFunction, TreeFunction or FormulaFunction
        The scoring function.

    Returns
    -------
    list of str or None
        The names; None if nobody knows them.

    Raises
    ------
    ValueError
        If there are too many or too few names, or one is empty, repeated or no text
        that UTF-8 can hold.
    TypeError
        If a name is no string.
    """
    if names is None:
        known = function.feature_names
        return None if known is None else check_no_surrogates(list(known))
    names = as_names(names)
    names = [str(n) if isinstance(n, np.str_) else n for n in names]
    if len(names) != function.n_features:
        raise ValueError(
            f"feature_names must name the {function.n_features} features of the model "
            f"in their order, got {len(names)} names"
        )
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"feature_names must be str, got {shown(name)}")
        if not name.strip():
            raise ValueError("feature_names: a name is empty")
    if len(set(names)) < len(names):
        repeated = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"feature_names: {shown(repeated)} occurs more than once")
    return check_no_surrogates(names)


def check_no_surrogates(names: list[str]) -> list[str]:
    """Return names of features, unless a file or a request cannot hold one."""
    for name in names:
        if surrogate_at(name) >= 0:
            raise ValueError(
                f"feature_names must be text that UTF-8 can hold, got {shown(name)}"
            )
    return names


def required_feature_names(
    names: Sequence[str] | None,
    function: LinearFunction | TreeFunction | FormulaFunction,
    server: str,
) -> list[str]:
    """Check the names like `check_feature_names`; raise an error if there are none."""
    checked = check_feature_names(names, function)
    if checked is None:
        raise ValueError(
            f"feature_names is missing: {server} addresses features by name, and the "
            "model was fitted on rows without names"
        )
    return checked
