"""
What another policy would have earned: the Open Bandit logs
============================================================

An online shop showed items at random for some of its visitors, and by Thompson sampling for others. What the
second policy earns can be estimated from the first log alone, and held against what it did earn.
"""

# %%
# Two logs
# --------
# A click is worth something, so its cost is -1. The logs are those of the Open Bandit Dataset (small
# version, campaign "men") where the environment variable STAKES_DATA names a folder that has them in
# ``logged``; else they are generated, and it is said.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from stakes.logged import costs_from_logs, policy_cost

COLUMNS = ["item_id", "position", "click", "propensity_score"]


def generated(rng, shares, n=10_000):
    """Draw visitors who are shown an item by the shares of its position, and click or not."""
    position = rng.integers(1, 4, size=n)
    item = (rng.random((n, 1)) > shares[position - 1].cumsum(axis=1)).sum(axis=1)
    click = rng.random(n) < 0.002 + 0.0004 * item
    rows = [item, position, click.astype(int), shares[position - 1, item]]
    return pd.DataFrame(dict(zip(COLUMNS, rows, strict=True)))


folder = Path(os.environ.get("STAKES_DATA", "")) / "logged"
if folder.is_dir():
    random, thompson = (
        pd.read_csv(folder / f"obd_{kind}_men.csv.gz") for kind in ("random", "bts")
    )
else:
    print("STAKES_DATA has no folder `logged`: these logs are generated.")
    rng = np.random.default_rng(0)
    random = generated(rng, np.full((3, 20), 1 / 20))
    thompson = generated(rng, rng.dirichlet(np.linspace(0.1, 2.0, 20), size=3))
print(
    f"clicks: {random['click'].mean():.4f} at random, {thompson['click'].mean():.4f} by Thompson sampling"
)

# %%
# From the random log alone
# -------------------------
# Thompson sampling looked at no visitor, so its policy is a table: how often it showed each item at each
# position. Each of those probabilities goes into `policy_cost`.
features = [column for column in random if column.startswith("user_feature")] + ["position"]
items = np.unique(random["item_id"])
log = costs_from_logs(
    random[features].astype({"position": str}),
    random["item_id"],
    -random["click"],
    propensities=random["propensity_score"],
    learner=Ridge(100.0),
    cv=3,
    random_state=0,
)
table = pd.crosstab(thompson["position"], thompson["item_id"], normalize="index")
shares = table.reindex(columns=items, fill_value=0.0)
shares = shares.div(shares.sum(axis=1), axis=0)
cost = policy_cost(shares.loc[random["position"]].to_numpy(), log)
earned = -float(thompson["click"].mean())
low, high = cost.interval
print(f"estimated {cost.cost:.4f} ({low:.4f} to {high:.4f}), did cost {earned:.4f}")
print(f"the {len(log):,} rows count as {cost.effective_rows:,.0f}")

# %%
# The other way round
# -------------------
# Thompson sampling hardly ever shows what nobody clicks, so its log says little about showing at random: few
# rows carry nearly all of the weight, which is warned of. Where they count as less than ten, it is refused.
log = costs_from_logs(
    thompson[features].astype({"position": str}),
    thompson["item_id"],
    -thompson["click"],
    propensities=thompson["propensity_score"],
    learner=Ridge(100.0),
    cv=2,
    random_state=0,
)
n_items = len(log.decisions)
back = policy_cost(np.full((len(log), n_items), 1.0 / n_items), log)
print(f"estimated {back.cost:.4f} ({back.interval[0]:.4f} to {back.interval[1]:.4f})")
print(f"the {len(log):,} rows count as {back.effective_rows:,.0f}")

figure, ax = plt.subplots(figsize=(7, 2.5))
for place, (found, truth) in enumerate([(cost, earned), (back, -random["click"].mean())]):
    ax.plot(found.interval, [place, place], color="C0")
    ax.plot(found.cost, place, "o", color="C0", label="estimated" if place == 0 else None)
    ax.plot(truth, place, "x", color="black", label="in its own log" if place == 0 else None)
ax.set(yticks=[0, 1], yticklabels=["Thompson sampling", "at random"], ylim=(-0.5, 1.5))
ax.set_xlabel("cost per visitor (a click is -1)")
ax.legend()
figure.tight_layout()
