import numpy as np

DIVERGENCES: tuple[str, ...]

def matvec(X: np.ndarray, w: np.ndarray, n_threads: int = 1) -> np.ndarray: ...
def rmatvec(X: np.ndarray, v: np.ndarray, n_threads: int = 1) -> np.ndarray: ...
def potential_scores(
    units: np.ndarray,
    ptr: np.ndarray,
    weight: np.ndarray,
    bias: float,
    average: bool,
    n_threads: int,
) -> np.ndarray: ...
def potential_gradient(
    units: np.ndarray,
    ptr: np.ndarray,
    weight: np.ndarray,
    bias: float,
    average: bool,
    pull: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def divergences(
    divergence: str,
    documents: np.ndarray,
    queries: np.ndarray,
    ptr: np.ndarray,
    n_threads: int,
) -> np.ndarray: ...
def divergence_gradients(
    divergence: str,
    documents: np.ndarray,
    queries: np.ndarray,
    ptr: np.ndarray,
    weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
