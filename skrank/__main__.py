"""``python -m skrank`` and ``skrank``: the command line."""

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
    return main()


if __name__ == "__main__":
    sys.exit(run())
