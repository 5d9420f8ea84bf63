"""Damaged files: refused in one sentence, or read; never a crash."""

import os
import resource
import signal

import numpy as np
import pytest
from tests.tables.formats import mixed, write_all

from stakes.tables import TableError, read_table


def damaged(whole, rng):
    """Return content with a few bytes changed, flipped, lost or put in."""
    content = bytearray(whole)
    how = rng.integers(4)
    for _ in range(rng.integers(1, 6)):
        i = int(rng.integers(len(content)))
        some = rng.integers(0, 256, int(rng.integers(1, 20)), dtype=np.uint8).tobytes()
        if how == 0:
            content[i] = some[0]
        elif how == 1:
            content[i] ^= 1 << int(rng.integers(8))
        elif how == 2:
            del content[i : i + int(rng.integers(1, 40))]
            content = content or bytearray(b"x")
        else:
            content[i:i] = some
    return bytes(content)


def test_damaged_files_are_refused_or_read(tmp_path):
    rng, refused = np.random.default_rng(0), []
    for path in write_all(mixed(20), tmp_path):
        whole = path.read_bytes()
        for _ in range(6):
            path.write_bytes(damaged(whole, rng))
            try:
                read_table(path, target="risk")
            except (TableError, MemoryError) as error:
                refused.append(str(error))
    assert len(refused) > 24
    assert all(len(said.splitlines()) == 1 for said in refused)


@pytest.mark.slow
def test_no_damaged_file_ends_the_process(tmp_path):
    rng, ends = np.random.default_rng(1), []
    for path in write_all(mixed(), tmp_path):
        whole = path.read_bytes()
        for _ in range(150):
            path.write_bytes(damaged(whole, rng))
            child = os.fork()
            if child == 0:
                resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
                signal.alarm(60)
                try:
                    read_table(path, target="risk")
                    os._exit(0)
                except (TableError, MemoryError):
                    os._exit(1)
                except BaseException:
                    os._exit(2)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert set(ends) <= {0, 1}
    assert ends.count(1) > len(ends) / 2
