"""What Ctrl-C does to a command."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

#: Exit code after an interrupt.
INTERRUPTED = 130


class Interrupts:
    """Notes interrupts, and ends the process where an exception might get lost.

    A KeyboardInterrupt among imports may come out as an ImportError of the module that
    was just read, or vanish in a callback of Python's locks. Nothing has been written
    then, so that the process may end at once.

    Parameters
    ----------
    report : callable
        Called without arguments before the process ends.
    """

    def __init__(self, report: Callable[[], None]):
        self.report = report
        self.seen = False
        self._importing = False

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note interrupts, unless somebody else handles them."""
        handler = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or handler is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)

    @contextlib.contextmanager
    def among_imports(self) -> Iterator[None]:
        """End the process at an interrupt."""
        self._importing = True
        try:
            yield
        finally:
            self._importing = False

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self.seen = True
        if self._importing:
            try:
                self.report()
            finally:
                os._exit(INTERRUPTED)
        signal.default_int_handler(signum, frame)
