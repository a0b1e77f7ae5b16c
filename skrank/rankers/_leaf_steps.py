"""Values of leaves by several Newton steps."""

from collections.abc import Callable

import numpy as np

from skrank._core._finite import NotFiniteError
from skrank.rankers._query_sampling import QuerySample
from skrank.trees._grower import Grower

#: What returns the losses of the queries, the gradient and the Hessian at some scores.
Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray | None]]

#: Shares of a step that are tried, one after the other.
_SHARES = (1.0, 0.5, 0.25, 0.125)


def refine_leaves(
    grower: Grower,
    n_steps: int,
    before: np.ndarray,
    output: int,
    derivatives: Derivatives,
    sample: QuerySample,
    ptr: np.ndarray,
) -> None:
    r"""Refine the values of the leaves of the last tree by further Newton steps.

    .. math:: u \leftarrow u - \frac{\sum_i g_i(F + u) + \lambda u}
                                    {\sum_i h_i(F + u) + \lambda}

    in each leaf, where :math:`\lambda` is the L2 regularisation. Documents of one query
    that lie in different leaves move each other's optimum, so that steps of all leaves
    at once may go too far: a step is halved until the loss is less than before it,
    penalties included. Where that never happens, the steps end.

    Parameters
    ----------
    grower : Grower
        Grower of the tree, whose values no learning rate has multiplied yet.
    n_steps : int
        Number of steps, together with the first one, by which the tree has its values.
    before : ndarray of shape (n_documents, n_outputs)
        Scores that the tree was grown at.
    output : int
        Number of the score that the tree adds to; the others stay as they are.
    derivatives : callable
        The loss at other scores.
    sample : QuerySample
        Queries that the tree was grown on.
    ptr : ndarray of shape (n_queries + 1,)
        Start of each query, and the end of the last one.
    """
    weights = sample.of_queries(ptr)

    def look():
        """Return the loss at the values of the leaves, and its derivatives."""
        raw = before.copy()
        grower.add_to(raw, output)
        try:
            values, gradient, hessian = derivatives(raw)
        except NotFiniteError:  # steps without a learning rate may be long
            return np.inf, raw, None
        loss = float(np.sum(weights * values)) + grower.penalty()
        return loss, gradient, hessian

    start = float(np.sum(weights * derivatives(before)[0]))
    least = start + grower.penalty(before=True)
    for step in range(n_steps):
        for share in _SHARES:
            grower.go(share)
            loss, gradient, hessian = look()
            if loss < least:
                break
        else:
            # The first step is taken in any case: a gradient need not be that of the
            # loss which its values show, as with swaps that change a measure.
            grower.go(0.0 if step else 1.0)
            return
        if step + 1 == n_steps:
            return
        least = loss
        grower.step(*column_of(gradient, hessian, output, sample))


def column_of(
    gradient: np.ndarray, hessian: np.ndarray | None, output: int, sample: QuerySample
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the derivatives by one of the scores, for a sample of the queries.

    Parameters
    ----------
    gradient, hessian : ndarray of shape (n_documents, n_outputs)
        Derivatives of the loss; the Hessian may be None.
    output : int
        Number of the score.
    sample : QuerySample
        Queries that a tree is grown on, with their weights.

    Returns
    -------
    gradient, hessian : ndarray of shape (n_documents,)
        Derivatives by the score; the Hessian may be None.
    """
    return sample.scaled(
        np.ascontiguousarray(gradient[:, output]),
        None if hessian is None else np.ascontiguousarray(hessian[:, output]),
    )
