"""The folder of a LETOR data set: Fold1 to Fold5 with train, vali and test."""

import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from skrank.datasets._container import RankingData
from skrank.datasets._letor import load_letor, n_features_of

# Names under which a part is looked for, best first.
_PARTS = {
    "train": ("train",),
    "vali": ("vali", "valid", "validation"),
    "test": ("test",),
}
_SUFFIXES = (".txt", ".txt.gz", ".txt.bz2", "")


def _find_part(folder, part):
    for name in _PARTS[part]:
        for suffix in _SUFFIXES:
            path = folder / (name + suffix)
            if path.is_file():
                return path
    found = ", ".join(sorted(entry.name for entry in folder.iterdir())) or "nothing"
    raise FileNotFoundError(
        f"{folder} has no {part}.txt (or .txt.gz, .txt.bz2); found: {found}"
    )


class LetorFold:
    """One fold: its parts are read when they are asked for, and kept.

    Parameters
    ----------
    folder : path
        Folder with ``train.txt``, ``vali.txt`` and ``test.txt``.
    **load_kwargs : keywords
        Passed on to `load_letor`.

    Attributes
    ----------
    name : str
        Name of the folder.
    paths : dict of str to Path
        Files of the parts ``"train"``, ``"vali"`` and ``"test"``.
    """

    def __init__(self, folder: str | os.PathLike, **load_kwargs):
        self.folder = Path(folder)
        self.name = self.folder.name
        self.paths = {part: _find_part(self.folder, part) for part in _PARTS}
        self._load_kwargs = load_kwargs

    def __repr__(self) -> str:
        return f"LetorFold({str(self.folder)!r})"

    @cached_property
    def _n_features(self):
        """One width for all parts: a part may lack the last features."""
        given = self._load_kwargs.get("n_features")
        if given is not None:
            return given
        n_jobs = self._load_kwargs.get("n_jobs")
        return max(n_features_of(path, n_jobs) for path in self.paths.values())

    def _load(self, part):
        kwargs = {**self._load_kwargs, "n_features": self._n_features}
        return load_letor(self.paths[part], **kwargs)

    @cached_property
    def train(self) -> RankingData:
        """Documents to fit on."""
        return self._load("train")

    @cached_property
    def vali(self) -> RankingData:
        """Documents to choose parameters on."""
        return self._load("vali")

    @cached_property
    def test(self) -> RankingData:
        """Documents to report on."""
        return self._load("test")


class LetorFolds(Sequence):
    """The folds of a folder; every access makes a fold that has read nothing yet."""

    def __init__(self, folders, load_kwargs):
        self._folders = folders
        self._load_kwargs = load_kwargs

    def __len__(self) -> int:
        return len(self._folders)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return LetorFolds(self._folders[i], self._load_kwargs)
        return LetorFold(self._folders[i], **self._load_kwargs)

    def __repr__(self) -> str:
        return f"LetorFolds({[str(folder) for folder in self._folders]})"


def _fold_number(folder):
    number = re.fullmatch(r"fold[-_ ]?(\d+)", folder.name, flags=re.IGNORECASE)
    return int(number.group(1)) if number and folder.is_dir() else None


def _fold_folders(folder):
    """Folders of the folds, by number."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    entries = sorted(folder.iterdir())
    numbered = {_fold_number(entry): entry for entry in entries}
    numbered.pop(None, None)
    if numbered:
        return dict(sorted(numbered.items()))
    found = ", ".join(entry.name for entry in entries[:10]) or "nothing"
    raise FileNotFoundError(
        f"{folder} has no folders Fold1, Fold2, ... with train, vali and test files; "
        f"found: {found}"
    )


def load_letor_folds(
    folder: str | os.PathLike, *, folds: Sequence[int] | None = None, **load_kwargs
) -> Sequence[LetorFold]:
    """Open the folds of a LETOR data set such as MQ2008, OHSUMED or MSLR.

    Nothing is read before a part is asked for, but all files are looked for at once.

    Parameters
    ----------
    folder : str or path
        Folder that holds ``Fold1``, ``Fold2``, …, each with ``train.txt``,
        ``vali.txt`` and ``test.txt``, possibly compressed (``.gz``, ``.bz2``).
    folds : sequence of int, default=None
        Numbers of the folds wanted, counted from 1; None takes all.
    **load_kwargs : keywords
        Passed on to `load_letor`. Without ``n_features``, the parts of a fold get the
        width of the widest.

    Returns
    -------
    sequence of LetorFold
        Each has ``name``, ``paths`` and, read when asked for, ``train``, ``vali`` and
        ``test`` (see `RankingData`).

    Raises
    ------
    FileNotFoundError
        If the folder, a fold or a part is missing; says what was found instead.

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
    folder = Path(folder)
    numbered = _fold_folders(folder)
    wanted = list(numbered) if folds is None else list(folds)
    missing = [number for number in wanted if number not in numbered]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no fold {missing[0]}; it has {', '.join(map(str, numbered))}"
        )
    result = LetorFolds([numbered[number] for number in wanted], load_kwargs)
    for _ in result:  # a missing file shows now, not after hours of work
        pass
    return result
