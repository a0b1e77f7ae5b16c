"""``skrank explain``: the table and the JSON say what the library computes."""

import json

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from skrank.datasets import load_letor
from skrank.export import save_model
from skrank.inspection import explain_preference, shap_values
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import LambdaMART, ListNet, RankBoost, RankSVM


@pytest.fixture(scope="module")
def models(letor, tmp_path_factory):
    """Files of models, and the models by the names of the files."""
    folder = tmp_path_factory.mktemp("models")
    X, y, groups = load_letor(letor / "train.txt")
    scaler = QueryStandardScaler().fit(X)
    svm = RankSVM().fit(scaler.transform(X, groups=groups), y, groups)
    found = {
        "trees": LambdaMART(n_estimators=5, min_samples_leaf=5).fit(X, y, groups),
        "scaled": Pipeline([("scaler", scaler), ("svm", svm)]),
        "linear": ListNet().fit(X, y, groups),
        "boost": RankBoost(n_estimators=3).fit(X, y, groups),
    }
    for name, model in found.items():
        save_model(model, folder / name)
    return folder, found


@pytest.fixture(scope="module")
def query(letor):
    """Rows, ids and names of the documents of one query of the test file."""
    data = load_letor(letor / "test.txt")
    rows = np.flatnonzero(data.groups == data.groups[-1])
    return data, rows, str(data.groups[-1])


@pytest.mark.parametrize("name", ["trees", "scaled", "linear"])
@pytest.mark.parametrize("background", ["query", "all", "covers"])
def test_json_holds_the_contributions(
    run, letor, models, query, tmp_path, name, background
):
    folder, found = models
    data, rows, number = query
    document = data.docids[rows[1]]
    code, out, err = run(
        "explain", folder / name, letor / "test.txt", "--query", number,
        "--document", document, "--background", background, "--json", "-",
    )  # fmt: skip
    if background == "covers" and name != "trees":
        assert code == 2
        assert "background is missing" in err
        return
    assert (code, err) == (0, "")
    given = {"query": "query", "all": data.X, "covers": None}[background]
    more = {"background_groups": data.groups} if background == "all" else {}
    expected = shap_values(found[name], data.X[rows], given, data.groups[rows], **more)
    printed = json.loads(out)
    (about,) = printed["documents"]
    assert about["document"] == document
    values = {int(f["feature"]) - 1: f["contribution"] for f in printed["features"]}
    np.testing.assert_allclose(
        [values[j] for j in range(6)], expected.values[1], rtol=1e-12
    )
    sizes = [abs(f["contribution"]) for f in printed["features"]]
    assert sizes == sorted(sizes, reverse=True)
    total = printed["base"] + sum(values.values())
    assert total == pytest.approx(about["score"], abs=1e-9)
    shown = {int(f["feature"]) - 1: f["values"] for f in printed["features"]}
    np.testing.assert_allclose([shown[j][0] for j in range(6)], expected.data[1])


def test_the_best_document_as_a_table(ok, letor, models, query):
    folder, found = models
    data, rows, number = query
    out = ok("explain", folder / "trees", letor / "test.txt", "--query", number,
             "--top", 2)  # fmt: skip
    scores = found["trees"].predict(data.X[rows])
    best = int(np.argmax(scores))
    lines = out.splitlines()
    assert lines[0] == (
        f"query {number}, document {data.docids[rows[best]]}: score "
        f"{scores[best]:.6g}, rank 1 of {len(rows)}"
    )
    assert lines[1] == ""
    assert lines[2].split() == ["feature", "value", "contribution"]
    assert [line.split()[0] for line in lines[4:]][2:] == ["4", "compared", "score"]
    amounts = [float(line.split()[-1]) for line in lines[4:]]
    assert sum(amounts[:4]) == pytest.approx(amounts[4], abs=1e-5)
    assert len({len(line) for line in lines[2:]}) == 1


def test_two_documents_of_a_query(ok, letor, models, query, tmp_path):
    folder, found = models
    data, rows, number = query
    names = data.docids[rows]
    given = ["explain", folder / "scaled", letor / "test.txt", "--query", number]
    given += ["--document", names[0], "--against", names[2]]
    printed = json.loads(ok(*given, "--json", "-", "-o", tmp_path / "table"))
    expected = explain_preference(
        found["scaled"], data.X[rows], 0, 2, data.groups[rows]
    )
    assert [d["document"] for d in printed["documents"]] == [names[0], names[2]]
    assert "base" not in printed
    total = sum(f["contribution"] for f in printed["features"])
    scores = [d["score"] for d in printed["documents"]]
    assert total == pytest.approx(scores[0] - scores[1], abs=1e-9)
    assert total == pytest.approx(expected.difference)
    lines = (tmp_path / "table").read_text().splitlines()
    assert lines[3].split() == ["feature", "value", "against", "contribution"]
    assert lines[-1].split()[0] == "difference"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--query", "none"], "test.txt has no query 'none'"),
        (["--document", "none"], "--document: query '{}' has no document 'none'"),
        (["--against", "none"], "--against: query '{}' has no document 'none'"),
        (["--top", "0"], "--top must be at least 1, got 0"),
        (
            ["--document", "{0}", "--against", "{0}"],
            "--against must name another document than '{0}'",
        ),
    ],
)
def test_what_is_not_there(fails, letor, models, query, more, message):
    data, rows, number = query
    about = {"--document": number, "--against": number}.get(more[0], number)
    if "{0}" in more:
        about = data.docids[rows[0]]
    more = [word.format(about) for word in more]
    if "--query" not in more:
        more += ["--query", number]
    found = fails("explain", models[0] / "trees", letor / "test.txt", *more)
    assert message.format(about) in found


def test_rankers_that_cannot_be_explained(fails, letor, models, query):
    error = fails(
        "explain", models[0] / "boost", letor / "test.txt", "--query", query[2]
    )
    assert error.startswith("RankBoost cannot be explained: it has no coefficients")
