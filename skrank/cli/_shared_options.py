"""Options that several commands have, each described once.

Nothing heavy is imported here, so that help and errors appear at once.
"""

import argparse

from skrank.cli._options import OutputPath, byte_count


def add_settings(
    parser: argparse.ArgumentParser,
    what: str,
    option: str = "--set",
    dest: str = "settings",
) -> None:
    """Add an option that sets parameters, one at a time.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    what : str
        What has the parameters, such as ``"of the model"``.
    option : str, default="--set"
        Name of the option.
    dest : str, default="settings"
        Attribute of the arguments that holds the list of settings.
    """
    parser.add_argument(
        option,
        metavar="PARAM=VALUE",
        action="append",
        default=[],
        dest=dest,
        help=f"set a parameter{what and ' ' + what}; repeatable",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the file of what a command prints otherwise."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=OutputPath,
        help="file to write, packed if its name ends in .gz, .bz2 or .xz; default: "
        "print",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the file of results as JSON."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=OutputPath,
        help="also write the results as JSON, packed by the end of the name, too; '-' "
        "prints them instead of the text",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the number of threads."""
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="number of threads; default: all"
    )


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add the largest size of an input file."""
    parser.add_argument(
        "--max-bytes",
        metavar="N",
        type=byte_count,
        help="largest size of an input file, unpacked, such as 500M or 20G; default: "
        "100 times a packed file, at least 256M; 1G of a pipe or a device",
    )
