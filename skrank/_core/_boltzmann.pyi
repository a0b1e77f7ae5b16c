import numpy as np

def draw(
    y: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    start: np.ndarray,
    places: np.ndarray,
    n_samples: int,
    seed: int,
    n_threads: int,
) -> None: ...
def energies(
    scores: np.ndarray,
    ptr: np.ndarray,
    start: np.ndarray,
    places: np.ndarray,
    table: np.ndarray,
    table_start: np.ndarray,
    n_samples: int,
    n_threads: int,
) -> np.ndarray: ...
def loss(
    scores: np.ndarray,
    ptr: np.ndarray,
    start: np.ndarray,
    places: np.ndarray,
    table: np.ndarray,
    table_start: np.ndarray,
    gain: np.ndarray,
    target: np.ndarray,
    query_weight: np.ndarray,
    mix: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
