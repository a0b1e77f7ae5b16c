"""What is fuzzed: where inputs come from, and what must hold for each of them."""

import io
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from fuzz._indices import SavedIndices, use, use_overwritten
from fuzz._models import SavedModels
from fuzz._mutate import mutate
from scipy.sparse import issparse

from skrank.click import Sessions, iter_sessions, load_sessions, save_sessions
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


class Logs(Target):
    """The readers of logs of sessions."""

    name = "logs"
    words = (
        *(b"\t", b",", b":", b";", b"\n", b"\r\n", b"\0", b" ", b" : ", b"\xc3", b"-1"),
        *(b"q1\ta,b : a;", b"s1\tq\ta\t1\t0\n", b"s1\tq\tb\t2\t1\n", b"1.0", b"True"),
        *(b"session\tquery\tdocument\tclick\n", b"9" * 30, b"1_0", b"\xff\xfe", b"s1"),
    )

    def run(self, data):
        for kind in ("yandex", "tsv", "auto"):
            for stray in ("raise", "drop"):
                self._read(data, {"format": kind, "stray_clicks": stray})

    def _read(self, data, options):
        try:
            whole = load_sessions(data, **options)
        except ValueError as error:
            if len(str(error).split()) <= 2:
                raise TypeError(f"no sentence: {error!r}") from error
            return
        assert len(whole) > 0
        assert set(whole.click.tolist()) <= {0, 1}
        try:
            parts = list(iter_sessions(data, 3, **options))
        except ValueError as error:
            # Rows of a session may stand apart in a whole file only.
            if "load_sessions" in str(error):
                return
            raise TypeError(f"read as a whole, not in pieces: {error}") from error
        assert all(len(p) == 1 or p.n_impressions <= 3 for p in parts)
        _assert_same_log(whole, Sessions.concat(parts))
        self._round_trip(whole)

    def _round_trip(self, sessions):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.tsv"
            try:
                save_sessions(sessions, path)
            except ValueError as error:
                # An id of the one format may hold what parts fields in the other.
                if "separates fields" not in str(error):
                    raise TypeError(str(error)) from error
                return
            _assert_same_log(sessions, load_sessions(path))


def _assert_same_log(one, other):
    left, right = (
        (
            s.query_ids[s.query].tolist(),
            s.document_ids[s.document].tolist(),
            s.click.tolist(),
            s.ptr.tolist(),
        )
        for s in (one, other)
    )
    assert left == right


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


class Index(Target):
    """The loader of index files, and searches in files that change meanwhile."""

    name = "index"

    @cached_property
    def _saved(self):
        return SavedIndices()

    @cached_property
    def seeds(self):
        return self._saved.files

    def case(self, seed, number):
        # The first bytes say which file it was and what is done with it.
        if number < len(self.seeds):
            return bytes([number, 0]) + self.seeds[number]
        rng = np.random.default_rng([seed, number])
        file, kind = int(rng.integers(len(self.seeds))), int(rng.integers(3))
        change = self._saved.overwritten if kind == 2 else self._saved.changed
        return bytes([file, kind]) + change(file, rng)

    def run(self, data):
        file, kind, content = data[0] % len(self.seeds), data[1], data[2:]
        if kind == 2 and len(content) == len(self.seeds[file]):
            use_overwritten(self.seeds[file], content)
        else:
            use(content, mapped=kind == 1)


TARGETS: dict[str, Target] = {
    t.name: t for t in (Letor(), Fields(), Logs(), Model(), Index())
}
