import numpy as np

DIVERGENCES: tuple[str, ...]

def values(
    divergence: str,
    documents: np.ndarray,
    queries: np.ndarray,
    ptr: np.ndarray,
    n_threads: int,
) -> np.ndarray: ...
def gradients(
    divergence: str,
    documents: np.ndarray,
    queries: np.ndarray,
    ptr: np.ndarray,
    weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
