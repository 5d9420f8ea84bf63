"""What a service does, whatever brings the requests: decide, count, watch."""

import logging
from functools import partial
from typing import Any

from stakes.compare import DecisionModel
from stakes.serve._counters import Counters
from stakes.serve._jobs import Job, join_jobs
from stakes.serve._schema import columns_of, prices_of, request_type, table_of
from stakes.serve._watch import Watch
from stakes.utils._arrays import quoted

log = logging.getLogger("stakes.serve")


class Service:
    """A model that answers requests, counts what it does and is watched.

    Parameters
    ----------
    model : DecisionModel
        What decides.
    monitor : Monitor, default=None
        What watches it, from batch to batch.
    state : path-like, default=None
        Where the monitor is saved after each batch.
    batch : int, default=1000
        After so many rows the monitor looks at them.

    Attributes
    ----------
    counters : Counters
        What was done, for ``/metrics``.
    """

    def __init__(
        self, model: DecisionModel, *, monitor: Any = None, state: Any = None, batch: int = 1000
    ):
        self.model = model
        self.counters = Counters()
        self.request_type = request_type(model)
        self._table_of = partial(table_of, model)
        self.watch = None
        if monitor is not None:
            self.watch = Watch(monitor, state, batch, self.counters, self._table_of)
        self._known = {
            i: frozenset(profile.values)
            for i, name in enumerate(model.columns or ())
            for profile in model.profiles
            if profile.name == name and profile.values
        }
        self._warned: set[tuple] = set()

    def take(self, request: Any) -> Job:
        """Return a request as a job; refuse in one sentence what does not fit the model.

        Parameters
        ----------
        request : BaseModel
            Of `request_type`.
        """
        n_rows = len(request.rows)
        if request.ids is not None and len(set(request.ids)) != n_rows:
            raise ValueError(f"ids should be {n_rows} different names, one for each row.")
        if self.model.columns is None:
            wanted = getattr(self.model.estimator, "n_features_in_", len(request.rows[0]))
            bad = [i for i, row in enumerate(request.rows) if len(row) != wanted]
            if bad:
                raise ValueError(
                    f"rows[{bad[0]}] has {len(request.rows[bad[0]])} numbers; the model takes {wanted}."
                )
        prices = prices_of(request.prices, n_rows, self.model)
        if prices is not None and not self.model.policy.weighs_prices:
            raise ValueError(f"The method {self.model.method} cannot weigh prices of single rows.")
        if prices is None and self.model.kind == "deciding":
            raise ValueError("The model was fitted with prices known when deciding: give prices.")
        if self.watch is not None:
            self.watch.reserve(request.ids or [])
        return Job(columns_of(self.model, request.rows), prices, request.ids, n_rows)

    def decide(self, jobs: list[Job]) -> list[dict | Exception]:
        """Return what each job is answered: all are decided together, as far as that can be done.

        Jobs with prices and jobs without are decided apart, and so is each job of a model with
        limits, which hold for a batch. Where some together fail, each is tried alone.
        """
        answers: dict[int, dict | Exception] = {}
        alone = self.model.policy.capacity is not None
        groups: dict[Any, list[int]] = {}
        for i, job in enumerate(jobs):
            groups.setdefault(i if alone else job.prices is None, []).append(i)
        for group in groups.values():
            try:
                together = self._decide([jobs[i] for i in group])
            except Exception as error:
                if len(group) > 1:
                    together = [self.decide([jobs[i]])[0] for i in group]
                else:
                    together = [error]
                    if self.watch is not None:
                        self.watch.release(jobs[group[0]].ids or [])
            answers |= zip(group, together)
        return [answers[i] for i in range(len(jobs))]

    def take_truth(self, ids: list[str], classes: list) -> dict:
        """Take what has become of rows that were decided; see `Watch.take_truth`."""
        if self.watch is None:
            raise ValueError("No monitor watches, so nothing asks for the truth.")
        known = set(self.model.classes)
        strange = [label for label in classes if label not in known]
        if strange:
            raise ValueError(
                f"classes: {quoted(strange, 3)} {'is' if len(strange) == 1 else 'are'} none of "
                f"{quoted(self.model.classes)}."
            )
        if len(set(ids)) != len(ids) or len(classes) != len(ids):
            raise ValueError("ids and classes should name each row once, as many of both.")
        return self.watch.take_truth(ids, classes)

    def _decide(self, jobs: list[Job]) -> list[dict | Exception]:
        columns, prices = join_jobs(jobs)
        decided = self.model.answer(self._table_of(columns), prices).decided
        content = {"decision": decided.labels.tolist()}
        if decided.by_costs:
            for name, values in (
                ("expected_cost", decided.expected_cost),
                ("next_best", decided.next_labels),
                ("next_best_cost", decided.next_best_cost),
            ):
                assert values is not None
                content[name] = values.tolist()
        self._count(columns, content)
        answers: list[dict | Exception] = []
        start = 0
        for job in jobs:
            rows = slice(start, start := start + job.n_rows)
            answer: dict[str, Any] = {} if job.ids is None else {"id": job.ids}
            answer |= {name: values[rows] for name, values in content.items()}
            if self.watch is not None:
                self.watch.put(job)
            answers.append(answer)
        return answers

    def _count(self, columns: list[list], answer: dict[str, list]) -> None:
        self.counters.add("stakes_rows_total", len(answer["decision"]))
        for label in set(answer["decision"]):
            count = answer["decision"].count(label)
            self.counters.add("stakes_decisions_total", count, decision=label)
        self.counters.add("stakes_expected_cost_sum", sum(answer.get("expected_cost", ())))
        for i, known in self._known.items():
            strange = sum(v is not None and str(v) not in known for v in columns[i])
            if strange:
                name = (self.model.columns or [])[i]
                self.counters.add("stakes_unseen_values_total", strange, column=name)

    def show_warning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: Any = None,
    ) -> None:
        """Count a warning, and log it where it is the first from its place."""
        self.counters.add("stakes_warnings_total", category=category.__name__)
        place = category, filename, lineno
        if place not in self._warned:
            self._warned.add(place)
            log.warning("%s", message, extra={"category": category.__name__})

    def health(self) -> dict:
        """Return how the service is."""
        state = {
            "status": "ok",
            "method": self.model.method,
            "decisions": self.model.decisions,
            "rows": int(self.counters.value("stakes_rows_total")),
        }
        return state if self.watch is None else state | {"monitor": self.watch.health()}

    def close(self) -> None:
        """Let the monitor look at the rows that are left."""
        if self.watch is not None:
            self.watch.close()
