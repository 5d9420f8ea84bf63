"""The L1 linear support vector machine, an exact linear programme."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_MATRIX_CONSTRAINT, CostSensitiveMixin
from stakes._methods import FEW_ROWS, at_most, method
from stakes.bagging._build import standardized
from stakes.bagging._problems import LinearProblems, LinearSolution, class_scores, decide
from stakes.costs import Costs
from stakes.utils._sklearn import Interval, StrOptions


@method(
    "l1_svm",
    family="bagging",
    exports=("onnx",),
    build=standardized(),
    limit=at_most(FEW_ROWS, "its linear programmes are solved exactly"),
)
@dataclass(eq=False, repr=False)
class L1LinearSVC(CostSensitiveMixin, BaseEstimator):
    r"""L1 linear SVM: hyperplanes of few features, from linear programmes solved exactly.

    Unlike `sklearn.svm.LinearSVC(penalty="l1")`, whose loss is the squared hinge and whose
    intercept is penalised, this is the linear programme of [1]_ itself, solved to
    optimality by HiGHS: hinge loss, one cost per example, intercept free. Many
    coefficients are exactly 0.

    It takes class costs and costs known in hindsight, not costs known when deciding. It
    gives no probabilities, and draws one hyperplane per pair of classes: for curved
    boundaries take a tree. The exact optimum takes some 2 s for 50,000 examples of 30
    features, and 20 s for 3,000 sparse ones of 5,000. Where that is too long,
    `sklearn.linear_model.SGDClassifier` stops early.

    Parameters
    ----------
    cost_matrix : CostMatrix or array-like of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``; None for 0/1 costs. Costs are taken in units of
        what an example is worth on average, so their scale says nothing and `C` keeps its
        meaning.

    C : float, default=1.0
        The scale of the costs in the linear programme: the larger, the weaker the penalty.

    fit_intercept : bool, default=True
        Whether the hyperplane has an offset, which is not penalised.

    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are split: one hyperplane per pair of classes, or one
        per class against the rest. With "ovo" an example takes part in every pair whose
        two decisions cost differently for it. 500 classes have 124,750 pairs: take "ovr".

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

    classes_, cost_matrix_, cost_kind_, n_features_in_, feature_names_in_
        As in `BacingClassifier`.

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

    # Parameters are fields of a dataclass, which writes the constructor.
    cost_matrix: Any = None
    _: KW_ONLY
    C: float = 1.0
    fit_intercept: bool = True
    multi_class: str = "ovo"
    n_jobs: int | None = None

    # What X must be for a linear programme.
    _X_checks = {"accept_sparse": "csr", "dtype": np.float64}
    _decides_only_classes = True
    _parameter_constraints: ClassVar[dict] = {
        "cost_matrix": COST_MATRIX_CONSTRAINT,
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "n_jobs": [Integral, None],
    }

    def _fit(self, X: Any, costs: Costs, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(costs)) if sample_weight is None else sample_weight
        counted = weight > 0
        if not counted.all():
            X, costs, weight = X[counted], costs.take(counted), weight[counted]
        self._keep(LinearProblems(self, X, costs).solve(weight))

    def _keep(self, solution: LinearSolution) -> None:
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        self.objective_, self.duality_gap_ = solution.objective, solution.gap

    def decision_function(self, X: Any) -> np.ndarray:
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
        check_is_fitted(self)
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return class_scores(values, len(self.classes_), self.multi_class)

    def _decide(self, X: Any, cost_tensor: np.ndarray | None) -> np.ndarray:
        return decide(self._values(X), len(self.classes_), self.multi_class)

    def _values(self, X: Any) -> np.ndarray:
        return self._check_X(X, reset=False) @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
