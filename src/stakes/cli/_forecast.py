"""How long a comparison still takes, from the fits that were measured."""

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any


class Forecast:
    """The time left: for each open run the mean of its method's ended runs.

    Parameters
    ----------
    runs : iterable of (method, fold)
        All that will be run.
    workers : int
        How many at a time.

    Examples
    --------
    Two folds of two methods; of the second method nothing is known yet, then all:

    >>> from stakes.cli._forecast import Forecast
    >>> forecast = Forecast([("a", 0), ("b", 0), ("a", 1), ("b", 1)], workers=1)
    >>> forecast.ended("a", 0, seconds=2.0)
    >>> forecast.left()
    (2.0, False)
    >>> forecast.ended("b", 0, seconds=10.0)
    >>> forecast.left()
    (12.0, True)
    """

    def __init__(self, runs: Iterable[tuple[str, int]], workers: int):
        self.open = set(runs)
        self.workers = workers
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def ended(self, method: str, fold: int, seconds: float | None = None) -> None:
        """Take note of a run; of one that was stored the seconds are not known."""
        self.open.discard((method, fold))
        if seconds is not None:
            self.seconds[method].append(seconds)

    def is_done(self, method: str) -> bool:
        """Whether no run of the method is open."""
        return all(name != method for name, _ in self.open)

    def left(self, running: Iterable[Any] = ()) -> tuple[float, bool]:
        """Return the seconds left, and whether every open method has been measured.

        ``running`` are (method, fold, since when, ...) of the runs under way.
        """
        known = {m: sum(s) / len(s) for m, s in self.seconds.items() if s}
        total = sum(known.get(method, 0.0) for method, _ in self.open)
        for method, _, since, *_ in running:
            total -= min(max(time.time() - since, 0.0), known.get(method, 0.0))
        return max(total, 0.0) / self.workers, all(method in known for method, _ in self.open)


def in_words(left: float, sure: bool) -> str:
    """Return the time left as people read it.

    Examples
    --------
    >>> from stakes.cli._forecast import in_words
    >>> in_words(95, True), in_words(3, False), in_words(0, False)
    ('about 1:35 left', 'more than 0:03 left', 'time left not yet known')
    """
    minutes, seconds = divmod(round(left), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    if not sure and left < 1:
        return "time left not yet known"
    return f"{'about' if sure else 'more than'} {clock} left"
