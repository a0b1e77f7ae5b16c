"""No compiled function reads or writes beyond its arrays, whatever their lengths.

Every function is called with arguments that fit; then each of its arrays is one entry
shorter, one longer, one column narrower or wider, or None. That must be an error. The
functions are found by a walk, so that a new one cannot escape.
"""

import contextlib
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import skrank

PACKAGE = Path(skrank.__file__).parent

N, D, HIDDEN = 5, 3, 2
PTR = np.array([0, 2, 2, 5])
Q = len(PTR) - 1
LONGEST = 3
SAMPLES = 4


def f8(*shape):
    return np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)


def i4(*values):
    return np.array(values, dtype=np.int32)


Y = np.array([1.0, 0, 2, 1, 0])
ORDER, LOWER = i4(0, 1, 0, 1, 2), i4(1, 2, 1, 2, 3)
GRADED = {"ptr": PTR, "order": ORDER, "lower": LOWER, "weight": f8(N), "n_threads": 1}
RANKED = {"scores": f8(N)[::-1].copy(), "ptr": PTR, "n_threads": 1}
START = PTR[:-1] * SAMPLES
PLACES = np.concatenate([np.tile(np.arange(m), SAMPLES) for m in np.diff(PTR)]).astype(
    np.uint16
)
SAMPLED = {
    "scores": f8(N),
    "ptr": PTR,
    "start": START,
    "places": PLACES,
    "table": f8(N),
    "table_start": PTR[:-1].copy(),
    "n_threads": 1,
}
NODES = {
    "feature": i4(0, -1, -1),
    "threshold": f8(3),
    "left": i4(1, -1, -1),
    "missing_left": np.zeros(3, dtype=np.uint8),
    "category": i4(-1, -1, -1),
    "value": f8(3),
    "roots": np.array([0]),
    "output": i4(0),
    "categories": np.zeros((0, 4), dtype=np.uint64),
    "first_tree": 0,
    "last_tree": 1,
    "n_threads": 1,
}
VOTES = {"places": f8(N, D), "weight": f8(D), "ptr": PTR, "n_threads": 1}
LINES = {"y": f8(N), "qids": [b"q"] * N, "tails": [b""] * N}
TEXT = b"1 2\n3 4\n"

LESSON = {
    "place": i4(0, 2, 1, 0, 2),
    "weight": f8(N),
    "order": np.array([4, 0, 1, 2]),
    "params": f8(2, D + 2),
    "n_thresholds": 2,
    "share": 0.5,
    "seed": 0,
    "first": 0,
    "n_threads": 1,
}

CASES = {
    "_boltzmann.draw": {
        "y": Y,
        "ptr": PTR,
        "order": ORDER,
        "lower": LOWER,
        "start": START,
        "places": PLACES.copy(),
        "n_samples": SAMPLES,
        "seed": 0,
        "n_threads": 1,
    },
    "_boltzmann.energies": {**SAMPLED, "n_samples": SAMPLES},
    "_boltzmann.loss": {
        **SAMPLED,
        "gain": f8(Q, SAMPLES),
        "target": f8(Q, SAMPLES),
        "query_weight": f8(Q),
        "mix": 0.5,
    },
    "_boosting_losses.agreement": {
        **GRADED,
        "scores": f8(N),
        "ranks": f8(N),
        "fidelity": True,
    },
    "_boosting_losses.along": {
        **GRADED,
        "scores": f8(N),
        "ranks": f8(N),
        "p": 2.0,
        "factors": f8(Q),
    },
    "_boosting_losses.fidelity": {**GRADED, "scores": f8(N)},
    "_boosting_losses.push": {
        **GRADED,
        "scores": f8(N),
        "p": 2.0,
        "factors": f8(Q),
        "want_hessian": True,
    },
    "_edge_losses.edge_pairs": {
        **GRADED,
        "first": f8(N),
        "second": f8(N),
        "direct": False,
    },
    "_edge_losses.sampled_edge_pairs": {
        "first": f8(N),
        "second": f8(N),
        "ptr": PTR,
        "pairs": np.zeros((Q, 2, 4), dtype=np.int32),
        "pair_weight": np.zeros((Q, 2)),
        "n_threads": 1,
    },
    "_edge_losses.stars": {**GRADED, "scores": f8(N)},
    "_gaussian.values": {
        "divergence": "kl",
        "documents": f8(N, 4),
        "queries": f8(Q, 4),
        "ptr": PTR,
        "n_threads": 1,
    },
    "_gaussian.gradients": {
        "divergence": "kl",
        "documents": f8(N, 4),
        "queries": f8(Q, 4),
        "ptr": PTR,
        "weight": f8(N),
        "n_threads": 1,
    },
    "_greedy_order.greedy_ranks": {
        "scores": f8(N, D),
        "ptr": PTR,
        "weight": f8(D),
        "n_threads": 1,
    },
    "_label_energies.offenders": {"raw": f8(N, 2), "column": np.ones(N, dtype=int)},
    "_label_energies.scatter": {
        "right": f8(N),
        "wrong": f8(N),
        "column": np.ones(N, dtype=int),
        "offender": np.zeros(N, dtype=int),
        "n_labels": 2,
    },
    "_lambda_losses.lambda_loss": {
        **GRADED,
        "scores": f8(N),
        "kind": "gain_discount",
        "gain": Y,
        "discount": f8(LONGEST),
        "scale": f8(Q),
        "sigma": 1.0,
        "truncation": 0,
        "normalize": False,
        "damping": 0.0,
        "ranking": f8(N),
    },
    "_letor.largest_index": {"text": b"1 qid:1 1:1", "n_threads": 1},
    "_letor.parse_letor": {
        "text": b"1 qid:1 1:1",
        "dtype": np.float32,
        "sparse": False,
        "n_features": None,
        "n_threads": 1,
    },
    "_letor.parse_fields": {"text": TEXT, "n_fields": 2},
    "_letor.parse_numbers": {
        "text": TEXT,
        "starts": np.array([0, 6]),
        "lengths": np.array([1, 1]),
    },
    "_letor.format_dense": {**LINES, "X": f8(N, D), "skip_zeros": False},
    "_letor.format_sparse": {
        **LINES,
        "data": f8(N),
        "indices": i4(0, 1, 0, 1, 2),
        "indptr": np.arange(N + 1),
    },
    "_linear.matvec": {"X": f8(N, D), "w": f8(D)},
    "_linear.rmatvec": {"X": f8(N, D), "v": f8(N)},
    "_list_losses.softmax_cross_entropy": {
        **RANKED,
        "target": f8(N),
        "query_weight": f8(Q),
    },
    "_list_losses.plackett_luce": {
        **RANKED,
        "order": ORDER,
        "stage_weight": f8(N),
        "query_weight": f8(Q),
        "top_k": 0,
    },
    "_measures.select_limit": {},
    "_measures.rank_rows": {**RANKED, "key": f8(N)},
    "_measures.rank_values": {
        **RANKED,
        "key": f8(N),
        "values": f8(N),
        "with_scores": True,
    },
    "_measures.discounted_sum": {**RANKED, "values": f8(N), "discount": f8(2)},
    "_measures.precision_sum": {**RANKED, "relevant": f8(N), "discount": f8(2)},
    "_measures.threshold_precision_sum": {**RANKED, "relevant": f8(N), "k": 2},
    "_measures.cascade": {**RANKED, "stop": f8(N), "discount": f8(2)},
    "_measures.preference_sum": {
        **RANKED,
        "grade": f8(N),
        "n_relevant": f8(Q),
        "n_other": f8(Q),
    },
    "_measures.top_dcg": {
        **RANKED,
        "grade": f8(N),
        "discount": f8(2),
        "exp2": True,
        "average": True,
    },
    "_measures.ideal_dcg": {
        "grade": f8(N),
        "ptr": PTR,
        "discount": f8(2),
        "exp2": True,
    },
    "_measures.count_pairs": {**RANKED, "grade": Y},
    "_measures.rank_biased_overlap": {
        "from1": Y,
        "to1": Y,
        "from2": Y,
        "to2": Y,
        "ptr": PTR,
        "p": 0.9,
    },
    "_pair_losses.logistic": {
        **GRADED,
        "scores": f8(N),
        "sigma": 1.0,
        "want_hessian": True,
    },
    "_pair_losses.hinge": {
        **GRADED,
        "scores": f8(N),
        "margin": 1.0,
        "squared": True,
    },
    "_pair_losses.squared_hinge_hessian": {**GRADED, "scores": f8(N), "margin": 1.0},
    "_pair_losses.sigmoid": {**GRADED, "scores": f8(N), "beta": 1.0},
    "_pair_losses.owa_hinge": {
        **GRADED,
        "scores": f8(N),
        "alpha": f8(LONGEST),
        "margin": 1.0,
        "squared": False,
    },
    "_pair_losses.misordered": {
        **GRADED,
        "scores": f8(N),
        "residuals": f8(N),
        "squared": True,
    },
    "_pair_losses.squared_differences": {**GRADED, "residuals": f8(N)},
    "_pair_losses.pair_weights": {k: v for k, v in GRADED.items() if k != "n_threads"},
    "_pair_potential.scores": {
        "units": f8(N, 2 * HIDDEN),
        "ptr": PTR,
        "weight": f8(HIDDEN),
        "bias": 0.0,
        "average": True,
        "n_threads": 1,
    },
    "_pair_potential.gradient": {
        "units": f8(N, 2 * HIDDEN),
        "ptr": PTR,
        "weight": f8(HIDDEN),
        "bias": 0.0,
        "average": True,
        "pull": f8(N),
        "n_threads": 1,
    },
    "_ids.sort_ties_by_id": {
        "order": np.array([0, 2, 1]),
        "edges": np.array([1, 3]),
        "ids": np.array(["a", "b", "c"], dtype=object),
    },
    "_ids.join_ids": {
        "lists": [np.array(["a", "b"], dtype=object)] * 2,
        "ptr": np.array([[0, 1, 2], [0, 0, 2]]),
    },
    "_majority.copeland": VOTES,
    "_majority.sort_by_majority": {**VOTES, "order": i4(0, 1, 0, 1, 2)},
    "_majority.local_kemeny": {**VOTES, "order": i4(0, 1, 0, 1, 2)},
    "_majority.kendall_distance": {**VOTES, "order": i4(0, 1, 0, 1, 2)},
    "_rank_perceptrons.learn_dense": {**LESSON, "X": f8(N, D)},
    "_rank_perceptrons.learn_sparse": {
        **LESSON,
        "data": f8(4),
        "indices": i4(0, 2, 1, 2),
        "indptr": np.array([0, 1, 1, 3, 3, 4]),
        "n_features": D,
    },
    "_segments.segment_sum": {"x": f8(N), "ptr": PTR},
    "_segments.segment_cumsum": {"x": f8(N), "ptr": PTR},
    "_segments.segment_softmax": {"x": f8(N), "ptr": PTR},
    "_segments.segment_order": {"x": f8(N), "ptr": PTR},
    "_segments.segment_ranks": {"x": f8(N), "ptr": PTR},
    "_segments.label_order": {"y": f8(N), "ptr": PTR},
    "_segments.sort_ties": {"x": f8(N), "order": ORDER, "lower": LOWER, "ptr": PTR},
    "_binning.find_thresholds": {
        "X": f8(N, D),
        "rows": i4(0, 2, 4),
        "max_bins": 4,
        "categorical": np.zeros(D, dtype=np.uint8),
        "thresholds": np.full((D, 255), np.inf),
    },
    "_binning.bin_matrix": {
        "X": f8(N, D),
        "thresholds": np.full((D, 255), np.inf),
        "categorical": np.zeros(D, dtype=np.uint8),
    },
    "_forest.add_trees": {"X": f8(N, D), "scores": np.zeros((N, 1)), **NODES},
    "_grower.Grower": {
        "bins": np.zeros(8 * N, dtype=np.uint8),
        "n_rows": N,
        "n_bins": i4(1, 1, 1),
        "categorical": np.zeros(D, dtype=np.uint8),
        "monotonic": np.zeros(D, dtype=np.int8),
    },
    "_thresholds.ThresholdSearch": {
        "bins": np.zeros(8 * N, dtype=np.uint8),
        "n_rows": N,
        "n_bins": i4(1, 1, 1),
    },
    "_thresholds.add_ranks": {
        "X": f8(N, D),
        "scores": f8(N),
        "feature": i4(0, 2),
        "low": f8(2),
        "high": f8(2),
        "missing": f8(2),
        "weight": f8(2),
        "first": 0,
        "last": 2,
    },
    "_thresholds.sum_ramps": {
        "X": f8(N, D),
        "low": f8(D),
        "high": f8(D),
        "potentials": f8(N),
    },
}

# Arrays that may have another length, or none: such calls need only not crash.
FREE = {
    ("_binning.bin_matrix", "X"): {"shorter", "longer"},
    ("_binning.find_thresholds", "X"): {"longer"},
    ("_binning.find_thresholds", "rows"): {"shorter", "longer", "None"},
    ("_boltzmann.draw", "places"): {"longer"},
    ("_boltzmann.energies", "places"): {"longer"},
    ("_boltzmann.energies", "table"): {"longer"},
    ("_boltzmann.loss", "places"): {"longer"},
    ("_boltzmann.loss", "table"): {"longer"},
    ("_ids.join_ids", "ptr"): {"wider"},  # one more query, without ids
    ("_forest.add_trees", "X"): {"narrower", "wider"},  # a tree may not read them all
    ("_forest.add_trees", "categories"): {"shorter"},  # there are none
    ("_forest.add_trees", "scores"): {"wider"},  # of a forest of more outputs
    ("_label_energies.offenders", "raw"): {"wider"},
    ("_lambda_losses.lambda_loss", "discount"): {"longer"},
    ("_lambda_losses.lambda_loss", "ranking"): {"None"},
    ("_letor.format_dense", "X"): {"narrower", "wider"},
    ("_thresholds.ThresholdSearch", "n_bins"): {"shorter", "longer"},  # of one block
    ("_thresholds.add_ranks", "X"): {"wider"},  # no weak ranker reads what is more
    ("_linear.matvec", "X"): {"shorter", "longer"},
    ("_linear.rmatvec", "X"): {"narrower", "wider"},
    ("_pair_losses.owa_hinge", "alpha"): {"longer"},
    ("_rank_perceptrons.learn_dense", "order"): {"shorter", "longer", "None"},
    ("_rank_perceptrons.learn_dense", "params"): {"shorter", "longer"},
    ("_rank_perceptrons.learn_sparse", "order"): {"shorter", "longer", "None"},
    ("_rank_perceptrons.learn_sparse", "params"): {"shorter", "longer"},
}
OPTIONAL = {"factors", "weight", "second", "stage_weight", "key", "scores"}


def is_free(name, key, what):
    """Return whether an argument need not fit the others."""
    return (
        what in FREE.get((name, key), ())
        or key == "text"
        or (key == "discount" and name.startswith("_measures"))
        or (what == "None" and key in OPTIONAL)
    )


def functions():
    found = {}
    for source in sorted(PACKAGE.rglob("*.pyx")):
        parts = ("skrank", *source.relative_to(PACKAGE).with_suffix("").parts)
        module = importlib.import_module(".".join(parts))
        for name, value in vars(module).items():
            compiled = getattr(value, "__module__", None) == module.__name__
            if compiled and not name.startswith("_") and callable(value):
                found[f"{parts[-1]}.{name}"] = value
    return found


FUNCTIONS = functions()
# These hold what a parser found, and take no arrays.
NO_ARRAYS = {"_letor.ParseError", "_letor.ParsedText"}


def other_lengths(array):
    """Yield arguments that do not fit, and what they are."""
    if isinstance(array, (list, bytes)):
        yield "shorter", array[:-1]
        yield "longer", array + array[-1:]
        return
    yield "shorter", array[:-1]
    if len(array):
        yield "longer", np.concatenate([array, array[-1:]])
    if array.ndim > 1:
        yield "narrower", np.ascontiguousarray(array[..., :-1])
        yield "wider", np.concatenate([array, array[..., -1:]], axis=-1)
    yield "None", None


def other_calls(name):
    """Yield arguments of which one has another length, and whether that is allowed."""
    for key, value in CASES[name].items():
        if not isinstance(value, (np.ndarray, list, bytes)):
            continue
        for what, other in other_lengths(value):
            if key == "ptr" and what == "longer":
                other[-1] += 1  # else there would be one more query, without rows
            free = is_free(name, key, what)
            yield f"{key} {what}", {**CASES[name], key: other}, free


def test_every_compiled_function_is_tried():
    assert set(CASES) == set(FUNCTIONS) - NO_ARRAYS
    for name, arguments in CASES.items():
        if inspect.isroutine(FUNCTIONS[name]):
            known = inspect.signature(FUNCTIONS[name]).parameters
            assert set(arguments) <= set(known), name


@pytest.mark.parametrize("name", CASES)
def test_arguments_that_fit(name):
    FUNCTIONS[name](**CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_arrays_of_another_length_are_refused(name):
    accepted = []
    for what, arguments, free in other_calls(name):
        with contextlib.suppress(TypeError, ValueError):
            FUNCTIONS[name](**arguments)
            if not free:
                accepted.append(what)
    assert not accepted


@pytest.mark.parametrize(
    "ptr", [[], [0], [1, 5], [0, 6], [0, 4], [0, 3, 2, 5], [0, -1, 5], [0, 2**40, 5]]
)
def test_pointer_arrays_that_do_not_fit(ptr):
    ptr = np.array(ptr, dtype=np.intp)
    with pytest.raises(ValueError, match=r"ptr must ascend from 0 to .* rows, 5"):
        FUNCTIONS["_segments.segment_sum"](np.ones(5), ptr)


def test_labels_and_rows_that_do_not_exist():
    arguments = CASES["_label_energies.offenders"]
    for wrong in (-1, 2, 2**40):
        column = np.array([0, 1, wrong, 0, 0])
        with pytest.raises(ValueError, match=f"column must be below 2, got {wrong}"):
            FUNCTIONS["_label_energies.offenders"](arguments["raw"], column)
    for wrong in (-1, N):
        arguments = {**CASES["_binning.find_thresholds"], "rows": i4(0, wrong)}
        with pytest.raises(ValueError, match=f"rows must be from 0 to 4, got {wrong}"):
            FUNCTIONS["_binning.find_thresholds"](**arguments)
    for start, length in ((-1, 1), (0, 9), (8, 1), (9, 0), (0, -1), (2**62, 2**62)):
        with pytest.raises(ValueError, match="span 0 is not within the text"):
            FUNCTIONS["_letor.parse_numbers"](
                TEXT, np.array([start]), np.array([length])
            )


@pytest.mark.parametrize("name", ["learn_dense", "learn_sparse"])
def test_places_rows_and_columns_of_perceptrons_exist(name):
    learn = FUNCTIONS[f"_rank_perceptrons.{name}"]
    arguments = CASES[f"_rank_perceptrons.{name}"]
    for wrong in (-1, 3):
        places = i4(0, 2, 1, wrong, 2)
        with pytest.raises(ValueError, match=f"place must be from 0 to 2, got {wrong}"):
            learn(**{**arguments, "place": places})
    for wrong in (-1, N):
        with pytest.raises(ValueError, match=f"order must be below {N}, got {wrong}"):
            learn(**{**arguments, "order": np.array([0, wrong])})
    short = {"n_thresholds": -1, "params": f8(2, D - 1)}
    with pytest.raises(ValueError, match="n_thresholds must be at least 0, got -1"):
        learn(**{**arguments, **short})
    if name == "learn_dense":
        return
    for indptr in ([0, 3, 2, 3, 3, 4], [1, 1, 1, 3, 3, 4], [0, 1, 1, 3, 3, 5]):
        with pytest.raises(ValueError, match="must be those of a CSR matrix"):
            learn(**{**arguments, "indptr": np.array(indptr)})
    for wrong in (-1, D):
        with pytest.raises(ValueError, match="must be those of a CSR matrix"):
            learn(**{**arguments, "indices": i4(0, wrong, 1, 2)})


def test_rows_of_a_tree_ascend():
    grower = FUNCTIONS["_grower.Grower"](**CASES["_grower.Grower"])
    for rows in (i4(0, 2, 1, 4), i4(0, 9, 4), i4(0, 0, 1)):
        with pytest.raises(ValueError, match="rows must"):
            grower.grow(np.ones(N), None, rows)
    with pytest.raises(ValueError, match="n_bins must be from 0 to 255, got 256"):
        FUNCTIONS["_grower.Grower"](
            **{**CASES["_grower.Grower"], "n_bins": i4(1, 256, 1)}
        )


def test_entries_of_sparse_rows_are_within_their_arrays():
    arguments = CASES["_letor.format_sparse"]
    for indptr in ([0, 1, 2, 3, 4, 6], [0, 3, 2, 3, 4, 5], [-1, 1, 2, 3, 4, 5]):
        with pytest.raises(ValueError, match=r"entries of row \d are not within data"):
            FUNCTIONS["_letor.format_sparse"](
                **{**arguments, "indptr": np.array(indptr)}
            )
