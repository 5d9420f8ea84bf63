"""Print again, below each command of a page, what it prints: ``python tools/printed.py``.

A block of commands with a block marked ``text`` below it is run, in order and in one folder, where
the tables of ``stakes examples`` are. What differs from run to run (progress, seconds) is left
out or not compared. A test asks that the pages say what is printed.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/start.md")
SHOWN = re.compile(r"```\n(stakes [^`]*?)```\n\n```text\n(.*?)```\n", re.DOTALL)
BLOCK = "```\n{}```\n\n```text\n{}```\n"
PROGRESS = re.compile(r"(.*: done in .*|\d+ of \d+ fits.*|Going on from.*|Compiling .*)\n")


def printed(commands: str, folder: Path) -> str:
    """Run the commands of one block and return what they print, without progress."""
    said = ""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for line in commands.strip().splitlines():
        words = shlex.split(line, comments=True)
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=folder,
            env={**os.environ, **threads, "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{line}: {done.stdout}")
        said += (
            "\n".join(row.rstrip() for row in PROGRESS.sub("", done.stdout).splitlines()) + "\n"
        )
    return said


def reprinted(page: str, folder: Path) -> str:
    """Return a page with what its commands print now."""
    return SHOWN.sub(lambda m: BLOCK.format(m[1], printed(m[1], folder)), page)


def without_seconds(page: str) -> list[list[str]]:
    """Return the words of each line; those of tables with seconds without these."""
    lines, timed = [], False
    for line in page.splitlines():
        words = line.split()
        timed = words[-1:] == ["seconds"] or (timed and bool(words))
        lines.append(words[:-1] if timed else words)
    return lines


def main() -> None:
    """Print all pages again."""
    with tempfile.TemporaryDirectory() as folder:
        for name in PAGES:
            path = ROOT / name
            path.write_text(reprinted(path.read_text(encoding="utf-8"), Path(folder)))


if __name__ == "__main__":
    main()
