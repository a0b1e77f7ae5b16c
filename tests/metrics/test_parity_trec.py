"""Every line of trec_eval's own expected output, in all four decimals."""

import numpy as np
import pytest

from skrank.metrics import evaluate_measure, trec_measures

# The options with which trec_eval's authors made their expected files.
META_PARAMS = [
    "iprec_at_recall..10,.20,.25,.75,.50",
    "P.5,7,3",
    "recall.20,2000",
    "Rprec_mult.5.0,0.2,0.35",
    "utility.2,-1,0,0",
    "11pt_avg..25,.5,.75",
    "ndcg.1=3,2=9,4=4.5",
    "ndcg_cut.10,20,23.4",
    "success.2,5,20",
]
CASES = {
    "out.test": ("results.test", "qrels.test", "official", {}),
    "out.test.a": ("results.test", "qrels.test", "all_trec", {}),
    "out.test.aq": ("results.test", "qrels.test", "all_trec", {}),
    "out.test.aqc": ("results.trunc", "qrels.test", "all_trec", {"complete": True}),
    "out.test.aqcM": (
        "results.trunc",
        "qrels.test",
        "all_trec",
        {"complete": True, "max_results": 100},
    ),
    "out.test.aql": (
        "results.test",
        "qrels.rel_level",
        ["all_trec", "relstring.20"],
        {"relevance_level": 2},
    ),
    "out.test.meas_params": ("results.test", "qrels.test", META_PARAMS, {}),
    "out.test.qrels_jg": (
        "results.test",
        "qrels.123",
        "qrels_jg",
        {"judgement_format": "qrels_jg"},
    ),
    "out.test.qrels_prefs": (
        "results.test",
        "qrels.test",
        "all_prefs",
        {"judgement_format": "qrels_prefs"},
    ),
    "out.test.prefs": (
        "prefs.results.test",
        "prefs.test",
        "all_prefs",
        {"judgement_format": "prefs"},
    ),
}


def read_run(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    columns = list(zip(*(row[:5] for row in rows)))
    return columns[0], columns[2], [float(score) for score in columns[4]]


def read_qrels(path, judgement_format="qrels"):
    rows = [line.split() for line in path.read_text().splitlines()]
    *ids, grades = zip(*rows)
    if judgement_format == "qrels":
        del ids[1]
    return *ids, [float(grade) for grade in grades]


def read_expected(path):
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return [(name.strip(), topic, value) for name, topic, value in lines]


@pytest.fixture(scope="module")
def trec_dir(data_dir):
    return data_dir / "trec_eval"


@pytest.mark.parametrize("expected", CASES)
def test_output_equals_trec_eval_line_by_line(trec_dir, expected):
    run, qrels, measures, options = CASES[expected]
    result = trec_measures(
        read_qrels(trec_dir / qrels, options.get("judgement_format", "qrels")),
        read_run(trec_dir / run),
        measures,
        run_id="STANDARD",
        **options,
    )
    per_query = expected not in ("out.test", "out.test.a")
    printed = [line.split("\t") for line in result.lines(per_query)]
    printed = [(name.strip(), topic, value) for name, topic, value in printed]
    assert printed == read_expected(trec_dir / expected)


def test_standardized_values_equal_those_of_trec_eval(trec_dir):
    reference: dict = {}
    for line in (trec_dir / "zscores_file").read_text().splitlines():
        topic, name, mean, deviation = line.split()
        reference.setdefault(topic, {})[name] = (float(mean), float(deviation))
    run, qrels = trec_dir / "results.test", trec_dir / "qrels.test"
    result = trec_measures(
        read_qrels(qrels), read_run(run), "all", run_id="STANDARD"
    ).standardized(reference)
    printed = [line.split("\t") for line in result.lines(True)]
    printed = [(name.strip(), topic, value) for name, topic, value in printed]
    assert printed == read_expected(trec_dir / "out.test.aqZ")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("map", "map"),
        ("Rprec", "rprec"),
        ("recip_rank", "mrr"),
        ("bpref", "bpref"),
        ("P_10", "p@10"),
        ("recall_100", "recall@100"),
        ("ndcg", "ndcg"),
        ("ndcg_cut_10", "ndcg@10"),
        ("map_cut_30", "map@30"),
        ("success_10", "success@10"),
        ("rbp", "rbp"),
    ],
)
def test_measure_objects_count_judged_documents_that_were_not_retrieved(
    trec_dir, name, ours
):
    from skrank.metrics import get_measure

    run, qrels = (
        read_run(trec_dir / "results.test"),
        read_qrels(trec_dir / "qrels.test"),
    )
    grades = {(q, d): g for q, d, g in zip(*qrels) if g >= 0}
    scores = {(q, d): s for q, d, s in zip(*run)}
    if name == "bpref":  # documents without judgement do not count
        scores = {key: s for key, s in scores.items() if key in grades}
    keys = sorted(grades.keys() | scores.keys())
    y = np.array([grades.get(key, 0) for key in keys], dtype=float)
    score = np.array([scores.get(key, 0.0) for key in keys])
    retrieved = np.array([key in scores for key in keys])
    topics, starts = np.unique([q for q, _ in keys], return_index=True)
    values = get_measure(ours, preset="trec_eval").per_query(
        y,
        score,
        np.append(starts, len(keys)),
        docids=np.array([d for _, d in keys]),
        retrieved=retrieved,
    )
    expected = {
        topic: value
        for measure, topic, value in read_expected(trec_dir / "out.test.aq")
        if measure == name
    }
    printed = {topic: f"{value:.4f}" for topic, value in zip(topics, values)}
    printed["all"] = f"{values.mean():.4f}"
    assert printed == expected


@pytest.mark.parametrize("fold", range(1, 6))
@pytest.mark.parametrize("model", ["10", "40"])
def test_letor4_preset_equals_the_official_script(data_dir, fold, model):
    names = [f"p@{k}" for k in range(1, 11)] + ["map"]
    names += [f"ndcg@{k}" for k in range(1, 11)] + ["meanndcg"]
    test_file = data_dir / "MQ2008" / f"Fold{fold}" / "test.txt"
    folder = data_dir / "letor4-listnet" / "MQ2008" / f"Fold{fold}"
    rows = [line.split(None, 2) for line in test_file.read_text().splitlines()]
    y = [float(grade) for grade, _, _ in rows]
    groups = [qid for _, qid, _ in rows]
    scores = np.loadtxt(folder / f"scores_{model}.txt")
    official = [
        value
        for line in (folder / f"official_metrics_{model}.txt").read_text().splitlines()
        if line.startswith("Average")
        for value in line.split()[1:]
    ]
    ours = [
        f"{evaluate_measure(name, y, scores, groups=groups, preset='letor4'):.4f}"
        for name in names
    ]
    assert dict(zip(names, ours)) == dict(zip(names, official, strict=True))
