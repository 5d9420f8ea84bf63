"""
What decisions cost before the truth is known
=============================================

A model decides about clients; whether they pay back is known months later. The expected cost of each
week is known at once, with an interval that counts how far the probabilities can be trusted. From
week 13 on other clients come; the alarm needs no truth to see it.
"""

# %%
# A model, and what it says of rows that it has not seen
# ------------------------------------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from stakes.decision import CostDecisionClassifier
from stakes.monitor import Monitor, estimate_cost


def clients(n, seed, shift=0.0):
    """Draw clients; `shift` moves what they owe."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(shift, 1, n), rng.normal(size=n), rng.normal(size=n)])
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=n) > 2).astype(int)
    return X, y


X, y = clients(3000, seed=0)
model = CostDecisionClassifier(
    HistGradientBoostingClassifier(random_state=0), cost_matrix=[[0, 10], [60, 0]]
).fit(X[:2000], y[:2000])
held_out = X[2000:], y[2000:]
found = estimate_cost(model, clients(500, seed=1)[0], reference=held_out)
print(
    f"stated {found.stated:.2f}, expected {found.cost:.2f} ({found.low:.2f} to {found.high:.2f})"
)
print(found.others.round(2))

# %%
# Twenty weeks
# ------------
# The truth of the first twelve has come in.
monitor = Monitor(model, reference=held_out, false_alarms=0.01)
for week in range(1, 21):
    X_week, y_week = clients(200, seed=100 + week, shift=0.8 if week > 12 else 0.0)
    batch = monitor.update(X_week, y_week if week <= 12 else None, label=week)
    if batch["alarm"]:
        print(f"week {week}: {batch['alarm']}")
print("a rise by 2 would be seen within", monitor.batches_until_seen(2.0, 200), "weeks")

# %%
# The picture
# -----------
table = monitor.table
weeks = table.index.astype(int)
figure, ax = plt.subplots(figsize=(8, 4))
ax.fill_between(weeks, table["low"], table["high"], alpha=0.2, label="95% interval")
ax.plot(weeks, table["expected"], label="expected, without truth")
ax.plot(weeks, table["realised"].astype(float), "o", label="paid")
for alarm in monitor.alarms:
    ax.axvline(int(alarm["label"]), color="tab:red", linestyle="--")
ax.set(xlabel="week", ylabel="cost per client", ylim=(0, None), xticks=weeks[::2])
ax.legend()
figure.tight_layout()

if __name__ == "__main__":
    plt.show()
