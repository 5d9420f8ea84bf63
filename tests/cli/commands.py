"""Running commands in this process, and a small table to run them on."""

import numpy as np
import pandas as pd

from stakes.cli import main

GOOD = ["--target", "risk", "--fp", "1", "--fn", "5", "--positive", "good"]
FAST = ["--methods", "mec", "--fast", "--folds", "3"]


def table(n=120, classes=("bad", "good", "ugly")[:2]):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % len(classes)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "job": rng.choice(["cook", "smith", None], n),
            "score": rng.normal(size=n) + codes,
            "amount": np.round(rng.uniform(5, 50, n), 2),
            "risk": np.array(classes)[codes],
        }
    )


def run(capsys, *arguments, code=0):
    found = main(list(map(str, arguments)))
    captured = capsys.readouterr()
    assert found == code, captured.err
    return captured.out, captured.err


def refused(capsys, *arguments):
    """Return the one sentence with which a command is refused."""
    out, err = run(capsys, *arguments, code=2)
    lines = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in out + err
    assert lines[0].endswith((".", "?"))
    return lines[0]
