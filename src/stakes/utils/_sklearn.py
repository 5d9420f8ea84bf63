"""The one door to scikit-learn's private names.

When a release moves one of them, this is the only file to mend.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import _clone_parametrized as clone_parametrized
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester
from sklearn.utils._metadata_requests import _raise_for_params as raise_for_params
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
)
from sklearn.utils.validation import _check_sample_weight, validate_data
from sklearn.utils.validation import _num_samples as num_samples

from stakes.utils._frames import as_column

Method = TypeVar("Method", bound=Callable)


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of `fit`, which keeps the types of what it decorates."""
    decorate: Callable[[Method], Method] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate


def check_sample_weight(sample_weight: Any, X: Any, **checks: Any) -> np.ndarray:
    """Return the weights, checked, from a Series of whatever library too."""
    return _check_sample_weight(as_column(sample_weight), X, **checks)


def sigmoid_map() -> Any:
    """Return scikit-learn's sigmoid, to be fitted; its module is slow to import."""
    from sklearn.calibration import _SigmoidCalibration

    return _SigmoidCalibration()


def multinomial_loss(n_classes: int) -> Any:
    """Return the log loss, of positions of classes and of logits."""
    from sklearn._loss import HalfMultinomialLoss

    return HalfMultinomialLoss(n_classes=n_classes)


def tree_parts() -> tuple[type, Any]:
    """Return the class of what is inside a decision tree, and the type of its nodes."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    return Tree, NODE_DTYPE


def boosting_node_dtype() -> Any:
    """Return the type of the nodes of histogram gradient boosting."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    return PREDICTOR_RECORD_DTYPE
