import numpy as np

def greedy_ranks(
    scores: np.ndarray, ptr: np.ndarray, weight: np.ndarray, n_threads: int
) -> np.ndarray: ...
