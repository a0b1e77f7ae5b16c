"""``skrank experiment``: definitions, data, progress, exit codes."""

import json
import sys
import tomllib

import numpy as np
import pytest
from _modules import write_module
from joblib.externals.loky import get_reusable_executor

from skrank.cli._errors import TRAININGS_FAILED
from skrank.cli._experiment_options import EXPERIMENT
from skrank.datasets import dump_letor, load_letor_folds, make_ranking
from skrank.experiments import Experiment, RankerGrid, make_folds
from skrank.metrics import get_measure, ndcg_score
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import OWPC, EnergyRanker, RankSVM, SubsetRegression


@pytest.fixture(scope="module")
def ranking():
    return make_ranking(24, n_features=5, n_informative=3, random_state=0)


@pytest.fixture
def data(ranking, tmp_path, monkeypatch):
    """Folder with three folds, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for fold in make_folds(*ranking, n_splits=3):
        (tmp_path / "data" / fold.name).mkdir(parents=True)
        for part in ("train", "vali", "test"):
            X, y, groups = getattr(fold, part)
            dump_letor(X, y, groups, tmp_path / "data" / fold.name / f"{part}.txt")
    return tmp_path / "data"


def in_python(data, folder, rankers, **options):
    """The same experiment in Python."""
    folds = data if isinstance(data, list) else load_letor_folds(data)
    return Experiment(rankers, **options).run(folds, folder)


SVM = {"alpha": [0.001, 0.1]}


@pytest.mark.parametrize("form", ["plain", "markdown", "latex"])
def test_it_prints_the_table_of_the_library(ok, data, tmp_path, form):
    out = ok(
        "experiment", data, "--ranker", "RankSVM", "--ranker", "lin=SubsetRegression",
        "--grid", "RankSVM", "alpha=1e-3,1e-1", "--metrics", "map,err@3", "--preset",
        "letor4", "--reference", "lin", "--correction", "none", "--level", "0.2",
        "--normalize", "query-minmax", "--format", form, "-o", "out", "-q",
    )  # fmt: skip
    expected = in_python(
        data,
        tmp_path / "python",
        {"RankSVM": RankerGrid(RankSVM(), SVM), "lin": SubsetRegression()},
        measures=["map", "err@3"],
        preset="letor4",
        reference="lin",
        correction=None,
        level=0.2,
        scaler=QueryMinMaxScaler(),
    ).table
    assert (
        out == getattr(expected, {"plain": "to_text"}.get(form, f"to_{form}"))() + "\n"
    )
    names = {path.stem for path in (tmp_path / "out/data/trainings").iterdir()}
    assert names == {path.stem for path in (tmp_path / "python/trainings").iterdir()}
    for file in ("table.txt", "table.md", "table.tex", "qrels.txt", "per_query.tsv"):
        written = (tmp_path / "out" / "data" / file).read_text()
        assert written == (tmp_path / "python" / file).read_text()


DEFINITION = """
data = "data"
measures = ["ndcg@3", "map"]
selection = "map"
seeds = 2
features = "1-3,5"
dtype = "float64"

[rankers.svm]
ranker = "RankSVM"
grid = {alpha = [1e-3, 1e-1], hinge = "linear"}
seeds = 1

[rankers."net, small"]
ranker = "EnergyRanker"
early_stopping = true
features = "1,2"

[rankers.SubsetRegression]

[grids."net, small"]
energy = "MLPEnergy"
energy__hidden_layer_sizes = [[4], "(3, 2)"]
loss = ["ListNetLoss", "null"]
max_iter = 3
"""


def test_a_definition_in_toml(ok, data, tmp_path):
    from skrank.energies import MLPEnergy
    from skrank.losses import ListNetLoss

    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "a.toml"
    path.write_text(DEFINITION.replace('"data"', '"../data"'))
    out = ok("experiment", "--config", path, "-o", "out", "-q")
    net = {
        "energy": [MLPEnergy()],
        "energy__hidden_layer_sizes": [[4], (3, 2)],
        "loss": [ListNetLoss(), None],
        "max_iter": [3],
    }
    svm = {"alpha": [1e-3, 1e-1], "hinge": ["linear"]}
    folds = load_letor_folds(data, dtype=np.float64)
    expected = Experiment(
        {
            "svm": RankerGrid(RankSVM(), svm, seeds=1),
            "net, small": RankerGrid(
                EnergyRanker(), net, early_stopping=True, features="1,2"
            ),
            "SubsetRegression": SubsetRegression(),
        },
        measures=["ndcg@3", "map"],
        selection=get_measure("map"),
        seeds=2,
        features="1-3,5",
    ).run(folds, tmp_path / "python")
    assert out == expected.table.to_text() + "\n"
    record = json.loads((tmp_path / "out" / "data" / "results.json").read_text())
    assert record["experiment"]["command"].startswith("skrank experiment --config ")
    rows = record["experiment"]["rankers"]
    assert rows["svm"]["seeds"] == 1
    assert rows["net, small"]["configurations"][1]["loss"] is None


def test_options_override_the_definition(ok, data, tmp_path):
    (tmp_path / "a.toml").write_text(DEFINITION)
    out = ok(
        "experiment", "d=data", "--config", "a.toml", "-o", "out", "-q", "--json", "-",
        "--ranker", "svm", "--ranker", "LambdaRank", "--grid", "svm", "alpha=1,2,3",
        "--grid", "LambdaRank", "max_iter=2", "hidden_layer_sizes=(2,),[3,2]",
        "--metrics", "err", "--select", "mrr", "--seeds", "1", "--features", "4",
    )  # fmt: skip
    document = json.loads(out)
    assert document["command"] == "experiment"
    assert list(document["data"]) == ["d"]
    table = document["data"]["d"]["table"]
    assert {name: list(m) for name, m in table["systems"].items()} == {
        "svm": ["err"],
        "LambdaRank": ["err"],
    }
    (choices,) = {
        len(each["candidates"])
        for each in document["data"]["d"]["chosen"]
        if each["ranker"] == "svm"
    }
    assert choices == 3
    record = json.loads((tmp_path / "out" / "d" / "results.json").read_text())
    experiment = record["experiment"]
    assert (experiment["selection"], experiment["features"]) == ("mrr", "4")
    svm = experiment["rankers"]["svm"]["configurations"]
    assert svm[0] == {"alpha": 1, "hinge": "linear"}
    sizes = [
        c["hidden_layer_sizes"]
        for c in experiment["rankers"]["LambdaRank"]["configurations"]
    ]
    assert sizes == ["(2,)", "[3, 2]"]


def test_lists_of_rankers_and_alternative_grids(ok, data, tmp_path):
    (tmp_path / "a.toml").write_text(
        'data = {own = "data"}\nrankers = ["RankSVM", "SubsetRegression"]\n'
        "[[grids.RankSVM]]\nalpha = [0.1, 1]\n"
        '[[grids.RankSVM]]\nhinge = "linear"\n'
    )
    ok("experiment", "--config", "a.toml", "-o", "out", "-q")
    record = json.loads((tmp_path / "out" / "own" / "results.json").read_text())
    rows = record["experiment"]["rankers"]
    assert rows["RankSVM"]["configurations"] == [
        {"alpha": 0.1},
        {"alpha": 1},
        {"hinge": "linear"},
    ]


OWN = """
import numpy as np
from sklearn.base import BaseEstimator
from skrank.losses import HingeLoss

class First(BaseEstimator):
    def __init__(self, feature=0):
        self.feature = feature

    def fit(self, X, y):
        if self.feature < 0:
            raise RuntimeError("there is no such feature")
        return self

    def predict(self, X):
        return X[:, self.feature]

class Steep(HingeLoss):
    margin = 5.0

class NeedsMore(First):
    def __init__(self, feature):
        self.feature = feature

number = 3

def flat(places):
    return 1 / np.sqrt(places)
"""


@pytest.fixture
def own(data, tmp_path):
    """A module of the user's in the working directory."""
    write_module(tmp_path / "own_rankers.py", OWN)
    before = list(sys.path)
    # Processes that an earlier test has started look for modules where that one did.
    get_reusable_executor().shutdown(wait=True)
    yield "own_rankers"
    sys.modules.pop("own_rankers", None)
    sys.path[:] = before


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_own_rankers_and_losses(ok, data, tmp_path, own, jobs):
    out = ok(
        "experiment", data, "-o", "out", "-q", "--format", "json", "--jobs", jobs,
        "--ranker", f"{own}:First", "--ranker", "steep=EnergyRanker",
        "--grid", f"{own}:First", "feature=1,3",
        "--grid", "steep", f"loss={own}:Steep,HingeLoss",
    )  # fmt: skip
    chosen = json.loads(out)["data"]["data"]["chosen"]
    assert {each["ranker"] for each in chosen} == {f"{own}:First", "steep"}
    assert (tmp_path / "out" / "data" / "runs" / "own_rankers_First.trec").is_file()
    sys.modules.pop(own)
    # The code is a part of what defines a training.
    text = OWN.replace("X[:, self.feature]", "-X[:, self.feature]")
    write_module(tmp_path / "own_rankers.py", text)
    again = ok(
        "experiment", data, "-o", "out", "-q", "--format", "json",
        "--ranker", f"{own}:First", "--grid", f"{own}:First", "feature=1,3",
    )  # fmt: skip
    result = json.loads(again)["data"]["data"]
    assert (result["n_trained"], result["n_stored"]) == (6, 0)


def test_own_functions_as_parameters(ok, data, tmp_path, own):
    arguments = ["experiment", data, "-o", "out", "-q", "--ranker", "OWPC"]
    ok(*arguments, "--grid", "OWPC", f"weights=reciprocal,{own}:flat", "alpha=0.1")
    record = json.loads((tmp_path / "out" / "data" / "results.json").read_text())
    values = [c["validation"] for c in record["chosen"][0]["candidates"]]
    import own_rankers

    model = OWPC(weights=own_rankers.flat, alpha=0.1, random_state=0)
    fold = load_letor_folds(data)[0]
    scores = model.fit(*fold.train).predict(fold.vali.X)
    expected = ndcg_score(fold.vali.y, scores, groups=fold.vali.groups, k=10)
    assert values[1] == pytest.approx(expected, abs=1e-12)
    assert values[0] != values[1]


def test_own_rankers_fit_as_well(ok, data, own):
    out = ok("fit", data / "Fold1" / "train.txt", "--ranker", f"{own}:First",
             "--set", "feature=2")  # fmt: skip
    assert "First(feature=2)" in out


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        ("no_such_module:A", "there is no module 'no_such_module'"),
        ("own_rankers:A", "own_rankers does not define 'A'; it has BaseEstimator"),
        ("own_rankers:number", "must be a class with get_params"),
        ("own_rankers:Steep", "must have fit and predict"),
        ("own_rankers:NeedsMore", "made without arguments: give feature a default"),
        ("broken:A", "importing broken failed: SyntaxError"),
    ],
)
def test_mistakes_of_own_rankers(fails, data, tmp_path, own, ranker, message):
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert message in fails("experiment", data, "-o", "out", "--ranker", ranker)


def test_a_failure_sets_the_exit_code(run, data, own, tmp_path):
    arguments = [
        "experiment", data, "-o", "out", "--ranker", f"a={own}:First",
        "--grid", "a", "feature=0,-1",
    ]  # fmt: skip
    code, out, err = run(*arguments, "-q")
    assert code == 4
    assert out.startswith("   system  ")
    assert err == (
        "skrank: data: 3 trainings failed, the first one of a on Fold1: "
        "RuntimeError: there is no such feature\n"
    )
    code, _, err = run(*arguments)
    assert code == 4
    assert "[1/3] Fold1 a feature=-1: RuntimeError: there is no such feature" in err
    assert "data: 0 trained, 3 from earlier runs\n" in err


def test_progress_tells_the_count_and_the_time_left(run, data):
    arguments = [
        "experiment",
        data,
        "-o",
        "out",
        "--ranker",
        "LambdaRank",
        "--seeds",
        "2",
    ]
    arguments += ["--grid", "LambdaRank", "max_iter=2"]
    code, _, err = run(*arguments)
    assert code == 0
    lines = err.splitlines()
    assert lines[0].startswith("skrank: [1/6] Fold1 LambdaRank max_iter=2: ")
    assert lines[0].endswith(" s left")
    assert lines[-2].startswith("skrank: [6/6] Fold3 LambdaRank max_iter=2 seed 1: ")
    assert lines[-1] == "skrank: data: 6 trained, 0 from earlier runs"
    code, _, err = run(*arguments, "--features", "1")
    assert err.splitlines()[-1] == (
        "skrank: data: 6 trained, 0 from earlier runs; 6 stored trainings belong to "
        "other data, parameters or code, and are not used"
    )


def test_folders_files_and_tables(ok, ranking, data, tmp_path):
    X, y, groups = ranking
    dump_letor(X, y, groups, tmp_path / "all.txt")
    rows = [
        ",".join(map(repr, [*x, g, q]))
        for x, g, q in zip(X.tolist(), y.tolist(), groups.tolist())
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,e,grade,query", *rows]) + "\n")
    ranker = ["--ranker", "SubsetRegression", "-o", "out", "-q", "--folds", "3"]
    ok("experiment", "all.txt", *ranker, "--dtype", "float64", "--shuffle", "1")
    ok("experiment", "t.csv", *ranker, "--label", "grade", "--qid", "query",
       "--shuffle", "1")  # fmt: skip
    ok("experiment", "one=data/Fold2", *ranker[:-2])
    values = [
        (tmp_path / "out" / name / "per_query.tsv").read_text() for name in ("all", "t")
    ]
    assert values[0] == values[1]
    folds = make_folds(X, y, groups, n_splits=3, shuffle=True, random_state=1)
    expected = in_python(
        folds, tmp_path / "p", {"SubsetRegression": SubsetRegression()}
    )
    table = (tmp_path / "out" / "t" / "table.txt").read_text()
    assert table == expected.table.to_text() + "\n"
    one = json.loads((tmp_path / "out" / "one" / "results.json").read_text())
    assert [fold["name"] for fold in one["folds"]] == ["Fold2"]
    assert "folds pooled" not in str(one["table"]["notes"])
    few = ["--label", "grade", "--qid", "query", "--features", "b,e", "-o", "few"]
    ok("experiment", "t.csv", *ranker[:2], *few, "-q")
    folds = make_folds(X[:, [1, 4]], y, groups)
    expected = in_python(
        folds, tmp_path / "q", {"SubsetRegression": SubsetRegression()}
    )
    table = (tmp_path / "few" / "t" / "table.txt").read_text()
    assert table == expected.table.to_text() + "\n"


def test_several_data_sets(ok, run, data, tmp_path):
    arguments = [
        "experiment",
        data,
        "b=data",
        "--ranker",
        "SubsetRegression",
        "-o",
        "o",
    ]
    texts = {
        form: ok(*arguments, "-q", "--format", form)
        for form in ("plain", "markdown", "latex")
    }
    assert texts["plain"].startswith("data\n\n")
    assert "\n\nb\n\n" in texts["plain"]
    assert "## b\n\n|" in texts["markdown"]
    assert "% b\n\\begin{table}" in texts["latex"]
    printed = ok(*arguments, "-q", "--format", "json", "--json", "results.json")
    written = json.loads((tmp_path / "results.json").read_text())
    assert json.loads(printed) == {"data": written["data"]}
    arguments[-1] = "o2"
    assert "skrank: [1/3] data Fold1 SubsetRegression: " in run(*arguments)[2]


def test_features_of_rows(ok, data, tmp_path):
    rankers = [
        "--ranker",
        "all=RankSVM",
        "--ranker",
        "a=RankSVM",
        "--ranker",
        "b=RankSVM",
    ]
    common = ["experiment", "data", "-q", "--metrics", "ndcg@5"]
    subsets = ["--features", "a=1,3-4", "--features", "b=2"]
    ok(*common, *rankers, *subsets, "-o", "out")
    record = json.loads((tmp_path / "out/data/results.json").read_text())
    rows = record["experiment"]["rankers"]
    assert [rows[r]["features"] for r in ("all", "a", "b")] == [None, "1,3-4", "2"]
    expected = {"all": None, "a": "1,3-4", "b": "2"}
    found = _means(tmp_path / "out")
    assert len(set(found.values())) == 3
    for row, features in expected.items():
        alone = [] if features is None else ["--features", features]
        ok(*common, "--ranker", f"{row}=RankSVM", *alone, "-o", f"alone_{row}")
        assert _means(tmp_path / f"alone_{row}") == {row: found[row]}
    # That of the row comes before that of all, and both before the file.
    (tmp_path / "a.toml").write_text(
        'features = "4"\n[rankers.a]\nranker = "RankSVM"\nfeatures = "5"\n'
        '[rankers.b]\nranker = "RankSVM"\n'
    )
    ok(
        *common,
        "--config",
        "a.toml",
        "--features",
        "2",
        "--features",
        "a=1,3-4",
        "-o",
        "f",
    )
    assert _means(tmp_path / "f") == {row: found[row] for row in "ab"}


def _means(folder):
    record = json.loads((folder / "data/results.json").read_text())
    systems = record["table"]["systems"]
    return {name: m["ndcg@5"]["mean"] for name, m in systems.items()}


def test_sparse_features(ok, data, tmp_path):
    arguments = ["experiment", data, "--ranker", "RankSVM", "--format", "json", "-q"]
    dense, sparse = (
        json.loads(ok(*arguments, *more, "-o", f"out{len(more)}"))
        for more in ([], ["--sparse"])
    )
    means = [d["data"]["data"]["table"]["systems"]["RankSVM"] for d in (dense, sparse)]
    assert means[0]["map"]["mean"] == pytest.approx(means[1]["map"]["mean"], abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data"], "there are no rankers: name them by --ranker"),
        (["--ranker", "RankSVM"], "there are no data"),
        (["absent", "--ranker", "RankSVM"], "absent: No such file"),
        (["data", "--ranker", "RankSWM"], "did you mean 'RankSVM'"),
        (["data", "--ranker", "a="], "--ranker takes [ROW=]RANKER"),
        (["data", "--ranker", "RankSVM", "--ranker", "RankSVM"], "'RankSVM' twice"),
        (["data", "--ranker", "RankSVM", "--grid", "SVM", "a=1"], "--grid 'SVM' is no"),
        (["data", "--ranker", "RankSVM", "--grid", "RankSVM"], "names no parameter"),
        (
            ["data", "--ranker", "RankSVM", "--grid", "RankSVM", "alpha"],
            "--grid takes ROW PARAM=V1,V2 ..., got 'alpha'",
        ),
        (
            ["data", "--ranker", "RankSVM", "--grid", "RankSVM", "alpha=1,"],
            "--grid takes ROW PARAM=V1,V2",
        ),
        (
            ["data", "--ranker", "RankSVM", "--grid", "RankSVM", "alpha=1", "alpha=2"],
            "names 'alpha' twice",
        ),
        (
            ["data", "--ranker", "RankSVM", "--grid", "RankSVM", "alhpa=1"],
            "row 'RankSVM': RankSVM has no parameter 'alhpa'; did you mean 'alpha'",
        ),
        (["data", "data", "--ranker", "RankSVM"], "two data sets are called 'data'"),
        (["../x=data", "--ranker", "RankSVM"], "the name of a data set must be one"),
        ([".=data", "--ranker", "RankSVM"], "a folder can have, got '.' in '.=data'"),
        (["a=data", "A=data", "--ranker", "RankSVM"], "are called 'a' and 'A'; name"),
        (
            ["data", "--ranker", "RankSVM", "--grid", "RankSVM", "alpha=1,2"]
            + ["--select", "map,err"],
            "--select takes one",
        ),
        (
            ["data", "--ranker", "RankSVM", "--sparse", "--normalize", "standard"],
            "--normalize standard and --sparse exclude each other",
        ),
        (["data", "--ranker", "RankSVM", "--select", "err"], "where nothing is chosen"),
        (["data", "--ranker", "RankSVM", "--level", "0.1"], "on a single system"),
        (["data", "--ranker", "RankSVM", "--folds", "3"], "--folds has no effect on"),
        (["data", "--ranker", "RankSVM", "--label", "a"], "--label has no effect on"),
        (["t.csv", "--ranker", "RankSVM", "--qid", "q"], "--label names its column"),
        (["data", "--ranker", "RankSVM", "--features", "9"], "names '9', which is no"),
        (["data", "--ranker", "a=RankSVM", "--features", "a="], "--features takes [R"),
        (
            ["data", "--ranker", "RankSVM", "--features", "1", "--features", "2"],
            "--features names those of all rows twice",
        ),
        (
            ["data", "--ranker", "RankSVM", "--features", "RankSVM=1"]
            + ["--features", "RankSVM=2"],
            "--features names those of 'RankSVM' twice",
        ),
        (["data", "--ranker", "RankSVM", "--features", "b=1"], "names 'b=1', which is"),
        (
            ["data", "--ranker", "ranksvm", "--features", "RankSVM=1"],
            "--features 'RankSVM' is no row of the table; did you mean 'ranksvm'?",
        ),
        (
            ["data", "--ranker", "RankSVM", "--ranker", "b=RankSVM"]
            + ["--reference", "a"],
            "reference must be the",
        ),
        (["data", "--ranker", "A", "--json", "-", "--format", "latex"], "--format"),
        *(
            (
                ["t.txt", "--ranker", "RankSVM", "--folds", folds],
                f"--folds must be from 3 to the number of queries, 4, got {folds}",
            )
            for folds in ("2", "5", "-1")
        ),
        *(
            (
                ["t.txt", "--ranker", "RankSVM", "--folds", "3", "--shuffle", seed],
                f"--shuffle must be from 0 to 2**32 - 1, got {seed}",
            )
            for seed in ("-1", f"{2**32}")
        ),
    ],
)
def test_mistakes(fails, data, tmp_path, arguments, message):
    (tmp_path / "t.csv").write_text("a,g,q\n1,2,3\n")
    (tmp_path / "t.txt").write_text("".join(f"1 qid:{q} 1:{q}\n" for q in range(4)))
    assert message in fails("experiment", *arguments, "-o", "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data = [", "a.toml is no TOML: "),
        ("rankrs = []", "a.toml has an unknown key 'rankrs'; did you mean 'rankers'?"),
        ("seeds = true", "a.toml: seeds must be a whole number, got True"),
        ("data = [1]", "a.toml: data must be a path"),
        ("rankers = [1]", "a.toml: rankers must hold texts, got 1"),
        ('rankers = ["A", "A"]', "a.toml: rankers names a row twice"),
        ("rankers = {A = 1}", "a.toml: rankers.A must be a table, got 1"),
        ("rankers = {A = {alpha = 1}}", "a.toml: rankers.A has an unknown key 'alpha'"),
        ("rankers = {A = {ranker = 1}}", "a.toml: rankers.A: ranker must be a text"),
        ("grids = {B = {}}", "grids has 'B', which is none of the rankers"),
        (
            "rankers = {A = {grid = {}}}\ngrids = {A = {}}",
            "the grid of 'A' stands both under rankers and under grids",
        ),
        ("rankers = {A = {grid = [1]}}", "the grid of 'A' must be a table"),
        ("rankers = {A = {grid = []}}", "the grid of 'A' holds no table"),
        ("rankers = ['A']\ngrids = {A = []}", "the grid of 'A' holds no table"),
        ("rankers = ['A']\ngrids = {A = {b = []}}", "has no value for 'b'"),
        ("rankers = ['RankSVM']\nnormalize = 'x'", "normalize must be one of none,"),
        ("rankers = ['RankSVM']\ndtype = 'int'", "dtype must be"),
        ("rankers = ['RankSVM']\ntest = 'x'", "test must be"),
        (
            f"rankers = {{RankSVM = {{seeds = {10**18}}}}}",
            "seeds must be a whole number in [1, 10000] or None, got 100000000000",
        ),
        (
            "rankers = {'RankSVM' = {}, \"a\\nb\" = {ranker = 'RankSVM'}}",
            r"a.toml: rankers must have names on one line, got 'a\nb'",
        ),
        ("rankers = ['RankSVM', ' ']", "must have names on one line, got ' '"),
    ],
)
def test_mistakes_of_definitions(fails, data, tmp_path, text, message):
    (tmp_path / "a.toml").write_text(text)
    assert message in fails("experiment", data, "--config", "a.toml", "-o", "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["..", "../b", "/b", "./b", "", ".", "b/", r"\n"])
def test_names_of_data_are_names_of_folders(fails, data, tmp_path, name):
    text = f"rankers = ['RankSVM']\n[data]\nok = 'data'\n\"{name}\" = 'data'\n"
    (tmp_path / "a.toml").write_text(text)
    message = fails("experiment", "--config", "a.toml", "-o", "out")
    shown = repr(name.replace(r"\n", "\n"))
    assert message == (
        "the name of a data set must be one that a folder can have, the table data "
        f"has {shown}"
    )
    assert not (tmp_path / "out").exists()


def test_names_of_data_differ_in_more_than_case(fails, data, tmp_path):
    text = "rankers = ['RankSVM']\ndata = {Mq = 'data', mQ = 'data'}\n"
    (tmp_path / "a.toml").write_text(text)
    message = fails("experiment", "--config", "a.toml", "-o", "out")
    assert message.startswith("two data sets are called 'Mq' and 'mQ'; name them")


def test_a_reference_that_is_not_among_the_chosen_rankers(ok, fails, data, tmp_path):
    text = (
        "data = 'data'\nmeasures = 'map'\nreference = 'RankSVM'\n"
        "rankers = ['RankSVM', 'SubsetRegression', 'LogisticRanker']\n"
    )
    path = tmp_path / "a.toml"
    path.write_text(text)
    options = ["experiment", "--config", path, "-o", "out", "-q"]
    rankers = ["--ranker", "LogisticRanker", "--ranker", "SubsetRegression"]
    out = ok(*options, *rankers)
    assert "better and worse than LogisticRanker" in " ".join(out.split())
    assert out == ok(*options, *rankers, "--reference", "LogisticRanker")
    out = ok(*options, *rankers, "--reference", "SubsetRegression")
    assert "better and worse than SubsetRegression" in " ".join(out.split())
    ok(*options, *rankers[:2])
    message = fails(*options, *rankers, "--reference", "RankSVM")
    assert "reference must be the name of a ranker" in message
    path.write_text(text.replace("reference = 'RankSVM'", "reference = 'SVM'"))
    message = fails(*options, *rankers)  # a row that the file does not have
    assert "reference must be the name of a ranker" in message


@pytest.mark.parametrize(("code", "told"), [("0", "0"), ("'bye'", "bye"), ("", "")])
def test_a_fit_that_ends_the_program_has_failed(run, data, tmp_path, own, code, told):
    text = OWN.replace(
        'RuntimeError("there is no such feature")', f"SystemExit({code})"
    )
    write_module(tmp_path / "own_rankers.py", text)
    result, out, err = run(
        "experiment", data, "-o", "out", "-q", "--ranker", f"a={own}:First",
        "--grid", "a", "feature=0,-1",
    )  # fmt: skip
    assert (result, out[:11]) == (4, "   system  "), err
    assert err.startswith("skrank: data: 3 trainings failed, the first one of a on ")
    assert err.endswith(f": SystemExit: {told}\n")


def test_no_result_is_written_among_the_files_of_another(fails, ok, data, tmp_path):
    command = ("experiment", data, "--ranker", "RankSVM", "-q", "-o")
    ok(*command, "out", "--json", "out.json")
    path = tmp_path / "out" / "data" / "results.json"
    before = path.read_bytes()
    message = fails(*command, "out", "--json", path)
    assert message.startswith(f"{path} is in a folder of the results")
    assert path.read_bytes() == before
    # Results may stand beside the data, and be written again.
    for _ in range(2):
        ok(*command, data / "results", "--json", data / "results.json")


def test_the_folder_of_the_results_has_a_name(fails, data):
    message = fails("experiment", data, "--ranker", "RankSVM", "-o", "")
    assert message == "the folder of the results must not have an empty name"


def test_all_keys_are_named_in_the_help():
    from skrank.cli._experiment_definition import _KEYS

    words = EXPERIMENT.split("has the keys", 1)[1].split("; options", 1)[0]
    named = words.replace(" and ", ", ").replace("\n", " ").split(",")
    assert [name.strip() for name in named] == list(_KEYS)


def test_the_examples_of_the_guide_are_toml(request):
    guide = request.config.rootpath / "doc" / "experiments.rst"
    blocks = guide.read_text(encoding="utf-8").split(".. code-block:: toml\n")[1:]
    assert blocks
    for block in blocks:
        lines = []
        for line in block.splitlines():
            if line and not line.startswith("   "):
                break
            lines.append(line[3:])
        assert tomllib.loads("\n".join(lines))["rankers"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_of_text_is_told_as_in_a_fit(form, run, fails, tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=30), "t": ["u", "v", "w"] * 10})
    frame["q"], frame["y"] = np.repeat(range(6), 5), rng.integers(0, 3, 30)
    name = f"t.{form}"
    if form == "csv":
        frame.to_csv(name, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(name)
    read = (name, "--label", "y", "--qid", "q", "--ranker", "RankSVM")
    told = fails("fit", *read)
    assert told.startswith(f"{name}: X: could not convert string to float: 'u' in row")
    assert told.endswith("or name columns of numbers by --features")
    assert fails("experiment", *read, "--folds", "3", "-o", "out", "-q") == told
    # Beside a ranker that takes names, the others go on; so do the lines of progress.
    both = (*read, "--ranker", "RandomForestRanker", "--folds", "3", "-o", "both")
    code, out, err = run("experiment", *both)
    assert code == TRAININGS_FAILED
    assert "RankSVM failed and left out" in " ".join(out.split())
    assert err.count("name columns of numbers by --features") == 4
    assert "QueryTargetEncoder" not in err
