import numpy as np

def interleavings(
    scores: np.ndarray,
    ptr: np.ndarray,
    relevance: np.ndarray,
    kind: str,
    discount: np.ndarray,
    scale: np.ndarray,
    query_weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def positions(
    scores: np.ndarray,
    ptr: np.ndarray,
    gain: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    discount: np.ndarray,
    scale: np.ndarray,
    best: np.ndarray,
    query_weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def paths(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    best: np.ndarray,
    query_weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
