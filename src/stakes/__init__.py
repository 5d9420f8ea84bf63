"""Classification where mistakes have different prices.

The public names live in the submodules; each is imported when it is first used, so
that ``import stakes`` itself costs next to nothing.
"""

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

_SUBMODULES = (
    "auto",
    "bagging",
    "boosting",
    "compare",
    "costs",
    "datasets",
    "decision",
    "metrics",
    "reductions",
    "report",
    "reproduce",
    "tree",
    "utils",
)
# Names people reach for first, and the submodule that holds each.
_SHORTCUTS = {
    "CostMatrix": "costs",
    "CostWarning": "costs",
    "StakesClassifier": "auto",
}

__all__ = ["__version__", *_SUBMODULES, *_SHORTCUTS]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"stakes.{name}")
    if name in _SHORTCUTS:
        return getattr(importlib.import_module(f"stakes.{_SHORTCUTS[name]}"), name)
    raise AttributeError(f"module 'stakes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
