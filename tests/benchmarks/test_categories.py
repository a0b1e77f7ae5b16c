"""Five ways to use a column of names."""

import pytest

pytest.importorskip("pandas")
categories = pytest.importorskip("benchmarks.categories")


def test_the_table_of_a_small_task(capsys, monkeypatch):
    monkeypatch.setattr(categories, "N_QUERIES", 30)
    categories.main(["--levels", "3", "60", "--seeds", "1"])
    head, few, many = capsys.readouterr().out.splitlines()
    assert "target statistics" in head
    for line, least in ((few, 0.02), (many.replace("-", "0"), 0.1)):
        _, without, *rest = map(float, line.split())
        assert rest[-1] > without + least  # the site tells much, many sites more
    assert many.split()[4] == "-"
    assert len({len(head), len(few), len(many)}) == 1
