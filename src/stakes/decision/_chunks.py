"""Learning a partition from chunks: one histogram per parameter, memory that stays flat."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from stakes.costs import Costs, check_cost_matrix, check_costs
from stakes.decision._expected import decide
from stakes.decision._histogram import DEFAULT_BINS, SweepHistogram
from stakes.decision._rule import check_examples
from stakes.decision._sweep import Examples, Standing
from stakes.utils._arrays import quoted


def fit_in_chunks(rule: Any, chunks: Any, n_bins: int = DEFAULT_BINS) -> None:
    """Fit a rule of a coordinate descent on chunks that are read again for each parameter."""
    if rule.shrink or rule.n_restarts:
        raise ValueError("fit_chunks makes one search: set shrink=False and n_restarts=0.")
    rule.shrunk_ = False
    counts, total = _survey(rule, chunks)
    order = np.argsort(-counts, kind="stable")
    family = rule._family(np.eye(len(counts)))
    parameters = family.initial()
    path: list[float] = []
    for _ in range(rule.n_passes):
        moved = False
        for coordinate in family.coordinates(order):
            histogram, now = _one_histogram(rule, chunks, parameters, coordinate, n_bins)
            path = path or [now]
            value, cost = histogram.best_value()
            if cost < now - 1e-12 * abs(now):
                parameters[coordinate] = {
                    "shift": parameters[coordinate] + value,
                    "scale": parameters[coordinate] * value,
                    "set": value,
                }[family.moves]
                moved = True
        path.append(min(cost, now))
        if not moved:
            break
    rule._set_parameters(family, parameters)
    rule.path_ = np.asarray(path) / total
    before = after = 0.0
    for proba, costs, weight in _checked(rule, chunks):
        for_all = np.ones(len(proba)) if weight is None else weight
        before += for_all @ costs.of(decide(proba, rule.cost_matrix_))
        after += for_all @ costs.of(rule._decide_learned(proba, None))
    rule.initial_cost_, rule.cost_ = before / total, after / total


def _one_histogram(
    rule: Any, chunks: Any, parameters: np.ndarray, coordinate: Any, n_bins: int
) -> tuple[SweepHistogram, float]:
    """Read all chunks once; return the histogram of a coordinate and the cost at present."""
    histogram, now = None, 0.0
    for proba, costs, weight in _checked(rule, chunks):
        family = rule._family(proba)
        examples = Examples(costs, weight)
        standing = Standing(family.scores(parameters))
        now += standing.total(examples)
        sweep = family.sweep(parameters, coordinate)
        if histogram is None:
            if family.moves == "shift":
                wide = 2 * family.scale
                low, high = max(sweep.low, -wide), min(sweep.high, wide)
                histogram = SweepHistogram(low, high, n_bins=n_bins)
            else:
                histogram = SweepHistogram(sweep.low, np.inf, n_bins=n_bins, spacing="factor")
        histogram.add(*sweep.events(standing, examples))
    assert histogram is not None
    return histogram, now


def _items(chunks: Any) -> Iterator[tuple[Any, Any, dict]]:
    for item in chunks() if callable(chunks) else chunks:
        proba, y, *more = item
        yield proba, y, more[0] if more else {}


def _checked(rule: Any, chunks: Any) -> Iterator[tuple[np.ndarray, Costs, np.ndarray | None]]:
    """Yield the chunks as probabilities, costs and weights, checked."""
    for proba, y, more in _items(chunks):
        proba, codes, weight = check_examples(proba, y, rule.classes_, more.get("sample_weight"))
        rows = more.get("costs")
        if rows is None:
            costs = Costs(codes, matrix=rule.cost_matrix_)
        else:
            rows = check_costs(rows, n_samples=len(codes), classes=rule.classes_)
            costs = Costs(codes, costs=rows)
        yield proba, costs, weight


def _survey(rule: Any, chunks: Any) -> tuple[np.ndarray, float]:
    """Read all chunks once, set `classes_` and `cost_matrix_`; return counts and total weight."""
    count: dict[Any, int] = defaultdict(int)
    sums: dict[Any, Any] = defaultdict(float)
    total, width = 0.0, None
    for proba, y, more in _items(chunks):
        width = np.shape(proba)[1]
        labels, codes, here = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
        for k, label in enumerate(labels.tolist()):
            count[label] += int(here[k])
            if more.get("costs") is not None:
                sums[label] += np.asarray(more["costs"], dtype=float)[codes == k].sum(axis=0)
        weight = more.get("sample_weight")
        total += len(codes) if weight is None else float(np.sum(weight))
    if width is None:
        raise ValueError("There are no chunks: give an iterable that can be read several times.")
    seen = np.unique(np.asarray(list(count)))
    rule.classes_ = classes = seen if rule.classes is None else np.asarray(rule.classes)
    counts = np.array([count[label] for label in classes.tolist()])
    if len(classes) != width:
        raise ValueError(
            f"proba has {width} columns, one per class, but y has {len(classes)} classes: "
            f"{quoted(classes)}."
        )
    rule._check_all_seen(counts)
    if sums:
        if rule.cost_matrix is not None:
            raise ValueError("Give either cost_matrix or costs, not both.")
        rule.cost_matrix_ = np.array([sums[c] for c in classes.tolist()]) / counts[:, None]
    else:
        y = np.repeat(classes, counts) if isinstance(rule.cost_matrix, str) else None
        rule.cost_matrix_ = check_cost_matrix(rule.cost_matrix, classes=classes, y=y)
    return counts, total
