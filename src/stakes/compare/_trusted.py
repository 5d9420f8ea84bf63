"""Which types a model file may hold, besides those that skops trusts by itself.

Classes of this library and of packages that enter methods; estimators of the libraries that
our pipelines are made of; and the inner parts of those estimators, by exact name. No function
is trusted but those listed, so that a file cannot choose what runs.
"""

import importlib
import inspect
from importlib.metadata import entry_points

from sklearn.base import BaseEstimator

from stakes.compare._registry import ENTRY_POINTS

ESTIMATOR_LIBRARIES = ("sklearn", "lightgbm", "xgboost")
# What fitted estimators of our pipelines hold that is no estimator itself.
INNER_PARTS = frozenset(
    {
        "builtins.object",
        "builtins.range",
        "collections.OrderedDict",
        "numpy.dtype",
        "pandas.RangeIndex",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
    }
)


def is_trusted(name: str) -> bool:
    """Return whether a model file may hold this type, given as ``module.name``.

    Examples
    --------
    >>> from stakes.compare._trusted import is_trusted
    >>> is_trusted("stakes.tree._structure.CostTree"), is_trusted("os.system")
    (True, False)
    """
    if name in INNER_PARTS:
        return True
    module, _, kind = name.rpartition(".")
    root = module.partition(".")[0]
    known = root in ESTIMATOR_LIBRARIES  # looked at first: to read entry points takes long
    ours = root == "stakes" or (not known and root in _plugins())
    if not ours and not known:
        return False
    try:
        thing = getattr(importlib.import_module(module), kind, None)
    except ImportError:
        return False
    if not inspect.isclass(thing) or thing.__module__ != module:
        return False
    return ours or issubclass(thing, BaseEstimator)


def _plugins() -> set[str]:
    """Return the packages that enter methods."""
    return {entry.module.partition(".")[0] for entry in entry_points(group=ENTRY_POINTS)}
