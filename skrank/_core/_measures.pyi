import numpy as np

KINDS: tuple[str, ...]

def select_limit() -> int: ...
def rank_rows(
    scores: np.ndarray, key: np.ndarray | None, ptr: np.ndarray, n_threads: int = 1
) -> np.ndarray: ...
def rank_values(
    scores: np.ndarray,
    key: np.ndarray | None,
    values: np.ndarray,
    ptr: np.ndarray,
    with_scores: bool,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray | None]: ...
def discounted_sum(
    values: np.ndarray,
    scores: np.ndarray | None,
    ptr: np.ndarray,
    discount: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def precision_sum(
    relevant: np.ndarray,
    scores: np.ndarray | None,
    ptr: np.ndarray,
    discount: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def threshold_precision_sum(
    relevant: np.ndarray,
    scores: np.ndarray | None,
    ptr: np.ndarray,
    k: int,
    n_threads: int = 1,
) -> np.ndarray: ...
def cascade(
    stop: np.ndarray,
    scores: np.ndarray | None,
    ptr: np.ndarray,
    discount: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def preference_sum(
    grade: np.ndarray,
    scores: np.ndarray | None,
    ptr: np.ndarray,
    n_relevant: np.ndarray,
    n_other: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def top_dcg(
    grade: np.ndarray,
    scores: np.ndarray,
    ptr: np.ndarray,
    discount: np.ndarray,
    exp2: bool,
    average: bool,
    n_threads: int = 1,
) -> np.ndarray: ...
def ideal_dcg(
    grade: np.ndarray,
    ptr: np.ndarray,
    discount: np.ndarray,
    exp2: bool,
    n_threads: int = 1,
) -> np.ndarray: ...
def count_pairs(
    grade: np.ndarray, scores: np.ndarray, ptr: np.ndarray, n_threads: int = 1
) -> np.ndarray: ...
def rank_biased_overlap(
    from1: np.ndarray,
    to1: np.ndarray,
    from2: np.ndarray,
    to2: np.ndarray,
    ptr: np.ndarray,
    p: float,
    n_threads: int = 1,
) -> np.ndarray: ...
def exact_values(
    scores: np.ndarray,
    ptr: np.ndarray,
    kind: int,
    gain: np.ndarray,
    discount: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray,
    n_threads: int,
) -> np.ndarray: ...
def exact_values_on_grid(
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
