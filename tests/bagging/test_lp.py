"""LP (3) against another formulation, by another call, and against its own dual."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog

from stakes.bagging import _lp
from stakes.bagging._lp import WarmLP, l1_svm_objective


def primal_optimum(X, signs, costs, fit_intercept=True):
    """Return the optimum of LP (3) as the paper writes it: alpha = p - q, b free, slacks."""
    n, n_features = X.shape
    margins = signs[:, None] * X
    offset = [signs[:, None]] if fit_intercept else []
    rows = np.hstack([margins, -margins, *offset, np.eye(n)])
    free = [(None, None)] * fit_intercept
    solved = linprog(
        np.concatenate([np.ones(2 * n_features), np.zeros(int(fit_intercept)), costs]),
        A_ub=-rows,
        b_ub=-np.ones(n),
        bounds=[(0, None)] * (2 * n_features) + free + [(0, None)] * n,
        method="highs",
    )
    assert solved.status == 0
    return solved.fun


def random_problem(kind, seed):
    rng = np.random.RandomState(seed)
    n, n_features = rng.randint(2, 50), rng.randint(1, 10)
    X = rng.normal(size=(n, n_features))
    signs = np.where(rng.uniform(size=n) < 0.4, 1.0, -1.0)
    if kind == "duplicates":  # half of them with the other label
        X = np.vstack([X, X, X])
        signs = np.concatenate([signs, signs, -signs])
    elif kind == "collinear":
        X = np.column_stack([X, 2 * X[:, 0], X.sum(axis=1)])
    elif kind == "constant":
        X = np.column_stack([X, np.full(n, 3.0), np.zeros(n)])
    elif kind == "separable":
        X[:, 0] += 10 * signs
    elif kind == "integers":
        X = np.round(X)
    costs = rng.uniform(0, 2, size=len(signs))
    if kind == "zero costs":
        costs *= rng.randint(0, 2, size=len(signs))
    return X, signs, costs


KINDS = ["plain", "duplicates", "collinear", "constant", "separable", "integers", "zero costs"]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_linprog_and_of_the_dual(kind, fit_intercept):
    for seed in range(8):
        X, signs, costs = random_problem(kind, seed)
        optimum = primal_optimum(X, signs, costs, fit_intercept)
        for given in (X, sparse.csr_array(X)):
            lp = WarmLP(given, signs, fit_intercept=fit_intercept)
            cold = lp.solve(costs)
            lp.set_reference(np.ones(len(signs)))
            warm = lp.solve(costs)
            for solution in (cold, warm):
                assert_allclose(solution.objective, optimum, rtol=1e-9, atol=1e-9)
                assert_allclose(solution.dual_objective, optimum, rtol=1e-9, atol=1e-9)


def test_objective_by_hand():
    # alpha = (2, -1), b = 1. Values: 2 - 1 + 1 = 2 and 0 - 3 + 1 = -2; signs +, +:
    # slacks 0 and 3, costs 7 and 0.5: 1.5 + (2 + 1) = 4.5
    X = np.array([[1.0, 1.0], [0.0, 3.0]])
    value = l1_svm_objective(
        np.array([2.0, -1.0]), 1.0, X, np.array([1.0, 1.0]), np.array([7.0, 0.5])
    )
    assert value == 4.5


def test_a_hyperplane_by_hand():
    # Points 0, 4 (negative) and 6, 10 (positive): only 4 and 6 matter, their middle is 5
    # and a slope of 1 gives both a margin of 1. The objective is that slope.
    X = np.array([[0.0], [4.0], [6.0], [10.0]])
    solution = WarmLP(X, np.array([-1.0, -1.0, 1.0, 1.0])).solve(np.full(4, 100.0))
    assert_allclose(solution.coef, [1.0], rtol=1e-12)
    assert_allclose(solution.intercept, -5.0, rtol=1e-12)
    assert_allclose(solution.objective, 1.0, rtol=1e-12)


def test_what_it_costs_decides_which_of_two_conflicting_points_is_missed():
    # The same point with both labels: the one that costs more is right, by one, at no slope.
    X = np.zeros((2, 1))
    solution = WarmLP(X, np.array([-1.0, 1.0])).solve(np.array([2.0, 3.0]))
    assert_allclose([*solution.coef, solution.intercept], [0.0, 1.0], atol=1e-12)
    assert_allclose(solution.objective, 2 * 2.0, rtol=1e-12)  # the other's slack is 2


def test_a_solve_does_not_depend_on_the_solves_before_it():
    X, signs, costs = random_problem("integers", 3)  # many optimal hyperplanes
    rng = np.random.RandomState(0)
    others = [rng.uniform(0, 2, size=len(signs)) for _ in range(5)]
    lp = WarmLP(X, signs)
    lp.set_reference(np.ones(len(signs)))
    first = lp.solve(costs)
    for other in others:
        lp.solve(other)
    again = lp.solve(costs)
    assert (first.coef == again.coef).all()
    assert first.intercept == again.intercept


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e9])
def test_the_unit_of_the_costs_is_the_unit_of_the_penalty(unit):
    # delta * unit with features / unit: alpha * unit solves it, at unit times the cost.
    X, signs, costs = random_problem("plain", 5)
    plain = WarmLP(X, signs).solve(costs)
    scaled = WarmLP(X / unit, signs).solve(costs * unit)
    assert_allclose(scaled.objective, unit * plain.objective, rtol=1e-8)
    assert_allclose(scaled.coef, unit * plain.coef, rtol=1e-6, atol=1e-9 * unit)


def test_features_from_1e_minus_9_to_1e9_solve_the_programme_as_written():
    # A feature of size 1e-9 needs a coefficient near 1e9, which the penalty forbids; one
    # of size 1e9 is all but free. So the optimum is that of a penalty on the middle alone.
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 3))
    signs = np.where(X.sum(axis=1) + rng.normal(size=120) > 0, 1.0, -1.0)
    sizes = np.array([1e-9, 1.0, 1e9])
    solution = WarmLP(X * sizes, signs).solve(np.ones(120))
    assert solution.objective - solution.dual_objective <= 1e-9 * solution.objective
    assert solution.coef[0] == 0
    small, large = solution.coef[1:] * sizes[1:]
    assert small > 0.1
    assert large > 0.1
    # The same through linprog with the free feature in sensible units and hardly penalised.
    n, kept = 120, X[:, 1:] * signs[:, None]
    rows = np.hstack([kept, -kept, signs[:, None], np.eye(n)])
    solved = linprog(
        np.concatenate([[1, 1e-9, 1, 1e-9, 0], np.ones(n)]),
        A_ub=-rows,
        b_ub=-np.ones(n),
        bounds=[(0, None)] * 4 + [(None, None)] + [(0, None)] * n,
        method="highs",
    )
    assert_allclose(solution.objective, solved.fun, rtol=1e-7)


def test_an_offset_far_from_the_spread_is_taken_up_by_the_intercept():
    X, signs, costs = random_problem("plain", 7)
    plain = WarmLP(X, signs).solve(costs)
    moved = WarmLP(X + 1e6, signs).solve(costs)
    assert_allclose(moved.coef, plain.coef, atol=1e-8)
    assert_allclose(moved.objective, plain.objective, rtol=1e-8)


def test_a_large_first_solve_is_by_another_method_and_leaves_a_basis(monkeypatch):
    X, signs, costs = random_problem("plain", 6)
    small = WarmLP(X, signs).solve(costs)
    monkeypatch.setattr(_lp, "_LARGE", 1)
    lp = WarmLP(X, signs)
    large = lp.set_reference(costs)
    assert_allclose(large.objective, small.objective, rtol=1e-9)
    assert_allclose(large.coef, small.coef, atol=1e-8)
    assert_allclose(lp.solve(costs).objective, small.objective, rtol=1e-9)
    assert lp._highs.getInfo().simplex_iteration_count == 0  # it was there already


def test_one_label_alone_needs_no_slope():
    X, _, costs = random_problem("plain", 1)
    for sign in (1.0, -1.0):
        solution = WarmLP(X, np.full(len(X), sign)).solve(costs)
        assert not solution.coef.any()
        assert sign * solution.intercept >= 1 - 1e-9
        assert_allclose(solution.objective, 0, atol=1e-9)


def test_a_solve_that_ends_early_is_done_again_and_then_refused(monkeypatch):
    X, signs, costs = random_problem("plain", 2)
    lp = WarmLP(X, signs)
    optimum = lp.solve(costs).objective

    answers = iter([False, False, True])  # the first try, one rescue, then the truth
    monkeypatch.setattr(_lp.WarmLP, "_is_optimal", lambda self: next(answers, True))
    assert_allclose(lp.solve(costs).objective, optimum, rtol=1e-9)

    monkeypatch.setattr(_lp.WarmLP, "_is_optimal", lambda self: False)
    with pytest.raises(RuntimeError, match="HiGHS ended with 'Optimal'"):
        lp.solve(costs)


def test_another_user_of_highs_with_other_threads_is_no_obstacle():
    import highspy

    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    x = other.addVariable(lb=0, ub=1)
    other.maximize(x)
    X, signs, costs = random_problem("plain", 4)
    assert_allclose(WarmLP(X, signs).solve(costs).objective, primal_optimum(X, signs, costs))
