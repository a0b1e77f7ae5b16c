"""Classes that model files of earlier versions name otherwise.

The parameters that an old class had are parameters of the new class under the same
names and mean the same, so a new name is all that an old file needs; parameters that
the old class did not have keep their defaults.
"""

#: Old public name of a class -> present public name.
RENAMED = {
    "skrank.losses.PairwiseHingeLoss": "skrank.losses.HingeLoss",
    "skrank.losses.PairwiseSquaredHingeLoss": "skrank.losses.SquaredHingeLoss",
    "skrank.losses.RankNetLoss": "skrank.losses.LogLoss",
    "skrank.losses.SmoothedHingeLoss": "skrank.losses.HingeLoss",
}


def current_name(name: str) -> str:
    """Return the present public name of a class that may have been renamed.

    Parameters
    ----------
    name : str
        As written in a model file.

    Returns
    -------
    str
        The same name, if the class was not renamed.
    """
    return RENAMED.get(name, name)
