"""Tables with columns of names, on the command line."""

import json

import numpy as np
import pytest

from skrank.cli import main
from skrank.datasets import load_run, load_table, make_ranking
from skrank.export import load_model, save_model
from skrank.metrics import evaluate_measure
from skrank.rankers import MART, RankSVM

pd = pytest.importorskip("pandas")

COLUMNS = ["--label", "grade", "--qid", "query"]
TREES = ["--ranker", "MART", "--set", "n_estimators=5", "--seed", "0"]
READ = {"label": "grade", "qid": "query", "as_frame": True, "dtype": np.float64}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Folder with train.csv and test.csv; shops are numbers with zeros in front."""
    folder = tmp_path_factory.mktemp("tables")
    X, y, groups = make_ranking(20, n_features=2, n_informative=2, random_state=0)
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 6, len(y))
    frame = pd.DataFrame(
        {
            "query": [f"q{query}" for query in groups],
            "grade": y + shop % 2,
            "bm25": X[:, 0],
            "shop": [f"{k:03d}" for k in shop],
            "site": rng.choice(["news", "blog", ""], len(y)),
            "links": X[:, 1],
            "page": np.arange(len(y)),
        }
    )
    frame[groups < 14].to_csv(folder / "train.csv", index=False)
    frame[groups >= 14].to_csv(folder / "test.csv", index=False)
    pytest.importorskip("pyarrow")
    frame[groups >= 14].to_parquet(folder / "test.parquet")
    return folder


def test_a_model_finds_its_columns_in_other_tables(ok, tables, tmp_path):
    model = tmp_path / "model"
    ok(
        "fit", tables / "train.csv", *COLUMNS, "--docid", "page", *TREES,
        "--categorical", "shop,site", "--test", tables / "test.csv", "--save", model,
    )  # fmt: skip
    names = ["bm25", "shop", "site", "links"]
    options = READ | {"categorical_features": ["shop", "site"], "features": names}
    X, y, _ = load_table(tables / "train.csv", **options)
    expected = MART(n_estimators=5, random_state=0).fit(X, y)
    loaded = load_model(model)
    assert loaded.encoder_.levels_[0].tolist() == [f"00{k}" for k in range(6)]
    test = load_table(tables / "test.csv", **options)
    scores = expected.predict(test.X)
    for name in ("test.csv", "test.parquet"):
        found = ok("predict", model, tables / name, "--qid", "query")
        assert [float(line) for line in found.split()] == scores.tolist()
    pd.read_csv(tables / "test.csv", dtype=str).drop(columns="grade")[
        ["page", "links", "site", "query", "shop", "bm25"]
    ].to_csv(tmp_path / "moved.csv", index=False)
    found = ok("predict", model, tmp_path / "moved.csv", "--qid", "query")
    assert [float(line) for line in found.split()] == scores.tolist()
    text = ok(
        "rank", model, tmp_path / "moved.csv", "--qid", "query", "--docid", "page"
    )
    run = load_run(text.encode())
    assert set(run.docids) == set(pd.read_csv(tables / "test.csv")["page"].astype(str))


def test_scores_are_evaluated_on_tables(ok, tables, tmp_path, capsys):
    model, scores = tmp_path / "model", tmp_path / "scores.txt"
    ok("fit", tables / "train.csv", *COLUMNS, *TREES, "--folds", "3", "--save", model)
    ok("predict", model, tables / "test.csv", "--qid", "query", "-o", scores)
    asked = ("--label", "grade", "--qid", "query")
    letor = ("--letor", tables / "test.csv")
    text = ok("evaluate", *letor, "--scores", scores, "--metrics", "ndcg@10", *asked)
    frame = pd.read_csv(tables / "test.csv")
    expected = evaluate_measure(
        "ndcg@10", frame["grade"], np.loadtxt(scores), groups=frame["query"]
    )
    assert float(text.split()[-1]) == pytest.approx(expected, abs=1e-4)
    assert "scores" in ok("compare", scores, *letor, *asked)
    for given, message in [
        (("--qid", "query"), "name the column of the grades by --label"),
        (("--label", "grade"), "name the column of the query ids by --qid"),
        (("--label", "grade", "--qid", "grade"), "name the same column, 'grade'"),
    ]:
        command = ["evaluate", *letor, "--scores", scores, *given]
        assert main(list(map(str, command))) == 2
        assert message in capsys.readouterr().err


def test_text_is_a_name_by_itself(ok, tables, tmp_path):
    model = tmp_path / "model"
    ok(
        "fit", tables / "train.csv", *COLUMNS, *TREES, "--folds", "3", "--save", model,
        "--features", "bm25,shop,site",
    )  # fmt: skip
    ranker = load_model(model)
    assert ranker.feature_names_in_.tolist() == ["bm25", "shop", "site"]
    assert ranker.encoder_.is_categorical_.tolist() == [False, False, True]
    assert len(ok("predict", model, tables / "test.csv", "--qid", "query").split()) > 9


def test_models_without_names(ok, tables, tmp_path):
    options = READ | {"features": ["bm25", "links"], "as_frame": False}
    ranker = RankSVM().fit(*load_table(tables / "train.csv", **options))
    save_model(ranker, tmp_path / "model")
    frame = pd.read_csv(tables / "test.csv")[["query", "bm25", "links"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    main(
        ["predict", str(tmp_path / "model"), str(tmp_path / "t.csv"), "--qid", "query"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "grade"], "name the column of the query ids by --qid"),
        (["--qid", "query"], "--label names the column of the grades"),
        ([*COLUMNS, "--sparse"], "--sparse has no effect on tables"),
        ([*COLUMNS, "--validation", "{letor}"], "vali.txt must be a table, as"),
        (["--label", "points", "--qid", "query"], "has no column 'points'"),
        ([*COLUMNS, "--features", "bm25,zoo"], "has no column 'zoo'"),
        ([*COLUMNS, "--features", "bm25,shop,bm25"], "must name each column once"),
        ([*COLUMNS, "--features", "site,site"], "must name each column once"),
        (
            [*COLUMNS, "--categorical", "shop"],
            "column 'site' must be numeric, found dtype {text}; name the columns that "
            "hold names by --categorical, or those to use by --features",
        ),
        (
            [*COLUMNS, "--ranker", "RankSVM", "--features", "bm25,site"],
            "of column 'site'; choose a ranker of trees, such as LambdaMART, which "
            "takes columns of names, or name columns of numbers by --features",
        ),
    ],
)
def test_what_is_wrong_with_tables(fails, tables, letor, arguments, message):
    arguments = [a.format(letor=letor / "vali.txt") for a in arguments]
    message = message.format(text=pd.read_csv(tables / "train.csv")["site"].dtype)
    trees = [] if "--ranker" in arguments else TREES
    assert message in fails("fit", tables / "train.csv", *trees, *arguments)


def test_numbers_that_are_text_elsewhere_are_named(ok, fails, tables, tmp_path):
    """Options of training have no say in how a table to score is read."""
    frame = pd.read_csv(tables / "test.csv")
    frame.assign(bm25="much").to_csv(tmp_path / "text.csv", index=False)
    ok("fit", tables / "train.csv", *COLUMNS, *TREES, "--save", tmp_path / "model")
    text = ["predict", tmp_path / "model", tmp_path / "text.csv", "--qid", "query"]
    held = ["fit", tables / "train.csv", *COLUMNS, *TREES]
    for command in (text, [*held, "--validation", tmp_path / "text.csv"]):
        message = fails(*command)
        assert "column 'bm25' must be numeric, found dtype" in message
        assert message.endswith("; it held numbers in training")


def test_grades_that_are_text_are_told_without_advice_about_features(
    fails, tables, tmp_path
):
    frame = pd.read_csv(tables / "test.csv").astype({"grade": object})
    frame.loc[1, "grade"] = "good"
    frame.to_csv(tmp_path / "text.csv", index=False)
    np.savetxt(tmp_path / "scores", np.zeros(len(frame)))
    scores = ["--letor", tmp_path / "text.csv", "--scores", tmp_path / "scores"]
    for command in (["evaluate", *scores], ["fit", tmp_path / "text.csv", *TREES]):
        assert fails(*command, *COLUMNS).endswith(
            "grades of the label column 'grade' must be numbers, found 'good' in line 3"
        )


QUERY = "within every training query, these features are constant and order no "


@pytest.mark.parametrize("splits", [[], ["--folds", "3"]])
def test_features_of_queries_are_told(run, tables, tmp_path, splits):
    """Of four new columns, one varies within queries, and one nowhere."""
    frame = pd.read_csv(tables / "train.csv")
    number = frame["query"].str[1:].astype(int)
    day = np.where(number % 2, "mon", "sun")
    frame = frame.assign(hour=number % 5, day=day, same=1, last=0)
    frame.loc[frame.index[-1], "last"] = 1
    frame.to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", tmp_path / "t.csv", *COLUMNS, *TREES, *splits, "--json", "-"]
    code, out, err = run(*command)
    assert (code, err) == (0, f"skrank: {QUERY}documents by themselves: hour, day\n")
    assert json.loads(out)["ranker"] == "MART"
    code, _, err = run(*command, "--features", "bm25,last")
    assert (code, err) == (0, "")


def test_many_features_of_queries_take_one_line(run, tables, tmp_path):
    frame = pd.read_csv(tables / "train.csv")
    number = frame["query"].str[1:].astype(int)
    frame = frame.assign(**{f"of_query_{j}\n": number + j for j in range(23)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    _, _, err = run("fit", tmp_path / "t.csv", *COLUMNS, *TREES)
    assert err.count("\n") == 1
    assert err.endswith("of_query_19\\n and 3 more\n")


def test_queries_of_one_document_share_nothing(tables, tmp_path, run):
    frame = pd.read_csv(tables / "train.csv").drop_duplicates("query")
    frame.to_csv(tmp_path / "t.csv", index=False)
    _, _, err = run("fit", tmp_path / "t.csv", *COLUMNS, *TREES)
    assert QUERY not in err


def test_columns_belong_to_tables(fails, letor, tmp_path):
    message = fails("fit", letor / "train.txt", *TREES, "--qid", "query")
    assert message == "--qid has no effect on LETOR text"
    message = fails("fit", "--letor-folds", letor, *TREES, "--features", "a")
    assert message == "--features has no effect with --letor-folds"


IDS = "query,id,a,grade\n01,007,1,0\n01,008,2,1\n02,007,3,0\n02,009,2.5,1\n"


def test_ids_with_zeros_in_front(ok, tmp_path):
    (tmp_path / "ids.csv").write_text(IDS)
    columns = ["--qid", "query", "--docid", "id"]
    model = tmp_path / "model"
    ok("fit", tmp_path / "ids.csv", "--label", "grade", *columns, "--ranker", "RankSVM",
       "--save", model)  # fmt: skip
    out = ok("rank", model, tmp_path / "ids.csv", *columns)
    lines = [line.split()[:3] for line in out.splitlines()]
    ids = ["01 007", "01 008", "02 007", "02 009"]
    assert sorted(lines) == [i.replace(" ", " Q0 ").split() for i in ids]
    shown = ok("explain", model, tmp_path / "ids.csv", *columns, "--query", "02",
               "--document", "009")  # fmt: skip
    assert "009" in shown


@pytest.mark.parametrize("row", ["red shoes,c,2,1", 'r,"c d",2,1', 'r,"c\nd",2,1'])
def test_ids_that_would_break_a_run(ok, fails, tmp_path, row):
    (tmp_path / "ids.csv").write_text(IDS)
    (tmp_path / "odd.csv").write_text(IDS + row + "\n")
    columns = ["--qid", "query", "--docid", "id"]
    ok("fit", tmp_path / "ids.csv", "--label", "grade", *columns, "--ranker", "RankSVM",
       "--save", tmp_path / "model")  # fmt: skip
    message = fails("rank", tmp_path / "model", tmp_path / "odd.csv", *columns)
    assert "odd.csv: " in message
    assert "must not contain what separates fields or lines; row 4 has" in message
    of_bytes = pd.read_csv(tmp_path / "ids.csv").assign(query=[b"1"] * 4)
    of_bytes.to_parquet(tmp_path / "odd.parquet")
    message = fails("rank", tmp_path / "model", tmp_path / "odd.parquet", *columns)
    assert "odd.parquet: groups must hold text; row 0 has b'1'" in message


def test_queries_are_named_only_for_models_that_ask_for_them(
    ok, fails, tables, tmp_path
):
    alone, within = tmp_path / "alone", tmp_path / "within"
    features = ["--features", "bm25,links", "--save"]
    ok("fit", tables / "train.csv", *COLUMNS, *TREES, *features, alone)
    ok("fit", tables / "train.csv", *COLUMNS, *TREES, "--normalize", "query-minmax",
       *features, within)  # fmt: skip
    for name in ("test.csv", "test.parquet"):
        test = tables / name
        expected = ok("predict", alone, test, "--qid", "query")
        assert ok("predict", alone, test) == expected
        assert ok("predict", alone, test, "--docid", "page") == expected
        message = f"{test} is a table: name the column of the query ids by --qid"
        for command in ("predict", within), ("rank", alone):
            assert fails(*command, test) == message


@pytest.mark.parametrize("scaling", ["query-minmax", "query-standard", "standard"])
def test_columns_of_names_are_not_scaled(ok, fails, tables, tmp_path, scaling):
    message = (
        f"{tables / 'train.csv'}: --normalize {scaling} scales numbers, but column "
        "{!r} holds names; choose columns of numbers by --features, or leave out "
        "--normalize"
    )
    data = [tables / "train.csv", *COLUMNS, "--docid", "page", "--normalize", scaling]
    assert fails("fit", *data, *TREES) == message.format("site")
    # Numbers that are names are not scaled in silence, either.
    command = ["fit", *data, "--features", "bm25,links"]
    assert fails(*command, "--categorical", "links", *TREES) == message.format("links")
    ok(*command, *TREES)
    command = ["experiment", *data, "--folds", "3", "-q", "-o", tmp_path / "out"]
    rows = ["--ranker", "RankSVM", "--ranker", "two=RankSVM", "--features", "two=bm25"]
    assert fails(*command, *rows) == message.format("site")
    ok(*command, *rows, "--features", "bm25,links")


@pytest.mark.parametrize("as_frame", [True, False])
def test_tables_without_queries(tables, as_frame):
    read = {"features": ["bm25"], "as_frame": as_frame}
    data = load_table(tables / "test.csv", label="grade", qid=None, **read)
    known = load_table(tables / "test.csv", label="grade", qid="query", **read)
    X, y, groups = data
    assert groups is None
    np.testing.assert_array_equal(X, known.X)
    np.testing.assert_array_equal(y, known.y)
    if as_frame:
        assert X.index.names == y.index.names == ["row"]


def explained(ok, model, path, *options):
    """The features that `skrank explain` tells of, and the text that it prints."""
    given = ["explain", model, path, "--qid", "query", *options]
    printed = json.loads(ok(*given, "--json", "-"))["features"]
    return {f["feature"]: f["values"] for f in printed}, ok(*given)


def test_categories_are_explained_as_the_file_has_them(ok, tables, tmp_path):
    model, test = tmp_path / "model", tables / "test.csv"
    ok(
        "fit", tables / "train.csv", *COLUMNS, "--docid", "page", *TREES,
        "--categorical", "shop,site", "--save", model,
    )  # fmt: skip
    frame = pd.read_csv(test, dtype={"shop": str})
    query = frame["query"].iloc[-1]
    rows = frame[frame["query"] == query].reset_index()
    rows["site"] = ["", *["news", "blog"] * len(rows)][: len(rows)]
    rows.drop(columns="index").to_csv(tmp_path / "one.csv", index=False)
    pages = rows["page"].astype(str)
    for i in (0, 1):
        options = ["--query", query, "--docid", "page", "--document", pages[i]]
        values, text = explained(ok, model, tmp_path / "one.csv", *options)
        assert set(values) == {"bm25", "shop", "site", "links"}
        assert values["shop"] == [rows["shop"][i]]
        assert values["site"] == [rows["site"][i] if i else None]
        assert values["bm25"] == [pytest.approx(rows["bm25"][i])]
        assert f"  {rows['shop'][i]}  " in text
    options = ["--query", query, "--docid", "page", "--document", pages[1]]
    options += ["--against", pages[2]]
    values, text = explained(ok, model, tmp_path / "one.csv", *options)
    assert values["shop"] == rows["shop"][1:3].tolist()
    assert values["site"] == rows["site"][1:3].tolist()


def test_columns_of_tables_keep_their_names(run, ok, tables, tmp_path):
    names = {"bm25": "x0", "shop": "x1", "links": "x2"}
    for name in ("train", "test"):
        frame = pd.read_csv(tables / f"{name}.csv").rename(columns=names)
        # A number that six digits do not hold.
        frame["x1"] = frame["x1"] + 12345678
        frame.drop(columns=["site", "page"]).to_csv(tmp_path / f"{name}.csv")
    features = ["--features", "x0,x1,x2"]
    ok("fit", tmp_path / "train.csv", *COLUMNS, *TREES, *features, "--save",
       tmp_path / "m")  # fmt: skip
    query = pd.read_csv(tmp_path / "test.csv")["query"].iloc[0]
    values, text = explained(
        ok, tmp_path / "m", tmp_path / "test.csv", "--query", query
    )
    assert set(values) == {"x0", "x1", "x2"}
    assert "x2" in text
    # A model without names takes those of the table.
    options = READ | {"features": ["bm25", "links"], "as_frame": False}
    ranker = MART(n_estimators=2).fit(*load_table(tables / "train.csv", **options))
    save_model(ranker, tmp_path / "m")
    columns = pd.read_csv(tables / "test.csv")[["query", "bm25", "links"]]
    columns.to_csv(tmp_path / "t.csv", index=False)
    given = ["--qid", "query", "--query", query, "--json", "-"]
    code, out, err = run("explain", tmp_path / "m", tmp_path / "t.csv", *given)
    assert "MART was fitted without feature names" in err
    features = {feature["feature"] for feature in json.loads(out)["features"]}
    assert (code, features) == (0, {"bm25", "links"})


def test_numbers_of_shops_in_another_kind_of_table(run, ok, tables, tmp_path):
    """Text of CSV is a whole number in Parquet, and 5.0 in CSV where one is missing."""
    for name in ("train", "test"):
        frame = pd.read_csv(tables / f"{name}.csv").drop(columns=["site", "page"])
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    frame.to_parquet(tmp_path / "test.parquet")
    frame.assign(shop=frame["shop"] * 1.0).to_csv(tmp_path / "floats.csv")
    model = tmp_path / "model"
    ok("fit", tmp_path / "train.csv", *COLUMNS, *TREES, "--categorical", "shop",
       "--features", "bm25,shop,links", "--save", model)  # fmt: skip
    expected = ok("predict", model, tmp_path / "test.csv", "--qid", "query")
    found = ok("predict", model, tmp_path / "test.parquet", "--qid", "query")
    assert found == expected
    code, out, err = run("predict", model, tmp_path / "floats.csv", "--qid", "query")
    assert (code, out == expected) == (0, False)
    assert "warning: none of the 6 different values of column 'shop' was a level" in err
    assert len(err.splitlines()) == 1
    first = frame["shop"].min()
    assert f"it holds '{first}.0', where the levels are such as '{first}'" in err
    frame.assign(shop=frame["shop"] * 1.0).to_parquet(tmp_path / "floats.parquet")
    code, _, err = run("predict", model, tmp_path / "floats.parquet", "--qid", "query")
    assert code == 2
    assert (
        "floats.parquet: column 'shop' holds numbers of dtype float64, but was" in err
    )
