"""``skrank export``."""

import json

import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skrank.cli import main
from skrank.datasets import load_letor
from skrank.export import (
    from_json,
    load_model,
    save_model,
    to_elasticsearch,
    to_json,
    to_ranklib,
    to_solr,
)
from skrank.rankers import LambdaMART, RankSVM

NAMES = ["a", "b b", "c", "d", "é", "f"]


@pytest.fixture(scope="module")
def models(letor, tmp_path_factory):
    """Files of a forest, of a scaled linear ranker and of the names of features."""
    folder = tmp_path_factory.mktemp("models")
    X, y, groups = load_letor(letor / "train.txt")
    forest = LambdaMART(n_estimators=5, min_samples_leaf=5).fit(X, y, groups)
    save_model(forest, folder / "forest")
    scaler = StandardScaler().fit(X)
    svm = RankSVM().fit(scaler.transform(X), y, groups)
    save_model(Pipeline([("scaler", scaler), ("svm", svm)]), folder / "svm")
    (folder / "names").write_text("\n".join(NAMES) + "\n\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("model", ["forest", "svm"])
def test_what_is_printed_is_what_the_library_writes(ok, models, model):
    loaded, path, named = load_model(models / model), models / model, models / "names"
    out = ok("export", path, "--format", "json")
    assert json.loads(out) == json.loads(to_json(loaded))
    out = ok("export", path, "--format", "json", "--features", named)
    assert from_json(out).feature_names_in_.tolist() == NAMES
    zero = ("--missing", "zero") if model == "forest" else ()
    out = ok("export", path, "--format", "ranklib", *zero)
    assert out == to_ranklib(loaded, missing="zero")
    options = ("--name", "m", "--features", named)
    out = ok("export", path, "--format", "elasticsearch", *options)
    assert out == to_elasticsearch(loaded, "m", feature_names=NAMES) + "\n"
    out = ok("export", path, "--format", "solr", *options, "--store", "s")
    assert out == to_solr(loaded, "m", feature_names=NAMES, store="s") + "\n"


@pytest.mark.parametrize("model", ["forest", "svm"])
@pytest.mark.parametrize(
    "options",
    [
        ("--format", "json"),
        ("--format", "ranklib"),
        ("--format", "elasticsearch", "--name", "m", "--type", "model/ranklib"),
        ("--format", "elasticsearch", "--name", "m", "--features"),
        ("--format", "solr", "--name", "m", "--features"),
    ],
    ids=" ".join,
)
def test_check_compares_with_predict(ok, models, letor, tmp_path, model, options):
    if options[-1] == "--features":
        options = (*options, models / "names")
    elif options[1] != "json" and model == "forest":
        options = (*options, "--missing", "zero")
    out = ok(
        "export", models / model, *options, "-o", tmp_path / "out",
        "--check", letor / "test.txt",
    )  # fmt: skip
    n_documents = len(load_letor(letor / "test.txt").y)
    assert out.startswith(f"{n_documents} documents of 6 queries: differences")
    assert float(out.partition("at most ")[2].partition(",")[0]) < 1e-5
    assert out.endswith(" 0 documents change their rank\n")
    assert (tmp_path / "out").stat().st_size > 100


def test_check_fails_over_what_single_precision_loses(capsys, tmp_path):
    data = tmp_path / "data"
    data.write_text("0 qid:1 1:1 2:0\n1 qid:1 1:1 2:1\n1 qid:2 1:0 2:0\n")
    ranker = RankSVM().fit(*load_letor(data))
    ranker.params_[:] = ranker.coef_[:] = [1.0, 2.0**-30]  # 1 + 2^-30 rounds to 1
    save_model(ranker, tmp_path / "model")
    for format_, expected in [("ranklib", 3), ("json", 0)]:
        out = tmp_path / f"out.{format_}"
        command = ["export", tmp_path / "model", "--format", format_, "-o", out]
        assert main([*map(str, command), "--check", str(data)]) == expected
        found = capsys.readouterr()
        off, moved = (2.0**-30, 2) if expected else (0.0, 0)
        assert found.out == (
            f"3 documents of 2 queries: differences of scores are off by at most "
            f"{off:.2g}, {moved} documents change their rank\n"
        )
        assert found.err == ""
        assert out.stat().st_size > 0


def test_what_all_documents_of_a_query_lose_is_no_difference(ok, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    # The lines of two queries take turns.
    lines = [f"{y} qid:1 1:0 2:0\n{y} qid:2 1:1 2:1\n" for y in (0, 1, 0)]
    data.write_text("".join(lines))
    ranker = RankSVM().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1], groups=[1, 1])
    ranker.params_[:] = ranker.coef_[:] = [1.0, 2.0**-30]  # 1 + 2^-30 rounds to 1
    save_model(ranker, tmp_path / "model")
    command = ["export", tmp_path / "model", "--format", "ranklib", "-o", out]
    assert ok(*command, "--check", data) == (
        "6 documents of 2 queries: differences of scores are off by at most 0, "
        "0 documents change their rank\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "xml"), "invalid choice: 'xml'"),
        ((), "the following arguments are required: --format"),
        (("--format", "json", "--name", "m"), "--format json takes no --name"),
        (
            ("--format", "ranklib", "--features", __file__),
            "ranklib takes no --features",
        ),
        (("--format", "solr", "--type", "x", "--name", "m"), "solr takes no --type"),
        (("--format", "solr"), "--format solr needs --name"),
        (("--format", "solr", "--name", "m"), "--features is missing: solr addresses"),
        (("--format", "json", "--check", __file__), "--output FILE is needed"),
        (("--format", "json", "-o", "no/where"), "there is no folder"),
        (("--format", "ranklib"), "RankLib reads a missing value as 0"),
        (("--format", "json", "--features", "absent"), "absent: No such file"),
    ],
)
def test_wrong_options_are_one_line(fails, models, options, message):
    assert message in fails("export", models / "forest", *options)


def test_models_without_such_a_form_are_refused(fails, letor, tmp_path):
    ranker = RankSVM(kernel="rbf", n_components=5, random_state=0)
    save_model(ranker.fit(*load_letor(letor / "train.txt")), tmp_path / "model")
    out = tmp_path / "out"
    message = fails("export", tmp_path / "model", "--format", "json", "-o", out)
    assert "not those of its coefficients" in message
    assert not out.exists()


def test_a_file_of_names_is_at_fault(fails, models, tmp_path):
    file = tmp_path / "names"
    n = len(NAMES)
    for text, message in [
        ("\n \n", " holds no names"),
        (
            "a\n",
            f" must name the {n} features of the model in their order, got 1 names",
        ),
        ("a\n" * n, ": 'a' occurs more than once"),
    ]:
        file.write_text(text)
        for options in [("json",), ("solr", "--name", "m")]:
            command = ["export", models / "svm", "--format", *options]
            assert fails(*command, "--features", file) == f"{file}{message}"


def test_a_bad_file_to_check_leaves_nothing_behind(fails, models, tmp_path):
    (tmp_path / "data").write_text("not LETOR\n")
    out = tmp_path / "out"
    for name in ("data", "absent"):
        command = ["export", models / "svm", "--format", "json", "-o", out]
        assert name in fails(*command, "--check", tmp_path / name)
        assert not out.exists()
