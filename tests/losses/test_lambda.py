"""LambdaLoss with measures of any kind: falling ones, and ones that cannot train."""

import warnings

import numpy as np
import pytest

from skrank.losses import LambdaLoss
from skrank.metrics import AP, ERR, NDCG, RR, BaseMeasure, get_measure
from skrank.metrics._base import CutOffMixin
from skrank.metrics._binary_measures import BinaryMeasure, defined
from skrank.rankers import LambdaMART


class Fallout(CutOffMixin, BinaryMeasure):
    """Share of the nonrelevant documents that stand among the first k."""

    short_name = "fallout"
    greater_is_better = False
    undefined_without = "nonrelevant documents"
    needs_cut_off = True

    def _values(self, documents):
        wrong = self._nonrelevant(documents.y)
        total = documents.sum_by_query(wrong)
        return defined(
            self._hits(documents, wrong, self.k) / np.maximum(total, 1), total
        )

    def delta_terms(self, y, ptr):
        return self._terms(
            "gain_discount",
            y,
            ptr,
            self.k,
            np.ones_like,
            lambda count, ptr: 1.0 / count,
            gain=self._nonrelevant,
        )


class RecomputedFallout(Fallout):
    """The same, with every swap evaluated."""

    def delta_terms(self, y, ptr):
        return BaseMeasure.delta_terms(self, y, ptr)


# The kernel visits pairs in order of the scores or, for late cut-offs, of the gains.
@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("relevance_level", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_terms_of_a_falling_measure(k, relevance_level, weighted, rng):
    ptr, y = [0, 1, 12, 21], rng.integers(0, 4, 21).astype(float)
    scores, weight = rng.normal(size=21), rng.random(21) if weighted else None
    compiled, plain = (
        LambdaLoss(cls(k, relevance_level=relevance_level)).prepare(y, ptr, weight)
        for cls in (Fallout, RecomputedFallout)
    )
    assert type(compiled) is not type(plain)
    for found, expected in zip(
        compiled.gradient_hessian(scores), plain.gradient_hessian(scores)
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-14)
        assert expected.any()


def test_a_falling_measure_lifts_relevant_documents():
    _, gradient = LambdaLoss(Fallout(1)).value_gradient([0, 1], [0.0, 0.0], [0, 2])
    np.testing.assert_allclose(gradient, [0.5, -0.5])


class RecomputedNDCG(NDCG):
    """The measure with every swap evaluated."""

    def delta_terms(self, y, ptr):
        return BaseMeasure.delta_terms(self, y, ptr)


@pytest.mark.parametrize(
    "options", [{"damping": 0.01}, {"normalize": True}, {"damping": 1.0, "k": 1}]
)
def test_equal_scores_and_queries_that_no_swap_changes(options):
    options = dict(options)
    k = options.pop("k", 2)
    # The last query has two relevant documents of one grade at the top, beyond which
    # the cut-off does not look.
    y, ptr = [0.0, 2.0, 1.0, 2.0, 2.0, 0.0], [0, 3, 6]
    for scores in (np.zeros(6), np.array([0.0, 0.0, 0.0, 3.0, 2.0, 1.0])):
        found, expected = (
            LambdaLoss(cls(k), **options).prepare(y, ptr).gradient_hessian(scores)
            for cls in (RecomputedNDCG, NDCG)
        )
        for one, other in zip(found, expected):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-14)


def test_normalisation_of_queries_without_a_pull():
    def flat(y, scores):
        return 1.0 if y[0] == 0 else y[np.argmax(scores)]

    y, ptr, scores = [0.0, 2, 1, 2, 0, 1], [0, 3, 6], [3.0, 2, 1, 3, 2, 1]
    values, gradient = LambdaLoss(flat, normalize=True).value_gradient(y, scores, ptr)
    assert values[0] == 0.0
    assert values[1] > 0.0
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("kind", [AP, RR, ERR])
def test_other_falling_measures_are_evaluated_swap_by_swap(kind):
    class Falling(kind):
        greater_is_better = False
        short_name = "falling_of_tests"

    class Recomputed(Falling):
        def delta_terms(self, y, ptr):
            return BaseMeasure.delta_terms(self, y, ptr)

    y, scores, ptr = [0.0, 2.0, 1.0], [3.0, 2.0, 1.0], [0, 3]
    found, expected = (
        LambdaLoss(cls()).value_gradient(y, scores, ptr)[1]
        for cls in (Falling, Recomputed)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert expected.any()


Y, PTR = np.array([1.0, 0.0, 0.0, 2.0, 0.0, 1.0, 0.0]), np.array([0, 3, 7])


@pytest.mark.parametrize(
    ("measure", "advice"),
    [
        ("p", "changes p on these data; give the measure a cut-off, such as 'p@10'"),
        ("recall(rel=2)", r"cut-off, such as 'recall\(rel=2\)@10'"),
        ("success", "cut-off, such as 'success@10'"),
        (Fallout(), "cut-off, such as 'fallout@10'"),
        (RecomputedFallout(), "cut-off, such as 'fallout@10'"),
        ("p@10", "changes p@10 on .* cut-off that is less than the number"),
        ("p(rel=3)@2", "or another relevance level"),
    ],
    ids=str,
)
def test_measures_that_no_swap_changes_are_told(measure, advice):
    loss = LambdaLoss(measure)
    with pytest.warns(UserWarning, match=f"no swap of two documents .*{advice}"):
        prepared = loss.prepare(Y, PTR)
    assert not prepared.value_gradient(np.arange(7.0))[0].any()


@pytest.mark.parametrize(
    "measure", ["p@1", "recall@2", "success@1", "ndcg", "rprec", Fallout(2)], ids=str
)
def test_other_measures_do_not_warn(measure):
    with warnings.catch_warnings(record=True) as caught:
        LambdaLoss(measure).prepare(Y, PTR)
    assert not caught


def test_a_measure_that_changes_from_another_ranking_only_does_not_warn():
    # After any one swap of this ranking there is still a relevant document on top.
    y = np.array([1.0, 1.0, 0.0, 0.0])
    prepared = LambdaLoss("success@2").prepare(y, [0, 4])
    assert not prepared.value_gradient(np.zeros(4))[0].any()
    assert prepared.value_gradient(-y)[0].any()


def test_queries_without_preference_do_not_warn():
    LambdaLoss("p").prepare(np.zeros(3), [0, 3])


def test_the_warning_comes_once_per_fit(ragged):
    X, y, groups = ragged
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LambdaMART("p", n_estimators=3).fit(X, y, groups)
    assert [str(w.message) for w in caught] == [
        "no swap of two documents changes p on these data; "
        "give the measure a cut-off, such as 'p@10'"
    ]
    assert np.ptp(model.predict(X)) == 0
    assert get_measure("p").needs_cut_off


@pytest.mark.parametrize("measure", ["ndcg", "rprec"])  # sums of pairs, and of swaps
def test_normalised_slopes_keep_their_digits_where_they_are_tiny(measure):
    """The factor log2(1 + S) / S tends to 1 / log 2."""
    y, scores, ptr = [0, 1, 2], [0.3, 0.1, 0.2], [0, 3]
    for sigma in (1e-6, 1e-14, 1e-16, 1e-300):
        plain = LambdaLoss(measure, sigma=sigma).value_gradient(y, scores, ptr)
        normalised = LambdaLoss(measure, sigma=sigma, normalize=True)
        found = normalised.value_gradient(y, scores, ptr)
        for part, expected in zip(found, plain, strict=True):
            np.testing.assert_allclose(
                np.log(2.0) * part, expected, rtol=2 * sigma + 1e-14
            )


@pytest.mark.parametrize("measure", ["ndcg", "rprec"])
def test_the_weight_of_a_query_is_a_factor_of_the_normalised_loss(measure):
    y, scores, ptr = [0, 1, 2], [0.3, 0.1, 0.2], [0, 3]
    loss = LambdaLoss(measure, normalize=True)
    plain = loss.value_gradient(y, scores, ptr)
    for weight in (1.0, 7.0):
        found = loss.value_gradient(y, scores, ptr, [weight] * 3)
        for part, expected in zip(found, plain, strict=True):
            np.testing.assert_allclose(part, weight * expected, rtol=1e-12)
