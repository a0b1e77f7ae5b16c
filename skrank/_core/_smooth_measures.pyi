import numpy as np

def sigmoid_ranks(
    scores: np.ndarray,
    ptr: np.ndarray,
    form: int,
    gain: np.ndarray,
    factor: np.ndarray,
    discount: np.ndarray,
    slope: np.ndarray,
    rule: int,
    cut_off: float,
    steepness: float,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def soft_positions(
    scores: np.ndarray,
    ptr: np.ndarray,
    form: int,
    gain: np.ndarray,
    factor: np.ndarray,
    discount: np.ndarray,
    kind: int,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def noisy_scores(
    scores: np.ndarray,
    variance: np.ndarray | None,
    ptr: np.ndarray,
    form: int,
    gain: np.ndarray,
    factor: np.ndarray,
    discount: np.ndarray,
    normal: bool,
    width: float,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def draw_rankings(
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
def ranking_energies(
    scores: np.ndarray,
    ptr: np.ndarray,
    start: np.ndarray,
    places: np.ndarray,
    table: np.ndarray,
    table_start: np.ndarray,
    n_samples: int,
    n_threads: int,
) -> np.ndarray: ...
def boltzmann_loss(
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
