"""Dask collections at the door: who is given one hands it to `stakes.cluster`, and knows no more."""

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable)

# The methods that say something of each row; the first argument holds the rows.
BY_ROW = ("predict", "predict_proba", "expected_costs", "decision_function")
_loaders: list[Callable[[], Any]] = []


def served_by(load: Callable[[], Any]) -> None:
    """Say what brings the module that collections are handed to."""
    _loaders[:] = [load]


def cluster() -> Any:
    """Return the module that collections are handed to; it stands above all who hand them over."""
    return _loaders[0]()


def is_collection(data: Any) -> bool:
    """Say whether data is of Dask, or a list of (futures of) partitions; imports nothing.

    Examples
    --------
    >>> from stakes.utils._collections import is_collection
    >>> is_collection([[1.0], [2.0]]), is_collection(None)
    (False, False)
    """
    if isinstance(data, list | tuple):
        return len(data) > 0 and all(map(_is_promise, data))
    return _is_promise(data)


def _is_promise(data: Any) -> bool:
    kind = type(data)
    return hasattr(kind, "__dask_graph__") or kind.__module__ == "distributed.client"


def lazily(method: Method) -> Method:
    """Return a method that gives a collection for a collection, and else what it gives."""

    @wraps(method)
    def on_either(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **kwargs)
        return cluster().map_rows(method, self, X, *args, **kwargs)

    on_either.on_collections = True  # type: ignore[attr-defined]
    return cast(Method, on_either)


def or_on_cluster(choose: Callable[[Any], Callable]) -> Callable[[Method], Method]:
    """Decorate a function whose first argument holds rows: of collections another one is called.

    Parameters
    ----------
    choose : callable
        Returns the other function from `cluster`; it gets a dictionary of all arguments.
    """

    def decorate(function: Method) -> Method:
        @wraps(function)
        def on_either(X: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_collection(X):
                return function(X, *args, **kwargs)
            given = signature(function).bind(X, *args, **kwargs)
            given.apply_defaults()
            return choose(cluster())(given.arguments)

        return cast(Method, on_either)

    return decorate


def serve_collections(cls: type) -> None:
    """Let the methods of a class take Dask collections as they take arrays."""
    for name in BY_ROW:
        method = inspect.getattr_static(cls, name, None)
        if hasattr(method, "fn"):  # made available on a condition by scikit-learn
            if name in vars(cls) and not hasattr(method.fn, "on_collections"):
                method.fn = lazily(method.fn)
        elif inspect.isfunction(method) and not hasattr(method, "on_collections"):
            setattr(cls, name, lazily(method))
