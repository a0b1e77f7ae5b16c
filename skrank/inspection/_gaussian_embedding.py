"""Gaussians of a query and of its documents, in two dimensions."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._parameters import Positive
from skrank._core._pipelines import last_step, rows_of_last_step
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    check_arguments,
    check_grades,
    check_groups,
    check_options,
    resolve_groups,
)
from skrank.inspection._axes import axes_or_new, check_display, grade_colors
from skrank.inspection._texts import fit_title

_LIGHTEST = 0.9  # place of the lowest grade on the colour map


class GaussianEmbeddingDisplay:
    r"""Gaussians of a query and of its documents, drawn as ellipses.

    .. math:: N(\mu, \operatorname{diag}(v)) \; \mapsto \;
              N\bigl(P (\mu - \bar\mu), \, P \operatorname{diag}(v) P^T\bigr)

    with the two leading principal directions P of the means. An ellipse encloses the
    points within ``n_std`` standard deviations of its centre; its covariance is exact,
    because the projection of a Gaussian is a Gaussian.

    Make one with `from_estimator`; the constructor only holds data.

    Parameters
    ----------
    query_mean : array-like of shape (2,)
        Centre of the query.
    query_covariance : array-like of shape (2, 2)
        Covariance of the query.
    document_means : array-like of shape (n_documents, 2)
        Centres of the documents.
    document_covariances : array-like of shape (n_documents, 2, 2)
        Covariances of the documents.
    grades : array-like of shape (n_documents,)
        Relevance grades of the documents, which give the ellipses their colours.
    explained : float, default=None
        Share of the variance of the means that the two dimensions keep, shown in the
        legend.
    name : str, default=None
        Title of the picture.

    Attributes
    ----------
    ax_ : matplotlib axes
        Axes that `plot` drew on.
    figure_ : matplotlib figure
        Figure of the axes.
    query_ellipse_ : matplotlib ellipse
        Ellipse of the query.
    document_ellipses_ : list of matplotlib ellipses
        Ellipses of the documents, by ascending grade.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import GaussianEmbeddingDisplay
    >>> from skrank.rankers import GERank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> X = np.column_stack([X, np.sin(groups)])  # a feature of the query
    >>> ranker = GERank((32,), n_components=4, max_iter=20, random_state=0)
    >>> ranker = ranker.fit(X, y, groups)
    >>> display = GaussianEmbeddingDisplay.from_estimator(
    ...     ranker, X, y, groups, query=groups[0]
    ... )
    >>> len(display.document_ellipses_) == list(groups).count(groups[0])
    True
    """

    def __init__(
        self,
        *,
        query_mean: Any,
        query_covariance: Any,
        document_means: Any,
        document_covariances: Any,
        grades: Any,
        explained: float | None = None,
        name: str | None = None,
    ):
        self.query_mean = query_mean
        self.query_covariance = query_covariance
        self.document_means = document_means
        self.document_covariances = document_covariances
        self.grades = grades
        self.explained = explained
        self.name = name

    def plot(
        self,
        ax: Any = None,
        *,
        n_std: Positive = 1.0,
        cmap: str = "viridis",
        **ellipse_kw: Any,
    ) -> Self:
        """Draw the ellipses.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        n_std : float, default=1.0
            Number of standard deviations from the centre to the rim.
        cmap : str, default="viridis"
            Name of the colour map of the grades.
        **ellipse_kw : dict
            Passed on to the ellipses of the documents.

        Returns
        -------
        GaussianEmbeddingDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_arguments(GaussianEmbeddingDisplay.plot, n_std=n_std)
        data = check_display(
            self,
            query_mean=(2,),
            query_covariance=(2, 2),
            document_means=("n_documents", 2),
            document_covariances=("n_documents", 2, 2),
            grades=("n_documents",),
        )
        ax = axes_or_new(ax, "GaussianEmbeddingDisplay.plot")
        grades = data["grades"]
        levels = np.unique(grades)
        colours = grade_colors(cmap, len(levels), _LIGHTEST)
        self.document_ellipses_ = []
        # Better documents are drawn later, so that the many others do not hide them.
        for i in np.argsort(grades, kind="stable"):
            colour = colours[np.searchsorted(levels, grades[i])]
            style = {"facecolor": "none", "edgecolor": colour, "alpha": 0.5}
            ellipse = _ellipse(
                data["document_means"][i],
                data["document_covariances"][i],
                n_std,
                **(style | ellipse_kw),
            )
            self.document_ellipses_.append(ax.add_patch(ellipse))
        style = {"facecolor": "none", "edgecolor": "C3", "linewidth": 2}
        query = _ellipse(data["query_mean"], data["query_covariance"], n_std, **style)
        self.query_ellipse_ = ax.add_patch(query)
        for level, colour in zip(levels, colours):
            at = data["document_means"][grades == level]
            ax.scatter(*at.T, s=8, color=[colour], label=f"grade {level:g}")
        ax.scatter(*data["query_mean"], marker="*", s=80, color="C3", label="query")
        self._label(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, ax):
        ax.set_xlabel("First principal direction of the means")
        ax.set_ylabel("Second principal direction")
        # Without equal scales a round Gaussian would not look round.
        ax.set_aspect("equal", adjustable="datalim")
        ax.autoscale_view()
        title = None
        if self.explained is not None:
            title = f"{100 * self.explained:.0f}% of variance"
        ax.legend(title=title, loc="best")
        if self.name is not None:
            fit_title(ax, ax.set_title(self.name))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        query: Any = None,
        ax: Any = None,
        n_std: Positive = 1.0,
        cmap: str = "viridis",
        **ellipse_kw: Any,
    ) -> Self:
        """Draw one query as a fitted ranker embeds it.

        Parameters
        ----------
        estimator : ranker or Pipeline
            A fitted ranker with a method ``embed(X, kind=)``, such as `GERank`, or a
            pipeline that ends in one.
        X : array-like of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. If None, the ids are read from a level named "qid"
            of the pandas index of ``y`` or ``X``.
        query : object, default=None
            Id of the query to draw; None takes the query of the first row.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a new figure.
        n_std : float, default=1.0
            Number of standard deviations from the centre to the rim.
        cmap : str, default="viridis"
            Name of the colour map of the grades.
        **ellipse_kw : dict
            Passed on to the ellipses of the documents.

        Returns
        -------
        GaussianEmbeddingDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the ranker does not embed documents.
        ValueError
            If no row belongs to the query.
        """
        check_options(cls.from_estimator, locals())
        ranker = last_step(estimator)
        if not hasattr(ranker, "embed"):
            raise TypeError(
                f"estimator: {type(ranker).__name__} has no method embed; this display "
                "needs a ranker that embeds documents and queries as Gaussians, such "
                "as GERank"
            )
        grades = check_grades(y)
        ids = resolve_groups(
            groups,
            y,
            X,
            n_samples=len(grades),
            caller="GaussianEmbeddingDisplay.from_estimator",
        )
        ids = check_groups(ids, len(grades))
        rows = rows_of_last_step(estimator, X, ids)
        chosen, query = _rows_of(ids, query)
        parts = _project(
            *(part[chosen] for part in ranker.embed(rows, kind="document")),
            *(part[chosen[0]] for part in ranker.embed(rows, kind="query")),
        )
        display = cls(
            **parts, grades=grades[chosen], name=f"{type(ranker).__name__}, {query}"
        )
        return display.plot(ax, n_std=n_std, cmap=cmap, **ellipse_kw)


def _rows_of(groups, query):
    """Row numbers of one query, and a title that names the query."""
    groups = np.asarray(groups)
    query = groups[0] if query is None else query
    known = id_list(groups)
    chosen = np.array([i for i, found in enumerate(known) if _is_same(found, query)])
    if not len(chosen):
        known = QueryIndex.from_groups(groups).ids[:5]
        raise ValueError(
            f"query={shown(query)} has no rows; the first known ids are {list(known)}"
        )
    return chosen, f"query {query}"


def _is_same(found, query):
    same = found == query
    return isinstance(same, bool | np.bool_) and bool(same)


def _project(means, variances, query_mean, query_variances):
    """Project Gaussians on the two leading principal directions of all means."""
    points = np.vstack([means, query_mean])
    centre = points.mean(axis=0)
    _, singular, directions = np.linalg.svd(points - centre)
    plane = np.zeros((2, points.shape[1]))
    plane[: min(2, len(directions))] = directions[:2]
    # Signs of singular vectors are arbitrary and differ between LAPACK libraries: let
    # the largest entry be positive.
    largest = np.abs(plane).argmax(axis=1)
    plane *= np.where(plane[[0, 1], largest] < 0, -1.0, 1.0)[:, None]
    total = float(np.sum(singular**2))
    return {
        "query_mean": plane @ (query_mean - centre),
        "query_covariance": (plane * query_variances) @ plane.T,
        "document_means": (means - centre) @ plane.T,
        "document_covariances": np.einsum("al,il,bl->iab", plane, variances, plane),
        "explained": float(np.sum(singular[:2] ** 2)) / total if total > 0 else 1.0,
    }


def _ellipse(mean, covariance, n_std, **style):
    from matplotlib.patches import Ellipse

    values, vectors = np.linalg.eigh(covariance)
    height, width = 2.0 * n_std * np.sqrt(np.maximum(values, 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    return Ellipse(tuple(mean), width, height, angle=angle, **style)
