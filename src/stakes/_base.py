"""What every cost-sensitive classifier shares: its costs, its score, its routing."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from stakes.costs import CostMatrix, TrainingCosts, resolve_costs
from stakes.metrics import average_cost
from stakes.utils._sklearn import check_sample_weight, validate_data

# The values that the parameter `cost_matrix` may take, for `_parameter_constraints`;
# what is inside is checked by `check_cost_matrix`, whose messages are better.
COST_MATRIX_CONSTRAINT = ["array-like", CostMatrix, str, None]


class CostSensitiveMixin(ClassifierMixin):
    """Mixin of classifiers that have a `cost_matrix` and take costs in `fit`.

    It asks for `costs` and `cost_tensor` in `fit` and `score`, so that a Pipeline or a
    grid search hands them on without any `set_*_request`.
    """

    __metadata_request__fit = {"costs": True, "cost_tensor": True}
    __metadata_request__score = {"costs": True, "cost_tensor": True}

    def _validate_training(
        self, X, y, *, costs=None, cost_tensor=None, sample_weight=None, check_X=True, **checks
    ) -> tuple:
        """Check everything `fit` was given; set `classes_` and `cost_matrix_`.

        Parameters
        ----------
        X, y : array-like
            The training examples; X is only checked for its length where `check_X` is
            False (a wrapper leaves the rest to the estimator that it wraps).
        costs, cost_tensor, sample_weight : array-like or None
            As given to `fit`.
        **checks : dict
            For `validate_data`.

        Returns
        -------
        X : array-like
            Validated.
        training : TrainingCosts
            The costs in force; ``training.y`` are the classes as positions in `classes_`.
        sample_weight : ndarray of shape (n_samples,) or None
            Validated.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if check_X:
            X, y = validate_data(self, X, y, **checks)
        else:
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        codes = np.searchsorted(self.classes_, y)  # np.unique's inverse takes five times the room
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has only one class, {self.classes_[0]!r}: a classifier needs at least 2 classes."
            )
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("sample_weight is all zero: no example counts.")
        training: TrainingCosts = resolve_costs(
            codes,
            classes=self.classes_,
            cost_matrix=self.cost_matrix,
            costs=costs,
            cost_tensor=cost_tensor,
        )
        self.cost_matrix_ = training.class_matrix()
        self._fitted_on_example_costs = not training.by_class
        return X, training, sample_weight

    def score(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Return minus the average cost of the decisions on X: higher is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]. With neither, `cost_matrix_`.

        Returns
        -------
        score : float
            Minus the average cost.
        """
        matrix = self.cost_matrix_ if costs is None and cost_tensor is None else None
        return -average_cost(
            y,
            self.predict(X),
            cost_matrix=matrix,
            costs=costs,
            cost_tensor=cost_tensor,
            sample_weight=sample_weight,
            labels=self.classes_,
        )
