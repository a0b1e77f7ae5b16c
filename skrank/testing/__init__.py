"""Checks of what rankers, losses, energies, solvers and measures promise.

They are for parts that are written outside of this package, and the tests of this
package run them as well.
"""

from skrank.testing._checks import (
    check_energy,
    check_loss,
    check_measure,
    check_ranker,
    check_solver,
    contract_checks,
)

__all__ = [
    "check_energy",
    "check_loss",
    "check_measure",
    "check_ranker",
    "check_solver",
    "contract_checks",
]
