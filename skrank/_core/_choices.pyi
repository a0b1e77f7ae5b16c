import numpy as np

def picks_by_difference(
    ranks: np.ndarray,
    relevant: np.ndarray,
    wanted: np.ndarray,
    ptr: np.ndarray,
    prior: float,
    n_threads: int = 1,
) -> np.ndarray: ...
def picks_by_mixture(
    ranks: np.ndarray,
    relevant: np.ndarray,
    wanted: np.ndarray,
    ptr: np.ndarray,
    log_beta: float,
    n_threads: int = 1,
) -> np.ndarray: ...
def sums_over_kept(
    y: np.ndarray,
    scores: np.ndarray,
    slack: np.ndarray,
    x: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]: ...
def kept_pairs(
    y: np.ndarray,
    scores: np.ndarray,
    slack: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def picks_by_pairs(
    y: np.ndarray,
    scores: np.ndarray,
    slack: np.ndarray,
    value: np.ndarray,
    wanted: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def kendall_sums(
    values: np.ndarray, ptr: np.ndarray, concordance: bool, n_threads: int = 1
) -> np.ndarray: ...
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
