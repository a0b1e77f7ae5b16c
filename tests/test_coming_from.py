"""Both sides of the snippets of "Coming from another library" run and agree."""

import re
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

_PAGE = Path(__file__).parents[1] / "doc" / "coming_from.rst"
_BLOCK = re.compile(
    r"^(?P<indent> *)\.\. code-block:: python\n"
    r"(?:(?P=indent)   :caption: (?P<caption>.+)\n)?"
    r"(?P<code>(?:(?P=indent)   .*\n|\n)+)",
    re.M,
)


def _blocks():
    text = _PAGE.read_text(encoding="utf-8")
    return [(m["caption"], textwrap.dedent(m["code"])) for m in _BLOCK.finditer(text)]


def _pairs():
    """Caption and code of the other side, and the code of this one."""
    captioned = [block for block in _blocks() if block[0] is not None]
    return [
        (name, theirs, ours)
        for (name, theirs), (own, ours) in zip(captioned[::2], captioned[1::2])
        if own == "skrank"
    ]


_NAMES = [name for name, _, _ in _pairs()]
_MODULES = {"scikit-learn": "sklearn"}
_CLOSE = {"scikit-learn": 2e-3}  # its solver stops early


@pytest.fixture
def names(tmp_path, monkeypatch):
    """The variables that the whole page shares."""
    monkeypatch.chdir(tmp_path)
    shared = {}
    for caption, code in _blocks():
        if caption is None:
            exec(code, shared)
    return shared


def test_every_block_has_its_other_side():
    captions = [caption for caption, _ in _blocks() if caption is not None]
    assert captions[1::2] == ["skrank"] * (len(captions) // 2)
    assert len(_pairs()) == len(captions) / 2 >= 7


@pytest.mark.parametrize(("name", "theirs", "ours"), _pairs(), ids=_NAMES)
def test_this_side_runs(name, theirs, ours, names):
    names.setdefault("scores", names["y_test"])
    exec(ours, names)
    assert np.isfinite(names["our_value"]).all()


@pytest.mark.parametrize(("name", "theirs", "ours"), _pairs(), ids=_NAMES)
def test_both_sides_agree(name, theirs, ours, names):
    pytest.importorskip(_MODULES.get(name, name.lower()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other library
        exec(theirs, names)
    exec(ours, names)
    close = _CLOSE.get(name, 1e-6)
    assert names["our_value"] == pytest.approx(names["their_value"], abs=close)
