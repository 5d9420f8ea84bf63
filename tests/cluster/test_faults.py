"""What goes wrong on a cluster ends in one sentence, or does not matter."""

import asyncio
import builtins
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import dask.array as da
import distributed
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.cluster.test_trees import C, assert_same_tree, cut

from stakes.boosting import CoMBoClassifier
from stakes.cluster import _group, _together, _trees, partitions
from stakes.cluster.partitions import need_dask
from stakes.decision import CostDecisionClassifier
from stakes.tree import CostTreeClassifier

# Distributed leaves sockets to the garbage collector where a worker has died.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)


def running_tasks(client):
    return sum(len(keys) for keys in client.processing().values())


def fail_on_one(model, share, sums):
    """A learner that fails where the first row is, while the others wait for its sum."""
    if share.places[0][0] == 0:
        raise ZeroDivisionError("of the worker itself")
    sums.total(np.ones(3))


def test_an_error_on_one_worker_ends_the_others_and_is_told(client, table, monkeypatch):
    X, y, *_ = table
    monkeypatch.setattr(_trees, "learn_share", fail_on_one)
    before = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="of the worker itself"):
        CostTreeClassifier(C).fit(cut(X, 1500), cut(y, 1500))
    assert time.monotonic() - before < 60
    assert running_tasks(client) == 0


def test_two_fits_at_once_take_turns(client, table):
    X, y, *_ = table
    rows, labels = (client.persist(cut(array, 1000, 1000)) for array in (X, y))
    found = []

    def fit(depth):
        found.append(CostTreeClassifier(C, max_depth=depth).fit(rows, labels))

    threads = [threading.Thread(target=fit, args=(depth,)) for depth in (3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert len(found) == 3
    for model in found:
        assert_same_tree(
            model.tree_, CostTreeClassifier(C, max_depth=model.max_depth).fit(X, y).tree_
        )


@pytest.fixture
def own_cluster():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


def test_a_worker_killed_or_joining_during_a_fit(own_cluster, table):
    cluster, client = own_cluster
    X, y, *_ = table
    rows, labels = cut(X, 1000, 1000), cut(y, 1000, 1000)
    alone = CoMBoClassifier(C, n_estimators=300).fit(X, y)
    found = []

    def fit():
        with client.as_current():
            found.append(CoMBoClassifier(C, n_estimators=300).fit(rows, labels))

    thread = threading.Thread(target=fit)
    thread.start()
    while not any("_take_part" in key for keys in client.processing().values() for key in keys):
        time.sleep(0.05)
    cluster.scale(3)
    victim = next(iter(cluster.workers.values())).pid
    os.kill(victim, signal.SIGKILL)
    thread.join(120)
    assert len(found) == 1
    assert found[0].n_iter_ == alone.n_iter_
    assert_same_tree(found[0].estimators_[-1], alone.estimators_[-1], exact=False)


def grow_when_told(marker, model, share, sums):
    """Begin a tree, and go on when a file is there."""
    (marker.parent / f"begun {share.places[0][0]}").touch()
    while not marker.exists():
        time.sleep(0.05)
    _trees.learn_share(model, share, sums)


def test_a_worker_that_joins_during_a_fit_helps_the_next(
    own_cluster, table, tmp_path, monkeypatch
):
    cluster, client = own_cluster
    X, y, *_ = table
    rows, labels = cut(X, 500, 500, 500, 500, 500), cut(y, 500, 500, 500, 500, 500)
    monkeypatch.setattr(_trees, "learn_share", partial(grow_when_told, tmp_path / "go on"))
    found = []

    def fit():
        with client.as_current():
            found.append(CostTreeClassifier(C, max_depth=4).fit(rows, labels))

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.05)
    cluster.scale(3)
    client.wait_for_workers(3, timeout=60)
    for path in tmp_path.iterdir():
        path.unlink()
    (tmp_path / "go on").touch()
    thread.join(60)
    assert [path.name for path in tmp_path.iterdir()] == ["go on"]  # nobody began anew
    monkeypatch.undo()
    fit()
    alone = CostTreeClassifier(C, max_depth=4).fit(X, y)
    assert len(found) == 2, "it hangs"
    for model in found:
        assert_same_tree(model.tree_, alone.tree_)


def test_a_worker_killed_while_xgboost_trains(own_cluster, table):
    xgboost = pytest.importorskip("xgboost")
    cluster, client = own_cluster
    X, y, *_ = table
    boosting = xgboost.XGBClassifier(n_estimators=400, max_depth=6, n_jobs=1)
    found = []

    def fit():
        with client.as_current():
            model = CostDecisionClassifier(boosting, cost_matrix=C)
            found.append(model.fit(cut(X, 1000, 1000), cut(y, 1000, 1000)))

    thread = threading.Thread(target=fit)
    thread.start()
    while not any("_take_part" in key for keys in client.processing().values() for key in keys):
        time.sleep(0.05)
    time.sleep(1)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    thread.join(60)
    assert len(found) == 1, "it hangs"
    assert_array_equal(found[0].predict_proba(X), boosting.fit(X, y).predict_proba(X))


def die_once(marker, model, share, sums):
    """Die where the first row is; elsewhere wait for the dead as the collective does, for ever."""
    if marker.exists():
        return _trees.learn_share(model, share, sums)
    if share.places[0][0] == 0:
        time.sleep(1)
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with sums.collective(), socket.create_server(("127.0.0.1", 0)) as neighbour:
        neighbour.accept()


def test_a_worker_that_waits_for_a_dead_one_is_set_free(own_cluster, table, tmp_path, monkeypatch):
    X, y, *_ = table
    monkeypatch.setattr(_trees, "learn_share", partial(die_once, tmp_path / "died"))
    found = []

    def fit():
        with own_cluster[1].as_current():
            found.append(CostTreeClassifier(C).fit(cut(X, 1500), cut(y, 1500)))

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    thread.join(60)
    assert (tmp_path / "died").exists()
    assert len(found) == 1, "it hangs"
    monkeypatch.undo()
    assert_same_tree(found[0].tree_, CostTreeClassifier(C).fit(X, y).tree_)


def test_a_tracker_that_died_does_not_take_the_scheduler_along():
    async def start(name, n_workers):
        found = await _group.start_tracker(name, n_workers, "127.0.0.1")
        process = _group._trackers[name]
        await _group.stop_tracker(name, broken=False)
        return found["dmlc_tracker_port"], process

    first, process = asyncio.run(start("first", 3))
    again, same = asyncio.run(start("again", 2))
    assert same is process
    assert process.pid != os.getpid()
    process.kill()
    process.wait()
    last, other = asyncio.run(start("last", 2))
    assert other is not process
    assert len({first, again, last}) == 3
    assert other.poll() is None


def test_ranks_are_not_told(capsys):
    _group._listen(b"[10:00:00] Task 00000001 got rank 1")
    assert capsys.readouterr() == ("", "")
    _group._listen(b"[10:00:00] WARNING: something else")
    assert "something else" in capsys.readouterr().err


def answer_and_die(number):
    """Have done what was asked, and die before the answer is fetched."""
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return number


def test_an_answer_that_died_with_its_worker_is_not_waited_for(own_cluster):
    _, client = own_cluster
    address = sorted(client.nthreads())[0]
    future = client.submit(answer_and_die, 1, workers=[address], allow_other_workers=False)
    distributed.wait(future)
    while address in client.nthreads():
        time.sleep(0.1)
    with pytest.raises(_together.WorkerLost, match="A Dask worker was lost while it held rows"):
        _together._result(client, future, address)


def test_a_cluster_without_workers_is_not_waited_for(table, monkeypatch):
    X, y, *_ = table
    monkeypatch.setattr(partitions, "ALONE", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
        pytest.raises(RuntimeError, match="has had no worker for 1 seconds: .* start workers"),
    ):
        CostTreeClassifier(C).fit(cut(X, 1500), cut(y, 1500))


INTERRUPTED = """
import sys, threading, _thread, time
import numpy as np, dask.array as da
from distributed import Client
from stakes.boosting import CoMBoClassifier
from stakes.decision import CostDecisionClassifier
from xgboost import XGBClassifier

client = Client(sys.argv[1])
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20000, 5)), rng.integers(0, 3, 20000)

def interrupt():
    while not any("_take_part" in k for ks in client.processing().values() for k in ks):
        time.sleep(0.05)
    time.sleep(0.5)
    _thread.interrupt_main()

threading.Thread(target=interrupt, daemon=True).start()
try:
    {model}.fit(da.from_array(X, (7000, 5)), da.from_array(y, 7000))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "model",
    [
        "CoMBoClassifier(n_estimators=100_000)",
        "CostDecisionClassifier(XGBClassifier(n_estimators=100_000))",
    ],
)
def test_an_interrupted_client_leaves_nothing_running(client, table, model):
    code = textwrap.dedent(INTERRUPTED).replace("{model}", model)
    command = [sys.executable, "-c", code, client.scheduler.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "interrupted" in done.stdout, done.stderr
    assert running_tasks(client) == 0
    X, y, *_ = table
    CostTreeClassifier(C, max_depth=2).fit(cut(X, 1500), cut(y, 1500))  # the cluster serves on


def test_without_a_cluster_or_without_pyarrow_it_is_said(table, monkeypatch):
    X, y, *_ = table
    monkeypatch.setattr(distributed, "get_client", lambda: (_ for _ in ()).throw(ValueError("no")))
    with pytest.raises(ValueError, match=r"needs a Dask cluster: call distributed.Client\(\)"):
        CostTreeClassifier(C).fit(da.from_array(X), da.from_array(y))
    known = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
        return known(name, *args, **kwargs)

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r'pyarrow, which is not installed: pip install "stakes'):
        need_dask("This")
