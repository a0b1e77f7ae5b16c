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
    X: np.ndarray,
    thresholds: np.ndarray,
    categorical: np.ndarray,
    n_threads: int = 1,
    order: np.ndarray | None = None,
) -> np.ndarray: ...
def find_sparse_thresholds(
    ptr: np.ndarray,
    feature: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    max_bins: int,
    categorical: np.ndarray,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]: ...
def bin_entries(
    ptr: np.ndarray,
    feature: np.ndarray,
    values: np.ndarray,
    cuts: np.ndarray,
    start: np.ndarray,
    n_bins: np.ndarray,
    categorical: np.ndarray,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
def dense_bins(
    ptr: np.ndarray,
    feature: np.ndarray,
    place: np.ndarray,
    common: np.ndarray,
    n_bins: np.ndarray,
) -> np.ndarray: ...
def hash_rows(X: np.ndarray, n_threads: int = 1) -> np.ndarray: ...
def hash_entries(
    ptr: np.ndarray, feature: np.ndarray, values: np.ndarray, d: int
) -> np.ndarray: ...
