"""Interaction logs: sessions of users, models of their clicks, and labels from clicks.

A log is held by `Sessions`: a query, the documents shown for it, and the clicks on
them, session after session. Models of clicks are fitted to it, and labels, preferences
and propensities for the training of rankers come from these.

Examples
--------
>>> from skrank.click import Sessions
>>> Sessions.from_lists(["jaguar"], [["car", "cat"]], [[0, 1]])
Sessions(n_sessions=1, n_impressions=2, n_clicks=1, n_queries=1, n_documents=2)
"""

from skrank.click._base import BaseClickModel
from skrank.click._bayesian_browsing_model import BayesianBrowsingModel
from skrank.click._cascade_model import CascadeModel
from skrank.click._click_chain_model import ClickChainModel
from skrank.click._click_graph import ClickGraph
from skrank.click._dependent_click_model import DependentClickModel
from skrank.click._document_click_model import DocumentClickModel
from skrank.click._dynamic_bayesian_network import DynamicBayesianNetwork
from skrank.click._interaction import (
    InteractionFeatures,
    InteractionModel,
    interaction_features,
)
from skrank.click._labels import to_labels, to_propensities
from skrank.click._labels_preferences import ClickPreferences, to_preferences
from skrank.click._position_based_model import PositionBasedModel
from skrank.click._random_click_model import RandomClickModel
from skrank.click._rank_click_model import RankClickModel
from skrank.click._reading import iter_sessions, load_sessions, save_sessions
from skrank.click._sessions import Sessions
from skrank.click._sessions_lookup import ClickRows, to_rows
from skrank.click._simplified_dynamic_bayesian_network import (
    SimplifiedDynamicBayesianNetwork,
)
from skrank.click._simulated_user import SimulatedUser
from skrank.click._user_browsing_model import UserBrowsingModel

__all__ = [
    "BaseClickModel",
    "BayesianBrowsingModel",
    "CascadeModel",
    "ClickChainModel",
    "ClickGraph",
    "ClickPreferences",
    "ClickRows",
    "DependentClickModel",
    "DocumentClickModel",
    "DynamicBayesianNetwork",
    "InteractionFeatures",
    "InteractionModel",
    "PositionBasedModel",
    "RandomClickModel",
    "RankClickModel",
    "Sessions",
    "SimplifiedDynamicBayesianNetwork",
    "SimulatedUser",
    "UserBrowsingModel",
    "interaction_features",
    "iter_sessions",
    "load_sessions",
    "save_sessions",
    "to_labels",
    "to_preferences",
    "to_propensities",
    "to_rows",
]
