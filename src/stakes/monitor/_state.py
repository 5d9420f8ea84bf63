"""The state of a monitor as a file: whole, unchanged by others, of one format."""

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np

import stakes
from stakes.monitor._chart import BETWEEN
from stakes.monitor._reference import Reference
from stakes.utils._files import write_atomically

FORMAT = "stakes-monitor-3"
OLD_FORMATS = ("stakes-monitor-1", "stakes-monitor-2")  # without checksum


def as_text(state: dict) -> str:
    """Return plain values as JSON, whatever the order of their names."""
    return json.dumps(state, sort_keys=True)


def checksum_of(text: str) -> str:
    """Return the checksum of a state as JSON."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_state(
    path: str | os.PathLike, state: dict, batches: list[str], known: str | None = None
) -> str:
    """Write a state, and return its checksum.

    Parameters
    ----------
    path : path-like
        The file.
    state : dict
        Plain values, all but the batches.
    batches : list of str
        Each as JSON: those that have not changed need not be written down again.
    known : str, default=None
        The checksum of what should be there, as it was read; None asks nothing.
    """
    if known is not None and Path(path).exists() and _checksum_in(path) != known:
        raise ValueError(
            f"{path} was changed by somebody else since it was read: load it again, and give the "
            "new batches to what was loaded."
        )
    state = {"format": FORMAT, "stakes": stakes.__version__, **state}
    parts = f'"batches": [{", ".join(batches)}]'
    # "batches" is the first of the names: of this text `as_text` of the whole has its checksum.
    checksum = checksum_of(f"{{{parts}, {as_text(state)[1:]}")
    write_atomically(path, f'{json.dumps(state)[:-1]}, {parts}, "checksum": "{checksum}"}}\n')
    return checksum


def _checksum_in(path: str | os.PathLike) -> str:
    """Return the checksum at the end of a file, empty where there is none."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 100))
        last = re.search(rb'"checksum": "([0-9a-f]{64})"}\s*$', file.read())
    return last[1].decode() if last else ""


def read_state(path: str | os.PathLike) -> tuple[dict, str]:
    """Return a state and its checksum; what is damaged or of another kind is refused."""
    if not Path(path).is_file():
        raise ValueError(f"{path} is no file: a state is one that Monitor.save has written.")
    try:
        state = json.loads(Path(path).read_text("utf-8"))
        checksum, written = state.pop("checksum", ""), state["format"]
        known = written.startswith(FORMAT.rstrip("0123456789"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        known = False
    if not known:
        raise ValueError(f"{path} is not a state of a monitor that stakes has saved.")
    if written != FORMAT and written not in OLD_FORMATS:
        raise ValueError(
            f"{path} is in the format {written}, and this version of stakes reads {FORMAT}: begin a "
            "new monitor, or go on with the version that saved it."
        )
    if written == FORMAT and checksum != checksum_of(as_text(state)):
        raise ValueError(f"{path} is damaged, or was changed by hand: its checksum is another.")
    try:
        return _as_now(state, written), checksum
    except (KeyError, TypeError):
        raise ValueError(f"{path} is damaged: it lacks parts of a state.") from None


def _as_now(state: dict, written: str) -> dict:
    """Return a state of an earlier format as one of this."""
    if written == OLD_FORMATS[0]:  # of when decisions were classes
        state["reference"]["decisions"] = state["reference"]["classes"]
    later = {"waiting": {}, "notice": ""}
    batches = [{**later, **batch} for batch in state.get("batches", [])]
    return {"between": BETWEEN, **state, "batches": batches}


def check_shapes(path: str | os.PathLike, reference: Reference) -> None:
    """Refuse a reference whose arrays do not fit together."""
    k, a, ways = len(reference.classes), len(reference.decisions), len(reference.ways)
    wanted = {
        "cost_matrix": (reference.cost_matrix, (k, a)),
        "frequencies": (reference.frequencies, (k,)),
        "by_decision": (reference.by_decision[:, 0], (a,)),
        "residuals": (reference.residuals.mean, (ways,)),
    }
    for name, (values, shape) in wanted.items():
        if np.shape(values) != shape:
            raise ValueError(
                f"{path} is damaged: its {name} has the shape {np.shape(values)}, not {shape}."
            )
