"""The monitor behind a service: every row reaches it, in batches, and its state is kept."""

import logging
import threading
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from stakes.serve._counters import Counters

log = logging.getLogger("stakes.serve")


class Watch:
    """A monitor, one thread that feeds it, and the rows that wait for their batch.

    Parameters
    ----------
    monitor : Monitor
        What watches.
    state : path-like or None
        Where it is saved after each batch.
    batch : int
        After so many rows it looks at them.
    counters : Counters
        Where what it does is counted.
    """

    def __init__(self, monitor: Any, state: Any, batch: int, counters: Counters):
        self.monitor, self.state, self.batch = monitor, state, batch
        self.counters = counters
        self._waiting: list[tuple[Any, Any, list[str]]] = []
        self._n_waiting = 0
        self._lock = threading.Lock()  # of what waits
        # One thread looks at batches: they come one after the other, and nobody waits for them.
        self._looking = ThreadPoolExecutor(1, thread_name_prefix="stakes-monitor")

    def put(self, table: Any, prices: Any, ids: list[str] | None) -> list[str]:
        """Take rows that were decided; return what they are called."""
        ids = [uuid.uuid4().hex for _ in range(len(table))] if ids is None else ids
        with self._lock:
            self._waiting.append((table, prices, ids))
            self._n_waiting += len(ids)
            full = self._n_waiting >= self.batch
            self.counters.set("stakes_monitor_waiting", self._n_waiting)
        if full:
            self.look()
        return ids

    def look(self) -> "Future[None]":
        """Let the monitor look at the rows that wait, in its own thread."""
        with self._lock:
            parts, self._waiting, self._n_waiting = self._waiting, [], 0
            self.counters.set("stakes_monitor_waiting", 0)
        return self._looking.submit(self._look, parts)

    def _look(self, parts: list[tuple]) -> None:
        if not parts:
            return
        tables, prices, _ = zip(*parts)
        try:
            tensor = None if prices[0] is None else np.concatenate(prices)
            found = self.monitor.update(_joined(tables), cost_tensor=tensor)
            if self.state is not None:
                self.monitor.save(self.state)  # before the rows are said to be seen
        except Exception:
            log.exception("the monitor could not keep %d rows", sum(map(len, tables)))
            return
        self.counters.add("stakes_monitor_rows_total", found["n"])
        self.counters.set("stakes_monitor_alarm", float(bool(found["alarm"])))
        if found["alarm"]:
            log.warning("alarm", extra={"batch": found["label"], "alarm": found["alarm"]})

    def health(self) -> dict:
        """Return what the monitor has seen."""
        return {
            "rows": int(self.counters.value("stakes_monitor_rows_total")),
            "waiting": int(self.counters.value("stakes_monitor_waiting")),
            "alarms": self.monitor.alarms,
        }

    def close(self) -> None:
        """Look at the rows that are left, and end."""
        self.look()
        self._looking.shutdown()


def _joined(tables: tuple) -> Any:
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    import pandas as pd

    return pd.concat(tables, ignore_index=True)
