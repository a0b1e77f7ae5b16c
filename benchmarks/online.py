"""Online rankers that learn from simulated users: PDGD against dueling bandits.

``python -m benchmarks.online`` lets every ranker learn from each kind of user on MQ2008
and on the embedded task, with features scaled within queries as published. It prints,
as means over seeds with intervals of 95 %, NDCG@10 on held-out queries after some
numbers of impressions, the cumulative regret and the discounted online performance,
then the differences of every ranker and the dueling bandit, paired by seed, with a t
test. The folds follow each other from seed to seed. ``--part validation`` measures on
validation queries, on which learning rates may be chosen (``--rates``); the default is
test queries. ``--speed`` prints the seconds of a run.
"""

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from benchmarks.study_data import data_folder
from skrank.datasets import load_letor_folds, load_see_also, make_ranking
from skrank.model_selection import QueryKFold
from skrank.online import PDGD, DuelingBanditRanker, MultileaveRanker, simulate_online
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import ListNet

USERS = ("perfect", "navigational", "informational")
REFERENCE = "DBGD"
# With the rates of their defaults; `--rates` tries others.
CONTESTANTS = {
    REFERENCE: lambda: DuelingBanditRanker(),
    "DBGD, probabilistic": lambda: DuelingBanditRanker(interleaving="probabilistic"),
    "MGD, 9 candidates": lambda: MultileaveRanker(),
    "P-MGD, 19 candidates": lambda: MultileaveRanker(
        n_candidates=19, interleaving="probabilistic"
    ),
    "PDGD": lambda: PDGD(),
    "PDGD, 64 units": lambda: PDGD(hidden_layer_sizes=(64,)),
}
RATES = {
    "DBGD": (DuelingBanditRanker, (0.003, 0.01, 0.03, 0.1, 0.3)),
    "PDGD": (PDGD, (0.01, 0.03, 0.1, 0.3)),
}


def mq2008(seed, part):
    """One fold of MQ2008."""
    folds = list(load_letor_folds(data_folder() / "MQ2008"))
    fold = folds[seed % len(folds)]
    held = fold.vali if part == "validation" else fold.test
    return (fold.train.X, fold.train.y, fold.train.groups), (
        held.X,
        held.y,
        held.groups,
    )


def embedded(seed, part):
    """A fifth of the embedded task is held out, and another one for validation."""
    return _fifths(load_see_also(), seed, part)


def tiny(seed, part):
    """A synthetic task that takes no time."""
    return _fifths(make_ranking(n_queries=25, random_state=0), seed, part)


def _fifths(rows, seed, part):
    X, y, groups = rows
    parts = [held for _, held in QueryKFold(5).split(X, y, groups)]
    test, validation = parts[seed % 5], parts[(seed + 1) % 5]
    rest = np.ones(len(y), dtype=bool)
    rest[np.concatenate([test, validation])] = False
    held = validation if part == "validation" else test
    return tuple((X[at], y[at], groups[at]) for at in (np.flatnonzero(rest), held))


COLLECTIONS = {"MQ2008": mq2008, "docstrings": embedded, "tiny": tiny}


def scaled(rows):
    """Rows whose features lie between 0 and 1 within every query."""
    X, y, groups = rows
    return QueryMinMaxScaler().fit_transform(X, groups=groups), y, groups


def checkpoints(n_impressions):
    """Numbers of impressions at which rankings are measured."""
    return [n for n in (100, 1000, 10_000, 100_000) if n < n_impressions]


def one_run(make, data, user, seed, n_impressions):
    """Values of one ranker with one seed: offline at checkpoints, regret, online."""
    train, held = data
    begin = time.perf_counter()
    run = simulate_online(
        make().set_params(random_state=seed, n_jobs=1),
        *train,
        user=user,
        n_impressions=n_impressions,
        X_val=held[0],
        y_val=held[1],
        groups_val=held[2],
        checkpoints=checkpoints(n_impressions),
        random_state=seed,
    )
    seconds = time.perf_counter() - begin
    ends = run.cumulative_regret[-1], run.online[-1]
    return np.array([*run.offline[1:], *ends, seconds])


def skyline(data):
    """NDCG@10 of a linear ranker that was trained with the grades."""
    train, held = data
    return ListNet().fit(*train).score(*held)


def interval(values):
    """Mean, and half the width of its interval of 95 % by Student's t."""
    values = np.asarray(values)
    if len(values) < 2:
        return values.mean(axis=0), np.full(values.shape[1:], np.nan)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return values.mean(axis=0), stats.t.ppf(0.975, len(values) - 1) * error


def outcomes(contestants, collection, part, users, n_seeds, n_impressions, n_jobs):
    """Values by user and ranker, shape (n_seeds, n_values); and the skyline."""
    data = [COLLECTIONS[collection](seed, part) for seed in range(min(n_seeds, 5))]
    data = [tuple(map(scaled, one)) for one in data]
    keys = [(user, name) for user in users for name in contestants]
    tasks = (
        delayed(one_run)(
            contestants[name], data[seed % len(data)], user, seed, n_impressions
        )
        for user, name in keys
        for seed in range(n_seeds)
    )
    found = np.array(Parallel(n_jobs=n_jobs, prefer="threads")(tasks))
    values = found.reshape(len(keys), n_seeds, -1)
    best = np.mean([skyline(one) for one in data])
    return dict(zip(keys, values)), best


def table(found, n_impressions, users, names):
    """Lines of means with intervals."""
    heads = [f"offline {n:,}" for n in (*checkpoints(n_impressions), n_impressions)]
    heads += ["regret", "online"]
    lines = [f"{'user':14}{'ranker':22}" + "".join(f"{h:>19}" for h in heads)]
    for user in users:
        for name in names:
            mean, half = interval(found[user, name][:, :-1])
            digits = [4] * (len(heads) - 2) + [0, 0]
            cells = [f"{m:.{d}f} ± {h:.{d}f}" for m, h, d in zip(mean, half, digits)]
            lines.append(f"{user:14}{name:22}" + "".join(f"{c:>19}" for c in cells))
    return lines


def differences(found, users, names):
    """Lines of differences from the dueling bandit, paired by seed."""
    lines = [
        f"{'user':14}{'less ' + REFERENCE:22}{'offline':>19}{'p':>9}{'regret':>15}"
    ]
    for user in users:
        for name in names:
            if name == REFERENCE:
                continue
            # The last columns are offline, regret, online and seconds.
            apart = (found[user, name] - found[user, REFERENCE])[:, [-4, -3]]
            (offline, regret), (half, wide) = interval(apart)
            p = stats.ttest_1samp(apart[:, 0], 0.0).pvalue
            lines.append(
                f"{user:14}{name:22}{f'{offline:+.4f} ± {half:.4f}':>19}{p:>9.1g}"
                f"{f'{regret:+.0f} ± {wide:.0f}':>15}"
            )
    return lines


def rate_contestants():
    """One contestant for each learning rate."""
    return {
        f"{name}, rate {rate:g}": (lambda cls=cls, rate=rate: cls(learning_rate=rate))
        for name, (cls, rates) in RATES.items()
        for rate in rates
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--collections", nargs="+", default=["MQ2008", "docstrings"])
    parser.add_argument("--users", nargs="+", default=list(USERS), choices=USERS)
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--impressions", type=int, default=10_000)
    parser.add_argument("--part", choices=["test", "validation"], default="test")
    parser.add_argument("--rates", action="store_true", help="compare learning rates")
    parser.add_argument("--speed", action="store_true", help="print seconds of a run")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    contestants = rate_contestants() if options.rates else CONTESTANTS
    for collection in options.collections:
        found, best = outcomes(
            contestants,
            collection,
            options.part,
            options.users,
            options.seeds,
            options.impressions,
            options.jobs,
        )
        print(
            f"\n{collection}, {options.part} queries, {options.seeds} seeds; ListNet "
            f"trained with the grades: NDCG@10 {best:.4f}\n"
        )
        print("\n".join(table(found, options.impressions, options.users, contestants)))
        if REFERENCE in contestants:
            print("\n" + "\n".join(differences(found, options.users, contestants)))
        if options.speed:
            print()
            for name in contestants:
                seconds = [found[user, name][:, -1].mean() for user in options.users]
                print(f"{name:22}{np.mean(seconds):8.2f} s per run")


if __name__ == "__main__":
    main()
