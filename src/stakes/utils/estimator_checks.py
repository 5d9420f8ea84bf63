"""Metamorphic checks that an estimator really uses the costs that it is given.

Libraries have shipped cost-sensitive methods that ignore their costs, invert them, or
fail on ties. None of these would have passed what is asked here. The checks need no
knowledge of the method: they change the costs in ways whose effect theory dictates.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

# Rows are true classes, columns decisions. Integer, so that shifts are exact in floating
# point, and nowhere symmetric: a transposition must show.
_COSTS = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [64.0, 32.0, 0.0]])


def check_cost_sensitive(
    estimator: Any, *, expected_failed_checks: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Check that a classifier uses its costs as the theory says.

    The estimator must have the parameter `cost_matrix`, in the orientation
    ``cost_matrix[true, predicted]``. Where its `fit` takes `costs`, those are checked too.

    Parameters
    ----------
    estimator : estimator instance
        The classifier, with any parameters; it is cloned.
    expected_failed_checks : dict of str to str, default=None
        Names of checks that may fail, each with its reason.

    Returns
    -------
    outcome : dict of str to str
        For each check ``"passed"``, or ``"expected failure: ..."`` with the reason.

    Raises
    ------
    AssertionError
        A check failed: the message says which, and what was found.

    Notes
    -----
    The checks are: the costs matter; transposing them matters; a positive factor and a
    constant added to a row change no decision; relabelled classes give relabelled
    decisions; rows of zero cost and a class that is hardly there survive; data that can
    be separated are decided at no cost; two classes work; example costs that repeat a
    class matrix are no worse than it, and they matter; parameters come out of `fit` as
    they went in. Where class frequencies are known, every price of every pair of classes
    decides, at class costs, costs of examples and prices known when deciding, and
    `sample_weight` counts: give an estimator that can tell six kinds of rows apart, not a tree
    of depth 2.

    Examples
    --------
    >>> from stakes.tree import CostTreeClassifier
    >>> from stakes.utils import check_cost_sensitive
    >>> check_cost_sensitive(CostTreeClassifier())["costs_matter"]
    'passed'
    """
    name_of, checks = type(estimator).__name__, dict(cost_checks())
    if "cost_matrix" not in estimator.get_params(deep=False):
        raise TypeError(f"{name_of} has no parameter cost_matrix.")
    allowed = dict(expected_failed_checks or {})
    if unknown := sorted(set(allowed) - set(checks)):
        raise ValueError(f"There is no check named {unknown}.")
    outcome = dict.fromkeys(checks, "passed")
    for name, check in checks.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(estimator)
        except Exception as error:
            if name not in allowed:
                raise AssertionError(f"{name_of} fails the check {name!r}: {error}") from error
            outcome[name] = f"expected failure: {allowed[name]}"
    return outcome


def cost_checks() -> list[tuple[str, Callable]]:
    """Return the checks that `check_cost_sensitive` runs, as (name, function) pairs."""
    return [
        (name.removeprefix("_check_"), function)
        for name, function in globals().items()
        if name.startswith("_check_") and callable(function)
    ]


# -- data ----------------------------------------------------------------------------------


def _overlapping(n_classes: int = 3, n_samples: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Return classes that cannot be told apart well: costs must tip the decision."""
    rng = np.random.RandomState(0)
    y = np.arange(n_samples) % n_classes
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += 0.8 * y
    X[:, 1] -= 0.5 * (y == 1)
    return X, y


def _separable(n_classes: int = 3, n_per_class: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(n_classes), n_per_class)
    centres = 12.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[:n_classes]
    return centres[y] + rng.uniform(-1, 1, size=(len(y), 2)), y


def _seeded(estimator: Any) -> Any:
    """Return a clone with fixed seeds."""
    model = clone(estimator)
    seeds = {
        key: 0
        for key, value in model.get_params().items()
        if key == "random_state" or (key.endswith("__random_state") and value is None)
    }
    return model.set_params(**seeds)


def _decided(
    estimator: Any, X: Any, y: Any, cost_matrix: Any = None, *, at: Any = None, **costs: Any
) -> np.ndarray:
    """Fit a clone; return what it decides on X, or on the rows `at`."""
    model = _seeded(estimator).set_params(**({} if costs else {"cost_matrix": cost_matrix}))
    return np.asarray(model.fit(X, y, **costs).predict(X if at is None else at))


def _takes_costs(estimator: Any) -> bool:
    return "costs" in inspect.signature(estimator.fit).parameters


# A table in which every price decides: of each two classes one mistake costs four times the other,
# and rows have a cheap mistake and a dear one, so that neither their means nor their largest do.
_PRICES = np.array([[0.0, 1.0, 8.0], [4.0, 0.0, 2.0], [2.0, 8.0, 0.0]])
_PAIRS = ((0, 1), (1, 2), (2, 0))
_ODDS = (2, 8)


def _cells(prices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of six kinds, their classes, and the best decision for each kind.

    A row says its kind and nothing else. Each kind has two classes, whose odds are half and twice
    those at which both decisions cost the same: a price that is wrong by more than that shows.
    """
    y, kind, best = [], [], []
    for first, second in _PAIRS:
        for odds in _ODDS:
            counts = [54 * odds // (odds + 1), 54 // (odds + 1)]
            y += [first] * counts[0] + [second] * counts[1]
            best.append(np.dot(counts, prices[[first, second]]).argmin())
            kind += [len(best) - 1] * 54
    order = np.random.RandomState(0).permutation(len(y))
    return np.eye(6)[kind][order], np.array(y)[order], np.array(best)


def _assert_decided(decided: np.ndarray, best: np.ndarray, which: str) -> None:
    wrong = np.flatnonzero(decided != best)
    assert not len(wrong), (
        f"of {len(best)} kinds of rows whose class frequencies are known, {which}, {len(wrong)} are "
        f"not decided at least cost: {np.asarray(decided)[wrong]} for {best[wrong]}"
    )


# -- the checks -----------------------------------------------------------------------------


def _check_costs_matter(estimator: Any) -> None:
    X, y = _overlapping()
    shares = np.zeros((3, 3))  # [class that is expensive to miss, class decided]
    for true in range(3):
        C = 1.0 - np.eye(3)
        C[true] *= 50  # missing this class is expensive: it must be decided more often
        shares[true] = (_decided(estimator, X, y, C)[:, None] == np.arange(3)).mean(axis=0)
    for true in range(3):
        own, others = shares[true, true], np.delete(shares[:, true], true).max()
        assert own > others, (
            f"when class {true} is the expensive one to miss it is decided for {own:.0%} "
            f"of the examples, when another one is, for {others:.0%}"
        )


def _check_transposing_matters(estimator: Any) -> None:
    C = np.ones((3, 3)) - np.eye(3)
    C[2, :2] = 50  # missing class 2 is expensive
    _assert_transposing_matters(estimator, *_overlapping(), C)


def _check_scale_changes_no_decision(estimator: Any) -> None:
    factors = (0.25, 1024.0)  # powers of two: exact in floating point
    changes = {f"multiplying the costs by {factor}": factor * _COSTS for factor in factors}
    _assert_no_decision_changes(estimator, changes)


def _check_row_shift_changes_no_decision(estimator: Any) -> None:
    shifted = _COSTS + np.array([[8.0], [-4.0], [16.0]])
    _assert_no_decision_changes(estimator, {"adding a constant to each row": shifted})


def _check_relabelled_classes(estimator: Any) -> None:
    X, y = _overlapping()
    plain = _decided(estimator, X, y, _COSTS)
    names = np.array(["a", "b", "c"])
    renamed = _decided(estimator, X, names[y], _COSTS)
    assert renamed.dtype.kind in "UOT", "text labels came back as something else"
    _assert_same(names[plain], renamed, "calling the classes a, b, c")
    # Another order of the classes: ties and random draws may fall elsewhere, so only what
    # the decisions cost is compared.
    order = np.array([2, 0, 1])
    back = np.argsort(order)
    moved = back[_decided(estimator, X, order[y], _COSTS[np.ix_(back, back)])]
    before, after = _COSTS[y, plain].mean(), _COSTS[y, moved].mean()
    worst = min(_COSTS[y, c].mean() for c in range(3))
    assert abs(before - after) <= 0.5 * worst, (
        f"the decisions cost {before:.3f} on average, with the classes in another order {after:.3f}"
    )


def _check_zero_cost_rows(estimator: Any) -> None:
    if not _takes_costs(estimator):
        return
    X, y = _overlapping()
    costs = _COSTS[y]
    costs[::3] = 0.0  # these examples say nothing
    assert np.isin(_decided(estimator, X, y, costs=costs), [0, 1, 2]).all()


def _check_nearly_absent_class(estimator: Any) -> None:
    X, y = _separable()
    keep = (y != 2) | (np.cumsum(y == 2) <= 3)
    assert np.isin(_decided(estimator, X[keep], y[keep], _COSTS, at=X), [0, 1, 2]).all()


def _check_separable_data_cost_nothing(estimator: Any) -> None:
    X, y = _separable()
    cost = _COSTS[y, _decided(estimator, X, y, _COSTS)].mean()
    assert cost == 0, f"separable data are decided at an average cost of {cost:.3g}"


def _check_two_classes(estimator: Any) -> None:
    C = np.array([[0.0, 1.0], [32.0, 0.0]])
    _assert_transposing_matters(estimator, *_overlapping(n_classes=2), C)
    # Twenty examples cannot show that one in thirty-three never comes: a learner may doubt it.
    X, y = _separable(n_classes=2, n_per_class=100)
    assert (_decided(estimator, X, y, C) == y).all(), "two separable classes are not told apart"


def _check_example_costs(estimator: Any) -> None:
    if not _takes_costs(estimator):
        return
    X, y = _separable()
    cost = _COSTS[y, _decided(estimator, X, y, costs=_COSTS[y])].mean()
    assert cost == 0, f"example costs on separable data: average cost {cost:.3g}"
    X, y = _overlapping()
    shares = []
    for expensive in (0, 2):
        costs = (1.0 - np.eye(3))[y]
        costs[y == expensive] *= 50
        shares.append(np.mean(_decided(estimator, X, y, costs=costs) == 2))
    assert shares[1] > shares[0], "example costs do not matter"


def _check_every_price_decides(estimator: Any) -> None:
    X, y, best = _cells(_PRICES)
    _assert_decided(_decided(estimator, X, y, _PRICES, at=np.eye(6)), best, "at class costs")


def _check_the_price_of_two_classes_decides(estimator: Any) -> None:
    # A miss costs four times a false alarm: 1 is decided at odds of 2 to 1, and 0 at 8 to 1.
    kind = np.repeat([0, 1], 90)
    y = np.concatenate([np.repeat([0, 1], [60, 30]), np.repeat([0, 1], [80, 10])])
    order = np.random.RandomState(0).permutation(len(y))
    X, at = np.eye(2)[kind][order], np.eye(2)
    decided = _decided(estimator, X, y[order], np.array([[0.0, 1.0], [4.0, 0.0]]), at=at)
    _assert_decided(decided, np.array([1, 0]), "of two classes")


def _check_every_example_price_decides(estimator: Any) -> None:
    if not _takes_costs(estimator):
        return
    X, y, best = _cells(_PRICES)
    decided = _decided(estimator, X, y, costs=_PRICES[y], at=np.eye(6))
    _assert_decided(decided, best, "at costs of examples")


def _check_prices_when_deciding_count(estimator: Any) -> None:
    """Learn at some prices and decide at others: a method that cannot refuses them."""
    if "cost_tensor" not in inspect.signature(estimator.predict).parameters:
        return
    X, y, _ = _cells(_PRICES)
    turned = _PRICES.T.copy()
    best = _cells(turned)[2]
    model = _seeded(estimator)
    model.fit(X, y, cost_tensor=np.tile(_PRICES, (len(X), 1, 1)))
    try:
        decided = model.predict(np.eye(6), cost_tensor=np.tile(turned, (6, 1, 1)))
    except (TypeError, ValueError) as error:
        if "cost_tensor" in str(error):
            return
        raise
    _assert_decided(decided, best, "at prices known when deciding")


def _check_sample_weight_counts(estimator: Any) -> None:
    if "sample_weight" not in inspect.signature(estimator.fit).parameters:
        return
    # Both classes are as frequent in each kind of row; by weight they are 2 and 8 to 1.
    X, y = np.repeat(np.eye(2), 90, axis=0), np.tile([0, 1], 90)
    weight = np.where(y == 1, 1.0, np.array(_ODDS)[X.argmax(axis=1)])
    C = np.array([[0.0, 1.0], [4.0, 0.0]])
    model = _seeded(estimator).set_params(cost_matrix=C)
    model.fit(X, y, sample_weight=weight / weight.mean())
    _assert_decided(model.predict(np.eye(2)), np.array([1, 0]), "by sample_weight")


def _check_parameters_untouched(estimator: Any) -> None:
    C = _COSTS.copy()
    model = clone(estimator).set_params(cost_matrix=C)
    before = repr(model.get_params(deep=True))
    model.fit(*_separable())
    assert before == repr(model.get_params(deep=True)), "fit changed a parameter"
    assert np.array_equal(C, _COSTS), "fit changed the cost matrix it was given"


def _check_bad_costs_are_refused(estimator: Any) -> None:
    bad_costs = {"NaN costs": np.full((3, 3), np.nan), "a matrix of the wrong size": np.eye(2)}
    for what, bad in bad_costs.items():
        try:
            _decided(estimator, *_separable(), bad)
        except ValueError:
            continue
        raise AssertionError(f"{what} were accepted")


def _assert_transposing_matters(estimator: Any, X: Any, y: Any, C: np.ndarray) -> None:
    """Decide with C, where missing the last class is expensive, and with its transpose."""
    last = len(C) - 1
    often, rarely = (np.mean(_decided(estimator, X, y, costs) == last) for costs in (C, C.T))
    assert often > rarely, (
        f"class {last} is decided for {often:.0%} of the examples when missing it is expensive and "
        f"for {rarely:.0%} when deciding it wrongly is: cost_matrix[true, predicted] seems transposed"
    )


def _assert_no_decision_changes(estimator: Any, changes: dict[str, np.ndarray]) -> None:
    X, y = _overlapping()
    plain = _decided(estimator, X, y, _COSTS)
    for change, costs in changes.items():
        _assert_same(plain, _decided(estimator, X, y, costs), change)


def _assert_same(first: np.ndarray, second: np.ndarray, change: str) -> None:
    differ = int(np.sum(first != second))
    assert differ == 0, f"{change} changed {differ} of {len(first)} decisions"
