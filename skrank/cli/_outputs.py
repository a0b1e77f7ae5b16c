"""The check of output files, before a command begins.

Nothing heavy is imported here, so that errors appear at once.
"""

import os
from collections.abc import Iterable

from skrank._core._writing import check_writable
from skrank.cli._errors import CommandError
from skrank.cli._options import STANDARD


def check_outputs(outputs: Iterable[str]) -> None:
    """Raise an error before long work whose results could not be written."""
    seen = set()
    for path in outputs:
        place = path if path == STANDARD else os.path.realpath(path)
        if place in seen and place != os.path.realpath(os.devnull):
            raise CommandError(f"two results cannot both be written to {path}")
        seen.add(place)
        if path != STANDARD:
            check_writable(path)
