"""Defaults compared on many collections, by validation queries only.

Every contestant is trained with its own defaults on the training queries of fourteen
collections, from 2,000 to a million documents (`benchmarks.study_data`), over several
seeds, and measured on their validation queries. Printed are the measure on every
collection, its spread over seeds, the mean rank over the collections and, with
``--against``, the differences with Fisher's randomisation test.

``python -m benchmarks.defaults --small`` leaves out the large collections. Defaults of
the package are chosen with this command; what LETOR's test queries say stands in
`benchmarks.letor`, and is no part of the choice.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from benchmarks.study_data import COLLECTIONS, available
from skrank.compat import PeerRanker
from skrank.metrics import evaluate_measure, fisher_randomization_test
from skrank.rankers import (
    MART,
    BoostedRanker,
    LambdaMART,
    RandomForestRanker,
    RankSVM,
    YetiRank,
)

MEASURES = ("ndcg@10", "map")


class Contestant(NamedTuple):
    """A ranker made from a seed, and the package that it needs."""

    name: str
    make: Callable
    needs: str | None = None


def lightgbm(seed):
    """LightGBM's lambdarank."""
    from lightgbm import LGBMRanker

    return PeerRanker(LGBMRanker(verbose=-1, random_state=seed))


def xgboost(seed, **params):
    """XGBoost's rank:ndcg."""
    from xgboost import XGBRanker

    return PeerRanker(XGBRanker(objective="rank:ndcg", random_state=seed, **params))


def catboost(seed, **params):
    """CatBoost's YetiRank."""
    from catboost import CatBoostRanker

    fixed = {
        "verbose": False,
        "allow_writing_files": False,
        "loss_function": "YetiRank",
    }
    return PeerRanker(CatBoostRanker(random_seed=seed, **fixed, **params))


def own(make, *args, **params):
    """What makes a ranker of the package."""
    return lambda seed: make(*args, random_state=seed, **params)


def imputed_rank_svm(seed):
    """RankSVM, which does not take missing values, on features without any."""
    ranker = RankSVM(random_state=seed).set_fit_request(groups=True)
    return make_pipeline(SimpleImputer(), ranker)


CONTESTANTS = [
    Contestant("YetiRank", own(YetiRank)),
    Contestant("LambdaMART", own(LambdaMART)),
    Contestant("MART", own(MART)),
    Contestant("BoostedRanker", own(BoostedRanker)),
    Contestant("RandomForestRanker", own(RandomForestRanker)),
    Contestant("RankSVM", imputed_rank_svm),
    Contestant("LightGBM", lightgbm, "lightgbm"),
    Contestant(
        "XGBoost, mean", partial(xgboost, lambdarank_pair_method="mean"), "xgboost"
    ),
    Contestant("XGBoost, top-k", xgboost, "xgboost"),
    Contestant("CatBoost, 300", partial(catboost, iterations=300), "catboost"),
    Contestant("CatBoost", catboost, "catboost"),
]


class Outcome(NamedTuple):
    """Each query's measures on one collection, a row for each seed, and the times.

    A measure is NaN for a query without a relevant document, and left out of the means.
    """

    per_query: dict
    seconds: float

    def mean(self, measure):
        """The mean over queries and seeds."""
        return float(np.nanmean(self.per_query[measure]))

    def spread(self, measure):
        """The standard deviation over seeds of the mean over queries."""
        return float(np.nanmean(self.per_query[measure], axis=1).std())


def run(contestant, collection, seeds):
    """Train and measure one contestant on all splits of a collection."""
    per_query = {measure: [] for measure in MEASURES}
    seconds = 0.0
    for seed in range(seeds):
        of_splits = {measure: [] for measure in MEASURES}
        for train, validation in collection.splits(seed):
            with (
                warnings.catch_warnings(),
                config_context(enable_metadata_routing=True),
            ):
                warnings.simplefilter("ignore")  # of peers, too
                ranker = contestant.make(seed)
                begin = time.perf_counter()
                ranker.fit(train.X, train.y, groups=train.groups)
                seconds += time.perf_counter() - begin
            scores = ranker.predict(validation.X)
            for measure in MEASURES:
                of_splits[measure].append(
                    evaluate_measure(
                        measure,
                        validation.y,
                        scores,
                        groups=validation.groups,
                        per_query=True,
                    )
                )
        for measure in MEASURES:
            per_query[measure].append(np.concatenate(of_splits[measure]))
    return Outcome(
        {m: np.array(rows) for m, rows in per_query.items()}, seconds / seeds
    )


def mean_ranks(outcomes, measure):
    """The mean over collections of each contestant's rank; 1 is the best."""
    values = np.array(
        [[of[name].mean(measure) for name in of] for of in outcomes.values()]
    )
    return dict(
        zip(next(iter(outcomes.values())), rankdata(-values, axis=1).mean(axis=0))
    )


def table(outcomes, measure):
    """Aligned text: a row for each contestant, the best of a collection starred."""
    names = list(next(iter(outcomes.values())))
    ranks = mean_ranks(outcomes, measure)
    width = max(map(len, names)) + 2
    wide = {c: max(len(c), 14) + 2 for c in outcomes}
    head = f"{measure:<{width}}{'rank':>6}"
    head += "".join(f"{c:>{wide[c]}}" for c in outcomes)
    lines = [head, "-" * len(head)]
    for name in sorted(names, key=ranks.__getitem__):
        cells = []
        for collection, of in outcomes.items():
            best = max(outcome.mean(measure) for outcome in of.values())
            value, spread = of[name].mean(measure), of[name].spread(measure)
            star = "*" if value == best else " "
            cells.append(f"{value:.4f}±{spread:.4f}{star}".rjust(wide[collection]))
        lines.append(f"{name:<{width}}{ranks[name]:6.2f}" + "".join(cells))
    return "\n".join(lines)


def times(outcomes):
    """Seconds of training, summed over the splits of a collection."""
    names = list(next(iter(outcomes.values())))
    width = max(map(len, names)) + 2
    wide = {c: max(len(c), 8) + 2 for c in outcomes}
    head = f"{'seconds':<{width}}" + "".join(f"{c:>{wide[c]}}" for c in outcomes)
    lines = [head, "-" * len(head)]
    for name in names:
        cells = (f"{of[name].seconds:{wide[c]}.2f}" for c, of in outcomes.items())
        lines.append(f"{name:<{width}}" + "".join(cells))
    return "\n".join(lines)


def comparison(outcomes, reference):
    """Differences from the reference and their p values, paired by query."""
    lines = []
    for measure in MEASURES:
        lines.append(f"{measure}: {reference} minus the row, and p")
        for name in next(iter(outcomes.values())):
            if name == reference:
                continue
            cells = []
            for collection, of in outcomes.items():
                pair = [
                    of[n].per_query[measure].mean(axis=0) for n in (reference, name)
                ]
                pair = [values[~np.isnan(values)] for values in pair]
                test = fisher_randomization_test(*pair, random_state=0)
                cells.append(f"{collection} {test.statistic:+.4f} ({test.pvalue:.3f})")
            lines.append(f"  {name}: " + "; ".join(cells))
    return "\n".join(lines)


def options_of_study(prog, description, names):
    """A parser of the options that all studies on these collections have."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    collections = [collection.name for collection in COLLECTIONS]
    parser.add_argument("--small", action="store_true", help="no large collections")
    parser.add_argument(
        "--data",
        nargs="+",
        metavar="NAME",
        choices=collections,
        help="collections: " + "; ".join(collections),
    )
    parser.add_argument(
        "--rankers",
        nargs="+",
        metavar="NAME",
        choices=names,
        help="contestants: " + "; ".join(names),
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--against", metavar="NAME", choices=names)
    add_outputs(parser)
    return parser


def study(options, contestants, draw_outcomes=None):
    """Train and measure the contestants, print the tables, return the outcomes."""
    present = []
    for contestant in contestants:
        if options.rankers and contestant.name not in options.rankers:
            continue
        if contestant.needs and find_spec(contestant.needs) is None:
            print(f"{contestant.name}: {contestant.needs} is missing", file=sys.stderr)
            continue
        present.append(contestant)
    outcomes = {}
    for collection in available(options.data, large=not options.small):
        seeds = 1 if collection.large else options.seeds
        of = outcomes[collection.name] = {}
        for contestant in present:
            of[contestant.name] = found = run(contestant, collection, seeds)
            report = f"{found.mean(MEASURES[0]):.4f}, {found.seconds:.1f} s"
            print(f"  {collection.name} {contestant.name}: {report}", file=sys.stderr)
    for measure in MEASURES:
        print(table(outcomes, measure), end="\n\n")
    print(times(outcomes), end="\n\n")
    if options.against in [contestant.name for contestant in present]:
        print(comparison(outcomes, options.against))
    paint = draw if draw_outcomes is None else draw_outcomes
    write_outputs(options, as_record(outcomes), lambda: paint(outcomes))
    return outcomes


def as_record(outcomes):
    """Plain numbers, for JSON."""
    return {
        collection: {
            name: {"seconds": outcome.seconds}
            | {m: [outcome.mean(m), outcome.spread(m)] for m in MEASURES}
            for name, outcome in of.items()
        }
        for collection, of in outcomes.items()
    }


def draw(outcomes):
    """The first measure on every collection."""
    measure = MEASURES[0]
    return bar_figure(
        [
            Panel(
                collection,
                {n: (o.mean(measure), o.spread(measure)) for n, o in of.items()},
                "points",
            )
            for collection, of in outcomes.items()
        ]
    )


def main(argv=None):
    """Run the study of defaults."""
    names = [contestant.name for contestant in CONTESTANTS]
    parser = options_of_study("python -m benchmarks.defaults", __doc__, names)
    study(parser.parse_args(argv), CONTESTANTS)


if __name__ == "__main__":
    main()
