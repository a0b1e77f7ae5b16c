"""The provider of ir_measures against its other providers."""

import importlib.util

import numpy as np
import pytest

from skrank.compat import ir_measures_provider
from skrank.datasets import Qrels, Run, load_qrels, load_run

if importlib.util.find_spec("ir_measures") is None:
    pytest.skip("ir_measures is not installed", allow_module_level=True)

import ir_measures
from ir_measures import (
    AP,
    ERR,
    RBP,
    RR,
    Bpref,
    IPrec,
    NumQ,
    NumRel,
    NumRet,
    P,
    R,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    Success,
    infAP,
    nDCG,
)

MEASURES = [
    AP, AP @ 10, AP(rel=2), AP(judged_only=True), Bpref, Bpref(rel=2), infAP,
    infAP(rel=2), nDCG, nDCG @ 10, nDCG(judged_only=True) @ 10,
    nDCG(gains={0: 0, 1: 5, 2: 7}) @ 20, NumQ, NumRel, NumRet, NumRet(rel=1),
    NumRet(rel=2), P @ 5, P(rel=2) @ 20, P(judged_only=True) @ 10, R @ 100,
    R(rel=2) @ 7, Rprec, Rprec(rel=2), RR, RR(rel=2), RR(judged_only=True), SetAP, SetF,
    SetF(beta=2.0), SetP, SetP(relative=True), SetP(judged_only=True), SetR,
    SetR(rel=2), Success @ 1, Success(rel=2) @ 5,
]  # fmt: skip


def tables(seed, tied=False):
    """Judgements and a run of ten queries, which they share but for two each."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(10):
        ids = [f"d{i}" for i in range(60)]
        judged = rng.choice(ids, size=30, replace=False).tolist()
        found = rng.choice(ids, size=40, replace=False).tolist()
        scores = rng.normal(size=40).round(0 if tied else 6)
        qrels[f"{q}"] = dict(zip(judged, rng.integers(0, 3, 30).tolist()))
        run[f"{q + 1}"] = dict(zip(found, scores.tolist()))
    return qrels, run


def compared(provider, measures, qrels, run, tolerance=1e-6):
    """Compare the provider of this package with another one, in mean and by query."""
    ours = ir_measures_provider()
    found, expected = (
        one.calc(measures, qrels, run)
        for one in (ours, ir_measures.providers.registry[provider])
    )
    assert found.aggregated.keys() == set(measures)
    for measure in measures:
        assert found.aggregated[measure] == pytest.approx(
            expected.aggregated[measure], abs=tolerance
        ), measure
    by_query = {(m.query_id, m.measure): m.value for m in found.per_query}
    others = {(m.query_id, m.measure): m.value for m in expected.per_query}
    assert by_query == pytest.approx(others, abs=tolerance)
    assert len(by_query) == len(measures) * len({query for query, _ in others})


def needs(name):
    return pytest.mark.skipif(
        not ir_measures.providers.registry[name].is_available(),
        reason=f"the provider {name} has nothing to run on",
    )


@needs("pytrec_eval")
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_pytrec_eval(seed, tied):
    compared("pytrec_eval", MEASURES, *tables(seed, tied))


@needs("pytrec_eval")
@pytest.mark.filterwarnings("ignore:.*is undefined")  # nobody gave the grade 2
def test_values_of_real_runs_are_those_of_pytrec_eval(data_dir):
    folder = data_dir / "trec_eval"
    qrels, run = load_qrels(folder / "qrels.test"), load_run(folder / "results.test")
    compared("pytrec_eval", MEASURES, qrels.to_ir_measures(), run.to_ir_measures())


@needs("gdeval")
def test_values_are_those_of_gdeval():
    qrels, run = tables(0)
    # Printed with five decimals.
    compared("gdeval", [ERR @ 20, ERR @ 5, nDCG(dcg="exp-log2") @ 10], qrels, run, 6e-6)


def test_values_are_those_of_msmarco():
    qrels, run = tables(1)
    compared("msmarco", [RR @ 10, RR(rel=2) @ 3], qrels, run)


def test_rank_biased_precision_by_hand():
    qrels, run = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = ir_measures_provider().calc_aggregate(
        [RBP(rel=1), RBP(rel=2, p=0.5), RBP(rel=1) @ 1], qrels, run
    )
    assert list(map(float, found.values())) == pytest.approx(
        [0.2 * (1 + 0.8**2), 0.5 * 0.5**2, 0.2]
    )


def test_recall_levels():
    qrels = {"q": {"a": 1, "c": 1}}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = ir_measures_provider().calc_aggregate(
        [IPrec @ 0.5, IPrec @ 1.0], qrels, run
    )
    assert list(found.values()) == pytest.approx([1.0, 2 / 3])


def test_the_default_pipeline_asks_the_provider_first_or_last():
    provider = ir_measures_provider()
    names = [one.NAME for one in ir_measures.DefaultPipeline.providers]
    assert names[-1] == "skrank"
    assert ir_measures.providers.registry["skrank"] is provider
    qrels, run = tables(0)
    # No other provider has it, so that the last one is asked.
    measure = RR(judged_only=True) @ 5
    assert measure.calc_aggregate(qrels, run) > 0
    try:
        assert ir_measures_provider(first=True) is provider
        assert ir_measures.DefaultPipeline.providers[0] is provider
        assert ir_measures.calc_aggregate([AP], qrels, run) == pytest.approx(
            provider.calc_aggregate([AP], qrels, run)
        )
    finally:
        ir_measures_provider()
    names = [one.NAME for one in ir_measures.DefaultPipeline.providers]
    assert names.count("skrank") == 1


def test_what_the_provider_does_not_support():
    provider = ir_measures_provider()
    for measure in (
        RBP(),
        AP(rel=0),
        nDCG(dcg="exp-log2", gains={1: 2}),
        ir_measures.Judged,
    ):
        assert not provider.supports(measure)
    with pytest.raises(ValueError, match="records holds document 'a' a second time"):
        provider.calc_aggregate(
            [AP], [ir_measures.Qrel("q", "a", 1)] * 2, {"q": {"a": 1}}
        )


def test_nothing_in_common():
    found = ir_measures_provider().calc([AP, NumQ], {"q": {"a": 1}}, {"r": {"a": 1.0}})
    assert found.aggregated == {AP: 0.0, NumQ: 0}
    judged_only = AP(judged_only=True)
    found = ir_measures_provider().calc(
        [judged_only], {"q": {"a": 1}}, {"q": {"b": 1.0}}
    )
    assert found.aggregated == {judged_only: 0.0}


def test_records_and_frames_round_trip():
    run = Run.from_dict({"q": {"b": 1.5, "a": 2.0}, "p": {"a": 0.1}}, tag="t")
    again = Run.from_ir_measures(iter(run.to_ir_measures()), tag="t")
    assert again.to_dict() == run.to_dict()
    qrels = Qrels.from_dict({"q": {"b": 1, "a": -1}, "p": {"a": 2}})
    records = qrels.to_ir_measures()
    assert records[0] == ir_measures.Qrel("q", "b", 1)
    assert type(records[0].relevance) is int
    assert Qrels.from_ir_measures(records).to_dict() == qrels.to_dict()
    # What ir_measures makes of frames is the same.
    converted = ir_measures.util.QrelsConverter(qrels.to_pandas()).as_dict_of_dict()
    assert converted == qrels.to_dict()
    converted = ir_measures.util.RunConverter(run.to_pandas()).as_dict_of_dict()
    assert converted == run.to_dict()
