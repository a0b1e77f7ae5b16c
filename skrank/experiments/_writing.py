"""The files of an experiment: table, pooled judgements and runs, values, choices."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skrank._core._id_arrays import id_list, id_text
from skrank._core._messages import on_one_line
from skrank._core._writing import atomic_write
from skrank.datasets import dump_qrels, dump_run
from skrank.experiments._grid import one_line
from skrank.experiments._result import ExperimentResult

_RENDERINGS = {"txt": "to_text", "md": "to_markdown", "tex": "to_latex"}


def write_result(
    result: ExperimentResult, folder: Path, definition: Mapping[str, Any]
) -> None:
    """Write all files of a result; each appears only when it is complete.

    Parameters
    ----------
    result : ExperimentResult
        The result.
    folder : Path
        Folder of the experiment.
    definition : mapping of str to object
        What the experiment was, for its record.
    """
    for suffix, method in _RENDERINGS.items():
        _write(folder / f"table.{suffix}", [getattr(result.table, method)()])
    test = result._test
    dump_qrels(test.groups, test.docids, test.y, folder / "qrels.txt")
    (folder / "runs").mkdir(exist_ok=True)
    names = run_names(list(result._scores))
    for name, key in zip(names, result._scores):
        path = folder / "runs" / f"{name}.trec"
        dump_run(test.groups, test.docids, result._scores[key], path, tag=name)
    # The folder holds the runs of the table, and none of rankers that it had before.
    for name in set(_earlier_runs(folder)) - set(names):
        (folder / "runs" / f"{name}.trec").unlink()
    _write(folder / "per_query.tsv", _per_query(result))
    _write(folder / "folds.tsv", _fold_means(result))
    _write(folder / "chosen.tsv", _chosen(result))
    document = {**definition, **result.to_dict(), "runs": names}
    _write(folder / "results.json", [json.dumps(document, indent=1, allow_nan=False)])


def _earlier_runs(folder: Path) -> list[str]:
    """Return the names of the runs that an earlier result in the folder has written."""
    try:
        runs = json.loads((folder / "results.json").read_text(encoding="utf-8"))["runs"]
        names = [name for name in runs if isinstance(name, str)]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    return [
        name
        for name in names
        if Path(name).name == name and (folder / "runs" / f"{name}.trec").is_file()
    ]


def run_names(keys: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return names of files for the runs of rankers and seeds, no two of them equal.

    Parameters
    ----------
    keys : sequence of (str, int or None)
        Names and seeds of the rankers.

    Returns
    -------
    list of str
        Such as ``"RankSVM"``, or ``"LambdaMART.seed1"`` where there are several seeds.
    """
    rankers = [ranker for ranker, _ in keys]
    names: list[str] = []
    for ranker, seed in keys:
        name = re.sub(r"[^\w.+-]+", "_", ranker).strip("._") or "ranker"
        if rankers.count(ranker) > 1:
            name += f".seed{seed}"
        taken = [other.lower() for other in names]  # some file systems have one case
        free, number = name, 2
        while free.lower() in taken:
            free, number = f"{name}-{number}", number + 1
        names.append(free)
    return names


def _write(path, lines):
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def _per_query(result) -> Iterator[str]:
    """Yield one line for each query and ranker; values are means over seeds."""
    table, test = result.table, result._test
    fold_of = dict(zip(id_list(test.groups), result._fold_of_row.tolist()))
    yield "\t".join(["query", "fold", "ranker", *table.measures])
    for i, query in enumerate(id_list(table.query_ids)):
        fold = on_one_line(result._fold_names[fold_of[query]])
        for system in table.systems:
            values = [table.per_query[m][system][i] for m in table.measures]
            yield "\t".join([id_text(query), fold, system, *map(_cell, values)])


def _fold_means(result) -> Iterator[str]:
    """Yield one line for each ranker and fold, and one for the mean over the folds."""
    measures = result.table.measures
    yield "\t".join(["ranker", "fold", *measures])
    for ranker, means in result.fold_means.items():
        rows = [[means[m][i] for m in measures] for i in range(len(result._fold_names))]
        rows.append([np.mean(means[m]) for m in measures])
        names = [*map(on_one_line, result._fold_names), "mean"]
        for name, values in zip(names, rows):
            yield "\t".join([ranker, name, *map(_cell, values)])


def _cell(value):
    return "" if np.isnan(value) else repr(float(value))


def _chosen(result) -> Iterator[str]:
    yield "\t".join(["ranker", "seed", "fold", "validation", "seconds", "params"])
    for each in result.chosen:
        seed = "" if each["seed"] is None else str(each["seed"])
        value = "" if each["validation"] is None else repr(each["validation"])
        params = on_one_line(one_line(each["params"]))
        cells = [each["ranker"], seed, on_one_line(each["fold"]), value]
        yield "\t".join([*cells, f"{each['seconds']:.3f}", params])
