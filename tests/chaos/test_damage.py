"""A store that was damaged is said to be, and gives the same figures when it is used again."""

import random
import shutil
import warnings

import numpy as np
import pytest
from tests.chaos.harness import SEED
from tests.figures import record

from stakes.compare import RunStore, compare
from stakes.compare.runner import MARK
from stakes.utils._files import StoreWarning

C = [[0.0, 1.0], [5.0, 0.0]]


class Guess:
    """A classifier that costs nothing to fit."""

    def __init__(self, label=0):
        self.label = label

    def get_params(self, deep=True):
        return {"label": self.label}

    def set_params(self, **params):
        self.__dict__.update(params)
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.label])

    def __sklearn_clone__(self):
        return Guess(self.label)


def compared(folder):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    methods = {"no": Guess(0), "yes": Guess(1)}
    found = compare(X, y, cost_matrix=C, methods=methods, cv=2, fast=True, store=folder)
    return {name: (r.decisions.tolist(), r.fold_costs) for name, r in found.results.items()}


def rows(folder):
    keep = ("task", "protocol", "fold", "method", "seed", "status", "cost", "error", "n_test")
    return [[row[k] for k in keep] for row in RunStore(folder).rows()]


def flip(rng, file, others):
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def cut(rng, file, others):
    data = file.read_bytes()
    file.write_bytes(data[: rng.randrange(len(data))])


def add(rng, file, others):
    file.write_bytes(file.read_bytes() + rng.choice([b"\n", b"}", b"\0", b"00000000", b" "]))


def overwrite(rng, file, others):
    texts = [
        b"",
        b"5",
        b"null",
        b"[1]",
        b'"x"',
        b"{}",
        b'{"status": "ok"}',
        b"\xff\xfe",
        b"PK\x03\x04",
    ]
    file.write_bytes(rng.choice([*texts, rng.randbytes(rng.randint(1, 400))]))


def swap(rng, file, others):
    other = rng.choice([o for o in others if o.suffix == file.suffix])
    data = file.read_bytes()
    file.write_bytes(other.read_bytes())
    other.write_bytes(data)


def copy_over(rng, file, others):
    other = rng.choice(others)
    file.write_bytes(other.read_bytes())


def delete(rng, file, others):
    file.unlink()


def delete_folder(rng, file, others):
    shutil.rmtree(file.parent)


def blank(rng, file, others):
    data = bytearray(file.read_bytes())
    at = rng.randrange(len(data))
    size = rng.randint(1, 64)
    data[at : at + size] = bytes(len(data[at : at + size]))
    file.write_bytes(data)


DAMAGES = (flip, flip, flip, cut, add, overwrite, swap, copy_over, blank, delete, delete_folder)
UNSAID = (delete, delete_folder)


PARTS = [(SEED, 25), *(pytest.param(SEED + i, 250, marks=pytest.mark.slow) for i in range(4))]


@pytest.mark.parametrize(("seed", "n_stores"), PARTS)
def test_damaged_stores_heal(tmp_path, seed, n_stores):
    whole, folder = tmp_path / "whole", tmp_path / "store"
    expected = compared(whole)
    expected_rows = rows(whole)
    assert len(expected_rows) == 8
    rng, n_said = random.Random(seed), 0
    for number in range(n_stores):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        done = set()
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            files = sorted(f for f in folder.rglob("fold*") if f.stat().st_size)
            damage = rng.choice(DAMAGES)
            damage(rng, rng.choice(files), files)
            done.add(damage)
        if rng.random() < 0.1:
            (folder / MARK).unlink()
        changed = {f for f in folder.rglob("fold*") if f.read_bytes() != twin(f, folder, whole)}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert compared(folder) == expected, (number, done)
        assert len(said) == bool(changed), (number, done)
        assert all(w.category is StoreWarning for w in said)
        assert rows(folder) == expected_rows, (number, done)
        assert compared(folder) == expected  # and nothing is left to say
        n_said += bool(changed)
    if n_stores > 100:
        record(f"stores-{seed - SEED}", stores=n_stores, damage_said=n_said)


def twin(file, folder, whole):
    return (whole / file.relative_to(folder)).read_bytes()
