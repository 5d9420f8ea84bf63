"""What a command may write: never over what it reads, nor over a file of another kind."""

import gzip
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Option

from stakes.cli._app import files_read
from stakes.cli._errors import UserError

Force = Annotated[bool, Option("--force", help="Replace an existing file, whatever it holds.")]
STANDARD = "-"  # standard input or output
LOOK = 1 << 18  # so much of a file tells its kind


def check_outputs(
    outputs: Iterable[tuple[Path, str]], *, force: bool = False, store: Path | None = None
) -> None:
    """Refuse what must not or cannot be written, before any work is done and anything is made.

    Parameters
    ----------
    outputs : iterable of (path, kind)
        What the command will write; kinds are those of `KINDS`.
    force : bool, default=False
        Whether existing files of another kind are replaced. What the command reads never is.
    store : Path, default=None
        The folder of finished fits.
    """
    read = {_identity(path): path for path in files_read()}
    written: dict[object, Path] = {}
    for path, kind in outputs:
        if str(path) == STANDARD:
            if not KINDS[kind].to_pipe:
                raise UserError("--out -: this is not written to standard output; name a file.")
            continue
        _check_place(path)
        who = _identity(path)
        advice = f"choose another name with {KINDS[kind].option}"
        if who in read:
            raise UserError(f"{path} is {_also(path, read[who])}: {advice}.")
        if who in written:
            raise UserError(f"{written[who]} and {path} would be one file: {advice}.")
        if store is not None and _holds(path, store):
            raise UserError(f"{path} cannot be a file and the folder of --store.")
        written[who] = path
        if not force and path.exists() and path.stat().st_size and not is_of_kind(path, kind):
            other = f" and is not {KINDS[kind].name}" if KINDS[kind].name else ""
            raise UserError(f"{path} exists{other}: {advice}, or say --force.")


def _also(path: Path, read: Path) -> str:
    return "what is read" if str(path) == str(read) else f"{read}, which is read"


def _identity(path: Path) -> object:
    """Return what two names of one file have in common."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    return status.st_dev, status.st_ino


def _holds(path: Path, store: Path) -> bool:
    real = Path(os.path.realpath(store))
    return Path(os.path.realpath(path)) in (real, *real.parents)


def _check_place(path: Path) -> None:
    """Refuse a place where no file can be written; nothing is left behind by finding out."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file to write.")
    folder = Path(os.path.abspath(path)).parent
    while not os.path.lexists(folder):
        folder = folder.parent
    try:
        with suppress(FileNotFoundError):
            os.stat(path)  # whether the system takes such a name
        with tempfile.TemporaryFile(dir=folder):
            pass
        why = "" if not path.exists() or os.access(path, os.W_OK) else "it is read-only"
    except OSError as error:
        why = str(error.strerror) if folder.is_dir() else f"{folder} is not a folder"
    if why:
        raise UserError(f"{path} cannot be written: {why}.")


# -- kinds of files ------------------------------------------------------------------------


def is_of_kind(path: Path, kind: str) -> bool:
    """Return whether a file is one that a command of this kind has written before."""
    try:
        return not path.is_file() or KINDS[kind].is_ours(path)
    except Exception:  # whatever it holds, it is none of ours
        return False


def _begin(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LOOK)


def _header(path: Path) -> list[str]:
    """Return the names of the columns of a table that a command has written."""
    begin = _begin(path)
    if begin.startswith((b"PAR1", b"ARROW1")):
        return _schema(path, "parquet" if begin.startswith(b"PAR1") else "arrow").names
    if begin.startswith(b"PK"):
        return _first_texts(path)
    if begin.startswith(b"\x1f\x8b"):
        with gzip.open(path) as file:
            begin = file.read(LOOK)
    line = begin.partition(b"\n")[0].decode("utf-8-sig").rstrip("\r")
    if line.startswith("{"):
        return list(json.loads(line))
    return [cell.strip('" ') for cell in line.replace(";", ",").replace("\t", ",").split(",")]


def _first_texts(path: Path) -> list[str]:
    """Return the texts of an xlsx file: in a list, in the order of cells, or in its first row."""
    with zipfile.ZipFile(path) as archive:
        listed = "xl/sharedStrings.xml"
        inside = listed if listed in archive.namelist() else "xl/worksheets/sheet1.xml"
        with archive.open(inside) as file:
            text = file.read(LOOK).decode("utf-8", "ignore").partition("</row>")[0]
    return [unescape(piece) for piece in re.findall("<t[^>]*>([^<]*)</t>", text)]


def _schema(path: Path, kind: str) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    if kind == "parquet":
        return parquet.read_schema(path)
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def _is_monitor(path: Path) -> bool:
    return b'<meta name="generator" content="stakes monitor">' in _begin(path)


def _is_page(path: Path) -> bool:
    begin = _begin(path)
    if b'content="stakes monitor"' in begin:
        return False
    return b"<!doctype html>" in begin[:1000] and (
        b'<meta name="generator" content="stakes' in begin or b">Skip to what if<" in begin
    )


def _is_decisions(path: Path) -> bool:
    """Tables of people have a column `decision`, too: ours has it after `row`, or before costs."""
    header = _header(path)
    at = header.index("decision")
    before, after = header[:at], "".join(header[at + 1 : at + 2])
    return before == ["row"] or after == "expected_cost" or after.startswith("proba ")


def _is_figures(path: Path) -> bool:
    content = json.loads(path.read_bytes())
    return isinstance(content, dict) and {"recommended", "methods"} <= content.keys()


def _is_model(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive, archive.open("schema.json") as file:
        return b"stakes-model-" in file.read(LOOK)


def _is_policy(path: Path) -> bool:
    content = json.loads(path.read_bytes())
    known = ("stakes-policy-", "stakes-decision-")
    return isinstance(content, dict) and str(content.get("format", "")).startswith(known)


def _is_source(path: Path) -> bool:
    return _begin(path).lstrip(b"#/* \n").startswith(b"Written by stakes")


def _is_example(path: Path) -> bool:
    from stakes.datasets import example_tables

    return path.read_bytes() == example_tables()[path.name].read_bytes()


def _begins(text: bytes) -> Callable[[Path], bool]:
    return lambda path: _begin(path).startswith(text)


def _has_columns(*names: str) -> Callable[[Path], bool]:
    return lambda path: {*names} <= set(_header(path))


class Kind(NamedTuple):
    """What a kind of output is called, how it is recognised, whether ``-`` is standard output.

    And which option names it. A kind without a name is never replaced unasked.
    """

    name: str
    is_ours: Callable[[Path], bool]
    to_pipe: bool = False
    option: str = "--out"


KINDS = {
    "page": Kind("a page of stakes compare", _is_page),
    "figures": Kind("JSON of stakes compare", _is_figures),
    "comparison": Kind("a table of stakes compare", _has_columns("method", "savings_constant")),
    "model": Kind("a model of stakes fit", _is_model),
    "decisions": Kind("a table of stakes predict", _is_decisions, to_pipe=True),
    "monitor": Kind("a page of stakes monitor", _is_monitor),
    "state": Kind(
        "a state of stakes monitor", _begins(b'{"format": "stakes-monitor-'), option="--state"
    ),
    "costs": Kind("", lambda path: False),  # filled in by hand
    "example": Kind("an example", _is_example, option="stakes examples FOLDER"),
    "graph": Kind("a graph of stakes export", lambda path: b"stakes-onnx-" in path.read_bytes()),
    "policy": Kind("a policy of stakes export", _is_policy),
    "query": Kind("a query of stakes export", _begins(b"-- Written by stakes")),
    "source": Kind("source code of stakes export", _is_source),
    "results": Kind("a table of stakes reproduce", _begins(b"paper,table,task,method,")),
    "tables": Kind("a page of stakes reproduce", _begins(b"# The published tables, run again")),
    "figure": Kind("a figure of stakes reproduce", _begins(b"\x89PNG")),
}
