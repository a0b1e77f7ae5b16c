import numpy as np

def offenders(
    raw: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def scatter(
    right: np.ndarray,
    wrong: np.ndarray,
    column: np.ndarray,
    offender: np.ndarray,
    n_labels: int,
) -> np.ndarray: ...
