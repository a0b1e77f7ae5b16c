"""``skrank evaluate``: trec_eval's lines, and LETOR scores."""

import itertools
import json

import numpy as np
import pytest

from skrank.datasets import load_letor
from skrank.metrics import evaluate, evaluate_measure

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
    out = ok("evaluate", qrels, run_file, *options.split())
    assert out == (folder / expected).read_text()


@pytest.fixture
def files(tmp_path):
    """A run and judgements small enough to compute by hand."""
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 c 3 1 r\n2 Q0 a 1 1 r\n")
    qrels.write_text("1 0 a 1\n1 0 c 2\n1 0 d 0\n2 0 b 1\n3 0 a 1\n")
    return qrels, run


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
    told, *found = [line.split("\t")[2] for line in out.splitlines()]
    assert told.startswith("preset letor4: gain 2^y - 1; discount 1 at ranks 1 and 2, ")
    assert found == [f"{value:.4f}" for value in expected]
    out = ok("evaluate", *options, "--metrics", "map", "-q", "--json", "-")
    document = json.loads(out)
    assert document["conventions"].startswith("Conventions: relevant above 0; expected")
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
    _, *found = [line.split("\t") for line in out.splitlines()]
    assert {name.strip(): value for name, _, value in found} == expected


def test_the_preset_of_trec_eval_breaks_ties_by_document(ok, letor, tmp_path):
    (tmp_path / "data").write_text("1 qid:1 1:1 #docid = a\n0 qid:1 1:1 #docid = b\n")
    (tmp_path / "scores").write_text("0\n0\n")
    out = ok(
        "evaluate", "--letor", tmp_path / "data", "--scores", tmp_path / "scores",
        "--metrics", "map", "--preset", "trec_eval",
    )  # fmt: skip
    assert out.split()[-1] == "0.5000"  # b comes first


def test_measures_of_the_package_on_runs(ok, files):
    names = ["err@20", "ndcg@10", "ndcg(gain=exp2)@5"]
    options = [option for name in names for option in ("-m", name)]
    expected = evaluate(*map(str, files), names)
    out = ok("evaluate", *files, *options, "-m", "map", "-q", "-c")
    lines = [line.split("\t") for line in out.splitlines()]
    told = lines.pop(-1 - 4)
    complete = evaluate(*map(str, files), ["map", *names], complete=True)
    assert [told[0].strip(), told[1]] == ["conventions", "all"]
    assert f"Conventions: {told[2]}" == expected.conventions
    assert [(name.strip(), query, value) for name, query, value in lines] == [
        *(
            (name, query, f"{complete.per_query[name][i]:.4f}")
            for i, query in enumerate(complete.query_ids)
            for name in ["map", *names]
        ),
        *((name, "all", f"{complete[name]:.4f}") for name in ["map", *names]),
    ]
    found = json.loads(ok("evaluate", *files, *options, "--json", "-"))
    assert found["measures"] == {"num_q": 2, **{m: expected[m] for m in names}}
    assert found["conventions"] == expected.conventions
    listed = ok("evaluate", *files, "--metrics", ",".join(names))
    assert listed == ok("evaluate", *files, *options)
    assert [line.split()[0] for line in listed.splitlines()] == ["conventions", *names]
    bare = ok("evaluate", *files, *options, "-n", "-q")
    assert "conventions" not in bare


def test_names_of_ranx_on_runs(ok, fails, files):
    names = ["ndcg_burges@2", "map-l2", "hit_rate@1", "precision@2-l2"]
    options = [option for name in names for option in ("-m", name)]
    _, *lines = ok("evaluate", *files, *options).splitlines()
    expected = evaluate(*map(str, files), names)
    assert [line.split() for line in lines] == [
        [name, "all", f"{expected[name]:.4f}"] for name in names
    ]
    assert "'rbp.95' of ranx adds up" in fails("evaluate", *files, "-m", "rbp.95")
    assert "counts relevant" in fails("evaluate", *files, "-m", "hits@5")


@pytest.mark.parametrize("option", [[], ["-m", "ndcg@10", "-m", "map"], ["--metrics"]])
def test_presets_on_runs(ok, files, option):
    names = ["ndcg@10", "map"]
    if option == ["--metrics"]:
        names = ["map", "p@2", "P_3"]
        option = ["--metrics", ",".join(names)]
    out = ok("evaluate", *files, *option, "--preset", "mslr", "-M", "2")
    expected = evaluate(*map(str, files), names, preset="mslr", depth=2)
    told, *lines = out.splitlines()
    assert told.split("\t")[2].startswith("preset mslr: ")
    assert [line.split() for line in lines] == [
        [name, "all", f"{expected[name]:.4f}"] for name in names
    ]


def test_comments_and_further_fields_mean_nothing(ok, files, tmp_path):
    qrels, run = files
    options = ["-m", "all", "-q", "-R", "qrels_prefs"]
    plain = ok("evaluate", qrels, run, *options)
    lines = [f"{line} more fields" for line in qrels.read_text().splitlines()]
    qrels.write_text("\n".join(["#query group", "  # x", *lines]) + "\n")
    assert ok("evaluate", qrels, run, *options) == plain
    reference = tmp_path / "reference"
    reference.write_text("#1\n1 map 0.5 0.25 more\n2 map 0.5 0.25 more\n")
    files[0].write_text("1 0 a 1\n1 0 c 2\n2 0 b 1\n")
    out = ok("evaluate", qrels, run, "-m", "map", "-q", "-Z", reference)
    values = [line.split()[2] for line in out.splitlines()]
    assert values == ["1.3333", "-2.0000", "-0.3333"]  # (map - 0.5) / 0.25


def test_a_file_of_comments_has_no_judgements(fails, files):
    qrels, run = files
    qrels = qrels.with_name("a\nb")
    qrels.write_text("# 1 0 a 1\n")
    message = fails("evaluate", qrels, run, "-R", "qrels_jg")
    assert message.endswith(r"/a\nb has no lines 'query group document grade'")


def test_means_and_deviations_are_finite(fails, files, tmp_path):
    for deviation, found in ((b"inf", "inf"), (b"\xff", "\ufffd")):
        (tmp_path / "reference").write_bytes(b"1 map 0.5 " + deviation + b"\n")
        message = fails("evaluate", *files, "-Z", tmp_path / "reference")
        assert f"line 1: expected a number as deviation, found '{found}'" in message


def test_statistics_of_a_measure_are_given_once(fails, files, tmp_path):
    (tmp_path / "reference").write_text("1 map 0.5 1\n2 map 1 1\n1 map 0.7 2\n")
    message = fails("evaluate", *files, "-Z", tmp_path / "reference")
    assert message.endswith("reference has the measure 'map' of query '1' twice")


def test_numbers_have_no_underscores(fails, files, tmp_path):
    (tmp_path / "reference").write_text("1 map 0.5 1_0\n")
    message = fails("evaluate", *files, "-Z", tmp_path / "reference")
    assert "line 1: expected a number as deviation, found '1_0'" in message
    (tmp_path / "data").write_text("0 qid:1 1:1\n")
    (tmp_path / "scores").write_text("1_0\n")
    options = ["--letor", tmp_path / "data", "--scores", tmp_path / "scores"]
    assert "line 1: expected a score, found '1_0'" in fails("evaluate", *options)


def test_ids_of_judgements_need_not_be_text(ok, files):
    qrels, run = files
    options = ["-m", "all", "-R", "qrels_prefs"]
    plain = ok("evaluate", qrels, run, *options)
    for path in files:
        path.write_bytes(path.read_bytes().replace(b" a ", b" \xff "))
    assert ok("evaluate", qrels, run, *options) == plain


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
        (["-m", "mapp"], "unknown measure 'mapp'; did you mean map, gm_map? There"),
        (["-m", "errr@20"], "unknown measure 'errr@20'; did you mean err"),
        (["-m", "ndcg(x=1)@5"], "measure 'ndcg(x=1)@5' takes no option 'x'"),
        (["-m", "err@20", "-l", "2"], "-l has no effect on err@20, which states it"),
        (["-m", "err@20", "-R", "prefs"], "-R is for measures of trec_eval"),
        (["-m", "num_rel", "--preset", "letor4"], "is a measure of trec_eval only"),
        (["--preset", "letor9"], "letor9"),
        (["-m", "map.5"], "measure 'map.5' takes no parameters"),
        (["-m", "P.x"], "parameters of measure 'P.x' must be of the form trec_eval"),
        (["-m", "P.0"], "parameters of measure 'P.0' must be positive cut-offs"),
        (["-m", "map_avgjg"], "'map_avgjg' needs judgements in the format 'qrels_jg'"),
        (["-R", "prefs"], "qrels, line 1: expected 5 fields 'query group subgroup"),
        (["-Z", "qrels"], "qrels, line 1: expected a number as mean, found 'a'"),
        (["-M", "0"], "max_results must be a whole number >= 1 or None, got 0"),
        (["--scores", "run"], "--letor FILE and --scores FILE go together"),
        (["--json", "absent/x"], "cannot write absent/x"),
    ],
)
def test_mistakes(fails, files, options, message, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    assert message in fails("evaluate", *files, *options)


def test_mistakes_in_files(fails, files, tmp_path, letor):
    qrels, run = files
    assert "evaluate takes judgements and a run" in fails("evaluate", qrels)
    assert "absent: No such file" in fails("evaluate", qrels, tmp_path / "absent")
    qrels.write_text("9 0 a 1\n")
    assert "no query in common: the run has '1', '2', the qrels have '9'" in fails(
        "evaluate", qrels, run
    )
    qrels.write_text("1 0 a\n")
    assert "line 1: expected 4 fields" in fails("evaluate", qrels, run)
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


@pytest.mark.parametrize("form", ["qrels", "qrels_jg", "qrels_prefs", "prefs"])
def test_a_run_in_place_of_judgements_is_one_line(fails, files, form):
    qrels, run = files
    order = "; the order is: evaluate QRELS RUN"
    message = fails("evaluate", run, qrels, "-R", form)
    assert message.startswith(f"{run} holds a run, ")
    assert message.endswith(order)
    if form != "prefs":
        message = fails("evaluate", qrels, qrels, "-R", form)
        assert message.startswith(f"{qrels} holds judgements, ")
        assert message.endswith(order)
