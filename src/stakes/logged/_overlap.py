"""Whether each decision was taken often enough everywhere for anything to be said about it."""

import numpy as np
import pandas as pd

from stakes.logged._scores import effective_rows
from stakes.utils._arrays import quoted

# A decision of less probability than this was hardly ever taken.
HARDLY = 0.01
# A part of the rows in which a decision was never taken is told from chance where it holds this
# share of all rows, and where this many cases would have been expected.
TOLD_SHARE, TOLD_CASES = 0.1, 10.0


class OverlapWarning(UserWarning):
    """Few rows carry most of the weight of an estimate."""


class NoOverlapError(ValueError):
    """A decision was never taken for rows that can be told from the others."""


def overlap_table(decided: np.ndarray, propensities: np.ndarray, decisions: tuple) -> pd.DataFrame:
    """Return what is known of each decision: a row each.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.logged._overlap import overlap_table
    >>> table = overlap_table(np.array([0, 1, 1]), np.array([[0.5, 0.5]] * 3), ("no", "yes"))
    >>> table["rows"].tolist(), table["effective_rows"].tolist()
    ([1, 2], [1.0, 2.0])
    """
    weights = 1.0 / propensities[np.arange(len(decided)), decided]
    masks = [decided == a for a in range(len(decisions))]
    return pd.DataFrame(
        {
            "rows": [int(mask.sum()) for mask in masks],
            "effective_rows": [effective_rows(weights[mask]) for mask in masks],
            "least_propensity": propensities.min(axis=0),
            "share_hardly_taken": (propensities < HARDLY).mean(axis=0),
        },
        index=pd.Index(decisions, name="decision"),
    )


def check_overlap(
    decided: np.ndarray, propensities: np.ndarray, decisions: tuple, *, given: bool
) -> None:
    """Refuse decisions that were never taken for a part of the rows that can be told apart.

    Parameters
    ----------
    decided : ndarray of shape (n_samples,)
        What was done, as positions.
    propensities : ndarray of shape (n_samples, n_decisions)
        Given or estimated.
    decisions : tuple
        The labels.
    given : bool
        Whether the propensities are known: a 0 is a 0 then.
    """
    share = np.bincount(decided, minlength=len(decisions)) / len(decided)
    for a, label in enumerate(decisions):
        never = propensities[:, a] == 0.0 if given else propensities[:, a] < HARDLY
        size = never.mean()
        cases = never.sum() * share[a]
        told = size > 0 if given else size >= TOLD_SHARE and cases >= TOLD_CASES
        if told and not (decided[never] == a).any():
            known = "could not be taken" if given else "was never taken"
            raise NoOverlapError(
                f"The decision {quoted([label])} {known} for {size:.1%} of the rows, so that nothing "
                "in the log says what it would have cost there: leave the decision or those rows "
                "out, or give support=, below which a decision is not considered."
            )
