"""``skrank evaluate``: trec_eval's lines, and LETOR scores."""

import itertools
import json

import numpy as np
import pytest

from skrank.datasets import load_letor
from skrank.metrics import evaluate_measure

# The options with which trec_eval's authors made their expected files.
META_PARAMS = [
    "iprec_at_recall..10,.20,.25,.75,.50", "P.5,7,3", "recall.20,2000",
    "Rprec_mult.5.0,0.2,0.35", "utility.2,-1,0,0", "11pt_avg..25,.5,.75",
    "ndcg.1=3,2=9,4=4.5", "ndcg_cut.10,20,23.4", "success.2,5,20",
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "run_file", "qrels", "options"),
    [
        ("out.test", "results.test", "qrels.test", ""),
        ("out.test.a", "results.test", "qrels.test", "-m all_trec"),
        ("out.test.aq", "results.test", "qrels.test", "-m all -q"),
        ("out.test.aqc", "results.trunc", "qrels.test", "-m all -q -c"),
        ("out.test.aqcM", "results.trunc", "qrels.test", "-m all -q -c -M 100"),
        (
            "out.test.aql",
            "results.test",
            "qrels.rel_level",
            "-m all -m relstring.20 -q -l 2",
        ),
        (
            "out.test.meas_params",
            "results.test",
            "qrels.test",
            "-q -m " + " -m ".join(META_PARAMS),
        ),
        ("out.test.aqZ", "results.test", "qrels.test", "-m all -q -Z zscores_file"),
        ("out.test.qrels_jg", "results.test", "qrels.123", "-m all -q -R qrels_jg"),
        (
            "out.test.qrels_prefs",
            "results.test",
            "qrels.test",
            "-m all -q -R qrels_prefs",
        ),
        ("out.test.prefs", "prefs.results.test", "prefs.test", "-m all -q -R prefs"),
    ],
)
def test_the_lines_are_those_of_trec_eval(
    ok, data_dir, monkeypatch, expected, run_file, qrels, options
):
    folder = data_dir / "trec_eval"
    monkeypatch.chdir(folder)
    out = ok("evaluate", run_file, qrels, *options.split())
    assert out == (folder / expected).read_text()


@pytest.fixture
def files(tmp_path):
    """A run and judgements small enough to compute by hand."""
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 c 3 1 r\n2 Q0 a 1 1 r\n")
    qrels.write_text("1 0 a 1\n1 0 c 2\n1 0 d 0\n2 0 b 1\n3 0 a 1\n")
    return run, qrels


def test_by_hand(ok, files):
    out = ok("evaluate", *files, "-m", "map", "-m", "P_2", "-m", "num_rel", "-q")
    assert out.splitlines() == [
        "num_rel               \t1\t2",
        "map                   \t1\t0.8333",  # (1 + 2/3) / 2
        "P_2                   \t1\t0.5000",
        "num_rel               \t2\t1",
        "map                   \t2\t0.0000",
        "P_2                   \t2\t0.0000",
        "num_rel               \tall\t3",
        "map                   \tall\t0.4167",
        "P_2                   \tall\t0.2500",
    ]


def test_all_judged_queries_and_no_summary(ok, files):
    out = ok("evaluate", *files, "-m", "map", "-c", "-q", "-n")
    assert [line.split() for line in out.splitlines()] == [
        ["map", "1", "0.8333"],
        ["map", "2", "0.0000"],
        ["map", "3", "0.0000"],
    ]


def test_json_keeps_counts_and_all_digits(ok, files):
    document = json.loads(
        ok("evaluate", *files, "-m", "map", "-m", "num_ret", "-q", "--json", "-")
    )
    assert document["command"] == "evaluate"
    assert document["run"] == "r"
    assert document["measures"] == {
        "num_q": 2,
        "num_ret": 4,
        "map": pytest.approx(5 / 12),
    }
    assert document["queries"]["2"] == {"num_ret": 1, "map": 0.0}


def test_letor_scores(ok, letor, tmp_path):
    X, y, groups = load_letor(letor / "test.txt")
    scores = X[:, 0].astype(float)
    path = tmp_path / "scores"
    path.write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    options = ["--letor", letor / "test.txt", "--scores", path]
    names = "ndcg@5,rbp(p=0.5,rel=2)"
    out = ok("evaluate", *options, "--metrics", names, "--preset", "letor4")
    expected = [
        evaluate_measure(name, y, scores, groups=groups, preset="letor4")
        for name in ("ndcg@5", "rbp(p=0.5,rel=2)")
    ]
    assert [line.split("\t")[2] for line in out.splitlines()] == [
        f"{value:.4f}" for value in expected
    ]
    out = ok("evaluate", *options, "--metrics", "map", "-q", "--json", "-")
    document = json.loads(out)
    per_query = evaluate_measure("map", y, scores, groups=groups, per_query=True)
    assert list(document["queries"]) == [str(q) for q in np.unique(groups)]
    found = [value["map"] for value in document["queries"].values()]
    assert found == pytest.approx(per_query.tolist())


def test_the_figures_of_the_official_letor_script(ok, data_dir):
    folder = data_dir / "letor4-listnet" / "MQ2008" / "Fold1"
    lines = (folder / "official_metrics_10.txt").read_text().split("\n")
    rows = [line.split("\t") for line in lines if line.strip()]
    expected = {}
    for head, values in itertools.pairwise(rows):
        if values[0] == "Average":
            expected.update(zip(head[1:], values[1:]))
    out = ok(
        "evaluate", "--letor", data_dir / "MQ2008" / "Fold1" / "test.txt",
        "--scores", folder / "scores_10.txt", "--preset", "letor4",
        "--metrics", ",".join(expected),
    )  # fmt: skip
    assert len(expected) == 22
    found = [line.split("\t") for line in out.splitlines()]
    assert {name.strip(): value for name, _, value in found} == expected


def test_the_preset_of_trec_eval_breaks_ties_by_document(ok, letor, tmp_path):
    (tmp_path / "data").write_text("1 qid:1 1:1 #docid = a\n0 qid:1 1:1 #docid = b\n")
    (tmp_path / "scores").write_text("0\n0\n")
    out = ok(
        "evaluate", "--letor", tmp_path / "data", "--scores", tmp_path / "scores",
        "--metrics", "map", "--preset", "trec_eval",
    )  # fmt: skip
    assert out.split()[-1] == "0.5000"  # b comes first


def test_scores_of_ranklib(ok, tmp_path):
    """RankLib's -score files hold query, number and score."""
    (tmp_path / "data").write_text("0 qid:1 1:1\n1 qid:1 1:1\n")
    (tmp_path / "scores").write_text("1\t0\t-1.5\n1\t1\t0.5\n")
    out = ok(
        "evaluate", "--letor", tmp_path / "data", "--scores", tmp_path / "scores",
        "--metrics", "map",
    )  # fmt: skip
    assert out.split()[-1] == "1.0000"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "mapp"], "unknown trec_eval measure 'mapp'; known are runid"),
        (["-m", "map.5"], "measure 'map.5' takes no parameters"),
        (["-m", "P.x"], "parameters of measure 'P.x' must be of the form trec_eval"),
        (["-m", "P.0"], "parameters of measure 'P.0' must be positive cut-offs"),
        (["-m", "map_avgjg"], "'map_avgjg' needs judgements in the format 'qrels_jg'"),
        (["-R", "prefs"], "qrels, line 1: expected 5 fields 'query group subgroup"),
        (["-Z", "qrels"], "qrels, line 1: expected a number as mean, found 'a'"),
        (["-M", "0"], "max_results must be a whole number >= 1 or None, got 0"),
        (["--scores", "x"], "--letor FILE and --scores FILE go together"),
        (["--json", "absent/x"], "cannot write absent/x"),
    ],
)
def test_mistakes(fails, files, options, message, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    assert message in fails("evaluate", *files, *options)


def test_mistakes_in_files(fails, files, tmp_path, letor):
    run, qrels = files
    assert "evaluate takes a run and judgements" in fails("evaluate", run)
    assert "absent: No such file" in fails("evaluate", run, tmp_path / "absent")
    qrels.write_text("9 0 a 1\n")
    assert "no query in common: the run has '1', '2', the qrels have '9'" in fails(
        "evaluate", run, qrels
    )
    qrels.write_text("1 0 a\n")
    assert "line 1: expected 4 fields" in fails("evaluate", run, qrels)
    scores = tmp_path / "scores"
    options = ["evaluate", "--letor", letor / "test.txt", "--scores", scores]
    n_rows = len(load_letor(letor / "test.txt").y)
    scores.write_text("1\n")
    assert f"has 1 scores for {n_rows} documents" in fails(*options)
    scores.write_text("1\n" * (n_rows + 1))
    assert f"line {n_rows + 1}: more scores than the" in fails(*options)
    scores.write_text("1\nx\n")
    assert "line 2: expected a score, found 'x'" in fails(*options)
    assert "belong to the other form" in fails(*options, "-m", "map")
