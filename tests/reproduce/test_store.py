"""Stored figures are served for the data and the versions they were made with, and no others."""

import numpy as np
import pytest

from stakes.compare.runner import Predictions, RunStore
from stakes.reproduce import _experiment
from stakes.reproduce._common import stratified_fold
from stakes.reproduce._experiment import Experiment, Method
from stakes.reproduce._table import collect


def majority(split):
    return Predictions({"decisions": np.zeros(len(split.y_test), dtype=int)})


def toy(y):
    X = np.arange(20.0).reshape(20, 1)
    return Experiment(
        paper="toy", title="", tasks={"a": lambda: (X, y)}, methods={"m": Method(majority)},
        split=stratified_fold(2), runs=1, folds=2,
        metrics={"right": lambda s, p: float(np.mean(p.arrays["decisions"] == s.y_test))},
    )  # fmt: skip


def figure(experiment, rows):
    return collect(experiment, rows).get(("a", "m", "right"))


@pytest.fixture
def store(tmp_path):
    _experiment._last_split.clear()
    return RunStore(tmp_path / "store")


def test_other_labels_are_not_served_the_old_figure(store):
    one, other = toy(np.repeat([0, 1], [10, 10])), toy(np.repeat([0, 1], [16, 4]))
    assert figure(one, one.run(store))[0] == 0.5
    # A file with other labels: nothing of it is stored yet.
    assert figure(other, store.rows("toy/a")) is None
    _experiment._last_split.clear()
    assert figure(other, other.run(store))[0] == 0.8
    assert figure(one, store.rows("toy/a"))[0] == 0.5


def test_other_versions_are_not_served_the_old_figure(store, monkeypatch):
    experiment = toy(np.repeat([0, 1], [10, 10]))
    experiment.run(store)
    said = []
    experiment.run(store, progress=lambda done, total, row: said.append(row.get("stored")))
    assert said == [True, True]
    monkeypatch.setattr(_experiment, "versions_key", lambda: "newer")
    assert figure(experiment, store.rows("toy/a")) is None
    experiment.run(store, progress=lambda done, total, row: said.append(row.get("stored")))
    assert said[2:] == [None, None]


def test_a_task_without_its_data_says_so_in_each_row(store):
    def missing():
        raise ValueError("put a.csv.gz in a folder.")

    experiment = toy(np.zeros(2))
    experiment.tasks["a"] = missing
    rows = experiment.run(store)
    assert {row["reason"] for row in rows} == {"put a.csv.gz in a folder."}
