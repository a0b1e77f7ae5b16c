"""
Recommending: users as queries, ratings as grades
=================================================

A recommender ranks the items of each user. With users as queries and ratings as grades
that is learning to rank, and the question that counts is one of time: from what a user
has rated so far, how well are the next items ranked?
:class:`~skrank.model_selection.TemporalQuerySplit` asks just that.
"""

# %%
# The ratings are made up in the shape of MovieLens: 300 users, 400 films of which some
# are popular, one to five stars, and a time for each rating. Stars depend on how good a
# film is and on how well its genres meet the taste of the user, which drifts.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, cross_validate

from skrank.metrics import make_ranking_scorer
from skrank.model_selection import TemporalQuerySplit
from skrank.rankers import LambdaMART, RankSVM

rng = np.random.default_rng(0)
n_users, n_films, n_genres = 300, 400, 6
genres = rng.dirichlet(np.full(n_genres, 0.4), n_films)
quality = rng.normal(size=n_films)
popularity = np.exp(0.8 * quality + rng.normal(size=n_films))
taste = rng.normal(size=(n_users, n_genres))
drift = rng.normal(size=(n_users, n_genres))

n_ratings = rng.integers(15, 60, n_users)
users = np.repeat(np.arange(n_users), n_ratings)
films = np.concatenate(
    [
        rng.choice(n_films, n, replace=False, p=popularity / popularity.sum())
        for n in n_ratings
    ]
)
times = np.concatenate([np.sort(rng.uniform(0, 365, n)) for n in n_ratings])
taste_then = taste[users] + 0.5 * drift[users] * times[:, None] / 365
liking = 0.5 * quality[films] + 2 * (taste_then * genres[films]).sum(axis=1)
liking += 0.7 * rng.normal(size=len(films))
stars = 1.0 + np.digitize(liking, np.quantile(liking, [0.1, 0.3, 0.6, 0.85]))

# %%
# Features of a rating may use what was known before it, and nothing else: how often and
# how well the film had been rated by others, and how well the user had rated films of
# the same genres. The rows are visited in the order of their times.


def features_of(users, films, times, stars):
    mean = 3.0
    count, total = np.zeros(n_films), np.zeros(n_films)
    weight = np.zeros((n_users, n_genres))
    liked = np.zeros((n_users, n_genres))
    X = np.empty((len(users), 3))
    for row in np.argsort(times, kind="stable"):
        user, film = users[row], films[row]
        profile = liked[user] / (weight[user] + 0.5)
        X[row] = (
            np.log1p(count[film]),
            total[film] / (count[film] + 5),
            genres[film] @ profile,
        )
        count[film] += 1
        total[film] += stars[row] - mean
        weight[user] += genres[film]
        liked[user] += genres[film] * (stars[row] - mean)
    return X


X = features_of(users, films, times, stars)
names = ["popularity", "mean rating", "match of genres"]

# %%
# The last fifth of the ratings of each user is the test. Three splits go further back
# in time, each with a smaller training set than the next. Rows of a user are on both
# sides on purpose: the times, which reach the ranker and the scorer as well, tell the
# check of leakage that the scored rows are the later ones. Stars count as they are,
# with linear gain.


class Popularity(RegressorMixin, BaseEstimator):
    """The baseline: films that were rated more often come first."""

    def fit(self, X, y):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """Return the first feature."""
        return X[:, 0]


splitter = TemporalQuerySplit(n_splits=3, test_size=0.2)
scorer = make_ranking_scorer("ndcg@10", gain="linear")
rankers = {
    "Popularity": Popularity(),
    "RankSVM": RankSVM(alpha=1e-3),
    "LambdaMART": LambdaMART(n_estimators=50, learning_rate=0.05, random_state=0),
}
results = {}
with sklearn.config_context(enable_metadata_routing=True):
    for name, ranker in rankers.items():
        results[name] = cross_validate(
            ranker,
            X,
            stars,
            cv=splitter,
            scoring=scorer,
            params={"groups": users, "times": times},
        )
for name, found in results.items():
    values = " ".join(f"{value:.3f}" for value in found["test_score"])
    print(f"{name:12s} NDCG@10 of the three splits: {values}")

# %%
# Searches split by time in the same way.

with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        RankSVM(),
        {"alpha": [1e-4, 1e-2, 1.0]},
        cv=splitter,
        scoring=scorer,
    ).fit(X, stars, groups=users, times=times)
weights = dict(zip(names, search.best_estimator_.coef_.round(2).tolist()))
print(f"best alpha: {search.best_params_['alpha']:g}, weights: {weights}")

# %%
# What was popular before is a weak guide to what a user will like next; the match of
# genres knows the user.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, found in results.items():
    ax.plot([1, 2, 3], found["test_score"], "o-", label=name)
ax.set(
    xticks=[1, 2, 3],
    xticklabels=["earliest", "middle", "last"],
    xlabel="test ratings of each user",
    ylabel="NDCG@10",
)
figure.legend(loc="outside right upper", frameon=False)
plt.show()
