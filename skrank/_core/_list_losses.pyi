import numpy as np

def softmax_cross_entropy(
    scores: np.ndarray,
    ptr: np.ndarray,
    target: np.ndarray,
    query_weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def plackett_luce(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    stage_weight: np.ndarray | None,
    query_weight: np.ndarray,
    top_k: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def partition_likelihood(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    query_weight: np.ndarray,
    top_k: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def edge_pairs(
    first: np.ndarray,
    second: np.ndarray | None,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    direct: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def sampled_edge_pairs(
    first: np.ndarray,
    second: np.ndarray | None,
    ptr: np.ndarray,
    pairs: np.ndarray,
    pair_weight: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def stars(
    scores: np.ndarray,
    ptr: np.ndarray,
    order: np.ndarray,
    lower: np.ndarray,
    weight: np.ndarray | None,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]: ...
