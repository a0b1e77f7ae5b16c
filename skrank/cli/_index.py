"""``skrank index``: an index of a collection of texts."""

import argparse

from skrank.cli._texts import read_documents, write_by_name
from skrank.text import InvertedIndex, Tokenizer, save_index


def run(args: argparse.Namespace) -> None:
    """Index a collection and write the index."""
    tokenizer = Tokenizer(
        lowercase=not args.keep_case,
        split_identifiers=not args.keep_identifiers,
        stop_words=None if args.stop_words == "none" else args.stop_words,
        stemmer=None if args.stemmer == "none" else args.stemmer,
    )
    documents = read_documents(args)
    index = InvertedIndex(tokenizer, with_positions=args.positions).fit(documents)
    write_by_name(lambda path: save_index(index, path), args.output)
