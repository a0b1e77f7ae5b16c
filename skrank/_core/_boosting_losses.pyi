import numpy as np

def push(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    p: float,
    factors: np.ndarray | None,
    want_hessian: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def fidelity(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def along(
    scores: np.ndarray,
    ranks: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    p: float,
    factors: np.ndarray | None,
    n_threads: int,
) -> np.ndarray: ...
def agreement(
    scores: np.ndarray,
    ranks: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    fidelity: bool,
    n_threads: int,
) -> np.ndarray: ...
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
