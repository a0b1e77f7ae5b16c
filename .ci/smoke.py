"""Whether an installed wheel works on its own: imports, compiled code, a small fit."""

import importlib
import pkgutil
import sys
from pathlib import Path

import skrank
from skrank.datasets import make_ranking
from skrank.rankers import LambdaRank, RankSVM

installed, checkout = Path(skrank.__file__).resolve(), Path(sys.argv[1]).resolve()
assert not installed.is_relative_to(checkout / "skrank"), f"{installed} is the checkout"
for module in pkgutil.walk_packages(skrank.__path__, "skrank."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

X, y, groups = make_ranking(n_queries=40, random_state=0)
for ranker in (RankSVM(), LambdaRank(random_state=0)):
    score = ranker.fit(X, y, groups).score(X, y, groups)
    print(f"{type(ranker).__name__}: NDCG@10 {score:.3f} on its training queries")
    assert score > 0.6
