"""estimate_cost and Monitor: what a model's decisions cost, batch by batch."""

import os
import threading
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import numpy as np

from stakes.compare import as_model
from stakes.monitor._by_class import predict_shifted_cost
from stakes.monitor._chart import BETWEEN, Chart, batches_until_seen, threshold_for
from stakes.monitor._estimate import CostEstimate, predict_mean_cost, summarize_estimate
from stakes.monitor._reference import (
    Reference,
    Rows,
    as_object,
    ask,
    count_bins,
    find_reference,
    plain,
    true_positions,
    was_adapted,
)
from stakes.monitor._state import as_text, check_shapes, read_state, write_state
from stakes.tables import compare_counts, count_values
from stakes.utils._arrays import counted, quoted
from stakes.utils._files import locked, write_atomically
from stakes.utils._frames import as_frame, check_index, is_frame
from stakes.utils._sklearn import num_samples

VIEWS = "stakes.views"
MOVED = 0.01  # a column is said to have moved where chance would move any so far this seldom


def estimate_cost(
    model: Any,
    X: Any,
    *,
    cost_tensor: Any = None,
    reference: Any = None,
    level: float = 0.95,
) -> CostEstimate:
    """Return what a model's decisions on these rows will cost, their truth not yet known.

    Parameters
    ----------
    model : DecisionModel or classifier
        Fitted, with `predict` and, better, `predict_proba`. Without probabilities all that is
        known of a row is the share of each class among rows that were decided like it.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The new rows.
    cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
        Their prices, where they are known when deciding.
    reference : tuple, default=None
        ``(X, y)`` of rows that the model has not seen, with their true classes; a third entry is
        their `cost_tensor` or, where costs are known in hindsight, their `costs`. None takes what
        `fit_model` and ``stakes fit`` have kept.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    estimate : CostEstimate
        With `cost`, `low` and `high` per case, and in `others` what other decisions would cost:
        each class for everybody, and the most probable class.

    Notes
    -----
    The interval is of what will have been paid on average on these very rows. It counts two
    kinds of chance: which truth each row turns out to have, and how far the probabilities can
    be trusted, which is measured on the reference. It holds while new rows are like those of the
    reference; `Monitor` tells when they are not. Of a model that was adapted to rows without truth
    (`adapt`) the class frequencies count as unknown, even where it was not clear that they had
    shifted: they are estimated from these rows, and only rows of one class must be alike.

    Examples
    --------
    A model that says 0.2 where 0.4 would be right. It decides 0 for all, at 0.2 x 10 = 2 by its
    own word; the reference says 4:

    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from stakes.decision import CostDecisionClassifier
    >>> from stakes.monitor import estimate_cost
    >>> X, y = np.zeros((10, 1)), np.repeat([0, 1], [8, 2])
    >>> model = CostDecisionClassifier(DummyClassifier(), cost_matrix=[[0, 9], [10, 0]]).fit(X, y)
    >>> held_out = np.zeros((100, 1)), np.repeat([0, 1], [60, 40])
    >>> found = estimate_cost(model, np.zeros((50, 1)), reference=held_out)
    >>> found.stated, round(found.cost, 6), found.low < 4 < found.high
    (2.0, 4.0, True)
    """
    check_level(level)
    model = as_model(model)
    known = find_reference(model, reference)
    return _estimate(known, ask(model, X, cost_tensor), level)


def check_level(level: float) -> float:
    """Return the level of an interval, refusing what is none."""
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must be between 0 and 1: 0.95, not 95.")
    return level


def _estimate(known: Reference, rows: Rows, level: float) -> CostEstimate:
    stated = known.state(rows)
    if known.by_class is not None and rows.before is not None:
        estimate = predict_shifted_cost(stated, rows.before, known.by_class)
    else:
        estimate = predict_mean_cost(stated, known.residuals)
    return summarize_estimate(
        stated, estimate, names=known.ways[1:], level=level, bounds=known.bounds(rows)
    )


class Truth(NamedTuple):
    """Rows whose truth is known: what they are, cost, were expected to cost, and their places."""

    codes: np.ndarray
    paid: np.ndarray
    stated: np.ndarray
    proba: np.ndarray | None
    there: np.ndarray


class Monitor:
    """Watch what a model's decisions cost, batch by batch, before and after the truth is known.

    Two alarms. One needs no truth: the cost that is *expected* of a batch has changed. The other
    compares what was *paid* with what was expected, where the truth has come in. Each is false
    in a share of `false_alarms` of quiet batches.

    Parameters
    ----------
    model : DecisionModel or classifier
        As in `estimate_cost`.
    reference : tuple, default=None
        As in `estimate_cost`.
    false_alarms : float, default=0.01
        The share of quiet batches in which an alarm is given nevertheless, in the long run; of
        each of the two alarms.
    level : float, default=0.95
        Of the intervals.
    between : float, default=0.14
        How much the rows of a batch have in common beyond chance (the week, the clerk), as the
        standard deviation of what they share, in those of a row. It is what is assumed at first;
        fifteen batches of it count beside those seen, which tell themselves. 0 says for sure that
        rows are independent: changes are then seen earlier, and false alarms are many if they
        are not.

    Attributes
    ----------
    batches : list of dict
        What was found in each batch.
    reference : Reference
        What is known of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stakes.decision import CostDecisionClassifier
    >>> from stakes.monitor import Monitor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> y = (X[:, 0] + rng.normal(size=600) > 1).astype(int)
    >>> model = CostDecisionClassifier(LogisticRegression(), cost_matrix=[[0, 1], [5, 0]])
    >>> monitor = Monitor(model.fit(X[:300], y[:300]), reference=(X[300:], y[300:]))
    >>> monitor.update(rng.normal(size=(100, 1)), label="May")["alarm"]
    ''
    >>> monitor.update(rng.normal(size=(100, 1)) + 3, label="June")["notice"]
    'the expected cost has fallen'
    """

    def __init__(
        self,
        model: Any,
        *,
        reference: Any = None,
        false_alarms: float = 0.01,
        level: float = 0.95,
        between: float = BETWEEN,
    ):
        self.model = as_model(model)
        self.reference = find_reference(self.model, reference)
        threshold_for(false_alarms)  # refused where it is no rate
        self.false_alarms = false_alarms
        self.level = check_level(level)
        self.batches: list[dict] = []
        self._lock = threading.RLock()
        self._files: dict[str, str] = {}  # checksums of what was read and written
        self._texts: dict[str, tuple[dict, str]] = {}  # batches, by label, as they were written
        self.between = between
        charts = self.reference.expected, self.reference.beyond
        self._expected, self._beyond = (replace(chart, between=between) for chart in charts)
        self._bins = _nothing(self.reference.calibration["reference"])

    @property
    def threshold(self) -> float:
        """Beyond it a sum gives an alarm; it follows `false_alarms`."""
        return threshold_for(self.false_alarms)

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    # -- feeding -------------------------------------------------------------------------------

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        cost_tensor: Any = None,
        costs: Any = None,
        ids: Any = None,
    ) -> dict:
        """Take a batch of new rows, and return what was found in it.

        Parameters
        ----------
        X : DataFrame or array-like
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their true classes, None or NaN where they have not come in.
        label : str, default=None
            What to call the batch; by default its number.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            Their prices, where they are known when deciding.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision cost, where that is known in hindsight; with `y`.
        ids : array-like of shape (n_samples,), default=None
            A name for each row. What is needed of it is then kept until its truth comes in, by
            `add_truth`, without X and in as many parts as it comes.

        Returns
        -------
        batch : dict
            `label`, `n`; `expected` with `low` and `high`, the cost per case; `realised`, the
            cost of the `n_truth` rows whose truth is known, and `expected_there`, what was
            expected of them; `frequencies` of the classes as the probabilities have them;
            `decided`, the share of each decision; `moved`, the columns that have changed;
            `alarm`, in words, empty without one, and `notice`, that something costs clearly less
            than before.
        """
        if num_samples(X) == 0:
            raise ValueError("The batch has 0 rows: there is nothing to watch.")
        check_index(X=X, y=y, costs=costs)
        rows = ask(self.model, X, cost_tensor)
        truth = None if y is None else self._truth_of(rows, y, costs)  # refused before anything
        waiting = {} if ids is None else self._waiting(rows, ids, truth)
        estimate = _estimate(self.reference, rows, self.level)
        expected = self.reference.state(rows).mean[:, 0]
        stated = self.reference.probabilities(rows).mean(axis=0)
        decided = np.bincount(rows.decisions, minlength=len(self.reference.decisions)) / estimate.n
        moved = self._moved(X)
        with self._lock:
            label = str(len(self.batches) + 1 if label is None else label)
            if label in {batch["label"] for batch in self.batches}:
                raise ValueError(
                    f"There is a batch {label!r} already: choose another label, or give its truth "
                    "to add_truth."
                )
            z, changed = self._expected.update(expected, self.threshold)
            batch = {
                "label": label,
                "n": estimate.n,
                "expected": estimate.cost,
                "low": estimate.low,
                "high": estimate.high,
                "stated": estimate.stated,
                "others": estimate.others["cost"].to_dict(),
                "z": z,
                "frequencies": stated if self.reference.kind != "hindsight" else None,
                "decided": decided,
                "moved": moved,
                "changed": changed,
                "realised": None,
                "n_truth": 0,
                "expected_there": None,
                "z_truth": None,
                "broken": "",
                "waiting": waiting,
            }
            self._take_truth(batch, truth)
            self.batches.append(plain(batch))
            return plain(batch)

    def add_truth(
        self,
        X: Any,
        y: Any,
        label: Any,
        *,
        cost_tensor: Any = None,
        costs: Any = None,
        ids: Any = None,
    ) -> dict:
        """Take the truth of a batch that was seen before, and return the batch.

        Parameters
        ----------
        X : DataFrame, array-like or None
            The rows whose truth has come in; None with `ids`.
        y, cost_tensor, costs
            As in `update`.
        label : str
            Of the batch.
        ids : array-like of shape (n_samples,), default=None
            The rows, as they were named in `update`: then truth may come in instalments. Without
            them it comes once.
        """
        truth = None
        if ids is None:
            check_index(X=X, y=y, costs=costs)
            truth = self._truth_of(ask(self.model, X, cost_tensor), y, costs)
        with self._lock:
            place = next((i for i, b in enumerate(self.batches) if b["label"] == str(label)), -1)
            if place < 0:
                raise ValueError(f"There is no batch {str(label)!r}: give it to update first.")
            batch = dict(self.batches[place])
            if ids is not None:
                truth, batch["waiting"] = self._waited(batch["waiting"], ids, y)
            elif batch["n_truth"] or batch["waiting"]:
                why = "is known already" if batch["n_truth"] else "comes by ids"
                raise ValueError(f"The truth of the batch {str(label)!r} {why}.")
            self._take_truth(batch, truth)
            self.batches[place] = plain(batch)  # readers have the old one or the new one, whole
            return plain(batch)

    def _truth_of(self, rows: Rows, y: Any, costs: Any) -> Truth | None:
        """Return what is known of the rows whose truth is known; None without any."""
        y = as_object(y)
        if len(y) != len(rows.decisions):
            raise ValueError(
                f"The batch has {counted(len(rows.decisions), 'row')}, but {len(y)} true classes."
            )
        there = np.array([v is not None for v in y], dtype=bool)
        if not there.any():
            return None
        rows = Rows(*[None if part is None else part[there] for part in rows])  # type: ignore[arg-type]
        codes = true_positions(y[there], self.model.classes_)
        costs = None if costs is None else np.asarray(costs)[there]
        paid = self.reference.paid(rows, codes, costs)[:, 0]
        return Truth(codes, paid, self.reference.state(rows).mean[:, 0], rows.proba, there)

    def _waiting(self, rows: Rows, ids: Any, truth: Truth | None) -> dict:
        """Return what is needed of each row to take its truth later, by its name."""
        if self.reference.kind == "hindsight":
            raise ValueError(
                "The costs are known in hindsight: truth by ids needs prices known before."
            )
        names = [str(name) for name in as_object(ids)]
        if len(names) != len(rows.decisions) or len(set(names)) != len(names):
            raise ValueError(
                f"ids must name each of the {counted(len(rows.decisions), 'row')} once, but there "
                f"are {len(set(names))} different ones of {len(names)}."
            )
        n, k = len(names), len(self.reference.classes)
        paid = [self.reference.paid(rows, np.full(n, t))[:, 0] for t in range(k)]
        stated, proba = self.reference.state(rows).mean[:, 0], rows.proba
        known = np.zeros(n, dtype=bool) if truth is None else truth.there
        each = zip(names, stated, np.transpose(paid), known)
        return {
            name: [expected, of.tolist(), None if proba is None else proba[i].tolist()]
            for i, (name, expected, of, done) in enumerate(each)
            if not done
        }

    def _waited(self, waiting: dict, ids: Any, y: Any) -> tuple[Truth | None, dict]:
        """Return the truth of some rows that were waiting for it, and the rows that go on waiting."""
        y, names = as_object(y), [str(name) for name in as_object(ids)]
        strange = [name for name in names if name not in waiting]
        if strange or len(set(names)) != len(names) or len(y) != len(names):
            why = f"{quoted(strange[:5])} {'is' if len(strange) == 1 else 'are'} not waiting"
            raise ValueError(
                (why if strange else "ids and y must name each row once, as many of both")
                + ": give rows of this batch whose truth has not come in."
            )
        given = [(name, value) for name, value in zip(names, y) if value is not None]
        if not given:
            return None, waiting
        codes = true_positions([value for _, value in given], self.model.classes_)
        rows = [waiting[name] for name, _ in given]
        paid = np.array([of[code] for (_, of, _), code in zip(rows, codes)])
        proba = None if rows[0][2] is None else np.array([row[2] for row in rows])
        done = {name for name, _ in given}
        rest = {name: row for name, row in waiting.items() if name not in done}
        return Truth(codes, paid, np.array([row[0] for row in rows]), proba, codes >= 0), rest

    def _take_truth(self, batch: dict, truth: Truth | None) -> None:
        if truth is not None:
            n, before = len(truth.codes), batch["n_truth"]
            told = float(truth.stated.mean() + self.reference.residuals.mean[0])
            for name, value in (("realised", truth.paid.mean()), ("expected_there", told)):
                batch[name] = float((before * (batch[name] or 0.0) + n * value) / (before + n))
            batch["n_truth"] = before + n
            beyond = self._beyond.update(truth.paid - truth.stated, self.threshold)
            batch["z_truth"], broken = beyond
            batch["broken"] = broken or batch["broken"]
            if truth.proba is not None:
                counts = count_bins(self.reference.calibration["edges"], truth.proba, truth.codes)
                self._bins = [
                    [[a + b for a, b in zip(*pair)] for pair in zip(*both)]
                    for both in zip(self._bins, counts)
                ]
        batch["alarm"], batch["notice"] = (self._said(batch, side) for side in ("up", "down"))

    def _moved(self, X: Any) -> list[dict]:
        """Return the columns whose values have changed, the one that moved farthest first."""
        frame, histograms = as_frame(X), self.reference.columns
        if not histograms or not is_frame(frame):
            return []
        rows = []
        for histogram in histograms:
            if histogram["name"] in frame.columns:
                counts = count_values(histogram, frame[histogram["name"]])
                moved, p = compare_counts(histogram["counts"], counts)
                # Of so many columns some would move by chance: Bonferroni's correction.
                p = min(1.0, p * len(histograms))
                rows.append({"column": histogram["name"], "moved": moved, "p_value": p})
        return sorted((f for f in rows if f["p_value"] < MOVED), key=lambda f: -f["moved"])

    def _said(self, batch: dict, side: str) -> str:
        """Return what has risen, or fallen, in words; what has fallen is no alarm."""
        words = {
            "up": ("the expected cost has risen", "more is paid than was expected"),
            "down": ("the expected cost has fallen", "less is paid than was expected"),
        }[side]
        seen = (batch["changed"], batch["broken"])
        return "; ".join(said for said, finding in zip(words, seen) if finding == side)

    # -- reading -------------------------------------------------------------------------------

    @property
    def alarms(self) -> list[dict]:
        """The batches with an alarm: `label` and what it says."""
        return [{"label": b["label"], "alarm": b["alarm"]} for b in self.batches if b["alarm"]]

    @property
    def table(self) -> Any:
        """One row per batch: expected cost with its interval, realised cost, alarm."""
        import pandas as pd

        columns = [
            "n",
            "expected",
            "low",
            "high",
            "realised",
            "n_truth",
            "expected_there",
            "alarm",
            "notice",
        ]
        rows = [[batch[name] for name in columns] for batch in self.batches]
        index = pd.Index([batch["label"] for batch in self.batches], name="batch")
        return pd.DataFrame(rows, index=index, columns=columns)

    def calibration(self) -> Any:
        """Return stated and observed shares by class and bin, in the reference and since.

        Returns
        -------
        table : DataFrame
            `class`, `stated` and `observed` of the reference with its `n`, and `stated_now`,
            `observed_now` and `n_now` of the batches whose truth is known.
        """
        import pandas as pd

        rows = []
        pairs = zip(self.reference.classes, self.reference.calibration["reference"], self._bins)
        for label, then, now in pairs:
            for n, p, hits, n_now, p_now, hits_now in zip(*then, *now):
                sides = ((n, p, hits), (n_now, p_now, hits_now))
                shares = [(p / n, h / n, n) if n else (np.nan, np.nan, 0) for n, p, h in sides]
                rows.append([label, *shares[0], *shares[1]])
        names = ["class", "stated", "observed", "n", "stated_now", "observed_now", "n_now"]
        return pd.DataFrame(rows, columns=names)

    def batches_until_seen(self, shift: float, n_rows: int, *, truth: bool = False) -> int | None:
        """Return within how many batches a change of the mean cost is seen, in nine of ten cases.

        Parameters
        ----------
        shift : float
            By how much the mean cost per case changes, from the next batch on.
        n_rows : int
            Rows of a batch.
        truth : bool, default=False
            Whether it is what is paid beyond what was expected, and the truth of all rows comes
            in; else it is the expected cost.

        Returns
        -------
        n_batches : int or None
            None where an alarm comes about as soon with no change at all, or not within 200.
        """
        chart = self._beyond if truth else self._expected
        return batches_until_seen(chart, shift, n_rows, self.threshold)

    # -- keeping -------------------------------------------------------------------------------

    def to_dict(self) -> dict:
        """Return the whole state as plain values; `load` goes on from there."""
        with self._lock:
            return {**self._state(), "batches": plain(self.batches)}

    def _state(self) -> dict:
        """Return the state without the batches."""
        return {
            "false_alarms": self.false_alarms,
            "level": self.level,
            "between": self.between,
            "reference": self.reference.to_dict(),
            "expected": plain(vars(self._expected)),
            "beyond": plain(vars(self._beyond)),
            "bins": self._bins,
        }

    def _as_texts(self) -> list[str]:
        """Return the batches as JSON; a batch that changes is replaced, so others are as they were."""
        for batch in self.batches:
            label = batch["label"]
            if label not in self._texts or self._texts[label][0] is not batch:
                self._texts[label] = batch, as_text(batch)
        return [self._texts[batch["label"]][1] for batch in self.batches]

    def save(self, path: str | os.PathLike) -> None:
        """Write the state as JSON, whole or not at all; some kilobytes, without any row.

        Rows that were named and wait for their truth take some sixty bytes more, each.

        A file that this monitor was loaded from, or has written, is refused where somebody else
        has written it since: load it again.
        """
        place = os.path.realpath(path)
        with self._lock, locked(os.path.dirname(place)):
            known = self._files.get(place)
            self._files[place] = write_state(path, self._state(), self._as_texts(), known)

    @classmethod
    def load(cls, path: str | os.PathLike, model: Any) -> "Monitor":
        """Go on from a state that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        model : DecisionModel or classifier
            The same model.
        """
        state, checksum = read_state(path)
        try:
            reference = Reference.from_dict(state["reference"])
            given = {name: state[name] for name in ("false_alarms", "level", "between")}
            made = cls(model, reference=reference, **given)
            made._expected, made._beyond = Chart(**state["expected"]), Chart(**state["beyond"])
            made._bins, made.batches = state["bins"], state["batches"]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise ValueError(f"{path} is not a state of this version's monitor.") from None
        made._files[os.path.realpath(path)] = checksum
        check_shapes(path, reference)
        known = made.model
        if [str(c) for c in reference.classes] != [str(c) for c in known.classes]:
            raise ValueError(f"{path} is the state of another model: its classes are others.")
        if (reference.by_class is not None) != was_adapted(known):
            raise ValueError(
                f"{path} is the state of another model: one of them was adapted to new rows."
            )
        if known.reference is not None and not _same(reference, find_reference(known)):
            raise ValueError(
                f"{path} is the state of another model: it was compared with other rows or prices."
            )
        return made

    def to_html(self, path: str | os.PathLike | None = None, **options: Any) -> str | None:
        """Write the page of the monitor, or return it as text.

        Parameters
        ----------
        path : path-like, default=None
            Where to; None returns the page.
        **options : dict
            `title`, `currency` and `command`, for printing.
        """
        views = list(entry_points(group=VIEWS, name="html"))
        if not views:
            raise RuntimeError("The page is not installed: install stakes itself, by pip.")
        text = views[0].load()(self, **options)
        if path is None:
            return text
        write_atomically(path, text)
        return None


def _same(one: Reference, other: Reference) -> bool:
    """Return whether two references are of the same rows, prices and statements."""
    parts = [
        (
            r.cost_matrix,
            r.frequencies,
            r.residuals.n,
            r.residuals.mean,
            list(vars(r.expected).values()),
        )
        for r in (one, other)
    ]
    return all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-9)
        for a, b in zip(*parts)
    )


def _nothing(bins: list) -> list:
    return [[[0.0 for _ in part] for part in parts] for parts in bins]
