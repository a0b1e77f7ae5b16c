"""Fixtures that several test modules share, which warnings are errors, and hangs."""

import faulthandler
import linecache
import os
import sys
import warnings
from pathlib import Path

# More threads than processors spin while they wait for each other, which takes more
# than twice the time. OpenMP reads this once, when the first library that has it is
# imported; tests of threads ask for their number.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

import skrank

# The same examples in every run, none that an earlier run has left, and no assertion on
# the time that they take.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

_ROOT = Path(__file__).resolve().parents[1]
_DEFAULT_DATA = _ROOT.parent / "shared" / "data"
_LONGEST = 600  # seconds of a test, which is then taken for one that hangs
_SHOWN = pytest.StashKey[int]()
_OURS = tuple(
    f"{folder}{os.sep}"
    for folder in (Path(skrank.__file__).parent, _ROOT / "tests", _ROOT / "doc")
)


def _is_ours(frame):
    return frame.f_code.co_filename.startswith(_OURS)


def _library(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0]


class _BetweenOthers:
    """Matches a warning that one library gives another, neither of them skrank.

    It stands where a filter has the pattern of a module's name. The name that Python
    gives it does not tell who should act: many libraries attribute a warning to
    themselves. The stack tells: it is whoever called into the library that warns.
    """

    # scikit-learn hands filters on to its workers as text.
    pattern = r"(?!(skrank|tests)\b)"

    def match(self, module):
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__") == "warnings":
            frame = frame.f_back
        if _is_ours(frame):
            return False
        # Compiled code has no frame: the innermost one is then of the code that calls.
        if "warn" not in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            return True
        library = _library(frame)
        while frame is not None and _library(frame) == library:
            frame = frame.f_back
        return frame is None or not _is_ours(frame)


def _leave_others_alone():
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        warnings.simplefilter("ignore", category)
        action, message, category, _, line = warnings.filters[0]
        warnings.filters[0] = (action, message, category, _BetweenOthers(), line)


# pytest forgets the filters of one test before the next.
@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    _leave_others_alone()
    return (yield)


def pytest_sessionstart(session):
    """Keep the standard error that users see, which each test takes for itself."""
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        session.config.stash[_SHOWN] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    _leave_others_alone()
    # Compiled code that never ends holds up all tests, and does not listen to signals.
    shown = item.config.stash[_SHOWN]
    faulthandler.dump_traceback_later(_LONGEST, file=shown, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def same_chance():
    """Let rankers without a seed draw the same in every run."""
    np.random.seed(0)  # noqa: NPY002, the source that random_state=None stands for


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the real LETOR and TREC files; skips the test where it is absent."""
    folder = Path(os.environ.get("SKRANK_DATA", _DEFAULT_DATA))
    if not folder.is_dir():
        pytest.skip(f"real data not found in {folder}; set SKRANK_DATA to its folder")
    return folder


@pytest.fixture
def rng():
    """A random generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture
def ragged(rng):
    """A small ragged data set (X, y, groups), rows of a query not adjacent."""
    sizes = rng.integers(1, 12, size=20)
    groups = np.repeat(np.arange(20), sizes)
    rng.shuffle(groups)
    X = rng.normal(size=(len(groups), 6))
    utility = X @ np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    y = np.digitize(utility + 0.3 * rng.normal(size=len(groups)), [-1, 0.5, 2])
    return X, y.astype(float), groups
