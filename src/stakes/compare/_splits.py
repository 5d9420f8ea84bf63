"""Which rows are learned from and which are decided: folds, groups, time, a test part."""

import re
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from stakes._learning.folds import as_splitter, deal_groups, hold_out, split_folds
from stakes.compare._problem import Problem
from stakes.utils._arrays import counted, quoted
from stakes.utils._frames import as_column

# Dates as text that stand in the order of time.
DATE = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?)?")

Splits = list[tuple[np.ndarray, np.ndarray]]


def make_splits(
    problem: Problem,
    cv: Any = 5,
    random_state: int = 0,
    *,
    groups: Any = None,
    time: Any = None,
    test: Any = None,
    copies: np.ndarray | None = None,
) -> tuple[Splits, dict]:
    """Return the (train, test) rows of each fold, and the protocol in words.

    The parameters are those of `stakes.compare.compare`; `copies` tells of each row the first that
    it is a copy of. Copies stay in one fold, unless a class could not be learned then, or the rows
    to decide are given.
    """
    if time is not None and test is not None:
        raise ValueError("Give either time or test: each says which rows are decided.")
    numbered = isinstance(cv, Integral)
    if numbered and cv < 2:
        raise ValueError(f"cv={cv}: there must be at least 2 folds.")
    given = None if groups is None else _codes(groups, "groups", problem)
    copies = None if test is not None else copies
    together = given if copies is None else _joined(copies, given)
    if test is not None:
        splits, words = _test_part(test, problem)
    elif time is not None:
        splits, words = _forward(_codes(time, "time", problem), cv)
    elif numbered and together is not None:
        if given is None:
            _check_enough(problem, int(cv))
        what = "groups" if given is not None else "rows that are no copies of each other"
        splits, words = _grouped(problem, together, int(cv), random_state, what)
    else:
        if numbered:
            _check_enough(problem, int(cv))
        splitter = as_splitter(cv, problem.y, random_state=random_state)
        words = f"{cv}-fold stratified cross-validation" if numbered else str(splitter)
        known = {} if given is None else {"groups": given}
        splits = split_folds(splitter, np.zeros(problem.n_samples), problem.y, **known)
    if together is not None:
        # What is tested is not learned from: neither the row nor another of its group.
        splits = [
            (train[~np.isin(together[train], together[test])], test) for train, test in splits
        ]
    if copies is not None and any(_unseen(problem, train).any() for train, _ in splits):
        return make_splits(problem, cv, random_state, groups=groups, time=time)
    words += ", each group on one side" if given is not None else ""
    words += ", copies of a row on one side" if copies is not None else ""
    _check_classes(problem, splits)
    tested = np.concatenate([test for _, test in splits])
    repeated = len(np.unique(tested)) < len(tested)
    return splits, {"cv": words, "folds": len(splits), "repeated": repeated}


def _joined(copies: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Return groups in which copies are together: groups that share a row are one.

    Examples
    --------
    Rows 0 and 2 are copies, and rows 2 and 3 are one client's:

    >>> from stakes.compare._splits import _joined
    >>> _joined(np.array([0, 1, 0, 3]), np.array([0, 1, 2, 2])).tolist()
    [0, 1, 0, 0]
    """
    codes = np.unique(copies, return_inverse=True)[1]
    if groups is None:
        return codes
    n = int(codes.max()) + 1
    links = sparse.coo_array(
        (np.ones(len(codes), dtype=bool), (codes, n + groups)),
        shape=(n + int(groups.max()) + 1,) * 2,
    )
    joined = connected_components(links, directed=False)[1][codes]
    return np.unique(joined, return_inverse=True)[1]


def _unseen(problem: Problem, train: np.ndarray) -> np.ndarray:
    """Return a mask of the classes that have no row among those to learn from."""
    return np.bincount(problem.y[train], minlength=problem.n_classes) == 0


def thinned(splits: Splits, y: np.ndarray, share: float, random_state: int) -> Splits:
    """Return splits that are learned from a share of each class alone, and decide the same rows."""
    return [
        (train[hold_out(y[train], share, random_state, at_least=1)], test)
        for train, test in splits
    ]


def _codes(values: Any, name: str, problem: Problem) -> np.ndarray:
    """Return values of each row as numbers that keep their order."""
    import pandas as pd

    if len(values) != problem.n_samples:
        raise ValueError(
            f"{name} has {counted(len(values), 'value')}, but there are "
            f"{counted(problem.n_samples, 'row')}: give one for each."
        )
    column = pd.Series(np.asarray(as_column(values)))
    codes, known = pd.factorize(column, sort=True)
    missing = int((codes < 0).sum())
    if missing:
        first = int(np.argmax(codes < 0)) + 1
        rows = counted(missing, "row")
        raise ValueError(f"{name} is missing in {rows}, the first of them row {first}.")
    texts = [label for label in known if isinstance(label, str)]
    if name == "time":
        _check_times(texts)
    else:
        _check_names(texts)
    return codes


def _check_times(texts: list[str]) -> None:
    """Refuse text whose order is not that of time; of dates such as 2024-12-31 it is."""
    odd = [text for text in texts if not DATE.fullmatch(text)]
    lengths = sorted(texts, key=len)
    odd = odd or [text for text in lengths[-1:] if len(text) != len(lengths[0])]
    if odd:
        raise ValueError(
            f"time has text such as {odd[0]!r}, which would be taken in the order of the alphabet: "
            "give numbers, or dates, as pandas.to_datetime makes them."
        )


def _check_names(texts: list[str]) -> None:
    """Refuse groups that are told apart by blanks alone."""
    known: dict[str, str] = {}
    for text in texts:
        first = known.setdefault(" ".join(text.split()), text)
        if first != text:
            raise ValueError(
                f"groups has {first!r} and {text!r}, which differ by blanks alone and would be two "
                "groups: write one name in one way, as with .str.strip()."
            )


def _check_enough(problem: Problem, cv: int) -> None:
    counts = np.bincount(problem.y)
    rare = quoted([problem.classes[counts.argmin()]])
    if counts.min() == 1:
        raise ValueError(
            f"The class {rare} has a single example: it cannot be both learned and tested; "
            "leave it out, or join it with another class."
        )
    if counts.min() < cv:
        raise ValueError(
            f"The class {rare} has {counts.min()} examples, fewer than the {cv} folds: use "
            f"{counts.min()} folds, or leave the class out."
        )


def _test_part(test: Any, problem: Problem) -> tuple[Splits, str]:
    rows = np.asarray(as_column(test))
    mask = np.zeros(problem.n_samples, dtype=bool)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise ValueError(
            "test must be a mask of True and False, one for each row, or the numbers of rows to "
            f"decide, but it is an array of {rows.dtype} of shape {rows.shape}."
        )
    if rows.dtype == bool and len(rows) != len(mask):
        raise ValueError(
            f"test has {counted(len(rows), 'value')} for {len(mask):,} rows: one for each."
        )
    if rows.dtype != bool:
        if len(rows) == len(mask) and np.isin(rows, (0, 1)).all():
            raise ValueError(
                "test has 0 or 1 for each row, which would be the numbers of two rows: give a mask "
                "of True and False, as test == 1."
            )
        beyond = rows[(rows < 0) | (rows >= len(mask))]
        if len(beyond) or len(np.unique(rows)) < len(rows):
            what = f"{beyond[0]}, which is none" if len(beyond) else "a row twice"
            raise ValueError(f"test has {what} of the rows 0 to {len(mask) - 1:,}.")
    mask[rows] = True
    if mask.all() or not mask.any():
        raise ValueError("test must leave some rows to learn from and hold some to decide.")
    words = (
        f"learned from {counted(int((~mask).sum()), 'row')}, "
        f"costed on {mask.sum():,} others that came apart"
    )
    return [(np.flatnonzero(~mask), np.flatnonzero(mask))], words


def _forward(times: np.ndarray, cv: Any) -> tuple[Splits, str]:
    """Return folds that are decided by what was learned from all rows before them."""
    if not isinstance(cv, Integral):
        raise ValueError("With time, cv is a number: how many times to learn and go on.")
    cv = int(cv)
    ordered = np.sort(times)
    cuts = ordered[[round(len(times) * k / (cv + 1)) for k in range(1, cv + 1)]]
    if cuts[0] == ordered[0] or len(np.unique(cuts)) < cv:
        raise ValueError(
            f"time has {counted(len(np.unique(times)), 'different value')}, which cannot be cut into "
            f"{cv + 1} parts of about one size: use fewer folds than {cv}."
        )
    ends = [*cuts[1:], ordered[-1] + 1]
    splits = [
        (np.flatnonzero(times < start), np.flatnonzero((start <= times) & (times < end)))
        for start, end in zip(cuts, ends)
    ]
    return (
        splits,
        f"{counted(cv, 'fold')} forward in time, each decided by what was before it",
    )


def _grouped(
    problem: Problem, groups: np.ndarray, cv: int, random_state: int, what: str
) -> tuple[Splits, str]:
    n_groups = int(groups.max()) + 1
    if n_groups < cv:
        raise ValueError(f"{cv} folds need as many {what}, but the data has {n_groups}.")
    folds = deal_groups(problem.y, groups, cv, random_state)
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(cv)]
    return splits, f"{cv}-fold cross-validation"


def _check_classes(problem: Problem, splits: Splits) -> None:
    """Refuse folds in which some class cannot be learned."""
    for fold, (train, test) in enumerate(splits):
        unseen = _unseen(problem, train)
        if unseen.any():
            absent = quoted(problem.classes[unseen])
            which = f"of fold {fold + 1} of {len(splits)} " if len(splits) > 1 else ""
            raise ValueError(
                f"The rows {which}to learn from have no example of the class {absent}: use fewer "
                "folds or another split, or leave the class out."
            )
        if len(test) == 0:
            raise ValueError(f"Fold {fold + 1} of {len(splits)} has no row to decide.")
