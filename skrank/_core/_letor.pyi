from collections.abc import Callable
from mmap import mmap

import numpy as np
import numpy.typing as npt

_Text = bytes | bytearray | memoryview | mmap | np.ndarray

ERRORS: tuple[str, ...]

class ParseError(ValueError):
    reason: str
    offset: int

    def __init__(self, reason: str, offset: int) -> None: ...

class ParsedText:
    n_rows: int
    max_index: int
    # If there are rows:
    y: np.ndarray
    qid: np.ndarray
    integer_qids: bool
    qid_start: np.ndarray
    qid_length: np.ndarray
    comment_start: np.ndarray
    comment_length: np.ndarray
    # Of a dense text:
    X: np.ndarray
    # Of a sparse text:
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

def largest_index(text: _Text, n_threads: int) -> tuple[int, int]: ...
def parse_letor(
    text: _Text,
    dtype: npt.DTypeLike,
    sparse: bool,
    n_features: int | None,
    n_threads: int,
    clip: bool = False,
    check_size: Callable[[int, int], None] | None = None,
) -> ParsedText: ...
def parse_fields(text: _Text, n_fields: int) -> tuple[np.ndarray, np.ndarray]: ...
def parse_numbers(
    text: _Text,
    starts: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray: ...
def join_spans(
    text: _Text,
    starts: np.ndarray,
    lengths: np.ndarray,
) -> bytes: ...
def format_dense(
    X: np.ndarray,
    y: np.ndarray,
    qids: list[bytes],
    tails: list[bytes],
    skip_zeros: bool,
) -> bytes: ...
def format_sparse(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    y: np.ndarray,
    qids: list[bytes],
    tails: list[bytes],
) -> bytes: ...
