"""Data whose posterior and expected costs are known, so that the least cost is known too."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils import Bunch, check_random_state

from stakes.costs import KINDS, CostMatrix, random_uniform
from stakes.utils._arrays import quoted

_REFERENCE_ROWS = 4096


class KnownPosterior(Bunch):
    """A sample together with the truth behind it; made by `make_known_posterior`.

    A `Bunch` (its attributes are listed there) that can say what decisions really cost.
    """

    def bayes_cost(self, rows: Any = None) -> float:
        """Return the least average cost that any decisions can have on these rows.

        Parameters
        ----------
        rows : array-like, default=None
            Indices or a mask of the rows to look at; all of them if None.
        """
        return float(self._expected(rows).min(axis=1).mean())

    def bayes_decisions(self, rows: Any = None) -> np.ndarray:
        """Return the decisions that reach it; ties go to the first class."""
        return self._expected(rows).argmin(axis=1)

    def risk(self, decisions: Any, rows: Any = None) -> float:
        """Return what the decisions cost on average, the truth averaged out.

        Unlike the cost against the drawn `y`, this has no label noise: no classifier
        can come out below `bayes_cost`.

        Parameters
        ----------
        decisions : array-like of shape (n_rows,) or (n_rows, n_classes)
            The class decided for each row, or the probability with which a stochastic
            rule decides each.
        rows : array-like, default=None
            The rows that were decided; all of them if None.
        """
        expected = self._expected(rows)
        decisions = np.asarray(decisions)
        if len(decisions) != len(expected):
            raise ValueError(f"There are {len(decisions)} decisions for {len(expected)} rows.")
        if decisions.ndim == 2:
            if decisions.shape != expected.shape or not np.allclose(decisions.sum(axis=1), 1.0):
                raise ValueError(
                    f"Stochastic decisions need shape {expected.shape} and rows that sum to 1."
                )
            return float((decisions * expected).sum(axis=1).mean())
        unknown, last = np.setdiff1d(decisions, self.classes), len(self.classes) - 1
        if len(unknown):
            wrong = quoted(unknown, 3)
            raise ValueError(f"The classes are 0 to {last}, but some decisions are {wrong}.")
        return float(expected[np.arange(len(expected)), decisions.astype(np.intp)].mean())

    def excess(self, decisions: Any, rows: Any = None) -> float:
        """Return by what share the decisions cost more than need be: risk / bayes_cost - 1."""
        return self.risk(decisions, rows) / self.bayes_cost(rows) - 1.0

    def sample(self, n: int, random_state: Any = None) -> "KnownPosterior":
        """Draw `n` new rows from the same population, to test what was learned on these."""
        return self.population.draw(_positive(n, "n"), check_random_state(random_state))

    def _expected(self, rows: Any) -> np.ndarray:
        return self.expected_costs if rows is None else self.expected_costs[np.asarray(rows)]


def make_known_posterior(
    n: int = 2000,
    K: int = 3,
    d: int = 10,
    *,
    cost_kind: str = "class",
    sharpness: float = 2.5,
    noise: float = 0.5,
    random_state: Any = None,
) -> KnownPosterior:
    r"""Draw features, labels and costs from a posterior that is returned with them.

    The features are standard normal, the posterior a random network with products of
    features, the class matrix uniform on [1, 10] off its diagonal. The distance of any
    classifier to the least possible cost can be measured without label noise.

    Parameters
    ----------
    n, K, d : int, default=2000, 3 and 10
        The number of rows, classes and features. With few rows a class may be absent
        from `y`.
    cost_kind : {"class", "deciding", "hindsight"}, default="class"
        "class": a class matrix. "deciding": costs that differ from row to row and are known
        when deciding (`cost_tensor`). "hindsight": costs seen in training alone (`costs`),
        scaled by an amount that depends on the features and the true class, with noise.
    sharpness : float, default=2.5
        The standard deviation of the scores whose softmax is the posterior: more of it
        makes the classes easier to tell apart.
    noise : float, default=0.5
        The standard deviation of the logarithm of the noise in the amounts by which the costs
        of "deciding" and "hindsight" are scaled; its factor has mean 1.
    random_state : int, RandomState instance or None, default=None
        Seeds the population and the rows.

    Returns
    -------
    data : KnownPosterior
        A `Bunch` with `X`, `y` (labels 0 to K - 1, drawn from the posterior), `proba` (the true
        posterior, of shape (n, K)), the costs of the kind that was asked for (`cost_matrix`,
        `cost_tensor` of shape (n, K, K), or `costs` of shape (n, K), the truth being `y`; the
        others are None), `expected_costs` (what each decision costs on average, given all
        that is known when deciding), `classes`, `cost_kind` and `population` (what the
        rows were drawn from; ``population.proba(X)`` gives the posterior anywhere),
        and the methods ``bayes_cost()``, ``bayes_decisions()``, ``risk(decisions)``,
        ``excess(decisions)`` and ``sample(n, random_state)``.

    Notes
    -----
    With the posterior :math:`p_t(x)`, the class matrix :math:`C[t, d]` and the amounts
    :math:`a_t(x)`, the expected cost of decision d is

    .. math::

        \sum_t p_t(x)\, C[t, d] \quad\text{or}\quad \sum_t p_t(x)\, a_t(x)\, C[t, d],

    the first with class costs. Where costs are known when deciding, the amounts of the row
    are known, noise included; where they are known in hindsight, only their mean given x
    counts.

    Examples
    --------
    >>> from stakes.datasets import make_known_posterior
    >>> data = make_known_posterior(500, K=3, d=4, random_state=0)
    >>> data.excess(data.bayes_decisions())
    0.0
    >>> data.excess(data.proba.argmax(axis=1)) > 0  # the likeliest class is not the cheapest
    True
    >>> test = data.sample(1000, random_state=1)
    >>> test.X.shape
    (1000, 4)
    """
    n, K, d = _positive(n, "n"), _positive(K, "K", least=2), _positive(d, "d")
    if cost_kind not in KINDS:
        raise ValueError(f"cost_kind must be one of {quoted(KINDS)}, but is {cost_kind!r}.")
    for name, value in (("sharpness", sharpness), ("noise", noise)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number from 0 on, but is {value!r}.")
    rng = check_random_state(random_state)
    population = Population(
        cost_kind=cost_kind,
        scores=_Network.draw(K, d, rng, deviation=sharpness),
        log_amounts=_Network.draw(K, d, rng, deviation=0.7),
        cost_matrix=random_uniform(np.arange(K), 1.0, 10.0, random_state=rng),
        noise=float(noise),
    )
    return population.draw(n, rng)


@dataclass(frozen=True)
class Population:
    """What the rows of a `KnownPosterior` are drawn from."""

    cost_kind: str
    scores: "_Network"
    log_amounts: "_Network"
    cost_matrix: CostMatrix
    noise: float

    def proba(self, X: Any) -> np.ndarray:
        """Return the true posterior at any rows, of shape (n, K)."""
        return softmax(self.scores(np.asarray(X, dtype=float)), axis=1)

    def amounts(self, X: Any) -> np.ndarray:
        """Return the mean amount of each true class at any rows, of shape (n, K)."""
        return np.exp(self.log_amounts(np.asarray(X, dtype=float)))

    def expected_costs(self, X: Any, cost_tensor: Any = None) -> np.ndarray:
        """Return what each decision costs on average at any rows, of shape (n, K).

        Costs that are known when deciding must be given.
        """
        proba = self.proba(X)
        if self.cost_kind == "deciding":
            if cost_tensor is None:
                raise ValueError(
                    "The costs of the rows are known when deciding: give cost_tensor."
                )
            return np.einsum("nt,ntd->nd", proba, np.asarray(cost_tensor, dtype=float))
        if self.cost_kind == "hindsight":
            proba = proba * self.amounts(X)
        return proba @ self.cost_matrix.values

    def draw(self, n: int, rng: np.random.RandomState) -> KnownPosterior:
        """Draw n rows."""
        kind, C, n_classes = self.cost_kind, self.cost_matrix.values, self.cost_matrix.n_classes
        X = rng.normal(size=(n, len(self.scores.inner)))
        proba = self.proba(X)
        # A label is where a uniform number falls in the cumulated posterior.
        y = (rng.uniform(size=(n, 1)) > proba[:, :-1].cumsum(axis=1)).sum(axis=1)
        costs = tensor = None
        if kind != "class":
            # A log-normal factor of mean 1.
            blur = rng.normal(scale=self.noise, size=(n, n_classes)) - self.noise**2 / 2
            amounts = self.amounts(X) * np.exp(blur)
            costs = amounts[np.arange(n), y][:, None] * C[y]
            tensor = amounts[:, :, None] * C if kind == "deciding" else None
        return KnownPosterior(
            X=X,
            y=y,
            proba=proba,
            cost_matrix=self.cost_matrix if kind == "class" else None,
            costs=costs,
            cost_tensor=tensor,
            expected_costs=self.expected_costs(X, tensor),
            classes=np.arange(n_classes),
            cost_kind=kind,
            population=self,
        )


@dataclass(frozen=True)
class _Network:
    """A fixed random function from rows to K scores: a hidden layer and products of features."""

    inner: np.ndarray  # (d, hidden)
    shift: np.ndarray  # (hidden,)
    outer: np.ndarray  # (hidden, K)
    pairs: np.ndarray  # (2, n_pairs)
    products: np.ndarray  # (n_pairs, K)
    centre: np.ndarray  # (K,)
    scale: np.ndarray  # (K,)

    @classmethod
    def draw(cls, n_outputs: int, d: int, rng: Any, *, deviation: float) -> "_Network":
        """Draw the weights; over standard normal rows, outputs have mean 0 and that deviation."""
        hidden, n_pairs = 16, min(d, 6)
        raw = cls(
            inner=rng.normal(size=(d, hidden)) * np.sqrt(2.0 / d),
            shift=rng.normal(size=hidden),
            outer=rng.normal(size=(hidden, n_outputs)),
            pairs=rng.randint(d, size=(2, n_pairs)),
            products=rng.normal(size=(n_pairs, n_outputs)),
            centre=np.zeros(n_outputs),
            scale=np.ones(n_outputs),
        )
        reference = raw(rng.normal(size=(_REFERENCE_ROWS, d)))
        spread = reference.std(axis=0)
        scale = deviation * (1.0 / np.where(spread > 0, spread, 1.0))
        return replace(raw, centre=reference.mean(axis=0), scale=scale)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        first, second = self.pairs
        smooth = np.tanh(X @ self.inner + self.shift) @ self.outer
        crossed = (X[:, first] * X[:, second]) @ self.products
        return (smooth + crossed - self.centre) * self.scale


def _positive(value: Any, name: str, least: int = 1) -> int:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, but is {value!r}.")
    return int(value)
