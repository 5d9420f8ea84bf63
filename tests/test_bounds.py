"""Kernels with every index checked: none leaves its arrays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# What runs every kernel on small data.
CHECKED = (
    "tree/test_tree.py", "tree/test_grow.py", "tree/test_votes.py", "tree/test_binning.py",
    "tree/test_forest.py", "decision/test_partition.py", "decision/test_sweep.py",
    "decision/test_batches.py", "boosting/test_loop.py",
)  # fmt: skip


@pytest.mark.slow
def test_kernels_stay_within_their_arrays(tmp_path):
    # Code that checks is other code: it has a cache of its own, and is compiled here.
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    paths = [str(TESTS / path) for path in CHECKED]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *paths]
    found = subprocess.run(command, env=env, capture_output=True, text=True, cwd=TESTS.parent)
    assert found.returncode == 0, found.stdout[-3000:]
    assert " passed" in found.stdout


def test_an_index_that_is_checked_is_caught(tmp_path):
    """The check itself: a kernel that reads past its end is stopped."""
    code = (
        "import numpy as np\n"
        "from stakes.utils._jit import cached_jit\n"
        "def read(x, i):\n"
        "    return x[i]\n"
        "read = cached_jit(error_model='numpy')(read)\n"
        "try:\n"
        "    read(np.zeros(3), 5)\n"
        "except IndexError:\n"
        "    print('caught')\n"
    )
    (tmp_path / "reads.py").write_text(code)
    path = os.pathsep.join(sys.path)
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = subprocess.run(
        [sys.executable, str(tmp_path / "reads.py")],
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert found.stdout == "caught\n", found.stderr
