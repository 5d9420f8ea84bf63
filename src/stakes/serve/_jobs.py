"""What is decided together: requests that have been looked over."""

from dataclasses import dataclass
from itertools import chain

import numpy as np


@dataclass
class Job:
    """A request that has been looked over: what is decided together.

    Attributes
    ----------
    columns : list of list
        Values, column by column.
    prices : ndarray of shape (n_rows, n_classes, n_decisions) or None
        Of these rows.
    ids : list of str or None
        What the rows are called.
    n_rows : int
        How many there are.
    """

    columns: list[list]
    prices: np.ndarray | None
    ids: list[str] | None
    n_rows: int


def join_jobs(jobs: list[Job]) -> tuple[list[list], np.ndarray | None]:
    """Return the columns of all jobs, and their prices, which all of them have or none.

    As lists, of which a table is made once: to put a thousand tables of a row together takes longer
    than to decide them.
    """
    columns = [list(chain(*parts)) for parts in zip(*(job.columns for job in jobs))]
    prices = [job.prices for job in jobs if job.prices is not None]
    return columns, np.concatenate(prices) if prices else None
