"""Running methods side by side on your own data: what each would cost, and which to use.

The package can be called as its function: ``stakes.compare(X, y, cost_matrix=C)`` is
``stakes.compare.compare(X, y, cost_matrix=C)``.
"""

import functools
import inspect
import sys
from types import ModuleType
from typing import Any

from stakes.compare._compare import compare
from stakes.compare._comparison import Comparison
from stakes.compare._fit import fit_model
from stakes.compare._fitting import UnfitMethodError
from stakes.compare._held_out import HeldOutRows
from stakes.compare._kept import kept_of_rows
from stakes.compare._model import DecisionModel, as_model, on_decided
from stakes.compare._model_file import load_model, model_versions, save_model
from stakes.compare._needs import requirements_of
from stakes.compare._reference import add_reference
from stakes.compare._registry import find_method, list_methods
from stakes.compare._result import MethodResult
from stakes.compare.runner import RunStore
from stakes.tables import TablePreparation

__all__ = [
    "Comparison",
    "DecisionModel",
    "HeldOutRows",
    "MethodResult",
    "RunStore",
    "TablePreparation",
    "UnfitMethodError",
    "add_reference",
    "as_model",
    "compare",
    "find_method",
    "fit_model",
    "kept_of_rows",
    "list_methods",
    "load_model",
    "model_versions",
    "on_decided",
    "requirements_of",
    "save_model",
]


class _CallableModule(ModuleType):
    """A module that is called as its function of the same name."""

    @functools.wraps(compare)
    def __call__(self, *args: Any, **params: Any) -> Comparison:
        return compare(*args, **params)


sys.modules[__name__].__class__ = _CallableModule
__doc__ = f"{__doc__}\ncompare{inspect.signature(compare)}\n\n{compare.__doc__}"  # for help()
__signature__ = inspect.signature(compare)  # else help() would take X for the module itself
