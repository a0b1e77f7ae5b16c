"""Scaling within queries, and conversions between kinds of judgements."""

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

__all__ = [
    "QueryMinMaxScaler",
    "QueryStandardScaler",
    "grades_to_order",
    "grades_to_preferences",
    "order_to_grades",
    "order_to_preferences",
    "preferences_to_grades",
    "preferences_to_order",
]
