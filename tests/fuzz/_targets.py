"""What is fuzzed: where inputs come from, and what must hold for each of them."""

import io
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from fuzz._models import SavedModels
from fuzz._mutate import mutate
from scipy.sparse import issparse

from skrank.datasets import dump_letor, load_letor, load_qrels, load_run

CORPUS = Path(__file__).parent / "corpus"


def problem_of(target: "Target", data: bytes) -> str:
    """Return what is wrong with how an input is treated, "" if nothing is."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            target.run(data)
        except ValueError as error:
            # Other errors than this one, with a sentence, are defects.
            return "" if len(str(error).split()) > 2 else f"no sentence: {error!r}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


class Target(ABC):
    """One reader."""

    name: str
    words: Sequence[bytes] = ()

    @cached_property
    def seeds(self) -> list[bytes]:
        """Inputs to start from."""
        folder = CORPUS / self.name
        return [path.read_bytes() for path in sorted(folder.iterdir())]

    def case(self, seed: int, number: int) -> bytes:
        """Return one of the inputs that follow from a seed."""
        rng = np.random.default_rng([seed, number])
        if number < len(self.seeds):
            return self.seeds[number]
        return mutate(self.seeds[rng.integers(len(self.seeds))], self.words, rng)

    @abstractmethod
    def run(self, data: bytes) -> None:
        """Read an input; any error but ValueError is a defect."""


class Letor(Target):
    """The reader of LETOR text."""

    name = "letor"
    words = tuple(
        word.encode()
        for word in (
            *(" ", "\t", "\n", "\r", "\r\n", "\0", "#", ":", "qid:", " qid:1 ", "é"),
            *("1:", "2:0.5", " 3:1e5", " 7:nan", " 8:NULL", "inf", "-", "+", ".", "e"),
            *(
                "1e308",
                "1e-400",
                "1" * 20,
                "0." + "1" * 30,
                "0" * 40,
                "9007199254740993",
            ),
            *("2147483647:1", "2147483648:1", "16777216:1", "16777217:1", "99:1"),
            *(
                "9223372036854775807",
                "9223372036854775808",
                "-0",
                "07",
                "a\0",
                "#docid = x",
            ),
        )
    )

    def run(self, data):
        text = memoryview(bytearray(data))  # ASan knows where its copy ends
        sparse = load_letor(text, sparse=True, dtype=np.float64, n_jobs=1)
        threads = load_letor(text, sparse=True, dtype=np.float64, n_jobs=3)
        _assert_same(sparse, threads)
        if _is_small(sparse):
            dense = load_letor(text, dtype=np.float64, n_jobs=2)
            _assert_same(sparse, dense)
            self._round_trip(dense)

    def _round_trip(self, data):
        """What was read is written and read again."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "again.txt"
            dump_letor(data.X, data.y, data.groups, path)
            again = load_letor(path, dtype=np.float64, n_features=data.X.shape[1])
        _assert_same(data, again)


def _is_small(data) -> bool:
    return data.X.shape[0] * data.X.shape[1] <= 1 << 20


def _assert_same(one, other):
    np.testing.assert_array_equal(one.y, other.y)
    assert one.groups.tolist() == other.groups.tolist()
    assert one.X.shape == other.X.shape
    if _is_small(one):
        left, right = (X.toarray() if issparse(X) else X for X in (one.X, other.X))
        np.testing.assert_array_equal(left, right)


class Fields(Target):
    """The readers of TREC's lines of fields."""

    name = "fields"
    words = (
        *(b" ", b"\t", b"\n", b"\r\n", b"\0", b"\x0b", b"\x0c", b"#", b"# ", b"Q0"),
        *(b"301", b"d1", b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"0x1", b"\xc3"),
        *(b"\xff\xfe", b"301 Q0 d1 1 2.5 tag\n", b"301 0 d1 1\n", b"-", b"1" * 400),
    )

    def run(self, data):
        for load in (load_qrels, load_run):
            try:
                found = load(memoryview(bytearray(data)))
            except ValueError as error:
                if len(str(error).split()) <= 2:
                    raise TypeError(f"no sentence: {error!r}") from error
                continue
            numbers = found.y if load is load_qrels else found.scores
            assert len(found.groups) == len(found.docids) == len(numbers) > 0
            assert not np.isnan(numbers).any()


class Model(Target):
    """The loader of model files, and the models that it returns."""

    name = "model"

    @cached_property
    def _saved(self):
        return SavedModels()

    @cached_property
    def seeds(self):
        return self._saved.files

    def case(self, seed, number):
        rng = np.random.default_rng([seed, number])
        index = int(rng.integers(len(self.seeds)))
        # The first byte says how the model is used; it is not part of the file.
        head = index.to_bytes(2, "little")
        if number < len(self.seeds):
            return number.to_bytes(2, "little") + self.seeds[number]
        return head + self._saved.changed(index, rng)

    def run(self, data):
        index = int.from_bytes(data[:2], "little") % len(self.seeds)
        self._saved.use(index, io.BytesIO(data[2:]))


TARGETS: dict[str, Target] = {t.name: t for t in (Letor(), Fields(), Model())}
