"""Mistakes that the type checker must report.

Each line carries the rule by which it is expected to be reported; a comment of that
kind that is not needed is itself an error, so nothing here can go unnoticed.
"""

from skrank.energies import MLPEnergy
from skrank.losses import HingeLoss
from skrank.metrics import NDCG
from skrank.model_selection import QueryKFold
from skrank.rankers import LambdaMART, RankNet, RankSVM
from skrank.solvers import Adam

RankSVM(alhpa=1)  # pyright: ignore[reportCallIssue]
RankSVM(hinge="square")  # pyright: ignore[reportArgumentType]
RankSVM(alpha="strong")  # pyright: ignore[reportArgumentType]
RankNet(activation="gelu")  # pyright: ignore[reportArgumentType]
LambdaMART("ndcg@10", 50)  # pyright: ignore[reportCallIssue]
LambdaMART(n_estimators=0.5)  # pyright: ignore[reportArgumentType]
HingeLoss(reading="both")  # pyright: ignore[reportArgumentType]
Adam(learning_rate=None)  # pyright: ignore[reportArgumentType]
MLPEnergy(hidden_layers=(3,))  # pyright: ignore[reportCallIssue]
NDCG(ties="any")  # pyright: ignore[reportArgumentType]
QueryKFold(folds=3)  # pyright: ignore[reportCallIssue]
