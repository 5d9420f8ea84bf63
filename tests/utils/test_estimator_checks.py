"""The checks let a right estimator pass and catch the defects that libraries have shipped."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from stakes._base import CostSensitiveMixin
from stakes.utils import check_cost_sensitive
from stakes.utils.estimator_checks import cost_checks


class PlugIn(CostSensitiveMixin, BaseEstimator):
    """Logistic regression and minimum expected cost, in ten lines: the oracle."""

    def __init__(self, *, cost_matrix=None):
        self.cost_matrix = cost_matrix

    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        X, training, sample_weight = self._validate_training(
            X, y, costs=costs, cost_tensor=cost_tensor, sample_weight=sample_weight
        )
        self.model_ = LogisticRegression(C=100, max_iter=1000)
        self.model_.fit(X, self.classes_[training.y], sample_weight=sample_weight)
        return self

    def used_costs(self):
        return self.cost_matrix_

    def predict(self, X):
        expected = self.model_.predict_proba(X) @ self.used_costs()
        return self.classes_[expected.round(12).argmin(axis=1)]


def test_a_right_estimator_passes_every_check():
    outcome = check_cost_sensitive(PlugIn())
    assert set(outcome.values()) == {"passed"}
    assert {"costs_matter", "transposing_matters", "two_classes"} <= set(outcome)


class IgnoresCosts(PlugIn):
    def used_costs(self):
        return 1 - np.eye(len(self.classes_))


class Transposes(PlugIn):
    def used_costs(self):
        return self.cost_matrix_.T


class MultipliesProbabilities(PlugIn):
    """Weighs by the raw row sums: a shift of a row moves the decision."""

    def predict(self, X):
        weighted = self.model_.predict_proba(X) * self.cost_matrix_.sum(axis=1)
        return self.classes_[weighted.argmax(axis=1)]


class AssumesUnits(PlugIn):
    """Clips large costs: another currency, other decisions."""

    def used_costs(self):
        return np.minimum(self.cost_matrix_, 10)


class ForgetsLabels(PlugIn):
    def predict(self, X):
        return np.searchsorted(self.classes_, super().predict(X))


class BinaryFails(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        assert len(np.unique(y)) > 2
        return super().fit(X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)


class ChokesOnZeroRows(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        if costs is not None:
            assert costs.any(axis=1).all()
        return super().fit(X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)


class IgnoresExampleCosts(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        return super().fit(X, y, sample_weight)


class OverwritesItsParameter(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        super().fit(X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)
        self.cost_matrix = 2 * self.cost_matrix_
        return self


class TakesNaN(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        if self.cost_matrix is not None and np.isnan(np.asarray(self.cost_matrix)).any():
            given, self.cost_matrix = self.cost_matrix, None
            super().fit(X, y)
            self.cost_matrix = given
            return self
        return super().fit(X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (IgnoresCosts, "costs_matter"),
        (Transposes, "costs_matter|transposing_matters"),
        (MultipliesProbabilities, "row_shift_changes_no_decision"),
        (AssumesUnits, "scale_changes_no_decision"),
        (ForgetsLabels, "relabelled_classes"),
        (BinaryFails, "two_classes"),
        (ChokesOnZeroRows, "zero_cost_rows"),
        (IgnoresExampleCosts, "example_costs"),
        (OverwritesItsParameter, "parameters_untouched"),
        (TakesNaN, "bad_costs_are_refused"),
    ],
)
def test_each_defect_is_caught_by_its_check(broken, check):
    with pytest.raises(AssertionError, match=f"fails the check '({check})'"):
        check_cost_sensitive(broken())


def test_a_failure_can_be_expected_with_a_reason():
    allowed = {"scale_changes_no_decision": "clips", "row_shift_changes_no_decision": "clips"}
    outcome = check_cost_sensitive(AssumesUnits(), expected_failed_checks=allowed)
    assert outcome["scale_changes_no_decision"] == "expected failure: clips"


def test_an_unknown_check_or_estimator_is_refused():
    with pytest.raises(ValueError, match="no check named \\['no_such_check'\\]"):
        check_cost_sensitive(PlugIn(), expected_failed_checks={"no_such_check": ""})
    with pytest.raises(TypeError, match="LogisticRegression has no parameter cost_matrix"):
        check_cost_sensitive(LogisticRegression())


# -- prices that are nearly right ------------------------------------------------------------------


class SquaresCosts(PlugIn):
    def used_costs(self):
        return self.cost_matrix_**2


class WeighsRows(PlugIn):
    """One weight for each class, whatever it is taken for."""

    def __init__(self, *, cost_matrix=None, by=np.mean):
        super().__init__(cost_matrix=cost_matrix)
        self.by = by

    def used_costs(self):
        return self.by(self.cost_matrix_, axis=1)[:, None] * (1 - np.eye(len(self.classes_)))


class TriplesOneClass(PlugIn):
    def __init__(self, *, cost_matrix=None, place=0):
        super().__init__(cost_matrix=cost_matrix)
        self.place = place

    def used_costs(self):
        return (
            self.cost_matrix_
            * np.where(np.arange(len(self.classes_)) == self.place, 3, 1)[:, None]
        )


class Flattens(PlugIn):
    def predict(self, X):
        proba = np.sqrt(self.model_.predict_proba(X))
        return self.classes_[(proba @ self.cost_matrix_).argmin(axis=1)]


class PaysTwice(PlugIn):
    """Weights by cost while learning, and the prices once more when deciding."""

    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        super().fit(X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)
        paid = self.cost_matrix_.sum(axis=1)[np.searchsorted(self.classes_, y)]
        weight = paid if sample_weight is None else paid * sample_weight
        self.model_.fit(X, y, sample_weight=weight)
        return self


class IgnoresWeights(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        return super().fit(X, y, costs=costs, cost_tensor=cost_tensor)


class IgnoresPricesOfRows(PlugIn):
    def predict(self, X, *, cost_tensor=None):
        return super().predict(X)


class IgnoresExamples(PlugIn):
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        super().fit(X, y, sample_weight, costs=costs, cost_tensor=cost_tensor)
        if costs is not None:
            self.cost_matrix_ = np.full((len(self.classes_),) * 2, self.cost_matrix_.max())
            np.fill_diagonal(self.cost_matrix_, 0)
        return self


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (SquaresCosts(), "every_price_decides"),
        (WeighsRows(by=np.mean), "every_price_decides"),
        (WeighsRows(by=np.max), "every_price_decides"),
        *[(TriplesOneClass(place=place), "every_price_decides") for place in range(3)],
        (Flattens(), "every_price_decides"),
        (PaysTwice(), "the_price_of_two_classes_decides"),
        (IgnoresExamples(), "every_example_price_decides"),
        (IgnoresWeights(), "sample_weight_counts"),
        (IgnoresPricesOfRows(), "prices_when_deciding_count"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, PlugIn) else value,
)
def test_prices_that_are_nearly_right_are_caught(mutant, check):
    with pytest.raises(AssertionError, match=r"kinds of rows .* are not decided at least cost"):
        dict(cost_checks())[check](mutant)
    dict(cost_checks())[check](PlugIn())
