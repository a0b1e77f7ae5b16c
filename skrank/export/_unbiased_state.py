"""What rankers and estimators of clicks have learned besides their scores."""

from skrank.export._energy_state import Array
from skrank.unbiased import DualLearningRanker, RegressionEM, UnbiasedLambdaMART

#: Arrays by class: what no prediction reads, but further training and users do.
UNBIASED_STATES: dict[type, dict[str, Array]] = {
    DualLearningRanker: {"propensities_": Array("k")},
    RegressionEM: {"propensities_": Array("k"), "examination_": Array("k")},
    UnbiasedLambdaMART: {
        "propensities_": Array("k"),
        "unclicked_ratios_": Array("k"),
    },
}
