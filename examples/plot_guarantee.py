"""
A guarantee, and what it leaves undecided
=========================================

An average cost that is kept with a stated confidence: the tighter the limit, the more rows go to a
human. Each point is one calibration sample.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np

from stakes.datasets import make_known_posterior
from stakes.decision import RiskControl

data = make_known_posterior(20_000, K=3, random_state=0)
C = np.asarray(data.cost_matrix)
print(f"Deciding every row costs at least {data.bayes_cost():.3f} on average.")

# %%
# Sixty calibration samples of 800 rows for each of three limits; the true mean cost of the rows
# that each rule decides is known here.
rng = np.random.default_rng(0)
found: dict = {}
for limit in (0.4, 0.7, 1.0):
    for _ in range(60):
        rows = rng.choice(len(data.y), 800)
        rule = RiskControl(limit=limit, confidence=0.9, cost_matrix=C, classes=[0, 1, 2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # where it cannot be had
            rule.fit(data.proba[rows], data.y[rows])
        decided = rule.decide(data.proba)
        taken = np.flatnonzero(decided < 3)
        cost = data.expected_costs[taken, decided[taken]].mean() if len(taken) else 0.0
        found.setdefault(limit, []).append((1 - len(taken) / len(decided), cost))
    broken = np.mean([cost > limit for _, cost in found[limit]])
    print(f"limit {limit}: broken in {broken:.0%} of the samples, at most 10% stated")

# %%
figure, ax = plt.subplots(layout="constrained")
for limit, points in found.items():
    (line,) = ax.plot(*np.transpose(points), ".", label=f"limit {limit}")
    ax.axhline(limit, color=line.get_color(), linestyle=":")
ax.set(xlabel="share left undecided", ylabel="true mean cost of decided rows", xlim=(0, 1))
ax.legend()
plt.show()
