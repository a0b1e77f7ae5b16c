"""``skrank fuse``: runs in, one run out."""

import io
import sys

import numpy as np
import pytest

from skrank.aggregation import (
    Borda,
    CombSUM,
    WeightedFusion,
    aggregate,
    known_aggregators,
)
from skrank.datasets import load_qrels, load_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three TREC runs and judgements of one of their two queries."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    for name in "abc":
        lines = [
            f"q{q} Q0 d{d} 1 {rng.random():.6f} {name}"
            for q in range(2)
            for d in rng.choice(8, 5, replace=False)
        ]
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "qrels").write_text("".join(f"q0 0 d{d} {d % 3}\n" for d in range(8)))
    return folder


def files(runs):
    return [runs / name for name in "abc"]


def test_the_output_is_a_run_in_trec_evals_order(ok, runs, tmp_path):
    out = ok("fuse", *files(runs))
    ok("fuse", *files(runs), "-o", tmp_path / "fused")
    assert (tmp_path / "fused").read_text() == out
    fused = load_run(tmp_path / "fused")
    expected = aggregate([load_run(path) for path in files(runs)], "rrf")
    assert fused.tag == "rrf"
    assert fused.docids.tolist() == expected.docids.tolist()
    np.testing.assert_array_equal(fused.scores, expected.scores)
    ranks = [int(line.split()[3]) for line in out.splitlines()]
    sizes = np.unique(fused.groups, return_counts=True)[1]
    assert ranks == [rank for size in sizes for rank in range(1, size + 1)]


def test_options(ok, runs, tmp_path):
    ok(
        *("fuse", *files(runs), "-o", tmp_path / "fused", "--method", "CombSUM"),
        *("--norm", "zmuv", "--weights", "2,1,0.5", "--depth", "3", "-k", "2"),
        *("--set", "missing=minimum", "--tag", "mine", "--jobs", "1"),
    )
    fused = load_run(tmp_path / "fused")
    method = CombSUM(normalization="zmuv", weights=[2, 1, 0.5], missing="minimum")
    expected = method.aggregate(
        [load_run(path) for path in files(runs)], depth=3, top_k=2
    )
    assert fused.tag == "mine"
    assert fused.docids.tolist() == expected.docids.tolist()
    np.testing.assert_array_equal(fused.scores, expected.scores)


def test_no_normalization(ok, runs):
    with_none = ok("fuse", *files(runs), "--method", "combmax", "--norm", "none")
    expected = aggregate(
        [load_run(path) for path in files(runs)], "combmax", normalization=None
    )
    assert float(with_none.split()[4]) == expected.scores[0]


def test_the_spelling_of_a_normalization_does_not_matter(ok, runs):
    arguments = ("fuse", *files(runs), "--method", "combsum", "--norm")
    for name in ("min_max_inverted", "Min-Max-Inverted"):
        assert ok(*arguments, name) == ok(*arguments, "min-max-inverted")


def test_weights_are_learned(ok, runs):
    out = ok(
        *("fuse", *files(runs), "--method", "weighted", "--qrels", runs / "qrels"),
        *("--set", "measure=map", "--set", "aggregator=Borda"),
    )
    loaded = [load_run(path) for path in files(runs)]
    fusion = WeightedFusion(measure="map", aggregator=Borda())
    fused = fusion.fit(loaded, load_qrels(runs / "qrels")).aggregate(loaded)
    words = [line.split() for line in out.splitlines()]
    assert [word[2] for word in words] == fused.docids.tolist()
    assert [float(word[4]) for word in words] == fused.scores.tolist()
    assert {word[0] for word in words} == {"q0", "q1"}


def test_a_run_from_the_standard_input(ok, runs, monkeypatch):
    class Stdin:
        buffer = io.BytesIO((runs / "b").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert ok("fuse", runs / "a", "-", runs / "c") == ok("fuse", *files(runs))


def test_list(ok):
    lines = ok("fuse", "--list").splitlines()
    assert [line.split()[0] for line in lines] == known_aggregators()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "fuse takes runs, as in skrank fuse a.trec b.trec"),
        (["a", "--method", "rff"], "unknown method 'rff'; did you mean 'RRF'?"),
        (
            ["a", "--norm", "sum"],
            "--norm has no effect with --method rrf, which has",
        ),
        (["a", "--method", "mapfuse"], "mapfuse learns from judged queries; pass"),
        (["a", "--qrels", "qrels"], "--qrels has no effect with --method rrf, which"),
        (["a", "--weights", "1,x"], "expected numbers such as 2,1,0.5, got '1,x'"),
        (["a", "--weights", "1,2"], "weights must hold one number per run, 1 in all"),
        (
            ["a", "--weights", "1", "--set", "weights=[1]"],
            "--weights and --set",
        ),
        (["a", "--depth", "0"], "--depth must be at least 1, got 0"),
        (["a", "-k", "0"], "-k must be at least 1, got 0"),
        (["a", "--tag", "x y"], "must be a word without blanks or control char"),
        (["a", "--tag", "x y"], "characters, got 'x y'"),
        (["a", "--tag", "\x1b[31mx"], r"characters, got '\x1b[31mx'"),
        (["a", "--set", "q=1"], "RRF has no parameter 'q'"),
        (["a", "--norm", "x"], "invalid choice: 'x'"),
        (["qrels"], "qrels holds judgements, lines 'query iteration"),
        (["absent"], "absent: No such file"),
        (["a", "--list"], "--list reads no runs"),
    ],
)
def test_mistakes(fails, runs, monkeypatch, arguments, message):
    monkeypatch.chdir(runs)
    assert message in fails("fuse", *arguments)


def test_a_first_query_may_look_like_a_packed_file(ok, tmp_path):
    for query in ("BZh9", "\ufeff#q"):
        (tmp_path / "run").write_text(f"q Q0 a 1 2 t\n{query} Q0 a 1 2 t\n")
        out = tmp_path / "fused"
        # The methods take queries in ascending order.
        ok("fuse", tmp_path / "run", tmp_path / "run", "-o", out)
        assert set(load_run(out).groups.tolist()) == {"q", query}
