"""Texts of pictures: long ones leave room, short ones stay, none becomes another."""

import warnings

import numpy as np
import pytest

from skrank.inspection import (
    BeeswarmDisplay,
    DependenceDisplay,
    EnergySurfaceDisplay,
    EnergyTrainingDisplay,
    ExaminationCurveDisplay,
    Explanation,
    FeatureImportanceDisplay,
    GaussianEmbeddingDisplay,
    LearningCurveDisplay,
    PreferenceDisplay,
    PreferenceExplanation,
    RankingCurveDisplay,
    RegretCurveDisplay,
    TrainingCurveDisplay,
    WaterfallDisplay,
)
from skrank.inspection._explanation import text_of_value
from skrank.inspection._texts import distinct

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


STEM = "columntransformer__onehotencoder__category_of_the_product_line_"
LONG = [STEM + letter for letter in "abcdefghijkl"]  # they differ at their ends
MIDDLE = [f"{STEM}{j:02d}_{STEM[::-1]}" for j in range(12)]
HUGE = [name * 20 for name in LONG]
SHORT = [f"feature {j}" for j in range(12)]

VALUES = np.random.default_rng(0).normal(size=(30, 12))
DATA = VALUES[:, ::-1] * 100


def waterfall(names):
    found = Explanation(VALUES, np.zeros(30), DATA, names)
    return WaterfallDisplay.from_explanation(found)


def preference(names):
    found = PreferenceExplanation(VALUES[0], np.zeros(2), DATA[:2], names, (3, 7))
    return PreferenceDisplay.from_explanation(found, documents=names[:2])


def preference_of_levels(names):
    levels = np.array([names, names[::-1]], dtype=object)
    found = PreferenceExplanation(
        VALUES[0], np.zeros(2), DATA[:2], names, display_data=levels
    )
    return PreferenceDisplay.from_explanation(found)


def beeswarm(names):
    found = Explanation(VALUES, np.zeros(30), DATA, names)
    return BeeswarmDisplay.from_explanation(found)


def importance(names):
    display = FeatureImportanceDisplay(
        importances=np.abs(VALUES[0]), feature_names=names, kind=f"share of {names[0]}"
    )
    return display.plot()


NAMED = [waterfall, preference, preference_of_levels, beeswarm, importance]


def drawn(display):
    """The figure after a layout, which must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.draw_without_rendering()
    return display.figure_


def inside(figure):
    """Whether all that is drawn stands within the figure."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


@pytest.mark.parametrize("names", [LONG, MIDDLE, HUGE], ids=["long", "middle", "huge"])
@pytest.mark.parametrize("make", NAMED)
def test_long_names_leave_half_of_the_width(make, names):
    display = make(names)
    figure = drawn(display)
    assert display.ax_.get_position().width >= 0.5
    assert inside(figure)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert len(set(labels)) == len(labels) >= 10
    assert sum("…" in label for label in labels) >= 10


@pytest.mark.parametrize("make", [waterfall, beeswarm, importance])
def test_short_names_stay_as_they_are(make):
    labels = [text.get_text() for text in make(SHORT).ax_.get_yticklabels()]
    assert {label.split(" =")[0] for label in labels} - {"2 others"} <= set(SHORT)


def test_a_value_is_written_in_full_where_there_is_room():
    levels = np.array([["red"] * 12] * 30, dtype=object)
    found = Explanation(VALUES, np.zeros(30), DATA, LONG, levels)
    texts = WaterfallDisplay.from_explanation(found).ax_.get_yticklabels()
    assert all(text.get_text().endswith(" = red") for text in texts[1:])


@pytest.mark.parametrize("n_letters", [5, 8, 15, 25])
def test_shortened_texts_differ_where_the_texts_do(n_letters):
    texts = [*LONG, *MIDDLE, *HUGE, "a", LONG[0], "$" * 40, "ab" * 30, ""]

    def fits(text):
        return len(text.replace(r"\$", "$")) <= n_letters

    found = distinct(texts, [fits] * len(texts))
    assert all(map(fits, found))
    assert len(set(found)) == len(set(texts))
    assert found[texts.index("a")] == "a"


def test_half_a_formula_is_no_formula():
    names = [rf"the_$\alpha$_and_{'x' * 50}_$\beta$_of_{j}" for j in range(12)]
    drawn(importance(names))
    texts = [f"{'a' * 9}$b$c", f"{'a' * 9}$d$c"]
    assert all(
        text.count("$") == text.count(r"\$")
        for text in distinct(texts, [lambda text: len(text) < 9] * 2)
    )


def of_curves(names):
    """A display of each kind that names two curves, or has a title."""
    x = np.arange(5.0, 50.0, 5.0)
    curves = {name: np.log(x) + j for j, name in enumerate(names[:2])}
    same = dict.fromkeys(curves, x)
    runs = {name: curve[None] for name, curve in curves.items()}
    rng = np.random.default_rng(0)
    title, grades = names[0], np.arange(9) % 3
    surface = {"before": rng.normal(size=(9, 3)), "after": rng.normal(size=(9, 3))}
    return [
        LearningCurveDisplay(
            n_documents=same, values=curves, measure_name="map", reference=title
        ),
        RankingCurveDisplay(k=np.arange(1, 10), curves=curves, measure_name=title),
        ExaminationCurveDisplay(curves),
        RegretCurveDisplay(
            impressions=same, offline=runs, steps=same, regret=runs, measure_name=title
        ),
        EnergyTrainingDisplay(
            desired=-x, others=x, desired_name=title, others_name=names[1], name=title
        ),
        TrainingCurveDisplay(
            loss_curve=-x, other_curves=curves, loss_name=names[2], name=title
        ),
        EnergySurfaceDisplay(**surface, y=grades, labels=[0, 1, 2], name=title),
        GaussianEmbeddingDisplay(
            query_mean=[0, 0],
            query_covariance=np.eye(2),
            document_means=rng.normal(size=(9, 2)),
            document_covariances=np.tile(np.eye(2), (9, 1, 1)),
            grades=grades,
            name=title,
        ),
    ]


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("names", [LONG, HUGE], ids=["long", "huge"])
def test_long_names_of_curves_stay_within_the_figure(number, names):
    display = of_curves(names)[number].plot()
    figure = drawn(display)
    assert inside(figure)
    for ax in figure.axes:
        assert ax.get_position().height >= 0.4
        if ax.get_legend() is not None:
            texts = [text.get_text() for text in ax.get_legend().get_texts()]
            assert len(set(texts)) == len(texts)


def overlaps(labels):
    """Whether labels of ticks lie upon each other."""
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    return any(
        box.overlaps(other) for j, box in enumerate(boxes) for other in boxes[:j]
    )


def of_levels(names, places):
    """Dependence on a feature whose levels have these names and numbers."""
    data = np.asarray(places, dtype=float)[:, None]
    levels = np.array(names, dtype=object)[:, None]
    found = Explanation(np.sin(data), np.zeros(len(data)), data, ["f"], levels)
    return DependenceDisplay.from_explanation(found, 0)


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_levels_are_named_where_their_names_fit(spread):
    places = np.random.default_rng(0).permutation(300) ** spread
    names = [f"maker_{place:g}" for place in places]
    display = of_levels(names, places)
    figure = drawn(display)
    labels = display.ax_.get_xticklabels()
    texts = [label.get_text() for label in labels]
    assert not overlaps(labels)
    assert inside(figure)
    assert 10 < len(texts) < 40
    at = [f"maker_{place:g}" for place in display.ax_.get_xticks()]
    assert texts == at


def test_names_of_few_levels_are_not_turned():
    for names in (["red", "green", "blue"], ["one"]):
        labels = of_levels(names, range(len(names))).ax_.get_xticklabels()
        assert [label.get_text() for label in labels] == names
        assert {label.get_rotation() for label in labels} == {0.0}


def test_long_names_of_levels_leave_half_of_the_height():
    names = [f"a level that has a long name, {j}" for j in range(40)]
    display = of_levels(names, range(40))
    assert inside(drawn(display))
    assert display.ax_.get_position().height >= 0.5
    labels = display.ax_.get_xticklabels()
    assert len({label.get_text() for label in labels}) == len(labels) > 10
    assert not overlaps(labels)


@pytest.mark.parametrize("value", [None, np.nan, np.float32("nan")])
def test_what_is_missing_differs_from_all_names(value):
    names = ["missing", "nan", "None", "'nan'", ""]
    texts = [text_of_value(name, 3) for name in names]
    assert text_of_value(value, 3) == "missing"
    assert "missing" not in texts
    assert texts[1:] == names[1:]
    assert len(set(texts)) == len(names)


@pytest.mark.parametrize(
    "name", ["price_$$", "$ $", r"$\foo$", "$x_{1$", "a$\nb$", "\ud800"]
)
def test_names_that_are_no_formula_are_drawn_as_they_are(name):
    import matplotlib.pyplot as plt

    display = FeatureImportanceDisplay(
        importances=[3.0, 2.0], feature_names=[name, "other"]
    ).plot()
    display.ax_.set_title("drawn")
    display.figure_.canvas.draw()
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    expected = name.replace("$", r"\$").replace("\ud800", "\ufffd")
    assert expected in texts
    plt.close(display.figure_)


@pytest.mark.parametrize("name", ["", "_base"])
def test_every_curve_is_in_the_legend(name):
    import matplotlib.pyplot as plt

    display = RankingCurveDisplay(
        k=[1, 2], curves={name: [0.1, 0.2], "b": [0.2, 0.1]}, measure_name="NDCG"
    ).plot()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [f" {name}", "b"]
    plt.close(display.figure_)


# A bell, a tab, a command to a terminal, Chinese, emoji of one sign and of several, and
# others that the fonts of matplotlib lack.
ABSENT = ["\a", "\t", "\x1b[31m", "\u65e5\u672c", "\u4e2d\u56fd", "\U0001f4b0"]
ABSENT += ["\U0001f469\u200d\U0001f467", "\U000103a0", "\x85", "\u0e01"]
STRANGE = [f"f {each}" for each in ABSENT] + ["f", "\xfcml\xe4ut \u2192 \xe9"]


@pytest.mark.parametrize("make", NAMED)
def test_signs_that_no_font_has_are_escaped(make):
    display = make(STRANGE)
    figure = drawn(display)  # matplotlib warns of absent glyphs
    assert inside(figure)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert len(set(labels)) == len(labels) >= 10


@pytest.mark.parametrize("number", range(8))
def test_titles_and_curves_have_signs_that_fonts_have(number):
    assert inside(drawn(of_curves(STRANGE)[number].plot()))


def test_levels_and_a_feature_have_signs_that_fonts_have():
    display = of_levels(STRANGE, range(len(STRANGE)))
    display.feature_name = "\u4fa1\u683c"
    display.plot()
    drawn(display)
    assert display.ax_.get_xlabel() == r"\u4fa1\u683c"


def test_escapes_tell_what_stands_there():
    labels = [text.get_text() for text in importance(STRANGE).ax_.get_yticklabels()]
    for name in STRANGE:
        told = name if "\N{RIGHTWARDS ARROW}" in name else ascii(name)[1:-1]
        assert told in labels


def test_signs_of_further_fonts_are_drawn_as_they_are():
    import matplotlib as mpl

    # DejaVu Sans has the sign, which DejaVu Serif lacks.
    sign = "\N{ARABIC LETTER BEH}"
    for families, told in (
        (["DejaVu Serif"], r"\u0628"),
        (["No Such Font", "DejaVu Serif"], r"\u0628"),
        (["DejaVu Sans", "DejaVu Serif"], sign),
        (["No Such Font"], sign),  # which DejaVu Sans stands in for
        (["No Such Font", "DejaVu Serif", "DejaVu Sans"], sign),
    ):
        with mpl.rc_context({"font.family": families}):
            axis = importance([sign, *SHORT[1:]]).ax_
        assert told in [text.get_text() for text in axis.get_yticklabels()]
