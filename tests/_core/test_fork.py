"""What computes on threads goes on in a forked process, with equal bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("_after_fork.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_nothing_hangs_after_fork():
    # Python may warn that threads do not live on, which is what this is about.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
