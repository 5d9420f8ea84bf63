"""Abe, Zadrozny, Langford, "An Iterative Method for Multi-class Cost-sensitive Learning",
KDD 2004: Tables 1 to 3.

Average cost over twenty runs of thirty iterations: a random two thirds of the examples for
training, a new cost matrix for each run. C4.5 is replaced by an entropy tree with C4.5's
pruning; every method uses rejection sampling and lets its members vote, as the paper says.
Bagging draws a share of 2/3 without replacement, 0.1 on KDD-99 and Letter (Table 3 shows it).
"""  # noqa: D205

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from stakes.costs import random_abe
from stakes.metrics import average_cost
from stakes.reproduce._c45 import DecisionTreePerValue, PessimisticTreeClassifier
from stakes.reproduce._common import (
    dataset_task,
    decided_labels,
    fit_and_predict,
    one_hot_table,
    random_two_thirds,
    true_labels,
)
from stakes.reproduce._experiment import Experiment, Method, Split

ROUNDS = 30
COSTING_MEMBERS = 10

TASKS = {
    "annealing": dataset_task("annealing"),
    "flare": dataset_task("flare", variant="flare7"),
    "kdd99": dataset_task("kdd99"),
    "letter": dataset_task("letter"),
    "splice": dataset_task("splice"),
    "satimage": dataset_task("satimage"),
}
LARGE = ("kdd99", "letter")  # where bagging and MetaCost drew a tenth


def pruned_tree() -> PessimisticTreeClassifier:
    """Return what stands in for C4.5: entropy, leaves of 2, its pruning at 0.25."""
    return PessimisticTreeClassifier(min_samples_leaf=2)


def unpruned_tree() -> DecisionTreeClassifier:
    """Return the same tree before pruning, to see what pruning changes."""
    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)


def bagging(split: Split, tree=pruned_tree):
    """Vote of 30 trees, each on a random share of the examples; costs play no part."""
    from stakes.reductions import MetaCostClassifier

    return _run(
        MetaCostClassifier(
            tree(), voting="hard", max_samples=_share(split), **_usual(split, False)
        ),
        split,
    )


def avgcost(split: Split, tree=pruned_tree):
    """Vote of trees on samples weighted by the average cost of an example."""
    from stakes.reductions import AverageCostClassifier

    return _run(
        AverageCostClassifier(tree(), sampling="rejection", voting="hard", **_usual(split)),
        split,
    )


def metacost(split: Split, tree=pruned_tree, voting: str = "hard"):
    """MetaCost as the paper ran it: bagged probabilities, then minimum expected cost.

    A class has the probability that members vote for it: C4.5 answers with a class. On Solar
    flare, where nearly all members agree, the paper's MetaCost costs what bagging does (5317,
    5403); averaged leaf probabilities, the other reading, cost 9 there.
    """
    from stakes.reductions import MetaCostClassifier

    return _run(
        MetaCostClassifier(tree(), voting=voting, max_samples=_share(split), **_usual(split)),
        split,
    )


def iterative_weighting(split: Split, tree=pruned_tree):
    """IW over costing with ten members."""
    from stakes.reductions import IterativeWeightingClassifier

    settings = _usual(split)
    settings.update(n_iterations=ROUNDS, n_estimators=COSTING_MEMBERS)
    return _run(
        IterativeWeightingClassifier(tree(), sampling="rejection", voting="hard", **settings),
        split,
    )


def data_space_expansion(split: Split, tree=pruned_tree):
    """DSE: samples of the expanded space, averaged."""
    from stakes.reductions import DataSpaceExpansionClassifier

    return _run(
        DataSpaceExpansionClassifier(tree(), sampling="rejection", voting="hard", **_usual(split)),
        split,
    )


def gbse(split: Split, tree=pruned_tree, by_decision: bool = True):
    """GBSE: gradient boosting with stochastic ensembles, the paper's method.

    The decision is a categorical feature of the learner, and C4.5 splits such a feature into all
    its values at once: so do the trees here, first of all. With indicator columns and binary
    splits alone, the other reading, it costs 128 on Letter instead of 86 (85 in the paper).
    """
    from stakes.reductions import GBSEClassifier

    learner = tree()
    if by_decision:
        learner = DecisionTreePerValue(learner, len(np.unique(split.y_train)))
    return _run(GBSEClassifier(learner, sampling="rejection", **_usual(split)), split)


def calibrated_mec(split: Split):
    """Ours: calibrated gradient boosting and minimum expected cost."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from stakes.decision import CostDecisionClassifier

    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=split.seed % 2**31
    )
    model = CostDecisionClassifier(
        model, cost_matrix=split.cost_matrix, calibration="temperature", cv=3
    )
    return fit_and_predict(model, split, split.X_train, split.X_test)


def cost_forest(split: Split):
    """Ours: the cost forest."""
    from stakes.tree import CostForestClassifier

    model = CostForestClassifier(
        n_estimators=100, cost_matrix=split.cost_matrix, random_state=split.seed
    )
    return fit_and_predict(model, split, split.X_train, split.X_test)


def partition(split: Split):
    """Ours: a random forest and the parallel partition of the simplex learned on it."""
    from sklearn.ensemble import RandomForestClassifier

    from stakes.decision import CostDecisionClassifier

    model = CostDecisionClassifier(
        RandomForestClassifier(n_estimators=100, random_state=split.seed % 2**31),
        cost_matrix=split.cost_matrix,
        rule="parallel_partition",
        cv=3,
    )
    return fit_and_predict(model, split, *_tables(split, fill=True))


def _usual(split: Split, costs: bool = True) -> dict:
    return {
        "n_estimators": ROUNDS,
        "cost_matrix": split.cost_matrix if costs else None,
        "random_state": split.seed,
    }


def _share(split: Split) -> float:
    return 0.1 if len(split.y_train) > 10_000 else 2 / 3


def _tables(split: Split, fill: bool = False):
    if "one_hot" not in split.shared:
        split.shared["one_hot"] = one_hot_table(split.X_train, split.X_test)
    if not fill:
        return split.shared["one_hot"]
    return tuple(np.nan_to_num(part, nan=-1.0) for part in split.shared["one_hot"])


def _run(model, split: Split):
    return fit_and_predict(
        model, split, *_tables(split), info=[("n_samples_used", _total_samples)]
    )


def _total_samples(model) -> int | None:
    used = getattr(model, "n_samples_used_", None)
    return None if used is None else int(np.sum(used))


def _average_cost(split: Split, predictions) -> float:
    return average_cost(
        true_labels(split),
        decided_labels(predictions),
        cost_matrix=split.cost_matrix,
    )


def _samples(split: Split, predictions) -> float:
    used = predictions.info.get("n_samples_used")
    return float("nan") if used is None else float(used)


def _costs(y_train, rng, labels):
    return random_abe(y_train.astype(str), random_state=rng)


PAPER_METHODS = {
    "bagging": bagging,
    "avgcost": avgcost,
    "metacost": metacost,
    "iw": iterative_weighting,
    "dse": data_space_expansion,
    "gbse": gbse,
}

EXPERIMENTS = (
    Experiment(
        paper="abe2004",
        title="Abe, Zadrozny, Langford: An Iterative Method for Multi-class Cost-sensitive "
        "Learning, KDD 2004",
        tables=("2", "3"),
        tasks=TASKS,
        methods={
            **{name: Method(run) for name, run in PAPER_METHODS.items()},
            "calibrated_mec": Method(calibrated_mec, ours=True, runs=5),
            "cost_forest": Method(cost_forest, ours=True, runs=5),
            "partition": Method(partition, ours=True, runs=5),
        },
        split=random_two_thirds,
        costs=_costs,
        metrics={"average_cost": _average_cost, "n_samples_used": _samples},
        runs=20,
    ),
)

READINGS = {
    "unpruned": replace(
        EXPERIMENTS[0],
        protocol="unpruned",
        says="the tree that stands in for C4.5 is not pruned",
        tasks={name: TASKS[name] for name in ("annealing", "flare", "splice", "satimage")},
        methods={
            name: Method(partial(run, tree=unpruned_tree)) for name, run in PAPER_METHODS.items()
        },
        runs=5,
    ),
    "soft_metacost": replace(
        EXPERIMENTS[0],
        protocol="soft_metacost",
        says="MetaCost averages the probabilities of the members' leaves instead of votes",
        methods={"metacost": Method(partial(metacost, voting="soft"))},
        runs=5,
    ),
    "one_hot_decision": replace(
        EXPERIMENTS[0],
        protocol="one_hot_decision",
        says="GBSE's trees meet the decision as indicator columns",
        methods={"gbse": Method(partial(gbse, by_decision=False))},
        runs=5,
    ),
}
