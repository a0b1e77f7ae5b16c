"""Compiling the extension modules of pyproject.toml outside of the checkout."""

import importlib.machinery
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
_SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
_SHARED = "skrank._core._cython_shared"  # as in setup.py: what Cython writes, once


def extensions(root: Path = CHECKOUT) -> list[dict]:
    """Return the modules of pyproject.toml, and the one that they share."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    shared = {"name": _SHARED, "sources": [], "extra-compile-args": []}
    return [*project["tool"]["setuptools"]["ext-modules"], shared]


def copy_sources(folder: Path) -> None:
    """Copy the package, its tests and what they read, without compiled modules."""
    unwanted = shutil.ignore_patterns("*.so", "__pycache__", "old_models")
    for name in ("skrank", "tests", "doc", "benchmarks"):
        ignore = unwanted if name == "skrank" else shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            CHECKOUT / name, folder / name, ignore=ignore, dirs_exist_ok=True
        )
    for name in ("setup.cfg", "pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy2(CHECKOUT / name, folder / name)


def _output(folder: Path, extension: dict) -> Path:
    return folder / (extension["name"].replace(".", "/") + _SUFFIX)


def _is_fresh(folder: Path, extension: dict) -> bool:
    output = _output(folder, extension)
    if not output.exists():
        return False
    paths = (*extension["sources"], *extension.get("depends", ()))
    built = output.stat().st_mtime
    return all((folder / path).stat().st_mtime <= built for path in paths)


def _translate(folder: Path, extension: dict, output: Path) -> tuple[Path, str]:
    """Translate a module by Cython; return the code and its compiler."""
    cython = [sys.executable, "-m", "cython", "-3"]
    # Cython finds the name of the shared module in that of its file.
    stem = output.parent / extension["name"].split(".")[-1]
    if extension["sources"]:
        generated, compiler = stem.with_suffix(".cpp"), "g++"
        cython += ["--cplus", "--shared", _SHARED, *extension["sources"]]
        cython += ["-o", str(generated)]
    else:
        generated, compiler = stem.with_suffix(".c"), "gcc"
        cython += [f"--generate-shared={generated.relative_to(folder)}"]
    subprocess.run(cython, cwd=folder, check=True)
    return generated, compiler


def compile_extension(
    folder: Path, extension: dict, drop: tuple[str, ...], add: tuple[str, ...]
) -> None:
    """Compile one module in a copy of the sources, where other flags are used.

    Parameters
    ----------
    folder : Path
        Copy of the sources.
    extension : dict
        Description of the module.
    drop, add : tuple of str
        Flags of the compiler that are left out, by their beginning, and added.
    """
    output = _output(folder, extension)
    generated, compiler = _translate(folder, extension, output)
    flags = [f for f in extension["extra-compile-args"] if not f.startswith(drop)]
    include = ["-I.", f"-I{output.parent}", f"-I{sysconfig.get_path('include')}"]
    part = output.with_suffix(".part")  # the module appears when it is complete
    command = [compiler, *flags, *add, "-shared", "-fPIC", *include, str(generated)]
    command += ["-o", str(part), *extension.get("extra-link-args", ())]
    subprocess.run(command, cwd=folder, check=True)
    part.replace(output)
    generated.unlink()


def compile_all(
    folder: Path,
    modules: list[dict] | None = None,
    drop: tuple[str, ...] = (),
    add: tuple[str, ...] = (),
) -> None:
    """Compile the modules that are older than their sources, as many as CPUs at a time.

    Parameters
    ----------
    folder : Path
        Copy of the sources.
    modules : list of dict, default=None
        Modules to compile; None means all.
    drop, add : tuple of str
        Flags that are left out, by their beginning, and added.
    """
    chosen = extensions(folder) if modules is None else modules
    stale = [extension for extension in chosen if not _is_fresh(folder, extension)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda e: compile_extension(folder, e, drop, add), stale))
