"""What a class or function of the user's is, in text: a fit is found again only if that is the same."""

import sys
import sysconfig
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import joblib


def source_key(estimator: Any) -> str:
    """Return a short name of an estimator: its classes and functions as they are written, and its parameters.

    What is not written in a file, such as in a notebook, or cannot be pickled, such as a lambda, has a
    new name each time: its fits are not found again, for nobody could tell whether it has changed.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stakes.compare._sources import source_key
    >>> source_key(LogisticRegression(C=2.0)) == source_key(LogisticRegression(C=2.0))
    True
    >>> source_key(LogisticRegression(C=2.0)) == source_key(LogisticRegression(C=3.0))
    False
    """
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else estimator
    kinds = sorted({_written(kind) for kind in _kinds([estimator, params])})
    try:
        return joblib.hash((kinds, params))[:12]
    except Exception:  # whatever pickling raises
        return uuid.uuid4().hex[:12]


def _kinds(values: list) -> list:
    """Return the classes and functions that values are made of."""
    kinds: list = []
    for value in values:
        if isinstance(value, Mapping):
            kinds += _kinds(list(value.values()))
        elif isinstance(value, list | tuple | set | frozenset):
            kinds += _kinds(list(value))
        elif isinstance(value, type):
            kinds += value.mro()
        elif hasattr(value, "__code__"):
            kinds.append(value)
        else:
            kinds += type(value).mro()
    return kinds


def _written(kind: Any) -> str:
    """Return the name and version of what a library has installed, else the text of its file."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    top = str(kind.__module__).partition(".")[0]
    if top == "stakes":  # its version is that of the run
        return name
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None:
        return name + (uuid.uuid4().hex if top == "__main__" else "")
    if _installed(file):
        return f"{name} {getattr(sys.modules.get(top), '__version__', '')}"
    return f"{name} {joblib.hash(Path(file).read_bytes())}"


@cache
def _installed(file: str) -> bool:
    """Say whether a file belongs to Python or to an installed library."""
    where = Path(file).resolve()
    homes = {Path(p).resolve() for p in sysconfig.get_paths().values()}
    return "site-packages" in where.parts or any(home in where.parents for home in homes)
