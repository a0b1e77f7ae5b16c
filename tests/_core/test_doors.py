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
SMOOTH = {
    "scores": f8(N),
    "ptr": PTR,
    "form": 2,
    "gain": f8(N),
    "factor": f8(Q),
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
# Rows of which the first has two entries.
ENTRIES = {
    "ptr": np.array([0, 2, 2, 3, 3, 4]),
    "feature": i4(0, 2, 1, 0),
    "values": f8(4),
}
PLACED = {
    "ptr": ENTRIES["ptr"],
    "feature": ENTRIES["feature"],
    "place": np.array([1, 2, 1, 0], dtype=np.uint8),
    "common": np.zeros(D, dtype=np.uint8),
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

MEASURED = {
    "ptr": PTR,
    "kind": 0,
    "gain": Y,
    "discount": f8(2),
    "scale": f8(Q),
    "weight": f8(Q),
    "n_threads": 1,
}

CLICKS = np.array([1, 0, 0, 1, 0], dtype=np.uint8)
PAIRS_OF_ROWS = np.array([0, 1, 1, 0, 2])
BROWSED = {"attraction": f8(N), "examination": f8(3, 3), "ptr": PTR, "n_threads": 1}
CHAINED = {
    "attraction": f8(N),
    "after_skip": f8(N),
    "after_click": f8(N),
    "ptr": PTR,
    "n_threads": 1,
}
POWERS = {
    "clicks": f8(Q),
    "ptr": PTR,
    "factor": f8(N),
    "count": f8(N),
    "n_threads": 1,
}

RULES = {"nodes": f8(4), "weights": f8(4), "left": 0.5, "right": 0.5}

DEALT = {
    "document": i4(0, 1, 1, 0, 0, 1, 2, 2, 0),
    "lists": np.array([0, 2, 4, 4, 4, 7, 9]),
    "n_rankings": 2,
    "ptr": PTR,
    "shown_ptr": np.array([0, 1, 1, 3]),
    "n_threads": 1,
}
CLICKED = {"shown": i4(1, 0, 2), "click": np.array([1, 0, 1], dtype=np.uint8)}

RANKS = {
    "ranks": np.array([[1.0, 2], [2, 1], [1, np.inf], [2, 1], [3, 2]]),
    "relevant": np.array([1.0, 0, 0, 1, 0]),
    "wanted": i4(1, 0, 2),
    "ptr": PTR,
    "n_threads": 1,
}
KEPT = {"y": Y, "scores": f8(N), "slack": f8(Q), "ptr": PTR, "n_threads": 1}

CASES = {
    "_choices.picks_by_difference": {**RANKS, "prior": 0.5},
    "_choices.picks_by_mixture": {**RANKS, "log_beta": -1.0},
    "_choices.sums_over_kept": {**KEPT, "x": f8(N)},
    "_choices.kept_pairs": KEPT,
    "_choices.picks_by_pairs": {**KEPT, "value": f8(N), "wanted": i4(1, 0, 2)},
    "_interleaving.deal": {**DEALT, "scheme": "team_draft", "seed": 0, "tau": 3.0},
    "_interleaving.balanced_credit": {**DEALT, **CLICKED},
    "_interleaving.marginal_credit": {**DEALT, **CLICKED, "tau": 3.0},
    "_interleaving.rank_by_columns": {"scores": f8(N, D), "ptr": PTR, "seed": 0},
    "_interleaving.draw": {
        "scores": f8(N),
        "ptr": PTR,
        "shown_ptr": DEALT["shown_ptr"],
        "seed": 0,
    },
    "_interleaving.preference_gradient": {
        "scores": f8(N),
        "ptr": PTR,
        "shown_ptr": DEALT["shown_ptr"],
        **CLICKED,
    },
    "_models.click_context": {"click": CLICKS, "ptr": PTR, "n_threads": 1},
    "_models.number_pairs": {
        "query": PAIRS_OF_ROWS,
        "document": PAIRS_OF_ROWS,
        "n_queries": 3,
        "n_documents": 3,
    },
    "_models.count_cells": {
        "pair": PAIRS_OF_ROWS,
        "slot": PAIRS_OF_ROWS - 1,
        "click": CLICKS,
        "n_pairs": 3,
        "n_slots": 2,
    },
    "_models.browsing_step": {
        "ptr": PTR,
        "slot": PAIRS_OF_ROWS,
        "clicks": f8(N),
        "skips": f8(N),
        "clicked": f8(3),
        "shown": f8(3),
        "attraction": f8(Q),
        "examination": f8(3),
        "prior": (1.0, 1.0, 1.0),
        "n_threads": 1,
    },
    "_models.browsing_examination": BROWSED,
    "_models.draw_browsing": {**BROWSED, "uniform": f8(N)},
    "_models.chain_examination": CHAINED,
    "_models.chain_conditionals": {**CHAINED, "click": CLICKS},
    "_models.draw_chains": {**CHAINED, "uniform": f8(N)},
    "_models.chain_posteriors": {**CHAINED, "click": CLICKS, "last": i4(1, 0, 2)},
    "_models.sums_by_code": {"values": f8(N), "code": PAIRS_OF_ROWS, "n_codes": 3},
    "_models.posterior_moments": {**POWERS, **RULES},
    "_models.posterior_grids": {**POWERS, **RULES, "n_points": 5, "flat": True},
    "_boosting_losses.debiased_lambda_loss": {
        **GRADED,
        "scores": f8(N),
        "gain": Y,
        "discount": f8(LONGEST),
        "scale": f8(Q),
        "preferred": f8(N),
        "other": f8(N),
        "sigma": 1.0,
        "truncation": 0,
        "normalize": False,
        "damping": 0.0,
    },
    "_measures.exact_values": {"scores": f8(N), **MEASURED},
    "_measures.exact_values_on_grid": {
        "scores": f8(N),
        "direction": f8(N),
        "order": ORDER,
        "steps": f8(1) * 0.0,
        "zero": 0,
        **MEASURED,
    },
    "_measures.best_on_line": {
        "scores": f8(N),
        "direction": f8(N),
        "width": 0.0,
        **MEASURED,
    },
    "_measures.program_scores": {
        "columns": f8(D, N),
        "tokens": i4(0, 2, -1, 3, -4),
        "constants": f8(1),
        "n_threads": 1,
    },
    "_smooth_measures.draw_rankings": {
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
    "_smooth_measures.ranking_energies": {**SAMPLED, "n_samples": SAMPLES},
    "_smooth_measures.boltzmann_loss": {
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
    "_list_losses.edge_pairs": {
        **GRADED,
        "first": f8(N),
        "second": f8(N),
        "direct": False,
    },
    "_list_losses.sampled_edge_pairs": {
        "first": f8(N),
        "second": f8(N),
        "ptr": PTR,
        "pairs": np.zeros((Q, 2, 4), dtype=np.int32),
        "pair_weight": np.zeros((Q, 2)),
        "n_threads": 1,
    },
    "_list_losses.stars": {**GRADED, "scores": f8(N)},
    "_energies.divergences": {
        "divergence": "kl",
        "documents": f8(N, 4),
        "queries": f8(Q, 4),
        "ptr": PTR,
        "n_threads": 1,
    },
    "_energies.divergence_gradients": {
        "divergence": "kl",
        "documents": f8(N, 4),
        "queries": f8(Q, 4),
        "ptr": PTR,
        "weight": f8(N),
        "n_threads": 1,
    },
    "_choices.kendall_sums": {
        "values": f8(D, N),
        "ptr": PTR,
        "concordance": False,
        "n_threads": 1,
    },
    "_choices.greedy_ranks": {
        "scores": f8(N, D),
        "ptr": PTR,
        "weight": f8(D),
        "n_threads": 1,
    },
    "_one_pass.offenders": {"raw": f8(N, 2), "column": np.ones(N, dtype=int)},
    "_one_pass.scatter": {
        "right": f8(N),
        "wrong": f8(N),
        "column": np.ones(N, dtype=int),
        "offender": np.zeros(N, dtype=int),
        "n_labels": 2,
    },
    "_pair_losses.lambda_loss": {
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
    "_pair_losses.lambda_bound": {
        **RANKED,
        "each_other": False,
        "gain": Y,
        "discount": f8(LONGEST),
        "apart": f8(LONGEST),
        "by_discount": 1.0,
        "scale": f8(Q),
        "weight": f8(N),
        "sigma": 1.0,
        "ranking": f8(N),
    },
    "_pair_losses.neighbour_pairs": {
        **RANKED,
        "grade": Y,
        "gain": Y,
        "noise": f8(2, N),
        "by_rank": f8(LONGEST),
        "scale": f8(Q),
        "weight": f8(N),
    },
    "_pair_losses.logistic_noise": {
        "bits": np.zeros((2, N), dtype=np.uint32),
        "scale": 1.0,
        "n_threads": 1,
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
    "_letor.join_spans": {
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
    "_energies.matvec": {"X": f8(N, D), "w": f8(D)},
    "_energies.rmatvec": {"X": f8(N, D), "v": f8(N)},
    "_structured.interleavings": {
        **RANKED,
        "relevance": np.array([1.0, 0, 1, 0, 0]),
        "kind": "average_precision",
        "discount": f8(LONGEST),
        "scale": f8(Q),
        "query_weight": f8(Q),
    },
    "_structured.positions": {
        **RANKED,
        "gain": Y,
        "target": f8(N),
        "weight": f8(N)[::-1].copy(),
        "discount": f8(N)[::-1].copy(),
        "scale": f8(Q),
        "best": f8(Q),
        "query_weight": f8(Q),
    },
    "_structured.paths": {
        **RANKED,
        "order": i4(0, 1, 0, 1, 2),
        "gain": np.array([1.0, 0, 2, 1, 0]),
        "discount": f8(N)[::-1].copy(),
        "scale": f8(Q),
        "best": f8(Q),
        "query_weight": f8(Q),
    },
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
    "_list_losses.partition_likelihood": {
        **RANKED,
        "order": ORDER,
        "lower": LOWER,
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
        "squared": False,
        "cap": 2.0,
        "width": 0.5,
    },
    "_pair_losses.squared_hinge_hessian": {**GRADED, "scores": f8(N), "margin": 1.0},
    "_pair_losses.sigmoid": {**GRADED, "scores": f8(N), "beta": 1.0},
    "_pair_losses.owa_hinge": {
        **GRADED,
        "scores": f8(N),
        "alpha": f8(LONGEST),
        "margin": 1.0,
        "width": 0.5,
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
    "_energies.potential_scores": {
        "units": f8(N, 2 * HIDDEN),
        "ptr": PTR,
        "weight": f8(HIDDEN),
        "bias": 0.0,
        "average": True,
        "n_threads": 1,
    },
    "_energies.potential_gradient": {
        "units": f8(N, 2 * HIDDEN),
        "ptr": PTR,
        "weight": f8(HIDDEN),
        "bias": 0.0,
        "average": True,
        "pull": f8(N),
        "n_threads": 1,
    },
    "_ids.IdTable": {"lists": [np.array(["a", "b"], dtype=object)]},
    "_ids.join_ids": {
        "lists": [np.array(["a", "b"], dtype=object)] * 2,
        "ptr": np.array([[0, 1, 2], [0, 0, 2]]),
    },
    "_choices.copeland": VOTES,
    "_choices.sort_by_majority": {**VOTES, "order": i4(0, 1, 0, 1, 2)},
    "_choices.local_kemeny": {**VOTES, "order": i4(0, 1, 0, 1, 2)},
    "_choices.kendall_distance": {**VOTES, "order": i4(0, 1, 0, 1, 2)},
    "_rank_perceptrons.learn_dense": {**LESSON, "X": f8(N, D)},
    "_rank_perceptrons.learn_sparse": {
        **LESSON,
        "data": f8(4),
        "indices": i4(0, 2, 1, 2),
        "indptr": np.array([0, 1, 1, 3, 3, 4]),
        "n_features": D,
    },
    "_one_pass.rectify": {"z": f8(N, D), "bias": f8(D)},
    "_one_pass.rectified_outer": {"left": f8(N), "right": f8(D), "outputs": f8(N, D)},
    "_one_pass.adam": {
        "params": f8(N),
        "gradient": f8(N),
        "mean": f8(N),
        "square": f8(N),
        "beta_1": 0.9,
        "beta_2": 0.99,
        "epsilon": 0.1,
        "root_scale": 1.0,
        "rate": 0.1,
    },
    "_segments.segment_sum": {"x": f8(N), "ptr": PTR},
    "_segments.segment_cumsum": {"x": f8(N), "ptr": PTR},
    "_segments.segment_softmax": {"x": f8(N), "ptr": PTR},
    "_segments.segment_order": {"x": f8(N), "ptr": PTR},
    "_segments.segment_best_first": {"x": f8(N), "ptr": PTR},
    "_segments.places_of_order": {"order": np.arange(N), "ptr": PTR},
    "_segments.sums_over_lists": {
        "parts": [f8(N), f8(2)],
        "entries": [None, (np.array([0, N - 1]), np.array([0, 1, 1, 2]))],
        "ptr": PTR,
        "fill": f8(len(PTR) - 1, 2),
    },
    "_segments.segment_ranks": {"x": f8(N), "ptr": PTR},
    "_segments.label_order": {"y": f8(N), "ptr": PTR},
    "_segments.rows_of_segments": {"ptr": PTR, "chosen": np.array([2, 0])},
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
        "order": np.arange(N)[::-1].copy(),
    },
    "_binning.find_sparse_thresholds": {
        **ENTRIES,
        "rows": i4(0, 2, 4),
        "max_bins": 4,
        "categorical": np.zeros(D, dtype=np.uint8),
    },
    "_binning.bin_entries": {
        **ENTRIES,
        "cuts": f8(2),
        "start": np.array([0, 1, 1, 2]),
        "n_bins": i4(2, 1, 2),
        "categorical": np.zeros(D, dtype=np.uint8),
    },
    "_binning.hash_rows": {"X": f8(N, D)},
    "_binning.hash_entries": {**ENTRIES, "d": 3},
    "_binning.dense_bins": {**PLACED, "n_bins": i4(2, 1, 2)},
    "_forest.add_trees": {"X": f8(N, D), "scores": np.zeros((N, 1)), **NODES},
    "_forest.add_trees_to_sparse": {
        "ptr": ENTRIES["ptr"],
        "features": ENTRIES["feature"],
        "values": ENTRIES["values"],
        "column_of": i4(0, -1, -1),
        "n_columns": 1,
        "scores": np.zeros((N, 1)),
        **NODES,
    },
    "_forest.contributions": {
        "X": f8(N, D),
        "background": f8(2, D),
        **{k: v for k, v in NODES.items() if not k.endswith("_tree")},
        "count": np.array([3, 2, 1]),
        "scale": f8(1),
    },
    "_forest.add_linear_trees": {
        "X": f8(N, D),
        "scores": np.zeros((N, 1)),
        **NODES,
        "term_start": np.array([0, 0, 1, 2]),
        "term_feature": i4(1, 2),
        "terms": f8(4, 2),
    },
    "_forest.fit_linear_tree": {
        "X": f8(N, D),
        "gradient": f8(N),
        "hessian": f8(N),
        "rows": i4(0, 2, 4),
        "scale": f8(D),
        "l2": 1.0,
        **{k: v for k, v in NODES.items() if not k.endswith("_tree")},
    },
    "_grower.Grower": {
        "bins": np.zeros(8 * N, dtype=np.uint8),
        "n_rows": N,
        "n_bins": i4(1, 1, 1),
        "categorical": np.zeros(D, dtype=np.uint8),
        "monotonic": np.zeros(D, dtype=np.int8),
    },
    "_binning.ThresholdSearch": {
        "bins": np.zeros(8 * N, dtype=np.uint8),
        "n_rows": N,
        "n_bins": i4(1, 1, 1),
    },
    "_binning.add_ranks": {
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
    "_smooth_measures.noisy_scores": {
        **SMOOTH,
        "variance": f8(N),
        "discount": f8(LONGEST),
        "normal": False,
        "width": 1.0,
    },
    "_smooth_measures.sigmoid_ranks": {
        **SMOOTH,
        "discount": f8(LONGEST),
        "slope": f8(LONGEST),
        "rule": 2,
        "cut_off": 2.0,
        "steepness": 1.0,
        "width": 1.0,
    },
    "_smooth_measures.soft_positions": {
        **SMOOTH,
        "discount": f8(LONGEST),
        "kind": 2,
        "width": 1.0,
    },
    "_postings.scan_words": {"texts": ["a b", "b"], "n_threads": 1},
    "_postings.build_postings": {
        "words": i4(0, 1, 1, 0, 1),
        "ptr": PTR,
        "terms": i4(0, 2, 1),
        "terms_ptr": np.array([0, 2, 3]),
        "n_terms": D,
        "with_positions": True,
    },
    "_postings.Lists": {
        "ptr": np.array([0, 2, 3]),
        "documents": i4(0, 1, 1),
        "n_documents": 2,
    },
    "_postings.best_of_scores": {"scores": f8(N, D), "k": 2},
    "_postings.proximities": {
        "ptr": PTR,
        "postings": np.array([0, 1, -1, 2, 0]),
        "positions_ptr": np.array([0, 2, 3, 5]),
        "positions": i4(0, 3, 1, 2, 4),
    },
    "_binning.sum_ramps": {
        "X": f8(N, D),
        "low": f8(D),
        "high": f8(D),
        "potentials": f8(N),
    },
}

# Arrays that may have another length, or none: such calls need only not crash.
FREE = {
    ("_binning.bin_matrix", "order"): {"None"},
    ("_binning.hash_rows", "X"): {"shorter", "longer", "narrower", "wider", "None"},
    ("_binning.bin_entries", "cuts"): {"longer"},
    ("_binning.find_sparse_thresholds", "categorical"): {"longer"},  # without entries
    ("_binning.find_sparse_thresholds", "rows"): {"shorter", "longer", "None"},
    ("_binning.find_thresholds", "X"): {"longer"},
    ("_binning.find_thresholds", "rows"): {"shorter", "longer", "None"},
    ("_smooth_measures.draw_rankings", "places"): {"longer"},
    ("_smooth_measures.ranking_energies", "places"): {"longer"},
    ("_smooth_measures.ranking_energies", "table"): {"longer"},
    ("_smooth_measures.boltzmann_loss", "places"): {"longer"},
    ("_smooth_measures.boltzmann_loss", "table"): {"longer"},
    ("_ids.join_ids", "ptr"): {"wider"},  # one more query, without ids
    # Any columns will do that a formula asks for.
    ("_measures.program_scores", "columns"): {"longer", "narrower", "wider"},
    ("_measures.program_scores", "constants"): {"longer"},
    ("_measures.exact_values_on_grid", "steps"): {"longer"},
    ("_forest.add_trees", "X"): {"narrower", "wider"},  # a tree may not read them all
    ("_forest.add_trees", "categories"): {"shorter"},  # there are none
    ("_forest.add_trees_to_sparse", "categories"): {"shorter"},  # there are none
    ("_forest.add_trees_to_sparse", "column_of"): {"longer"},  # without entries
    ("_forest.add_trees_to_sparse", "scores"): {"wider"},  # of a forest of more outputs
    ("_forest.add_trees", "scores"): {"wider"},  # of a forest of more outputs
    ("_forest.add_linear_trees", "X"): {"wider"},  # no term reads what is more
    ("_forest.add_linear_trees", "categories"): {"shorter"},  # there are none
    ("_forest.add_linear_trees", "scores"): {"wider"},  # of a forest of more outputs
    ("_forest.fit_linear_tree", "categories"): {"shorter"},
    ("_forest.fit_linear_tree", "hessian"): {"None"},
    ("_forest.fit_linear_tree", "rows"): {"shorter", "longer", "None"},
    # Edges of the table of examination stand for what lies beyond.
    ("_models.browsing_examination", "examination"): {
        "shorter",
        "longer",
        "narrower",
        "wider",
    },
    ("_models.draw_browsing", "examination"): {
        "shorter",
        "longer",
        "narrower",
        "wider",
    },
    ("_one_pass.offenders", "raw"): {"wider"},
    ("_choices.picks_by_difference", "ranks"): {"narrower", "wider"},
    ("_choices.picks_by_mixture", "ranks"): {"narrower", "wider"},
    ("_interleaving.rank_by_columns", "scores"): {"narrower", "wider"},
    ("_boosting_losses.debiased_lambda_loss", "discount"): {"longer"},
    ("_choices.kendall_sums", "values"): {"shorter", "longer"},
    ("_pair_losses.lambda_loss", "discount"): {"longer"},
    ("_pair_losses.lambda_bound", "discount"): {"longer"},
    ("_pair_losses.lambda_bound", "apart"): {"longer"},
    ("_pair_losses.neighbour_pairs", "by_rank"): {"longer"},
    ("_pair_losses.neighbour_pairs", "noise"): {"shorter", "longer"},
    ("_pair_losses.lambda_loss", "ranking"): {"None"},
    ("_pair_losses.logistic_noise", "bits"): {
        "shorter",
        "longer",
        "narrower",
        "wider",
    },
    ("_letor.format_dense", "X"): {"narrower", "wider"},
    ("_forest.contributions", "X"): {"shorter", "longer"},
    ("_forest.contributions", "background"): {"shorter", "longer"},
    ("_forest.contributions", "categories"): {"shorter"},  # there are none
    ("_binning.ThresholdSearch", "n_bins"): {"shorter", "longer"},  # of one block
    ("_binning.add_ranks", "X"): {"wider"},  # no weak ranker reads what is more
    ("_energies.matvec", "X"): {"shorter", "longer"},
    ("_energies.rmatvec", "X"): {"narrower", "wider"},
    ("_pair_losses.owa_hinge", "alpha"): {"longer"},
    ("_postings.Lists", "ptr"): {"shorter", "longer"},  # a search compares them
    ("_postings.Lists", "documents"): {"shorter", "longer"},
    ("_postings.best_of_scores", "scores"): {"shorter", "longer", "wider", "narrower"},
    ("_postings.build_postings", "terms_ptr"): {"longer"},  # a word without terms
    ("_postings.proximities", "positions_ptr"): {"longer"},  # a posting without any
    ("_postings.scan_words", "texts"): {"shorter", "longer"},
    ("_one_pass.rectify", "z"): {"shorter", "longer"},
    ("_rank_perceptrons.learn_dense", "order"): {"shorter", "longer", "None"},
    ("_rank_perceptrons.learn_dense", "params"): {"shorter", "longer"},
    ("_rank_perceptrons.learn_sparse", "order"): {"shorter", "longer", "None"},
    ("_rank_perceptrons.learn_sparse", "params"): {"shorter", "longer"},
    ("_segments.rows_of_segments", "chosen"): {"shorter", "longer"},
    ("_segments.rows_of_segments", "ptr"): {"longer"},  # one more query is not chosen
}
OPTIONAL = {"factors", "variance", "weight", "second", "stage_weight", "key", "scores"}
OPTIONAL |= {"fill", "ranking"}

# Modules that take a table of discounts of any length.
COUNTED = ("_measures", "_smooth_measures")


def is_free(name, key, what):
    """Return whether an argument need not fit the others."""
    return (
        what in FREE.get((name, key), ())
        or key == "text"
        or (key == "discount" and name.startswith(COUNTED))
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
NO_ARRAYS = {"_letor.ParseError", "_letor.ParsedText", "_quiet.Quiet"}


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
    arguments = CASES["_one_pass.offenders"]
    for wrong in (-1, 2, 2**40):
        column = np.array([0, 1, wrong, 0, 0])
        with pytest.raises(ValueError, match=f"column must be below 2, got {wrong}"):
            FUNCTIONS["_one_pass.offenders"](arguments["raw"], column)
    for wrong in (-1, N):
        arguments = {**CASES["_binning.find_thresholds"], "rows": i4(0, wrong)}
        with pytest.raises(ValueError, match=f"rows must be from 0 to 4, got {wrong}"):
            FUNCTIONS["_binning.find_thresholds"](**arguments)
    for start, length in ((-1, 1), (0, 9), (8, 1), (9, 0), (0, -1), (2**62, 2**62)):
        for name in ("parse_numbers", "join_spans"):
            with pytest.raises(ValueError, match="span 0 is not within the text"):
                FUNCTIONS[f"_letor.{name}"](TEXT, np.array([start]), np.array([length]))


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


@pytest.mark.parametrize(
    ("name", "found", "message"),
    [
        ("ptr", np.array([0, 2, 1, 3, 3, 4]), "ptr must ascend"),
        ("ptr", np.array([0, 2, 2, 9, 3, 4]), "ptr must ascend"),
        ("ptr", np.array([1, 2, 2, 3, 3, 4]), "ptr must run from 0 to 4"),
        ("ptr", np.array([0, 2, 2, 3, 3, 3]), "ptr must run from 0 to 4"),
        ("feature", i4(0, 0, 1, 0), "features of a row must ascend from 0 to 2"),
        ("feature", i4(2, 0, 1, 0), "features of a row must ascend from 0 to 2"),
        ("feature", i4(0, 3, 1, 0), "features of a row must ascend from 0 to 2"),
        ("feature", i4(-1, 2, 1, 0), "features of a row must ascend from 0 to 2"),
        ("place", np.array([1, 3, 1, 0], dtype=np.uint8), "place must be at most"),
        ("place", np.zeros(3, dtype=np.uint8), "place must have length 4"),
        ("common", np.zeros(2, dtype=np.uint8), "common must have length 3"),
    ],
)
def test_entries_that_a_tree_grows_on_belong_to_rows(name, found, message):
    arguments = {**CASES["_grower.Grower"], "n_bins": i4(2, 1, 2)}
    grower = FUNCTIONS["_grower.Grower"](
        **{**arguments, "bins": tuple(PLACED.values())}
    )
    assert grower.grow(np.ones(N))["feature"].tolist() == [-1]
    wrong = tuple({**PLACED, name: found}.values())
    with pytest.raises(ValueError, match=message):
        FUNCTIONS["_grower.Grower"](**{**arguments, "bins": wrong})
    if name in ("ptr", "feature"):
        for function in ("bin_entries", "find_sparse_thresholds", "dense_bins"):
            case = CASES[f"_binning.{function}"]
            with pytest.raises(ValueError, match=message):
                FUNCTIONS[f"_binning.{function}"](**{**case, name: found})


def test_columns_of_sparse_scores_exist():
    case = CASES["_forest.add_trees_to_sparse"]
    function = FUNCTIONS["_forest.add_trees_to_sparse"]
    for name, found, message in [
        ("ptr", np.array([0, 2, 1, 3, 3, 4]), "ptr must ascend"),
        ("ptr", np.array([0, 2, 2, 3, 3, 5]), "ptr must run from 0 to 4"),
        ("features", i4(0, 3, 1, 0), "features must be from 0 to 2, got 3"),
        ("features", i4(0, -1, 1, 0), "features must be from 0 to 2, got -1"),
        ("column_of", i4(1, -1, -1), "columns must be below 1, got 1"),
        ("n_columns", 0, "there must be columns, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            function(**{**case, name: found})


def test_entries_of_sparse_rows_are_within_their_arrays():
    arguments = CASES["_letor.format_sparse"]
    for indptr in ([0, 1, 2, 3, 4, 6], [0, 3, 2, 3, 4, 5], [-1, 1, 2, 3, 4, 5]):
        with pytest.raises(ValueError, match=r"entries of row \d are not within data"):
            FUNCTIONS["_letor.format_sparse"](
                **{**arguments, "indptr": np.array(indptr)}
            )


def test_posting_lists_are_searched_with_arrays_that_fit():
    lists = FUNCTIONS["_postings.Lists"](**CASES["_postings.Lists"])
    search = {
        "weights": f8(3),
        "offsets": f8(2),
        "query_ptr": np.array([0, 1, 2]),
        "query_terms": i4(0, 1),
        "query_weights": f8(2),
        "totals": f8(2),
        "constants": f8(2),
    }
    calls = {
        "search": {**search, "k": 2},
        "score": search,
        "find": {"terms": np.array([0, 1]), "documents": np.array([1, 0])},
        "fault": {"counts": f8(3), "most": 1.0},
    }
    free = {("offsets", "None"), ("constants", "None")}
    for method, arguments in calls.items():
        getattr(lists, method)(**arguments)
        for key, value in arguments.items():
            for what, other in other_lengths(value) if np.ndim(value) else ():
                if (key, what) in free or (key == "query_ptr" and what == "longer"):
                    continue
                with pytest.raises((ValueError, TypeError)):
                    getattr(lists, method)(**{**arguments, key: other})
