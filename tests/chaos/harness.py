"""Commands in processes of their own that may be killed: everything is imported once, then forked."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import zipfile
from pathlib import Path

import pandas as pd

SEED = 7
PRICES = ["--target", "risk", "--fp", "1", "--fn", "5", "--positive", "good"]
FIT = ["fit", "loans.csv", *PRICES, "--method", "constant", "-o", "model.skops"]
PREDICT = ["predict", "model.skops", "new.csv", "-o", "decided.csv"]
COMPARE = ["compare", "loans.csv", *PRICES, "--methods", "mec", "--fast",
           "--folds", "2", "--json", "--csv", "-o", "page.html"]  # fmt: skip
REPRODUCE = ["reproduce", "obrien2008", "--tasks", "iris/qda", "--methods", "plug_in",
             "--runs", "1", "--results", "res"]  # fmt: skip
COMMANDS = {"compare": COMPARE, "fit": FIT, "predict": PREDICT, "reproduce": REPRODUCE}


def write_inputs(folder: Path) -> None:
    """Write the tables that the commands read."""
    n = 60
    table = pd.DataFrame({"age": range(n), "job": ["cook", "smith", "cook"] * (n // 3)})
    table["risk"] = ["bad" if i % 3 else "good" for i in range(n)]
    table.to_csv(folder / "loans.csv", index=False)
    table.drop(columns="risk").to_csv(folder / "new.csv", index=False)


STORES = {"compare": ".stakes/runs", "reproduce": ".stakes/reproduce"}
INPUTS = {"compare": ["loans.csv"], "fit": ["loans.csv"], "predict": ["new.csv", "model.skops"],
          "reproduce": []}  # fmt: skip


def without_times(found):
    if isinstance(found, dict):
        return {k: without_times(v) for k, v in found.items() if "seconds" not in k}
    return [without_times(v) for v in found] if isinstance(found, list) else found


def figures(name, folder):
    """Return what a command has to say, without the times; None where that is not there."""
    if name == "compare":
        table = pd.read_csv(folder / "page.csv", index_col=0)
        found = json.loads((folder / "page.json").read_text())
        assert (folder / "page.html").read_text().rstrip().endswith("</html>")
        kept = [c for c in table.columns if "seconds" not in c]
        return table[kept].to_csv(), without_times(found)
    if name == "fit":
        with zipfile.ZipFile(folder / "model.skops") as archive:
            assert archive.testzip() is None
            # arrays are named after where they lay in memory
            return sorted(i.CRC for i in archive.infolist() if i.filename != "schema.json")
    return (folder / ("decided.csv" if name == "predict" else "res/obrien2008.csv")).read_text()


def rows(name, folder):
    """Return the rows of a command's store, without the times."""
    from stakes.compare import RunStore

    if name not in STORES:
        return []
    keep = ("task", "protocol", "fold", "method", "seed", "status", "cost", "error")
    return [[row.get(k) for k in keep] for row in RunStore(folder / STORES[name]).rows()]


class Server:
    """A process with everything imported, which runs each command in a fork of itself."""

    def __init__(self, folder: Path):
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert json.loads(self.process.stdout.readline()) == "ready"

    def run(self, arguments, folder, *, after=None, at=None, limit=None) -> dict:
        """Run a command; `code` is its exit code, or minus the signal that ended it.

        Parameters
        ----------
        arguments : list of str
            Those of the command.
        folder : path-like
            Where it runs.
        after : float, default=None
            Kill it after so many seconds.
        at : int, default=None
            Kill it at this call of the system for a file.
        limit : int, default=None
            The size in bytes that a file may have.
        """
        case = {"arguments": list(map(str, arguments)), "folder": str(folder)}
        case |= {"after": after, "at": at, "limit": limit}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


# -- in the server ---------------------------------------------------------------------------

TOO_LONG = 300.0  # seconds that no command may take
STEPS = ("open", "fsync", "replace", "chmod", "unlink")


def count_steps(at):
    """Count the calls that change files; end this process at one of them, before or after it."""
    count = [0]

    def counted(call):
        def step(*args, **params):
            count[0] += 1
            if at is not None and count[0] == at // 2 and at % 2 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            found = call(*args, **params)
            if at is not None and count[0] == at // 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return step

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    return count


def child(case, said):
    """Run one command in this process, a fork, and leave it."""
    code = 70
    try:
        from stakes.cli import main

        os.chdir(case["folder"])
        err = os.open(f"/proc/self/fd/{said[1]}", os.O_WRONLY)
        os.dup2(err, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if case["limit"]:
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, (case["limit"],) * 2)
        count = count_steps(case["at"])
        code = main(case["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(said[1], f"\nSTEPS {count[0]}".encode())
    except BaseException:
        os.write(said[1], traceback.format_exc().encode())
    finally:
        os._exit(code)


def serve(case):
    """Run one command in a fork, kill it where asked, and return what became of it."""
    said = os.pipe()
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.close(said[0])
        child(case, said)
    os.close(said[1])
    after = TOO_LONG if case["after"] is None else case["after"]
    timer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
    timer.start()
    err = b"".join(iter(lambda: os.read(said[0], 1 << 16), b""))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    seconds = time.perf_counter() - begun
    timer.cancel()
    timer.join()
    os.close(said[0])
    text, _, steps = err.decode().partition("\nSTEPS ")
    return {"code": code, "seconds": seconds, "err": text, "steps": int(steps or 0)}


def main_loop():
    """Warm up, then run what is asked, line by line."""
    folder, answer = Path(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from stakes.cli import main

    before = os.getcwd()
    os.chdir(folder)
    write_inputs(folder)
    for arguments in (COMPARE, FIT, PREDICT, REPRODUCE):
        assert main(arguments) == 0, arguments
    os.chdir(before)
    print(json.dumps("ready"), file=answer, flush=True)
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), file=answer, flush=True)


if __name__ == "__main__":
    main_loop()
