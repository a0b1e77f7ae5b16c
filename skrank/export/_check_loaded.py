"""Checks of estimators that were read from a file.

A file can be edited so that every value in it is well-formed and the model as a whole
is not: attributes may be missing, of the wrong kind or of the wrong shape. What could
lead compiled code astray is checked first, by shape; then a few rows are scored, which
finds whatever else prediction stumbles over.
"""

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, cast

import numpy as np
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures

from skrank._core._finite import is_complaint, quiet
from skrank._core._messages import problem_in
from skrank._core._parameters import Parameters
from skrank.aggregation import BaseAggregator
from skrank.base import BaseRanker
from skrank.click import BaseClickModel, ClickGraph, InteractionModel
from skrank.energies import BaseEnergy, KernelEnergy
from skrank.export._aggregator_state import (
    ArrayOfEachRun,
    Part,
    lengths_of_aggregator,
    state_of_aggregator,
)
from skrank.export._attributes import (
    array_of,
    attribute,
    checked_array,
    error_of,
    missing,
)
from skrank.export._click_state import check_click_model
from skrank.export._composite_state import (
    COMPOSITES,
    STUMBLES,
    check_columns,
    check_composite,
)
from skrank.export._energy_state import Array, state_of, width_of
from skrank.export._interaction_state import (
    check_click_graph,
    check_interaction_model,
)
from skrank.export._level_state import (
    check_category_encoder,
    check_target_encoder,
)
from skrank.export._probe_rows import (
    MANY_FEATURES,
    PROBE,
    accepting,
    may_refuse,
    probe_rows,
)
from skrank.export._ranker_state import (
    NUMBER,
    check_logs,
    check_queries,
    check_scalar,
    check_width,
    learns_energy,
    state_of_ranker,
)
from skrank.export._retrieval_state import check_text_ranker
from skrank.export._selector_state import check_feature_selector
from skrank.export._sklearn_state import check_learned_shapes
from skrank.export._state_names import check_listed, is_learned_name
from skrank.export._tree_state import are_categories, check_parents, check_splits
from skrank.export._unbiased_state import check_interventions
from skrank.losses import BaseLoss
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers._threshold_boosting import BaseThresholdBooster
from skrank.rankers._tree_ranker import BaseTreeRanker
from skrank.retrieval import TextRanker
from skrank.selection._feature_base import BaseFeatureSelector
from skrank.trees import BinMapper, CategoryEncoder, TreeEnsemble
from skrank.unbiased import InterventionPropensities

# Scores of three documents in a run, which every aggregator can fuse.
_PROBE_RUN = np.array([[3.0], [2.0], [1.0]])
# Energies of more parameters are tried only as a part of a ranker, which has them.
_MAX_PARAMS = 10_000_000
# Dense rows of more features take too much memory to be tried.
_MAX_DENSE = 10_000_000
_MAX_FEATURES = np.iinfo(np.int32).max
# Among more runs some aggregators take long to find their way, by the square of them.
_MANY_RUNS = 100
# Thresholds of weak rankers, which are infinite where missing values are parted off.
_THRESHOLDS = ("lows_", "highs_")
# Each is a process of its own.
_MOST_JOBS = 1024
# What sums of shares may exceed 1 by.
_ROUNDING = 1e-9
_NODE_ARRAYS = {
    "feature_": np.int32,
    "left_": np.int32,
    "category_": np.int32,
    "missing_left_": np.uint8,
    "threshold_": np.float64,
    "value_": np.float64,
    "gain_": np.float64,
    "weight_": np.float64,
    "count_": np.int64,
}


def check_loaded(estimator: BaseEstimator, *, complete: bool = True) -> None:
    """Raise an error if parameters or fitted attributes do not make a working model.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator that was read from a file, fitted or not; those within it have been
        checked before.
    complete : bool, default=True
        Whether it must have what files of older versions may lack.

    Raises
    ------
    ValueError
        If a parameter is not accepted, or a fitted attribute is missing, of the wrong
        kind, of the wrong shape or not finite.
    """
    if isinstance(estimator, Parameters):
        estimator._check_parameters()
    else:
        if hasattr(estimator, "_parameter_constraints"):
            cast(Any, estimator)._validate_params()
        _check_jobs(estimator)
    check_listed(estimator)
    if type(estimator) in COMPOSITES:
        check_composite(estimator)
    if isinstance(estimator, (Pipeline, FeatureUnion)):
        # They learn nothing themselves: whether they are fitted, their parts know.
        _try_out(estimator)
        return
    if not any(is_learned_name(name) for name in vars(estimator)):
        _check_unfitted(estimator)
        return
    _check_width(estimator)
    _check_names(estimator)
    # Without an encoder, the levels of categories would be taken for their numbers.
    if complete and isinstance(estimator, BaseTreeRanker):
        attribute(estimator, "encoder_", CategoryEncoder, "a CategoryEncoder")
    for kind, check in _CHECKS:
        if isinstance(estimator, kind):
            check(estimator)
            break
    else:
        check_learned_shapes(estimator)
        if "classes_" in vars(estimator):
            _check_classes(estimator)
        if "estimator_" in vars(estimator):
            attribute(estimator, "estimator_", BaseEstimator, "an estimator")
        _try_out(estimator)


def _check_jobs(estimator) -> None:
    """Refuse a number of processes that would bring down the machine."""
    jobs = vars(estimator).get("n_jobs")
    if isinstance(jobs, Integral) and abs(int(jobs)) > _MOST_JOBS:
        accepted = f"None or from -{_MOST_JOBS} to {_MOST_JOBS}"
        raise error_of(estimator, "n_jobs", accepted, jobs)


def _check_unfitted(estimator) -> None:
    """Refuse attributes in the place of those that a ranker or an aggregator learns."""
    if isinstance(estimator, BaseRanker):
        needed = "n_features_in_"
    elif isinstance(estimator, BaseAggregator):
        needed = "n_runs_"
    else:
        return
    others = vars(estimator).keys() - estimator.get_params(deep=False).keys()
    if any(not name.startswith("_") for name in others):
        raise missing(estimator, needed)


def _check_width(estimator) -> None:
    """Check the number of features, if there is one."""
    if "n_features_in_" in vars(estimator):
        accepted = f"a whole number >= 1, up to {_MAX_FEATURES}"
        n = attribute(estimator, "n_features_in_", int, accepted)
        if not 1 <= n <= _MAX_FEATURES:
            raise error_of(estimator, "n_features_in_", accepted, n)


def _check_names(estimator) -> None:
    """Check the names of the features, which few estimators look at but to compare."""
    if "feature_names_in_" not in vars(estimator):
        return
    if isinstance(estimator, SelectFromModel):  # the model within has the number
        n = getattr(estimator, "n_features_in_", None)
    else:
        n = attribute(estimator, "n_features_in_", int, "a whole number >= 1")
    if n is None:
        raise missing(estimator, "n_features_in_")
    names = array_of(estimator, "feature_names_in_", [np.dtype(object)], (n,))
    if not all(isinstance(name, str) for name in names) or len(set(names)) < n:
        raise error_of(estimator, "feature_names_in_", "strings that differ", names)


def _check_numbers(owner) -> None:
    """Refuse NaN among the numbers that an estimator has learned."""
    for name, numbers in _learned_numbers(owner):
        if np.isnan(numbers).any():
            raise error_of(owner, name, "without NaN", vars(owner)[name])


def _check_finite(owner, others) -> None:
    """Refuse NaN and infinity among learned numbers, those of others apart."""
    for name, numbers in _learned_numbers(owner):
        if name not in others and not np.isfinite(numbers).all():
            raise error_of(owner, name, "finite", vars(owner)[name])


def _learned_numbers(owner) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the names of learned numbers, and the numbers as an array."""
    for name, value in vars(owner).items():
        if sparse.issparse(value):
            value = cast(Any, value).data
        if (
            isinstance(value, (np.ndarray, np.floating, float))
            and np.asarray(value).dtype.kind == "f"
            and is_learned_name(name)
        ):
            yield name, np.asarray(value)


def _check_categories(encoder) -> None:
    """Check categories, whose places scikit-learn uses as columns without a look."""
    categories = attribute(encoder, "categories_", list, "a list of arrays")
    if len(categories) != getattr(encoder, "n_features_in_", None) or not categories:
        raise error_of(encoder, "categories_", "one array per feature", categories)
    for known in categories:
        if not isinstance(known, np.ndarray) or known.ndim != 1 or not len(known):
            raise error_of(
                encoder, "categories_", "arrays of one dimension", categories
            )
        # It searches them by halving, unless they are objects; NaN comes last.
        if known.dtype != object and not np.all(known[1:-1] > known[:-2]):
            raise error_of(encoder, "categories_", "ascending", categories)
        if known.dtype != object and len(known) > 1 and known[-1] <= known[-2]:
            raise error_of(encoder, "categories_", "ascending", categories)
    if "_n_features_outs" in vars(encoder):  # memory that is taken of dense results
        widths = attribute(encoder, "_n_features_outs", list, "a list of numbers")
        fit = len(widths) == len(categories) and all(
            isinstance(n, int) and 0 <= n <= len(known)
            for n, known in zip(widths, categories)
        )
        if not fit:
            accepted = "at most one column per category of each feature"
            raise error_of(encoder, "_n_features_outs", accepted, widths)
    with _tried(encoder, "transform rows"):
        # Other attributes say which column a category has: all of them are tried. A
        # sparse result can be checked, where a dense one would be written blindly.
        trial = copy.copy(encoder)
        if isinstance(encoder, OneHotEncoder):
            trial.sparse_output = True
            # Which data frames refuse. The dictionary of the encoder stays as it is.
            trial._sklearn_output_config = {"transform": "default"}
        found = trial.transform(_rows_of_categories(trial))
        if sparse.issparse(found):
            cast(Any, found).check_format(full_check=True)


def _rows_of_categories(encoder) -> np.ndarray:
    """Return rows that have every category, and a new one where that is accepted."""
    n = max(map(len, encoder.categories_))
    new = encoder.handle_unknown != "error"
    rows = np.empty((n + new, len(encoder.categories_)), dtype=object)
    for column, known in enumerate(encoder.categories_):
        rows[:n, column] = np.resize(known, n)
        if new:
            rows[n, column] = "\0" if known.dtype.kind in "OSU" else np.max(known) + 1
    numeric = all(known.dtype.kind in "biuf" for known in encoder.categories_)
    return rows.astype(np.float64) if numeric else rows


def _check_classes(classifier) -> None:
    classes = attribute(classifier, "classes_", np.ndarray, "an array")
    rows = len(attribute(classifier, "coef_", np.ndarray, "a matrix"))
    if classes.shape != (2 if rows == 1 else rows,):
        raise error_of(classifier, "classes_", "one per row of coef_, or two", classes)


def _check_polynomials(polynomials) -> None:
    """Check the width of the result, which is memory that must be filled entirely."""
    n = attribute(polynomials, "n_features_in_", int, "a whole number >= 1")
    if not 1 <= n <= MANY_FEATURES:
        raise error_of(polynomials, "n_features_in_", "a whole number >= 1", n)
    # What is learned depends on nothing but the number of features.
    for name, expected in vars(clone(polynomials).fit(np.zeros((1, n)))).items():
        if name not in vars(polynomials):
            raise missing(polynomials, name)
        found = vars(polynomials)[name]
        if type(found) is not type(expected) or found != expected:
            raise error_of(polynomials, name, repr(expected), found)


def _check_trees(trees: TreeEnsemble) -> None:
    # Types first: the compiled code takes them as given.
    features = array_of(trees, "feature_", [np.int32], (None,))
    n_nodes = len(features)
    if (features < -1).any():
        raise error_of(trees, "feature_", "numbers of features, or -1", features)
    for name, dtype in _NODE_ARRAYS.items():
        array_of(trees, name, [dtype], (n_nodes,))
    n_trees = len(array_of(trees, "roots_", [np.int64], (None,)))
    outputs = array_of(trees, "output_", [np.int32], (n_trees,))
    # No list of all numbers below: the file says how many there are.
    if n_trees and not 0 <= outputs.min() <= outputs.max() < trees.n_outputs:
        raise error_of(trees, "output_", f"numbers below {trees.n_outputs}", outputs)
    n_sets = len(array_of(trees, "categories_", [np.uint64], (None, 4)))
    _check_numbers(trees)
    _check_nodes(trees, n_nodes, n_sets)
    for name in ("value_", "gain_", "weight_"):
        if not np.isfinite(vars(trees)[name]).all():
            raise error_of(trees, name, "finite", vars(trees)[name])
    if any(name in vars(trees) for name in ("term_start_", "term_feature_", "terms_")):
        _check_terms(trees, n_nodes)
    # Infinity parts off missing values; nothing is below its negative.
    if np.isneginf(trees.threshold_).any():
        raise error_of(trees, "threshold_", "above -inf", trees.threshold_)


def _check_terms(trees, n_nodes) -> None:
    """Check the linear functions in the leaves; few trees have them."""
    start = array_of(trees, "term_start_", [np.int64], (n_nodes + 1,))
    features = array_of(trees, "term_feature_", [np.int32], (None,))
    terms = array_of(trees, "terms_", [np.float64], (4, len(features)))
    ends = (start[0], start[-1]) == (0, len(features))
    if not ends or (start[1:] < start[:-1]).any():
        accepted = f"numbers that ascend from 0 to {len(features)}"
        raise error_of(trees, "term_start_", accepted, start)
    if not np.isfinite(terms).all() or (terms[2] > terms[3]).any():
        raise error_of(trees, "terms_", "finite, with ranges that ascend", terms)
    if (features < 0).any():
        raise error_of(trees, "term_feature_", "numbers >= 0", features)


def _check_nodes(trees, n_nodes, n_sets) -> None:
    """Check that every walk down a tree ends in a leaf of the same tree."""
    roots = trees.roots_
    bounds = np.append(roots, n_nodes)
    if len(roots) and (roots[0] != 0 or np.any(bounds[1:] <= bounds[:-1])):
        raise error_of(trees, "roots_", "ascending numbers of nodes from 0", roots)
    if not len(roots) and n_nodes:
        raise error_of(trees, "roots_", "the first nodes of the trees", roots)
    inner = np.flatnonzero(trees.feature_ >= 0)
    # As int64, because the right child, the next node, may be beyond what int32 holds.
    left = trees.left_[inner].astype(np.int64)
    end = bounds[np.searchsorted(roots, inner, side="right")]
    if np.any((left <= inner) | (left + 1 >= end)):
        raise error_of(trees, "left_", "later nodes of the same tree", trees.left_)
    if len(inner) and trees.category_[inner].max() >= n_sets:
        raise error_of(trees, "category_", f"numbers below {n_sets}", trees.category_)
    if (trees.category_[trees.feature_ < 0] >= 0).any():
        raise error_of(trees, "category_", "-1 for leaves", trees.category_)
    check_parents(trees)


def _check_bins(bins: BinMapper) -> None:
    categorical = array_of(bins, "is_categorical_", [np.bool_], (None,))
    d = len(categorical)
    n_bins = array_of(bins, "n_bins_", [np.int32, np.int64], (d,))
    least = np.where(categorical, 0, 1)
    if not ((least <= n_bins) & (n_bins <= 255)).all():
        accepted = "numbers from 1 to 255, or from 0 on for categorical features"
        raise error_of(bins, "n_bins_", accepted, n_bins)
    dtypes = [np.float32, np.float64]
    if "thresholds_" in vars(bins):  # in files of older versions
        array_of(bins, "thresholds_", dtypes, (d, 255))
        bins.thresholds_ = vars(bins).pop("thresholds_")
    n_cuts = (n_bins - least).astype(np.int64)
    cuts = array_of(bins, "cuts_", dtypes, (int(n_cuts.sum()),))
    _check_numbers(bins)
    known = cuts[np.repeat(categorical, n_cuts)]
    if not are_categories(known, n_cuts[categorical]):
        accepted = "finite and ascending for each categorical feature"
        raise error_of(bins, "cuts_", accepted, cuts)


def _check_energy(energy: BaseEnergy) -> None:
    _check_numbers(energy)
    lengths: dict[str, int] = {}
    for name, kind in state_of(energy).items():
        if isinstance(kind, Array):
            _check_learned_array(energy, name, kind, lengths)
        elif not (name == "encoder_" and vars(energy).get(name) == "identity"):
            part = attribute(energy, name, kind, f"a {kind.__name__}")
            if isinstance(part, BaseEnergy):
                # Without any attribute it looked as if it had not been fitted.
                for needed in state_of(part).keys() - vars(part).keys():
                    raise missing(part, needed)
    _check_places(energy, state_of(energy), lengths)
    for name in ("scale_", "range_"):
        # Features are divided by them.
        scale = vars(energy).get(name)
        if scale is not None and not (scale > 0).all():
            raise error_of(energy, name, "numbers > 0", scale)
    _check_origin(energy)
    if isinstance(energy, KernelEnergy):
        attribute(energy.map_, "n_features_in_", int, "a whole number >= 1")
    width = width_of(energy)
    # Where none has been learned, any will do.
    width = len(PROBE) if width is None else width
    if 1 <= width <= _MAX_DENSE:
        _score_with(energy, width)


def _check_origin(energy: Any) -> None:
    """Check that vectors of labels are as long as those of documents."""
    n_outputs = getattr(vars(energy).get("encoder_"), "n_outputs", None)
    if n_outputs is not None and energy.origin_.shape[1] != n_outputs:
        accepted = f"an array of shape (n, {n_outputs}), as encoder_ has n_outputs"
        found = f"shape {energy.origin_.shape}"
        raise error_of(energy, "origin_", accepted, found)


def _check_places(owner, state: dict[str, Any], lengths: dict[str, int]) -> None:
    """Check whole numbers that are places within another array."""
    for name, kind in state.items():
        if isinstance(kind, Array) and kind.below:
            places, n = vars(owner)[name], lengths.get(kind.below)
            n = vars(owner)[kind.below] if n is None else n
            if len(places) and not 0 <= places.min() <= places.max() < n:
                raise error_of(owner, name, f"numbers below {n}", places)


def _check_learned_array(owner, name, kind: Array, lengths: dict[str, int]) -> None:
    """Check an array; the lengths that it has are those that later arrays must have."""
    if kind.optional and vars(owner).get(name, ...) is None:
        return
    value = attribute(owner, name, object, "")
    _check_content(owner, name, value, kind, lengths)
    lengths.update(zip(kind.shape, value.shape))


def _check_content(owner, name, value, kind: Array, lengths: dict[str, int]) -> None:
    """Check the type, the shape and the numbers of an array that has some name."""
    shape = [lengths.get(letter) for letter in kind.shape]
    if kind.sparse and sparse.issparse(value):
        if (
            value.format != "csr"
            or value.dtype != np.float64
            or value.shape
            != (*(found if n is None else n for n, found in zip(shape, value.shape)),)
        ):
            lengths_ = ", ".join("n" if n is None else str(n) for n in shape)
            accepted = f"a CSR matrix of float64 of shape ({lengths_})"
            raise error_of(owner, name, accepted, value)
        numbers = cast(Any, value).data
    else:
        numbers = checked_array(owner, name, value, kind.dtypes, shape)
    if kind.finite and not np.isfinite(numbers).all():
        raise error_of(owner, name, "finite", value)
    accepted = f"numbers >= {kind.low:g}"
    if kind.high < np.inf:
        accepted = f"numbers from {kind.low:g} to {kind.high:g}"
    # NaN is outside of every range, but an array need not have one.
    if (kind.low > -np.inf and not (numbers >= kind.low).all()) or (
        kind.high < np.inf and not (numbers <= kind.high + _ROUNDING).all()
    ):
        raise error_of(owner, name, accepted, value)


def _score_with(energy, n_features: int) -> None:
    """Score a few rows by random parameters."""
    rng = np.random.RandomState(0)
    with accepting(energy), _tried(energy, "score rows"):
        rows = energy.transform(np.array(PROBE)[:, None].repeat(n_features, axis=1))
        if energy.n_params(rows.shape[1]) <= _MAX_PARAMS:
            params = energy.init_params(rows.shape[1], rng)
            energy.document_scores(params, rows, np.array([0, len(PROBE)]))


@contextmanager
def _tried(estimator, what: str, passed: Callable[[Exception], bool] | None = None):
    """Turn errors into one that says what does not work, and pass over some."""
    try:
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")
            # Whatever n_jobs says, loading starts no processes.
            with parallel_config(backend="sequential"):
                yield
    except Exception as error:
        if passed is None or not passed(error):
            raise ValueError(
                f"{type(estimator).__name__} cannot {what} with what it has "
                f"learned: {problem_in(error)}"
            ) from None


def _is_overflow(error: Exception) -> bool:
    """Whether an error may come from the units of the rows, which are not known."""
    return is_complaint(error) and not isinstance(error, STUMBLES)


def _check_ranker(ranker: BaseRanker) -> None:
    n = attribute(ranker, "n_features_in_", int, "a whole number >= 1")
    check_queries(ranker)
    if learns_energy(ranker):
        attribute(ranker, "energy_", BaseEnergy, "a BaseEnergy")
    state = state_of_ranker(ranker)
    # The state says of its own what they may be; ids are what the user gave.
    _check_finite(ranker, {*state, "query_ids_", *_THRESHOLDS})
    lengths = {"d": n, "q": len(ranker.query_ids_), "2": 2}
    for name, kind in state.items():
        if isinstance(kind, Array):
            _check_learned_array(ranker, name, kind, lengths)
        else:
            check_scalar(ranker, name, kind)
    _check_places(ranker, state, lengths)
    _check_grades(ranker)
    check_logs(ranker)
    for name, kind in (("energy_", BaseEnergy), ("loss_", BaseLoss)):
        if name in vars(ranker):
            attribute(ranker, name, kind, f"a {kind.__name__}")
    if "energy_" in vars(ranker):
        check_width(ranker, n)
        _check_params(ranker)
    trees = getattr(ranker, "ensemble_", None)
    bins = getattr(ranker, "bin_mapper_", None)
    thresholds = isinstance(ranker, BaseThresholdBooster)
    if trees is not None or bins is not None or thresholds:
        if "alphas_" in vars(ranker) or thresholds:  # weak rankers that are not trees
            _check_weak_rankers(ranker)
        else:
            trees = attribute(ranker, "ensemble_", TreeEnsemble, "a TreeEnsemble")
            if trees.n_outputs > 1 and "loss_" not in vars(ranker):
                raise missing(ranker, "loss_")
            # Each score takes memory, whether or not a tree adds to it.
            n_scores = getattr(getattr(ranker, "loss_", None), "n_outputs", 1)
            if trees.n_outputs != n_scores:
                raise error_of(trees, "n_outputs", str(n_scores), trees.n_outputs)
        bins = attribute(ranker, "bin_mapper_", BinMapper, "a BinMapper")
        _check_encoder(ranker, n)
        array_of(bins, "is_categorical_", [np.bool_], (n,))
        if isinstance(trees, TreeEnsemble):
            _check_features(trees, bins, n)
        _check_boosting(ranker, trees, n)
    if "baseline_" in vars(ranker):
        outputs = getattr(trees, "n_outputs", 1)
        baseline = array_of(ranker, "baseline_", [np.float64], (outputs,))
        if not np.isfinite(baseline).all():
            raise error_of(ranker, "baseline_", "finite", baseline)
    _try_out(ranker)


def _check_features(trees: TreeEnsemble, bins: BinMapper, n_features: int) -> None:
    """Check that trees ask for features that there are, and for what these are."""
    if (trees.feature_ >= n_features).any():
        accepted = f"numbers below {n_features}"
        raise error_of(trees, "feature_", accepted, trees.feature_)
    categorical = np.flatnonzero(bins.is_categorical_).tolist()
    check_splits(trees, {j: int(bins.n_bins_[j]) for j in categorical})


def _check_boosting(ranker, trees, n_features: int) -> None:
    """Check what a warm start goes on with; older files have none of it."""
    n_nodes = len(getattr(trees, "value_", ()))
    lengths = {"stage_weights_": getattr(trees, "n_trees", 0)}
    lengths |= {"shares_": lengths["stage_weights_"], "grown_values_": n_nodes}
    for name, length in lengths.items():
        if name in vars(ranker):
            array_of(ranker, name, [np.float64], (length,))
    if "learning_rates_" in vars(ranker):
        n_rounds = getattr(trees, "n_trees", 0) // getattr(trees, "n_outputs", 1)
        rates = array_of(ranker, "learning_rates_", [np.float64], (n_rounds,))
        if not (np.isfinite(rates) & (rates > 0)).all():
            raise error_of(ranker, "learning_rates_", "numbers > 0", rates)
    for name in ("learning_rate_", "gradient_unit_", "hessian_unit_", "leaf_unit_"):
        if name in vars(ranker) and check_scalar(ranker, name, NUMBER) < 0:
            raise error_of(ranker, name, "a number >= 0", vars(ranker)[name])
    if vars(ranker).get("learning_rate_") == 0:
        raise error_of(ranker, "learning_rate_", "a number > 0", 0)
    if "monotonic_cst_" in vars(ranker):
        signs = array_of(ranker, "monotonic_cst_", [np.int8], (n_features,))
        if not np.isin(signs, (-1, 0, 1)).all():
            raise error_of(ranker, "monotonic_cst_", "-1, 0 or 1", signs)
    if "dropped_rounds_" not in vars(ranker):
        return
    pairs = array_of(ranker, "dropped_rounds_", [np.int64], (None, 2))
    n_rounds = getattr(trees, "n_trees", 0) // getattr(trees, "n_outputs", 1)
    later, earlier = pairs.T
    exist = (
        (earlier >= 0).all() and (earlier < later).all() and (later < n_rounds).all()
    )
    if not exist or (np.diff(later) < 0).any():
        accepted = f"pairs of rounds below {n_rounds}, the earlier one second"
        raise error_of(ranker, "dropped_rounds_", accepted, pairs)


def _check_encoder(ranker, n_features: int) -> None:
    """Check that levels belong to the features; older files have none."""
    if "encoder_" not in vars(ranker):
        return
    encoder = attribute(ranker, "encoder_", CategoryEncoder, "a CategoryEncoder")
    mask = attribute(encoder, "is_categorical_", np.ndarray, "an array")
    if len(mask) != n_features:
        accepted = f"an encoder of {n_features} columns"
        raise error_of(ranker, "encoder_", accepted, encoder)


def _check_aggregator(aggregator: BaseAggregator) -> None:
    n_runs = attribute(aggregator, "n_runs_", int, "a whole number >= 1")
    if not 1 <= n_runs <= _MAX_FEATURES:
        raise error_of(aggregator, "n_runs_", "a whole number >= 1", n_runs)
    lengths = lengths_of_aggregator(aggregator)
    for name, kind in state_of_aggregator(aggregator).items():
        if isinstance(kind, Array):
            _check_learned_array(aggregator, name, kind, lengths)
        elif isinstance(kind, ArrayOfEachRun):
            _check_array_of_each_run(aggregator, name, kind.array, lengths)
        elif not isinstance(kind, Part):
            check_scalar(aggregator, name, kind)
        elif name in vars(aggregator) or not kind.optional:
            attribute(aggregator, name, kind.kind, f"a {kind.kind.__name__}")
    _check_parts(aggregator)
    if n_runs <= _MANY_RUNS:
        with _tried(aggregator, "aggregate runs"):
            aggregator.predict(_PROBE_RUN.repeat(n_runs, axis=1), np.zeros(3))


def _check_array_of_each_run(owner, name, kind: Array, lengths) -> None:
    arrays = attribute(owner, name, list, "a list of arrays")
    if len(arrays) != lengths["r"]:
        accepted = f"a list of {lengths['r']} arrays, one for each run"
        raise error_of(owner, name, accepted, arrays)
    for run, array in enumerate(arrays):
        _check_content(owner, f"{name}[{run}]", array, kind, lengths)


def _check_parts(aggregator: Any) -> None:
    """Check that the estimators within an aggregator belong to its runs."""
    learned, n_runs = vars(aggregator), aggregator.n_runs_
    if "initial_" in learned:
        initial = aggregator.initial_
        if vars(initial).get("n_runs_") != n_runs:
            raise error_of(aggregator, "initial_", f"fitted to {n_runs} runs", initial)
    if "aggregator_" in learned:
        # Its weights are those that were learned, and a file says them twice.
        weights = aggregator.weights_.tolist()
        if not np.isclose(sum(weights), 1.0):
            raise error_of(aggregator, "weights_", "numbers that sum to 1", weights)
        if not np.array_equal(vars(aggregator.aggregator_).get("weights"), weights):
            accepted = "an aggregator whose weights are weights_"
            raise error_of(aggregator, "aggregator_", accepted, aggregator.aggregator_)
    if "ranker_" in learned:
        n = n_runs * len(aggregator.features)
        found = getattr(aggregator.ranker_, "n_features_in_", n)
        if found != n:
            accepted = f"an estimator that was fitted to {n} features"
            raise error_of(aggregator, "ranker_", accepted, aggregator.ranker_)


def _check_weak_rankers(ranker) -> None:
    """Check the arrays over weak rankers, of which each looks at one feature."""
    n = len(array_of(ranker, "alphas_", [np.float64], (None,)))
    features = array_of(ranker, "features_", [np.int32], (n,))
    if n and not 0 <= features.min() <= features.max() < ranker.n_features_in_:
        accepted = f"numbers below {ranker.n_features_in_}"
        raise error_of(ranker, "features_", accepted, features)
    for name in ("lows_", "highs_", "missing_ranks_", "gains_"):
        array = array_of(ranker, name, [np.float64], (n,))
        if np.isnan(array).any():
            raise error_of(ranker, name, "without NaN", array)


def _check_params(ranker) -> None:
    """Check the parameters of an energy, and the coefficients that repeat them."""
    params = array_of(ranker, "params_", [np.float64], (None,))
    if not np.isfinite(params).all():
        raise error_of(ranker, "params_", "finite", params)
    if not ranker.energy_.linear:
        return
    fresh = copy.copy(ranker)
    with _tried(ranker, "score rows"):
        fresh._store_coef(ranker.energy_)
    for name in ("coef_", "intercept_"):
        _check_repeats(ranker, name, vars(fresh).get(name))


def _check_repeats(ranker, name: str, expected: Any) -> None:
    """Check that an attribute is what follows from the parameters."""
    if isinstance(expected, np.ndarray):
        found = array_of(ranker, name, [np.float64], expected.shape)
    else:
        found = np.float64(check_scalar(ranker, name, NUMBER))
    if not np.allclose(found, expected, rtol=1e-6, atol=0.0):
        raise error_of(ranker, name, "that of params_", found)


def _check_grades(ranker) -> None:
    """Check that grades ascend, one more than thresholds, in a ranker that has them."""
    grades = vars(ranker).get("grades_")
    if grades is None:
        return
    ascend = np.isfinite(grades).all() and (grades[1:] > grades[:-1]).all()
    if not (len(grades) and ascend):
        raise error_of(ranker, "grades_", "finite and ascending", grades)
    with _tried(ranker, "find thresholds_"):
        thresholds = getattr(ranker, "thresholds_", None)
    if thresholds is not None and len(thresholds) != len(grades) - 1:
        accepted = f"one more than the {len(thresholds)} thresholds"
        raise error_of(ranker, "grades_", accepted, grades)


def _try_out(estimator) -> None:
    """Score or transform a few rows, if the estimator has learned from rows."""
    is_ranker = isinstance(estimator, BaseRanker)
    name = next((m for m in ("predict", "transform") if hasattr(estimator, m)), None)
    n_features = getattr(estimator, "n_features_in_", None)
    if name is None or n_features is None:
        return
    if n_features > _MAX_DENSE and not getattr(estimator, "_accepts_sparse", False):
        return
    method = getattr(estimator, name)
    parameters = inspect.signature(method).parameters
    more = {"groups": np.zeros(len(PROBE))} if "groups" in parameters else {}
    is_plain = not may_refuse(estimator)
    found = None
    rows = probe_rows(estimator, n_features)
    passed = None if is_plain else _is_overflow
    with accepting(estimator), _tried(estimator, _what_of(estimator, name), passed):
        found = method(rows, **more)
    if found is None and not is_plain:
        return
    if not is_ranker:
        # What transforms may well make infinity of some rows, what predicts must not.
        if (is_plain or name == "predict") and not _is_finite(found):
            raise ValueError(
                f"{type(estimator).__name__} makes numbers that are not finite"
            )
        return
    found = np.asarray(found)
    if found.shape != (len(PROBE),) or found.dtype.kind not in "fiu":
        raise ValueError(f"{type(estimator).__name__} predicts no score for each row")
    if not np.isfinite(found).all():
        name = type(estimator).__name__
        raise ValueError(f"{name} predicts scores that are not finite")


def _what_of(estimator, method: str) -> str:
    """Return what is tried; the number of features is the most likely to be wrong."""
    return f"{method} rows of n_features_in_={estimator.n_features_in_} features"


def _is_finite(found: Any) -> bool:
    values = found.data if sparse.issparse(found) else np.asarray(found)
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def _tried_out(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a check after which the estimator is used for a few rows."""

    def checked(estimator: Any) -> None:
        check(estimator)
        _try_out(estimator)

    return checked


# The first kind that an estimator is of has the check of what it has learned.
_CHECKS: tuple[tuple[Any, Callable[[Any], None]], ...] = (
    (TreeEnsemble, _check_trees),
    (BinMapper, _check_bins),
    (CategoryEncoder, check_category_encoder),
    (QueryTargetEncoder, check_target_encoder),
    (BaseEnergy, _check_energy),
    (BaseRanker, _check_ranker),
    (BaseAggregator, _check_aggregator),
    (BaseClickModel, check_click_model),
    (ClickGraph, check_click_graph),
    (InteractionModel, check_interaction_model),
    (InterventionPropensities, check_interventions),
    (TextRanker, check_text_ranker),
    (BaseFeatureSelector, _tried_out(check_feature_selector)),
    ((OneHotEncoder, OrdinalEncoder), _tried_out(_check_categories)),
    (ColumnTransformer, _tried_out(check_columns)),
    (PolynomialFeatures, _tried_out(_check_polynomials)),
)
