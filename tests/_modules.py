"""Modules of a user's, which tests write while they run."""

import os
from itertools import count
from pathlib import Path

# Long before the tests, and each at another time, which Python compares with that of
# the file that it has compiled.
_times = count(1_000_000_000)


def write_module(path: Path, text: str) -> Path:
    """Write a file that looks as if it had been there before the program started."""
    path.write_text(text)
    time = next(_times)
    os.utime(path, (time, time))
    return path
