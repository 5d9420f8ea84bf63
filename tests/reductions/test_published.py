"""Figures of abe2004: average costs of GBSE, and how much data the methods use (Table 3)."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from stakes.costs import random_abe
from stakes.datasets import load_dataset
from stakes.metrics import average_cost
from stakes.reductions import (
    AverageCostClassifier,
    DataSpaceExpansionClassifier,
    GBSEClassifier,
    MetaCostClassifier,
)
from stakes.tree import CostTreeClassifier


def load(name):
    try:
        return load_dataset(name)
    except (OSError, ValueError) as error:
        pytest.skip(f"no data: {error}")


def one_hot(X):
    import pandas as pd

    categories = X.select_dtypes("category").columns
    return pd.get_dummies(X, columns=list(categories), dtype=float).to_numpy(float)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("splice", 62), ("satimage", 100)])
def test_average_cost_of_gbse(name, most):
    # Published: 57.5 and 93.1, 20 runs. Five runs of 30 rounds with rejection sampling.
    data = load(name)
    X, y = one_hot(data.X), data.y
    paid = []
    for run in range(5):
        train, test = train_test_split(np.arange(len(y)), train_size=2 / 3, random_state=run)
        C = random_abe(y[train], random_state=run)
        tree = DecisionTreeClassifier(min_samples_leaf=2)
        model = GBSEClassifier(tree, cost_matrix=C, sampling="rejection", random_state=run)
        decided = model.fit(X[train], y[train]).predict(X[test])
        paid.append(average_cost(y[test], decided, cost_matrix=C))
    assert np.mean(paid) <= most


@pytest.mark.slow
def test_average_cost_of_gbse_on_annealing():
    # Published: 33.7, which is what the best single decision costs (36 on average). That is
    # where rejection ends, too, in most runs: no tree can be had of the few pairs it draws.
    # The default sees all pairs and smooths its leaves.
    data = load("annealing")
    paid, constant = [], []
    for run in range(5):
        train, test = train_test_split(np.arange(len(data.y)), train_size=2 / 3, random_state=run)
        y = np.unique(data.y, return_inverse=True)[1]
        C = random_abe(y[train], random_state=run).values
        model = GBSEClassifier(cost_matrix=C, random_state=run).fit(data.X.iloc[train], y[train])
        paid.append(C[y[test], model.predict(data.X.iloc[test])].mean())
        constant.append(C[y[test], C[y[train]].mean(axis=0).argmin()].mean())
    assert np.mean(paid) <= 30
    assert np.mean(paid) < 0.7 * np.mean(constant)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["annealing", "flare7"])
def test_skewed_costs_need_little_data(name):
    # Table 3: on Annealing bagging used 11,991 examples, AvgCost 1003, DSE 3796, GBSE 1260.
    data = load(name)
    train, _ = train_test_split(np.arange(len(data.y)), train_size=2 / 3, random_state=0)
    X, y = data.X.iloc[train], data.y[train]
    C = random_abe(y, random_state=0)
    tree = CostTreeClassifier(criterion="variance", min_samples_leaf=2)
    bagging = MetaCostClassifier(tree, cost_matrix=C, random_state=0).fit(X, y)
    for Reduction in (AverageCostClassifier, DataSpaceExpansionClassifier, GBSEClassifier):
        model = Reduction(tree, cost_matrix=C, sampling="rejection", random_state=0).fit(X, y)
        assert model.n_samples_used_.sum() <= bagging.n_samples_used_.sum() / 3
