"""The folder of a LETOR data set: Fold1 to Fold5 with train, vali and test."""

import inspect
import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._paths import checked_path
from skrank._core._validation import check_arguments
from skrank.datasets._container import RankingData
from skrank.datasets._letor import load_letor, n_features_of

# Names under which a part is looked for, in this order.
_PARTS = {
    "train": ("train",),
    "vali": ("vali", "valid", "validation"),
    "test": ("test",),
}
_OPTIONS = tuple(inspect.signature(load_letor).parameters)[1:]
_SUFFIXES = (".txt", ".txt.gz", ".txt.bz2", ".txt.xz", "")


def _find_part(folder: Path, part: str) -> Path:
    for name in _PARTS[part]:
        for suffix in _SUFFIXES:
            path = folder / (name + suffix)
            if path.is_file():
                return path
    names = sorted(entry.name for entry in folder.iterdir())
    for entry in names:  # such as train.txt.GZ
        name, dot, suffix = entry.partition(".")
        if name in _PARTS[part] and dot + suffix.lower() in _SUFFIXES:
            path = folder / entry
            if path.is_file():
                return path
    found = shortened(", ".join(names), 500) or "nothing"
    raise FileNotFoundError(
        f"{folder} has no {part}.txt (or .txt.gz, .txt.bz2, .txt.xz); found: {found}"
    )


class LetorFold:
    """One fold of a LETOR data set, whose parts are read on request and then kept.

    Parameters
    ----------
    folder : path
        Folder with ``train.txt``, ``vali.txt`` and ``test.txt``.
    **load_kwargs : keywords
        Arguments passed on to `load_letor`.

    Attributes
    ----------
    name : str
        Name of the folder.
    paths : dict of str to Path
        Files of the parts ``"train"``, ``"vali"`` and ``"test"``.
    """

    def __init__(self, folder: str | os.PathLike, **load_kwargs: Any):
        self.folder = Path(checked_path(folder, "folder"))
        unknown = [name for name in load_kwargs if name not in _OPTIONS]
        if unknown:
            raise TypeError(
                f"load_letor has no option {shown(unknown[0])}; its options are: "
                f"{', '.join(_OPTIONS)}"
            )
        self.name = self.folder.name
        self.paths = {part: _find_part(self.folder, part) for part in _PARTS}
        self._load_kwargs = load_kwargs

    def __repr__(self) -> str:
        return f"LetorFold({str(self.folder)!r})"

    def unread(self) -> "LetorFold":
        """Return the same fold, which has read nothing yet."""
        return LetorFold(self.folder, **self._load_kwargs)

    @cached_property
    def _n_features(self) -> int:
        """Number of features of all parts, since a part may lack the last ones."""
        given = self._load_kwargs.get("n_features")
        if given is not None:
            return given
        names = ("n_jobs", "max_bytes", "sparse")
        options = {k: v for k, v in self._load_kwargs.items() if k in names}
        return max(n_features_of(path, **options) for path in self.paths.values())

    def _load(self, part: str) -> RankingData:
        kwargs = {**self._load_kwargs, "n_features": self._n_features}
        return load_letor(self.paths[part], **kwargs)

    @cached_property
    def train(self) -> RankingData:
        """Documents to fit rankers to."""
        return self._load("train")

    @cached_property
    def vali(self) -> RankingData:
        """Documents to choose parameters with."""
        return self._load("vali")

    @cached_property
    def test(self) -> RankingData:
        """Documents to report results on."""
        return self._load("test")


class LetorFolds(Sequence[LetorFold]):
    """The folds of a folder.

    Every access makes a new fold that has read nothing yet, so that a loop over the
    folds holds the data of one of them at a time.
    """

    def __init__(self, folders: list[Path], load_kwargs: dict[str, Any]):
        self._folders = folders
        self._load_kwargs = load_kwargs

    def __len__(self) -> int:
        return len(self._folders)

    @overload
    def __getitem__(self, i: int) -> LetorFold: ...

    @overload
    def __getitem__(self, i: slice) -> "LetorFolds": ...

    def __getitem__(self, i: int | slice) -> "LetorFold | LetorFolds":
        if isinstance(i, slice):
            return LetorFolds(self._folders[i], self._load_kwargs)
        return LetorFold(self._folders[i], **self._load_kwargs)

    def __repr__(self) -> str:
        return f"LetorFolds({[str(folder) for folder in self._folders]})"


def _fold_number(folder: Path) -> int | None:
    number = re.fullmatch(r"fold[-_ ]?(\d+)", folder.name, flags=re.IGNORECASE)
    return int(number.group(1)) if number and folder.is_dir() else None


def _fold_folders(folder: Path) -> dict[int, Path]:
    """Return the folders of the folds by their numbers."""
    entries = sorted(folder.iterdir())
    # By number rather than by name: Fold10 comes after Fold9.
    numbers = {entry: _fold_number(entry) for entry in entries}
    numbered = {n: entry for entry, n in numbers.items() if n is not None}
    if numbered:
        return dict(sorted(numbered.items()))
    found = shortened(", ".join(entry.name for entry in entries), 500) or "nothing"
    raise FileNotFoundError(
        f"{folder} has no folders Fold1, Fold2, ... with train, vali and test files; "
        f"found: {found}"
    )


def load_letor_folds(
    folder: str | os.PathLike,
    *,
    folds: Sequence[int] | None = None,
    **load_kwargs: Any,
) -> Sequence[LetorFold]:
    """Open the folds of a LETOR data set such as MQ2008, OHSUMED or MSLR.

    A part is read when it is asked for, but all files are looked for at once.

    Parameters
    ----------
    folder : str or path
        Folder that holds ``Fold1``, ``Fold2``, …, each with ``train.txt``,
        ``vali.txt`` and ``test.txt``, possibly compressed (``.gz``, ``.bz2``, ``.xz``).
    folds : sequence of int, default=None
        Numbers of the folds to open, counted from 1; None opens all of them.
    **load_kwargs : keywords
        Arguments passed on to `load_letor`. Without ``n_features``, all parts of a fold
        have as many features as the widest of them.

    Returns
    -------
    sequence of LetorFold
        Each fold has ``name``, ``paths`` and, read on request, the `RankingData`
        ``train``, ``vali`` and ``test``.

    Raises
    ------
    FileNotFoundError
        If the folder, a fold or a part is missing; the message tells what was found
        instead.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skrank.datasets import load_letor_folds
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> (root / "Fold1").mkdir()
    >>> for part in ["train", "vali", "test"]:
    ...     _ = (root / "Fold1" / f"{part}.txt").write_text("1 qid:1 1:0.5\\n")
    >>> for fold in load_letor_folds(root):
    ...     X, y, groups = fold.train
    ...     print(fold.name, X.shape)
    Fold1 (1, 1)
    """
    given = checked_path(folder, "folder")
    folder = Path(given)
    check_arguments(load_letor_folds, folds=folds)
    if not folder.is_dir():  # named as it was given, which a Path does not keep
        raise FileNotFoundError(f"{on_one_line(given)} is not a folder")
    numbered = _fold_folders(folder)
    wanted = list(numbered) if folds is None else list(folds)
    missing = [number for number in wanted if number not in numbered]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no fold {shown(missing[0])}; it has "
            + shortened(", ".join(map(str, numbered)), 500)
        )
    result = LetorFolds([numbered[number] for number in wanted], load_kwargs)
    for _ in result:  # a missing file is noticed now, not after hours of work
        pass
    return result
