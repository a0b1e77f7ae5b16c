"""Scaling within queries, and conversions between kinds of judgements."""

from skrank.preprocessing._query_scaling import QueryMinMaxScaler, QueryStandardScaler

__all__ = [
    "QueryMinMaxScaler",
    "QueryStandardScaler",
]
