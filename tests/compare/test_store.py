import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from stakes.compare.runner import LIBRARIES, Predictions, Run, RunStore, execute, versions
from stakes.utils._files import StoreError, StoreWarning, write_atomically

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


def test_what_took_long_to_fit_is_on_the_disk_before_the_next_run(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store = RunStore(tmp_path)
    for seconds, expected in ((0.01, 0), (60.0, 1)):  # a row is scored again: never waited for
        run = Run("toy", "cv5", 0, f"takes_{seconds}")
        store.save_predictions(run, Predictions({"decisions": np.arange(3)}, {"fit": seconds}))
        store.save_row(run, {"status": "ok"})
        assert len(synced) == expected
        assert store.state(run) == "ok"


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


def stored(folder):
    store = RunStore(folder)
    store.save_predictions(RUN, predictions())
    store.save_row(RUN, {"status": "ok", "cost": 2.5})
    return store, sorted(folder.rglob("fold*"))


@pytest.mark.parametrize("which", [0, 1], ids=["row", "arrays"])
def test_every_change_of_one_byte_is_seen(tmp_path, which):
    _, files = stored(tmp_path)
    whole = files[which].read_bytes()
    for at in range(len(whole)):
        for byte in {whole[at] ^ 1, ord("0"), ord("\n"), ord("}")} - {whole[at]}:
            files[which].write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            found = RunStore(tmp_path).state(RUN)
            assert found == ("predicted" if which == 0 else "missing"), (at, byte)
    files[which].write_bytes(whole)
    assert RunStore(tmp_path).state(RUN) == "ok"


@pytest.mark.parametrize("damage", [b"5", b"null", b"[]", b"", b"\x00" * 50, b'"checksum"', b"\n"])
@pytest.mark.parametrize("which", [0, 1], ids=["row", "arrays"])
def test_a_file_of_anything_else_is_said_removed_and_made_again(tmp_path, which, damage):
    store, files = stored(tmp_path)
    files[which].write_bytes(damage)
    work = Work()
    with pytest.warns(StoreWarning, match="1 file of finished fits damaged; removed and made"):
        (row,) = execute([[RUN]], work, score, store)
    assert row["status"] == "ok"
    assert work.fits == ([RUN] if which == 1 else [])  # a lost row is scored without a fit
    assert RunStore(tmp_path).state(RUN) == "ok"


def test_files_that_changed_places_are_seen(tmp_path):
    store, other = RunStore(tmp_path), Run("toy", "cv2", 1, "mec", 7)
    for run in (RUN, other):
        store.save_predictions(run, predictions(run.fold))
        store.save_row(run, {"status": "ok", "cost": run.fold})
    for ending in (".json", ".run"):
        one, two = (store._file(run, ending) for run in (RUN, other))
        kept = one.read_bytes()
        one.write_bytes(two.read_bytes())
        two.write_bytes(kept)
    assert list(store.rows()) == []
    assert [store.state(run) for run in (RUN, other)] == ["missing", "missing"]


@pytest.mark.parametrize(
    "array", [np.array(["a", "bcd"]), np.array([[True], [False]]), np.zeros((0, 3)), np.array(2.5),
              np.arange(6).reshape(2, 3).T, np.array(["2020-01-01"], dtype="M8[D]")],
    ids=str,
)  # fmt: skip
def test_arrays_come_back_with_type_and_shape(tmp_path, array):
    store = RunStore(tmp_path)
    store.save_predictions(RUN, Predictions({"a": array}))
    found = store.load_predictions(RUN).arrays["a"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert found.flags.writeable


def test_objects_are_refused(tmp_path):
    with pytest.raises(TypeError, match="'a' holds objects: keep numbers or text"):
        RunStore(tmp_path).save_predictions(RUN, Predictions({"a": np.array([None])}))


@pytest.mark.parametrize(
    "inside", ["loans.csv", "a/b/c/d/fold0-seed0.json", "a/b/notes.txt", ".x"]
)
def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path, inside):
    file = tmp_path / "mine" / inside
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    for fresh in (False, True):
        with pytest.raises(StoreError, match="mine is no folder of finished fits: it holds"):
            execute([[RUN]], Work(), score, RunStore(tmp_path / "mine", fresh=fresh))
        with pytest.raises(StoreError, match="no folder of finished fits"):
            RunStore(tmp_path / "mine").clear()
    assert [p for p in (tmp_path / "mine").rglob("*") if p.is_file()] == [file]
    with pytest.raises(StoreError, match="it is not a folder; name a new or an empty one"):
        RunStore(file).check()


def test_fresh_removes_runs_and_nothing_else(tmp_path):
    folder, outside = tmp_path / "store", tmp_path / "outside"
    store = RunStore(folder)
    execute(runs("good"), Work(), score, store)
    stranger = folder / "notes.txt"  # put there since
    stranger.write_text("mine")
    outside.mkdir()
    (outside / "fold0-seed0.json").write_text("mine")
    (folder / "toy" / "cv2" / "link").symlink_to(outside)
    other = Run("other", "cv2", 0, "good")
    execute([[other]], Work(), score, store)
    work = Work()
    execute(runs("good")[:1], work, score, RunStore(folder, fresh=True))
    assert len(work.fits) == 1
    assert RunStore(folder).state(other) == "ok"  # another table's
    RunStore(folder).clear("other")
    assert len(list(RunStore(folder).rows())) == 1  # of two before
    assert stranger.read_text() == (outside / "fold0-seed0.json").read_text() == "mine"
    RunStore(folder).clear()
    assert sorted(path.name for path in folder.iterdir()) == [".stakes-store", "notes.txt", "toy"]


def test_a_store_of_an_earlier_version_is_said_and_made_again(tmp_path):
    old = tmp_path / "toy" / "cv2" / "mec"
    old.mkdir(parents=True)
    (old / "fold0-seed7.json").write_text('{"status": "ok", "cost": 99}')
    np.savez(old / "fold0-seed7.npz", decisions=[1])
    with pytest.warns(StoreWarning) as said:
        (row,) = execute([[RUN]], Work(), score, RunStore(tmp_path))
    assert row["cost"] == 0.0
    assert "was made by an earlier version: its fits are made again" in str(said[0].message)
    execute([[RUN]], Work(), score, RunStore(tmp_path))  # and not said twice
    RunStore(tmp_path).clear()
    assert os.listdir(tmp_path) == [".stakes-store"]


def test_versions_that_can_change_a_result_are_in_the_key():
    assert {"stakes", "scikit-learn", "numpy", "lightgbm"} <= versions().keys()
    with open(Path(__file__).parents[2] / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    # These cannot change a figure of a comparison.
    harmless = {
        "typer",
        "rich",
        "pyarrow",
        "openpyxl",
        "narwhals",
        "matplotlib",
        "jinja2",
        "skops",
        "onnx",
        "onnxruntime",
        "dask",
        "distributed",
        "fastapi",
        "uvicorn",
    }
    extras = project["optional-dependencies"]
    needed = {
        re.match(r"[\w-]+", requirement)[0]
        for part in [project["dependencies"], *(v for k, v in extras.items() if k not in NOT_RUN)]
        for requirement in part
    }
    assert needed - harmless - set(LIBRARIES) == set()


NOT_RUN = ("all", "test", "docs", "dev")  # extras that name no library of their own, or tools


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
    found = json.loads(file.read_text())
    assert len(found.pop("checksum")) == 8
    assert found == store.load_row(RUN) == {
        "task": "toy", "protocol": "cv2", "fold": 0, "method": "mec", "seed": 7,
        "status": "ok", "cost": 0.1, "sizes": [1, 2],
    }  # fmt: skip


ORPHANS = """
import os, sys, time
import numpy as np
from stakes.compare.runner import Predictions, Run, RunStore, execute

def work(unit):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep(60)
    yield unit[0], Predictions({})

if __name__ == "__main__":
    units = [[Run("toy", "p", fold, "m")] for fold in (0, 1)]
    execute(units, work, dict, RunStore(sys.argv[1] + "/store"), n_jobs=2)
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ORPHANS)
    pids = tmp_path / "pids"
    pids.mkdir()
    parent = subprocess.Popen([sys.executable, script, pids], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while len(workers := [int(p.name) for p in pids.glob("[0-9]*")]) < 2:
        assert time.monotonic() < end
        assert parent.poll() is None
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < end
        time.sleep(0.1)
