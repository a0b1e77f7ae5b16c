"""The definition of an experiment: a file in TOML, and the options that override it."""

import argparse
import difflib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.model_selection import ParameterGrid

from skrank._core._messages import has_control, on_one_line, shown
from skrank._core._reading import open_text
from skrank.cli._errors import CommandError
from skrank.cli._io import source
from skrank.cli._names import make_with, parse_value, rankers
from skrank.cli._options import given
from skrank.cli._outputs import texts_in
from skrank.experiments import RankerGrid
from skrank.experiments._grid import Configuration

# Commas outside of brackets.
_COMMA = re.compile(r",(?![^(\[{]*[)\]}])")
_TEXT = (str,), "a text"
_LIST = (str, list), "a text or a list of texts"
_NUMBER = (int,), "a whole number"
_FLAG = (bool,), "true or false"
_KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    "data": ((str, list, dict), "a path, a list of paths or a table of them"),
    "rankers": ((list, dict), "a list of names or a table"),
    "grids": ((dict,), "a table"),
    "measures": _LIST,
    "selection": _TEXT,
    "preset": _TEXT,
    "normalize": _TEXT,
    "features": _LIST,
    "seeds": _NUMBER,
    "early_stopping": _FLAG,
    "folds": _NUMBER,
    "shuffle": _NUMBER,
    "sparse": _FLAG,
    "dtype": _TEXT,
    "label": _TEXT,
    "qid": _TEXT,
    "docid": _TEXT,
    "categorical": _LIST,
    "reference": _TEXT,
    "test": _TEXT,
    "correction": _TEXT,
    "level": ((int, float), "a number"),
}
_ROW_KEYS = {
    "ranker": _TEXT,
    "grid": ((dict, list), "a table, or a list of tables"),
    "seeds": _NUMBER,
    "early_stopping": _FLAG,
    "features": _LIST,
}
# Options whose names differ from the keys of the file.
_RENAMED = {"metrics": "measures", "select": "selection"}


class _NamedGrid(RankerGrid):
    """A ranker whose choices were made from names."""

    choices: Sequence[Any] = ()

    def configurations(self) -> list[Configuration]:
        """Return the ranker with every choice of its parameters."""
        self._check_parameters()
        return list(self.choices)


@dataclass
class Definition:
    """What an experiment is.

    Attributes
    ----------
    data : dict of str to str
        Folders and files by the names of the data sets.
    rows : dict of str to RankerGrid
        Rankers by the names of their rows.
    options : dict of str to object
        The other keys that the file or an option has set.
    texts : list of str
        All texts of the file.
    """

    data: dict[str, str]
    rows: dict[str, RankerGrid]
    options: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


def definition_of(args: argparse.Namespace) -> Definition:
    """Read the definition of an experiment from a file and the options.

    Parameters
    ----------
    args : Namespace
        Arguments.

    Returns
    -------
    Definition

    Raises
    ------
    CommandError
        If a key or a value is not accepted, or data or rankers are missing.
    """
    document = {} if args.config is None else _read(args.config, args.max_bytes)
    rows = _rows(document, args)
    data = _data(document, args)
    options = {
        k: v for k, v in document.items() if k not in ("data", "rankers", "grids")
    }
    if "features" in given(args):
        _set_features(args.features, rows, options)
    for name in given(args).keys() - {"features"}:
        key = _RENAMED.get(name, name)
        if key in _KEYS and key not in ("data", "rankers", "grids"):
            options[key] = getattr(args, name)
    if "reference" not in given(args):
        _choose_reference(options, document, rows)
    grids = {name: _grid(name, row) for name, row in rows.items()}
    return Definition(data, grids, options, list(texts_in(document)))


def _set_features(texts, rows, options):
    """Set the features of rows, and those of all rows that have none of their own."""
    named = set()
    for text in texts:
        row, equals, features = text.partition("=")
        if not equals or row not in rows:
            if equals:
                _refuse_misspelt(row, rows)
            row, features = None, text  # features may have such names, too
        if row in named:
            whose = "all rows" if row is None else shown(row)
            raise CommandError(f"--features names those of {whose} twice")
        named.add(row)
        if not features.strip():
            raise CommandError(f"--features takes [ROW=]LIST, got {shown(text)}")
        if row is None:
            options["features"] = features
        else:
            rows[row] = {**rows[row], "features": features}


def _refuse_misspelt(row, rows):
    """Raise an error about the features of a row that is nearly one of the table."""
    known = {name.casefold(): name for name in rows}
    close = difflib.get_close_matches(row.casefold(), known, n=1)
    if close:
        raise CommandError(
            f"--features {shown(row)} is no row of the table; did you mean "
            f"{shown(known[close[0]])}?"
        )


def _choose_reference(options, document, rows):
    """Let the first row stand for a reference of the file that --ranker left out."""
    known = (*document.get("rankers", ()),)
    if options.get("reference") in known and options["reference"] not in rows:
        options["reference"] = next(iter(rows))


def _read(path, max_bytes):
    """Return the keys of a file in TOML, each of the right kind."""
    with open_text(source(path, max_bytes), max_bytes) as text:
        raw = bytes(text)
    try:
        document = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CommandError(f"{on_one_line(path)} is no TOML: {error}") from error
    _check_keys(document, _KEYS, on_one_line(path))
    folder = os.path.dirname(path)
    document["data"] = _beside(folder, document.get("data", []))
    return document


def _check_keys(table: Mapping[str, Any], known, where: str) -> None:
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else "."
            raise CommandError(
                f"{where} has an unknown key {shown(key)}{meant} There are: "
                f"{', '.join(known)}"
            )
        kinds, words = known[key]
        # true is a whole number of Python.
        fits = isinstance(value, kinds) and (
            bool in kinds or not isinstance(value, bool)
        )
        if key not in ("rankers", "grids", "grid") and isinstance(value, (list, dict)):
            several = value.values() if isinstance(value, dict) else value
            fits = fits and all(isinstance(each, str) for each in several)
        if not fits:
            raise CommandError(f"{where}: {key} must be {words}, got {shown(value)}")


def _beside(folder: str, data: Any) -> dict[str, str]:
    """Return the paths of a file by their names; they start at its folder."""
    if isinstance(data, dict):
        found: dict[str, str] = {}
        for name, path in data.items():
            _check_name(name, f"the table data has {shown(name)}")
            _check_free(name, path, found)
            found[name] = os.path.join(folder, path)
        return found
    paths = [data] if isinstance(data, str) else data
    return _by_name([os.path.join(folder, path) for path in paths])


def _by_name(texts: Sequence[str]) -> dict[str, str]:
    """Return paths by the names given in ``name=path``, or by their own."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or os.path.exists(text):
            path = text
            end = os.path.basename(os.path.abspath(path))
            name = end if os.path.isdir(path) else end.split(".")[0] or end
        _check_name(name, f"got {shown(name)} in {shown(text)}")
        _check_free(name, path, found)
        found[name] = path
    return found


def _check_name(name, got):
    """Raise an error unless a folder within that of the results can have a name."""
    is_plain = re.fullmatch(r"[^\s/\\][^/\\]*", name) and name not in (".", "..")
    if not is_plain or has_control(name):
        raise CommandError(
            f"the name of a data set must be one that a folder can have, {got}"
        )


def _check_free(name, path, found):
    """Raise an error if another data set has a name; some systems have one case."""
    for other in found:
        if other.casefold() == name.casefold():
            both = {shown(other): None, shown(name): None}
            raise CommandError(
                f"two data sets are called {' and '.join(both)}; name them, as in "
                f"a={found[other]} b={path}"
            )


def _data(document, args):
    data = _by_name(args.data) if args.data else document.get("data", {})
    if not data:
        raise CommandError(
            "there are no data: name folders or files, or give the key data to the "
            "file of --config"
        )
    return data


def _rows(document, args) -> dict[str, dict[str, Any]]:
    """Return the rows of the table by their names, each with all its keys."""
    rows = _rows_of_file(document, args.config)
    if args.rankers:
        chosen = {}
        for text in args.rankers:
            name, _, ranker = text.rpartition("=")
            name = name or ranker
            if has_control(name) or not ranker:
                raise CommandError(f"--ranker takes [ROW=]RANKER, got {shown(text)}")
            if name in chosen:
                raise CommandError(f"--ranker names {shown(name)} twice")
            is_new = name not in rows or "=" in text
            chosen[name] = {"ranker": ranker, "grid": [{}]} if is_new else rows[name]
        rows = chosen
    if not rows:
        raise CommandError(
            "there are no rankers: name them by --ranker, or give the key rankers to "
            f"the file of --config. There are: {', '.join(_known())}"
        )
    for name, *settings in args.grids:
        if name not in rows:
            raise CommandError(
                f"--grid {shown(name)} is no row of the table, which has "
                f"{', '.join(rows)}"
            )
        values = _values_of_settings(name, settings)
        row = rows[name]
        rows[name] = {**row, "grid": [{**each, **values} for each in row["grid"]]}
    return rows


def _known():
    return rankers()


def _rows_of_file(document, path):
    named = document.get("rankers", [])
    grids = document.get("grids", {})
    where = "" if path is None else on_one_line(path)
    if isinstance(named, list):
        for name in named:
            if not isinstance(name, str):
                raise CommandError(
                    f"{where}: rankers must hold texts, got {shown(name)}"
                )
        if len(set(named)) < len(named):
            raise CommandError(f"{where}: rankers names a row twice")
        named = {name: {} for name in named}
    rows = {}
    for name, row in named.items():
        if not name.strip() or has_control(name):
            raise CommandError(
                f"{where}: rankers must have names on one line, got {shown(name)}"
            )
        if not isinstance(row, dict):
            raise CommandError(
                f"{where}: rankers.{name} must be a table, got {shown(row)}"
            )
        _check_keys(row, _ROW_KEYS, f"{where}: rankers.{name}")
        if "grid" in row and name in grids:
            raise CommandError(
                f"{where}: the grid of {shown(name)} stands both under rankers and "
                "under grids"
            )
        grid = _choices(row.get("grid", grids.get(name, {})), name, where)
        rows[name] = {**row, "ranker": row.get("ranker", name), "grid": grid}
    for name in grids:
        if name not in rows:
            raise CommandError(
                f"{where}: grids has {shown(name)}, which is none of the rankers"
            )
    return rows


def _choices(grid, name, where) -> list[dict[str, list[Any]]]:
    """Return a grid of a file as a list of grids of lists of values."""
    several = grid if isinstance(grid, list) else [grid]
    if not several:
        raise CommandError(f"{where}: the grid of {shown(name)} holds no table")
    found = []
    for each in several:
        if not isinstance(each, dict):
            raise CommandError(
                f"{where}: the grid of {shown(name)} must be a table, or a list of "
                f"tables, got {shown(each)}"
            )
        values = {key: v if isinstance(v, list) else [v] for key, v in each.items()}
        for key, entries in values.items():
            if not entries:
                raise CommandError(
                    f"{where}: the grid of {shown(name)} has no value for {shown(key)}"
                )
        found.append({k: [_value(v) for v in entries] for k, entries in values.items()})
    return found


def _value(value):
    return parse_value(value) if isinstance(value, str) else value


def _values_of_settings(row, settings):
    """Return lists of values by parameter from texts such as ``alpha=1,2``."""
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name, texts = name.strip(), [each.strip() for each in _COMMA.split(text)]
        if not equals or not name or not all(texts):
            raise CommandError(
                f"--grid takes ROW PARAM=V1,V2 ..., got {shown(setting)} for "
                f"{shown(row)}"
            )
        if name in values:
            raise CommandError(f"--grid {row} names {shown(name)} twice")
        values[name] = [parse_value(each) for each in texts]
    if not values:
        raise CommandError(f"--grid {row} names no parameter, as in alpha=1e-3,1e-2")
    return values


def _grid(name, row) -> RankerGrid:
    """Return the ranker of a row with all its choices made."""
    choices = []
    for choice in ParameterGrid(row["grid"]):
        try:
            ranker = make_with(row["ranker"], choice)
        except (CommandError, ValueError) as error:
            raise CommandError(f"row {shown(name)}: {error}") from error
        choices.append(Configuration(dict(choice), ranker))
    options = {
        key: row[key] for key in ("seeds", "early_stopping", "features") if key in row
    }
    return _NamedGrid(choices[0].estimator, choices=choices, **options)
