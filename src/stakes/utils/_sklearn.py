"""The one door to scikit-learn's private names.

When a release moves one of them, this is the only file to mend.
"""

from sklearn.base import _clone_parametrized as clone_parametrized
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester
from sklearn.utils._metadata_requests import _raise_for_params as raise_for_params
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples
from sklearn.utils.validation import validate_data

__all__ = [
    "HasMethods",
    "Interval",
    "MetadataRequester",
    "StrOptions",
    "calibration_maps",
    "check_sample_weight",
    "clone_parametrized",
    "fit_context",
    "num_samples",
    "raise_for_params",
    "routing_enabled",
    "safe_indexing",
    "validate_data",
]


def calibration_maps() -> tuple[type, type]:
    """Return scikit-learn's maps (sigmoid, temperature); its module is slow to import."""
    from sklearn.calibration import _SigmoidCalibration, _TemperatureScaling

    return _SigmoidCalibration, _TemperatureScaling
