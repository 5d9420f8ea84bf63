"""estimate_cost and Monitor: what a model's decisions cost, batch by batch."""

import json
import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from stakes.compare import as_model
from stakes.monitor._by_class import predict_shifted_cost
from stakes.monitor._chart import Chart, batches_until_seen, threshold_for
from stakes.monitor._estimate import CostEstimate, predict_mean_cost, summarize_estimate
from stakes.monitor._reference import (
    Reference,
    Rows,
    ask,
    count_bins,
    find_reference,
    plain,
    true_positions,
    was_adapted,
)
from stakes.tables import compare_counts, count_values
from stakes.utils._arrays import counted
from stakes.utils._files import write_atomically
from stakes.utils._frames import as_frame, check_index, is_frame, one_column
from stakes.utils._sklearn import num_samples

FORMAT, OLD_FORMAT = "stakes-monitor-2", "stakes-monitor-1"
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
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must be between 0 and 1.")
    model = as_model(model)
    known = find_reference(model, reference)
    return _estimate(known, ask(model, X, cost_tensor), level)


def _estimate(known: Reference, rows: Rows, level: float) -> CostEstimate:
    stated = known.state(rows)
    if known.by_class is not None and rows.before is not None:
        found = predict_shifted_cost(stated, rows.before, known.by_class)
    else:
        found = predict_mean_cost(stated, known.residuals)
    return summarize_estimate(
        stated, found, names=known.ways[1:], level=level, bounds=known.bounds(rows)
    )


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
    >>> quiet = monitor.update(rng.normal(size=(100, 1)), label="May")
    >>> quiet["alarm"], bool(monitor.update(rng.normal(size=(100, 1)) + 3, label="June")["alarm"])
    ('', True)
    """

    def __init__(
        self,
        model: Any,
        *,
        reference: Any = None,
        false_alarms: float = 0.01,
        level: float = 0.95,
    ):
        self.model = as_model(model)
        self.reference = find_reference(self.model, reference)
        self.false_alarms = false_alarms
        self.level = level
        self.threshold = threshold_for(false_alarms)
        self.batches: list[dict] = []
        self._expected = Chart(**vars(self.reference.expected))
        self._beyond = Chart(**vars(self.reference.beyond))
        self._bins = _nothing(self.reference.calibration["reference"])

    # -- feeding -------------------------------------------------------------------------------

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        cost_tensor: Any = None,
        costs: Any = None,
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

        Returns
        -------
        batch : dict
            `label`, `n`; `expected` with `low` and `high`, the cost per case; `realised`, the
            cost of the `n_truth` rows whose truth is known, and `expected_there`, what was
            expected of them; `frequencies` of the classes as the probabilities have them;
            `decided`, the share of each decision; `moved`, the columns that have changed;
            `alarm`, in words, empty without one.
        """
        if num_samples(X) == 0:
            raise ValueError("The batch has 0 rows: there is nothing to watch.")
        check_index(X=X, y=y, costs=costs)
        label = str(len(self.batches) + 1 if label is None else label)
        if label in {batch["label"] for batch in self.batches}:
            raise ValueError(
                f"There is a batch {label!r} already: choose another label, or give its truth to "
                "add_truth."
            )
        rows = ask(self.model, X, cost_tensor)
        truth = None if y is None else self._truth_of(rows, y, costs)  # refused before anything
        found = _estimate(self.reference, rows, self.level)
        expected = self.reference.state(rows).mean[:, 0]
        z, changed = self._expected.update(expected, self.threshold)
        k = len(self.reference.decisions)
        batch = {
            "label": label,
            "n": found.n,
            "expected": found.cost,
            "low": found.low,
            "high": found.high,
            "stated": found.stated,
            "others": found.others["cost"].to_dict(),
            "z": z,
            "frequencies": self.reference.probabilities(rows).mean(axis=0)
            if self.reference.kind != "hindsight"
            else None,
            "decided": np.bincount(rows.decisions, minlength=k) / found.n,
            "moved": self._moved(X),
            "changed": changed,
            "realised": None,
            "n_truth": 0,
            "expected_there": None,
            "z_truth": None,
            "broken": "",
        }
        self.batches.append(batch)
        self._take_truth(batch, truth)
        batch["alarm"] = self._said(batch)
        return plain(batch)

    def add_truth(
        self, X: Any, y: Any, label: Any, *, cost_tensor: Any = None, costs: Any = None
    ) -> dict:
        """Take the truth of a batch that was seen before, and return the batch.

        The parameters are those of `update`; X are the rows whose truth has come in.
        """
        check_index(X=X, y=y, costs=costs)
        known = [batch for batch in self.batches if batch["label"] == str(label)]
        if not known:
            raise ValueError(f"There is no batch {str(label)!r}: give it to update first.")
        batch = known[0]
        if batch["n_truth"]:
            raise ValueError(f"The truth of the batch {str(label)!r} is known already.")
        self._take_truth(batch, self._truth_of(ask(self.model, X, cost_tensor), y, costs))
        batch["alarm"] = self._said(batch)
        return plain(batch)

    def _truth_of(self, rows: Rows, y: Any, costs: Any) -> tuple | None:
        """Return the rows whose truth is known, their classes and what they cost; None without any."""
        y = one_column(y)
        if len(y) != len(rows.decisions):
            raise ValueError(
                f"The batch has {counted(len(rows.decisions), 'row')}, but {len(y)} true classes."
            )
        there = np.array([not (v is None or v != v) for v in y.tolist()], dtype=bool)
        if not there.any():
            return None
        rows = Rows(*[None if part is None else part[there] for part in rows])  # type: ignore[arg-type]
        codes = true_positions(y[there], self.model.classes_)
        costs = None if costs is None else np.asarray(costs)[there]
        return rows, codes, self.reference.paid(rows, codes, costs)[:, 0]

    def _take_truth(self, batch: dict, truth: tuple | None) -> None:
        if truth is None:
            return
        rows, codes, paid = truth
        stated = self.reference.state(rows).mean[:, 0]
        batch["n_truth"] = len(codes)
        batch["realised"] = float(paid.mean())
        batch["expected_there"] = float(stated.mean() + self.reference.residuals.mean[0])
        batch["z_truth"], batch["broken"] = self._beyond.update(paid - stated, self.threshold)
        if rows.proba is not None:
            counts = count_bins(self.reference.calibration["edges"], rows.proba, codes)
            self._bins = [
                [[a + b for a, b in zip(*pair)] for pair in zip(*both)]
                for both in zip(self._bins, counts)
            ]

    def _moved(self, X: Any) -> list[dict]:
        """Return the columns whose values have changed, the one that moved farthest first."""
        frame, histograms = as_frame(X), self.reference.columns
        if not histograms or not is_frame(frame):
            return []
        found = []
        for histogram in histograms:
            if histogram["name"] in frame.columns:
                counts = count_values(histogram, frame[histogram["name"]])
                moved, p = compare_counts(histogram["counts"], counts)
                # Of so many columns some would move by chance: Bonferroni's correction.
                p = min(1.0, p * len(histograms))
                found.append({"column": histogram["name"], "moved": moved, "p_value": p})
        return sorted((f for f in found if f["p_value"] < MOVED), key=lambda f: -f["moved"])

    def _said(self, batch: dict) -> str:
        """Return what the alarms of a batch mean, in words."""
        said = []
        if batch["changed"]:
            said.append(
                f"the expected cost has {'risen' if batch['changed'] == 'up' else 'fallen'}"
            )
        if batch["broken"]:
            more = "more" if batch["broken"] == "up" else "less"
            said.append(f"{more} is paid than was expected")
        return "; ".join(said)

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

        found = []
        pairs = zip(self.reference.classes, self.reference.calibration["reference"], self._bins)
        for label, then, now in pairs:
            for n, p, hits, n_now, p_now, hits_now in zip(*then, *now):
                sides = ((n, p, hits), (n_now, p_now, hits_now))
                shares = [(p / n, h / n, n) if n else (np.nan, np.nan, 0) for n, p, h in sides]
                found.append([label, *shares[0], *shares[1]])
        names = ["class", "stated", "observed", "n", "stated_now", "observed_now", "n_now"]
        return pd.DataFrame(found, columns=names)

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
            None where the change is too small to be seen.
        """
        chart = self._beyond if truth else self._expected
        return batches_until_seen(
            shift,
            chart.spread(),
            n_rows,
            n_before=chart.n,
            false_alarms=self.false_alarms,
            skew=chart.skewness(),
        )

    # -- keeping -------------------------------------------------------------------------------

    def to_dict(self) -> dict:
        """Return the whole state as plain values; `load` goes on from there."""
        return {
            "format": FORMAT,
            "false_alarms": self.false_alarms,
            "level": self.level,
            "reference": self.reference.to_dict(),
            "expected": vars(self._expected),
            "beyond": vars(self._beyond),
            "bins": self._bins,
            "batches": plain(self.batches),
        }

    def save(self, path: str | os.PathLike) -> None:
        """Write the state as JSON, whole or not at all; some kilobytes, without any row."""
        write_atomically(path, json.dumps(self.to_dict(), ensure_ascii=False) + "\n")

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
        found = _read_state(path)
        try:
            if found["format"] == OLD_FORMAT:  # of when decisions were classes
                found["reference"]["decisions"] = found["reference"]["classes"]
            reference = Reference.from_dict(found["reference"])
            made = cls(
                model,
                reference=reference,
                false_alarms=found["false_alarms"],
                level=found["level"],
            )
            made._expected, made._beyond = Chart(**found["expected"]), Chart(**found["beyond"])
            made._bins, made.batches = found["bins"], found["batches"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(
                f"{path} is not a state of a monitor that stakes has saved."
            ) from None
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


def _read_state(path: str | os.PathLike) -> dict:
    """Return the content of a file that `Monitor.save` wrote, now or with an older version."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        written = found["format"]
        known = written.startswith("stakes-monitor-")
    except (ValueError, KeyError, TypeError, AttributeError):
        known = False
    if not known:
        raise ValueError(f"{path} is not a state of a monitor that stakes has saved.")
    if written not in (FORMAT, OLD_FORMAT):
        raise ValueError(
            f"{path} is in the format {written}, and this version of stakes reads {FORMAT}: begin a "
            "new monitor, or go on with the version that saved it."
        )
    return found
