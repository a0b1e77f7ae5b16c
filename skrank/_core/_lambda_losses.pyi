import numpy as np

KINDS: tuple[str, ...]

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
