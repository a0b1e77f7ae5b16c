"""The benchmark of text search on a few documents."""

import pytest

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import text


def test_times_of_a_small_collection_and_equal_scores(capsys):
    documents, queries = text.make_collection(80, 12, n_words=300)
    assert (len(documents), len(queries)) == (80, 12)
    assert all(60 <= len(document.split()) < 140 for document in documents)
    assert text.make_collection(80, 12, n_words=300) == (documents, queries)
    text.check_parity(documents, queries)
    rows = text.measure(documents, queries, rounds=1)
    text.print_table(rows)
    printed = capsys.readouterr().out
    assert "scores of scikit-learn: largest relative difference" in printed
    assert next(row.library for row in rows) == "skrank"
    assert all(row.queries_per_second > 0 for row in rows)
