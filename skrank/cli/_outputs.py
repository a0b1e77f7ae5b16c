"""The check of output files, before a command begins.

Nothing heavy is imported here, so that errors appear at once.
"""

import argparse
import os
from pathlib import Path

from skrank._core._messages import on_one_line
from skrank._core._writing import check_writable, own_descriptor
from skrank.cli._errors import CommandError
from skrank.cli._options import STANDARD, InputPath, OutputPath, paths

_STDOUT = 1  # its descriptor


def check_outputs(args: argparse.Namespace) -> None:
    """Raise an error before long work whose results could not be written.

    Nor may a result replace a file that is read, or one in a folder that is read: the
    model or the data would be gone.
    Paths such as /dev/stdout become "-", so that all of them mean the same.
    """
    seen = set()
    read = {os.path.realpath(path) for path in paths(args, InputPath)}
    for path in paths(args, OutputPath):
        if path != STANDARD:
            check_writable(path)
        place = os.path.realpath(f"/dev/fd/{_STDOUT}" if path == STANDARD else path)
        if place in seen and place != os.path.realpath(os.devnull):
            raise CommandError(
                f"two results cannot both be written to {on_one_line(path)}"
            )
        around = {place, *map(str, Path(place).parents)}
        if not around.isdisjoint(read) and os.path.isfile(place):
            raise CommandError(
                f"{on_one_line(path)} is read; a command cannot write to it as well"
            )
        seen.add(place)
    for name, path in vars(args).items():
        if isinstance(path, OutputPath) and own_descriptor(path) == _STDOUT:
            setattr(args, name, OutputPath(STANDARD))
