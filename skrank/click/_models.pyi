import numpy as np

def click_context(
    click: np.ndarray, ptr: np.ndarray, n_threads: int = 1
) -> tuple[np.ndarray, np.ndarray]: ...
def number_pairs(
    query: np.ndarray, document: np.ndarray, n_queries: int, n_documents: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def count_cells(
    pair: np.ndarray, slot: np.ndarray, click: np.ndarray, n_pairs: int, n_slots: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
def browsing_step(
    ptr: np.ndarray,
    slot: np.ndarray,
    clicks: np.ndarray,
    skips: np.ndarray,
    clicked: np.ndarray,
    shown: np.ndarray,
    attraction: np.ndarray,
    examination: np.ndarray,
    prior: tuple[float, float, float],
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, float]: ...
def browsing_examination(
    attraction: np.ndarray, examination: np.ndarray, ptr: np.ndarray, n_threads: int = 1
) -> np.ndarray: ...
def draw_browsing(
    attraction: np.ndarray,
    examination: np.ndarray,
    ptr: np.ndarray,
    uniform: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def chain_examination(
    attraction: np.ndarray,
    after_skip: np.ndarray,
    after_click: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def chain_conditionals(
    attraction: np.ndarray,
    after_skip: np.ndarray,
    after_click: np.ndarray,
    click: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def draw_chains(
    attraction: np.ndarray,
    after_skip: np.ndarray,
    after_click: np.ndarray,
    ptr: np.ndarray,
    uniform: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
def chain_posteriors(
    attraction: np.ndarray,
    after_skip: np.ndarray,
    after_click: np.ndarray,
    click: np.ndarray,
    last: np.ndarray,
    ptr: np.ndarray,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]: ...
def sums_by_code(values: np.ndarray, code: np.ndarray, n_codes: int) -> np.ndarray: ...
def posterior_moments(
    clicks: np.ndarray,
    ptr: np.ndarray,
    factor: np.ndarray,
    count: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    left: float,
    right: float,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]: ...
def posterior_grids(
    clicks: np.ndarray,
    ptr: np.ndarray,
    factor: np.ndarray,
    count: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    left: float,
    right: float,
    n_points: int,
    flat: bool,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
