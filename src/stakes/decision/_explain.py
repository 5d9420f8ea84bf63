"""Why was this decided? What each decision would cost, where it tips, and which columns say so."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stakes.decision._doubt import break_even_prices
from stakes.decision._policy import Policy
from stakes.utils._arrays import check_is_table, counted, describe, quoted
from stakes.utils._frames import as_frame, is_frame
from stakes.utils._sklearn import num_samples, safe_indexing

MAX_EXACT = 8  # columns of which every subset is tried
N_BACKGROUND, N_ORDERS = 50, 200


@dataclass(frozen=True)
class DecisionExplanation:
    """Why a decision was taken for one row; made by `explain_decision`.

    Attributes
    ----------
    decision, next_best : object
        The labels of the two.
    expected : Series
        The expected cost of each decision, the cheapest first.
    proba : Series
        The probability of each class.
    difference : float
        What the next best would cost more.
    tipping_probabilities : DataFrame
        For each class: its `probability`, and the nearest `low` and `high` at which another
        decision would be taken, `below` and `above`; the other classes keep their proportions.
    tipping_prices : DataFrame
        For each `true` class and `decided` one: the `price`, and the `tips_at` price at which the
        decision would change.
    columns : DataFrame
        For each column: its `value`, its `share` of the difference, in the unit of the costs, and
        the standard `error` of that, 0 where it is exact; the largest first.
    base : float
        The difference of an average row of the background; base and shares add up to
        `difference`.
    exact : bool
        Whether the shares are exact: every subset of at most 8 columns was tried, with every row
        of a background of at most 50. Of a larger one 50 rows are drawn, and `error` says what
        others would change.
    """

    decision: Any
    next_best: Any
    expected: Any
    proba: Any
    difference: float
    tipping_probabilities: Any
    tipping_prices: Any
    columns: Any
    base: float
    exact: bool

    def __repr__(self) -> str:
        costs = ", ".join(
            f"{quoted([name])} {describe(float(c))}" for name, c in self.expected.items()
        )
        lines = [
            f"Decided {quoted([self.decision])}: expected costs {costs}.",
            f"The next best, {quoted([self.next_best])}, would cost {describe(self.difference)} more.",
        ]
        for name, row in self.tipping_probabilities.iterrows():
            ends = [
                f"{side} {end:.1%} the decision would be {quoted([then])}"
                for side, end, then in (
                    ("below", row.low, row.below),
                    ("above", row.high, row.above),
                )
                if end == end
            ]
            if ends:
                lines.append(
                    f"The probability of {quoted([name])} is {row.probability:.1%}: {', '.join(ends)}."
                )
        shown = self.columns.head(8)
        if len(shown):
            lines.append(
                f"For an average row the difference is {describe(self.base)}; to this add, here,"
            )
            lines += [
                f"  {name!s} = {str(row['value']).removesuffix(' 00:00:00')}: {row['share']:+.6g}"
                for name, row in shown.iterrows()
            ]
            rest = self.columns["share"].iloc[len(shown) :]
            if len(rest):
                lines.append(f"  {counted(len(rest), 'other column')}: {rest.sum():+.6g}")
        return "\n".join(lines)


def explain_decision(
    model: Any,
    row: Any,
    background: Any,
    *,
    cost_tensor: Any = None,
    random_state: Any = 0,
) -> DecisionExplanation:
    """Explain the decision that a model takes for one row.

    Parameters
    ----------
    model : DecisionModel or classifier
        Fitted, with probabilities. What it decides by a learned rule is explained as such: the
        next best may then be expected to cost less.
    row : DataFrame or array-like of one row
        What was decided about.
    background : DataFrame or array-like
        Rows to compare with, such as those of training: a column's share is what its value
        changes against their values. At most 50 of them are used.
    cost_tensor : array-like of shape (1, n_classes, n_classes), default=None
        The prices of the row, where they are known when deciding.
    random_state : int, RandomState instance or None, default=0
        Picks the background, and the orders of columns where they are too many to try all.

    Returns
    -------
    explanation : DecisionExplanation
        Prints as text.

    Notes
    -----
    The shares are Shapley values of the difference in expected cost between the next best
    decision and the one taken, columns outside of a subset having the values of background rows.
    Up to 8 columns every subset is tried; beyond, 200 random orders, each also in reverse. They
    say what the *model* does with a column, not what the world does.

    Examples
    --------
    Two columns of which one says nothing:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stakes.decision import CostDecisionClassifier, explain_decision
    >>> X = np.array([[0, 5], [1, 5], [2, 5], [3, 5]] * 20, dtype=float)
    >>> y = (X[:, 0] > 1.5).astype(int)
    >>> model = CostDecisionClassifier(LogisticRegression(), cost_matrix=[[0, 1], [9, 0]])
    >>> why = explain_decision(model.fit(X, y), [[3.0, 5.0]], X)
    >>> why.decision, bool(why.columns["share"].round(6)["feature 1"] == 0)
    (1, True)
    >>> bool(np.isclose(why.base + why.columns["share"].sum(), why.difference))
    True
    """
    import pandas as pd

    check_is_table(row)
    row, background = as_frame(row), as_frame(background)
    if not is_frame(row):
        row, background = np.atleast_2d(np.asarray(row)), np.atleast_2d(np.asarray(background))
    if num_samples(row) != 1:
        raise ValueError(f"explain_decision explains one row, but {num_samples(row)} were given.")
    policy, ask = _settle(model)
    labels, proba = list(policy.decisions), ask(row)
    decided = policy.decide(proba, cost_tensor)
    assert decided.expected is not None
    assert decided.next_best is not None
    expected, best, second = decided.expected[0], decided.positions[0], decided.next_best[0]
    prices = policy.prices if cost_tensor is None else policy.filled(cost_tensor)[0]
    weighed = policy.matrix(cost_tensor).reshape(-1, *prices.shape)[0]
    order = np.argsort(expected, kind="stable")
    between = prices[:, second] - prices[:, best]

    def difference(rows: Any) -> np.ndarray:
        return ask(rows) @ between

    names = [str(c) for c in row.columns] if is_frame(row) else None
    names = names or [f"feature {c}" for c in range(row.shape[1])]
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else None)
    share, error, base, exact = column_shares(difference, row, background, rng)
    value = [_cell(row, c) for c in range(len(names))]
    columns = pd.DataFrame({"value": value, "share": share, "error": error}, index=names)
    tips, classes = break_even_prices(proba, prices)[0], list(policy.classes)
    cells = [
        [classes[t], labels[d], prices[t, d], tips[t, d]]
        for t, d in np.ndindex(prices.shape)
        if classes[t] != labels[d] or prices[t, d] != 0
    ]
    return DecisionExplanation(
        decision=labels[best],
        next_best=labels[second],
        expected=pd.Series(expected[order], [labels[d] for d in order]),
        proba=pd.Series(proba[0], classes),
        difference=float(expected[second] - expected[best]),
        tipping_probabilities=_tipping(proba[0], weighed, best, policy),
        tipping_prices=pd.DataFrame(
            cells, columns=["true", "decided", "price", "tips_at"]
        ).set_index(["true", "decided"]),
        columns=columns.iloc[np.argsort(-np.abs(share), kind="stable")],
        base=base,
        exact=exact,
    )


def _settle(model: Any) -> tuple[Policy, Any]:
    """Return what a model decides by, for probabilities as it states them, and these by rows."""
    classes = np.asarray(model.classes_)
    if getattr(model, "cost_kind_", "class") == "hindsight":
        raise ValueError("Costs known in hindsight have no prices at which a decision could tip.")
    policy = getattr(model, "policy_", None)
    if policy is None:  # of any other classifier
        prices = getattr(model, "cost_matrix_", 1.0 - np.eye(len(classes)))
        policy = Policy(classes=classes.tolist(), prices=prices)
    stated = policy.stated().having(capacity=None, shadow_prices=None, states="probabilities")

    def ask(rows: Any) -> np.ndarray:
        try:
            return np.asarray(model.predict_proba(rows), dtype=float)
        except AttributeError:
            raise ValueError(
                "The model has no probabilities: its decisions cannot be explained."
            ) from None

    return stated, ask


def tipping_probability(
    proba: np.ndarray, prices: np.ndarray, decided: int, true: int
) -> tuple[float, int, float, int]:
    """Return the nearest probabilities of a class at which another decision is taken.

    The other classes keep their proportions. Returns the one below with the decision there, and
    the one above; NaN and -1 where there is none.

    Examples
    --------
    A miss costs 9, a false alarm 1: at 0.3 class 1 is decided, down to 0.1.

    >>> import numpy as np
    >>> from stakes.decision._explain import tipping_probability
    >>> low, then, *_ = tipping_probability(
    ...     np.array([0.7, 0.3]), np.array([[0.0, 1.0], [9.0, 0.0]]), 1, 1)
    >>> round(low, 6), then
    (0.1, 0)
    """
    p, rest = proba[true], proba.copy()
    rest[true] = 0.0
    # Without others, they are taken as equally likely.
    others = (
        rest / rest.sum() if rest.sum() > 0 else (np.arange(len(rest)) != true) / (len(rest) - 1)
    )
    low, below, high, above = np.nan, -1, np.nan, -1
    for d in range(prices.shape[1]):
        more = prices[:, d] - prices[:, decided]
        here, there = float(others @ more), float(more[true])
        if d == decided or here == there:
            continue
        # The other costs (1 - q) here + q there more: 0 at q.
        q = here / (here - there)
        if 0 <= q <= p and there > here and not q < low:
            low, below = q, d
        elif p <= q <= 1 and there < here and not q > high:
            high, above = q, d
    return low, below, high, above


def _tipping(proba: np.ndarray, weighed: np.ndarray, decided: int, policy: Policy) -> Any:
    import pandas as pd

    rows, labels = [], policy.decisions
    for t in range(len(proba)):
        low, below, high, above = tipping_probability(proba, weighed, decided, t)
        known = [labels[d] if d >= 0 else None for d in (below, above)]
        rows.append([proba[t], low, high, *known])
    names = ["probability", "low", "high", "below", "above"]
    return pd.DataFrame(rows, pd.Index(list(policy.classes), name="class"), columns=names)


# -- the share of each column ------------------------------------------------------------------


def column_shares(
    value: Any, row: Any, background: Any, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Return the Shapley value of each column, its standard error, the base, and whether exact.

    Parameters
    ----------
    value : callable
        Of rows; returns a number for each.
    row : DataFrame or ndarray of one row
        What is explained.
    background : DataFrame or ndarray
        Rows to compare with.
    rng : Generator
        Picks rows and orders.
    """
    n_rows, n_columns = num_samples(background), row.shape[1]
    if n_rows == 0 or background.shape[1] != n_columns:
        raise ValueError(
            f"The background has {n_rows} rows of {background.shape[1]} columns: give some rows of "
            f"{n_columns}, as the row that is explained."
        )
    some = np.sort(rng.choice(n_rows, min(n_rows, N_BACKGROUND), replace=False))
    if n_columns <= MAX_EXACT:
        share, error, base = _all_subsets(value, row, safe_indexing(background, some))
        return share, error * np.sqrt(1 - len(some) / n_rows), base, len(some) == n_rows
    picked = rng.choice(some, N_ORDERS)
    orders = np.array([rng.permutation(n_columns) for _ in range(N_ORDERS // 2)])
    orders = np.concatenate([orders, orders[:, ::-1]])  # each also in reverse
    picked[N_ORDERS // 2 :] = picked[: N_ORDERS // 2]
    # The columns of the row come one by one into a row of the background.
    rank = np.argsort(orders, axis=1)
    steps = np.arange(n_columns + 1)
    own = (rank[:, None, :] < steps[None, :, None]).reshape(-1, n_columns)
    mixed = _mixed(row, safe_indexing(background, np.repeat(picked, n_columns + 1)), own)
    values = value(mixed).reshape(N_ORDERS, n_columns + 1)
    gains = np.empty((N_ORDERS, n_columns))
    np.put_along_axis(gains, orders, np.diff(values, axis=1), axis=1)
    pairs = (gains[: N_ORDERS // 2] + gains[N_ORDERS // 2 :]) / 2
    error = pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
    return gains.mean(axis=0), error, float(values[:, 0].mean()), False


def _all_subsets(value: Any, row: Any, background: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Return Shapley values from every subset of the columns, and their errors as those of a sample."""
    k, n = row.shape[1], num_samples(background)
    subsets = [frozenset(s) for size in range(k + 1) for s in combinations(range(k), size)]
    own = np.array([[c in s for c in range(k)] for s in subsets])
    rows = safe_indexing(background, np.tile(np.arange(n), len(subsets)))
    values = value(_mixed(row, rows, np.repeat(own, n, axis=0))).reshape(len(subsets), n)
    worth = dict(zip(subsets, values))
    share = np.zeros((k, n))  # for each row of the background
    for subset, gain in worth.items():
        for c in subset:
            weight = math.factorial(len(subset) - 1) * math.factorial(k - len(subset))
            share[c] += weight / math.factorial(k) * (gain - worth[subset - {c}])
    error = share.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(k)
    return share.mean(axis=1), error, float(worth[frozenset()].mean())


def _mixed(row: Any, rows: Any, own: np.ndarray) -> Any:
    """Return rows of the background with some columns, by a mask, of the one row."""
    if not is_frame(rows):
        return np.where(own, row, rows)
    made = rows.reset_index(drop=True).copy()
    for c, name in enumerate(made.columns):
        if own[:, c].all():
            made[name] = safe_indexing(row, np.zeros(len(made), dtype=int))[name].to_numpy()
        elif own[:, c].any():
            made[name] = made[name].mask(own[:, c], row[name].iloc[0])
    return made.astype(rows.dtypes.to_dict())


def _cell(row: Any, column: int) -> Any:
    cell = row.iloc[0, column] if is_frame(row) else row[0, column]
    return cell.item() if isinstance(cell, np.generic) else cell
