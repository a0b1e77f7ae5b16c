"""
See why a document ranks where it does
======================================

What each feature contributes to scores, exactly: for one document, for two, and for
all.

The task is :func:`~skrank.datasets.load_see_also`: given the first sentence of a
docstring, find the function it belongs to and those listed in its "See Also" section.
"""

import numpy as np
import pandas as pd

from skrank.datasets import load_see_also
from skrank.inspection import (
    BeeswarmDisplay,
    DependenceDisplay,
    PreferenceDisplay,
    WaterfallDisplay,
    explain_preference,
    shap_values,
)
from skrank.rankers import LambdaMART

data = load_see_also(n_queries=200)
X = pd.DataFrame(data.X, columns=data.feature_names)
ranker = LambdaMART(n_estimators=50, random_state=0).fit(X, data.y, data.groups)

# %%
# Each document is compared with all documents of its query. The points of a line are
# documents; those on the right are lifted by the feature.

explanation = shap_values(ranker, X, "query", data.groups)
BeeswarmDisplay.from_explanation(explanation)

# %%
# The best document of the first query: the bars lead from the mean score of the query
# to its own.

rows = np.flatnonzero(data.groups == data.groups[0])
first, second = rows[np.argsort(-explanation.scores[rows])[:2]]
WaterfallDisplay.from_explanation(explanation, first)

# %%
# What puts it before the second one, and what speaks for the latter:

pair = explain_preference(ranker, X, first, second)
PreferenceDisplay.from_explanation(pair, documents=["the first", "the second"])

# %%
# One feature in all documents. Where points of one value have different heights, the
# feature acts together with others.

DependenceDisplay.from_explanation(explanation, "whole.bm25")
