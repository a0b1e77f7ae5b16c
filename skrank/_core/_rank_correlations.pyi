import numpy as np

def kendall_sums(
    values: np.ndarray, ptr: np.ndarray, concordance: bool, n_threads: int = 1
) -> np.ndarray: ...
