# ruff: noqa: E402
"""Learning from Dask collections: equal to one machine, how fast, how many bytes, and kills.

    python benchmarks/dask.py equal fast work scale bytes kills memory [--rows 1000000]

Every part stores its figures in ``results/dask_<part>.json`` and prints them; ``all`` is every part
but `memory`, which writes 3.2 GB of Parquet to a folder of its own and removes it, or to that of
the environment variable STAKES_SCRATCH and keeps it.
"""

import argparse
import contextlib
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

# this file has the name of the library: its folder is looked at last
HERE = str(Path(__file__).resolve().parent)
sys.path = [folder for folder in sys.path if str(Path(folder).resolve()) != HERE] + [HERE]

import dask
import dask.array as da
import distributed
import numpy as np
from _results import RESULTS, store

from stakes.auto import StakesClassifier
from stakes.boosting import CoMBoClassifier
from stakes.decision import CostDecisionClassifier, known_rules
from stakes.tree import CostForestClassifier, CostTreeClassifier

logging.getLogger("distributed").setLevel(logging.ERROR)
K, F = 5, 20


@contextlib.contextmanager
def cluster(n_workers, memory_limit=0, n_threads=1):
    """Start workers on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=n_threads,
            dashboard_address=":0",
            memory_limit=memory_limit,
        ) as started,
        distributed.Client(started) as client,
    ):
        yield started, client


def make_rows(n_rows, seed=0, n_classes=K):
    """Return rows whose classes depend on half of the columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, F)).astype(np.float32)
    y = X[:, :n_classes] + X[:, 5 : 5 + n_classes] ** 2 + rng.normal(size=(n_rows, n_classes))
    return X, y.argmax(axis=1)


def make_matrix(n_classes=K):
    """Return prices of mistakes."""
    matrix = np.random.default_rng(1).uniform(1, 9, (n_classes, n_classes))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def spread(array, n_parts):
    """Return an array of Dask of so many partitions."""
    bounds = np.linspace(0, len(array), n_parts + 1).astype(int)
    return da.from_array(array, chunks=(tuple(np.diff(bounds).tolist()), *array.shape[1:]))


def trees_of(model):
    """Return the trees of any of the models."""
    return [model.tree_] if hasattr(model, "tree_") else model.estimators_


def same(model, alone):
    """Say whether two models have the same nodes, thresholds and decisions."""
    return all(
        np.array_equal(a.nodes, b.nodes)
        and np.array_equal(a.decisions, b.decisions)
        and np.array_equal(a.bins.flat_edges, b.bins.flat_edges)
        for a, b in zip(trees_of(model), trees_of(alone), strict=True)
    )


def equal(n_rows):
    """Compare models from 1, 2 and 4 workers and from 3 and 37 partitions with the local ones."""
    X, y = make_rows(n_rows)
    costs = np.random.default_rng(2).uniform(1, 9, (n_rows, K))
    costs[np.arange(n_rows), y] = 0.0
    models = {
        "tree": lambda matrix: CostTreeClassifier(matrix, max_depth=6),
        "forest": lambda matrix: CostForestClassifier(
            matrix, n_estimators=20, max_depth=8, random_state=0
        ),
        "combo": lambda matrix: CoMBoClassifier(matrix, n_estimators=20),
    }
    proba = np.random.default_rng(3).dirichlet(np.ones(K), n_rows)
    proba[np.arange(n_rows), y] += 0.7
    proba /= proba.sum(axis=1, keepdims=True)
    rules = {
        name: cls
        for name, cls in known_rules().items()
        if getattr(cls, "_n_classes", None) in (None, K)
    }
    alone = {
        (name, kind): make(make_matrix() if kind == "class" else None).fit(
            X, y, **({} if kind == "class" else {"costs": costs})
        )
        for name, make in models.items()
        for kind in ("class", "example")
    }
    learned = {name: cls(cost_matrix=make_matrix()).fit(proba, y) for name, cls in rules.items()}
    figures = {"rows": n_rows, "cases": {}}
    for n_workers in (1, 2, 4):
        with cluster(n_workers):
            for n_parts in (3, 37):
                given = [spread(array, n_parts) for array in (X, y, costs, proba)]
                for (name, kind), model in alone.items():
                    more = {} if kind == "class" else {"costs": given[2]}
                    made = models[name](make_matrix() if kind == "class" else None)
                    found = made.fit(given[0], given[1], **more)
                    case = f"{name}, {kind} costs, {n_workers} workers, {n_parts} partitions"
                    figures["cases"][case] = same(found, model)
                    print(case, figures["cases"][case], flush=True)
                for name, cls in rules.items():
                    found = cls(cost_matrix=make_matrix()).fit(given[3], given[1])
                    case = f"rule {name}, {n_workers} workers, {n_parts} partitions"
                    figures["cases"][case] = bool(
                        np.array_equal(found.partition_, learned[name].partition_)
                    )
                store("dask_equal", figures)
    figures["equal"] = sum(figures["cases"].values())
    figures["of"] = len(figures["cases"])
    print(figures["equal"], "of", figures["of"])
    store("dask_equal", figures)


def seconds(function, *given, times=3):
    """Return the least of some times, wall clock."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        function(*given)
        taken.append(time.perf_counter() - start)
    return min(taken)


def processor_seconds(client, function, *given):
    """Return the processor time of the busiest worker and of the client for one call."""
    before, own = client.run(time.process_time), time.process_time()
    function(*given)
    own = time.process_time() - own
    after = client.run(time.process_time)
    return max(after[worker] - before[worker] for worker in before), own


def local_seconds(function, *given):
    """Return the processor time of one call here, the least of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        function(*given)
        taken.append(time.process_time() - start)
    return min(taken)


def work(n_rows):
    """Compare processor times, which a busy machine moves little: per row, by workers, a round."""
    X, y = make_rows(n_rows)
    few, many = 5, 15
    figures = {"rows": n_rows, "load": os.getloadavg()[0]}
    models = {
        "tree": lambda n: CostTreeClassifier(make_matrix(), max_depth=6, n_jobs=1),
        "combo": lambda n: CoMBoClassifier(make_matrix(), n_estimators=n, n_jobs=1),
    }
    for name, make in models.items():
        make(few).fit(X[:1000], y[:1000])
        figures[f"{name}, local"] = local_seconds(make(few).fit, X, y)
    for n_workers in (1, 2):
        with cluster(n_workers) as (_, client):
            rows, labels = (client.persist(spread(a, 8)) for a in (X, y))
            distributed.wait([rows, labels])
            for name, make in models.items():
                make(few).fit(rows, labels)
                taken = [processor_seconds(client, make(few).fit, rows, labels) for _ in range(3)]
                figures[f"{name}, {n_workers} workers, the busiest"] = min(t[0] for t in taken)
                figures[f"{name}, {n_workers} workers, the client"] = min(t[1] for t in taken)
            if n_workers == 2:
                ours = [
                    processor_seconds(client, models["combo"](n).fit, rows, labels)[0]
                    for n in (few, many)
                ]
                boost_by_dask(client, 1, rows, labels)
                theirs = [
                    processor_seconds(client, boost_by_dask, client, n, rows, labels)[0]
                    for n in (few, many)
                ]
                figures["a round of combo"] = (ours[1] - ours[0]) / (many - few)
                figures["a round of xgboost.dask"] = (theirs[1] - theirs[0]) / (many - few)
                figures[f"{few} rounds of combo"] = ours[0]
                figures[f"{few} rounds of xgboost.dask"] = theirs[0]
    for name in models:
        busiest = [figures[f"{name}, {n} workers, the busiest"] for n in (1, 2)]
        client_too = [figures[f"{name}, {n} workers, the client"] for n in (1, 2)]
        figures[f"{name}: one worker over local"] = busiest[0] / figures[f"{name}, local"]
        figures[f"{name}: one worker over the busier of two"] = busiest[0] / busiest[1]
        figures[f"{name}: the same, the client added"] = (busiest[0] + client_too[0]) / (
            busiest[1] + client_too[1]
        )
    figures["a round of combo over one of xgboost.dask"] = (
        figures["a round of combo"] / figures["a round of xgboost.dask"]
    )
    print(figures)
    store("dask_work", figures)


def boost_by_dask(client, n_rounds, rows, labels):
    """Train by `xgboost.dask`, as it is used without this library."""
    from xgboost import dask as by_dask

    data = by_dask.DaskQuantileDMatrix(client, rows, labels)
    how = {"objective": "multi:softprob", "num_class": K, "max_depth": 3, "tree_method": "hist"}
    by_dask.train(client, how, data, num_boost_round=n_rounds)


def alone_seconds(make, n_rows):
    """Return how long a fit of so many rows takes here, which nobody shares."""
    model, (X, y) = make(1), make_rows(n_rows)
    model.fit(X[:1000], y[:1000])
    return seconds(model.fit, X, y, times=5)


def side_by_side(client, make, n_rows):
    """Return how long workers take that each learn alone from their part of so many rows.

    One worker over two of this is what the machine gives: none waits for another.
    """
    workers = list(client.nthreads())
    tasks = [
        client.submit(alone_seconds, make, n_rows // len(workers), workers=[worker], pure=False)
        for worker in workers
    ]
    return max(client.gather(tasks))


def fast(n_rows):
    """Time local and spread fits in one run: per row, by workers, a round against xgboost.dask."""
    X, y = make_rows(n_rows)
    few, many = 5, 15
    figures = {"rows": n_rows, "load before": os.getloadavg()[0]}
    models = {
        "tree": lambda n: CostTreeClassifier(make_matrix(), max_depth=6, n_jobs=n),
        "combo": lambda n: CoMBoClassifier(make_matrix(), n_estimators=few, n_jobs=n),
    }
    longer = CoMBoClassifier(make_matrix(), n_estimators=many, n_jobs=1)
    for name, make in models.items():
        make(1).fit(X[:1000], y[:1000])
        for n in (1, 2):
            figures[f"{name}, local, {n} threads"] = seconds(make(n).fit, X, y, times=5)
    for n_workers in (1, 2):
        with cluster(n_workers) as (_, client):
            rows, labels = (client.persist(spread(a, 8)) for a in (X, y))
            distributed.wait([rows, labels])
            for name, make in models.items():
                make(1).fit(rows, labels)
                figures[f"{name}, {n_workers} workers"] = seconds(
                    make(1).fit, rows, labels, times=5
                )
                apart = side_by_side(client, make, n_rows)
                figures[f"{name}, {n_workers} workers, each for itself"] = apart
            if n_workers == 2:
                spent = seconds(longer.fit, rows, labels) - figures["combo, 2 workers"]
                figures["combo, a round, 2 workers"] = spent / (many - few)
                boost_by_dask(client, 1, rows, labels)
                short, long = (
                    seconds(boost_by_dask, client, n, rows, labels, times=2) for n in (few, many)
                )
                figures[f"xgboost.dask, {few} rounds, 2 workers"] = short
                figures["xgboost.dask, a round, 2 workers"] = (long - short) / (many - few)
        print(figures, flush=True)
    for name in models:
        local, spread_out = figures[f"{name}, local, 2 threads"], figures[f"{name}, 2 workers"]
        figures[f"{name}: two workers over two threads"] = spread_out / local
        figures[f"{name}: one worker over one thread"] = (
            figures[f"{name}, 1 workers"] / figures[f"{name}, local, 1 threads"]
        )
        figures[f"{name}: one worker over two"] = figures[f"{name}, 1 workers"] / spread_out
        apart = [figures[f"{name}, {n} workers, each for itself"] for n in (1, 2)]
        figures[f"{name}: one worker over two, each for itself"] = apart[0] / apart[1]
    figures["a round of combo over one of xgboost.dask"] = (
        figures["combo, a round, 2 workers"] / figures["xgboost.dask, a round, 2 workers"]
    )
    figures["load after"] = os.getloadavg()[0]
    print(figures)
    store("dask_fast", figures)


def rows_there(client, n_rows, n_parts=16):
    """Return rows that the workers have made, each partition where it stays."""
    size = n_rows // n_parts
    made = [dask.delayed(make_rows, pure=False)(size, seed) for seed in range(n_parts)]
    parts = client.persist(made)
    kinds = ((size, F), np.float32), ((size,), np.int64)
    given = [
        da.concatenate([da.from_delayed(part[i], *kinds[i]) for part in parts]) for i in range(2)
    ]
    given = client.persist(given)
    distributed.wait(given)
    return given


def scale(n_rows):
    """Time ten times as many rows, and two workers against one."""
    figures, sizes = {"load before": os.getloadavg()[0]}, (n_rows, 10 * n_rows)
    models = {
        "tree": CostTreeClassifier(make_matrix(), max_depth=6),
        "combo": CoMBoClassifier(make_matrix(), n_estimators=5),
    }
    for n_workers in (1, 2):
        with cluster(n_workers) as (_, client):
            for n in sizes:
                rows, labels = rows_there(client, n)
                for name, model in models.items():
                    model.fit(rows, labels)
                    figures[f"{name}, {n} rows, {n_workers} workers"] = seconds(
                        model.fit, rows, labels
                    )
            print(figures, flush=True)
    for name in models:
        one, two = ([figures[f"{name}, {n} rows, {w} workers"] for n in sizes] for w in (1, 2))
        figures[f"{name}: ten times the rows over once"] = two[1] / two[0]
        for n, alone, together in zip(sizes, one, two):
            figures[f"{name}: one worker over two, {n} rows"] = alone / together
    figures["load after"] = os.getloadavg()[0]
    print(figures)
    store("dask_scale", figures)


def bytes_sent(n_rows):
    """Count messages and bytes of a tree of depth 6 on 1, 2 and 4 workers against the formula."""
    X, y = make_rows(n_rows)
    figures = {"rows": n_rows}
    for n_workers in (1, 2, 4):
        with cluster(n_workers):
            for kind in ("class", "example"):
                more, matrix = {}, make_matrix()
                slots = K
                if kind == "example":
                    more, matrix = {"costs": spread(make_matrix()[y], 8)}, None
                    slots = -(-(K + 1) // 4) * 4
                model = CostTreeClassifier(matrix, max_depth=6)
                model.fit(spread(X, 8), spread(y, 8), **more)
                bins = int(model.bins_.offsets[-1])
                formula = 8 * bins * slots
                levels = [1, 1, 2, 4, 8, 16]  # nodes that are counted
                wanted = {n * bins * slots: 0 for n in levels}
                for n in levels:
                    wanted[n * bins * slots] += 1
                sent = {s: n for s, n in model._messages.items() if s >= bins * slots}
                total = sum(8 * s * n for s, n in model._messages.items())
                figures[f"{kind} costs, {n_workers} workers"] = {
                    "messages": sum(model._messages.values()),
                    "bytes summed": total,
                    "formula": sum(formula * n for n in levels),
                    "ratio": total / sum(formula * n for n in levels),
                    "levels as the formula says": sent == wanted,
                }
        print(figures, flush=True)
    store("dask_bytes", figures)


def runs_before(name):
    """Return how many fits of the runs before ended how: a hang is never overwritten."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    last = json.loads(path.read_text())["figures"]
    ended = Counter(fit["ended"] for fit in last["fits"])
    return [*last.get("earlier", []), {"rows": last["rows"], **ended}]


def same_decisions(model, alone, X):
    """Say whether two models have the same probabilities, to the last bit."""
    return np.array_equal(model.predict_proba(X), alone.predict_proba(X))


def seconds_on_cluster(fit):
    """Return how long a fit of the default needs the cluster: what comes after is of the client."""
    from stakes.auto import _stakes

    train, over = _stakes.fit_xgboost, []

    def noted(*given, **more):
        found = train(*given, **more)
        over.append(time.perf_counter())
        return found

    _stakes.fit_xgboost = noted
    try:
        start = time.perf_counter()
        fit()
        return over[0] - start
    finally:
        _stakes.fit_xgboost = train


def kills(n_rows, n_kills=30):
    """Kill a worker at random moments of fits; count how they end."""
    X, y = make_rows(n_rows)
    made = {
        "tree": lambda: CostTreeClassifier(make_matrix(), max_depth=8),
        "combo": lambda: CoMBoClassifier(make_matrix(), n_estimators=40),
        "default": lambda: StakesClassifier(make_matrix(), members=["linear"], random_state=0),
    }
    alone = {name: made[name]().fit(X, y) for name in ("tree", "combo")}
    rng = random.Random(0)
    figures = {"rows": n_rows, "kills": n_kills, "earlier": runs_before("dask_kills"), "fits": []}
    with cluster(3) as (started, client):
        given = spread(X, 6), spread(y, 6)
        times = {}
        for name in ("tree", "combo"):
            made[name]().fit(*given)
            times[name] = seconds(made[name]().fit, *given)
        alone["default"] = made["default"]().fit(*given)
        times["default"] = seconds_on_cluster(lambda: made["default"]().fit(*given))
        print(times, flush=True)
        for i in range(n_kills):
            name = ("tree", "combo", "default")[i % 3]
            ended = {}

            def fit(name=name, ended=ended):
                with client.as_current():
                    try:
                        ended["model"] = made[name]().fit(*given)
                    except Exception as error:
                        ended["error"] = f"{type(error).__name__}: {error}"

            if len(client.nthreads()) < 3:  # a nanny may take its time, or give up
                started.scale(len(started.workers) + 1)
                client.wait_for_workers(3, timeout=180)
            thread = threading.Thread(target=fit, daemon=True)
            begin = time.monotonic()
            thread.start()
            moment = rng.uniform(0, times[name])
            time.sleep(moment)
            victim = rng.choice([w.pid for w in started.workers.values() if w.pid])
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            thread.join(180)
            took = time.monotonic() - begin
            how = "hangs"
            if "model" in ended:
                same_as = same_decisions if name == "default" else lambda a, b, _: same(a, b)
                is_same = same_as(ended["model"], alone[name], X)
                how = "same model" if is_same else "OTHER MODEL"
            elif "error" in ended:
                how = ended["error"][:200]
            found = {"model": name, "killed after": round(moment / times[name], 2)}
            figures["fits"].append({**found, "ended": how, "seconds": round(took, 1)})
            print(figures["fits"][-1], flush=True)
            store("dask_kills", figures)
            if how == "hangs":  # it holds the lock: no fit after it would tell anything
                break
    figures["same model"] = sum(f["ended"] == "same model" for f in figures["fits"])
    figures["slowest"] = max(f["seconds"] for f in figures["fits"])
    store("dask_kills", figures)


def write_rows(folder, n_rows, size=500_000):
    """Write so many rows as Parquet, unless they are there."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    for i, first in enumerate(range(0, n_rows, size)):
        path = folder / f"{i:04d}.parquet"
        if not path.exists():
            X, y = make_rows(min(size, n_rows - first), seed=i, n_classes=2)
            frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(F)])
            frame["y"] = y.astype(np.int8)
            frame.to_parquet(folder / "part", index=False)
            (folder / "part").rename(path)


def peak_memory(dask_worker):
    """Return the most GB that a worker has held."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def memory(n_rows, limit=1.2):
    """Fit, score and decide more rows than the workers can hold; n_rows of float32 in Parquet.

    Models that have been stored for as many rows are not fitted again: remove the file for that.
    """
    import dask.dataframe as dd
    import xgboost

    given = os.environ.get("STAKES_SCRATCH")
    folder = Path(given or tempfile.mkdtemp(prefix="stakes-dask-"))
    figures = {"rows": n_rows, "limit": f"{limit} GB", "models": {}}
    if (RESULTS / "dask_memory.json").exists():
        stored = json.loads((RESULTS / "dask_memory.json").read_text())["figures"]
        figures = stored if stored["rows"] == n_rows else figures
    matrix = [[0, 1], [9, 0]]
    boosting = xgboost.XGBClassifier(n_estimators=20, max_depth=6, max_bin=64)
    models = {
        "tree": CostTreeClassifier(matrix, max_depth=6),
        "combo, 50 rounds": CoMBoClassifier(matrix, n_estimators=50),
        "xgboost, learned rule": CostDecisionClassifier(
            boosting, cost_matrix=matrix, rule="parallel_partition"
        ),
        "xgboost, least expected cost": CostDecisionClassifier(boosting, cost_matrix=matrix),
    }
    try:
        write_rows(folder / "rows", n_rows)
        files = sorted(str(path) for path in (folder / "rows").glob("*.parquet"))
        files = files[: -(-n_rows // 500_000)]
        for name in [name for name in models if name not in figures["models"]]:
            model = models[name]
            with cluster(2, memory_limit=f"{limit}GB") as (started, client):
                before = {w.pid for w in started.workers.values()}
                table = dd.read_parquet(files)
                X, y = table.drop(columns="y"), table["y"]
                times = [time.perf_counter()]
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always", UserWarning)
                    model.fit(X, y)
                times.append(time.perf_counter())
                peaks = list(client.run(peak_memory).values())
                cost = -model.score(X, y).compute()
                times.append(time.perf_counter())
                shutil.rmtree(folder / "decided", ignore_errors=True)
                model.predict(X).to_frame("decision").to_parquet(folder / "decided")
                times.append(time.perf_counter())
                after = {w.pid for w in started.workers.values()}
                figures["models"][name] = {
                    "cost": cost,
                    "decided": len(dd.read_parquet(folder / "decided")),
                    "seconds to fit, score, decide": np.diff(times).round(1).tolist(),
                    "peak GB of each worker, fit": [round(p, 3) for p in peaks],
                    "peak GB of each worker": [
                        round(p, 3) for p in client.run(peak_memory).values()
                    ],
                    "workers killed": len(before - after),
                    "told": [str(w.message) for w in told if w.category is UserWarning],
                }
                print(name, figures["models"][name], flush=True)
                store("dask_memory", figures)
    finally:
        if given is None:
            shutil.rmtree(folder, ignore_errors=True)


PARTS = {
    "equal": equal,
    "fast": fast,
    "work": work,
    "scale": scale,
    "bytes": bytes_sent,
    "kills": kills,
    "memory": memory,
}
ROWS = {
    "fast": 4_000_000,
    "work": 2_000_000,
    "bytes": 200_000,
    "kills": 20_000,
    "memory": 40_000_000,
}


def main():
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "all"])
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    wanted = [p for p in PARTS if p != "memory"] if "all" in given.parts else given.parts
    for part in wanted:
        PARTS[part](given.rows or ROWS.get(part, 1_000_000))


if __name__ == "__main__":
    main()
