"""The commands of the guide's chapter on decisions, each in a new process."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "choices.md"
COSTS = "true \\ decided,approve,ask for a code,review,block\nhonest,0,1,6,20\nfraud,100,30,8,0\n"


def commands():
    blocks = re.findall(r"```bash\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return [line.split() for block in blocks for line in block.strip().splitlines()]


def test_every_command_of_the_chapter_works_in_a_new_process(here):
    rng = np.random.default_rng(0)
    fraud = rng.random(240) < 0.2
    truth = np.where(fraud, "fraud", "honest")
    score = rng.normal(size=240) + 2 * fraud
    amount = rng.uniform(5, 200, size=240).round(2)
    payments = pd.DataFrame({"score": score, "amount": amount, "truth": truth})
    payments.to_csv("payments.csv", index=False)
    Path("costs.csv").write_text(COSTS)
    (cells,) = re.findall(r"```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    Path("by_amount.csv").write_text(cells)
    size = rng.normal(size=240)
    orders = pd.DataFrame({"size": size, "cost_ship": 4 + 30 * (size > 0.4), "cost_hold": 9})
    orders.to_csv("orders.csv", index=False)
    ran = commands()
    assert len(ran) == 5
    for first, *rest in ran:
        assert first == "stakes"
        command = [sys.executable, "-m", "stakes", *rest]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert set(pd.read_csv("decided.csv")["decision"]) <= set(COSTS.splitlines()[0].split(",")[1:])
