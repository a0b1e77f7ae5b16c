"""Measures against plain Python, permutations of ties, and their own definitions."""

import math
import tracemalloc
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.metrics import (
    AP,
    NDCG,
    BaseMeasure,
    KendallTau,
    MeanSquaredError,
    Precision,
    Recall,
    SpearmanRho,
    get_measure,
    query_weights,
    rbp_score,
    signed_deltas,
)

# Measures of one ranked list of grades, best rank first, in plain Python. Each returns
# None where the query carries no information.


def ref_dcg(grades, k=None, gain=lambda y: 2**y - 1):
    return sum(gain(y) / math.log2(j + 2) for j, y in enumerate(grades[:k]))


def ref_ndcg(grades, k=None, gain=lambda y: 2**y - 1):
    best = ref_dcg(sorted(grades, key=gain, reverse=True), k, gain)
    return ref_dcg(grades, k, gain) / best if best > 0 else None


def ref_mean_ndcg(grades):
    if not any(grades):
        return None
    return sum(ref_ndcg(grades, k) for k in range(1, len(grades) + 1)) / len(grades)


def ref_ap(grades, k=None):
    rel = [y > 0 for y in grades]
    if not any(rel):
        return None
    hits = [sum(rel[: j + 1]) / (j + 1) for j, r in enumerate(rel[:k]) if r]
    return sum(hits) / sum(rel)


def ref_rr(grades, k=None):
    if not any(grades):
        return None
    return next((1 / (j + 1) for j, y in enumerate(grades[:k]) if y > 0), 0.0)


def ref_err(grades, k=None):
    value, reach = 0.0, 1.0
    for j, y in enumerate(grades[:k]):
        stop = (2**y - 1) / 16
        value += reach * stop / (j + 1)
        reach *= 1 - stop
    return value if any(grades) else None


def ref_rbp(grades, p=0.8):
    return _if_any(grades, (1 - p) * sum(p**j for j, y in enumerate(grades) if y > 0))


def _if_any(grades, value):
    return value if any(grades) else None


def _hits(grades, k):
    return sum(y > 0 for y in grades[:k])


def ref_precision(grades, k):
    return _if_any(grades, _hits(grades, k) / k)


def ref_recall(grades, k):
    return _if_any(grades, _hits(grades, k) / max(_hits(grades, None), 1))


def ref_f(grades, k):
    p, r = ref_precision(grades, k), ref_recall(grades, k)
    return None if p is None else 2 * p * r / (p + r) if p + r else 0.0


def ref_success(grades, k):
    return _if_any(grades, float(_hits(grades, k) > 0))


def ref_rprec(grades):
    return _if_any(grades, ref_precision(grades, max(_hits(grades, None), 1)))


def ref_bpref(grades):
    relevant = _hits(grades, None)
    other = len(grades) - relevant
    total = 0.0
    for j, y in enumerate(grades):
        if y > 0:
            above = sum(g <= 0 for g in grades[:j])
            total += 1 - min(above, relevant) / min(other, relevant) if above else 1.0
    return total / relevant if relevant else None


REFERENCES = {
    "dcg": lambda g: _if_any(g, ref_dcg(g)),
    "dcg@2": lambda g: _if_any(g, ref_dcg(g, 2)),
    "ndcg": ref_ndcg,
    "ndcg@1": lambda g: ref_ndcg(g, 1),
    "ndcg@3": lambda g: ref_ndcg(g, 3),
    "ndcg(gain='linear')@4": lambda g: ref_ndcg(g, 4, lambda y: y),
    "meanndcg": ref_mean_ndcg,
    "map": ref_ap,
    "map@3": lambda g: ref_ap(g, 3),
    "mrr": ref_rr,
    "mrr@2": lambda g: ref_rr(g, 2),
    "err": ref_err,
    "err@3": lambda g: ref_err(g, 3),
    "rbp": ref_rbp,
    "p@3": lambda g: ref_precision(g, 3),
    "recall@2": lambda g: ref_recall(g, 2),
    "f1@3": lambda g: ref_f(g, 3),
    "success@2": lambda g: ref_success(g, 2),
    "rprec": ref_rprec,
    "bpref": ref_bpref,
}
# Those whose compiled change on a swap losses can use.
WITH_TERMS = [name for name in REFERENCES if name not in ("meanndcg", "rprec", "bpref")]


@st.composite
def ragged(draw, max_size=7):
    """Grades, scores and pointers of a few queries, with ties and empty queries."""
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=4))
    n = sum(sizes)
    grade = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, 3.7])
    y = draw(st.lists(grade, min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(-2, 3), min_size=n, max_size=n))
    return np.array(y), np.array(scores, float), np.r_[0, np.cumsum(sizes)]


def queries(y, scores, ptr):
    return [(y[a:b], scores[a:b]) for a, b in pairwise(ptr)]


def as_floats(values):
    return np.array([np.nan if v is None else v for v in values], dtype=float)


def orders_of_ties(grades, scores):
    """All rankings by decreasing score, as lists of grades."""
    for order in permutations(range(len(grades))):
        ranked = scores[list(order)]
        if (np.diff(ranked) <= 0).all():
            yield list(grades[list(order)])


@pytest.mark.parametrize("name", REFERENCES)
@settings(deadline=None, max_examples=15)
@given(data=ragged(max_size=12))
def test_value_equals_plain_python_in_row_order(name, data):
    y, scores, ptr = data
    expected = [
        REFERENCES[name](list(grades[np.argsort(-s, kind="stable")]))
        for grades, s in queries(y, scores, ptr)
    ]
    values = get_measure(name).set_params(ties="stable").per_query(y, scores, ptr)
    np.testing.assert_allclose(values, as_floats(expected), atol=1e-12)


@pytest.mark.parametrize("name", REFERENCES)
@settings(deadline=None, max_examples=8)
@given(data=ragged(max_size=5))
def test_averaged_ties_are_the_mean_over_all_orders(name, data):
    y, scores, ptr = data
    values, best, worst = (
        get_measure(name).set_params(ties=ties).per_query(y, scores, ptr)
        for ties in ("average", "best", "worst")
    )
    for q, (grades, s) in enumerate(queries(y, scores, ptr)):
        every = as_floats(REFERENCES[name](g) for g in orders_of_ties(grades, s))
        np.testing.assert_allclose(values[q], every.mean(), atol=1e-12)
        np.testing.assert_allclose(best[q], every.max(), atol=1e-12)
        np.testing.assert_allclose(worst[q], every.min(), atol=1e-12)


def test_long_blocks_of_ties_in_the_selection_and_the_sort():
    """The cut-off falls inside a block far larger than k."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400).astype(float)
    scores = np.repeat([3.0, 2.0, 1.0, 0.0], 100)
    ptr = np.array([0, 400])
    rng.shuffle(scores)
    for k in (10, 30, 150, 350):
        expected = np.zeros(400)
        for value in np.unique(scores):  # every document of a block has its mean gain
            block = scores == value
            expected[block] = np.mean(2 ** y[block] - 1)
        expected = expected[np.argsort(-scores)]
        ideal = np.sort(2**y - 1)[::-1]
        discount = 1 / np.log2(np.arange(2, k + 2))
        value = get_measure(f"ndcg@{k}").per_query(y, scores, ptr)[0]
        np.testing.assert_allclose(
            value, expected[:k] @ discount / (ideal[:k] @ discount)
        )


@pytest.mark.parametrize("name", [*REFERENCES, "pairwise_accuracy", "kendall", "rbo"])
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_swap_deltas_are_differences_of_recomputed_measures(name, data):
    m = data.draw(st.integers(2, 6))
    grade = st.sampled_from([0.0, 1.0, 2.0, 0.5])
    y = np.array(data.draw(st.lists(grade, min_size=m, max_size=m)))
    ranks = np.array(data.draw(st.permutations(range(1, m + 1))))
    measure, ptr = get_measure(name), np.array([0, m])

    def value(ranks):
        return np.nan_to_num(measure.per_query(y, -ranks.astype(float), ptr)[0])

    deltas = measure.swap_deltas(y, ranks)
    for i in range(m):
        for j in range(m):
            swapped = ranks.copy()
            swapped[[i, j]] = ranks[[j, i]]
            assert deltas[i, j] == pytest.approx(
                value(swapped) - value(ranks), abs=1e-12
            )


def plain_deltas(terms, ptr, query, ranks):
    """|Δ| from the definition of each kind of `DeltaTerms`."""
    gain = terms.gain[ptr[query] : ptr[query + 1]]
    m = len(gain)

    def value(ranks):
        g = np.zeros(m)
        g[ranks - 1] = gain
        d = terms.discount[:m]
        if terms.kind == "gain_discount":
            return g @ d
        if terms.kind == "average_precision":
            return np.sum(g * np.cumsum(g) * d)
        if terms.kind == "reciprocal_rank":
            return d[np.argmax(g > 0)] if g.any() else 0.0
        return np.sum(d * g * np.concatenate(([1.0], np.cumprod(1 - g)[:-1])))

    deltas = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            swapped = ranks.copy()
            swapped[[i, j]] = ranks[[j, i]]
            deltas[i, j] = abs(value(swapped) - value(ranks))
    return deltas * terms.scale[query]


@pytest.mark.parametrize("name", WITH_TERMS)
def test_delta_terms_check_what_they_are_given(name):
    measure = get_measure(name)
    for wrong in ([1j, 0], ["a", "b"], [np.nan, 1.0], [[0.0, 1.0]], None):
        with pytest.raises(ValueError, match=r"^y must"):
            measure.delta_terms(wrong, [0, 2])
    for wrong in ([0, 5], [0, -1], ["a"], [0, 1.5, 2], None, [[0, 2]]):
        with pytest.raises(ValueError, match=r"^ptr must hold whole numbers"):
            measure.delta_terms([0.0, 1.0], wrong)


@pytest.mark.parametrize("name", [*WITH_TERMS, Precision(), Recall()], ids=str)
@pytest.mark.parametrize("ptr", [[0, 0, 3], [0, 3, 3], [0, 0], [0, 1, 1, 1, 3]])
def test_empty_lists_have_delta_terms(name, ptr):
    y, measure = np.array([1.0, 0.0, 2.0])[: ptr[-1]], get_measure(name)
    found = measure.delta_terms(y, ptr)
    of_lists = measure.delta_terms(y, np.unique(ptr))
    assert np.isfinite(found.scale).all()
    held = np.diff(ptr) > 0
    if held.any():
        np.testing.assert_array_equal(found.scale[held], of_lists.scale)


@pytest.mark.parametrize("name", WITH_TERMS)
def test_delta_terms_equal_swap_deltas(name, rng):
    sizes = np.array([6, 1, 4, 3])
    ptr = np.r_[0, np.cumsum(sizes)]
    y = rng.integers(0, 3, ptr[-1]).astype(float)
    y[ptr[2] : ptr[3]] = 0.0  # an empty query has no changes
    measure = get_measure(name)
    terms = measure.delta_terms(y, ptr)
    assert len(terms.discount) == sizes.max()
    for q, m in enumerate(sizes):
        ranks = rng.permutation(m) + 1
        deltas = measure.swap_deltas(y[ptr[q] : ptr[q + 1]], ranks)
        np.testing.assert_allclose(
            plain_deltas(terms, ptr, q, ranks), abs(deltas), atol=1e-12
        )
        np.testing.assert_allclose(
            signed_deltas(terms, ptr, q, ranks), deltas, atol=1e-12
        )
    assert terms.scale[2] == 0
    assert measure.swap_deltas([], []).shape == (0, 0)


@pytest.mark.parametrize(
    ("rule", "expected", "mean"),
    [("skip", np.nan, 1.0), (0.0, 0.0, 0.5), (1.0, 1.0, 1.0), (np.nan, np.nan, np.nan)],
)
@pytest.mark.parametrize("name", REFERENCES)
def test_empty_query(name, rule, expected, mean):
    y, scores, ptr = np.array([1.0, 0.0]), np.array([1.0, 1.0]), np.array([0, 1, 2])
    measure = get_measure(name).set_params(empty_query=rule)
    values = measure.per_query(y, scores, ptr)
    np.testing.assert_equal(values[1], expected)
    scaled = values / values[0]
    scaled[1] = values[1]
    np.testing.assert_allclose(measure.mean(scaled), mean)


def test_empty_query_raises_on_request():
    measure = get_measure("map").set_params(empty_query="raise")
    with pytest.raises(ValueError, match="undefined for 1 of 2 queries"):
        measure.per_query(np.array([1.0, 0.0]), np.ones(2), np.array([0, 1, 2]))


def test_mean_of_no_query_warns():
    from sklearn.exceptions import UndefinedMetricWarning

    measure = get_measure("ndcg@5")
    with pytest.warns(UndefinedMetricWarning, match="no query carries information"):
        assert np.isnan(measure.mean([np.nan, np.nan]))


def test_mean_weighs_queries_by_the_mean_of_their_rows():
    ptr = np.array([0, 2, 3])
    weights = query_weights(np.array([1.0, 3.0, 6.0]), ptr)
    np.testing.assert_array_equal(weights, [2.0, 6.0])
    assert get_measure("map").mean([1.0, 0.5], weights) == (2 + 3) / 8


def test_docid_ties_put_the_last_id_first():
    y, scores = np.array([1.0, 0.0, 0.0]), np.ones(3)
    measure = get_measure("mrr").set_params(ties="docid")
    for ids, rank in ((["c", "b", "a"], 1), (["a", "b", "c"], 3)):
        value = measure.per_query(y, scores, np.array([0, 3]), docids=np.array(ids))
        np.testing.assert_allclose(value, 1 / rank)
    with pytest.raises(ValueError, match="pass docids="):
        measure.per_query(y, scores, np.array([0, 3]))


def test_random_ties_are_seeded_and_average_to_the_expected_value():
    y, scores, ptr = np.array([1.0, 0.0, 0.0]), np.ones(3), np.array([0, 3])
    values = [
        get_measure("mrr")
        .set_params(ties="random", random_state=seed)
        .per_query(y, scores, ptr)[0]
        for seed in range(600)
    ]
    again = get_measure("mrr").set_params(ties="random", random_state=3)
    assert again.per_query(y, scores, ptr)[0] == values[3]
    # standard error of the mean of {1, 1/2, 1/3}: 0.28 / sqrt(600)
    assert np.mean(values) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=0.05)


@pytest.mark.parametrize("name", [*REFERENCES, "auc", "kendall", "spearman", "rbo"])
def test_threads_do_not_change_a_bit(name, rng):
    sizes = rng.integers(1, 120, 600)
    ptr = np.r_[0, np.cumsum(sizes)]
    y = rng.integers(0, 5, ptr[-1]).astype(float)
    scores = np.round(rng.normal(size=ptr[-1]), 1)
    measure = get_measure(name)
    one = measure.per_query(y, scores, ptr, n_threads=1)
    np.testing.assert_array_equal(one, measure.per_query(y, scores, ptr, n_threads=3))


@pytest.mark.parametrize("name", ["ndcg", "ndcg@10", "map", "err@10", "auc", "bpref"])
def test_monotone_transformations_of_scores_change_nothing(name, rng):
    y = rng.integers(0, 4, 300).astype(float)
    scores = rng.normal(size=300)
    ptr = np.array([0, 1, 120, 300])
    measure = get_measure(name)
    base = measure.per_query(y, scores, ptr)
    for factor in (1e-30, 1e30):
        np.testing.assert_array_equal(measure.per_query(y, scores * factor, ptr), base)
    extreme = scores.copy()
    extreme[np.argmax(scores[:1])] = np.inf
    np.testing.assert_array_equal(measure.per_query(y, extreme, ptr), base)


def test_order_of_rows_does_not_matter_with_averaged_ties(rng):
    y = rng.integers(0, 3, 50).astype(float)
    scores = np.round(rng.normal(size=50))
    order = rng.permutation(50)
    for name in REFERENCES:
        measure = get_measure(name)
        np.testing.assert_allclose(
            measure.per_query(y[order], scores[order], np.array([0, 50])),
            measure.per_query(y, scores, np.array([0, 50])),
            rtol=1e-12,
        )


def test_unretrieved_documents_count_in_the_ideal_only():
    y, ptr = np.array([1.0, 2.0, 1.0]), np.array([0, 3])
    scores, retrieved = np.array([2.0, 5.0, 1.0]), np.array([True, False, True])

    def value(name):
        measure = get_measure(name)
        return measure.per_query(y, scores, ptr, retrieved=retrieved)[0]

    best = 3 + 1 / math.log2(3) + 1 / 2
    assert value("ndcg") == pytest.approx((1 + 1 / math.log2(3)) / best)
    assert value("map") == pytest.approx((1 + 1) / 3)
    assert value("recall@3") == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="complete rankings"):
        value("kendall")
    retrieved = [True, None, False]
    with pytest.raises(ValueError, match="True or False; row 1 has neither"):
        value("map")


def test_gains_of_every_form_agree(rng):
    y = rng.integers(0, 4, 200).astype(float)
    scores, ptr = rng.normal(size=200), np.array([0, 90, 200])
    base = get_measure("ndcg@7").per_query(y, scores, ptr)
    forms = [
        lambda grades: 2.0**grades - 1,
        {0: 0, 1: 1, 2: 3, 3: 7},
        [0, 1, 3, 7],
        np.array([0.0, 1.0, 3.0, 7.0]),
    ]
    for gain in forms:
        for ties in ("average", "docid"):
            values = (
                get_measure("ndcg@7")
                .set_params(gain=gain, ties=ties)
                .per_query(y, scores, ptr, docids=np.arange(200))
            )
            np.testing.assert_allclose(values, base, rtol=1e-12)


def test_discounts_of_every_form_agree(rng):
    y = rng.integers(0, 4, 50).astype(float)
    scores, ptr = rng.normal(size=50), np.array([0, 50])
    for name, function in {
        "log2": lambda j: 1 / np.log2(1 + j),
        "letor": lambda j: np.where(j <= 2, 1.0, 1 / np.log2(np.maximum(j, 2))),
        "reciprocal": lambda j: 1 / j,
    }.items():
        table = function(np.arange(1.0, 51))
        values = [
            get_measure("ndcg").set_params(discount=d).per_query(y, scores, ptr)[0]
            for d in (name, function, table)
        ]
        np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_a_gain_that_falls_with_the_grade_has_its_own_ideal():
    measure = get_measure("ndcg").set_params(gain=lambda y: 1 - y)
    value = measure.per_query(
        np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.array([0, 2])
    )
    assert value == [1.0]


def test_grades_above_31_and_real_grades_are_fine():
    y, scores, ptr = np.array([40.0, 0.25, 0.0]), np.array([1.0, 3.0, 2.0]), [0, 3]
    gains = 2**y - 1
    expected = (gains[1] + gains[0] / 2) / (gains[0] + gains[1] / math.log2(3))
    value = get_measure("ndcg").per_query(y, scores, np.array(ptr))[0]
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"gain": "exp2"}, [2000.0], "overflows for grade 2000"),
        (
            {"gain": "cubic"},
            [1.0],
            "gain must be 'exp2' or 'linear', a function, a mapping",
        ),
        ({"gain": {0: 0}}, [1.0], r"no entry for the grades \[1.0\]"),
        ({"gain": [0, 1]}, [2.0], "but y holds grade 2"),
        ({"gain": [0, 1]}, [0.5], "needs integer grades"),
        ({"gain": lambda y: -y}, [1.0], "finite and not negative"),
        ({"gain": lambda y: y[:0]}, [1.0], "gain returned shape"),
        (
            {"discount": "log10"},
            [1.0],
            "discount must be 'log2', 'letor' or 'reciprocal', a function",
        ),
        ({"discount": [[1.0]]}, [1.0], "discount table must be 1D"),
        ({"discount": []}, [1.0], r"discount must be above 0 .* rank, got \[\]"),
        ({"discount": [0, 0]}, [1.0], r"discount must be above 0 .*, got \[0, 0\]"),
        ({"discount": lambda j: -j}, [1.0], "not negative for every rank"),
        ({"ties": "fair"}, [1.0], "ties must be 'average', 'stable'"),
        ({"empty_query": "zero"}, [1.0], "empty_query must be 'skip' or 'raise'"),
        ({"short_query": 0}, [1.0], "short_query must be 'keep' or 'zero', got 0"),
        ({"k": 0}, [1.0], "NDCG: k must be a whole number >= 1 or None, got 0"),
    ],
)
def test_bad_options_of_ndcg(options, y, message):
    measure = get_measure("ndcg").set_params(**options)
    with pytest.raises(ValueError, match=message):
        measure.per_query(np.array(y), np.ones(1), np.array([0, 1]))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("err", {"max_grade": 2}, "grade 3 above max_grade=2"),
        ("rbp", {"p": 1.0}, r"p must be a number in \(0, 1\), got 1.0"),
        ("rbp", {"max_grade": 2}, "grade 3 above max_grade=2"),
        ("rbo", {"p": 0}, r"p must be a number in \(0, 1\), got 0"),
        ("f", {"beta": 0}, "beta must be a number > 0, got 0"),
        ("map", {"denominator": "k"}, "denominator must be 'relevant' or 'reachable'"),
        (
            "ndcg",
            {"ties": "threshold"},
            "ties must be 'average', .* or 'random', got 'threshold'",
        ),
        (
            "kendall",
            {"variant": "c"},
            "variant must be 'b', 'a', 'order' or 'set', got 'c'",
        ),
        (
            "kendall",
            {"weight": min},
            "weight must be None unless variant is 'order' or",
        ),
        ("kendall", {"variant": "order"}, "needs a total order: query number 0"),
    ],
)
def test_bad_options(name, options, message):
    measure = get_measure(name).set_params(**options)
    with pytest.raises(ValueError, match=message):
        measure.per_query(np.array([3.0, 3.0]), np.ones(2), np.array([0, 2]))


def test_cutoff_must_be_an_integer():
    measure = get_measure("ndcg").set_params(k=2.5)
    with pytest.raises(
        TypeError, match=r"k must be a whole number >= 1 or None, got 2\.5"
    ):
        measure.per_query(np.ones(1), np.ones(1), np.array([0, 1]))


@pytest.mark.parametrize(
    ("beta", "limit"), [(1e200, "recall@3"), (1.7e308, "recall@3"), (5e-324, "p@3")]
)
def test_f_measures_of_extreme_weights_are_recall_or_precision(beta, limit, rng):
    y, scores = rng.integers(0, 2, 20).astype(float), rng.normal(size=20)
    measure, ptr = get_measure(f"f(beta={beta})@3"), np.array([0, 20])
    expected = get_measure(limit).per_query(y, scores, ptr)
    np.testing.assert_array_equal(measure.per_query(y, scores, ptr), expected)
    changes = get_measure(limit).swap_deltas(y, np.arange(1, 21))
    np.testing.assert_array_equal(measure.swap_deltas(y, np.arange(1, 21)), changes)


def test_swap_deltas_want_a_permutation():
    with pytest.raises(ValueError, match=r"permutation of 1..2"):
        get_measure("map").swap_deltas([1, 0], [1, 1])
    with pytest.raises(ValueError, match="equal length"):
        get_measure("map").swap_deltas([1, 0], [1])
    with pytest.raises(ValueError, match=r"one-dimensional .* shapes \(1, 2\)"):
        get_measure("map").swap_deltas([[1, 0]], [[1, 2]])


def test_short_queries_are_zero_on_request():
    y, scores, ptr = np.ones(5), np.arange(5.0), np.array([0, 2, 5])
    measure = get_measure("ndcg@3").set_params(short_query="zero")
    np.testing.assert_array_equal(measure.per_query(y, scores, ptr), [0.0, 1.0])
    np.testing.assert_array_equal(measure.delta_terms(y, ptr).scale > 0, [False, True])


@pytest.mark.parametrize(
    "measure",
    [NDCG(), NDCG(10, gain="linear"), SpearmanRho(), KendallTau()],
    ids=lambda measure: measure.short_name,
)
def test_no_rounding_beyond_the_bounds(measure, rng):
    """A perfect ranking has the value 1, not the double after it."""
    sizes = rng.integers(1, 100, 300)
    ptr = np.r_[0, np.cumsum(sizes)]
    y = rng.integers(0, 5, ptr[-1]).astype(float)
    for sign in (1, -1):
        values = measure.per_query(y, sign * y, ptr)
        assert np.nanmax(values) <= measure.bounds[1]
        assert np.nanmin(values) >= measure.bounds[0]
    assert np.nanmax(measure.per_query(y, y, ptr)) == 1.0
    # The mean of ones is 1, whatever the weights.
    for weights in rng.random((50, 7)):
        assert measure.mean(np.ones(7), weights) == 1.0


class Mistaken(BaseMeasure):
    """A measure that leaves its bounds."""

    def _values(self, documents):
        return np.full(len(documents.ptr) - 1, 2.0)


def test_values_that_rounding_does_not_explain_are_kept():
    values = Mistaken().per_query(np.array([1.0, 0.0]), np.array([0.0, 1.0]), [0, 2])
    np.testing.assert_array_equal(values, [2.0])


def test_kendall_set_and_order_are_shares(rng):
    y, ptr = rng.permutation(60).astype(float), np.arange(0, 61, 5)
    for variant in ("set", "order"):
        for scores in (y, -y, rng.normal(size=60)):
            values = KendallTau(variant=variant).per_query(y, scores, ptr)
            assert ((values >= 0) & (values <= 1)).all()


class Recomputed(NDCG):
    """NDCG without `DeltaTerms`, so that every swap is evaluated."""

    def delta_terms(self, y, ptr):
        return BaseMeasure.delta_terms(self, y, ptr)


@pytest.mark.parametrize("m", [1, 2, 40, 80])
def test_swaps_are_evaluated_in_blocks(m, rng, monkeypatch):
    y, ranks = rng.integers(0, 3, m).astype(float), rng.permutation(m) + 1
    found = Recomputed(k=5).swap_deltas(y, ranks)
    np.testing.assert_allclose(found, NDCG(k=5).swap_deltas(y, ranks), atol=1e-15)
    monkeypatch.setattr("skrank.metrics._swap_deltas._ROWS_AT_ONCE", 3 * m + 1)
    np.testing.assert_array_equal(Recomputed(k=5).swap_deltas(y, ranks), found)


@pytest.mark.parametrize("name", ["ndcg@5", "map", "mrr"])
def test_changes_of_vectors_are_computed_in_blocks(name, rng, monkeypatch):
    m = 1000
    y, ranks = rng.integers(0, 3, m).astype(float), rng.permutation(m) + 1
    measure = get_measure(name)
    tracemalloc.start()
    try:
        found = measure.swap_deltas(y, ranks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A block holds 2**16 changes, and a handful of arrays of its size.
    assert peak < found.nbytes + 16 * 8 * 2**16
    monkeypatch.setattr("skrank.metrics._swap_deltas._PAIRS_AT_ONCE", m**2)
    np.testing.assert_array_equal(measure.swap_deltas(y, ranks), found)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0.0)


def test_swaps_are_evaluated_in_bounded_memory(rng):
    m = 150
    y, ranks = rng.integers(0, 3, m).astype(float), rng.permutation(m) + 1
    tracemalloc.start()
    try:
        Recomputed().swap_deltas(y, ranks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All swaps at once would hold m³ / 2 scores of 8 bytes, and as many grades.
    assert peak < m**3 * 8 / 4


def test_weights_of_queries_from_lists():
    np.testing.assert_array_equal(query_weights([1, 3, 6], [0, 2, 3]), [2.0, 6.0])
    assert query_weights(None, [0, 2, 3]) is None


@pytest.mark.parametrize("measure", [NDCG(), Recomputed()])
@pytest.mark.parametrize("y", [[None] * 4, [np.nan] * 4, [1, 0, np.nan, 2]])
def test_swap_deltas_need_all_grades(measure, y):
    with pytest.raises(ValueError, match=r"y must not hold NaN, found in row [02]"):
        measure.swap_deltas(y, [1, 2, 3, 4])


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_weights_of_queries_are_finite(bad):
    with pytest.raises(
        ValueError, match=r"sample_weight must be finite, found .* as num"
    ):
        query_weights([1, bad], [0, 2])
    with pytest.raises(
        ValueError, match=r"weights must be finite, found .* as number 1"
    ):
        NDCG().mean([0.5, 0.25, np.nan], [1, bad, 1])
    assert NDCG().mean([0.5, np.nan], [1, bad]) == 0.5


@pytest.mark.parametrize("grade", [np.inf, 0, -1, np.nan])
def test_the_highest_grade_of_rbp_is_a_positive_number(grade):
    with pytest.raises(ValueError, match="RBP: max_grade must be a number > 0 or None"):
        rbp_score([1, 0], [2, 1], groups=[1, 1], max_grade=grade)


@pytest.mark.parametrize("measure", [NDCG(), MeanSquaredError()], ids=str)
def test_numbers_of_all_types_are_compared(measure):
    small, large = np.float16(1), 2**31
    for low, high in ((small, large), (np.int8(-128), 2**62), (np.uint8(1), 1.5)):
        assert measure.is_better(high, low) == measure.greater_is_better
        assert measure.is_better(low, high) != measure.greater_is_better
    assert measure.is_better(small, np.float64("nan"))
    assert not measure.is_better(np.float16("nan"), large)


@pytest.mark.parametrize("denominator", ["relevant", "reachable"])
def test_a_threshold_takes_of_a_block_at_the_cut_off_what_is_before_it(denominator):
    """As many relevant documents as are expected before rank k, at the block's end."""
    y, scores = np.array([0.0, 1, 1, 1, 1]), np.array([9.0, 1, 1, 1, 1])
    measure = AP(k=2, ties="threshold", denominator=denominator)
    best = {"relevant": 4, "reachable": 2}[denominator]
    assert measure.per_query(y, scores, [0, 5]).tolist() == [pytest.approx(0.8 / best)]
    whole = AP(k=5, ties="threshold", denominator=denominator)
    assert whole.per_query(y, scores, [0, 5]).tolist() == [pytest.approx(0.8)]
    tied = AP(k=1, ties="threshold", denominator=denominator)
    best = {"relevant": 3, "reachable": 1}[denominator]
    found = tied.per_query(np.ones(3), np.zeros(3), [0, 3])
    assert found.tolist() == [pytest.approx(1.0 / best)]
