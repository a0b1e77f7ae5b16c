"""The check of input files, before a command begins.

Nothing heavy is imported here, so that errors appear at once.
"""

import argparse
import contextlib
import errno
import os

from skrank.cli._options import STANDARD, InputPath, path_of, paths


def check_inputs(args: argparse.Namespace) -> None:
    """Raise an error before long work for which a file would be missing.

    Parameters
    ----------
    args : Namespace
        Arguments.

    Raises
    ------
    OSError
        If a file that is to be read does not exist, or may not be read.
    """
    for path in map(path_of, paths(args, InputPath)):
        # What can be no path at all is explained by those who read it.
        with contextlib.suppress(ValueError):
            if path not in ("", STANDARD):
                os.stat(path)
                if not os.access(path, os.R_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
