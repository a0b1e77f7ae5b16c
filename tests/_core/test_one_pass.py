"""Element-wise arithmetic in one pass, against NumPy's operations."""

import numpy as np
import pytest

from skrank._core._one_pass import adam, rectified_outer, rectify

SHAPES = [(0, 3), (3, 0), (1, 1), (7, 5), (40, 33)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rectified_sum(rng, shape, dtype):
    z, bias = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1])
    bias = bias.astype(dtype)
    expected = np.maximum(z + bias, 0)
    rectify(z, bias)
    np.testing.assert_array_equal(z, expected)


def test_rectified_nan_is_not_hidden():
    z = np.array([[np.nan, np.inf, -np.inf]])
    rectify(z, np.ones(3))
    np.testing.assert_array_equal(z, [[np.nan, np.inf, 0.0]])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outer_product_of_rectified_units(rng, shape, dtype):
    left, right = (rng.normal(size=size).astype(dtype) for size in shape)
    outputs = np.maximum(rng.normal(size=shape), 0).astype(dtype)
    left.flags.writeable = right.flags.writeable = outputs.flags.writeable = False
    product = rectified_outer(left, right, outputs)
    assert product.dtype == dtype
    np.testing.assert_array_equal(product, np.outer(left, right) * (outputs > 0))


@pytest.mark.parametrize("n_params", [0, 1, 29])
def test_steps_of_adam(rng, n_params):
    beta_1, beta_2, epsilon, rate = 0.9, 0.99, 1e-3, 0.1
    params, mean, square = rng.normal(size=n_params), *np.zeros((2, n_params))
    expected, m, v = params.copy(), mean.copy(), square.copy()
    for t in range(1, 4):
        g = rng.normal(size=n_params)
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        root = np.sqrt(v / (1 - beta_2**t))
        expected -= rate * m / (1 - beta_1**t) / (root + epsilon)
        root_scale, step = np.sqrt(1 - beta_2**t), rate / (1 - beta_1**t)
        adam(params, g, mean, square, beta_1, beta_2, epsilon, root_scale, step)
    np.testing.assert_allclose(params, expected, rtol=1e-12)
