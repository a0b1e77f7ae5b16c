import numpy as np

def debiased_lambda_loss(
    scores: np.ndarray,
    ptr: np.ndarray,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray | None,
    preferred: np.ndarray,
    other: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    sigma: float,
    truncation: int,
    normalize: bool,
    damping: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
