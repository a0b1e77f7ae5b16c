"""The tables of the listwise benchmarks on tiny tasks."""

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import listwise, objectives
from skrank.datasets import make_ranking
from skrank.metrics import get_measure
from skrank.rankers import ListNet, RankSVM


def tiny(seed):
    return objectives.Part(
        *make_ranking(8, n_features=4, n_informative=3, random_state=seed)
    )


def test_descent_nears_the_minimum_of_listnet():
    X, y, groups = make_ranking(20, n_features=4, n_informative=3, random_state=0)
    slow = ListNet(solver=listwise.Descent(rate=1.0), alpha=0.01)
    exact = ListNet(alpha=0.01).fit(X, y, groups)
    np.testing.assert_allclose(slow.fit(X, y, groups).coef_, exact.coef_, atol=1e-3)


def test_parameters_are_chosen_by_the_measure_in_question():
    fold = objectives.Fold(tiny(0), tiny(1), tiny(2))
    measures = [get_measure("map"), get_measure("ndcg@1")]
    objective = objectives.Objective("hinge", RankSVM, {"alpha": [1e-3, 1e2]})
    found = objectives.run_fold(objective, fold, measures)
    for i, measure in enumerate(measures):
        tried = []
        for alpha in (1e-3, 1e2):
            ranker = RankSVM(alpha=alpha).fit(*fold.train)
            tried.append(
                [
                    objectives.values(part, ranker.predict(part.X), [measure])[0]
                    for part in (fold.vali, fold.test)
                ]
            )
        assert found[i] == max(tried, key=lambda pair: pair[0])[1]


def test_tables_and_pictures_show_all_objectives():
    first = dict.fromkeys(objectives.MEASURES, 0.4)
    figures = {"hinge": first, "squares": first | {"map": 0.5}}
    text = objectives.table("MQ2008", figures)
    assert text.count("*") == 2 * len(objectives.MEASURES) - 1  # equal ones share it
    figure = objectives.draw({"MQ2008": figures, "docstrings": figures})
    assert [ax.get_title() for ax in figure.axes] == ["MQ2008", "docstrings"]
    assert "+5.0" in {label.get_text() for label in figure.axes[0].texts}


def test_names_of_objectives_are_unique():
    names = [objective.name for objective in objectives.OBJECTIVES]
    assert len(set(names)) == len(names)
