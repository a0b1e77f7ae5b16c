"""``skrank compare`` and ``skrank demo``."""

import json

import numpy as np
import pytest

from skrank.cli._compare import _named_files
from skrank.cli._errors import CommandError
from skrank.datasets import load_letor
from skrank.metrics import compare, evaluate


@pytest.fixture
def scores(letor, tmp_path):
    """Two files of scores for test.txt, and the scores."""
    X, y, _ = load_letor(letor / "test.txt")
    systems = {"good": y + X[:, 0], "poor": -X[:, 0].astype(float)}
    for name, values in systems.items():
        lines = "".join(f"{value!r}\n" for value in values.tolist())
        (tmp_path / f"{name}.txt").write_text(lines)
    return [tmp_path / "good.txt", tmp_path / "poor.txt"], systems


def table(letor, systems, **options):
    _, y, groups = load_letor(letor / "test.txt")
    return compare(systems, y, groups, **options)


@pytest.mark.parametrize("form", ["plain", "markdown", "latex"])
def test_scores_are_compared_as_in_the_library(ok, letor, scores, form):
    paths, systems = scores
    out = ok("compare", *paths, "--letor", letor / "test.txt", "--format", form)
    expected = table(letor, systems)
    name = {"plain": "to_text"}.get(form, f"to_{form}")
    assert out == getattr(expected, name)() + "\n"


def test_options_reach_the_library(ok, letor, scores):
    paths, systems = scores
    out = ok(
        "compare", *paths, "--letor", letor / "test.txt", "--metrics", "err@5",
        "--reference", "poor", "--test", "t", "--correction", "none", "--level", "0.2",
        "--format", "json",
    )  # fmt: skip
    document = json.loads(out)
    expected = table(
        letor, systems, measures=["err@5"], reference="poor", test="t",
        correction=None, level=0.2,
    ).to_dict()  # fmt: skip
    assert document.pop("command") == "compare"
    assert document.pop("version")
    assert document == expected


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_a_seed_draws_the_intervals_of_every_test(ok, letor, scores, test):
    paths, systems = scores
    command = ("compare", *paths, "--letor", letor / "test.txt", "--test", test)
    out = ok(*command, "--seed", "7")
    assert out == table(letor, systems, test=test, random_state=7).to_text() + "\n"
    assert out != ok(*command, "--seed", "8")


def write_run(path, pairs):
    lines = [f"{q} Q0 {d} 1 {score} r\n" for q, d, score in pairs]
    path.write_text("".join(lines))


def test_runs_are_compared_by_what_evaluate_prints(ok, tmp_path):
    rng = np.random.default_rng(0)
    documents = [f"d{i}" for i in range(30)]
    (tmp_path / "qrels").write_text(
        "".join(
            f"{q} 0 {d} {rng.integers(0, 3)}\n" for q in range(8) for d in documents
        )
    )
    for name, n_queries in (("a", 8), ("b", 6)):
        write_run(
            tmp_path / f"{name}.run",
            [
                (q, d, rng.integers(0, 9))
                for q in range(n_queries)
                for d in rng.permutation(documents)[:12]
            ],
        )
    out = ok(
        "compare", tmp_path / "a.run", f"second={tmp_path / 'b.run'}",
        "--qrels", tmp_path / "qrels", "--metrics", "map,ndcg@5,p@10",
        "--format", "json",
    )  # fmt: skip
    found = json.loads(out)["systems"]
    for system, name in (("a", "a"), ("second", "b")):
        evaluated = ok(
            "evaluate", tmp_path / "qrels", tmp_path / f"{name}.run", "-c",
            "-m", "map", "-m", "P.10", "-m", "ndcg_cut.5", "--json", "-",
        )  # fmt: skip
        expected = json.loads(evaluated)["measures"]
        assert found[system]["map"]["mean"] == pytest.approx(expected["map"])
        assert found[system]["p@10"]["mean"] == pytest.approx(expected["P_10"])
        ndcg = expected["ndcg_cut_5"]
        assert found[system]["ndcg@5"]["mean"] == pytest.approx(ndcg)


def test_the_run_without_judged_queries_is_named(fails, tmp_path):
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    write_run(tmp_path / "good", [("q", "d", 1.0)])
    write_run(tmp_path / "other", [("p", "d", 1.0)])
    paths = [tmp_path / "good", tmp_path / "other"]
    message = fails("compare", *paths, "--qrels", tmp_path / "qrels")
    assert message.startswith(f"{tmp_path / 'other'}: no query is both in the qrels")


def test_a_file_may_have_an_equals_sign_in_its_name(ok, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("q 0 d 1\np 0 d 1\n")
    for name in ("a=b.run", "c.run"):
        write_run(tmp_path / name, [("q", "d", 1.0), ("p", "d", 1.0)])
    found = ok("compare", "a=b.run", "c.run", "--qrels", "qrels", "--json", "-")
    assert list(json.loads(found)["systems"]) == ["a=b", "c"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["a.x.run", "a.y.run"], ["a.x", "a.y"]),
        (["a.x.run", "a.y.run", "b.z.run"], ["a.x", "a.y", "b"]),
        (["a.run", "a.run.gz"], ["a", "a.run"]),
        (["a.run", "a.txt"], ["a.run", "a.txt"]),
        (["a=b.run", "a.run"], ["a", "a.run"]),
        (["a=b.run", "a.x.run"], ["a", "a.x"]),
        ([".run", "..run"], [".run", "..run"]),
        (["x/a.b.run", "y/a.c.run"], ["a.b", "a.c"]),
    ],
)
def test_files_that_begin_alike_have_names_of_their_own(files, names):
    assert list(_named_files(files)) == names


@pytest.mark.parametrize("files", [["a.run", "a.run"], ["x/a.run", "y/a.run"]])
def test_files_of_one_name_are_refused(files):
    with pytest.raises(CommandError, match="two systems are called 'a'; name them"):
        _named_files(files)


def test_mistakes(fails, letor, scores, tmp_path):
    paths, _ = scores
    data = ["--letor", letor / "test.txt"]
    assert "compare takes --qrels FILE" in fails("compare", *paths)
    both = [*data, "--qrels", paths[0]]
    assert "compare takes --qrels" in fails("compare", *paths, *both)
    assert "two systems are called 'good'" in fails("compare", paths[0], *paths, *data)
    assert "--reference 'x' is none of the systems, which are good, poor" in fails(
        "compare", *paths, *data, "--reference", "x"
    )
    assert "No such file" in fails("compare", tmp_path / "absent", *data)
    assert "breaks ties by document id" in fails(
        "compare", *paths, *data, "--preset", "trec_eval"
    )


@pytest.mark.parametrize("name", ["", " ", "a\tb", "a\x1b[31m"])
def test_systems_have_names_that_can_be_printed(fails, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    for file in ("run", "qrels"):
        (tmp_path / file).touch()
    message = fails("compare", f"{name}=run", "b=run", "--qrels", "qrels")
    assert message == (
        "the name of a system must not be empty nor hold control characters, got "
        f"{name!r} in {name + '=run'!r}"
    )


@pytest.fixture
def few_documents(monkeypatch):
    """The embedded data replaced by a made-up task of the same form."""
    from skrank.datasets import make_ranking
    from skrank.datasets._container import RankingData

    X, y, groups = make_ranking(
        n_queries=20, n_features=5, n_informative=3, random_state=0
    )
    names = np.array(["whole.bm25", "b", "c", "d", "e"], dtype=object)

    def load(n_queries=None):
        rows = groups < 20 if n_queries is None else groups < n_queries
        return RankingData(X[rows], y[rows], groups[rows], names)

    monkeypatch.setattr("skrank.cli._demo.load_see_also", load)


def test_demo_prints_a_table_with_times(run, few_documents):
    code, out, err = run("demo", "--metrics", "ndcg@5")
    assert code == 0
    assert "error" not in err
    assert "Trained on 10 queries (" in out
    assert "\ntested on 10 queries (" in out
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:1] == ["system"])
    assert lines[head].split()[-1] == "fit"
    assert lines[head + 2].split()[1] == "BM25"
    rows = lines[head + 3 : head + 14]
    assert all(row.endswith(" s") for row in rows)
    assert len({len(row) for row in rows}) == 1
    families = {"RankSVM", "RankNet", "ListNet", "EnergyPairwise", "YetiRank"}
    assert {row.split()[1] for row in rows} >= families
    assert sum("32 units" in row for row in rows) == 2


def test_demo_as_json(run, few_documents):
    code, out, _ = run("demo", "--json", "-")
    assert code == 0
    document = json.loads(out)
    assert set(document["seconds"]) | {"BM25"} == set(document["systems"])
    assert document["n_queries"] == 10


def test_demo_as_markdown_is_the_table_and_the_times(run, few_documents):
    code, out, _ = run("demo", "--format", "markdown", "--queries", 8)
    assert code == 0
    first, *_, last = out.splitlines()
    assert first.startswith("|")
    assert last.startswith("Training times: ")
    assert last.count(" s,") == 10  # of eleven rankers; the baseline is not trained


def test_the_embedded_data_has_the_baseline():
    from skrank.cli._demo import _BASELINE_FEATURE
    from skrank.datasets import load_see_also

    data = load_see_also(packages=("numpy",), n_queries=10, n_candidates=10)
    assert _BASELINE_FEATURE in list(data.feature_names)


def test_demo_needs_some_queries(fails, few_documents):
    assert "--queries must be at least 8, got 5" in fails("demo", "--queries", 5)


@pytest.mark.parametrize("preset", ["skrank", "mslr"])
def test_equal_scores_of_runs_follow_the_preset(ok, tmp_path, preset):
    qrels = {"q": {"a": 2, "b": 0, "c": 1}, "p": {"a": 0, "b": 1}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}, "p": {"a": 2.0, "b": 2.0}}
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {d} {y}\n" for q in qrels for d, y in qrels[q].items())
    )
    pairs = [(q, d, score) for q in run for d, score in run[q].items()]
    write_run(tmp_path / "a", pairs)
    write_run(tmp_path / "b", pairs[::-1])
    out = ok(
        "compare", tmp_path / "a", tmp_path / "b", "--qrels", tmp_path / "qrels",
        "--metrics", "ndcg", "--preset", preset, "--format", "json",
    )  # fmt: skip
    found = json.loads(out)["systems"]
    for name in "ab":
        expected = evaluate(qrels, tmp_path / name, "ndcg", preset=preset)["ndcg"]
        assert found[name]["ndcg"]["mean"] == pytest.approx(expected)


def test_a_file_that_is_there_may_have_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _named_files(["a=b.run"]) == {"a": "b.run"}
    (tmp_path / "a=b.run").touch()
    assert _named_files(["a=b.run"]) == {"a=b": "a=b.run"}
