"""What rules weigh in the place of prices, as numbers; and what they decide by it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from stakes._learning.statement import LIKELIEST
from stakes._learning.votes import decisions_for_likeliest, one_hot
from stakes.decision import program
from stakes.decision._doubt import range_regrets, sampled_regrets, worst_costs
from stakes.decision._expected import BLOCK_ROWS, decide_rows
from stakes.decision.program import weigh
from stakes.utils._labels import encode_labels


class NoMatrix(ValueError):
    """What decides is not the least of probabilities times one matrix."""


@dataclass(frozen=True, eq=False)
class Partition:
    """What a rule puts in the place of the prices: ``scale * prices + offset``, cell by cell.

    The prices have the least of each row at 0, so that scaling a decision means something.

    Attributes
    ----------
    scale, offset : ndarray of shape (n_classes, n_decisions)
        A rule that does not follow prices has a scale of 0: its offset is all that it has learned.
    priced : bool
        Whether what it weighs is still in the unit of the prices.
    """

    scale: np.ndarray
    offset: np.ndarray
    priced: bool = True

    @classmethod
    def fixed(cls, matrix: np.ndarray, *, priced: bool = False) -> Self:
        """Return the partition by a matrix that prices of single rows do not move."""
        return cls(np.zeros_like(matrix), matrix, priced)

    @property
    def n_decisions(self) -> int:
        """How many decisions it chooses among, the first ones of a policy."""
        return self.scale.shape[1]

    @property
    def follows_prices(self) -> bool:
        """Whether other prices move its decisions."""
        return bool(self.scale.any())

    def matrix(self, prices: np.ndarray) -> np.ndarray:
        """Return what is weighed at these prices, (K, A) or one for each row."""
        if not self.follows_prices:
            return self.offset
        return program.partition(prices, self.scale, self.offset)

    def scores(self, proba: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return what decides by its least, (n, A)."""
        return weigh(proba, self.matrix(prices))


@dataclass(frozen=True, eq=False)
class Doubt:
    """Deciding at prices that are not known for sure: least regret, or averse to risk. No matrix.

    Attributes
    ----------
    criterion : {"regret", "worst"}
        As in `decide_under_doubt`.
    low, high : ndarray of shape (n_classes, n_decisions)
        The ends of the prices.
    draws : ndarray of shape (n_draws, n_classes, n_decisions) or None
        The prices that are tried; None for ranges, where regret is exact.
    share : float
        The share of outcomes that counts, for "worst".
    """

    criterion: str
    low: np.ndarray
    high: np.ndarray
    draws: np.ndarray | None
    share: float = 0.1

    priced: ClassVar[bool] = False
    follows_prices: ClassVar[bool] = False

    @property
    def n_decisions(self) -> int:
        """How many decisions it chooses among."""
        return self.low.shape[1]

    def matrix(self, prices: np.ndarray) -> np.ndarray:
        """Refuse: there is none."""
        name = "Least regret" if self.criterion == "regret" else "Averse to risk"
        raise NoMatrix(f"{name} is no matrix: it weighs draws or ranges of the prices.")

    def scores(self, proba: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return what decides by its least, (n, A)."""
        if self.criterion == "worst":
            assert self.draws is not None
            return worst_costs(proba, self.draws, self.share)
        if self.draws is None:
            return range_regrets(proba, self.low, self.high)
        return sampled_regrets(proba, self.draws)


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The cheapest decision for the most probable class, where decisions are not classes. No matrix.

    Attributes
    ----------
    n_decisions : int
        How many decisions it chooses among.
    """

    n_decisions: int

    priced: ClassVar[bool] = False
    follows_prices: ClassVar[bool] = True

    def matrix(self, prices: np.ndarray) -> np.ndarray:
        """Refuse: there is none."""
        raise NoMatrix(f"The rule {LIKELIEST}.")

    def scores(self, proba: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return minus how probable it is that a decision is the right one, (n, A).

        What it decides has 1 less than that: it counts first also within limits.
        """
        first = one_hot(decisions_for_likeliest(proba, prices), self.n_decisions)
        right = one_hot(prices.argmin(axis=-1).ravel(), self.n_decisions)
        right = right.reshape(*prices.shape[:-1], self.n_decisions)
        return -first - weigh(proba, right)


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """A rule that is not of this library: whatever its `predict` says. No matrix.

    Attributes
    ----------
    rule : object
        Fitted, with `predict`.
    classes : tuple
        The labels that it decides.
    follows_prices : bool
        Whether its `predict` takes a `cost_tensor`.
    """

    rule: Any
    classes: tuple
    follows_prices: bool

    priced: ClassVar[bool] = False

    @property
    def n_decisions(self) -> int:
        """How many decisions it chooses among."""
        return len(self.classes)

    def matrix(self, prices: np.ndarray) -> np.ndarray:
        """Refuse: none is known."""
        raise NoMatrix(
            f"The rule {type(self.rule).__name__} is no matrix that is known here: use one of this "
            "library's own rules."
        )

    def scores(self, proba: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return 0 for what it decides and 1 for the rest, (n, A)."""
        known = {"cost_tensor": prices} if prices.ndim == 3 else {}
        decided = encode_labels(self.rule.predict(proba, **known), self.classes)[1]
        return 1.0 - one_hot(decided, self.n_decisions)


def follows_prices(rule: Partition | Doubt | Likeliest | Elsewhere | None, weighs: bool) -> bool:
    """Say whether the prices of single rows move decisions; `weighs`: whether they may be given."""
    return weighs and (rule is None or rule.follows_prices)


def decide_by(
    rule: Partition | Doubt | Likeliest | Elsewhere | None,
    proba: np.ndarray,
    prices: np.ndarray,
    tensor: np.ndarray | None = None,
) -> np.ndarray:
    """Return what a rule decides, as positions; without a rule, what is expected to cost least.

    Nothing of shape (n, K, A) is kept but the `tensor` of prices of rows, where there is one.
    """
    if rule is None:
        return decide_rows(proba, prices if tensor is None else tensor)
    if isinstance(rule, Partition) and (tensor is None or not rule.follows_prices):
        return decide_rows(proba, rule.matrix(prices))
    positions = np.empty(len(proba), dtype=np.intp)
    for start in range(0, len(proba), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        known = prices if tensor is None else tensor[rows]
        positions[rows] = rule.scores(proba[rows], known).argmin(axis=1)
    return positions
