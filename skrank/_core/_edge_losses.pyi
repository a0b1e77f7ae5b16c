import numpy as np

def edge_pairs(
    first: np.ndarray,
    second: np.ndarray | None,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    direct: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def sampled_edge_pairs(
    first: np.ndarray,
    second: np.ndarray | None,
    ptr: np.ndarray,
    pairs: np.ndarray,
    pair_weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def stars(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
