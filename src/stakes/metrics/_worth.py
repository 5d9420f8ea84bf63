"""Is it worth it? Net benefit, and what decisions cost along a path of prices."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stakes.costs import read_cost_matrix
from stakes.metrics._cost import average_cost, check_distributions
from stakes.utils._arrays import check_weights, finite_array, quoted
from stakes.utils._frames import one_column
from stakes.utils._labels import encode_labels, label_positions


@dataclass(frozen=True)
class PriceCurve:
    """What decisions are worth along a path of prices; made by `decision_curve` and its like.

    Attributes
    ----------
    positions : ndarray of shape (m,)
        Where on the path: thresholds, cost proportions, or from 0 (the first matrix) to 1.
    values : ndarray of shape (m,)
        The net benefit (`decision_curve`), or the average cost, of deciding by the probabilities.
    low, high : ndarray of shape (m,) or None
        The bootstrap band of the values, place by place.
    same_for_all : ndarray of shape (m, n_decisions)
        The same of one decision for everybody.
    labels : tuple
        The decisions: the classes, or what the cost matrices name.
    kind : {"net benefit", "cost"}
        What the values are.
    xlabel : str
        What the positions are.
    """

    positions: np.ndarray
    values: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    same_for_all: np.ndarray
    labels: tuple
    kind: str
    xlabel: str

    @property
    def best_for_all(self) -> np.ndarray:
        """The best of the decisions for everybody, at each place."""
        best = np.max if self.kind == "net benefit" else np.min
        return best(self.same_for_all, axis=1)


def net_benefit(
    y_true: Any,
    y_pred: Any,
    *,
    reference: Any,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Return what decisions save per example against deciding one class for everybody.

    For two classes, a miss that costs 1 and a false alarm that costs the odds of a threshold,
    against doing nothing, it is the net benefit of decision curves: the share of hits less
    that of false alarms, these weighed by the odds.

    Parameters
    ----------
    y_true, y_pred, cost_matrix, costs, cost_tensor, sample_weight, labels
        As in `total_cost`.
    reference : label
        The class that would be decided for everybody.

    Returns
    -------
    benefit : float
        Above 0 the decisions are worth it.

    Examples
    --------
    Four patients, two ill; both are treated, and one who is not. At a threshold of 20% a treatment
    for nothing costs a quarter of a miss: 2/4 - 1/4 * 1/4.

    >>> from stakes.metrics import net_benefit
    >>> net_benefit([1, 1, 0, 0], [1, 1, 1, 0], reference=0, cost_matrix=[[0, 0.25], [1, 0]])
    0.4375
    """
    given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    given |= {"sample_weight": sample_weight, "labels": labels}
    same = np.full(len(one_column(y_true)), reference)
    if labels is None:
        given["labels"] = np.unique(np.concatenate([one_column(y_true), one_column(y_pred), same]))
    return average_cost(y_true, same, **given) - average_cost(y_true, y_pred, **given)


def decision_curve(
    y_true: Any,
    proba: Any,
    *,
    thresholds: Any = None,
    cost_matrices: Any = None,
    reference: Any = None,
    n_points: int = 99,
    **more: Any,
) -> PriceCurve:
    r"""Return the net benefit of deciding by probabilities, along a path of prices.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities, columns in the order of `labels`.
    thresholds : array-like, default=None
        For two classes: the probabilities of the second class from which on it is decided, each
        standing for the price of a false alarm at which that is right; `n_points` between 0 and
        1 if None.
    cost_matrices : pair of cost matrices, default=None
        Where the path begins and ends; needed for more than two classes.
    reference : label, default=None
        The decision for everybody that is compared with. If None, the first class for two
        classes and thresholds (do nothing), else the best one at each place.
    n_points : int, default=99
        Places along the path.
    **more
        ``labels``, ``sample_weight``; ``n_bootstrap`` resamples of the rows for a band
        (default 0: none) at the ``level`` of 0.95, drawn with ``random_state``.

    Returns
    -------
    curve : PriceCurve
        Its `values` are net benefits; `same_for_all` are those of one decision for everybody.

    Notes
    -----
    At a threshold t a false alarm costs :math:`t / (1 - t)` and a miss 1, so that the net benefit is
    that of Vickers and Elkin [1]_. For K classes it is the average cost of the reference less that of
    the decisions of least expected cost.

    References
    ----------
    .. [1] A. Vickers and E. Elkin, "Decision Curve Analysis", Medical Decision Making 26, 2006.

    Examples
    --------
    >>> from stakes.metrics import decision_curve
    >>> proba = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]
    >>> curve = decision_curve([0, 0, 1, 1], proba, thresholds=[0.2, 0.5])
    >>> curve.values, curve.same_for_all[:, 1]  # the model, and treating everybody
    (array([0.4375, 0.5   ]), array([0.375, 0.   ]))
    """
    rows = _Rows.of(y_true, proba, **more)
    if cost_matrices is None:
        rows.check_two_classes()
        positions = _between(thresholds, n_points, "thresholds")
        decisions = rows.labels
        zero, odds = np.zeros_like(positions), positions / (1 - positions)
        prices = np.stack([[zero, odds], [zero + 1, zero]], axis=0).transpose(2, 0, 1)
        # The threshold itself is decided positive, as decision curves have it.
        confusions = rows.confusions((rows.proba[:, 1] >= t).astype(np.intp) for t in positions)
        xlabel = f"threshold of P({rows.labels[1]})"
        reference = rows.labels[0] if reference is None else reference
    else:
        positions, prices, xlabel, decisions = rows.path(cost_matrices, n_points)
        confusions = rows.confusions((rows.cheapest(matrix) for matrix in prices), len(decisions))
    same = rows.same_for_all(prices)
    if reference is None:
        column = same.argmin(axis=1)
    else:
        place = label_positions(decisions, (reference,))
        if not place:
            raise ValueError(
                f"reference={reference!r} is none of the decisions {quoted(decisions)}."
            )
        column = np.full(len(positions), place[reference])
    # Cell by cell, what the reference costs more than the decision.
    at = np.arange(len(prices))
    gains = prices[at, :, column][:, :, None] - prices
    values = np.einsum("mtd,mtd->m", confusions, gains)
    low, high = rows.band(confusions, gains)
    before = same[at, column][:, None]
    return PriceCurve(
        positions, values, low, high, before - same, decisions, "net benefit", xlabel
    )


def brier_curve(
    y_true: Any, proba: Any, *, cost_matrices: Any = None, n_points: int = 101, **more: Any
) -> PriceCurve:
    r"""Return what decisions of least expected cost really cost, along a path of prices.

    The probabilities are taken at their word: where they are badly off, the curve lies above
    `cost_curve`, and above deciding the same for all. For two classes the area under it is the
    Brier score [1]_.

    Parameters
    ----------
    y_true, proba, **more
        As in `decision_curve`.
    cost_matrices : pair of cost matrices, default=None
        Where the path begins and ends. If None, for two classes: false alarms at 2c and misses at
        2(1 - c), c from 0 to 1.
    n_points : int, default=101
        Places along the path.

    References
    ----------
    .. [1] J. Hernández-Orallo, P. Flach and C. Ferri, "Brier Curves: A New Cost-Based
       Visualisation of Classifier Performance", ICML 2011.

    Examples
    --------
    >>> from stakes.metrics import brier_curve
    >>> proba = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]
    >>> curve = brier_curve([0, 1, 0, 1], proba, n_points=5)
    >>> curve.values  # at c = 0.5 one is missed and one is a false alarm, at 1 each
    array([0.   , 0.125, 0.5  , 0.125, 0.   ])
    """
    rows = _Rows.of(y_true, proba, **more)
    path = rows.path(cost_matrices, n_points)
    taken = (rows.cheapest(matrix) for matrix in path.prices)
    return rows.cost_curve(path, rows.confusions(taken, len(path.decisions)))


def cost_curve(
    y_true: Any, proba: Any, *, cost_matrices: Any = None, n_points: int = 101, **more: Any
) -> PriceCurve:
    """Return the least cost that the probabilities allow, along a path of prices.

    At each place, the best of the decisions that are taken anywhere on the path: for two classes
    the best threshold, the lower envelope of Drummond and Holte. It is chosen on the rows
    themselves and so a little optimistic; its distance to `brier_curve` is what a better
    calibration could save.

    Parameters
    ----------
    y_true, proba, cost_matrices, n_points, **more
        As in `brier_curve`.

    Examples
    --------
    Ranked well, but stated too low:

    >>> from stakes.metrics import brier_curve, cost_curve
    >>> y, proba = [0, 0, 1, 1], [[0.9, 0.1], [0.9, 0.1], [0.7, 0.3], [0.7, 0.3]]
    >>> brier_curve(y, proba, n_points=3).values, cost_curve(y, proba, n_points=3).values
    (array([0. , 0.5, 0. ]), array([0., 0., 0.]))
    """
    rows = _Rows.of(y_true, proba, **more)
    path = rows.path(cost_matrices, n_points)
    if cost_matrices is None:
        thresholds = np.append(np.unique(rows.proba[:, 1]), np.inf)
        taken = rows.confusions((rows.proba[:, 1] >= t).astype(np.intp) for t in thresholds)
    else:
        each = (rows.cheapest(matrix) for matrix in path.prices)
        taken = rows.confusions(each, len(path.decisions))
    best = np.einsum("ktd,mtd->mk", taken, path.prices).argmin(axis=1)
    return rows.cost_curve(path, taken[best])


class _Path(NamedTuple):
    """Places, prices (m, K, A), what the places are, and the decisions."""

    positions: np.ndarray
    prices: np.ndarray
    xlabel: str
    decisions: tuple


@dataclass(frozen=True)
class _Rows:
    """Checked rows, and how confusion matrices are made and resampled from them."""

    labels: tuple
    y: np.ndarray
    proba: np.ndarray
    weight: np.ndarray  # sums to 1
    n_bootstrap: int
    level: float
    random_state: Any

    @classmethod
    def of(
        cls,
        y_true: Any,
        proba: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        n_bootstrap: int = 0,
        level: float = 0.95,
        random_state: Any = 0,
    ) -> "_Rows":
        y_true = one_column(y_true)
        labels, codes = encode_labels(y_true, labels)
        proba = finite_array(proba, name="proba", of="probability")
        if proba.shape != (len(codes), len(labels)):
            raise ValueError(
                f"proba must have shape ({len(codes)}, {len(labels)}), one row per example and one "
                f"column per class, but it has shape {proba.shape}."
            )
        if len(codes) == 0:
            raise ValueError("There are 0 examples: nothing was decided.")
        check_distributions(proba)
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must be between 0 and 1.")
        weight = check_weights(sample_weight, y_true)
        weight = np.ones(len(codes)) if weight is None else weight
        return cls(labels, codes, proba, weight / weight.sum(), n_bootstrap, level, random_state)

    def check_two_classes(self) -> None:
        if len(self.labels) != 2:
            raise ValueError(
                f"There are {len(self.labels)} classes: say the two cost_matrices to go between."
            )

    def path(self, cost_matrices: Any, n_points: int) -> _Path:
        """Return the prices between two cost matrices of the same decisions."""
        decisions = self.labels
        if cost_matrices is None:
            self.check_two_classes()
            ends = [np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 2.0], [0.0, 0.0]])]
            xlabel = f"cost proportion of a false {self.labels[1]}"
        else:
            if len(cost_matrices) != 2:
                raise ValueError(
                    "Give two cost_matrices: where the path begins and where it ends."
                )
            known = np.asarray(self.labels)
            how = {"classes": known, "y": known[self.y], "warn": False}
            first, decisions = read_cost_matrix(cost_matrices[0], **how)
            second, _ = read_cost_matrix(cost_matrices[1], **how, decisions=decisions)
            ends = [first, second]
            xlabel = "from the first prices (0) to the second (1)"
        positions = np.linspace(0.0, 1.0, n_points)
        prices = np.multiply.outer(1 - positions, ends[0]) + np.multiply.outer(positions, ends[1])
        return _Path(positions, prices, xlabel, decisions)

    def cheapest(self, matrix: np.ndarray) -> np.ndarray:
        """Return the decisions of least expected cost; the last of equals.

        With two classes a probability at the threshold is decided positive.
        """
        expected = np.einsum("nt,td->nd", self.proba, matrix)
        return matrix.shape[1] - 1 - expected[:, ::-1].argmin(axis=1)

    def confusions(self, taken: Any, a: int = 2) -> np.ndarray:
        """Return the share of rows in each cell [true, decided], each time that all are decided."""
        k = len(self.labels)
        cells = [
            np.bincount(self.y * a + decided, self.weight, minlength=k * a) for decided in taken
        ]
        return np.reshape(cells, (-1, k, a))

    def same_for_all(self, prices: np.ndarray) -> np.ndarray:
        """Return what one decision for everybody costs at each place, (m, A)."""
        shares = np.bincount(self.y, self.weight, minlength=len(self.labels))
        return np.einsum("t,mtd->md", shares, prices)

    def cost_curve(self, path: _Path, confusions: np.ndarray) -> PriceCurve:
        values = np.einsum("mtd,mtd->m", confusions, path.prices)
        same, band = self.same_for_all(path.prices), self.band(confusions, path.prices)
        return PriceCurve(path.positions, values, *band, same, path.decisions, "cost", path.xlabel)

    def band(
        self, confusions: np.ndarray, amounts: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the bootstrap band of sums over cells: resampled rows are resampled cells."""
        if not self.n_bootstrap:
            return None, None
        rng = np.random.default_rng(self.random_state)
        n, ends = len(self.y), [(1 - self.level) / 2, (1 + self.level) / 2]
        limits = np.empty((2, len(confusions)))
        for i, (cells, amount) in enumerate(zip(confusions, amounts)):
            share = np.clip(cells.ravel(), 0, None)
            drawn = rng.multinomial(n, share / share.sum(), size=self.n_bootstrap)
            limits[:, i] = np.quantile(drawn @ amount.ravel() / n, ends)
        return limits[0], limits[1]


def _between(given: Any, n_points: int, name: str) -> np.ndarray:
    """Return thresholds, which must be between 0 and 1."""
    if given is None:
        return np.arange(1, n_points + 1) / (n_points + 1)
    values = np.atleast_1d(finite_array(given, name=name, of="threshold"))
    if values.ndim != 1 or (values <= 0).any() or (values >= 1).any():
        raise ValueError(f"{name} must be numbers above 0 and below 1.")
    return values
