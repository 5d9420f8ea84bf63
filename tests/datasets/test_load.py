import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from stakes.datasets import load_dataset
from stakes.datasets._catalogue import TARGET, catalogue

LARGE = {"kdd99", "kdd99_10pct", "connect4", "credit_gmsc"}
BUILT_IN = ["balance", "cheques", "digits", "iris", "wdbc", "wine"]


def folder_has(name):
    folder = os.environ.get("STAKES_DATA", "")
    return os.path.isfile(os.path.join(folder, f"{name}.csv.gz"))


def load_or_skip(name, **choice):
    entry = next(e for e in catalogue().values() if e.name == name or name in e.variants)
    if not entry.builtin and not folder_has(entry.name):
        pytest.skip(f"STAKES_DATA names no folder with {entry.name}.csv.gz")
    return load_dataset(name, **choice)


EVERY = [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in catalogue()]


@pytest.mark.parametrize("name", EVERY)
def test_every_data_set_is_what_the_catalogue_says(name):
    entry, data = catalogue()[name], load_or_skip(name)
    labelled = sum(entry.targets[TARGET].counts)
    assert data.X.shape == (labelled, len(entry.features))
    assert list(data.X.columns) == list(entry.features)
    for column in data.X.columns:
        kind = "category" if column in entry.categorical else "float64"
        assert data.X[column].dtype == kind, column
    labels, counts = np.unique(data.y, return_counts=True)
    assert_array_equal(labels, data.classes)
    assert dict(zip(map(str, labels), counts)) == entry.targets[TARGET].class_counts()
    assert entry.title in data.description
    assert entry.licence in data.description
