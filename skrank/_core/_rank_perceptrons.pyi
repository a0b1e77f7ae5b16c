import numpy as np

def learn_dense(
    X: np.ndarray,
    place: np.ndarray,
    weight: np.ndarray | None,
    order: np.ndarray,
    params: np.ndarray,
    n_thresholds: int,
    share: float,
    seed: int,
    first: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def learn_sparse(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    n_features: int,
    place: np.ndarray,
    weight: np.ndarray | None,
    order: np.ndarray,
    params: np.ndarray,
    n_thresholds: int,
    share: float,
    seed: int,
    first: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
