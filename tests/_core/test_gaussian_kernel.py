"""Divergences of Gaussians against NumPy, integrals and their own limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm

from skrank._core import _energies

KINDS = _energies.DIVERGENCES
EACH = pytest.mark.parametrize("kind", KINDS)


def variances(s):
    """The elu of s plus one."""
    return np.where(s < 0, np.exp(np.minimum(s, 0.0)), s + 1.0)


def kl(mean, v, other_mean, other_v):
    """KL divergence of diagonal Gaussians, as printed (GERank eq. 2)."""
    terms = v / other_v + (mean - other_mean) ** 2 / other_v - 1 - np.log(v / other_v)
    return 0.5 * terms.sum(axis=-1)


def reference(kind, documents, queries):
    """Row by row in NumPy."""
    L = documents.shape[1] // 2
    a, v = documents[:, :L], variances(documents[:, L:])
    b, w = queries[:, :L], variances(queries[:, L:])
    if kind == "kl":
        return kl(a, v, b, w)
    if kind == "reverse_kl":
        return kl(b, w, a, v)
    if kind == "jensen_shannon":
        # First and second moments of the mixture.
        mean = (a + b) / 2
        spread = (v + a**2 + w + b**2) / 2 - mean**2
        return 0.5 * kl(a, v, mean, spread) + 0.5 * kl(b, w, mean, spread)
    return -norm.logpdf(a, b, np.sqrt(v + w)).sum(axis=1)


def ragged(rng, L, scale=2.0):
    """Documents of three queries, the second of which has none."""
    ptr = np.array([0, 7, 7, 20], dtype=np.intp)
    documents = scale * rng.normal(size=(20, 2 * L))
    queries = scale * rng.normal(size=(3, 2 * L))
    return documents, queries, ptr, np.repeat(np.arange(3), np.diff(ptr))


@EACH
@pytest.mark.parametrize("L", [1, 3, 4, 9, 45])
def test_values_equal_numpy(rng, kind, L):
    documents, queries, ptr, code = ragged(rng, L)
    values = _energies.divergences(kind, documents, queries, ptr, 1)
    assert_allclose(values, reference(kind, documents, queries[code]), rtol=1e-12)


def integral(kind, mean, v, other_mean, other_v):
    """The definitions, integrated numerically in one dimension."""
    p, q = norm(mean, np.sqrt(v)), norm(other_mean, np.sqrt(other_v))

    def integrate(function):
        return quad(function, -40, 40, points=[mean, other_mean], limit=400)[0]

    def entropy_relative(p, q):
        return integrate(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)))

    if kind == "kl":
        return entropy_relative(p, q)
    if kind == "reverse_kl":
        return entropy_relative(q, p)
    if kind == "expected_likelihood":
        return -np.log(integrate(lambda x: p.pdf(x) * q.pdf(x)))
    mean_m = integrate(lambda x: x * (p.pdf(x) + q.pdf(x)) / 2)
    v_m = integrate(lambda x: (x - mean_m) ** 2 * (p.pdf(x) + q.pdf(x)) / 2)
    m = norm(mean_m, np.sqrt(v_m))
    return 0.5 * entropy_relative(p, m) + 0.5 * entropy_relative(q, m)


@EACH
@pytest.mark.parametrize(
    ("document", "query"),
    [([0.3, 0.5], [-0.4, -0.7]), ([2.0, -1.2], [1.0, 1.5]), ([0.0, 0.0], [0.0, 0.0])],
)
def test_values_equal_integrals(kind, document, query):
    document, query = np.array([document]), np.array([query])
    value = _energies.divergences(kind, document, query, np.array([0, 1]), 1)[0]
    v, w = variances(document[0, 1]), variances(query[0, 1])
    expected = integral(kind, document[0, 0], v, query[0, 0], w)
    assert_allclose(value, expected, rtol=1e-8, atol=1e-9)


def test_the_surrogate_is_an_upper_bound_of_jensen_shannon(rng):
    for mean, s, t in rng.normal(size=(5, 3)) * [3.0, 1.0, 1.0]:
        p, q = norm(mean, np.sqrt(variances(s))), norm(0.0, np.sqrt(variances(t)))

        def mixed(x, p=p, q=q):
            m = np.logaddexp(p.logpdf(x), q.logpdf(x)) - np.log(2)
            return 0.5 * (p.pdf(x) * (p.logpdf(x) - m) + q.pdf(x) * (q.logpdf(x) - m))

        exact = quad(mixed, -30, 30, points=[0.0, mean], limit=400)[0]
        value = _energies.divergences(
            "jensen_shannon", np.array([[mean, s]]), np.array([[0.0, t]]), ptr_of(1), 1
        )
        assert value[0] >= exact - 1e-9


def ptr_of(n):
    return np.array([0, n], dtype=np.intp)


def numeric(function, x, step=1e-4):
    """Fourth-order central differences."""
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[i] = step
        near = function(x + shift) - function(x - shift)
        far = function(x + 2 * shift) - function(x - 2 * shift)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient


@EACH
@pytest.mark.parametrize("L", [1, 3, 4, 6])
def test_gradients_equal_finite_differences(rng, kind, L):
    documents, queries, ptr, _ = ragged(rng, L, scale=1.0)
    weight = rng.normal(size=len(documents))

    def total(documents, queries):
        return weight @ _energies.divergences(kind, documents, queries, ptr, 1)

    of_documents, of_queries = _energies.divergence_gradients(
        kind, documents, queries, ptr, weight, 1
    )
    expected = numeric(lambda x: total(x, queries), documents)
    assert_allclose(of_documents, expected, rtol=1e-6, atol=1e-7)
    expected = numeric(lambda x: total(documents, x), queries)
    assert_allclose(of_queries, expected, rtol=1e-6, atol=1e-7)
    assert_array_equal(of_queries[1], 0.0)  # no documents


@pytest.mark.parametrize("kind", ["kl", "reverse_kl", "jensen_shannon"])
def test_divergences_are_positive_and_zero_for_equal_gaussians(rng, kind):
    row = rng.normal(size=(1, 10)) * [[3.0] * 5 + [2.0] * 5]
    assert_array_equal(_energies.divergences(kind, row, row, ptr_of(1), 1), [0.0])
    for size in (1e-12, 1e-8, 1e-4, 1.0, 10.0):
        near = row + size * rng.normal(size=(200, 10))
        assert _energies.divergences(kind, near, row, ptr_of(200), 1).min() >= 0.0


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3])
def test_small_divergences_keep_their_digits(size):
    # KL(N(0, e^t), N(0, 1)) = (e^t - 1 - t) / 2 = t^2 / 4 + t^3 / 12 + ...
    row = np.array([[0.0, -size]])
    value = _energies.divergences("kl", row, np.zeros((1, 2)), ptr_of(1), 1)
    series = size**2 / 4 - size**3 / 12 + size**4 / 48 - size**5 / 240
    assert_allclose(value, series, rtol=1e-12)


@EACH
def test_variances_do_not_underflow(kind):
    # e^-800 is 0 in double precision, the ratio of two such variances is not.
    document, query = np.array([[0.0, -800.0]]), np.array([[0.0, -801.0]])
    value = _energies.divergences(kind, document, query, ptr_of(1), 1)[0]
    shifted = _energies.divergences(
        kind, np.array([[0.0, -1.0]]), np.array([[0.0, -2.0]]), ptr_of(1), 1
    )[0]
    # Both variances times e^-799; a density is then larger by half of that in logs.
    offset = -799.0 / 2 if kind == "expected_likelihood" else 0.0
    assert_allclose(value, shifted + offset, rtol=1e-12)
    for part in _energies.divergence_gradients(
        kind, document, query, ptr_of(1), np.ones(1), 1
    ):
        assert np.isfinite(part).all()


@EACH
def test_values_and_slopes_are_continuous_where_the_elu_bends(kind):
    query = np.array([[0.3, 0.7]])
    rows = np.array([[0.0, -1e-9], [0.0, 0.0], [0.0, 1e-9]])
    values = _energies.divergences(kind, rows, query, ptr_of(3), 1)
    assert_allclose(values, values[1], rtol=1e-8)
    slopes, _ = _energies.divergence_gradients(
        kind, rows, query, ptr_of(3), np.ones(3), 1
    )
    assert_allclose(slopes, slopes[[1, 1, 1]], rtol=1e-7)


@EACH
def test_not_a_number_is_passed_on(kind):
    for column in (0, 1):
        row = np.zeros((1, 2))
        row[0, column] = np.nan
        assert np.isnan(
            _energies.divergences(kind, row, np.zeros((1, 2)), ptr_of(1), 1)
        )


@EACH
def test_threads_do_not_change_a_bit(rng, kind):
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 12, 40))]).astype(np.intp)
    documents = rng.normal(size=(ptr[-1], 14))
    queries, weight = rng.normal(size=(40, 14)), rng.normal(size=ptr[-1])
    alone = (
        _energies.divergences(kind, documents, queries, ptr, 1),
        *_energies.divergence_gradients(kind, documents, queries, ptr, weight, 1),
    )
    for n_threads in (2, 5):
        many = (
            _energies.divergences(kind, documents, queries, ptr, n_threads),
            *_energies.divergence_gradients(
                kind, documents, queries, ptr, weight, n_threads
            ),
        )
        for one, other in zip(alone, many):
            assert_array_equal(one, other)
