"""What is exported: a fitted model with its columns, and what it says itself."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from stakes.auto import StakesClassifier
from stakes.compare import DecisionModel
from stakes.export._layer import NotExportable
from stakes.export._tables import NUMBER, TEXT, Schema, schema_of_preparation
from stakes.export._verify import Said
from stakes.utils._pipelines import last_step, takes


class Source:
    """A fitted model, whatever it came as, and how it is asked.

    Parameters
    ----------
    model : DecisionModel or estimator
        As `fit_model` returns it, or a fitted classifier of this library.
    """

    def __init__(self, model: Any):
        self.model: DecisionModel | None = None
        self.preparation: Any = None
        if isinstance(model, DecisionModel):
            self.model, self.estimator = model, model.estimator
            self.preparation, self.kind = model.preparation, model.kind
            self.labels = list(model.classes)
            self.info, self.method = model.info, model.method
            self.cost_matrix = np.asarray(model.cost_matrix, dtype=np.float64)
            if model.capacity is not None:
                raise NotExportable(
                    "The model keeps to limits, for which rows are decided together; an export "
                    "decides each row by itself: export the model without its capacity."
                )
        else:
            if not hasattr(model, "predict") or isinstance(model, type):
                raise TypeError(
                    f"{model!r} is no fitted model: give what fit_model returns, or a classifier."
                )
            check_is_fitted(model)
            last = last_step(model)[0]
            self.estimator = model
            self.kind = getattr(last, "cost_kind_", "class")
            self.labels = np.asarray(model.classes_).tolist()
            self.info, self.method = {}, type(last).__name__
            n_classes = len(self.labels)
            matrix = getattr(last, "cost_matrix_", 1.0 - np.eye(n_classes))
            self.cost_matrix = np.asarray(matrix, dtype=np.float64)
        self.last = last_step(self.estimator)[0]
        aside = getattr(self.last, "abstain_costs_", None)
        self.all_labels = (
            self.labels if aside is None else [*self.labels, self.last.abstain_label_]
        )
        self.schema = self._schema()

    # -- columns -------------------------------------------------------------------------------

    def _schema(self) -> Schema:
        if self.preparation is not None:
            return schema_of_preparation(self.preparation)
        first = self.estimator.steps[0][1] if hasattr(self.estimator, "steps") else self.estimator
        names = None
        if self.model is not None:
            names = self.model.columns
        elif hasattr(first, "feature_names_in_"):
            names = [str(c) for c in first.feature_names_in_]
        kinds = self._kinds(first)
        if kinds is None:
            n_features = getattr(first, "n_features_in_", None)
            n_features = len(names) if n_features is None and names else n_features
            if n_features is None:
                raise NotExportable("The model does not say how many columns it takes.")
            kinds = [NUMBER] * int(n_features)
        bins, whole = bins_of(first), []
        if bins is not None and TEXT in kinds:
            labels = {
                i: bins.categories[i].tolist() for i in range(len(kinds)) if kinds[i] == TEXT
            }
            whole = [i for i, found in labels.items() if all(type(v) is int for v in found)]
        return Schema(names, kinds, whole)

    @staticmethod
    def _kinds(first: Any) -> list[str] | None:
        """Return the kinds of columns where an estimator takes more than numbers."""
        if isinstance(first, StakesClassifier):
            return [NUMBER if c["kind"] == "number" else TEXT for c in first.encoder_.columns_]
        bins = bins_of(first)
        if bins is not None:
            return [TEXT if category else NUMBER for category in bins.is_categorical]
        return None

    def known_values(self) -> list[dict]:
        """Return for each column values to draw rows near: see `draw_rows`."""
        kept = getattr(self.model, "quantiles", None) or {}
        first = self.estimator.steps[0][1] if hasattr(self.estimator, "steps") else self.estimator
        bins = bins_of(first)
        columns: list[dict[str, Any]] = []
        for i, kind in enumerate(self.schema.kinds):
            name = self.schema.names[i] if self.schema.names else str(i)
            if kind == TEXT:
                columns.append({"texts": self._texts(i, first, bins)})
            elif name in kept:
                columns.append({"numbers": kept[name]})
            elif bins is not None and len(bins.edges) == len(self.schema.kinds):
                columns.append({"numbers": bins.edges[i]})
            else:
                columns.append({"numbers": [-1.0, 0.0, 1.0]})
        return columns

    def _texts(self, i: int, first: Any, bins: Any) -> list[str]:
        if self.preparation is not None:
            encoder = self.preparation.vectorizer_.transformers_.get(self.preparation.columns_[i])
            found = encoder.categories_[0] if hasattr(encoder, "categories_") else []
            return [v for v in np.asarray(found).tolist() if isinstance(v, str)]
        if isinstance(first, StakesClassifier):
            column = first.encoder_.columns_[i]
            return list(dict.fromkeys([*column["shown"], *column["frequency"]]))
        return [str(v) for v in bins.categories[i].tolist()]

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
            return values
        first = self.estimator.steps[0][1] if hasattr(self.estimator, "steps") else self.estimator
        bins = bins_of(first) if self.preparation is None else None
        known = {} if bins is None else {str(v): v for v in bins.categories[i].tolist()}
        return np.array([None if v == "" else known.get(v, v) for v in values], dtype=object)

    # -- what it says ----------------------------------------------------------------------------

    @property
    def weighs_prices(self) -> bool:
        """Whether it can weigh prices of single rows."""
        return bool(
            getattr(self.last, "_weighs_cost_tensor", False)
            and takes(self.estimator, "predict", "cost_tensor")
        )

    @property
    def needs_prices(self) -> bool:
        """Whether it decides by prices of single rows alone."""
        return self.kind == "deciding" and self.weighs_prices

    def said(self, X: Any, prices: np.ndarray | None = None) -> Said:
        """Return what the model says of rows."""
        known = {} if prices is None else {"cost_tensor": prices}
        prepared = X if self.model is None else self.model.prepare(X)
        if (
            self.model is not None and self.model.priors is not None
        ):  # weighed behind the estimator
            decision = self.model.positions(prepared, prices)
            proba = self.model.proba(prepared)
            expected = self.model.expected_costs(prepared, prices)
            return Said(decision, expected, proba, expected)
        with config_context(enable_metadata_routing=False):
            decided = np.asarray(self.estimator.predict(prepared, **known))
            classes = np.asarray(self.estimator.classes_)
            aside = getattr(self.last, "abstain_costs_", None)
            if aside is not None:
                classes = np.append(classes, self.last.abstain_label_)
            places = {label: i for i, label in enumerate(classes.tolist())}
            decision = np.array([places[label] for label in decided.tolist()])
            proba = self._proba(prepared)
            expected = self._expected(prepared, known)
            found = Said(decision, None, proba, expected)
            if proba is None and hasattr(self.last, "decision_function"):
                last, X_last = last_step(self.estimator, prepared)
                margins = np.asarray(last.decision_function(X_last), dtype=np.float64)
                found.margins = margins.reshape(len(decision), -1)
            for scores in self._scores(prepared, found):
                if scores is not None and np.array_equal(scores.argmin(axis=1), decision):
                    found.scores = scores
                    break
        return found

    def _proba(self, prepared: Any) -> np.ndarray | None:
        if not hasattr(self.estimator, "predict_proba"):
            return None
        return np.asarray(self.estimator.predict_proba(prepared), dtype=np.float64)

    def _expected(self, prepared: Any, known: dict) -> np.ndarray | None:
        if not hasattr(self.last, "expected_costs"):
            return None
        last, X = last_step(self.estimator, prepared)
        return np.asarray(last.expected_costs(X, **known), dtype=np.float64)

    def _scores(self, prepared: Any, found: Said) -> Iterator[np.ndarray | None]:
        """Yield tables by whose least it may have decided; which one it was, its decisions tell."""
        yield found.expected
        last, X = last_step(self.estimator, prepared)
        if hasattr(last, "decision_function"):
            scores = np.asarray(last.decision_function(X), dtype=np.float64)
            yield np.column_stack([scores, np.zeros(len(scores))]) if scores.ndim == 1 else -scores
        if found.proba is None:
            return
        yield -found.proba
        rule: Any = getattr(last, "rule_", None)
        if hasattr(rule, "threshold_"):
            second = found.proba[:, 1]
            yield np.column_stack([second, np.full(len(second), rule.threshold_)])
        if hasattr(rule, "thresholds_"):
            yield -found.proba / rule.thresholds_
        if hasattr(rule, "weights_"):
            yield -found.proba * rule.weights_
        if hasattr(rule, "partition_"):
            yield found.proba @ rule.partition_


def bins_of(estimator: Any) -> Any:
    """Return the bins of an estimator whose trees are grown on them, or None."""
    for holder in ("_learner", "_learner_"):
        grower = getattr(getattr(estimator, holder, None), "grower", None)
        if grower is not None:
            return grower.bins
    return getattr(estimator, "bins_", None)
