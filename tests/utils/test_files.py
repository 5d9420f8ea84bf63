import ast
import multiprocessing
import os
import stat
import threading
import time
from pathlib import Path

import pytest

import stakes
from stakes.utils import _files
from stakes.utils._files import StoreError, new_folder, write_atomically

FORK = multiprocessing.get_context("fork")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    """Set the umask for a test."""
    old = os.umask(0o022)
    yield os.umask
    os.umask(old)


def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_keeps_its_own(tmp_path, umask):
    umask(0o027)
    write_atomically(tmp_path / "new", "x")
    assert mode(tmp_path / "new") == 0o640
    os.chmod(tmp_path / "new", 0o600)
    umask(0o022)
    write_atomically(tmp_path / "new", "y")
    assert mode(tmp_path / "new") == 0o600
    os.chmod(tmp_path / "new", 0o664)
    write_atomically(tmp_path / "new", "z")
    assert mode(tmp_path / "new") == 0o664


def test_the_umask_of_the_process_is_never_touched(tmp_path, umask, monkeypatch):
    # Another thread that writes at that moment would make a file that everybody may write.
    umask(0o077)
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            for entry in os.scandir(tmp_path):
                try:
                    seen.add(stat.S_IMODE(entry.stat().st_mode))
                except FileNotFoundError:
                    continue

    threads = [threading.Thread(target=look)]
    threads += [
        threading.Thread(
            target=lambda i=i: [write_atomically(tmp_path / f"{i}-{n}", "x") for n in range(40)]
        )
        for i in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join()
    stop.set()
    threads[0].join()
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    assert seen <= {0o600}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, "through")
    reader.join(timeout=10)
    assert found == [b"through"]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be written: Is a directory"):
        write_atomically(tmp_path, "x")


def unfinished(folder, pid):
    path = folder / f".stakes-{_files._HERE}-{pid}-7.part"
    path.write_text("half")
    return path


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    gone = FORK.Process(target=int)
    gone.start()
    gone.join()
    dead, alive = unfinished(tmp_path, gone.pid), unfinished(tmp_path, os.getppid())
    elsewhere = tmp_path / ".stakes-00000000-1-7.part"  # of another machine, being written
    other = tmp_path / ".film.part"
    for path in (elsewhere, other):
        path.write_text("half")
    long_ago = tmp_path / ".stakes-00000000-2-7.part"
    long_ago.write_text("half")
    os.utime(long_ago, (time.time() - 2e5,) * 2)
    write_atomically(tmp_path / "page", "whole")
    assert set(tmp_path.iterdir()) == {tmp_path / "page", alive, elsewhere, other}
    assert not dead.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become nobody")
def test_a_file_that_may_not_be_written_is_left_alone(tmp_path):
    def try_it(result):
        os.setuid(65534)
        try:
            write_atomically(tmp_path / "locked", "new")
        except StoreError as error:
            result.put(str(error))

    (tmp_path / "locked").write_text("old")
    os.chmod(tmp_path / "locked", 0o444)
    os.chmod(tmp_path, 0o777)
    for folder in tmp_path.parents:  # up to the first that anybody may enter
        if mode(folder) & 0o001:
            break
        os.chmod(folder, mode(folder) | 0o011)
    result = FORK.SimpleQueue()
    child = FORK.Process(target=try_it, args=(result,))
    child.start()
    child.join()
    assert result.get().endswith("locked cannot be written: it is read-only.")
    assert (tmp_path / "locked").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


# -- one function writes every file ----------------------------------------------------------------

WRITERS = {"write_text", "write_bytes", "to_parquet", "to_feather", "to_excel", "to_pickle",
           "savefig", "savez", "savez_compressed", "dump", "copyfile", "symlink_to"}  # fmt: skip
# What writes to memory, to a pipe, or into a folder of its own that is removed when the call ends.
ELSEWHERE = {
    ("cluster/_tracker.py", "fdopen"),
    ("compare/_clock.py", "write_text"),
    ("export/_c.py", "write_text"),
    ("reproduce/_figures.py", "savefig"),
    ("tables/_sources.py", "open"),
    ("tables/_write.py", "to_excel"),
}


def writes(call):
    """Return the name of a function that this call writes a file with, or None."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in WRITERS:
        return name
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    is_mode = any(set(m) <= set("rwaxbt+") and set(m) & set("wax+") for m in modes if m)
    return name if name in ("open", "fdopen") and is_mode else None


def test_nothing_else_writes_files():
    """What is written by hand can be half-written, or lie over what was read."""
    root = Path(stakes.__file__).parent
    found = set()
    for file in root.rglob("*.py"):
        calls = [n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)]
        found |= {(str(file.relative_to(root)), writes(call)) for call in calls if writes(call)}
    found.discard(("utils/_files.py", "open"))
    assert found == ELSEWHERE, "use stakes.utils._files.write_atomically"


@pytest.mark.parametrize(
    "code", ["open(p, 'w')", "p.open(mode='ab')", "p.write_text('x')", "np.savez(p, x)"]
)
def test_a_call_that_writes_is_seen(code):
    assert writes(ast.parse(code).body[0].value)
    assert not writes(ast.parse("open(p, 'rb')").body[0].value)


def test_a_folder_is_exchanged_in_one_step(tmp_path, monkeypatch):
    place = tmp_path / "decisions"
    place.mkdir()
    (place / "part").write_text("old")
    renamed = []
    monkeypatch.setattr("os.rename", lambda *names: renamed.append(names))
    with new_folder(place) as folder:
        (folder / "part").write_text("new")
    assert (place / "part").read_text() == "new"
    assert not renamed  # there was no moment without the folder
    assert [path.name for path in tmp_path.iterdir()] == ["decisions"]


def test_a_part_of_other_columns_is_no_decision(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from stakes.cli._dask import check_folder
    from stakes.cli._errors import UserError

    pd.DataFrame({"mine": [1]}).to_parquet(tmp_path / "part.000000.parquet")
    with pytest.raises(UserError, match="which stakes predict has not written"):
        check_folder(tmp_path, [])
    pd.DataFrame({"row": [1], "decision": ["a"]}).to_parquet(tmp_path / "part.000000.parquet")
    check_folder(tmp_path, [])
