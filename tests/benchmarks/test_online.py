"""The benchmark of online rankers: intervals, differences and a tiny run."""

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import online


def test_intervals_are_those_of_students_t():
    values = np.array([[1.0], [2.0], [4.0]])
    mean, half = online.interval(values)
    found = stats.ttest_1samp(values[:, 0], 0.0).confidence_interval()
    assert mean[0] == pytest.approx(7 / 3)
    assert mean[0] - half[0] == pytest.approx(found.low)
    assert mean[0] + half[0] == pytest.approx(found.high)


@pytest.mark.parametrize("part", ["test", "validation"])
def test_no_query_is_learned_from_and_measured(part):
    (_, _, train), (_, _, held) = online.tiny(3, part)
    assert not set(train) & set(held)
    other = online.tiny(3, "test" if part == "validation" else "validation")[1][2]
    assert not set(held) & set(other)


def test_features_lie_between_0_and_1_within_queries():
    X, _, _ = online.scaled(online.tiny(0, "test")[0])
    assert X.min() == 0.0
    assert X.max() == 1.0


def test_a_tiny_study_is_printed(capsys):
    online.main(
        ["--collections", "tiny", "--users", "perfect", "--seeds", "2"]
        + ["--impressions", "120", "--jobs", "1", "--speed"]
    )
    printed = capsys.readouterr().out
    for name in online.CONTESTANTS:
        assert name in printed
    assert "offline 100" in printed
    assert "offline 120" in printed
    assert "s per run" in printed


def test_differences_are_paired_by_seed():
    value = np.array([[0.5, 10, 1, 1], [0.7, 30, 1, 1], [0.6, 20, 1, 1.0]])
    more = value + np.array([[0.1], [0.2], [0.3]])
    found = {("perfect", online.REFERENCE): value, ("perfect", "PDGD"): more}
    lines = online.differences(found, ["perfect"], [online.REFERENCE, "PDGD"])
    half = stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3)
    assert f"+0.2000 ± {half:.4f}" in lines[1]
