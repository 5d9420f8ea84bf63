"""The default beside AutoGluon with its neural networks, for as much processor time and ten times it.

One split each of the small sets that the recipe was not tuned on. AutoGluon wants an environment of
its own (``pip install "autogluon.tabular[all]"``), with this project on its PYTHONPATH:

    python benchmarks/default_autogluon.py ours --bank FOLDER       # here: probabilities and seconds
    python benchmarks/default_autogluon.py theirs --bank FOLDER     # there: as many seconds, and ten times
    python benchmarks/default_autogluon.py score --bank FOLDER      # here: results/default_autogluon.csv

A bank is gone on with where it ends. The clock counts seconds of one process on one core.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _bank import OURS, SETS, Bank, ask_autogluon, ask_ours, take_split

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "results" / "default_autogluon.csv"
N_ROWS = 3_500
TIMES = {"AutoGluon, same time": 1.0, "AutoGluon, ten times": 10.0}


def sets_asked() -> list[str]:
    """Return the untuned sets of at most so many rows, but flare, of which flare2 is a version."""
    from default import TUNED

    names = [name for name in SETS if name not in (*TUNED, "flare")]
    return [name for name in names if len(np.concatenate(take_split(name, 0)[1:4:2])) <= N_ROWS]


def ask(bank: Bank, name: str, method: str) -> None:
    """Fit one method on the first split of a set, and store what it says."""
    if bank.read(name, 0, method) is not None:
        return
    split, start = take_split(name, 0), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == OURS:
            proba = ask_ours(split)
        else:
            ours = bank.read(name, 0, OURS)
            assert ours is not None, "fill the bank with ours first"
            try:
                proba = ask_autogluon(split, TIMES[method] * ours[1])
            except RuntimeError as error:  # no model was trained in time
                print(name, method, str(error).partition(".")[0], flush=True)
                return
    bank.write(name, 0, method, proba, time.process_time() - start)
    print(name, method, round(time.process_time() - start, 1), flush=True)


def score(bank: Bank) -> None:
    """Write what each method costs on each set, over the 300 matrices of the default's page."""
    from default import FIELDS, draw_matrices, score_rows

    rows = []
    for name in sets_asked():
        split = take_split(name, 0)
        matrices = draw_matrices(split.shares, split.seed)
        for method in (OURS, *TIMES):
            answer = bank.read(name, 0, method)
            if answer is not None:
                rows += score_rows(name, 0, method, split, matrices, *answer)
    pd.DataFrame(rows, columns=FIELDS).to_csv(TARGET, index=False, lineterminator="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("ours", "theirs", "score"))
    parser.add_argument("--bank", type=Path, required=True)
    parser.add_argument("--sets", nargs="*")
    given = parser.parse_args()
    own = Bank(given.bank)
    if given.what == "score":
        score(own)
    for each in given.sets or sets_asked():
        for asked in {"ours": (OURS,), "theirs": tuple(TIMES), "score": ()}[given.what]:
            ask(own, each, asked)
