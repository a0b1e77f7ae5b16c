"""A valid call of everything public, from which odd calls are made."""

import contextlib
import inspect
import io
import tempfile
from functools import cache, wraps

import _calls_of_click_models as click_models
import _calls_of_counterfactual as counterfactual_calls
import _calls_of_logs as logs
import _calls_of_online as online_calls
import _calls_of_pages as pages_calls
import _calls_of_retrieval as retrieval_calls
import _calls_of_selection as selection_calls
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
    experiments,
    export,
    inspection,
    losses,
    metrics,
    model_selection,
    preprocessing,
    rankers,
    solvers,
    testing,
    text,
    trees,
    unbiased,
)
from skrank.base import BaseRanker
from skrank.click import Sessions, SimulatedUser
from skrank.compat import PeerRanker, PyTerrierLearner, RankingRegressor
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


def _verdict(check, **arguments):
    """Return a call of a check, whose verdict on odd parts is no error."""

    def run(**given):
        with contextlib.suppress(AssertionError):
            check(**given)

    return Call(run, lambda: dict(arguments))


def _linear():
    return rankers.RankSVM(max_iter=5).fit(**_ROWS)


def _adapter():
    return RankingRegressor(rankers.SubsetRegression())


def _boosted():
    return rankers.LambdaMART(n_estimators=2, min_samples_leaf=1).fit(**_ROWS)


def _run_experiment(experiment=None, folds=None, **options):
    if experiment is None:
        experiment = experiments.Experiment({"a": rankers.SubsetRegression()})
    if folds is None:
        folds = _folds()
    return experiment.run(folds, tempfile.mkdtemp(), **options)


@cache
def _folds():
    return experiments.make_folds(**_ROWS, n_splits=3)


def _swapped_sessions():
    return Sessions.from_lists([0, 0], [["a", "b"], ["b", "a"]], [[1, 1], [1, 1]])


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


def _explained():
    return inspection.shap_values(_linear(), X, X)


def _preference():
    return inspection.explain_preference(_linear(), X, 0, 1)


def _trec():
    return metrics.trec_measures(QRELS, RUN)


def _evaluation():
    return metrics.evaluate(QRELS, RUN, ["map"])


def _frame_of_run():
    return datasets.Run.from_dict(RUN).to_pandas()


def _frame_of_qrels():
    return datasets.Qrels.from_dict(QRELS).to_pandas()


def _bins():
    return trees.BinMapper().fit(X)


def _encoder():
    return trees.CategoryEncoder(categorical_features=[0], max_levels=2).fit(X)


def _statistics():
    return preprocessing.QueryTargetEncoder([0]).fit(X, GRADES, GROUPS)


def _ensemble():
    return _boosted().ensemble_


def _text_model():
    return text.BM25().fit(TEXTS)


def _boolean():
    return text.BooleanModel().fit(TEXTS)


LINKS = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])


def _letor():
    return text.LetorFeatures().fit(TEXTS)


def _rows_of_text():
    return {"query": ["red", "two"] * 2, "body": TEXTS}


def _texts():
    return text.TextCollection(["a", "b", "c", "d"], {"body": TEXTS})


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
    return (
        measures
        | logs.functions(call)
        | counterfactual_calls.functions(call)
        | online_calls.functions(call)
        | pages_calls.functions(call)
        | retrieval_calls.functions(call)
        | selection_calls.functions(call)
        | {
            "aggregation.aggregate": call(aggregation.aggregate, runs=[RUN, OTHER_RUN]),
            "aggregation.get_aggregator": call(
                aggregation.get_aggregator, method="rrf"
            ),
            "aggregation.join_runs": call(aggregation.join_runs, runs=[RUN, OTHER_RUN]),
            "unbiased.inverse_propensity_weights": call(
                unbiased.inverse_propensity_weights,
                clicks=GRADES,
                propensities=np.ones(12),
            ),
            "losses.smooth": call(losses.smooth, measure="ndcg@3"),
            "config_context": Call(
                lambda **given: config_context(**given).__enter__() and None,
                lambda: {"assume_single_query": False, "check_leakage": True},
            ),
            "experiments.make_folds": call(experiments.make_folds, **_ROWS, n_splits=3),
            "discovery.all_objects": call(discovery.all_objects, kind="loss"),
            "metrics.bootstrap_interval": call(
                metrics.bootstrap_interval, values=VALUES
            ),
            "metrics.check_query_leakage": call(
                metrics.check_query_leakage, estimator=_linear(), groups=GROUPS
            ),
            "metrics.compare": call(
                metrics.compare,
                runs={"a": SCORES, "b": GRADES},
                y=GRADES,
                groups=GROUPS,
            ),
            "metrics.compare_runs": call(
                metrics.compare_runs, qrels=QRELS, runs={"a": RUN}, measures=["map"]
            ),
            "metrics.count_wins": call(metrics.count_wins, tables=[_table()]),
            "metrics.evaluate": call(
                metrics.evaluate, qrels=QRELS, run=RUN, measures=["map", "p@1"]
            ),
            "metrics.evaluate_measure": call(
                metrics.evaluate_measure, measure="ndcg", **_JUDGED
            ),
            "metrics.fisher_randomization_test": call(
                metrics.fisher_randomization_test, **two
            ),
            "metrics.get_measure": call(metrics.get_measure, measure="ndcg"),
            "metrics.holm_correction": call(metrics.holm_correction, pvalues=VALUES),
            "metrics.make_ranking_scorer": call(
                metrics.make_ranking_scorer, measure="map"
            ),
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
            "metrics.trec_measures": call(metrics.trec_measures, qrels=QRELS, run=RUN),
            "metrics.tukey_hsd": call(
                metrics.tukey_hsd, values=np.eye(4), n_permutations=9
            ),
            "metrics.wilcoxon_test": call(metrics.wilcoxon_test, **two),
            "metrics.winning_number": call(metrics.winning_number, scores=np.eye(3)),
            "inspection.explain_preference": call(
                inspection.explain_preference,
                estimator=_linear(),
                X=X,
                a=0,
                b=1,
                groups=GROUPS,
            ),
            "inspection.interaction_strength": call(
                inspection.interaction_strength,
                estimator=_linear(),
                X=X,
                features=[0, 1],
            ),
            "inspection.query_partial_dependence": call(
                inspection.query_partial_dependence,
                estimator=_linear(),
                X=X,
                feature=0,
                groups=GROUPS,
                grid=[0.0, 1.0],
            ),
            "inspection.query_permutation_importance": call(
                inspection.query_permutation_importance, estimator=_linear(), **_ROWS
            ),
            "inspection.shap_values": call(
                inspection.shap_values,
                estimator=_boosted(),
                X=X,
                background=X,
                groups=GROUPS,
                background_groups=GROUPS,
            ),
            "model_selection.query_learning_curve": call(
                _in_threads(model_selection.query_learning_curve),
                estimator=rankers.SubsetRegression(),
                X=X,
                y=_with_index(GRADES),
                cv=3,
            ),
            "inspection.feature_variation": call(
                inspection.feature_variation, X=X, groups=GROUPS
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
                preprocessing.order_to_preferences,
                order=[1, 2, 3, 4] * 3,
                groups=GROUPS,
            ),
            "preprocessing.preferences_to_grades": call(
                preprocessing.preferences_to_grades, pairs=PAIRS, groups=GROUPS
            ),
            "preprocessing.preferences_to_order": call(
                preprocessing.preferences_to_order, pairs=PAIRS, groups=GROUPS
            ),
            "testing.check_energy": _verdict(
                testing.check_energy, energy=energies.LinearEnergy()
            ),
            "testing.check_loss": _verdict(testing.check_loss, loss=losses.HingeLoss()),
            "testing.check_measure": _verdict(testing.check_measure, measure="map"),
            "testing.check_ranker": _verdict(
                testing.check_ranker, ranker=rankers.SubsetRegression()
            ),
            "testing.check_solver": _verdict(
                testing.check_solver, solver=solvers.LBFGS(max_iter=3)
            ),
            "testing.contract_checks": call(
                testing.contract_checks, part=losses.HingeLoss()
            ),
            "text.inverse_document_frequency": call(
                text.inverse_document_frequency,
                document_frequency=[1, 2],
                n_documents=4,
            ),
            "text.stem_plural": call(text.stem_plural, word="fishes"),
            "text.stem_porter": call(text.stem_porter, word="fishes"),
            "text.tokenize": call(text.tokenize, text="red fish"),
            **_exporters(),
            **_readers(),
        }
    )


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
    bred = rankers.RankGP(max_iter=1, n_layers=1, random_state=0).fit(**_ROWS)
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
        "export.to_expression": call(
            export.to_expression,
            model=bred,
            language="solr",
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
    *("datasets.load_cranfield", "datasets.load_tsv_queries"),
    *("datasets.load_jsonl_documents", "datasets.load_jsonl_queries"),
    *("datasets.load_trec_documents", "datasets.load_trec_topics"),
    *("datasets.iter_jsonl_documents", "datasets.iter_trec_documents"),
    *("export.load_model", "export.save_model"),
    *("text.load_index", "text.save_index"),
    *logs.READ_AND_WRITE,
}
#: Functions for libraries that need not be there; `tests/compat` has them.
OF_OTHER_LIBRARIES = {"compat.ir_measures_provider", "compat.pyterrier_ranker"}
WITHOUT_ARGUMENTS = (
    "aggregation.known_aggregators",
    "get_config",
    "metrics.known_measures",
)


@cache
def methods():
    """Return a call of each method, by its name where it is defined."""
    models = click_models.methods(method) | click_models.displays(call, method)
    models |= counterfactual_calls.methods(method)
    models |= online_calls.methods(method)
    models |= pages_calls.methods(method, call)
    models |= retrieval_calls.methods(method)
    models |= selection_calls.methods(method)
    return (
        logs.methods(method)
        | models
        | {
            "Experiment.run": Call(
                lambda **given: _run_experiment(**given),
                lambda: {"folds": _folds(), "callback": None, "command": ""},
            ),
            "_Table.to_pandas": method(
                lambda: datasets.Run.from_dict(RUN), "to_pandas"
            ),
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
            "GroupsAtPredictMixin.predict": method(
                _boosted, "predict", X=X, groups=GROUPS
            ),
            "BaseAdditiveRanker.staged_predict": method(
                _boosted, "staged_predict", X=X, groups=GROUPS
            ),
            "BaseBoostedRanker.top_documents": method(
                _boosted, "top_documents", X=X, groups=GROUPS
            ),
            "BaseEnergyRanker.energies": method(
                _labelled, "energies", X=X, groups=GROUPS
            ),
            "BaseEnergyRanker.predict_labels": method(_labelled, "predict_labels", X=X),
            "BoltzRank.paper": call(rankers.BoltzRank.paper),
            "GERank.embed": method(_embedding, "embed", X=WITH_QUERY_FEATURE),
            "ListMLE.predict_std": method(
                lambda: rankers.ListMLE(posterior=True, ties="stable").fit(**_ROWS),
                "predict_std",
                X=X,
                groups=GROUPS,
            ),
            "LogisticRanker.predict_odds": method(
                lambda: rankers.LogisticRanker(threshold="all").fit(**_ROWS),
                "predict_odds",
                X=X,
            ),
            "BaseMetaRanker.predict": method(
                lambda: PeerRanker(WithSizes()).fit(**_ROWS),
                "predict",
                X=X,
                groups=GROUPS,
            ),
            "RankingRegressor.fit": method(_adapter, "fit", **_FIT, times=SCORES),
            "RankingRegressor.predict": method(
                lambda: _adapter().fit(**_ROWS), "predict", X=X, groups=GROUPS
            ),
            "RankingRegressor.score": method(
                lambda: _adapter().fit(**_ROWS),
                "score",
                **_ROWS,
                sample_weight=np.ones(12),
            ),
            "InterventionPropensities.fit": method(
                unbiased.InterventionPropensities, "fit", sessions=_swapped_sessions()
            ),
            "InversePropensityLoss.to_scores": method(
                unbiased.InversePropensityLoss, "to_scores", raw=SCORES
            ),
            "SimulatedUser.click": method(SimulatedUser, "click", **_GRADED),
            "SimulatedUser.click_probability": method(
                SimulatedUser, "click_probability", y=GRADES
            ),
            "SimulatedUser.propensities": method(
                lambda: SimulatedUser(examination="position"),
                "propensities",
                n_positions=3,
            ),
            "SimulatedUser.stop_probability": method(
                SimulatedUser, "stop_probability", y=GRADES
            ),
            "BaseQueryMetaRanker.predict": method(
                _nested, "predict", X=X, groups=GROUPS
            ),
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
            "JoinedRuns.scores_of": method(_joined, "scores_of", run=0),
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
            "OWPCLoss.place_weights": method(
                losses.OWPCLoss, "place_weights", n_places=3
            ),
            "PreparedLoss.value_gradient": method(
                lambda: losses.NLLLoss().prepare(GRADES, PTR),
                "value_gradient",
                raw=SCORES,
            ),
            "EnergyFunctional.pair_loss": method(
                losses.NLLLoss, "pair_loss", better=VALUES, worse=VALUES
            ),
            "WrappedPairLoss.smoothed": method(
                lambda: losses.SampledPairsLoss(losses.HingeLoss()),
                "smoothed",
                width=0.5,
            ),
            "ListwiseEnergyLoss.smoothed": method(
                losses.ListwiseEnergyLoss, "smoothed", width=0.5
            ),
            "MagnitudePreservingLoss.smoothed": method(
                lambda: losses.MagnitudePreservingLoss(beta=1.0), "smoothed", width=0.5
            ),
            "OWPCLoss.smoothed": method(losses.OWPCLoss, "smoothed", width=0.5),
            "SmoothMeasureLoss.smoothed": method(
                losses.SmoothMeasureLoss, "smoothed", width=0.5
            ),
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
            "EvaluationResult.to_html": method(_evaluation, "to_html"),
            "EvaluationResult.to_latex": method(_evaluation, "to_latex"),
            "EvaluationResult.to_markdown": method(_evaluation, "to_markdown"),
            "EvaluationResult.to_text": method(_evaluation, "to_text"),
            "PyTerrierLearner.fit": method(
                lambda: PyTerrierLearner(rankers.RankSVM()),
                "fit",
                X=X,
                y=GRADES,
                group=[4, 4, 4],
                eval_set=[(X, GRADES)],
                eval_group=[[4, 4, 4]],
            ),
            "PyTerrierLearner.predict": method(
                lambda: PyTerrierLearner(rankers.RankSVM()).fit(X, GRADES, [4, 4, 4]),
                "predict",
                X=X,
            ),
            "Qrels.from_dict": call(datasets.Qrels.from_dict, table=QRELS),
            "Qrels.from_ir_measures": call(
                datasets.Qrels.from_ir_measures, records=_frame_of_qrels()
            ),
            "Qrels.from_pandas": call(
                datasets.Qrels.from_pandas, frame=_frame_of_qrels()
            ),
            "Qrels.from_ranx": None,  # needs an object of ranx
            "Run.from_dict": call(datasets.Run.from_dict, table=RUN),
            "Run.from_ir_measures": call(
                datasets.Run.from_ir_measures, records=_frame_of_run()
            ),
            "Run.from_pandas": call(datasets.Run.from_pandas, frame=_frame_of_run()),
            "Run.from_ranx": None,  # needs an object of ranx
            "TrecResult.lines": method(_trec, "lines"),
            "TrecResult.standardized": method(
                _trec, "standardized", reference={"1": {"map": (0.5, 0.1)}}
            ),
            "BaseQuerySplitter.get_n_splits": None,  # ignores its arguments
            "RepeatedQueryKFold.get_n_splits": None,
            "TemporalQuerySplit.get_n_splits": None,
            "TemporalQuerySplit.split": method(
                model_selection.TemporalQuerySplit, "split", **_ROWS, times=SCORES
            ),
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
            **{
                f"QueryTargetEncoder.{name}": method(
                    preprocessing.QueryTargetEncoder, name, X=X, y=GRADES, groups=GROUPS
                )
                for name in ("fit", "fit_transform")
            },
            "QueryTargetEncoder.transform": method(_statistics, "transform", X=X),
            "BaseTextModel.fit": method(text.BM25, "fit", documents=TEXTS),
            "BaseTextModel.retrieve": method(
                _text_model, "retrieve", queries=["red"], k=2
            ),
            "BaseTextModel.score": method(_text_model, "score", queries=["red"]),
            "BaseTextModel.score_pairs": method(
                _text_model,
                "score_pairs",
                queries=["red", "fish"],
                query_of=[0, 1],
                document_of=[0, 1],
            ),
            "LSI.fit": method(text.LSI, "fit", documents=TEXTS),
            "BaseLinkModel.fit": method(text.PageRank, "fit", links=LINKS),
            "PageRank.fit": method(text.PageRank, "fit", links=LINKS),
            "HITS.fit": method(text.HITS, "fit", links=LINKS),
            "TrustRank.fit": method(
                text.TrustRank, "fit", links=LINKS, trusted=[1, 0, 0]
            ),
            "TrustRank.propose_seeds": method(
                text.TrustRank, "propose_seeds", links=LINKS, k=2
            ),
            "TopicPageRank.fit": method(
                text.TopicPageRank, "fit", links=LINKS, topics=np.eye(3)
            ),
            "TopicPageRank.combine": method(
                lambda: text.TopicPageRank().fit(LINKS, np.eye(3)),
                "combine",
                weights=[[0.5, 0.5, 0.0]],
            ),
            "LinkGraph.from_edges": call(
                text.LinkGraph.from_edges, sources=[0, 1], targets=[1, 2]
            ),
            "BooleanModel.fit": method(text.BooleanModel, "fit", documents=TEXTS),
            "BooleanModel.search": method(_boolean, "search", queries=["red OR two"]),
            "BooleanModel.score": method(_boolean, "score", queries=["NOT red"]),
            "BooleanModel.score_pairs": method(
                _boolean,
                "score_pairs",
                queries=["red", "fish"],
                query_of=[0, 1],
                document_of=[0, 1],
            ),
            "ProximityFeatures.fit": method(
                text.ProximityFeatures, "fit", documents=TEXTS
            ),
            "ProximityFeatures.extract": method(
                lambda: text.ProximityFeatures().fit(TEXTS),
                "extract",
                queries=["red", "fish"],
                query_of=[0, 1],
                document_of=[0, 1],
            ),
            "ProximityFeatures.get_feature_names_out": method(
                lambda: text.ProximityFeatures().fit(TEXTS), "get_feature_names_out"
            ),
            "InvertedIndex.fit": method(text.InvertedIndex, "fit", documents=TEXTS),
            "InvertedIndex.count_queries": method(
                _index, "count_queries", queries=["red"]
            ),
            "InvertedIndex.postings": method(_index, "postings"),
            "LetorFeatures.fit": method(text.LetorFeatures, "fit", documents=TEXTS),
            "LetorFeatures.extract": method(
                _letor,
                "extract",
                queries=["red", "fish"],
                query_of=[0, 1],
                document_of=[0, 1],
            ),
            "LetorFeatures.get_feature_names_out": method(
                _letor, "get_feature_names_out"
            ),
            "PairFeatures.fit": method(text.PairFeatures, "fit", X=_rows_of_text()),
            "PairFeatures.transform": method(
                lambda: text.PairFeatures().fit(_rows_of_text()),
                "transform",
                X=_rows_of_text(),
            ),
            "PairFeatures.get_feature_names_out": method(
                lambda: text.PairFeatures().fit(_rows_of_text()),
                "get_feature_names_out",
            ),
            "RM3.fit": method(text.RM3, "fit", documents=TEXTS),
            "RM3.expand": method(
                lambda: text.RM3().fit(TEXTS), "expand", queries=["red"]
            ),
            "TextCollection.find": method(_texts, "find", ids=["a"]),
            "TextCollection.to_frame": method(_texts, "to_frame"),
            "Postings.find": method(
                lambda: _index().postings(), "find", terms=np.array([0]), documents=[0]
            ),
            "Tokenizer.tokenize_all": method(
                text.Tokenizer, "tokenize_all", texts=TEXTS
            ),
            "BinMapper.encode": method(_bins, "encode", X=X),
            "BinMapper.fit": method(trees.BinMapper, "fit", X=X),
            "BinMapper.transform": method(_bins, "transform", X=X),
            "CategoryEncoder.fit": method(trees.CategoryEncoder, "fit", X=X),
            "CategoryEncoder.transform": method(_encoder, "transform", X=X),
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
            "BeeswarmDisplay.from_explanation": call(
                inspection.BeeswarmDisplay.from_explanation, explanation=_explained()
            ),
            "DependenceDisplay.from_explanation": call(
                inspection.DependenceDisplay.from_explanation,
                explanation=_explained(),
                feature=0,
            ),
            "PreferenceDisplay.from_explanation": call(
                inspection.PreferenceDisplay.from_explanation, explanation=_preference()
            ),
            "WaterfallDisplay.from_explanation": call(
                inspection.WaterfallDisplay.from_explanation, explanation=_explained()
            ),
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
                inspection.FeatureImportanceDisplay.from_permutations,
                result=_importances(),
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
            "BeeswarmDisplay.plot": method(
                lambda: inspection.BeeswarmDisplay(contributions=X, data=X), "plot"
            ),
            "DependenceDisplay.plot": method(
                lambda: inspection.DependenceDisplay(contributions=VALUES, data=VALUES),
                "plot",
            ),
            "PreferenceDisplay.plot": method(
                lambda: inspection.PreferenceDisplay(contributions=VALUES), "plot"
            ),
            "WaterfallDisplay.plot": method(
                lambda: inspection.WaterfallDisplay(
                    contributions=VALUES, base_value=0.0
                ),
                "plot",
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
    )


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
    "BeeswarmDisplay": _display(
        inspection.BeeswarmDisplay,
        contributions=X,
        data=X,
        feature_names=list("abc"),
        cmap="viridis",
        max_features=2,
    ),
    "DependenceDisplay": _display(
        inspection.DependenceDisplay,
        contributions=VALUES,
        data=VALUES,
        feature_name="a",
    ),
    "PreferenceDisplay": _display(
        inspection.PreferenceDisplay,
        contributions=VALUES,
        data=np.array([VALUES, VALUES]),
        feature_names=list("abcd"),
        documents=("a", "b"),
        max_features=3,
    ),
    "WaterfallDisplay": _display(
        inspection.WaterfallDisplay,
        contributions=VALUES,
        base_value=0.5,
        data=VALUES,
        feature_names=list("abcd"),
        max_features=3,
    ),
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
    "ExaminationCurveDisplay": _display(
        inspection.ExaminationCurveDisplay, curves={"a": VALUES}
    ),
    "PerplexityCurveDisplay": _display(
        inspection.PerplexityCurveDisplay, curves={"a": VALUES}
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
    **online_calls.display(_display),
    **selection_calls.display(_display),
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
        loss_name="a",
        other_curves={"b": VALUES},
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
    elif isinstance(solver, solvers.WorkingSet):
        loss = losses.PermutationHingeLoss()
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


def _by_clicks(ranker):
    return ranker.fit(X, GRADES > 0, GROUPS, positions=[1, 2, 3, 4] * 3)


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
    unbiased.DualLearningRanker: _by_clicks,
    unbiased.InterventionPropensities: lambda log: log.fit(_swapped_sessions()),
    unbiased.PropensityWeightedRanker: _by_clicks,
    unbiased.RegressionEM: _by_clicks,
    unbiased.UnbiasedLambdaMART: _by_clicks,
    SimulatedUser: lambda user: user.click(**_GRADED),
    **click_models.USES,
    **logs.USES,
    **counterfactual_calls.USES,
    **online_calls.USES,
    **pages_calls.USES,
    **retrieval_calls.USES,
    **selection_calls.USES,
    BaseRanker: _by_ranker,
    metrics.BaseMeasure: _by_measure,
    experiments.Experiment: _run_experiment,
    experiments.RankerGrid: lambda grid: _run_experiment(
        experiments.Experiment({"a": grid})
    ),
    BaseQuerySplitter: lambda splitter: list(splitter.split(**_ROWS)),
    model_selection.TemporalQuerySplit: lambda splitter: list(
        splitter.split(**_ROWS, times=SCORES)
    ),
    RankingRegressor: lambda adapter: adapter.fit(**_ROWS).predict(X, GROUPS),
    PyTerrierLearner: lambda learner: learner.fit(X, GRADES, group=[4, 4, 4]),
    preprocessing.QueryMinMaxScaler: lambda s: s.fit_transform(X, groups=GROUPS),
    preprocessing.QueryStandardScaler: lambda s: s.fit_transform(X, groups=GROUPS),
    preprocessing.QueryTargetEncoder: lambda e: e.fit(X, GRADES, GROUPS),
    text.BaseTextModel: lambda model: model.fit(TEXTS).score(["red"]),
    text.LinkGraph: lambda graph: text.PageRank().fit(graph),
    text.BaseLinkModel: lambda model: model.fit(LINKS, [1, 1, 0]),
    text.BooleanModel: lambda model: model.fit(TEXTS).score(["red"]),
    text.LetorFeatures: lambda features: features.fit(TEXTS),
    text.ProximityFeatures: lambda features: features.fit(TEXTS),
    text.InvertedIndex: lambda index: index.fit(TEXTS),
    text.PairFeatures: lambda features: features.fit(_rows_of_text()),
    text.RM3: lambda expander: expander.fit(TEXTS),
    text.TextCollection: lambda texts: texts.find(["a"]),
    text.Tokenizer: lambda tokenizer: tokenizer.tokenize_all(TEXTS),
    trees.BinMapper: lambda bins: bins.fit(X),
    trees.CategoryEncoder: lambda encoder: encoder.fit(X),
    trees.TreeEnsemble: lambda ensemble: ensemble.empty(ensemble.n_outputs),
}

# Objects that functions return; nobody else makes them.
RETURNED = {
    *("PreparedLoss", "GainOfBetter", "JudgedRun", "LetorFold", "Qrels", "RankingData"),
    *("Run", "FrozenRanker", "ComparisonTable", "DeltaTerms", "Preset", "TrecResult"),
    *("RankingScorer", "SignificanceResult", "QueryLearningCurve", "SolverResult"),
    *("JoinedRuns", "Postings", "Explanation", "PreferenceExplanation"),
    *("FeatureVariation", "ExperimentResult", "Fold", "TrainingProgress"),
    *("CranfieldData", "TextRecord", "EvaluationResult"),
    *("ClickPreferences", "ClickRows", "InteractionFeatures"),
    *counterfactual_calls.RETURNED,
    *online_calls.RETURNED,
    *selection_calls.RETURNED,
}

# Parameters that have no default.
_NEEDED = logs.NEEDED | {
    **selection_calls.NEEDED,
    "Experiment": lambda: {"rankers": {"a": rankers.SubsetRegression()}},
    "RankerGrid": lambda: {"estimator": rankers.SubsetRegression()},
    "ExplicitPairsLoss": lambda: {"loss": losses.NLLLoss(), "pairs": PAIRS},
    "SampledPairsLoss": lambda: {"loss": losses.NLLLoss()},
    "ProductLabelEnergy": lambda: {"codes": [-1.0, 0.0, 1.0]},
    "LearnedFusion": lambda: {"ranker": rankers.SubsetRegression()},
    "FunctionMeasure": lambda: {"function": np.dot},
    "PeerRanker": lambda: {"estimator": WithSizes()},
    "PyTerrierLearner": lambda: {"estimator": WithSizes()},
    "RankingRegressor": lambda: {"estimator": rankers.SubsetRegression()},
    "LinkGraph": lambda: {"matrix": LINKS},
    "SiteMap": lambda: {"urls": ["a.org/", "a.org/b"]},
    "TextCollection": lambda: {"ids": ["a", "b"], "fields": {"body": ["", "x"]}},
    "ThresholdEnergy": lambda: {"n_thresholds": 2},
    "PropensityWeightedRanker": lambda: {"propensities": [1, 0.5, 0.4, 0.3]},
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
