"""Models with columns of names are tried by rows that they take."""

import numpy as np
import pytest
from _saved import models_of_names
from _tamper import edited_object, read, verdict, write
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from skrank.export import load_model, save_model
from skrank.export._probe_rows import probe_rows
from skrank.rankers import RankSVM
from skrank.text import PairFeatures

pd = pytest.importorskip("pandas")

MODELS = list(models_of_names())


@pytest.mark.parametrize("saved", MODELS, ids=str)
def test_edited_files_of_names_are_refused_or_work(saved, tmp_path):
    path = tmp_path / "model"
    save_model(saved.model, path)
    assert not verdict(path, saved.use)
    document, members = read(path)
    files = list(edited_object(document, ("model",)))
    chosen = np.random.default_rng(0).permutation(len(files))[:150]
    wrong = []
    for what, changed in (files[i] for i in chosen):
        write(path, changed, members)
        problem = verdict(path, saved.use)
        # A pipeline without its last step is one that transforms.
        if problem and "'Pipeline' has no attribute 'predict'" not in problem:
            wrong.append(f"{what}: {problem}")
    assert not wrong


@pytest.mark.parametrize(
    ("name", "other", "told"),
    [
        ("transformers", ["x"], "transformers must be a list of triples"),
        ("transformers", [["a", "drop"]], "transformers must be a list of triples"),
        ("transformers_", ["x"], "transformers_ must be a list of triples"),
        ("transformers_", "e", "transformers_ must be a list of triples"),
        ("feature_names_in_", "e", "feature_names_in_ must be an array of object"),
        ("feature_names_in_", None, "feature_names_in_ must be an array of object"),
        ("n_features_in_", "e", "n_features_in_ must be a whole number"),
    ],
)
def test_damaged_columns_are_named(name, other, told, tmp_path):
    path = tmp_path / "model"
    save_model(MODELS[0].model, path)
    document, members = read(path)
    part = "params" if name in document["model"]["params"] else "state"
    document["model"][part][name] = other
    write(path, document, members)
    with pytest.raises(ValueError, match=f"ColumnTransformer: {told}"):
        load_model(path)


@pytest.mark.parametrize("saved", [MODELS[0], MODELS[-1]], ids=["columns", "union"])
@pytest.mark.parametrize("n_jobs", [10**9, -(10**9), 10**30])
def test_no_file_asks_for_countless_processes(saved, n_jobs, tmp_path):
    save_model(clone(saved.model).set_params(n_jobs=n_jobs), tmp_path / "model")
    with pytest.raises(ValueError, match="n_jobs must be None or from -1024 to 1024"):
        load_model(tmp_path / "model")


def test_loading_starts_no_processes(monkeypatch, tmp_path):
    model = clone(MODELS[-1].model).fit(FRAME[["s"]]).set_params(n_jobs=2)
    save_model(model, tmp_path / "model")
    monkeypatch.setattr("joblib.parallel.LokyBackend.configure", None)
    load_model(tmp_path / "model")


def test_columns_of_results_are_at_most_the_categories(tmp_path):
    encoder = OneHotEncoder().fit([["a"], ["b"]])
    if "_n_features_outs" not in vars(encoder):
        pytest.skip("this version of scikit-learn does not store them")
    for wrong in ([10**9], [3], [-1], [2, 2], []):
        encoder._n_features_outs = wrong
        save_model(encoder, tmp_path / "model")
        with pytest.raises(ValueError, match="_n_features_outs must be at most one"):
            load_model(tmp_path / "model")


FRAME = pd.DataFrame({"a": [1.0, 2.0], "s": ["u", "v"], "b": [3.0, 4.0]})


@pytest.mark.parametrize(
    "columns", [["s"], slice("s", "s"), [1], slice(1, 2), [False, True, False]]
)
def test_a_column_of_names_has_a_name_however_it_is_given(columns):
    parts = [("s", OrdinalEncoder(), columns), ("none", "drop", [])]
    model = ColumnTransformer(parts, remainder="passthrough").fit(FRAME)
    rows = probe_rows(make_pipeline(model), 3)
    assert rows["s"].tolist() == ["u", "v", "u"]
    assert rows["a"].tolist() == rows["b"].tolist() == [0, 1, -1]
    assert model.transform(rows)[:, 1].tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    "columns", ["s", ["s"], 1, [1], np.array([1]), slice("s", "s"), slice(1, -1)]
)
def test_a_column_can_be_left_out_in_every_way(columns, tmp_path):
    parts = [("s", "drop", columns), ("b", StandardScaler(), ["b"])]
    model = ColumnTransformer(parts).fit(FRAME)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.transform(FRAME).tolist() == model.transform(FRAME).tolist()


@pytest.mark.parametrize("columns", ["z", ["z"], 9, [9], slice("z", "z"), [2.5]])
def test_columns_that_there_are_not_are_refused(columns, tmp_path):
    model = ColumnTransformer([("n", StandardScaler(), ["a"])]).fit(FRAME)
    model.transformers_[0] = ("n", model.transformers_[0][1], columns)
    save_model(model, tmp_path / "model")
    message = "transformers_ must be triples of a name, a transformer and columns"
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "model")


def test_rows_without_names_have_columns_by_number():
    X = np.array([[1, "u"], [2, "v"]], dtype=object)
    parts = [("n", StandardScaler(), [0]), ("s", OneHotEncoder(), [1])]
    model = ColumnTransformer(parts).fit(X)
    assert probe_rows(model, 2).tolist() == [[0.0, "u"], [1.0, "v"], [-1.0, "u"]]


@pytest.mark.parametrize(
    "texts",
    [
        PairFeatures(),
        make_pipeline(PairFeatures(), StandardScaler()),
        make_union(PairFeatures(), PairFeatures(fields=("whole",))),
    ],
)
def test_texts_beside_other_columns_are_tried_as_texts(texts, tmp_path):
    frame = pd.DataFrame(
        {
            "query": ["sort", "sort", "invert"],
            "body": ["sort rows", "a list", "invert a matrix"],
            "pages": [3, 9, 4],
            "kind": ["x", "y", "x"],
        }
    )
    parts = [("t", texts, ["query", "body"]), ("k", OneHotEncoder(), ["kind"])]
    columns = ColumnTransformer(parts, remainder="passthrough")
    model = make_pipeline(columns, RankSVM())
    model.fit(frame, [1, 0, 0], ranksvm__groups=[0, 0, 0])
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
