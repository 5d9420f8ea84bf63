"""Where runs are kept: predictions first, scores second, each file whole or absent."""

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stakes.utils._files import write_atomically


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
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return Predictions(arrays, meta["seconds"], meta["info"])

    def save_row(self, run: Run, row: dict) -> None:
        """Keep the run's row: its identity, then what `row` says, unrounded."""
        text = json.dumps({**asdict(run), **row}, default=_plain)
        write_atomically(self._file(run, ".json"), text.encode())

    def load_row(self, run: Run) -> dict | None:
        """Return the run's row, or None."""
        try:
            return json.loads(self._file(run, ".json").read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
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


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
