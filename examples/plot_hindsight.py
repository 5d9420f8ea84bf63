"""
Costs known in hindsight: a letter or not
=========================================

What a client spent after a letter is known for last year's clients only. The costs of both decisions are data of the past, and the method must learn
how they depend on the features. Weighing each client by an average cost forgets which mistake was
the expensive one.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

from stakes.auto import ExpectedCostBoostingClassifier
from stakes.datasets import make_known_posterior
from stakes.reductions import AverageCostClassifier, GBSEClassifier
from stakes.tree import CostForestClassifier, CostTreeClassifier

# Data whose least possible cost is known, so that the excess has no noise of labels.
data = make_known_posterior(1500, K=3, d=6, cost_kind="hindsight", random_state=0)
new = data.sample(3000, random_state=1)
models = {
    "cost-blind boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "average cost as weight": AverageCostClassifier(n_estimators=10, random_state=0),
    "GBSE": GBSEClassifier(n_estimators=15, random_state=0),
    "boosting on expected cost": ExpectedCostBoostingClassifier(n_estimators=60, random_state=0),
    "cost tree": CostTreeClassifier(),
    "cost forest": CostForestClassifier(n_estimators=60, random_state=0),
}

# %%
excess = {}
for name, model in models.items():
    how = {} if name == "cost-blind boosting" else {"costs": data.costs}
    decided = model.fit(data.X, data.y, **how).predict(new.X)
    excess[name] = new.excess(decided)
    print(f"{name}: {excess[name]:.0%} above the least possible cost")

# %%
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.barh(list(excess)[::-1], [100 * e for e in excess.values()][::-1])
ax.set(xlabel="% above the least possible cost")

if __name__ == "__main__":
    plt.show()
