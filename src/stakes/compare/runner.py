"""Runs: kept in a folder, each file whole or absent, and run once each on any number of workers."""

import functools
import hashlib
import json
import math
import os
import platform
import re
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import stakes
from stakes.utils._arrays import counted
from stakes.utils._checks import warn
from stakes.utils._files import StoreError, StoreWarning, is_part, write_atomically
from stakes.utils._workers import Attached

# -- what is kept --------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Run:
    """One fit of one method on one fold of one task.

    Parameters
    ----------
    task : str
        The data and its costs; for a user's own data, their fingerprint.
    protocol : str
        How the examples are split, such as ``"cv5"``.
    fold : int
        Which split.
    method : str
        The method's name.
    seed : int, default=0
        The seed of the method. Splits and cost matrices depend on (task, fold) alone, so
        every method meets the same ones.

    Examples
    --------
    >>> from stakes.compare.runner import Run
    >>> print(Run("german_credit", "cv5", 0, "mec").path)
    german_credit/cv5/mec/fold0-seed0
    """

    task: str
    protocol: str
    fold: int
    method: str
    seed: int = 0

    @property
    def path(self) -> Path:
        """The run's place in a store, without the file's ending."""
        folders = Path(_slug(self.task), _slug(self.protocol), _slug(self.method))
        return folders / f"fold{self.fold}-seed{self.seed}"


@dataclass
class Predictions:
    """What a run leaves behind: arrays, seconds, and whatever else is worth keeping.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Such as ``decisions`` (positions in the classes), ``proba`` and ``test`` (the rows).
    seconds : dict of str to float
        Such as ``fit`` and ``predict``.
    info : dict
        Anything that JSON can hold.
    """

    arrays: dict[str, np.ndarray]
    seconds: dict[str, float] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)


class RunStore:
    """A folder of runs that a killed process leaves in good order.

    Every file is written beside its place and renamed into it, so it is whole or absent, and
    carries a checksum and the run that it belongs to. A run's predictions come before its row:
    where the row is missing, it is scored anew without another fit. A failure is a row with
    its reason, and the run is tried again. What was damaged since counts as missing, and is
    removed.

    Parameters
    ----------
    folder : path-like
        Made where it is missing, with a mark in it. A folder of anything else is refused.
    fresh : bool, default=False
        Whether finished runs of the same data are removed when work begins. Those of other data,
        and other files, stay.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from stakes.compare.runner import Predictions, Run, RunStore
    >>> store, run = RunStore(tempfile.mkdtemp()), Run("toy", "cv5", 0, "mec")
    >>> store.state(run)
    'missing'
    >>> store.save_predictions(run, Predictions({"decisions": np.array([0, 1])}))
    >>> store.state(run)
    'predicted'
    >>> store.save_row(run, {"status": "ok", "cost": 2.5})
    >>> store.state(run), store.load_row(run)["cost"]
    ('ok', 2.5)
    """

    def __init__(self, folder: str | os.PathLike, *, fresh: bool = False):
        self.folder = Path(folder)
        self.fresh = fresh
        self.damaged: list[Path] = []  # found so, and removed
        self._whole: set[Run] = set()  # whose predictions were found as they were written

    def check(self) -> None:
        """Refuse a folder that is no store; nothing is written."""
        if (self.folder / MARK).is_file():
            return
        why_not = _stranger(self.folder)
        if why_not:
            raise StoreError(
                f"{self.folder} is no folder of finished fits: {why_not}; name a new or an empty one."
            )

    def open(self, tasks: Iterable[str] = ()) -> None:
        """Make the folder ready for work on these tasks, or refuse it."""
        self.check()
        mark = self.folder / MARK
        if not mark.is_file():
            if any(path.suffix == ".npz" for path, _ in _walk(self.folder)) and not self.fresh:
                warn(
                    "ST601",
                    f"{self.folder} was made by an earlier version: its fits are made again.",
                    StoreWarning,
                    stacklevel=2,
                )
            write_atomically(mark, MARK_TEXT)
        if self.fresh:
            for task in tasks:
                self.clear(task)
            self.fresh = False

    def clear(self, task: str | None = None) -> None:
        """Remove the files of runs (of one task), and the folders that held them alone."""
        self.check()
        self._whole.clear()
        for file in [path for path, own in _walk(self.folder, _slug(task) if task else "") if own]:
            file.unlink(missing_ok=True)
            for folder in list(file.relative_to(self.folder).parents)[:-1]:
                with suppress(OSError):  # it still holds something
                    (self.folder / folder).rmdir()

    def state(self, run: Run) -> str:
        """Return ``"ok"``, ``"failed"``, ``"predicted"`` (not yet scored) or ``"missing"``."""
        row = self.load_row(run)
        if row is not None and row.get("status") != "ok":
            return "failed"
        if not self.has_predictions(run):
            return "missing"
        return "predicted" if row is None else "ok"

    def save_predictions(self, run: Run, predictions: Predictions) -> None:
        """Keep what the run predicted, whole or not at all."""
        sync = sum(predictions.seconds.values()) >= WORTH_A_SYNC
        write_atomically(self._file(run, ARRAYS), _pack(run, predictions), sync=sync)

    def load_predictions(self, run: Run) -> Predictions | None:
        """Return what the run predicted, or None where it is not there or not whole."""
        return self._load(run, ARRAYS, functools.partial(_unpack, run, known=run in self._whole))

    def read_predictions(self, run: Run) -> Predictions:
        """Return what a finished run predicted; refused where another process took it away."""
        predictions = self.load_predictions(run)
        if predictions is None:
            file = self._file(run, ARRAYS)
            raise StoreError(f"{file} was damaged or removed just now: give the command again.")
        return predictions

    def has_predictions(self, run: Run) -> bool:
        """Return whether what the run predicted is there, and whole."""
        if run not in self._whole and self._load(run, ARRAYS, functools.partial(_is_whole, run)):
            self._whole.add(run)
        return run in self._whole

    def save_row(self, run: Run, row: dict) -> None:
        """Keep the run's row: its identity, then what `row` says, unrounded."""
        text = json.dumps(
            {**asdict(run), **row},
            default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v),
        )
        write_atomically(self._file(run, ROW), _signed(text), sync=False)  # scored again if lost

    def load_row(self, run: Run) -> dict | None:
        """Return the run's row, or None where it is not there or not whole."""
        return self._load(run, ROW, lambda file: _own(run, _unsigned(file.read())))

    def rows(self, task: str | None = None) -> Iterator[dict]:
        """Yield every stored row (of one task), in the order of their paths."""
        files = _walk(self.folder, _slug(task) if task else "")
        for file in sorted(path for path, own in files if own and path.suffix == ROW):
            with suppress(FileNotFoundError, ValueError):
                row = _unsigned(file.read_bytes())
                if file == self._file(_run_of(row), ROW):
                    yield row

    def _file(self, run: Run, ending: str) -> Path:
        return self.folder / f"{run.path}{ending}"

    def _load(self, run: Run, ending: str, read: Callable[[Any], Any]) -> Any:
        file = self._file(run, ending)
        try:
            with open(file, "rb") as opened:
                return read(opened)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError:
            self.damaged.append(file)
            self._whole.discard(run)
            with suppress(OSError):  # where nothing can be removed, writing it again will say so
                file.unlink()
            return None
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror or error}.") from error


# A sync takes some milliseconds. What is fitted as fast is made again if the power fails.
WORTH_A_SYNC = 0.1  # seconds
MARK = ".stakes-store"
MARK_TEXT = (
    "Finished fits of stakes are kept here. They may be deleted: they are then made again.\n"
)
ROW, ARRAYS = ".json", ".run"
_RUN = re.compile(r"fold\d+-seed-?\d+\.(json|run|npz)")  # .npz: of earlier versions


def _walk(folder: Path, task: str = "") -> Iterator[tuple[Path, bool]]:
    """Yield what a folder holds, and whether it is the file of a run: task, protocol, method, file.

    Links are not followed: they are nothing that a store makes.
    """
    for place, folders, files in os.walk(folder / task):
        depth = len(Path(place).relative_to(folder).parts)
        inner = [] if depth == 3 else [f for f in folders if not Path(place, f).is_symlink()]
        for name in {*files, *folders}.difference(inner):
            path = Path(place, name)
            own = depth == 3 and name in files and not path.is_symlink()
            yield path, own and _RUN.fullmatch(name) is not None
        folders[:] = inner


def _stranger(folder: Path) -> str:
    """Return what is wrong with a folder that is to hold runs alone, or ""."""
    if not folder.is_dir():
        return "it is not a folder" if folder.exists() or folder.is_symlink() else ""
    for path, own in _walk(folder):
        if not own and not is_part(path.name):
            return f"it holds {path.name}"
    return ""


@functools.lru_cache(maxsize=1024)
def _slug(name: str) -> str:
    """Return a file name for any text: itself where it is tame, else shortened with a hash."""
    tame = re.sub(r"[^A-Za-z0-9_.=+-]+", "-", name).strip(".-")[:60]
    if name and tame == name:
        return name
    return f"{tame}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


# -- whole or damaged ----------------------------------------------------------------------


class Damaged(ValueError):
    """A file is not as it was written."""


_SIGNED = b', "checksum": "%08x"}'


def _signed(text: str) -> bytes:
    """Return the JSON of an object with a checksum of all of it as its last entry."""
    body = text[:-1].encode()
    return body + _SIGNED % zlib.crc32(body)


def _unsigned(data: bytes) -> dict:
    body = data[: -len(_SIGNED % 0)]
    if not data.endswith(_SIGNED % zlib.crc32(body)):
        raise Damaged
    return json.loads(body + b"}")


def _own(run: Run, row: dict) -> dict:
    """Return what was found where it belongs to the run: files may have changed places."""
    if any(row.get(name) != value for name, value in vars(run).items()):
        raise Damaged
    return row


def _run_of(row: dict) -> Run:
    return Run(*(row[field.name] for field in fields(Run)))


def _pack(run: Run, predictions: Predictions) -> bytes:
    """Return a line of JSON, the arrays one after the other, and their checksum."""
    arrays = {name: np.asarray(array, order="C") for name, array in predictions.arrays.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"The array {name!r} holds objects: keep numbers or text.")
    head = {
        **asdict(run),
        "seconds": predictions.seconds,
        "info": predictions.info,
        "arrays": [(name, array.dtype.str, array.shape) for name, array in arrays.items()],
    }
    parts = [_bytes_of(array) for array in arrays.values()]
    total = functools.reduce(lambda sum_, part: zlib.crc32(part, sum_), parts, 0)
    return b"".join([_signed(json.dumps(head)), b"\n", *parts, b"%08x" % total])


def _unpack(run: Run, file: Any, *, known: bool = False) -> Predictions:
    """Read packed predictions; `known` says that their checksum was found right before."""
    head = _own(run, _unsigned(file.readline()[:-1]))
    arrays, total = {}, 0
    for name, dtype, shape in head["arrays"]:
        arrays[name] = np.empty(shape, dtype)
        part = _bytes_of(arrays[name])
        if file.readinto(part) != len(part):
            raise Damaged
        total = 0 if known else zlib.crc32(part, total)
    if not known and file.read() != b"%08x" % total:
        raise Damaged
    return Predictions(arrays, head["seconds"], head["info"])


def _is_whole(run: Run, file: Any) -> bool:
    """Return whether packed predictions are, without taking them into memory; else raise."""
    head = _own(run, _unsigned(file.readline()[:-1]))
    left = sum(np.dtype(dtype).itemsize * math.prod(shape) for _, dtype, shape in head["arrays"])
    total, buffer = 0, memoryview(bytearray(min(left, 1 << 18)))
    while left:
        size = file.readinto(buffer[:left])
        if not size:
            raise Damaged
        total = zlib.crc32(buffer[:size], total)
        left -= size
    if file.read() != b"%08x" % total:
        raise Damaged
    return True


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


# -- running what is not yet stored --------------------------------------------------------

# One unit of work: runs that share something costly (a fold's data, a fitted model).
Unit = Sequence[Run]
Work = Callable[[Unit], Iterator[tuple[Run, Predictions | Exception]]]
Score = Callable[[Run, Predictions], dict]


def execute(
    units: Iterable[Unit],
    work: Work,
    score: Score,
    store: RunStore,
    *,
    n_jobs: int | None = 1,
    progress: Callable[[int, int, dict], None] | None = None,
) -> list[dict]:
    """Bring every run to a stored row and return the rows.

    Parameters
    ----------
    units : iterable of sequences of Run
        Runs that share something are one unit and are done by one worker; those of them
        that are already stored are left out.
    work : callable
        ``work(unit)`` yields (run, `Predictions`) for each run of the unit, or (run,
        exception) where it failed; an exception that it raises itself fails the runs of
        the unit that are still open.
    score : callable
        ``score(run, predictions)`` returns what to keep of them as a dict.
    store : RunStore
        Where the rows are and go.
    n_jobs : int, default=1
        Units at a time; as in joblib.
    progress : callable, default=None
        ``progress(done, total, row)`` after each run, stored ones first.

    Returns
    -------
    rows : list of dict
        One per run, in the order of `units`. ``status`` is ``"ok"`` or ``"failed"``; a
        failed row has a ``reason``, and the next call tries it again.
    """
    units = [list(unit) for unit in units]
    store.open({run.task for unit in units for run in unit})
    rows: dict[Run, dict] = {}
    total = sum(len(unit) for unit in units)
    tell = progress or (lambda done, total, row: None)
    open_units = []
    for unit in units:
        still_open = []
        for run in unit:
            row = _stored_row(run, score, store)
            if row is None:
                still_open.append(run)
            else:
                rows[run] = row
                tell(len(rows), total, {**row, "stored": True})
        if still_open:
            open_units.append(still_open)
    if store.damaged:
        warn(
            "ST602",
            f"{store.folder}: {counted(len(store.damaged), 'file')} of finished fits damaged; "
            "removed and made again.",
            StoreWarning,
            stacklevel=2,
        )
        store.damaged.clear()

    if open_units:
        if joblib.effective_n_jobs(n_jobs) == 1:
            done: Any = (_finish_unit(unit, work, score, store) for unit in open_units)
        else:
            parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            finish = joblib.delayed(Attached(_finish_unit_list))
            done = parallel(finish(unit, work, score, store) for unit in open_units)
        for run, row in chain.from_iterable(done):
            rows[run] = row
            tell(len(rows), total, row)
    return [rows[run] for unit in units for run in unit]


def _stored_row(run: Run, score: Score, store: RunStore) -> dict | None:
    """Return the row of a run that needs no fit: scored already, or predicted already."""
    state = store.state(run)
    if state == "ok":
        return store.load_row(run)
    predictions = store.load_predictions(run) if state == "predicted" else None
    return None if predictions is None else _scored(run, predictions, score, store)


def _finish_unit_list(unit, work, score, store) -> list[tuple[Run, dict]]:
    return list(_finish_unit(unit, work, score, store))


def _finish_unit(unit, work, score, store) -> Iterator[tuple[Run, dict]]:
    pending = list(unit)
    try:
        for run, outcome in work(unit):
            pending.remove(run)
            if isinstance(outcome, Exception):
                yield run, _failed(run, outcome, store)
            else:
                store.save_predictions(run, outcome)
                yield run, _scored(run, outcome, score, store)
    except StoreError:
        raise
    except Exception as error:
        for run in pending:
            yield run, _failed(run, error, store)


def _scored(run, predictions, score, store) -> dict:
    try:
        scores = score(run, predictions)
    except Exception as error:
        return _failed(run, error, store)
    seconds = {f"seconds_{name}": value for name, value in predictions.seconds.items()}
    return _kept(run, {"status": "ok", "reason": "", **seconds, **scores}, store)


def _failed(run, error, store) -> dict:
    trace = "".join(traceback.format_exception(error))[-4000:]
    row = {"status": "failed", "reason": one_sentence(error), "traceback": trace}
    return _kept(run, row, store)


def _kept(run, row, store) -> dict:
    """Store a row, and return it as it was stored."""
    store.save_row(run, {**row, **circumstances()})
    return store.load_row(run) or row


def one_sentence(error: BaseException, limit: int = 300) -> str:
    r"""Return what went wrong on one line: the type where it says something, and the message.

    Examples
    --------
    >>> from stakes.compare.runner import one_sentence
    >>> one_sentence(KeyError("age")), one_sentence(ValueError("No good.\nMore."))
    ("KeyError: 'age'", 'No good.')
    """
    text = str(error).strip()
    line = text.splitlines()[0].strip() if text else ""
    kind = type(error).__name__
    if not line:
        return kind
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return line if isinstance(error, (ValueError, TypeError, ImportError)) else f"{kind}: {line}"


def circumstances() -> dict:
    """Return when and with which versions a row was made."""
    finished = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"finished": finished, "versions": {**versions(), "python": platform.python_version()}}


# What a result may depend on, where it is installed.
LIBRARIES = (
    "scikit-learn", "numpy", "scipy", "numba", "highspy", "pandas", "lightgbm", "xgboost",
    "imbalanced-learn",
)  # fmt: skip


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that can change a result."""
    known = {"stakes": stakes.__version__}
    for name in LIBRARIES:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return known


@functools.cache
def versions_key() -> str:
    """Return a short name of exactly these versions.

    Examples
    --------
    >>> from stakes.compare.runner import versions_key
    >>> len(versions_key()), versions_key() == versions_key()
    (10, True)
    """
    return hashlib.sha256(repr(sorted(versions().items())).encode()).hexdigest()[:10]
