"""Where the money goes by column: costs of subgroups, and which columns move the decisions."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from stakes._methods import Method
from stakes.compare._fitting import fit_method, make_setting
from stakes.compare._problem import Problem
from stakes.compare._statistics import paired_intervals
from stakes.compare._whatif import paid_for
from stakes.compare.words import brief
from stakes.utils._frames import is_frame, is_sparse

MAX_GROUPS = 8
N_BINS = 5
SMALLEST_GROUP = 10
OTHER, MISSING = "all others", "missing"

# What a look at the columns may take: rows to learn from, rows to decide for each column (the
# same ones again and again where they are few), columns, and rows decided in one call.
MAX_TRAINED, ROWS_PER_COLUMN, MAX_COLUMNS, ROWS_PER_CALL = 20_000, 1000, 200, 20_000


def column_names(X: Any) -> list[str]:
    """Return the names of a table's columns; "feature 0" and so on where it has none."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [f"feature {c}" for c in range(X.shape[1] if len(X.shape) > 1 else 1)]


def column_values(X: Any, column: int, rows: np.ndarray) -> Any:
    """Return some rows of one column as a pandas Series; None where the table is sparse."""
    import pandas as pd

    if is_frame(X):
        return X.iloc[rows, column].reset_index(drop=True)
    return None if is_sparse(X) else pd.Series(X.reshape(len(X), -1)[rows, column])


def group_rows(values: Any) -> tuple[list[str], np.ndarray]:
    """Return the names of at most ten groups of a column's values, and the group of each row.

    Few values are a group each. Of many numbers or dates each group is a fifth; of many words
    the most frequent are groups. Groups of fewer than ten rows are joined with all others.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.compare.columns import group_rows
    >>> names, codes = group_rows(pd.Series(["a"] * 30 + ["b"] * 20 + ["c"]))
    >>> names, np.bincount(codes).tolist()
    (['a', 'b', 'all others'], [30, 20, 1])
    >>> group_rows(pd.Series(np.arange(100.0)))[0][:2]
    ['up to 19', 'over 19 to 39']
    """
    import pandas as pd

    if values.dtype.kind == "M":  # without a time zone
        values = pd.Series(values.to_numpy(dtype="datetime64[us]"))
    missing = values.isna().to_numpy()
    ordered = values.dtype.kind in "fiuM"
    present = values[~missing] if ordered else values[~missing].astype(str)
    codes = np.full(len(values), -1)
    if ordered and present.nunique() > MAX_GROUPS:
        cuts = present.quantile(np.arange(1, N_BINS) / N_BINS, interpolation="lower").to_numpy()
        edges = np.unique(cuts if cuts.dtype.kind == "M" else _rounded(cuts.astype(float)))
        codes[~missing] = np.searchsorted(edges, present.to_numpy(), side="left")
        texts = [_place(edge) for edge in edges]
        middle = [f"over {low} to {high}" for low, high in pairwise(texts)]
        names = [f"up to {texts[0]}", *middle, f"over {texts[-1]}"]
    else:
        kept = present.value_counts().index[:MAX_GROUPS]
        kept = kept.sort_values() if ordered else kept
        codes[~missing] = pd.Index(kept).get_indexer(present)
        names = [_place(value) if ordered else value for value in kept]
    if missing.sum() >= SMALLEST_GROUP:
        codes[missing] = len(names)
        names.append(MISSING)
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    large = np.flatnonzero(sizes >= SMALLEST_GROUP)
    place = np.full(len(names) + 1, len(large))  # the last entry is that of code -1
    place[large] = np.arange(len(large))
    codes = place[codes]
    used = np.flatnonzero(np.bincount(codes))
    names = [*(names[g] for g in large), OTHER]
    return [names[g] for g in used], np.searchsorted(used, codes)


def _rounded(edges: np.ndarray) -> np.ndarray:
    """Return round numbers near some edges: easy to read, and nobody's own values."""
    span = np.ptp(edges)
    if not span > 0:
        return edges
    step = 10.0 ** (np.floor(np.log10(span)) - 1)
    return np.round(np.round(edges / step) * step, 12)


def _place(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    return f"{value:%Y-%m-%d}" if hasattr(value, "strftime") else brief(float(value))


def cost_by_group(
    paid: np.ndarray, names: list[str], codes: np.ndarray, span: np.ndarray, seed: int
) -> Any:
    """Return the mean cost of each group with its interval, and the difference to the reference.

    Parameters
    ----------
    paid : ndarray of shape (n_samples, 2)
        What the reference and the method paid for each row.
    names : list of str
        The groups.
    codes : ndarray of shape (n_samples,)
        The group of each row.
    span : ndarray of shape (n_samples,)
        By how much decisions can differ for each row.
    seed : int
        Of the intervals.
    """
    import pandas as pd

    groups = []
    for group in range(len(names)):
        part = paid[codes == group]
        sure = paired_intervals(part, 0, random_state=seed, span=span[codes == group])
        cost, low, high, *difference = (column[1] for column in sure[:6])
        groups.append([len(part), cost, low, high, part[:, 1].sum(), sure.mean[0], *difference])
    columns = "n cost low high total reference difference difference_low difference_high"
    return pd.DataFrame(groups, columns=columns.split(), index=pd.Index(names, name="group"))


def column_importance(
    method: Method, problem: Problem, split: tuple, given: dict[str, Any]
) -> Any:
    """Return how much more decisions cost where a column's values are shuffled.

    One fit on one fold, on at most 20,000 of its rows; the decisions of its test rows, each
    column shuffled among them in its turn. The work is bounded by counts and not by the clock,
    so that it comes to the same figures anywhere.

    Parameters
    ----------
    method : Method
        Whose decisions.
    problem : Problem
        Data and costs.
    split : tuple of (train, test)
        Row numbers of one fold.
    given : dict
        As in `make_setting`.

    Returns
    -------
    table : DataFrame
        Indexed by column, the one that moves most money first: `cost`, by how much more a
        decision costs on average, with `low` and `high`, its 95% interval. It holds for all
        columns at once.
    """
    import pandas as pd

    rng = np.random.default_rng(given["random_state"])
    problem = replace(problem, X=problem.features, left_out=())
    names = column_names(problem.X)[:MAX_COLUMNS]
    train = problem.take(_some_of_each(problem.y, split[0], MAX_TRAINED, rng))
    rows = np.sort(rng.permutation(split[1])[:ROWS_PER_COLUMN])
    repeats = max(1, ROWS_PER_COLUMN // len(rows))
    model = fit_method(method, train, make_setting(train, **given))[0]

    def paid(part: Problem) -> np.ndarray:
        decided = model.decided(model.prepare(part.X), part.costs.tensor).positions
        return paid_for(part.costs, decided, model.policy.prices[:, part.costs.n_decisions :])

    test = problem.take(rows)
    costs = [paid(test)]
    at_once = max(1, ROWS_PER_CALL // (repeats * len(rows)))
    for first in range(0, len(names), at_once):
        columns = range(first, min(first + at_once, len(names)))
        again = np.tile(np.arange(len(rows)), repeats * len(columns))
        copies = test.take(again)
        copies.X = copies.X.copy()  # pandas before 3 warns of cells set in rows that were taken
        for place, column in enumerate(columns):
            for r in range(repeats):
                start = (place * repeats + r) * len(rows)
                here = slice(start, start + len(rows))
                copies.X = _shuffled(copies.X, column, here, rng.permutation(len(rows)))
        costs += list(paid(copies).reshape(len(columns), repeats, len(rows)).mean(axis=1))
    drawn = paired_intervals(np.column_stack(costs), 0, random_state=given["random_state"])
    figures = {
        "cost": drawn.difference,
        "low": drawn.difference_low,
        "high": drawn.difference_high,
    }
    table = pd.DataFrame(figures).iloc[1:].set_axis(pd.Index(names, name="column"))
    return table.sort_values("cost", ascending=False, kind="stable")


def _some_of_each(y: np.ndarray, rows: np.ndarray, limit: int, rng: Any) -> np.ndarray:
    """Return at most about `limit` of the rows, of each class the same share, but twenty at least."""
    if len(rows) <= limit:
        return rows
    drawn = rng.permutation(rows)
    taken = [
        part[: max(20, int(len(part) * limit / len(rows)))]
        for part in (drawn[y[drawn] == c] for c in np.unique(y[rows]))
    ]
    return np.sort(np.concatenate(taken))


def _shuffled(X: Any, column: int, here: slice, order: np.ndarray) -> Any:
    """Return the table with some rows of one column in another order."""
    if is_frame(X):
        X.iloc[here, column] = X.iloc[here, column].array[order]
    else:
        X[here, column] = X[here, column][order]
    return X
