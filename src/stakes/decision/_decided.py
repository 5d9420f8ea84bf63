"""What is decided about some rows, whoever decides it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stakes.decision._capacity import CapacityPlan, decide_within
from stakes.utils._labels import label_array


@dataclass(frozen=True, eq=False, kw_only=True)
class Decided:
    """What a policy decides about some rows.

    Attributes
    ----------
    positions : ndarray of shape (n_samples,)
        The decisions, as positions in `decisions`.
    decisions : tuple
        The labels of what can be decided.
    shadow_prices : ndarray of shape (n_decisions,) or None
        Within limits: what one place more of each decision is worth.
    plan : CapacityPlan or None
        Within limits of a batch: all that is known of them.
    by_costs : bool
        Whether the decisions are those of least expected cost, limits aside.
    """

    positions: np.ndarray
    decisions: tuple
    expects: Any = None
    shadow_prices: np.ndarray | None = None
    plan: CapacityPlan | None = None
    by_costs: bool = False

    @property
    def labels(self) -> np.ndarray:
        """The decisions as labels."""
        return label_array(self.decisions)[self.positions]

    @cached_property
    def expected(self) -> np.ndarray | None:
        """The expected cost of every decision, (n, n_decisions); None where only votes are known."""
        return None if self.expects is None else self.expects()

    @property
    def expected_cost(self) -> np.ndarray | None:
        """What each decision is expected to cost."""
        return None if self.expected is None else self.expected[self._rows, self.positions]

    @cached_property
    def next_best(self) -> np.ndarray | None:
        """The decision beside the one taken that is expected to cost least, as positions."""
        if self.expected is None:
            return None
        others = self.expected.copy()
        others[self._rows, self.positions] = np.inf
        return others.argmin(axis=1)

    @property
    def next_labels(self) -> np.ndarray | None:
        """The next best as labels."""
        return None if self.next_best is None else label_array(self.decisions)[self.next_best]

    @property
    def next_best_cost(self) -> np.ndarray | None:
        """What the next best is expected to cost; within limits it may be less: it was full."""
        return None if self.next_best is None else self.expected[self._rows, self.next_best]  # type: ignore[index]

    @property
    def _rows(self) -> np.ndarray:
        return np.arange(len(self.positions))


def decide_by_costs(
    expected: np.ndarray,
    labels: tuple,
    *,
    capacity: Any = None,
    shadow_prices: np.ndarray | None = None,
) -> Decided:
    """Return the decisions from expected costs alone, whoever states them.

    Parameters
    ----------
    expected : ndarray of shape (n_samples, n_decisions)
        The expected cost of each decision; of equal ones the first is taken.
    labels : tuple
        The decisions.
    capacity : dict, default=None
        Limits, as in `decide_within`: the rows are one batch.
    shadow_prices : ndarray of shape (n_decisions,), default=None
        Prices that keep a stream to its shares.

    Examples
    --------
    An inspection costs 2 and saves the damage, of 9 and of 5; there is time for one:

    >>> import numpy as np
    >>> from stakes.decision import decide_by_costs
    >>> expected = np.array([[9.0, 2.0], [5.0, 2.0]])
    >>> decide_by_costs(expected, ("pass", "inspect")).labels.tolist()
    ['inspect', 'inspect']
    >>> decide_by_costs(expected, ("pass", "inspect"), capacity={"inspect": 1}).labels.tolist()
    ['inspect', 'pass']
    """
    given: dict[str, Any] = {"decisions": labels, "expects": lambda: expected, "by_costs": True}
    if capacity is not None:
        plan = decide_within(expected, capacity, labels=labels)
        return Decided(
            positions=plan.decisions, shadow_prices=plan.shadow_prices, plan=plan, **given
        )
    if shadow_prices is None:
        return Decided(positions=expected.argmin(axis=1), **given)
    positions = (expected + shadow_prices).argmin(axis=1)
    return Decided(positions=positions, shadow_prices=shadow_prices, **given)
