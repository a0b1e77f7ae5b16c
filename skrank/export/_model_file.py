"""Reading and writing model files.

A model file is a zip archive. ``model.json`` holds a header and the model as a tree of
plain values; arrays are stored beside it in NumPy's .npy format, without pickles.
"""

import io
import json
import lzma
import os
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from skrank._version import __version__
from skrank.export._atomic import atomic_write
from skrank.export._decode import Decoder
from skrank.export._encode import Encoder

FORMAT = "skrank-model"
FORMAT_VERSION = 2
# Version 1 has the same layout, but older names of classes and fewer parameters.
_READABLE_VERSIONS = (1, FORMAT_VERSION)
_JSON = "model.json"
# What `zipfile` raises over a damaged archive: RuntimeError where a flipped bit says
# that a member is encrypted, OSError where an offset is wrong.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
)
_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal models make equal files


def save_model(model: BaseEstimator, path: str | os.PathLike) -> None:
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
    path : str or path-like
        File to write; an existing one is replaced, unless saving fails.

    Raises
    ------
    TypeError
        If the model or an attribute has no safe form, such as a function given as
        ``callback``; the message names the attribute.

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
        raise TypeError(f"model must be an estimator, got {model!r:.80}")
    encoder = Encoder()
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "model": encoder.estimator(model, type(model).__name__),
    }
    # All is encoded before the file is touched: what has no safe form leaves it alone.
    text = json.dumps(document, indent=1, allow_nan=False)
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        _write_member(archive, _JSON, text.encode())
        for name, array in encoder.arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _write_member(archive, name, buffer.getbuffer())


def load_model(path: str | os.PathLike) -> BaseEstimator:
    """Read an estimator from a file that `save_model` wrote.

    Only public classes of skrank and a fixed list of scikit-learn classes are
    constructed, so loading a file from an untrusted source does not run code.

    Parameters
    ----------
    path : str or path-like
        File to read.

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
        a class that is not allowed, or holds parameters or fitted attributes that do
        not make a working model.
    OSError
        If the file cannot be read.

    Warns
    -----
    UserWarning
        If the file was written by another version of skrank.
    """
    # What fails here is reading; what fails later is the content, also if it is an
    # OSError, as of a place before the beginning that a damaged archive asks for.
    content = io.BytesIO(Path(path).read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            document = json.loads(archive.read(_JSON))
            written_by = _check_header(document)
            _warn_of_another_version(written_by)
            complete = (
                document["format_version"] == FORMAT_VERSION
                and written_by == __version__
            )
            decoder = Decoder(_array_reader(archive), complete=complete)
            return decoder.estimator(document["model"])
    except Warning:  # the user has made errors of warnings
        raise
    except _DAMAGED as error:
        raise ValueError(f"{path} is damaged or not a model file: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not a valid model file: {error}") from None
    except Exception as error:
        # Damaged files cause errors of every kind on the way. They must not reach the
        # user as if they were mistakes of skrank.
        raise ValueError(f"{path} is not a valid model file: {error!r}") from None


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


def _array_reader(archive):
    def read(name):
        buffer = io.BytesIO(archive.read(name))
        return np.lib.format.read_array(buffer, allow_pickle=False)

    return read


def _check_header(document: Any) -> str:
    """Check the header; return the version of skrank that wrote the file."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{_JSON} has no header of format {FORMAT!r}")
    version = document.get("format_version")
    # 2.0 and True are equal to readable versions, and no file was written so.
    if type(version) is not int or version not in _READABLE_VERSIONS:
        readable = " and ".join(map(str, _READABLE_VERSIONS))
        raise ValueError(
            f"format version {version!r} is unknown; this version of skrank reads "
            f"versions {readable}"
        )
    written_by = document["versions"]["skrank"]
    if not isinstance(written_by, str):
        raise ValueError(f"the version of skrank is no string: {written_by!r:.80}")
    return written_by


def _warn_of_another_version(written_by: str) -> None:
    if written_by != __version__:
        warnings.warn(
            f"the model was written by skrank {written_by} and is read by "
            f"{__version__}; check its predictions",
            UserWarning,
            stacklevel=3,
        )
