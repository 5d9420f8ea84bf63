"""compare, fit and predict where the rows lie on a Dask cluster (--dask)."""

import glob
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
from typer import Option

from stakes.cli._app import Dialect, PriceOptions, ProtocolOptions, Source, Text, split_names
from stakes.cli._errors import UserError
from stakes.cli._tables import (
    MAX_CLASSES,
    Table,
    check_column,
    class_values,
    dropped,
    quote,
    say_differences,
)
from stakes.cli._terminal import say
from stakes.utils._arrays import counted

LOCAL = "local"
_ADDRESS = re.compile(r"[a-z]+://.+|[\w.-]+:\d+")
# The share of the free memory that the workers of this machine have together.
SHARE = 0.8
# Rows that show what the columns hold.
LOOKED_AT = 100_000

Dask = Annotated[
    Text,
    Option(
        metavar="[ADDRESS]",
        help="Work on a Dask cluster, DATA being Parquet files such as 'data/*.parquet'; without "
        "the address of its scheduler, by workers on this machine with limited memory.",
    ),
]


def with_local(arguments: list[str]) -> list[str]:
    """Return the arguments, `--dask` without an address being the cluster of this machine.

    Examples
    --------
    >>> from stakes.cli._dask import with_local
    >>> with_local(["compare", "--dask", "data/*.parquet"])
    ['compare', '--dask=local', 'data/*.parquet']
    >>> with_local(["compare", "--dask", "tcp://head:8786"])
    ['compare', '--dask', 'tcp://head:8786']
    """
    following = [*arguments[1:], ""]
    return [
        f"--dask={LOCAL}" if one == "--dask" and not _ADDRESS.fullmatch(after) else one
        for one, after in zip(arguments, following)
    ]


@dataclass
class Workers:
    """A client of a cluster, and what it is in words."""

    client: Any
    words: str


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """Use the cluster at an address, or start one on this machine."""
    from stakes.cluster.partitions import need_dask

    need_dask("--dask")
    import distributed

    if address != LOCAL:
        try:
            client = distributed.Client(address, timeout="5s")
        except (OSError, ValueError) as error:
            raise UserError(
                f"no Dask scheduler answers at {address}: start one, or leave the address out for "
                "workers on this machine."
            ) from error
        with client:
            n = len(client.nthreads())
            if not n:
                raise UserError(f"the Dask scheduler at {address} has no workers: start some.")
            yield Workers(client, f"{counted(n, 'worker')} of {address}")
        return
    from stakes.tables import free_memory

    n, free = joblib.cpu_count(), free_memory()
    limit = SHARE * free / n if free else 0.0
    with (
        distributed.LocalCluster(
            n_workers=n,
            threads_per_worker=1,
            memory_limit=int(limit) if limit else "auto",
            dashboard_address=":0",
            silence_logs="ERROR",
        ) as started,
        distributed.Client(started) as client,
    ):
        words = f"{counted(n, 'worker')} on this machine"
        words += f", {limit / 1e9:.1f} GB of memory each" if limit else ""
        yield Workers(client, words)


# -- the files ---------------------------------------------------------------------------------


def find_files(data: str | None) -> list[str]:
    """Return the Parquet files that a pattern, a folder or a name stands for."""
    if not data:
        raise UserError("--dask needs DATA: Parquet files such as 'data/*.parquet'.")
    if "://" in data:
        return [data]
    if os.path.isdir(data):
        data = os.path.join(data, "*.parquet")
    matches = sorted(glob.glob(data)) if glob.has_magic(data) else [data]
    files = [os.path.abspath(name) for name in matches if os.path.isfile(name)]
    if not files:
        raise UserError(f"there is no file {data}.")
    for name in files:
        with open(name, "rb") as file:
            if file.read(4) != b"PAR1":
                raise UserError(
                    f"{name} is no Parquet file: --dask reads Parquet alone, of which workers "
                    "read their parts."
                )
    return files


def _open(files: list[str]) -> Any:
    import dask.dataframe as dd

    frame = dd.read_parquet(files if "://" not in files[0] else files[0])
    twice = sorted({str(c) for c in frame.columns if list(frame.columns).count(c) > 1})
    if twice:
        raise UserError(f"two columns are called {quote(twice[0])}.")
    return frame


def _sample(client: Any, parts: list, sizes: np.ndarray) -> Any:
    """Return some rows of all partitions."""
    import pandas as pd

    from stakes.cluster.partitions import ask_each

    step = max(1, -(-int(sizes.sum()) // LOOKED_AT))
    firsts = -(np.cumsum(sizes) - sizes) % step
    picked = ask_each(client, partial(_every, step=step), parts, firsts.tolist())
    return pd.concat(picked, ignore_index=True)


def _every(frame: Any, first: int, step: int) -> Any:
    return frame.iloc[first::step]


# -- learning ------------------------------------------------------------------------------------


@dataclass
class Spread:
    """Rows on a cluster and their prices, looked at: `compare` and `fit` take them."""

    X: list
    y: list
    costs: dict[str, Any]
    table: Table  # a sample
    recipe: dict[str, Any]
    check: Any
    n_rows: int
    classes: list
    protocol: dict[str, Any] = field(default_factory=dict)

    @property
    def decisions(self) -> list:
        """What can be decided: the classes, unless the prices name something else."""
        from stakes.cli._prices import decisions_of

        return decisions_of(self.costs, self.classes)

    def learned(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return the rows, their classes and costs to fit a model on."""
        return self.X, self.y, self.costs


@dataclass(frozen=True)
class PartReader:
    """How a partition of the files becomes examples with classes and prices."""

    target: str
    labels: dict  # what is written, and the class
    readings: dict
    columns: list
    tensor: dict | None  # the recipe of prices known when deciding
    decisions: list[str] | None  # --cost, the prices of decisions in hindsight
    name: str

    def __call__(self, number: int, frame: Any) -> dict[str, Any]:
        from stakes.cli._prices import costs_of_decisions, recipe_tensor
        from stakes.tables import apply_readings

        y = frame[self.target].map(self.labels)
        known = y.notna().to_numpy()
        frame, y = frame[known], y[known]
        classes = np.array(list(self.labels.values()))
        examples = {"y": y.to_numpy().astype(classes.dtype)}
        frame = apply_readings(frame.drop(columns=self.target), self.readings)[0]
        table = Table(frame, f"part {number + 1} of {self.name}")
        if self.tensor is not None:
            examples["cost_tensor"] = recipe_tensor(self.tensor, table)
        if self.decisions is not None:
            names = [str(c) for c in np.unique(classes).tolist()]
            examples["costs"] = costs_of_decisions(self.decisions, names, table)
        return {**examples, "X": frame[self.columns]}


def check_spread(source: Source, protocol: ProtocolOptions) -> list[str]:
    """Return the files to read; refuse what does not go with a cluster before there is one."""
    for name, value in vars(protocol).items():
        if value is not None:
            raise UserError(f"--{name} does not go with --dask.")
    return find_files(source.data)


def load_spread(
    client: Any,
    files: list[str],
    source: Source,
    options: PriceOptions,
    dialect: Dialect,
    *,
    strict: bool = False,
) -> Spread:
    """Look at the files, find the classes, the prices, what to learn from, and what is odd."""
    from dask import delayed

    from stakes.cli._check import say_warnings
    from stakes.cli._prices import find_prices
    from stakes.cluster.partitions import row_parts
    from stakes.tables import ColumnReading, apply_readings, check_table, readings_of

    frame = _open(files)
    name = source.data or ""
    empty = Table(frame._meta, name)
    target = source.target
    if target is None:
        raise UserError(
            f"say which column of {name} to predict: --target COLUMN "
            f"(the last one is {quote(frame.columns[-1])})."
        )
    drop = dropped(source, empty)
    for column in (target, *drop):
        check_column(empty, column)
    frame = frame.drop(columns=drop)
    parts, targets = row_parts(frame, name), row_parts(frame[[target]], name)
    labels, sizes, missing = _find_classes(client, targets, target, dialect)
    sample = _sample(client, parts, sizes)
    y = sample[target].map(labels)
    sample = sample[y.notna()].drop(columns=target).reset_index(drop=True)
    y = y[y.notna()].to_numpy()
    readings = readings_of(sample)
    table = Table(apply_readings(sample, readings)[0], name, target, readings=readings)
    classes = np.unique(np.array(list(labels.values())))
    kind = "number" if classes.dtype.kind == "i" else "category"
    table.readings = {**readings, target: ColumnReading(target, kind)}
    prices = find_prices(options, table, y, name, classes=classes)
    used = [c for c in table.frame.columns if c not in prices.columns]
    if missing:
        table.notes.append(f"Left out: {counted(missing, 'row')} without a target.")
    if prices.columns:
        named = ", ".join(f"{quote(column)} ({why})" for column, why in prices.columns.items())
        table.notes.append(f"Not learned from: {named}.")
    if not used:
        raise UserError("no column is left to learn from: the others hold the target and prices.")
    table.notes.append(f"Looked at: {counted(len(sample), 'row')} of {int(sizes.sum()):,}.")
    for note in table.notes:
        say(note)
    tensor = prices.given.get("cost_tensor")
    check = check_table(table.frame[used], y, readings, folds=2, cost_tensor=tensor)
    say_warnings(check, strict=strict)
    by_row = {"cost_tensor", "costs"} & prices.given.keys()
    reader = PartReader(
        target,
        labels,
        readings,
        used,
        prices.recipe if "cost_tensor" in by_row else None,
        options.cost if "costs" in by_row else None,
        name,
    )
    read = delayed(reader, pure=True)
    rows = [read(number, part) for number, part in enumerate(parts)]
    costs = dict(prices.given) | {key: [row[key] for row in rows] for key in by_row}
    X, y = ([row[key] for row in rows] for key in ("X", "y"))
    n_rows = int(sizes.sum()) - missing
    return Spread(X, y, costs, table, prices.recipe, check, n_rows, classes.tolist())


def _find_classes(client: Any, parts: list, target: str, dialect: Dialect) -> tuple:
    """Return the class of each value of the target, the rows of partitions, and those without."""
    import pandas as pd

    from stakes.cluster.partitions import ask_each
    from stakes.tables import read_classes

    counted_parts = ask_each(client, partial(_count_values, target), parts)
    sizes = np.array([size for size, _ in counted_parts])
    if not sizes.sum():
        raise UserError("the files hold no rows.")
    known = pd.concat([values for _, values in counted_parts])
    known = known.groupby(level=0, sort=False).sum()
    if len(known) > MAX_CLASSES:
        raise UserError(
            f"the target {quote(target)} has more than {MAX_CLASSES} different values: it looks "
            "like a quantity or an identifier, not a class."
        )
    values = pd.Series(known.index)
    read = read_classes(values, tuple(split_names(dialect.na_values) or ()))
    there = read.notna().to_numpy()
    if not there.any():
        raise UserError(f"the target {quote(target)} is empty in every row.")
    classes = class_values(read[there], target)
    labels = dict(zip(values[there].tolist(), classes.tolist()))
    return labels, sizes, int(sizes.sum() - known.to_numpy()[there].sum())


def _count_values(target: str, part: Any) -> tuple[int, Any]:
    column = part[target]
    return len(column), column.value_counts(sort=False).iloc[: MAX_CLASSES + 1]


# -- deciding ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartDecider:
    """Decides a partition and writes its file; returns what there is to say."""

    readings: dict | None
    folder: str
    name: str
    with_data: bool
    proba: bool
    abstain_cost: float | None

    def __call__(self, number: int, frame: Any, model: Any, first: int) -> dict[str, Any]:
        import pandas as pd

        from stakes.cli._models import known_prices
        from stakes.tables import apply_readings, write_table

        if not len(frame):
            return {"rows": 0}
        read, bad = apply_readings(frame.reset_index(drop=True), self.readings or {})
        table = Table(read, f"part {number + 1} of {self.name}")
        tensor = known_prices(model, table)
        how = {"abstain_cost": self.abstain_cost, "proba": self.proba}
        decided = model.decide(read, cost_tensor=tensor, **how)
        if self.with_data:
            decided = pd.concat([frame.reset_index(drop=True), decided], axis=1)
        else:
            decided.insert(0, "row", range(first + 1, first + len(decided) + 1))
        path = Path(self.folder, f"part.{number:06d}.parquet")
        write_table(decided, path)
        expected = decided["expected_cost"].sum() if "expected_cost" in decided else None
        return {
            "rows": len(decided),
            "expected": expected,
            "unreadable": {column: (b.count, b.kind, str(b.example)) for column, b in bad.items()},
        }


def check_by_row(capacity: Any, adapt: bool) -> None:
    """Refuse what looks at all rows together."""
    for option, value in (("--capacity", capacity), ("--adapt", adapt)):
        if value:
            raise UserError(f"{option} does not go with --dask: it looks at all rows together.")


def predict_spread(
    address: str, decider: Any, data: str, out: Path, *, strict: bool, **how: Any
) -> None:
    """Decide every row of Parquet files where they lie; write a folder of Parquet files."""
    from dask import delayed

    from stakes.cli._models import model_readings
    from stakes.cluster.partitions import ask_each, row_parts
    from stakes.tables import apply_readings
    from stakes.utils._files import new_folder

    files = find_files(data)
    check_folder(out, files)
    if decider.policy.capacity:
        raise UserError("the model has limits of decisions, which need all rows together.")
    known = model_readings(decider)
    with cluster(address) as workers, new_folder(out) as folder:
        client = workers.client
        frame = _open(files)
        parts = row_parts(frame, data)
        sizes = np.array(ask_each(client, len, parts))
        if not sizes.sum():
            raise UserError(f"{data} holds no rows.")
        sample = _sample(client, parts, sizes)
        sample = apply_readings(sample, known or {})[0]
        prices = decider.info.get("prices", {}).get("columns", ())
        if how["with_data"] and "decision" in sample:
            raise UserError(f"--with-data: {data} has itself a column 'decision'.")
        n_warnings = say_differences(decider, sample, [*(known or ()), *prices])
        if strict and n_warnings:
            raise UserError(f"--strict: {data} differs from training, in {n_warnings} ways.")
        model_there = delayed(decider, pure=False, traverse=False)
        decide = PartDecider(known, str(folder), data, **how)
        firsts = (np.cumsum(sizes) - sizes).tolist()
        told = ask_each(client, decide, range(len(parts)), parts, repeat(model_there), firsts)
        done = [part for part in told if part["rows"]]
    unreadable: dict[str, list] = {}
    for part in done:
        for column, cells in part["unreadable"].items():
            unreadable.setdefault(column, []).append(cells)
    for column, cells in unreadable.items():
        n, (_, kind, example) = sum(one[0] for one in cells), cells[0]
        say(
            f"Taken as missing: {counted(n, 'cell')} of {quote(column)} that cannot be read as a "
            f"{kind}, as in training, such as {quote(example)}."
        )
    n_rows = sum(part["rows"] for part in done)
    summary = (
        f"{counted(n_rows, 'row')} of {counted(len(files), 'file')} decided by {decider.method}"
    )
    if done[0]["expected"] is not None:
        total = math.fsum(part["expected"] for part in done)
        summary += f"; expected cost in sum {total:,.6g}"
    say(f"{summary}; on {workers.words}.")


def _is_of_decisions(path: Path) -> bool:
    """Say whether a file is a part of decisions, by its name and what it holds."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    if not re.fullmatch(r"part\.\d{6}\.parquet", path.name):
        return False
    try:
        return "decision" in read_schema(path).names
    except (OSError, ArrowException):
        return False


def check_folder(out: Path, files: list[str]) -> None:
    """Refuse a folder of output that would touch what is read, or holds anything else."""
    place = Path(os.path.realpath(out))
    inside = [name for name in files if place in Path(os.path.realpath(name)).parents]
    if inside:
        raise UserError(f"{out} holds {inside[0]}, which is read: name another folder with --out.")
    if out.suffix in (".csv", ".parquet", ".xlsx") and not out.is_dir():
        raise UserError(f"--out {out}: with --dask decisions are a folder of Parquet files.")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: with --dask decisions are written to a folder.")
    if out.is_dir():
        strange = [n for n in os.listdir(out) if not _is_of_decisions(out / n)]
        if strange:
            raise UserError(
                f"{out} holds {quote(strange[0])}, which stakes predict has not written: name "
                "another folder with --out."
            )
