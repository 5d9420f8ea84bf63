"""How a rule is declared: beside its class, once."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.model_selection import StratifiedKFold

from stakes import _methods
from stakes._learning.folds import HoldOut
from stakes.decision._classifier import CostDecisionClassifier
from stakes.decision._rule import BaseRule, enter_rule

MAX_FOLDS = 5
HELD_OUT = 0.25
# In which forms a rule on probabilities can be taken elsewhere.
LAYER = ("onnx", "json", "sql")


def rule(
    name: str,
    *,
    method: str,
    family: str = "decision",
    calibration: str | None = None,
    **more: Any,
) -> Callable[[_methods.Declared], _methods.Declared]:
    """Enter a rule under its name, and as a method that `compare` runs on the plain model.

    Parameters
    ----------
    name : str
        For ``CostDecisionClassifier(rule=name)``. A rule may be declared several times under
        one name, as several methods.
    method, family : str
        The name and the family of the method.
    calibration : str, default=None
        How the probabilities are calibrated before the rule sees them.
    **more
        As in `stakes._methods.method`. Title and note come from the first line of the
        docstring, "Title: what it does."
    """

    def declare(cls: _methods.Declared) -> _methods.Declared:
        enter_rule(name, cls)
        build = partial(_build, calibration)
        return _methods.method(method, family=family, build=build, **more)(cls)

    return declare


def _build(
    calibration: str | None, cls: type, setting: _methods.Setting
) -> CostDecisionClassifier:
    how = {"rule": cls(), "calibration": calibration, "cv": _splitter(setting)}
    known = setting.prices
    if setting.doubt is not None and issubclass(cls, BaseRule) and cls._decides_by == "doubt":
        known = setting.doubt
    return CostDecisionClassifier(setting.plain_model(), cost_matrix=known, **how)


def exactly(n_classes: int) -> Callable[[_methods.Setting], str]:
    """Return the condition (`only`) of a rule for one number of classes."""
    return partial(_of_other_number, n_classes)


def _of_other_number(n_classes: int, setting: _methods.Setting) -> str:
    if setting.n_classes == n_classes:
        return ""
    return f"it is for {n_classes} classes, but there are {setting.n_classes}"


def _splitter(setting: _methods.Setting) -> Any:
    """Return the folds on which calibrations and rules learn."""
    if setting.fast:
        return HoldOut(HELD_OUT, setting.random_state)
    n_folds = max(2, min(MAX_FOLDS, setting.smallest_class))
    return StratifiedKFold(n_folds, shuffle=True, random_state=setting.random_state)
