"""Reading and writing model files.

A model file is a zip archive. ``model.json`` holds a header and the model as a tree of
plain values; arrays are stored beside it in NumPy's .npy format, without pickles.
"""

import io
import json
import math
import os
import warnings
import zipfile
from typing import IO, Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from skrank._core._messages import problem_in, shortened, shown, words_of
from skrank._core._parameters import NBytes
from skrank._core._paths import checked_path
from skrank._core._reading import (
    ENDLESS,
    LimitError,
    Source,
    byte_limit,
    check_packing,
    open_bytes,
    source_name,
)
from skrank._core._validation import check_arguments
from skrank._core._writing import atomic_write, check_writable
from skrank._version import __version__
from skrank.export._decode import Decoder
from skrank.export._encode import Encoder

FORMAT = "skrank-model"
FORMAT_VERSION = 2
# Version 1 has the same layout, but older names of classes and fewer parameters.
_READABLE_VERSIONS = (1, FORMAT_VERSION)
_JSON = "model.json"
_PIECE = 2**20
_LENGTH = 300  # characters of what a message quotes
# Python takes up to so many times the memory of a JSON text for what it says.
_JSON_WEIGHT = 16
# Estimators that a file may hold: some, and one more for so many bytes of the file. A
# trained one takes more bytes; a part repeated often takes few, and much time to check.
_SOME_OBJECTS = 1000
_SIZE_OF_OBJECT = 100
_MOST_AXES = 32  # all that NumPy 1 takes
_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal models make equal files


def save_model(model: BaseEstimator, path: str | os.PathLike | IO[bytes]) -> None:
    """Write an estimator to a file that is safe to load.

    The file is a zip archive of ``model.json`` and .npy arrays, with a format version;
    it holds no pickle and no code. Numbers are saved exactly: the scores of the loaded
    model are the same to the bit.

    Parameters
    ----------
    model : BaseEstimator
        An object of a public class of skrank, a pipeline, or one of those preprocessors
        and linear models of scikit-learn that consist of arrays and plain values; it
        need not be fitted.
    path : str, path-like or file object
        File to write; an existing one is replaced, unless saving fails. A file object
        must take bytes.

    Raises
    ------
    TypeError
        If the model or an attribute has no safe form, such as a function given as
        ``callback``; the message names the attribute. If ``path`` is neither a path
        nor a file object.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.datasets import make_ranking
    >>> from skrank.export import load_model, save_model
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=10, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.skrank")
    ...     save_model(ranker, path)
    ...     loaded = load_model(path)
    >>> bool((loaded.predict(X) == ranker.predict(X)).all())
    True
    """
    if isinstance(model, type) or not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be an estimator, got {shown(model)}")
    if not callable(getattr(path, "write", None)):
        checked_path(path, purpose="write")
    if isinstance(path, (str, os.PathLike)):
        check_writable(path)
    encoder = Encoder()
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "model": encoder.estimator(model, type(model).__name__),
    }
    # All is encoded before the file is touched: what has no safe form leaves it alone.
    text = json.dumps(document, indent=1, allow_nan=False)
    if isinstance(path, (str, os.PathLike)):
        with atomic_write(path, "wb") as file:
            _write_archive(file, text, encoder.arrays)
    else:
        buffer = io.BytesIO()
        _write_archive(buffer, text, encoder.arrays)
        path.write(buffer.getbuffer())


def _write_archive(file, text, arrays):
    archive = zipfile.ZipFile(file, "w")
    try:
        _write_member(archive, _JSON, text.encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _write_member(archive, name, buffer.getbuffer())
        archive.close()
    except BaseException:
        # An archive without a file is closed. Closed in the middle of a member, it
        # would raise an error of its own in place of an interrupt.
        archive.fp = None
        raise


def load_model(path: Source, *, max_bytes: NBytes | None = None) -> BaseEstimator:
    """Read an estimator from a file that `save_model` wrote.

    Only public classes of skrank and a fixed list of scikit-learn classes are
    constructed, so loading a file from an untrusted source does not run code.

    Parameters
    ----------
    path : str, path, file object or bytes
        File to read.
    max_bytes : int, default=None
        Largest number of bytes that the file may unpack to. None accepts a hundred
        times the size of the file, which models hardly reach, and 256 MiB in any case;
        so a small file cannot fill the memory.

    Returns
    -------
    BaseEstimator
        The model that was saved. Classes that have been renamed since then are
        found under their present names, and parameters that have been added have their
        defaults.

    Raises
    ------
    ValueError
        If the file is damaged, is no model file, has an unknown format version, names
        a class that is not allowed, holds parameters or fitted attributes that do not
        make a working model, or unpacks to more than ``max_bytes``.
    OSError
        If the file cannot be read.

    Warns
    -----
    UserWarning
        If the file was written by another version of skrank.
    """
    check_arguments(load_model, max_bytes=max_bytes)
    name = source_name(path)
    # What fails here is reading; what fails later is the content, also if it is an
    # OSError, as of a place before the beginning that a damaged archive asks for.
    # The members are limited when they are unpacked; this limit is for pipes.
    limit = None if max_bytes is None else max(max_bytes, ENDLESS)
    with open_bytes(path, limit, argument="path") as raw:
        content = bytes(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _Members(archive, name, byte_limit(len(content), max_bytes))
            return _decoded(members, len(content))
    except (Warning, LimitError):  # the user may have made errors of warnings
        raise
    except zipfile.BadZipFile as error:
        problem = shortened(words_of(error), _LENGTH)
        raise ValueError(f"{name} is damaged or not a model file: {problem}") from None
    except RecursionError:
        message = f"{name} is not a valid model file: it is nested too deeply"
        raise ValueError(message) from None
    except Exception as error:
        # Damaged files cause errors of every kind on the way. They must not reach the
        # user as if they were mistakes of skrank.
        message = f"{name} is not a valid model file: {problem_in(error)}"
        raise ValueError(message) from None


def _decoded(members, size):
    document = json.loads(members.read(_JSON, weight=_JSON_WEIGHT))
    written_by = _check_header(document)
    _warn_of_another_version(written_by)
    complete = (
        document["format_version"] == FORMAT_VERSION and written_by == __version__
    )
    most = _SOME_OBJECTS + size // _SIZE_OF_OBJECT
    decoder = Decoder(members.array, complete=complete, max_objects=most)
    return decoder.estimator(document["model"])


class _Members:
    """Members of a model file, whose sizes are counted while they are unpacked."""

    def __init__(self, archive, name, limit):
        check_packing(archive.infolist())
        self._archive = archive
        self._names = set(archive.namelist())
        self._name = name
        self._limit = limit
        self._left = limit

    def read(self, member: str, weight: int = 1) -> bytes:
        """Return a member, each byte of which counts as ``weight`` bytes."""
        content = bytearray()
        if not isinstance(member, str) or member not in self._names:
            raise ValueError(f"it lacks the member {shown(member)}")
        with self._archive.open(member) as file:
            while piece := file.read(_PIECE):
                self._left -= weight * len(piece)
                # Each reading counts: a file could name one member a million times.
                if self._left < 0:
                    raise LimitError(self._name, self._limit)
                content += piece
        return bytes(content)

    def array(self, member: str) -> np.ndarray:
        """Return the array of a member."""
        content = self.read(member)
        _check_array_header(content, member)
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _check_array_header(content, member):
    """Raise an error unless the array has the size that its header claims."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
    except ValueError:
        raise ValueError(f"{member} does not begin like an array") from None
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{member} has the unknown format version {version}")
    read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
    try:
        shape, _, dtype = read(file)
    except Exception:  # of Python's parser, about its own objects
        message = f"{member} has a header that describes no array"
        raise ValueError(message) from None
    if any(n < 0 for n in shape):
        message = f"{member} has the shape {shown(shape)}, with a length below 0"
        raise ValueError(message)
    if len(shape) > _MOST_AXES:
        raise ValueError(
            f"{member} has {len(shape)} axes; accepted are at most {_MOST_AXES}"
        )
    if dtype.hasobject:  # what follows would be a pickle
        raise ValueError(f"{member} holds Python objects, which model files never do")
    if dtype.itemsize == 0 and math.prod(shape) > 0:
        raise ValueError(f"{member} holds {shown(math.prod(shape))} values of no size")
    size = math.prod(shape) * dtype.itemsize
    if size != len(content) - file.tell():
        raise ValueError(
            f"{member} should hold {shown(size)} bytes according to its header, but "
            f"holds {len(content) - file.tell()}"
        )


def _versions():
    return {
        "skrank": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }


def _write_member(archive, name, content):
    info = zipfile.ZipInfo(name, date_time=_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _check_header(document: Any) -> str:
    """Check the header; return the version of skrank that wrote the file."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{_JSON} has no header of format {FORMAT!r}")
    version = document.get("format_version")
    # 2.0 and True are equal to readable versions, and no file was written so.
    if type(version) is not int or version not in _READABLE_VERSIONS:
        readable = " and ".join(map(str, _READABLE_VERSIONS))
        raise ValueError(
            f"format version {shown(version)} is unknown; this version of skrank reads "
            f"versions {readable}"
        )
    written_by = document["versions"]["skrank"]
    if not isinstance(written_by, str):
        raise ValueError(f"the version of skrank is no string: {shown(written_by)}")
    return written_by


def _warn_of_another_version(written_by: str) -> None:
    if written_by != __version__:
        warnings.warn(
            f"the model was written by skrank {shortened(written_by)} and is read by "
            f"{__version__}; check its predictions",
            UserWarning,
            stacklevel=4,
        )
