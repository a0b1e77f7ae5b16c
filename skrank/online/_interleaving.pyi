import numpy as np

def deal(
    scheme: str,
    document: np.ndarray,
    lists: np.ndarray,
    n_rankings: int,
    ptr: np.ndarray,
    shown_ptr: np.ndarray,
    seed: int,
    tau: float = 3.0,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]: ...
def balanced_credit(
    document: np.ndarray,
    lists: np.ndarray,
    n_rankings: int,
    ptr: np.ndarray,
    shown: np.ndarray,
    shown_ptr: np.ndarray,
    click: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def marginal_credit(
    document: np.ndarray,
    lists: np.ndarray,
    n_rankings: int,
    ptr: np.ndarray,
    shown: np.ndarray,
    shown_ptr: np.ndarray,
    click: np.ndarray,
    tau: float = 3.0,
    n_threads: int = 1,
) -> np.ndarray: ...
def rank_by_columns(
    scores: np.ndarray, ptr: np.ndarray, seed: int, n_threads: int = 1
) -> np.ndarray: ...
def draw(
    scores: np.ndarray,
    ptr: np.ndarray,
    shown_ptr: np.ndarray,
    seed: int,
    n_threads: int = 1,
) -> np.ndarray: ...
def preference_gradient(
    scores: np.ndarray,
    ptr: np.ndarray,
    shown: np.ndarray,
    shown_ptr: np.ndarray,
    click: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
