"""Commands and options of the command line.

Nothing heavy is imported here, so that help and errors of usage appear at once.
"""

import argparse
from typing import Any, NoReturn

from skrank._core._messages import shortened
from skrank._version import __version__
from skrank.cli._clicks_options import add_clicks
from skrank.cli._errors import printable
from skrank.cli._experiment_options import EXPERIMENT, add_arguments
from skrank.cli._options import (
    COLUMN_OPTIONS,
    Append,
    InputData,
    InputPath,
    NamedInput,
    OutputPath,
    StoreOnce,
    StoreTrue,
    number_list,
)
from skrank.cli._shared_options import (
    add_jobs,
    add_json,
    add_limit,
    add_output,
    add_settings,
)
from skrank.cli._stdout import Version, print_lines
from skrank.cli._text_options import add_texts

_MAIN = """\
examples:
  skrank demo
  skrank fit train.txt --ranker RankSVM --test test.txt --save model.skrank
  skrank predict model.skrank test.txt -o scores.txt
  skrank rank model.skrank test.txt -o run.trec
  skrank evaluate qrels.txt run.trec -m all
  skrank compare bm25.trec ranksvm.trec --qrels qrels.txt
  skrank experiment MQ2008 --ranker RankSVM --grid RankSVM alpha=1e-3,1e-2 -o results
  skrank fuse bm25.trec ranksvm.trec -o fused.trec
  skrank explain model.skrank test.txt --query 12 --document d7 --against d3
  skrank export model.skrank --format ranklib -o model.txt
  skrank index corpus.jsonl -o corpus.index
  skrank search corpus.index queries.tsv -o bm25.trec
  skrank features corpus.index queries.tsv --qrels qrels.txt -o train.txt
  skrank clicks fit log.tsv --model UBM --save clicks.skrank

'-' as a file to read or to write is the standard input or output.
'skrank COMMAND --help' explains one command."""

_FIT = """\
examples:
  skrank fit --list
  skrank fit --list --ranker RankSVM
  skrank fit train.txt --ranker RankSVM --set alpha=1e-3 --set hinge=linear \\
      --validation vali.txt --test test.txt --metrics ndcg@10,map --save model.skrank
  skrank fit train.txt --ranker LambdaMART -v --validation old.txt \\
      --validation new.txt --validation-measures ndcg@10,map
  skrank fit train.txt --ranker EnergyRanker --set energy=MLPEnergy \\
      --set energy__hidden_layer_sizes=[32,16] --set loss=ListNetLoss --folds 5
  skrank fit --letor-folds MQ2008 --ranker RankNet --metrics ndcg@10,map --preset letor4
  skrank fit train.csv --label grade --qid query --docid page --categorical site \\
      --ranker LambdaMART --test test.csv --save model.skrank

Files that end in .csv, .tsv or .parquet (and .csv.gz etc.) are tables with a line of
names; empty cells are missing.

JSON: {"command", "version", "ranker", "params", "normalize", "preset", "metrics",
"runs": [{"name", "seconds", "sets": {"train" | "validation" | "test": {"queries",
"documents", "metrics": {name: mean}}}}], "mean": {set: {name: mean}}, "model",
"left_out": [parameters whose values are code of your own and not in the model file]}.
Several validation sets are called validation_0, validation_1 and so on, as in the text.
The mean of a measure that is defined for no query is null."""

_PREDICT = """\
examples:
  skrank predict model.skrank test.txt -o scores.txt
  skrank predict model.skrank test.txt.gz | head
  skrank predict model.skrank test.parquet --qid query

The output has one score per line, in the order of the lines of the file, with as many
digits as identify the number. A table needs no grades, and its columns may come in any
order."""

_RANK = """\
examples:
  skrank rank model.skrank test.txt -o run.trec --tag ranksvm

The output is a TREC run: query, Q0, document, rank, score, tag. Documents are named as
in the '#docid = ' comments of the file, or by their line ('line12') if it has none."""

_EVALUATE = """\
examples:
  skrank evaluate qrels.txt run.trec
  skrank evaluate qrels.txt run.trec -m map -m ndcg_cut.5,10 -q
  skrank evaluate qrels.txt run.trec -m all -c --json -
  skrank evaluate qrels.txt run.trec -m map -m err@20 -m 'ndcg(gain=exp2)@5'
  skrank evaluate qrels.txt run.trec --metrics ndcg@10,map --preset letor4
  skrank evaluate --letor test.txt --scores scores.txt --metrics ndcg@10,map \\
      --preset letor4
  skrank evaluate --letor test.csv --label grade --qid query --scores scores.txt

Judgements come first, as in trec_eval, whose layout the output has. '-m official' (the
default) prints the measures that trec_eval prints by default, '-m all' all measures for
the format of the judgements. Names of -m that trec_eval does not have, and those of
--metrics, are measures of skrank by trec_eval's conventions; with --preset all of them
are measures of skrank by those of the preset.

JSON: {"command", "version", "run", "measures": {name: value}, "queries": {query:
{name: value}}}; "queries" only with -q."""

_COMPARE = """\
examples:
  skrank compare bm25.trec ranksvm.trec --qrels qrels.txt --metrics map,ndcg@10
  skrank compare a.scores b.scores --letor test.txt --reference a --format markdown

Runs are compared on all judged queries by trec_eval's conventions, unless --preset says
otherwise; a query that a run lacks counts as 0.

JSON: the result of skrank.metrics.ComparisonTable.to_dict(), with "command" and
"version"."""

_FUSE = """\
examples:
  skrank fuse bm25.trec ranksvm.trec dense.trec -o fused.trec
  skrank fuse a.trec b.trec --method combmnz --norm zmuv --weights 2,1 --depth 100
  skrank fuse a.trec b.trec --method rrf --set k=10 -k 1000 --tag rrf10
  skrank fuse a.trec b.trec --method weighted --qrels train.qrels --set measure=map
  skrank fuse --list

The output is a TREC run: query, Q0, document, rank, score, tag. Methods that learn
need judgements of some queries of the runs."""

_EXPLAIN = """\
examples:
  skrank explain model.skrank test.txt --query 12
  skrank explain model.skrank test.txt --query 12 --document d7 --top 5
  skrank explain model.skrank test.txt --query 12 --document d7 --against d3

The contributions of the features (Shapley values) sum to the score of the document
above the mean score of its query; with --background all, above that of all documents of
the file; with 'covers', above what the trees expect by their training documents. With
--against they sum to the difference of the scores of two documents of the query.
Features have the numbers that LETOR text gives them, or the names of the columns of a
table, and categories are shown as the file has them.
Documents are named as in the '#docid = ' comments of the file, or by their line
('line12') if it has none. Linear rankers and rankers of trees can be explained.

JSON: {"command", "version", "query", "documents": [{"document", "score", "rank"}],
"base", "features": [{"feature", "values", "contribution"}]}; without --against there is
one document, with it two and no "base". A value is a number, a name, or null."""

_EXPORT = """\
examples:
  skrank export model.skrank --format json -o model.json
  skrank export model.skrank --format ranklib --missing zero -o model.txt
  skrank export model.skrank --format elasticsearch --name products \\
      --features names.txt -o body.json --check test.txt
  skrank export model.skrank --format solr --name products --features names.txt

Rankers of trees and linear rankers can be exported; a model that a system cannot
represent is refused. --check scores a file by the rule of the system and compares the
scores with those of 'skrank predict'. The exit code is 3 if a document changes its
rank; the model is written all the same."""

_DEMO = """\
example:
  skrank demo

The demo trains linear models, networks, an energy-based model and boosted trees on half
of the queries of the embedded data set, whose queries and documents are made of the
docstrings of numpy, scipy and scikit-learn, and compares them with each other and with
BM25 on the other half.

JSON: that of 'compare', with "seconds": {ranker: training time}."""


_ACTIONS = {
    None: StoreOnce,
    "store": StoreOnce,
    "store_true": StoreTrue,
    "append": Append,
    "version": Version,
}


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error as one line, and of options that are kept once."""

    def __init__(self, *args: Any, **more: Any):
        super().__init__(*args, **more)
        for name, action in _ACTIONS.items():
            self.register("action", name, action)

    def print_help(self, file: Any = None) -> None:
        """Print the help on the standard output, or in a file."""
        if file is None:
            print_lines(self.format_help().splitlines())
        else:
            super().print_help(file)

    def error(self, message: str) -> NoReturn:
        """Leave with a line that names the command whose help explains the usage."""
        line = shortened(" ".join(printable(message).split()), 500)
        self.exit(2, f"skrank: error: {line} (see '{self.prog} --help')\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="skrank",
        description="Learning to rank: train, apply, evaluate and compare rankers.",
        epilog=_MAIN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"skrank {__version__}",
        help="show the version and leave",
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    _add_fit(commands)
    _add_predict(commands)
    _add_rank(commands)
    _add_evaluate(commands)
    _add_compare(commands)
    _add_experiment(commands)
    _add_fuse(commands)
    _add_explain(commands)
    _add_export(commands)
    add_texts(commands, _command)
    add_clicks(commands, _command)
    _add_demo(commands)
    return parser


def _command(commands, name, summary, epilog):
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def _add_fit(commands):
    parser = _command(commands, "fit", "train a ranker on LETOR text or tables", _FIT)
    parser.add_argument(
        "train",
        nargs="?",
        type=InputPath,
        help="training file (.gz, .bz2, .xz and .zip are unpacked)",
    )
    parser.add_argument(
        "--ranker", metavar="NAME", help="name of the ranker; see --list"
    )
    add_settings(parser, "(or of a part, as in solver__max_iter=50)")
    _add_splits(parser)
    _add_columns(parser, *COLUMN_OPTIONS)
    parser.add_argument(
        "--normalize",
        choices=("none", "query-minmax", "query-standard", "standard"),
        default="none",
        help="scaling of the features, which is saved with the model",
    )
    _add_measures(parser)
    parser.add_argument(
        "--sparse", action="store_true", help="keep the features sparse"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        type=OutputPath,
        help="write the model to this file; '-' prints it instead of the text",
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="seed of the ranker, if it draws numbers, and of the folds",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the rankers, or the parameters of one"
    )
    add_json(parser)
    add_jobs(parser)
    add_limit(parser)
    _add_verbose(parser)


def _add_splits(parser):
    parser.add_argument(
        "--validation",
        "--vali",
        metavar="[NAME=]FILE",
        type=NamedInput,
        action="append",
        help="queries for early stopping; repeatable: the last file decides, unless "
        "--set validation_rule=mean; results call them NAME",
    )
    parser.add_argument(
        "--validation-measures",
        metavar="LIST",
        help="measures of these queries, shown by -v; the first one decides",
    )
    parser.add_argument(
        "--test",
        metavar="FILE",
        type=InputPath,
        help="queries to evaluate the model on",
    )
    parser.add_argument(
        "--folds", metavar="K", type=int, help="cross-validate on K folds"
    )
    parser.add_argument(
        "--letor-folds",
        metavar="FOLDER",
        type=InputData,
        help="folder with Fold1, Fold2, ...",
    )


def _add_columns(parser, *options):
    """Add options that name columns of tables."""
    helps = {
        "label": "column of the grades in a table",
        "qid": "column of the query ids in a table",
        "docid": "column of the document ids",
        "features": "a,b,c: columns of features; default: the rest",
        "categorical": "a,b: features that are names; default: those with text",
    }
    for name in options:
        several = name in ("features", "categorical")
        metavar = "COLUMNS" if several else "COLUMN"
        parser.add_argument(f"--{name}", metavar=metavar, help=helps[name])


def _add_predict(commands):
    parser = _command(commands, "predict", "score the documents of a file", _PREDICT)
    _add_model_and_data(parser)


def _add_rank(commands):
    parser = _command(commands, "rank", "write a TREC run of a file", _RANK)
    _add_model_and_data(parser)
    parser.add_argument("--tag", default="skrank", help="name of the run")
    parser.add_argument("-k", type=int, help="maximum number of documents per query")


def _add_model_and_data(parser):
    parser.add_argument(
        "model", type=InputPath, help="file written by 'skrank fit --save'"
    )
    parser.add_argument(
        "data", type=InputPath, help="LETOR text or table with the documents"
    )
    _add_columns(parser, "qid", "docid")
    add_output(parser)
    add_jobs(parser)
    add_limit(parser)


def _add_evaluate(commands):
    parser = _command(
        commands, "evaluate", "evaluate a run as trec_eval does, or scores", _EVALUATE
    )
    parser.add_argument("qrels", nargs="?", type=InputPath, help="TREC judgements")
    parser.add_argument("run", nargs="?", type=InputPath, help="TREC run")
    parser.add_argument(
        "-m",
        "--measure",
        action="append",
        metavar="MEASURE",
        help="trec_eval's name, with cut-offs as in P.5,10; 'official' or 'all'; "
        "a name of --metrics, as in err@20; or module:Name of a measure of your own",
    )
    parser.add_argument(
        "-q", "--per-query", action="store_true", help="also print every query"
    )
    parser.add_argument(
        "-n", "--no-summary", action="store_true", help="print no lines for 'all'"
    )
    parser.add_argument(
        "-c", "--complete", action="store_true", help="average over all judged queries"
    )
    parser.add_argument(
        "-l", "--level", type=int, default=1, help="lowest relevant grade"
    )
    parser.add_argument("-M", "--max-docs", type=int, help="documents per query")
    parser.add_argument(
        "-R",
        "--judgement-format",
        choices=("qrels", "qrels_jg", "prefs", "qrels_prefs"),
        default="qrels",
        help="format of the judgements",
    )
    parser.add_argument(
        "-Z",
        "--zscores",
        metavar="FILE",
        type=InputPath,
        help="print values relative to these means and standard deviations",
    )
    parser.add_argument(
        "--letor",
        metavar="FILE",
        type=InputPath,
        help="LETOR text or table with the grades",
    )
    _add_columns(parser, "label", "qid")
    parser.add_argument(
        "--scores", metavar="FILE", type=InputPath, help="file with one score per line"
    )
    _add_measures(parser)
    add_json(parser)
    add_jobs(parser)
    add_limit(parser)


def _add_compare(commands):
    parser = _command(
        commands, "compare", "compare systems, with tests of significance", _COMPARE
    )
    parser.add_argument(
        "systems",
        nargs="+",
        type=NamedInput,
        metavar="[NAME=]FILE",
        help="TREC runs (with --qrels) or files of scores (with --letor)",
    )
    parser.add_argument(
        "--qrels", metavar="FILE", type=InputPath, help="TREC judgements"
    )
    parser.add_argument(
        "--letor",
        metavar="FILE",
        type=InputPath,
        help="LETOR text or table with the grades",
    )
    _add_columns(parser, "label", "qid")
    _add_measures(parser)
    parser.add_argument(
        "--reference", metavar="NAME", help="compare the systems with this one"
    )
    parser.add_argument(
        "--test", choices=("fisher", "t", "wilcoxon", "tukey"), default="fisher"
    )
    parser.add_argument(
        "--correction", choices=("holm", "bonferroni", "none"), default="holm"
    )
    parser.add_argument(
        "--level", type=float, default=0.05, help="level of significance"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the intervals and of the tests"
    )
    _add_format(parser)
    add_json(parser)
    add_jobs(parser)
    add_limit(parser)


def _add_experiment(commands):
    parser = _command(
        commands, "experiment", "tune and compare rankers on folds", EXPERIMENT
    )
    add_arguments(parser)
    _add_format(parser)
    add_json(parser)
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="trainings at a time, each on one thread; default: one, on all threads",
    )
    add_limit(parser)


def _add_fuse(commands):
    parser = _command(commands, "fuse", "fuse several TREC runs into one", _FUSE)
    parser.add_argument(
        "runs", nargs="*", type=InputPath, metavar="RUN", help="TREC runs"
    )
    _add_method(parser)
    parser.add_argument(
        "--depth",
        metavar="N",
        type=int,
        help="number of documents per query that are taken from a run; default: all",
    )
    parser.add_argument(
        "-k", type=int, help="maximum number of documents per query of the result"
    )
    parser.add_argument(
        "--qrels",
        metavar="FILE",
        type=InputPath,
        help="TREC judgements of training queries, for methods that learn",
    )
    add_settings(parser, "of the method")
    parser.add_argument(
        "--tag",
        help="name of the run; default: the name of the method in --list",
    )
    parser.add_argument("--list", action="store_true", help="list the methods")
    add_output(parser)
    add_jobs(parser)
    add_limit(parser)


def _spelled(name: str) -> str:
    """Return the name of a normalisation in the spelling of the choices."""
    return name.lower().replace("_", "-")


def _add_method(parser):
    parser.add_argument(
        "--method",
        metavar="NAME",
        default="rrf",
        help="name of the method; see --list; default: %(default)s",
    )
    parser.add_argument(
        "--norm",
        metavar="NAME",
        type=_spelled,
        choices=(
            *("min-max", "max", "sum", "zmuv", "rank", "borda", "min-max-inverted"),
            "none",
        ),
        help="normalisation of the scores: min-max, max, sum, zmuv, rank, borda, "
        "min-max-inverted or none; default: that of the method",
    )
    parser.add_argument(
        "--weights",
        metavar="LIST",
        type=number_list,
        help="weights of the runs, such as 2,1,0.5",
    )


def _add_explain(commands):
    parser = _command(
        commands, "explain", "say what lifts a document in its ranking", _EXPLAIN
    )
    _add_model_and_data(parser)
    parser.add_argument("--query", required=True, help="id of the query")
    parser.add_argument(
        "--document", help="name of the document; default: the first of the ranking"
    )
    parser.add_argument(
        "--against", metavar="DOCUMENT", help="name of another document of the query"
    )
    parser.add_argument(
        "--background",
        choices=("query", "all", "covers"),
        default="query",
        help="documents to compare with; default: %(default)s",
    )
    parser.add_argument(
        "--top", type=int, default=10, help="features to print; default: %(default)s"
    )
    add_json(parser)


def _add_export(commands):
    parser = _command(commands, "export", "write a model for a search engine", _EXPORT)
    parser.add_argument(
        "model", type=InputPath, help="file written by 'skrank fit --save'"
    )
    parser.add_argument(
        "--format", choices=("json", "elasticsearch", "ranklib", "solr"), required=True
    )
    parser.add_argument("--name", help="name of the model (elasticsearch, solr)")
    parser.add_argument(
        "--features",
        metavar="FILE",
        type=InputPath,
        help="names of the features, one per line",
    )
    parser.add_argument("--type", help="type of the definition (elasticsearch)")
    parser.add_argument("--store", help="feature store (solr)")
    parser.add_argument(
        "--missing",
        choices=("learned", "zero"),
        help="side of a split that missing values go to; default: learned",
    )
    add_output(parser)
    parser.add_argument(
        "--check",
        metavar="FILE",
        type=InputPath,
        help="LETOR text to score in both ways",
    )
    add_jobs(parser)
    add_limit(parser)


def _add_demo(commands):
    parser = _command(
        commands, "demo", "train and compare rankers on the embedded data", _DEMO
    )
    _add_measures(parser)
    parser.add_argument("--queries", type=int, help="number of queries; default: all")
    parser.add_argument("--seed", type=int, default=0, help="seed of all randomness")
    _add_format(parser)
    add_json(parser)
    add_jobs(parser)
    _add_verbose(parser)


def _add_measures(parser):
    parser.add_argument(
        "--metrics",
        metavar="LIST",
        default="ndcg@10,map",
        help="measures such as ndcg@10,map,rbp(p=0.8), or module:Name of a function or "
        "class of your own; default: %(default)s",
    )
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="conventions of the measures: letor3, letor4, mslr, trec_eval ...",
    )


def _add_format(parser):
    parser.add_argument(
        "--format", choices=("plain", "markdown", "latex", "json"), default="plain"
    )


def _add_verbose(parser):
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show the progress, line by line"
    )
