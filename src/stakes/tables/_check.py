"""The data check: what is odd about a table, in sentences, before anything is learned from it."""

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stakes.tables._evidence import (
    FEW_ROWS,
    MANY_WORDS,
    NAMED,
    _hashed,
    are_copies,
    duplicate_groups,
    looks_like_identifier,
    tells_class,
    words_per_value,
)
from stakes.tables._forms import FORMS, MISSING_WORDS, date_order
from stakes.tables._kinds import column_kind
from stakes.tables._readings import ColumnReading
from stakes.utils._arrays import counted, quoted
from stakes.utils._checks import code_of, is_ignored

# What is found in single columns is found in so many rows, and in so many cells.
ROWS = 20_000
CELLS = 20_000_000
# Rows of each rare class that are looked at besides.
RARE_ROWS = 1_000
# A column gives the class away where it tells this much of it; or this much, and the other columns
# tell less by this.
GIVEN_AWAY, SUSPECT, AHEAD = 0.985, 0.95, 0.4
MANY_COLUMNS = 1_000
# Of more prices than these, known when deciding, it is not asked whether they tell the class.
MOST_PRICES = 100
PRICE_ADVICE = "Decisions go by it: make sure that it is known when you decide."
# Copies that are worth a warning, as a share of the rows.
MANY_COPIES = 0.01
# Different words that are looked at to see what a text column holds.
WORDS = 2_000
# Different numbers by which a text column is no list of a few categories.
MANY_NUMBERS = 20
# What is said of many columns at once.
OF_MANY = {
    "empty": "are empty",
    "constant": "have the same value in every row",
    "identifier": "tell rows apart",
    "leak": "each tell the class alone",
    "numbers as text": "hold numbers that are stored as text",
    "local numbers": "are read with numbers in a local form",
    "text": "hold many different texts",
    "missing word": "have words such as NA as values like any other",
    "dates": "hold dates",
    "new values": "have values that were not there in training",
    "outside": "have values outside of the range of training",
    "shifted": "have shifted since training",
}
NUMBER = re.compile("|".join(form.pattern.replace("(?i:inf|infinity)", "inf") for form in FORMS))


@dataclass(frozen=True)
class Finding:
    """One thing that is odd about a table.

    Parameters
    ----------
    kind : str
        Which: "identifier", "leak", "constant", "empty", "copies" and so on.
    column : str or None
        The column, where it is about one.
    sentence : str
        What was found.
    advice : str
        What to do.
    drop : bool
        Whether the column is better left out.
    warning : bool
        False where it is only good to know.
    """

    kind: str
    column: str | None
    sentence: str
    advice: str = ""
    drop: bool = False
    warning: bool = True

    @property
    def code(self) -> str:
        """The number of its kind, such as ST104."""
        return code_of(self.kind)

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}".rstrip()


def heeded(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that nobody has asked to ignore."""
    return [finding for finding in findings if not is_ignored(finding.code)]


@dataclass(frozen=True)
class ColumnCheck:
    """How a column was read.

    Parameters
    ----------
    name : str
        The column.
    read_as : str
        What it holds: "number", "category", "text", "date" or "boolean", and how it is written.
    missing : float
        The share of rows in which it is missing.
    distinct : int
        How many different values the rows that were looked at have.
    notes : str
        What was found in it.
    truth : str
        The words for true and false as they stand in the file, such as "Yes/No".
    """

    name: str
    read_as: str
    missing: float
    distinct: int
    notes: str = ""
    truth: str = ""


@dataclass(frozen=True)
class TableCheck:
    """What a table is like, and what is odd about it.

    Attributes
    ----------
    rows : int
        How many rows the table has.
    looked_at : int
        In how many of them columns were looked at; missing, constant and copied values were
        looked for in all.
    columns : list of ColumnCheck
        How each column was read.
    findings : list of Finding
        What is odd, warnings first.
    groups : ndarray or None
        For each row the first row that it is a copy of; None where there are no copies.
    sampled : bool
        Whether columns were looked at in some of the rows alone, so that there may be more different
        values, and shares are those of the rows looked at.
    """

    rows: int
    looked_at: int
    columns: list[ColumnCheck]
    findings: list[Finding]
    groups: np.ndarray | None = field(default=None, repr=False, compare=False)
    sampled: bool = False

    @property
    def warnings(self) -> list[Finding]:
        """The findings that may make decisions worse, or figures wrong, but those ignored."""
        return heeded(finding for finding in self.findings if finding.warning)

    @property
    def notes(self) -> list[Finding]:
        """The findings that are only good to know, but those ignored."""
        return heeded(finding for finding in self.findings if not finding.warning)

    @property
    def drop(self) -> list[str]:
        """The columns that are better left out."""
        named = (finding.column for finding in heeded(self.findings) if finding.drop)
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def drop_options(self) -> list[str]:
        """The options of a command that leave them out; joined by commas where that is clear."""
        if not any("," in name or name != name.strip() for name in self.drop):
            return ["--drop", ",".join(self.drop)] if self.drop else []
        return [part for name in self.drop for part in ("--drop", name)]

    def with_test(self, test: np.ndarray | None) -> "TableCheck":
        """Return the check of rows some of which are decided alone; it names those learned from, too.

        Parameters
        ----------
        test : ndarray of bool or None
            Which rows are decided; None where all are, in folds.
        """
        if test is None or self.groups is None:
            return self
        n = int(np.isin(self.groups[test], self.groups[~test]).sum())
        if n == 0:
            return self
        sentence = (
            f"{n:,} of the {counted(int(test.sum()), 'row')} to decide are also among those to learn "
            "from, so that they are decided too well."
        )
        finding = Finding("copies", None, sentence, "Leave them out of one of the two.")
        return dataclasses.replace(self, findings=[finding, *self.findings])

    def without(self, kind: str) -> "TableCheck":
        """Return the check without the findings of one kind."""
        found = [finding for finding in self.findings if finding.kind != kind]
        return dataclasses.replace(self, findings=found)

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form that JSON can hold."""
        return {
            "rows": self.rows,
            "looked_at": self.looked_at,
            "columns": [dataclasses.asdict(column) for column in self.columns],
            "findings": [
                {"code": finding.code, **dataclasses.asdict(finding)}
                for finding in [*self.warnings, *self.notes]
            ],
            "drop": self.drop,
        }


def check_table(
    frame: Any,
    target: Any = None,
    readings: Mapping[str, ColumnReading] | None = None,
    *,
    folds: int = 5,
    cost_tensor: Any = None,
) -> TableCheck:
    """Look for what is odd about a table, before anything is learned from it.

    Parameters
    ----------
    frame : DataFrame or array
        The table.
    target : str or array-like of shape (n_samples,), default=None
        The column with the classes, or the classes.
    readings : dict of str to ColumnReading, default=None
        How columns were read, where that is known.
    folds : int, default=5
        Into how many parts the rows will be cut: a class needs as many.
    cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
        The prices of each row, where they are known when deciding: they must not tell the class.

    Returns
    -------
    check : TableCheck
        Its `columns` and `findings`.

    Notes
    -----
    A column gives the class away where it alone tells 98.5% of what the most frequent class leaves
    untold, in rows that were not looked at; or 95%, and all other columns tell at most 55%. An
    honest column can tell as much: only who knows the column can say when it is known.

    Rows that are equal are copies unless other rows are equal but for one column.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import check_table
    >>> table = pd.DataFrame({"nr": range(1, 61), "age": [30, 41, 52] * 20, "risk": ["a", "b"] * 30})
    >>> check = check_table(table, "risk")
    >>> print(check.warnings[0])
    'nr' tells rows apart: 60 different values in 60 rows. Leave it out.
    >>> check.drop_options
    ['--drop', 'nr']
    """
    import pandas as pd

    X = frame if hasattr(frame, "columns") else pd.DataFrame(np.asarray(frame))
    y = target
    if isinstance(target, str):
        X, y = X.drop(columns=[target]), X[target]
    X = X.set_axis([str(name) for name in X.columns], axis=1)
    known = {name: reading for name, reading in (readings or {}).items() if name in X.columns}
    labels: Any = None
    codes: Any = None
    if y is not None:
        codes, labels = pd.factorize(np.asarray(y), use_na_sentinel=False)
    groups = duplicate_groups(X)
    once = np.flatnonzero(groups == np.arange(len(X)))
    rows = _sample(once, X.shape[1], codes)
    wholes = [_hashed(X.iloc[:, place]) for place in range(X.shape[1])]
    columns = wholes if len(rows) == len(X) else [column.iloc[rows] for column in wholes]
    missing = X.isna().to_numpy().mean(axis=0) if len(X) else np.zeros(X.shape[1])
    findings: list[Finding] = []
    about = []
    for place, (name, column, whole) in enumerate(zip(X.columns, columns, wholes)):
        distinct = column.nunique()
        kind = known[name].kind if name in known else column_kind(column, distinct)
        reading = known.get(name) or ColumnReading(name, kind)
        findings += _look_at(name, column, whole, reading, distinct, missing[place], once)
        how = f" ({reading.how})" if reading.how else ""
        truth = reading.how if kind == "boolean" else ""
        about.append(ColumnCheck(name, kind + how, float(missing[place]), distinct, truth=truth))
    if codes is not None:
        looked_at = f"{len(rows):,} rows looked at" if len(rows) < len(once) else "rows"
        findings += _given_away(columns, codes[rows], len(labels), looked_at)
        if cost_tensor is not None:
            findings += _told_by_prices(np.asarray(cost_tensor)[rows], codes[rows], columns)
        findings += _classes(labels, np.bincount(codes), folds)
    apart = [finding.column for finding in findings if finding.kind == "identifier"]
    X = X.drop(columns=apart)  # a copy may have a number of its own
    copies, together = _copies(X, codes, duplicate_groups(X) if apart else groups)
    findings += [*copies, *_shape(X)]
    findings.sort(key=lambda finding: not finding.warning)
    kinds: dict[str, list[str]] = {}
    for finding in findings:
        kinds.setdefault(finding.column or "", []).append(finding.kind)
    about = [dataclasses.replace(c, notes=", ".join(kinds.get(c.name, ()))) for c in about]
    return TableCheck(len(X), len(rows), about, findings, together, len(rows) < len(once))


def _sample(rows: np.ndarray, n_columns: int, y: np.ndarray | None) -> np.ndarray:
    """Return the rows to look at, in their order."""
    size = min(ROWS, max(2_000, CELLS // max(n_columns, 1)))
    if len(rows) <= size:
        return rows
    rng = np.random.default_rng(0)
    chosen = rng.choice(rows, size, replace=False)
    if y is not None:
        counts = np.bincount(y)
        for label in np.flatnonzero(counts < counts.max() * RARE_ROWS / size)[:20]:
            rare = rng.permutation(rows[y[rows] == label])
            chosen = np.append(chosen, rare[:RARE_ROWS])
    return np.unique(chosen)


# -- single columns ------------------------------------------------------------------------------


def _look_at(
    name: str,
    column: Any,
    whole: Any,
    reading: ColumnReading,
    distinct: int,
    missing: float,
    once: np.ndarray,
) -> Iterator[Finding]:
    if missing == 1:
        yield Finding("empty", name, f"{name!r} is empty.", "Leave it out.", drop=True)
        return
    if distinct == 1 and missing == 0 and len(whole) > 1 and whole.nunique() == 1:
        sentence = f"{name!r} is {_shown(whole.iloc[0])} in every row."
        yield Finding("constant", name, sentence, "Leave it out.", drop=True)
        return
    is_text = reading.kind in ("category", "text") and str(column.dtype) != "category"
    unread = list(_unread(name, column)) if is_text else []
    if unread:
        yield from unread
    elif _identifies(name, column, whole, distinct, once):
        n = whole.nunique()
        sentence = (
            f"{name!r} tells rows apart: {counted(n, 'different value')} in "
            f"{counted(int(whole.notna().sum()), 'row')}."
        )
        yield Finding("identifier", name, sentence, "Leave it out.", drop=True)
    elif is_text:
        found = distinct if len(column) >= len(once) else None
        yield from _look_at_text(name, column, reading.kind, found)
    elif reading.kind == "date":
        advice = (
            f"Where rows follow each other in time, --time {shlex.quote(name)} learns from the "
        )
        advice += "past alone."
        how = f" ({reading.how})" if reading.how else ""
        yield Finding("dates", name, f"{name!r} holds dates{how}.", advice, warning=False)
    elif reading.kind == "number" and (reading.decimal, reading.thousands) != (".", ""):
        yield Finding(
            "local numbers", name, f"{name!r} is read with {reading.how}.", warning=False
        )


def _identifies(name: str, column: Any, whole: Any, distinct: int, once: np.ndarray) -> bool:
    """Look at all rows only where those of the sample look like an identifier."""
    present = int(column.count())
    if distinct < 0.5 * present or (distinct < 0.95 * present and not NAMED.search(name)):
        return False
    if column.dtype.kind == "f":
        values = column.to_numpy()
        if (values[~np.isnan(values)][:100] % 1 != 0).any():
            return False
    return looks_like_identifier(whole if len(once) == len(whole) else whole.iloc[once], name)


def _unread(name: str, column: Any) -> Iterator[Finding]:
    """Find numbers and dates that were left as text."""
    words = _words(column)
    known = [word for word in words if word.lower() not in MISSING_WORDS]
    numbers = [word for word in known if NUMBER.match(word)]
    written = any(not word.isdigit() for word in numbers)  # and no codes
    if written and len(numbers) >= MANY_NUMBERS and len(numbers) > len(known) / 2:
        strange = [word for word in known if not NUMBER.match(word)]
        sentence = f"{name!r} has numbers that are stored as text, such as {_shown(numbers[0])}"
        advice = "As they are, they are learned as words: make them numbers."
        if strange:
            sentence += f"; {len(strange):,} of its values are none, such as {_shown(strange[0])}"
            advice = f"Mend these, or call them missing: --na-values {shlex.quote(strange[0])}."
        yield Finding("numbers as text", name, f"{sentence}.", advice)
        return
    dates = [word for word in known if date_order([word])]
    if len(dates) > len(known) / 2:
        order = date_order(dates)
        what = "has dates that are stored as text"
        if order == "mixed":
            what = "has dates both as day/month and as month/day"
        elif len(dates) < len(known):
            strange_date = next(word for word in known if not date_order([word]))
            what = f"has dates, and values that are none, such as {_shown(strange_date)}"
        elif order == "ambiguous":
            what = f"has dates that can be day/month or month/day, such as {_shown(dates[0])}"
        advice = "As they are, they are learned as words: write all dates as year-month-day."
        yield Finding("mixed dates", name, f"{name!r} {what}.", advice)


def _look_at_text(name: str, column: Any, kind: str, distinct: int | None) -> Iterator[Finding]:
    """Look at a column of text, of which it may not be known how many different values it has."""
    if kind == "text":
        what = "sentences" if words_per_value(column) >= MANY_WORDS else "texts"
        sentence = (
            f"{name!r} holds {'many' if distinct is None else f'{distinct:,}'} different {what}."
        )
        advice = "They are learned by their words and letters."
        yield Finding("text", name, sentence, advice, warning=False)
    gaps = [word for word in _words(column) if word.lower() in MISSING_WORDS and len(word) > 1]
    if gaps:
        sentence = f"{name!r} has {_shown(gaps[0])} as a value like any other."
        advice = f"If it means missing: --na-values {shlex.quote(gaps[0])}."
        yield Finding("missing word", name, sentence, advice, warning=False)


def _words(column: Any) -> list[str]:
    return [str(value).strip() for value in column.dropna().unique()[:WORDS]]


def _shown(value: Any) -> str:
    """Return a value for a sentence, cut."""
    text = str(value)
    text = text if len(text) <= 40 else text[:39] + "…"
    return repr(text) if isinstance(value, str) else text


# -- the target ----------------------------------------------------------------------------------


def _given_away(columns: list, y: np.ndarray, n_classes: int, rows: str = "rows") -> list[Finding]:
    """Find the columns that alone tell the class; `rows` are what was looked at, in words."""
    if len(y) < FEW_ROWS:
        return []
    lowest = SUSPECT - AHEAD
    told = np.array([tells_class(column, y, n_classes, lowest) for column in columns])
    others = told[told < SUSPECT].max(initial=lowest)
    findings = []
    for c in np.flatnonzero((told >= GIVEN_AWAY) | ((told >= SUSPECT) & (told >= others + AHEAD))):
        name = columns[c].name
        right = 1 - (1 - told[c]) * (1 - np.bincount(y).max() / len(y))
        every = "every row" if rows == "rows" else f"all of the {rows}"
        share = every if right == 1 else f"{min(right, 0.9999):.2%} of the {rows}"
        sentence = f"{name!r} alone tells the class of {share}."
        advice = "Leave it out unless it is known when you decide."
        findings.append(Finding("leak", name, sentence, advice, drop=True))
    return findings


def _told_by_prices(prices: np.ndarray, y: np.ndarray, columns: list) -> list[Finding]:
    """Find the prices that alone tell the class; those that are a column are found as such."""
    import pandas as pd

    _, n_classes, n_decisions = prices.shape
    if n_classes * n_decisions > MOST_PRICES:
        return []
    numbers = [c.to_numpy() for c in columns if getattr(c.dtype, "kind", "O") in "iuf"]
    told = []
    for t, d in np.ndindex(n_classes, n_decisions):
        cell = prices[:, t, d]
        if (cell != cell[0]).any() and not any(np.array_equal(cell, n) for n in numbers):
            told.append(pd.Series(cell, name=f"price [true {t}, decided {d}]"))
    return [
        dataclasses.replace(finding, column=None, drop=False, advice=PRICE_ADVICE)
        for finding in _given_away(told, y, n_classes)
    ]


def _classes(labels: Any, counts: np.ndarray, folds: int) -> Iterator[Finding]:
    rare = [(label, count) for label, count in zip(labels, counts.tolist()) if count < folds]
    if rare:
        fewest = min(count for _, count in rare)
        shown = ", ".join(f"{_shown(label)} ({count})" for label, count in rare[:8])
        more = f" and {len(rare) - 8} more" if len(rare) > 8 else ""
        sentence = f"Classes with fewer rows than the {folds} folds: {shown}{more}."
        advice = "Join them with another class or leave their rows out"
        advice += f", or use --folds {fewest}." if fewest > 1 else "."
        yield Finding("rare classes", None, sentence, advice)
    for label, count in zip(labels, counts.tolist()):
        if str(label).strip().lower() in MISSING_WORDS:
            text = str(label)
            sentence = (
                f"The class {_shown(text)} is a class as any other: {counted(count, 'row')}."
            )
            advice = f"If it means missing: --na-values {shlex.quote(text)}."
            yield Finding("class named missing", None, sentence, advice, warning=False)


# -- the whole table -----------------------------------------------------------------------------


def _copies(
    X: Any, y: np.ndarray | None, groups: np.ndarray
) -> tuple[list[Finding], np.ndarray | None]:
    """Find rows that are copies of others, and say of each row which it is a copy of."""
    if X.shape[1] == 0:
        return [], None
    copied = groups != np.arange(len(groups))
    n = int(copied.sum())
    if n == 0:
        return [], None
    verb = "is" if n == 1 else "are"
    others = int((y[copied] != y[groups[copied]]).sum()) if y is not None else 0
    differ = f", {others:,} of them with another class" if others else ""
    if not are_copies(X, _sample(np.arange(len(X)), 1, None)):
        sentence = (
            f"{counted(n, 'row')} of {len(X):,} {verb} equal to others{differ}; so many others are "
            "nearly equal that this is no sign of copies."
        )
        return [Finding("equal rows", None, sentence, warning=False)], None
    sentence = f"{counted(n, 'row')} of {len(X):,} {verb} copies of others{differ}."
    if n == 1:
        sentence = sentence.replace("copies of others", "a copy of another")
    advice = (
        "A comparison keeps copies in one fold; remove them if they are no cases of their own."
    )
    return [Finding("copies", None, sentence, advice, warning=n >= MANY_COPIES * len(X))], groups


def _shape(X: Any) -> Iterator[Finding]:
    n, columns = X.shape
    if columns > MANY_COLUMNS or (columns > n and columns > FEW_ROWS):
        sentence = f"The table has {counted(columns, 'column')} for {counted(n, 'row')}."
        advice = (
            "Choose the columns that can matter: learning takes long, and chance looks like proof."
        )
        yield Finding("many columns", None, sentence, advice)
    odd = [name for name in X.columns if _is_odd(name)]
    if odd:
        sentence = f"Not plain letters: the column names {quoted(odd)}."
        if len(odd) == 1:
            sentence = f"Not plain letters: the column name {quoted(odd)}."
        advice = f"In commands write them in quotes, such as --drop {shlex.quote(odd[0])}."
        yield Finding("odd names", odd[0], sentence, advice, warning=False)


def _is_odd(name: str) -> bool:
    """Say whether a name has blanks at its ends, quotes, unseen characters, or no ASCII."""
    return name != name.strip() or bool(re.search(r"""['"`\\]|[^ -~]""", name)) or not name


def findings_said(findings: Iterable[Finding], limit: int = 3) -> list[str]:
    """Return findings in words, by code; of more than `limit` like columns in one sentence."""
    alike: dict[str, list[Finding]] = {}
    for finding in findings:
        alike.setdefault(finding.kind, []).append(finding)
    said: list[str] = []
    for kind, group in alike.items():
        if len(group) <= limit or kind not in OF_MANY:
            said += [f"{finding.code}: {finding}" for finding in group]
            continue
        names = quoted(finding.column for finding in group)
        advice = group[0].advice if len({finding.advice for finding in group}) == 1 else ""
        advice = advice.replace("it out unless it is", "them out unless they are")
        advice = advice.replace("Leave it out", "Leave them out")
        many = f"{len(group):,} columns {OF_MANY[kind]}: {names}. {advice}"
        said.append(f"{group[0].code}: {many}".rstrip())
    return said
