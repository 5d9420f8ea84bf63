"""Families of partitions, and the coordinate descent over their parameters.

A family says how the scores of the decisions depend on its parameters; the descent moves one
parameter at a time to the cheapest span that the exact sweep finds, and never to a dearer one.
"""

import numpy as np

from stakes.decision import _sweep

# Steps stay this share of their range away from the bounds that keep a matrix reasonable.
MARGIN = 1e-9


class Family:
    """How decisions depend on one parameter per coordinate; see the subclasses.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Class probabilities.
    costs : ndarray of shape (n_classes, n_classes)
        Class costs, each row's least at 0.
    expected : ndarray of shape (n_classes, n_samples), default=None
        Expected costs, one row per decision; those of `costs` if None.
    """

    # What a value found by a sweep does to its parameter: "shift", "scale" or "set" it.
    moves = "scale"

    def __init__(self, proba, costs, expected=None):
        self.proba = proba
        self.costs = costs
        # one row per decision, as the kernels want it
        self.expected = np.matmul(costs.T, proba.T) if expected is None else expected
        self.scale = float(np.abs(costs).max())

    def initial(self) -> np.ndarray:
        """Return the parameters at which the descent begins."""
        raise NotImplementedError

    def coordinates(self, order) -> list:
        """Return the coordinates in the order in which a pass visits them."""
        return list(order)

    def scores(self, parameters) -> np.ndarray:
        """Return the scores, (n_classes, n_samples); the least decides."""
        raise NotImplementedError

    def move(self, scores, parameters, coordinate):
        """Bring the scores up to date in place after a move of one parameter."""
        scores[:] = self.scores(parameters)

    def events(self, scores, parameters, coordinate, examples, literal) -> _sweep.Events:
        """Return where the total cost changes as one parameter moves."""
        raise NotImplementedError

    def value(self, span, parameters, coordinate) -> float:
        """Return the new value of the parameter, inside a span of `events`."""
        return parameters[coordinate] * factor_in_span(span.lower, span.upper)

    def sweep(self, scores, parameters, coordinate, examples, literal=False) -> float:
        """Return the new value of a parameter in its cheapest span."""
        span = self.events(scores, parameters, coordinate, examples, literal).best_span()
        return self.value(span, parameters, coordinate)

    def perturbed(self, rng) -> np.ndarray:
        """Return random parameters to begin another descent from."""
        raise NotImplementedError

    def matrix(self, parameters) -> np.ndarray:
        """Return the partition matrix: the decisions are those of least ``proba @ matrix``."""
        raise NotImplementedError

    def normalized(self, parameters) -> np.ndarray:
        """Return the parameters of the same decisions on a common scale."""
        return parameters / np.exp(np.log(parameters).mean())


class Shifts(Family):
    """score_d = expected_d + alpha_d: boundaries parallel to those of the costs (Property 5)."""

    moves = "shift"

    def initial(self):
        return np.zeros(len(self.costs))

    def scores(self, parameters):
        return self.expected + parameters[:, None]

    def move(self, scores, parameters, coordinate):
        np.add(self.expected[coordinate], parameters[coordinate], out=scores[coordinate])

    def matrix(self, parameters):
        return self.costs + parameters[None, :] - parameters[:, None]

    def normalized(self, parameters):
        return parameters - parameters.mean()

    def perturbed(self, rng):
        step = rng.normal(size=len(self.costs)) * self.scale / 4
        off = ~np.eye(len(step), dtype=bool)
        while (self.matrix(step)[off] <= 0).any() and np.abs(step).max() > 1e-6 * self.scale:
            step /= 2
        return step

    def events(self, scores, parameters, coordinate, examples, literal):
        low, high = -np.inf, np.inf
        if not literal:
            low, high = shift_bounds(self.matrix(parameters), coordinate)
        return _sweep.decision_events(
            scores, coordinate, "shift", examples, low=low, high=high, scale=self.scale
        )

    def value(self, span, parameters, coordinate):
        bounds = shift_bounds(self.matrix(parameters), coordinate)
        return parameters[coordinate] + shift_in_span(span.lower, span.upper, *bounds)


class RowFactors(Family):
    """score_d = r_d * expected_d: every cost of one decision scaled (Property 7)."""

    def initial(self):
        return np.ones(len(self.costs))

    def scores(self, parameters):
        return self.expected * parameters[:, None]

    def move(self, scores, parameters, coordinate):
        np.multiply(self.expected[coordinate], parameters[coordinate], out=scores[coordinate])

    def matrix(self, parameters):
        return self.costs * parameters[None, :]

    def perturbed(self, rng):
        return np.exp(0.5 * rng.normal(size=len(self.costs)))

    def events(self, scores, parameters, coordinate, examples, literal):
        return _sweep.decision_events(scores, coordinate, "scale", examples, low=0.0)


class Thresholds(Family):
    """score_d = -p_d / c_d: the largest ratio of probability and threshold decides."""

    def __init__(self, proba, costs):
        self.columns = np.ascontiguousarray(proba.T)
        self.costs = costs
        self.scale = float(np.abs(costs).max())

    def initial(self):
        return np.ones(len(self.costs))

    def scores(self, parameters):
        return self.columns / -parameters[:, None]

    def move(self, scores, parameters, coordinate):
        np.divide(self.columns[coordinate], -parameters[coordinate], out=scores[coordinate])

    def matrix(self, parameters):
        # w_t of every mistake, w = 1 / c: the column multiply of 0/1 costs (Property 6)
        weights = 1.0 / parameters
        return weights[:, None] * (1.0 - np.eye(len(weights)))

    def perturbed(self, rng):
        return np.exp(0.5 * rng.normal(size=len(self.costs)))

    def events(self, scores, parameters, coordinate, examples, literal):
        return _sweep.decision_events(scores, coordinate, "divide", examples, low=0.0)


class ColumnFactors(Family):
    """score_d = sum_t w_t p_t C[t, d]: every cost of one true class scaled (Property 6)."""

    moves = "set"

    def __init__(self, proba, costs, tensor=None):
        self.columns = np.ascontiguousarray(proba.T)
        self.costs = costs
        self.scale = float(np.abs(costs).max())
        self.tensor = tensor

    def initial(self):
        return np.ones(len(self.costs))

    def scores(self, parameters):
        weighted = self.columns * parameters[:, None]
        if self.tensor is not None:
            return np.einsum("tn,ntd->dn", weighted, self.tensor)
        return np.matmul(self.costs.T, weighted)

    def matrix(self, parameters):
        return self.costs * parameters[:, None]

    def perturbed(self, rng):
        return np.exp(0.5 * rng.normal(size=len(self.costs)))

    def events(self, scores, parameters, coordinate, examples, literal):
        if self.tensor is None:
            slopes = self.costs[coordinate][:, None] * self.columns[coordinate]
        else:
            slopes = np.ascontiguousarray(self.tensor[:, coordinate].T) * self.columns[coordinate]
        rest = parameters.copy()
        rest[coordinate] = 0.0
        return _sweep.line_events(self.scores(rest), slopes, examples)

    def value(self, span, parameters, coordinate):
        return factor_in_span(span.lower, span.upper, now=parameters[coordinate])


class Entries(Family):
    """score_d = sum_t p_t a[t, d] with every entry off the diagonal free, and positive."""

    moves = "shift"

    def __init__(self, proba, costs):
        self.columns = np.ascontiguousarray(proba.T)
        self.costs = costs
        self.scale = float(np.abs(costs).max())

    def initial(self):
        return self.costs.copy()

    def coordinates(self, order):
        return [(t, d) for d in order for t in order if t != d]

    def scores(self, parameters):
        return np.matmul(parameters.T, self.columns)

    def move(self, scores, parameters, coordinate):
        d = coordinate[1]
        np.matmul(parameters[:, d], self.columns, out=scores[d])

    def matrix(self, parameters):
        return parameters

    def normalized(self, parameters):
        return parameters

    def perturbed(self, rng):
        return self.costs * np.exp(0.5 * rng.normal(size=self.costs.shape))

    def events(self, scores, parameters, coordinate, examples, literal):
        t, d = coordinate
        low = -parameters[t, d]
        return _sweep.decision_events(
            scores, d, "slope", examples, slope=self.columns[t], low=low, scale=self.scale
        )

    def value(self, span, parameters, coordinate):
        now = parameters[coordinate]
        return factor_in_span(max(now + span.lower, 0.0), now + span.upper, now=now)


# -- the value that is taken inside of a span ------------------------------------------------


def shift_bounds(matrix, i) -> tuple[float, float]:
    """Return the open range of a shift of decision `i` that keeps right decisions cheapest.

    The condition of obrien2008, section 5.1: no mistake may become cheaper than the right
    decision, neither for class i nor for the others. Without such a range, no bounds.
    """
    right = np.diag(matrix)
    others = np.arange(len(matrix)) != i
    low = float((right - matrix[:, i])[others].max())
    high = float((matrix[i] - right[i])[others].min())
    return (low, high) if low < high else (-np.inf, np.inf)


def shift_in_span(lower, upper, low, high) -> float:
    """Return the step of section 5.1 in the span (lower, upper), clipped to (low, high).

    0 where the span holds it; otherwise the geometric mean of the ends, which then have one
    sign. Where an end is 0, the middle; where an end is infinite, the bound on that side, or
    what lies just beyond the other end where there is no bound either.
    """
    if lower < 0.0 < upper:
        return 0.0
    if np.isinf(lower):
        lower = low if low < upper else upper - 1.0
    if np.isinf(upper):
        upper = high if high > lower else lower + 1.0
    if np.isinf(lower) or np.isinf(upper):
        step = upper - 1.0 if np.isinf(lower) else lower + 1.0
    elif lower * upper > 0.0:
        step = float(np.sign(upper) * np.sqrt(lower * upper))
    else:
        step = 0.5 * (lower + upper)
    if np.isfinite(high - low):
        margin = MARGIN * (high - low)
        step = min(max(step, low + margin), high - margin)
    return step


def factor_in_span(lower, upper, now=1.0) -> float:
    """Return the factor to take in a span: the present one if it lies inside.

    Otherwise the geometric mean of the ends; half or twice a lone end.
    """
    if lower < now < upper:
        return now
    if lower <= 0.0:
        return 0.5 * upper
    if np.isinf(upper):
        return 2.0 * lower
    return float(np.sqrt(lower) * np.sqrt(upper))


# -- the descent -----------------------------------------------------------------------------


def one_pass(family, parameters, order, examples, cost, *, literal=False):
    """Move each parameter once to its cheapest span; return the parameters and their cost.

    A parameter stays where it is unless its move lowers the cost: where the present value
    lies in a cheapest span there is nothing to gain (0 inside the best gap keeps 0).
    """
    parameters = parameters.copy()
    scores = family.scores(parameters)
    slack = 1e-12 * (abs(cost) + examples.total_weight * family.scale * 1e-3)
    for coordinate in family.coordinates(order):
        value = family.sweep(scores, parameters, coordinate, examples, literal)
        before = parameters[coordinate]
        if value == before:
            continue
        parameters[coordinate] = value
        family.move(scores, parameters, coordinate)
        after = examples.total(scores)
        if after < cost - slack:
            cost = after
        else:
            parameters[coordinate] = before
            family.move(scores, parameters, coordinate)
    return parameters, cost


def descend(family, order, examples, *, n_passes=1, starts=(), literal=False):
    """Descend from the family's own start and from others; return the cheapest.

    Returns
    -------
    parameters : ndarray
        The cheapest found.
    path : list of float
        The total cost at the start of that descent and after each of its passes.
    """
    best, best_path = None, None
    for number, start in enumerate([family.initial(), *starts]):
        parameters = start
        path = [examples.total(family.scores(start))]
        for number_of_pass in range(n_passes):
            to_the_letter = literal and number == 0 and number_of_pass == 0
            parameters, cost = one_pass(
                family, parameters, order, examples, path[-1], literal=to_the_letter
            )
            path.append(cost)
            if cost == path[-2] and not to_the_letter:
                break
        if best is None or path[-1] < best_path[-1]:
            best, best_path = parameters, path
    return best, best_path


def by_population(y, n_classes) -> np.ndarray:
    """Return the classes that have examples, from most to least populous."""
    counts = np.bincount(y, minlength=n_classes)
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] > 0]
