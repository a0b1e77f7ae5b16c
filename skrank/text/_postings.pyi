import numpy as np

def scan_words(
    texts: list[str], n_threads: int = 1
) -> tuple[list[str], np.ndarray, np.ndarray]: ...
def build_postings(
    words: np.ndarray,
    ptr: np.ndarray,
    terms: np.ndarray,
    terms_ptr: np.ndarray,
    n_terms: int,
    with_positions: bool = False,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]: ...

class Lists:
    def __init__(
        self, ptr: np.ndarray, documents: np.ndarray, n_documents: int
    ) -> None: ...
    def fault(self, counts: np.ndarray, most: float) -> int: ...
    def find(
        self, terms: np.ndarray, documents: np.ndarray, n_threads: int = 1
    ) -> np.ndarray: ...
    def search(
        self,
        weights: np.ndarray,
        offsets: np.ndarray | None,
        query_ptr: np.ndarray,
        query_terms: np.ndarray,
        query_weights: np.ndarray,
        totals: np.ndarray | None,
        constants: np.ndarray | None,
        k: int,
        n_threads: int = 1,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def score(
        self,
        weights: np.ndarray,
        offsets: np.ndarray | None,
        query_ptr: np.ndarray,
        query_terms: np.ndarray,
        query_weights: np.ndarray,
        totals: np.ndarray | None,
        constants: np.ndarray | None,
        n_threads: int = 1,
    ) -> np.ndarray: ...

def best_of_scores(
    scores: np.ndarray, k: int, n_threads: int = 1
) -> tuple[np.ndarray, np.ndarray]: ...
def proximities(
    ptr: np.ndarray,
    postings: np.ndarray,
    positions_ptr: np.ndarray,
    positions: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray: ...
