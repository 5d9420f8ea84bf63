"""Seeds, seeded clones, bootstrap and rejection draws."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_random_state

from stakes.utils._arrays import finite_array
from stakes.utils._workers import Attached

MAX_SEED = np.iinfo(np.int32).max
# Rows that are drawn in one go where many are.
DRAWN_AT_ONCE = 2**20


def draw_seeds(random_state: Any, n: int) -> np.ndarray:
    """Draw one seed per member, so that results don't depend on who fits which."""
    return check_random_state(random_state).randint(MAX_SEED, size=n)


def draw_seed(random_state: Any) -> int:
    """Draw one seed."""
    return int(check_random_state(random_state).randint(MAX_SEED))


def seeded(seed: int) -> np.random.RandomState:
    """Return a generator as ``np.random.RandomState(seed)``, until the next call in this thread.

    There is one for each thread: a new one asks the system for chance before it is seeded, which
    takes fifty times as long.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.draws import seeded
    >>> int(seeded(7).randint(100)) == int(np.random.RandomState(7).randint(100))
    True
    """
    if not hasattr(_own, "generator"):
        _own.generator = np.random.RandomState(0)
    _own.generator.seed(seed)
    return _own.generator


_own = threading.local()


def seeded_clone(estimator: Any, random_state: Any) -> Any:
    """Clone with every `random_state`, nested ones too, drawn from `random_state`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stakes._learning.draws import seeded_clone
    >>> a, b = (seeded_clone(LogisticRegression(), seed).random_state for seed in (3, 3))
    >>> a == b
    True
    """
    copy = clone(estimator)
    rng = check_random_state(random_state)
    seeds = {
        key: rng.randint(MAX_SEED)
        for key in sorted(copy.get_params(deep=True))
        if key == "random_state" or key.endswith("__random_state")
    }
    return copy.set_params(**seeds) if seeds else copy


def fit_clone(estimator: Any, seed: Any, X: Any, y: np.ndarray, weight: Any = None) -> Any:
    """Return a seeded clone, fitted; the weights are handed on where there are any."""
    params = {} if weight is None else {"sample_weight": weight}
    return seeded_clone(estimator, seed).fit(X, y, **params)


def run_members(function: Callable, tasks: Iterable[tuple], **options: Any) -> list:
    """Return ``function(*task)`` for each task, in their order; options of `iter_members`."""
    return list(iter_members(function, tasks, **options))


def iter_members(
    function: Callable,
    tasks: Iterable[tuple],
    *,
    n_jobs: int | None = None,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Yield ``function(*task)`` for each task, in their order, `n_jobs` at a time."""
    if effective_n_jobs(n_jobs) == 1:
        yield from (function(*task) for task in tasks)
        return
    work = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    function = Attached(function)
    yield from work(delayed(function)(*task) for task in tasks)


def bootstrap_counts(
    n_samples: int, rng: np.random.RandomState, n_drawn: int | None = None
) -> np.ndarray:
    """Return how often each of `n_samples` rows is drawn, with replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.draws import bootstrap_counts
    >>> int(bootstrap_counts(5, np.random.RandomState(0)).sum())
    5
    """
    drawn = rng.randint(n_samples, size=n_samples if n_drawn is None else n_drawn)
    return np.bincount(drawn, minlength=n_samples)


def bootstrap_counts_at(
    places: list[tuple[int, int]],
    n_samples: int,
    rng: np.random.RandomState,
    n_drawn: int | None = None,
) -> np.ndarray:
    """Return `bootstrap_counts` of some runs of rows, each (first, size), one after the other.

    Nothing of the size of all rows is made.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.draws import bootstrap_counts, bootstrap_counts_at
    >>> whole = bootstrap_counts(9, np.random.RandomState(0))
    >>> some = bootstrap_counts_at([(0, 3), (7, 2)], 9, np.random.RandomState(0))
    >>> bool((some == whole[[0, 1, 2, 7, 8]]).all())
    True
    """
    counts = [np.zeros(size, dtype=np.int64) for _, size in places]
    left = n_samples if n_drawn is None else n_drawn
    while left > 0:
        drawn = rng.randint(n_samples, size=min(left, DRAWN_AT_ONCE))
        left -= len(drawn)
        for (first, size), times in zip(places, counts):
            inside = drawn[(drawn >= first) & (drawn < first + size)] - first
            times += np.bincount(inside, minlength=size)
    return np.concatenate(counts)


def rejection_sample(
    weights: Any, random_state: Any = None, *, max_weight: float | None = None
) -> np.ndarray:
    """Draw examples by their weight: one pass, no replacement.

    Each example is kept with probability ``weight / max_weight``, independently of the
    others, so none comes twice. A learner that knows nothing of weights, fitted on what
    was kept, minimises the weighted loss in expectation; a sample drawn *with* replacement
    would give trees exact copies to overfit.

    Parameters
    ----------
    weights : array-like
        Non-negative weights, of any shape.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    max_weight : float, default=None
        The weight that is always kept; no weight may exceed it. If None, the greatest
        weight. A larger value thins the sample.

    Returns
    -------
    indices : ndarray of shape (n_kept,)
        Positions in the flattened weights, increasing. Empty where all weights are zero.
        For (n, K) weights, `pair_of` turns them into rows and labels.

    References
    ----------
    .. [1] B. Zadrozny, J. Langford, N. Abe, "Cost-Sensitive Learning by
       Cost-Proportionate Example Weighting", ICDM 2003.

    Examples
    --------
    The greatest weight is always kept, a weight of zero never:

    >>> from stakes.reductions import rejection_sample
    >>> rejection_sample([2, 0, 2, 0, 2], random_state=0)
    array([0, 2, 4])
    >>> sum(len(rejection_sample([1, 1, 4], random_state=s)) for s in range(1000)) / 1000
    1.5...
    """
    weights = finite_array(weights, name="weights").ravel()
    if weights.size and weights.min() < 0:
        raise ValueError(
            f"A weight is negative ({weights.min():.6g} at position {int(weights.argmin())}): "
            "rejection sampling keeps an example with probability weight / max_weight."
        )
    greatest = weights.max() if weights.size else 0.0
    if max_weight is None:
        max_weight = greatest
    elif not max_weight >= greatest:
        raise ValueError(f"max_weight is {max_weight:.6g}, less than the weight {greatest:.6g}.")
    if greatest == 0.0:
        return np.empty(0, dtype=np.intp)
    draw = check_random_state(random_state).uniform(size=weights.size)
    draw *= max_weight
    return np.flatnonzero(draw < weights)


def tell(estimator: Any, text: str) -> None:
    """Print a line of progress on standard error, if the estimator is `verbose`."""
    if estimator.verbose:
        print(f"[{type(estimator).__name__}] {text}", file=sys.stderr, flush=True)
