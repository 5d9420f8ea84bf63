"""Every estimator there is, and an instance of each, for tests that run over all of them."""

import importlib
import inspect
import pkgutil

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import stakes
from stakes.compare._registry import all_methods

# Small settings, so that the checks stay quick; they change no behaviour that is checked.
QUICK = {"n_estimators": 6, "max_iter": 200, "cv": 3, "members": ["linear", "gaussian"]}
# Trees on one drawn feature for each split know little one by one: of 20 (50, 100) such trees one
# forest in four (ten, forty) decides a row of separable data wrongly.
QUICK_FOREST = {"n_estimators": 100}


def make_instance(cls, quick=QUICK):
    parameters = inspect.signature(cls).parameters
    given = {name: value for name, value in quick.items() if name in parameters}
    if cls.__name__ == "CostForestClassifier":
        given |= QUICK_FOREST
    if "stages" in parameters:
        given["stages"] = [("cheap", GaussianNB(), 0.0), ("dear", LogisticRegression(), 0.1)]
    first = next(iter(parameters.values()), None)
    if first is not None and first.name == "estimator" and first.default is first.empty:
        given["estimator"] = LogisticRegression()
    return cls(**given)


def public_estimators():
    """Return the estimators, rules and transformers in the `__all__` of our packages."""
    found = set()
    for info in pkgutil.iter_modules(stakes.__path__):
        if info.name.startswith("_") or info.name in ("cli", "plugins", "utils"):
            continue
        module = importlib.import_module(f"stakes.{info.name}")
        values = [getattr(module, name) for name in getattr(module, "__all__", ())]
        found |= {v for v in values if inspect.isclass(v) and issubclass(v, BaseEstimator)}
    return sorted(found, key=lambda cls: cls.__name__)


def all_estimators():
    """Return the public classifiers and those of all methods, as (name, class), by name.

    The methods of other packages, which enter by an entry point, are among them.
    """
    classes = {*public_estimators(), *(method.cls for method in all_methods().values())}
    classifiers = [(cls.__name__, cls) for cls in classes if issubclass(cls, ClassifierMixin)]
    return sorted(classifiers, key=lambda found: (found[0], found[1].__module__))


def cost_sensitive_estimators():
    """Return the classes that are held to the contract of costs: references need not be."""
    references = {method.cls for method in all_methods().values() if method.reference}
    return [
        cls
        for _, cls in all_estimators()
        if cls not in references and "cost_matrix" in inspect.signature(cls).parameters
    ]
