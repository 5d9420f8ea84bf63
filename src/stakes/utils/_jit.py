"""Compiled once for all processes where a cache can be written, and anyway where none can."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba as nb

from stakes.utils._checks import warn
from stakes.utils._notices import NotKeptWarning, compiling


def cached_jit(**options: Any) -> Callable[[Callable], Any]:
    """Return a decorator that compiles a function without the GIL and keeps it on disk.

    Numba refuses to compile where it finds no folder for its cache, and fails where the folder
    cannot be written or holds damaged files. A program is worth more than its cache: it is then
    compiled in each process, with one warning.

    Parameters
    ----------
    **options
        Of ``numba.njit``.
    """

    def decorate(function: Callable) -> Any:
        try:
            compiled: Any = nb.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # no folder can be written
            _warn_once()
            return nb.njit(nogil=True, **options)(function)
        _forgive(compiled._cache)
        return compiled

    return decorate


def _forgive(kept: Any) -> None:
    """Let a cache that cannot be read or written be one that holds nothing.

    Nor is what it holds trusted: two processes that compile two versions of a function at once can
    give both one number, and then the code of one is found under the types of the other.
    """
    load, save = kept.load_overload, kept.save_overload

    def load_overload(signature: Any, *given: Any) -> Any:
        loaded = None
        try:
            loaded = load(signature, *given)
        except Exception:  # a damaged pickle can raise anything
            _warn_once()
        if loaded is None or tuple(loaded.signature.args) != tuple(signature):
            compiling()
            return None
        return loaded

    def save_overload(*given: Any) -> None:
        try:
            save(*given)
        except OSError:
            _warn_once()

    kept.load_overload, kept.save_overload = load_overload, save_overload


@cache
def _warn_once() -> None:
    warn(
        "ST604",
        "Compiled code cannot be kept on disk, so that every process compiles anew, which takes "
        "some seconds: set NUMBA_CACHE_DIR to a folder that can be written.",
        NotKeptWarning,
        stacklevel=2,
    )
