import numpy as np

GROWTH: tuple[str, ...]

class Grower:
    def __init__(
        self,
        bins: np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        n_rows: int,
        n_bins: np.ndarray,
        categorical: np.ndarray,
        monotonic: np.ndarray,
    ) -> None: ...
    def grow(
        self,
        gradient: np.ndarray,
        hessian: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        growth: str = "leaf",
        max_leaf_nodes: int = 31,
        max_depth: int = 0,
        min_samples_leaf: int = 20,
        min_weight: float = 0.001,
        l2: float = 0.0,
        min_gain: float = 0.0,
        min_gain_to_noise: float = 0.0,
        learning_rate: float = 0.1,
        smoothing: float = 10.0,
        path_smoothing: float = 0.0,
        noise: float = 0.0,
        max_features: int = 0,
        random_thresholds: bool = False,
        max_bytes: int = 134217728,
        seed: int = 0,
        stochastic: bool = True,
        n_threads: int = 1,
        wide: bool = True,
    ) -> dict[str, np.ndarray]: ...
    def step(self, gradient: np.ndarray, hessian: np.ndarray | None = None) -> None: ...
    def go(self, share: float) -> None: ...
    def penalty(self, before: bool = False) -> float: ...
    def scaled(self, factor: float) -> dict[str, np.ndarray]: ...
    def add_to(
        self, scores: np.ndarray, output: int = 0, *, everywhere: bool = False
    ) -> None: ...
