import numpy as np

class IdTable:
    def __init__(
        self, lists: list[np.ndarray], sources: np.ndarray | None = None
    ) -> None: ...
    def take(self, order: np.ndarray) -> np.ndarray: ...
    def sort_ties(self, order: np.ndarray, tied: np.ndarray) -> None: ...

def join_ids(
    lists: list[np.ndarray], ptr: np.ndarray, hash_bits: int = 32
) -> tuple[
    list[np.ndarray],
    np.ndarray,
    np.ndarray,
    np.ndarray,
    bool,
    tuple[int, int] | None,
]: ...
