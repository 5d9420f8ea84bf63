"""One long task on each worker, all at the same time, and none of another fit among them."""

import queue
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from stakes.cluster._group import FitInterrupted, Group, start_tracker, stop_fit, stop_tracker
from stakes.cluster.partitions import await_all, on_rows

# Seconds that the other workers are given to end by themselves after one has failed, and after
# they were told to.
ECHO, GRACE = 5.0, 20.0
# Seconds after which a thread that was told to end, but waits for another worker, is left behind.
LEAVE = 3.0


class WorkerLost(RuntimeError):
    """A worker died while it held rows of a fit."""


def place_of(client: Any, futures: list) -> dict[str, list]:
    """Return which of the futures each worker holds, in their order."""
    try:
        await_all(client, futures)
        failed = [f for f in futures if f.status == "error"]
        if failed:
            failed[0].result()
        held: dict[str, list] = {}
        where = client.who_has(futures)
        for future in futures:
            addresses = where.get(future.key) or where.get(str(future.key)) or ()
            if not addresses:
                raise WorkerLost(LOST)
            known = [a for a in sorted(addresses) if a in held]
            held.setdefault((known or sorted(addresses))[0], []).append(future)
        return held
    except BaseException:
        client.cancel(futures)
        raise


# How often a fit is begun anew after a worker was lost.
ATTEMPTS = 3

LOST = (
    "A Dask worker was lost while it held rows of this fit, and again when that was repeated: see "
    "its log (often it ran out of memory), and fit again."
)


def again_when_lost(fit: Callable[[], Any]) -> Any:
    """Return ``fit()``, begun anew where a worker was lost, but not for ever."""
    for _ in range(ATTEMPTS - 1):
        try:
            return fit()
        except WorkerLost:
            continue
    return fit()


def run_together(client: Any, function: Callable, shares: dict[str, list], *more: Any) -> Any:
    """Return ``function(group, partitions, *more)`` of the first worker; all run it together.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    function : callable
        The long task.
    shares : dict of str to list of futures
        The partitions that each worker holds.
    *more
        Further arguments, the same for all.
    """
    from distributed import Semaphore
    from distributed.comm import get_address_host

    name, addresses = f"stakes-{uuid.uuid4().hex}", sorted(shares)
    with Semaphore(max_leases=1, name="stakes-fit"):
        address = None
        try:
            if len(addresses) > 1:
                host = get_address_host(client.scheduler.address)
                address = client.run_on_scheduler(start_tracker, name, len(addresses), host)
            futures = [
                client.submit(
                    _take_part,
                    function,
                    (name, rank, len(addresses), address),
                    shares[worker],
                    *more,
                    workers=[worker],
                    allow_other_workers=False,
                    pure=False,
                    priority=1000,
                )
                for rank, worker in enumerate(addresses)
            ]
            try:
                return _await(client, futures, addresses)
            except BaseException:
                alive = [a for a in client.nthreads() if a in addresses]
                if alive:
                    client.run(stop_fit, name, workers=alive, on_error="ignore")
                if address is not None:  # those that wait for a dead one to come
                    client.run_on_scheduler(stop_tracker, name, broken=True)
                _let_end(client, futures, addresses, GRACE)
                client.cancel(futures)
                raise
        finally:
            if address is not None:
                client.run_on_scheduler(stop_tracker, name, broken=False)


@on_rows
def _take_part(function: Callable, group: tuple, partitions: list, *more: Any) -> Any:
    """Learn in a thread of its own, which is left behind if it does not end when told to.

    The collective waits without a limit for a neighbour that dies between its coming to the
    tracker and its coming to this worker. Nothing wakes such a thread; this task must end all
    the same, or it would hold its place on the worker for ever.
    """
    from distributed import get_worker

    sums, held = Group(*group), [partitions]
    worker = get_worker()
    sums.n_threads, sums.folder = worker.state.nthreads, worker.local_directory
    sums.memory = worker.memory_manager.memory_limit or 0
    ended: queue.SimpleQueue = queue.SimpleQueue()

    def learn() -> None:
        learned, failed = None, None
        try:
            with sums:
                learned = function(sums, held.pop(), *more)
        except BaseException as error:  # is raised by the task
            failed = error
        ended.put((learned, failed))

    threading.Thread(target=learn, name="stakes-fit", daemon=True).start()
    limit = 0.0
    while True:
        try:
            learned, failed = ended.get(timeout=0.2)
            break
        except queue.Empty:
            if not (sums.stopped and sums.waiting):
                limit = time.monotonic() + LEAVE
            elif time.monotonic() > limit:
                held.clear()
                raise FitInterrupted("The fit was given up.") from None
    if failed is not None:
        raise failed
    return learned if sums.rank == 0 else None


def _pending(futures: list) -> list:
    return [f for f in futures if f.status == "pending"]


def _await(client: Any, futures: list, addresses: list[str]) -> Any:
    from distributed import wait

    while pending := _pending(futures):
        try:
            wait(pending, timeout=1, return_when="FIRST_COMPLETED")
        except TimeoutError:
            if set(addresses) - set(client.nthreads()):
                raise WorkerLost(LOST) from None
        if any(f.status != "finished" for f in futures if f.status != "pending"):
            _let_end(client, futures, addresses, ECHO)
            break
    errors = [f.exception() for f in futures if f.status == "error"]
    if set(addresses) - set(client.nthreads()):
        raise WorkerLost(LOST)
    own = [e for e in errors if type(e).__module__.partition(".")[0] != "xgboost"]
    if own:
        raise own[0]
    if errors:  # those of the collective are echoes, here of a worker that was lost for a moment
        raise WorkerLost(LOST) from errors[0]
    return _result(client, futures[0], addresses[0])


def _result(client: Any, future: Any, address: str) -> Any:
    """Return what a task found, unless the one worker that may run it dies before it is sent."""
    patience = 2.0
    while True:
        try:
            return future.result(timeout=patience)
        except TimeoutError:
            if address not in client.nthreads():
                raise WorkerLost(LOST) from None
            patience *= 2


def _let_end(client: Any, futures: list, addresses: list[str], seconds: float) -> None:
    """Wait until the tasks have ended on the workers that are left, but not for ever."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        alive = set(client.nthreads())
        if not [f for f, a in zip(futures, addresses) if f.status == "pending" and a in alive]:
            return
        time.sleep(0.2)
