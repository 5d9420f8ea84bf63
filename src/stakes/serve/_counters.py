"""What a service has done, in numbers, as Prometheus reads them."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator

# Upper ends of the classes in which seconds are counted.
SECONDS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
# What is counted: its kind for Prometheus, and what it means.
MEANINGS = {
    "stakes_requests_total": ("counter", "Requests, by path and status."),
    "stakes_request_seconds": ("histogram", "How long requests took."),
    "stakes_rows_total": ("counter", "Rows that were decided."),
    "stakes_decisions_total": ("counter", "Decisions, by what was decided."),
    "stakes_expected_cost_sum": ("gauge", "What the decisions are expected to cost, in sum."),
    "stakes_unseen_values_total": ("counter", "Values that training did not have, by column."),
    "stakes_warnings_total": ("counter", "Warnings, by category; each is logged once."),
    "stakes_monitor_rows_total": ("counter", "Rows that the monitor has looked at."),
    "stakes_monitor_lost_total": ("counter", "Rows that it could not keep; the log says why."),
    "stakes_monitor_unsaved_total": (
        "counter",
        "Times that its state could not be saved; the log says why.",
    ),
    "stakes_monitor_waiting": ("gauge", "Rows that wait for the monitor's next batch."),
    "stakes_monitor_alarm": ("gauge", "1 where the last batch gave an alarm."),
    "stakes_truths_total": ("counter", "Rows whose truth has come in."),
}


class Counters:
    """Numbers with labels, added up by several threads.

    Examples
    --------
    >>> from stakes.serve._counters import Counters
    >>> counters = Counters()
    >>> counters.add("stakes_decisions_total", 2, decision="grant")
    >>> print(counters.text(), end="")
    # HELP stakes_decisions_total Decisions, by what was decided.
    # TYPE stakes_decisions_total counter
    stakes_decisions_total{decision="grant"} 2
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[tuple, float]] = defaultdict(dict)

    def add(self, name: str, value: float = 1, **labels: object) -> None:
        """Add to a number."""
        key = tuple(labels.items())
        with self._lock:
            self._values[name][key] = self._values[name].get(key, 0) + value

    def set(self, name: str, value: float) -> None:
        """Set a number."""
        with self._lock:
            self._values[name][()] = value

    def time(self, seconds: float) -> None:
        """Count how long a request took."""
        name = "stakes_request_seconds"
        with self._lock:
            counts = self._values[name]
            ends = [("le", end) for end in SECONDS if seconds <= end]
            for key in [*((end,) for end in ends), (("le", "+Inf"),)]:
                counts[key] = counts.get(key, 0) + 1
            counts[("sum",)] = counts.get(("sum",), 0) + seconds

    def value(self, name: str, **labels: object) -> float:
        """Return a number; 0 where nothing was added."""
        with self._lock:
            return self._values.get(name, {}).get(tuple(labels.items()), 0)

    def text(self) -> str:
        """Return all numbers in the text form of Prometheus, 0.0.4."""
        with self._lock:
            values = {name: dict(counts) for name, counts in self._values.items()}
        lines: list[str] = []
        for name, (kind, meaning) in MEANINGS.items():
            if name in values:
                lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
                lines += (
                    _histogram(name, values[name])
                    if kind == "histogram"
                    else [
                        f"{name}{_written(key)} {value:.17g}"
                        for key, value in values[name].items()
                    ]
                )
        return "".join(f"{line}\n" for line in lines)


def _histogram(name: str, values: dict[tuple, float]) -> Iterator[str]:
    total = values[(("le", "+Inf"),)]
    for end in (*SECONDS, "+Inf"):
        yield f'{name}_bucket{{le="{end}"}} {values.get((("le", end),), 0):.17g}'
    yield f"{name}_sum {values[('sum',)]:.17g}"
    yield f"{name}_count {total:.17g}"


def _written(labels: Iterable[tuple[str, object]]) -> str:
    parts = [f'{name}="{_escaped(str(value))}"' for name, value in labels]
    return f"{{{','.join(parts)}}}" if parts else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
