"""Writing files: whole, or not at all."""

import ctypes
import itertools
import os
import platform
import re
import shutil
import stat
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class StoreError(OSError):
    """A file cannot be written or read: a full disk, a folder without permission."""


class StoreWarning(UserWarning):
    """Something that was kept is no longer as it was, and is made again."""


def _place() -> str:
    """Return what tells where numbers of processes mean the same: a machine, or a container of it."""
    with suppress(OSError):
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    return platform.node()


# A file that is being written: of which machine, of which process.
_HERE = f"{zlib.crc32(_place().encode()):08x}"
_PART = re.compile(r"\.stakes-([0-9a-f]{8})-(\d+)-\d+\.part")
_ONE_DAY = 24 * 3600
_count = itertools.count()
_held = threading.local()  # the folders that a thread has locked
_tidy: set[str] = set()  # folders that this process has looked through for old parts


def write_atomically(path: str | os.PathLike, content: bytes | str, *, sync: bool = True) -> None:
    """Write a file beside its place, then rename it: whole or not at all.

    A file that was there keeps its permissions, a link stays a link, and what an earlier
    process could not finish in this folder is removed. Folders are made where they are missing.
    Without `sync` the system writes it to the disk in its own time: whoever kills the process loses
    nothing, a power failure may leave the file empty.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.utils._files import write_atomically
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> write_atomically(path, "whole")
    >>> path.read_text()
    'whole'
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        target = os.path.realpath(path) if os.path.islink(path) else os.fspath(path)
        old = _stat(target)
        if old is not None and not stat.S_ISREG(old.st_mode):  # a pipe, a device; not a folder
            with open(target, "wb") as file:
                file.write(data)
        elif old is not None and not os.access(target, os.W_OK):
            raise PermissionError(13, "it is read-only")
        else:
            _replace(target, data, old, sync)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error


def _replace(target: str, data: bytes, old: os.stat_result | None, sync: bool) -> None:
    folder = os.path.dirname(target) or "."
    _remove_old_parts(folder)  # first: who is killed after writing would leave them for good
    part = _part_in(folder)
    # The system takes the umask off; a file that was there is never more open than it was.
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(part, flags, mode)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        handle = os.open(part, flags, mode)
    try:
        with open(handle, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            if sync:
                os.fsync(handle)
            if old is not None:
                _keep(handle, part, old)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _part_in(folder: str) -> str:
    return os.path.join(folder, f".stakes-{_HERE}-{os.getpid()}-{next(_count)}.part")


@contextmanager
def locked(folder: str | os.PathLike) -> Iterator[None]:
    """Keep other processes that ask the same out of a folder, until the end.

    Nothing is left behind, and a process that dies gives it free. Where the system has no such
    locks, nobody is kept out.
    """
    place = os.path.realpath(folder)
    mine = _held.__dict__.setdefault("places", set())
    if fcntl is None or place in mine:  # this thread keeps the others out already
        yield
        return
    try:
        os.makedirs(place, exist_ok=True)
        handle = os.open(place, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        mine.add(place)
        yield
    finally:
        mine.discard(place)
        os.close(handle)


@contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Give a folder beside its place, which is renamed at the end: whole or not at all.

    A folder that was there is replaced at that moment, and not before.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.utils._files import new_folder
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "decisions"
    >>> with new_folder(place) as folder:
    ...     _ = (folder / "part").write_text("whole")
    ...     place.exists()
    False
    >>> (place / "part").read_text()
    'whole'
    """
    target = os.path.realpath(path)
    parent = os.path.dirname(target)
    part, old = _part_in(parent), _part_in(parent)
    try:
        os.makedirs(parent, exist_ok=True)
        _remove_old_parts(parent)
        os.mkdir(part)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error
    try:
        yield Path(part)
        if os.path.isdir(target) and _exchanged(part, target):
            return
        if os.path.isdir(target):
            os.rename(target, old)
        try:
            os.rename(part, target)
        except OSError as error:
            if os.path.isdir(old):
                os.rename(old, target)
            raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)


def _exchanged(one: str, other: str) -> bool:
    """Let two folders change places in one step, so that no moment has neither; say if that went."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        return libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0
    except AttributeError:  # an older libc
        return False


def _keep(handle: int, part: str, old: os.stat_result) -> None:
    """Give a file the owner and the permissions of the one that it replaces."""
    if hasattr(os, "fchown"):
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
            with suppress(OSError):  # another's file in a common folder becomes ours
                os.fchown(handle, old.st_uid, old.st_gid)
    os.chmod(part, stat.S_IMODE(old.st_mode))


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _remove_old_parts(folder: str) -> None:
    """Remove what processes that are gone began to write here; looked for once in a process."""
    place = os.path.abspath(folder)
    if place in _tidy:
        return
    _tidy.add(place)
    with suppress(OSError):  # another process was quicker, or may remove it and we may not
        for entry in os.scandir(folder):
            part = _PART.fullmatch(entry.name)
            if part and _is_left_over(entry, machine=part[1], process=int(part[2])):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)


def is_part(name: str) -> bool:
    """Return whether a file of this name is one that is being written, or was when we were killed.

    Examples
    --------
    >>> from stakes.utils._files import is_part
    >>> is_part(".stakes-0bbfd16a-17958-44.part"), is_part("film.part")
    (True, False)
    """
    return _PART.fullmatch(name) is not None


def _is_left_over(entry: os.DirEntry, machine: str, process: int) -> bool:
    if machine == _HERE and os.name == "posix":
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
    return time.time() - entry.stat().st_mtime > _ONE_DAY
