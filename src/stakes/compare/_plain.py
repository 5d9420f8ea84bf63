"""The plain model: what people would use today, and what rules on probabilities start from."""

import importlib.util
import time
from dataclasses import dataclass, field
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from stakes._methods import FEW_ROWS


def plain_model_name() -> str:
    """Return the library of the plain model: LightGBM where it is installed."""
    return "LightGBM" if importlib.util.find_spec("lightgbm") else "HistGradientBoosting"


def plain_model(*, random_state: int = 0, n_jobs: int = 1, n_samples: int = 0) -> Any:
    """Return the model that people would use today, with its default settings but one.

    By default both libraries let a leaf follow a class of a handful of examples as far as
    its gradients lead, which can upset all the others: on `nursery`, with a class of two
    rows, LightGBM's error is 3% to 15% with its default least hessian of a leaf and 0.05%
    with 1. A comparison with a model that has come apart would flatter everything else.
    """
    if plain_model_name() == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            random_state=random_state,
            min_child_weight=1.0,
            subsample_for_bin=50_000,  # where to cut features; by default it copies all rows
            n_jobs=1 if n_samples < FEW_ROWS else n_jobs,
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
        )
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(l2_regularization=1.0, random_state=random_state)


@dataclass
class Cache:
    """Fits of the plain model that methods share, and the seconds that this has saved.

    It travels nowhere: a copy of it, in another process or a clone, is empty or the same one.
    """

    found: dict[str, Any] = field(default_factory=dict)
    saved: float = 0.0

    def __deepcopy__(self, memo: dict) -> "Cache":
        return self

    def __reduce__(self) -> tuple:
        return (Cache, ())

    def get(self, key: str, compute: Any) -> Any:
        """Return what `compute` returned for this key the first time."""
        if key in self.found:
            value, seconds = self.found[key]
            self.saved += seconds
            return value
        start = time.perf_counter()
        value = compute()
        self.found[key] = (value, time.perf_counter() - start)
        return value


class CachedModel(ClassifierMixin, BaseEstimator):
    """A model whose fits and probabilities are looked up in a cache before they are computed.

    Parameters
    ----------
    model : estimator
        A classifier with `predict_proba`.
    cache : Cache
        Shared by all copies.
    """

    def __init__(self, model: Any, cache: Cache):
        self.model = model
        self.cache = cache

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, or find the fit on the very same rows."""
        self.key_ = joblib.hash((self.model.get_params(), X, y, sample_weight))
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.fitted_ = self.cache.get(self.key_, lambda: clone(self.model).fit(X, y, **given))
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities, or find those of the very same rows."""
        key = f"{self.key_}:{joblib.hash(X)}"
        return self.cache.get(key, lambda: self.fitted_.predict_proba(X))
