"""Rankers that keep something for each grade refuse real-valued grades."""

import numpy as np
import pytest

from skrank.energies import ThresholdEnergy
from skrank.rankers import (
    IRSVM,
    AssociationRuleRanker,
    EnergyPointwise,
    LargeMarginOrdinal,
    LogisticRanker,
    McRank,
    OnlineAggregatePRank,
    PRank,
    ThresholdOrdinal,
)

RANKERS = [
    AssociationRuleRanker(),
    EnergyPointwise(max_iter=1),
    IRSVM(rank_pair_weights="ndcg@10"),
    LargeMarginOrdinal(max_iter=1),
    LogisticRanker(threshold="all", max_iter=1),
    McRank(n_estimators=1),
    OnlineAggregatePRank(max_iter=1),
    PRank(max_iter=1),
    ThresholdOrdinal(max_iter=1),
]
each = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: type(r).__name__)
MESSAGE = "^y must have at most 256 different grades, .*; got 257. Bin the grades, or "


@each
def test_more_than_256_grades_are_refused(ranker):
    y, groups = np.linspace(0.0, 4.0, 257), np.arange(257) // 10
    X = np.random.default_rng(0).normal(size=(257, 2))
    with pytest.raises(ValueError, match=MESSAGE):
        ranker.fit(X, y, groups)


def test_256_grades_are_accepted():
    rng = np.random.default_rng(0)
    y, groups = np.linspace(0.0, 4.0, 256), np.arange(256) // 10
    X = y[:, None] + rng.normal(size=(256, 2))
    ranker = PRank(max_iter=1, random_state=0).fit(X, y, groups)
    assert len(ranker.thresholds_) == 255


def test_streams_refuse_grades_as_fits_do():
    y, groups = np.linspace(0.0, 4.0, 257), np.arange(257) // 10
    ranker = PRank()
    with pytest.raises(ValueError, match=MESSAGE):
        ranker.partial_fit(np.ones((257, 2)), y, groups)
    message = "grades must be a sequence of finite numbers >= 0, at most 256 different"
    with pytest.raises(ValueError, match=message):
        ranker.set_params(grades=y).partial_fit(np.ones((257, 2)), y, groups)


def test_thresholds_are_counted_by_the_grades():
    with pytest.raises(ValueError, match=MESSAGE):
        ThresholdEnergy().setup(np.ones((257, 2)), y=np.linspace(0.0, 4.0, 257))
