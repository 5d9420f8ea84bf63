"""Writing files: whole, or not at all."""

import os
import tempfile
from pathlib import Path


class StoreError(OSError):
    """A file cannot be written or read: a full disk, a folder without permission."""


def write_atomically(path: str | os.PathLike, content: bytes | str) -> None:
    """Write a file beside its place, then rename it: whole or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.utils._files import write_atomically
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> write_atomically(path, "whole")
    >>> path.read_text()
    'whole'
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
