"""The embedded retrieval task: its parser, its judgements and its honesty."""

import os
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank.datasets import load_see_also
from skrank.datasets._docstrings import (
    Documented,
    collect_docstrings,
    parse_docstring,
    parse_see_also,
)
from skrank.datasets._see_also import _judge, without_output
from skrank.preprocessing import QueryStandardScaler
from skrank.text import BM25

NUMPYDOC = """f(x, /, out=None)

    Sort the rows. Slowly,
    but surely.

    More about it.

    Parameters
    ----------
    x : array

    See Also
    --------
    numpy.sort : Sort an array.
    argsort, lexsort
    :func:`~pkg.mod.other` : Something
        with details : here.
    """


@pytest.fixture(scope="module")
def data():
    return load_see_also()


def test_docstrings_are_taken_apart():
    summary, sections = parse_docstring(NUMPYDOC)
    assert summary == "Sort the rows."
    assert sections[""] == "Slowly, but surely.\n\nMore about it."
    assert sections["Parameters"].strip() == "x : array"
    assert parse_see_also(sections["See Also"]) == [
        "numpy.sort",
        "argsort",
        "lexsort",
        "pkg.mod.other",
    ]


@pytest.mark.parametrize(
    ("doc", "summary"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("add(x1, x2)\n\nAdd.", "Add."),
        ("y, z = f(a)\n\nDo.", "Do."),
        ("Return i.e. this.\n\nMore.", "Return i.e. this."),
    ],
)
def test_summaries(doc, summary):
    assert parse_docstring(doc)[0] == summary


def documented(name, summary, *see_also):
    return Documented(name, (name,), summary, {}, see_also)


def test_grades_follow_the_links():
    documents = [
        documented("p.a", "Text a.", "b", "unknown"),  # 0
        documented("p.b", "Text b.", "p.m.c", "a"),  # 1
        documented("p.m.c", "Text c.", "d"),  # 2, finds p.m.d before p.d
        documented("p.m.d", "Text a."),  # 3 shares the sentence of p.a
        documented("p.d", "Text d."),  # 4 lists nothing: no query
    ]
    assert _judge(documents) == {
        "Text a.": {0: 3, 3: 3, 1: 2, 2: 1},
        "Text b.": {1: 3, 0: 2, 2: 2, 3: 1},
        "Text c.": {2: 3, 3: 2},
    }


def test_shape_and_order(data):
    X, y, groups = data
    assert X.shape == (len(y), len(data.feature_names))
    assert len(groups) == len(data.docids) == len(y)
    assert np.isfinite(X).all()
    assert set(y) == {0, 1, 2, 3}
    queries, sizes = np.unique(groups, return_counts=True)
    assert len(queries) > 1000
    assert sizes.max() <= 30
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    assert len(starts) == len(queries)  # rows of a query are adjacent
    assert (groups[starts][:-1] < groups[starts][1:]).all()  # queries by name
    same = groups[1:] == groups[:-1]
    assert (data.docids[1:][same] > data.docids[:-1][same]).all()  # documents by name
    assert (np.maximum.reduceat(y, starts) > 0).all()
    assert list(data.query_texts) == groups[starts].tolist()
    assert "Selection bias" in data.DESCR
    assert str(len(y)) in data.DESCR


def test_own_documents_have_the_highest_grade(data):
    own = data.docids == data.groups
    assert own.any()
    assert (data.y[own] == 3).all()


def test_known_judgements(data):
    grade = dict(zip(zip(data.groups, data.docids), data.y))
    assert grade["numpy.argsort", "numpy.argsort"] == 3
    assert grade["numpy.argsort", "numpy.lexsort"] == 2


def test_names_are_resolved_across_modules():
    documents = collect_docstrings(["sklearn"])
    number = {document.name: n for n, document in enumerate(documents)}
    ridge = documents[number["sklearn.linear_model.Ridge"]]
    grades = _judge(documents)[ridge.summary]
    assert grades[number["sklearn.linear_model.Ridge"]] == 3
    assert grades[number["sklearn.linear_model.RidgeCV"]] == 2  # named "RidgeCV"
    assert grades[number["sklearn.kernel_ridge.KernelRidge"]] == 2  # by its full path


def test_answers_are_not_in_the_documents():
    for document in collect_docstrings(["numpy"]):
        text = "\n".join(document.sections.values())
        assert "See Also" not in document.sections
        if len(document.summary) > 60 and document.name.count(".") == 1:
            assert document.summary not in " ".join(text.split())


def test_ranking_can_be_learned_and_beats_the_first_search(data):
    X, y, groups = data
    baseline = X[:, data.feature_names.tolist().index("whole.bm25")]
    X = QueryStandardScaler().fit_transform(X, groups=groups)
    test = np.isin(groups, np.unique(groups)[::3])
    learned = Ridge(alpha=10).fit(X[~test], y[~test]).predict(X[test])
    gain = mean_ndcg(y[test], learned, groups[test])
    assert gain > mean_ndcg(y[test], baseline[test], groups[test]) + 0.02


def mean_ndcg(y, scores, groups):
    discount = 1 / np.log2(np.arange(2, 12))
    values = []
    for query in np.unique(groups):
        gain = 2 ** y[groups == query] - 1
        ranked = gain[np.argsort(-scores[groups == query], kind="stable")][:10]
        ideal = np.sort(gain)[::-1][:10]
        values.append(
            ranked @ discount[: len(ranked)] / (ideal @ discount[: len(ideal)])
        )
    return np.mean(values)


def test_queries_are_drawn_by_seed(data):
    drawn = load_see_also(n_queries=40, random_state=1)
    again = load_see_also(n_queries=40, random_state=1)
    other = load_see_also(n_queries=40, random_state=2)
    np.testing.assert_array_equal(drawn.X, again.X)
    assert set(drawn.groups) != set(other.groups)
    rows = np.isin(data.groups, drawn.groups)
    np.testing.assert_array_equal(data.X[rows], drawn.X)
    np.testing.assert_array_equal(data.docids[rows], drawn.docids)


def test_results_can_be_changed_without_harm():
    first = load_see_also(n_queries=3)
    expected = first.X.copy()
    first.X[:] = 0
    np.testing.assert_array_equal(load_see_also(n_queries=3).X, expected)


def test_frames_carry_the_queries(data):
    pytest.importorskip("pandas")
    X, y, groups = load_see_also(n_queries=5, as_frame=True)
    assert X.columns.tolist() == data.feature_names.tolist()
    for part in (X, y):
        assert part.index.get_level_values("qid").tolist() == groups.tolist()


def test_cache_on_disk(tmp_path):
    options = {"packages": ["numpy"], "n_candidates": 5, "n_queries": 20}
    first = load_see_also(**options, data_home=tmp_path)
    assert any(tmp_path.iterdir())
    second = load_see_also(**options, data_home=tmp_path)
    plain = load_see_also(**options)
    for loaded in (second, plain):
        np.testing.assert_array_equal(loaded.X, first.X)
        np.testing.assert_array_equal(loaded.docids, first.docids)


def test_candidates_are_what_bm25_finds():
    data = load_see_also(packages=["numpy"], n_candidates=5)
    documents = collect_docstrings(["numpy"])
    fields = {
        "name": [d.name for d in documents],
        "rest": [
            "\n".join(
                without_output(t) if k == "Examples" else t
                for k, t in d.sections.items()
                if k != "References"
            )
            for d in documents
        ],
    }
    model = BM25().fit(fields)
    names = np.array([d.name for d in documents])
    texts = list(data.query_texts.values())
    found, scores = model.retrieve(texts, 5)
    for query, rows, row_scores in zip(data.query_texts, found, scores):
        expected = set(names[rows[row_scores > 0]])
        assert set(data.docids[data.groups == query]) == expected


@pytest.fixture
def awkward_package(monkeypatch):
    """A package that warns, fails on attributes and has no usable documentation."""
    module = types.ModuleType("awkward_package")

    class Raises:
        @property
        def __doc__(self):
            raise RuntimeError("lazy")

    def warns(name):
        warnings.warn("deprecated", DeprecationWarning, stacklevel=2)
        raise AttributeError(name)

    def plain():
        """Do nothing of note."""

    plain.__module__ = "awkward_package"
    module.__all__ = ["gone", "lazy", "plain"]
    module.lazy = Raises()
    module.plain = plain
    module.__getattr__ = warns
    monkeypatch.setitem(sys.modules, "awkward_package", module)


@pytest.mark.usefixtures("awkward_package")
def test_awkward_packages_do_no_harm():
    assert collect_docstrings(["awkward_package"]) == []
    with pytest.raises(ValueError, match="no docstring of awkward_package has a 'See"):
        load_see_also(packages=("awkward_package",))


def test_collection_does_not_depend_on_earlier_imports():
    before = [document.name for document in collect_docstrings(["sklearn"])]
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401

    after = [document.name for document in collect_docstrings(["sklearn"])]
    assert before == after


def test_bad_arguments_are_named():
    with pytest.raises(ImportError, match="no_such_package"):
        load_see_also(packages=("no_such_package",))
    with pytest.raises(ValueError, match="n_candidates must be a whole number >= 2"):
        load_see_also(n_candidates=1)
    with pytest.raises(ValueError, match="n_queries must be a whole number >= 1"):
        load_see_also(n_queries=0)
    with pytest.raises(ValueError, match="n_queries=999999 is more than the"):
        load_see_also(n_queries=999999)


def test_what_examples_print_is_left_out():
    examples = """Text first.

>>> x = f(1)
>>> for i in x:
...     print(i)
0.123
0.456
>>> x
array([0.123,
       0.456])

More text.
It goes on."""
    kept = without_output(examples)
    assert "0.123" not in kept
    assert "0.456" not in kept
    assert kept.count(">>>") == 3
    assert kept.endswith("More text.\nIt goes on.")


def test_same_bits_in_every_process(tmp_path):
    code = (
        "import hashlib; from skrank.datasets import load_see_also; "
        "data = load_see_also(packages=('scipy',), n_queries=100); "
        "print(hashlib.sha256(data.X.tobytes()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
