"""Rankers, their parts and their parameters by name."""

import ast
import difflib
import inspect

from sklearn.base import RegressorMixin

from skrank.base import BaseRanker
from skrank.cli._errors import CommandError
from skrank.export._allowed import SKLEARN_CLASSES, class_of_name, skrank_classes

_PART_PACKAGES = {
    "energy": "skrank.energies",
    "loss": "skrank.losses",
    "solver": "skrank.solvers",
}


def rankers():
    """Public rankers by name."""
    classes = skrank_classes().values()
    return _constructible(cls for cls in classes if issubclass(cls, BaseRanker))


def _constructible(classes):
    """Classes by name, without base classes and those that need arguments."""
    return {
        cls.__name__: cls
        for cls in sorted(classes, key=lambda cls: cls.__name__)
        if not cls.__name__.startswith("Base") and not _required_parameters(cls)
    }


def _required_parameters(cls):
    parameters = inspect.signature(cls).parameters.values()
    return [p for p in parameters if p.default is p.empty]


def approach(cls):
    """ "pointwise", "pairwise" or "listwise"; "any" for a free composition."""
    value = getattr(cls, "approach", None)
    return value if isinstance(value, str) else "any"


def summary(cls):
    """What a class is, without its name."""
    line = inspect.getdoc(cls).split("\n", 1)[0]
    line = line.removeprefix(f"{cls.__name__}: ")
    return line[0].upper() + line[1:]


def find(name, known, what):
    """Return ``known[name]``, whatever the case; the error suggests what was meant.

    Parameters
    ----------
    name : str
        What the user wrote.
    known : dict of str to object
        What there is.
    what : str
        What error messages call it.

    Returns
    -------
    object
    """
    if name in known:
        return known[name]
    lower = {key.lower(): value for key, value in known.items()}
    if name.lower() in lower:
        return lower[name.lower()]
    raise CommandError(f"unknown {what} {name!r}{_suggestion(name, known)}")


def _suggestion(name, known):
    by_lower = {key.lower(): key for key in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    meant = f"; did you mean {by_lower[close[0]]!r}?" if close else "."
    return f"{meant} There are: {', '.join(known)}"


def make_ranker(name, settings, seed=None, jobs=None):
    """Construct a ranker from its name and ``--set`` arguments.

    Parameters
    ----------
    name : str
        Class name.
    settings : sequence of str
        Such as ``"alpha=0.1"``.
    seed : int, default=None
        ``random_state``, where the ranker has one.
    jobs : int, default=None
        ``n_jobs``, where the ranker has one.

    Returns
    -------
    BaseRanker
        Not fitted.
    """
    ranker = find(name, rankers(), "ranker")()
    params = dict(map(_parse_setting, settings))
    _set_params(ranker, params)
    general = {"random_state": seed, "n_jobs": jobs}
    own = ranker.get_params(deep=False)
    ranker.set_params(
        **{
            key: value
            for key, value in general.items()
            if value is not None and key in own and key not in params
        }
    )
    return ranker


def _parse_setting(setting):
    name, equals, text = setting.partition("=")
    name, text = name.strip(), text.strip()
    if not equals or not name:
        raise CommandError(f"--set takes PARAM=VALUE, got {setting!r}")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, _part(name, text)


def _part(name, text):
    """Construct the energy, loss, solver or regressor that a text names."""
    role = name.rpartition("__")[2]
    if role in _PART_PACKAGES:
        package = f"{_PART_PACKAGES[role]}."
        classes = [c for n, c in skrank_classes().items() if n.startswith(package)]
    elif role == "estimator":
        classes = [class_of_name(name) for name in SKLEARN_CLASSES]
        classes = [cls for cls in classes if issubclass(cls, RegressorMixin)]
    else:
        return text
    return find(text, _constructible(classes), role)()


def _set_params(ranker, params):
    """Set parameters, outer ones first; say which name is wrong."""
    for name in sorted(params, key=lambda name: name.count("__")):
        _check_name(ranker, name)
        ranker.set_params(**{name: params[name]})


def _check_name(ranker, name):
    owner = ranker
    *path, _ = name.split("__")
    for i, part in enumerate(path):
        _check_known(owner, part)
        owner = getattr(owner, part)
        if not hasattr(owner, "get_params"):
            outer = "__".join(path[: i + 1])
            raise CommandError(
                f"--set {name}: {outer} is {owner!r}, which has no parameters; name it "
                f"first, as in --set {outer}={_example(part)}"
            )
    _check_known(owner, name.rpartition("__")[2])


def _check_known(owner, name):
    known = owner.get_params(deep=False)
    if name not in known:
        raise CommandError(
            f"{type(owner).__name__} has no parameter {name!r}"
            f"{_suggestion(name, known)}"
        )


def _example(part):
    examples = {"solver": "Adam", "energy": "MLPEnergy", "loss": "ListNetLoss"}
    return examples.get(part, "NAME")
