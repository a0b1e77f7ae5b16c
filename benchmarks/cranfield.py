"""From raw text to a tuned ranker: the Cranfield collection, beside BM25.

``python -m benchmarks.cranfield`` reads the files of the collection from the folder
``Cranfield`` in the one named by SKRANK_DATA (default ``../shared/data``), which are
never part of this project, and prints NDCG@10 and MAP of

``BM25``
    by its defaults, and with k1 and b chosen;
``LM``
    the language model with Dirichlet smoothing, with mu chosen;
``BM25 + RM3``
    the chosen BM25 with expanded queries, whose parameters are chosen;
``RankSVM``, ``LambdaMART``, ``YetiRank``
    the 100 best documents of the expanded search, ranked anew by rankers that learn
    from text features; below them, the others stay as they are.

Everything is chosen by nested cross-validation over queries: the queries are cut into
five parts, and for each part all parameters are those with the best NDCG@10 on the
other four. For rankers this is the mean over an inner cross-validation within these
four parts. So no query has a say in how it is searched.
"""

import argparse
import os
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.datasets import load_cranfield
from skrank.metrics import compare, evaluate_measure, make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import LambdaMART, RankSVM, YetiRank
from skrank.text import BM25, RM3, InvertedIndex, LetorFeatures, LMDirichlet, Tokenizer

MEASURE = "ndcg@10"
BM25S = [
    {"k1": k1, "b": b} for k1, b in product((0.9, 1.2, 1.6, 2.0, 3.0), (0.6, 0.75, 0.9))
]
LMS = [{"mu": mu} for mu in (50, 100, 200, 400, 800)]
RM3S = [
    {
        "n_documents": n_documents,
        "n_terms": n_terms,
        "original_weight": weight,
        "mu": mu,
    }
    for n_documents, n_terms, weight, mu in product(
        (5, 10, 20), (10, 30, 60, 100), (0.1, 0.3, 0.5, 0.7), (100, 500)
    )
]
RANKERS = {
    "RankSVM": (RankSVM(), {"ranksvm__alpha": [0.01, 0.1, 1.0, 10.0]}),
    "LambdaMART": (
        LambdaMART(learning_rate=0.05, random_state=0),
        {
            "lambdamart__n_estimators": [100, 200],
            "lambdamart__max_leaf_nodes": [4, 8, 16],
        },
    ),
    "YetiRank": (
        YetiRank(learning_rate=0.05, random_state=0),
        {
            "yetirank__n_estimators": [100, 200],
            "yetirank__max_leaf_nodes": [4, 8, 16],
        },
    ),
}


class Task(NamedTuple):
    """The collection, indexed, with a grade for every pair."""

    index: InvertedIndex
    queries: list[str]
    grades: np.ndarray


def load_task(folder):
    """Index the collection; documents that were not judged have grade 0."""
    data = load_cranfield(folder)
    tokenizer = Tokenizer(stemmer="porter")
    fields = {name: data.documents.fields[name] for name in ("title", "text")}
    grades = np.zeros((len(data.queries), len(data.documents)))
    rows = data.queries.find(data.qrels.groups.tolist())
    columns = data.documents.find(data.qrels.docids.tolist())
    grades[rows, columns] = np.maximum(data.qrels.y, 0)
    return Task(
        InvertedIndex(tokenizer).fit(fields), data.queries.fields["text"], grades
    )


def of_queries(grades, scores, measure=MEASURE):
    """A measure of each query, for scores of all documents."""
    groups = np.repeat(np.arange(len(grades)), grades.shape[1])
    return evaluate_measure(
        measure, grades.ravel(), scores.ravel(), groups=groups, per_query=True
    )


def chosen(candidates, grades, train):
    """Number of the candidate scores that are best on the training queries."""
    return max(
        range(len(candidates)),
        key=lambda i: of_queries(grades[train], candidates[i][train]).mean(),
    )


def expanded(task, model, parameters):
    """Queries expanded by RM3, after a first search by a model."""
    expander = RM3(model=model, field="text", **parameters).fit(task.index)
    return expander.expand(task.queries)


def features(task, queries, query_of, document_of):
    """Features of pairs by the queries and by the expanded queries."""
    extractor = LetorFeatures(fields=["title", "text"]).fit(task.index)
    columns = [extractor.extract(task.queries, query_of, document_of)]
    for model in (
        BM25(field="text"),
        BM25(field="title"),
        LMDirichlet(field="text", mu=200),
    ):
        fitted = model.fit(task.index)
        columns.append(fitted.score_pairs(queries, query_of, document_of)[:, None])
    return np.hstack(columns)


def reranked(scores, documents, query_of, found):
    """Scores by which the candidates come first, in the order of a ranker."""
    result = scores.copy()
    order = found.argsort(kind="stable").argsort(kind="stable")
    result[query_of, documents] = scores.max() + 1 + order
    return result


def learn(name, task, rows, train, seed):
    """Scores of a ranker for all rows, learned and tuned on the training queries."""
    X, grades, query_of = rows
    ranker, grid = RANKERS[name]
    pipeline = make_pipeline(QueryStandardScaler(), ranker)
    known = np.isin(query_of, train)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            pipeline,
            grid,
            scoring=make_ranking_scorer(MEASURE),
            cv=QueryKFold(4, shuffle=True, random_state=seed),
        )
        search.fit(X[known], grades[known], groups=query_of[known])
        scores = search.best_estimator_.predict(X, groups=query_of)
    return scores, search.best_params_


def run_fold(task, train, n_candidates, seed):
    """Scores of every system for all documents, chosen by the training queries."""
    systems, choices = {}, {}
    models = [BM25(field="text", **p).fit(task.index) for p in BM25S]
    lms = [LMDirichlet(field="text", **p).fit(task.index) for p in LMS]
    scores = [model.score(task.queries) for model in models]
    best = chosen(scores, task.grades, train)
    systems["BM25, tuned"], choices["BM25, tuned"] = scores[best], BM25S[best]
    model = models[best]
    scores = [lm.score(task.queries) for lm in lms]
    best = chosen(scores, task.grades, train)
    systems["LM, tuned"], choices["LM, tuned"] = scores[best], LMS[best]
    queries = [expanded(task, model, parameters) for parameters in RM3S]
    scores = [model.score(query) for query in queries]
    best = chosen(scores, task.grades, train)
    first = systems["BM25 + RM3"] = scores[best]
    choices["BM25 + RM3"] = RM3S[best]
    documents = np.argsort(-first, axis=1, kind="stable")[:, :n_candidates].ravel()
    query_of = np.repeat(np.arange(len(task.queries)), n_candidates)
    X = features(task, queries[best], query_of, documents)
    rows = X, task.grades[query_of, documents], query_of
    for name in RANKERS:
        found, choices[name] = learn(name, task, rows, train, seed)
        systems[name] = reranked(first, documents, query_of, found)
    return systems, choices


def run(task, n_folds=5, n_candidates=100, seed=0):
    """Scores of every system, of each query as it was chosen without that query."""
    n_queries = len(task.queries)
    systems = {"BM25": BM25(field="text").fit(task.index).score(task.queries)}
    folds = QueryKFold(n_folds, shuffle=True, random_state=seed)
    all_choices = []
    for train, test in folds.split(np.zeros(n_queries), groups=np.arange(n_queries)):
        found, choices = run_fold(task, train, n_candidates, seed)
        for name, scores in found.items():
            systems.setdefault(name, np.empty_like(task.grades))[test] = scores[test]
        all_choices.append(choices)
        print(f"fold {len(all_choices)}: {choices}", flush=True)
    return systems, all_choices


def draw(table):
    """Means with their bootstrap intervals."""
    panels = [
        Panel(measure, {n: float(np.mean(v)) for n, v in values.items()}, "points")
        for measure, values in table.items()
    ]
    return bar_figure(panels)


def main(argv=None):
    """Run the comparison and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    add_outputs(parser)
    options = parser.parse_args(argv)
    folder = Path(os.environ.get("SKRANK_DATA", "../shared/data")) / "Cranfield"
    if not folder.is_dir():
        sys.exit(f"no data in {folder}; set SKRANK_DATA to the folder of Cranfield")
    task = load_task(folder)
    systems, choices = run(task, options.folds, options.candidates, options.seed)
    groups = np.repeat(np.arange(len(task.queries)), task.grades.shape[1])
    flat = {name: scores.ravel() for name, scores in systems.items()}
    table = compare(flat, task.grades.ravel(), groups, reference="BM25, tuned")
    print(table)
    values = {
        measure: {n: of_queries(task.grades, s, measure) for n, s in systems.items()}
        for measure in (MEASURE, "map")
    }
    record = {"choices": choices, "table": table.to_dict()}
    write_outputs(options, record, lambda: draw(values))


if __name__ == "__main__":
    main()
