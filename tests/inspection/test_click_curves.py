"""Curves over ranks show what the models say."""

import pytest

from skrank.click import CascadeModel, RankClickModel, Sessions
from skrank.inspection import ExaminationCurveDisplay, PerplexityCurveDisplay

pytest.importorskip("matplotlib")
CLICKS = [[1, 0, 0], [0, 1, 0], [0, 0, 0]] * 3
LOG = Sessions.from_lists(["q"] * 9, [["a", "b", "c"]] * 9, CLICKS)
MODELS = {"cascade": CascadeModel().fit(LOG), "rank": RankClickModel().fit(LOG)}


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


def test_curves_hold_what_models_say():
    display = ExaminationCurveDisplay.from_models(MODELS, LOG, linewidth=3)
    assert list(display.lines_) == list(MODELS)
    for name, line in display.lines_.items():
        assert line.get_xdata().tolist() == [1, 2, 3]
        expected = MODELS[name].examination_by_rank(LOG)
        assert line.get_ydata().tolist() == expected.tolist()
        assert line.get_linewidth() == 3
    other = PerplexityCurveDisplay.from_models(MODELS["rank"], LOG, ax=display.ax_)
    assert other.figure_ is display.figure_
    expected = MODELS["rank"].perplexity(LOG).tolist()
    assert other.lines_["RankClickModel"].get_ydata().tolist() == expected
    conditional = PerplexityCurveDisplay.from_models(
        MODELS["cascade"], LOG, kind="conditional"
    )
    expected = MODELS["cascade"].perplexity(LOG, kind="conditional").tolist()
    assert conditional.curves["CascadeModel"].tolist() == expected


@pytest.mark.parametrize("cls", [ExaminationCurveDisplay, PerplexityCurveDisplay])
def test_bad_input_is_told(cls):
    for odd in (5, [MODELS["rank"]], {"a": 1}):
        with pytest.raises(TypeError, match="models must be a model of clicks"):
            cls.from_models(odd, LOG)
    with pytest.raises(ValueError, match="models must hold at least one"):
        cls.from_models({}, LOG)
    with pytest.raises(TypeError, match="curves must be a mapping"):
        cls([1, 2]).plot()
    with pytest.raises(ValueError, match="curves must hold at least one curve"):
        cls({}).plot()
    with pytest.raises(ValueError, match=r"curves\['a'\] must be an array of shape"):
        cls({"a": [[1.0]]}).plot()
