"""Propensities from logs in which the same documents were shown in several places."""

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit, logit
from sklearn.base import BaseEstimator

from skrank._core._parameters import Parameters, PositiveInt
from skrank.click import Sessions
from skrank.click._sessions import check_sessions

Method = Literal["all_pairs", "pivot", "chain", "randomized"]
# A table of pairs of that many places takes 8 MB, and its likeliest values some thirty
# times as much.
_MOST_PLACES = 1000


class InterventionPropensities(Parameters, BaseEstimator):
    r"""Propensities of places, from documents that were shown in several of them.

    If a document was shown for a query in two places, its relevance cancels in the
    ratio of its two click rates, and that of the propensities is left. It does not
    matter why it was shown in both: documents were swapped on purpose, or several
    rankers were in use. With the set :math:`S_{kl}` of pairs (q, d) of a query and a
    document that were shown in both places k and l, and the share
    :math:`\bar c_k(q, d)` of the times in place k in which they were clicked,

    .. math:: \hat c_{kl} = \sum_{(q, d) \in S_{kl}} \bar c_k(q, d), \qquad
              \frac{p_k}{p_l} \approx \frac{\hat c_{kl}}{\hat c_{lk}} .

    ``method="pivot"`` takes all ratios to the first place, as from an experiment that
    swaps the document in the first place with that in place k; ``"chain"`` multiplies
    the ratios of neighbours; ``"all_pairs"`` uses all of them, by the most likely
    propensities and relevances :math:`r_{kl} = r_{lk}` of

    .. math:: \sum_{k \neq l} \hat c_{kl} \log(p_k r_{kl})
              + (|S_{kl}| - \hat c_{kl}) \log(1 - p_k r_{kl}) .

    ``"randomized"`` takes the click rates of the places themselves, and is right only
    where documents were shown in an order drawn at random.

    Complexity: O(n log n) for n impressions. All methods but "randomized" take O(s) for
    the s pairs of places of each document, and memory of O(K²) for K places, at most
    1000; "all_pairs" then takes O(K²) per iteration.

    Parameters
    ----------
    method : {"all_pairs", "pivot", "chain", "randomized"}, default="all_pairs"
        How ratios are put together.
    n_positions : int, default=None
        Number of places, from the first on; rows in later ones are left out. None takes
        all places of the log.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,)
        Propensity of each place, 1 for the first.
    n_interventions_ : ndarray of shape (n_positions, n_positions) or None
        Number of pairs of a query and a document that were shown in both places; None
        for "randomized", which compares none.

    References
    ----------
    [Joachims2017]_, section 5.1, for swaps with the first place; [Agarwal2019]_,
    section 4, for all others.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import Sessions, SimulatedUser
    >>> from skrank.unbiased import InterventionPropensities
    >>> ranked = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]] * 2000)  # three rankers
    >>> user = SimulatedUser(examination="position", max_grade=2)
    >>> grades, ptr = ranked.ravel(), np.arange(6001) * 3  # the names of the documents
    >>> clicks = user.click(grades, ptr, random_state=0).reshape(-1, 3)
    >>> log = Sessions.from_lists(["q"] * 6000, ranked, clicks)
    >>> InterventionPropensities().fit(log).propensities_.round(1).tolist()
    [1.0, 0.5, 0.3]
    """

    method: Method = field(default="all_pairs", kw_only=False)
    n_positions: PositiveInt | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Return the constructor arguments that the common tests run over."""
        return [
            {},
            {"method": "pivot"},
            {"method": "chain", "n_positions": 3},
            {"method": "randomized"},
        ]

    def fit(self, sessions: Sessions, y: Any = None) -> Self:
        """Estimate the propensities of the places of a log.

        Parameters
        ----------
        sessions : Sessions
            What was shown, and what was clicked.
        y : None
            Ignored; clicks are part of the sessions.

        Returns
        -------
        InterventionPropensities
            The fitted estimator.

        Raises
        ------
        TypeError
            If ``sessions`` are none.
        ValueError
            If there is no impression, or the log does not tell the propensity of a
            place: nothing was clicked there, or no document that was shown there was
            shown in the places that the method compares it with. Or if the method
            compares places, and there are more than 1000 of them.
        """
        self._check_parameters()
        sessions = check_sessions(sessions)
        pair, places = sessions.pairs()[0], np.asarray(sessions.position) - 1
        clicks = np.asarray(sessions.click, dtype=np.float64)
        if self.n_positions is not None:
            kept = places < self.n_positions
            pair, places, clicks = pair[kept], places[kept], clicks[kept]
        if not len(places):
            raise ValueError("sessions must hold at least one impression, got none")
        n_places = int(places.max()) + 1
        alone = n_places == 1  # its propensity is 1, whatever was clicked
        if self.method == "randomized":
            curve = np.ones(1) if alone else _randomized(places, clicks)
            self.propensities_, self.n_interventions_ = curve, None
            return self
        if n_places > _MOST_PLACES:
            raise ValueError(
                f"method={self.method!r} compares at most {_MOST_PLACES} places, and "
                f"sessions have {n_places}; set n_positions to {_MOST_PLACES} or fewer"
            )
        shown, rate = _rates(pair, places, clicks, n_places)
        both = (shown.T @ shown).toarray()
        clicked = (rate.T @ shown).toarray()
        curve = np.ones(1) if alone else _METHODS[self.method](clicked, both)
        self.propensities_, self.n_interventions_ = curve, both.astype(np.intp)
        return self


def _rates(pair, places, clicks, n_places):
    """Return where each pair was shown, and the share of clicks there, as matrices."""
    codes, entry = np.unique(pair * n_places + places, return_inverse=True)
    entry = entry.ravel()
    rates = np.bincount(entry, clicks) / np.bincount(entry)
    cells = codes // n_places, codes % n_places
    shape = int(pair.max()) + 1, n_places
    ones = np.ones(len(codes))
    return (
        sparse.csr_array((ones, cells), shape=shape),
        sparse.csr_array((rates, cells), shape=shape),
    )


def _require(known, why):
    """Raise an error that names the first place about which nothing is known."""
    if not np.all(known):
        place = int(np.argmin(known)) + 1
        raise ValueError(
            f"sessions do not tell the propensity of place {place}: {why} there; set "
            "n_positions to fewer places, or take more sessions"
        )


_NOT_CLICKED = (
    "no document that was also shown in the place it is compared with was clicked"
)


def _randomized(places, clicks):
    rates = np.bincount(places, clicks) / np.bincount(places)
    _require(rates > 0, "nothing was clicked")
    return rates / rates[0]


def _pivot(clicked, both):
    up, down = clicked[:, 0], clicked[0, :]
    _require((up > 0) & (down > 0), _NOT_CLICKED)
    return up / down


def _chain(clicked, both):
    after, before = np.diagonal(clicked, -1), np.diagonal(clicked, 1)
    _require(np.append(True, (after > 0) & (before > 0)), _NOT_CLICKED)
    return np.append(1.0, np.cumprod(after / before))


def _all_pairs(clicked, both):
    """Return the most likely propensities, relative to the first."""
    n = len(clicked)
    clicked, missed = clicked.copy(), both - clicked
    np.fill_diagonal(clicked, 0.0)
    np.fill_diagonal(missed, 0.0)
    linked = (clicked > 0) & (clicked.T > 0)
    _, part = connected_components(linked, directed=False)
    _require(part == part[0], _NOT_CLICKED)
    upper = np.triu_indices(n, 1)

    def evaluate(params):
        a, b = params[:n, None], np.zeros((n, n))
        b[upper] = params[n:]
        b += b.T
        # The logarithms of p r and 1 - p r, finite where both go to 1, or one to 0.
        click = log_expit(a) + log_expit(b)
        miss = np.logaddexp(log_expit(-a), log_expit(a) + log_expit(-b))
        value = -np.sum(clicked * click + missed * miss)
        odds = clicked - missed * np.exp(np.minimum(click - miss, 600.0))
        by_r = odds * expit(-b)
        slope_p = -(odds.sum(axis=1)) * expit(-a[:, 0])
        slope_r = -(by_r + by_r.T)[upper]
        return value / scale, np.append(slope_p, slope_r) / scale

    scale = max(float(clicked.sum()), 1.0)
    seen = np.maximum((clicked + missed).sum(axis=1), 1e-300)
    rates = clicked.sum(axis=1) / seen
    start = np.append(
        logit(np.clip(0.9 * rates / rates.max(), 0.01, 0.9)), np.zeros(len(upper[0]))
    )
    options = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-9}
    found = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    p = expit(found.x[:n])
    return p / p[0]


_METHODS = {"pivot": _pivot, "chain": _chain, "all_pairs": _all_pairs}
