import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.costs import Costs
from stakes.decision import _sweep
from stakes.decision._descent import by_population, descend, one_pass
from stakes.decision._families import (
    ColumnFactors,
    Entries,
    RowFactors,
    Shifts,
    Thresholds,
    factor_in_span,
    shift_bounds,
    shift_in_span,
)
from stakes.decision._sweep import Examples, Span, Standing, best_span

FAMILIES = [Shifts, RowFactors, Thresholds, ColumnFactors, Entries]


def problem(seed, n=60, n_classes=4, *, ties=True, by_class=True, weighted=False):
    """Draw probabilities (on a grid of tenths, if `ties`), classes and costs."""
    rng = np.random.default_rng(seed)
    if ties:
        proba = rng.multinomial(10, np.full(n_classes, 1 / n_classes), size=n) / 10
    else:
        proba = rng.dirichlet(np.ones(n_classes), size=n)
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    costs = rng.integers(1, 6, size=(n_classes, n_classes)).astype(float)
    np.fill_diagonal(costs, 0)
    if by_class:
        training = Costs(y, matrix=costs)
    else:
        rows = rng.integers(0, 6, size=(n, n_classes)).astype(float)
        training = Costs(y, costs=rows)
    weight = rng.integers(0, 4, size=n).astype(float) if weighted else None
    return proba, costs, Examples(training, weight)


def cost_at(family, parameters, coordinate, value, examples):
    moved = parameters.copy()
    moved[coordinate] = value
    return examples.total(family.scores(moved))


def brute_force(family, parameters, coordinate, examples):
    """Return the least cost over a parameter: try between all pairs of crossing lines."""
    # scores are linear in the parameter (in its inverse, for thresholds): two values give
    # the lines, all crossings of two lines are the only places where anything can change
    inverse = isinstance(family, Thresholds)
    zero, one = parameters.copy(), parameters.copy()
    zero[coordinate], one[coordinate] = (1.0, 0.5) if inverse else (1.0, 2.0)
    at_1, at_2 = family.scores(zero), family.scores(one)
    slope = at_2 - at_1
    base = at_1 - slope
    crossings = []
    for a in range(len(base)):
        for b in range(a):
            with np.errstate(divide="ignore", invalid="ignore"):
                crossings.append((base[b] - base[a]) / (slope[a] - slope[b]))
    x = np.unique(np.round(np.concatenate(crossings), 12))
    x = x[np.isfinite(x)]
    if not isinstance(family, Shifts):
        x = x[x > 0]
    if len(x) == 0:
        x = np.array([1.0])
    gaps = np.concatenate([[x[0] - 1], (x[1:] + x[:-1]) / 2, [x[-1] + 1]])
    if not isinstance(family, Shifts):
        gaps[0] = x[0] / 2
    values = 1 / gaps if inverse else gaps
    return min(cost_at(family, parameters, coordinate, v, examples) for v in values)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_sweep_finds_what_brute_force_finds(family, by_class, seed):
    proba, costs, examples = problem(seed, by_class=by_class, weighted=seed % 2 == 1)
    fitted = family(proba, costs)
    parameters = fitted.perturbed(fitted.initial(), np.random.default_rng(seed))
    standing = Standing(fitted.scores(parameters))
    for coordinate in fitted.coordinates(range(4)):
        sweep = fitted.sweep(parameters, coordinate, literal=True)
        span = sweep.best_span(standing, examples)
        value = fitted.value(span, parameters, coordinate)
        least = brute_force(fitted, parameters, coordinate, examples)
        found = cost_at(fitted, parameters, coordinate, value, examples)
        if family is Shifts:  # clipped: compare inside the bounds only where it was not
            low, high = shift_bounds(fitted.matrix(parameters), coordinate, np.arange(4))
            step = value - parameters[coordinate]
            if not low + 1e-6 < step < high - 1e-6:
                continue
        assert found == pytest.approx(least)


@pytest.mark.parametrize("seed", range(20))
def test_the_widest_of_the_cheapest_spans(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 12, size=15).astype(float)  # many equal
    jumps = rng.integers(-2, 3, size=15).astype(float)
    span = best_span(points, jumps, 7.0, low=-1.0, high=12.0)
    # the cost on a fine grid that misses the points
    grid = np.arange(-1, 12, 0.1) + 0.05
    cost = 7.0 + np.array([jumps[points < g].sum() for g in grid])
    assert span.cost == cost.min()
    inside = (grid > span.lower) & (grid < span.upper)
    assert (cost[inside] == cost.min()).all()
    runs = np.split(np.arange(len(grid)), np.flatnonzero(np.diff(cost != cost.min())) + 1)
    widest = max(len(run) for run in runs if cost[run[0]] == cost.min())
    assert round((span.upper - span.lower) * 10) == widest


def test_spans_without_an_end_come_last():
    # cost 1 below 0, 2 between 0 and 1, 1 between 1 and 2, 3 above: both spans cost 1
    points, jumps = np.array([0.0, 1.0, 2.0]), np.array([1.0, -1.0, 2.0])
    assert best_span(points, jumps, 1.0) == Span(1.0, 2.0, 1.0)
    # but they are taken where they are cheaper
    jumps[1] = -0.5
    assert best_span(points, jumps, 1.0) == Span(-np.inf, 0.0, 1.0)
    assert best_span(points[:0], jumps[:0], 3.0) == Span(-np.inf, np.inf, 3.0)


def test_widths_of_factors_are_ratios():
    # 1 to 3 is wider than 10 to 20 as a factor, narrower as a difference
    points, jumps = np.array([1.0, 3.0, 10.0, 20.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    assert best_span(points, jumps, 1.0, low=0.0, ratio=True)[:2] == (1.0, 3.0)
    assert best_span(points, jumps, 1.0, low=0.0)[:2] == (10.0, 20.0)


def test_points_that_differ_by_rounding_are_one():
    points = np.array([0.3, 0.1 + 0.2, 0.7])  # 0.1 + 0.2 is a little more than 0.3
    jumps = np.array([-5.0, 4.0, 2.0])
    # between the two the cost would be 0, but no threshold can be put there
    assert best_span(points, jumps, 5.0, low=0.0, high=1.0) == Span(0.1 + 0.2, 0.7, 4.0)


@pytest.mark.parametrize("seed", range(10))
def test_putting_events_aside_changes_nothing(seed, monkeypatch):
    # a walk that falls and rises inside every bin: the least is rarely at a border
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=5000), 3 if seed % 2 else 9)
    jumps = rng.choice([-3.0, -1.0, 1.0, 3.0], size=5000)
    monkeypatch.setattr(_sweep, "SORT_ALL", 10_000)
    sorted_all = best_span(points, jumps, 100.0)
    monkeypatch.setattr(_sweep, "SORT_ALL", 100)
    assert best_span(points, jumps, 100.0) == sorted_all
    # as brute force says
    _, place = np.unique(points, return_inverse=True)
    costs = 100.0 + np.cumsum(np.bincount(place, weights=jumps))
    assert sorted_all.cost == min(100.0, costs.min())


@pytest.mark.parametrize("seed", range(5))
def test_the_two_least_scores_stay_up_to_date(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, size=(4, 200)).astype(float)  # many equal
    standing = Standing(scores)
    for _ in range(30):
        i = rng.integers(4)
        standing.scores[i] += rng.integers(-2, 3, size=200)
        standing.refresh(i)
        order = np.argsort(standing.scores, axis=0, kind="stable")[:2]
        assert_array_equal(standing.top.leader, order[0])
        assert_array_equal(standing.top[:2], np.sort(standing.scores, axis=0)[:2])
        # the follower has the second least score; whose it is matters not among equals
        followers = standing.scores[standing.top.runner, np.arange(200)]
        assert_array_equal(followers, standing.top.second)
        assert (standing.top.leader != standing.top.runner).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_no_pass_makes_it_cost_more(family, seed):
    proba, costs, examples = problem(seed, n=80, ties=seed % 2 == 0, weighted=seed == 3)
    fitted = family(proba, costs)
    order = by_population(examples.y, 4)
    parameters = fitted.perturbed(fitted.initial(), np.random.default_rng(seed))
    cost = examples.total(fitted.scores(parameters))
    for literal in (True, False, False):
        parameters, after, _ = one_pass(fitted, parameters, order, examples, cost, literal=literal)
        assert after <= cost
        assert after == pytest.approx(examples.total(fitted.scores(parameters)))
        cost = after


def test_a_step_that_costs_more_once_clipped_is_not_taken():
    # the best gap lies beyond the bounds; the bound itself costs 83 where no step costs 80
    proba, costs, examples = problem(392, n=40, n_classes=3, ties=False)
    fitted = Shifts(proba, costs)
    start = fitted.initial()
    now = examples.total(fitted.scores(start))
    sweep = fitted.sweep(start, 1, literal=True)
    span = sweep.best_span(Standing(fitted.scores(start)), examples)
    step = fitted.value(span, start, 1)
    assert cost_at(fitted, start, 1, step, examples) > now
    kept, after, _ = one_pass(fitted, start, [1], examples, now, literal=True)
    assert after == now
    assert_allclose(kept, start)


def test_more_starts_never_cost_more():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(8, 0.5), size=400)
    y = (rng.random(400)[:, None] > true[:, :-1].cumsum(axis=1)).sum(axis=1)
    costs = rng.uniform(1, 10, size=(8, 8))
    np.fill_diagonal(costs, 0)
    examples = Examples(Costs(y, matrix=costs))
    said = true**0.3
    fitted = Thresholds(said / said.sum(axis=1, keepdims=True), costs)
    reached = [
        descend(
            fitted, range(8), examples, n_passes=5, n_restarts=m, rng=np.random.RandomState(0)
        )[1][-1]
        for m in range(9)
    ]
    assert (np.diff(reached) <= 0).all()
    assert reached[-1] < reached[0]


def test_random_starts_keep_a_reasonable_matrix():
    proba, costs, _ = problem(1)
    fitted = Shifts(proba, costs)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = fitted.perturbed(fitted.initial(), rng)
        assert (fitted.matrix(moved)[~np.eye(4, dtype=bool)] > 0).all()


def test_bounds_of_a_shift_by_hand():
    # decision 1 costs 2 and 5 on the others, and missing class 1 costs 3 or 1:
    # its price may fall by less than 2 and rise by less than 1
    matrix = np.array([[0.0, 2.0, 4.0], [3.0, 0.0, 1.0], [6.0, 5.0, 0.0]])
    assert shift_bounds(matrix, 1, np.arange(3)) == (-2.0, 1.0)


def test_bounds_of_a_shift_of_a_decision_that_is_no_class_by_hand():
    # decision 0 is right for the first truth, 2 for the second; 1 is dearer by 3 and by 4, so that
    # it may fall by less than 3, and rise as it likes
    matrix = np.array([[0.0, 3.0, 9.0], [90.0, 4.0, 0.0]])
    right = np.array([0, 2])
    assert shift_bounds(matrix, 1, right) == (-3.0, np.inf)
    assert shift_bounds(matrix, 0, right) == (-90.0, 3.0)


@pytest.mark.parametrize(
    ("span", "step"),
    [
        ((-1.0, 0.5), 0.0),  # 0 inside keeps 0
        ((0.1, 0.4), 0.2),  # geometric mean
        ((-0.9, -0.1), -0.3),
        ((0.0, 0.4), 0.2),  # undefined at 0: the middle
        ((0.5, np.inf), np.sqrt(0.5)),  # the bound 1 in place of the infinite end
        ((-np.inf, -0.5), -1.0),  # the bound -2
        ((3.0, 5.0), 1.0),  # clipped
        ((2.0, np.inf), 1.0),
        ((-np.inf, -4.0), -2.0),
    ],
)
def test_the_step_taken_in_a_span(span, step):
    assert_allclose(shift_in_span(*span, -2.0, 1.0), step, atol=1e-6)


def test_the_factor_taken_in_a_span():
    assert factor_in_span(0.5, 3.0) == 1.0
    assert factor_in_span(2.0, 8.0) == pytest.approx(4.0)
    assert factor_in_span(0.0, 0.5) == 0.25
    assert factor_in_span(2.0, np.inf) == 4.0
    assert factor_in_span(0.0, np.inf) == 1.0
    assert factor_in_span(1.0, 9.0, now=2.0) == 2.0
