import numpy as np

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
