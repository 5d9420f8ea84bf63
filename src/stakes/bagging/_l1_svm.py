"""The L1 linear support vector machine, an exact linear programme."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes.bagging._problems import LinearProblems, class_scores, decide
from stakes.costs import Costs
from stakes.utils._sklearn import Interval, StrOptions, fit_context, validate_data


class L1LinearSVC(CostSensitiveMixin, BaseEstimator):
    r"""Linear support vector machine with an l1 penalty, solved as a linear programme.

    Unlike `sklearn.svm.LinearSVC(penalty="l1")`, whose loss is the squared hinge and whose
    intercept is penalised, this is the linear programme of [1]_ itself, solved to
    optimality by HiGHS: hinge loss, one cost per example, intercept free. Many
    coefficients are exactly 0.

    Situations A (a class matrix) and B2 (example costs seen in training). It is not for
    costs that are known only when deciding (B1), gives no probabilities, and draws one
    hyperplane per pair of classes: for curved boundaries take a tree. The exact optimum
    takes its time: some 2 s for 50,000 examples of 30 features, 20 s for 3,000 sparse ones
    of 5,000. Where that is too long, `sklearn.linear_model.SGDClassifier` stops early.

    Parameters
    ----------
    C : float, default=1.0
        The scale of the costs in the linear programme: the larger, the weaker the penalty.

    cost_matrix : CostMatrix or array-like of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``; None for 0/1 costs. Costs are taken in units of
        what an example is worth on average, so their scale says nothing and `C` keeps its
        meaning.

    fit_intercept : bool, default=True
        Whether the hyperplane has an offset, which is not penalised.

    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are split: one hyperplane per pair of classes, or one
        per class against the rest. With "ovo" an example takes part in every pair whose
        two decisions cost differently for it.

    n_jobs : int, default=None
        Threads over the hyperplanes of a problem with more than two classes.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_problems, n_features)
        The hyperplanes, for the features as they were given. With "ovo" the problems are
        the pairs (0, 1), (0, 2), ..., (1, 2), ...; positive is the second of the pair.

    intercept_ : ndarray of shape (1,) or (n_problems,)
        The offsets.

    objective_ : float
        The least value of the linear programme, summed over the problems.

    duality_gap_ : float
        By how much the objective may exceed the true optimum, relative to 1 + objective;
        0 up to rounding.

    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        The costs in force; with example costs, the mean row of each true class.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    n_features_in_ : int
        Number of features seen in `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    BacingClassifier : A vote of many of these, each with costs adapted to the others.

    Notes
    -----
    For two classes, :math:`y_i = \pm 1`, this is LP (3) of [1]_ with an offset,

    .. math:: \min_{\alpha, b, e} \sum_i \delta_i e_i + \sum_n |\alpha_n| \quad\text{s.t.}\quad
        y_i (\alpha \cdot x_i + b) \ge 1 - e_i, \quad e_i \ge 0,

    where :math:`\delta_i` is `C` times the sample weight times the cost of the mistake (1
    under 0/1 costs). So ``fit(X, y, sample_weight=delta)`` is the programme of the paper.

    The penalty is on the coefficients of the features *as given*, as in the paper: a
    feature measured in smaller units needs a smaller coefficient and is used more readily.
    Inside the solver each feature is shifted and scaled, with the penalty scaled the other
    way, so that the answer is that of the programme as written whether features are of
    size 1e-9 or 1e9; put a `StandardScaler` before if that is not the penalty you want.
    Within one feature, values below 1e-9 of its range count as equal.

    Where several hyperplanes are optimal, one vertex is returned, always the same one for
    the same input.

    References
    ----------
    .. [1] Y. Zhang and W. N. Street, "Bagging with Adaptive Costs", ICDM 2005, 825-828.

    Examples
    --------
    Two points two apart need a slope of 1; moving them in costs more slack than it saves:

    >>> from stakes.bagging import L1LinearSVC
    >>> model = L1LinearSVC(C=10).fit([[-1], [1]], ["no", "yes"])
    >>> model.coef_, model.intercept_, model.objective_
    (array([[1.]]), array([0.]), 1.0)
    >>> model.predict([[-0.1], [0.1]])
    array(['no', 'yes'], dtype='<U3')
    """

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "fit_intercept": ["boolean"],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self, C=1.0, *, cost_matrix=None, fit_intercept=True, multi_class="ovo", n_jobs=None
    ):
        self.C = C
        self.cost_matrix = cost_matrix
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, costs=None, cost_tensor=None):
        """Solve the linear programme.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            The cost of each example in the linear programme, before `C`; 1 if None.
        costs : array-like of shape (n_samples, n_classes), default=None
            What each decision costs for each example.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            [example, true, predicted]; y picks the row.

        Returns
        -------
        self : L1LinearSVC
            Fitted.
        """
        X, training, weight = self._validate_training(
            X,
            y,
            costs=costs,
            cost_tensor=cost_tensor,
            sample_weight=sample_weight,
            accept_sparse="csr",
            dtype=np.float64,
        )
        if weight is None:
            weight = np.ones(len(training))
        counted = weight > 0
        if not counted.all():
            X, training, weight = X[counted], training.take(counted), weight[counted]
        self._keep(self._problems(X, training).solve(weight))
        return self

    def _problems(self, X, training: Costs) -> LinearProblems:
        return LinearProblems(
            X,
            training,
            C=self.C,
            fit_intercept=self.fit_intercept,
            multi_class=self.multi_class,
            n_jobs=self.n_jobs,
        )

    def _keep(self, solution) -> None:
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        self.objective_, self.duality_gap_ = solution.objective, solution.gap

    def decision_function(self, X):
        """Return how far each example is on the side of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for the second one. With more, the largest decides;
            with "ovo" these are votes plus a term below 1/3 in size that settles ties.
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return class_scores(values, len(self.classes_), self.multi_class)

    def predict(self, X):
        """Return the decisions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            Class labels.
        """
        values = self._values(X)
        return self.classes_[decide(values, len(self.classes_), self.multi_class)]

    def _values(self, X) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
