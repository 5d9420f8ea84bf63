"""A log of decisions as costs known in hindsight."""

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils import check_consistent_length

from stakes._learning.draws import draw_seed
from stakes.logged._nuisance import (
    cross_fitted_costs,
    cross_fitted_propensities,
    default_classifier,
    default_regressor,
)
from stakes.logged._overlap import check_overlap, overlap_table
from stakes.logged._scores import (
    direct_costs,
    doubly_robust_costs,
    inverse_propensity_costs,
    inverse_weights,
    switched_weights,
)
from stakes.tables import TablePreparation
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._frames import index_of, one_column
from stakes.utils._labels import encode_labels, label_array

METHODS = ("dr", "ipw", "direct")


class LoggedCosts(pd.DataFrame):
    """What each decision is estimated to have cost for each row of a log: a column per decision.

    A DataFrame, so that it goes wherever costs known in hindsight go: ``fit(X, costs=logged)``. Single
    cells are noisy and may be negative; their means are right. It remembers what it was made of.

    Attributes
    ----------
    decisions : tuple
        The labels of the columns.
    decided : ndarray of shape (n_samples,)
        What was done, as positions in `decisions`.
    paid : ndarray of shape (n_samples,)
        What it cost.
    propensities : ndarray of shape (n_samples, n_decisions)
        The probability with which each decision was taken.
    predicted : ndarray of shape (n_samples, n_decisions)
        What a regression on other rows expects each decision to cost.
    method : {"dr", "ipw", "direct"}
        How they were estimated.
    estimated : bool
        Whether the propensities were estimated from the log.
    switch : float
        The weight beyond which the regression alone is believed.
    groups : ndarray of shape (n_samples,) or None
        Rows that belong together.
    """

    _metadata: ClassVar[list[str]] = [
        "decisions",
        "decided",
        "paid",
        "propensities",
        "predicted",
        "method",
        "estimated",
        "switch",
        "groups",
    ]

    decisions: tuple
    decided: np.ndarray
    paid: np.ndarray
    propensities: np.ndarray
    predicted: np.ndarray
    method: str
    estimated: bool
    switch: float
    groups: np.ndarray | None

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame  # a part of it is a table of costs and no log

    @property
    def weights(self) -> np.ndarray:
        """One over the probability of what was done, (n,); 0 beyond `switch`."""
        return switched_weights(inverse_weights(self.decided, self.propensities), self.switch)

    @property
    def overlap(self) -> pd.DataFrame:
        """Of each decision: its rows, how many of equal weight they are worth, where it was rare."""
        return overlap_table(self.decided, self.propensities, self.decisions)

    def cheapest(self) -> np.ndarray:
        """Return the decision of each row that is estimated to have cost least, as a label."""
        return label_array(self.decisions)[self.to_numpy().argmin(axis=1)]

    def summary(self) -> str:
        """Return in a few lines what the log can tell, and what is assumed."""
        table = self.overlap
        place = int(table["effective_rows"].argmin())
        thinnest = table.iloc[place]
        how = "estimated from the log" if self.estimated else "as given"
        return (
            f"{len(self):,} rows, {len(self.decisions)} decisions, {self.paid.mean():.4g} paid per row. "
            f"Propensities {how}. Least is known of {quoted([self.decisions[place]])}: its "
            f"{thinnest['rows']:,.0f} rows count as {thinnest['effective_rows']:,.0f}. "
            "Assumed: nothing that is not in the table moved both what was done and what it cost."
        )


def costs_from_logs(
    X: Any,
    decisions: Any,
    paid: Any,
    *,
    propensities: Any = None,
    learner: Any = None,
    method: str = "dr",
    cv: int = 5,
    groups: Any = None,
    support: float = 0.0,
    switch: float = np.inf,
    random_state: Any = None,
) -> LoggedCosts:
    r"""Estimate what every decision would have cost from what was done and what it cost.

    A bank sees what a loan costs only where it lent. The estimates fill in the rest, so that every
    method for costs known in hindsight can learn from the log, and any policy can be priced
    (`policy_cost`). They rest on one assumption that no data can test: nothing unseen moved both
    the decision and its cost; `tipping_strength` says how wrong it would have to be.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features)
        What was known when it was decided.
    decisions : array-like of shape (n_samples,)
        What was done.
    paid : array-like of shape (n_samples,)
        What that cost; negative for gains.
    propensities : array-like of shape (n_samples, n_decisions) or (n_samples,), classifier or None
        The probability of every decision, columns in the sorted order of the decisions, or a DataFrame
        with their names; where decisions were drawn at random these are known. Of shape (n_samples,)
        that of what was done: the others are then taken to share the rest evenly, which changes no
        estimate, only where `support` begins. With a classifier,
        or None for a logistic regression, they are estimated, and the log must hold all that
        decisions were based on.
    learner : regressor, default=None
        Predicts what a decision costs, fitted on the rows where it was taken; None for the mean of a ridge
        regression and gradient boosting.
    method : {"dr", "ipw", "direct"}, default="dr"
        Doubly robust: the regression, corrected by what was paid. Inverse propensity
        weighting, self-normalised: what was paid alone. The regression alone.
    cv : int, default=5
        Folds; every row's estimates come from models that have not seen it.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, such as one customer's: in one fold, and one draw for intervals.
    support : float, default=0.0
        A decision of less probability than this for a row is not considered there: it counts as much
        as the dearest that was ever paid, or is estimated for that row, so that nobody learns to take it.
    switch : float, default=inf
        Rows whose weight, one over the probability of what was done, is greater correct nothing: the
        regression alone is believed.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and the models.

    Returns
    -------
    logged : LoggedCosts
        The estimates, (n_samples, n_decisions), a DataFrame.

    Raises
    ------
    NoOverlapError
        Where a decision was never taken for a part of the rows.

    Notes
    -----
    With q the regression and e the propensities, equation (1) of [1]_ for each decision a:

    .. math:: \hat c_{ia} = q(x_i, a) + \frac{1[a_i = a]}{e(a_i \mid x_i)} (c_i - q(x_i, a_i)).

    It is *not* for logs in which a decision follows from X without exception: nothing is known of
    what the other would have cost.

    References
    ----------
    .. [1] M. Dudik, J. Langford, L. Li, "Doubly Robust Policy Evaluation and Learning", ICML 2011.
    .. [2] Y.-X. Wang, A. Agarwal, M. Dudik, "Optimal and Adaptive Off-policy Evaluation in Contextual
       Bandits", ICML 2017.

    Examples
    --------
    A coin decided whether six customers were called. A call cost 1, of two kinds of customers;
    without one it was 0 for the first kind and 4 for the second:

    >>> from stakes.logged import costs_from_logs
    >>> X = [[0]] * 20 + [[1]] * 20
    >>> done = ["call", "wait"] * 20
    >>> paid = [1, 0] * 10 + [1, 4] * 10
    >>> coin = [[0.5, 0.5]] * 40
    >>> logged = costs_from_logs(X, done, paid, propensities=coin, method="ipw", random_state=0)
    >>> logged.mean().to_dict()
    {'call': 1.0, 'wait': 2.0}
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown: use one of {quoted(METHODS)}.")
    check_consistent_length(X, decisions, paid)
    done = one_column(decisions)
    absent = np.flatnonzero(pd.isna(done))
    if len(absent):
        raise ValueError(
            f"It is not known what was done in {len(absent)} rows, row {absent[0]} first: leave them out."
        )
    labels, decided = encode_labels(done)
    n_decisions = len(labels)
    if n_decisions < 2:
        raise ValueError(
            f"The log holds one decision, {quoted(labels)}: nothing is known of any other."
        )
    paid = one_column(paid)
    check_seen(paid, labels, decided)
    paid = finite_array(paid, name="paid", of="cost")
    if not 0.0 <= support < 0.5:
        raise ValueError(f"support must be at least 0 and below 0.5, but it is {support}.")
    if not switch >= 1.0:
        raise ValueError(f"switch must be a weight, from 1 on, but it is {switch}.")
    seed = draw_seed(random_state)
    together = None if groups is None else encode_labels(one_column(groups))[1]
    folds = _folds(decided, labels, cv, together, seed)
    table = np.asarray(TablePreparation().fit_transform(X), dtype=np.float64)
    given = not (propensities is None or hasattr(propensities, "fit"))
    if given:
        shares = _given_propensities(propensities, labels, decided)
    else:
        classifier = default_classifier() if propensities is None else propensities
        shares = cross_fitted_propensities(table, decided, folds, classifier, n_decisions, seed)
    if support == 0.0:
        check_overlap(decided, shares, labels, given=given)
    model = default_regressor() if learner is None else learner
    predicted = cross_fitted_costs(table, decided, paid, folds, model, n_decisions, seed)
    weights = switched_weights(inverse_weights(decided, shares), switch)
    if method == "dr":
        costs = doubly_robust_costs(decided, paid, weights, predicted)
    elif method == "ipw":
        costs = inverse_propensity_costs(decided, paid, weights, n_decisions)
    else:
        costs = direct_costs(predicted)
    if support > 0.0:
        dear = np.maximum(paid.max(), costs.max(axis=1, keepdims=True))
        costs = np.where(shares < support, dear, costs)
    logged = LoggedCosts(costs, index=index_of(X), columns=list(labels))
    for name, value in {
        "decisions": labels,
        "decided": decided,
        "paid": paid,
        "propensities": shares,
        "predicted": predicted,
        "method": method,
        "estimated": not given,
        "switch": float(switch),
        "groups": together,
    }.items():
        setattr(logged, name, value)
    return logged


def check_seen(paid: np.ndarray, labels: tuple, decided: np.ndarray) -> None:
    """Refuse by name a decision of which no cost was ever seen."""
    missing = pd.isna(paid)
    for a, label in enumerate(labels):
        if missing[decided == a].all():
            raise ValueError(
                f"No cost is known of any of the {(decided == a).sum():,} rows that were decided "
                f"{quoted([label])}: put in what that costs, such as 0 for a loan declined; what the "
                "others would have cost there is what `cost_bounds` and `SupportedPolicy` are for."
            )


def _folds(
    decided: np.ndarray, labels: tuple, cv: int, groups: np.ndarray | None, seed: int
) -> list:
    """Return (train, test) pairs; every decision is in every training part."""
    units = len(decided) if groups is None else int(groups.max()) + 1
    if not 2 <= cv <= units:
        what = "rows" if groups is None else "groups"
        raise ValueError(f"cv={cv} folds: at least 2 are needed, and no more than {units} {what}.")
    if groups is None:
        splitter = StratifiedKFold(cv, shuffle=True, random_state=seed)
        counts = np.bincount(decided)
        if counts.min() < cv:
            rare: Hashable = labels[int(counts.argmin())]
            raise ValueError(
                f"The decision {quoted([rare])} was taken {counts.min()} times, less often than there "
                f"are folds ({cv}): leave its rows out, or give a smaller cv."
            )
        return list(splitter.split(decided, decided))
    folds = list(GroupKFold(cv, shuffle=True, random_state=seed).split(decided, groups=groups))
    for train, _ in folds:
        unseen = set(range(len(labels))) - set(decided[train].tolist())
        if unseen:
            names = quoted([labels[a] for a in sorted(unseen)])
            raise ValueError(
                f"The decision {names} was taken in the groups of one fold alone: leave its rows out, "
                "or give more folds."
            )
    return folds


def _given_propensities(given: Any, labels: tuple, decided: np.ndarray) -> np.ndarray:
    """Return given propensities, checked, columns in the order of the labels."""
    if isinstance(given, pd.DataFrame):
        missing = [label for label in labels if label not in given.columns]
        if missing:
            raise ValueError(f"propensities lack the column {quoted(missing)}.")
        given = given[list(labels)]
    shares = finite_array(given, name="propensities", of="probability")
    if shares.ndim == 1 and len(shares) == len(decided):
        row = int(np.argmax((shares <= 0.0) | (shares > 1.0)))
        if not 0.0 < shares[row] <= 1.0:
            raise ValueError(
                f"The propensity of row {row}, the probability of what was done, is {shares[row]:g}: "
                "it should be above 0 and at most 1."
            )
        done, shares = (
            shares,
            np.repeat(((1 - shares) / (len(labels) - 1))[:, None], len(labels), 1),
        )
        shares[np.arange(len(decided)), decided] = done
    if shares.shape != (len(decided), len(labels)):
        raise ValueError(
            f"propensities have shape {shares.shape}, but there are {len(decided):,} rows and "
            f"{len(labels)} decisions, {quoted(labels)}: one column for each."
        )
    off = np.abs(shares.sum(axis=1) - 1.0) > 1e-3
    if (shares < 0).any() or off.any():
        row = int(np.flatnonzero((shares < 0).any(axis=1) | off)[0])
        raise ValueError(
            f"The propensities of row {row} are {shares[row].round(6).tolist()}: each row should be "
            "probabilities that sum to 1."
        )
    impossible = np.flatnonzero(shares[np.arange(len(decided)), decided] == 0.0)
    if len(impossible):
        row = int(impossible[0])
        raise ValueError(
            f"Row {row} was decided {labels[decided[row]]!r}, whose propensity there is 0: what was done "
            "cannot have been impossible."
        )
    return shares
