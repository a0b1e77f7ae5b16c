"""The table of growth with the length of queries."""

import pytest

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks import growth


def test_one_row_for_each_method_and_measure(capsys):
    growth.main(["--rounds", "1", "--methods", "softmax"])
    head, *rows = capsys.readouterr().out.strip().splitlines()
    assert head.split()[-1] == "exponent"
    assert [row.split("  ")[0] for row in rows] == [
        f"softmax, {measure}" for measure in growth.MEASURES
    ]


def test_lengths_cut_the_same_documents():
    for row in growth.contestants().values():
        sizes = {m: len(scores) for m, (_, scores) in row.items()}
        assert sizes == dict.fromkeys(growth.LENGTHS, growth.N_DOCUMENTS)
