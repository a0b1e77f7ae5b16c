"""Options of ``skrank index``, ``skrank search`` and ``skrank features``.

Nothing heavy is imported here, so that help and errors of usage appear at once.
"""

import argparse
from collections.abc import Callable
from typing import Any

from skrank.cli._options import InputPath, OutputPath
from skrank.cli._shared_options import add_limit, add_output, add_settings

_INDEX = """\
examples:
  skrank index corpus.jsonl -o corpus.index
  skrank index documents.trec --format trec --encoding latin-1 --stemmer porter \\
      --stop-words english-long -o documents.index
  skrank index Cranfield --fields title,text --stemmer porter -o cranfield.index
  zcat corpus.jsonl.gz | skrank index - --positions -o corpus.index

A collection is a file of JSON lines with an id and texts, as BEIR has them; of TREC
documents '<DOC>'; of lines 'id<TAB>text'; or the folder of the Cranfield collection.
Packed files (.gz, .bz2, .xz, .zip) are unpacked. The index holds the ids and how terms
are made of texts, so that queries are treated alike; 'skrank search' and
'skrank features' take it, and so does skrank.text.load_index."""

_SEARCH = """\
examples:
  skrank search corpus.index queries.tsv -o bm25.trec
  skrank search corpus.index topics.301-350 --query-field title --model lmir.dir \\
      --set mu=1000 -k 100 -o dirichlet.trec
  skrank search corpus.index queries.jsonl --field text --set k1=0.9 --set b=0.4 \\
      --rm3 --rm3-set n_terms=30 --tag bm25+rm3 -o rm3.trec

Queries are lines 'id<TAB>text', JSON lines, TREC topics '<top>', or the folder of the
Cranfield collection. Models: bm25, bm25f, vsm, lsi, lmir.dir, lmir.jm, lmir.abs; their
parameters are those of the classes in skrank.text.

The output is a TREC run: query, Q0, document, rank, score, tag. A query that finds no
document is not in it, which a warning says."""

_FEATURES = """\
examples:
  skrank features corpus.index train.tsv --qrels qrels.txt -o train.txt
  skrank features corpus.index test.tsv -k 1000 --names names.txt -o test.txt
  skrank features corpus.index test.tsv --run bm25.trec -o test.txt.gz
  skrank features pages.index queries.tsv --feature-set letor4 --links links.tsv \\
      --urls urls.tsv --outside ignore -o letor.txt

The output is LETOR text with the documents as comments '#docid = ', for 'skrank fit'
and 'skrank rank'. The documents of a query are the best ones of a search, or those of a
run. A document that was not judged, which a negative grade says as well, has grade 0.
--names writes the names of the features, one per line, as 'skrank export' takes them.

--feature-set takes gov, ohsumed or letor4, the tables of the LETOR data sets, of which
features are left out that need fields, links or URLs that are not there; or a list of
names, such as title.bm25,whole.length,page.inlinks."""

Command = Callable[[Any, str, str, str], argparse.ArgumentParser]
_MODELS = ("bm25", "bm25f", "vsm", "lsi", "lmir.dir", "lmir.jm", "lmir.abs")


def add_texts(commands: Any, command: Command) -> None:
    """Add the commands.

    Parameters
    ----------
    commands : object
        Commands of the parser.
    command : callable
        Function that adds one command: commands, name, summary and examples.
    """
    _add_index(command(commands, "index", "index a collection of texts", _INDEX))
    _add_search(command(commands, "search", "search an index for queries", _SEARCH))
    _add_features(
        command(commands, "features", "write features of found documents", _FEATURES)
    )


def _add_index(parser):
    parser.add_argument(
        "collection", type=InputPath, help="file of documents, or a folder"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=OutputPath,
        required=True,
        help="file of the index; '-' is the standard output",
    )
    _add_format(parser)
    parser.add_argument(
        "--fields", metavar="LIST", help="fields to index, such as title,text; all"
    )
    parser.add_argument(
        "--stemmer",
        choices=("plural", "porter", "porter-revised", "none"),
        default="plural",
        help="what makes stems of terms; default: %(default)s",
    )
    parser.add_argument(
        "--stop-words",
        choices=("english", "english-short", "english-long", "none"),
        default="english",
        help="list of words to leave out; default: %(default)s",
    )
    parser.add_argument(
        "--keep-case", action="store_true", help="tell upper from lower case"
    )
    parser.add_argument(
        "--keep-identifiers",
        action="store_true",
        help="do not split snake_case and CamelCase",
    )
    parser.add_argument(
        "--positions",
        action="store_true",
        help="also keep where terms stand, for phrases and proximity",
    )
    add_limit(parser)


def _add_search(parser):
    _add_index_and_queries(parser)
    _add_model(parser)
    parser.add_argument(
        "-k",
        type=int,
        default=1000,
        help="number of documents per query; default: %(default)s",
    )
    parser.add_argument("--tag", help="name of the run; default: that of the model")
    add_output(parser)
    add_limit(parser)


def _add_features(parser):
    _add_index_and_queries(parser)
    parser.add_argument(
        "--qrels", metavar="FILE", type=InputPath, help="TREC judgements, for grades"
    )
    parser.add_argument(
        "--run",
        metavar="FILE",
        type=InputPath,
        help="TREC run whose documents are described, instead of a search",
    )
    _add_model(parser)
    parser.add_argument(
        "-k",
        type=int,
        default=100,
        help="number of documents per query; default: %(default)s",
    )
    parser.add_argument(
        "--fields", metavar="LIST", help="fields to describe; all and 'whole'"
    )
    parser.add_argument(
        "--feature-set", metavar="SET", help="table of features, or names of features"
    )
    parser.add_argument(
        "--links",
        metavar="FILE",
        type=InputPath,
        help="links between documents, lines 'from to'",
    )
    parser.add_argument(
        "--urls",
        metavar="FILE",
        type=InputPath,
        help="URLs of documents, lines 'id<TAB>url'",
    )
    parser.add_argument(
        "--outside",
        choices=("error", "ignore"),
        default="error",
        help="links from or to documents that the index lacks; default: %(default)s",
    )
    parser.add_argument(
        "--names",
        metavar="FILE",
        type=OutputPath,
        help="write the names of the features to this file",
    )
    add_output(parser)
    add_limit(parser)


def _add_index_and_queries(parser):
    parser.add_argument("index", type=InputPath, help="file written by 'skrank index'")
    parser.add_argument("queries", type=InputPath, help="file of queries, or a folder")
    _add_format(parser)
    parser.add_argument(
        "--query-field",
        metavar="NAME",
        help="field of the queries, such as title or description",
    )


def _add_format(parser):
    parser.add_argument(
        "--format",
        choices=("auto", "jsonl", "trec", "tsv", "cranfield"),
        default="auto",
        help="format of the texts; default: by the name or the first line",
    )
    parser.add_argument(
        "--encoding",
        default="utf-8",
        help="encoding of TREC and TSV files; default: %(default)s",
    )


def _add_model(parser):
    parser.add_argument(
        "--model",
        metavar="NAME",
        default="bm25",
        help=f"one of {', '.join(_MODELS)}; default: %(default)s",
    )
    parser.add_argument(
        "--field", metavar="NAME", help="field to search; default: whole documents"
    )
    add_settings(parser, "of the model")
    parser.add_argument(
        "--rm3", action="store_true", help="expand the queries by the best documents"
    )
    add_settings(parser, "of the expansion", "--rm3-set", "rm3_settings")
