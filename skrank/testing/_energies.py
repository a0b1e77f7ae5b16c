"""What every energy promises."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skrank._core._threads import blas_threads
from skrank.energies import BaseEnergy
from skrank.testing._common import (
    Check,
    called,
    close,
    copies_of,
    numeric_gradient,
    read_only,
    require,
    same_bits,
)

PTR = np.array([0, 5, 6, 14, 20], dtype=np.intp)
N_FEATURES = 4


def example_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows with a feature of the query in front, and grades 0, 1 and 2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, N_FEATURES)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, 0.0, -1.0]
    X[:, 0] = np.repeat(rng.normal(size=4), np.diff(PTR))
    return X, np.resize([0.0, 1.0, 2.0, 0.0, 1.0], 20)


def set_up(energy: Any, X: Any, y: np.ndarray, ptr: np.ndarray = PTR):
    """Return a fitted copy, its rows, and parameters off those it starts from.

    Parameters
    ----------
    energy : BaseEnergy
        Energy.
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows.
    y : ndarray of shape (n_documents,)
        Grades.
    ptr : ndarray of shape (n_queries + 1,)
        Where each query starts.

    Returns
    -------
    energy : BaseEnergy
        The copy, set up.
    rows : ndarray or CSR matrix
        The rows as the energy transforms them.
    params : ndarray of shape (n_params,)
        Parameters.
    """
    energy = clone(energy)
    with warnings.catch_warnings():
        # No feature belongs to the query alone where there is one query per row.
        warnings.filterwarnings("ignore", "query_features='auto'")
        energy.setup(X, np.random.RandomState(0), y, ptr)
    rows = energy.transform(X)
    start = energy.init_params(rows.shape[1], np.random.RandomState(1))
    rng = np.random.default_rng(2)
    params = start + 0.2 * rng.random(len(start))
    constraint = energy.constraint(rows.shape[1])
    return energy, rows, params if constraint is None else constraint.project(params)


def check_shapes(energy: BaseEnergy) -> None:
    """Check the shapes of parameters and scores."""
    made, rows, params = set_up(energy, *example_rows())
    n = made.n_params(rows.shape[1])
    require(
        len(params) == n,
        energy,
        f"starts from {len(params)} parameters, but says n_params = {n}",
    )
    mask = made.penalty_mask(rows.shape[1])
    require(
        mask.shape == params.shape and set(mask) <= {0.0, 1.0},
        energy,
        "must have a penalty_mask of zeros and ones, one for each parameter",
    )
    raw = made.scores(params, rows, PTR)
    columns = 1 if made.labels_ is None else len(made.labels_)
    columns = max(columns, made.n_outputs)
    shape = (20,) if columns == 1 else (20, columns)
    require(
        raw.shape == shape and raw.dtype == np.float64,
        energy,
        f"must have scores of shape {shape} and dtype float64, has shape {raw.shape} "
        f"and dtype {raw.dtype}",
    )
    if made.n_outputs == 1:
        ranked_by = np.shape(made.document_scores(params, rows, PTR))
        require(
            ranked_by == (20,),
            energy,
            f"must rank documents by one score each, has shape {ranked_by}",
        )


def check_vjp(energy: BaseEnergy) -> None:
    """Check the pullback of gradients against finite differences."""
    # Parameters that fit training rows are those that leave a row out of its average.
    made, rows, params = set_up(energy, *example_rows())
    raw, vjp = made.scores_and_vjp(params, rows, None, PTR)
    pull = np.random.default_rng(3).normal(size=raw.shape)

    def pulled(w):
        return np.sum(pull * made.scores_and_vjp(w, rows, None, PTR)[0])

    first = np.array(vjp(pull))
    require(
        close(first, numeric_gradient(pulled, params, 1e-5), 1e-5, 1e-6),
        energy,
        "has a vjp that is not the gradient of its scores",
    )
    require(same_bits(vjp(pull), first), energy, "has another vjp the second time")


def check_threads(energy: BaseEnergy) -> None:
    """Check that the number of threads does not change a bit."""
    # Enough rows for threads, in queries of twenty. Where every row is a landmark, most
    # of the time is their factorisation, and fewer make two blocks.
    rng = np.random.default_rng(0)
    n = 1200 if energy.get_params().get("n_components", 1) is None else 2000
    X = rng.normal(size=(n, N_FEATURES))
    X[:, 0] = np.repeat(rng.normal(size=n // 20), 20)
    y, ptr = np.resize([0.0, 1.0, 2.0], n), np.arange(0, n + 1, 20)
    results = []
    for blas, n_jobs in [(1, 1), (2, 2), (1, 3)]:
        copied: Any = clone(energy)
        names = [name for name in copied.get_params() if name.endswith("n_jobs")]
        copied.set_params(**dict.fromkeys(names, n_jobs))
        with blas_threads(blas):
            made, rows, params = set_up(copied, X, y, ptr)
            raw, vjp = made.scores_and_vjp(params, rows, None, ptr)
            results.append(np.r_[raw.ravel(), vjp(np.ones(raw.shape))])
    for other in results[1:]:
        require(
            same_bits(other, results[0]), energy, "changes with the number of threads"
        )


def check_queries_are_independent(energy: BaseEnergy) -> None:
    """Check that some queries have the scores that they have among all."""
    made, rows, params = set_up(energy, *example_rows())
    among = made.scores(params, rows, PTR)[PTR[2] :]
    alone = made.scores(params, rows[PTR[2] :], PTR[2:] - PTR[2])
    require(
        close(alone, among, 1e-10, 1e-12),
        energy,
        "gives a query other scores among others than alone",
    )


def check_groups(energy: BaseEnergy) -> None:
    """Check that scores depend on the queries only where the energy says so."""
    made, rows, params = set_up(energy, *example_rows())
    raw = made.scores(params, rows, PTR)
    other = made.scores(params, rows, np.array([0, 12, 20]))
    if made.needs_groups:
        require(
            not close(other, raw),
            energy,
            "says needs_groups=True, but has the same scores for other queries",
        )
        return
    require(
        same_bits(other, raw) and same_bits(made.scores(params, rows), raw),
        energy,
        "says needs_groups=False, but its scores depend on the queries",
    )


def check_sparse(energy: BaseEnergy) -> None:
    """Check that sparse rows have the scores of dense ones, or are refused."""
    X, y = example_rows()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, rows, params = set_up(energy, X, y)
    if not dense.accepts_sparse:
        try:
            dense.scores(params, sparse.csr_matrix(rows), PTR)
        except TypeError:
            return
        require(False, energy, "says accepts_sparse=False, but takes a sparse matrix")
    thin, thin_rows, _ = set_up(energy, sparse.csr_array(X), y)
    raw, vjp = dense.scores_and_vjp(params, rows, None, PTR)
    found, thin_vjp = thin.scores_and_vjp(params, thin_rows, None, PTR)
    pull = np.ones(raw.shape)
    require(
        close(found, raw, 1e-8, 1e-10) and close(thin_vjp(pull), vjp(pull), 1e-8, 1e-8),
        energy,
        "has other scores or gradients for sparse rows than for dense ones",
    )


def check_linearity(energy: BaseEnergy) -> None:
    """Check that scores are linear in the parameters where the energy says so."""
    made, rows, params = set_up(energy, *example_rows())
    if made.labels_ is not None or not made.linear:
        return  # with labels, what is linear is f(x)

    def scores(w):
        return made.scores(w, rows, PTR)

    other = params[::-1] + 1.0
    middle = 0.5 * (scores(params) + scores(other))
    kept = close(scores(0.5 * (params + other)), middle, 1e-7, 1e-10)
    kept = kept and close(scores(np.zeros_like(params)), 0.0 * middle, 0.0, 1e-8)
    require(kept, energy, "says linear=True, but its scores are not linear in params")


def check_constraint(energy: BaseEnergy) -> None:
    """Check what the energy says of its constraint and of the sign of its scores."""
    made, rows, params = set_up(energy, *example_rows())
    constraint = made.constraint(rows.shape[1])
    require(
        made.constrained == (constraint is not None),
        energy,
        f"says constrained={made.constrained}, but constraint() returns {constraint!r}",
    )
    if constraint is not None:
        start = made.init_params(rows.shape[1], np.random.RandomState(0))
        require(
            constraint.feasible(start),
            energy,
            "starts from parameters outside of its constraint",
        )
    raw = made.scores(params, rows, PTR)
    require(
        not made.non_negative or np.all(raw <= 1e-12),
        energy,
        "says non_negative=True, but has energies below 0",
    )
    if made.ordered_outputs and made.n_outputs > 1:
        require(
            np.all(np.diff(raw, axis=1) <= 0.0),
            energy,
            "says ordered_outputs=True, but has scores that rise from left to right",
        )


def check_setup(energy: BaseEnergy) -> None:
    """Check that setup checks the parameters and returns the energy."""
    X, y = example_rows()
    copied: Any = clone(energy)
    checked: list[Any] = []
    copied._check_parameters = lambda: checked.append(copied)
    returned = copied.setup(X, np.random.RandomState(0), y, PTR)
    require(
        len(checked) == 1,
        energy,
        "must begin setup by super().setup(X, rng, y, ptr), which checks parameters",
    )
    require(returned is copied, energy, "must return itself from setup")


def check_purity(energy: BaseEnergy) -> None:
    """Check that inputs stay as they are, and that the result is the same again."""
    X, y = example_rows()
    made, rows, params = set_up(energy, X, y)
    first = np.array(made.scores(params, rows, PTR))
    given = (read_only(X), read_only(y)) if not sparse.issparse(X) else (X, y)
    try:
        again, rows, params = set_up(energy, *given)
        if not sparse.issparse(rows):
            rows = read_only(rows)
        found = again.scores(read_only(params), rows, PTR)
        again.scores_and_vjp(read_only(params), rows, None, PTR)
    except ValueError as error:
        raise AssertionError(
            f"{called(energy)} cannot evaluate arrays that are read-only: {error}"
        ) from error
    require(same_bits(found, first), energy, "has other scores the second time")


def check_copies(energy: BaseEnergy) -> None:
    """Check that clones and unpickled copies have the same scores."""
    made, rows, params = set_up(energy, *example_rows())
    expected = made.scores(params, rows, PTR)
    for copied in copies_of(energy):
        other, other_rows, _ = set_up(copied, *example_rows())
        require(
            same_bits(other.scores(params, other_rows, PTR), expected),
            energy,
            "has other scores after it was cloned or pickled",
        )


def checks_of_energies(energy: BaseEnergy) -> Iterator[Check]:
    """Yield the checks of an energy."""
    yield from (
        check_copies,
        check_setup,
        check_shapes,
        check_vjp,
        check_purity,
        check_queries_are_independent,
        check_groups,
        check_sparse,
        check_linearity,
        check_constraint,
        check_threads,
    )
