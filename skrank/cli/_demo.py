"""``skrank demo``: rankers compared on the embedded data set."""

import argparse
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from skrank.cli import _measures
from skrank.cli._compare import check_format, print_table
from skrank.cli._errors import CommandError
from skrank.cli._io import Progress, rows_of
from skrank.cli._models import predict_scores, train_model
from skrank.cli._names import make_ranker
from skrank.cli._stdout import check_stdout, print_lines
from skrank.datasets import load_see_also
from skrank.metrics import compare

_BASELINE = "BM25"
_BASELINE_FEATURE = "whole.bm25"

# Name in the table, name of the class, and parameters as of --set.
_RANKERS = (
    ("SubsetRegression", "SubsetRegression", ("gain=exp2",)),
    ("LogisticRanker", "LogisticRanker", ("alpha=1e-3",)),
    ("RankSVM", "RankSVM", ("alpha=1e-3",)),
    ("RankNet", "RankNet", ("alpha=1e-3",)),
    (
        "RankNet, 32 units",
        "RankNet",
        ("alpha=1e-3", "max_iter=30", "hidden_layer_sizes=(32,)"),
    ),
    ("LambdaRank", "LambdaRank", ("max_iter=30",)),
    (
        "LambdaRank, 32 units",
        "LambdaRank",
        ("max_iter=30", "hidden_layer_sizes=(32,)"),
    ),
    ("ListNet", "ListNet", ("alpha=1e-3",)),
    ("ListMLE, top 5", "ListMLE", ("alpha=1e-3", "top_k=5")),
    ("EnergyPairwise", "EnergyPairwise", ("alpha=1e-3",)),
    ("YetiRank", "YetiRank", ()),
)


def run(args: argparse.Namespace) -> None:
    """Train the rankers and print how they compare."""
    check_format(args)
    check_stdout()
    measures = _measures.parse_metrics(args.metrics, args.preset)
    progress = Progress(args.verbose)
    progress("reading the docstrings of numpy, scipy and scikit-learn")
    data = load_see_also(n_queries=args.queries)
    train, test = _halves(data, args.seed)
    baseline = list(data.feature_names).index(_BASELINE_FEATURE)
    scores = {_BASELINE: test.X[:, baseline]}
    train, test = (part._replace(X=part.X.astype(np.float32)) for part in (train, test))
    seconds = {}
    for name, ranker, settings in _RANKERS:
        model = make_ranker(ranker, settings, args.seed, args.jobs)
        trained = train_model(model, "standard", train, {}, progress)
        scores[name] = predict_scores(trained.model, test)
        seconds[name] = trained.seconds
    progress("testing the differences")
    table = compare(
        scores,
        test.y,
        test.groups,
        measures=list(measures.values()),
        preset=args.preset,
        random_state=args.seed,
        n_jobs=args.jobs,
    )
    progress.clear()
    if args.format == "plain" and args.json != "-":
        print_lines([_introduction(train, test)])
    print_table(_Timed(table, seconds), args, "demo", extra={"seconds": seconds})


def _halves(data, seed):
    """Documents of one half of the queries for training, of the other for testing."""
    queries = np.unique(data.groups)
    if len(queries) < 8:
        raise CommandError(f"--queries must be at least 8, got {len(queries)}")
    train, _ = train_test_split(queries, test_size=0.5, random_state=seed)
    chosen = np.isin(data.groups, train)
    return rows_of(data, np.flatnonzero(chosen)), rows_of(data, np.flatnonzero(~chosen))


def _introduction(train, test):
    counts = [
        f"{len(np.unique(part.groups))} queries ({len(part.y)} documents)"
        for part in (train, test)
    ]
    return (
        "Which function does this sentence describe? Docstrings of numpy, scipy and\n"
        f"scikit-learn. Trained on {counts[0]},\ntested on {counts[1]}.\n"
    )


class _Timed:
    """A comparison table that shows the training time of every ranker."""

    def __init__(self, table, seconds):
        self.table = table
        self.seconds = seconds

    def to_text(self) -> str:
        """Render as aligned plain text, with a column of times."""
        lines = self.table.to_text().split("\n")
        n_systems = len(self.table.systems)
        width = max(map(len, lines[: n_systems + 2]))
        times = [self._time(name) for name in self.table.systems]
        column = ["fit", "-" * 8, *times]
        head = [
            f"{line.ljust(width, fill)}{text:>8}".rstrip()
            for line, text, fill in zip(lines, column, [" ", "-", *" " * n_systems])
        ]
        return "\n".join([*head, *lines[len(head) :]])

    def to_markdown(self) -> str:
        """Render as Markdown, with a list of the times below."""
        return f"{self.table.to_markdown()}\n\n{self._list()}"

    def to_latex(self) -> str:
        """Render as LaTeX, with the times in a comment below."""
        return f"{self.table.to_latex()}\n% {self._list()}"

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values."""
        return self.table.to_dict()

    def _time(self, name):
        return f"{self.seconds[name]:.2f} s" if name in self.seconds else ""

    def _list(self):
        times = ", ".join(f"{name} {self._time(name)}" for name in self.seconds)
        return f"Training times: {times}."
