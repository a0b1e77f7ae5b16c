"""
From raw logs to labels
=======================

What users click depends on where it stands. Here their behaviour is simulated, so that
the truth is known: rates of clicks mistake the place for relevance, a model of clicks
separates the two, and its labels come close to the grades that users saw.
"""

# %%
# A production ranker, which knows nothing of the grades but mostly shows the same
# documents first, makes lists of ten; users look at place k with probability 1 / k and
# click by the grade.

import matplotlib.pyplot as plt
import numpy as np

from skrank.click import (
    DocumentClickModel,
    PositionBasedModel,
    Sessions,
    SimulatedUser,
    to_labels,
    to_propensities,
)
from skrank.metrics import kendall_tau

N_QUERIES, SIZE, TIMES = 100, 10, 100
rng = np.random.RandomState(0)
grades = rng.choice(5, size=(N_QUERIES, SIZE), p=[0.4, 0.25, 0.15, 0.12, 0.08])
queries = np.repeat(np.arange(N_QUERIES), TIMES)
liking = rng.normal(size=(N_QUERIES, SIZE))
lists = np.argsort(liking[queries] + rng.normal(size=(len(queries), SIZE)), axis=1)
shown = np.take_along_axis(grades[queries], lists, axis=1)
user = SimulatedUser("informational", examination="position", max_grade=4)
click = user.click(shown.ravel(), np.arange(len(queries) + 1) * SIZE, random_state=0)
log = Sessions.from_lists(queries, lists, click.reshape(shown.shape))
print(log)

# %%
# A model of clicks by place, and the rates of clicks of each document, on growing parts
# of the log. The more sessions there are, the nearer the model comes to the grades,
# whereas rates keep the bias of the places.

pairs = np.repeat(np.arange(N_QUERIES), SIZE), np.tile(np.arange(SIZE), N_QUERIES)
order = rng.permutation(len(log))
sizes = [300, 1000, 3000, 10_000]
models = {
    "relevance by the model of places": PositionBasedModel(max_iter=1000, tol=1e-4),
    "rate of clicks": DocumentClickModel(),
}
agreement = {name: [] for name in models}
for size in sizes:
    for name, model in models.items():
        relevance = model.fit(log[order[:size]]).relevance(*pairs)
        tau = kendall_tau(grades.ravel(), relevance, groups=pairs[0])
        agreement[name].append(tau)

# %%
# The examination that the model found is that of the users, up to a factor, which no
# log can tell; rates of clicks by place show it as well only because this production
# ranker does not put better documents first. The labels follow the grades.

model = models["relevance by the model of places"]
labels = to_labels(model, pairs, n_grades=5).y
found = to_propensities(model, log)
by_place = [found[log.position == k].mean() for k in range(1, SIZE + 1)]
rates = to_propensities(log)
rates = [rates[log.position == k].mean() for k in range(1, SIZE + 1)]

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
place = np.arange(1, SIZE + 1)
axes[0].plot(place, 1 / place, "k--", label="users")
axes[0].plot(place, np.array(by_place) / by_place[0], "o-", label="model of places")
axes[0].plot(place, np.array(rates) / rates[0], "s-", label="rates of clicks")
axes[0].set(xlabel="place", ylabel="examination, relative to the first place")
axes[0].legend()
for (name, values), marker in zip(agreement.items(), "os"):
    axes[1].plot(sizes, values, f"{marker}-", label=name)
axes[1].set(xscale="log", xlabel="sessions", ylabel="Kendall's tau with the grades")
axes[1].legend()
share = np.array([[np.mean(labels[grades.ravel() == g] == k) for g in range(5)]
                  for k in range(5)])  # fmt: skip
image = axes[2].imshow(share, origin="lower", cmap="Blues", vmin=0, vmax=1)
axes[2].set(xlabel="grade that users saw", ylabel="label from clicks")
figure.colorbar(image, ax=axes[2], label="share of the documents")
plt.show()
