"""The state of AdaBoost.MM and CoMBo between rounds: scores, and the costs made of them."""

from typing import Any, NamedTuple

import numpy as np

from stakes._learning.votes import cheapest_decisions
from stakes.boosting._equations import LARGEST_EDGE, SMALLEST_EDGE, vote
from stakes.costs import Costs
from stakes.costs.arithmetic import shift_rows
from stakes.tree.engine import Measures
from stakes.utils._sums import Sums, rounder

# D is carried from round to round by factors; every so often, and before its scale leaves
# the range of floating point, it is written anew from the scores.
REBUILD_EVERY = 64
SMALLEST, LARGEST = 1e-30, 1e30
# Rows whose scores are asked again at a time.
RECALLED = 65_536
NOTHING_TO_LEARN = "Every decision costs the same for examples with a weight: nothing to learn."


class Step(NamedTuple):
    """What a round has come to."""

    edge: float
    weight: float
    loss: float
    is_last: bool


class Penalty(NamedTuple):
    """What stands before the exponential in eq. (13), row by row.

    The penalty of row i is ``row_weight[i] * table[table_row[i]]``: class costs need a table
    of one row per class, example costs one row per example. Where rows of one class weigh the
    same (``by_row`` is False) there is a weight for each row of the table.
    """

    table: np.ndarray
    table_row: np.ndarray
    row_weight: np.ndarray
    target: np.ndarray
    by_row: bool = True

    @classmethod
    def from_costs(cls, costs: Costs, row_weight: np.ndarray, by_row: bool = True) -> "Penalty":
        """Return the costs above the cheapest decision of each row, weighted."""
        small = np.min_scalar_type(costs.n_classes)
        if costs.by_class:
            labels = cheapest_decisions(costs.table, np.arange(costs.n_classes))
            same = np.array_equal(labels, np.arange(costs.n_classes))
            target = costs.y.astype(small, copy=False) if same else labels.astype(small)[costs.y]
        else:
            target = cheapest_decisions(costs.table, costs.y).astype(small)
        table = np.ascontiguousarray(shift_rows(costs.table), dtype=np.float64)
        table_row = costs.row_of.astype(small if costs.by_class else np.int64, copy=False)
        return cls(table, table_row, row_weight, target, by_row)

    def rows(self) -> np.ndarray:
        """Return the penalties as an array, (n, K)."""
        weight = self.row_weight if self.by_row else self.row_weight[self.table_row]
        return weight[:, None] * self.table[self.table_row]

    def take(self, rows: slice) -> "Penalty":
        """Return some of the rows."""
        return self._replace(
            table_row=self.table_row[rows],
            row_weight=self.row_weight[rows] if self.by_row else self.row_weight,
            target=self.target[rows],
        )


class Recall:
    """The scores, asked of the members again instead of being kept: 8 K bytes less for each row.

    Parameters
    ----------
    learner : WeakLearner
        Asks the members.
    data : BinnedData
        The rows.
    n_classes : int
        The number of decisions.
    """

    def __init__(self, learner: Any, data: Any, n_classes: int):
        self.learner, self.data, self.n_classes = learner, data, n_classes
        self.members: list[Any] = []
        self.weights: list[float] = []

    def scores(self, rows: slice) -> np.ndarray:
        """Return the scores of some rows: the same sums in the same order as if they were kept."""
        if not self.weights:
            return np.zeros((rows.stop - rows.start, self.n_classes))
        members = self.members[: len(self.weights)]
        data = self.learner.take(self.data, rows)
        return self.learner.votes(members, np.array(self.weights), data)


class ExponentialCosts:
    """Scores f and costs D of the loop; a round changes one score per row.

    Parameters
    ----------
    penalty : Penalty
        What stands before the exponential.
    n_classes : int
        The number of decisions.
    learning_rate : float
        Factor of every vote.
    sums : Sums, default=None
        Takes sums over several processes, if the rows are spread over them.
    recall : Recall, default=None
        Knows the scores where there is no room to keep them; is told the members.
    dtype : dtype, default=float64
        Of the costs; float32 where memory is scarce.

    Attributes
    ----------
    costs : ndarray of shape (n_samples, n_classes)
        D up to a positive factor, which no weak learner and no edge depends on.
    scores : ndarray of shape (n_samples, n_classes)
        f; without rows where `recall` knows them.
    target : ndarray of shape (n_samples,)
        The label each row works towards.
    initial_loss : float
        L before the first round.
    """

    def __init__(
        self,
        penalty: Penalty,
        n_classes: int,
        learning_rate: float = 1.0,
        sums: Sums | None = None,
        recall: Recall | None = None,
        dtype: Any = np.float64,
    ):
        from stakes.boosting import _kernels

        self._kernels = _kernels
        self.sums = sums or Sums()
        self.penalty, self.target = penalty, penalty.target
        self.learning_rate = learning_rate
        self.recall = recall
        self.scores = np.zeros((len(self.target) if recall is None else 0, n_classes))
        self.costs = np.empty((len(self.target), n_classes), dtype)
        # Costs are D / exp(offset), their loss is `scaled_loss`, and `age` counts their rounds.
        self.offset, self.scaled_loss, self.age = 0.0, 0.0, 0
        counted = np.array([float(len(self.target))])
        self.sums.total(counted)
        self.n_rows = int(counted[0])
        self._rebuild(None)
        self.initial_loss = self.scaled_loss
        if self.initial_loss == 0.0:
            raise ValueError(NOTHING_TO_LEARN)
        # From here on D is in units of the initial loss: equal up to the last bit for costs
        # that differ by a power of two.
        self.penalty = penalty._replace(row_weight=penalty.row_weight / self.initial_loss)
        self._rebuild(2.0)

    def advance(self, leaf: np.ndarray, decisions: np.ndarray) -> Step:
        """Weigh a member, add its votes, carry D along.

        Parameters
        ----------
        leaf, decisions : ndarray
            The member decides ``decisions[leaf[i]]`` for row i.

        Returns
        -------
        step : Step
            A member whose edge is not positive changes nothing and is the last. So is one
            that meets every target, its edge 1: the costs it leaves are the same up to a
            factor, and so would be its successors.
        """
        r = rounder(self.scaled_loss) if self.sums.shared else 0.0
        gains = np.array(self._kernels.gained(self.costs, self.target, leaf, decisions, r))
        self.sums.total(gains)
        met, missed, paid, n_missed = gains.tolist()
        delta = (met - paid) / self.scaled_loss  # Algorithm 1
        if not delta > SMALLEST_EDGE:
            return Step(delta, 0.0, self.loss, True)
        is_perfect = n_missed == 0
        delta = min(delta, LARGEST_EDGE)
        alpha = vote(delta) * (1.0 if is_perfect else self.learning_rate)
        self.scaled_loss = self._kernels.add_votes(
            self.costs, self.scores, self.target, leaf, decisions, alpha
        )
        if self.sums.shared:  # what the votes make of the sums over all rows
            up, down = np.exp(alpha), np.exp(-alpha)
            self.scaled_loss = float(down * met + missed + (up - 1.0) * paid)
        if self.recall is not None:
            self.recall.weights.append(alpha)
        self.age += 1
        if self.age >= REBUILD_EVERY or not SMALLEST < self.scaled_loss < LARGEST:
            self.offset += np.log(self.scaled_loss)
            self._rebuild(2.0)
        return Step(delta, alpha, self.loss, is_perfect)

    @property
    def loss(self) -> float:
        """L, the exponential loss (11) of the scores."""
        return float(self.initial_loss * self.scaled_loss * np.exp(self.offset))

    @property
    def measures(self) -> Measures | None:
        """What a tree has to know of all rows, if they are spread: rows of D sum to 0."""
        mass = 2.0 * self.scaled_loss
        return Measures(mass, mass, self.n_rows, self.n_rows) if self.sums.shared else None

    def _rebuild(self, bound: float | None) -> None:
        """Write D anew; `bound` is what the loss cannot exceed, if something is known of it."""
        shared = self.sums.shared
        loss, most = self._write(rounder(bound or 0.0) if shared else 0.0)
        if shared and bound is None:
            top = np.array([most])
            self.sums.greatest(top)
            loss, _ = self._write(rounder(float(top[0]) * self.n_rows))
        total = np.array([loss])
        self.sums.total(total)
        self.scaled_loss = float(total[0])
        self.age = 0

    def _write(self, r: float) -> tuple[float, float]:
        """Write D from the scores; return its loss, in fixed point by `r`, and the most of a row."""
        if self.recall is None:
            return self._kernels.rebuild(self.costs, self.scores, self.penalty, self.offset, r)
        loss, most = 0.0, 0.0
        for first in range(0, len(self.target), RECALLED):
            rows = slice(first, min(first + RECALLED, len(self.target)))
            given = self.costs[rows], self.recall.scores(rows), self.penalty.take(rows)
            total = self._kernels.rebuild(*given, self.offset, r)
            loss, most = loss + total[0], max(most, total[1])
        return loss, most
