"""
What a plan would have cost: the RAND experiment
================================================

The RAND Health Insurance Experiment gave families insurance plans by lot: from free care to plans of which
they paid nearly all themselves. What would medical care cost if everybody had the one plan or the other?
"""

# %%
# Who was given what
# ------------------
# The rows are person-years of the experiment where the environment variable STAKES_DATA names a folder that
# has them in ``logged``; else they are generated, and it is said. The lot was drawn by site and year, and
# took heed of income, so these are what the propensities are estimated from.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from stakes.logged import NoOverlapError, costs_from_logs, policy_cost, tipping_strength

PLANS = {0: "free", 25: "a quarter", 50: "half", 95: "nearly all", 100: "nearly all"}


def generated(n=6_000, seed=0):
    """Draw persons of three years each, who spend less where they pay more themselves."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n // 3), 3)
    sick, coins = rng.gamma(0.5, 2.0, n // 3)[person], rng.integers(0, 4, n // 3)[person]
    site = rng.integers(1, 7, n // 3)[person]
    coins = np.array([0, 25, 50, 95])[np.where((coins == 2) & (site > 3), 1, coins)]
    frame = pd.DataFrame({"zper": person, "coins": coins, "site": site})
    frame["year"], frame["income"] = np.tile([1, 2, 3], n // 3), rng.normal(8000, 2000, n)
    frame["xage"], frame["disea"] = rng.uniform(0, 62, n), sick
    frame["meddol"] = sick * rng.lognormal(4.0, 1.0, n) * (1.0 - 0.004 * coins)
    return frame


path = Path(os.environ.get("STAKES_DATA", "")) / "logged" / "randhie.csv.gz"
if path.is_file():
    people = pd.read_csv(path)
else:
    print("STAKES_DATA has no logged/randhie.csv.gz: these people are generated.")
    people = generated()
known = ["site", "year", "income", "xage", "disea"]
X, plan = people[known].astype({"site": str, "year": str}), people["coins"].map(PLANS)
print(people.groupby(plan)["meddol"].agg(["size", "mean"]).round(0))

# %%
# A plan that was not for all
# ---------------------------
# At some sites and in some years nobody paid half. Nothing is known of that plan there, so the log is refused:
try:
    costs_from_logs(X, plan, people["meddol"], random_state=0)
except NoOverlapError as error:
    print(error)
plan = plan.replace({"a quarter": "a part", "half": "a part"})

# %%
# Everybody on one plan
# ---------------------
# The years of one person are one draw: ``groups``. The regression knows age and illness, which the lot did
# not, and takes out what they explain.
log = costs_from_logs(X, plan, people["meddol"], groups=people["zper"], random_state=0)
print(log.overlap.round(2))
costs = {name: policy_cost(name, log) for name in log.decisions}
for name, cost in sorted(costs.items(), key=lambda pair: pair[1].cost):
    low, high = cost.interval
    print(f"{name:12s} {cost.cost:6.1f} ({low:.1f} to {high:.1f})")

# %%
# Free care costs more, by how much is not sure to the dollar, since a few stays in hospital are most of the
# spending. That families paid nearly all saves, against what was done:
saved = costs["nearly all"]
print(f"{saved.saved:.1f} ({saved.saved_interval[0]:.1f} to {saved.saved_interval[1]:.1f})")
print(f"an unseen cause would need odds of {tipping_strength('nearly all', log):.2f} to undo that")
figure, ax = plt.subplots(figsize=(7, 2.5))
for place, cost in enumerate(costs.values()):
    ax.plot(cost.interval, [place, place], color="C0")
    ax.plot(cost.cost, place, "o", color="C0")
ax.axvline(saved.done, color="black", linestyle="--", label="what was done")
ax.set(yticks=range(len(costs)), yticklabels=list(costs), xlabel="dollars per person and year")
ax.legend()
figure.tight_layout()
