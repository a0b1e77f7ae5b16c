import numpy as np

KINDS: tuple[str, ...]

def values(
    scores: np.ndarray,
    ptr: np.ndarray,
    kind: int,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray,
    n_threads: int,
) -> np.ndarray: ...
def values_on_grid(
    scores: np.ndarray,
    direction: np.ndarray,
    order: np.ndarray,
    steps: np.ndarray,
    zero: int,
    ptr: np.ndarray,
    kind: int,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray,
    n_threads: int,
) -> np.ndarray: ...
def best_on_line(
    scores: np.ndarray,
    direction: np.ndarray,
    width: float,
    ptr: np.ndarray,
    kind: int,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray,
    n_threads: int,
) -> tuple[float, float, float]: ...
def program_scores(
    columns: np.ndarray, tokens: np.ndarray, constants: np.ndarray, n_threads: int
) -> np.ndarray: ...
