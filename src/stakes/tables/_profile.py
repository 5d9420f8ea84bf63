"""What the columns of a table were like, kept small, and how those of a new table differ."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from stakes.tables._check import Finding, _shown
from stakes.tables._evidence import _hashed, least_rows, looks_like_identifier
from stakes.tables._histograms import compare_counts
from stakes.tables._kinds import column_kind
from stakes.tables._readings import KINDS
from stakes.utils._arrays import counted, quoted
from stakes.utils._frames import few_cells, numbers_of

TENTHS = 10
# Fewer rows say nothing of a shift.
FEW_ROWS = 30
# A shift is said where so much of the rows lies elsewhere, and chance explains less than this.
SHIFTED, CHANCE = 0.1, 0.001
IDENTIFIER = "identifier"
MAX_VALUES = 200  # of a column that is a category by its type


@dataclass(frozen=True)
class ColumnProfile:
    """What a column was like.

    Parameters
    ----------
    name : str
        The column.
    kind : str
        What it holds, as in `ColumnReading`, or "identifier".
    rows : int
        Of how many rows.
    missing : float
        The share of rows in which it was missing.
    low, high : float or None
        The range of numbers; of dates in seconds since 1970.
    edges : tuple of float
        What cuts the numbers into tenths, as far as they can be cut.
    values : tuple of str
        The values of a category.
    shares : tuple of float
        The share of rows in each part or with each value.
    rare : float
        The share of rows with values that too few share to be kept by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import profile_columns
    >>> (job,) = profile_columns(pd.DataFrame({"job": ["cook", "cook", "smith", None]}))
    >>> job.values, job.shares, job.missing
    (('cook', 'smith'), (0.5, 0.25), 0.25)
    """

    name: str
    kind: str
    rows: int
    missing: float = 0.0
    low: float | None = None
    high: float | None = None
    edges: tuple[float, ...] = ()
    values: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    rare: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, IDENTIFIER):
            raise ValueError(f"A column is no {self.kind!r}.")
        parts = len(self.edges) + 1 if self.low is not None else len(self.values)
        if len(self.shares) != parts:
            raise ValueError(f"The shares of {self.name!r} are not those of its values.")

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold."""
        return {name: value for name, value in vars(self).items() if value not in (None, ())}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "ColumnProfile":
        """Return what `to_dict` was made from."""
        lists = {name: tuple(v) for name, v in state.items() if isinstance(v, (list, tuple))}
        return cls(**{**state, **lists})


def profile_columns(frame: Any) -> list[ColumnProfile]:
    """Return what each column of a table is like; of text and identifiers no value is kept.

    Parameters
    ----------
    frame : DataFrame
        The table.
    """
    return [_profile(str(name), frame.iloc[:, c]) for c, name in enumerate(frame.columns)]


def _profile(name: str, column: Any) -> ColumnProfile:
    column = _hashed(column)
    kind = column_kind(column)
    missing = float(column.isna().mean()) if len(column) else 0.0
    plain = ColumnProfile(name, kind, len(column), missing)
    if len(column) == 0 or missing == 1:
        return plain
    if looks_like_identifier(column, name):
        return dataclasses.replace(plain, kind=IDENTIFIER)
    if kind in ("category", "text"):
        counts = _texts(column).value_counts().sort_index() / len(column)
        if kind == "text" or len(counts) > MAX_VALUES:
            return dataclasses.replace(plain, kind="text")
        kept = counts[(counts * len(column)).round() >= least_rows(len(column))]
        kept = counts if len(column) < FEW_ROWS else kept
        rare = round(float(counts.sum() - kept.sum()), 6)
        by_value = tuple(kept.round(6).tolist())
        return dataclasses.replace(plain, values=tuple(kept.index), shares=by_value, rare=rare)
    numbers = _numbers(column)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    if len(numbers) == 0:
        return plain
    tenths = numbers[(len(numbers) * np.arange(1, TENTHS)) // TENTHS]
    edges = np.unique(tenths[tenths < numbers[-1]])
    shares = _shares(np.searchsorted(edges, numbers), len(edges) + 1, len(column))
    return dataclasses.replace(
        plain,
        low=float(numbers[0]),
        high=float(numbers[-1]),
        edges=tuple(edges.tolist()),
        shares=tuple(shares.round(6).tolist()),
    )


def _texts(column: Any) -> Any:
    return column.dropna().astype(str)


def _numbers(column: Any) -> np.ndarray:
    """Return numbers, truth values as 0 and 1, dates as seconds since 1970; missing as NaN."""
    if column.dtype.kind == "M":
        dates = column.to_numpy(dtype="datetime64[ms]")
        return np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / 1e3)
    return numbers_of(column)


def _shares(codes: np.ndarray, parts: int, rows: int) -> np.ndarray:
    return np.bincount(codes, minlength=parts) / max(rows, 1)


# -- a new table -------------------------------------------------------------------------------


def find_differences(
    frame: Any, profiles: Iterable[ColumnProfile], known: Iterable[str] = ()
) -> list[Finding]:
    """Return in what a table differs from the one that the profiles were made of.

    Columns that are missing or new, of another kind, values that were not there, values outside
    the range, and columns whose values lie elsewhere now.

    Parameters
    ----------
    frame : DataFrame
        A new table.
    profiles : iterable of ColumnProfile
        From `profile_columns`.
    known : iterable of str
        More columns that are not new.

    Returns
    -------
    findings : list of Finding
        Warnings first.

    Notes
    -----
    A column has shifted where a tenth of the rows or more lie in other parts of its range than
    before, missing values being a part, and chance explains less than 0.001 of that, shared among
    the columns. Values outside of the range are a warning where they are more than chance brings:
    of n rows and another one, that one is the greatest with probability 1 / (n + 1).

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import find_differences, profile_columns
    >>> before = profile_columns(pd.DataFrame({"age": [20, 45, 69], "job": ["cook", "cook", "smith"]}))
    >>> after = pd.DataFrame({"age": [30, 99], "job": ["cook", "spy"]})
    >>> for finding in find_differences(after, before):
    ...     print(finding)
    'job' has a value in 1 row that was not there in training: 'spy'. It is decided as none of those known.
    'age' is outside of the range of training in 1 row: up to 99, and there from 20 to 69.
    """
    profiles = list(profiles)
    place = {str(name): c for c, name in enumerate(frame.columns)}
    findings: list[Finding] = []
    absent = [profile.name for profile in profiles if profile.name not in place]
    if absent:
        sentence = f"Missing columns: {quoted(absent)}."
        findings.append(Finding("missing columns", absent[0], sentence))
    before = {profile.name for profile in profiles}
    new = [name for name in place if name not in before | set(map(str, known))]
    if new:
        sentence = f"Not used, as training did not have them: the columns {quoted(new)}."
        if len(new) == 1:
            sentence = f"Not used, as training did not have it: the column {quoted(new)}."
        findings.append(Finding("new columns", new[0], sentence, warning=False))
    alike = [profile for profile in profiles if profile.name in place]
    for profile in alike:
        column = _hashed(frame.iloc[:, place[profile.name]])
        findings += _compare(profile, column, CHANCE / len(alike))
    findings.sort(key=lambda finding: not finding.warning)
    return findings


def new_values(profile: ColumnProfile, column: Any) -> Finding | None:
    """Find the values of a category that were not there before."""
    if not profile.values or (len(column) <= FEW_ROWS and _are_known(column, profile.values)):
        return None
    texts = _texts(column)
    strange = texts[~texts.isin(profile.values)]
    if len(strange) == 0:
        return None
    shown = strange.unique()
    what = "a value" if len(shown) == 1 else f"{len(shown):,} values"
    were = "was" if len(shown) == 1 else "were"
    examples = ", ".join(map(_shown, shown[:3].tolist())) + (", …" if len(shown) > 3 else "")
    sentence = (
        f"{profile.name!r} has {what} in {counted(len(strange), 'row')} that {were} not there in "
        f"training{', or in hardly a row' if profile.rare else ''}: {examples}."
    )
    advice = "It is decided as none of those known."
    advice = advice if len(shown) == 1 else advice.replace("It is", "They are")
    return Finding("new values", profile.name, sentence, advice)


def _are_known(column: Any, values: tuple[str, ...]) -> bool:
    """Return whether a few cells hold these values and nothing else, without pandas' detours."""
    cells = few_cells(column)
    return set(values).issuperset(str(value) for value in cells if value is not None)


def _compare(profile: ColumnProfile, column: Any, chance: float) -> Iterator[Finding]:
    if profile.kind == IDENTIFIER or len(column) == 0:
        return
    finding = new_values(profile, column)
    if finding is not None:
        yield finding
    numbers = None
    if profile.low is not None:
        if column.dtype.kind not in "fiubmM" or (profile.kind == "date") != (
            column.dtype.kind == "M"
        ):
            if column.notna().any():
                sentence = f"{profile.name!r} held {profile.kind}s in training, but does not here."
                yield Finding("another kind", profile.name, sentence)
            return
        numbers = _numbers(column)
        yield from _outside(profile, numbers, chance)
    if len(column) >= FEW_ROWS and profile.rows >= FEW_ROWS:
        yield from _shift(profile, column, numbers, chance)


def _outside(profile: ColumnProfile, numbers: np.ndarray, chance: float) -> Iterator[Finding]:
    """Find values below the least or above the greatest."""
    from scipy.stats import binom

    low, high = profile.low, profile.high
    assert low is not None
    assert high is not None
    below, above = numbers < low, numbers > high
    n = int((below | above).sum())
    if n == 0:
        return
    ends = [f"down to {_place(np.nanmin(numbers), profile)}"] if below.any() else []
    ends += [f"up to {_place(np.nanmax(numbers), profile)}"] if above.any() else []
    sentence = (
        f"{profile.name!r} is outside of the range of training in {counted(n, 'row')}: "
        f"{' and '.join(ends)}, and there from {_place(low, profile)} to {_place(high, profile)}."
    )
    # Dates go on, and one row of a few is no more than chance.
    odds = binom.sf(n - 1, int((~np.isnan(numbers)).sum()), 2 / (profile.rows + 1))
    warning = profile.kind != "date" and bool(odds < chance)
    yield Finding("outside", profile.name, sentence, warning=warning)


def _shift(
    profile: ColumnProfile, column: Any, numbers: np.ndarray | None, chance: float
) -> Iterator[Finding]:
    """Find a column whose values lie elsewhere."""
    rows = len(column)
    before = np.array([*profile.shares, profile.missing])
    if numbers is not None:
        known = numbers[~np.isnan(numbers)]
        now = _shares(np.searchsorted(profile.edges, known), len(profile.shares), rows)
        names = _parts(profile)
    else:
        texts = _texts(column)
        now = np.array([(texts == value).mean() * len(texts) / rows for value in profile.values])
        names = [f"are {_shown(value)}" for value in profile.values]
    now = np.append(now, column.isna().mean())
    names = [*names, "are missing"]
    # What is neither is said as new.
    counts = (before * profile.rows).round(), (now * rows).round()
    moved, by_chance = compare_counts(*_pooled(np.array(counts)))
    if moved < SHIFTED or by_chance >= chance:
        return
    most = int(np.abs(now - before).argmax())
    sentence = (
        f"{profile.name!r} has shifted: {now[most]:.0%} of the rows {names[most]}, in training "
        f"{before[most]:.0%}."
    )
    yield Finding("shifted", profile.name, sentence, warning=profile.kind != "date")


def _pooled(counts: np.ndarray) -> np.ndarray:
    """Return counts with parts joined to the smallest other one where a single row is unexpected.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.tables._profile import _pooled
    >>> _pooled(np.array([[60.0, 40.0, 0.0], [5.0, 4.0, 1.0]])).tolist()
    [[60.0, 40.0], [5.0, 5.0]]
    """
    total, sizes = counts.sum(axis=0), counts.sum(axis=1)
    # Fewer than one row is expected there, and there is one at most.
    rare = (total * sizes.min() < sizes.sum()) & (counts[sizes.argmin()] <= 1)
    if rare.all() or not rare.any():
        return counts
    kept, others = counts[:, ~rare], counts[:, rare].sum(axis=1)
    kept[:, total[~rare].argmin()] += others
    return kept


def _parts(profile: ColumnProfile) -> list[str]:
    """Return the parts of a range in words."""
    if not profile.edges:
        return ["are there"]
    texts = [_place(edge, profile) for edge in profile.edges]
    middle = [f"are over {low} to {high}" for low, high in pairwise(texts)]
    return [f"are up to {texts[0]}", *middle, f"are over {texts[-1]}"]


def _place(value: float, profile: ColumnProfile) -> str:
    if profile.kind == "date":
        return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
    return f"{value:,.6g}"
