"""Every option of every command is used or refused; none is ignored."""

import argparse
import functools
import re

import numpy as np
import pytest

import skrank.cli
from skrank.cli._options import byte_count
from skrank.cli._parser import build_parser
from skrank.click import DependentClickModel, load_sessions, save_sessions
from skrank.datasets import load_letor, load_tsv_queries
from skrank.export import save_model
from skrank.rankers import MART, RankSVM
from skrank.text import InvertedIndex, save_index

# A value for each option, others for some commands and modes, and the arguments with
# which the runs of a mode begin.
VALUES = {
    "against": "d6", "background": "all", "document": "d7", "query": "1", "top": "1",
    "check": "LETOR", "correction": "none", "depth": "3", "features": "NAMES",
    "folds": "2", "categorical": "shop", "docid": "page", "label": "grade",
    "qid": "query",
    "format": "markdown", "jobs": "1", "json": "OUT", "judgement_format": "qrels",
    "k": "3", "letor": "LETOR", "letor_folds": "FOLDS", "level": "1", "max_bytes": "1M",
    "max_docs": "3", "measure": "map", "method": "combsum", "metrics": "map",
    "missing": "zero", "name": "m", "norm": "sum", "normalize": "standard",
    "output": "OUT2", "preset": "mslr",
    "qrels": "QRELS", "queries": "9", "ranker": "RankSVM", "reference": "run",
    "save": "OUT3", "scores": "SCORES", "seed": "1", "settings": "alpha=1",
    "store": "s", "tag": "t", "test": "t", "type": "model/linear",
    "validation": "LETOR", "validation_measures": "map", "weights": "1,2",
    "zscores": "ZSCORES",
    "config": "TOML", "dtype": "float64", "grids": "RankSVM", "rankers": "RankSVM",
    "seeds": "2", "select": "map", "shuffle": "1",
    "encoding": "utf-8", "feature_set": "text.bm25", "field": "text", "fields": "text",
    "links": "LINKS", "model": "vsm", "names": "OUT3", "outside": "ignore",
    "query_field": "text", "rm3_settings": "n_terms=3", "run": "RUN",
    "stemmer": "porter", "stop_words": "none", "urls": "URLS",
    "chunk": "9", "eta": "2", "examination": "position", "grades": "3", "log": "LOG",
    "log_format": "tsv", "max_grade": "4", "noise": "0.1", "sessions": "2",
    "stray_clicks": "drop", "thresholds": "0.2,0.4", "user": "navigational",
}  # fmt: skip
OTHER_VALUES = {
    "fit": {"test": "LETOR"},
    "fit table": {
        "test": "TABLE",
        "validation": "TABLE",
        "features": "1,2",
        "categorical": "2",
    },
    "predict table": {"docid": "query"},
    "compare": {"level": "0.1"},
    "experiment": {
        "features": "2",
        "folds": "3",
        "json": "OUT3",
        "level": "0.1",
        "reference": "SubsetRegression",
    },
    "experiment table": {"categorical": "2"},
    "export": {"format": "json"},
    "evaluate -R prefs": {"measure": "prefs_simp"},
    "fuse": {"settings": "missing=0.0"},
    "index": {"format": "tsv"},
    "search": {"format": "tsv", "settings": "k1=1.5"},
    "features": {"format": "tsv", "settings": "k1=1.5"},
    "fuse rrf": {"settings": "k=3"},
    "fuse mapfuse": {"settings": "relevance_level=2"},
    "clicks fit": {
        "settings": "prior_clicks=2", "model": "DCM", "test": "LOG", "json": "OUT",
    },
    "clicks labels": {"format": "tsv"},
    "clicks labels --thresholds": {"grades": "2"},
    "clicks fit yandex": {"log_format": "yandex"},
    "clicks simulate": {"model": "CLICK_MODEL", "output": "OUT.tsv"},
}  # fmt: skip
EXPERIMENT = ["experiment", "-q", "-o", "OUT", "--ranker", "SubsetRegression"]
FIT = ["fit", "--ranker", "SubsetRegression"]
MODES = {
    "fit --list": ["fit", "--list"],
    "fit file": [*FIT, "LETOR"],
    "fit --folds": [*FIT, "LETOR", "--folds", "2"],
    "fit --letor-folds": [*FIT, "--letor-folds", "FOLDS"],
    "fit --json -": [*FIT, "LETOR", "--json", "-"],
    "fit table": [*FIT, "TABLE", "--label", "grade", "--qid", "query"],
    "predict": ["predict", "MODEL", "LETOR"],
    "predict table": ["predict", "MODEL", "BARE", "--qid", "query"],
    "rank": ["rank", "MODEL", "LETOR"],
    "evaluate run": ["evaluate", "QRELS", "RUN"],
    "evaluate run --json -": ["evaluate", "QRELS", "RUN", "--json", "-"],
    "evaluate -R prefs": ["evaluate", "PREFS", "RUN", "-R", "qrels_prefs"],
    "evaluate --letor": ["evaluate", "--letor", "LETOR", "--scores", "SCORES"],
    "compare --qrels": ["compare", "RUN", "RUN2", "--qrels", "QRELS"],
    "compare --letor": ["compare", "run=SCORES", "b=SCORES", "--letor", "LETOR"],
    "compare --test tukey": [
        "compare", "RUN", "RUN2", "--qrels", "QRELS", "--test", "tukey",
    ],
    "compare --test t": ["compare", "RUN", "RUN2", "--qrels", "QRELS", "--test", "t"],
    "compare one": ["compare", "RUN", "--qrels", "QRELS"],
    "compare --json -": ["compare", "RUN", "RUN2", "--qrels", "QRELS", "--json", "-"],
    "experiment folds": [*EXPERIMENT, "FOLDS"],
    "experiment two": [*EXPERIMENT, "FOLDS", "--ranker", "two=SubsetRegression"],
    "experiment --test tukey": [
        *EXPERIMENT, "FOLDS", "--ranker", "two=SubsetRegression", "--test", "tukey",
    ],
    "experiment --grid": [
        *EXPERIMENT, "FOLDS", "--grid", "SubsetRegression", "alpha=1,2",
    ],
    "experiment --early-stopping": [*EXPERIMENT, "FOLDS", "--early-stopping"],
    "experiment file": [*EXPERIMENT, "LETOR"],
    "experiment table": [*EXPERIMENT, "TABLE", "--label", "grade", "--qid", "query"],
    "experiment --json -": [*EXPERIMENT, "FOLDS", "--json", "-"],
    "fuse --list": ["fuse", "--list"],
    "fuse rrf": ["fuse", "RUN", "RUN2"],
    "fuse combsum": ["fuse", "RUN", "RUN2", "--method", "combsum"],
    "fuse mapfuse": [
        "fuse", "RUN", "RUN2", "--method", "mapfuse", "--qrels", "QRELS",
    ],
    "explain": ["explain", "MODEL", "LETOR", "--query", "1"],
    "explain --json -": ["explain", "MODEL", "LETOR", "--query", "1", "--json", "-"],
    "explain --against": [
        "explain", "MODEL", "LETOR", "--query", "1", "--against", "d5",
    ],
    "export json": ["export", "MODEL", "--format", "json"],
    "export ranklib": ["export", "MODEL", "--format", "ranklib"],
    "export solr": [
        "export", "MODEL", "--format", "solr", "--name", "m", "--features", "NAMES",
    ],
    "export tree ranklib": ["export", "FOREST", "--format", "ranklib"],
    "export tree solr": [
        "export", "FOREST", "--format", "solr", "--name", "m", "--features", "NAMES",
    ],
    "export elasticsearch": [
        "export", "MODEL", "--format", "elasticsearch", "--name", "m",
        "--features", "NAMES",
    ],
    "export elasticsearch ranklib": [
        "export", "FOREST", "--format", "elasticsearch", "--name", "m",
        "--type", "model/ranklib", "--missing", "zero",
    ],
    "export --check": [
        "export", "MODEL", "--format", "json", "-o", "OUT2", "--check", "LETOR",
    ],
    "index": ["index", "TEXTS", "-o", "OUT2"],
    "search": ["search", "INDEX", "ASKED"],
    "search --rm3": ["search", "INDEX", "ASKED", "--rm3"],
    "features": ["features", "INDEX", "ASKED"],
    "features --run": ["features", "INDEX", "ASKED", "--run", "RUN"],
    "features --feature-set": [
        "features", "INDEX", "ASKED", "--feature-set", "text.bm25",
    ],
    "clicks fit --list": ["clicks", "fit", "--list"],
    "clicks fit": ["clicks", "fit", "LOG", "--model", "DCM"],
    "clicks fit yandex": ["clicks", "fit", "YANDEX", "--model", "DCM"],
    "clicks labels": ["clicks", "labels", "CLICK_MODEL"],
    "clicks labels --log": ["clicks", "labels", "CLICK_MODEL", "--log", "LOG"],
    "clicks labels --thresholds": [
        "clicks", "labels", "CLICK_MODEL", "--thresholds", "0.3",
    ],
    "clicks simulate --model": ["clicks", "simulate", "LOG", "--model", "CLICK_MODEL"],
    "clicks simulate --qrels": ["clicks", "simulate", "RUN", "--qrels", "QRELS"],
    "clicks simulate --examination position": [
        "clicks", "simulate", "RUN", "--qrels", "QRELS", "--examination", "position",
    ],
}  # fmt: skip
OF_TABLES = {"categorical", "docid", "features", "label", "qid"}
OF_LOGS = {"log_format", "numeric_ids", "stray_clicks"}
OF_TESTS = {"correction", "level", "reference", "test"}
OF_ONE_RANKER = OF_TESTS | {"select"}
OF_FOLDERS = OF_TABLES - {"features"} | {"folds", "shuffle"}
NO_EFFECT = {
    "fit file": OF_TABLES,
    "fit --folds": OF_TABLES,
    "fit --letor-folds": OF_TABLES,
    "fit --json -": OF_TABLES,
    "fit table": {"sparse"},
    "predict": OF_TABLES,
    "predict table": {"jobs"},
    "rank": OF_TABLES,
    "fit --list": set(VALUES) - {"ranker"} | {"sparse", "verbose"},
    "evaluate run": {"jobs"},
    "evaluate run --json -": {"jobs", "no_summary"},
    "evaluate -R prefs": {"metrics", "preset", "jobs", "level"},
    "evaluate --letor": {
        "complete", "level", "max_docs", "judgement_format", "zscores",
    },
    "compare --test tukey": {"correction"},
    "compare one": OF_TESTS,
    "compare --json -": {"format"},
    "experiment folds": OF_FOLDERS | OF_ONE_RANKER,
    "experiment two": OF_FOLDERS | {"select"},
    "experiment --test tukey": OF_FOLDERS | {"select", "correction"},
    "experiment --grid": OF_FOLDERS | OF_TESTS,
    "experiment --early-stopping": OF_FOLDERS | OF_TESTS,
    "experiment file": OF_TABLES - {"features"} | OF_ONE_RANKER,
    "experiment table": {"sparse", "dtype"} | OF_ONE_RANKER,
    "experiment --json -": OF_FOLDERS | OF_ONE_RANKER | {"format"},
    "fuse --list": set(VALUES),
    "fuse rrf": {"norm", "qrels"},
    "fuse combsum": {"qrels"},
    "fuse mapfuse": {"norm", "weights"},
    "explain --json -": {"top"},
    "explain --against": {"background"},
    "export json": {"jobs"},
    "export ranklib": {"jobs", "missing"},
    "export solr": {"jobs", "missing"},
    "export tree ranklib": {"jobs"},
    "export tree solr": {"jobs"},
    "export elasticsearch": {"jobs", "missing"},
    "export elasticsearch ranklib": {"jobs", "features"},
    "search": {"rm3_settings"},
    "features": {"rm3_settings", "links", "urls", "outside"},
    "features --run": {
        "field", "k", "model", "rm3", "rm3_settings", "settings",
        "links", "urls", "outside",
    },
    "features --feature-set": {"fields", "rm3_settings", "outside"},
    "clicks fit --list": set(VALUES) | {"numeric_ids"},
    "clicks fit": {"stray_clicks"},
    "clicks labels": OF_LOGS,
    "clicks labels --log": {"stray_clicks"},
    "clicks labels --thresholds": OF_LOGS | {"per_query"},
    "clicks simulate --model": {
        "user", "examination", "eta", "noise", "max_grade", "k", "stray_clicks",
    },
    "clicks simulate --qrels": OF_LOGS | {"eta"},
    "clicks simulate --examination position": OF_LOGS,
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files of every kind, by the names that the lists above give them."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    lines = [
        f"{i % 3} qid:{i // 5} 1:{rng.random():.3f} 2:{rng.random():.3f} #docid = d{i}"
        for i in range(40)
    ]
    contents = {
        "LETOR": lines,
        "SCORES": [str(i % 7) for i in range(40)],
        "RUN": [f"{i // 5} Q0 d{i} 1 {i % 7} run" for i in range(40)],
        "RUN2": [f"{i // 5} Q0 d{i} 1 {i % 4} b" for i in range(40)],
        "QRELS": [f"{i // 5} 0 d{i} {i % 3}" for i in range(40)],
        "PREFS": [f"{i // 5} 0 d{i} {i % 3}" for i in range(40)],
        "ZSCORES": [f"{i} map .5 .1" for i in range(8)],
        "NAMES": ["a", "b"],
        "TOML": ["seeds = 1"],
        "TEXTS": [f"d{i}\tw{i % 7} w{i % 3} w{i % 5}" for i in range(40)],
        "ASKED": [f"{i}\tw{i % 7} w{i % 2}" for i in range(8)],
        "YANDEX": [f"{i // 5}\t{i},{i + 1} : {i + i % 2}" for i in range(40)],
        "LINKS": [f"d{i} d{i + 1}" for i in range(39)],
        "URLS": [f"d{i}\thttp://a.org/{i}" for i in range(40)],
    }
    paths = {"FOLDS": folder / "folds", "MODEL": folder / "model"}
    rows = [f"{i // 5},{i % 5},{i % 4}" for i in range(40)]
    contents["BARE"] = ["query,1,2", *rows]
    graded = [f"{row},{i % 3},{i}" for i, row in enumerate(rows)]
    contents["TABLE"] = ["query,1,2,grade,page", *graded]
    for name, text in contents.items():
        is_table = name in ("BARE", "TABLE")
        paths[name] = folder / (name.lower() + ".csv" * is_table)
        paths[name].write_text("\n".join(text) + "\n")
    for part in ("train", "vali", "test"):
        path = paths["FOLDS"] / "Fold1" / f"{part}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(paths["LETOR"].read_text())
    data = load_letor(paths["LETOR"])
    save_model(RankSVM().fit(*data), paths["MODEL"])
    paths |= {name: folder / name.lower() for name in ("FOREST", "CLICK_MODEL")}
    # Among negative numbers, missing values go where 0 goes, as RankLib wants it.
    forest = MART(n_estimators=2).fit(-data.X, data.y, data.groups)
    save_model(forest, paths["FOREST"])
    model = DependentClickModel().fit(load_sessions(paths["YANDEX"]))
    save_model(model, paths["CLICK_MODEL"])
    paths["LOG"] = folder / "log.tsv"
    save_sessions(load_sessions(paths["YANDEX"]), paths["LOG"])
    paths["INDEX"] = folder / "index"
    save_index(InvertedIndex().fit(load_tsv_queries(paths["TEXTS"])), paths["INDEX"])
    return paths


@functools.cache
def commands():
    found = choices_of(build_parser())
    actions = choices_of(found.pop("clicks"))
    return found | {f"clicks {name}": action for name, action in actions.items()}


def choices_of(parser):
    (choices,) = [a.choices for a in parser._actions if isinstance(a.choices, dict)]
    return dict(choices)


def command_of(arguments):
    return " ".join(arguments[: 1 + (arguments[0] == "clicks")])


@functools.cache
def options_of(command):
    return {
        action.dest: action
        for action in commands()[command]._actions
        if action.option_strings and action.dest not in ("help", "debug", "list")
    }


CASES = [
    (mode, option)
    for mode, arguments in MODES.items()
    for option in options_of(command_of(arguments))
]


def value_of(option, command, mode=""):
    other = OTHER_VALUES.get(command, {}) | OTHER_VALUES.get(mode, {})
    return other.get(option, VALUES[option])


class Recorder(argparse.Namespace):
    """Arguments that know which of them were looked at."""

    def __getattribute__(self, name):
        seen = super().__getattribute__("__dict__").setdefault("seen", set())
        seen.add(name)
        return super().__getattribute__(name)


@pytest.fixture
def recorded(monkeypatch):
    """Names of the arguments that the command looked at."""
    real, seen = skrank.cli._run, set()

    def run(args, *others):
        recorder = Recorder(**vars(args))
        try:
            real(recorder, *others)
        finally:
            seen.update(vars(recorder)["seen"])

    monkeypatch.setattr(skrank.cli, "_run", run)
    return seen


@pytest.mark.parametrize(("mode", "option"), CASES)
def test_an_option_is_used_or_refused(run, recorded, files, tmp_path, mode, option):
    command = command_of(MODES[mode])
    action = options_of(command)[option]
    flag = action.option_strings[-1]
    extra = [flag] if action.nargs == 0 else [flag, value_of(option, command, mode)]
    places = {f"OUT{i}": tmp_path / f"out{i}" for i in ("", 2, 3, ".tsv")} | files

    def path_of(argument):
        name, equals, value = argument.rpartition("=")
        return name + equals + str(places.get(value, value))

    code, _, err = run(*map(path_of, [*MODES[mode], *extra]))
    error = err[err.find("skrank: error:") :]
    if option in NO_EFFECT.get(mode, set()):
        assert code == 2
        assert f"{flag} has no effect " in error
    elif code == 0:
        assert option in recorded
    else:  # refused in other words, which name it
        assert code == 2
        assert set(action.option_strings) & set(re.split(r"[^\w-]", error))
    if code:
        assert list(tmp_path.iterdir()) == []


def test_the_modes_of_all_commands_are_walked():
    walked = {command_of(arguments) for arguments in MODES.values()} | {"demo"}
    assert walked == set(commands())


SEVERAL_TIMES = (
    "settings",
    "rm3_settings",
    "measure",
    "validation",
    "rankers",
    "grids",
)


@pytest.mark.parametrize("command", commands())
def test_no_option_is_given_twice(fails, files, command):
    for option, action in options_of(command).items():
        of_rows = (command, option) == ("experiment", "features")
        if action.nargs == 0 or option in SEVERAL_TIMES or of_rows:
            continue
        value = value_of(option, command)
        for flag in action.option_strings:
            assert f"argument {flag}: given twice" in fails(
                *command.split(), flag, value, flag, value
            )


def test_no_setting_is_given_twice(fails, files):
    base = [*FIT, files["LETOR"], "--ranker", "RankSVM"]
    assert "argument --ranker: given twice" in fails(*base)
    base = ["fit", files["LETOR"], "--ranker", "RankSVM"]
    assert "--set alpha is given twice" in fails(
        *base, "--set", "alpha=1", "--set", "alpha=2"
    )
    assert "--seed and --set random_state exclude each other" in fails(
        *base, "--set", "random_state=1", "--seed", "2"
    )
    run = files["RUN"]
    for command in (["clicks", "fit", run, "--model", "DCM"], ["fuse", run]):
        assert "--jobs and --set n_jobs exclude each other" in fails(
            *command, "--set", "n_jobs=1", "--jobs", "2"
        )


def test_demo_prints_json_or_a_table(fails):
    message = "--format has no effect with --json -"
    assert message in fails("demo", "--json", "-", "--format", "latex")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("5000", 5000), ("2k", 2**11), ("500M", 500 * 2**20), ("20G", 20 << 30)],
)
def test_numbers_of_bytes(text, expected):
    assert byte_count(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "G", "1.5G", "many"])
def test_what_is_no_number_of_bytes(fails, text):
    message = fails("predict", "m", "d", "--max-bytes", text)
    assert "argument --max-bytes: expected " in message
