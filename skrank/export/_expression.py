"""Formulas as expressions of search engines.

A formula bounds every value, and a division by nearly 0 is 1. No engine has such
operations, so that each language spells them in its own functions.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._validation import check_options
from skrank.export._scoring import formula_function, required_feature_names

# Elasticsearch refuses longer scripts, unless it is told otherwise.
_LONGEST = 65_535

_PAINLESS = (
    "double bounded(double x) { return Math.max(-1e100, Math.min(1e100, x)); } "
    "double over(double a, double b) "
    "{ return Math.abs(b) < 1e-100 ? 1.0 : bounded(a / b); } "
    "double feature(def field) "
    "{ return field.size() == 0 ? 0.0 : bounded(field.value); } "
)
_LUCENE = {
    sign: f"max(-1e100,min(1e100,{{0}}{sign}{{1}}))" for sign in ("+", "-", "*")
} | {"/": "(abs({1})<1e-100?1:max(-1e100,min(1e100,{0}/{1})))"}
_SINGLE = "max(-3.4028235e38,min(3.4028235e38,{}))"
_SOLR = {
    "+": _SINGLE.format("sum({0},{1})"),
    "-": _SINGLE.format("sub({0},{1})"),
    "*": _SINGLE.format("product({0},{1})"),
    "/": f"if(lt(abs({{1}}),1e-100),1,{_SINGLE.format('div({0},{1})')})",
}


@dataclass(frozen=True)
class _Language:
    """How a language writes the parts of a formula.

    Attributes
    ----------
    engine : str
        What reads the language, for error messages.
    feature : callable
        ``feature(name)`` returns the value of a feature.
    constant : callable
        ``constant(number)`` returns a number.
    operations : dict of str to str
        Each operation, with {0} and {1} in place of its operands.
    start, end : str
        What comes before and after the formula.
    """

    engine: str
    feature: Callable[[str], str]
    constant: Callable[[float], str]
    operations: dict[str, str]
    start: str = ""
    end: str = ""


def to_expression(
    model: Any,
    *,
    language: Literal["painless", "lucene", "derived_expression", "solr"],
    feature_names: Sequence[str] | None = None,
) -> str:
    """Write the formula of a ranker, such as `RankGP`, as an expression of an engine.

    ==================== =====================================================
    language             where it runs, and what names of features are
    ==================== =====================================================
    "painless"           scripts of Elasticsearch and OpenSearch; names of
                         numeric fields
    "lucene"             their scripts with ``"lang": "expression"``; names of
                         numeric fields
    "derived_expression" derived features of their LTR plugins, with this
                         ``template_language``; names of other features
    "solr"               function queries of Solr 6.2 and later; names of
                         numeric fields
    ==================== =====================================================

    Bounds of values and the division by nearly 0 are spelt out. The first three
    languages compute in double precision, in the order of the formula: values are those
    of `predict` to the bit if fields hold doubles. A document score, and a feature of
    the plugin, is then rounded to single precision; to sort by the script rounds
    nothing. Solr computes in single precision: each operation rounds, values beyond
    3.4028235e38 in size become that, and a divisor below 7e-46 in size is 0.

    A missing value counts as 0. The ranker itself takes none.

    Parameters
    ----------
    model : BaseRanker or Pipeline
        A fitted ranker whose scores are a formula.
    language : {"painless", "lucene", "derived_expression", "solr"}
        Language of the expression. All but "painless" write every divisor twice, since
        they have no variables.
    feature_names : sequence of str, default=None
        Names of the features in the engine, one for each column; None takes the column
        names of the data frame that the model was fitted on.

    Returns
    -------
    str
        The expression, without the request around it.

    Raises
    ------
    ValueError
        If the scores of the model are no formula, a feature has a name that the
        language cannot write, a constant is beyond single precision ("solr"), or the
        expression has more than 65535 bytes, the limit of Elasticsearch.
    TypeError
        If ``model`` is no ranker.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import to_expression
    >>> from skrank.rankers import RankGP
    >>> X, y, groups = make_ranking(20, n_features=2, n_informative=2, random_state=0)
    >>> ranker = RankGP("map", max_iter=2, n_layers=1, max_depth=1, random_state=0)
    >>> ranker.fit(X, y, groups).formula_
    '(x0 - x1)'
    >>> names = ["title", "clicks"]
    >>> text = to_expression(ranker, language="painless", feature_names=names)
    >>> text.split("} ")[-1]
    "return bounded(feature(doc['title']) - feature(doc['clicks']));"
    """
    check_options(to_expression, locals())
    function = formula_function(model)
    spelling = _LANGUAGES[language]
    names = required_feature_names(feature_names, function, spelling.engine)
    stack: list[str] = []
    for token in function.tokens:
        if isinstance(token, str):
            right, left = stack.pop(), stack.pop()
            written = spelling.operations[token].format(left, right)
        elif isinstance(token, int):
            written = spelling.feature(names[token])
        else:
            written = spelling.constant(token)
        # Checked at every step: divisors that are written twice grow exponentially.
        if len(spelling.start + written + spelling.end) > _LONGEST:
            raise _too_long(language)
        stack.append(written)
    text = spelling.start + stack[0] + spelling.end
    if len(text.encode()) > _LONGEST:
        raise _too_long(language)
    return text


def _too_long(language):
    more = "" if language == "painless" else '; language="painless" writes less'
    return ValueError(
        f"the formula takes more than {_LONGEST} bytes as an expression in "
        f"language={language!r}{more}, and a smaller max_depth or fewer n_layers make "
        "formulas shorter"
    )


def _number(number):
    return repr(number) if number >= 0.0 else f"({number!r})"


def _single_number(number):
    with quiet():
        if not np.isfinite(np.float32(number)):
            raise ValueError(
                f"the formula has the constant {number!r}, which is beyond the single "
                "precision that Solr computes in"
            )
    return repr(number)


def _quoted(name):
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _field_of_lucene(name):
    if "'" in name or "\\" in name:
        raise ValueError(
            f"feature_names: {shown(name)} has a quote or a backslash, which Lucene "
            "expressions do not take; language='painless' does"
        )
    return f"max(-1e100,min(1e100,doc['{name}'].value))"


def _feature_of_plugin(name):
    if not re.fullmatch(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", name, re.ASCII):
        raise ValueError(
            f"feature_names: {shown(name)} cannot be a variable of a derived "
            "expression, which has letters, digits, _ and $ only, and no digit first"
        )
    return f"max(-1e100,min(1e100,{name}))"


def _field_of_solr(name):
    if "${" in name:
        raise ValueError(
            f"feature_names: {shown(name)} has '${{', which Solr replaces by a "
            "parameter of the request"
        )
    # Bounds of Solr pass over values that do not exist, so that they become 0 first.
    return _SINGLE.format(f"def(field({_quoted(name)}),0)")


_LANGUAGES = {
    "painless": _Language(
        "Painless",
        lambda name: f"feature(doc[{_quoted(name)}])",
        _number,
        {sign: f"bounded({{0}} {sign} {{1}})" for sign in ("+", "-", "*")}
        | {"/": "over({0}, {1})"},
        _PAINLESS + "return ",
        ";",
    ),
    "lucene": _Language("Lucene", _field_of_lucene, _number, _LUCENE),
    "derived_expression": _Language(
        "the LTR plugin", _feature_of_plugin, _number, _LUCENE
    ),
    "solr": _Language("Solr", _field_of_solr, _single_number, _SOLR),
}
