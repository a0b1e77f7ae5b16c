"""Options of ``skrank clicks``.

Nothing heavy is imported here, so that help and errors of usage appear at once.
"""

import argparse
from collections.abc import Callable
from typing import Any

from skrank.cli._options import InputPath, OutputPath, number_list
from skrank.cli._shared_options import (
    add_jobs,
    add_json,
    add_limit,
    add_output,
    add_settings,
)

_CLICKS = """\
actions:
  fit       fit a model of clicks to a log of sessions
  labels    turn the relevance that a model has found into judgements
  simulate  let users or a model click, and write the log

'skrank clicks ACTION --help' explains one action.

A log is text in the format of Yandex, 'query<TAB>document,... : click,...', with
sessions that end at ';' or at the end of a line; or a table with one impression per
line: session, query, document, position and click, in .tsv or .parquet files (also
.tsv.gz etc.)."""

_FIT = """\
examples:
  skrank clicks fit --list
  skrank clicks fit log.tsv --model UBM --save model.skrank
  skrank clicks fit trainSample --model DBN --set max_iter=20 --stray-clicks drop \\
      --test testSample
  skrank clicks fit day1.tsv.gz day2.tsv.gz --model DCM --chunk 1000000 \\
      --save model.skrank

With --chunk, logs are read piece by piece, and may be larger than memory; the model
must be one that counts, and the logs must be files, because the standard input ('-') is
read as a whole.

JSON: {"command", "version", "model", "params", "sets": {"train" | "test": {"sessions",
"impressions", "clicks", "log_likelihood", "perplexity", "perplexity_by_rank"}},
"file"}. The log-likelihood is the mean over sessions; infinite numbers are null."""

_LABELS = """\
examples:
  skrank clicks fit log.tsv --model UBM --set prior_clicks=0.1 --set prior_skips=1.9 \\
      --save model.skrank
  skrank clicks labels model.skrank -o clicks.qrels
  skrank clicks labels model.skrank --grades 3 --thresholds 0.2,0.6
  skrank clicks labels model.skrank --log new.tsv --format tsv

The output has the judgements of all pairs of query and document of the log that the
model was fitted to, or of that of --log: lines of TREC, 'query 0 document grade', or
with --format tsv a table that has the relevance, too."""

_SIMULATE = """\
examples:
  skrank clicks simulate run.trec --qrels qrels.txt --user navigational -o log.tsv
  skrank clicks simulate run.trec --qrels qrels.txt --examination position --eta 1.5 \\
      --noise 0.1 --sessions 1000 --seed 1 -o log.parquet
  skrank clicks simulate log.tsv --model model.skrank -o again.tsv

With --qrels, simulated users click on the documents of a TREC run by their grades;
documents without a judgement have grade 0. With --model, the lists of a log are shown
again, and the model says what is clicked. The name of the log to write ends in .tsv, or
.tsv.gz, .tsv.bz2 or .tsv.xz, or in .parquet."""

Command = Callable[[Any, str, str, str], argparse.ArgumentParser]


def add_clicks(commands: Any, command: Command) -> None:
    """Add the command with its actions.

    Parameters
    ----------
    commands : object
        Commands of the parser.
    command : callable
        Function that adds one command: commands, name, summary and examples.
    """
    parser = commands.add_parser(
        "clicks",
        help="fit models of clicks, and get labels from them",
        description="Models of clicks, labels from them, and simulated users.",
        epilog=_CLICKS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=type(parser)
    )
    _add_fit(command(actions, "fit", "fit a model of clicks to sessions", _FIT))
    _add_labels(command(actions, "labels", "turn relevance into judgements", _LABELS))
    _add_simulate(command(actions, "simulate", "simulate users", _SIMULATE))


def _add_fit(parser):
    parser.add_argument("logs", nargs="*", type=InputPath, metavar="LOG", help="logs")
    parser.add_argument("--model", metavar="NAME", help="name of the model; see --list")
    parser.add_argument("--list", action="store_true", help="list the models")
    add_settings(parser, "of the model")
    parser.add_argument(
        "--test", metavar="LOG", type=InputPath, help="log to measure the model on"
    )
    parser.add_argument(
        "--chunk",
        metavar="N",
        type=int,
        help="read N impressions of files at a time, of which none may be the "
        "standard input; default: all",
    )
    parser.add_argument(
        "--save", metavar="FILE", type=OutputPath, help="file of the fitted model"
    )
    add_json(parser)
    add_jobs(parser)
    _add_reading(parser)


def _add_labels(parser):
    parser.add_argument("model", type=InputPath, help="model file")
    parser.add_argument(
        "--log",
        metavar="LOG",
        type=InputPath,
        help="label the pairs of this log; default: those that the model knows",
    )
    parser.add_argument(
        "--grades", metavar="N", type=int, help="number of grades; default: 5"
    )
    parser.add_argument(
        "--thresholds",
        metavar="LIST",
        type=number_list,
        help="bounds of the grades, such as 0.2,0.6; default: quantiles",
    )
    parser.add_argument(
        "--per-query", action="store_true", help="take the quantiles of each query"
    )
    parser.add_argument(
        "--format", choices=("qrels", "tsv"), default="qrels", help="default: qrels"
    )
    add_output(parser)
    _add_reading(parser)


def _add_simulate(parser):
    parser.add_argument(
        "lists", type=InputPath, help="TREC run with --qrels, log with --model"
    )
    parser.add_argument(
        "--model", metavar="FILE", type=InputPath, help="fitted model of clicks"
    )
    parser.add_argument(
        "--qrels", metavar="FILE", type=InputPath, help="TREC judgements"
    )
    parser.add_argument(
        "--user",
        choices=("perfect", "navigational", "informational"),
        help="behaviour of the users; default: perfect",
    )
    parser.add_argument(
        "--examination",
        choices=("cascade", "position"),
        help="how users get to a document; default: cascade",
    )
    parser.add_argument(
        "--eta",
        type=float,
        metavar="P",
        help="examination by position falls with the place to this power; default: 1",
    )
    parser.add_argument(
        "--noise", type=float, metavar="P", help="share of noise; default: 0"
    )
    parser.add_argument(
        "--max-grade", type=float, metavar="G", help="best grade; default: 2 or 4"
    )
    parser.add_argument("-k", type=int, help="documents of a list; default: 10")
    parser.add_argument(
        "--sessions",
        type=int,
        metavar="N",
        default=1,
        help="sessions of each list; default: %(default)s",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", default=0, help="default: %(default)s"
    )
    add_output(parser)
    _add_reading(parser)


def _add_reading(parser):
    parser.add_argument(
        "--log-format",
        choices=("auto", "yandex", "tsv", "parquet"),
        default="auto",
        help="format of logs; default: by the name or the first line",
    )
    parser.add_argument(
        "--stray-clicks",
        choices=("raise", "drop"),
        default="raise",
        help="clicks on documents that were not shown: an error, or left out",
    )
    parser.add_argument(
        "--numeric-ids", action="store_true", help="read ids of text as whole numbers"
    )
    add_limit(parser)
