import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest

from stakes.compare.runner import Predictions, Run, RunStore, StoreError, execute
from stakes.utils._files import write_atomically

RUN = Run("toy", "cv2", 0, "mec", 7)


def predictions(value=1):
    return Predictions({"decisions": np.array([0, value])}, {"fit": 0.5}, {"note": "x"})


def test_predictions_come_back_as_they_were(tmp_path):
    store = RunStore(tmp_path)
    store.save_predictions(RUN, predictions())
    found = store.load_predictions(RUN)
    assert found.arrays["decisions"].tolist() == [0, 1]
    assert found.seconds == {"fit": 0.5}
    assert found.info == {"note": "x"}


def test_names_that_are_no_file_names_stay_apart_and_inside(tmp_path):
    names = ["../../etc/passwd", "a/b", "a-b", "x" * 500, "", "ü", "."]
    paths = {Run(name, "p", 0, "m").path for name in names}
    assert len(paths) == len(names)
    store = RunStore(tmp_path / "store")
    for name in names:
        store.save_row(Run(name, "p", 0, "m"), {"status": "ok"})
    assert sorted(os.listdir(tmp_path)) == ["store"]
    assert {row["task"] for row in store.rows()} == set(names)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 half a file", b"{"])
def test_a_damaged_file_counts_as_missing(tmp_path, damage):
    store = RunStore(tmp_path)
    store.save_predictions(RUN, predictions())
    store.save_row(RUN, {"status": "ok"})
    for file in tmp_path.rglob("fold*"):
        file.write_bytes(damage)
    assert store.load_predictions(RUN) is None
    assert store.load_row(RUN) is None


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    write_atomically(target, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match=r"page.html cannot be written: No space left on device"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


class Work:
    """Counts fits; method "bad" fails, method "worse" fails as a whole unit."""

    def __init__(self):
        self.fits = []

    def __call__(self, unit):
        for run in unit:
            if run.method == "worse":
                raise KeyError("age")
            self.fits.append(run)
            if run.method == "bad":
                yield run, ValueError("no good.\nsecond line")
            else:
                yield run, predictions(run.fold)


def score(run, found):
    return {"cost": float(found.arrays["decisions"].sum())}


def runs(*methods):
    return [[Run("toy", "cv2", fold, method) for method in methods] for fold in (0, 1)]


def test_what_is_stored_is_not_fitted_again_and_failures_are(tmp_path):
    store, work = RunStore(tmp_path), Work()
    units = runs("good", "bad")
    rows = execute(units, work, score, store)
    assert [(r["method"], r["status"], r["reason"]) for r in rows] == [
        ("good", "ok", ""),
        ("bad", "failed", "no good."),
    ] * 2
    assert [r.get("cost") for r in rows] == [0.0, None, 1.0, None]
    assert rows[0]["seconds_fit"] == 0.5
    assert rows[0]["versions"]["numpy"] == np.__version__
    work.fits.clear()
    execute(units, work, score, store)
    assert {run.method for run in work.fits} == {"bad"}


def test_predictions_without_a_row_are_scored_without_a_fit(tmp_path):
    store, work = RunStore(tmp_path), Work()
    (unit,) = runs("good")[:1]
    store.save_predictions(unit[0], predictions(5))
    rows = execute([unit], work, score, store)
    assert work.fits == []
    assert rows[0]["cost"] == 5.0


def test_an_exception_of_the_unit_fails_its_open_runs_only(tmp_path):
    rows = execute(runs("good", "worse"), Work(), score, RunStore(tmp_path))
    assert [r["status"] for r in rows] == ["ok", "failed"] * 2
    assert rows[1]["reason"] == "KeyError: 'age'"


def test_workers_give_the_same_rows(tmp_path):
    one = execute(runs("good", "bad"), Work(), score, RunStore(tmp_path / "1"))
    two = execute(runs("good", "bad"), Work(), score, RunStore(tmp_path / "2"), n_jobs=2)
    keys = ("task", "fold", "method", "status", "cost", "reason")
    assert [[r.get(k) for k in keys] for r in one] == [[r.get(k) for k in keys] for r in two]


def test_a_full_disk_ends_the_run_instead_of_failing_the_method(tmp_path, monkeypatch):
    store = RunStore(tmp_path)

    def full(*_):
        raise StoreError("x cannot be written: No space left on device.")

    monkeypatch.setattr(store, "save_predictions", full)
    with pytest.raises(StoreError, match="No space left"):
        execute(runs("good"), Work(), score, store)


def job(folder, log):
    def work(unit):
        for run in unit:
            time.sleep(0.005)
            with open(log, "a") as file:
                file.write(f"{run.fold}{run.method}\n")
            yield run, Predictions({"decisions": np.full(20000, run.fold)}, {"fit": 0.0})

    units = [[Run("toy", "p", fold, m) for m in "ab"] for fold in range(30)]
    execute(units, work, lambda r, p: {"cost": int(p.arrays["decisions"].sum())}, RunStore(folder))


def test_killed_at_any_moment_it_goes_on_where_it_stopped(tmp_path):
    folder, log = tmp_path / "store", tmp_path / "log"
    log.touch()
    fork = multiprocessing.get_context("fork")
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(20):
        child = fork.Process(target=job, args=(folder, log))
        child.start()
        time.sleep(rng.uniform(0.01, 0.06))
        child.kill()
        child.join()
        kills += child.exitcode == -signal.SIGKILL
    job(folder, log)
    fits = log.read_text().splitlines()
    # Each kill loses at most the fit that was under way.
    assert len(set(fits)) == 60
    assert len(fits) <= 60 + kills
    rows = list(RunStore(folder).rows())
    assert sorted((r["fold"], r["method"], r["cost"]) for r in rows) == [
        (fold, m, fold * 20000) for fold in range(30) for m in "ab"
    ]


def test_rows_are_plain_json(tmp_path):
    store = RunStore(tmp_path)
    store.save_row(RUN, {"status": "ok", "cost": np.float64(0.1), "sizes": np.array([1, 2])})
    (file,) = tmp_path.rglob("*.json")
    assert json.loads(file.read_text()) == {
        "task": "toy", "protocol": "cv2", "fold": 0, "method": "mec", "seed": 7,
        "status": "ok", "cost": 0.1, "sizes": [1, 2],
    }  # fmt: skip
