"""
Learning from logged decisions
==============================

A shop wrote down whom it called, and what came of it. What would another way of choosing have cost, how
sure is that, and who should have been called? And when is it worth asking a person?
"""

# %%
# A log
# -----
# Calling costs 1 and keeps most of those who would leave; who leaves costs 6. The shop called the older
# customers more often, by a rule with chance in it, so the share of each is known.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from stakes.logged import costs_from_logs, policy_bounds, policy_cost, tipping_strength
from stakes.reductions import GBSEClassifier


def shop(n, seed):
    """Draw customers, what was done, what it cost, and with which probability it was done."""
    rng = np.random.default_rng(seed)
    age, visits = rng.random(n), rng.poisson(3.0, n)
    share = 0.2 + 0.6 * age
    called = rng.random(n) < share
    leaves = rng.random(n) < 0.7 * age * np.exp(-visits / 4.0) * np.where(called, 0.3, 1.0) * 2.0
    table = pd.DataFrame({"age": age, "visits": visits})
    shares = pd.DataFrame({"call": share, "wait": 1.0 - share})
    return table, np.where(called, "call", "wait"), called * 1.0 + leaves * 6.0, shares


X, done, paid, shares = shop(6000, seed=0)
log = costs_from_logs(X, done, paid, propensities=shares, random_state=0)
print(log.summary())
print(log.overlap.round(3))

# %%
# A policy, priced on rows that it has not seen
# ---------------------------------------------
policy = GBSEClassifier(random_state=0).fit(X, costs=log)
X_new, done, paid, shares = shop(6000, seed=1)
new = costs_from_logs(X_new, done, paid, propensities=shares, random_state=0)
policies = {"learned": policy.predict(X_new), "call all": "call", "call nobody": "wait"}
rows = {name: policy_cost(decided, new) for name, decided in policies.items()}
for name, cost in rows.items():
    low, high = cost.saved_interval
    print(f"{name:12s} {cost.cost:.3f}, saves {cost.saved:.3f} ({low:.3f} to {high:.3f})")

# %%
# How wrong the assumption would have to be
# -----------------------------------------
strengths = np.linspace(1.0, 2.0, 9)
bounds = np.array([policy_bounds(policies["learned"], new, strength=s) for s in strengths])
print(f"tipping point: odds moved {tipping_strength(policies['learned'], new):.2f} times")
figure, ax = plt.subplots(figsize=(7, 4))
ax.fill_between(strengths, *bounds.T, alpha=0.3, label="the learned policy")
ax.axhline(rows["learned"].done, color="black", linestyle="--", label="what was done")
ax.set(xlabel="strength of an unseen cause (odds)", ylabel="cost per customer")
ax.legend()
figure.tight_layout()

# %%
# Asking a person
# ---------------
# A model that knows only the age decides most cases; a better one costs 0.05 a case, a person 0.8.
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from stakes.decision import CascadeClassifier

X, _, _, _ = shop(4000, seed=2)
leaves = np.random.default_rng(3).random(4000) < 1.4 * X["age"] * np.exp(-X["visits"] / 4.0)
age_alone = make_pipeline(make_column_transformer(("passthrough", ["age"])), LogisticRegression())
stages = [("age", age_alone, 0.0), ("all", LogisticRegression(), 0.05), ("person", 0.8)]
cascade = CascadeClassifier(stages, cost_matrix=[[0, 1], [6, 0]]).fit(X[:2000], leaves[:2000])
asked = np.bincount(cascade.asked(X[2000:]), minlength=3) / 2000
print("decided by age, by all, by a person:", asked.round(2))
print(f"cost per case: {-cascade.score(X[2000:], leaves[2000:]):.3f}")
