"""The parts of the documentation that are made of other parts."""

from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the extra doc is not installed")

import local_mathjax
import plain_measures
import rank_chart
from docutils import nodes
from docutils.core import publish_doctree

_DOC = Path(__file__).parents[2] / "doc"


def test_mean_ranks_are_those_of_the_page():
    text = """
Before::

   ndcg@10               rank    MQ2008   OHSUMED
   ----------------------------------------------
   YetiRank              2.27     .7089     .4544
   CatBoost, 300 trees   4.64     .7051     .4501

   map
   ----------------------------------------------
   YetiRank              2.50     .6735     .4496
"""
    ranks = rank_chart.mean_ranks(text)
    assert ranks == {"YetiRank": 2.27, "CatBoost, 300 trees": 4.64}
    widths = [bar.get_width() for bar in rank_chart.draw(ranks).axes[0].patches]
    assert widths == [2.27, 4.64]
    with pytest.raises(ValueError, match="no table of mean ranks by map"):
        rank_chart.mean_ranks(text, "map")


def test_the_page_of_benchmarks_has_the_table():
    text = (_DOC / "benchmarks.rst").read_text(encoding="utf-8")
    ranks = rank_chart.mean_ranks(text)
    assert {"YetiRank", "LightGBM", "RankSVM"} <= set(ranks)
    assert list(ranks.values()) == sorted(ranks.values())


def test_measures_are_no_addresses():
    tree = publish_doctree("NDCG@10, P@k and someone@example.org")
    plain_measures.unlink_measures(None, tree)
    (link,) = tree.findall(nodes.reference)
    assert link["refuri"] == "mailto:someone@example.org"
    assert tree.astext() == "NDCG@10, P@k and someone@example.org"


def test_mathjax_is_copied_and_loaded_from_the_site(tmp_path):
    if local_mathjax.mathjax_folder() is None:
        pytest.skip(f"{local_mathjax.PACKAGE} is not installed")
    from sphinx.application import Sphinx

    source = tmp_path / "source"
    source.mkdir()
    (source / "conf.py").write_text(
        "extensions = ['sphinx.ext.mathjax', 'local_mathjax']"
    )
    (source / "index.rst").write_text("Title\n=====\n\n:math:`x^2`\n")
    built = tmp_path / "built"
    Sphinx(source, source, built, tmp_path / "trees", "html", status=None).build()
    page = (built / "index.html").read_text(encoding="utf-8")
    assert "cdn" not in page
    assert "_static/mathjax/tex-chtml.js" in page
    assert (built / "_static/mathjax/tex-chtml.js").stat().st_size > 500_000
    assert (
        len(list((built / "_static/mathjax/output/chtml/fonts").rglob("*.woff"))) == 23
    )


def test_without_the_package_a_warning_says_what_to_install(monkeypatch):
    monkeypatch.setattr(local_mathjax, "PACKAGE", "no-such-package")
    warned = []
    monkeypatch.setattr(local_mathjax._logger, "warning", lambda *a: warned.append(a))
    local_mathjax.use_local_copy(None, None)
    assert "the extra doc brings it" in warned[0][0]
