"""Comparison tables: numbers against the single functions, rendering against layout."""

import itertools
import json
import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skrank.metrics import (
    FunctionMeasure,
    bootstrap_interval,
    compare,
    count_wins,
    evaluate,
    evaluate_measure,
    fisher_randomization_test,
    get_measure,
    holm_correction,
    paired_t_test,
    tukey_hsd,
    wilcoxon_test,
)


@pytest.fixture
def collection(rng):
    """Grades, shuffled groups and four runs of falling quality; one query is empty."""
    groups = rng.permutation(np.repeat(np.arange(40), 8))
    y = rng.integers(0, 3, size=320)
    y[groups == 7] = 0
    runs = {
        name: y + noise * rng.normal(size=320)
        for name, noise in [("best", 1.0), ("good", 1.5), ("fair", 3), ("poor", 30)]
    }
    return runs, y, groups


def values_of(measure, collection):
    runs, y, groups = collection
    return np.column_stack(
        [
            evaluate_measure(measure, y, run, groups=groups, per_query=True)
            for run in runs.values()
        ]
    )


def test_means_intervals_and_per_query_values(collection):
    runs, y, groups = collection
    table = compare(*collection, measures=["ndcg@5", "map"], n_resamples=500)
    assert table.systems == tuple(runs)
    assert table.measures == ("ndcg@5", "map")
    np.testing.assert_array_equal(table.query_ids, np.arange(40))
    for m, name in enumerate(table.measures):
        values = values_of(name, collection)
        expected = [
            evaluate_measure(name, y, run, groups=groups) for run in runs.values()
        ]
        np.testing.assert_allclose(table.means[:, m], expected)
        for i, system in enumerate(runs):
            np.testing.assert_array_equal(table.per_query[name][system], values[:, i])
        defined = np.delete(values, 7, axis=0)
        np.testing.assert_allclose(
            table.intervals[:, m],
            bootstrap_interval(defined, n_resamples=500, random_state=0),
        )


@pytest.mark.parametrize("correction", ["holm", "bonferroni", None])
@pytest.mark.parametrize("test", ["fisher", "t", "wilcoxon"])
def test_p_values_of_all_pairs(collection, test, correction):
    single = {
        "fisher": lambda a, b: fisher_randomization_test(
            a, b, n_permutations=300, random_state=0
        ),
        "t": paired_t_test,
        "wilcoxon": wilcoxon_test,
    }[test]
    values = np.delete(values_of("map", collection), 7, axis=0)
    pairs = list(itertools.combinations(range(4), 2))
    p = np.array([single(values[:, i], values[:, j]).pvalue for i, j in pairs])
    if correction == "holm":
        p = holm_correction(p)
    elif correction == "bonferroni":
        p = np.minimum(1, 6 * p)
    table = compare(
        *collection,
        measures="map",
        test=test,
        correction=correction,
        n_permutations=300,
    )
    for (i, j), expected in zip(pairs, p):
        names = table.systems[i], table.systems[j]
        assert table.p_value(*names) == pytest.approx(expected)
        assert table.p_value(*names[::-1]) == pytest.approx(expected)
        beaten = expected < 0.05 and values[:, i].mean() > values[:, j].mean()
        assert ("abcd"[j] in table.marks(names[0], "map")) == beaten
    assert np.isnan(np.diag(table.pvalues[0])).all()


def test_tukey(collection):
    values = np.delete(values_of("map", collection), 7, axis=0)
    expected = tukey_hsd(values, n_permutations=200, random_state=0)
    table = compare(*collection, measures=["map"], test="tukey", n_permutations=200)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(table.pvalues[0][off], expected[off])
    assert table.correction is None


def test_reference_makes_a_smaller_family(collection):
    values = np.delete(values_of("map", collection), 7, axis=0)
    p = [paired_t_test(values[:, 2], values[:, i]).pvalue for i in (0, 1, 3)]
    table = compare(*collection, measures=["map"], test="t", reference="fair")
    got = [table.p_value("fair", name) for name in ("best", "good", "poor")]
    np.testing.assert_allclose(got, holm_correction(p))
    assert np.isnan(table.p_value("best", "good"))
    for i, name in enumerate(table.systems):
        significant = table.p_value("fair", name) < 0.05
        better = values[:, i].mean() > values[:, 2].mean()
        expected = ("+" if better else "-") if significant else ""
        assert table.marks(name, "map") == expected
    assert {table.marks(name, "map") for name in table.systems} == {"+", "-", ""}


def test_order_of_rows_does_not_matter(collection, rng):
    runs, y, groups = collection
    order = rng.permutation(len(y))
    moved = {name: run[order] for name, run in runs.items()}
    one = compare(runs, y, groups).to_dict()
    assert one == compare(moved, y[order], groups[order]).to_dict()


def test_rankers_are_asked_for_scores(ragged):
    X, y, groups = ragged
    model = LinearRegression().fit(X, y)
    table = compare({"model": model, "x0": X[:, 0]}, y, groups, X=X)
    same = compare({"model": model.predict(X), "x0": X[:, 0]}, y, groups)
    assert table.to_dict() == same.to_dict()
    with pytest.raises(ValueError, match=r"runs\['model'\] is a ranker, which needs X"):
        compare({"model": model}, y, groups)


def test_queries_from_the_index(collection):
    pd = pytest.importorskip("pandas")
    runs, y, groups = collection
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    assert compare(runs, series).to_dict() == compare(runs, y, groups).to_dict()


def test_winning_numbers(collection):
    table = compare(*collection, measures=["map", "mse"])
    np.testing.assert_array_equal(table.winning_numbers[:, 0], [3, 2, 1, 0])
    mse = -table.means[:, 1]
    expected = [(value > mse).sum() for value in mse]
    np.testing.assert_array_equal(table.winning_numbers[:, 1], expected)
    runs, y, groups = collection
    other = compare(
        {"poor": runs["best"], "best": runs["poor"]}, y, groups, measures="map"
    )
    assert count_wins({"one": table, "two": other}) == {"map": {"best": 1, "poor": 1}}
    with pytest.raises(ValueError, match="no measure in common"):
        count_wins([table, compare(*collection, measures=["mrr"])])
    with pytest.raises(ValueError, match="at least one table"):
        count_wins([])


def test_one_system_and_one_query():
    table = compare({"only": [2, 1, 0]}, [1, 0, 1], [0, 0, 0], measures=["map"])
    assert table.means[0, 0] == pytest.approx((1 + 2 / 3) / 2)
    assert np.isnan(table.intervals).all()
    assert "significan" not in str(table)
    json.dumps(table.to_dict(), allow_nan=False)


# Renderings ---------------------------------------------------------------------------

NAMES = {
    "best": "RankSVM",
    "good": "a_long & <odd> name|",
    "fair": "検索",
    "poor": "naïve",
}


@pytest.fixture
def table(collection):
    runs, y, groups = collection
    named = {NAMES[name]: run for name, run in runs.items()}
    return compare(named, y, groups, measures=["ndcg@5", "map", "mse"])


def columns_of_text(text):
    """Place of each character in a terminal, with wide characters taking two."""
    places, at = [], 0
    for character in text:
        places.append((at, character))
        at += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return places


@pytest.mark.parametrize("intervals", [True, False])
@pytest.mark.parametrize("reference", [None, "RankSVM"])
def test_plain_text_is_aligned(collection, intervals, reference):
    runs, y, groups = collection
    named = {NAMES[name]: run for name, run in runs.items()}
    table = compare(
        named, y, groups, measures=["ndcg@5", "map", "mse"], reference=reference
    )
    lines = table.to_text(intervals=intervals).splitlines()
    head, rule, rows = lines[0], lines[1], lines[2:6]
    assert set(rule) == {"-"}
    assert len(rule) == max(columns_of_text(row)[-1][0] + 1 for row in [head, *rows])
    for sign in ".[]," if intervals else ".":
        places = [[at for at, c in columns_of_text(row) if c == sign] for row in rows]
        assert all(row == places[0] for row in places)
        assert (
            len(places[0]) == {".": 9, "[": 3, "]": 3, ",": 3}[sign] if intervals else 3
        )
    assert all(line == line.rstrip() for line in lines)
    assert [row[3 : 3 + len(name)] for row, name in zip(rows, NAMES.values())] == list(
        NAMES.values()
    )


def test_stars_mark_the_best(table):
    rows = table.to_text(intervals=False).splitlines()[2:6]
    stars = [row.count("*") for row in rows]
    expected = np.zeros(4, dtype=int)
    for m, better in enumerate((1, 1, -1)):
        expected[np.argmax(better * table.means[:, m])] += 1
    assert stars == expected.tolist()
    tie = compare({"a": [1, 0], "b": [1, 0]}, [1, 0], [1, 1], measures=["map"])
    assert [row.count("*") for row in str(tie).splitlines()[2:4]] == [1, 1]


def test_intervals_are_shown_for_few_measures(collection):
    assert "[" in str(compare(*collection, measures=["map"]))
    many = compare(*collection, measures=["map", "mrr", "p@1", "p@2"])
    assert "[" not in str(many)
    assert "[" in many.to_text(intervals=True)


def test_notes_say_what_was_done(table):
    notes = " ".join(str(table).splitlines()[7:])
    assert notes == (
        "Means over 40 queries with 95 % bootstrap intervals; letters name the systems "
        "that a system beats, at p < 0.05; Fisher's randomisation test with Holm's "
        "correction; ndcg@5, map on the 39 with a value; lower is better for mse; "
        "* best. Conventions: gain 2^y - 1; discount 1/log2(1 + rank); "
        "expected value of equal scores; queries without relevant documents left out; "
        "relevant above 0."
    )


PRESET_WORDS = {
    "skrank": "gain 2^y - 1; discount 1/log2(1 + rank); expected value of equal scores",
    "letor4": "discount 1 at ranks 1 and 2, 1/log2(rank) after; 0 for queries shorter "
    "than the cut-off; equal scores in the order of the rows; 0 for queries",
    "sklearn": "linear gain y; discount 1/log2(1 + rank)",
    "lightgbm": "equal scores in the order of the rows; 1 for queries without relevant",
}


@pytest.mark.parametrize("preset", PRESET_WORDS)
def test_every_rendering_names_the_conventions(preset, collection):
    table = compare(*collection, measures=["ndcg@3", "map@3"], preset=preset)
    plain = " ".join(table.to_text().split())
    words = f"Conventions of preset {preset}: "
    for text in (plain, table.to_markdown(), table.to_html(), table.conventions):
        assert words in text
        assert PRESET_WORDS[preset] in text
    assert words in table.to_latex()
    assert table.to_dict()["conventions"] == table.conventions


def test_conventions_say_whose_they_are_where_measures_differ(collection):
    measures = ["ndcg(gain=linear)@3", "dcg@3", "p(rel=2)@3", "map", "mse"]
    found = compare(*collection, measures=measures, preset="mslr").conventions
    assert found.startswith("Conventions: linear gain y (ndcg@3); gain 2^y - 1 (dcg@3)")
    assert "relevant from grade 2 (p(rel=2)@3); relevant above 0 (map)" in found
    own = FunctionMeasure(lambda y, s: y[np.argmax(s)], label="top")
    found = compare(*collection, measures=[own]).conventions
    assert found.endswith("queries for which <lambda> returns NaN left out")
    assert compare(*collection, measures=["mse"]).conventions == ""


def test_markdown(table):
    lines = table.to_markdown(digits=3).splitlines()
    places = [[at for at, c in columns_of_text(s) if c == "|"] for s in lines[:6]]
    bars = [p for p in places[0] if p in places[1]]
    assert len(bars) == 6
    assert all(set(bars) <= set(row) for row in places)
    assert r"name\|" in lines[3]
    assert f"**{table.means[0, 0]:.3f}**" in lines[2]
    assert "<sup>bcd</sup>" in lines[2] or "<sup>cd</sup>" in lines[2]


def test_latex(table):
    text = table.to_latex(intervals=False)
    rows = re.findall(r"^  .* \\\\$", text, re.MULTILINE)
    assert len(rows) == 5
    assert all(len(re.findall(r"(?<!\\)&", row)) == 4 for row in rows)
    assert r"a\_long \& $<$odd$>$ name|" in rows[2]
    assert r"\textbf{" + f"{table.means[0, 0]:.4f}" + "}" in rows[1]
    assert text.count("{") == text.count("}")
    for environment in ("table", "tabular"):
        assert text.count(rf"\begin{{{environment}}}") == 1
        assert text.count(rf"\end{{{environment}}}") == 1
    assert "95 %" not in table.to_latex()


def test_html_is_well_formed(table):
    opened, text = [], []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attrs):
            opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

        def handle_data(self, data):
            text.append(data)

    parser = Parser()
    parser.feed(table._repr_html_())
    assert not opened
    assert set(NAMES.values()) <= set(text)


def test_dict_is_json(table):
    result = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert list(result["systems"]) == list(NAMES.values())
    entry = result["systems"]["RankSVM"]["map"]
    assert entry["mean"] == table.means[0, 1]
    assert entry["interval"] == table.intervals[0, 1].tolist()
    beats = [table.systems["abcd".index(c)] for c in table.marks("RankSVM", "map")]
    assert entry["beats"] == beats
    assert result["pvalues"]["map"][0][0] is None


def test_more_systems_than_letters(rng):
    y, groups = rng.integers(0, 2, size=40), np.repeat([0, 1, 2, 3], 10)
    runs = {f"run {i}": rng.normal(size=40) for i in range(54)}
    lines = str(
        compare(runs, y, groups, measures=["map"], test="tukey", n_permutations=9)
    )
    lines = lines.splitlines()
    assert lines[2 + 51].startswith("Z     run 51")
    assert lines[2 + 53].startswith("(54)  run 53")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": {}}, "runs must be a dict of names to scores"),
        ({"runs": [[1.0, 2.0]]}, r"runs must be a dict .* got \[\[1.0, 2.0\]\]"),
        ({"runs": {"a": [1.0]}}, r"runs\['a'\] has 1 scores for 2 documents"),
        ({"runs": {"a": [1.0, np.nan]}}, r"runs\['a'\] contains NaN"),
        ({"runs": {1: [1, 0], "1": [1, 0]}}, "must differ as text"),
        (
            {"test": "sign"},
            "test must be .fisher., .t., .wilcoxon. or .tukey., got .sign.",
        ),
        ({"correction": "bh"}, "correction must be"),
        ({"reference": "b"}, "reference 'b' is not among runs"),
        ({"level": 5}, r"level must be a number in \(0, 1\), got 5"),
        ({"measures": []}, "measures must be named once"),
        ({"measures": ["map", get_measure("map")]}, "measures must be named once"),
        ({"groups": None}, "compare needs to know the query"),
    ],
)
def test_bad_input(options, message):
    arguments = {"runs": {"a": [1, 0]}, "y": [1, 0], "groups": [1, 1], **options}
    with pytest.raises(ValueError, match=message):
        compare(**arguments)


def test_unknown_names_of_a_table(table):
    with pytest.raises(ValueError, match="unknown system 'x'; the table has RankSVM"):
        table.p_value("x", "RankSVM")
    with pytest.raises(ValueError, match="unknown measure 'err'"):
        table.marks("RankSVM", "err")
    odd = replace(table, systems=("a\nb", *["long" * 99] * 9))
    with pytest.raises(ValueError, match=r"the table has a\\nb, longlong.*…") as error:
        odd.p_value("x", "y")
    assert len(str(error.value)) < 600


def test_documents_that_nobody_judged_count_nowhere_in_bpref():
    y = np.ma.MaskedArray([0.0, 1, 0, 1, 0, 1], mask=[1, 0, 0, 0, 0, 0])
    groups = np.array([0, 0, 0, 1, 1, 1])
    runs = {"a": [3.0, 2, 1, 3, 2, 1], "b": [3.0, 2, 1, 3, 2, -np.inf]}
    table = compare(runs, y, groups, measures=["bpref", "map"])
    # The masked first document stands above, but was not judged; in the second run the
    # last document is not retrieved.
    np.testing.assert_allclose(table.per_query["bpref"]["a"], [1.0, 0.5])
    np.testing.assert_allclose(table.per_query["bpref"]["b"], [1.0, 0.5])
    np.testing.assert_allclose(table.per_query["map"]["a"], [1 / 2, (1 + 2 / 3) / 2])
    np.testing.assert_allclose(table.per_query["map"]["b"], [1 / 2, 1 / 2])


@pytest.mark.parametrize("digits", [1075, 2**31 - 1, -1, 2.5])
def test_digits_are_bounded(digits):
    table = compare({"a": [2, 1], "b": [1, 2]}, [1, 0], [1, 1], measures=["map"])
    result = evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["map"])
    renderings = (table.to_text, table.to_markdown, table.to_latex, table.to_html)
    for render in (*renderings, result.to_text, result.to_html):
        with pytest.raises(
            ValueError, match=r"digits must be a whole number in \[0, 1"
        ):
            render(digits=digits)
        assert "1.0000" in render(digits=1074)
