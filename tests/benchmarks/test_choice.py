"""The study of families on made-up outcomes, and its pipelines on a tiny task."""

import numpy as np
import pytest
from sklearn import config_context

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import choice, defaults
from skrank.datasets import make_ranking


def outcome(value, seconds):
    per_query = {m: np.array([[value, np.nan]]) for m in choice.MEASURES}
    return defaults.Outcome(per_query, seconds)


OUTCOMES = {
    "one": {"RankSVM": outcome(0.5, 1.0), "MART": outcome(0.6, 10.0)},
    "two": {"RankSVM": outcome(0.9, 2.0), "MART": outcome(0.7, 80.0)},
}


def test_distances_are_means_of_what_is_missing_to_the_best():
    short = choice.distances(OUTCOMES, "ndcg@10")
    assert short == pytest.approx({"RankSVM": (0.1 + 0) / 2, "MART": (0 + 0.2) / 2})


def test_times_are_geometric_means_of_ratios():
    ratio = choice.relative_times(OUTCOMES)
    assert ratio == pytest.approx({"RankSVM": 1.0, "MART": np.sqrt(10.0 * 40.0)})


def test_the_best_ranker_comes_first_and_every_point_has_its_name():
    lines = choice.summary(OUTCOMES).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["RankSVM", "MART"]
    texts = {text.get_text() for text in choice.draw(OUTCOMES).axes[0].texts}
    assert texts == {"RankSVM", "MART"}


@pytest.mark.parametrize("contestant", choice.FAMILIES["linear"][:3])
def test_rankers_get_rows_without_gaps(contestant):
    X, y, groups = make_ranking(
        12, n_features=4, n_informative=3, missing=0.2, random_state=0
    )
    with config_context(enable_metadata_routing=True):
        ranker = contestant.make(0).fit(X, y, groups=groups)
    assert np.isfinite(ranker.predict(X)).all()


def test_names_stay_in_the_frame_and_off_each_other():
    # Nearly the same place on the right, which is where two names left the frame.
    names = ["RankSVM", "RandomForestRanker", "CoordinateAscent", "McRank", "MART"]
    found = zip(names, [0.5, 0.468, 0.468, 0.467, 0.48], [1.0, 64, 72, 70, 14])
    figure = choice.draw({"one": {n: outcome(v, s) for n, v, s in found}})
    figure.draw_without_rendering()
    ax = figure.axes[0]
    frame = ax.get_window_extent()
    boxes = [text.get_window_extent() for text in ax.texts]
    for k, box in enumerate(boxes):
        assert frame.containsx(box.x0)
        assert frame.containsx(box.x1)
        assert box.count_overlaps(boxes[:k]) == 0
