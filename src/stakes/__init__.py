"""Classification where mistakes have different prices.

The public names live in the submodules; each is imported when it is first used, so
that ``import stakes`` itself costs next to nothing.
"""

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from stakes.utils._collections import served_by

if TYPE_CHECKING:  # what a type checker sees of `__getattr__`
    from stakes.auto import StakesClassifier as StakesClassifier
    from stakes.costs import CostMatrix as CostMatrix
    from stakes.costs import CostWarning as CostWarning
    from stakes.decision import CostDecisionClassifier as CostDecisionClassifier
    from stakes.metrics import make_cost_scorer as make_cost_scorer

__version__ = "0.1.0"

# Who is handed a Dask collection hands it on; only here is it known to whom.
served_by(partial(importlib.import_module, "stakes.cluster._door"))

# Names people reach for first, and the submodule that holds each.
_SHORTCUTS = {
    "CostDecisionClassifier": "decision",
    "CostMatrix": "costs",
    "CostWarning": "costs",
    "StakesClassifier": "auto",
    "make_cost_scorer": "metrics",
}


def _public_names() -> list[str]:
    import pkgutil  # here, since `import stakes` alone does not need it

    submodules = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return sorted(["__version__", *submodules, *_SHORTCUTS])


def __getattr__(name: str) -> Any:
    if name in _SHORTCUTS:
        return getattr(importlib.import_module(f"stakes.{_SHORTCUTS[name]}"), name)
    if name == "__all__":
        return _public_names()
    if not name.startswith("_") and name in _public_names():
        return importlib.import_module(f"stakes.{name}")
    raise AttributeError(f"module 'stakes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return _public_names()
