"""What counterfactual evaluation tells of its support, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.sparse import dok_matrix

from skrank.click import Sessions
from skrank.unbiased import CounterfactualEvaluator
from skrank.unbiased._counterfactual_estimate import Intervals

LOG = Sessions.from_lists(
    ["q", "q", "p"], [["a", "b"], ["b", "a"], ["a", "c"]], [[1, 0], [1, 1], [0, 1]]
)
GROUPS, DOCIDS = list("qqqppp"), list("abcabc")
RUNS = {"one": [3, 2, 1, 3, 2, 1], "two": [1, 2, 3, 1, 2, 3]}
CURVE = [1.0, 0.5]


def evaluate(runs=RUNS, *, sessions=LOG, groups=GROUPS, docids=DOCIDS, **options):
    """Evaluate with options of the class or of the method."""
    own = {
        name: options.pop(name)
        for name in ("X", "exposure", "relevance", "missing")
        if name in options
    }
    given = options.pop("given", None)
    evaluator = CounterfactualEvaluator(
        **{"measure": "p@2", "propensities": CURVE, **options}
    )
    return evaluator.evaluate(sessions, runs, groups, docids, propensities=given, **own)


def test_what_was_never_shown_is_counted_and_warned_of():
    with pytest.warns(UserWarning, match="does not tell of 50 % .* of 'two'.* 2 docum"):
        found = evaluate()
    # "c" of q and "b" of p were never shown; P@2 of "two" counts c and b of both.
    assert found.n_unsupported.tolist() == [1, 2]
    # One: a and b of q twice, a of p once, of 6 places. Two: b of q twice, c of p.
    assert_allclose(found.unsupported_shares, [1 / 6, 1 / 2])
    assert found.n_clicks == 4
    assert found.n_sessions.tolist() == [1, 2]
    assert found.query_ids.tolist() == ["p", "q"]


def test_documents_shown_at_times_are_supported_by_the_exposure():
    log = Sessions.from_lists(["q"] * 2, [["a"], ["b"]], [[1], [0]])
    with pytest.warns(UserWarning, match="does not tell of 50 %.*where 0 documents"):
        found = evaluate([2, 1], sessions=log, groups=["q"] * 2, docids=["a", "b"])
    assert found["ranker"] == 0.25
    found = evaluate(
        [2, 1], sessions=log, groups=["q"] * 2, docids=["a", "b"], exposure="logged"
    )
    assert found["ranker"] == 0.5
    assert found.unsupported_shares.tolist() == [0.0]


def test_effective_sizes_and_shares_of_clipped_weight():
    with pytest.warns(UserWarning, match="does not tell"):
        found = evaluate(clip=0.8)
    # Clicks weigh 1 in the first place and 2 in the second, of which 1.25 is left.
    assert_allclose(found.clipped_share, 1.5 / 6)
    one, two = [1, 1, 1.25], [1, 1.25]  # a, b, a of q; b of q and c of p
    expected = [sum(w) ** 2 / sum(x**2 for x in w) for w in (one, two)]
    assert_allclose(found.effective_sample_sizes, expected)
    assert "Clipping cut off 25 % of the weight." in str(found).replace("\n", " ")


def test_effective_sizes_of_rankers_whose_weights_differ_much():
    runs = {"first": [2, 1], "last": [1, 2]}
    log = Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, [[1, 0]] * 4)
    found = evaluate(
        runs,
        sessions=log,
        groups=["q"] * 2,
        docids=["a", "b"],
        measure=lambda ranks: np.where(ranks == 1, 1.0, 1e-200),
    )
    assert_allclose(found.effective_sample_sizes, [4, 4])
    assert_allclose(found.estimates, [1, 1e-200])


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_the_largest_exposure():
    exposure = [1e100, 1.0, 1.0, 1.0, 1.0, 1.0]
    found = evaluate({"a": [3, 2, 1, 3, 2, 1]}, exposure=exposure, measure="p@1")
    assert_allclose(found["a"], 2e-100 / 3)


def test_clipping_with_a_given_exposure():
    """The exposure is that of each document, and 0 where nobody ever looked."""
    exposure = [0.9, 0.25, 0.0, 0.5, 0.0, 0.5]
    with pytest.warns(UserWarning, match="does not tell"):
        found = evaluate(exposure=exposure, clip=0.5)
    # Clicks: a of q twice, b, which weighs 2 instead of 4, and c of p.
    assert_allclose(found.clipped_share, 2 / (2 / 0.9 + 4 + 2))
    # P@2 takes a and b of both queries from "one", and c and b from "two".
    assert found.n_unsupported.tolist() == [1, 2]
    assert_allclose(found.unsupported_shares, [1 / 6, 3 / 6])


def test_weights_below_zero_lack_support_as_others_do():
    with pytest.warns(UserWarning, match="does not tell"):
        below = evaluate(measure=lambda rank: -1.0 / rank)
    with pytest.warns(UserWarning, match="does not tell"):
        above = evaluate(measure=lambda rank: 1.0 / rank)
    assert_allclose(below.estimates, -above.estimates)
    assert (above.n_unsupported > 0).all()
    for name in ("n_unsupported", "unsupported_shares", "effective_sample_sizes"):
        assert_allclose(getattr(below, name), getattr(above, name))


@pytest.mark.parametrize("estimator", ["ips", "snips", "dm", "dr"])
@pytest.mark.parametrize("interval", ["t", "bootstrap"])
@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_weights_of_any_size(estimator, interval):
    """A power of two changes no digit of what is found."""
    options = {"estimator": estimator, "interval": interval, "n_resamples": 50}
    if estimator in ("dm", "dr"):
        options["relevance"] = [0.5, 0.25, 0.5, 0.75, 0.5, 0.25]
    expected = evaluate(measure=lambda rank: 1.0 / rank, **options)
    assert (expected.standard_errors > 0).all()
    for power in (-1000, -700, -400, 100):
        scale = 2.0**power
        found = evaluate(measure=lambda rank, scale=scale: scale / rank, **options)
        for name in ("estimates", "standard_errors", "intervals"):
            own = getattr(found, name) / scale
            assert_allclose(own, getattr(expected, name), rtol=1e-12)
        for name in ("effective_sample_sizes", "unsupported_shares", "n_unsupported"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
        one, two = (each.difference("one", "two") for each in (expected, found))
        assert_allclose(np.array(two.interval) / scale, one.interval, rtol=1e-12)
        assert_allclose(two.pvalue, one.pvalue, rtol=1e-12)


def test_weights_beyond_all_squares_are_refused():
    with pytest.raises(ValueError, match=r"one weight from -1e\+50 to 1e\+50 for each"):
        evaluate(measure=lambda rank: 1e51 / rank)
    with pytest.raises(ValueError, match="one weight from -1e"):
        evaluate(measure=lambda rank: -1e51 / rank)


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_impressions_without_a_row_are_an_error_or_count_as_nothing():
    kept = {"groups": ["q", "q"], "docids": ["a", "c"]}
    with pytest.raises(ValueError, match="docids: 3 of 4 pairs of the log have no row"):
        evaluate([2, 1], **kept)
    found = evaluate([2, 1], missing="drop", **kept)
    assert found.n_clicks == 2  # on "a"
    assert found.n_sessions.tolist() == [2]
    assert_allclose(found["ranker"], 0.5 * (1 + 2) / 2)
    text = str(found).replace("\n", " ")
    assert "1 sessions of other queries are left out." in text
    assert "2 impressions are of documents not ranked." in text


def test_tables_hold_a_line_for_each_ranker():
    found = evaluate(estimator="dr", relevance=[0.5] * 6, interval="bootstrap")
    lines = found.to_text(digits=2).splitlines()
    assert lines[0].split()[:2] == ["ranker", "p@2"]
    assert lines[2].split()[:2] == ["one", f"{found['one']:.2f}"]
    assert lines[3].split()[-2:] == ["50.0", "%"]
    assert len({len(line) for line in (lines[0], *lines[2:4])}) == 1
    assert "Estimator dr, from 3 sessions of 2 queries with 4 clicks; bootstrap" in (
        " ".join(lines)
    )
    page = evaluate({"<b>": RUNS["one"]}, estimator="dm", relevance=[0.5] * 6).to_html()
    assert page == page.replace("<b>", "")
    assert "&lt;b&gt;" in page
    assert "eff. size" not in page
    assert repr(found) == (
        f"CounterfactualEstimate(p@2: one={found['one']:.4g}, two={found['two']:.4g})"
    )


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_differences_are_paired():
    found = evaluate({**RUNS, "same": RUNS["one"]})
    assert found.difference("one", "same") == (0.0, 0.0, (0.0, 0.0), 1.0)
    there, back = found.difference("one", "two"), found.difference("two", "one")
    assert there.estimate == pytest.approx(found["one"] - found["two"])
    assert back.estimate == pytest.approx(-there.estimate)
    assert_allclose(back.interval, -np.array(there.interval)[::-1])
    assert back.pvalue == there.pvalue
    with pytest.raises(ValueError, match="second must be the name of a ranker, one of"):
        found.difference("one", "three")


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_one_unit_has_no_interval():
    found = evaluate(sessions=LOG[:1])
    assert np.isnan(found.intervals).all()
    assert np.isnan(found.difference("one", "two").pvalue)


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_without_clicks_there_is_nothing_to_normalise():
    log = Sessions.from_lists(["q"], [["a", "b"]], [[0, 0]])
    assert evaluate(sessions=log)["one"] == 0.0
    with pytest.raises(ValueError, match="must hold a click for estimator 'snips'"):
        evaluate(sessions=log, estimator="snips")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": "map"}, "measure must be a sum over documents.* got 'map'"),
        ({"measure": "recall@5"}, "is divided by what depends on relevance"),
        ({"measure": "p"}, "is the same for all rankings unless it is cut off"),
        ({"measure": "ndcg"}, "measure 'ndcg' needs relevance"),
        (
            {"measure": "ndcg", "relevance": [-1.0] * 6},
            "relevance must not be negative",
        ),
        ({"measure": "ndcg", "relevance": [1.0] * 6, "estimator": "snips"}, "'snips'"),
        ({"measure": len}, "measure must be a function of an array of ranks, from 1"),
        (
            {"measure": lambda ranks: ranks[:1]},
            "measure must be a function of an array",
        ),
        ({"estimator": "dm"}, "relevance must be given for estimator='dm'"),
        ({"estimator": "dr"}, "relevance must be given for estimator='dr'"),
        (
            {"estimator": "dr", "relevance": [1.0]},
            "relevance must hold one number from -1e",
        ),
        ({"propensities": None}, "propensities must be given"),
        ({"propensities": [1.0]}, "the 1 places that propensities holds, got 2"),
        ({"given": np.ones(6)}, "came with the log and as a parameter"),
        ({"given": np.ones(5), "propensities": None}, "each of the 6 rows"),
        ({"exposure": "shown"}, "exposure must"),
        ({"exposure": [1.0]}, "exposure must be None, 'logged', or hold one number"),
        ({"exposure": [-1.0] * 6}, "exposure must hold .* 0 to 1e.100.*row 0 has -1"),
        ({"exposure": [1.0] * 5 + [1e200]}, "exposure must .* row 5 has 1e.200"),
        ({"exposure": [np.nan] * 6}, "exposure must .* row 0 has nan"),
        ({"sessions": LOG[:0]}, "sessions must hold at least one session"),
        ({"runs": {}}, "runs must be a dict"),
        ({"runs": dok_matrix((6, 1))}, r"runs\['ranker'\] must hold numeric scores in"),
        ({"runs": [1.0]}, r"runs\['ranker'\] has 1 scores for 6 documents"),
        ({"docids": list("abcab")}, "groups and docids must have as many rows"),
        ({"docids": list("aacabc")}, "docids must hold a document once for a query"),
        ({"groups": [], "docids": []}, "groups must hold at least one query id"),
        ({"clip": 0.0}, "clip must be"),
        ({"missing": "no"}, "missing must be"),
    ],
)
def test_bad_arguments_are_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(**given)


def test_logs_must_be_sessions():
    with pytest.raises(TypeError, match="sessions must be Sessions, or parts of them,"):
        evaluate(sessions=3)
    with pytest.raises(TypeError, match="sessions must be parts that are Sessions"):
        evaluate(sessions=[LOG, 3])
    with pytest.raises(ValueError, match="goes through sessions twice"):
        evaluate(sessions=iter([LOG]), exposure="logged", unit="session")
    with pytest.raises(ValueError, match="need sessions in one piece"):
        evaluate(sessions=[LOG], given=np.ones(6), propensities=None)
    with pytest.raises(TypeError, match="propensities must be an estimator of prop"):
        evaluate(propensities="a")
    with pytest.raises(ValueError, match="which needs X to predict"):
        evaluate(estimator="dm", relevance=Predictor())


class Predictor:
    """Something that predicts."""

    def predict(self, X):
        return np.zeros(len(X))


def test_intervals_are_those_of_student():
    values = np.random.default_rng(0).normal(size=(5, 2))
    errors, ends = Intervals("t", 0.9, 100, None).of_means(values)
    assert_allclose(errors, stats.sem(values))
    low, high = stats.t.interval(0.9, 4, loc=values.mean(axis=0), scale=errors)
    assert_allclose(ends, np.column_stack([low, high]))
