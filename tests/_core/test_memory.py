"""Where memory or threads run out, compiled functions raise MemoryError at most."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("_without_memory.py")


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the memory in use is not known"
)
def test_nothing_crashes_without_memory():
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, timeout=180
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")
