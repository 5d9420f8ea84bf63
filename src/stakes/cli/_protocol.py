"""Which rows are learned from and decided, and what is decided today: by columns, or a file."""

import re
from typing import Any

import numpy as np

from stakes.cli._app import ProtocolOptions
from stakes.cli._errors import UserError
from stakes.cli._prices import find_positive
from stakes.cli._tables import Table, check_column, quote
from stakes.utils._arrays import counted
from stakes.utils._labels import label_array

SCORE = re.compile(r"(?P<column>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<threshold>[-+.\deE]+)")
SIGNS = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    ">": np.greater,
    "<": np.less,
}


def find_protocol(
    options: ProtocolOptions, table: Table, y: np.ndarray, decisions: list, positive: str | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return keyword arguments of `compare`, and the columns that are no features with the reason."""
    given: dict[str, Any] = {}
    columns: dict[str, str] = {}
    if options.groups is not None:
        columns[options.groups] = "groups"
        given["groups"] = whole_column(options.groups, "--groups", table).to_numpy()
    if options.time is not None:
        columns[options.time] = "time"
        given["time"] = _times(options.time, table)
    if options.baseline is not None:
        given["baseline"], column = _today(options.baseline, table, y, decisions, positive)
        if column is not None:
            columns[column] = "today's decisions"
    return given, columns


def is_score(baseline: str | None, table: Table) -> bool:
    """Whether today's decisions are a score with a threshold, which needs a positive class."""
    return (
        baseline is not None
        and baseline not in table.frame.columns
        and SCORE.fullmatch(baseline) is not None
    )


def _today(
    text: str, table: Table, y: np.ndarray, decisions: list, positive: str | None
) -> tuple[Any, str | None]:
    """Return today's decisions and the column they are read from, or the name of a method."""
    from stakes.compare.engine import all_methods

    if text == table.target:
        raise UserError(f"--baseline {quote(text)} is the target: it holds what is true.")
    if text in table.frame.columns:
        return _decisions(whole_column(text, "--baseline", table), table, decisions), text
    score = SCORE.fullmatch(text)
    if score is None:
        if text in all_methods():
            return text, None
        check_column(table, text)
    assert score is not None
    column = whole_column(score["column"], "--baseline", table)
    if column.dtype.kind not in "iuf":
        raise UserError(f"--baseline {quote(text)}: the column holds no numbers.")
    try:
        threshold = float(score["threshold"])
    except ValueError:
        raise UserError(f"--baseline {quote(text)}: the threshold is no number.") from None
    classes = np.unique(y)
    if len(classes) != 2:
        raise UserError(
            f"--baseline {quote(text)} is for 2 classes, but the target has {len(classes)}: give a "
            "column of decisions."
        )
    if set(decisions) != set(classes.tolist()):
        raise UserError(
            f"--baseline {quote(text)} decides a class, but the decisions are "
            f"{', '.join(map(quote, decisions))}: give a column of decisions."
        )
    labels = [str(label) for label in classes.tolist()]
    chosen = labels.index(find_positive(positive, labels))
    says = SIGNS[score["sign"]](column.to_numpy(), threshold)
    share = f"{says.mean():.0%} of the rows"
    table.notes.append(f"Today {quote(labels[chosen])} is decided where {text}: {share}.")
    return classes[np.where(says, chosen, 1 - chosen)], None


def _decisions(column: Any, table: Table, decisions: list) -> np.ndarray:
    """Return a column of decisions as they are known here; others are refused."""
    known = {str(label): label for label in decisions}
    values = column.to_numpy()
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        values = values.astype(np.int64)
    texts = [str(value) for value in values.tolist()]
    for row, text in enumerate(texts):
        if text not in known:
            raise UserError(
                f"the column {quote(column.name)} of --baseline has {quote(text)} in row {table.row(row):,}, "
                f"which is no decision: there are {', '.join(map(quote, known))}. (A score needs its "
                f"threshold: --baseline {quote(f'{column.name}>=0.5')}.)"
            )
    return label_array([known[text] for text in texts])


def _times(name: str, table: Table) -> np.ndarray:
    import pandas as pd

    column = whole_column(name, "--time", table)
    if column.dtype.kind in "iufM":
        return column.to_numpy()
    try:
        return pd.to_datetime(column, format="ISO8601").to_numpy()
    except (ValueError, TypeError):
        raise UserError(
            f"the column {quote(name)} of --time is text such as {quote(column.iloc[0])}: write "
            "numbers, or dates as 2024-12-31."
        ) from None


def whole_column(name: str, option: str, table: Table) -> Any:
    """Return a column that must not be missing anywhere."""
    check_column(table, name)
    column = table.frame[name]
    missing = column.isna().to_numpy()
    if missing.any():
        raise UserError(
            f"the column {quote(name)} of {option} is empty in {counted(missing.sum(), 'row')}, the "
            f"first of them row {table.row(int(missing.argmax())):,}."
        )
    return column


def join_test(table: Table, X: Any, y: np.ndarray, test: tuple[Table, Any, np.ndarray]) -> tuple:
    """Return the rows to learn from with those to decide under them, and a mask of the latter."""
    import pandas as pd

    other, X_test, y_test = test
    absent = [c for c in X.columns if c not in X_test.columns]
    if absent:
        raise UserError(f"{other.name} of --test lacks the column {quote(absent[0])}.")
    for column in X.columns:
        ours, theirs = X[column].dtype, X_test[column].dtype
        if (ours.kind in "iufb") != (theirs.kind in "iufb") and not X_test[column].isna().all():
            number, text = (table, other) if ours.kind in "iufb" else (other, table)
            raise UserError(
                f"the column {quote(column)} holds numbers in {number.name}, but not in {text.name}."
            )
    if y.dtype.kind != y_test.dtype.kind:
        y, y_test = y.astype(str), y_test.astype(str)
    mask = np.repeat([False, True], [len(X), len(X_test)])
    if table.cost_tensor is not None and other.cost_tensor is not None:
        table.cost_tensor = np.concatenate([table.cost_tensor, other.cost_tensor])
    table.rows = np.array([t.row(i) for t in (table, other) for i in range(len(t.frame))])
    table.frame = pd.concat([table.frame, other.frame], ignore_index=True)
    X = pd.concat([X, X_test[list(X.columns)]], ignore_index=True)
    return X, np.concatenate([y, y_test]), mask
