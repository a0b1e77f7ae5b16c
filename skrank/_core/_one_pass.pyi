import numpy as np

def rectify(z: np.ndarray, bias: np.ndarray) -> None: ...
def rectified_outer(
    left: np.ndarray, right: np.ndarray, outputs: np.ndarray
) -> np.ndarray: ...
def adam(
    params: np.ndarray,
    gradient: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    root_scale: float,
    rate: float,
) -> None: ...
def offenders(
    raw: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def scatter(
    right: np.ndarray,
    wrong: np.ndarray,
    column: np.ndarray,
    offender: np.ndarray,
    n_labels: int,
) -> np.ndarray: ...
