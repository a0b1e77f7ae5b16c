"""What every energy has learned: kinds, types and shapes of its fitted attributes.

Letters stand for lengths, and a letter has one value throughout an energy: ``"d"`` is
the number of features, ``"k"`` that of labels.
"""

from typing import NamedTuple

import numpy as np
from sklearn.kernel_approximation import Nystroem

from skrank.energies import (
    BaseEnergy,
    ComparatorEnergy,
    EmbeddingEnergy,
    GaussianEnergy,
    KernelEnergy,
    MLPEnergy,
    NadarayaWatsonEnergy,
    PairwisePotentialEnergy,
    PreferenceWeightsEnergy,
    ProductLabelEnergy,
    PrototypeEnergy,
    ThresholdEnergy,
)
from skrank.energies._label_scalar import ScalarLabelEnergy


class Array(NamedTuple):
    """An array of numbers of 64 bits, of places within another one, or of flags.

    Attributes
    ----------
    shape : str
        One letter for each dimension.
    below : str
        For whole numbers the letter, or the attribute, that all of them are below; ""
        for other numbers.
    optional : bool
        Whether None may stand in its place.
    whole : bool
        Whether the numbers are whole.
    flags : bool
        Whether the elements are True or False in place of numbers.
    finite : bool
        Whether all numbers are finite; in other arrays, NaN and infinity may stand.
    low : float
        Smallest number.
    high : float
        Largest number.
    sparse : bool
        Whether a CSR matrix may stand in its place.
    """

    shape: str
    below: str = ""
    optional: bool = False
    whole: bool = False
    flags: bool = False
    finite: bool = True
    low: float = -np.inf
    high: float = np.inf
    sparse: bool = False

    @property
    def dtypes(self) -> list[type]:
        """Accepted types of the elements."""
        if self.flags:
            return [np.bool_]
        return [np.int32, np.int64] if self.below or self.whole else [np.float64]


_VECTORS = {"labels_": Array("k"), "origin_": Array("kc"), "encoder_": BaseEnergy}

STATES: dict[type, dict[str, Array | type]] = {
    EmbeddingEnergy: _VECTORS,
    PrototypeEnergy: _VECTORS,
    GaussianEnergy: {
        "min_": Array("d"),
        "range_": Array("d", finite=False),  # infinite for constant features
        "query_features_": Array("q", below="d"),
        "network_": MLPEnergy,
    },
    ComparatorEnergy: {"units_": MLPEnergy},
    KernelEnergy: {"map_": Nystroem},
    MLPEnergy: {
        "mean_": Array("d", optional=True),
        "scale_": Array("d", optional=True),
    },
    NadarayaWatsonEnergy: {
        "mean_": Array("d"),
        "scale_": Array("d"),
        "X_": Array("nd"),
        "y_": Array("n"),
        "landmarks_": Array("n", below="n_training_rows_"),
        "n_training_rows_": int,
    },
    PairwisePotentialEnergy: {"individual_": BaseEnergy, "units_": MLPEnergy},
    PreferenceWeightsEnergy: {"energy_": BaseEnergy},
    ProductLabelEnergy: {"codes_": Array("k")},
    ScalarLabelEnergy: {"labels_": Array("k"), "base_": BaseEnergy},
    ThresholdEnergy: {"energy_": BaseEnergy, "n_thresholds_": int},
}


def width_of(energy: BaseEnergy) -> int | None:
    """Return the number of features that an energy has learned from.

    Parameters
    ----------
    energy : BaseEnergy
        A fitted energy, whose attributes have been checked.

    Returns
    -------
    int or None
        None if nothing of what it has learned says so.
    """
    if isinstance(energy, KernelEnergy):
        return energy.map_.n_features_in_
    if vars(energy).get("encoder_") == "identity":
        return energy.origin_.shape[1]
    # What a part has learned comes after what the rows are transformed by.
    for name, kind in state_of(energy).items():
        value = vars(energy).get(name)
        if isinstance(value, BaseEnergy):
            width = width_of(value)
        elif isinstance(value, np.ndarray) and isinstance(kind, Array):
            width = dict(zip(kind.shape, value.shape)).get("d")
        else:
            width = None
        if width is not None:
            return width
    return None


def state_of(energy: BaseEnergy) -> dict[str, Array | type]:
    """Return what the attributes of a fitted energy must be, by name.

    Parameters
    ----------
    energy : BaseEnergy
        Any energy.

    Returns
    -------
    dict
        Empty if the energy learns nothing.
    """
    return {
        name: kind
        for cls in reversed(type(energy).__mro__)
        for name, kind in STATES.get(cls, {}).items()
    }
