"""A learned rule beside abstaining: the price compared with what was decided, or weighed with it.

Outside: the rule decides, and a row is left where that costs less than what the decision is expected
to cost. Inside: the price is one column more of what the rule weighs. Naive Bayes and logistic
regression on eight sets, 5 halvings of each, 3 price lists, a price of abstaining of a tenth and of
three tenths of the best constant decision's cost; what the rows of the other half cost.

    python benchmarks/abstaining.py
"""

import warnings

import numpy as np
from _results import store
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.compare import TablePreparation
from stakes.costs import random_abe, random_uniform
from stakes.datasets import load_dataset
from stakes.decision import CostDecisionClassifier

SETS = ("balance", "car", "german_credit", "pima", "segmentation", "splice", "vehicle", "yeast")
RULES = ("parallel_partition", "row_partition", "column_partition", "full_partition")
SHARES = (0.1, 0.3)
SPLITS, LISTS = 5, 3
MODELS = {
    "naive_bayes": lambda: GaussianNB(var_smoothing=1e-3),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
}


def price_lists(y):
    """Yield cost matrices of both published protocols."""
    k = len(np.unique(y))
    for seed in range(LISTS):
        yield f"uniform {seed}", random_uniform(k, random_state=seed).values
        yield f"abe {seed}", random_abe(y, random_state=seed).values


def outside(policy, proba, price):
    return policy.with_abstention(price).decide(proba).positions


def inside(policy, proba, price):
    """Return the decisions where the price is weighed with what the rule has learned."""
    scores = policy.state(proba) @ policy.matrix()
    beside = np.full(len(scores), price)
    return np.column_stack([scores, beside]).argmin(axis=1)


def measure(name):
    """Return a row for each model, rule, split, price list and price of abstaining."""
    data = load_dataset(name)
    X = np.nan_to_num(np.asarray(TablePreparation().fit_transform(data.X), dtype=float))
    y = np.unique(data.y, return_inverse=True)[1]
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= 20))
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    splitter = StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0)
    rows = []
    for train, test in splitter.split(X, y):
        for model, make in MODELS.items():
            for prices, C in price_lists(y):
                constant = C[y[train]].mean(axis=0).min()
                for rule in RULES:
                    fitted = CostDecisionClassifier(make(), cost_matrix=C, rule=rule, cv=3)
                    fitted.fit(X[train], y[train])
                    proba = fitted.estimator_.predict_proba(X[test])
                    for share in SHARES:
                        price = share * constant
                        paid = np.column_stack([C, np.full(len(C), price)])
                        a, b = (
                            paid[y[test], way(fitted.policy_, proba, price)].mean() / constant
                            for way in (outside, inside)
                        )
                        rows.append([name, model, prices, rule, share, a, b])
    return rows


def main():
    warnings.simplefilter("ignore")
    rows = [row for name in SETS for row in measure(name)]
    a, b = (np.array([row[i] for row in rows]) for i in (5, 6))

    def compare(which):
        # Halvings and price lists of one set are alike: sets are what is drawn.
        names = np.array([row[0] for row in rows])[which]
        gains = np.array([np.mean((b - a)[which][names == n]) for n in np.unique(names)])
        return {
            "cost_outside": float(a[which].mean()),
            "cost_inside": float(b[which].mean()),
            "inside_over_outside": float(b[which].mean() / a[which].mean()),
            "sets_where_outside_is_cheaper": f"{int((gains > 0).sum())} of {len(gains)}",
        }

    whole = np.ones(len(rows), dtype=bool)
    parts = {"all": compare(whole)}
    for column, name in ((3, "rule"), (1, "model"), (4, "share"), (0, "set")):
        values = [row[column] for row in rows]
        for value in sorted(set(values)):
            parts[f"{name} {value}"] = compare(np.array([v == value for v in values]))
    for name, part in parts.items():
        print(
            f"{name:32s}", {k: v if isinstance(v, str) else round(v, 4) for k, v in part.items()}
        )
    store("abstaining", parts)


if __name__ == "__main__":
    main()
