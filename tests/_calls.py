"""A valid call of everything public, from which odd calls are made."""

import inspect
import io
from functools import cache, wraps

import numpy as np
import pandas as pd
from _odd import Call
from joblib import parallel_backend
from sklearn.linear_model import Ridge

from skrank import (
    aggregation,
    config_context,
    datasets,
    discovery,
    energies,
    export,
    inspection,
    losses,
    metrics,
    model_selection,
    preprocessing,
    rankers,
    solvers,
    text,
    trees,
)
from skrank.base import BaseRanker
from skrank.compat import PeerRanker
from skrank.model_selection._base import BaseQuerySplitter

GROUPS = np.repeat([0, 1, 2], 4)
GRADES = np.array([2.0, 0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1])
X = np.random.default_rng(0).normal(size=(12, 3)) + GRADES[:, None]
WITH_QUERY_FEATURE = np.column_stack([GROUPS, X])
SCORES = np.random.default_rng(1).normal(size=12)
PTR = np.array([0, 4, 8, 12])
PAIRS = np.array([[0, 1], [4, 5], [8, 9]])
TEXTS = ["red fish", "blue fish", "one red bird", "two"]
VALUES = np.array([0.5, 0.7, 0.9, 0.4])
QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "c": 2}}
RUN = {"1": {"a": 0.5, "b": 0.4}, "2": {"a": 0.1, "c": 0.2}}
OTHER_RUN = {"1": {"b": 0.9, "a": 0.4}, "2": {"c": 0.3, "d": 0.2}}

_ROWS = {"X": X, "y": GRADES, "groups": GROUPS}
_FIT = {
    **_ROWS,
    "sample_weight": np.ones(12),
    "X_val": X,
    "y_val": GRADES,
    "groups_val": GROUPS,
}
_OF_PAIRS = {"preferences": PAIRS}
_JUDGED = {"y_true": GRADES, "y_score": SCORES, "groups": GROUPS}
_GRADED = {"y": GRADES, "ptr": PTR}


def call(function, **arguments):
    """Return a call with the given arguments and the defaults of all others."""
    return Call(function, lambda: {**_defaults(function), **arguments})


def _defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def method(make, name, **arguments):
    """Return a call of a method of an object, which is made for the first call."""
    make = cache(make)

    def run(**given):
        return getattr(make(), name)(**given)

    return Call(run, lambda: {**_defaults(getattr(make(), name)), **arguments})


def _linear():
    return rankers.RankSVM(max_iter=5).fit(**_ROWS)


def _boosted():
    return rankers.LambdaMART(n_estimators=2, min_samples_leaf=1).fit(**_ROWS)


def _labelled():
    energy = energies.AbsoluteLabelEnergy(labels=[0, 1, 2])
    return rankers.EnergyRanker(energy, losses.NLLLoss(), max_iter=2).fit(**_ROWS)


def _embedding():
    ranker = rankers.GERank(max_iter=2, random_state=0, query_features=[0])
    return ranker.fit(WITH_QUERY_FEATURE, GRADES, GROUPS)


def _table():
    return metrics.compare({"a": SCORES, "b": GRADES}, GRADES, GROUPS)


def _importances():
    return inspection.query_permutation_importance(
        _linear(), X, GRADES, GROUPS, random_state=0
    )


def _trec():
    return metrics.trec_measures(RUN, QRELS)


def _bins():
    return trees.BinMapper().fit(X)


def _ensemble():
    return _boosted().ensemble_


def _text_model():
    return text.BM25().fit(TEXTS)


def _letor():
    return text.LetorFeatures().fit(TEXTS)


def _joined():
    return aggregation.join_runs([RUN, OTHER_RUN])


def _ordinal():
    return rankers.ThresholdOrdinal(max_iter=2).fit(**_ROWS)


def _mcrank():
    return rankers.McRank(n_estimators=2, min_samples_leaf=1).fit(**_ROWS)


def _nested():
    return rankers.NestedRanker(rankers.SubsetRegression()).fit(**_ROWS)


def _sortnet():
    return rankers.SortNet(max_iter=1, random_state=0).fit(**_ROWS)


def _rules():
    return rankers.AssociationRuleRanker().fit(**_ROWS)


def _index():
    return text.InvertedIndex().fit(TEXTS)


def _display(cls, **data):
    return Call(lambda **given: cls(**given).plot(), lambda: dict(data))


@cache
def functions():
    """Return a call of each function, by its name after ``skrank.``."""
    measures = {
        f"metrics.{name}": call(function, **_JUDGED)
        for name, function in vars(metrics).items()
        if hasattr(function, "measure_class")
    }
    two = {"a": VALUES, "b": VALUES[::-1]}
    return measures | {
        "aggregation.aggregate": call(aggregation.aggregate, runs=[RUN, OTHER_RUN]),
        "aggregation.get_aggregator": call(aggregation.get_aggregator, method="rrf"),
        "aggregation.join_runs": call(aggregation.join_runs, runs=[RUN, OTHER_RUN]),
        "config_context": Call(
            lambda **given: config_context(**given).__enter__() and None,
            lambda: {"assume_single_query": False},
        ),
        "discovery.all_objects": call(discovery.all_objects, kind="loss"),
        "metrics.bootstrap_interval": call(metrics.bootstrap_interval, values=VALUES),
        "metrics.check_query_leakage": call(
            metrics.check_query_leakage, estimator=_linear(), groups=GROUPS
        ),
        "metrics.compare": call(
            metrics.compare, runs={"a": SCORES, "b": GRADES}, y=GRADES, groups=GROUPS
        ),
        "metrics.count_wins": call(metrics.count_wins, tables=[_table()]),
        "metrics.evaluate_measure": call(
            metrics.evaluate_measure, measure="ndcg", **_JUDGED
        ),
        "metrics.fisher_randomization_test": call(
            metrics.fisher_randomization_test, **two
        ),
        "metrics.get_measure": call(metrics.get_measure, measure="ndcg"),
        "metrics.holm_correction": call(metrics.holm_correction, pvalues=VALUES),
        "metrics.make_ranking_scorer": call(metrics.make_ranking_scorer, measure="map"),
        "metrics.paired_t_test": call(metrics.paired_t_test, **two),
        "metrics.query_weights": call(
            metrics.query_weights, sample_weight=np.ones(12), ptr=PTR
        ),
        "metrics.signed_deltas": call(
            metrics.signed_deltas,
            terms=metrics.NDCG().delta_terms(GRADES, PTR),
            ptr=PTR,
            query=0,
            ranks=np.array([1, 2, 3, 4]),
        ),
        "metrics.trec_measures": call(metrics.trec_measures, run=RUN, qrels=QRELS),
        "metrics.tukey_hsd": call(
            metrics.tukey_hsd, values=np.eye(4), n_permutations=9
        ),
        "metrics.wilcoxon_test": call(metrics.wilcoxon_test, **two),
        "metrics.winning_number": call(metrics.winning_number, scores=np.eye(3)),
        "inspection.query_permutation_importance": call(
            inspection.query_permutation_importance, estimator=_linear(), **_ROWS
        ),
        "model_selection.query_learning_curve": call(
            _in_threads(model_selection.query_learning_curve),
            estimator=rankers.SubsetRegression(),
            X=X,
            y=_with_index(GRADES),
            cv=3,
        ),
        "model_selection.train_test_query_split": Call(
            lambda arrays, **given: model_selection.train_test_query_split(
                arrays, **given
            ),
            lambda: {
                "arrays": X,
                **_defaults(model_selection.train_test_query_split),
                "groups": GROUPS,
            },
        ),
        "preprocessing.grades_to_order": call(
            preprocessing.grades_to_order, y=GRADES, groups=GROUPS
        ),
        "preprocessing.grades_to_preferences": call(
            preprocessing.grades_to_preferences, y=GRADES, groups=GROUPS
        ),
        "preprocessing.order_to_grades": call(
            preprocessing.order_to_grades, order=[1, 2, 3, 4] * 3, groups=GROUPS
        ),
        "preprocessing.order_to_preferences": call(
            preprocessing.order_to_preferences, order=[1, 2, 3, 4] * 3, groups=GROUPS
        ),
        "preprocessing.preferences_to_grades": call(
            preprocessing.preferences_to_grades, pairs=PAIRS, groups=GROUPS
        ),
        "preprocessing.preferences_to_order": call(
            preprocessing.preferences_to_order, pairs=PAIRS, groups=GROUPS
        ),
        "text.inverse_document_frequency": call(
            text.inverse_document_frequency, document_frequency=[1, 2], n_documents=4
        ),
        "text.stem_plural": call(text.stem_plural, word="fishes"),
        "text.tokenize": call(text.tokenize, text="red fish"),
        **_exporters(),
        **_readers(),
    }


def _in_threads(function):
    """Return a function that starts no processes, which would take seconds."""

    @wraps(function)
    def run(**arguments):
        with parallel_backend("threading"):
            return function(**arguments)

    return run


def _with_index(y):
    return pd.Series(y, index=pd.Index(GROUPS, name="qid"))


def _exporters():
    linear, boosted = _linear(), _boosted()
    return {
        "export.from_json": call(export.from_json, text=export.to_json(linear)),
        "export.score_elasticsearch": call(
            export.score_elasticsearch,
            text=export.to_elasticsearch(boosted, "m", feature_names=["a", "b", "c"]),
            X=X,
            feature_names=["a", "b", "c"],
        ),
        "export.score_ranklib": call(
            export.score_ranklib, text=export.to_ranklib(boosted, missing="zero"), X=X
        ),
        "export.score_solr": call(
            export.score_solr,
            text=export.to_solr(boosted, "m", feature_names=["a", "b", "c"]),
            X=X,
            feature_names=["a", "b", "c"],
        ),
        "export.to_elasticsearch": call(
            export.to_elasticsearch,
            model=boosted,
            name="m",
            feature_names=["a", "b", "c"],
        ),
        "export.to_json": call(export.to_json, model=linear),
        "export.to_ranklib": call(export.to_ranklib, model=boosted, missing="zero"),
        "export.to_solr": call(
            export.to_solr, model=boosted, name="m", feature_names=["a", "b", "c"]
        ),
    }


def _readers():
    return {
        "datasets.judge_run": call(
            datasets.judge_run,
            qrels=datasets.load_qrels(_lines("1 0 a 1\n1 0 b 0\n")),
            run=datasets.load_run(_lines("1 Q0 a 1 2.5 t\n")),
        ),
        "datasets.make_ranking": call(
            datasets.make_ranking, n_queries=3, n_features=4, n_informative=2
        ),
    }


def _lines(content):
    return io.StringIO(content)


#: Functions that read and write files; `tests/datasets/test_arguments.py` has them.
READ_AND_WRITE = {
    *("datasets.dump_letor", "datasets.dump_qrels", "datasets.dump_run"),
    *("datasets.load_letor", "datasets.load_letor_folds", "datasets.load_qrels"),
    *("datasets.load_run", "datasets.load_see_also", "datasets.load_table"),
    *("export.load_model", "export.save_model"),
}
WITHOUT_ARGUMENTS = (
    "aggregation.known_aggregators",
    "get_config",
    "metrics.known_measures",
)


@cache
def methods():
    """Return a call of each method, by its name where it is defined."""
    return {
        "_state_arguments_of_fit.<locals>.fit": method(
            lambda: rankers.MART(n_estimators=2),
            "fit",
            **_FIT,
            init_score=SCORES,
            init_score_val=SCORES,
        ),
        "BaseRanker.fit": method(rankers.SubsetRegression, "fit", **_FIT),
        "BaseRanker.predict": method(_linear, "predict", X=X),
        "BaseRanker.rank": method(_linear, "rank", X=X, groups=GROUPS),
        "BaseRanker.score": method(
            _linear, "score", **_ROWS, sample_weight=np.ones(12)
        ),
        "BaseRanker.top_documents": method(
            _linear, "top_documents", X=X, groups=GROUPS
        ),
        "GroupsAtPredictMixin.predict": method(_boosted, "predict", X=X, groups=GROUPS),
        "BaseAdditiveRanker.staged_predict": method(
            _boosted, "staged_predict", X=X, groups=GROUPS
        ),
        "BaseBoostedRanker.top_documents": method(
            _boosted, "top_documents", X=X, groups=GROUPS
        ),
        "BaseEnergyRanker.energies": method(_labelled, "energies", X=X, groups=GROUPS),
        "BaseEnergyRanker.predict_labels": method(_labelled, "predict_labels", X=X),
        "BoltzRank.paper": call(rankers.BoltzRank.paper),
        "GERank.embed": method(_embedding, "embed", X=WITH_QUERY_FEATURE),
        "LogisticRanker.predict_odds": method(
            lambda: rankers.LogisticRanker(threshold="all").fit(**_ROWS),
            "predict_odds",
            X=X,
        ),
        "BaseMetaRanker.predict": method(
            lambda: PeerRanker(WithSizes()).fit(**_ROWS), "predict", X=X, groups=GROUPS
        ),
        "BaseQueryMetaRanker.predict": method(_nested, "predict", X=X, groups=GROUPS),
        "BaseOnlineRanker.partial_fit": method(
            rankers.PRank, "partial_fit", **_ROWS, sample_weight=np.ones(12)
        ),
        "AssociationRuleRanker.describe": method(_rules, "describe"),
        "McRank.predict_grades": method(_mcrank, "predict_grades", X=X),
        "McRank.predict_proba": method(_mcrank, "predict_proba", X=X),
        "PreferenceOrdering.get_params": method(
            rankers.PreferenceOrdering, "get_params"
        ),
        "PreferenceOrdering.set_params": method(
            rankers.PreferenceOrdering, "set_params", beta=0.5, estimators=()
        ),
        "Rocchio.predict": method(
            lambda: rankers.Rocchio().fit(**_ROWS), "predict", X=X, groups=GROUPS
        ),
        "SortNet.compare": method(_sortnet, "compare", X=X, X_other=X[::-1]),
        "ThresholdOrdinal.predict_proba": method(_ordinal, "predict_proba", X=X),
        "ThresholdsMixin.predict_grades": method(_ordinal, "predict_grades", X=X),
        "BaseAggregator.fit": method(
            aggregation.RRF, "fit", runs=[RUN, OTHER_RUN], y=QRELS
        ),
        "BaseAggregator.aggregate": method(
            aggregation.RRF, "aggregate", runs=[RUN, OTHER_RUN]
        ),
        "BaseAggregator.predict": method(
            aggregation.RRF, "predict", X=X, groups=GROUPS
        ),
        "BaseAggregator.score": method(
            aggregation.RRF, "score", **_ROWS, sample_weight=np.ones(12)
        ),
        "JoinedRuns.rows_of": method(_joined, "rows_of", run=0),
        "JoinedRuns.top": method(_joined, "top", depth=1),
        "Kemeny.lower_bound": method(
            aggregation.Kemeny, "lower_bound", runs=[RUN, OTHER_RUN]
        ),
        "FrozenRanker.fit": None,  # refuses every argument, which is its purpose
        "BaseLoss.prepare": method(
            losses.NLLLoss, "prepare", **_GRADED, sample_weight=np.ones(12)
        ),
        "BaseLoss.to_scores": method(losses.SquaredLoss, "to_scores", raw=SCORES),
        "BaseLoss.value_gradient": method(
            losses.NLLLoss,
            "value_gradient",
            **_GRADED,
            raw=SCORES,
            sample_weight=np.ones(12),
        ),
        "CategoricalLoss.to_scores": method(
            losses.CategoricalLoss, "to_scores", raw=np.zeros((12, 5))
        ),
        "SumOfMarginsLoss.to_scores": method(
            losses.SumOfMarginsLoss, "to_scores", raw=np.zeros((12, 8))
        ),
        "ThresholdLoss.to_scores": method(
            losses.ThresholdLoss, "to_scores", raw=np.zeros((12, 4))
        ),
        "OWPCLoss.place_weights": method(losses.OWPCLoss, "place_weights", n_places=3),
        "PreparedLoss.value_gradient": method(
            lambda: losses.NLLLoss().prepare(GRADES, PTR), "value_gradient", raw=SCORES
        ),
        "EnergyFunctional.pair_loss": method(
            losses.NLLLoss, "pair_loss", better=VALUES, worse=VALUES
        ),
        "WrappedPairLoss.smoothed": method(
            lambda: losses.SampledPairsLoss(losses.HingeLoss()), "smoothed", width=0.5
        ),
        "ListwiseEnergyLoss.smoothed": method(
            losses.ListwiseEnergyLoss, "smoothed", width=0.5
        ),
        "MagnitudePreservingLoss.smoothed": method(
            lambda: losses.MagnitudePreservingLoss(beta=1.0), "smoothed", width=0.5
        ),
        "OWPCLoss.smoothed": method(losses.OWPCLoss, "smoothed", width=0.5),
        "SumOfMarginsLoss.smoothed": method(
            losses.SumOfMarginsLoss, "smoothed", width=0.5
        ),
        "ThresholdLoss.smoothed": method(
            lambda: losses.ThresholdLoss(penalty="hinge"), "smoothed", width=0.5
        ),
        "_Ramp.smoothed": method(losses.HingeLoss, "smoothed", width=0.5),
        "SquaredHingeLoss.smoothed": method(
            losses.SquaredHingeLoss, "smoothed", width=0.5
        ),
        "JudgedRun.n_relevant": method(
            lambda: functions()["datasets.judge_run"].function(
                **functions()["datasets.judge_run"].arguments()
            ),
            "n_relevant",
        ),
        "BaseMeasure.is_better": method(
            metrics.AP, "is_better", value=0.5, reference=0.4
        ),
        "BaseMeasure.mean": method(
            metrics.AP, "mean", per_query=VALUES, weights=VALUES
        ),
        "BaseMeasure.per_query": method(
            metrics.AP, "per_query", **_GRADED, y_score=SCORES, docids=np.arange(12)
        ),
        "_TieAwareMeasure.per_query": method(
            metrics.KendallTau, "per_query", **_GRADED, y_score=SCORES
        ),
        "BaseMeasure.swap_deltas": method(
            metrics.NDCG, "swap_deltas", y=GRADES[:4], ranks=np.arange(1, 5)
        ),
        "ComparisonTable.marks": method(_table, "marks", system="a", measure="map"),
        "ComparisonTable.p_value": method(
            _table, "p_value", first="a", second="b", measure="map"
        ),
        "ComparisonTable.to_html": method(_table, "to_html"),
        "ComparisonTable.to_latex": method(_table, "to_latex"),
        "ComparisonTable.to_markdown": method(_table, "to_markdown"),
        "ComparisonTable.to_text": method(_table, "to_text"),
        "RankingScorer.set_score_request": call(
            metrics.make_ranking_scorer("map").set_score_request, groups=True
        ),
        "TrecResult.lines": method(_trec, "lines"),
        "TrecResult.standardized": method(
            _trec, "standardized", reference={"1": {"map": (0.5, 0.1)}}
        ),
        "BaseQuerySplitter.get_n_splits": None,  # ignores its arguments
        "RepeatedQueryKFold.get_n_splits": None,
        "BaseQuerySplitter.split": method(
            lambda: model_selection.QueryKFold(3), "split", **_ROWS
        ),
        "LetorFolds.split_with_validation": method(
            lambda: model_selection.LetorFolds(3), "split_with_validation", **_ROWS
        ),
        "_BaseQueryScaler.fit": method(
            preprocessing.QueryMinMaxScaler, "fit", X=X, groups=GROUPS
        ),
        "_BaseQueryScaler.fit_transform": method(
            preprocessing.QueryStandardScaler, "fit_transform", X=X, groups=GROUPS
        ),
        "_BaseQueryScaler.transform": method(
            lambda: preprocessing.QueryStandardScaler().fit(X, groups=GROUPS),
            "transform",
            X=X,
            groups=GROUPS,
        ),
        "BaseTextModel.fit": method(text.BM25, "fit", documents=TEXTS),
        "BaseTextModel.retrieve": method(_text_model, "retrieve", queries=["red"], k=2),
        "BaseTextModel.score": method(_text_model, "score", queries=["red"]),
        "BaseTextModel.score_pairs": method(
            _text_model,
            "score_pairs",
            queries=["red", "fish"],
            query_of=[0, 1],
            document_of=[0, 1],
        ),
        "InvertedIndex.fit": method(text.InvertedIndex, "fit", documents=TEXTS),
        "InvertedIndex.count_queries": method(_index, "count_queries", queries=["red"]),
        "InvertedIndex.postings": method(_index, "postings"),
        "LetorFeatures.fit": method(text.LetorFeatures, "fit", documents=TEXTS),
        "LetorFeatures.extract": method(
            _letor,
            "extract",
            queries=["red", "fish"],
            query_of=[0, 1],
            document_of=[0, 1],
        ),
        "LetorFeatures.get_feature_names_out": method(_letor, "get_feature_names_out"),
        "Postings.find": method(
            lambda: _index().postings(), "find", terms=np.array([0]), documents=[0]
        ),
        "Tokenizer.tokenize_all": method(text.Tokenizer, "tokenize_all", texts=TEXTS),
        "BinMapper.encode": method(_bins, "encode", X=X),
        "BinMapper.fit": method(trees.BinMapper, "fit", X=X),
        "BinMapper.transform": method(_bins, "transform", X=X),
        "TreeEnsemble.add_to": method(
            _ensemble,
            "add_to",
            scores=np.zeros((12, 1)),
            X=np.zeros((12, 3), np.float64),
        ),
        "TreeEnsemble.append": None,  # takes what the grower of trees returns
        "TreeEnsemble.empty": call(trees.TreeEnsemble.empty),
        "TreeEnsemble.feature_importances": method(
            _ensemble, "feature_importances", n_features=3
        ),
        "TreeEnsemble.truncated": method(_ensemble, "truncated", n_trees=1),
        "EnergySurfaceDisplay.from_energies": call(
            inspection.EnergySurfaceDisplay.from_energies,
            before=SCORES,
            after=SCORES,
            y=GRADES,
            groups=GROUPS,
        ),
        "EnergySurfaceDisplay.from_training": call(
            inspection.EnergySurfaceDisplay.from_training,
            estimator=rankers.RankSVM(max_iter=2),
            **_ROWS,
        ),
        "EnergyTrainingDisplay.from_training": call(
            inspection.EnergyTrainingDisplay.from_training,
            estimator=rankers.RankNet(max_iter=2),
            **_ROWS,
        ),
        "FeatureImportanceDisplay.from_estimator": call(
            inspection.FeatureImportanceDisplay.from_estimator, estimator=_boosted()
        ),
        "FeatureImportanceDisplay.from_permutations": call(
            inspection.FeatureImportanceDisplay.from_permutations, result=_importances()
        ),
        "GaussianEmbeddingDisplay.from_estimator": call(
            inspection.GaussianEmbeddingDisplay.from_estimator,
            estimator=_embedding(),
            X=WITH_QUERY_FEATURE,
            y=GRADES,
            groups=GROUPS,
            query=0,
        ),
        "RankingCurveDisplay.from_estimators": call(
            inspection.RankingCurveDisplay.from_estimators,
            estimators={"a": _linear()},
            **_ROWS,
            k=(1, 2),
        ),
        "RankingCurveDisplay.from_predictions": call(
            inspection.RankingCurveDisplay.from_predictions,
            y_true=GRADES,
            y_scores={"a": SCORES},
            groups=GROUPS,
            k=(1, 2),
        ),
        "TrainingCurveDisplay.from_estimator": call(
            inspection.TrainingCurveDisplay.from_estimator, estimator=_linear()
        ),
        "EnergySurfaceDisplay.plot": method(
            lambda: inspection.EnergySurfaceDisplay(
                before=SCORES, after=SCORES, y=GRADES
            ),
            "plot",
        ),
        "EnergyTrainingDisplay.plot": method(
            lambda: inspection.EnergyTrainingDisplay(desired=VALUES, others=VALUES),
            "plot",
        ),
        "EnergyTrainingDisplay.curves": method(
            lambda: inspection.EnergyTrainingDisplay(desired=VALUES, others=VALUES),
            "curves",
        ),
        "FeatureImportanceDisplay.plot": method(
            lambda: inspection.FeatureImportanceDisplay(importances=VALUES), "plot"
        ),
        "GaussianEmbeddingDisplay.plot": method(
            lambda: inspection.GaussianEmbeddingDisplay(
                query_mean=np.zeros(2),
                query_covariance=np.eye(2),
                document_means=np.zeros((2, 2)),
                document_covariances=np.array([np.eye(2)] * 2),
                grades=[0, 1],
            ),
            "plot",
        ),
        "RankingCurveDisplay.plot": method(
            lambda: inspection.RankingCurveDisplay(
                k=[1, 2], curves={"a": [0.1, 0.2]}, measure_name="ndcg"
            ),
            "plot",
        ),
        "TrainingCurveDisplay.plot": method(
            lambda: inspection.TrainingCurveDisplay(loss_curve=VALUES), "plot"
        ),
    }


# Methods by which the parts of a model call each other, once in every step: `fit` has
# checked what they are given, and the compiled code checks lengths. Names with a class
# belong to other methods elsewhere, which users call.
BETWEEN_PARTS = {
    *("margin_loss", "margin_curvature", "delta_terms", "check", "solve"),
    *("constraint", "coordinates", "document_scores", "init_params", "n_params"),
    *("penalty_mask", "scores", "scores_and_vjp", "setup", "transform", "embed"),
    *("label_vectors", "queries", "coefficients", "keeps", "pair_terms", "parts"),
    "over_pairs",
    *("ComparatorEnergy.compare", "ThresholdEnergy.thresholds"),
}


DISPLAYS = {
    "EnergySurfaceDisplay": _display(
        inspection.EnergySurfaceDisplay,
        before=SCORES,
        after=SCORES,
        y=GRADES,
        labels=None,
        center=True,
        name="a",
    ),
    "EnergyTrainingDisplay": _display(
        inspection.EnergyTrainingDisplay,
        desired=VALUES,
        others=VALUES,
        desired_name="a",
        others_name="b",
        best_iteration=1,
        name="a",
    ),
    "FeatureImportanceDisplay": _display(
        inspection.FeatureImportanceDisplay,
        importances=VALUES,
        deviations=VALUES,
        feature_names=list("abcd"),
        kind="gain",
        max_features=3,
    ),
    "GaussianEmbeddingDisplay": _display(
        inspection.GaussianEmbeddingDisplay,
        query_mean=np.zeros(2),
        query_covariance=np.eye(2),
        document_means=np.zeros((2, 2)),
        document_covariances=np.array([np.eye(2)] * 2),
        grades=[0, 1],
        explained=0.5,
        name="a",
    ),
    "RankingCurveDisplay": _display(
        inspection.RankingCurveDisplay,
        k=[1, 2],
        curves={"a": [0.1, 0.2]},
        measure_name="ndcg",
        greater_is_better=True,
        intervals={"a": [[0, 1], [0, 1]]},
    ),
    "TrainingCurveDisplay": _display(
        inspection.TrainingCurveDisplay,
        loss_curve=VALUES,
        validation_curve=VALUES,
        best_iteration=1,
        validation_name="map",
        name="a",
    ),
}


def _by_loss(loss):
    loss.prepare(GRADES, PTR)  # checks parameters, on which the number depends
    n = getattr(loss, "n_outputs", 1)
    raw = SCORES if n == 1 else np.column_stack([SCORES] * n)
    return loss.value_gradient(GRADES, raw, PTR)


def _by_energy(energy):
    if isinstance(energy, energies.ThresholdEnergy):
        loss = losses.ThresholdLoss(grades=(0, 1, 2))
        return rankers.EnergyRanker(energy, loss, max_iter=1).fit(**_ROWS)
    if isinstance(energy, energies.PreferenceWeightsEnergy):
        return rankers.EnergyRanker(energy, losses.CDNLoss(), max_iter=1).fit(**_ROWS)
    by_label = hasattr(energy, "labels")
    loss = losses.SquareExponentialLoss if by_label else losses.NLLLoss
    loss = loss(reading="pointwise") if by_label else loss()
    return rankers.EnergyRanker(energy, loss, max_iter=1, random_state=0).fit(**_ROWS)


def _by_solver(solver):
    loss: losses.BaseLoss = losses.LVQ2Loss()
    if isinstance(solver, solvers.IteratedWeights):
        loss = losses.LambdaLoss()
    elif isinstance(solver, solvers.CuttingPlane):
        loss = losses.HingeLoss()
    ranker = rankers.EnergyRanker(
        loss=loss,
        solver=solver,
        max_iter=1,
        random_state=0,
    )
    return ranker.fit(**_ROWS)


def _by_ranker(ranker):
    return ranker.fit(**_ROWS)


def _by_measure(measure):
    return metrics.evaluate_measure(measure, **_JUDGED, docids=np.arange(12))


def _by_aggregator(aggregator):
    runs = [RUN, OTHER_RUN]
    return aggregator.fit(runs, QRELS).aggregate(runs)


#: What is done with an object so that its parameters are looked at.
USES = {
    aggregation.BaseAggregator: _by_aggregator,
    losses.BaseLoss: _by_loss,
    energies.BaseEnergy: _by_energy,
    solvers.BaseSolver: _by_solver,
    BaseRanker: _by_ranker,
    metrics.BaseMeasure: _by_measure,
    BaseQuerySplitter: lambda splitter: list(splitter.split(**_ROWS)),
    preprocessing.QueryMinMaxScaler: lambda s: s.fit_transform(X, groups=GROUPS),
    preprocessing.QueryStandardScaler: lambda s: s.fit_transform(X, groups=GROUPS),
    text.BaseTextModel: lambda model: model.fit(TEXTS).score(["red"]),
    text.LetorFeatures: lambda features: features.fit(TEXTS),
    text.InvertedIndex: lambda index: index.fit(TEXTS),
    text.Tokenizer: lambda tokenizer: tokenizer.tokenize_all(TEXTS),
    trees.BinMapper: lambda bins: bins.fit(X),
    trees.TreeEnsemble: lambda ensemble: ensemble.empty(ensemble.n_outputs),
}

# Objects that functions return; nobody else makes them.
RETURNED = {
    *("PreparedLoss", "GainOfBetter", "JudgedRun", "LetorFold", "Qrels", "RankingData"),
    *("Run", "FrozenRanker", "ComparisonTable", "DeltaTerms", "Preset", "TrecResult"),
    *("RankingScorer", "SignificanceResult", "QueryLearningCurve", "SolverResult"),
    *("JoinedRuns", "Postings"),
}

# Parameters that have no default.
_NEEDED = {
    "ExplicitPairsLoss": lambda: {"loss": losses.NLLLoss(), "pairs": PAIRS},
    "SampledPairsLoss": lambda: {"loss": losses.NLLLoss()},
    "ProductLabelEnergy": lambda: {"codes": [-1.0, 0.0, 1.0]},
    "LearnedFusion": lambda: {"ranker": rankers.SubsetRegression()},
    "PeerRanker": lambda: {"estimator": WithSizes()},
    "ThresholdEnergy": lambda: {"n_thresholds": 2},
    "QuerySubsample": lambda: {"estimator": rankers.SubsetRegression()},
}
_LITTLE = {
    "n_estimators": 1,
    "max_iter": 1,
    "min_samples_leaf": 1,
    "n_splits": 3,
    "n_restarts": 1,
    "n_jobs": 1,
    "hidden_layer_sizes": 2,
}


class WithSizes(Ridge):
    """A ranker of another library, as `PeerRanker` wraps them."""

    def fit(self, X, y, group=None, sample_weight=None):
        """Fit, and ignore the queries."""
        return super().fit(X, y, sample_weight)


def construction(cls):
    """Return the call that makes an object of a class and uses it."""
    name = cls.__name__
    if name in DISPLAYS:
        return DISPLAYS[name]
    use = next(use for base, use in USES.items() if issubclass(cls, base))
    parameters = inspect.signature(cls).parameters
    little = {key: value for key, value in _LITTLE.items() if key in parameters}
    if issubclass(cls, solvers.BaseSolver) or "max_iter" not in parameters:
        little.pop("max_iter", None)
    return Call(
        lambda **given: use(cls(**given)),
        lambda: {**_defaults(cls), **little, **_NEEDED.get(name, dict)()},
    )
