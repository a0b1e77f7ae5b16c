"""Experiments: tuning, pooling, seeds, resuming, failures, files."""

import io
import json
import math
import os
import signal
import struct
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from skrank.datasets import dump_letor, load_letor_folds, load_qrels, load_run
from skrank.experiments import Experiment, RankerGrid, make_folds
from skrank.experiments._training import load_stored
from skrank.metrics import NDCG, compare, evaluate_measure, get_measure
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import LambdaMART, LambdaRank, RankSVM, SubsetRegression

GRID = {"alpha": [1e-3, 1e-1, 10.0]}


class Failing(BaseEstimator):
    """A ranker that fails where it is told to."""

    def __init__(self, at=None):
        self.at = at

    def fit(self, X, y):
        """Fail, or fit nothing."""
        if self.at == "fit" or (self.at == "fold" and 0 not in self.rows(X)):
            raise RuntimeError("it does not fit")
        if self.at == "exit":
            raise SystemExit(0)
        if self.at == "warn":
            warnings.warn("not quite\nthere", ConvergenceWarning, stacklevel=1)
        return self

    def rows(self, X):
        """Return what stands for the fold: whether the first value is negative."""
        return [0] if X[0, 0] < 0 else [1]

    def predict(self, X):
        """Score by the first feature."""
        return X[:, 0] * (np.inf if self.at == "predict" else 1)


def by_hand(folds, estimators, measure, selection=None):
    """Chosen numbers, and values of all test queries, by a loop."""
    chosen, values = [], {}
    for fold in folds:
        found = []
        for estimator in estimators:
            X, y, groups = fold.train
            model = type(estimator)(**estimator.get_params()).fit(X, y, groups)
            vali = evaluate_measure(
                selection or measure,
                fold.vali.y,
                model.predict(fold.vali.X),
                groups=fold.vali.groups,
            )
            found.append((vali, model))
        best = max(range(len(found)), key=lambda i: found[i][0])
        chosen.append(best)
        scores = found[best][1].predict(fold.test.X)
        test = evaluate_measure(
            measure, fold.test.y, scores, groups=fold.test.groups, per_query=True
        )
        values |= dict(zip(np.unique(fold.test.groups).tolist(), test, strict=True))
    return chosen, values


def test_the_table_is_that_of_a_loop(folds, tmp_path):
    estimators = [RankSVM(alpha=alpha, random_state=0) for alpha in GRID["alpha"]]
    rankers = {"svm": RankerGrid(RankSVM(), GRID), "fixed": SubsetRegression()}
    experiment = Experiment(rankers, measures=["ndcg@5", "map"], selection="map")
    result = experiment.run(folds, tmp_path)
    chosen, values = by_hand(folds, estimators, "ndcg@5", "map")
    table = result.table
    assert table.query_ids.tolist() == sorted(values)
    np.testing.assert_allclose(
        table.per_query["ndcg@5"]["svm"], [values[q] for q in sorted(values)]
    )
    of_svm = [each for each in result.chosen if each["ranker"] == "svm"]
    assert [each["params"]["alpha"] for each in of_svm] == [
        GRID["alpha"][i] for i in chosen
    ]
    assert len({each["params"]["alpha"] for each in of_svm}) > 1, "nothing was chosen"
    best = [max(c["validation"] for c in each["candidates"]) for each in of_svm]
    assert [each["validation"] for each in of_svm] == best


def test_the_table_is_that_of_compare(folds, tmp_path):
    rankers = {"a": RankSVM(), "b": SubsetRegression()}
    options = {"reference": "b", "test": "t", "correction": None, "level": 0.2}
    measures = ["ndcg@5", "err"]
    result = Experiment(rankers, measures=measures, **options).run(folds, tmp_path)
    scores = {name: [] for name in rankers}
    for fold in folds:
        for name, ranker in rankers.items():
            model = type(ranker)().fit(*fold.train)
            scores[name].append(model.predict(fold.test.X))
    y = np.concatenate([fold.test.y for fold in folds])
    groups = np.concatenate([fold.test.groups for fold in folds])
    scores = {name: np.concatenate(parts) for name, parts in scores.items()}
    expected = compare(scores, y, groups, measures=measures, **options)
    np.testing.assert_allclose(result.table.means, expected.means)
    np.testing.assert_allclose(result.table.pvalues, expected.pvalues)
    np.testing.assert_allclose(result.table.intervals, expected.intervals)


def test_a_lower_value_may_be_the_better_one(folds, tmp_path):
    class Loss(NDCG):
        greater_is_better = False

    rankers = {"svm": RankerGrid(RankSVM(), GRID)}
    up, down = (
        Experiment(rankers, selection=m).run(folds, tmp_path) for m in (NDCG(), Loss())
    )
    for a, b in zip(up.chosen, down.chosen, strict=True):
        values = [candidate["validation"] for candidate in a["candidates"]]
        assert a["validation"] == max(values)
        assert b["validation"] == min(values)


def test_means_over_folds_and_over_queries(tmp_path, ranking):
    X, y, groups = ranking
    keep = groups != groups[0]  # folds of unequal size
    folds = make_folds(X[keep], y[keep], groups[keep], n_splits=3)
    result = Experiment({"a": RankSVM()}, measures="map").run(folds, tmp_path)
    means = []
    for fold in folds:
        scores = RankSVM().fit(*fold.train).predict(fold.test.X)
        means.append(
            evaluate_measure("map", fold.test.y, scores, groups=fold.test.groups)
        )
    assert result.fold_means["a"]["map"] == pytest.approx(means)
    written = pd.read_csv(tmp_path / "folds.tsv", sep="\t")
    assert written["fold"].tolist() == ["Fold1", "Fold2", "Fold3", "mean"]
    assert written["map"].tolist() == pytest.approx([*means, np.mean(means)])
    assert result.table.means[0, 0] != pytest.approx(np.mean(means), abs=1e-6)


def test_seeds(folds, tmp_path):
    few = LambdaMART(n_estimators=3, random_strength=1.0)
    rankers = {
        "trees": few,
        "svm": RankerGrid(RankSVM(), seeds=1),
        "s": SubsetRegression(),
    }
    result = Experiment(rankers, measures="ndcg@5", seeds=2).run(folds, tmp_path)
    assert result.n_trained == 3 * (2 + 1 + 1)
    values = []
    for seed in (0, 1):
        model = LambdaMART(n_estimators=3, random_strength=1.0, random_state=seed)
        fold = folds[1]
        scores = model.fit(*fold.train).predict(fold.test.X)
        values.append(
            evaluate_measure(
                "ndcg@5", fold.test.y, scores, groups=fold.test.groups, per_query=True
            )
        )
    tested = np.isin(result.table.query_ids, folds[1].test.groups)
    found = result.table.per_query["ndcg@5"]["trees"][tested]
    np.testing.assert_allclose(found, np.mean(values, axis=0))
    assert result.spread["trees"]["ndcg@5"] > 0
    assert result.spread["svm"]["ndcg@5"] == 0
    deviation = f"{result.spread['trees']['ndcg@5']:.4f} ndcg@5"
    assert f"trees: means over 2 seeds, whose standard deviation is {deviation}" in (
        result.table.notes
    )
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "s.trec",
        "svm.trec",
        "trees.seed0.trec",
        "trees.seed1.trec",
    ]


def test_written_files_say_the_same(folds, tmp_path):
    rankers = {"svm": RankerGrid(RankSVM(), GRID), "A, b": SubsetRegression()}
    result = Experiment(rankers, measures=["ndcg@5", "map"], preset="letor4").run(
        folds, tmp_path / "out", command="some command"
    )
    folder = tmp_path / "out"
    assert (folder / "table.txt").read_text() == result.table.to_text() + "\n"
    assert (folder / "table.md").read_text() == result.table.to_markdown() + "\n"
    assert (folder / "table.tex").read_text() == result.table.to_latex() + "\n"
    assert "Conventions of preset letor4: " in result.table.to_latex()
    qrels, run = load_qrels(folder / "qrels.txt"), load_run(folder / "runs/svm.trec")
    assert len(qrels.y) == len(run.scores) == sum(len(f.test.y) for f in folds)
    grades = dict(zip(zip(qrels.groups, qrels.docids), qrels.y))
    y = np.array([grades[key] for key in zip(run.groups, run.docids)])
    ndcg = get_measure("ndcg@5", preset="letor4")
    value = evaluate_measure(ndcg, y, run.scores, groups=run.groups)
    assert value == pytest.approx(result.table.means[0, 0])
    assert (folder / "runs" / "A_b.trec").is_file()
    table = pd.read_csv(folder / "per_query.tsv", sep="\t")
    assert len(table) == 2 * result.table.n_queries
    means = table.groupby("ranker")["map"].mean()
    assert means["svm"] == pytest.approx(result.table.means[0, 1])
    chosen = pd.read_csv(folder / "chosen.tsv", sep="\t")
    assert chosen["ranker"].tolist() == ["svm", "A, b"] * 3
    record = json.loads((folder / "results.json").read_text())
    assert record["experiment"]["command"] == "some command"
    assert [f["name"] for f in record["folds"]] == ["Fold1", "Fold2", "Fold3"]
    assert record["versions"]["numpy"] == np.__version__
    assert record["table"] == json.loads(json.dumps(result.table.to_dict()))
    assert len(list((folder / "trainings").iterdir())) == result.n_trained == 12


def test_nothing_is_trained_twice(folds, tmp_path):
    rankers = {"svm": RankerGrid(RankSVM(), GRID), "s": SubsetRegression()}
    first = Experiment(rankers).run(folds, tmp_path)
    seen = []
    second = Experiment(rankers).run(folds, tmp_path, callback=seen.append)
    assert (first.n_trained, first.n_stored) == (12, 0)
    assert (second.n_trained, second.n_stored, second.n_unused) == (0, 12, 0)
    assert seen == []
    assert str(second) == str(first)
    # Another measure, or a part of the rankers, needs no training either.
    third = Experiment({"svm": rankers["svm"]}, measures="err").run(folds, tmp_path)
    assert (third.n_trained, third.n_stored, third.n_unused) == (0, 9, 3)


def test_runs_of_other_rankers_do_not_stay(folds, tmp_path):
    rankers = {"svm": RankSVM(), "regression": SubsetRegression()}
    Experiment(rankers).run(folds, tmp_path)
    (tmp_path / "runs" / "mine.trec").write_text("")
    Experiment({"svm": RankSVM()}).run(folds, tmp_path)
    names = {path.stem for path in (tmp_path / "runs").iterdir()}
    assert names == {"svm", "mine"}


class Untagged:
    """A ranker without the tags of scikit-learn."""

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def test_a_ranker_needs_no_tags(folds, tmp_path):
    Experiment({"mine": Untagged()}, measures="map").run(folds, tmp_path)
    values = [
        evaluate_measure("map", f.test.y, f.test.X[:, 0], groups=f.test.groups)
        for f in folds
    ]
    found = pd.read_csv(tmp_path / "folds.tsv", sep="\t")
    np.testing.assert_allclose(found["map"][: len(folds)], values)


def test_what_has_changed_is_trained_again(letor_folds, tmp_path):
    rankers = {"svm": RankerGrid(RankSVM(), GRID)}
    first = Experiment(rankers).run(letor_folds, tmp_path)
    path = letor_folds[1].paths["train"]
    path.write_text(path.read_text().replace("\n0 qid", "\n1 qid", 1))
    again = load_letor_folds(tmp_path / "data", dtype=np.float64)
    second = Experiment(rankers).run(again, tmp_path)
    assert first.n_trained == 9
    assert (second.n_trained, second.n_stored, second.n_unused) == (3, 6, 3)
    wider = {"svm": RankerGrid(RankSVM(margin=2.0), GRID)}
    assert Experiment(wider).run(again, tmp_path).n_trained == 9
    options = [
        {"features": "1-2"},
        {"scaler": StandardScaler()},
        {"early_stopping": True},
    ]
    for each in options:
        assert Experiment(rankers, **each).run(again, tmp_path).n_trained == 9


def test_a_damaged_file_is_trained_again(folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    first = Experiment(rankers).run(folds, tmp_path)
    paths = sorted((tmp_path / "trainings").iterdir())
    paths[0].write_bytes(paths[0].read_bytes()[:100])
    paths[1].write_text("")
    second = Experiment(rankers).run(folds, tmp_path)
    assert (second.n_trained, second.n_stored) == (2, 1)
    assert str(second) == str(first)


def test_any_damaged_byte_is_that_of_a_damaged_file(folds, tmp_path):
    Experiment({"s": SubsetRegression()}).run(folds, tmp_path)
    path = min((tmp_path / "trainings").iterdir())
    content = path.read_bytes()
    with np.load(path) as file:
        scores = {part: file[part] for part in ("vali", "test")}
    stored = path.parent, path.stem, {part: len(s) for part, s in scores.items()}
    assert load_stored(*stored) is not None
    for i in range(len(content)):
        path.write_bytes(content[:i])
        assert load_stored(*stored) is None
        for mask in (1, 32, 255):  # 1 says that a member is encrypted
            path.write_bytes(
                content[:i] + bytes([content[i] ^ mask]) + content[i + 1 :]
            )
            if (found := load_stored(*stored)) is not None:
                for part, values in scores.items():
                    np.testing.assert_array_equal(found.scores[part], values)


def members_of(path):
    """Content of the members of an archive, by their names."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _header(line):
    """Return an array of NumPy's format whose header is a line of one's own."""
    line = line.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("about", {"seconds": 10**400, "warnings": []}),
        ("about", {"seconds": math.nan, "warnings": []}),
        ("about", {"seconds": math.inf, "warnings": []}),
        ("about", {"seconds": -1.0, "warnings": []}),
        ("about", {"seconds": "1", "warnings": []}),
        ("about", {"seconds": 1.0, "warnings": [1]}),
        ("about", {"seconds": 1.0, "warnings": "no"}),
        ("about", {"warnings": []}),
        ("about", []),
        (
            "vali",
            _header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**30,)}"),
        ),
        (
            "vali",
            _header("{'descr': '<f8', 'fortran_order': False, 'shape': (%s,)}" % 9**30),
        ),
        ("vali", _header("{'descr': '<f8', 'fortran_order': False, 'shape': (5L,\n")),
        ("vali", _header("(" * 60)),
        ("vali", _header("if a:\n    b\n  c")),
    ],
)
def test_edited_files_are_trained_again(member, content, folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    Experiment(rankers).run(folds, tmp_path)
    path = min((tmp_path / "trainings").iterdir())
    members = members_of(path)
    if member == "about":
        buffer = io.BytesIO()
        np.save(buffer, np.array(json.dumps(content)))
        content = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in members.items():
            archive.writestr(name, content if name == f"{member}.npy" else old)
    second = Experiment(rankers).run(folds, tmp_path)
    assert (second.n_trained, second.n_stored) == (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"runs": 5}',
        '{"runs": [1, null, ["a"], "..", "../x", "a\\u0000b", "folder", "gone"]}',
        "[1]",
        '"runs"',
        "\ud800",
    ],
)
def test_a_record_of_an_earlier_run_that_was_edited_is_passed_over(
    text, folds, tmp_path
):
    (tmp_path / "runs" / "folder.trec").mkdir(parents=True)
    (tmp_path / "x.trec").touch()
    record = tmp_path / "results.json"
    record.write_text(text, encoding="utf-8", errors="surrogatepass")
    Experiment({"s": SubsetRegression()}).run(folds, tmp_path)
    assert json.loads(record.read_text())["runs"] == ["s"]
    assert (tmp_path / "x.trec").exists()


def test_files_with_members_twice_are_trained_again(folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    Experiment(rankers).run(folds, tmp_path)
    path = min((tmp_path / "trainings").iterdir())
    content = members_of(path)["vali.npy"]
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Dupl"):
        archive.writestr("vali.npy", content)
    second = Experiment(rankers).run(folds, tmp_path)
    assert (second.n_trained, second.n_stored) == (1, 2)


def test_files_of_other_trainings_are_trained_again(folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    Experiment(rankers).run(folds, tmp_path)
    first, second, _ = sorted((tmp_path / "trainings").iterdir())
    first.write_bytes(second.read_bytes())
    again = Experiment(rankers).run(folds, tmp_path)
    assert (again.n_trained, again.n_stored) == (1, 2)


def test_packed_files_are_trained_again(folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    Experiment(rankers).run(folds, tmp_path)
    paths = sorted((tmp_path / "trainings").iterdir())
    members = members_of(paths[0])
    with zipfile.ZipFile(paths[0], "w") as archive:
        for name, content in members.items():
            packed = zipfile.ZIP_DEFLATED if name == "vali.npy" else zipfile.ZIP_STORED
            archive.writestr(name, content, packed)
    second = Experiment(rankers).run(folds, tmp_path)
    assert (second.n_trained, second.n_stored) == (1, 2)


def test_what_is_no_file_is_refused(folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    Experiment(rankers).run(folds, tmp_path)
    path = min((tmp_path / "trainings").iterdir())
    makers = [os.mkdir, *([os.mkfifo] if hasattr(os, "mkfifo") else [])]
    for make, remove in zip(makers, (os.rmdir, os.unlink)):
        path.unlink()
        make(path)
        with pytest.raises(ValueError, match=f"{path.name} must be a file"):
            Experiment(rankers).run(folds, tmp_path)
        remove(path)
        path.touch()


@pytest.mark.parametrize("part", ["vali", "test"])
@pytest.mark.parametrize(
    "change",
    [
        lambda scores: scores[:-1],
        lambda scores: np.append(scores, 0.0),
        lambda scores: np.append(scores[:-1], np.nan),
        lambda scores: scores[:, None],
        lambda scores: np.append(scores[:-1], np.inf),
        lambda scores: scores.astype(str),
        lambda scores: scores.astype(complex),
        lambda scores: scores.astype(int),
        lambda scores: np.zeros(len(scores), dtype="M8[s]"),
    ],
    ids=[
        "shorter",
        "longer",
        "NaN",
        "column",
        "inf",
        "text",
        "complex",
        "whole",
        "dates",
    ],
)
def test_scores_of_other_documents_are_made_again(change, part, folds, tmp_path):
    rankers = {"s": SubsetRegression()}
    first = Experiment(rankers).run(folds, tmp_path)
    path = min((tmp_path / "trainings").iterdir())
    with np.load(path) as file:
        members = dict(file)
    np.savez(path, **members | {part: change(members[part])})
    second = Experiment(rankers).run(folds, tmp_path)
    assert second.n_trained == 1
    assert str(second) == str(first)


def bits(folder):
    """Bytes of all results that do not tell times."""
    names = ["table.txt", "per_query.tsv", "qrels.txt", "runs"]
    files = [f for n in names for f in sorted([folder / n, *(folder / n).glob("*")])]
    found = {f.name: f.read_bytes() for f in files if f.is_file()}
    for path in sorted((folder / "trainings").iterdir()):
        with np.load(path) as file:
            found[path.stem] = [file[part].tobytes() for part in ("vali", "test")]
    return found


def test_the_number_of_jobs_does_not_change_a_bit(letor_folds, folds, tmp_path):
    rankers = {
        "svm": RankerGrid(RankSVM(), {"alpha": [1e-3, 1e-1]}),
        "net": LambdaRank(max_iter=3, hidden_layer_sizes=(8,)),
        "trees": LambdaMART(n_estimators=5),
    }
    for name, data in (("files", letor_folds), ("memory", folds)):
        for n_jobs in (1, 2):
            experiment = Experiment(rankers, n_jobs=n_jobs, early_stopping=True)
            experiment.run(data, tmp_path / f"{name}{n_jobs}")
        one, two = bits(tmp_path / f"{name}1"), bits(tmp_path / f"{name}2")
        assert len(one) == 12 + 6
        assert one == two


KILLED = """
import sys
import numpy as np
from skrank.datasets import load_letor_folds
from skrank.experiments import Experiment
from test_experiment_slow import Slow

folds = load_letor_folds(sys.argv[1], dtype=np.float64)
Experiment({"slow": Slow()}).run(folds, sys.argv[2])
"""
SLOW = """
import time
from sklearn.base import BaseEstimator

class Slow(BaseEstimator):
    def fit(self, X, y):
        print("fit", flush=True)
        time.sleep(0.5)
        return self

    def predict(self, X):
        return X[:, 0]
"""


def test_a_killed_experiment_goes_on(letor_folds, tmp_path):
    (tmp_path / "test_experiment_slow.py").write_text(SLOW)
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "data"), str(out)]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        for _ in range(2):  # the first has been stored when the second begins
            assert process.stdout.readline() == "fit\n"
        process.send_signal(signal.SIGKILL)
    assert not (out / "table.txt").exists()
    stored = list((out / "trainings").iterdir())
    assert len(stored) == 1
    times = [path.stat().st_mtime_ns for path in stored]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert found.stdout == "fit\nfit\n"
    assert [path.stat().st_mtime_ns for path in stored] == times
    assert (out / "table.txt").is_file()


def test_a_failure_is_reported_and_tried_again(folds, tmp_path):
    rankers = {
        "own": RankerGrid(Failing(), {"at": [None, "fit"]}),
        "s": SubsetRegression(),
        "lost": RankerGrid(Failing("predict")),
    }
    seen = []
    result = Experiment(rankers).run(folds, tmp_path, callback=seen.append)
    assert result.table.systems == ("own", "s")
    assert "lost failed and left out" in result.table.notes
    assert [(f["ranker"], f["fold"]) for f in result.failures] == [
        pair for n in (1, 2, 3) for pair in (("own", f"Fold{n}"), ("lost", f"Fold{n}"))
    ]
    assert result.failures[0]["error"] == "RuntimeError: it does not fit"
    assert "infinite" in result.failures[1]["error"]
    assert {each["params"]["at"] for each in result.chosen if each["params"]} == {None}
    assert [p.error != "" for p in seen].count(True) == 6
    assert [p.done for p in seen] == list(range(1, 13))
    assert {p.total for p in seen} == {12}
    assert seen[-1].seconds_left == 0
    again = Experiment(rankers).run(folds, tmp_path)
    assert (again.n_trained, again.n_stored, len(again.failures)) == (0, 6, 6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_ends_the_program_is_a_failure(folds, tmp_path, n_jobs):
    rankers = {"own": RankerGrid(Failing(), {"at": [None, "exit"]})}
    result = Experiment(rankers, n_jobs=n_jobs).run(folds, tmp_path)
    assert [each["error"] for each in result.failures] == ["SystemExit: 0"] * 3
    assert result.table.systems == ("own",)


def test_nothing_to_compare(folds, tmp_path):
    with pytest.raises(
        ValueError, match="the first problem: RuntimeError: it does not"
    ):
        Experiment({"a": Failing("fit")}).run(folds, tmp_path)
    rankers = {"a": Failing("fit"), "b": SubsetRegression()}
    with pytest.raises(ValueError, match="reference 'a' has failed on a fold"):
        Experiment(rankers, reference="a").run(folds, tmp_path)


def test_warnings_of_fits_are_counted(folds, tmp_path):
    rankers = {"a": Failing("warn")}
    expected = [
        {"ranker": "a", "warning": "ConvergenceWarning: not quite there", "count": 3}
    ]
    for _ in range(2):  # stored with the training
        assert Experiment(rankers).run(folds, tmp_path).warnings == expected


def test_subsets_of_features(ranking, folds, tmp_path):
    X, y, groups = ranking
    rankers = {
        "two": RankerGrid(RankSVM(), features="1,4"),
        "others": RankSVM(),
    }
    result = Experiment(rankers, features=[2, 3, 5]).run(folds, tmp_path / "a")
    for name, columns in (("two", [0, 3]), ("others", [1, 2, 4])):
        part = make_folds(X[:, columns], y, groups, n_splits=3)
        alone = Experiment({name: RankSVM()}).run(part, tmp_path / name)
        np.testing.assert_array_equal(
            result.table.per_query["map"][name], alone.table.per_query["map"][name]
        )
    with pytest.raises(ValueError, match="features names '9', which is no feature"):
        Experiment(rankers, features="9").run(folds, tmp_path / "b")


def test_frames_with_names_of_features(ranking, tmp_path):
    X, y, groups = ranking
    frame = pd.DataFrame(X, columns=list("abcde"))
    folds = make_folds(frame, y, groups, n_splits=3)
    rankers = {"s": SubsetRegression()}
    result = Experiment(rankers, features="b,e").run(folds, tmp_path / "a")
    part = make_folds(X[:, [1, 4]], y, groups, n_splits=3)
    alone = Experiment(rankers).run(part, tmp_path / "b")
    np.testing.assert_allclose(result.table.means, alone.table.means)


@pytest.mark.parametrize("scaler", [StandardScaler(), QueryStandardScaler()])
def test_features_are_scaled_by_the_training_documents(folds, tmp_path, scaler):
    result = Experiment({"r": Ridge(alpha=50)}, scaler=scaler).run(folds, tmp_path)
    X, y, _ = folds[0].train
    of = lambda part: {"groups": part.groups} if "Query" in repr(scaler) else {}
    model = Ridge(alpha=50).fit(scaler.fit(X).transform(X, **of(folds[0].train)), y)
    test = folds[0].test
    scores = model.predict(scaler.transform(test.X, **of(test)))
    expected = evaluate_measure(
        "map", test.y, scores, groups=test.groups, per_query=True
    )
    tested = np.isin(result.table.query_ids, test.groups)
    np.testing.assert_allclose(result.table.per_query["map"]["r"][tested], expected)


def test_early_stopping_sees_the_validation_queries(folds, tmp_path):
    make = lambda **more: LambdaRank(max_iter=8, n_iter_no_change=1, **more)
    rankers = {"net": RankerGrid(make(), early_stopping=True), "r": Ridge()}
    result = Experiment(rankers, measures="err@3").run(folds, tmp_path)
    fold = folds[2]
    model = make(random_state=0, validation_measure="err@3").fit(
        *fold.train, X_val=fold.vali.X, y_val=fold.vali.y, groups_val=fold.vali.groups
    )
    expected = evaluate_measure(
        "err@3",
        fold.test.y,
        model.predict(fold.test.X),
        groups=fold.test.groups,
        per_query=True,
    )
    tested = np.isin(result.table.query_ids, fold.test.groups)
    np.testing.assert_allclose(result.table.per_query["err@3"]["net"][tested], expected)
    # All that can take them are given them, the others are left alone.
    both = Experiment({"net": make(), "r": Ridge()}, early_stopping=True)
    assert both.run(folds, tmp_path).table.systems == ("net", "r")
    with pytest.raises(
        ValueError, match=r"rankers\['r'\]: early_stopping needs a ranker"
    ):
        Experiment({"r": RankerGrid(Ridge(), early_stopping=True)}).run(folds, tmp_path)


def test_a_measure_of_stopping_that_is_given_stays(folds, tmp_path):
    net = LambdaRank(max_iter=2, validation_measure="mrr")
    grid = RankerGrid(net, early_stopping=True)
    plan = Experiment({"net": grid}, measures="map")._plan(folds, tmp_path)
    measures = {t.estimator.validation_measure for t in plan.trainings.values()}
    assert measures == {"mrr"}


def test_data_that_change_during_the_run_are_noticed(letor_folds, tmp_path):
    class Changing(list):
        """Folds whose file changes when it is read for the second time."""

        count = 0

        def __getitem__(self, i):
            fold = super().__getitem__(i)
            self.count += 1
            path = fold.paths["train"]
            path.write_text(path.read_text().replace("\n0 qid", "\n1 qid", 1))
            return fold.unread()

    folds = Changing(letor_folds)
    with pytest.raises(ValueError, match="the data of Fold1 have changed during"):
        Experiment({"s": SubsetRegression()}).run(folds, tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rankers": {}}, "rankers must be a mapping with at least one ranker"),
        ({"rankers": {1: RankSVM()}}, "rankers must be a mapping whose keys are names"),
        ({"rankers": {"a\n": RankSVM()}}, r"on one line, got \['a\\n'\]"),
        ({"rankers": {"a": 3}}, r"rankers\['a'\] must be an estimator with fit"),
        ({"reference": "b"}, "reference must be the name of a ranker, one of a"),
        ({"seeds": 0}, "seeds must be a whole number"),
        ({"selection": "ndgc"}, "selection"),
        ({"measures": []}, "measures must be named once each"),
        ({"scaler": 3}, "scaler must be a transformer or None"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_mistakes(folds, tmp_path, options, message):
    experiment = Experiment(**{"rankers": {"a": RankSVM()}, **options})
    with pytest.raises((TypeError, ValueError), match=message):
        experiment.run(folds, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_mistakes_of_folds(folds, tmp_path):
    experiment = Experiment({"a": RankSVM()})
    (tmp_path / "file").write_text("")
    cases = [
        ([], "folds must be a sequence of folds"),
        ("Fold1", "folds must be a sequence of folds"),
        ([1], "folds must hold folds with name, train, vali, test"),
        ([folds[0], folds[0]], "folds must have different names"),
    ]
    for given, message in cases:
        with pytest.raises((TypeError, ValueError), match=message):
            experiment.run(given, tmp_path / "out")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        experiment.run(folds, tmp_path / "file")
    twice = [
        folds[0],
        type(folds[0])("other", folds[1].train, folds[1].vali, folds[0].test),
    ]
    with pytest.raises(ValueError, match="folds must test each query once, but query"):
        experiment.run(twice, tmp_path / "out")


def test_names_of_documents_are_those_of_the_files(tmp_path):
    rng = np.random.default_rng(0)
    for part, queries in (("train", "abc"), ("vali", "de"), ("test", "fg")):
        groups = np.repeat(list(queries), 4)
        X, y = rng.random((len(groups), 2)), rng.integers(0, 2, len(groups))
        docids = [f"{part}{i}" if part == "test" else "" for i in range(len(groups))]
        (tmp_path / "Fold1").mkdir(exist_ok=True)
        path = tmp_path / "Fold1" / f"{part}.txt"
        dump_letor(X, y, groups, path, docids=docids if part == "test" else None)
    folds = load_letor_folds(tmp_path)
    Experiment({"s": SubsetRegression()}).run(folds, tmp_path / "out")
    run = load_run(tmp_path / "out" / "runs" / "s.trec")
    assert sorted(run.docids.tolist()) == [f"test{i}" for i in range(8)]
