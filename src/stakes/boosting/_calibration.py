"""From vote shares to probabilities, by scikit-learn's calibration."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV


class SharesClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose features are scores already: it passes them on."""

    def fit(self, X, y, sample_weight=None):
        """Learn nothing but which classes there are."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        """Return the scores as they come."""
        return X[:, 1] - X[:, 0] if len(self.classes_) == 2 else X

    def predict(self, X):
        """Return the class of the largest score."""
        return self.classes_[X.argmax(axis=1)]


class Calibrator:
    """Probabilities of classes from their vote shares; a class never seen has none."""

    def __init__(self, model, seen, n_classes):
        self.model = model
        self.seen = seen
        self.n_classes = n_classes

    def predict_proba(self, shares):
        """Return the probability of every class, (n, K)."""
        proba = np.zeros((len(shares), self.n_classes))
        proba[:, self.seen] = self.model.predict_proba(shares[:, self.seen])
        return proba


def fit_calibrator(shares, y, sample_weight, n_classes, method):
    """Return a map from vote shares to probabilities, learned on rows that were held out.

    Parameters
    ----------
    shares : ndarray of shape (n_samples, n_classes)
        Vote shares of members that had not seen the row.
    y : ndarray of shape (n_samples,)
        The true classes as positions.
    sample_weight : ndarray of shape (n_samples,)
        The weights.
    n_classes : int
        The number of classes.
    method : {"sigmoid", "isotonic"}
        As in `CalibratedClassifierCV`.
    """
    seen, codes = np.unique(y, return_inverse=True)
    everything = np.arange(len(y))
    model = CalibratedClassifierCV(
        SharesClassifier(),
        method=method,
        cv=[(everything, everything)],  # the shares are out-of-sample already
        ensemble=False,
    )
    model.fit(shares[:, seen], codes, sample_weight=sample_weight)
    return Calibrator(model, seen, n_classes)
