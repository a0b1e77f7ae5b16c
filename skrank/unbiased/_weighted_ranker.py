"""Any ranker, trained on clicks that make up for where they happened."""

from dataclasses import field, replace
from typing import Any, Literal

import numpy as np

from skrank._core._inner import accepts, name_of
from skrank._core._messages import shown
from skrank._core._parameters import invalid_parameter
from skrank._meta import BaseMetaRanker
from skrank._rows import GroupedRows
from skrank.rankers import RankSVM
from skrank.unbiased._positions import (
    POSITIONS,
    PROPENSITIES,
    at_positions,
    check_curve,
    positions_of,
)
from skrank.unbiased._weights import Clip, weights_of_clicks


class PropensityWeightedRanker(BaseMetaRanker):
    r"""Any ranker, trained on clicks weighted by inverse propensities.

    A click c on a document that users look at with probability p stands for 1 / p of
    them. What a ranker minimises over relevance r is then estimated from clicks in one
    of three ways:

    ==============  ================================================================
    ``estimate``    What the ranker learns from
    ==============  ================================================================
    ``"weights"``   The clicks are the grades, and clicked rows weigh 1 / p, which is
                    then the weight of pairs of a clicked document and one that was not
                    clicked. Two clicked documents are not compared, so that the mean
                    is exact only if one document of a list is clicked.
    ``"clicks"``    Every click is a query of its own: the clicked document, of grade
                    1, among all that were shown with it, of grade 0, with the weight
                    c / p. Right in the mean for every loss of pairs and of lists, with
                    more variance, and as many times the rows as a query has clicks.
    ``"grades"``    The grades are c / p. Right in the mean for what is linear in the
                    grades: squared losses of documents, gains of lists, and
                    `InversePropensityLoss`.
    ==============  ================================================================

    The propensities come from one of three sources: ``fit(..., propensities=)``, one
    for each row; or ``positions=`` of the rows and a curve that holds the propensity of
    each place; or ``positions=`` and an estimator such as `RegressionEM`, which finds
    the curve from the same rows. Row weights multiply those of clicks. Validation rows
    are taken as they are, so that they may be judged documents as well as clicks.

    Complexity: that of the estimator, on c times the rows of a query with c clicks
    under ``estimate="clicks"``.

    Parameters
    ----------
    estimator : estimator, default=None
        A ranker, pipeline or scikit-learn estimator that takes ``sample_weight``; it is
        cloned, never changed. None means `RankSVM`.
    propensities : array-like, estimator or None, default=None
        Curve, with the propensity of the place k at ``[k - 1]``; or an estimator with
        ``fit(X, clicks, groups, positions=)`` and ``propensities_``, which is cloned;
        or None where `fit` is given the propensity of each row. Of an estimator that
        learns from a log, such as `InterventionPropensities`, give the
        ``propensities_``.
    estimate : {"weights", "clicks", "grades"}, default="weights"
        How relevance is estimated; see above.
    clip : float, default=None
        Least propensity, as in `inverse_propensity_weights`.
    self_normalize : bool, default=False
        Whether the weights of all clicks have the mean 1.

    Attributes
    ----------
    estimator_ : estimator
        Fitted ranker.
    propensities_ : ndarray of shape (n_positions,) or None
        Curve that was used; None if each row came with its own propensity.
    propensity_estimator_ : estimator or None
        Fitted estimator of the curve, if there was one.

    References
    ----------
    [Joachims2017]_, sections 4 and 6; [Liu2011]_, section 13.2, for models of clicks.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import SimulatedUser
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> from skrank.unbiased import PropensityWeightedRanker
    >>> X, y, groups = make_ranking(n_queries=50, docs_per_query=10, random_state=0)
    >>> ptr = np.arange(51) * 10
    >>> user = SimulatedUser(examination="position", max_grade=4)
    >>> clicks = user.click(y, ptr, random_state=0)  # shown in the order of the rows
    >>> ranker = PropensityWeightedRanker(RankSVM(), user.propensities(10))
    >>> positions = np.tile(np.arange(1, 11), 50)
    >>> ranker.fit(X, clicks, groups, positions=positions).score(X, y, groups) > 0.7
    True
    """

    approach = "any"

    estimator: Any = field(default=None, kw_only=False)
    propensities: Any = field(default=None, kw_only=False)
    estimate: Literal["weights", "clicks", "grades"] = "weights"
    clip: Clip = None
    self_normalize: bool = False

    _side_data = (POSITIONS, PROPENSITIES)

    @classmethod
    def _variants(cls):
        return [
            {"propensities": [1.0, 0.5, 0.25]},
            {"propensities": [1.0, 0.5, 0.25], "estimate": "clicks", "clip": 0.3},
            {
                "propensities": [1.0, 0.5, 0.25],
                "estimate": "grades",
                "self_normalize": True,
            },
        ]

    def _default_estimator(self) -> Any:
        return RankSVM()

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        curve, model = None, None
        given = data.side.get("propensities")
        if given is None:
            positions = positions_of(data, self)
            curve, model = self._curve(data)
            given = at_positions(curve, positions)
        elif self.propensities is not None:
            raise ValueError(
                f"{type(self).__name__}: propensities came with the rows of fit and "
                "as a parameter; set the parameter to None, or leave those of the "
                "rows out"
            )
        rows = self._estimated(replace(data, side={}), given)
        self.estimator_ = self._fit_inner(self._chosen_estimator(), rows, validation)
        self.propensities_, self.propensity_estimator_ = curve, model

    def _curve(self, data) -> tuple[np.ndarray, Any]:
        """Return the propensity of each place, and the estimator that found it."""
        source = self.propensities
        if source is None:
            raise ValueError(
                f"{type(self).__name__}: propensities must be the curve of all places "
                "or an estimator of it where fit is given positions; or pass fit the "
                "propensity of each row"
            )
        self._check_source(source)
        if not hasattr(source, "fit"):
            return check_curve(source), None
        rows = replace(data, side={"positions": data.side["positions"]})
        model = self._fit_inner(source, rows, owner="propensities")
        if not hasattr(model, "propensities_"):
            accepted = "a curve, or an estimator that learns propensities_"
            raise invalid_parameter(self, "propensities", accepted, source)
        return check_curve(model.propensities_), model

    def _check_source(self, source: Any) -> None:
        """Refuse what knows propensities, but is no curve and no learner from rows."""
        if hasattr(source, "fit"):
            if accepts(source, "fit", "positions"):
                return
            problem = f"{name_of(source)}.fit takes no positions"
        elif callable(getattr(source, "propensities", None)):
            problem = f"{shown(source)} is no curve"
        else:
            return
        raise TypeError(
            f"propensities: {problem}; pass the propensities_ of a fitted estimator or "
            "the propensities(n_positions) of a user as the curve, or give fit, for "
            "each row, what skrank.click.to_propensities returns"
        )

    def _estimated(self, data: GroupedRows, propensities) -> GroupedRows:
        """Return the rows, grades and weights that the estimator learns from."""
        clicks, own = np.asarray(data.y), data.sample_weight
        inverse = weights_of_clicks(
            clicks, propensities, self.clip, self.self_normalize
        )
        if self.estimate == "grades":
            return replace(data, y=clicks * inverse)
        if self.estimate == "weights" and (inverse == 1.0).all():
            return data  # weights of 1 may change the last bit of sums
        if own is not None:
            inverse = inverse * own
        if self.estimate == "weights":
            return replace(data, sample_weight=inverse)
        return _one_click_each(data, clicks * inverse)

    def _predict(self, X, groups=None) -> np.ndarray:
        return self._inner_scores(self.estimator_, X, groups)


def _one_click_each(data: GroupedRows, weights: np.ndarray) -> GroupedRows:
    """Return a query for every clicked row, in which that row alone is relevant."""
    clicked = np.flatnonzero(weights)
    if not len(clicked):
        raise ValueError(
            "y holds no clicks, so that estimate='clicks' leaves no query to learn from"
        )
    queries = np.searchsorted(data.ptr, clicked, side="right") - 1
    rows = data.subset(queries)
    grades = np.zeros(rows.n_documents)
    grades[rows.ptr[:-1] + clicked - data.ptr[queries]] = 1.0
    of_query = np.repeat(weights[clicked], rows.sizes)
    return replace(rows, y=grades, sample_weight=of_query)
