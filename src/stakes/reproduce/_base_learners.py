"""The probability estimators of O'Brien, Gupta and Gray's experiments."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from stakes.utils._arrays import quoted
from stakes.utils._frames import as_frame, is_frame
from stakes.utils._sklearn import Interval, check_sample_weight, fit_context, validate_data


def quantized_naive_bayes(n_values: int = 21, alpha: float = 1.0) -> Pipeline:
    """Make a naive Bayes classifier on features of at most `n_values` values each.

    Columns of numbers with more distinct values are rounded to the nearest of `n_values` values
    that lie evenly from the least to the greatest; others are taken as they are. Text and
    categories work too, and so do missing values, which are a value of their own.

    Parameters
    ----------
    n_values : int, default=21
        The number of values of a quantised feature.
    alpha : float, default=1.0
        The count added to each value of each class; 1 is Laplace's correction.

    Returns
    -------
    model : Pipeline
        Quantising, then `CategoricalNB`.

    Examples
    --------
    Both classes have two of three examples at the lower value; with one added to each count,
    3 of 5 (2 of 4 for class 1):

    >>> from stakes.reproduce import quantized_naive_bayes
    >>> model = quantized_naive_bayes().fit([[0], [0], [1], [0], [1]], [0, 0, 0, 1, 1])
    >>> model.predict_proba([[0]]).round(3)  # 3/5 * 3/5 against 2/5 * 2/4
    array([[0.643, 0.357]])
    """
    return make_pipeline(FeatureQuantizer(n_values), CategoricalNB(alpha=alpha))


class FeatureQuantizer(TransformerMixin, BaseEstimator):
    """Replace each column by the number of its value, quantised where there are many.

    Parameters
    ----------
    n_values : int, default=21
        A column of numbers with more distinct values is rounded to the nearest of so many, which
        lie evenly from the least to the greatest.

    Attributes
    ----------
    columns_ : list of dict
        How each column is coded.

    Examples
    --------
    >>> from stakes.reproduce import FeatureQuantizer
    >>> FeatureQuantizer(n_values=2).fit_transform([[0.0], [1.0], [7.0], [10.0]])
    array([[0],
           [0],
           [1],
           [1]])
    """

    _parameter_constraints: dict = {"n_values": [Interval(Integral, 2, None, closed="left")]}

    def __init__(self, n_values: int = 21):
        self.n_values = n_values

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the values of each column; `y` is ignored."""
        columns = self._columns(X, reset=True)
        self.columns_ = [self._learn(column) for column in columns]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers of the values, (n_samples, n_features).

        A number between known values counts as the nearest, one outside as the outermost; an
        unknown category, or a missing value where none was seen, as the most frequent value.
        """
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        return np.column_stack([_codes(c, how) for c, how in zip(columns, self.columns_)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _columns(self, X, *, reset):
        X = as_frame(X)
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return [X.iloc[:, j] for j in range(X.shape[1])]
        checks: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}
        return list(validate_data(self, X, reset=reset, **checks).T)

    def _learn(self, column):
        values, missing = _as_values(column)
        levels, numeric = np.unique(values[~missing]), values.dtype.kind == "f"
        if numeric and len(levels) > self.n_values:
            levels = np.linspace(levels[0], levels[-1], self.n_values)
        absent = len(levels) if missing.any() or len(levels) == 0 else None
        how: dict[str, Any] = {"levels": levels, "numeric": numeric, "missing": absent, "usual": 0}
        how["usual"] = int(np.bincount(_codes(column, how)).argmax())
        return how


def _as_values(column):
    """Return a column as floats or text, and where it is missing."""
    array = np.asarray(column)
    is_number = array.dtype.kind in "fiub"
    return array.astype(np.float64 if is_number else str), np.asarray(pd.isna(array))


def _codes(column, how):
    values, missing = _as_values(column)
    codes = np.full(len(values), how["usual"], dtype=np.intp)
    there, levels = ~missing, how["levels"]
    if how["numeric"] and values.dtype.kind == "f" and len(levels):
        middles = (levels[1:] + levels[:-1]) / 2
        codes[there] = np.searchsorted(middles, values[there], side="right")  # the nearest
    elif len(levels):
        text = values.astype(str) if values.dtype.kind == "f" else values
        place = np.minimum(np.searchsorted(levels, text), len(levels) - 1)
        known = there & (levels[place] == text)
        codes[known] = place[known]
    if how["missing"] is not None:
        codes[missing] = how["missing"]
    return codes


class RegularizedQDA(ClassifierMixin, BaseEstimator):
    r"""Quadratic discriminant analysis whose covariances are regularised until they are sound.

    A Gaussian per class. A covariance whose condition number is too large is mixed with that
    of all classes and with a multiple of the identity, as little as needed. It knows no
    costs: wrap it in `CostDecisionClassifier`.

    Parameters
    ----------
    max_condition : float, default=1e6
        The condition number that each covariance must stay below.
    step : float, default=None
        By how much both amounts rise at a time; if None, as little as needed. Steps of 0.01
        reproduce the figures of the paper (see Notes), where the features' scales differ: a
        hundredth of the identity's share then hides the features of small scale.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        The share of each class.
    means_ : ndarray of shape (n_classes, n_features)
        The mean of each class.
    covariances_ : ndarray of shape (n_classes, n_features, n_features)
        The regularised covariance of each class.
    regularization_ : ndarray of shape (n_classes,)
        The :math:`\gamma = \lambda` that each class needed.

    Notes
    -----
    :math:`\Sigma = (1 - \gamma - \lambda) \Sigma_{ML} + \lambda \bar\Sigma + \gamma
    \frac{\mathrm{tr}\, \Sigma_{ML}}{d} I` as in the experiments of O'Brien, Gupta and Gray
    (2008; see `ParallelPartition`), with :math:`\gamma` and :math:`\lambda` rising together from
    0 to 1/2 at most: by `step`, or to 1e-7 and then to twice as much each time. A class without any spread of its own takes the trace of the pooled covariance.

    Examples
    --------
    >>> from stakes.reproduce import RegularizedQDA
    >>> X = [[-1], [0], [1], [3], [4], [5]]
    >>> model = RegularizedQDA().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([[2]])  # half way between two classes of one spread
    array([[0.5, 0.5]])
    """

    _parameter_constraints: dict = {
        "max_condition": [Interval(Real, 1, None, closed="neither")],
        "step": [Interval(Real, 0, 0.5, closed="right"), None],
    }

    def __init__(self, *, max_condition: float = 1e6, step: float | None = None):
        self.max_condition = max_condition
        self.step = step

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the mean and covariance of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validate_data(self, as_frame(X), y, dtype=np.float64)
        check_classification_targets(y)
        weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes, n_features = len(self.classes_), X.shape[1]
        if n_classes < 2:
            raise ValueError(
                f"y has only one class, {quoted(self.classes_)}: a classifier needs at least 2."
            )
        mass = np.bincount(codes, weights=weight, minlength=n_classes)
        counted = np.where(mass > 0, mass, 1.0)
        self.priors_ = mass / mass.sum()
        self.means_ = np.zeros((n_classes, n_features))
        scatter = np.zeros((n_classes, n_features, n_features))
        for k in range(n_classes):
            rows, w = X[codes == k], weight[codes == k]
            self.means_[k] = w @ rows / counted[k]
            centred = rows - self.means_[k]
            scatter[k] = (centred * w[:, None]).T @ centred
        pooled = scatter.sum(axis=0) / mass.sum()
        own = scatter / counted[:, None, None]
        covariances = [
            regularized_covariance(s, pooled, self.max_condition, self.step) for s in own
        ]
        self.covariances_, self.regularization_ = (np.array(part) for part in zip(*covariances))
        # Mahalanobis distances by a triangular solve; the factors are kept
        self._factors = np.linalg.cholesky(self.covariances_)
        return self

    def _log_joint(self, X):
        from scipy.linalg import solve_triangular

        check_is_fitted(self)
        X = validate_data(self, as_frame(X), dtype=np.float64, reset=False)
        log_joint = np.empty((len(X), len(self.classes_)))
        for k, factor in enumerate(self._factors):
            away = solve_triangular(factor, (X - self.means_[k]).T, lower=True)
            log_det = 2 * np.log(np.diag(factor)).sum()
            log_joint[:, k] = -0.5 * ((away**2).sum(axis=0) + log_det)
        with np.errstate(divide="ignore"):
            return log_joint + np.log(self.priors_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities."""
        from scipy.special import log_softmax

        return log_softmax(self._log_joint(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each example."""
        most_probable = self._log_joint(X).argmax(axis=1)  # first: it asks whether it is fitted
        return self.classes_[most_probable]


def regularized_covariance(covariance, pooled, max_condition, step=None):
    """Return the covariance, regularised as little as needed, and by how much."""
    d = len(covariance)
    trace = np.trace(covariance) or np.trace(pooled) or float(d)
    amount = 0.0
    while True:
        mixed = (1 - 2 * amount) * covariance + amount * pooled + amount * trace / d * np.eye(d)
        values = np.linalg.eigvalsh(mixed)
        if values[0] > 0 and values[-1] < max_condition * values[0]:
            return mixed, amount
        if amount >= 0.5:  # the identity alone: the pooled covariance may be unsound, too
            return trace / d * np.eye(d), 1.0
        amount = min(amount + step if step else max(2 * amount, 1e-7), 0.5)
