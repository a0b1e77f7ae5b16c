import numpy as np

def logistic(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    sigma: float,
    want_hessian: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def hinge(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    margin: float,
    squared: bool,
    cap: float,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def squared_hinge_hessian(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    margin: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def sigmoid(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    beta: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def owa_hinge(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    alpha: np.ndarray,
    margin: float,
    width: float,
    squared: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def misordered(
    scores: np.ndarray,
    residuals: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    squared: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def squared_differences(
    residuals: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def pair_weights(
    ptr: np.ndarray, order: np.ndarray, lower: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]: ...
