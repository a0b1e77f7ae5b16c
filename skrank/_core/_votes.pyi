import numpy as np

def copeland(
    places: np.ndarray, weight: np.ndarray, ptr: np.ndarray, n_threads: int = 1
) -> np.ndarray: ...
def sort_by_majority(
    places: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def local_kemeny(
    places: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def kendall_distance(
    places: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def greedy_ranks(
    scores: np.ndarray, ptr: np.ndarray, weight: np.ndarray, n_threads: int
) -> np.ndarray: ...
