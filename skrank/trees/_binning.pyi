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

class ThresholdSearch:
    def __init__(self, bins: np.ndarray, n_rows: int, n_bins: np.ndarray) -> None: ...
    def best(
        self,
        potentials: np.ndarray,
        low: bool = True,
        high: bool = True,
        n_threads: int = 1,
    ) -> tuple[int, int, int, float]: ...
    def histogram(self) -> np.ndarray: ...

def add_ranks(
    X: np.ndarray,
    scores: np.ndarray,
    feature: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    missing: np.ndarray,
    weight: np.ndarray,
    first: int,
    last: int,
    n_threads: int = 1,
) -> None: ...
def sum_ramps(
    X: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    potentials: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
