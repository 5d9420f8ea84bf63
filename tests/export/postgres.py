"""A server of PostgreSQL for the tests, in a folder of its own, or the reason why there is none."""

import contextlib
import csv
import io
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

SERVER, CLIENT = shutil.which("postgres"), shutil.which("psql")


def missing() -> str:
    """Return why there is no server to ask, or an empty string."""
    if SERVER is None or CLIENT is None:
        return "no PostgreSQL (Debian: apt-get install postgresql)"
    if os.getuid() == 0 and (shutil.which("runuser") is None or not _has_user()):
        return "PostgreSQL does not run as root, and there is no user postgres"
    return ""


def _has_user() -> bool:
    return any(entry.pw_name == "postgres" for entry in pwd.getpwall())


@contextlib.contextmanager
def server():
    """Start a server without network; yield a function that returns the rows of a query, as text."""
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    bin_ = Path(SERVER).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="stakes-postgres-", dir="/tmp"))  # a short path
    if as_user:
        shutil.chown(folder, "postgres")
    how = {"check": True, "capture_output": True, "text": True, "cwd": "/"}
    data = str(folder / "data")

    def ctl(*given):
        subprocess.run([*as_user, str(bin_ / "pg_ctl"), "-D", data, "-w", *given], **how)

    def ask(query):
        script = folder.with_suffix(".sql")
        script.write_text(query)
        command = ["psql", "-h", str(folder), "-U", "postgres", "-d", "postgres", "-X", "--csv"]
        done = subprocess.run([*command, "-t", "-v", "ON_ERROR_STOP=1", "-f", str(script)], **how)
        script.unlink()
        return list(csv.reader(io.StringIO(done.stdout)))

    init = [str(bin_ / "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"]
    try:
        subprocess.run([*as_user, *init, "-E", "UTF8", "--locale=C"], **how)
        ctl("-o", f"-k {folder} -c listen_addresses='' -F", "-l", str(folder / "log"), "start")
        yield ask
        ctl("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
