"""Sources: every cited key has its entry in the bibliography, and all are cited."""

import re
import unicodedata
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_BIBLIOGRAPHY = _ROOT / "doc" / "bibliography.rst"
_KEY = r"[A-Z][A-Za-z]+[0-9]{4}[a-z]?"
_SOURCES = (
    "benchmarks/**/*.py",
    "doc/*.rst",
    "doc/examples/*.py",
    "skrank/**/*.hpp",
    "skrank/**/*.py",
    "skrank/**/*.pyx",
)


def _entries():
    """Text of the entries by key, in the order of the page, and keys as listed."""
    text = _BIBLIOGRAPHY.read_text(encoding="utf-8")
    found = re.findall(rf"^\.\. \[({_KEY})\] (.*(?:\n   .*)*)", text, re.MULTILINE)
    return [(key, " ".join(entry.split())) for key, entry in found]


def _cited():
    """Files that cite each key."""
    cited = {}
    for pattern in _SOURCES:
        for path in _ROOT.glob(pattern):
            if path != _BIBLIOGRAPHY:
                for key in re.findall(rf"\[({_KEY})\]", path.read_text("utf-8")):
                    cited.setdefault(key, set()).add(path.relative_to(_ROOT).as_posix())
    return cited


KEYS = [key for key, _ in _entries()]


def test_every_cited_source_has_an_entry():
    assert not {key: files for key, files in _cited().items() if key not in KEYS}


def test_every_entry_is_cited():
    assert sorted(set(KEYS) - _cited().keys()) == []


def test_entries_are_unique_and_in_alphabetical_order():
    assert sorted(set(KEYS), key=str.lower) == KEYS


@pytest.mark.parametrize(("key", "entry"), _entries(), ids=KEYS)
def test_entries_have_one_style(key, entry):
    # Authors with their initials first, the year, the title in italics, the venue.
    match = re.fullmatch(r"(.+) \((\d{4})\)\. \*[^*]+\*\S?.* .+\.", entry)
    assert match
    first = re.split(r",| and ", match[1])[0].split()[-1]
    first = unicodedata.normalize("NFKD", first).encode("ascii", "ignore").decode()
    assert key.startswith(first.replace("-", "") + match[2])


def test_citations_of_docstrings_are_links():
    loose = {}
    for path in _ROOT.glob("skrank/**/*.py"):
        text = path.read_text(encoding="utf-8")
        found = re.findall(rf"^(?!.*#).*\[{_KEY}\](?!_)", text, re.MULTILINE)
        if found:
            loose[path.name] = found
    assert loose == {}
