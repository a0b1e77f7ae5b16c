"""Solution of large linear systems that signals can interrupt."""

import numpy as np

# Up to this number of rows, one call of LAPACK ends within a fraction of a second.
_ONE_CALL = 2000
_BLOCK = 256


def solve_dominant(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Solve a linear system whose diagonal dominates its columns.

    Gaussian elimination of such a system needs no pivots. Beyond 2,000 rows it runs
    block after block, and signals are answered in between.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        System, in which each entry of the diagonal is larger than the sum of the sizes
        of the others in its column. It is overwritten.
    target : ndarray of shape (m,)
        Right-hand side.

    Returns
    -------
    ndarray of shape (m,)
        Solution. Complexity: O(m³).
    """
    m = len(matrix)
    if m <= _ONE_CALL:
        return np.linalg.solve(matrix, target)
    blocks = [slice(a, min(a + _BLOCK, m)) for a in range(0, m, _BLOCK)]
    solution = np.array(target)
    for i, own in enumerate(blocks):
        inverse = np.linalg.inv(matrix[own, own])
        solution[own] = inverse @ solution[own]
        for columns in blocks[i + 1 :]:
            matrix[own, columns] = inverse @ matrix[own, columns]
        right = matrix[own, own.stop :]
        for rows in blocks[i + 1 :]:
            solution[rows] -= matrix[rows, own] @ solution[own]
            matrix[rows, own.stop :] -= matrix[rows, own] @ right
    for own in reversed(blocks):
        solution[own] -= matrix[own, own.stop :] @ solution[own.stop :]
    return solution
