"""What is known of a model from rows that it has not seen: a few numbers, enough to watch it."""

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stakes._learning.votes import one_hot
from stakes.compare import DecisionModel
from stakes.monitor._by_class import ByClass, summarize_classes
from stakes.monitor._chart import Chart
from stakes.monitor._estimate import (
    Residuals,
    Stated,
    compare_with_truth,
    state_costs,
    vary_between_models,
)
from stakes.tables import column_histograms
from stakes.utils._arrays import finite_array, quoted
from stakes.utils._frames import as_frame, check_index, is_frame, one_column
from stakes.utils._sklearn import num_samples

N_BINS = 10
MOST_PROBABLE = "most probable"
# What models of other folds expect on average differs from what the final one does by about a tenth
# of the spread: of their rows no more count than would be as unsure.
WORTH = 100


class Rows(NamedTuple):
    """What a model says of some rows.

    Attributes
    ----------
    decisions : ndarray of shape (n,)
        Positions in the classes.
    proba : ndarray of shape (n, K) or None
        Class probabilities, where the model has any.
    expected : ndarray of shape (n, K) or None
        The costs that it expects of each decision, where it learned them in hindsight.
    cost_tensor : ndarray of shape (n, K, K) or None
        The prices of these rows, where they are known when deciding.
    before : ndarray of shape (n, K) or None
        The probabilities before the model was adapted to new rows, where it was.
    """

    decisions: np.ndarray
    proba: np.ndarray | None = None
    expected: np.ndarray | None = None
    cost_tensor: np.ndarray | None = None
    before: np.ndarray | None = None


def ask(model: DecisionModel, X: Any, cost_tensor: Any = None) -> Rows:
    """Return what a model says of rows."""
    if cost_tensor is not None:
        cost_tensor = finite_array(cost_tensor, name="cost_tensor")
    prepared = model.prepare(X)
    said = model.say(prepared, cost_tensor, proba=True)
    decided = model.settle(said, prepared, cost_tensor)
    before = None
    if was_adapted(model) and said.proba is not None:
        assert model.adapted is not None
        before = model.policy.having(priors=np.array(model.adapted.before)).state(said.proba)
    expected = decided.expected if model.kind == "hindsight" else None
    if cost_tensor is not None:
        cost_tensor = model.policy.filled(cost_tensor)
    return Rows(decided.positions, model.stated(said), expected, cost_tensor, before)


def was_adapted(model: DecisionModel) -> bool:
    """Return whether class frequencies were estimated anew from rows without truth."""
    return model.adapted is not None and model.adapted.estimated


@dataclass
class Reference:
    """What is known of a model from rows that it has not seen.

    Made by `make_reference`. All of it is small: no row of the data is kept.

    Attributes
    ----------
    classes, decisions : list
        The labels of what may be true, and of what can be decided.
    kind : {"class", "deciding", "hindsight"}
        Which kind of costs the model was fitted with.
    cost_matrix : ndarray of shape (n_classes, n_decisions)
        The prices, or their averages by true class.
    ways : list of str
        What could be decided: by the model, one decision for all, the most probable class.
    residuals : Residuals
        What each way cost beyond what was expected.
    by_decision : ndarray of shape (n_decisions, n_classes)
        The share of each class (or its mean costs, where they are known in hindsight) among rows
        of each decision: all that is known of a method without probabilities.
    has_proba : bool
        Whether the model has probabilities.
    expected, beyond : Chart
        What the model's decisions were expected to cost, and what they cost beyond it: where
        the charts of a monitor begin.
    calibration : dict
        For each class, the edges of its bins, and in each the rows, the sum of probabilities and
        the rows that were of the class.
    frequencies : ndarray of shape (n_classes,)
        The share of each class.
    columns : list of dict
        Histograms of the columns.
    by_class : ByClass or None
        What rows of each class are like, where the model was adapted to rows without truth: the
        class frequencies then count as unknown.
    """

    classes: list
    decisions: list
    kind: str
    cost_matrix: np.ndarray
    ways: list
    residuals: Residuals
    by_decision: np.ndarray
    has_proba: bool
    expected: Chart
    beyond: Chart
    calibration: dict
    frequencies: np.ndarray
    columns: list
    by_class: ByClass | None = None

    def state(self, rows: Rows) -> Stated:
        """Return what is expected of some rows, for each way to decide."""
        if self.kind == "hindsight":
            expected = self.by_decision[rows.decisions] if rows.expected is None else rows.expected
            mean = np.take_along_axis(expected, self._decisions(rows), axis=1)
            shape = np.ones_like(mean)
            # Of costs learned in hindsight only the spread on the reference is known.
            return Stated(mean, shape * self.residuals.variance, shape * self.residuals.third)
        prices = self.cost_matrix if rows.cost_tensor is None else rows.cost_tensor
        return state_costs(self.probabilities(rows), prices, self._decisions(rows))

    def probabilities(self, rows: Rows) -> np.ndarray:
        """Return class probabilities; without any, the shares of the classes by decision."""
        return self.by_decision[rows.decisions] if rows.proba is None else rows.proba

    def _decisions(self, rows: Rows) -> np.ndarray:
        """Return what each way decides, as positions, (n, n_ways)."""
        n, k = len(rows.decisions), len(self.decisions)
        same = np.broadcast_to(np.arange(k), (n, k))
        decisions = [rows.decisions[:, None], same]
        if self.has_proba:
            decisions.append(np.asarray(rows.proba).argmax(axis=1)[:, None])
        return np.concatenate(decisions, axis=1)

    def paid(self, rows: Rows, y: np.ndarray, costs: Any = None) -> np.ndarray:
        """Return what each way to decide cost, (n, n_ways), the truth known."""
        decided = self._decisions(rows)
        if self.kind == "hindsight":
            if costs is None:
                raise ValueError(
                    "The costs are known in hindsight: give the costs of the rows with their truth."
                )
            known = finite_array(costs, name="costs")
            beside = self.cost_matrix[y, known.shape[1] :]  # abstaining, which has one price
            return np.take_along_axis(np.column_stack([known, beside]), decided, axis=1)
        if rows.cost_tensor is None:
            return self.cost_matrix[y[:, None], decided]
        return rows.cost_tensor[np.arange(len(y))[:, None], y[:, None], decided]

    def bounds(self, rows: Rows) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the least and the most that each way can cost on average."""
        if self.kind == "hindsight":
            return None
        decided = self._decisions(rows)
        if rows.cost_tensor is None:
            low, high = (end[decided] for end in _ends(self.cost_matrix))
        else:
            ends = _ends(rows.cost_tensor)
            low, high = (np.take_along_axis(end, decided, axis=1) for end in ends)
        return low.mean(axis=0), high.mean(axis=0)

    def to_dict(self) -> dict:
        """Return plain values, fit for JSON."""
        state = asdict(replace(self, by_class=None))
        state["residuals"] = self.residuals._asdict()
        state["by_class"] = None if self.by_class is None else self.by_class._asdict()
        return plain(state)

    @classmethod
    def from_dict(cls, state: dict) -> "Reference":
        """Return what `to_dict` was made of."""
        arrays = {name: np.array(state[name]) for name in ("cost_matrix", "by_decision")}
        residuals: dict = {k: np.array(v) for k, v in state["residuals"].items()}
        for name in ("n", "n_models"):
            residuals[name] = float(residuals.get(name, 1.0))
        kept = state["by_class"]
        by_class = None if kept is None else ByClass(**{k: np.array(v) for k, v in kept.items()})
        return cls(
            **{
                **state,
                **arrays,
                "frequencies": np.array(state["frequencies"]),
                "residuals": Residuals(**residuals),
                "by_class": by_class,
                "expected": Chart(**state["expected"]),
                "beyond": Chart(**state["beyond"]),
            }
        )


def _ends(prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return prices.min(axis=-2), prices.max(axis=-2)


def plain(value: Any) -> Any:
    """Return nested values as JSON has them."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def make_reference(
    model: Any,
    rows: Rows,
    y: np.ndarray,
    *,
    costs: Any = None,
    columns: Any = (),
    weight: np.ndarray | None = None,
) -> Reference:
    """Return what rows of known truth, which a model has not seen, tell of it.

    Parameters
    ----------
    model : DecisionModel
        Fitted.
    rows : Rows
        What it says of them.
    y : ndarray of shape (n,)
        Their classes, as positions.
    costs : array-like of shape (n, K), default=None
        What each decision cost, where that is known in hindsight alone.
    columns : list of dict
        Histograms of the columns.
    weight : ndarray of shape (n,), default=None
        How often each row counts.
    """
    kind, matrix, labels = model.kind, model.cost_matrix, model.classes
    k, decisions = len(labels), model.decisions
    if len(y) < 2:
        raise ValueError("A reference needs 2 rows or more, and better some hundreds.")
    each = one_hot(y, k) if kind != "hindsight" else np.asarray(costs, dtype=float)
    overall = np.average(each, axis=0, weights=weight)
    sums, counts = np.zeros((len(decisions), each.shape[1])), np.zeros(len(decisions))
    counted = np.ones(len(y)) if weight is None else weight
    np.add.at(sums, rows.decisions, each * counted[:, None])
    np.add.at(counts, rows.decisions, counted)
    names = [str(label) for label in decisions]
    ways = ["model", *names, *([MOST_PROBABLE] if rows.proba is not None else [])]
    none = np.zeros(len(ways))
    made = Reference(
        classes=labels,
        decisions=decisions,
        kind=kind,
        cost_matrix=matrix,
        ways=ways,
        residuals=Residuals(len(y), none, none, none, none),  # until they are known, below
        by_decision=(sums + overall) / (counts[:, None] + 1.0),  # as if one more row was average
        has_proba=rows.proba is not None,
        expected=Chart(0, 0, 0, 0),
        beyond=Chart(0, 0, 0, 0),
        calibration=_bins(rows, y, k, weight),
        frequencies=np.bincount(y, counted, minlength=k) / counted.sum(),
        columns=list(columns),
    )
    stated, paid = made.state(rows), made.paid(rows, y, costs)
    made.residuals = compare_with_truth(stated, paid, weight)
    made.expected = Chart.of(stated.mean[:, 0], weight)
    made.beyond = Chart.of(paid[:, 0] - stated.mean[:, 0], weight)
    return made


def _bins(rows: Rows, y: np.ndarray, k: int, weight: np.ndarray | None) -> dict:
    """Return the bins in which the calibration of each class is counted."""
    if rows.proba is None:
        return {"edges": [], "reference": []}
    shares = np.arange(1, N_BINS) / N_BINS
    edges = [np.unique(np.quantile(rows.proba[:, c], shares)).tolist() for c in range(k)]
    return {"edges": edges, "reference": count_bins(edges, rows.proba, y, weight)}


def count_bins(
    edges: list, proba: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
) -> list:
    """Return for each class and bin the rows, the sum of probabilities and the rows of the class."""
    counts = []
    for c, inner in enumerate(edges):
        code = np.searchsorted(inner, proba[:, c], side="right")
        parts = (np.ones(len(y)), proba[:, c], (y == c).astype(float))
        counted = [p if weight is None else p * weight for p in parts]
        counts.append([np.bincount(code, p, minlength=len(inner) + 1).tolist() for p in counted])
    return counts


def find_reference(model: DecisionModel, reference: Any = None) -> Reference:
    """Return the reference of a model: the one given, or what it has kept itself.

    Parameters
    ----------
    model : DecisionModel
        Fitted.
    reference : Reference, tuple or None
        ``(X, y)`` or ``(X, y, cost_tensor or costs)`` of rows that the model has not seen; None
        takes what `fit_model` has kept.
    """
    if isinstance(reference, Reference):
        return reference
    if reference is not None:
        return _labelled(model, *reference)
    kept = model.reference
    if kept is None:
        raise ValueError(
            "The model keeps nothing of rows that it has not seen: give reference=(X, y) of such "
            "rows, or call stakes.compare.add_reference after fit_model."
        )
    policy, y, tensor = model.policy, kept.y, kept.cost_tensor
    proba = None if kept.proba is None else kept.proba.astype(np.float64)
    filled = None if tensor is None else policy.filled(tensor)
    rows, weight = Rows(kept.decisions, proba, kept.expected, filled), None
    if model.adapted is not None and policy.priors is not None and proba is not None:
        # The rows of the old population, weighted to be like those of the new one.
        there = kept.frequencies
        here = model.policy_of_reference()
        decided = here.decide(proba, tensor).positions
        rows = rows._replace(proba=here.state(proba), decisions=decided)
        weight = (policy.priors / np.where(there > 0, there, 1.0))[y]
    made = make_reference(model, rows, y, costs=kept.costs, columns=kept.columns, weight=weight)
    made.expected = made.expected.worth(WORTH)
    which = np.zeros(len(y), dtype=np.intp) if kept.fold is None else kept.fold
    between = vary_between_models(made.state(rows).mean, y, which, weight)
    made.residuals = made.residuals._replace(between=between, n_models=float(which.max() + 1))
    if was_adapted(model) and proba is not None:
        beyond = made.paid(rows, y) - made.state(rows).mean
        made.by_class = summarize_classes(proba, beyond, y, which)
    return made


def _labelled(model: DecisionModel, X: Any, y: Any, prices: Any = None) -> Reference:
    kind = model.kind
    check_index(X=X, y=y, prices=prices)
    rows = ask(model, X, prices if kind == "deciding" else None)
    codes = true_positions(y, model.classes_)
    if len(codes) != num_samples(X):
        raise ValueError(f"The reference has {num_samples(X)} rows, but {len(codes)} classes.")
    frame = as_frame(X)
    columns = column_histograms(frame) if is_frame(frame) else []
    costs = prices if kind == "hindsight" else None
    return make_reference(model, rows, codes, costs=costs, columns=columns)


def true_positions(y: Any, classes: np.ndarray) -> np.ndarray:
    """Return true classes as positions; one that the model does not know is refused.

    Classes are told by their value (True and 1.0 are 1), else by their text.

    Examples
    --------
    >>> from stakes.monitor._reference import true_positions
    >>> true_positions([True, False], np.array([0, 1])), true_positions(["1"], np.array([0, 1]))
    (array([1, 0]), array([1]))
    """
    values, codes = np.unique(as_object(y).astype(str), return_inverse=True)
    seen = dict(zip(codes.tolist(), as_object(y).tolist()))
    by_value = {label: place for place, label in enumerate(classes.tolist())}
    by_text = {str(label): place for place, label in enumerate(classes.tolist())}
    positions = [by_value.get(seen[c], by_text.get(values[c])) for c in range(len(values))]
    strange = [text for text, place in zip(values.tolist(), positions) if place is None]
    if strange:
        raise ValueError(
            f"The truth has {quoted(strange)}, which the model does not know: its classes are "
            f"{quoted(classes)}."
        )
    return np.array(positions, dtype=np.intp)[codes]


def as_object(y: Any) -> np.ndarray:
    """Return a column as plain Python values, None where it is empty: None, NaN, NaT and pandas' NA."""
    import pandas as pd

    values = np.array(one_column(y), dtype=object)
    values[pd.isna(values)] = None
    return values
