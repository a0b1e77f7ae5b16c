"""Directive ``ranker-table``: what the rankers are made of, what they cost and take.

Nothing in the table is written by hand. Parts, sparse rows and missing values are those
of a ranker with default parameters, the cost is the beginning of the sentence
"Complexity" of its docstring, and what it learns from grades was seen by changing them.
"""

import inspect
import re
import warnings

import numpy as np
from object_table import link_to
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sphinx.util.docutils import SphinxDirective

from skrank.discovery import all_objects
from skrank.rankers._boosting import BaseBoostedRanker
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.rankers._threshold_boosting import BaseThresholdBooster
from skrank.rankers._tree_ranker import BaseTreeRanker

HEADER = ("Ranker", "Energy", "Loss", "Solver", "Cost", "Grades")
HEADER += ("Sparse rows", "Missing values", "``partial_fit``")
NONE = "–"

# What rankers that add up weak ones consist of.
ADDITIVE = (
    (BaseThresholdBooster, "thresholded features", "boosting"),
    (BaseBoostedRanker, "trees", "boosting"),
    (BaseTreeRanker, "trees", "averaging"),
)

# The same grades in other words, and what it means if a ranker does not mind.
REWORDED = {
    "relevant or not": {0: 0.0, 1: 1.0, 2: 1.0},
    "order": {0: 0.0, 1: 1.0, 2: 7.0},
}


def parts_of(ranker):
    """Energy, loss and solver of a ranker, in reStructuredText.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker.

    Returns
    -------
    tuple of str
        Three cells.
    """
    if isinstance(ranker, BaseEnergyRanker):
        energy, loss = ranker._parts()
        parts = energy, loss, ranker._resolve_solver(energy)
        return tuple(link_to(type(part)) for part in parts)
    for base, energy, solver in ADDITIVE:
        if isinstance(ranker, base):
            return energy, link_to(type(ranker.loss_)), solver
    return NONE, NONE, NONE


def cost_of(cls):
    """First words of the sentence "Complexity" of a class, without its symbols.

    Parameters
    ----------
    cls : type
        A ranker.

    Returns
    -------
    str
        For example "O(n d) per iteration".
    """
    text = " ".join(inspect.getdoc(cls).split())
    found = re.search(r"Complexity: (.+?)(?:, | for | over |; |\. )", text)
    if found is None:
        raise ValueError(f"the docstring of {cls.__name__} has no sentence Complexity")
    return found[1]


def grades_of(ranker):
    """What a ranker learns from grades, found by trying.

    Parameters
    ----------
    ranker : BaseRanker
        A ranker; it is fitted.

    Returns
    -------
    str
        "relevant or not", "order", or "value" if both of these change its scores.
    """
    rng = np.random.default_rng(0)
    X, groups = rng.random((160, 3)), np.repeat(np.arange(20), 8)
    y = rng.integers(0, 3, 160)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)

    def scores(grades):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker.fit(X, grades, groups)
            if get_routing_for_object(ranker).consumes("predict", ["groups"]):
                return ranker.predict(X, groups)
            return ranker.predict(X)

    changed = {
        name: scores(np.vectorize(grades.get)(y)) for name, grades in REWORDED.items()
    }
    own = scores(y)
    same = (name for name, other in changed.items() if np.array_equal(own, other))
    return next(same, "value")


def table():
    """Table of all rankers, in reStructuredText.

    Returns
    -------
    str
        A list-table with a row of headings.
    """
    rows = [HEADER]
    for cls in all_objects("ranker").values():
        ranker = cls(**cls._variants()[0])
        tags = get_tags(ranker).input_tags
        grades = grades_of(ranker)
        yes = (tags.sparse, tags.allow_nan, hasattr(ranker, "partial_fit"))
        rows.append(
            (
                link_to(cls),
                *parts_of(ranker),
                cost_of(cls),
                grades,
                *("yes" if holds else NONE for holds in yes),
            )
        )
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for cells in rows:
        lines += [f"   {'*' if i == 0 else ' '} - {c}" for i, c in enumerate(cells)]
    return "\n".join(lines)


class RankerTable(SphinxDirective):
    """List what all rankers are made of."""

    def run(self):
        """Build the table from a list-table source."""
        return self.parse_text_to_nodes(table())


def setup(app):
    """Register the directive."""
    app.add_directive("ranker-table", RankerTable)
    return {"parallel_read_safe": True}
