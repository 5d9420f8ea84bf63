"""The policy: all that lies between the probabilities of a model and a decision, as numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from stakes._learning.statement import (
    NO_COSTS,
    NO_SUMS,
    NOT_FOLLOWING,
    NOT_LEAST,
    STATES,
    Statement,
)
from stakes.costs import check_cost_matrix, repeated
from stakes.decision import program
from stakes.decision._capacity import (
    capacity_shares,
    check_capacity,
    decide_within,
    stream_prices,
)
from stakes.decision._decided import Decided, decide_by_costs, label_array
from stakes.decision._expected import check_proba, decide_rows
from stakes.decision._numbers import Doubt, Elsewhere, Likeliest, NoMatrix, Partition, decide_by
from stakes.decision._shift import check_priors
from stakes.decision.program import weigh
from stakes.utils._arrays import finite_array, is_table, quoted
from stakes.utils._labels import abstain_label, as_labels

NO_LIMITS = "it cannot keep to limits"


@dataclass(frozen=True, eq=False, kw_only=True)
class Policy:
    r"""From a model's probabilities to decisions: the least of ``proba @ matrix``.

    Everything that decides is such a matrix: the prices themselves; what a rule has learned in their
    place; other class frequencies, which scale its rows; the shadow price of a limit, which adds to
    a column; leaving a row to people, which is a column. A policy holds it as numbers and labels,
    and is never changed: the methods ``with_...`` return a new one.

    Parameters
    ----------
    classes : tuple
        What may be true, in the order of the probabilities.
    prices : ndarray of shape (n_classes, n_decisions)
        ``[true, decided]``.
    decisions : tuple, default=None
        What may be done, in the order of the columns of `prices`; the classes if None.
    rule : Partition, Doubt, Likeliest or Elsewhere, default=None
        What a rule has learned in the place of the prices. It may be about fewer decisions, the first
        ones; the others are then taken where they are expected to cost less than what it decides.
    calibration : dict, default=None
        The numbers of a `ProbabilityCalibrator`.
    training_priors, priors : ndarray of shape (n_classes,), default=None
        The class frequencies that the probabilities were learned at, and those in force.
    capacity : dict, default=None
        Limits on a batch, as in `decide_within`: no matrix, for rows are then decided together.
    shadow_prices : ndarray of shape (n_decisions,), default=None
        Prices that keep a stream of rows to its shares.
    states : {"probabilities", "both", "costs", "votes"}, default="probabilities"
        What the model before it states. "both": probabilities, and at its own prices the costs that
        it has learned to expect.
    weighs_prices, needs_prices : bool
        Whether it can weigh the prices of single rows, and whether it decides by them alone.
    abstains : bool
        Whether the last decision is to leave a row to somebody else.

    Notes
    -----
    With calibrated probabilities p at the frequencies of training :math:`\pi`, frequencies in force
    :math:`\pi'`, prices C, scale S and offset O of the rule, and shadow prices :math:`\lambda`,

    .. math:: \text{decided} = \arg\min_d \sum_t p_t M_{td}, \qquad
        M_{td} = \frac{\pi'_t}{\pi_t} (S_{td} C_{td} + O_{td} + \lambda_d).

    Of equally good decisions the first is taken.

    A learned rule beside abstaining is the one second step: the rule decides, and a row is left where
    that costs less than what the decision is expected to cost at the prices C. What a rule weighs is
    shifted or scaled, and no longer to be compared with a price: put inside the rule's matrix, the
    price of abstaining made decisions on held-out rows cost 1.36 times as much (eight sets, four
    rules, two models, six price lists; dearer on seven sets, 0.98 on the eighth:
    ``benchmarks/abstaining.py``).

    Examples
    --------
    A miss costs 20, a false alarm 1: "ill" is decided from a probability of 1 / 21 on. Asking a
    colleague at 0.5 is one column more:

    >>> import numpy as np
    >>> from stakes.decision import Policy
    >>> policy = Policy(classes=("ill", "well"), prices=np.array([[0.0, 20.0], [1.0, 0.0]]))
    >>> proba = np.array([[0.03, 0.97], [0.5, 0.5]])
    >>> policy.decide(proba).labels.tolist()
    ['well', 'ill']
    >>> asking = policy.with_abstention(0.4, "ask")
    >>> asking.decide(proba).labels.tolist()
    ['ask', 'ask']
    >>> asking.matrix()
    array([[ 0. , 20. ,  0.4],
           [ 1. ,  0. ,  0.4]])
    """

    classes: tuple
    prices: np.ndarray
    decisions: tuple = None  # type: ignore[assignment]
    rule: Partition | Doubt | Likeliest | Elsewhere | None = None
    calibration: dict | None = None
    training_priors: np.ndarray | None = None
    priors: np.ndarray | None = None
    capacity: dict | None = None
    shadow_prices: np.ndarray | None = None
    states: str = "probabilities"
    weighs_prices: bool = True
    needs_prices: bool = False
    abstains: bool = False

    def __post_init__(self) -> None:
        settle = partial_setattr(self)
        settle("classes", as_labels(self.classes))
        settle("prices", np.asarray(self.prices, dtype=np.float64))
        named = self.classes if self.decisions is None else as_labels(self.decisions)
        settle("decisions", named)
        for name in ("classes", "decisions"):
            if twice := repeated(getattr(self, name)):
                raise ValueError(f"{name} has {quoted(twice)} more than once.")
        if self.prices.shape != (len(self.classes), len(self.decisions)):
            raise ValueError(
                f"prices have shape {self.prices.shape}, but there are {len(self.classes)} classes "
                f"and {len(self.decisions)} decisions."
            )

    # -- what it is ------------------------------------------------------------------------------

    @property
    def choices(self) -> tuple | None:
        """The decisions that have prices of their own, where they are not the classes; else None."""
        named = self.decisions[: len(self.decisions) - self.abstains]
        return None if named == self.classes else named

    @property
    def by_costs(self) -> bool:
        """Whether it decides what is expected to cost least, limits aside."""
        return self.rule is None and self.states != "votes"

    @property
    def weighs_probabilities(self) -> bool:
        """Whether it can weigh probabilities with other prices than its own."""
        return self.states in ("probabilities", "both")

    @property
    def needs_probabilities(self) -> bool:
        """Whether it decides by probabilities, also where a model states costs besides."""
        by_class = self.abstains and (self.prices[:, -1] != self.prices[0, -1]).any()
        return self.states == "probabilities" or bool(by_class)

    @property
    def trained_at(self) -> np.ndarray:
        """The class frequencies of training; refused where they are not known."""
        if self.training_priors is None:
            raise ValueError("The policy does not know the class frequencies of training.")
        return self.training_priors

    @property
    def stated_at(self) -> np.ndarray:
        """The class frequencies in force, at which `state` returns probabilities."""
        return self.trained_at if self.priors is None else self.priors

    @property
    def _factors(self) -> np.ndarray | None:
        """By what probabilities are multiplied; None where frequencies are those of training."""
        if self.priors is None or np.array_equal(self.priors, self.trained_at):
            return None
        return program.factors(self.priors, self.trained_at)

    def matrix(self, cost_tensor: Any = None) -> np.ndarray:
        """Return what calibrated probabilities are multiplied with, (K, A), or one for each row.

        Parameters
        ----------
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The prices of each row, where they are known when deciding.
        """
        if self.capacity is not None:
            raise NoMatrix("Limits on a batch are no matrix: rows are decided together.")
        self._check_states("probabilities", "both")
        prices = self.prices if cost_tensor is None else self.filled(cost_tensor)
        if self.rule is not None:
            if self.rule.n_decisions < len(self.decisions):
                raise NoMatrix(
                    "A learned rule with decisions beside it is no matrix: these are taken where they "
                    "are expected to cost less than what the rule decides."
                )
            prices = self.rule.matrix(prices)
        if self.shadow_prices is not None:
            prices = prices + self.shadow_prices
        return prices if self._factors is None else self._factors[:, None] * prices

    # -- from probabilities to decisions ----------------------------------------------------------

    def state(self, proba: np.ndarray) -> np.ndarray:
        """Return a model's probabilities calibrated, and at the class frequencies in force."""
        return self._at_priors(program.calibrate(self.calibration, proba))

    def _at_priors(self, proba: np.ndarray) -> np.ndarray:
        return proba if self._factors is None else program.reweight(proba, self._factors)

    def stated(self) -> Self:
        """Return the policy for probabilities that `state` has returned already."""
        return replace(self, calibration=None, priors=None, training_priors=None)

    def expected(self, proba: Any, cost_tensor: Any = None) -> np.ndarray:
        """Return the expected cost of each decision, in the unit of the prices.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            The model's probabilities, as in `decide`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The prices of each row, where they are known when deciding.
        """
        return self._expected(self.state(self._checked(proba)), self._checked_tensor(cost_tensor))

    def decide(self, proba: Any, cost_tensor: Any = None) -> Decided:
        """Return the decisions about rows.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            The model's probabilities: before calibration, if the policy calibrates, and at the
            class frequencies of training.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The prices of each row, where they are known when deciding. Of fewer decisions, the others
            keep the policy's prices.

        Returns
        -------
        decided : Decided
            With `positions`, `labels`, `expected_cost` and `next_best`.
        """
        self._check_states("probabilities", "both")
        return self._decide(self.state(self._checked(proba)), self._checked_tensor(cost_tensor))

    def settle(self, said: Statement, cost_tensor: Any = None) -> Decided:
        """Return the decisions about rows of which a model has said what it can.

        Parameters
        ----------
        said : Statement
            Probabilities, expected costs, or positions alone, as `states` has it.
        cost_tensor : ndarray of shape (n_samples, n_classes, n_decisions), default=None
            As in `decide`; it is checked already, and so is what is said. Expected costs that are
            given know of it.
        """
        if said.expected is not None and self.states in ("both", "costs"):
            expected = self._beside(said.expected, said.proba)
            return self._decide_by_costs(expected)
        if said.proba is not None and self.states in ("probabilities", "both"):
            return self._decide(self.state(said.proba), cost_tensor)
        if self.capacity is not None:
            raise ValueError(f"The method {NO_COSTS}, so that {NO_LIMITS}.")
        assert said.decided is not None
        return Decided(positions=said.decided, decisions=self.decisions)

    def _decide(self, proba: np.ndarray, tensor: np.ndarray | None) -> Decided:
        """Return the decisions at probabilities as `state` returns them."""

        def expects() -> np.ndarray:
            return self._expected(proba, tensor)

        if self.rule is None:
            if self.capacity is not None or self.shadow_prices is not None:
                return self._decide_by_costs(expects())
            if tensor is not None:
                return decide_by_costs(expects(), self.decisions)
            positions = decide_rows(proba, self.prices)
            given: dict[str, Any] = {"decisions": self.decisions, "expects": expects}
            return Decided(positions=positions, by_costs=True, **given)
        if self.capacity is not None:
            scores = self.rule.scores(proba, self.prices if tensor is None else tensor)
            plan = decide_within(scores, self.capacity, labels=self.decisions)
            prices = plan.shadow_prices if self.rule.priced else None
            return Decided(
                positions=plan.decisions,
                decisions=self.decisions,
                expects=expects,
                shadow_prices=prices,
                plan=plan,
            )
        positions = decide_by(self.rule, proba, self.prices, tensor)
        ruled = self.rule.n_decisions
        if ruled == len(self.decisions):
            return Decided(positions=positions, decisions=self.decisions, expects=expects)
        expected = expects()
        return Decided(
            positions=program.or_beside(positions, expected, ruled),
            decisions=self.decisions,
            expects=lambda: expected,
        )

    def _decide_by_costs(self, expected: np.ndarray) -> Decided:
        return decide_by_costs(
            expected, self.decisions, capacity=self.capacity, shadow_prices=self.shadow_prices
        )

    def _expected(self, proba: np.ndarray, tensor: np.ndarray | None) -> np.ndarray:
        expected = weigh(proba, self.prices if tensor is None else tensor)
        beside = self.prices[:, expected.shape[1] :]
        if beside.shape[1]:
            expected = np.column_stack([expected, weigh(proba, beside)])
        if self.abstains and (self.prices[:, -1] == self.prices[0, -1]).all():
            expected[:, -1] = self.prices[0, -1]  # what probabilities sum to is rounded
        return expected

    def _beside(self, expected: np.ndarray, proba: np.ndarray | None) -> np.ndarray:
        """Return the costs that a model states, with the decisions that it does not know of."""
        prices = self.prices[:, expected.shape[1] :]
        if prices.shape[1] == 0:
            return expected
        if proba is not None:
            return np.column_stack([expected, weigh(self._at_priors(proba), prices)])
        if (prices != prices[0]).any():
            raise ValueError(
                "The model has no probabilities: abstaining must cost the same for each class."
            )
        return np.column_stack([expected, np.tile(prices[0], (len(expected), 1))])

    # -- other policies ---------------------------------------------------------------------------

    def with_prices(self, prices: Any) -> Self:
        """Return the policy at other prices, (n_classes, n_decisions), in whatever form.

        Prices of fewer decisions leave those of the last ones as they are. A rule that has learned
        where to decide at the prices as they were refuses others.
        """
        self._check_states("probabilities", "both")
        if self.rule is not None and not self.rule.follows_prices:
            raise ValueError(
                "The rule has learned where to decide at the prices as they were: fit it again."
            )
        matrix = self.filled(_as_prices(prices, self.classes, self.choices))
        return replace(self, prices=matrix, states="probabilities", needs_prices=False)

    def with_priors(self, priors: Any) -> Self:
        """Return the policy for other class frequencies: a dict, or in the order of the classes."""
        self._check_states("probabilities", "both")
        now, before = check_priors(priors, self.classes), self.trained_at
        return replace(self, priors=now, training_priors=before, states="probabilities")

    def with_limits(self, capacity: Any) -> Self:
        """Return the policy within limits on each batch, as in `decide_within`; None is without."""
        if capacity is not None:
            check_capacity(capacity, self.decisions)
            if self.states == "votes":
                raise ValueError(f"the method {NO_COSTS}, so that {NO_LIMITS}.")
            if isinstance(self.rule, Doubt | Elsewhere):
                raise NoMatrix(f"the method {NO_SUMS}, so that {NO_LIMITS}.")
            if self.rule is not None and self.rule.n_decisions < len(self.decisions):
                raise ValueError(
                    f"the method {NOT_LEAST}, so that beside abstaining {NO_LIMITS}: the rule's "
                    "scores and the price of abstaining are not in one unit."
                )
        return replace(self, capacity=capacity, shadow_prices=None)

    def with_shares(
        self, capacity: Any, expected: np.ndarray, y: np.ndarray | None = None
    ) -> Self:
        """Return the policy for a stream: each row is decided alone, and limits hold on average.

        Parameters
        ----------
        capacity : dict
            Shares of decisions, as in `CapacityStream`.
        expected : ndarray of shape (n_samples, n_decisions)
            What each decision is expected to cost for rows that the model has not seen, at the
            frequencies in force.
        y : ndarray of shape (n_samples,), default=None
            Their classes, as positions, if they are as frequent among them as in training.
        """
        check_capacity(capacity, self.decisions, stream=True)
        if self.states == "votes":
            raise ValueError(f"the method {NO_COSTS}, so that {NO_LIMITS}.")
        if self.rule is not None:
            raise ValueError(f"the method {NOT_LEAST}, so that {NO_LIMITS} of a stream.")
        if y is not None and self._factors is not None:
            # Row numbers that stand for the frequencies in force, in fixed proportions.
            by = self._factors[y]
            rows = np.searchsorted(np.cumsum(by), (np.arange(len(y)) + 0.5) / len(y) * by.sum())
            expected = expected[np.minimum(rows, len(y) - 1)]
        prices = stream_prices(expected, capacity_shares(capacity, self.decisions))
        return replace(self, capacity=None, shadow_prices=prices)

    def with_abstention(self, cost: Any, label: Any = None) -> Self:
        """Return the policy with one decision more, the last: to leave a row to somebody else.

        Parameters
        ----------
        cost : float or array-like of shape (n_classes,)
            What that costs, always or for each true class.
        label : str or number, default=None
            What it is called: ``"abstain"``, or -1 among numbers.
        """
        if self.states == "votes":
            raise ValueError(f"the method {NO_COSTS}, so that it cannot abstain at a price.")
        n_classes = len(self.classes)
        costs = finite_array(cost, name="abstain_cost")
        if costs.shape not in ((), (n_classes,)):
            raise ValueError(
                f"abstain_cost must be a number or one number per class ({n_classes}), "
                f"but it has shape {costs.shape}."
            )
        text = isinstance(self.decisions[0], str)
        label = abstain_label(label_array(self.decisions), label)
        if isinstance(label, str) != text:
            raise ValueError(
                f"abstain_label={label!r} is not of the kind of the classes, {quoted(self.classes)}."
            )
        prices = np.column_stack([self.prices, np.full(n_classes, costs)])
        rule = self.rule
        if self.capacity is not None and rule is not None:
            raise ValueError("A learned rule within limits cannot abstain: leave one of them out.")
        more = self.shadow_prices
        return replace(
            self,
            prices=prices,
            decisions=(*self.decisions, label),
            abstains=True,
            shadow_prices=None if more is None else np.append(more, 0.0),
        )

    def having(self, **numbers: Any) -> Self:
        """Return the policy with other numbers of its own: a `rule`, a `calibration`."""
        return replace(self, **numbers)

    def named(self, classes: Any, decisions: tuple | None = None) -> Self:
        """Return the policy of the same numbers with other labels for the classes.

        Decisions that are classes are renamed with them, unless `decisions` names the first ones.
        """
        classes = as_labels(classes)
        place = dict(zip(self.classes, classes))
        if decisions is not None:
            place |= dict(zip(self.decisions, decisions))
        named = [place.get(label, label) for label in self.decisions]
        if self.abstains and isinstance(classes[0], str):
            named[-1] = abstain_label(classes)
        limits = self.capacity
        if limits is not None:
            limits = {place.get(label, label): limit for label, limit in limits.items()}
        return replace(self, classes=classes, decisions=tuple(named), capacity=limits)

    # -- as numbers -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON, which `stakes.decision.program` decides by, too."""
        if self.rule is not None:
            self.rule.matrix(self.prices)  # a rule that is none says so
        rule = None if self.rule is None else vars(self.rule)
        shifted = self._factors is not None
        return _plain(
            {
                "format": program.FORMAT,
                "classes": self.classes,
                "decisions": self.decisions,
                "prices": self.prices,
                "rule": rule,
                "calibration": self.calibration,
                "priors": [self.priors, self.training_priors] if shifted else None,
                "limits": None if self.capacity is None else list(self.capacity.items()),
                "shadow_prices": self.shadow_prices,
                "states": self.states,
                "weighs_prices": self.weighs_prices,
                "needs_prices": self.needs_prices,
                "abstains": self.abstains,
            }
        )

    @classmethod
    def from_dict(cls, numbers: Mapping) -> Self:
        """Return the policy that `to_dict` was made of."""
        program.check(numbers)
        rule, priors, limits = (numbers[name] for name in ("rule", "priors", "limits"))
        shadow = numbers["shadow_prices"]
        now, before = (None, None) if priors is None else map(np.array, priors)
        if rule is not None:
            scale, offset = (np.array(rule[name], dtype=float) for name in ("scale", "offset"))
            rule = Partition(scale, offset, bool(rule.get("priced")))
        return cls(
            classes=tuple(numbers["classes"]),
            decisions=tuple(numbers["decisions"]),
            prices=np.array(numbers["prices"], dtype=float),
            rule=rule,
            calibration=numbers["calibration"],
            priors=now,
            training_priors=before,
            capacity=None if limits is None else dict(limits),
            shadow_prices=None if shadow is None else np.array(shadow, dtype=float),
            states=numbers["states"],
            weighs_prices=numbers["weighs_prices"],
            needs_prices=numbers["needs_prices"],
            abstains=numbers["abstains"],
        )

    # -- checks -----------------------------------------------------------------------------------

    def _check_structure(self) -> None:
        """Refuse a policy, read from a file, whose numbers do not belong together."""
        k, n = len(self.classes), len(self.decisions)
        rows = [part for part in (self.training_priors, self.priors) if part is not None]
        rule = self.rule
        holds = (
            is_table(self.prices, np.float64, (k, n))
            and np.isfinite(self.prices).all()
            and self.states in STATES
            and all(is_table(part, np.float64, (k,)) for part in rows)
            and (self.capacity is None or isinstance(self.capacity, dict))
            and (self.calibration is None or isinstance(self.calibration, dict))
            and (self.shadow_prices is None or is_table(self.shadow_prices, np.float64, (n,)))
            and (rule is None or isinstance(rule, Partition | Doubt | Likeliest | Elsewhere))
            and (rule is None or 0 < rule.n_decisions <= n)
        )
        if isinstance(rule, Partition):
            shape = (k, rule.n_decisions)
            holds = holds and all(
                is_table(p, np.float64, shape) for p in (rule.scale, rule.offset)
            )
        if not holds:
            raise ValueError("its classes, decisions and prices do not belong together")

    def _check_states(self, *needed: str) -> None:
        if self.states not in needed:
            raise ValueError(f"The model {NOT_FOLLOWING[self.states]}: fit it again.")

    def _checked(self, proba: Any) -> np.ndarray:
        return check_proba(proba, n_classes=len(self.classes))

    def _checked_tensor(self, cost_tensor: Any) -> np.ndarray | None:
        """Return prices of rows as an array, or None; refuse them where they are of no use."""
        if cost_tensor is None:
            if self.needs_prices:
                raise ValueError(
                    "The policy decides by the prices of each row: give their cost_tensor, or a "
                    "policy at average prices, with_prices(policy.prices)."
                )
            return None
        if not self.weighs_prices:
            raise ValueError("This policy cannot weigh the prices of single rows.")
        return finite_array(cost_tensor, name="cost_tensor")

    def filled(self, prices: np.ndarray) -> np.ndarray:
        """Return prices, (K, A) or for each row; the last decisions that they leave out keep theirs."""
        prices = np.asarray(prices, dtype=np.float64)
        kept = self.prices[:, prices.shape[-1] :]
        shape = (*prices.shape[:-1], kept.shape[1])
        return np.concatenate([prices, np.broadcast_to(kept, shape)], axis=-1)


def partial_setattr(target: Any) -> Any:
    """Return a function that sets attributes of a frozen object while it is made."""
    return lambda name, value: object.__setattr__(target, name, value)


def _as_prices(prices: Any, classes: tuple, choices: tuple | None) -> np.ndarray:
    return check_cost_matrix(prices, classes=classes, warn=False, decisions=choices)


def _plain(value: Any) -> Any:
    """Return nested values as JSON has them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return value
