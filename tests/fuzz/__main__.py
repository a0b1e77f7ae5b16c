"""Feed mutated input to readers and to the model loader.

``python -m tests.fuzz --minutes 10`` runs all targets in turn; with their names, only
these. A worker process takes the cases, so that a crash or a hang ends nothing but the
worker: its input is kept in the folder of ``--failures``, and the search goes on behind
it. ``python -m tests.fuzz letor --replay FILE`` runs one input again.
"""

import argparse
import hashlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # helpers that tests share

from fuzz._targets import TARGETS, Target, problem_of

# A case takes milliseconds; one of this length hangs.
_SECONDS_PER_CASE = 60
_LARGEST_MEMORY = 6 << 30  # bytes of address space, shared libraries among them
_NOT_MADE = 3  # exit code of a worker that could not make a case; sanitizers have 1


def _limit_memory() -> None:
    """Make what a case asks for beyond a few GB an error, and no trouble of others."""
    if "ASAN_OPTIONS" not in os.environ:  # they have a limit, and reserve terabytes
        resource.setrlimit(resource.RLIMIT_AS, (_LARGEST_MEMORY, _LARGEST_MEMORY))


def work(target: Target, args: argparse.Namespace) -> int:
    """Run cases until the time is over; return 1 after the first that fails."""
    _limit_memory()
    stop, current, number = time.monotonic() + args.seconds, args.worker, args.first
    while time.monotonic() < stop and number < args.cases:
        # Written before it is tried, since a crash leaves no time for that.
        current.with_suffix(".number").write_text(str(number), encoding="ascii")
        try:
            data = target.case(args.seed, number)
        except Exception:
            traceback.print_exc()
            return _NOT_MADE
        current.write_bytes(data)
        signal.alarm(_SECONDS_PER_CASE)  # without a handler, it ends the process
        problem = problem_of(target, data)
        signal.alarm(0)
        if problem:
            print(problem)
            return 1
        number += 1
    return 0


def _search(target: Target, args: argparse.Namespace, seconds: float) -> int:
    """Run workers for some time; return how many inputs failed, and keep these."""
    stop, first, found = time.monotonic() + seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current"
        number = current.with_suffix(".number")
        while (left := stop - time.monotonic()) > 0 and first < args.cases:
            command = [sys.executable, "-m", "tests.fuzz", target.name]
            command += ["--seed", str(args.seed), "--cases", str(args.cases)]
            command += ["--seconds", str(left), "--first", str(first)]
            command += ["--worker", str(current)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not number.exists():
                raise RuntimeError(f"the worker did not start:\n{done.stderr}")
            first = int(number.read_text(encoding="ascii")) + 1
            if done.returncode == 0:
                break
            if done.returncode == _NOT_MADE:
                raise RuntimeError(f"case {first - 1} was not made:\n{done.stderr}")
            found += 1
            _keep(target, current.read_bytes(), done, args.failures)
    print(f"{target.name}: {first} cases, {found} failed")
    return found


def _keep(target, data, done, failures):
    # After damage to the memory, the process may die in the case behind this one.
    failures.mkdir(parents=True, exist_ok=True)
    name = f"{target.name}-{hashlib.sha256(data).hexdigest()[:12]}"
    (failures / name).write_bytes(data)
    report = f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    (failures / f"{name}.txt").write_text(report, encoding="utf-8")
    last = (done.stdout.strip() or done.stderr.strip()[-2000:]).splitlines()[-1:]
    print(f"{failures / name}: {(last or [f'exit code {done.returncode}'])[0]}")


def main(arguments: list[str] | None = None) -> int:
    """Run the targets and return the number of failures, at most 100."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--minutes", type=float, help="time of all targets together")
    parser.add_argument("--seconds", type=float, default=25.0, help="the same, shorter")
    parser.add_argument("--cases", type=int, default=10**9, help="of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--replay", type=Path, help="run one input and no others")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    unknown = set(args.targets) - set(TARGETS)
    if unknown:
        parser.error(f"unknown targets {sorted(unknown)}; known are {list(TARGETS)}")
    targets = [TARGETS[name] for name in args.targets or TARGETS]
    if args.replay is not None:
        problem = problem_of(targets[0], args.replay.read_bytes())
        print(problem or "works, or is refused with a sentence")
        return bool(problem)
    if args.worker is not None:
        return work(targets[0], args)
    seconds = (args.seconds if args.minutes is None else 60 * args.minutes) / len(
        targets
    )
    found = sum(_search(target, args, seconds) for target in targets)
    return min(found, 100)


if __name__ == "__main__":
    sys.exit(main())
