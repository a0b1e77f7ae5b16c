"""
Models of clicks by rank
========================

Simulated users look for one good document each. Four models of clicks learn how far
down users look; they, and a baseline, foresee the clicks of other sessions.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank.click import (
    CascadeModel,
    DynamicBayesianNetwork,
    PositionBasedModel,
    RankClickModel,
    Sessions,
    SimulatedUser,
    UserBrowsingModel,
)
from skrank.inspection import ExaminationCurveDisplay, PerplexityCurveDisplay

rng = np.random.RandomState(0)
n, shown = 6000, 8
grades = rng.randint(0, 3, 30)
lists = np.array([rng.permutation(30)[:shown] for _ in range(n)])
user = SimulatedUser(behaviour="navigational")
click = user.click(grades[lists].ravel(), np.arange(n + 1) * shown, random_state=0)
sessions = Sessions.from_lists(["q"] * n, lists, click.reshape(n, shown))
train, test = sessions[: n // 2], sessions[n // 2 :]

models = {
    "user browsing": UserBrowsingModel(tol=1e-4),
    "dynamic Bayesian network": DynamicBayesianNetwork(tol=1e-4),
    "position-based": PositionBasedModel(tol=1e-4),
    "cascade": CascadeModel(),
    "rank alone": RankClickModel(),
}
for model in models.values():
    model.fit(train)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
some = {name: models[name] for name in list(models)[:4]}
ExaminationCurveDisplay.from_models(some, test, ax=left)
PerplexityCurveDisplay.from_models(models, test, ax=right)
plt.show()
