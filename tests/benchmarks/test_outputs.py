import argparse
import json

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import classical, kernels, letor, linear, peers
from benchmarks.data import make_mslr_like
from benchmarks.outputs import (
    Panel,
    add_outputs,
    bar_figure,
    line_figure,
    write_outputs,
)


def drawn(figure):
    """Labels of the axes, and how many bars or points each holds."""
    return {
        ax.get_xlabel(): len(ax.patches) or len(ax.lines[0].get_xdata())
        for ax in figure.axes
    }


def test_files_are_written_where_asked(tmp_path):
    parser = argparse.ArgumentParser()
    add_outputs(parser)
    figure = bar_figure([Panel("s", {"a": 1.0, "b": 2.0})])
    json_file, plot_file = tmp_path / "new" / "figures.json", tmp_path / "figures.png"
    given = ["--json", str(json_file), "--plot", str(plot_file)]
    write_outputs(parser.parse_args(given), {"a": [1.0]}, lambda: figure)
    assert json.loads(json_file.read_text()) == {"a": [1.0]}
    assert plot_file.read_bytes().startswith(b"\x89PNG")
    write_outputs(
        parser.parse_args([]), {}, pytest.fail
    )  # nothing asked, nothing drawn


def test_panels_show_all_contestants_and_their_spread():
    figure = bar_figure(
        [
            Panel("s", {"skrank": 1.0, "other": 2.0}, "log"),
            Panel("map", {"other": (0.4, 0.1), "third": 0.3}, "points"),
        ]
    )
    assert drawn(figure) == {"s": 2, "map": 2}
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["skrank", "other", "third"]
    assert figure.axes[0].get_xscale() == "log"
    low, high = figure.axes[1].collections[0].get_segments()[0][:, 0]
    np.testing.assert_allclose([low, high], [0.3, 0.5])


def test_lines_over_sizes():
    figure = line_figure({"a": {10: 1.0, 100: 9.0}, "b": {10: 2.0}}, "m", "s")
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [2, 1]


def test_the_classical_rankers_are_timed(capsys, tmp_path):
    plot, figures = tmp_path / "growth.png", tmp_path / "figures.json"
    given = ["classical", "--queries", "16", "--rounds", "1", "growth"]
    peers.main([*given, "--json", str(figures), "--plot", str(plot)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * 4 + 1
    assert set(json.loads(figures.read_text())["growth"]) == {
        f"{name}, {kind}"
        for name in (*classical.BOOSTERS, "RankSVM")
        for kind in ("documents", "pairs")
    }
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_longer_queries_keep_their_documents():
    data = make_mslr_like(6, seed=0)
    longer = classical.lengthened(data, 4)
    assert longer.ptr.tolist() == [0, data.ptr[4], data.ptr[6]]
    assert longer.y is data.y


def test_pictures_of_the_benchmarks():
    figures = {"total": 1.0, "memory": 2.0, "predict": 3.0, "ndcg@10": 0.5}
    problem = {"skrank LambdaMART": figures, "LightGBM lambdarank": figures}
    assert set(drawn(peers.draw({"7 documents": problem})).values()) == {2}
    grown = peers.draw({"1,000 documents": problem, "2,000 documents": problem})
    assert grown.axes[0].lines[0].get_xdata().tolist() == [1000, 2000]
    scores = {"mean": dict.fromkeys(letor.COMPARED, 0.4)}
    scores["spread"] = dict.fromkeys(letor.COMPARED, 0.0)
    found = letor.draw({"MQ2008": {"RankSVM": scores}, "OHSUMED": {"RankSVM": scores}})
    assert len(found.axes) == 2 * len(letor.COMPARED)
    times = linear.draw({"easy": {"RankSVM": {"seconds": [2.0, 1.0]}}})
    assert times.axes[0].patches[0].get_width() == 1.0
    row = {"kernel": "ListNet", "numpy_min": 3, "one_thread_min": 2}
    assert drawn(kernels.draw([row | {"two_threads_min": 1}])) == {
        "NumPy, ms": 1,
        "1 thread, ms": 1,
        "2 threads, ms": 1,
    }


def test_rankers_are_compared_query_by_query():
    rng = np.random.default_rng(0)
    base = {m: rng.random(200) for m in letor.COMPARED}
    better = {m: values + 0.1 for m, values in base.items()}
    same = {m: values + 1e-3 * rng.normal(size=200) for m, values in base.items()}
    rows = [
        (name, {"per_query": values}, {})
        for name, values in {"base": base, "better": better, "same": same}.items()
    ]
    lines = letor.comparison(rows, "base").splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["better", "same"]
    difference, p = map(float, lines[2].split()[1:3])
    assert difference == pytest.approx(0.1)
    assert p < 0.001
    assert float(lines[3].split()[2]) > 0.05
    assert "base" not in lines[3]


def test_the_reference_must_be_among_the_rankers(capsys):
    given = ["--rankers", "RankSVM", "--against", "ListNet"]
    with pytest.raises(SystemExit):
        letor.parse_arguments(given)
    assert "--rankers must list 'ListNet'" in capsys.readouterr().err
