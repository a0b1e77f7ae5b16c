"""A function of one parameter, as an objective and as a function."""

import numpy as np


class Line:
    """Objective of one parameter by its value and its slope, which counts its calls."""

    def __init__(self, value, slope):
        self.value, self.slope, self.n_calls = value, slope, 0

    def value_gradient(self, params):
        self.n_calls += 1
        place = params[0]
        return float(self.value(place)), np.array([float(self.slope(place))])

    __call__ = value_gradient
