"""A full or a read-only disk: one sentence, what was there is whole, and later it goes on."""

import os
import shutil
import subprocess

import pytest
from tests.chaos.harness import COMMANDS, INPUTS, figures

SLOW = pytest.mark.slow
SLOWER = [pytest.param(name, marks=SLOW) for name in COMMANDS if name != "predict"]
# How large a file may be; the larger one lets the finished fits pass, and stops the page.
SMALL = [("compare", 4000), *((name, 300) for name in COMMANDS)]


@pytest.fixture
def disk(tmp_path):
    """A disk of 4 MB of its own, where that is allowed."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def prepare(name, quiet, folder):
    """Put the inputs of a command into a folder, and an output of an earlier one."""
    done, _ = quiet[name]
    folder.mkdir(exist_ok=True)
    for file in INPUTS[name]:
        shutil.copy(done / file, folder)
    old = {"compare": "page.csv", "predict": "decided.csv"}.get(name)
    if old:
        shutil.copy(done / old, folder)
    return done, contents(folder)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))


def contents(folder):
    files = (f for f in folder.rglob("*") if f.is_file() and ".stakes" not in f.parts)
    return {str(f.relative_to(folder)): f.read_bytes() for f in files}


def check_refused(found, *said):
    assert found["code"] == 2, found["err"]
    error = found["err"].splitlines()[-1]
    assert error.startswith("Error: ")
    assert "cannot be written" in error
    assert error.endswith(tuple(f"{text}." for text in said)), error


@pytest.mark.parametrize(
    ("name", "limit"), SMALL[:1] + [pytest.param(*s, marks=SLOW) for s in SMALL[1:]]
)
def test_a_file_that_may_not_grow(server, quiet, tmp_path, name, limit):
    folder = tmp_path / "here"
    done, before = prepare(name, quiet, folder)
    check_refused(server.run(COMMANDS[name], folder, limit=limit), "File too large")
    assert contents(folder) == before
    assert not list(folder.rglob("*.part"))
    assert server.run(COMMANDS[name], folder)["code"] == 0
    assert figures(name, folder) == figures(name, done)


@pytest.mark.parametrize("name", ["predict", *SLOWER])
def test_a_full_disk(server, quiet, disk, name):
    folder = disk / "here"
    done, before = prepare(name, quiet, folder)
    with pytest.raises(OSError, match="No space left"):
        fill(disk / "filler")
    check_refused(server.run(COMMANDS[name], folder), "No space left on device")
    assert contents(folder) == before
    assert not list(folder.rglob("*.part"))
    (disk / "filler").unlink()
    assert server.run(COMMANDS[name], folder)["code"] == 0
    assert figures(name, folder) == figures(name, done)


@pytest.mark.parametrize("name", ["predict", *SLOWER])
def test_a_read_only_disk(server, quiet, disk, name):
    folder = disk / "here"
    _, before = prepare(name, quiet, folder)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    check_refused(server.run(COMMANDS[name], folder), "Read-only file system")
    assert contents(folder) == before
    assert set(os.listdir(folder)) == {*before}
