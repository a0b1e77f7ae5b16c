"""Run kernels, readers, trees and model files under ASan and UBSan.

``python .ci/sanitize.py`` copies the sources to a scratch folder, compiles all modules
there with both sanitizers, and runs the tests of what reads files or indexes memory,
and the fuzz targets. Any finding ends it with an error. ``--folder`` names a folder
that is kept, so that a second run compiles only what has changed; ``--seconds`` is the
time of the fuzz targets; other arguments are tests to run instead of the usual ones.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from extensions import compile_all, copy_sources

# -fwrapv would make the overflow of a signed number a defined operation.
_DROP = ("-O", "-fwrapv")
_ADD = (
    "-O1",
    "-g1",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    # Generated code calls functions of Python by pointers of another type.
    "-fno-sanitize=vptr",
)
_TESTS: tuple[str, ...] = (
    "tests/_core",
    "tests/trees",
    "tests/datasets/test_letor.py",
    "tests/datasets/test_trec.py",
    "tests/energies/test_contract.py",
    "tests/export/test_tampered.py",
    "tests/rankers/test_row_order.py",
    "tests/text/test_index_file.py",
    "tests/text/test_proximity.py",
    "tests/text/test_words.py",
    "tests/click/test_click_models.py",
    "tests/online/test_interleaving.py",
    "tests/unbiased/test_debiased_pairs.py",
)
# Memory that runs out ends a process with ASan, which reserves terabytes of addresses;
# compiled loops take too long to answer Ctrl-C in time; a forked process waits for ever
# for a lock of ASan's allocator that an ending thread of the parent had.
_WITHOUT = (
    "tests/_core/test_fork.py",
    "tests/_core/test_memory.py",
    "tests/_core/test_interrupts.py",
    "tests/_core/test_kernels.py::"
    "test_memory_that_runs_out_in_a_thread_is_an_exception",
)


def environment(folder: Path) -> dict[str, str]:
    """Return the variables under which sanitized modules run."""
    found = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(found),
        # CPython leaks on purpose, and a refused allocation is an error of its own.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:"
        "max_allocation_size_mb=4000",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        # Python's own allocator would hide what lies beyond the end of an object.
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(folder),
    }


def main() -> int:
    """Compile and run; return the number of the first command that failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch if args.folder is None else args.folder).resolve()
        copy_sources(folder)
        compile_all(folder, drop=_DROP, add=_ADD)
        python = [sys.executable, "-m"]
        # What the sanitizers report must not end in the capture of a test that died.
        options = ("-p", "no:cacheprovider", "--capture=sys")
        chosen = args.tests or [*_TESTS, *(f"--deselect={path}" for path in _WITHOUT)]
        for command in (
            [*python, "pytest", "-q", "-x", "-n", "2", *options, *chosen],
            [*python, "tests.fuzz", "--seconds", str(args.seconds)],
        ):
            print("+", *command, flush=True)
            done = subprocess.run(command, cwd=folder, env=environment(folder))
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
