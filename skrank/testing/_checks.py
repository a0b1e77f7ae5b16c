"""The checks of every kind of part, one by one or all at once."""

from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Any

from skrank._core._messages import shown, words_of
from skrank.base import BaseRanker
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss
from skrank.metrics import BaseMeasure, get_measure
from skrank.solvers import BaseSolver
from skrank.testing._common import Check, called
from skrank.testing._energies import checks_of_energies
from skrank.testing._losses import checks_of_losses
from skrank.testing._measures import checks_of_measures
from skrank.testing._rankers import checks_of_rankers
from skrank.testing._solvers import checks_of_solvers

_CHECKS: dict[type, Callable[[Any], Iterator[Check]]] = {
    BaseMeasure: checks_of_measures,
    BaseLoss: checks_of_losses,
    BaseEnergy: checks_of_energies,
    BaseSolver: checks_of_solvers,
    BaseRanker: checks_of_rankers,
}


def contract_checks(part: Any) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """Return the checks of a part, for test runners that report each of them.

    Parameters
    ----------
    part : BaseRanker, BaseLoss, BaseEnergy, BaseSolver, BaseMeasure or callable
        Part to check; a function stands for the measure that it computes.

    Returns
    -------
    iterator of (part, check)
        The part, or the measure of a function, with each check: ``check(part)`` raises
        an AssertionError with a sentence that says which promise is broken.

    Raises
    ------
    TypeError
        If the part is of another kind, or a class instead of an object.

    Examples
    --------
    >>> from skrank.losses import LogLoss
    >>> from skrank.testing import contract_checks
    >>> for loss, check in contract_checks(LogLoss()):
    ...     check(loss)

    With pytest, ``@pytest.mark.parametrize(("loss", "check"), contract_checks(loss))``
    makes one test of each.
    """
    if callable(part) and not isinstance(part, type):
        part = get_measure(part)
    for base, checks in _CHECKS.items():
        if isinstance(part, base):
            return ((part, _said(check)) for check in checks(part))
    *names, last = (base.__name__ for base in _CHECKS)
    raise TypeError(
        f"part must be an object of a class derived from {', '.join(names)} or {last}, "
        f"got {shown(part)}"
    )


def _said(check: Check) -> Check:
    """Have a check turn other errors into an AssertionError about the part."""

    def run(part):
        try:
            check(part)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(
                f"{called(part)} fails in {check.__name__}: {type(error).__name__}: "
                f"{words_of(error)}"
            ) from error

    return update_wrapper(run, check)


def _run_all(part, base, name):
    if not isinstance(part, base):
        raise TypeError(
            f"{name} must be an object of a class derived from {base.__name__}, got "
            f"{shown(part)}"
        )
    for checked, check in contract_checks(part):
        check(checked)


def check_measure(measure: str | BaseMeasure | Callable) -> None:
    """Check what a measure promises.

    It has one value for each query, within its bounds, whatever other queries and the
    order of the rows are; it is better where documents are ranked by grade; queries
    without information follow ``empty_query``; swap deltas are the changes of the
    value; inputs stay as they are; and neither threads nor copies change anything.

    Parameters
    ----------
    measure : BaseMeasure or callable
        A measure, or a function ``f(y_true, y_score)`` of one query.

    Raises
    ------
    AssertionError
        With a sentence that says which promise is broken.
    TypeError
        If it is no measure.

    Examples
    --------
    >>> from skrank.testing import check_measure
    >>> def top_grade(y_true, y_score):
    ...     return y_true[y_score.argmax()]
    >>> check_measure(top_grade)
    """
    _run_all(get_measure(measure), BaseMeasure, "measure")


def check_loss(loss: BaseLoss) -> None:
    """Check what a loss promises.

    Its gradient, and its Hessian if it has one, are the derivatives of its value;
    queries do not see each other and may come in any order; weights of queries are
    their repetition; queries without preference count nothing; ``convex``,
    ``shift_invariant``, ``has_hessian`` and ``reads_labels`` are true; scores that are
    not finite are refused; and neither threads nor copies change anything.

    Parameters
    ----------
    loss : BaseLoss
        Loss.

    Raises
    ------
    AssertionError
        With a sentence that says which promise is broken.
    TypeError
        If it is no loss.

    Examples
    --------
    >>> from skrank.losses import HingeLoss
    >>> from skrank.testing import check_loss
    >>> check_loss(HingeLoss(margin=2.0))
    """
    _run_all(loss, BaseLoss, "loss")


def check_energy(energy: BaseEnergy) -> None:
    """Check what an energy promises.

    Shapes of parameters and scores agree; gradients are pulled back as the derivative
    says; ``linear``, ``needs_groups``, ``accepts_sparse``, ``constrained``,
    ``non_negative`` and ``ordered_outputs`` are true; queries do not see each other;
    and neither threads nor copies change anything.

    Parameters
    ----------
    energy : BaseEnergy
        Energy.

    Raises
    ------
    AssertionError
        With a sentence that says which promise is broken.
    TypeError
        If it is no energy.

    Examples
    --------
    >>> from skrank.energies import LinearEnergy
    >>> from skrank.testing import check_energy
    >>> check_energy(LinearEnergy())
    """
    _run_all(energy, BaseEnergy, "energy")


def check_solver(solver: BaseSolver) -> None:
    """Check what a solver promises.

    It finds the minimum of a convex objective; returns its value and its history; tells
    a monitor of every iteration and obeys it; asks for what ``requires`` names and for
    nothing else; keeps constraints or refuses them; and ends at the same place for the
    same seed.

    Parameters
    ----------
    solver : BaseSolver
        Solver, with as many iterations as a ridge regression of four features needs.

    Raises
    ------
    AssertionError
        With a sentence that says which promise is broken.
    TypeError
        If it is no solver.

    Examples
    --------
    >>> from skrank.solvers import LBFGS
    >>> from skrank.testing import check_solver
    >>> check_solver(LBFGS())
    """
    _run_all(solver, BaseSolver, "solver")


def check_ranker(ranker: BaseRanker) -> None:
    """Check what a ranker promises beside what scikit-learn asks of estimators.

    It learns, and learns the same whatever the order of the queries, the kind of their
    ids and the number of threads are; there is no fit without groups, which
    scikit-learn's metadata routing hands on; `fit` changes neither parameters nor
    inputs; ranks follow scores; rows have the same scores without those beside them,
    unless predict needs the groups; sparse rows are taken as the tags say; and pickles
    have the same scores. scikit-learn's own ``check_estimator`` runs under
    ``skrank.config_context(assume_single_query=True)``.

    Parameters
    ----------
    ranker : BaseRanker
        Ranker, not fitted. Short training makes the checks quick: it is fitted about
        ten times to 150 documents.

    Raises
    ------
    AssertionError
        With a sentence that says which promise is broken.
    TypeError
        If it is no ranker.

    Examples
    --------
    >>> from skrank.rankers import SubsetRegression
    >>> from skrank.testing import check_ranker
    >>> check_ranker(SubsetRegression())
    """
    _run_all(ranker, BaseRanker, "ranker")
