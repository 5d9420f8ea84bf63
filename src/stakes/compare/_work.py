"""What one fold of a comparison does: prepare once, share fits of the plain model, decide often."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from stakes._methods import Method, Setting
from stakes.compare._clock import OUT_OF_TIME, Board, Clock, LeftOut, OutOfTime, call_until
from stakes.compare._fitting import fit_method, make_setting
from stakes.compare._model import DecisionModel
from stakes.compare._plain import Cache
from stakes.compare._problem import Problem
from stakes.compare.runner import Predictions, Run
from stakes.tables import TablePreparation
from stakes.utils._notices import on_compile


def places_between(low: float, high: float, n: int, before: int, after: int) -> tuple[int, int]:
    """Return how many of a minimum and a limit, shares of n rows, fall to the rows before .. after.

    Examples
    --------
    Four places in 120 rows, cut into five folds: none is lost to rounding.

    >>> from stakes.compare._work import places_between
    >>> cuts = [0, 24, 48, 72, 96, 120]
    >>> [places_between(0, 4 / 120, 120, a, b)[1] for a, b in zip(cuts, cuts[1:])]
    [0, 1, 1, 1, 1]
    """
    least, most = math.ceil(round(low * n, 6)), math.floor(round(high * n, 6))
    part = [math.floor(round(total * after / n, 6)) - math.floor(round(total * before / n, 6))
            for total in (least, most)]  # fmt: skip
    return min(part), part[1]


@dataclass
class FoldWork:
    """The work of a comparison, one call per unit; it travels to joblib's workers.

    Parameters
    ----------
    problem : Problem
        Data and costs.
    splits : list of (train, test)
        Row numbers.
    methods : dict of str to Method
        By the name under which runs are stored.
    given : dict
        `random_state`, `n_jobs` (cores for each model) and `fast`, as in `make_setting`.
    clock : Clock, default=None
        The time limit, where there is one.
    board : Board, default=None
        Where to say what runs.
    capacity : dict, default=None
        Limits of decisions, as shares of the rows of a fold.
    """

    problem: Problem
    splits: list
    methods: dict[str, Method]
    given: dict[str, Any]
    clock: Clock | None = None
    board: Board | None = None
    capacity: dict | None = None
    _prepared: tuple = field(default=(None, None), repr=False)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_prepared": (None, None)}

    def __call__(self, unit: Sequence[Run]) -> Iterator[tuple[Run, Predictions | Exception]]:
        """Yield what each run of the unit predicts, or the exception that stopped it."""
        whole = self.problem
        parts = [
            Problem(None, whole.classes, whole.costs.take(rows), whole.left_out)
            for rows in self.splits[unit[0].fold]
        ]
        train, cache = parts[0], Cache()
        setting = make_setting(train, **self.given, cache=cache)
        for run in unit:
            cache.saved = 0.0
            start = time.monotonic()
            try:
                end = math.inf if self.clock is None else self.clock.begin(run)
                fit = partial(self._run, run, parts, setting, cache)
                with self._told(run):
                    predictions = call_until(end, fit)
                predictions.seconds["wall"] = time.monotonic() - start
                if self.clock is not None:
                    self.clock.ended(run, predictions.seconds["wall"])
                yield run, predictions
            except OutOfTime:
                seconds = time.monotonic() - start
                yield run, LeftOut(f"{OUT_OF_TIME}: stopped after {seconds:.2g} s of one fold")
            except Exception as error:
                yield run, error

    def _run(
        self, run: Run, parts: Sequence[Problem], setting: Setting, cache: Cache
    ) -> Predictions:
        """Learn from one part and decide the other; their tables are made here, where needed."""
        method = self.methods[run.method]
        train, test = parts
        if method.takes_tables:
            learned, table = map(self.problem.table_of, self.splits[run.fold])
            prepared, train = None, replace(train, X=learned)
        else:
            prepared, table = self._prepare(run.fold)
        model, seconds = fit_method(method, train, setting, prepared)
        if method.takes_tables:
            table = model.prepare(table)
        fit, cache.saved = seconds + cache.saved, 0.0  # as if it had been fitted alone
        return self._decide(run, model, table, test, fit, cache)

    def _decide(
        self, run: Run, model: DecisionModel, table: Any, test: Problem, fit: float, cache: Cache
    ) -> Predictions:
        """Return what a model says of the test rows, in the form in which it takes them."""
        model = model.with_limits(self._places(run.fold))
        start = time.perf_counter()
        prices = test.costs.tensor
        said = model.say(table, prices, proba=True)
        decided = model.settle(said, table, prices)
        predict = time.perf_counter() - start + cache.saved
        arrays: dict[str, np.ndarray] = {
            "test": np.asarray(self.splits[run.fold][1], dtype=np.int64),
            "decisions": decided.positions.astype(np.int32),
        }
        proba = model.stated(said)
        if proba is not None:
            arrays["proba"] = proba.astype(np.float32)
        policy = model.policy
        by_prices = decided.by_costs and policy.weighs_probabilities and not policy.abstains
        info = {"by_prices": by_prices and proba is not None}
        info["beside"] = policy.prices[:, test.costs.n_decisions :].tolist()
        return Predictions(arrays, {"fit": fit, "predict": predict}, info)

    def _places(self, fold: int) -> dict | None:
        """Return the limits of a fold in rows: of all folds they are those of all rows that are decided."""
        if self.capacity is None:
            return None
        sizes = [len(test) for _, test in self.splits]
        before, after = sum(sizes[:fold]), sum(sizes[: fold + 1])
        places = {}
        for label, (low, high) in self.capacity.items():
            least, most = places_between(low, high, sum(sizes), before, after)
            places[label] = (least, most)
        return places

    @contextmanager
    def _told(self, run: Run) -> Iterator[None]:
        """Say on the board what runs, and when something is compiled for it."""
        board = self.board
        if board is None:
            yield
            return

        def compiled() -> None:
            board.begin(run, "compiling")
            if board.on_compile is not None:
                board.on_compile()

        board.begin(run)
        on_compile.append(compiled)
        try:
            yield
        finally:
            on_compile.remove(compiled)
            board.end()

    def _prepare(self, fold: int) -> tuple[tuple, Any]:
        """Return the fold's preparation and training table, and its test table; keep the last."""
        if self._prepared[0] != fold:
            self._prepared = (None, None)
            preparation = TablePreparation()
            train, test = self.splits[fold]
            problem = replace(self.problem, X=self.problem.features)
            prepared = preparation, preparation.fit_transform(problem.table_of(train))
            table = preparation.transform(problem.table_of(test))
            self._prepared = (fold, (prepared, table))
        return self._prepared[1]
