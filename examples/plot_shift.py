"""
Another population
==================

The same classes, other frequencies: what decisions cost as one class becomes rare, without a change,
adapted to unlabelled rows, and with the frequencies told.
"""

# %%
# A model, calibrated on held-out rows of its own population.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from stakes.datasets import make_known_posterior
from stakes.decision import CostDecisionClassifier

data = make_known_posterior(2000, K=3, d=5, random_state=1)
model = CostDecisionClassifier(
    HistGradientBoostingClassifier(max_iter=60, random_state=0),
    cost_matrix=data.cost_matrix,
    calibration="temperature",
    cv=3,
).fit(data.X, data.y)

# %%
# Populations in which class 0 is one to twenty times as rare. What its rows look like stays.
pool = data.sample(30_000, random_state=2)
rng = np.random.default_rng(0)
factors = [1, 2, 4, 8, 20]
costs: dict = {"as it is": [], "adapted": [], "told the frequencies": []}
for factor in factors:
    rows = np.flatnonzero((pool.y != 0) | (rng.random(len(pool.y)) < 1 / factor))[:4000]
    X, y = pool.X[rows], pool.y[rows]
    adapted = model.adapt(X)
    told = model.adapt(None, priors=np.bincount(y, minlength=3) / len(y))
    for name, one in zip(costs, (model, adapted, told)):
        costs[name].append(-one.score(X, y))
    print(factor, f"p = {adapted.prior_shift_.p_value:.3g}", adapted.priors_.round(3))

# %%
# Where nothing has shifted nothing is changed; where it has, adapting costs about as much as knowing.
figure, ax = plt.subplots(layout="constrained")
for name, values in costs.items():
    ax.plot(factors, values, "o-", label=name)
ax.set(xlabel="class 0 is so many times as rare", ylabel="average cost", xscale="log")
ax.set_xticks(factors, [str(f) for f in factors])
ax.legend()
plt.show()
