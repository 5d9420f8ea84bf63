"""An experiment of a paper: tasks, protocol and methods, run by the shared runner."""

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, wraps
from typing import Any

import numpy as np

from stakes.compare.engine import fingerprint
from stakes.compare.runner import Predictions, Run, RunStore, execute, versions_key

Names = Iterable[str] | None  # some of the tasks or methods; all if None


@dataclass(frozen=True)
class Split:
    """What a method gets: training and test examples, and the costs of this run."""

    task: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    cost_matrix: Any = None
    seed: int = 0
    protocol: str = "paper"
    shared: dict = field(default_factory=dict)  # what several methods of a fold compute once


def once_per_split(function: Callable[[Split], Any]) -> Callable[[Split], Any]:
    """Keep what a function makes of a split for the other methods that ask for it."""

    @wraps(function)
    def shared(split: Split) -> Any:
        name = function.__name__
        if name not in split.shared:
            split.shared[name] = function(split)
        return split.shared[name]

    return shared


@dataclass(frozen=True)
class Method:
    """A method of an experiment.

    Parameters
    ----------
    run : callable
        ``run(split) -> Predictions``; ``split.seed`` seeds it.
    ours : bool
        Whether it is an extra column of this library, which the paper does not have.
    tasks : tuple of str
        The tasks it is run on; all where empty.
    runs : int or None
        How many runs it has at most; as many as the paper's methods if None.
    """

    run: Callable[..., Predictions]
    ours: bool = False
    tasks: tuple[str, ...] = ()
    runs: int | None = None

    def takes_part(self, task: str, run: int) -> bool:
        """Return whether the method is run on this task, in this run."""
        return (not self.tasks or task in self.tasks) and (self.runs is None or run < self.runs)


def methods_of(*runs: Callable[..., Predictions], **settings: Any) -> dict[str, Method]:
    """Return methods under the names of their functions, all with the same settings."""
    return {run.__name__: Method(run, **settings) for run in runs}


@dataclass(frozen=True)
class Experiment:
    """The experiments of one paper.

    Parameters
    ----------
    paper : str
        The key of the paper, such as ``"abe2004"``.
    title : str
        Author, title, year.
    tasks : mapping of str to callable
        ``tasks[name]()`` returns (X, y).
    methods : mapping of str to Method
        The paper's and ours.
    split : callable
        ``split(X, y, rng, fold) -> (train, test)`` positions for one fold of a run.
    metrics : mapping of str to callable
        ``metric(split, predictions) -> float``.
    runs : int
        How often the paper repeated its protocol.
    tables : tuple of str
        The published tables that these runs answer.
    folds : int
        Folds of one run.
    costs : callable or None
        ``costs(y_train, rng, labels) -> CostMatrix``; None where the paper has none.
    protocol : str
        Tells the runs of one protocol from those of another in the store.
    says : str
        Where it is another reading of the paper's protocol: how it reads it.
    summarize : callable or None
        ``summarize(per_run, per_fold)`` makes (mean, standard error, runs) of the figures of
        each (task, method, metric) where the paper prints something else than their means.
    """

    paper: str
    title: str
    tasks: Mapping[str, Callable[[], tuple]]
    methods: Mapping[str, Method]
    split: Callable
    metrics: Mapping[str, Callable[[Split, Predictions], float]]
    runs: int
    tables: tuple[str, ...] = ()
    folds: int = 1
    costs: Callable | None = None
    protocol: str = "paper"
    says: str = ""
    summarize: Callable[[dict, dict], dict] | None = None

    def read_as(self, protocol: str, says: str, **changes: Any) -> "Experiment":
        """Return another reading of the protocol: its name, how it reads it, what it changes."""
        return replace(self, protocol=protocol, says=says, **changes)

    def name_of(self, task: str) -> str:
        """Return the name of a task here: in the store it begins with the paper."""
        return task.removeprefix(f"{self.paper}/")

    def make_split(self, task: str, fold: int) -> Split:
        """Return fold `fold` of a task: it depends on (task, fold) alone, never on a method."""
        key = (self.paper, self.protocol, task, fold)
        if _last_split.get("key") != key:
            _last_split.update(key=key, split=self._make_split(task, fold))
        return _last_split["split"]

    def _make_split(self, task: str, fold: int) -> Split:
        X, y = self.load(task)
        run, part = divmod(fold, self.folds)
        train, test = self.split(X, y, np.random.RandomState(seed_of(task, run)), part)
        costs = None
        if self.costs is not None:
            rng = np.random.RandomState(seed_of(task + "/costs", run))
            costs = self.costs(y[train], rng, np.unique(y))
        rows = X.iloc if hasattr(X, "iloc") else X
        parts = rows[train], y[train], rows[test], y[test]
        return Split(task, *parts, costs, seed_of(task, fold), self.protocol)

    def load(self, task: str) -> tuple:
        """Return the (X, y) of a task; those of a paper are kept."""
        return _cached(self.paper, self.protocol, task, self.tasks[task])

    def edition(self, task: str) -> str:
        """Return the protocol as stored: with the data and the versions that a figure depends on."""
        data = _fingerprint(self.paper, self.protocol, task, self.tasks[task])
        return f"{self.protocol}={data}-{versions_key()}"

    def units(
        self, *, tasks: Names = None, methods: Names = None, runs: int | None = None
    ) -> list[list[Run]]:
        """Return the runs to do: one unit per (task, fold), every method in it."""
        chosen_tasks = list(self.tasks if tasks is None else tasks)
        chosen = list(self.methods if methods is None else methods)
        editions = {task: self.edition(task) for task in chosen_tasks}
        n_folds = (self.runs if runs is None else min(runs, self.runs)) * self.folds
        units = [
            [
                Run(f"{self.paper}/{task}", editions[task], fold, name)
                for name in chosen
                if self.methods[name].takes_part(task, fold // self.folds)
            ]
            for fold in range(n_folds)
            for task in chosen_tasks
        ]
        return [unit for unit in units if unit]

    def work(self, unit: Sequence[Run]) -> Iterator[tuple[Run, Predictions | Exception]]:
        """Run the methods of one unit on its split."""
        split = self.make_split(self.name_of(unit[0].task), unit[0].fold)
        for run in unit:
            start = time.perf_counter()
            try:
                predictions = self.methods[run.method].run(split)
            except Exception as error:
                yield run, error
                continue
            predictions.seconds.setdefault("run", time.perf_counter() - start)
            yield run, predictions

    def score(self, run: Run, predictions: Predictions) -> dict:
        """Score stored predictions: every metric that they allow."""
        split = self.make_split(self.name_of(run.task), run.fold)
        return {name: metric(split, predictions) for name, metric in self.metrics.items()}

    def run(
        self, store: RunStore, *, n_jobs: int | None = 1, progress: Any = None, **part: Any
    ) -> list[dict]:
        """Bring every run of (a part of) the experiment to a stored row."""
        units = self.units(**part)
        return execute(units, self.work, self.score, store, n_jobs=n_jobs, progress=progress)


def seed_of(task: str, number: int) -> int:
    """Return a seed that depends on the task's name and a number alone.

    Examples
    --------
    >>> from stakes.reproduce._experiment import seed_of
    >>> seed_of("annealing", 0) == seed_of("annealing", 0) != seed_of("annealing", 1)
    True
    """
    return zlib.crc32(f"{task}#{number}".encode())


_last_split: dict = {}


@lru_cache(maxsize=32)  # the tasks of a paper: units go from task to task
def _cached(paper: str, protocol: str, task: str, load: Callable) -> tuple:
    return load()


@cache
def _fingerprint(paper: str, protocol: str, task: str, load: Callable) -> str:
    try:
        return fingerprint(*_cached(paper, protocol, task, load))
    except Exception:  # no data: each run will say so
        return "none"
