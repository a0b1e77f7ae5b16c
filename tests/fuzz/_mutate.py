"""Random changes of bytes, with the words of a format."""

from collections.abc import Callable, Sequence

import numpy as np

_INTERESTING = (0, 1, 7, 8, 9, 10, 13, 32, 35, 43, 45, 46, 48, 57, 58, 127, 128, 255)


def mutate(data: bytes, words: Sequence[bytes], rng: np.random.Generator) -> bytes:
    """Return some bytes after a few random changes.

    Parameters
    ----------
    data : bytes
        Input that a reader accepts, or almost.
    words : sequence of bytes
        What a format consists of; inserted as a whole.
    rng : Generator
        Source of randomness.

    Returns
    -------
    bytes
        At most 64 kB.
    """
    for _ in range(1 + rng.geometric(0.35)):
        change = _CHANGES[rng.integers(len(_CHANGES))]
        data = change(data, words, rng)[: 1 << 16]
    return data


def _place(data, rng) -> int:
    return int(rng.integers(len(data) + 1))


def _span(data, rng) -> tuple[int, int]:
    a = _place(data, rng)
    return a, min(len(data), a + int(rng.geometric(0.08)))


def _flip(data, words, rng):
    if not data:
        return data
    changed = bytearray(data)
    changed[rng.integers(len(data))] ^= 1 << rng.integers(8)
    return bytes(changed)


def _set(data, words, rng):
    if not data:
        return data
    changed = bytearray(data)
    changed[rng.integers(len(data))] = _INTERESTING[rng.integers(len(_INTERESTING))]
    return bytes(changed)


def _insert(data, words, rng):
    a = _place(data, rng)
    word = words[rng.integers(len(words))] if words else b"\0"
    return data[:a] + word * (1 if rng.random() < 0.8 else 17) + data[a:]


def _replace(data, words, rng):
    a, b = _span(data, rng)
    return data[:a] + (words[rng.integers(len(words))] if words else b"") + data[b:]


def _delete(data, words, rng):
    a, b = _span(data, rng)
    return data[:a] + data[b:]


def _repeat(data, words, rng):
    a, b = _span(data, rng)
    return data[:b] + data[a:b] * int(rng.integers(1, 9)) + data[b:]


def _move(data, words, rng):
    a, b = _span(data, rng)
    rest = data[:a] + data[b:]
    c = _place(rest, rng)
    return rest[:c] + data[a:b] + rest[c:]


def _cut(data, words, rng):
    return data[: _place(data, rng)]


_CHANGES: tuple[Callable[[bytes, Sequence[bytes], np.random.Generator], bytes], ...] = (
    _flip,
    _set,
    _insert,
    _insert,
    _replace,
    _replace,
    _delete,
    _repeat,
    _move,
    _cut,
)
