"""ListNet of long lists."""

import numpy as np
import pytest

from skrank.losses import ListNetLoss


def test_lists_that_no_double_can_count():
    """172 documents have more orders than a double holds."""
    y, scores = np.arange(172.0) % 2, np.linspace(-1, 1, 172)
    values, gradient = ListNetLoss(top_k=172).value_gradient(y, scores, [0, 172])
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
    with pytest.raises(ValueError, match="n_samples='exact' sums at most"):
        ListNetLoss(top_k=172, n_samples="exact").value_gradient(y, scores, [0, 172])
