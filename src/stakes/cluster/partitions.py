"""What of a Dask collection is looked at: its partitions, the rows of which lie together."""

import sys
import time
import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from stakes.utils._collections import is_collection
from stakes.utils._optional import import_optional

# Seconds after which a cluster without workers is given up.
ALONE = 30


def on_rows(function: Callable) -> Callable:
    """Decorate a task that is run on one partition after the other.

    What pyarrow has freed it keeps, some hundred megabytes, which Dask counts against the limit
    of the worker: it is given back before each.
    """

    @wraps(function)
    def run(*given: Any, **more: Any) -> Any:
        arrow = sys.modules.get("pyarrow")
        if arrow is not None:
            arrow.default_memory_pool().release_unused()
        return function(*given, **more)

    return run


def need_dask(purpose: str) -> Any:
    """Return the module `dask`, or say how to install what learning from collections needs."""
    for module in ("distributed", "pyarrow", "dask.dataframe"):
        import_optional(module, extra="dask", purpose=purpose)
    return import_optional("dask", extra="dask", purpose=purpose)


def find_client(purpose: str) -> Any:
    """Return the client of the Dask cluster in use, or say how to start one."""
    need_dask(purpose)
    import distributed

    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            f"{purpose} needs a Dask cluster: call distributed.Client() first for one on this "
            "machine, or distributed.Client(address) for one that runs."
        ) from error


def row_parts(data: Any, name: str) -> list:
    """Return the partitions of a collection by rows, each to be handed to a task."""
    if isinstance(data, list | tuple):
        return list(data)
    if not hasattr(data, "to_delayed"):
        raise TypeError(f"{name} is a {type(data).__name__}, which has no partitions of rows.")
    if hasattr(data, "chunks") and data.ndim > 1:
        data = data.rechunk(dict.fromkeys(range(1, data.ndim), -1))
    from dask import config

    # else partitions of Parquet files of which few columns are read are joined, and those of X
    # and y are not the same any longer
    with config.set({"optimization.tune.active": False}):
        parts = data.to_delayed()
    return parts.ravel().tolist() if isinstance(parts, np.ndarray) else list(parts)


class Partitions:
    """Collections whose partitions hold the same rows, such as X, y and their weights.

    Parameters
    ----------
    **collections
        By name; None is left out.
    """

    def __init__(self, **collections: Any):
        given = {name: data for name, data in collections.items() if data is not None}
        first = next(iter(given))
        for name, data in given.items():
            if not is_collection(data):
                raise TypeError(
                    f"{first} is a Dask collection, but {name} is a {type(data).__name__}: give "
                    f"{name} as a collection of the same partitions."
                )
        self.collections = given
        self.parts = {name: row_parts(_alike(d, given[first]), name) for name, d in given.items()}
        self.n_parts = len(self.parts[first])
        for name, parts in self.parts.items():
            if len(parts) != self.n_parts:
                raise ValueError(
                    f"{first} has {self.n_parts} partitions, but {name} has {len(parts)}: their "
                    "partitions must hold the same rows."
                )

    def filled_parts(self, numbers: list[int], names: tuple[str, ...]) -> dict[str, list]:
        """Return some partitions of some of the collections, by name."""
        return {n: [self.parts[n][i] for i in numbers] for n in names if n in self.parts}

    def map(
        self,
        client: Any,
        function: Callable,
        *more: Any,
        names: Any = None,
        numbers: Any = None,
    ) -> list:
        """Return futures of ``function(number, parts by name, *more)`` for each partition.

        Parameters
        ----------
        client : distributed.Client
            Of the cluster.
        function : callable
            What is done with a partition.
        *more : object
            The same for all partitions.
        names : sequence of str, default=None
            Which of the collections are handed over; None: all.
        numbers : list of int, default=None
            Which partitions; None: all.
        """
        from dask import delayed

        chosen = {n: p for n, p in self.parts.items() if names is None or n in names}
        # one task for all that they share, and one message to each worker
        shared = delayed(more, pure=False, traverse=False) if more else more
        call, name = delayed(_call, pure=False), f"{function.__name__}-{uuid.uuid4().hex}"
        return client.compute(
            [
                call(
                    function,
                    i,
                    {name: parts[i] for name, parts in chosen.items()},
                    shared,
                    dask_key_name=f"{name}-{i}",
                )
                for i in (range(self.n_parts) if numbers is None else numbers)
            ]
        )


def _call(function: Callable, number: int, given: dict, more: tuple) -> Any:
    return function(number, given, *more)


def _alike(data: Any, first: Any) -> Any:
    """Return an array of Dask cut as the first collection is, where both lengths are known."""
    if data is first or not (hasattr(data, "chunks") and hasattr(first, "chunks")):
        return data
    own, wanted = data.chunks[0], first.chunks[0]
    if own == wanted or not np.isfinite(sum(own) + sum(wanted)) or sum(own) != sum(wanted):
        return data
    return data.rechunk({0: wanted})


def await_all(client: Any, futures: list) -> None:
    """Wait until tasks have ended, as long as there are workers that can run them."""
    from distributed import wait
    from distributed.client import FuturesCancelledError

    seen = time.monotonic()
    while True:
        try:
            wait(futures, timeout=2)
            return
        except FuturesCancelledError as error:
            raise RuntimeError(
                "Dask has lost partitions that were given as futures: they were cancelled, or "
                "the worker that held them died, and nobody else can make them again. Give a "
                "collection of Dask instead, or scatter them anew with hash=False."
            ) from error
        except TimeoutError:
            if client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > ALONE:
                raise RuntimeError(
                    f"The Dask cluster has had no worker for {ALONE} seconds: see their logs "
                    "(often they ran out of memory), start workers, and fit again."
                ) from None


def gather(client: Any, futures: list) -> list:
    """Return the results; whatever ends the wait ends the tasks."""
    try:
        await_all(client, futures)
        return client.gather(futures)
    except BaseException:
        client.cancel(futures)
        raise


def ask_each(client: Any, function: Callable, *parts: Any) -> list:
    """Return ``function(*each)`` for what stands beside each other in lists of partitions."""
    from dask import delayed

    ask = delayed(function, pure=False)
    return gather(client, client.compute([ask(*each) for each in zip(*parts)]))
