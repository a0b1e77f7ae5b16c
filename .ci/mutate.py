"""Change single tokens of a file, and list the changes that no test notices.

``python .ci/mutate.py skrank/trees/_forest.hpp --lines 140-150 --tests tests/trees``
works on a copy of the sources. Each mutant has one comparison, operator, constant or
condition changed, or one statement deleted; compiled modules that contain the file are
built again; then the tests run until the first failure or the end of their time. The
exit code is 1 if any mutant survives: then a test is missing, or the mutant computes
the same, or the line can go.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from extensions import CHECKOUT, compile_extension, copy_sources, extensions

_SWAPS = {
    "<": ("<=", ">="),
    "<=": ("<",),
    ">": (">=", "<="),
    ">=": (">",),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("+=",),
    "&&": ("||",),
    "||": ("&&",),
    "and": ("or",),
    "or": ("and",),
    "!": ("",),
    "not": ("",),
    "true": ("false",),
    "false": ("true",),
    "True": ("False",),
    "False": ("True",),
    "min": ("max",),
    "max": ("min",),
    "break": ("continue",),
    "continue": ("break",),
}
_TOKEN = re.compile(
    r"""
    (?P<skip> //.* | \#(?!include).* | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
        | -> | \*\* | :: | <<=? | >>=? | \+\+ | -- | \#include.* )
    | (?P<number> (?<![\w.]) \d+ (?:\.\d*)? (?:[eE][-+]?\d+)? (?![\w.]) )
    | (?P<word> [A-Za-z_]\w* )
    # Brackets of templates, pointers and signs have no blanks on both sides.
    | (?<=\s) (?P<operator> <= | >= | == | != | \+= | -= | \*= | && | \|\| | [<>+\-*/] )
      (?=\s)
    | (?P<negation> ! ) (?=[\w(])
    """,
    re.VERBOSE,
)
_STATEMENT = re.compile(r"^(\s*)([\w.\[\](), *&>-]+(?:[-+*/|&^]?=[^=].*|\(.*\)));?\s*$")
_NO_STATEMENT = re.compile(
    r"^\s*(return|if|for|while|def|class|import|from|else|const)\b"
)


class Mutant(NamedTuple):
    """A line of a file, and what stands there instead."""

    line: int  # from 1
    before: str
    after: str

    def __str__(self):
        return f"{self.line}: {self.before.strip()}\n    -> {self.after.strip()}"


def mutants_of(line: str, compiled: bool) -> Iterator[str]:
    """Yield the lines that come of a line by one change."""
    for token in _TOKEN.finditer(line):
        if token.lastgroup == "number":
            others = _other_numbers(token.group())
        elif token.lastgroup in ("word", "operator", "negation"):
            others = _SWAPS.get(token.group(), ())
        else:
            continue
        for other in others:
            yield line[: token.start()] + other + line[token.end() :]
    statement = _STATEMENT.match(line)
    whole = (
        line.rstrip().endswith(";") if compiled else line.count("(") == line.count(")")
    )
    if statement and whole and not _NO_STATEMENT.match(line):
        yield statement.group(1) + (";" if compiled else "pass")


def _other_numbers(text: str) -> tuple[str, ...]:
    if "." in text or "e" in text.lower():
        return (str(2.0 * float(text) + (float(text) == 0.0)),)
    return (str(int(text) + 1),) + ((str(int(text) - 1),) if int(text) else ())


def _all_mutants(path: Path, first: int, last: int) -> list[Mutant]:
    compiled = path.suffix in (".hpp", ".pyx", ".pxd")
    lines = path.read_text(encoding="utf-8").splitlines()
    within_text = False
    found = []
    for number, line in enumerate(lines, 1):
        quotes = line.count('"""') % 2
        if first <= number <= last and not within_text and not quotes:
            others = mutants_of(line, path.suffix == ".hpp" if compiled else False)
            found += [
                Mutant(number, line, o) for o in dict.fromkeys(others) if o != line
            ]
        within_text ^= bool(quotes)
    return found


def _affected(name: str) -> list[dict]:
    """Return the extension modules that are made of a file."""
    return [
        extension
        for extension in extensions()
        if name in (*extension["sources"], *extension.get("depends", ()))
    ]


class _Copy:
    """A copy of the sources in which a file is changed and tests run."""

    def __init__(self, folder: Path, name: str, tests: list[str]):
        self.folder, self.file, self.tests = folder, folder / name, tests
        self.modules = _affected(name)
        copy_sources(folder)
        for module in CHECKOUT.glob("skrank/**/*.so"):
            shutil.copy2(module, folder / module.relative_to(CHECKOUT))
        self.lines = self.file.read_text(encoding="utf-8").splitlines()

    def build(self) -> bool:
        """Compile what contains the file; False where it does not compile."""
        try:
            for module in self.modules:
                compile_extension(self.folder, module, ("-O",), ("-O1", "-g0", "-w"))
        except subprocess.CalledProcessError:
            return False
        return True

    def passes(self, seconds: float | None) -> bool:
        """Return whether the tests pass within their time."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *self.tests],
                cwd=self.folder,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survives(self, mutant: Mutant, seconds: float) -> bool:
        """Return whether a mutant can be built and passes all tests."""
        changed = list(self.lines)
        changed[mutant.line - 1] = mutant.after
        self.file.write_text("\n".join(changed) + "\n", encoding="utf-8")
        return self.build() and self.passes(seconds)


def main() -> int:
    """Try all mutants of some lines; return 1 if any survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="file of the package, from the checkout's root")
    parser.add_argument("--lines", default="1-100000", help="first-last")
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--list", action="store_true", help="show the mutants only")
    args = parser.parse_args()
    first, _, last = args.lines.partition("-")
    mutants = _all_mutants(CHECKOUT / args.file, int(first), int(last or first))
    if args.list:
        print(*mutants, f"{len(mutants)} mutants", sep="\n")
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = _Copy(Path(folder), args.file, args.tests)
        start = time.monotonic()
        if not copy.build() or not copy.passes(None):
            parser.error("the tests do not pass on the sources as they are")
        # A mutant that takes much longer than the sources themselves has been noticed.
        seconds = 3 * (time.monotonic() - start) + 10
        for number, mutant in enumerate(mutants, 1):
            alive = copy.survives(mutant, seconds)
            survivors += alive
            word = "SURVIVES" if alive else "killed"
            print(f"[{number}/{len(mutants)}] {word} {mutant}", flush=True)
    print(f"{survivors} of {len(mutants)} mutants of {args.file} survive")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
