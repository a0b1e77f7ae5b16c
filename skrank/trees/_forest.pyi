import numpy as np

def add_trees(
    X: np.ndarray,
    scores: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    left: np.ndarray,
    missing_left: np.ndarray,
    category: np.ndarray,
    value: np.ndarray,
    roots: np.ndarray,
    output: np.ndarray,
    categories: np.ndarray,
    first_tree: int,
    last_tree: int,
    n_threads: int = 1,
) -> None: ...
