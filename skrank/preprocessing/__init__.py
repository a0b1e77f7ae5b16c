"""Scaling within queries, target statistics, conversions of kinds of judgements."""

from skrank.preprocessing._judgements import (
    grades_to_order,
    order_to_grades,
    preferences_to_grades,
    preferences_to_order,
)
from skrank.preprocessing._preferences import (
    grades_to_preferences,
    order_to_preferences,
)
from skrank.preprocessing._query_scaling import QueryMinMaxScaler, QueryStandardScaler
from skrank.preprocessing._query_target import QueryTargetEncoder

__all__ = [
    "QueryMinMaxScaler",
    "QueryStandardScaler",
    "QueryTargetEncoder",
    "grades_to_order",
    "grades_to_preferences",
    "order_to_grades",
    "order_to_preferences",
    "preferences_to_grades",
    "preferences_to_order",
]
