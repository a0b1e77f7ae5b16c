"""Ids of queries and documents as arrays in which different ids stay different."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import chain, islice
from typing import Any

import numpy as np

from skrank._core._exact import beyond_floats
from skrank._core._messages import shown
from skrank._core._missing import where_missing

# Strings of fixed width may take this many bytes, or this many times as many as their
# objects would: so many for each beside its characters, which take one byte at least.
_FIXED_WIDTH, _WASTE, _OBJECT = 1 << 22, 3, 57
_DATES = np.datetime64, np.timedelta64
_OTHER_DATES = date, timedelta
# Units of NumPy in attoseconds, those of months in months.
_SIZES = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15}
_SIZES |= {"s": 10**18, "m": 60 * 10**18, "h": 3600 * 10**18, "D": 86400 * 10**18}
_SIZES |= {"W": 7 * 86400 * 10**18, "M": 1, "Y": 12}
_NO_COMMON_UNIT = "ids in days and in months have no unit in common"


class UnitError(ValueError):
    """Dates or durations of NumPy stand beside what has no unit in common with them."""


def id_array(ids: Sequence, sizes: np.ndarray | None = None) -> np.ndarray:
    """Return ids as an array in which each of them keeps apart from the others.

    NumPy gives every string the width of the longest, so that one long id among many
    rows would take all memory; it drops characters NUL at the end, so that two ids
    could become one; it turns numbers next to strings into strings, and whole numbers
    into floats, which do not tell large ones apart.

    Parameters
    ----------
    ids : sequence of objects
        Ids; tuples stay whole.
    sizes : ndarray of shape (n_ids,), default=None
        How often each id is repeated. None stands for once.

    Returns
    -------
    ndarray of shape (n_rows,)
        Of a type of numbers if all ids are numbers that it holds; of dtype str or bytes
        if all ids are of this kind, none ends in NUL and the longest id is not much
        longer than the others; of dtype object otherwise.

    Raises
    ------
    UnitError
        If dates or durations of NumPy have units of which none holds all of them, or
        stand beside ids of another type.
    """
    kinds = set(map(type, ids))
    if any(issubclass(kind, _DATES) for kind in kinds):
        array = _dates(ids, kinds)
    elif not any(issubclass(kind, (str, bytes, tuple, frozenset)) for kind in kinds):
        array = np.asarray(ids)
        whole = any(issubclass(kind, (int, np.integer)) for kind in kinds)
        if whole and array.dtype.kind in "fc" and beyond_floats(array.real):
            array = objects_of(ids)
    else:
        array = _fixed_width(ids, kinds, sizes)
        if array is None:
            array = objects_of(ids)
    return array if sizes is None else np.repeat(array, sizes)


def unmixed(ids: np.ndarray) -> np.ndarray:
    """Return an array of ids as `id_array` would have it where its own type misleads.

    Dates or durations among objects become an array of them; records, which do not
    compare, and texts of variable width, some of which may be missing, become what
    their entries are; others stay as they are.

    Raises
    ------
    UnitError
        As `id_array` does.
    """
    if ids.ndim == 1 and ids.dtype.kind == "V":
        return objects_of(ids.tolist())
    if ids.ndim == 1 and ids.dtype.kind == "T":
        return id_array(ids.tolist())
    if ids.ndim != 1 or ids.dtype != object:
        return ids
    kinds = set(map(type, ids))
    dated = any(issubclass(kind, _DATES) for kind in kinds)
    return _dates(ids.tolist(), kinds) if dated else ids


def _dates(ids: Sequence, kinds: set[type]) -> np.ndarray:
    """Return dates, or durations, in one unit; objects if some are missing.

    They may not stand beside others: some versions of NumPy compare durations with
    numbers, and take a duration beside a date for a date.
    """
    first = next(one for one in ids if isinstance(one, _DATES))
    objects = objects_of(ids)
    for one in objects[~where_missing(objects)]:
        if type(one) is not type(first):
            raise UnitError(
                "dates and durations of NumPy must not stand beside ids of another "
                f"type, got {shown(first)} and {shown(one)}"
            )
    try:
        array = np.asarray(ids)
    except OverflowError as error:  # since NumPy 2.5
        raise UnitError(f"ids do not fit into one type: {error}") from None
    if array.dtype != object:
        _check_unit(array.dtype, _by_type(ids))
    elif len(kinds) == 1:
        raise UnitError(_NO_COMMON_UNIT)
    return array


def objects_of(ids: Iterable) -> np.ndarray:
    """Return an array with one axis whose entries are the ids themselves."""
    ids = list(ids)
    return np.fromiter(ids, dtype=object, count=len(ids))


def _fixed_width(ids: Sequence, kinds: set[type], sizes: Any) -> np.ndarray | None:
    """Return strings as an array of fixed width, or None if that does not fit them."""
    whole = (t for t in (str, bytes) if all(issubclass(kind, t) for kind in kinds))
    dtype = next(whole, None)
    if dtype is None:
        return None
    lengths = np.fromiter(map(len, ids), np.intp, len(ids))
    n_rows = len(ids) if sizes is None else int(np.sum(sizes))
    n_characters = int(lengths.sum() if sizes is None else lengths @ sizes)
    width = int(lengths.max(initial=0)) * np.dtype((dtype, 1)).itemsize
    as_objects = _OBJECT * n_rows + n_characters
    if width * n_rows > max(_FIXED_WIDTH, _WASTE * as_objects):
        return None
    if not kinds <= {dtype, np.dtype(dtype).type}:
        # NumPy would take the names of members of an enumeration for their texts.
        ids = [dtype.__getitem__(one, slice(None)) for one in ids]
    array = np.array(ids, dtype=dtype)
    if array.shape != lengths.shape or (np.char.str_len(array) != lengths).any():
        return None
    return array


def id_list(ids: np.ndarray) -> list:
    """Return ids as Python compares them; dates stay dates, whatever their unit."""
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()


def id_text(one: Any) -> str:
    """Return an id as text; a member of an enumeration of texts is its text."""
    return str.__str__(one) if isinstance(one, str) else str(one)


def id_objects(ids: np.ndarray) -> np.ndarray:
    """Return ids as an array of objects; dates stay dates, whatever their unit.

    It can be written to, which compiled code asks of arrays of objects.
    """
    if ids.dtype.kind in "mM":
        return objects_of(list(ids))
    return np.require(ids, dtype=object, requirements=["C", "W"])


def comparable_ids(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays of ids in which what is the same date or duration is one key.

    Versions of NumPy hash a date differently in each unit, and not as Python does.
    Arrays of dates, or of durations, get one unit that holds all; where there is none,
    they stay as they are. Beside objects that are dates or durations, such as those of
    Python and of pandas, they become objects, and what is the same as one of these
    becomes this one; so do those of NumPy among other objects.
    """
    among = [_dated(ids, _DATES) if ids.dtype == object else [] for ids in arrays]
    if not any(among) and not any(ids.dtype.kind in "mM" for ids in arrays):
        return arrays
    dated = (_dated(ids, _OTHER_DATES) for ids in arrays if ids.dtype == object)
    objects = list(dict.fromkeys(chain.from_iterable(dated)))
    if not objects and not any(among):
        return _in_one_unit(arrays)
    known = {}
    # Of a day and its first moment, which Python tells apart, the moment is taken.
    for one in sorted(objects, key=lambda one: isinstance(one, datetime)):
        own = _of_numpy(one)
        if own is not None:
            known[_moments(own)[0]] = one
    for one in chain.from_iterable(among):
        known.setdefault(_moments(np.array([one]))[0], one)
    return tuple(_as_known(ids, own, known) for ids, own in zip(arrays, among))


def with_common_keys(
    tables: Mapping[str, Mapping], levels: Mapping[str, Sequence[str]]
) -> list[Mapping]:
    """Return nested mappings with keys as of `comparable_ids`.

    Parameters
    ----------
    tables : mapping of str to mapping
        Tables by the names that messages give to them.
    levels : mapping of str to sequence of str
        What the keys of each table name, outer ones first; those of one name are the
        same in all tables.

    Returns
    -------
    list of mapping
        The tables, themselves where nothing is to be done.

    Raises
    ------
    ValueError
        If a table has one date under two keys.
    """
    if not any(_has_dates(t, len(levels[name])) for name, t in tables.items()):
        return list(tables.values())
    own = {name: _keys_by_level(t, len(levels[name])) for name, t in tables.items()}
    found = {name: list(keys) for name, keys in own.items()}
    for what in dict.fromkeys(chain.from_iterable(levels.values())):
        places = [
            (n, kinds.index(what)) for n, kinds in levels.items() if what in kinds
        ]
        same = comparable_ids(*(own[name][level] for name, level in places))
        for (name, level), keys in zip(places, same):
            found[name][level] = keys
    return [
        table
        if all(map(operator.is_, found[name], own[name]))
        else rekeyed(table, found[name], name)
        for name, table in tables.items()
    ]


def _has_dates(table: Mapping, n_levels: int) -> bool:
    kinds, tables = set(map(type, table)), [table]
    for _ in range(n_levels - 1):
        tables = list(chain.from_iterable(table.values() for table in tables))
        kinds.update(map(type, chain.from_iterable(tables)))
    return any(issubclass(kind, _DATES) for kind in kinds)


def _keys_by_level(table: Mapping, n_levels: int) -> list[np.ndarray]:
    levels, tables = [], [table]
    for _ in range(n_levels):
        levels.append(objects_of(chain.from_iterable(tables)))
        tables = list(chain.from_iterable(table.values() for table in tables))
    return levels


def rekeyed(table: Mapping, keys: Sequence[np.ndarray], name: str) -> dict:
    """Return nested mappings with other keys, those of each level in their order."""
    levels = [iter(own.tolist()) for own in keys]

    def made(table, level):
        own = list(islice(levels[level], len(table)))
        values = table.values()
        if level + 1 < len(levels):
            values = [made(inner, level + 1) for inner in values]
        found = dict(zip(own, values))
        if len(found) < len(own):
            raise ValueError(f"{name} holds one date twice, in two units or types")
        return found

    return made(table, 0)


def _in_one_unit(arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    units = {ids.dtype for ids in arrays if ids.dtype.kind in "mM"}
    if len(units) < 2 or len({unit.kind for unit in units}) > 1:
        return arrays
    try:
        unit = np.result_type(*units)
    except TypeError:  # days and months
        return arrays
    except OverflowError:  # some versions of NumPy fail to compare them, too
        raise UnitError(_without_common_unit(units)) from None
    found = []
    for ids in arrays:
        if ids.dtype.kind in "mM":
            ids, held = _in_unit(ids, unit)
            if not held.all():
                return arrays
        found.append(ids)
    return tuple(found)


def _without_common_unit(units: set[np.dtype]) -> str:
    words = " and ".join(sorted(map(str, units)))
    return f"ids of {words} have no unit in common; convert all to one type"


def _dated(ids: np.ndarray, types: tuple[type, ...]) -> list:
    """Return those objects that are dates or durations, of some types."""
    kinds = {k for k in set(map(type, ids)) if issubclass(k, types)}
    return [one for one in ids if type(one) in kinds] if kinds else []


def _as_known(ids: np.ndarray, among: list, known: dict) -> np.ndarray:
    """Return ids in which dates of NumPy are the objects that are known for them.

    Those that are not known yet become so, as Python has them.
    """
    if ids.dtype.kind in "mM":
        pairs = zip(_moments(ids), _dates_of_python(ids))
        return objects_of([known.setdefault(moment, one) for moment, one in pairs])
    if not among:
        return ids
    replaced = {id(one): _as_known(np.array([one]), [], known)[0] for one in among}
    return objects_of([replaced.get(id(one), one) for one in ids])


def _moments(ids: np.ndarray) -> list:
    """Return dates or durations as numbers that are equal in all units."""
    if ids.dtype.kind == "M" and np.datetime_data(ids.dtype)[0] in "YM":
        ids = ids.astype("M8[D]")
    unit, count = np.datetime_data(ids.dtype)
    size = count * _SIZES.get(unit, 1)
    # Durations in months, and those without a unit, are no number of seconds.
    kind = ids.dtype.kind, "M" if unit in "YM" else unit if unit not in _SIZES else "s"
    return [(*kind, size * n) for n in ids.astype(np.int64).tolist()]


def _of_numpy(one: Any) -> np.ndarray | None:
    """Return a date or duration as an array of NumPy; None for times of a zone."""
    if getattr(one, "tzinfo", None) is not None:
        return None
    for name in ("to_datetime64", "to_timedelta64"):  # of pandas, with nanoseconds
        if hasattr(one, name):
            return np.array([getattr(one, name)()])
    if isinstance(one, timedelta):
        return np.array([one], dtype="m8[us]")
    return np.array([one], dtype=None if isinstance(one, _DATES) else "M8")


def _dates_of_python(ids: np.ndarray) -> list:
    """Return dates or durations as Python has them, those that it lacks as they are."""
    kind, unit = ids.dtype.kind, np.datetime_data(ids.dtype)[0]
    fine = unit in ("ns", "ps", "fs", "as")
    coarse = ids.astype(f"{kind}8[us]") if fine else ids
    whole = (coarse.astype(ids.dtype) == ids).tolist()
    return [
        own if same and isinstance(own, (date, timedelta)) else one
        for own, one, same in zip(coarse.tolist(), ids, whole)
    ]


def id_keys(ids: np.ndarray) -> list:
    """Return ids as keys, of which no date or duration is equal to a number."""
    keys = id_list(ids)
    # Some versions of NumPy compare durations with numbers.
    if ids.dtype.kind in "mM":
        return [(type(k), k) for k in keys]
    if ids.dtype == object and any(issubclass(k, _DATES) for k in set(map(type, keys))):
        return [(type(k), k) if isinstance(k, _DATES) else k for k in keys]
    return keys


def _by_type(ids: Sequence) -> Iterator[np.ndarray]:
    """Yield the ids of each type of NumPy, and those that have none, as arrays."""
    parts: dict[Any, list] = {}
    for one in ids:
        parts.setdefault(getattr(one, "dtype", None), []).append(one)
    return map(np.asarray, parts.values())


def _check_unit(unit: np.dtype, arrays: Iterable[np.ndarray]) -> None:
    for ids in arrays:
        if ids.dtype.kind == unit.kind and not _in_unit(ids, unit)[1].all():
            raise UnitError(
                f"an id of type {ids.dtype} does not fit into {unit}, the type of "
                "others; convert all to one type that holds them"
            )


def _common_unit(first: np.ndarray, second: np.ndarray) -> np.dtype | None:
    """Return the coarsest unit that holds both; None where there is none."""
    try:
        return np.promote_types(first.dtype, second.dtype)
    except (TypeError, OverflowError):
        return None


def _in_unit(ids: np.ndarray, unit: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return dates or durations in another unit, and which of them it can hold."""
    try:
        found = ids.astype(unit)
    except OverflowError:  # since NumPy 2.5
        found = np.array([_one_in_unit(one, unit) for one in ids], dtype=unit)
    return found, (found.astype(ids.dtype) == ids) | np.isnat(ids)


def _one_in_unit(one: Any, unit: np.dtype) -> Any:
    """Return a date or duration in another unit; NaT if that cannot hold it."""
    try:
        return one.astype(unit)
    except OverflowError:
        return np.array("NaT", dtype=unit)[()]


def where_among(ids: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which ids are among others, which may be of another type."""
    if ids.dtype.kind == others.dtype.kind != "O":
        if ids.dtype.kind not in "mM" or ids.dtype == others.dtype:
            return np.isin(ids, others)
        unit = _common_unit(ids, others)
        if unit is None:
            return np.zeros(len(ids), dtype=bool)
        (own, held), (known, known_held) = (_in_unit(a, unit) for a in (ids, others))
        return held & np.isin(own, known[known_held])
    ids, others = comparable_ids(ids, others)
    # NumPy would first turn both into one type, in which 1 is the same as "1".
    known = set(id_keys(others))
    return np.fromiter((one in known for one in id_keys(ids)), bool, len(ids))


def joined_ids(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the ids of two arrays, none of which turns into an id of another type.

    Raises
    ------
    UnitError
        If dates or durations have units of which none holds all of them.
    """
    if not len(second):
        return first
    if first.dtype.kind == second.dtype.kind:
        if first.dtype.kind in "mM" and first.dtype != second.dtype:
            unit = _common_unit(first, second)
            if unit is None:
                raise UnitError(_without_common_unit({first.dtype, second.dtype}))
            _check_unit(unit, (first, second))
        return np.concatenate([first, second])
    first, second = comparable_ids(first, second)
    return objects_of(id_list(first) + id_list(second))


def in_order(ids: Iterable) -> list:
    """Return ids in ascending order; those that do not compare, by type and text."""
    ids = list(ids)
    try:
        return sorted(ids)
    except (TypeError, ValueError, OverflowError):
        return sorted(ids, key=lambda value: (type(value).__name__, repr(value)))
