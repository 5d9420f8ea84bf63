"""Reading what people have: a table of any kind, or a data set's name."""

import difflib
import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stakes.cli._app import Dialect, Source, command_line, command_name, split_names
from stakes.cli._errors import UserError
from stakes.cli._terminal import say
from stakes.utils._arrays import counted

MAX_CLASSES = 500
# Classes that are numbers with fractions: more of them are taken for a quantity.
MAX_FRACTIONS = 20
# How often a table is in memory at least: as it was read, and as numbers.
COPIES = 2
# The commands that take --dask.
ON_CLUSTER = ("compare", "fit", "predict")


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
    notes : list of str
        What to say about it.
    readings : dict of str to ColumnReading
        How each column was read.
    unreadable : dict of str to Unreadable
        Columns with cells that could not be read as they were in training.
    cells : DataFrame or None
        The cells as they are written, where they were asked for.
    rows : ndarray or None
        The number in the file of each row, from 1, the header not counted.
    """

    frame: Any
    name: str
    target: str | None = None
    cost_matrix: Any = None
    cost_tensor: Any = None
    image_shape: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list)
    readings: dict[str, Any] = field(default_factory=dict)
    unreadable: dict[str, Any] = field(default_factory=dict)
    cells: Any = None
    rows: Any = None

    def row(self, position: int) -> int:
        """Return the number of a row, from 1, as it stands in the file."""
        return position + 1 if self.rows is None else int(self.rows[position])


def read_table(
    data: str,
    dialect: Dialect,
    target: str | None = None,
    drop: list[str] | None = None,
    **more: Any,
) -> Table:
    """Read a file or standard input, or load the data set of that name; `more` as in `tables`."""
    from stakes import tables

    path = Path(data)
    if data != "-" and not path.exists():
        files = glob.glob(data)
        if files:
            raise UserError(
                f"{data} is a pattern of {counted(len(files), 'file')}{_on_cluster()}."
            )
        if path.suffix or os.sep in data:
            raise UserError(f"there is no file {data}{_near_file(path)}.")
        return _load(data)
    if path.is_file():
        _check_memory(path, dialect)
    how = {**vars(dialect), "na_values": split_names(dialect.na_values), **more}
    how |= {"limit": how.pop("max_cells"), "spare": [*(drop or ()), *(split_names(drop) or ())]}
    loaded = tables.read_table(data, target=target, **how)
    table = Table(loaded.frame, name="standard input" if data == "-" else path.name)
    table.notes, table.readings = loaded.notes, loaded.readings
    table.unreadable, table.cells = loaded.unreadable, loaded.cells
    return table


def _check_memory(path: Path, dialect: Dialect) -> None:
    """Refuse a table that will not fit in memory, before anything is read."""
    from stakes.tables import free_memory, table_size

    size, free = table_size(path), free_memory()
    if size is None:
        return
    if free is not None and COPIES * size.bytes > free:
        raise UserError(
            f"{path} will not fit in memory: its {_cells_or_bytes(size)} need "
            f"{COPIES * size.bytes / 1e9:,.1f} GB or more, as they are read and as numbers, and "
            f"{free / 1e9:,.1f} GB are free{_on_cluster()}."
        )
    if size.cells is not None and size.cells > dialect.max_cells:
        raise UserError(
            f"{path} has {size.cells:,} cells or more, and the limit is {dialect.max_cells:,}: use "
            f"fewer rows or columns, or raise it by --max-cells{_on_cluster()}."
        )


def _cells_or_bytes(size: Any) -> str:
    return f"{size.bytes / 1e9:,.1f} GB" if size.cells is None else f"{size.cells:,} cells"


def _on_cluster() -> str:
    """Return how to say the running command for a table of any size, where it can be said."""
    if command_name() not in ON_CLUSTER:
        return ""
    return f"; on workers with limited memory, or on a cluster, it is: {command_line('--dask')}"


def say_unreadable(table: Table, used: Iterable[Any], *, allow_missing: bool = False) -> int:
    """Say which cells of the columns in use were taken as missing, since they cannot be read.

    A column of which they are the most is refused unless `allow_missing`. Returns in how many
    columns there are some.
    """
    from stakes.tables import is_mostly

    used, n = set(map(str, used)), 0
    for name, bad in table.unreadable.items():
        if name in used:
            n += 1
            verb = "is" if bad.count == 1 else "are"
            n_read = int(table.frame[name].notna().sum())
            if is_mostly(bad.count, n_read + bad.count) and not allow_missing:
                raise UserError(
                    f"{counted(bad.count, 'cell')} of {n_read + bad.count:,} of {quote(name)} "
                    f"{verb} no {bad.kind} as in training, such as {quote(bad.example)} in row "
                    f"{bad.row:,}: the column is written otherwise. Mend it, or take these cells as "
                    "missing: --allow-missing."
                )
            say(
                f"ST207: Taken as missing: {counted(bad.count, 'cell')} of {quote(name)} that {verb} no "
                f"{bad.kind} as in training, such as {quote(bad.example)} in row {bad.row:,}."
            )
    return n


def say_differences(model: Any, frame: Any, known: Iterable[str]) -> int:
    """Say in what a table differs from the one of training; return how many warnings there are."""
    from stakes.tables import findings_said, heeded

    differences = heeded(model.differences(frame, known))
    # A column that lacks is refused when rows are decided.
    warned = [f for f in differences if f.warning and f.kind != "missing columns"]
    for said in findings_said(warned):
        say(f"Warning {said}")
    for said in findings_said([f for f in differences if not f.warning]):
        say(said)
    return len(warned)


def dropped(source: Source, table: Table) -> list[str]:
    """Return the columns to leave out: names, separated by commas unless a name has some."""
    columns: list[str] = []
    for text in source.drop or ():
        columns += [text] if text in table.frame.columns else split_names([text]) or []
    return columns


def split_target(table: Table, target: str | None, drop: Iterable[str] = ()) -> tuple[Any, Any]:
    """Return the other columns and the target, rows without a target left out."""
    frame, name = table.frame, target or table.target
    if name is None:
        raise UserError(
            f"say which column of {table.name} to predict: --target COLUMN "
            f"(the last one is {quote(frame.columns[-1])})."
        )
    for column in (name, *drop):
        check_column(table, column)
    missing = frame[name].isna().to_numpy()
    if missing.all():
        raise UserError(f"the target {quote(name)} is empty in every row.")
    if missing.any():
        table.notes.append(f"Left out: {counted(missing.sum(), 'row')} without a target.")
        table.rows = np.flatnonzero(~missing) + 1
        table.frame = frame = frame[~missing].reset_index(drop=True)
        if table.cost_tensor is not None:
            table.cost_tensor = table.cost_tensor[~missing]
    table.target = name
    X = frame.drop(columns=[name, *drop])
    if X.shape[1] == 0:
        raise UserError(f"{table.name} has no column besides the target.")
    return X, class_values(frame[name], name)


def class_values(y: Any, name: str) -> np.ndarray:
    """Return the values of a target as classes; refuse what looks like anything else."""
    values = y.to_numpy()
    if y.dtype.kind == "i" or (y.dtype.kind == "f" and (y == y.round()).all()):
        values = y.to_numpy(dtype=np.int64)
    elif values.dtype.kind not in "iub":
        values = np.array([str(v) for v in values.tolist()])
        _refuse_quantity(np.unique(values), name)
    classes = np.unique(values)
    if len(classes) > MAX_CLASSES:
        raise UserError(
            f"the target {quote(name)} has {len(classes):,} different values: it looks like a "
            "quantity or an identifier, not a class."
        )
    if len(classes) < 2:
        raise UserError(f"the target {quote(name)} has only one class, {quote(classes[0])}.")
    return values


def _refuse_quantity(labels: np.ndarray, name: str) -> None:
    """Refuse many numbers with fractions as classes."""
    try:
        numbers = labels.astype(float)
    except ValueError:
        return
    if len(labels) > MAX_FRACTIONS and (numbers != np.round(numbers)).any():
        raise UserError(
            f"the target {quote(name)} holds {len(labels):,} different numbers with fractions: it "
            "looks like a quantity, so cut it into classes first."
        )


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
    from stakes.tables import readings_of

    data = find_dataset(name, "file and no data set")
    target = data.target_name or "target"
    while target in data.X.columns:
        target += "_"
    frame = data.X.assign(**{target: data.y})
    shape = (8, 8) if data.X.shape[1] == 64 and name in ("cheques", "digits") else None
    table = Table(frame, name, target, data.cost_matrix, data.cost_tensor, shape)
    table.readings = readings_of(data.X)
    return table


# -- words ---------------------------------------------------------------------------------


def quote(value: Any) -> str:
    """Return a value for a message: quoted, on one line, cut."""
    text = " ".join(str(value).split())
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _did_you_mean(name: str, known: Iterable[str], n: int = 3) -> str:
    near = difflib.get_close_matches(name, list(known), n=n)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def check_column(table: Table, column: str) -> None:
    if column not in table.frame.columns:
        columns = [str(c) for c in table.frame.columns]
        shown = f"; it has {', '.join(columns[:8])}{', …' if len(columns) > 8 else ''}"
        hint = _did_you_mean(quote(column), map(quote, columns)) or shown
        raise UserError(f"{table.name} has no column {quote(column)}{hint}.")


def _near_file(path: Path) -> str:
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    return _did_you_mean(str(path), [str(path.parent / name) for name in names], n=1)
