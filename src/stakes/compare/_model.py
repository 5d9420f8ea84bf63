"""A model that decides: a preparation, an estimator and a policy. `compare` and `fit` make it."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn import config_context

from stakes._base import CostSensitiveMixin, tensor_of
from stakes._learning.statement import Statement
from stakes.auto import StakesClassifier
from stakes.compare._held_out import HeldOutRows
from stakes.compare.runner import one_sentence
from stakes.costs import KINDS
from stakes.decision import CapacityPlan, Decided, Policy
from stakes.decision.engine import PolicyMixin, adapt_policy, class_moments, shift_in_words
from stakes.tables import (
    ColumnProfile,
    Finding,
    TablePreparation,
    find_differences,
    new_values,
)
from stakes.utils._arrays import columns_by_name
from stakes.utils._blas import process_kept
from stakes.utils._checks import warn
from stakes.utils._collections import is_collection, lazily
from stakes.utils._frames import as_frame, index_of, is_frame, is_sparse, numbers_of
from stakes.utils._labels import as_labels
from stakes.utils._pickles import PickledByVersion
from stakes.utils._pipelines import last_step, takes
from stakes.utils._sklearn import num_samples

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger("stakes")

# Called after each call that decides: with the model, what it decided and the seconds it took.
on_decided: list[Callable[["DecisionModel", Decided, float], None]] = []

# The percentiles of columns are taken of about so many rows.
QUANTILE_ROWS = 10_000


class Adaptation(NamedTuple):
    """How a model came to decide about another population.

    Attributes
    ----------
    before : tuple of float
        The class frequencies that it was fitted for.
    estimated : bool
        Whether those in force were estimated, from rows without truth.
    """

    before: tuple
    estimated: bool


class Answer(NamedTuple):
    """What a model says about some rows.

    Attributes
    ----------
    decided : Decided
        The decisions; within limits with their plan.
    proba : ndarray of shape (n_samples, n_classes) or None
        The probabilities, where they were asked for.
    classes : tuple
        The class labels.
    """

    decided: Decided
    proba: np.ndarray | None
    classes: tuple

    def table(self, index: Any = None) -> "pd.DataFrame":
        """Return the columns of `DecisionModel.decide`."""
        import pandas as pd

        decided = self.decided
        columns: dict[str, Any] = {"decision": decided.labels}
        if decided.by_costs:
            columns["expected_cost"] = decided.expected_cost
            columns["next_best"] = decided.next_labels
            columns["next_best_cost"] = decided.next_best_cost
        if self.proba is not None:
            columns |= {f"proba {c}": column for c, column in zip(self.classes, self.proba.T)}
        return pd.DataFrame(columns, index=index)


@dataclass
class DecisionModel(PickledByVersion):
    """A fitted method that takes the table as it is and says what to decide.

    Made by `fit_model`; saved and loaded by `save_model` and `load_model`.

    Attributes
    ----------
    method : str
        The method's name.
    kind : {"class", "deciding", "hindsight"}
        Which kind of costs it was fitted with; see `stakes.costs.KINDS`.
    estimator : estimator
        Fitted on the prepared table.
    policy : Policy
        What decides: classes, decisions, prices, calibration, rule, frequencies, limits.
    preparation : TablePreparation or None
        None where the estimator takes the table as it is.
    columns : list of str or None
        The columns of the table.
    takes_labels : bool
        Whether the estimator knows the class labels, and not their positions.
    n_training : int
        How many rows it was fitted on.
    info : dict
        Whatever the maker wants to keep: target, currency, where prices come from.
    profiles : list of ColumnProfile
        What the columns of the table were like; see `differences`.
    reference : HeldOutRows or None
        What it says of rows that it has not seen, with their truth; see `add_reference`.
    adapted : Adaptation or None
        Where it was adapted to another population.
    source : str or None
        The file that it was read from.
    quantiles : dict of str to list of float, or None
        The percentiles of each column of numbers in training: what an export is tried on.
    """

    _pickled: ClassVar[tuple[str, str]] = ("estimator", "policy")

    method: str
    kind: str
    estimator: Any
    policy: Policy
    preparation: TablePreparation | None = None
    columns: list[str] | None = None
    takes_labels: bool = False
    n_training: int = 0
    info: dict = field(default_factory=dict)
    profiles: list[ColumnProfile] = field(default_factory=list)
    reference: HeldOutRows | None = None
    adapted: Adaptation | None = None
    source: str | None = None
    quantiles: dict | None = None

    @property
    def classes(self) -> list:
        """The class labels."""
        return list(self.policy.classes)

    @property
    def cost_matrix(self) -> np.ndarray:
        """The prices, or their averages by true class, (n_classes, n_decisions)."""
        return self.policy.prices

    # The names of scikit-learn for the same, so that it is asked like any classifier.
    @property
    def classes_(self) -> np.ndarray:
        """The class labels, as an array."""
        return np.asarray(self.classes)

    @property
    def cost_matrix_(self) -> np.ndarray:
        """The prices."""
        return self.policy.prices

    @property
    def policy_(self) -> Policy:
        """What decides."""
        return self.policy

    @property
    def cost_kind_(self) -> str:
        """The kind of costs."""
        return self.kind

    @property
    def decisions(self) -> list:
        """The labels of what can be decided."""
        return list(self.policy.decisions)

    def check(self) -> None:
        """Refuse a model, read from a file, whose parts do not belong together."""
        n_classes = len(self.policy.classes)
        holds = (
            n_classes > 1
            and isinstance(self.method, str)
            and self.kind in KINDS
            and isinstance(self.info, dict)
            and isinstance(self.takes_labels, bool)
            and isinstance(self.n_training, int)
            and (self.quantiles is None or isinstance(self.quantiles, dict))
            and all(isinstance(profile, ColumnProfile) for profile in self.profiles)
            and (self.preparation is None or isinstance(self.preparation, TablePreparation))
            and (self.columns is None or isinstance(self.columns, list))
            and len(self.estimator.classes_) == n_classes
            and (self.reference is None or self.reference.n_classes == n_classes)
            and (self.adapted is None or len(self.adapted.before) == n_classes)
        )
        if self.reference is not None:
            self.reference._check_structure()
        if not holds:
            raise ValueError("its classes, costs and estimator do not belong together")

    # -- deciding ------------------------------------------------------------------------------

    def predict(
        self, X: Any, *, cost_tensor: Any = None, allow_missing: bool = False
    ) -> np.ndarray:
        """Return the decision for each row, as labels; `allow_missing` as in `decide`.

        For a Dask collection it is a collection, lazy, as an estimator's own `predict` gives.
        """
        if not is_collection(X):
            with self._named():
                self._warn_of_new_values(X)
        elif self.policy.capacity is not None:
            raise ValueError("The model has limits of decisions, which need all rows together.")
        return self._labels(X, cost_tensor=cost_tensor, allow_missing=allow_missing)

    @lazily
    def _labels(self, X: Any, *, cost_tensor: Any, allow_missing: bool) -> np.ndarray:
        with self._named():
            start = time.perf_counter()
            decided = self.decided(self.prepare(X, allow_missing), cost_tensor)
            self._tell(decided, start)
            return decided.labels

    def _tell(self, decided: Decided, start: float) -> None:
        seconds = time.perf_counter() - start
        log.debug("%s decided %d rows in %.6f s", self.method, len(decided.positions), seconds)
        for tell in on_decided:
            tell(self, decided, seconds)

    @lazily
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        with self._named():
            proba = self.proba(self.prepare(X))
        if proba is None:
            raise AttributeError(f"The method {self.method!r} gives no probabilities.")
        return proba

    def decide(
        self,
        X: Any,
        *,
        cost_tensor: Any = None,
        abstain_cost: float | None = None,
        proba: bool = False,
        allow_missing: bool = False,
    ) -> "pd.DataFrame":
        """Return for each row the decision and, where the method knows it, what it will cost.

        Parameters
        ----------
        X : DataFrame or array-like
            As in `fit_model`; columns are found by name.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The prices of these rows, where they are known when deciding.
        abstain_cost : float, default=None
            What it costs to leave a row to somebody else: "abstain" (-1 among numbers) is then
            decided where it is expected to cost less, and may have a limit in a `plan`.
        proba : bool, default=False
            Whether to say the probability of each class, too.
        allow_missing : bool, default=False
            Whether to take what cannot be read as in training as missing, even where it is most of a
            column, which is an error otherwise.

        Returns
        -------
        table : DataFrame
            The column `decision`; where the method decides what is expected to cost least,
            `expected_cost`, `next_best` and `next_best_cost`; with `proba`, a column ``proba LABEL``
            for each class. Within limits the next best may cost less: it was full. The index is
            that of X where X is a DataFrame of pandas.
        """
        model = self if abstain_cost is None else self.with_abstention(abstain_cost)
        with self._named():
            self._warn_of_new_values(X)
        answer = model.answer(X, cost_tensor, proba=proba, allow_missing=allow_missing)
        return answer.table(index_of(X))

    def answer(
        self, X: Any, cost_tensor: Any = None, *, proba: bool = False, allow_missing: bool = False
    ) -> "Answer":
        """Return all that can be said of rows, from one evaluation of the estimator.

        Parameters
        ----------
        X, cost_tensor, proba, allow_missing
            As in `decide`; values that training did not have are not warned of here.
        """
        with self._named():
            start = time.perf_counter()
            prepared = self.prepare(X, allow_missing)
            said = self.say(prepared, cost_tensor, proba=proba)
            decided = self.settle(said, prepared, cost_tensor)
            stated = self.stated(said) if proba else None
            self._tell(decided, start)
        if proba and stated is None:
            raise ValueError(
                f"The method {self.method} has no probabilities: do not ask for them."
            )
        return Answer(decided, stated, self.policy.classes)

    def plan(
        self,
        X: Any,
        capacity: dict | None = None,
        *,
        cost_tensor: Any = None,
        abstain_cost: float | None = None,
    ) -> CapacityPlan:
        """Return the decisions on these rows within limits, and what the limits cost.

        Parameters
        ----------
        X, cost_tensor, abstain_cost
            As in `decide`; the rows are one batch.
        capacity : dict, default=None
            Limits by decision, as in `stakes.decision.decide_within`; None is the model's own.

        Returns
        -------
        plan : CapacityPlan
            Its `decisions` are positions in `decisions`; its `shadow_prices` say what one place
            more of each decision would be worth.
        """
        with self._named():
            model = self if abstain_cost is None else self.with_abstention(abstain_cost)
            model = model if capacity is None else model.with_limits(capacity)
            if model.policy.capacity is None:
                raise ValueError("The model has no capacity: say which decisions are limited.")
            plan = model.decided(model.prepare(X), cost_tensor).plan
        assert plan is not None
        return plan

    def with_abstention(self, cost: Any) -> "DecisionModel":
        """Return the model that may leave a row to somebody else, at a price."""
        return self._with(self.policy.with_abstention, cost)._deciding_again()

    def with_limits(self, capacity: dict | None) -> "DecisionModel":
        """Return the model within limits, as in `stakes.decision.decide_within`; None is without."""
        return self._with(self.policy.with_limits, capacity)

    def with_shares(self, capacity: dict) -> "DecisionModel":
        """Return the model for a stream: each row is decided alone, and shares hold on average.

        The prices that see to it are learned from the rows of `add_reference`.

        Parameters
        ----------
        capacity : dict
            Shares, as in `stakes.decision.CapacityStream`.
        """
        kept = self.reference
        if kept is None:
            raise ValueError(
                "The model keeps nothing of rows that it has not seen, from which prices of a "
                "stream are learned: call stakes.compare.add_reference after fit_model."
            )
        expected = self._settle_reference(kept).expected
        return self._with(self.policy.with_shares, capacity, expected, kept.y)._deciding_again()

    def _deciding_again(self) -> "DecisionModel":
        """Return the model with the decisions that it now takes on the rows of `reference`."""
        if self.reference is None:
            return self
        decisions = self._settle_reference(self.reference).positions.astype(np.int32)
        return replace(self, reference=replace(self.reference, decisions=decisions))

    def policy_of_reference(self) -> Policy:
        """Return the policy for the probabilities of `reference`, each row by itself."""
        if self.adapted is None or self.policy.priors is None:
            return self.policy.stated().having(capacity=None)
        before = np.array(self.adapted.before)
        return self.policy.having(calibration=None, training_priors=before, capacity=None)

    def _settle_reference(self, kept: HeldOutRows) -> Decided:
        proba = None if kept.proba is None else kept.proba.astype(np.float64)
        said = Statement(proba=proba, expected=kept.expected, decided=kept.decisions)
        return self.policy_of_reference().settle(said, kept.cost_tensor)

    def _with(self, change: Any, *given: Any) -> "DecisionModel":
        try:
            return replace(self, policy=change(*given))
        except ValueError as error:
            raise type(error)(f"{self.method}: {error}") from error

    # -- the steps -----------------------------------------------------------------------------

    def prepare(self, X: Any, allow_missing: bool = False) -> Any:
        """Return new rows in the form in which the estimator takes them."""
        X = as_frame(_here(X))
        if self.preparation is not None:
            return self.preparation.transform(X, allow_missing=allow_missing)
        X = X if self.columns is None else columns_by_name(X, self.columns)
        last = last_step(self.estimator)[0]
        if allow_missing and isinstance(last, StakesClassifier):  # which prepares for itself
            return last.encoder_.read(X)
        return X

    def say(self, prepared: Any, cost_tensor: Any = None, *, proba: bool = False) -> Statement:
        """Return what the estimator says of prepared rows, from one evaluation of it.

        Parameters
        ----------
        prepared : object
            As `prepare` returns it.
        cost_tensor : array-like, default=None
            The prices of the rows.
        proba : bool, default=False
            Whether probabilities are wanted even if no decision needs them.
        """
        proba = proba or self.policy.needs_probabilities
        with config_context(enable_metadata_routing=False):
            last, rows = last_step(self.estimator, prepared)
            if isinstance(last, CostSensitiveMixin):
                return last._state(rows, self._tensor(prepared, cost_tensor), proba=proba)
            tensor = self._tensor(prepared, cost_tensor)
            known = {} if tensor is None else {"cost_tensor": tensor}
            decided = self._as_decisions(last.predict(rows, **known))
            if not proba or not hasattr(last, "predict_proba"):
                return Statement(decided=decided)
            shares = np.asarray(last.predict_proba(rows), dtype=np.float64)
        stated = np.zeros((len(shares), len(self.policy.classes)))
        stated[:, self._as_positions(last.classes_)] = shares
        return Statement(proba=stated, decided=decided)

    def settle(self, said: Statement, prepared: Any, cost_tensor: Any = None) -> Decided:
        """Return the decisions about rows of which the estimator has said what it can."""
        if self.kind == "deciding" and cost_tensor is None:
            raise ValueError(
                "The model was fitted with costs known when deciding: give the cost_tensor of "
                "these rows."
            )
        return self.policy.settle(said, self._tensor(prepared, cost_tensor))

    def stated(self, said: Statement) -> np.ndarray | None:
        """Return the probabilities of the classes, calibrated and at the frequencies in force."""
        return None if said.proba is None else self.policy.state(said.proba)

    def decided(self, prepared: Any, cost_tensor: Any = None) -> Decided:
        """Return the decisions on prepared rows."""
        return self.settle(self.say(prepared, cost_tensor), prepared, cost_tensor)

    def proba(self, prepared: Any) -> np.ndarray | None:
        """Return the probabilities of the classes on prepared rows, where the method has any."""
        return self.stated(self.say(prepared, proba=True))

    def _tensor(self, prepared: Any, cost_tensor: Any) -> np.ndarray | None:
        """Return the prices of rows, checked; None where nothing here could weigh them."""
        if cost_tensor is None or not self.policy.weighs_prices:
            return None
        classes = np.asarray(self.classes)
        return tensor_of(cost_tensor, num_samples(prepared), classes, self.policy.choices)

    def _as_decisions(self, labels: Any) -> np.ndarray:
        """Return what an estimator from elsewhere says, as positions in `decisions`.

        Where these are not the classes, a class that it names is followed by its cheapest decision.
        """
        policy = self.policy
        if policy.choices is None:
            return self._as_positions(labels)
        place = dict(zip(policy.classes, policy.prices.argmin(axis=1).tolist()))
        place |= {label: d for d, label in enumerate(policy.decisions)}
        strange = [label for label in dict.fromkeys(as_labels(labels)) if label not in place]
        if strange:
            raise ValueError(f"The estimator said {strange[0]!r}: neither a decision nor a class.")
        return np.array([place[label] for label in as_labels(labels)], dtype=np.intp)

    def _as_positions(self, labels: Any) -> np.ndarray:
        """Return what an estimator from elsewhere decides, as positions in `classes`."""
        labels = np.asarray(labels)
        known = np.asarray(self.classes) if self.takes_labels else np.arange(len(self.classes))
        places = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        if not (known[places] == labels).all():
            strange = labels[known[places] != labels][0]
            raise ValueError(f"The estimator decided {strange!r}, which is none of the classes.")
        return places

    # -- another population --------------------------------------------------------------------

    def adapt(self, X: Any, *, priors: Any = None, method: str = "em") -> "DecisionModel":
        """Return a model for a population of other class frequencies; nothing is fitted again.

        As `stakes.decision.CostDecisionClassifier.adapt`, for every method that weighs
        probabilities with prices. Where it is not clear that anything has shifted, the new model
        decides as this one.

        Parameters
        ----------
        X : DataFrame or array-like
            Rows of the new population, without their classes; None where `priors` are given.
        priors : dict or array-like of shape (n_classes,), default=None
            The new class frequencies, where they are known.
        method : {"em", "confusion"}, default="em"
            As in `stakes.decision.estimate_priors`.

        Returns
        -------
        model : DecisionModel
            With ``info["shift"]``, a sentence on what was found.
        """
        with self._named():
            proba = self.proba(self.prepare(X)) if priors is None else None
            moments = self._moments() if self.adapted is None else None
            given = proba, priors, method, moments, self.n_training
            policy, shift = adapt_policy(self.policy, *given)
        before = self.adapted.before if self.adapted else tuple(shift.training_priors.tolist())
        return replace(
            self,
            policy=policy,
            info={**self.info, "shift": shift_in_words(shift, self.classes)},
            adapted=Adaptation(before, priors is None),
        )

    def _moments(self) -> Any:
        """Return what held-out probabilities are like by true class, where they are known."""
        if self.reference is not None and self.reference.proba is not None:
            return class_moments(self.reference.proba.astype(float), self.reference.y)
        last = last_step(self.estimator)[0]
        return last.held_out_ if isinstance(last, PolicyMixin) else None

    # -- what the table is like ------------------------------------------------------------------

    def differences(self, X: Any, known: Iterable[str] = ()) -> list[Finding]:
        """Return in what a table differs from the one that the model was fitted on.

        Columns that are missing, new or of another kind, values that were not there, values outside
        the range, columns whose values lie elsewhere now; see `stakes.tables.find_differences`.

        Parameters
        ----------
        X : DataFrame
            A new table.
        known : iterable of str
            More columns that are not new.
        """
        X, known = as_frame(X), [*known, *self.info.get("left_out", ())]
        return find_differences(X, self.profiles, known) if is_frame(X) else []

    def _warn_of_new_values(self, X: Any) -> None:
        X = as_frame(_here(X))
        for profile in self.profiles:
            if profile.values and is_frame(X) and profile.name in X.columns:
                finding = new_values(profile, X[profile.name])
                if finding is not None:
                    warn(finding.code, str(finding), stacklevel=3)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say of which file a model was read that cannot decide: it may hold anything."""
        try:
            with process_kept():
                yield
        except (ImportError, ValueError):
            raise
        except Exception as error:
            if self.source is None:
                raise
            raise ValueError(
                f"The model in {self.source} cannot decide these rows: {one_sentence(error)}"
            ) from error


def _here(X: Any) -> Any:
    """Return rows that are here; refuse those of a cluster."""
    if is_collection(X):
        raise TypeError(
            "X is a Dask collection, of which predict and predict_proba make one; all else that is "
            "said of rows, stakes predict --dask writes for each."
        )
    return X


def as_model(model: Any) -> DecisionModel:
    """Return a fitted classifier, whatever it is, as a model that decides; one already is itself."""
    if isinstance(model, DecisionModel):
        return model
    last = last_step(model)[0]
    classes = np.asarray(model.classes_)
    kind, prices, decisions = "class", 1.0 - np.eye(len(classes)), None
    if isinstance(last, CostSensitiveMixin):
        kind, prices = last.cost_kind_, last.cost_matrix_
        decisions = as_labels(last.decisions_[: prices.shape[1]])
    return DecisionModel(
        method=type(last).__name__,
        kind=kind,
        estimator=model,
        policy=policy_of(model, classes, prices, None, decisions),
        takes_labels=True,
    )


def policy_of(
    estimator: Any,
    classes: np.ndarray,
    prices: np.ndarray,
    counts: Any = None,
    decisions: tuple | None = None,
) -> Policy:
    """Return the policy of a fitted estimator, with the labels of the classes.

    Parameters
    ----------
    estimator : estimator
        Fitted; whatever it is, the last of its steps decides.
    classes : ndarray of shape (n_classes,)
        The labels.
    prices : ndarray of shape (n_classes, n_decisions)
        What it was fitted with.
    counts : ndarray of shape (n_classes,), default=None
        How many rows of each class it was fitted on, where that is known.
    decisions : tuple, default=None
        The labels of the decisions; the classes if None.
    """
    last = last_step(estimator)[0]
    if isinstance(last, PolicyMixin):
        return last.policy_.named(classes, decisions)
    weighs = takes(last, "predict", "cost_tensor")
    given: dict[str, Any] = {"states": "votes", "weighs_prices": weighs}
    if isinstance(last, CostSensitiveMixin):
        weighs = last._weighs_cost_tensor
        given = {"states": last._stated(), "weighs_prices": weighs}
        given["needs_prices"] = weighs and last.cost_kind_ == "deciding"
    shares = None if counts is None else counts / counts.sum()
    named: Any = {"classes": classes.tolist(), "decisions": decisions}
    return Policy(prices=prices, training_priors=shares, **named, **given)


def column_quantiles(X: Any) -> dict[str, list[float]]:
    """Return the percentiles 1 to 99 of each column of numbers, by its name or position.

    They say what rows look like without being any; of more than 10,000 rows, every so many counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.compare._model import column_quantiles
    >>> found = column_quantiles(pd.DataFrame({"age": range(101), "job": ["cook"] * 101}))
    >>> list(found), found["age"][0], found["age"][-1]
    (['age'], 1.0, 99.0)
    """
    if is_sparse(X):
        return {}
    step = max(1, len(X) // QUANTILE_ROWS)
    some = X[::step]
    if is_frame(X):
        columns = {str(c): some.iloc[:, i] for i, c in enumerate(X.columns)}
    else:
        columns = {str(i): column for i, column in enumerate(np.asarray(some).T)}
    quantiles = {}
    for name, column in columns.items():
        if getattr(column.dtype, "kind", "O") in "fiub":
            values = numbers_of(column) if is_frame(X) else column.astype(np.float64)
            values = values[np.isfinite(values)]
            if len(values):
                quantiles[name] = np.quantile(values, np.arange(1, 100) / 100.0).tolist()
    return quantiles
