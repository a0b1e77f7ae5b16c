"""Expressions, evaluated by the rules of their languages, against `predict`."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.export import (
    to_elasticsearch,
    to_expression,
    to_json,
    to_ranklib,
    to_solr,
)
from skrank.rankers import LambdaMART, RankGP, RankSVM

NAMES = ["bm25", "clicks", "a.b", "$price_2"]
ODD = ["it's", 'a "b"', "back\\slash", "é {0}, (x)"]
FORMULAS = [
    "x0",
    "-0.5",
    "(x0 + x1)",
    "((x0 - -0.25) * (x1 / x2))",
    "(x3 / (x0 - x0))",
    "(1.5 / 0.0)",
    "((x0 / (x1 / (x2 / x3))) - (1e-05 * x0))",
    "((x0 * x0) + (x1 / (x1 * 0.0)))",
]
WORD = re.compile(
    r"\s*(\d[\d.]*(?:e[-+]?\d+)?|'(?:\\.|[^'\\])*'|[A-Za-z_$][\w$.]*|==|\S)", re.ASCII
)


class Reader:
    """Reads an expression of Painless, Lucene or Solr, and computes it for all rows."""

    def __init__(self, text, scope):
        self.words, self.place, self.scope = WORD.findall(text), 0, scope

    def result(self):
        value = self.choice()
        assert self.place == len(self.words), self.words[self.place :]
        return value

    def next_is(self, *expected):
        if self.place < len(self.words) and self.words[self.place] in expected:
            self.place += 1
            return self.words[self.place - 1]
        return None

    def choice(self):
        value = self.comparison()
        if not self.next_is("?"):
            return value
        first = self.choice()
        assert self.next_is(":")
        return np.where(value, first, self.choice())

    def comparison(self):
        value = self.sum()
        sign = self.next_is("<", "==")
        if not sign:
            return value
        return value < self.sum() if sign == "<" else value == self.sum()

    def sum(self):
        value = self.product()
        while sign := self.next_is("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self):
        value = self.signed()
        while sign := self.next_is("*", "/"):
            value = value * self.signed() if sign == "*" else value / self.signed()
        return value

    def signed(self):
        return -self.signed() if self.next_is("-") else self.operand()

    def operand(self):
        if self.next_is("("):
            value = self.choice()
            assert self.next_is(")")
            return value
        word = self.words[self.place]
        self.place += 1
        if word[0] == "'":
            return re.sub(r"\\(.)", r"\1", word[1:-1])
        if word[0].isdigit():
            return self.scope["number"](float(word))
        value = self.scope[word]
        while opened := self.next_is("(", "[", "."):
            if opened == ".":
                self.place += 1
                value = getattr(value, self.words[self.place - 1])
                continue
            arguments, closed = [], ")" if opened == "(" else "]"
            while not self.next_is(closed):
                arguments.append(self.choice())
                self.next_is(",")
            value = value[arguments[0]] if opened == "[" else value(*arguments)
        return value


class Field:
    """Doc values of a field, in which NaN stands for a missing value."""

    def __init__(self, column):
        self.missing = np.isnan(column)
        self.value = np.where(self.missing, 0.0, column)

    def size(self):
        return 1.0 - self.missing


def java(**more):
    functions = {"max": np.maximum, "min": np.minimum, "abs": np.abs}
    functions |= {f"Math.{name}": function for name, function in functions.items()}
    return functions | {"number": np.float64} | more


def painless(text, columns):
    scope = java(doc={name: Field(column) for name, column in columns.items()})
    functions = re.findall(r"double (\w+)\(([^)]*)\) \{ return ([^;]*); \} ", text)
    for name, parameters, body in functions:
        # Reader keeps names with dots together, as Lucene does: "field.size" is one.
        words = [p.split()[1] for p in parameters.split(", ")]

        def run(*arguments, words=words, body=body):
            inner = scope | dict(zip(words, arguments, strict=True))
            if "field" in inner:
                field = inner["field"]
                inner |= {"field.size": field.size, "field.value": field.value}
            return Reader(body, inner).result()

        scope[name] = run
    assert len(functions) == 3
    main = text[text.index("return", text.rindex(" } ")) :]
    assert main.endswith(";")
    return Reader(main.removeprefix("return ")[:-1], scope).result()


def lucene(text, columns):
    fields = {name: Field(column) for name, column in columns.items()}
    return Reader(text, java(doc=fields)).result()


def derived(text, columns):
    return Reader(text, java(**columns)).result()


class Single:
    """A value of Solr: a float, and whether it exists."""

    def __init__(self, value, exists=True):
        self.value, self.exists = np.float32(value), exists


def solr(text, columns):
    """Functions of Solr: floats at every step, and bounds of what exists alone."""

    def extreme(function, start):
        def run(*values):
            found = np.float32(start)
            for one in values:
                seen = (one.value != 0) | one.exists
                found = np.where(seen, function(found, one.value), found)
            return Single(found)

        return run

    def floats(function):
        return lambda *values: Single(function(*(v.value for v in values)))

    def field(name):
        return Single(Field(columns[name]).value, ~np.isnan(columns[name]))

    scope = {
        "number": Constant,
        "field": field,
        "def": lambda a, b: Single(np.where(a.exists, a.value, b.value)),
        "max": extreme(np.maximum, -np.inf),
        "min": extreme(np.minimum, np.inf),
        "sum": floats(lambda a, b: np.float32(0) + a + b),
        "product": floats(lambda a, b: np.float32(1) * a * b),
        "sub": floats(np.subtract),
        "div": floats(np.divide),
        "abs": floats(np.abs),
        # Comparisons are of doubles: constants are not rounded there.
        "lt": lambda a, b: np.float64(a.value) < b.double,
        "if": lambda test, a, b: Single(np.where(test, a.value, b.value)),
    }
    found = Reader(text, scope).result().value
    assert found.dtype == np.float32
    return found


class Constant(Single):
    """A number in a function query of Solr, which is a double until it is used."""

    def __init__(self, number):
        super().__init__(number)
        self.double = number

    def __neg__(self):
        return Constant(-self.double)


LANGUAGES = {
    "painless": painless,
    "lucene": lucene,
    "derived_expression": derived,
    "solr": solr,
}


def evaluated(language, text, X, names=NAMES):
    columns = dict(zip(names, np.asarray(X, dtype=np.float64).T, strict=True))
    with np.errstate(all="ignore"):
        return np.broadcast_to(LANGUAGES[language](text, columns), len(X))


@pytest.fixture(scope="module")
def data():
    return make_ranking(20, n_features=4, n_informative=3, random_state=0)


@pytest.fixture
def ranker(data):
    return RankGP(max_iter=1, n_layers=1, population_size=5, random_state=0).fit(*data)


def rows(dtype=np.float64):
    """Real numbers, and among them zeros, so that divisors are 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * 10.0 ** rng.integers(-3, 4, size=(300, 4))
    X[rng.random(X.shape) < 0.1] = 0.0
    X[0] = -0.0
    return X.astype(dtype)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("language", ["painless", "lucene", "derived_expression"])
def test_double_precision_is_that_of_predict(language, formula, ranker):
    ranker.formula_ = formula
    text = to_expression(ranker, language=language, feature_names=NAMES)
    X = rows()
    X[1:4] = [[1e200, 1e-200, 1e-101, 1e-99], [-1e300, 1e99, 1, 5e-324], [1e60] * 4]
    assert_array_equal(evaluated(language, text, X), ranker.predict(X))


@pytest.mark.parametrize("formula", FORMULAS)
def test_solr_rounds_to_single_precision(formula, ranker):
    ranker.formula_ = formula
    text = to_expression(ranker, language="solr", feature_names=NAMES)
    X = rows(np.float32)
    expected, found = ranker.predict(X), evaluated("solr", text, X)
    # Sums of opposite terms lose digits, so that the size of the terms is the scale.
    scale = 1.0 + np.abs(X).max(axis=1)
    assert_allclose(found / scale, expected / scale, rtol=2e-6, atol=2e-7)


def test_solr_holds_the_numbers_of_single_precision_only(ranker):
    ranker.formula_ = "((x0 * x0) - (x1 * x1))"
    text = to_expression(ranker, language="solr", feature_names=NAMES)
    X = np.array([[1e30, 0, 0, 0], [0, 1e30, 0, 0], [1e30, 1e30, 0, 0]])
    largest = np.finfo(np.float32).max
    assert evaluated("solr", text, X).tolist() == [largest, -largest, 0.0]
    ranker.formula_ = "(x0 / x1)"
    text = to_expression(ranker, language="solr", feature_names=NAMES)
    assert evaluated("solr", text, [[1e-20, 6e-46, 0, 0]]) == 1.0


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_bred_is_exported(language, data):
    X, y, groups = data
    X = X.astype(np.float32)
    ranker = RankGP("map", population_size=40, max_iter=8, random_state=1)
    ranker.fit(X, y, groups)
    text = to_expression(ranker, language=language, feature_names=NAMES)
    found = evaluated(language, text, X)
    assert_allclose(found, ranker.predict(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("language", ["painless", "lucene", "solr"])
def test_a_missing_value_is_zero(language, ranker):
    ranker.formula_ = "((x0 * x1) + (x2 / x3))"
    text = to_expression(ranker, language=language, feature_names=NAMES)
    X = rows(np.float32)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    expected = ranker.predict(np.nan_to_num(X))
    assert_allclose(evaluated(language, text, X), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("language", ["painless", "solr"])
def test_odd_names_are_quoted(language, ranker):
    ranker.formula_ = "((x0 - x1) * (x2 - x3))"
    text = to_expression(ranker, language=language, feature_names=ODD)
    X = rows(np.float32)
    found = evaluated(language, text, X, ODD)
    scale = np.abs(X).max(axis=1) ** 2 + 1.0
    assert_allclose(found / scale, ranker.predict(X) / scale, atol=1e-6)


def test_names_come_from_the_data_frame(data):
    X, y, groups = data
    X = pd.DataFrame(X, columns=NAMES)
    ranker = RankGP(max_iter=1, n_layers=1, random_state=0).fit(X, y, groups)
    ranker.formula_ = "(x3 / x0)"
    assert to_expression(ranker, language="solr") == (
        "if(lt(abs(max(-3.4028235e38,min(3.4028235e38,def(field('bm25'),0)))),1e-100),"
        "1,max(-3.4028235e38,min(3.4028235e38,div("
        "max(-3.4028235e38,min(3.4028235e38,def(field('$price_2'),0))),"
        "max(-3.4028235e38,min(3.4028235e38,def(field('bm25'),0)))))))"
    )


@pytest.mark.parametrize(
    ("language", "name", "message"),
    [
        ("lucene", "it's", "has a quote or a backslash"),
        ("lucene", "a\\b", "has a quote or a backslash"),
        ("derived_expression", "title score", "cannot be a variable"),
        ("derived_expression", "2nd", "cannot be a variable"),
        ("derived_expression", "é", "cannot be a variable"),
        ("solr", "a${b}", "replaces by a parameter of the request"),
    ],
)
def test_names_that_a_language_lacks_are_refused(language, name, message, ranker):
    ranker.formula_ = "x1"
    names = ["a", name, "b", "c"]
    with pytest.raises(ValueError, match=message):
        to_expression(ranker, language=language, feature_names=names)
    ranker.formula_ = "x0"  # which does not ask for it
    assert to_expression(ranker, language=language, feature_names=names)


@pytest.mark.parametrize("name", ["\ud800", "a\udfff"])
def test_names_that_no_file_can_hold_are_refused(name, ranker):
    message = r"feature_names must be text that UTF-8 can hold, .*\\ud"
    names = [name, *NAMES[1:]]
    for language in LANGUAGES:
        with pytest.raises(ValueError, match=message):
            to_expression(ranker, language=language, feature_names=names)
    X, y, groups = make_ranking(20, n_features=4, n_informative=4, random_state=0)
    linear = RankSVM().fit(X, y, groups)
    for write in (to_elasticsearch, to_solr):
        with pytest.raises(ValueError, match=message):
            write(linear, "m", feature_names=names)
    with pytest.raises(ValueError, match=message):
        to_json(linear, feature_names=names)


def test_formulas_that_are_too_long_are_refused(ranker):
    formula = "x0"
    for _ in range(12):
        formula = f"(x1 / {formula})"
    ranker.formula_ = formula
    for language in ("lucene", "derived_expression", "solr"):
        with pytest.raises(ValueError, match=f"more than 65535 bytes .*'{language}'"):
            to_expression(ranker, language=language, feature_names=NAMES)
    text = to_expression(ranker, language="painless", feature_names=NAMES)
    assert_array_equal(evaluated("painless", text, rows()), ranker.predict(rows()))
    names = ["é" * 40_000, *NAMES[1:]]
    with pytest.raises(ValueError, match="more than 65535 bytes"):
        to_expression(ranker, language="painless", feature_names=names)


def test_constants_beyond_single_precision_are_refused_for_solr(ranker):
    ranker.formula_ = "(x0 * 1e+39)"
    with pytest.raises(ValueError, match=r"has the constant 1e\+39, which is beyond"):
        to_expression(ranker, language="solr", feature_names=NAMES)
    text = to_expression(ranker, language="lucene", feature_names=NAMES)
    assert_array_equal(evaluated("lucene", text, rows()), ranker.predict(rows()))


def test_other_rankers_and_pipelines_are_refused(data, ranker):
    X, y, groups = data
    for other in (RankSVM(), LambdaMART(n_estimators=2)):
        other.fit(X, y, groups)
        with pytest.raises(ValueError, match=f"{type(other).__name__} has no formula_"):
            to_expression(other, language="solr", feature_names=NAMES)
    for step in (StandardScaler(), "passthrough"):
        model = make_pipeline(step, RankGP(max_iter=1, random_state=0))
        model.fit(X, y, rankgp__groups=groups)
        if step == "passthrough":
            assert to_expression(model, language="solr", feature_names=NAMES)
            continue
        with pytest.raises(ValueError, match="'standardscaler' comes before a ranker"):
            to_expression(model, language="solr", feature_names=NAMES)

    class Squared(RankGP):
        def _predict(self, X):
            return super()._predict(X) ** 2

    model = Squared(max_iter=1, n_layers=1, random_state=0).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"Squared .* not those of its formula"):
        to_expression(model, language="solr", feature_names=NAMES)
    with pytest.raises(TypeError, match="model must be a fitted ranker"):
        to_expression("RankGP", language="solr")


def test_other_formats_point_to_expressions(ranker):
    for write in (
        to_json,
        lambda m: to_ranklib(m, missing="zero"),
        lambda m: to_solr(m, "m", feature_names=NAMES),
        lambda m: to_elasticsearch(m, "m", feature_names=NAMES),
    ):
        with pytest.raises(ValueError, match="a formula, which to_expression writes"):
            write(ranker)


def test_wrong_options(ranker):
    with pytest.raises(InvalidParameterError, match="language must be 'painless'"):
        to_expression(ranker, language="groovy", feature_names=NAMES)
    with pytest.raises(ValueError, match="feature_names is missing: Solr addresses"):
        to_expression(ranker, language="solr")
    with pytest.raises(ValueError, match="must name the 4 features"):
        to_expression(ranker, language="solr", feature_names=["a"])
