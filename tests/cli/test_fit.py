"""``skrank fit``, ``predict`` and ``rank``."""

import json
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.aggregation import Borda
from skrank.cli._names import rankers
from skrank.datasets import dump_letor, load_letor, load_run
from skrank.export import load_model, save_model
from skrank.losses import LogLoss, SquaredHingeLoss
from skrank.metrics import get_measure, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from skrank.rankers import EnergyRanker, ListNet, RankNet, RankSVM, SubsetRegression
from skrank.retrieval import TextRanker
from skrank.text import BM25, InvertedIndex


def fitted(ranker, letor, **kwargs):
    return ranker.fit(*load_letor(letor / "train.txt"), **kwargs)


def test_fit_reports_what_the_library_computes(ok, letor, tmp_path):
    out = tmp_path / "out.json"
    text = ok(
        "fit", letor / "train.txt", "--ranker", "RankSVM", "--set", "alpha=1e-2",
        "--test", letor / "test.txt", "--metrics", "ndcg@5,map", "--json", out,
    )  # fmt: skip
    document = json.loads(out.read_text())
    ranker = fitted(RankSVM(alpha=1e-2), letor)
    for part, name in (("train", "train.txt"), ("test", "test.txt")):
        X, y, groups = load_letor(letor / name)
        expected = ndcg_score(y, ranker.predict(X), groups=groups, k=5)
        found = document["runs"][0]["sets"][part]
        assert found["metrics"]["ndcg@5"] == expected
        assert found["documents"] == len(y)
        assert found["queries"] == len(np.unique(groups))
        assert f"{expected:.4f}" in text
    assert set(document) == {
        "command", "version", "ranker", "params", "normalize", "preset", "metrics",
        "runs", "mean", "model", "left_out", "conventions",
    }  # fmt: skip
    assert document["command"] == "fit"
    told = document["conventions"]
    assert told.startswith("Conventions: gain 2^y - 1; ")
    assert f"{told}." in " ".join(text.split())
    assert document["params"]["alpha"] == "0.01"
    assert document["mean"]["test"] == document["runs"][0]["sets"]["test"]["metrics"]


def test_json_to_the_standard_output_replaces_the_text(ok, letor):
    out = ok("fit", letor / "train.txt", "--ranker", "ranksvm", "--json", "-")
    assert json.loads(out)["ranker"] == "RankSVM"


def test_validation_stops_early_as_in_the_library(ok, letor, tmp_path):
    model = tmp_path / "model"
    ok(
        "fit", letor / "train.txt", "--validation", letor / "vali.txt",
        "--ranker", "ListNet", "--save", model,
    )  # fmt: skip
    X, y, groups = load_letor(letor / "vali.txt")
    expected = fitted(ListNet(), letor, X_val=X, y_val=y, groups_val=groups)
    assert load_model(model).coef_.tolist() == expected.coef_.tolist()


def test_several_validation_files_and_measures(ok, letor, tmp_path, capsys):
    """The model is that of the library; the last file decides, the text shows both."""
    model, former, latter = tmp_path / "model", letor / "test.txt", letor / "vali.txt"
    out = ok(
        "fit", letor / "train.txt", "--validation", former, "--vali", latter,
        "--ranker", "ListNet", "--validation-measures", "map,ndcg@5",
        "--save", model, "--normalize", "standard",
    )  # fmt: skip
    sets = [line.split()[0] for line in out.splitlines()[5:8]]
    assert sets == ["train", "validation_0", "validation_1"]

    train = load_letor(letor / "train.txt")
    scaler = StandardScaler().fit(train.X)
    held = [load_letor(path) for path in (former, latter)]
    expected = ListNet(validation_measure=["map", "ndcg@5"]).fit(
        scaler.transform(train.X),
        train.y,
        train.groups,
        X_val=[scaler.transform(each.X) for each in held],
        y_val=[each.y for each in held],
        groups_val=[each.groups for each in held],
    )
    pipe: Any = load_model(model)
    loaded = pipe[-1]
    assert loaded.coef_.tolist() == expected.coef_.tolist()
    last = expected.evals_result_["validation_1"]["map"]
    np.testing.assert_array_equal(loaded.validation_curve_, last)


def test_progress_shows_every_set_and_measure(run, letor):
    code, _, err = run(
        "fit", letor / "train.txt", "-v", "--vali", letor / "test.txt",
        "--vali", letor / "vali.txt", "--ranker", "LambdaMART", "--set",
        "n_estimators=2", "--validation-measures", "map,ndcg@5",
    )  # fmt: skip
    lines = [line for line in err.splitlines() if "iteration" in line]
    assert (code, len(lines)) == (0, 2)
    for line in lines:  # the objective of lambdas may rise, and the measure is shown
        words = re.sub(r"(?<= )[.\d]+(?= |$)", "?", line.split("iteration")[1]).split()
        two = ["map", "?", "ndcg@5", "?"]
        names = ("training", "validation_0", "validation_1")
        assert words == ["?", *(word for name in names for word in (name, *two))]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--ranker", "MART", "--validation-measures", "map"),
            "--validation-measures has no effect without validation queries: add "
            "--validation FILE, or --set early_stopping=True",
        ),
        (
            ("--ranker", "SubsetRegression", "--validation-measures", "map"),
            "--validation-measures: SubsetRegression does not stop early",
        ),
        (
            ("--ranker", "ListNet", "--validation-measures", ","),
            "--validation-measures is empty; name measures, as in ndcg@10,map",
        ),
        (
            (
                "--ranker", "ListNet", "--validation-measures", "map",
                "--set", "validation_measure=map",
            ),
            "--validation-measures and --set validation_measure exclude each other",
        ),
    ],
)  # fmt: skip
def test_validation_measures_that_cannot_be(fails, letor, arguments, message):
    assert fails("fit", letor / "train.txt", *arguments) == message


@pytest.mark.parametrize(
    ("option", "scaler"),
    [
        ("query-minmax", QueryMinMaxScaler()),
        ("query-standard", QueryStandardScaler()),
        ("standard", StandardScaler()),
    ],
)
def test_normalisation_is_learned_saved_and_applied(
    ok, letor, tmp_path, option, scaler
):
    model = tmp_path / "model"
    ok(
        "fit", letor / "train.txt", "--validation", letor / "vali.txt",
        "--ranker", "RankSVM", "--normalize", option, "--save", model,
    )  # fmt: skip
    scores = ok("predict", model, letor / "test.txt").split()
    scaler.fit(load_letor(letor / "train.txt").X)

    def scaled(part):
        X, y, groups = load_letor(letor / f"{part}.txt")
        extra = {} if option == "standard" else {"groups": groups}
        return scaler.transform(X, **extra), y, groups

    X_val, y_val, groups_val = scaled("vali")
    ranker = RankSVM().fit(
        *scaled("train"), X_val=X_val, y_val=y_val, groups_val=groups_val
    )
    assert [float(s) for s in scores] == ranker.predict(scaled("test")[0]).tolist()


def test_predict_writes_exact_scores_and_reads_compressed_text(ok, letor, tmp_path):
    import gzip

    model, scores = tmp_path / "model", tmp_path / "scores.txt"
    packed = tmp_path / "test.txt.gz"
    packed.write_bytes(gzip.compress((letor / "test.txt").read_bytes()))
    ranker = fitted(RankSVM(), letor)
    save_model(ranker, model)
    assert ok("predict", model, packed, "-o", scores) == ""
    expected = ranker.predict(load_letor(letor / "test.txt").X)
    assert [float(s) for s in scores.read_text().split()] == expected.tolist()


def test_a_file_without_the_last_features_is_padded(ok, letor, tmp_path):
    save_model(fitted(RankSVM(), letor), tmp_path / "model")
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    coef = load_model(tmp_path / "model").coef_
    scores = ok("predict", tmp_path / "model", tmp_path / "data.txt").split()
    assert [float(s) for s in scores] == pytest.approx(coef[:2].tolist())


def test_rank_writes_a_run_in_the_order_of_the_scores(ok, letor, tmp_path):
    ranker = fitted(RankSVM(), letor)
    save_model(ranker, tmp_path / "model")
    ok("rank", tmp_path / "model", letor / "test.txt", "-o", tmp_path / "run",
       "--tag", "svm")  # fmt: skip
    data = load_letor(letor / "test.txt")
    run = load_run(tmp_path / "run")
    assert run.tag == "svm"
    pairs = zip(data.groups.tolist(), data.docids.tolist())
    expected = dict(zip(pairs, ranker.predict(data.X).tolist()))
    keys = zip(map(int, run.groups), run.docids)
    assert dict(zip(keys, run.scores.tolist())) == expected
    ranks = [line.split()[3] for line in (tmp_path / "run").read_text().splitlines()]
    sizes = [np.sum(data.groups == g) for g in dict.fromkeys(data.groups.tolist())]
    assert ranks == [str(r) for size in sizes for r in range(1, size + 1)]
    for group in np.unique(run.groups):
        assert np.all(np.diff(run.scores[run.groups == group]) <= 0)


def test_rank_names_documents_by_their_line(ok, tmp_path, letor):
    save_model(fitted(RankSVM(), letor), tmp_path / "model")
    (tmp_path / "data.txt").write_text("1 qid:a 1:1\n0 qid:a 2:1\n0 qid:b 1:1\n")
    out = ok("rank", tmp_path / "model", tmp_path / "data.txt", "-k", "1")
    names = [line.split()[2] for line in out.splitlines()]
    assert len(names) == 2
    assert names[0] in ("line1", "line2")
    assert names[1] == "line3"


def test_rank_of_queries_in_any_order_and_of_ties(ok, tmp_path):
    """The larger name first, as in trec_eval; names belong to their query."""
    save_model(RankSVM().fit(np.eye(2), [1, 0], [1, 1]), tmp_path / "model")
    names = ["b x 1", "a x 2", "b y 1", "a w 1", "b v 2"]
    lines = [
        f"0 qid:{query} {feature}:1 #docid = {name}"
        for query, name, feature in map(str.split, names)
    ]
    (tmp_path / "data").write_text("\n".join(lines) + "\n")
    rows = ok("rank", tmp_path / "model", tmp_path / "data").splitlines()
    fields = [row.split() for row in rows]
    assert sorted((query, rank, name) for query, _, name, rank, *_ in fields) == [
        ("a", "1", "w"), ("a", "2", "x"), ("b", "1", "y"), ("b", "2", "x"),
        ("b", "3", "v"),
    ]  # fmt: skip
    assert {tag for *_, tag in fields} == {"skrank"}


def test_cross_validation_reports_every_fold_and_the_mean(ok, letor):
    out = ok(
        "fit", letor / "train.txt", "--ranker", "RankSVM", "--folds", 3,
        "--metrics", "map", "--seed", 5, "--json", "-",
    )  # fmt: skip
    document = json.loads(out)
    X, y, groups = load_letor(letor / "train.txt")
    measure, expected = get_measure("map"), []
    splitter = QueryKFold(3, shuffle=True, random_state=5)
    for train, test in splitter.split(X, y, groups):
        ranker = RankSVM(random_state=5).fit(X[train], y[train], groups[train])
        from skrank.metrics import evaluate_measure

        scores = ranker.predict(X[test])
        expected.append(evaluate_measure(measure, y[test], scores, groups=groups[test]))
    found = [run["sets"]["test"]["metrics"]["map"] for run in document["runs"]]
    assert found == pytest.approx(expected)
    assert document["mean"]["test"]["map"] == pytest.approx(np.mean(expected))
    assert [run["name"] for run in document["runs"]] == ["fold 1", "fold 2", "fold 3"]


def test_cross_validation_saves_a_model_of_all_queries(ok, letor, tmp_path):
    model = tmp_path / "model"
    ok("fit", letor / "train.txt", "--ranker", "RankSVM", "--folds", 2, "--save", model)
    expected = fitted(RankSVM(), letor)
    assert load_model(model).coef_.tolist() == expected.coef_.tolist()


def test_letor_folds(ok, letor, tmp_path):
    for i in (1, 2):
        fold = tmp_path / "data" / f"Fold{i}"
        fold.mkdir(parents=True)
        for part in ("train", "vali", "test"):
            (fold / f"{part}.txt").write_bytes((letor / f"{part}.txt").read_bytes())
    out = ok("fit", "--letor-folds", tmp_path / "data", "--ranker", "SubsetRegression")
    lines = out.splitlines()
    starts = [" ".join(line.split()[:2]) for line in lines[5:14]]
    sets = ("train", "validation", "test")
    assert starts == [f"{name} {part}" for name in ("Fold1", "Fold2") for part in sets
                      ] + [f"mean {part}" for part in sets]  # fmt: skip


def test_parts_and_nested_parameters(ok, letor, tmp_path):
    ok(
        "fit", letor / "train.txt", "--ranker", "EnergyRanker",
        "--set", "energy__hidden_layer_sizes=[4]", "--set", "energy=MLPEnergy",
        "--set", "loss=ListNetLoss", "--set", "solver=Adam",
        "--set", "solver__max_iter=3", "--set", "solver__learning_rate=0.5",
        "--seed", 3, "--jobs", 1, "--save", tmp_path / "model",
    )  # fmt: skip
    model = load_model(tmp_path / "model")
    assert isinstance(model, EnergyRanker)
    assert repr(model.solver) == "Adam(learning_rate=0.5, max_iter=3)"
    assert model.energy.hidden_layer_sizes == [4]
    assert (model.random_state, model.n_jobs, model.n_iter_) == (3, 1, 3)
    again = fitted(clone(model), letor)
    assert again.params_.tolist() == model.params_.tolist()


def test_a_scikit_learn_regressor_by_name(ok, letor, tmp_path):
    ok("fit", letor / "train.txt", "--ranker", "SubsetRegression",
       "--set", "estimator=Lasso", "--set", "estimator__alpha=0.01",
       "--save", tmp_path / "model")  # fmt: skip
    model = load_model(tmp_path / "model")
    assert isinstance(model, SubsetRegression)
    assert repr(model.estimator_) == "Lasso(alpha=0.01)"


def test_verbose_goes_to_the_error_output_and_not_into_the_model(run, letor, tmp_path):
    model = tmp_path / "model"
    code, out, err = run(
        "fit", letor / "train.txt", "--ranker", "RankSVM", "-v", "--save", model
    )
    assert code == 0
    assert "iteration" not in out
    assert "skrank: RankSVM: iteration     1  objective " in err
    assert load_model(model).callback is None


def test_lists(ok):
    lines = ok("fit", "--list").splitlines()
    assert [line.split()[1] for line in lines if line.startswith("RankSVM")] == [
        "pairwise"
    ]
    assert "alpha=0.0001" in ok("fit", "--list", "--ranker", "RankNet")
    assert repr(RankNet().sigma) in ok("fit", "--list", "--ranker", "RankNet")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "fit takes either a training file or --letor-folds FOLDER"),
        (["absent.txt"], "absent.txt: No such file or directory"),
        (["TRAIN", "--ranker", "RankSVN"], "unknown ranker 'RankSVN'; did you mean "),
        (
            ["TRAIN", "--set", "alpa=1"],
            "RankSVM has no parameter 'alpa'; did you mean",
        ),
        (["TRAIN", "--set", "alpha"], "--set takes PARAM=VALUE, got 'alpha'"),
        (
            ["TRAIN", "--set", "alpha=-1"],
            "RankSVM: alpha must be a number >= 0, got -1",
        ),
        (["TRAIN", "--set", "solver=Adan"], "unknown solver 'Adan'; did you mean"),
        (["TRAIN", "--set", "solver=x"], "unknown solver 'x'. There are: Adam, Con"),
        (
            ["TRAIN", "--set", "max_iter=many"],
            "RankSVM: max_iter must be a whole number >= 1 or None, got 'many'",
        ),
        (["TRAIN", "--set", "solver__tol=1"], "parameter solver__tol: solver is None"),
        (["TRAIN", "--metrics", "ndgc@10"], "unknown measure 'ndgc@10'"),
        (["TRAIN", "--metrics", ","], "--metrics is empty"),
        (["TRAIN", "--preset", "letor5"], "preset must be one of"),
        (["TRAIN", "--folds", "1"], "--folds must be at least 2, got 1"),
        (
            ["TRAIN", "--folds", "99"],
            "--folds must be from 2 to the number of queries, 18, got 99",
        ),
        (
            ["TRAIN", "--folds", "2", "--test", "TEST"],
            "--folds and --test exclude",
        ),
        (["TRAIN", "--letor-folds", "."], "fit takes either"),
        (["--letor-folds", "absent"], "absent: No such file or directory"),
        (["--letor-folds", "TRAIN"], "train.txt is not a folder"),
        (["--letor-folds", ".", "--save", "m"], "--save needs one model"),
        (["TRAIN", "--save", "absent/model"], "cannot write absent/model: there is no"),
        (["TRAIN", "--normalize", "query"], "argument --normalize: invalid choice"),
        *(
            (["TRAIN", "--sparse", "--normalize", name], f"--normalize {name} and --s")
            for name in ("query-minmax", "query-standard", "standard")
        ),
    ],
)
def test_mistakes(fails, letor, monkeypatch, arguments, message, tmp_path):
    monkeypatch.chdir(tmp_path)
    paths = {"TRAIN": letor / "train.txt", "TEST": letor / "test.txt"}
    arguments = [paths.get(argument, argument) for argument in arguments]
    ranker = [] if "--ranker" in arguments else ["--ranker", "RankSVM"]
    assert message in fails("fit", *arguments, *ranker)
    assert list(tmp_path.iterdir()) == []


def test_the_ranker_must_be_named(fails, letor):
    message = fails("fit", letor / "train.txt")
    assert f"--ranker is missing. There are: {', '.join(rankers())}" in message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1:0.5", "line 2: expected 'qid:' and a query id after the grade"),
        ("x qid:1 1:0.5", "line 2: expected a finite grade"),
        ("1 qid:1 1;0.5", "line 2: expected a feature 'index:value'"),
        ("-1 qid:1 1:0.5", "grades >= 0"),
    ],
)
def test_malformed_lines(fails, tmp_path, line, message):
    path = tmp_path / "bad.txt"
    path.write_text(f"1 qid:1 1:1\n{line}\n")
    model = tmp_path / "model"
    error = fails("fit", path, "--ranker", "RankSVM", "--save", model)
    assert message in error
    assert not model.exists()


def test_mistakes_of_predict_and_rank(fails, letor, tmp_path):
    model, wide = tmp_path / "model", tmp_path / "wide.txt"
    save_model(fitted(RankSVM(), letor), model)
    wide.write_text("1 qid:1 7:1\n")
    scores = tmp_path / "scores"
    assert "index of at most 6, found" in fails("predict", model, wide, "-o", scores)
    assert not scores.exists()
    assert "train.txt is damaged or not a model file" in fails(
        "predict", letor / "train.txt", letor / "test.txt"
    )
    save_model(RankSVM(), model)
    assert "RankSVM in this file is not fitted" in fails(
        "predict", model, letor / "test.txt"
    )
    for unfitted in (Ridge(), make_pipeline(StandardScaler(), RankSVM())):
        save_model(unfitted, model)
        named = f"{type(unfitted).__name__} in this file is not fitted"
        assert named in fails("predict", model, letor / "test.txt")
    others = [BM25().fit(["a b"]), BM25(), Borda(), LogLoss(), StandardScaler()]
    others += [TextRanker(RankSVM()), InvertedIndex().fit(["a"]), SquaredHingeLoss()]
    for other in others:
        save_model(other, model)
        for command in ("predict", "rank"):
            assert (
                f"{type(other).__name__} in this file is not a ranker of feature "
                "vectors; the file must hold a fitted ranker"
            ) in fails(command, model, letor / "test.txt")
    save_model(StandardScaler().fit([[1.0]]), model)
    wide.write_text("1 qid:1 1:1 #docid = a\n0 qid:1 1:1 #docid = a\n")
    assert "StandardScaler has no predict" in fails("predict", model, wide)
    save_model(SubsetRegression().fit([[1.0], [2.0]], [0, 1], [1, 1]), model)
    message = f"{wide}: docids must name a document once for a query; row 1 has 'a'"
    assert message in fails("rank", model, wide)
    (tmp_path / "a\nb").write_text(wide.read_text())
    assert r"/a\nb: docids must name a document once" in fails(
        "rank", model, tmp_path / "a\nb"
    )
    assert "-k must be at least 1" in fails("rank", model, wide, "-k", "0")
    for tag in ("a b", "", "a\x1b[31m"):
        assert "--tag must be a word" in fails("rank", model, wide, "--tag", tag)


@pytest.mark.parametrize("verbose", [(), ("-v",)])
def test_a_callback_is_no_setting(run, letor, verbose):
    command = ("fit", letor / "train.txt", "--ranker", "MART", *verbose)
    code, out, err = run(*command, "--set", "callback=print")
    assert (code, out) == (2, "")
    assert "MART: callback must be" in err


def test_no_measure_is_named_twice(fails, letor):
    command = ("fit", letor / "train.txt", "--ranker", "RankSVM", "--metrics")
    assert fails(*command, "map,ndcg@5, map") == "--metrics names 'map' twice"
    message = fails(*command, "rbp(p=0.8,p=0.9)")
    assert message == "measure 'rbp(p=0.8,p=0.9)' has the option 'p' twice"


@pytest.fixture
def faulty(tmp_path, letor):
    """Files with a fault in their last lines, and a model."""
    lines = (letor / "test.txt").read_text()
    texts = {
        "nan": f"{lines}1 qid:x 1:nan\n0 qid:x 2:1\n",
        "negative": f"{lines}-1 qid:x 1:1\n1 qid:x 1:2\n",
        "bare": "1 qid:1\n0 qid:1\n",
        "zeros": "1 qid:1 1:0\n0 qid:1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    save_model(RankSVM().fit(*load_letor(letor / "train.txt")), tmp_path / "model")
    return tmp_path


def test_files_with_faults_are_named(fails, letor, faulty):
    good, nan, negative = letor / "train.txt", faulty / "nan", faulty / "negative"
    fit = ("fit", "--ranker", "RankSVM")
    missing = f"{nan}: Input X contains NaN."
    model = faulty / "model"
    assert fails("predict", model, nan) == missing
    assert fails("rank", model, nan) == missing
    out = ("--format", "json", "-o", faulty / "out")
    assert fails("export", model, *out, "--check", nan) == missing
    assert fails(*fit, nan) == missing
    assert fails(*fit, nan, "--folds", "2") == missing
    assert fails(*fit, good, "--test", nan) == missing
    tree = ("fit", "--ranker", "MART", good)
    validation = fails("fit", "--ranker", "RankNet", good, "--validation", nan)
    assert validation == f"{nan}: Input X_val contains NaN."
    both = ("--validation", good, "--validation", nan)
    assert fails("fit", "--ranker", "RankNet", good, *both) == validation
    assert fails(*fit, negative).startswith(f"{negative}: y must hold grades >= 0; row")
    for part in ("--validation", "--test"):
        message = fails(*tree, part, negative)
        assert message.startswith(f"{negative}: y must hold grades >= 0; row")
    scores = faulty / "scores"
    scores.write_text("1\n" * len(negative.read_text().splitlines()))
    for command in (
        ("evaluate", "--scores", scores),
        ("compare", scores, f"b={scores}"),
    ):
        message = fails(*command, "--letor", negative)
        assert message.startswith(f"{negative}: y must hold grades >= 0; row")


def test_folds_with_faults_are_named(fails, letor, faulty):
    (faulty / "Fold1").mkdir()
    texts = {
        "train": faulty / "nan",
        "vali": letor / "vali.txt",
        "test": faulty / "nan",
    }
    for part, path in texts.items():
        (faulty / "Fold1" / f"{part}.txt").write_bytes(path.read_bytes())
    message = fails("fit", "--ranker", "RankNet", "--letor-folds", faulty)
    assert message == f"{faulty / 'Fold1'}: Input X contains NaN."
    url = "http://x/y"
    message = fails("fit", "--ranker", "RankNet", "--letor-folds", url)
    assert message == f"{url}: No such file or directory"


def test_a_file_without_features_is_refused(ok, fails, letor, faulty):
    bare, good, model = faulty / "bare", letor / "train.txt", faulty / "model"
    fit = ("fit", "--ranker", "RankSVM")
    message = f"{bare} holds no features"
    assert fails("predict", model, bare) == message
    assert fails("rank", model, bare) == message
    assert fails(*fit, bare) == message
    assert fails(*fit, bare, "--sparse") == message
    assert fails(*fit, good, "--test", bare) == message
    assert ok("predict", model, faulty / "zeros") == "0.0\n0.0\n"


def test_names_of_validation_queries(ok, fails, letor):
    options = ["fit", letor / "train.txt", "--ranker", "LambdaMART", "--json", "-"]
    options += ["--set", "n_estimators=2", "--seed", "0"]
    named = ["--validation", f"old={letor / 'test.txt'}"]
    both = [*named, "--validation", letor / "vali.txt"]
    sets = json.loads(ok(*options, *both))["runs"][0]["sets"]
    assert list(sets) == ["train", "old", "validation_1"]
    plain = ["--validation", letor / "test.txt", "--validation", letor / "vali.txt"]
    unnamed = json.loads(ok(*options, *plain))["runs"][0]["sets"]
    assert list(sets.values()) == list(unnamed.values())
    path = letor / "vali.txt"
    for names in (["train"], [""], ["a b"], ["a", "a"]):
        wrong = [f"{name}={path}" for name in names]
        given = [each for text in wrong for each in ("--validation", text)]
        message = fails(*options, *given)
        assert message.startswith("--validation takes [NAME=]FILE with different names")
        assert message.endswith(f"got {wrong[-1]!r}")


@pytest.mark.parametrize("more", [[], ["--sparse"], ["--normalize", "query-minmax"]])
def test_features_of_queries_have_the_numbers_of_the_file(run, letor, tmp_path, more):
    """Feature 7 varies within the last query alone, behind the first rows."""
    X, y, groups = load_letor(letor / "train.txt")
    rows = np.tile(np.arange(len(y)), 10_000 // len(y) + 1)
    groups = np.arange(len(rows)) // len(y) * 100 + groups[rows]
    last = np.arange(len(rows)) == len(rows) - 1
    X = np.column_stack([groups % 3, X[rows], last, 1.0 + groups])
    dump_letor(X, y[rows], groups, tmp_path / "train.txt")
    command = ["fit", tmp_path / "train.txt", "--ranker", "MART", *more]
    code, _, err = run(*command, "--set", "n_estimators=1")
    assert code == 0
    assert err.count("\n") == 1
    assert err.endswith("order no documents by themselves: 1, 9\n")
