"""Reading what people have: CSV in its many dialects, Parquet, or a data set's name."""

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stakes.cli._app import Dialect
from stakes.cli._errors import UserError
from stakes.utils._arrays import counted
from stakes.utils._csv import read_csv

MAX_CLASSES = 500
ENCODING_ADVICE = "save it as UTF-8, or if it is Latin-1, say --encoding latin-1"


@dataclass
class Table:
    """A table as it was read, and what is known about it besides.

    Parameters
    ----------
    frame : DataFrame
        The columns, target included.
    name : str
        What to call it.
    target : str or None
        The target, where it is known.
    cost_matrix, cost_tensor : object
        The prices that belong to a data set, where it has some.
    image_shape : tuple or None
        Where the rows are images.
    """

    frame: Any
    name: str
    target: str | None = None
    cost_matrix: Any = None
    cost_tensor: Any = None
    image_shape: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list)


def read_table(data: str, dialect: Dialect) -> Table:
    """Read a file, or load the data set of that name."""
    path = Path(data)
    if path.exists():
        return Table(_read_file(path, dialect), name=path.name)
    if path.suffix or os.sep in data:
        raise UserError(f"there is no file {data}{_near_file(path)}.")
    return _load(data)


def split_target(table: Table, target: str | None, drop: Iterable[str] = ()) -> tuple[Any, Any]:
    """Return the other columns and the target, rows without a target left out."""
    frame, name = table.frame, target or table.target
    if name is None:
        raise UserError(
            f"say which column of {table.name} to predict: --target COLUMN "
            f"(the last one is {quote(frame.columns[-1])})."
        )
    for column in (name, *drop):
        _check_column(table, column)
    missing = frame[name].isna().to_numpy()
    if missing.all():
        raise UserError(f"the target {quote(name)} is empty in every row.")
    if missing.any():
        table.notes.append(f"Left out: {counted(missing.sum(), 'row')} without a target.")
        table.frame = frame = frame[~missing].reset_index(drop=True)
        if table.cost_tensor is not None:
            table.cost_tensor = table.cost_tensor[~missing]
    table.target = name
    X = frame.drop(columns=[name, *drop])
    if X.shape[1] == 0:
        raise UserError(f"{table.name} has no column besides the target.")
    return X, _labels(frame[name], name)


def _labels(y: Any, name: str) -> np.ndarray:
    if str(y.dtype) == "category":
        y = y.astype(str)
    values = y.to_numpy()
    if values.dtype.kind == "f":
        if not np.isfinite(values.astype(float)).all() or (values != np.round(values)).any():
            raise UserError(
                f"the target {quote(name)} holds {len(np.unique(values)):,} different numbers with "
                "fractions: it looks like a quantity, so cut it into classes first."
            )
        values = values.astype(np.int64)
    elif values.dtype.kind not in "iub":
        values = np.array([str(v) for v in values.tolist()])
    classes = np.unique(values)
    if len(classes) > MAX_CLASSES:
        raise UserError(
            f"the target {quote(name)} has {len(classes):,} different values: it looks like a "
            "quantity or an identifier, not a class."
        )
    if len(classes) < 2:
        raise UserError(f"the target {quote(name)} has only one class, {quote(classes[0])}.")
    return values


# -- files ---------------------------------------------------------------------------------


def _read_file(path: Path, dialect: Dialect) -> Any:
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a table.")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty.")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        frame = _read_parquet(path)
    else:
        frame = read_csv(path, **vars(dialect), advice=ENCODING_ADVICE)
    if frame.shape[1] < 2:
        raise UserError(
            f"{path} has a single column, {quote(frame.columns[0])}: a table needs the target and "
            "at least one more (is it separated otherwise? --separator)."
        )
    if len(frame) == 0:
        raise UserError(f"{path} has a header but no rows.")
    frame.columns = [str(c).strip() for c in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise UserError(f"{path} has two columns called {quote(twice[0])}.")
    return frame


def _read_parquet(path: Path) -> Any:
    import pandas as pd

    from stakes.utils._optional import import_optional

    import_optional("pyarrow", extra="cli", purpose="A Parquet file")
    try:
        return pd.read_parquet(path)
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is no whole Parquet file: {text[:160].rstrip('.')}.") from None


# -- data sets -----------------------------------------------------------------------------


def find_dataset(name: str, what: str) -> Any:
    """Load a data set; `what` is what else the name could have been, for the message."""
    from stakes.datasets import list_datasets, load_dataset

    names = [str(known) for known in list_datasets().index]
    if name not in names:
        hint = _did_you_mean(name, names) or "; 'stakes datasets' lists the data sets"
        raise UserError(f"there is no {what} called {name}{hint}.")
    return load_dataset(name)


def _load(name: str) -> Table:
    data = find_dataset(name, "file and no data set")
    target = data.target_name or "target"
    while target in data.X.columns:
        target += "_"
    frame = data.X.assign(**{target: data.y})
    shape = (8, 8) if data.X.shape[1] == 64 and name in ("cheques", "digits") else None
    return Table(frame, name, target, data.cost_matrix, data.cost_tensor, shape)


# -- words ---------------------------------------------------------------------------------


def quote(value: Any) -> str:
    """Return a value for a message: quoted, on one line, cut."""
    text = " ".join(str(value).split())
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _did_you_mean(name: str, known: Iterable[str], n: int = 3) -> str:
    near = difflib.get_close_matches(name, list(known), n=n)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def _check_column(table: Table, column: str) -> None:
    if column not in table.frame.columns:
        columns = [str(c) for c in table.frame.columns]
        shown = f"; it has {', '.join(columns[:8])}{', …' if len(columns) > 8 else ''}"
        hint = _did_you_mean(quote(column), map(quote, columns)) or shown
        raise UserError(f"{table.name} has no column {quote(column)}{hint}.")


def _near_file(path: Path) -> str:
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    return _did_you_mean(str(path), [str(path.parent / name) for name in names], n=1)
