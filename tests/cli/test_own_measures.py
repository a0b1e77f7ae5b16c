"""Measures of the user's own on the command line, as ``module:Name``."""

import json
import sys

import numpy as np
import pytest
from sklearn.base import clone

from skrank.cli._measures import parse_measure
from skrank.datasets import load_letor
from skrank.export import load_model
from skrank.metrics import evaluate, evaluate_measure

_MODULE = """
import numpy as np
from sklearn.base import BaseEstimator
from skrank.losses import LogLoss
from skrank.metrics import BaseMeasure, FunctionMeasure, NDCG, Precision


def first(y_true, y_score, k=1):
    if not y_true.any():
        return np.nan
    return y_true[np.argsort(-y_score, kind="stable")[:k]].mean()


def priced(y_true, y_score, price):
    return 0.0


class Total(BaseMeasure):
    bounds = (0.0, np.inf)
    undefined_without = None

    def _values(self, documents):
        return documents.sum_by_query(documents.y)


class Needy(BaseMeasure):
    power: float


def lookup(y_true, y_score):
    return {}["x"]


def recurse(y_true, y_score):
    return recurse(y_true, y_score)


def leave(y_true, y_score):
    raise SystemExit(0)


class Leaving(Total):
    def _values(self, documents):
        return leave(documents.y, documents.y_score)


class Keyed(BaseEstimator):
    def fit(self, X, y):
        return lookup(X, y)

    def predict(self, X):
        return X


def go_on(info):
    return False


def rate(iteration):
    return 0.1


class OwnLoss(LogLoss):
    pass


class OwnScores(LogLoss):
    def to_scores(self, raw):
        return -np.asarray(raw)


class AtLeast(BaseMeasure):
    undefined_without = None
    grade: float = 1.0

    def _values(self, documents):
        good = documents.y >= self.grade
        return documents.sum_by_query(good) / np.diff(documents.ptr)


def highest(y_true, y_score):
    return float(y_score.max())


class Found(Precision):
    pass


made = NDCG(k=3)
lowest = FunctionMeasure(first, greater_is_better=False, label="lowest")
number = 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Name of a module in the working directory, which is not on the path."""
    name = "own_measures_of_a_user"
    (tmp_path / f"{name}.py").write_text(_MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def scored(letor, tmp_path):
    """Options of ``evaluate``, and what they evaluate."""
    X, y, groups = load_letor(letor / "test.txt")
    path = tmp_path / "scores"
    path.write_text("".join(f"{score!r}\n" for score in X[:, 0].tolist()))
    options = ["evaluate", "--letor", letor / "test.txt", "--scores", path]
    return options, y, X[:, 0].astype(float), groups


def test_functions_classes_and_objects_are_measures(ok, own, scored):
    options, y, scores, groups = scored
    names = [f"{own}:first@2", f"{own}:first(k=3)", f"{own}:Total", f"{own}:made"]
    out = ok(*options, "--metrics", ",".join(names), "--json", "-")
    found = json.loads(out)["measures"]
    module = sys.modules[own]
    order = [np.flatnonzero(groups == q) for q in np.unique(groups)]
    for name, k in ((f"{own}:first@2", 2), (f"{own}:first@3", 3)):
        values = [module.first(y[q], scores[q], k) for q in order]
        assert found[name] == pytest.approx(np.nanmean(values))
    assert found[names[2]] == pytest.approx(np.mean([y[q].sum() for q in order]))
    assert found[f"{own}:made@3"] == evaluate_measure(
        "ndcg@3", y, scores, groups=groups
    )


def test_measures_of_runs(ok, own, tmp_path):
    (tmp_path / "run").write_text(
        "q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq2 Q0 a 1 2 x\nq3 Q0 a 1 2 x\n"
    )
    qrels = "q1 0 b 1\nq1 0 c 1\nq2 0 a 2\nq3 0 a 0\n"
    (tmp_path / "qrels").write_text(qrels)
    name = f"{own}:first"
    out = ok("evaluate", "qrels", "run", "-m", name, "-m", "map", "-q")
    lines = [map(str.strip, line.split("\t")) for line in out.splitlines()]
    lines = [tuple(line) for line in lines]
    values = {query: value for m, query, value in lines if m == name}
    # Query q3 has no relevant document: NaN, which is left out of the mean.
    assert values == {"q1": "0.0000", "q2": "2.0000", "q3": "nan", "all": "1.0000"}
    assert [value for m, query, value in lines if (m, query) == ("map", "all")] == [
        "0.4167"
    ]
    alone = ok("evaluate", "qrels", "run", "-m", f"{own}:Total", "-M", 1)
    assert [line.split() for line in alone.splitlines()] == [
        [f"{own}:Total", "all", "1.3333"]
    ]
    # Total has no convention, and those of the function are its own.
    (told,) = [text for m, query, text in lines if m == "conventions"]
    assert told.startswith("equal scores as the function treats them; queries for w")


def test_values_of_runs_are_those_of_python(ok, own, tmp_path):
    (tmp_path / "run").write_text("q1 Q0 a 1 5 x\nq1 Q0 b 2 5 x\nq2 Q0 a 1 3 x\n")
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    names = [f"{own}:highest", f"{own}:Found@1"]
    for preset, value in (("trec_eval", 0.5), ("skrank", 0.75)):
        options = ["--preset", preset, "--metrics", ",".join(names), "--json", "-"]
        found = json.loads(ok("evaluate", "qrels", "run", *options))["measures"]
        assert [found[name] for name in names] == [4.0, value]
        measures = [sys.modules[own].highest, "p@1"]
        python = evaluate("qrels", "run", measures, preset=preset)
        assert list(python.summary.values()) == [4.0, value]
    found = ok("evaluate", "qrels", "run", "-m", names[1], "--json", "-")
    assert json.loads(found)["measures"][names[1]] == 0.5  # as the names of measures


@pytest.mark.parametrize(
    ("options", "message"),
    [(["-R", "qrels_jg"], "-R is for measures of"), (["-Z", "z"], "-Z is for measure")],
)
def test_options_of_trec_eval_that_own_measures_do_not_have(
    fails, own, tmp_path, options, message
):
    for name in "abz":
        (tmp_path / name).write_text("")
    assert message in fails("evaluate", "a", "b", "-m", f"{own}:first", *options)


def test_compare_and_its_caption(ok, own, scored, letor, tmp_path):
    out = ok(
        "compare", "--letor", letor / "test.txt", "a=scores", "b=scores",
        "--metrics", f"map,{own}:lowest",
    )  # fmt: skip
    text = " ".join(out.split())
    assert "lower is better for lowest" in text
    assert "queries for which first returns NaN left out (lowest)." in text


def test_a_measure_has_the_same_name_everywhere(ok, own, scored, letor):
    given = [f"{own}:{name}" for name in ("first(k=3)", "Total", "made", "lowest")]
    names = [f"{own}:first@3", f"{own}:Total", f"{own}:made@3", "lowest"]
    listed = ["--metrics", ",".join(given)]
    assert list(json.loads(ok(*scored[0], *listed, "--json", "-"))["measures"]) == names
    data = ["--letor", letor / "test.txt"]
    table = ok("compare", *data, "a=scores", "b=scores", *listed, "--format", "json")
    assert list(json.loads(table)["systems"]["a"]) == names
    document = ok("fit", letor / "train.txt", "--ranker", "SubsetRegression",
                  *listed, "--json", "-")  # fmt: skip
    assert json.loads(document)["metrics"] == names


def test_rankers_learn_from_own_measures(ok, fails, own, letor, tmp_path):
    options = ["fit", letor / "train.txt", "--set", f"measure={own}:first@3"]
    out = ok(
        *options, "--ranker", "LambdaMART", "--set", "n_estimators=2",
        "--set", f"validation_measure={own}:Total",
        "--validation", letor / "vali.txt", "--metrics", f"{own}:first",
    )  # fmt: skip
    assert f"{own}:first" in out
    told, _ = out.split("trained in")
    assert f"measure={own}:first@3, " in told
    assert f"validation_measure={own}:Total)" in told
    several = [*options, "--ranker", "LambdaMART", "--set", "n_estimators=2"]
    several += ["--validation-measures", f"map,{own}:first", "--json", "-"]
    found = json.loads(ok(*several, "--set", "early_stopping=True"))["params"]
    assert found["measure"] == f"{own}:first@3"
    assert found["validation_measure"] == f"['map', {own}:first]"


_BRIEF = ("--set", "n_estimators=2", "--set", "random_state=0")


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        (["LambdaMART", "--set", "measure={own}:first@3"], ["measure"]),
        (["LambdaMART", "--set", "measure={own}:made"], []),
        (["MART", "--validation-measures", "map,{own}:Total"], ["validation_measure"]),
        (["MART", "--validation-measures", "{own}:made"], []),
        (
            [
                "MART", "--set", "callback={own}:go_on",
                "--set", "learning_rate={own}:rate",
            ],
            ["callback", "learning_rate"],
        ),
        (["BoostedRanker", "--set", "loss={own}:OwnLoss"], ["loss"]),
        (["MART", "--normalize", "standard", "--set", "callback={own}:go_on"],
         ["callback"]),
    ],
)  # fmt: skip
def test_models_that_learned_by_own_code_are_saved(
    ok, own, letor, tmp_path, options, left_out
):
    options = [option.format(own=own) for option in options]
    data = [letor / "train.txt", "--validation", letor / "vali.txt"]
    path = tmp_path / "model.skrank"
    common = ["fit", *data, "--ranker", *options, *_BRIEF, "--metrics", "map"]
    document = json.loads(ok(*common, "--save", path, "--json", "-"))
    assert document["left_out"] == left_out
    told = " ".join(ok(*common, "--save", path).split())
    assert ("code of your own is never saved" in told) == bool(left_out)
    scores = ok("predict", path, letor / "test.txt").split()
    # The file is read where there is no such module, and scores as the model did.
    sys.modules.pop(own)
    (tmp_path / f"{own}.py").unlink()
    assert ok("predict", path, letor / "test.txt").split() == scores
    X, y, groups = load_letor(letor / "vali.txt")
    found = evaluate_measure("map", y, load_model(path).predict(X), groups=groups)
    assert document["runs"][0]["sets"]["validation"]["metrics"]["map"] == found
    if "learning_rate" in left_out:
        assert load_model(path).learning_rate.tolist() == [0.1, 0.1]


def test_code_of_nested_rankers_is_left_out(ok, own, letor, tmp_path):
    path = tmp_path / "model.skrank"
    out = ok(
        "fit", letor / "train.txt", "--ranker", "NestedRanker",
        "--set", "estimator=LambdaMART", "--set", "estimator__n_estimators=2",
        "--set", f"estimator__measure={own}:first", "--save", path,
    )  # fmt: skip
    assert "The file leaves out measure: code of your own is never" in out
    model = load_model(path)
    assert {each.measure for each in (model.estimator, *model.estimators_)} == {
        "ndcg@30"
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["BoostedRanker", "--set", "loss={own}:OwnScores"], "model.loss cannot be"),
        (["ListNet", "--set", "gain={own}:rate"], "model.gain cannot be saved: rate"),
        (["{own}:Keyed"], "model cannot be saved: {own}.Keyed is not one of"),
    ],
)
def test_what_predictions_need_is_refused_before_training(
    fails, own, letor, tmp_path, options, message
):
    options = [option.format(own=own) for option in options]
    path = tmp_path / "model.skrank"
    error = fails("fit", letor / "train.txt", "--ranker", *options, "--save", path)
    assert message.format(own=own) in error
    assert not path.exists()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("first(k=3)", "first@3"),
        ("Total", "Total"),
        ("AtLeast(grade=2)", "AtLeast(grade=2)"),
        ("made", "made@3"),
        ("made(gain=linear)@5", "made(gain=linear)@5"),
        ("lowest", None),
    ],
)
def test_a_measure_keeps_its_name_when_it_is_cloned(own, given, name):
    measure = parse_measure(f"{own}:{given}")
    expected = "lowest" if name is None else f"{own}:{name}"
    assert [measure.name, clone(measure).name] == [expected] * 2


def test_options_tell_measures_of_one_class_apart(ok, own, scored):
    options, y, _, groups = scored
    names = [f"{own}:AtLeast(grade={g})" for g in (1, 2)]
    out = ok(*options, "--metrics", ",".join(names), "--json", "-")
    found = json.loads(out)["measures"]
    for grade, name in enumerate(names, 1):
        shares = [np.mean(y[groups == q] >= grade) for q in np.unique(groups)]
        assert found[name] == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing_module:f", "there is no module 'missing_module'"),
        ("{own}:missing", "does not define 'missing'; it has "),
        ("{own}:number", "must be a function f(y_true, y_score) or a class derived"),
        ("{own}:priced", "needs price with one entry per row, for which the command"),
        ("{own}:first(j=2)", "kwargs must be arguments that first takes"),
        ("{own}:Total@2", "Total has no parameter 'k'"),
        ("{own}:Needy", "'power'"),
        ("{own}:first@x", "unknown measure"),
        ("{own}:first(k=2)@5", "has two cut-offs"),
        ("{own}:made(k=2)@5", "has two cut-offs"),
    ],
)
def test_mistakes_are_one_line(fails, own, scored, name, message):
    name = name.format(own=own)
    error = fails(*scored[0], "--metrics", name)
    assert message in error
    assert name in error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lookup", "lookup failed: KeyError: 'x'"),
        ("recurse", "recurse failed: RecursionError: maximum recursion"),
        ("leave", "leave failed: SystemExit: 0"),
        ("Leaving", "Leaving failed: SystemExit: 0"),
    ],
)
def test_a_failure_of_a_measure_names_it(fails, own, scored, letor, name, message):
    message = f"{own}:{message}"
    assert fails(*scored[0], "--metrics", f"map,{own}:{name}").startswith(message)
    compare = ["compare", "--letor", letor / "test.txt", "a=scores", "b=scores"]
    assert fails(*compare, "--metrics", f"{own}:{name}").startswith(message)


def test_a_failure_of_a_ranker_names_it(fails, own, letor):
    message = fails("fit", letor / "train.txt", "--ranker", f"{own}:Keyed")
    assert message == f"{own}:Keyed failed: KeyError: 'x'"


@pytest.mark.parametrize(("code", "told"), [("0", "0"), ("'bye'", "bye")])
def test_a_module_that_ends_the_program(fails, own, scored, tmp_path, code, told):
    (tmp_path / "leaving_module.py").write_text(f"raise SystemExit({code})\n")
    message = fails(*scored[0], "--metrics", "leaving_module:f")
    assert message.endswith(f"importing leaving_module failed: SystemExit: {told}")


def test_other_code_that_ends_the_program(fails, monkeypatch):
    def leave(args):
        raise SystemExit("bye")

    monkeypatch.setattr("skrank.cli._demo.run", leave)
    assert fails("demo") == "ended by SystemExit: bye"
