"""Folds and held-out parts in which every class has its share."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state


def deal_folds(y: np.ndarray, n_folds: int, random_state: Any) -> np.ndarray:
    """Return the fold of each row, each class spread evenly; -1 is never held out.

    A class with fewer examples than folds is in as many folds as it has examples; the only
    example of a class is never held out, because no model could know its class.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Classes as positions.
    n_folds : int
        The number of folds.
    random_state : int or RandomState instance
        Shuffles.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.folds import deal_folds
    >>> y = np.array([0] * 6 + [1] * 2 + [2])
    >>> folds = deal_folds(y, 3, 0)
    >>> np.bincount(folds[y == 0]), len(set(folds[y == 1])), folds[y == 2]
    (array([2, 2, 2]), 2, array([-1]))
    """
    rng = check_random_state(random_state)
    folds = np.full(len(y), -1)
    next_fold = 0
    for label in range(y.max() + 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        if len(rows) < 2:
            continue
        folds[rows] = (next_fold + np.arange(len(rows))) % n_folds
        next_fold = (next_fold + len(rows)) % n_folds
    return folds


def deal_groups(y: np.ndarray, groups: np.ndarray, n_folds: int, random_state: Any) -> np.ndarray:
    """Return the fold of each row: a group is in one fold, each class spread as it can be.

    A group counts for the class of which it holds the greatest share. Groups are dealt
    class by class, the largest first.

    Parameters
    ----------
    y, groups : ndarray of shape (n_samples,)
        Classes and groups as positions.
    n_folds : int
        The number of folds.
    random_state : int or RandomState instance
        Shuffles groups of one size.

    Examples
    --------
    Four groups of two rows, two of which hold the rarer class:

    >>> import numpy as np
    >>> from stakes._learning.folds import deal_groups
    >>> y, groups = np.array([0, 0, 0, 0, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> folds = deal_groups(y, groups, 2, 0)
    >>> np.bincount(folds), np.bincount(folds[y == 1])
    (array([4, 4]), array([1, 1]))
    """
    n_groups, n_classes = int(groups.max()) + 1, int(y.max()) + 1
    counts = np.bincount(groups * n_classes + y, minlength=n_groups * n_classes)
    counts = counts.reshape(n_groups, n_classes)
    label = (counts / np.maximum(counts.sum(axis=0), 1)).argmax(axis=1)
    shuffled = check_random_state(random_state).permutation(n_groups)
    order = np.lexsort((shuffled, -counts.sum(axis=1), label))
    folds = np.empty(n_groups, dtype=np.intp)
    folds[order] = np.arange(n_groups) % n_folds
    return folds[groups]


def hold_out(y: np.ndarray, share: float, random_state: Any, *, at_least: int = 0) -> np.ndarray:
    """Return a mask of the rows held out: the same share of each class, never all of one.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Classes as positions.
    share : float
        How much of each class is held out.
    random_state : int or RandomState instance
        Shuffles.
    at_least : int, default=0
        The fewest rows of a class that are held out, where it has more.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.folds import hold_out
    >>> y = np.array([0] * 8 + [1])
    >>> hold_out(y, 0.25, 0)[y == 0].sum(), hold_out(y, 0.25, 0)[y == 1].sum()
    (np.int64(2), np.int64(0))
    """
    rng = check_random_state(random_state)
    held_out = np.zeros(len(y), dtype=bool)
    for label in range(y.max() + 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        n_out = min(max(round(share * len(rows)), at_least), len(rows) - 1)
        held_out[rows[: max(n_out, 0)]] = True
    return held_out


def hold_out_places(places: np.ndarray, share: float, random_state: Any) -> np.ndarray:
    """Return a mask of the rows held out, which depends on each row's place among all rows alone.

    Where rows are spread over processes, each can say which of its rows are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.folds import hold_out_places
    >>> out = hold_out_places(np.arange(10_000), 0.25, 0)
    >>> some = hold_out_places(np.arange(5_000, 10_000), 0.25, 0)
    >>> bool(2_300 < out.sum() < 2_700), bool((out[5_000:] == some).all())
    (True, True)
    """
    seed = np.uint64(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    z = (places.astype(np.uint64) + seed) * np.uint64(0x9E3779B97F4A7C15)  # splitmix64
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) < np.uint64(share * 2.0**64)


class HoldOut:
    """A splitter of one split: a share of each class is held out.

    Parameters
    ----------
    share : float, default=0.25
        How much is held out.
    random_state : int, default=0
        Shuffles.
    """

    def __init__(self, share: float = 0.25, random_state: int = 0):
        self.share = share
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Yield the training and the held-out rows."""
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        mask = hold_out(codes, self.share, self.random_state, at_least=1)
        yield np.flatnonzero(~mask), np.flatnonzero(mask)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def as_splitter(cv: Any, y: Any, *, random_state: int = 0) -> Any:
    """Return the splitter that `cv` stands for; a number spreads the examples at random.

    Tables are often sorted, and folds cut from a sorted table hold out what the others have
    not seen: on Nursery three such folds are predicted with an accuracy of 0.74 instead of
    0.9994, and a calibration learns to doubt everything. The seed is fixed. Where every class
    has fewer examples than there are to be folds, there are as many folds as the largest has.
    """
    if cv is None or isinstance(cv, Integral):
        n_folds = 5 if cv is None else int(cv)
        largest = int(np.unique(np.asarray(y), return_counts=True)[1].max())
        if largest == 1:  # nothing to be spread evenly
            n_folds = min(n_folds, len(y))
            return KFold(max(n_folds, 2), shuffle=True, random_state=random_state)
        return StratifiedKFold(min(n_folds, largest), shuffle=True, random_state=random_state)
    return check_cv(cv, y, classifier=True)


def split_folds(splitter: Any, X: Any, y: Any, **params: Any) -> list:
    """Return the (train, test) index pairs of a splitter.

    A class rarer than the number of folds is no obstacle here: a fold's model that has
    not seen a class gives it probability 0.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class in y")
        return list(splitter.split(X, y, **params))


def folds_of_rows(cv: Any, rows: np.ndarray, n_rows: int) -> Any:
    """Return `cv` for some of the rows alone: where it names rows by their numbers, by new ones.

    Parameters
    ----------
    cv : None, int, splitter or iterable of (train, test)
        As scikit-learn takes it.
    rows : ndarray of int
        The rows that are left, in their order.
    n_rows : int
        How many there were.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes._learning.folds import folds_of_rows
    >>> folds_of_rows([([0, 1], [2, 3]), ([2, 3], [0, 1])], np.array([0, 2, 3]), 4)
    [(array([0]), array([1, 2])), (array([1, 2]), array([0]))]
    """
    if cv is None or isinstance(cv, Integral) or hasattr(cv, "split"):  # as `check_cv` asks
        return cv
    number = np.full(n_rows, -1)
    number[rows] = np.arange(len(rows))
    renumbered = [tuple(number[np.asarray(side)] for side in fold) for fold in cv]
    return [tuple(side[side >= 0] for side in fold) for fold in renumbered]
