"""Running methods side by side on your own data: what each would cost, and which to use."""

from stakes.compare._compare import compare
from stakes.compare._comparison import Comparison, MethodResult
from stakes.compare._model import DecisionModel, fit_model
from stakes.compare._model_file import load_model, save_model
from stakes.compare._prepare import TablePreparation
from stakes.compare._registry import list_methods
from stakes.compare.runner import RunStore

__all__ = [
    "Comparison",
    "DecisionModel",
    "MethodResult",
    "RunStore",
    "TablePreparation",
    "compare",
    "fit_model",
    "list_methods",
    "load_model",
    "save_model",
]
