"""Unbiased learning to rank: rankers that learn from clicks as if from judgements.

Users look at what stands first, whether it is relevant or not, so that clicks tell of
places as much as of documents. The probability that a place is looked at, its
propensity, is estimated by `InterventionPropensities` from logs in which documents
changed places, or by `RegressionEM`, `DualLearningRanker` and `UnbiasedLambdaMART` from
any logs along with relevance. `PropensityWeightedRanker` then trains any ranker, and
`CounterfactualEvaluator` tells from the log what rankers would reach.

Examples
--------
>>> import numpy as np
>>> from skrank.click import SimulatedUser
>>> from skrank.datasets import make_ranking
>>> from skrank.rankers import LambdaMART
>>> from skrank.unbiased import PropensityWeightedRanker, RegressionEM
>>> X, y, groups = make_ranking(n_queries=60, docs_per_query=10, random_state=0)
>>> user = SimulatedUser(examination="position", max_grade=4)
>>> clicks = user.click(y, np.arange(61) * 10, random_state=0)
>>> ranker = PropensityWeightedRanker(
...     LambdaMART(n_estimators=20, min_samples_leaf=5), RegressionEM(tol=0.05)
... )
>>> ranker = ranker.fit(X, clicks, groups, positions=np.tile(np.arange(1, 11), 60))
>>> ranker.propensities_.shape
(10,)
"""

from skrank.unbiased._counterfactual import CounterfactualEvaluator
from skrank.unbiased._counterfactual_estimate import CounterfactualEstimate
from skrank.unbiased._counterfactual_lists import (
    evaluate_lists,
    plackett_luce_exposure,
    plackett_luce_log_probability,
)
from skrank.unbiased._dual_learning import DualLearningRanker
from skrank.unbiased._intervention import InterventionPropensities
from skrank.unbiased._inverse_propensity_loss import InversePropensityLoss
from skrank.unbiased._regression_em import RegressionEM
from skrank.unbiased._unbiased_lambdamart import UnbiasedLambdaMART
from skrank.unbiased._weighted_ranker import PropensityWeightedRanker
from skrank.unbiased._weights import inverse_propensity_weights

__all__ = [
    "CounterfactualEstimate",
    "CounterfactualEvaluator",
    "DualLearningRanker",
    "InterventionPropensities",
    "InversePropensityLoss",
    "PropensityWeightedRanker",
    "RegressionEM",
    "UnbiasedLambdaMART",
    "evaluate_lists",
    "inverse_propensity_weights",
    "plackett_luce_exposure",
    "plackett_luce_log_probability",
]
