"""Running methods side by side on your own data: what each would cost, and which to use."""

from stakes.compare._compare import compare
from stakes.compare._comparison import Comparison, MethodResult
from stakes.compare._methods import list_methods
from stakes.compare._model import DecisionModel, fit_model
from stakes.compare._model_file import load_model, save_model
from stakes.compare._prepare import TablePreparation
from stakes.compare._runner import execute
from stakes.compare._store import Predictions, Run, RunStore, StoreError, write_atomically

__all__ = [
    "Comparison",
    "DecisionModel",
    "MethodResult",
    "Predictions",
    "Run",
    "RunStore",
    "StoreError",
    "TablePreparation",
    "compare",
    "execute",
    "fit_model",
    "list_methods",
    "load_model",
    "save_model",
    "write_atomically",
]
