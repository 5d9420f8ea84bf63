"""How much memory a table takes at least, before it is read, and how much there is."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# A number in memory, and the least that a text takes besides its letters.
CELL = 8
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class TableSize(NamedTuple):
    """The rows of a table, where they are known, its cells, and the bytes that it takes at least."""

    rows: int | None
    cells: int | None
    bytes: int


def table_size(path: str | os.PathLike) -> TableSize | None:
    """Return the size of a table in a file, by its name and its metadata; None: it is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from stakes.tables import table_size
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "three.parquet"
    >>> pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 0.5, 0.5]}).to_parquet(path)
    >>> table_size(path)
    TableSize(rows=3, cells=6, bytes=48)
    """
    if Path(path).suffix in (".csv", ".tsv", ".jsonl", ".ndjson"):
        return TableSize(None, None, os.path.getsize(path))
    with open(path, "rb") as file:
        if file.read(4) != b"PAR1":
            return None
    from pyarrow import ArrowInvalid, parquet

    try:
        metadata = parquet.read_metadata(path)
    except ArrowInvalid:
        return None  # whoever reads it says what is wrong with it
    cells = metadata.num_rows * metadata.num_columns
    return TableSize(metadata.num_rows, cells, cells * CELL)


def free_memory() -> int | None:
    """Return the bytes of memory that are free on this machine; None: it is not known."""
    free = None
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = 1024 * int(line.split()[1])
    if free is None:
        try:
            import psutil
        except ModuleNotFoundError:
            return None
        free = int(psutil.virtual_memory().available)
    for limit in LIMITS:  # of a container
        with suppress(OSError, ValueError):
            free = min(free, int(Path(limit).read_text()))
    return free
