"""Options of ``skrank experiment``.

Nothing heavy is imported here, so that help and errors of usage appear at once.
"""

import argparse

from skrank.cli._options import COLUMN_OPTIONS, InputPath, NamedData, OutputFolder

EXPERIMENT = """\
examples:
  skrank experiment MQ2008 --ranker RankSVM --ranker ListNet \\
      --grid RankSVM alpha=1e-4,1e-3,1e-2 --preset letor4 -o results
  skrank experiment MQ2008 OHSUMED --config classical.toml --jobs 4 -o results
  skrank experiment clicks.csv --label grade --qid query --folds 5 \\
      --ranker LambdaMART --ranker linear=RankSVM --grid linear alpha=0.01 -o results
  skrank experiment MQ2008 --ranker mine:MyRanker --ranker own=EnergyRanker \\
      --grid own loss=mine:MyLoss,ListNetLoss -o results
  skrank experiment MQ2008 --ranker all=RankSVM --ranker bm25=RankSVM \\
      --features bm25=21-25 -o results

DATA is a folder with Fold1, Fold2, ..., a folder with train, vali and test files, or a
file of LETOR text or a table, whose queries are cut into --folds parts. On each fold
every ranker is trained with every choice of its parameters; the choice that is best on
the validation queries is tested, and the test queries of all folds are pooled.

The file of --config has the keys data, rankers, grids, measures, selection, preset,
normalize, features, seeds, early_stopping, folds, shuffle, sparse, dtype, label, qid,
docid, categorical, reference, test, correction and level; options override it. If
--ranker leaves out the reference of the file, the first ranker becomes the reference.

Trainings are stored in the folder of the results, so that the same command goes on
after an interrupt, and repeats only what has changed. The exit code is 4 if a training
has failed.

JSON: {"command", "version", "data": {name: results}}, with the results as they are
written to results.json."""

_OPTIONS = (
    ("metrics", "LIST", "measures of the table; default: ndcg@10,map"),
    ("select", "MEASURE", "measure to choose by; default: the first of the table"),
    ("preset", "NAME", "conventions of the measures: letor3, letor4, mslr ..."),
    ("reference", "NAME", "compare the rankers with this one; default: all pairs"),
)
_NUMBERS = (
    ("seeds", "N", int, "seeds of rankers that draw numbers; default: 1"),
    ("folds", "K", int, "parts that a file is cut into, at least 3; default: 5"),
    ("shuffle", "SEED", int, "shuffle the queries of a file before"),
    ("level", "P", float, "level of significance; default: 0.05"),
)
_CHOICES = (
    (
        "normalize",
        ("none", "standard", "query-minmax", "query-standard"),
        "scaling of the features; default: none",
    ),
    ("dtype", ("float32", "float64"), "numbers of LETOR text; default: float32"),
    (
        "test",
        ("fisher", "t", "wilcoxon", "tukey"),
        "test of the differences; default: fisher",
    ),
    (
        "correction",
        ("holm", "bonferroni", "none"),
        "correction for several tests; default: holm",
    ),
)
_FLAGS = (
    ("early-stopping", "give the validation queries to all fits that take them"),
    ("sparse", "keep the features of LETOR text sparse"),
)
_COLUMNS = {
    "label": "column of the grades in a table",
    "qid": "column of the query ids in a table",
    "docid": "column of the document ids",
    "categorical": "a,b: features that are names; default: those with text",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command that no other command has.

    Defaults are None, because the file of ``--config`` comes before them.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    parser.add_argument(
        "data",
        nargs="*",
        type=NamedData,
        metavar="[NAME=]DATA",
        help="folders of folds, or files",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=OutputFolder,
        required=True,
        help="folder of the results",
    )
    parser.add_argument(
        "--config", metavar="FILE", type=InputPath, help="definition in TOML"
    )
    parser.add_argument(
        "--ranker",
        metavar="[ROW=]RANKER",
        action="append",
        default=[],
        dest="rankers",
        help="ranker, or module:Class, under its own name or that of a row of the "
        "table; repeatable",
    )
    parser.add_argument(
        "--grid",
        nargs="+",
        metavar=("ROW", "PARAM=V1,V2"),
        action="append",
        default=[],
        dest="grids",
        help="values of the parameters of a row to choose among; repeatable",
    )
    parser.add_argument(
        "--features",
        metavar="[ROW=]LIST",
        action="append",
        help="features to use, as in 1-15,40, or those of one row; repeatable; "
        "default: all",
    )
    for name, metavar, help_ in _OPTIONS:
        parser.add_argument(f"--{name}", metavar=metavar, help=help_)
    for name, metavar, kind, help_ in _NUMBERS:
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=help_)
    for name, choices, help_ in _CHOICES:
        parser.add_argument(f"--{name}", choices=choices, help=help_)
    for name, help_ in _FLAGS:
        parser.add_argument(f"--{name}", action="store_true", help=help_)
    for name in COLUMN_OPTIONS:
        if name in _COLUMNS:
            parser.add_argument(f"--{name}", metavar="COLUMN", help=_COLUMNS[name])
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="show no progress and no notes"
    )
