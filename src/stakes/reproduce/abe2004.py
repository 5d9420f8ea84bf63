"""Abe, Zadrozny, Langford, "An Iterative Method for Multi-class Cost-sensitive Learning",
KDD 2004: Tables 1 to 3.

Average cost over twenty runs of thirty iterations: a random two thirds of the examples for
training, a new cost matrix for each run. C4.5 is replaced by an entropy tree with C4.5's
pruning; every method uses rejection sampling and lets its members vote, as the paper says.
Bagging draws a share of 2/3 without replacement, 0.1 on KDD-99 and Letter (Table 3 shows it).
"""  # noqa: D205

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes import reductions
from stakes.compare.runner import Predictions
from stakes.costs import CostMatrix, random_abe
from stakes.decision import CostDecisionClassifier
from stakes.metrics import average_cost
from stakes.reproduce._c45 import DecisionTreePerValue, PessimisticTreeClassifier, ShareOfRows
from stakes.reproduce._common import (
    Tables,
    by_costs,
    calibrated_boosting,
    fits,
    one_hot_table,
    random_two_thirds,
    tasks_of,
)
from stakes.reproduce._experiment import Experiment, Method, Split, methods_of, once_per_split
from stakes.tree import CostForestClassifier

ROUNDS = 30
COSTING_MEMBERS = 10
REJECTION: dict[str, Any] = {"sampling": "rejection", "voting": "hard"}


def pruned_tree() -> PessimisticTreeClassifier:
    """Return what stands in for C4.5: entropy, leaves of 2, its pruning at 0.25."""
    return PessimisticTreeClassifier(min_samples_leaf=2)


def harder_pruned_tree() -> PessimisticTreeClassifier:
    """Return the same with a confidence of 0.1: more subtrees become leaves."""
    return PessimisticTreeClassifier(confidence=0.1, min_samples_leaf=2)


def unpruned_tree() -> DecisionTreeClassifier:
    """Return the same tree before pruning, to see what pruning changes."""
    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)


def tree_of_a_tenth() -> ShareOfRows:
    """Return the usual tree, fitted to a tenth of what it is given."""
    return ShareOfRows(pruned_tree(), 0.1)


@once_per_split
def one_hot(split: Split) -> Tables:
    """Return both parts with a column per category."""
    return one_hot_table(split.X_train, split.X_test)


def filled(split: Split) -> Tables:
    """Return the same with -1 for a missing number."""
    X_train, X_test = one_hot(split)
    return np.nan_to_num(X_train, nan=-1.0), np.nan_to_num(X_test, nan=-1.0)


@fits(one_hot)
def bagging(split: Split, tree=pruned_tree) -> reductions.MetaCostClassifier:
    """Vote of 30 trees, each on a random share of the examples; costs play no part."""
    settings = {**_usual(split), **_bags(split), "cost_matrix": None}
    return reductions.MetaCostClassifier(tree(), **settings)


@fits(one_hot)
def avgcost(split: Split, tree=pruned_tree) -> reductions.AverageCostClassifier:
    """Vote of trees on samples weighted by the average cost of an example."""
    return reductions.AverageCostClassifier(tree(), **_usual(split), **REJECTION)


@fits(one_hot)
def metacost(
    split: Split, tree=pruned_tree, voting: str = "hard"
) -> reductions.MetaCostClassifier:
    """MetaCost as the paper ran it: bagged probabilities, then minimum expected cost.

    A class has the probability that members vote for it: C4.5 answers with a class. On Solar
    flare, where nearly all members agree, the paper's MetaCost costs what bagging does (5317,
    5403); averaged leaf probabilities, the other reading, cost 9 there.
    """
    return reductions.MetaCostClassifier(tree(), **_usual(split), **_bags(split, voting))


@fits(one_hot)
def iw(split: Split, tree=pruned_tree) -> reductions.IterativeWeightingClassifier:
    """IW, iterative weighting, over costing with ten members."""
    settings = {**_usual(split), **REJECTION, "n_estimators": COSTING_MEMBERS}
    return reductions.IterativeWeightingClassifier(tree(), n_iterations=ROUNDS, **settings)


@fits(one_hot)
def dse(split: Split, tree=pruned_tree) -> reductions.DataSpaceExpansionClassifier:
    """DSE, data space expansion: samples of the expanded space, averaged."""
    return reductions.DataSpaceExpansionClassifier(tree(), **_usual(split), **REJECTION)


@fits(one_hot)
def gbse(split: Split, tree=pruned_tree, by_decision: bool = True) -> reductions.GBSEClassifier:
    """GBSE: gradient boosting with stochastic ensembles, the paper's method.

    The decision is a categorical feature of the learner, and C4.5 splits such a feature into all
    its values at once: so do the trees here, first of all. With indicator columns and binary
    splits alone, the other reading, it costs 128 on Letter instead of 86 (85 in the paper).
    """
    learner = tree()
    if by_decision:
        learner = DecisionTreePerValue(learner, len(np.unique(split.y_train)))
    return reductions.GBSEClassifier(learner, sampling="rejection", **_usual(split))


@fits()
def calibrated_mec(split: Split) -> CostDecisionClassifier:
    """Ours: calibrated gradient boosting and minimum expected cost."""
    return calibrated_boosting(split, split.cost_matrix)


@fits()
def cost_forest(split: Split) -> CostForestClassifier:
    """Ours: the cost forest."""
    return CostForestClassifier(**{**_usual(split), "n_estimators": 100})


@fits(filled)
def partition(split: Split) -> CostDecisionClassifier:
    """Ours: a random forest and the parallel partition of the simplex learned on it."""
    forest = RandomForestClassifier(n_estimators=100, random_state=split.seed % 2**31)
    return CostDecisionClassifier(
        forest, cost_matrix=split.cost_matrix, rule="parallel_partition", cv=3
    )


def _usual(split: Split) -> dict[str, Any]:
    seed, costs = split.seed, split.cost_matrix
    return {"n_estimators": ROUNDS, "cost_matrix": costs, "random_state": seed}


def _bags(split: Split, voting: str = "hard") -> dict[str, Any]:
    """Return how MetaCost and bagging draw: a tenth of a large set, two thirds of the others."""
    return {"voting": voting, "max_samples": 0.1 if len(split.y_train) > 10_000 else 2 / 3}


def _samples(split: Split, predictions: Predictions) -> float:
    used = predictions.info.get("n_samples_used")
    return float("nan") if used is None else float(used)


def _costs(y_train: np.ndarray, rng: np.random.RandomState, labels: np.ndarray) -> CostMatrix:
    return random_abe(y_train.astype(str), random_state=rng)


PAPER_METHODS = methods_of(bagging, avgcost, metacost, iw, dse, gbse)

PAPER = Experiment(
    paper="abe2004",
    title="Abe, Zadrozny, Langford: An Iterative Method for Multi-class Cost-sensitive "
    "Learning, KDD 2004",
    tables=("2", "3"),
    tasks=tasks_of("abe2004"),
    methods=PAPER_METHODS | methods_of(calibrated_mec, cost_forest, partition, ours=True, runs=5),
    split=random_two_thirds,
    costs=_costs,
    metrics={"average_cost": partial(by_costs, average_cost), "n_samples_used": _samples},
    runs=20,
)
EXPERIMENTS = (PAPER,)

READINGS = (
    *(
        PAPER.read_as(
            name,
            says,
            tasks=tasks_of("abe2004", some),
            methods={m: Method(partial(PAPER_METHODS[m].run, tree=tree)) for m in PAPER_METHODS},
            runs=runs,
        )
        for name, says, tree, runs, some in (
            (
                "unpruned",
                "the tree that stands in for C4.5 is not pruned",
                unpruned_tree,
                5,
                ("annealing", "flare", "splice", "satimage"),
            ),
            (
                "confidence_10",
                "C4.5's pruning at a confidence of 0.1 instead of 0.25",
                harder_pruned_tree,
                20,
                None,
            ),
        )
    ),
    PAPER.read_as(
        "tenth_iw",
        "IW's trees on Letter each see a tenth of the sample that rejection draws",
        tasks=tasks_of("abe2004", ("letter",)),
        methods={"iw": Method(partial(iw, tree=tree_of_a_tenth))},
        runs=3,
    ),
    PAPER.read_as(
        "soft_metacost",
        "MetaCost averages the probabilities of the members' leaves instead of votes",
        methods={"metacost": Method(partial(metacost, voting="soft"))},
        runs=5,
    ),
    PAPER.read_as(
        "one_hot_decision",
        "GBSE's trees meet the decision as indicator columns",
        methods={"gbse": Method(partial(gbse, by_decision=False))},
        runs=5,
    ),
)
