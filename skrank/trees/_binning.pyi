import numpy as np

MISSING_BIN: int

def find_thresholds(
    X: np.ndarray,
    rows: np.ndarray,
    max_bins: int,
    categorical: np.ndarray,
    thresholds: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def bin_matrix(
    X: np.ndarray, thresholds: np.ndarray, categorical: np.ndarray, n_threads: int = 1
) -> np.ndarray: ...
