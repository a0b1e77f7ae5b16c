"""One ranker of each family, by its quality and the time that it takes.

Every ranker is trained with its own defaults on the training queries of the collections
of `benchmarks.defaults` and measured on their validation queries. Rankers that want it
get features that are imputed and scaled. ``python -m benchmarks.choice --small`` prints
the tables of that study, then what each ranker falls short of the best one of a
collection, as a mean, and its time of training in units of RankSVM's. ``--plot`` draws
one against the other.
"""

from functools import partial

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.defaults import MEASURES, Contestant, options_of_study, own, study
from skrank.energies import MLPEnergy
from skrank.losses import ListNetLoss
from skrank.rankers import (
    MART,
    AdaRank,
    AssociationRuleRanker,
    CoordinateAscent,
    EnergyRanker,
    LambdaMART,
    LambdaRank,
    ListMLE,
    ListNet,
    LogisticRanker,
    McRank,
    RandomForestRanker,
    RankBoost,
    RankSVM,
    SubsetRegression,
    YetiRank,
)

UNIT = "RankSVM"


def scaled(make, *args, **params):
    """What makes a ranker on features without gaps and of one scale."""

    def pipeline(seed):
        ranker = make(*args, **params)
        if "random_state" in ranker.get_params():
            ranker.set_params(random_state=seed)
        return make_pipeline(SimpleImputer(), StandardScaler(), ranker)

    return pipeline


def rules(seed):
    """Association rules, which draw no numbers."""
    return AssociationRuleRanker()


FAMILIES = {
    "linear": [
        Contestant("SubsetRegression", scaled(SubsetRegression)),
        Contestant("LogisticRanker", scaled(LogisticRanker)),
        Contestant("RankSVM", scaled(RankSVM)),
        Contestant("ListNet", scaled(ListNet)),
        Contestant("ListMLE", scaled(ListMLE)),
        Contestant("AdaRank", scaled(AdaRank)),
        Contestant("CoordinateAscent", scaled(CoordinateAscent)),
    ],
    "kernel or network": [
        Contestant("RankSVM, rbf", scaled(RankSVM, kernel="rbf")),
        Contestant("LambdaRank", scaled(LambdaRank)),
        Contestant(
            "ListNet, network", scaled(EnergyRanker, MLPEnergy(), ListNetLoss())
        ),
    ],
    "thresholds or rules": [
        Contestant("RankBoost", scaled(RankBoost)),
        Contestant("AssociationRuleRanker", rules),
    ],
    "trees": [
        Contestant("YetiRank", own(YetiRank)),
        Contestant("LambdaMART", own(LambdaMART)),
        Contestant("MART", own(MART)),
        Contestant("McRank", own(McRank)),
        Contestant("RandomForestRanker", own(RandomForestRanker)),
    ],
}
CONTESTANTS = [contestant for family in FAMILIES.values() for contestant in family]


def distances(outcomes, measure):
    """Mean over collections of what each contestant falls short of the best one."""
    values = np.array(
        [[o.mean(measure) for o in of.values()] for of in outcomes.values()]
    )
    short = (values.max(axis=1, keepdims=True) - values).mean(axis=0)
    return dict(zip(next(iter(outcomes.values())), short.tolist()))


def relative_times(outcomes, unit=UNIT):
    """Geometric mean over collections of the time of training, in units of one's."""
    names = next(iter(outcomes.values()))
    seconds = np.array([[of[n].seconds for n in names] for of in outcomes.values()])
    of_unit = np.array([[of[unit].seconds] for of in outcomes.values()])
    ratios = np.exp(np.log(seconds / of_unit).mean(axis=0))
    return dict(zip(names, ratios.tolist()))


def draw(outcomes):
    """Distance from the best against time; the names of the families are colours."""
    from matplotlib.figure import Figure

    short, ratio = distances(outcomes, MEASURES[0]), relative_times(outcomes)
    figure = Figure(figsize=(8.5, 5), layout="constrained")
    ax = figure.subplots()
    for i, (family, contestants) in enumerate(FAMILIES.items()):
        names = [c.name for c in contestants if c.name in short]
        places = [ratio[n] for n in names], [short[n] for n in names]
        ax.scatter(*places, color=f"C{i}", label=family, zorder=3)
    ax.set(xscale="log", xlabel=f"Time of training, in units of {UNIT}'s")
    ax.set_ylabel("NDCG@10 below the best ranker of a collection, mean")
    ax.margins(x=0.1, y=0.08)
    ax.invert_yaxis()
    ax.grid(alpha=0.4)
    figure.legend(loc="outside upper center", ncols=len(FAMILIES))
    _label(ax, {name: (ratio[name], short[name]) for name in short})
    return figure


# Where a name may stand beside its point: its offset, in typographic points.
_OFFSETS = [(5, 4), (5, -4), (-5, 4), (-5, -4), (5, 13), (5, -13), (-5, 13), (-5, -13)]


def _label(ax, places):
    """Write names beside their points: in the frame, and off other names and points."""
    from matplotlib.transforms import Bbox

    ax.figure.draw_without_rendering()  # settles where the frame and the points are
    frame = ax.get_window_extent()
    points = ax.transData.transform(list(places.values()))
    points = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in points]
    texts = [
        ax.annotate(
            name,
            place,
            xytext=_OFFSETS[0],
            textcoords="offset points",
            fontsize="small",
            in_layout=False,
        )
        for name, place in places.items()
    ]

    def faults(text, offset):
        _put(text, offset)
        box = text.get_window_extent()
        outside = box.x0 < frame.x0 or box.x1 > frame.x1
        names = [other.get_window_extent() for other in texts if other is not text]
        return outside, box.count_overlaps(names), box.count_overlaps(points)

    # A name that is moved away may let another one stay.
    for _ in range(3):
        for text in texts:
            _put(text, min(_OFFSETS, key=partial(faults, text)))


def _put(text, offset):
    text.xyann = offset
    right, up = offset[0] > 0, offset[1] > 0
    text.set(ha="left" if right else "right", va="bottom" if up else "top")


def summary(outcomes):
    """Aligned text: distance and time of every contestant, the best one first."""
    short, ratio = distances(outcomes, MEASURES[0]), relative_times(outcomes)
    width = max(map(len, short)) + 2
    lines = [f"{'':<{width}}{'below best':>10}{'time':>8}"]
    for name in sorted(short, key=short.__getitem__):
        lines.append(f"{name:<{width}}{short[name]:10.4f}{ratio[name]:8.1f}")
    return "\n".join(lines)


def main(argv=None):
    """Run the study of families."""
    names = [contestant.name for contestant in CONTESTANTS]
    parser = options_of_study("python -m benchmarks.choice", __doc__, names)
    print(summary(study(parser.parse_args(argv), CONTESTANTS, draw_outcomes=draw)))


if __name__ == "__main__":
    main()
