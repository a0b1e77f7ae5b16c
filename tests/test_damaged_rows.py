"""No public callable trusts the indices of a sparse matrix in place of its rows."""

import pytest
from _calls import functions, methods
from _damaged import DAMAGED, damaged
from sklearn.base import clone
from test_odd_arguments import FUNCTIONS, METHODS

from skrank.trees import CategoryEncoder

# Fits are short, and odd data cause warnings; answers to arguments are looked at.
pytestmark = pytest.mark.filterwarnings("ignore")


# They look at the number of rows alone.
NOT_READ = {
    ("BaseQuerySplitter.split", "X"),
    ("CounterfactualEvaluator.evaluate", "X"),  # without a ranker
    ("LetorFolds.split_with_validation", "X"),
    ("TemporalQuerySplit.split", "X"),
}


def test_encoders_of_categories_refuse_damaged_rows():
    encoder = CategoryEncoder(categorical_features=[0]).fit([[0.5, 1.0], [1.5, 2.0]])
    for kind, format in DAMAGED:
        wrong = damaged(kind, format, 2, 2)
        for method in (encoder.transform, clone(encoder).fit):
            with pytest.raises(ValueError, match=r"^X .* sparse matrix"):
                method(wrong)


def is_table(value):
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_damaged_rows_are_refused(name):
    call = (functions() | methods()).get(name)
    given = {} if call is None else call.arguments()
    tables = [k for k, value in given.items() if is_table(value)]
    if not tables:
        pytest.skip("takes no table")
    for argument in tables:
        shape = given[argument].shape
        for kind, format in DAMAGED:
            wrong = damaged(kind, format, shape[1], shape[0])
            if (name, argument) in NOT_READ:
                call.run(**{argument: wrong})
                continue
            with pytest.raises((TypeError, ValueError)):
                call.run(**{argument: wrong})
