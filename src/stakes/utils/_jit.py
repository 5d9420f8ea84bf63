"""Compiled once for all processes where a cache can be written, and anyway where none can."""

import gc
import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba as nb
from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase, PassManager

from stakes.utils._notices import NotKeptWarning, compiling


class LoopsCompiler(CompilerBase):
    """Numba's own steps, without those that loops over single numbers have no use for.

    Half of the time of compiling a long function goes into steps that look for closures,
    arithmetic on whole arrays and variables that change their type. Where there are none, the
    code is the same without them: give ``pipeline_class=LoopsCompiler``. A variable must have one
    type.
    """

    STEPS = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        typed_passes.NopythonTypeInference,
        typed_passes.IRLegalization,
        typed_passes.AnnotateTypes,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    )

    def define_pipelines(self) -> list[Any]:
        """Return the steps, as Numba asks for them."""
        steps = PassManager("loops")
        for run in self.STEPS:
            steps.add_pass(run, run.__name__)
        steps.finalize()
        return [steps]


def cached_jit(*signatures: Any, **options: Any) -> Callable[[Callable], Any]:
    """Return a decorator that compiles a function without the GIL and keeps it on disk.

    Numba refuses to compile where it finds no folder for its cache, and fails where the folder
    cannot be written or holds damaged files. A program is worth more than its cache: it is then
    compiled in each process, with one warning.

    Parameters
    ----------
    *signatures : Numba signatures
        Compiled at once; with none, as the function is called.
    **options
        Of ``numba.njit``.
    """

    def decorate(function: Callable) -> Any:
        compiled: Any = nb.njit(nogil=True, **options)(function)
        try:
            compiled.enable_caching()
        except RuntimeError:  # no folder can be written
            _warn_once()
        else:
            _forgive(compiled._cache)
            name_apart(compiled._cache._cache_file)
        compile_one = compiled.compile
        compiled.compile = lambda signature: _without_collection(compile_one, signature)
        for signature in signatures:
            compiled.compile(signature)
        if signatures:
            compiled.disable_compile()
        return compiled

    return decorate


def _without_collection(run: Callable, *given: Any) -> Any:
    """Run with Python's collection of garbage put off: compiling makes next to none, and waits.

    It takes a tenth less time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return run(*given)
    finally:
        if collecting:
            gc.enable()


def _forgive(kept: Any) -> None:
    """Let a cache that cannot be read or written be one that holds nothing."""
    load, save = kept.load_overload, kept.save_overload

    def load_overload(*given: Any) -> Any:
        found = None
        try:
            found = load(*given)
        except Exception:  # a damaged pickle can raise anything
            _warn_once()
        if found is None:
            compiling()
        return found

    def save_overload(*given: Any) -> None:
        try:
            save(*given)
        except OSError:
            _warn_once()

    kept.load_overload, kept.save_overload = load_overload, save_overload


def name_apart(file: Any) -> None:
    """Let every version of a function that Numba keeps have a file of its own.

    Numba numbers them. Two processes that compile two versions at once can give both one number,
    and then one of them is run in place of the other, with arguments that it was not made for.

    Parameters
    ----------
    file : numba.core.caching.IndexDataCacheFile
        Where the versions of one function are kept; its `save` is replaced.
    """

    def save(key: Any, data: Any) -> None:
        version = hashlib.sha256(file._dump((file._source_stamp, key))).digest()
        name = file._data_name(int.from_bytes(version[:7], "big"))
        file._save_data(name, data)
        kept = file._load_index()
        if kept.get(key) != name:
            file._save_index({**kept, key: name})

    file.save = save


@cache
def _warn_once() -> None:
    warnings.warn(
        "Compiled code cannot be kept on disk, so that every process compiles anew, which takes "
        "some seconds: set NUMBA_CACHE_DIR to a folder that can be written.",
        NotKeptWarning,
        stacklevel=2,
    )
