"""What stands at the end of a pipeline or a search."""

import inspect
from typing import Any

from sklearn.pipeline import Pipeline


def last_step(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """Return what decides in the end, and X as it reaches it (None stays None).

    Steps into pipelines and into the best estimator of a finished search.
    """
    while True:
        if isinstance(estimator, Pipeline):
            if X is not None:
                for _, step in estimator.steps[:-1]:
                    X = X if step in (None, "passthrough") else step.transform(X)
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator, X


def takes(estimator: Any, method: str, name: str) -> bool:
    """Return whether a method of what decides in the end has a parameter of this name."""
    function = getattr(last_step(estimator)[0], method, None)
    return function is not None and name in inspect.signature(function).parameters
