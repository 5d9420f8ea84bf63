"""The monitor behind a service: every row reaches it, in batches, and its state is kept."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from stakes.serve._counters import Counters
from stakes.serve._jobs import Job, join_jobs
from stakes.utils._arrays import quoted

log = logging.getLogger("stakes.serve")


class Watch:
    """A monitor, one thread that feeds it, and the rows that wait for their batch.

    Rows whose request named them are kept apart: what is needed to take their truth stays in the
    state until it comes.

    Parameters
    ----------
    monitor : Monitor
        What watches.
    state : path-like or None
        Where it is saved after each batch, and when truth has come in.
    batch : int
        After so many rows it looks at them.
    counters : Counters
        Where what it does is counted.
    table_of : callable
        From columns to the table that the model decides about.
    """

    def __init__(
        self,
        monitor: Any,
        state: Any,
        batch: int,
        counters: Counters,
        table_of: Callable[[list[list]], Any],
    ):
        self.monitor, self.state, self.batch = monitor, state, batch
        self.counters, self._table_of = counters, table_of
        self._lock = threading.Lock()  # of the rows that wait and of their names
        # Rows by whether they have names and prices of their own.
        self._parts: dict[tuple[bool, bool], list[Job]] = {}
        # Of each row that was named: the batch that knows it, None as long as it waits for one.
        self._batch_of: dict[str, str | None] = {
            name: batch["label"] for batch in monitor.batches for name in batch["waiting"]
        }
        self._early: dict[str, Any] = {}  # truth that came before the batch was full
        # One thread looks at batches: they come one after the other, and nobody waits for them.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="stakes-monitor")

    # -- rows ----------------------------------------------------------------------------------

    def reserve(self, ids: list[str]) -> None:
        """Refuse names that other rows have whose truth has not come in."""
        if ids and self.monitor.reference.kind == "hindsight":
            raise ValueError("The costs are known in hindsight: no truth is taken by ids.")
        with self._lock:
            taken = [name for name in ids if name in self._batch_of]
            if taken:
                raise ValueError(
                    f"ids: {quoted(taken, 3)} named other rows, whose truth is awaited."
                )
            self._batch_of.update(dict.fromkeys(ids))

    def release(self, ids: list[str]) -> None:
        """Give back names of rows that could not be decided."""
        with self._lock:
            for name in ids:
                self._batch_of.pop(name, None)

    def put(self, job: Job) -> None:
        """Take rows that were decided."""
        kind = job.ids is not None, job.prices is not None
        with self._lock:
            jobs = self._parts.setdefault(kind, [])
            jobs.append(job)
            full = sum(job.n_rows for job in jobs) >= self.batch
            if full:
                del self._parts[kind]  # what comes now is of the next batch
        self.counters.add("stakes_monitor_waiting", job.n_rows)
        if full:
            self._thread.submit(self._look, jobs)

    def _look(self, jobs: list[Job]) -> None:
        """Let the monitor look at the rows that wait, and keep what it says."""
        ids = [name for job in jobs for name in job.ids or ()]
        with self._lock:
            early = [self._early.pop(name, None) for name in ids]
        n_rows = sum(job.n_rows for job in jobs)
        try:
            given = {"ids": ids, "y": np.array(early, dtype=object)} if ids else {}
            columns, prices = join_jobs(jobs)
            batch = self.monitor.update(self._table_of(columns), cost_tensor=prices, **given)
        except Exception:
            log.exception("the monitor could not keep %d rows", n_rows)
            self.release(ids)
            self.counters.add("stakes_monitor_waiting", -n_rows)
            self.counters.add("stakes_monitor_lost_total", n_rows)
            return
        self._save()  # before the rows are said to be seen
        with self._lock:
            for name, truth in zip(ids, early):
                if truth is None:
                    self._batch_of[name] = batch["label"]
                else:
                    del self._batch_of[name]
        self.counters.add("stakes_monitor_rows_total", n_rows)
        self.counters.add("stakes_truths_total", sum(truth is not None for truth in early))
        self.counters.add("stakes_monitor_waiting", -n_rows)
        self._say(batch)

    # -- truth ---------------------------------------------------------------------------------

    def take_truth(self, ids: list[str], classes: list) -> dict:
        """Take what has become of rows, by their names and in any order; called in a thread.

        Returns
        -------
        taken : dict
            How many rows were `known` to the monitor, are `waiting` for their batch and get their
            truth with it; and the names that are `unknown`.
        """
        return self._thread.submit(self._take_truth, dict(zip(ids, classes))).result()

    def _take_truth(self, truth: dict[str, Any]) -> dict:
        by_batch: dict[str, list[str]] = {}
        with self._lock:
            unknown = [name for name in truth if name not in self._batch_of]
            early = [n for n in truth if n not in unknown and self._batch_of[n] is None]
            self._early |= {name: truth[name] for name in early}
            for name in truth:
                label = self._batch_of.get(name)
                if label is not None:
                    by_batch.setdefault(label, []).append(name)
        for label, names in by_batch.items():
            y = np.array([truth[name] for name in names], dtype=object)
            self._say(self.monitor.add_truth(None, y, label, ids=names))
            self.release(names)
        if by_batch:
            self._save()
        known = sum(map(len, by_batch.values()))
        self.counters.add("stakes_truths_total", known)
        return {"known": known, "waiting": len(early), "unknown": unknown}

    def _say(self, batch: dict) -> None:
        self.counters.set("stakes_monitor_alarm", float(bool(batch["alarm"])))
        if batch["alarm"]:
            log.warning("alarm", extra={"batch": batch["label"], "alarm": batch["alarm"]})

    def _save(self) -> None:
        if self.state is None:
            return
        try:
            self.monitor.save(self.state)
        except (OSError, ValueError):  # the monitor has the rows; the next time may do
            log.exception("the state could not be saved")
            self.counters.add("stakes_monitor_unsaved_total")

    def health(self) -> dict:
        """Return what the monitor has seen."""
        return {
            "rows": int(self.counters.value("stakes_monitor_rows_total")),
            "waiting": int(self.counters.value("stakes_monitor_waiting")),
            "alarms": self.monitor.alarms,
        }

    def close(self) -> None:
        """Look at the rows that are left, and end."""
        for jobs in self._parts.values():
            self._thread.submit(self._look, jobs)
        self._thread.shutdown()
