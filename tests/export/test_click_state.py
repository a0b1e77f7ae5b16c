"""Models of clicks in files: what a file may say of relevance and of users."""

import io

import numpy as np
import pytest

from skrank.click import ClickChainModel, Sessions
from skrank.export import load_model, save_model


@pytest.mark.parametrize("relevance", [0.0, -0.0])
def test_a_relevance_by_which_nothing_can_be_divided_is_refused(relevance):
    lists = [["a", "b"], ["b", "a"], ["a", "c"]]
    sessions = Sessions.from_lists(["q"] * 3, lists, [[1, 0], [0, 1], [0, 0]])
    model, file = ClickChainModel().fit(sessions), io.BytesIO()
    save_model(model, file)
    assert np.isfinite(load_model(file.getvalue()).predict_proba(sessions)).all()
    model.relevance_[0], model.relevance_variance_[0] = relevance, 0.0
    file = io.BytesIO()
    save_model(model, file)
    with pytest.raises(ValueError, match="relevance_ must be probabilities > 0"):
        load_model(file.getvalue())
