"""Running what is not yet stored: in any order, on any number of workers, once each."""

import platform
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import joblib

import stakes
from stakes.compare._store import Predictions, Run, RunStore
from stakes.utils._files import StoreError

__all__ = [
    "Predictions",
    "Run",
    "RunStore",
    "StoreError",
    "circumstances",
    "execute",
    "one_sentence",
]

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
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        if joblib.effective_n_jobs(n_jobs) == 1:
            finished: Any = (
                pair for unit in open_units for pair in _finish_unit(unit, work, score, store)
            )
        else:
            batches = parallel(
                joblib.delayed(_finish_unit_list)(unit, work, score, store) for unit in open_units
            )
            finished = (pair for batch in batches for pair in batch)
        for run, row in finished:
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
    row = {
        "status": "ok",
        "reason": "",
        **{f"seconds_{name}": value for name, value in predictions.seconds.items()},
        **scores,
        **circumstances(),
    }
    store.save_row(run, row)
    return store.load_row(run) or row


def _failed(run, error, store) -> dict:
    row = {
        "status": "failed",
        "reason": one_sentence(error),
        "traceback": "".join(traceback.format_exception(error))[-4000:],
        **circumstances(),
    }
    store.save_row(run, row)
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
    import numpy
    import sklearn

    return {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "stakes": stakes.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": numpy.__version__,
            "python": platform.python_version(),
        },
    }
