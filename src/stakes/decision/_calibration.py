"""Maps from a model's probabilities to better ones."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, logit
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_is_fitted, column_or_1d

from stakes._learning.votes import normalize_rows
from stakes.decision._expected import check_proba
from stakes.decision.program import LEAST as CLIP
from stakes.decision.program import calibrate
from stakes.utils._arrays import check_weights, rows_with_weight
from stakes.utils._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    multinomial_loss,
    sigmoid_map,
)

METHODS = ("sigmoid", "isotonic", "temperature", "vector", "matrix", "binning")
# To each probability under the logarithm of the temperature, as in scikit-learn's.
ADDED = 1e-12
# How strongly a method is drawn to a simpler one where `shrinkage` is None.
SHRINKAGE = {"vector": 10.0, "matrix": 1.0}


class ProbabilityCalibrator(TransformerMixin, BaseEstimator):
    r"""Turn a model's probabilities into better ones, from held-out examples.

    It looks at probabilities and true classes alone, so it serves a model from any
    framework. The probabilities must be of examples that the model was not trained on.
    It knows no costs: calibrated probabilities serve every cost matrix.

    Parameters
    ----------
    method : str, default="vector"
        One of these:

        - ``"temperature"``: one number sharpens or flattens all probabilities
          (scikit-learn's).
        - ``"vector"``: one slope and one bias per class on log p, shrunk towards the
          temperature. The one to start with.
        - ``"matrix"``: structured matrix scaling [1]_: after the temperature, a whole matrix and
          a bias on log p, shrunk towards no change; what one class says of another, the more
          strongly the more classes there are. For several classes that are taken for each other.
        - ``"sigmoid"``: Platt's, one class against the rest, on the log odds.
        - ``"isotonic"``: any increasing map, one class against the rest (pair-adjacent
          violators). Needs many examples.
        - ``"binning"``: the share of the class in each of `n_bins` bins of equal count,
          one class against the rest.
    n_bins : int, default=10
        Bins per class; for ``"binning"``.
    shrinkage : float, default=None
        How strongly ``"vector"`` and ``"matrix"`` are drawn to ``"temperature"``: the weight of
        the squares in the Notes. None is 10 for ``"vector"``, and 1, the published one, for
        ``"matrix"``.

    Attributes
    ----------
    n_classes_ : int
        The number of classes.
    temperature_ : float
        For ``"temperature"`` and ``"matrix"``: what log p is divided by. Above 1 the model was
        too sure.
    slopes_ : ndarray of shape (n_classes,)
        For ``"vector"``: the slope of each class on log p.
    matrix_ : ndarray of shape (n_classes, n_classes)
        For ``"matrix"``: what each class (row) takes from log q of each class (column).
    biases_ : ndarray of shape (n_classes,)
        For ``"vector"`` and ``"matrix"``: the bias of each class.
    unseen_ : float
        For ``"matrix"``: the share of one example of no particular class among all.

    Notes
    -----
    ``"vector"`` minimises the log loss of
    :math:`\mathrm{softmax}(a_k \log p_k + b_k)` plus
    :math:`\tfrac{\lambda}{2n} \sum_k (a_k - \bar a)^2 + b_k^2`, a convex problem.
    ``"matrix"`` takes :math:`q \propto p^{1/T}`, mixes in one example of no particular class, and
    minimises the log loss of :math:`\mathrm{softmax}((I + W) \log q + b)` plus
    :math:`\tfrac{\lambda K}{n} \big(\sum_k W_{kk}^2 + b_k^2 + (K - 1) \sum_{j \ne k} W_{jk}^2\big)`, also
    convex.
    One-against-the-rest maps are renormalised; a row whose maps are all zero becomes uniform.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, "Structured Matrix Scaling for
       Multi-Class Calibration", arXiv 2511.03685.

    Examples
    --------
    A model that says 0.9 and is right three times out of four:

    >>> from stakes.decision import ProbabilityCalibrator
    >>> proba = [[0.9, 0.1]] * 4 + [[0.1, 0.9]] * 4
    >>> y = [0, 0, 0, 1] + [1, 1, 1, 0]
    >>> ProbabilityCalibrator("temperature").fit(proba, y).transform([[0.9, 0.1]]).round(3)
    array([[0.75, 0.25]])
    """

    _parameter_constraints: dict = {
        "method": [StrOptions(set(METHODS))],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self, method: str = "vector", *, n_bins: int = 10, shrinkage: float | None = None
    ):
        self.method = method
        self.n_bins = n_bins
        self.shrinkage = shrinkage

    @property
    def _by_class(self) -> bool:
        """Whether each class has parameters of its own, so that none may be without examples."""
        return self.method != "temperature"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, proba: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Probabilities of held-out examples.
        y : array-like of shape (n_samples,)
            Their classes, as labels whose sorted order is that of the columns, or as
            positions 0, 1, ... of the columns.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts.

        Returns
        -------
        self : object
            The fitted map.
        """
        proba = check_proba(proba)
        codes = _as_codes(y, proba)
        weight = check_weights(sample_weight, proba)
        proba, given, weight = rows_with_weight(proba, {"codes": codes}, weight)
        return self._fit_codes(proba, given["codes"], weight)

    def _fit_codes(self, proba, codes, sample_weight=None) -> Self:
        self.n_classes_ = proba.shape[1]
        shrinkage = SHRINKAGE.get(self.method) if self.shrinkage is None else self.shrinkage
        if self.method in ("temperature", "matrix"):
            self._slope = fit_temperature(_tempered_logits(proba), codes, sample_weight)
            self.temperature_ = 1.0 / self._slope
        if self.method == "matrix":
            total = len(proba) if sample_weight is None else sample_weight.sum()
            self.unseen_ = 1.0 / (float(total) + 1.0)
            self.matrix_, self.biases_ = fit_matrix_scaling(
                self._log_tempered(proba), codes, sample_weight, shrinkage
            )
        elif self.method == "vector":
            self.slopes_, self.biases_ = fit_vector_scaling(
                np.log(_clipped(proba)), codes, sample_weight, shrinkage
            )
        elif self.method != "temperature":
            columns = range(1, 2) if self.n_classes_ == 2 else range(self.n_classes_)
            self._map = [
                self._one_against_rest(proba[:, k], codes == k, sample_weight) for k in columns
            ]
        return self

    def _log_tempered(self, proba):
        """Return log q: after the temperature, with one example of no particular class."""
        q = softmax(self._slope * _tempered_logits(proba))
        return np.log((1.0 - self.unseen_) * q + self.unseen_ / self.n_classes_)

    def _one_against_rest(self, p, is_class, sample_weight):
        target = is_class.astype(np.float64)
        if self.method == "isotonic":
            return IsotonicRegression(out_of_bounds="clip").fit(p, target, sample_weight)
        if self.method == "sigmoid":
            return sigmoid_map().fit(_log_odds(p), target, sample_weight)
        return fit_bins(p, target, sample_weight, self.n_bins)

    def transform(self, proba: Any) -> np.ndarray:
        """Return calibrated probabilities, of the same shape."""
        check_is_fitted(self)
        return calibrate(self.numbers(), check_proba(proba, n_classes=self.n_classes_))

    def numbers(self) -> dict:
        """Return the map as plain numbers, which `stakes.decision.program.calibrate` applies."""
        softmax = {"method": "softmax", "added": 0.0}
        tempered = {"added": ADDED}
        if self.method == "temperature":
            return softmax | tempered | {"slopes": [self._slope], "biases": [0.0]}
        if self.method == "vector":
            return softmax | {"slopes": self.slopes_, "biases": self.biases_}
        if self.method == "matrix":
            how = {"method": "matrix", "slopes": [self._slope], "unseen": self.unseen_}
            return how | tempered | {"matrix": self.matrix_, "biases": self.biases_}
        maps: list[dict] = []
        for one in self._map:
            if self.method == "sigmoid":
                maps.append({"slope": float(one.a_), "bias": float(one.b_)})
            elif self.method == "isotonic":
                maps.append({"x": one.X_thresholds_, "y": one.y_thresholds_})
            else:
                maps.append({"edges": one[0], "shares": one[1]})
        return {"method": self.method, "maps": maps}


def _tempered_logits(proba: np.ndarray) -> np.ndarray:
    return np.log(_clipped(proba) + ADDED)


def fit_temperature(
    log_proba: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray | None = None
) -> float:
    """Return the one slope of least log loss, as scikit-learn 1.8 and later find it.

    Examples
    --------
    Who says 0.9 and is right three times of four should have said 0.75, at half the log odds:

    >>> import numpy as np
    >>> from stakes.decision._calibration import fit_temperature
    >>> log_proba = np.log([[0.9, 0.1]] * 4)
    >>> round(fit_temperature(log_proba, np.array([0, 0, 0, 1])), 6)
    0.5
    """
    loss, labels = multinomial_loss(log_proba.shape[1]), codes.astype(np.float64)

    def paid(log_slope: float) -> float:
        return loss(labels, np.exp(log_slope) * log_proba, sample_weight)

    xatol = 64 * np.finfo(np.float64).eps
    best = minimize_scalar(paid, bounds=(-10.0, 10.0), options={"xatol": xatol})
    return float(np.exp(best.x))


def fit_vector_scaling(log_proba, codes, sample_weight=None, shrinkage=1.0):
    """Return slopes and biases of least log loss, drawn to one common slope and no bias."""
    n_samples, n_classes = log_proba.shape
    weight = np.ones(n_samples) if sample_weight is None else sample_weight
    total = weight.sum()
    weight = weight / total
    penalty = shrinkage / total
    rows = np.arange(n_samples)
    # sum over the examples of each class of w z_k, and of w: the data's side of the gradient
    observed_slopes = np.bincount(codes, weight * log_proba[rows, codes], minlength=n_classes)
    observed_biases = np.bincount(codes, weights=weight, minlength=n_classes)

    def loss_and_gradient(parameters):
        slopes, biases = parameters[:n_classes], parameters[n_classes:]
        log_q = log_softmax(log_proba * slopes + biases, axis=1)
        spread = slopes - slopes.mean()
        loss = -(weight @ log_q[rows, codes])
        loss += 0.5 * penalty * (spread @ spread + biases @ biases)
        q = np.exp(log_q)
        q *= weight[:, None]
        by_slope = np.einsum("nk,nk->k", q, log_proba) - observed_slopes + penalty * spread
        by_bias = q.sum(axis=0) - observed_biases + penalty * biases
        return loss, np.concatenate([by_slope, by_bias])

    start = np.concatenate([np.ones(n_classes), np.zeros(n_classes)])
    bounds = [(0.0, None)] * n_classes + [(None, None)] * n_classes
    how: Any = {"options": {"maxiter": 500, "gtol": 1e-7, "ftol": 1e-12}, "method": "L-BFGS-B"}
    best = minimize(loss_and_gradient, start, jac=True, bounds=bounds, **how)
    return best.x[:n_classes], best.x[n_classes:]


def fit_matrix_scaling(log_proba, codes, sample_weight=None, shrinkage=1.0):
    """Return the matrix and biases of least log loss, drawn to the identity and no bias.

    The K (K - 1) entries beside the diagonal are drawn K - 1 times as strongly as the others.
    """
    n_samples, n_classes = log_proba.shape
    weight = np.ones(n_samples) if sample_weight is None else sample_weight
    penalty = np.full((n_classes, n_classes), shrinkage * n_classes * (n_classes - 1.0))
    np.fill_diagonal(penalty, shrinkage * n_classes)
    penalty = np.column_stack([penalty, penalty.diagonal()]) / weight.sum()  # the biases last
    weight = weight / weight.sum()
    rows, inputs = np.arange(n_samples), np.column_stack([log_proba, np.ones(n_samples)])
    unchanged = np.eye(n_classes, n_classes + 1)

    def loss_and_gradient(changes):
        changes = changes.reshape(unchanged.shape)
        log_q = log_softmax(inputs @ (unchanged + changes).T, axis=1)
        loss = (penalty * changes**2).sum() - weight @ log_q[rows, codes]
        slope = np.exp(log_q)
        slope[rows, codes] -= 1.0
        slope *= weight[:, None]
        return loss, (slope.T @ inputs + 2.0 * penalty * changes).ravel()

    how: Any = {"options": {"maxiter": 1000, "gtol": 1e-7, "ftol": 1e-12}, "method": "L-BFGS-B"}
    best = minimize(loss_and_gradient, np.zeros(unchanged.size), jac=True, **how)
    settled = unchanged + best.x.reshape(unchanged.shape)
    return settled[:, :-1], settled[:, -1]


def fit_bins(p, target, sample_weight=None, n_bins=10):
    """Return inner edges of bins of equal count, and the share of the class in each bin.

    Equal probabilities share a bin, so there may be fewer bins than asked for. Where some examples
    count more often than others, bins are of equal weight.
    """
    shares, weighted = np.arange(1, n_bins) / n_bins, sample_weight is not None
    if weighted and (sample_weight != sample_weight[0]).any():
        given = {"weights": sample_weight, "method": "inverted_cdf"}
        # between the last of the lower and the first of the upper, as for rows that stand there twice
        edges = (np.quantile(p, shares, **given) - np.quantile(-p, 1.0 - shares, **given)) / 2.0
    else:
        edges = np.quantile(p, shares)
    edges = np.unique(edges)
    edges = edges[edges > p.min()]  # the first bin holds at least the smallest
    place = np.searchsorted(edges, p, side="right")
    weight = np.ones(len(p)) if sample_weight is None else sample_weight
    count, hits = (np.bincount(place, w, len(edges) + 1) for w in (weight, weight * target))
    # A bin without weight takes the overall share.
    empty = count == 0
    return edges, np.where(empty, hits.sum(), hits) / np.where(empty, count.sum(), count)


def _clipped(proba):
    """Keep away from 0 and make rows sum to one, as the logarithm and scikit-learn want it."""
    return normalize_rows(np.maximum(proba, CLIP))


def _log_odds(p):
    return logit(np.clip(p, CLIP, 1.0 - CLIP))


def _as_codes(y, proba):
    y = column_or_1d(y)
    if len(y) != len(proba):
        raise ValueError(f"y has {len(y)} entries, but proba has {len(proba)} rows.")
    classes, codes = np.unique(y, return_inverse=True)
    n_classes = proba.shape[1]
    if len(classes) == n_classes:
        return codes
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < n_classes:
        return y.astype(np.intp)
    raise ValueError(
        f"proba has {n_classes} columns, one per class, but y has {len(classes)} classes; where a "
        "class has no example, give y as positions of the columns."
    )
