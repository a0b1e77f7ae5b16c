"""The folder of a LETOR data set: Fold1 to Fold5 with train, vali and test."""

import os
import re
from collections.abc import Iterator, Sequence
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
        folder = Path(folder)
        self.name = folder.name
        self.paths = {part: _find_part(folder, part) for part in _PARTS}
        self._load_kwargs = load_kwargs

    def __repr__(self) -> str:
        return f"LetorFold({str(self.paths['train'].parent)!r})"

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


class LetorFoldSequence(Sequence):
    """Folds in their order; each access makes a fold that has read nothing yet."""

    def __init__(self, folders, load_kwargs):
        self._folds = [LetorFold(folder, **load_kwargs) for folder in folders]

    def __len__(self) -> int:
        return len(self._folds)

    def __getitem__(self, i):
        return self._fresh(i) if not isinstance(i, slice) else [
            self._fresh(k) for k in range(len(self))[i]
        ]

    def __iter__(self) -> Iterator[LetorFold]:
        return (self._fresh(i) for i in range(len(self)))

    def _fresh(self, i):
        fold = self._folds[i]
        return LetorFold(fold.paths["train"].parent, **fold._load_kwargs)
