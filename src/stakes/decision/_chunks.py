"""Learning a partition from chunks: one histogram per parameter, memory that stays flat."""

import numpy as np
from sklearn.utils.validation import column_or_1d

from stakes.costs import Costs, check_cost_matrix, check_costs
from stakes.costs.arithmetic import shift_rows
from stakes.decision._expected import check_proba, decide
from stakes.decision._histogram import DEFAULT_BINS, SweepHistogram
from stakes.decision._sweep import Examples, Standing
from stakes.utils._arrays import quoted
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import check_sample_weight


def fit_in_chunks(rule, chunks, n_bins=DEFAULT_BINS):
    """Fit a rule of a coordinate descent on chunks that are read again for each parameter."""
    if rule.shrink or rule.n_restarts:
        raise ValueError("fit_chunks makes one search: set shrink=False and n_restarts=0.")
    classes, counts, costs, total = _survey(rule, chunks)
    rule.classes_, rule.cost_matrix_, rule.shrunk_ = classes, costs, False
    shifted = shift_rows(costs)
    order = np.argsort(-counts, kind="stable")

    family = rule._family(np.eye(len(classes)), shifted, None)
    parameters = family.initial()
    path = []
    for _ in range(rule.n_passes):
        moved = False
        for coordinate in family.coordinates(order):
            histogram, now = _one_histogram(
                rule, chunks, classes, costs, shifted, parameters, coordinate, n_bins
            )
            path = path or [now]
            value, cost = histogram.best_value()
            if cost < now - 1e-12 * abs(now):
                parameters[coordinate] = _parameter(family, parameters, coordinate, value)
                moved = True
        path.append(min(cost, now))
        if not moved:
            break
    rule._set_parameters(family, parameters)
    rule.path_ = np.asarray(path) / total
    before = after = 0.0
    for proba, training, weight in _checked(chunks, classes, costs):
        for_all = np.ones(len(proba)) if weight is None else weight
        before += for_all @ training.of(decide(proba, costs))
        after += for_all @ training.of(rule._decide_learned(proba, None))
    rule.initial_cost_, rule.cost_ = before / total, after / total
    return rule


def _parameter(family, parameters, coordinate, value):
    """Turn a value of the histogram's grid into the parameter it stands for."""
    kind = family.moves
    if kind == "shift":
        return parameters[coordinate] + value
    return value if kind == "set" else parameters[coordinate] * value


def _one_histogram(rule, chunks, classes, costs, shifted, parameters, coordinate, n_bins):
    """Read all chunks once; return the histogram of a coordinate and the cost at present."""
    histogram, now = None, 0.0
    for proba, training, weight in _checked(chunks, classes, costs):
        family = rule._family(proba, shifted, None)
        examples = Examples(training, weight)
        standing = Standing(family.scores(parameters))
        now += standing.total(examples)
        events = family.sweep(parameters, coordinate).events(standing, examples)
        if histogram is None:
            if family.moves == "shift":
                wide = 2 * family.scale
                low, high = max(events.low, -wide), min(events.high, wide)
                histogram = SweepHistogram(low, high, n_bins=n_bins)
            else:
                histogram = SweepHistogram(events.low, np.inf, n_bins=n_bins, spacing="factor")
        histogram.add(events.points, events.jumps, events.start)
    return histogram, now


def _checked(chunks, classes, costs):
    """Yield the chunks as probabilities, costs and weights, checked."""
    for proba, y, more in _items(chunks):
        proba = check_proba(proba, n_classes=len(classes))
        codes = encode_labels(column_or_1d(y), classes)[1]
        rows = more.get("costs")
        if rows is None:
            training = Costs(codes, matrix=costs)
        else:
            rows = check_costs(rows, n_samples=len(codes), classes=classes)
            training = Costs(codes, costs=rows)
        weight = more.get("sample_weight")
        if weight is not None:
            weight = check_sample_weight(weight, proba, ensure_non_negative=True)
        yield proba, training, weight


def _items(chunks):
    for item in chunks() if callable(chunks) else chunks:
        proba, y, *more = item
        yield proba, y, more[0] if more else {}


def _survey(rule, chunks):
    """Read all chunks once: the classes, how many examples of each, the costs, the weight."""
    count, sums = {}, {}
    total, width = 0.0, None
    for proba, y, more in _items(chunks):
        width = np.shape(proba)[1]
        labels, codes, here = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
        for k, label in enumerate(labels.tolist()):
            count[label] = count.get(label, 0) + int(here[k])
            if more.get("costs") is not None:
                rows = np.asarray(more["costs"], dtype=float)[codes == k].sum(axis=0)
                sums[label] = sums.get(label, 0.0) + rows
        weight = more.get("sample_weight")
        total += len(codes) if weight is None else float(np.sum(weight))
    if width is None:
        raise ValueError("There are no chunks: give an iterable that can be read several times.")
    seen = np.unique(np.asarray(list(count)))
    classes = seen if rule.classes is None else np.asarray(rule.classes)
    counts = np.array([count.get(label, 0) for label in classes.tolist()])
    if len(classes) != width:
        raise ValueError(
            f"proba has {width} columns, one per class, but y has {len(classes)} classes: "
            f"{quoted(classes)}."
        )
    if (counts == 0).any():
        raise ValueError(
            f"There is no validation example of {quoted(classes[counts == 0])}: "
            f"{type(rule).__name__} cannot learn where to decide it."
        )
    if sums:
        if rule.cost_matrix is not None:
            raise ValueError("Give either cost_matrix or costs, not both.")
        costs = np.array([sums[label] for label in classes.tolist()]) / counts[:, None]
    else:
        y = np.repeat(classes, counts) if isinstance(rule.cost_matrix, str) else None
        costs = check_cost_matrix(rule.cost_matrix, classes=classes, y=y)
    return classes, counts, costs, total
