"""What every decision rule shares: it is fitted on probabilities alone."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from stakes._base import COST_MATRIX_CONSTRAINT
from stakes.costs import CostMatrix, Costs, check_costs, make_costs
from stakes.decision._expected import check_proba, decide
from stakes.utils._arrays import quoted
from stakes.utils._labels import encode_labels
from stakes.utils._sklearn import check_sample_weight, fit_context


class BaseRule(BaseEstimator):
    """Base of the rules that turn class probabilities into decisions.

    A subclass writes `_learn`, which sets `partition_` and whatever else it learns; where
    its decisions are not those of `partition_`, it also writes `_decide`.
    """

    __metadata_request__fit = {"costs": True, "cost_tensor": True}
    __metadata_request__predict = {"cost_tensor": True}

    _parameter_constraints: dict = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "classes": ["array-like", None],
    }

    # Whether `predict` can weigh the costs of each example (situation B1).
    _takes_cost_tensor = False
    # Whether the rule learns from `y`, so that a class without an example is an error.
    _learns = True

    def __init__(self, *, cost_matrix=None, classes=None):
        self.cost_matrix = cost_matrix
        self.classes = classes

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, proba, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Learn the rule from class probabilities and the true classes.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Probabilities of examples that their model was *not* trained on; columns in
            the order of `classes_`. A DataFrame whose columns are the class labels says
            the order itself.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example, instead of `cost_matrix`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted], instead of `cost_matrix`.

        Returns
        -------
        self : object
            The fitted rule.
        """
        classes, codes = self._settle_classes(proba, y)
        proba = check_proba(proba, n_classes=len(classes))
        check_consistent_length(proba, codes)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, proba, ensure_non_negative=True)
        training = make_costs(
            codes,
            classes=classes,
            cost_matrix=self.cost_matrix,
            costs=costs,
            cost_tensor=cost_tensor,
        )
        tensor = None
        if cost_tensor is not None:
            tensor = check_costs(
                cost_tensor, n_samples=len(proba), classes=classes, name="cost_tensor"
            )
        return self._fit_checked(proba, classes, training, sample_weight, tensor)

    def _fit_checked(self, proba, classes, training, sample_weight=None, cost_tensor=None):
        """Learn from inputs that have been checked; `training` holds the costs and codes."""
        self.classes_ = np.asarray(classes)
        counts = np.bincount(training.y, minlength=len(classes))
        if self._learns and (counts == 0).any():
            raise ValueError(
                f"There is no validation example of {quoted(self.classes_[counts == 0])}: "
                f"{type(self).__name__} cannot learn where to decide it."
            )
        self.cost_matrix_ = training.class_matrix()
        self._learn(proba, training, sample_weight, cost_tensor)
        return self

    def _learn(self, proba, training: Costs, sample_weight, cost_tensor):
        raise NotImplementedError

    def _decide(self, proba, cost_tensor):
        """Return decisions as positions in `classes_`; `proba` is not yet checked."""
        return decide(proba, self.partition_, check=True)

    def predict(self, proba, *, cost_tensor=None):
        """Return the decision for each row of probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Class probabilities, columns in the order of `classes_`.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            The costs of each example, [example, true, predicted], where they are known
            when deciding.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Class labels.
        """
        return self.classes_[self.decide(proba, cost_tensor=cost_tensor)]

    def decide(self, proba, *, cost_tensor=None):
        """Return the decisions as positions in `classes_`; the parameters are those of `predict`."""
        check_is_fitted(self)
        proba = self._in_order(proba)
        if cost_tensor is not None:
            if not self._takes_cost_tensor:
                raise ValueError(
                    f"{type(self).__name__} learns where to decide and cannot weigh the costs of "
                    "single examples when deciding: use MinimumExpectedCost, ParallelPartition, "
                    "RowPartition or ColumnPartition with cost_tensor."
                )
            cost_tensor = check_costs(
                cost_tensor, n_samples=len(proba), classes=self.classes_, name="cost_tensor"
            )
        return self._decide(proba, cost_tensor)

    def _in_order(self, proba):
        """Put the columns of a DataFrame in the order of `classes_`; check the number of columns."""
        n_classes = len(self.classes_)
        columns = getattr(proba, "columns", None)
        if columns is not None and set(columns) == set(self.classes_.tolist()):
            proba = proba[self.classes_.tolist()]
        if hasattr(proba, "to_numpy"):
            proba = proba.to_numpy()
        proba = np.asarray(proba)
        if proba.ndim == 2 and proba.shape[1] != n_classes:
            raise ValueError(
                f"proba has {proba.shape[1]} columns, one per class, but the rule was fitted with "
                f"{n_classes} classes: {quoted(self.classes_)}."
            )
        return proba

    def _settle_classes(self, proba, y):
        """Return the classes in the order of the columns of `proba`, and y as positions."""
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes = self.classes
        columns = getattr(proba, "columns", None)
        seen = np.unique(y)
        if classes is None and columns is not None and set(seen.tolist()) <= set(columns):
            classes = columns
        if classes is None and isinstance(self.cost_matrix, CostMatrix):
            labels = self.cost_matrix.labels
            if labels is not None and set(seen.tolist()) <= set(labels):
                classes = np.unique(np.asarray(labels))
        if classes is None:
            classes = seen
            width = np.shape(proba)[1] if np.ndim(proba) == 2 else len(classes)
            if width != len(classes):
                raise ValueError(
                    f"proba has {width} columns, one per class, but y has {len(classes)} classes: "
                    f"{quoted(classes)}. If a class has no example in y, name all of them in `classes`."
                )
        classes = np.asarray(classes)
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes[0]!r}: a rule needs at least 2 classes."
            )
        _, codes = encode_labels(y, classes)
        return classes, codes


class MinimumExpectedCost(BaseRule):
    r"""Decide what costs least in expectation, the probabilities taken at their word.

    The plug-in rule: nothing is learned but the costs, so no validation data are wasted.
    With 0/1 costs it is the most probable class. It serves class costs (situation A) and,
    with `cost_tensor` at `predict`, example costs that are known when deciding (B1). Not
    the one to use where the probabilities are badly off and cannot be calibrated: learn a
    partition then.

    Parameters
    ----------
    cost_matrix : array-like, CostMatrix, DataFrame or str, default=None
        ``cost_matrix[true, predicted]``. A plain array follows the order of `classes_`.
        If None, the class means of the costs given to `fit`, or else 0/1 costs.
    classes : array-like of shape (n_classes,), default=None
        The classes in the order of the columns of the probabilities. If None, the columns
        of a DataFrame, or else the sorted classes of `y`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force, in the order of `classes_`.
    partition_ : ndarray of shape (n_classes, n_classes)
        The same: this rule partitions the simplex by the costs themselves.

    Notes
    -----
    Eq. (1) of [1]_, :math:`\arg\min_d \sum_t P(t \mid x)\, C[t, d]`. The paper writes
    :math:`c_{i|j}` for predicting :math:`i` when the truth is :math:`j`; that is
    ``cost_matrix[j, i]`` here.

    References
    ----------
    .. [1] D. B. O'Brien, M. R. Gupta and R. M. Gray, "Cost-sensitive Multi-class
       Classification from Probability Estimates", ICML 2008.

    Examples
    --------
    >>> from stakes.decision import MinimumExpectedCost
    >>> C = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    >>> proba = [[0.7, 0.2, 0.1], [0.9, 0.08, 0.02], [0.5, 0.5, 0.0]]
    >>> rule = MinimumExpectedCost(cost_matrix=C).fit(proba, ["cold", "flu", "sepsis"])
    >>> rule.predict(proba)
    array(['sepsis', 'cold', 'cold'], dtype='<U6')
    """

    _takes_cost_tensor = True
    _learns = False

    def _learn(self, proba, training, sample_weight, cost_tensor):
        self.partition_ = self.cost_matrix_

    def _decide(self, proba, cost_tensor):
        if cost_tensor is not None:
            return decide(proba, cost_tensor=cost_tensor, check=True)
        return decide(proba, self.partition_, check=True)
