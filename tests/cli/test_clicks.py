"""``skrank clicks``: logs in, models, judgements and simulated logs out."""

import gzip
import io
import json
import sys

import numpy as np
import pytest

from skrank.click import (
    DependentClickModel,
    Sessions,
    SimulatedUser,
    UserBrowsingModel,
    load_sessions,
    save_sessions,
    to_labels,
)
from skrank.datasets import load_qrels, load_run
from skrank.export import load_model, save_model
from skrank.rankers import RankSVM


def made(seed):
    rng = np.random.RandomState(seed)
    lists = [rng.permutation(6)[:4] for _ in range(200)]
    return Sessions.from_lists(
        [f"q{q}" for q in rng.randint(0, 4, 200)],
        [[f"d{d}" for d in row] for row in lists],
        [(rng.rand(4) < 0.4 - 0.05 * row).astype(int).tolist() for row in lists],
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two logs, a fitted model, a run and judgements."""
    folder = tmp_path_factory.mktemp("logs")
    for name, seed in (("train", 0), ("test", 1)):
        save_sessions(made(seed), folder / f"{name}.tsv")
    model = DependentClickModel().fit(load_sessions(folder / "train.tsv"))
    save_model(model, folder / "dcm.skrank")
    lines = [f"q{q} Q0 d{d} 0 {9 - d} t" for q in range(3) for d in range(4)]
    (folder / "run.trec").write_text("\n".join(lines) + "\n")
    lines = [f"q{q} 0 d{d} {d % 3}" for q in range(3) for d in range(3)]
    (folder / "qrels").write_text("\n".join(lines) + "\n")
    return folder


def test_a_model_is_fitted_measured_and_saved(ok, folder, tmp_path):
    saved, results = tmp_path / "m.skrank", tmp_path / "m.json"
    out = ok(
        *("clicks", "fit", folder / "train.tsv", "--model", "dcm", "--jobs", "1"),
        *("--test", folder / "test.tsv", "--save", saved, "--json", results),
    )
    train, test = (load_sessions(folder / f"{n}.tsv") for n in ("train", "test"))
    model = DependentClickModel().fit(train)
    found = load_model(saved)
    np.testing.assert_array_equal(found.relevance_, model.relevance_)
    document = json.loads(results.read_text())
    assert document["model"] == "DependentClickModel"
    assert document["params"]["n_jobs"] == 1
    for name, log in (("train", train), ("test", test)):
        measures = document["sets"][name]
        assert measures["log_likelihood"] == model.score(log)
        assert measures["perplexity_by_rank"] == model.perplexity(log).tolist()
        assert measures["clicks"] == log.n_clicks
    assert f"train: 200 sessions, 800 impressions, {train.n_clicks} clicks" in out
    assert f"{model.score(test):.4f}" in out


def test_logs_are_read_piece_by_piece(ok, folder, tmp_path):
    logs = folder / "train.tsv", folder / "test.tsv"
    for name, more in (("whole", ()), ("parts", ("--chunk", "50"))):
        path = tmp_path / name
        command = ("clicks", "fit", logs[0], "--model", "DCM", "--save", path)
        ok(*command, *more, "--set", "n_jobs=1")
    whole, parts = (load_model(tmp_path / name) for name in ("whole", "parts"))
    np.testing.assert_array_equal(whole.relevance_, parts.relevance_)
    with_both = ok("clicks", "fit", *logs, "--model", "UBM", "--set", "max_iter=500")
    assert "train: 400 sessions, 1600 impressions" in with_both


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_standard_input_is_read_piece_by_piece(
    ok, folder, tmp_path, monkeypatch, pack
):
    """Of more than its memory, no more than a piece and the next one are read."""
    content = pack((folder / "train.tsv").read_bytes())
    asked = []

    class Pipe(io.RawIOBase):
        at = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            asked.append(len(fitted))
            part = content[self.at : self.at + 64]
            buffer[: len(part)] = part
            self.at += len(part)
            return len(part)

    class Stdin:
        buffer = io.BufferedReader(Pipe(), 64)

    fitted, fit = [], DependentClickModel.partial_fit
    monkeypatch.setattr(
        DependentClickModel,
        "partial_fit",
        lambda self, part: fitted.append(part) or fit(self, part),
    )
    monkeypatch.setattr("skrank._core._reading._PIECE", 64)
    monkeypatch.setattr("skrank._core._reading._UNPACKED_PIECE", 64)
    monkeypatch.setattr("skrank.click._reading._HEAD", 64)
    monkeypatch.setattr(sys, "stdin", Stdin)
    path = tmp_path / "model"
    command = ("clicks", "fit", "-", "--model", "DCM", "--save", path)
    ok(*command, "--chunk", "50", "--set", "n_jobs=1")
    assert len(fitted) > 10
    assert len(set(asked)) > 10  # pieces were learned from before others were read
    whole = DependentClickModel().fit(load_sessions(folder / "train.tsv"))
    np.testing.assert_array_equal(load_model(path).relevance_, whole.relevance_)


def test_parameters_are_set(ok, folder):
    out = ok(
        *("clicks", "fit", folder / "train.tsv", "--model", "UserBrowsingModel"),
        *("--set", "max_iter=500", "--json", "-"),
    )
    document = json.loads(out)
    assert document["params"]["max_iter"] == 500
    log = load_sessions(folder / "train.tsv")
    model = UserBrowsingModel(max_iter=500).fit(log)
    assert document["sets"]["train"]["log_likelihood"] == pytest.approx(
        model.score(log), rel=1e-12
    )


def test_impossible_clicks_are_infinite(ok, folder):
    arguments = "clicks", "fit", folder / "train.tsv", "--model", "cascade"
    document = json.loads(ok(*arguments, "--json", "-"))
    assert document["sets"]["train"]["log_likelihood"] is None
    assert "log-likelihood of a session  -inf" in ok(*arguments)


def test_models_are_listed(ok):
    out = ok("clicks", "fit", "--list")
    assert "UserBrowsingModel (ubm) " in out
    assert "BaseClickModel" not in out


@pytest.mark.parametrize("options", [{}, {"n_grades": 3, "per_query": True}])
def test_labels_of_a_model(ok, folder, tmp_path, options):
    more = ("--grades", "3", "--per-query") if options else ()
    ok("clicks", "labels", folder / "dcm.skrank", *more, "-o", tmp_path / "q")
    found = load_qrels(tmp_path / "q")
    model = load_model(folder / "dcm.skrank")
    log = load_sessions(folder / "train.tsv")
    assert found.to_dict() == to_labels(model, log, **options).to_dict()


def test_labels_of_another_log_as_a_table(ok, folder):
    command = ("clicks", "labels", folder / "dcm.skrank", "--log", folder / "test.tsv")
    out = ok(*command, "--thresholds", "0.2,0.3", "--format", "tsv")
    names, *lines = [line.split("\t") for line in out.splitlines()]
    assert names == ["query", "document", "relevance", "grade"]
    model = load_model(folder / "dcm.skrank")
    pairs = load_sessions(folder / "test.tsv").pairs()
    assert len(lines) == len(pairs[1])
    for query, document, relevance, grade in lines:
        r = model.relevance(query, document)
        assert float(relevance) == r
        assert int(grade) == (r >= 0.2) + (r >= 0.3)


def test_users_click_by_their_grades(ok, folder, tmp_path):
    path = tmp_path / "log.tsv"
    command = ("clicks", "simulate", folder / "run.trec", "--qrels", folder / "qrels")
    ok(*command, "--sessions", "5", "--seed", "3", "-k", "3", "-o", path)
    log = load_sessions(path)
    user = SimulatedUser()
    expected = user.click(np.tile([0, 1, 2], 15), np.arange(0, 46, 3), random_state=3)
    assert log.click.tolist() == expected.tolist()
    assert (
        log.query_ids[log.query].tolist() == np.repeat(["q0", "q1", "q2"], 5).tolist()
    )
    names = log.document_ids[log.document].tolist()
    assert names == ["d0", "d1", "d2"] * 15
    printed = ok(*command, "--sessions", "5", "--seed", "3", "-k", "3")
    assert printed == path.read_text()


def test_users_of_other_kinds(ok, folder):
    command = ("clicks", "simulate", folder / "run.trec", "--qrels", folder / "qrels")
    options = ("--user", "informational", "--examination", "position", "--eta", "2")
    out = ok(*command, *options, "--noise", "0.1", "--max-grade", "4")
    log = load_sessions(out.encode())
    user = SimulatedUser(
        "informational", examination="position", eta=2.0, noise=0.1, max_grade=4.0
    )
    # The last document has no judgement.
    y, ptr = np.tile([0, 1, 2, 0], 3), np.arange(0, 13, 4)
    assert log.click.tolist() == user.click(y, ptr, random_state=0).tolist()


def test_a_model_clicks_again(ok, folder, tmp_path):
    path = tmp_path / "log.tsv.gz"
    command = ("clicks", "simulate", folder / "test.tsv")
    more = ("--model", folder / "dcm.skrank", "--sessions", "2", "-o", path)
    ok(*command, *more)
    again = load_sessions(path)
    assert len(again) == 400
    assert np.array_equal(again.position, np.tile([1, 2, 3, 4], 400))
    log = load_sessions(folder / "test.tsv")
    rate = load_model(folder / "dcm.skrank").predict_proba(log, "marginal").mean()
    assert abs(again.click.mean() - rate) < 0.05


def test_a_log_of_yandex_on_the_standard_input(ok, monkeypatch, tmp_path):
    text = io.TextIOWrapper(io.BytesIO(b"7\t1,2 : 2 , 9; 7\t2,1 :\n"))
    monkeypatch.setattr("sys.stdin", text)
    saved = tmp_path / "m"
    ok(
        *("clicks", "fit", "-", "--log-format", "yandex", "--stray-clicks", "drop"),
        *("--numeric-ids", "--model", "DocumentClickModel", "--save", saved),
    )
    assert load_model(saved).document_ids_.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit",), "clicks fit takes logs"),
        (("fit", "train.tsv"), "pass --model NAME"),
        (("fit", "train.tsv", "--model", "x"), "unknown model 'x'"),
        (("fit", "train.tsv", "--list"), "--list reads no logs"),
        (("fit", "train.tsv", "--model", "DCM", "--chunk", "0"), "--chunk must be at"),
        (
            ("fit", "train.tsv", "--model", "DBN", "--chunk", "5"),
            "does not learn piece",
        ),
        (
            ("fit", "run.trec", "--model", "DCM"),
            "run.trec, line 1: expected the fields",
        ),
        (("fit", "train.tsv", "--model", "DCM", "--set", "a=1"), "a"),
        (
            ("fit", "train.tsv", "--model", "DCM", "--max-bytes", "10"),
            "train.tsv holds more than 10 bytes",
        ),
        (
            ("fit", "train.tsv", "--model", "DCM", "--model", "UBM"),
            "argument --model: given twice",
        ),
        (("labels", "dcm.skrank", "--numeric-ids"), "--numeric-ids has no effect with"),
        (("labels", "dcm.skrank", "--grades", "0"), "n_grades must be"),
        (
            ("labels", "dcm.skrank", "--thresholds", "0.1,0.2", "--per-query"),
            "--per-query has no effect with --thresholds",
        ),
        (("labels", "dcm.skrank", "--thresholds", "0.2,0.1"), "in ascending order"),
        (("labels", "ranker.skrank"), "expected a model of clicks, found a RankSVM"),
        (("simulate", "run.trec"), "pass either --qrels FILE or --model FILE"),
        (
            ("simulate", "test.tsv", "--model", "dcm.skrank", "--eta", "2"),
            "--eta has no effect with --model",
        ),
        (
            ("simulate", "run.trec", "--qrels", "qrels", "--sessions", "0"),
            "--sessions must be from 1 to 2**31 - 1, got 0",
        ),
        (
            ("simulate", "run.trec", "--qrels", "qrels", "--sessions", f"{10**22}"),
            "--sessions must be from 1 to 2**31 - 1, got 1000",
        ),
        (
            ("simulate", "run.trec", "--qrels", "qrels", "-k", "0"),
            "-k must be from 1",
        ),
        (
            ("simulate", "run.trec", "--qrels", "qrels", "--seed", "-1"),
            "--seed must be",
        ),
        (("simulate", "run.trec", "--qrels", "others"), "judges no query of the run"),
        (
            # Nothing is read before: the work would be lost.
            ("simulate", "run.trec", "--qrels", "qrels", "-o", "log.txt"),
            "-o must end in .tsv",
        ),
    ],
)
def test_mistakes(fails, folder, arguments, words, monkeypatch, letor):
    monkeypatch.chdir(folder)
    (folder / "others").write_text("x 0 d1 1\n")
    X, y = np.arange(6.0).reshape(3, 2), [0, 1, 2]
    save_model(RankSVM().fit(X, y, groups=[1, 1, 1]), folder / "ranker.skrank")
    assert words in fails("clicks", *arguments)


@pytest.mark.parametrize("command", ["predict", "rank"])
def test_a_model_of_clicks_is_no_ranker(fails, folder, letor, command):
    error = fails(command, folder / "dcm.skrank", letor / "test.txt")
    words = "DependentClickModel in this file is a model of clicks and no ranker"
    assert words in error


def test_the_run_of_a_simulation_is_read_by_its_scores(ok, folder, tmp_path):
    (tmp_path / "run").write_text("q0 Q0 d2 1 0.5 t\nq0 Q0 d1 2 0.7 t\n")
    command = ("clicks", "simulate", tmp_path / "run", "--qrels", folder / "qrels")
    log = load_sessions(ok(*command).encode())
    assert log.document_ids[log.document].tolist() == ["d1", "d2"]
    assert load_run(tmp_path / "run").docids.tolist() == ["d2", "d1"]
