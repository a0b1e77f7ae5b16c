import numpy as np

def scores(
    units: np.ndarray,
    ptr: np.ndarray,
    weight: np.ndarray,
    bias: float,
    average: bool,
    n_threads: int,
) -> np.ndarray: ...
def gradient(
    units: np.ndarray,
    ptr: np.ndarray,
    weight: np.ndarray,
    bias: float,
    average: bool,
    pull: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
