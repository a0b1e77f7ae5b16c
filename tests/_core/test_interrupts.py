"""Ctrl-C ends every compiled loop, however long it would go on."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("_until_interrupted.py")


def test_ctrl_c_ends_loops_that_would_run_for_minutes():
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
