"""``python -m skrank`` and ``skrank``: the command line."""

import os
import signal
import sys


def run() -> int:
    """Run the command of the process's arguments and return its exit code."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        # Before a command is known, Ctrl-C has nothing to tell and nothing to undo.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from skrank.cli import main

    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
    code = main()
    steps = sys.modules.get("skrank._core._in_steps")
    if steps is not None and steps.still_computes():
        os._exit(code)  # interrupted; the exit would wait, for minutes perhaps
    return code


if __name__ == "__main__":
    sys.exit(run())
