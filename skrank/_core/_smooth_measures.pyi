import numpy as np

def sigmoid_ranks(
    scores: np.ndarray,
    ptr: np.ndarray,
    form: int,
    gain: np.ndarray,
    factor: np.ndarray,
    discount: np.ndarray,
    slope: np.ndarray,
    rule: int,
    cut_off: float,
    steepness: float,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def soft_positions(
    scores: np.ndarray,
    ptr: np.ndarray,
    form: int,
    gain: np.ndarray,
    factor: np.ndarray,
    discount: np.ndarray,
    kind: int,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def noisy_scores(
    scores: np.ndarray,
    variance: np.ndarray | None,
    ptr: np.ndarray,
    form: int,
    gain: np.ndarray,
    factor: np.ndarray,
    discount: np.ndarray,
    normal: bool,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
