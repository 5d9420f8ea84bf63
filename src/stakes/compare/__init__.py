"""Running methods side by side on your own data: what each would cost, and which to use."""

from stakes.compare._compare import compare
from stakes.compare._comparison import Comparison, MethodResult
from stakes.compare._methods import list_methods
from stakes.compare._prepare import TablePreparation
from stakes.compare._runner import execute
from stakes.compare._store import Predictions, Run, RunStore, StoreError, write_atomically

__all__ = [
    "Comparison",
    "MethodResult",
    "Predictions",
    "Run",
    "RunStore",
    "StoreError",
    "TablePreparation",
    "compare",
    "execute",
    "list_methods",
    "write_atomically",
]
