"""The comparison on Cranfield, on a tiny collection, and the code of its page."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import cranfield
from skrank.metrics import ndcg_score
from skrank.rankers import RankSVM
from skrank.text import BM25, InvertedIndex

PAGE = Path(__file__).parents[2] / "doc" / "cranfield.rst"


@pytest.fixture
def task(rng):
    """Twenty queries for one of the words of forty documents."""
    words = np.array([f"w{i}" for i in range(20)])
    texts = [" ".join(rng.choice(words, 6)) for _ in range(40)]
    titles = [text.split()[0] for text in texts]
    queries = [str(word) for word in words]
    grades = np.array([[float(q == t) for t in titles] for q in queries])
    grades[:, 0] = 1.0  # every query has an answer
    index = InvertedIndex(str.split).fit({"title": titles, "text": texts})
    return cranfield.Task(index, queries, grades)


def test_measures_are_those_of_each_query(task, rng):
    scores = rng.normal(size=task.grades.shape)
    found = cranfield.of_queries(task.grades, scores)
    one = np.zeros(40)
    expected = [ndcg_score(g, s, k=10, groups=one) for g, s in zip(task.grades, scores)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_choice_is_that_of_the_training_queries(task, rng):
    good, bad = task.grades + 0.1, -task.grades
    mixed = np.where(np.arange(20)[:, None] < 10, good, bad)
    candidates = [bad, mixed, np.where(np.arange(20)[:, None] < 10, bad, good)]
    assert cranfield.chosen(candidates, task.grades, np.arange(10)) == 1
    assert cranfield.chosen(candidates, task.grades, np.arange(10, 20)) == 2


def test_candidates_come_first_in_the_order_of_the_ranker():
    scores = np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    query_of, documents = np.array([0, 0, 1, 1]), np.array([0, 2, 3, 2])
    found = np.array([-1.0, 5.0, 0.5, 7.0])
    result = cranfield.reranked(scores, documents, query_of, found)
    assert (-result).argsort(axis=1).tolist() == [[2, 0, 1, 3], [2, 3, 1, 0]]


def test_no_query_is_scored_by_what_was_chosen_with_it(task, monkeypatch):
    monkeypatch.setattr(cranfield, "BM25S", [{"k1": 0.5}, {"k1": 2.0}])
    monkeypatch.setattr(cranfield, "LMS", [{"mu": 5.0}])
    monkeypatch.setattr(cranfield, "RM3S", [{"n_terms": 2}])
    grid = {"ranksvm__alpha": [0.1, 1.0]}
    monkeypatch.setattr(cranfield, "RANKERS", {"RankSVM": (RankSVM(), grid)})
    systems, choices = cranfield.run(task, n_folds=4, n_candidates=10)
    assert list(systems) == [
        "BM25",
        "BM25, tuned",
        "LM, tuned",
        "BM25 + RM3",
        "RankSVM",
    ]
    assert len(choices) == 4
    assert all(np.isfinite(scores).all() for scores in systems.values())
    fixed = BM25(field="text").fit(task.index).score(task.queries)
    np.testing.assert_array_equal(systems["BM25"], fixed)
    # Grades of one fold changed: its own scores stay, as nothing looked at them.
    seen = []
    monkeypatch.setattr(
        cranfield,
        "run_fold",
        lambda task, train, *_: (
            seen.append(train) or {"x": np.full(task.grades.shape, float(len(seen)))},
            {},
        ),
    )
    found = cranfield.run(task, n_folds=4)[0]["x"][:, 0]
    for number, train in enumerate(seen, start=1):
        assert not np.any(found[train] == number)


def test_the_code_of_the_page_runs(data_dir, monkeypatch, capsys):
    blocks = re.findall(
        r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE.read_text("utf-8"), re.M
    )
    assert len(blocks) == 5
    monkeypatch.setenv("SKRANK_DATA", str(data_dir))
    code = "\n".join(line[3:] for block in blocks for line in block.splitlines())
    names: dict = {}
    exec(code, names)
    printed = capsys.readouterr().out
    assert all(system in printed for system in names["systems"])
    assert names["X"].shape == (11250, 49)
    assert len(names["ranker"].query_ids_) == 180
