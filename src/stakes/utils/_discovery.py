"""Finding every estimator of the package."""

import importlib
import inspect
import pkgutil

from sklearn.base import BaseEstimator, ClassifierMixin


def all_estimators() -> list[tuple[str, type]]:
    """Return the public classifiers of the package, as (name, class), sorted by name.

    A class joins by being listed in the `__all__` of its subpackage.

    Examples
    --------
    >>> from stakes.utils import all_estimators
    >>> all(name.endswith(("Classifier", "SVC", "QDA")) for name, _ in all_estimators())
    True
    """
    import stakes

    found = {}
    for info in pkgutil.iter_modules(stakes.__path__):
        if info.name.startswith("_") or info.name in ("cli", "utils"):
            continue
        module = importlib.import_module(f"stakes.{info.name}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not inspect.isclass(value):
                continue
            if issubclass(value, BaseEstimator) and issubclass(value, ClassifierMixin):
                found[name] = value
    return sorted(found.items())
