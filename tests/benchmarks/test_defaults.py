"""The study of defaults on tiny tasks."""

import numpy as np
import pytest
from sklearn import config_context

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import defaults, searches
from benchmarks.study_data import Collection, Rows, Split
from skrank.datasets import make_ranking
from skrank.metrics import average_precision


def tiny(seed):
    parts = []
    for at in (seed, 100 + seed):
        X, y, groups = make_ranking(
            8, n_features=4, n_informative=3, missing=0.2, random_state=at
        )
        parts.append(Rows(X, np.where(groups == 3, 0.0, y), groups))
    yield Split(*parts)


COLLECTION = Collection("tiny", "a query has no relevant document", tiny)


def contestants():
    return [c for c in defaults.CONTESTANTS if c.name in ("RankSVM", "MART")]


def outcomes(seeds=2):
    return {"tiny": {c.name: defaults.run(c, COLLECTION, seeds) for c in contestants()}}


def test_queries_without_a_relevant_document_are_left_out():
    found = outcomes()["tiny"]["MART"]
    assert found.per_query["map"].shape == (2, 8)
    expected = []
    for seed in (0, 1):
        ((train, held),) = tiny(seed)
        ranker = defaults.MART(random_state=seed).fit(*train)
        scores = ranker.predict(held.X)
        expected.append(average_precision(held.y, scores, groups=held.groups))
    assert found.mean("map") == pytest.approx(np.mean(expected))
    assert found.spread("map") == pytest.approx(np.std(expected))


def test_tables_hold_means_ranks_and_p_values():
    found = outcomes(1)
    ranks = defaults.mean_ranks(found, "ndcg@10")
    assert sorted(ranks.values()) == [1.0, 2.0]
    best = min(ranks, key=ranks.__getitem__)
    lines = defaults.table(found, "ndcg@10").splitlines()
    assert lines[2].startswith(best)
    assert lines[2].endswith("*")
    ours, theirs = (found["tiny"][n].mean("map") for n in ("MART", "RankSVM"))
    assert f"tiny {ours - theirs:+.4f} (" in defaults.comparison(found, "MART")
    assert "nan" not in str(defaults.as_record(found))


def test_searches_have_the_same_budget(monkeypatch, capsys):
    seen, outcome = [], outcomes(1)["tiny"]["MART"]

    def run(contestant, collection, seeds):
        with config_context(enable_metadata_routing=True):
            seen.append(contestant.make(0).n_iter)
        return outcome

    monkeypatch.setattr(defaults, "run", run)
    monkeypatch.setattr(defaults, "available", lambda names, large: [COLLECTION])
    searches.main(["--rankers", "YetiRank", "LambdaMART", "--budget", "3"])
    assert seen == [3, 3]
    assert capsys.readouterr().out.startswith("ndcg@10")


def test_a_search_trains_the_best_again_on_all_rows():
    contestant, space = searches.SPACES[0]
    space = space | {"min_samples_leaf": [2]}
    found = defaults.run(searches.searched(contestant, space, 2), COLLECTION, 1)
    assert np.isfinite(found.mean("map"))
