import numpy as np

KINDS: tuple[str, ...]

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
def lambda_loss(
    scores: np.ndarray,
    ptr: np.ndarray,
    kind: str,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray | None,
    order: np.ndarray,
    lower: np.ndarray,
    sigma: float,
    truncation: int,
    normalize: bool,
    damping: float,
    n_threads: int,
    ranking: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def lambda_bound(
    scores: np.ndarray,
    ptr: np.ndarray,
    each_other: bool,
    gain: np.ndarray,
    discount: np.ndarray,
    apart: np.ndarray | None,
    by_discount: float,
    scale: np.ndarray,
    weight: np.ndarray | None,
    sigma: float,
    n_threads: int,
    ranking: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def neighbour_pairs(
    scores: np.ndarray,
    ptr: np.ndarray,
    grade: np.ndarray,
    gain: np.ndarray,
    noise: np.ndarray,
    by_rank: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray | None,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def logistic_noise(bits: np.ndarray, scale: float, n_threads: int) -> np.ndarray: ...
