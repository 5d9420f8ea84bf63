"""What is exported: a fitted model with its columns and its policy, and what it says itself."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from stakes.auto import StakesClassifier
from stakes.compare import DecisionModel, as_model
from stakes.decision import BaseRule, Decided, NoMatrix, Policy
from stakes.decision.program import weigh
from stakes.export._learners import bins_of, check_calibration
from stakes.export._settle import n_priced
from stakes.export._tables import NUMBER, TEXT, Schema, schema_of_preparation
from stakes.export._verify import NotExportable, Said
from stakes.utils._pipelines import last_step


def policy_numbers(policy: Policy) -> dict[str, Any]:
    """Return the dictionary of a policy that decides each row by itself; refuse any other."""
    if policy.capacity is not None:
        raise NotExportable(
            "The model keeps to limits, for which rows are decided together; an export decides "
            "each row by itself: export the model without its capacity."
        )
    try:
        return policy.to_dict()
    except NoMatrix as error:
        raise NotExportable(f"The decisions have no export. {error}") from error


def as_policy(model: Any) -> Policy:
    """Return the policy of a fitted rule or model, whatever it came as; one already is itself."""
    if isinstance(model, Policy):
        return model
    if isinstance(model, BaseRule):
        check_is_fitted(model)
        return model.policy_
    return Source(model).policy


DAYS = 1e6  # since 1970, either way: dates that are tried at an export


class Source:
    """A fitted model, whatever it came as, and how it is asked.

    Parameters
    ----------
    model : DecisionModel or estimator
        As `fit_model` returns it, or a fitted classifier of this library.

    Attributes
    ----------
    model : DecisionModel
        The same, as a preparation, an estimator and a policy.
    numbers : dict
        The policy as numbers: all that an export knows of it.
    schema : Schema
        The columns that the model takes.
    """

    def __init__(self, model: Any):
        if not isinstance(model, DecisionModel):
            if not isinstance(model, BaseEstimator):
                raise TypeError(
                    f"{model!r} is no fitted model: give what fit_model returns, or a classifier."
                )
            check_is_fitted(model)
        self.model = as_model(model)
        self.estimator, self.preparation = self.model.estimator, self.model.preparation
        self.policy, self.method = self.model.policy, self.model.method
        check_calibration(last_step(self.estimator)[0])
        self.numbers = policy_numbers(self.policy)
        steps = self.estimator.steps if isinstance(self.estimator, Pipeline) else []
        self._first = steps[0][1] if steps else self.estimator
        self._bins = None if self.preparation is not None else bins_of(self._first)
        self.schema = self._schema()

    # -- what it decides -------------------------------------------------------------------------

    @property
    def decisions(self) -> list:
        """The labels of what can be decided."""
        return list(self.policy.decisions)

    @property
    def prices(self) -> np.ndarray:
        """The prices of the decisions whose prices may come with a row, (n_classes, n_priced)."""
        return self.policy.prices[:, : n_priced(self.numbers)]

    @property
    def weighs_prices(self) -> bool:
        """Whether it can weigh prices of single rows."""
        return self.policy.weighs_prices

    @property
    def needs_prices(self) -> bool:
        """Whether it decides by prices of single rows alone."""
        return self.model.kind == "deciding" and self.weighs_prices

    # -- columns -------------------------------------------------------------------------------

    def _schema(self) -> Schema:
        names = self.model.columns
        if names is None and getattr(self._first, "feature_names_in_", None) is not None:
            names = [str(c) for c in self._first.feature_names_in_]
        whole: list[int] = []
        preparation = self._preparation
        if preparation is not None:
            return schema_of_preparation(preparation, names)
        if self._bins is not None:
            kinds = [TEXT if category else NUMBER for category in self._bins.is_categorical]
            for i in np.flatnonzero(self._bins.is_categorical):
                if all(type(v) is int for v in self._labels(i)):
                    whole.append(int(i))
        else:
            n_features = getattr(self._first, "n_features_in_", None) or len(names or ())
            if not n_features:
                raise NotExportable("The model does not say how many columns it takes.")
            kinds = [NUMBER] * int(n_features)
        return Schema(names, kinds, whole)

    def known_values(self) -> list[dict]:
        """Return for each column values to draw rows near: see `draw_rows`."""
        kept, bins = self.model.quantiles or {}, self._bins
        columns: list[dict[str, Any]] = []
        for i, kind in enumerate(self.schema.kinds):
            name = self.schema.names[i] if self.schema.names else str(i)
            if kind == TEXT:
                columns.append({"texts": self._texts(i)})
            elif name in kept:
                columns.append({"numbers": kept[name]})
            elif bins is not None and len(bins.edges) == len(self.schema.kinds):
                columns.append({"numbers": bins.edges[i]})
            else:
                columns.append({"numbers": [-1.0, 0.0, 1.0]})
        return columns

    def _texts(self, i: int) -> list[str]:
        if self._preparation is not None:
            return self._preparation.prepared_[i].known_values()
        return [str(v) for v in self._labels(i)]

    @property
    def _preparation(self) -> Any:
        """The preparation of the table, the model's or the default's own, if there is one."""
        if self.preparation is None and isinstance(self._first, StakesClassifier):
            return self._first.encoder_
        return self.preparation

    def _labels(self, i: Any) -> list:
        """Return the categories of a column, as trees know them."""
        assert self._bins is not None
        return self._bins.categories[i].tolist()

    def frame(self, columns: list[np.ndarray]) -> Any:
        """Return columns of values as the table that the model takes; "" is a missing text."""
        import pandas as pd

        if self.schema.names is None and TEXT not in self.schema.kinds:
            return np.column_stack(columns)
        names: Any = self.schema.names or range(len(columns))
        table = {
            name: pd.Series(self._typed(i, values))
            for i, (name, values) in enumerate(zip(names, columns))
        }
        return pd.DataFrame(table)

    def _typed(self, i: int, values: np.ndarray) -> np.ndarray:
        """Return texts as the values that they stand for, where categories are no text."""
        if self.schema.kinds[i] == NUMBER:
            known = None if self._preparation is None else self._preparation.prepared_
            if known is not None and known[i].kind == "boolean":  # which takes 0 and 1 alone
                return np.where(np.isnan(values), np.nan, values > 0.5)
            if known is not None and known[i].kind == "date":
                days = np.clip(values, -DAYS, DAYS)
                when = np.round(np.nan_to_num(days) * 86_400e6).astype("datetime64[us]")
                return np.where(np.isnan(days), np.datetime64("NaT", "us"), when)
            return values
        labels = {} if self._bins is None else {str(v): v for v in self._labels(i)}
        return np.array([None if v == "" else labels.get(v, v) for v in values], dtype=object)

    # -- what it says ----------------------------------------------------------------------------

    def said(
        self,
        X: Any,
        prices: np.ndarray | None = None,
        *,
        margins: bool = False,
        shares: bool = False,
    ) -> Said:
        """Return what the model says of rows; with its `decision_function` or shares of votes."""
        policy, prepared = self.policy, self.model.prepare(X)
        known = prices if policy.states in ("both", "costs") else None
        statement = self.model.say(prepared, known, proba=True)
        decided = policy.settle(statement, prices)
        proba = self.model.stated(statement)
        if shares:
            last, rows = last_step(self.estimator, prepared)
            proba = np.asarray(last.predict_proba(rows), dtype=np.float64)
        said = Said(decided.positions, (), proba, decided.expected)
        if margins:
            last, rows = last_step(self.estimator, prepared)
            scores = np.asarray(last.decision_function(rows), dtype=np.float64)
            said.margins = scores.reshape(len(decided.positions), -1)
            both = np.column_stack([scores, np.zeros(len(scores))])
            said.tables = ((both if scores.ndim == 1 else -scores, None),)
        elif policy.states == "votes":
            said.tables = () if proba is None else ((-proba, None),)
        else:
            said.tables = tables_of(policy, decided, proba, prices)
        return said


def tables_of(policy: Policy, decided: Decided, proba: Any, prices: Any) -> tuple:
    """Return by whose least a policy has decided, as in `Said`.

    Parameters
    ----------
    policy : Policy
        Decides rows by themselves.
    decided : Decided
        What it decides.
    proba : ndarray of shape (n, n_classes) or None
        Probabilities as `Policy.state` returns them.
    prices : ndarray of shape (n, n_classes, n_priced) or None
        Those of the rows.
    """
    if decided.expected is None:
        return ()
    shadow = 0.0 if policy.shadow_prices is None else policy.shadow_prices
    tables: tuple = ((decided.expected + shadow, None),)
    if policy.rule is not None:
        matrix = policy.rule.matrix(policy.prices if prices is None else policy.filled(prices))
        tables = ((weigh(proba, matrix), matrix if matrix.ndim == 2 else None), *tables)
    return tables
