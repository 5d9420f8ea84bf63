"""
One classifier, ten ways to teach it costs
==========================================

A reduction turns costs into weights, samples or labels, so that a classifier that knows nothing of costs can learn from
them. Here each of them drives the same small tree, on data whose least possible cost is known. The first bar
is the best single decision for all, the second the tree by itself.
"""

import matplotlib.pyplot as plt
from sklearn.tree import DecisionTreeClassifier

from stakes.datasets import make_known_posterior
from stakes.decision import ConstantDecisionClassifier
from stakes.reductions import (
    AverageCostClassifier,
    CostingClassifier,
    CostRegressionClassifier,
    CostSensitiveOneVsOneClassifier,
    DataSpaceExpansionClassifier,
    FilterTreeClassifier,
    GBSEClassifier,
    IterativeWeightingClassifier,
    MetaCostClassifier,
    WeightedAllPairsClassifier,
)

data = make_known_posterior(1200, K=3, d=5, cost_kind="hindsight", random_state=0)
new = data.sample(3000, random_state=1)
tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)

# %%
# The first four learn from one weight per row and keep a vote of several members; the next three look at all costs of a
# row; the last three part the classes into pairs. Cost regression predicts each cost, and needs no classifier.
members = {"n_estimators": 10, "random_state": 0}
models = {
    "one decision for all": ConstantDecisionClassifier(),
    "the tree by itself": tree,
    "average cost": AverageCostClassifier(tree, **members),
    "costing": CostingClassifier(tree, **members),
    "MetaCost": MetaCostClassifier(tree, **members),
    "iterative weighting": IterativeWeightingClassifier(tree, **members),
    "data space expansion": DataSpaceExpansionClassifier(tree, **members),
    "GBSE": GBSEClassifier(tree, **members),
    "cost regression": CostRegressionClassifier(),
    "one against one": CostSensitiveOneVsOneClassifier(tree),
    "weighted all pairs": WeightedAllPairsClassifier(tree),
    "filter tree": FilterTreeClassifier(tree),
}
excess = {}
for name, model in models.items():
    given = {} if model is tree else {"costs": data.costs}
    excess[name] = new.excess(model.fit(data.X, data.y, **given).predict(new.X))
    print(f"{name}: {excess[name]:.0%} above the least possible cost")

# %%
# Short bars are good. None of these is the one to use where probabilities can be had and prices are known when deciding:
# there, weighing calibrated probabilities is simpler and cheaper.
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
colours = ["tab:gray", "tab:gray", *["tab:blue"] * (len(excess) - 2)]
ax.barh(list(excess)[::-1], [100 * e for e in excess.values()][::-1], color=colours[::-1])
ax.set(xlabel="% above the least possible cost")

if __name__ == "__main__":
    plt.show()
