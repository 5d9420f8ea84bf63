"""Kernels where no cache can be written, or where it is damaged."""

import importlib
import os
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import stakes
from stakes.cli._main import _show_warning
from stakes.utils import _jit
from stakes.utils._notices import NotKeptWarning, quiet

SOURCE = Path(stakes.__file__).parent
FIT = """
import warnings
import numpy as np
{imports}
proba = np.array([[0.6, 0.1, 0.3]] * 4 + [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1]] * 2)
y = np.array([0, 0, 2, 2, 0, 0, 1, 1])
C = [[0, 1, 1], [1, 0, 1], [2, 2, 0]]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    decided = {fit}
print(decided.tolist(), [str(w.message) for w in caught if "NUMBA_CACHE_DIR" in str(w.message)])
"""
LINES = {
    # The bins of 1 - p: 0.2, 0.4 and 0.9 are the values of the first column.
    "bins": (
        "from stakes.tree._binning import Bins",
        "Bins.fit(1 - proba[:, :1]).transform(1 - proba[:, :1]).codes[0]",
    ),
    "partition": (
        "from stakes.decision import ParallelPartition",
        "ParallelPartition(cost_matrix=C).fit(proba, y).predict(proba)",
    ),
    "tree": (
        "from stakes.tree import CostTreeClassifier",
        "CostTreeClassifier(C, min_samples_leaf=1).fit(proba, y).predict(proba)",
    ),
    "boosting": (
        "from stakes.boosting import CoMBoClassifier",
        "CoMBoClassifier(cost_matrix=C, n_estimators=3).fit(proba, y).predict(proba)",
    ),
    # Its members need more than 60 rows.
    "default": (
        "from stakes import StakesClassifier",
        "StakesClassifier(cost_matrix=C, random_state=0)"
        ".fit(np.tile(proba, (10, 1)), np.tile(y, 10)).predict(proba)",
    ),
}


@pytest.fixture
def read_only_install(tmp_path):
    """Return the environment of a process that can write no cache, neither here nor at home.

    Files stand where the folders would be made: that stops a superuser, too.
    """
    shutil.copytree(SOURCE, tmp_path / "stakes", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "stakes", *(p.parent for p in tmp_path.rglob("__init__.py"))]:
        (folder / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    left = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    return {
        **left,
        "HOME": str(home),
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.mark.parametrize(
    "what", [pytest.param(w, marks=[] if w == "bins" else pytest.mark.slow) for w in LINES]
)
def test_kernels_run_where_no_cache_can_be_written(what, read_only_install):
    imports, fit = LINES[what]
    code = FIT.format(imports=imports, fit=fit)
    found = subprocess.run(
        [sys.executable, "-c", code], env=read_only_install, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    # By hand: at probability 0.3 of the third class half are of it, and missing one costs 2.
    expected = [1, 1, 1, 1, 0, 0, 2, 2] if what == "bins" else [2, 2, 2, 2, 0, 0, 1, 1]
    assert found.stdout.startswith(str(expected))
    # The default needs nothing compiled for such rows.
    assert found.stdout.count("Compiled code cannot be kept") == (what != "default")
    assert found.stdout.count("NUMBA_CACHE_DIR") == (what != "default")


def test_a_cache_that_fills_up_or_is_damaged_is_one_that_is_empty(monkeypatch):
    made = _jit.cached_jit()(lambda x: x + 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    def damaged(*_):
        raise EOFError("Ran out of input")

    kept = made._cache
    kept._save_overload, kept._load_overload = full, damaged
    _jit._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR to a folder") as caught:
        assert made(np.int64(1)) == 2
    assert len(caught) == 1


def test_code_found_under_the_types_of_another_version_is_not_run():
    # two processes that compile two versions at once can give both one number
    made = _jit.cached_jit()(_plus_one)
    assert made(np.int64(1)) == 2
    (ours,) = made.overloads.values()
    other = _jit.cached_jit()(_plus_one)
    other._cache._load_overload = lambda *_: ours
    assert other(np.float64(1.5)) == 2.5


def _plus_one(x):
    return x + 1


def test_no_two_kernels_are_kept_under_one_name():
    # Numba finds the code that it kept by a name of function and types: of two functions of one
    # name, kept by two processes, a third runs one in place of the other.
    names = Counter()
    for path in SOURCE.rglob("*_kernels.py"):
        module = importlib.import_module(
            ".".join(["stakes", *path.relative_to(SOURCE).with_suffix("").parts])
        )
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.__name__:
                names[module.__name__, kernel.py_func.__qualname__] += 1
    assert len(names) > 30
    assert [name for name, times in names.items() if times > 1] == []


def test_what_is_said_once_is_not_lost_where_members_are_quiet(capsys):
    def fit_members():
        with quiet():
            warnings.warn("a member did not converge", stacklevel=1)
            _jit._warn_once()

    _jit._warn_once.cache_clear()
    with pytest.warns(NotKeptWarning, match="Compiled code cannot be kept") as caught:
        fit_members()
    assert len(caught) == 1
    _show_warning(set(), NotKeptWarning("ST604: Compiled code cannot be kept."), NotKeptWarning)
    assert capsys.readouterr().err == "Note ST604: Compiled code cannot be kept.\n"
