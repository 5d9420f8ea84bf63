"""What stakes warns of: numbered, explained in one file, and silenced by number."""

import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files

_ignored: ContextVar[frozenset[str]] = ContextVar("ignored", default=frozenset())


@cache
def list_checks() -> dict[str, dict[str, str]]:
    """Return what is warned of, by code: what it is, why, and what to do.

    Examples
    --------
    >>> from stakes.utils import list_checks
    >>> list_checks()["ST104"]["what"]
    'empty'
    """
    return tomllib.loads(files("stakes.utils").joinpath("checks.toml").read_text(encoding="utf-8"))


@cache
def code_of(what: str) -> str:
    """Return the code of a kind of finding."""
    return next(code for code, check in list_checks().items() if check["what"] == what)


def is_ignored(code: str) -> bool:
    """Return whether somebody has asked not to hear of it."""
    return code in _ignored.get()


@contextmanager
def ignoring(*codes: str) -> Iterator[None]:
    """Do not warn of these within a ``with`` block: neither warnings nor what a table check says.

    Each warning of Python begins with its code, so that
    ``warnings.filterwarnings("ignore", message="ST301")`` silences one for good.

    Parameters
    ----------
    *codes : str
        Such as ``"ST301"``; `list_checks` has them all.

    Examples
    --------
    >>> from stakes.costs import CostMatrix
    >>> from stakes.tables import check_table
    >>> from stakes.utils import ignoring
    >>> X = [[0, 1.5], [0, 2.5], [0, 1.0]]
    >>> [finding.code for finding in check_table(X).warnings]
    ['ST103']
    >>> with ignoring("ST103"):
    ...     check_table(X).warnings
    []
    """
    for code in codes:
        if code not in list_checks():
            raise ValueError(f"There is no check {code!r}: they are {', '.join(list_checks())}.")
    token = _ignored.set(_ignored.get().union(codes))
    try:
        yield
    finally:
        _ignored.reset(token)


def warn(code: str, text: str, category: type[Warning] = UserWarning, stacklevel: int = 2) -> None:
    """Warn of a numbered check, unless it is ignored; levels count as in `warnings.warn`."""
    if not is_ignored(code):
        warnings.warn(f"{code}: {text}", category, stacklevel=stacklevel + 1)
