"""Runs: kept in a folder, each file whole or absent, and run once each on any number of workers."""

import hashlib
import io
import json
import os
import platform
import re
import time
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn

import stakes
from stakes.utils._files import StoreError, write_atomically

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

    Every file is written beside its place and renamed into it, so it is whole or absent. A
    run's predictions come before its row: where the row is missing, it is scored anew
    without another fit. A failure is a row with its reason, and the run is tried again.

    Parameters
    ----------
    folder : path-like
        Made where it is missing.

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

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)

    def state(self, run: Run) -> str:
        """Return ``"ok"``, ``"failed"``, ``"predicted"`` (not yet scored) or ``"missing"``."""
        row = self.load_row(run)
        if row is not None:
            return "ok" if row.get("status") == "ok" else "failed"
        return "predicted" if self._file(run, ".npz").exists() else "missing"

    def save_predictions(self, run: Run, predictions: Predictions) -> None:
        """Keep what the run predicted, whole or not at all."""
        meta = {"seconds": predictions.seconds, "info": predictions.info}
        buffer = io.BytesIO()
        text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
        np.savez(buffer, meta_json=text, **predictions.arrays)  # type: ignore[arg-type]
        write_atomically(self._file(run, ".npz"), buffer.getvalue())

    def load_predictions(self, run: Run) -> Predictions | None:
        """Return what the run predicted, or None where it is not there or not whole."""
        try:
            with np.load(self._file(run, ".npz"), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            meta = json.loads(arrays.pop("meta_json").tobytes())
        except (FileNotFoundError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return Predictions(arrays, meta["seconds"], meta["info"])

    def save_row(self, run: Run, row: dict) -> None:
        """Keep the run's row: its identity, then what `row` says, unrounded."""
        text = json.dumps(
            {**asdict(run), **row},
            default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v),
        )
        write_atomically(self._file(run, ".json"), text.encode())

    def load_row(self, run: Run) -> dict | None:
        """Return the run's row, or None."""
        try:
            return json.loads(self._file(run, ".json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def rows(self, task: str | None = None) -> Iterator[dict]:
        """Yield every stored row (of one task), in the order of their paths."""
        base = self.folder if task is None else self.folder / _slug(task)
        for file in sorted(base.rglob("fold*.json")):
            try:
                yield json.loads(file.read_bytes())
            except ValueError:
                continue

    def _file(self, run: Run, ending: str) -> Path:
        path = self.folder / run.path
        return path.with_name(path.name + ending)


def _slug(name: str) -> str:
    """Return a file name for any text: itself where it is tame, else shortened with a hash."""
    tame = re.sub(r"[^A-Za-z0-9_.=+-]+", "-", name).strip(".-")[:60]
    if tame == name:
        return name
    return f"{tame}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


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

    if open_units:
        if joblib.effective_n_jobs(n_jobs) == 1:
            done: Any = (_finish_unit(unit, work, score, store) for unit in open_units)
        else:
            parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            finish = joblib.delayed(_finish_unit_list)
            done = parallel(finish(unit, work, score, store) for unit in open_units)
        for run, row in chain.from_iterable(done):
            rows[run] = row
            tell(len(rows), total, row)
    return [rows[run] for unit in units for run in unit]


def _stored_row(run: Run, score: Score, store: RunStore) -> dict | None:
    """Return the row of a run that needs no fit: scored already, or predicted already."""
    row = store.load_row(run)
    if row is not None:
        return row if row.get("status") == "ok" else None
    predictions = store.load_predictions(run)
    if predictions is None:
        return None
    return _scored(run, predictions, score, store)


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
    return {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "stakes": stakes.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
