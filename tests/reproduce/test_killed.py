"""A run that is killed at any moment goes on where it stopped; nothing counts twice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stakes.compare import RunStore

SCRIPT = """
import sys, time
import numpy as np
from stakes.compare.runner import Predictions, RunStore
from stakes.reproduce._experiment import Experiment, Method
from stakes.reproduce._common import stratified_fold


def task():
    rng = np.random.RandomState(0)
    return rng.normal(size=(40, 2)), np.arange(40) % 2


def guess(split):
    time.sleep(0.02)
    rng = np.random.RandomState(split.seed)
    return Predictions({"decisions": rng.randint(2, size=len(split.y_test))}, {"fit": 0.02})


toy = Experiment(
    paper="toy", title="", tasks={"a": task, "b": task},
    methods={"m": Method(guess), "n": Method(guess)}, split=stratified_fold(5),
    metrics={"right": lambda s, p: float(np.mean(p.arrays["decisions"] == s.y_test))},
    runs=3, folds=5,
)
print("ready", flush=True)
toy.run(RunStore(sys.argv[1]))
"""


def rows_of(folder):
    keep = ("task", "fold", "method", "seed", "status", "right")
    return sorted(tuple(row[k] for k in keep) for row in RunStore(folder).rows())


def start(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().strip() == "ready"
    return process


@pytest.mark.parametrize(
    "n_kills", [4, pytest.param(30, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_kills_leave_exactly_the_rows_of_a_quiet_run(tmp_path, n_kills):
    quiet, noisy = tmp_path / "quiet", tmp_path / "noisy"
    assert start(quiet).wait() == 0
    expected = rows_of(quiet)
    assert len(expected) == 2 * 2 * 15
    rng = random.Random(0)
    kills = 0
    while kills < n_kills:
        process = start(noisy)
        time.sleep(rng.uniform(0, 0.15))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        process.stdout.close()
        if len(rows_of(noisy)) == len(expected):  # finished: begin again on an empty store
            for file in Path(noisy).rglob("fold*"):
                if rng.random() < 0.7:
                    file.unlink()
    assert start(noisy).wait() == 0
    assert rows_of(noisy) == expected
