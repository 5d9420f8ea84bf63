"""O'Brien, Gupta, Gray, "Cost-sensitive Multi-class Classification from Probability
Estimates", ICML 2008: Tables 1 and 2.

Improvement over the plug-in rule in per cent, for MetaCost, the method of Lachiche and
Flach, and the parallel partition; a hundred ten-fold cross-validations with nine inner
folds; rarity costs and random costs; naive Bayes and regularised QDA.
"""  # noqa: D205

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.naive_bayes import CategoricalNB

from stakes.compare.runner import Predictions
from stakes.costs import CostMatrix, random_uniform
from stakes.costs.arithmetic import rarity_costs
from stakes.decision import LachicheFlach, ParallelPartition
from stakes.metrics import total_cost
from stakes.reproduce._bagged import average_members, bayes_members, fitted_members, member_counts
from stakes.reproduce._base_learners import FeatureQuantizer, RegularizedQDA
from stakes.reproduce._common import (
    Tables,
    by_costs,
    stratified_fold,
    tasks_of,
)
from stakes.reproduce._experiment import Experiment, Split, methods_of, once_per_split

INNER_FOLDS = 9
RESAMPLES = 100
VALUES = 21
# By how much gamma and lambda rise at a time is not said. Wine tells: the partition and LF save
# 56% and 64% there; ours 58% and 64% with 0.01, 14% and 9% with 0.001, 50% and 53% with 0.05.
QDA_STEP = 0.01
IMPROVEMENT = "percent_improvement"
SPREAD = "spread_of_improvement"

TASKS = tasks_of("obrien2008")


@once_per_split
def coded(split: Split) -> Tables:
    """Return both parts as the learner takes them: numbers for QDA, value codes for Bayes.

    Values are coded and quantised once on the training part, not anew in each resample.
    """
    if split.task.endswith("/qda"):
        return split.X_train.to_numpy(float), split.X_test.to_numpy(float)
    coder = FeatureQuantizer(VALUES).fit(split.X_train)
    return coder.transform(split.X_train), coder.transform(split.X_test)


def learner(split: Split) -> Any:
    """Return the probability estimator that the paper used for a task."""
    if split.task.endswith("/qda"):
        return RegularizedQDA(step=None if split.protocol == "least_qda" else QDA_STEP)
    # a resample may lack a value: it keeps its place in Laplace's correction
    return CategoricalNB(min_categories=coded(split)[0].max(axis=0) + 1)


def plug_in(split: Split) -> Predictions:
    """Decide at least expected cost on the probabilities as they are: the baseline."""
    return _kept(split, (_test_proba(split) @ _own_costs(split)).argmin(axis=1))


def lf(split: Split) -> Predictions:
    """Learn one weight per class on cross-fitted probabilities (Lachiche and Flach)."""
    return _by_rule(LachicheFlach, split)


def partition(split: Split) -> Predictions:
    """Learn the paper's partition: boundaries parallel to those of the costs."""
    return _by_rule(ParallelPartition, split)


def metacost_inclusive(split: Split) -> Predictions:
    """MetaCost whose probabilities average all members."""
    return _metacost(split, _bagged(split)[0])


def metacost_out_of_bag(split: Split) -> Predictions:
    """MetaCost whose probabilities average the members that did not see the example."""
    return _metacost(split, _bagged(split)[1])


def shrunk_partition(split: Split) -> Predictions:
    """Ours: the partition kept only where its cross-validated gain exceeds one error."""
    settings = {"n_passes": 5, "shrink": True, "random_state": split.seed}
    return _by_rule(ParallelPartition, split, **settings)


def _by_rule(cls: type, split: Split, **settings: Any) -> Predictions:
    classes, order = np.unique(split.y_train), file_order(split.y_train)
    costs = _own_costs(split)[np.ix_(order, order)]
    rule = cls(cost_matrix=costs, classes=classes[order], **settings)
    rule.fit(_crossfitted(split)[:, order], split.y_train)
    return _kept(split, order[rule.decide(_test_proba(split)[:, order])])


def file_order(y: np.ndarray) -> np.ndarray:
    """Return the sorted classes in the order in which the file first shows them.

    Rules take classes from the most to the least populous, and of one size in this order.

    Examples
    --------
    >>> from stakes.reproduce.obrien2008 import file_order
    >>> file_order(np.array(["c", "a", "c", "b"]))
    array([2, 0, 1])
    """
    return np.argsort(np.unique(y, return_index=True)[1])


def _metacost(split: Split, proba: np.ndarray) -> Predictions:
    """Relabel the training part at least expected cost, and learn the new labels."""
    labels = (proba @ _own_costs(split)).argmin(axis=1)
    if (labels == labels[0]).all():
        return _kept(split, np.full(len(split.y_test), labels[0]))
    X_train, X_test = coded(split)
    return _kept(split, learner(split).fit(X_train, labels).predict(X_test))


@once_per_split
def _bagged(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the training part's bagged probabilities: all members, and out of bag."""
    rng = np.random.RandomState(split.seed)
    counts = member_counts(len(split.y_train), RESAMPLES, rng)
    return average_members(_members(split, counts), counts)


def _members(split: Split, counts: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the probabilities of the training part by learners that drew its rows so often."""
    X = coded(split)[0]
    classes, y = np.unique(split.y_train, return_inverse=True)
    if split.task.endswith("/qda"):
        return fitted_members(learner(split), X, y, len(classes), counts)
    return bayes_members(X, y, len(classes), counts)


def _kept(split: Split, decisions: np.ndarray) -> Predictions:
    return Predictions({"decisions": decisions, "classes": np.unique(split.y_train).astype(str)})


def _own_costs(split: Split) -> np.ndarray:
    """Return the costs among the classes that the training part holds."""
    own = np.isin(split.cost_matrix.labels, np.unique(split.y_train).astype(str))
    return split.cost_matrix.values[np.ix_(own, own)]


@once_per_split
def _test_proba(split: Split) -> np.ndarray:
    X_train, X_test = coded(split)
    return learner(split).fit(X_train, split.y_train).predict_proba(X_test)


@once_per_split
def _crossfitted(split: Split) -> np.ndarray:
    """Return probabilities of the training part by nine inner folds: 8/10 of the data each."""
    counts = np.ones((INNER_FOLDS, len(split.y_train)), dtype=int)
    folds = KFold(INNER_FOLDS, shuffle=True, random_state=split.seed % 2**31)
    for used, (_, left_out) in zip(counts, folds.split(split.y_train)):
        used[left_out] = 0
    return average_members(_members(split, counts), counts)[1]  # each row by the one without it


def improvements(per_run: dict, per_fold: dict | None = None) -> dict:
    """Return per cent saved against the plug-in rule: ratio of mean costs, jackknife error.

    Of MetaCost's two variants the better one counts, as in the paper; the tasks ``mean`` and
    ``std`` are the mean and the standard deviation over all tasks, there once all have been run.
    """
    figures = {}
    for (task, method, _), costs in per_run.items():
        base = per_run.get((task, "plug_in", "cost"))
        if base is not None and method != "plug_in":
            n = min(len(base), len(costs))
            if base[:n].sum() > 0:
                figures[task, method, IMPROVEMENT] = (*_saving(base[:n], costs[:n]), n)
    for task in {task for task, _, _ in figures}:
        names = [(task, f"metacost_{kind}", IMPROVEMENT) for kind in ("inclusive", "out_of_bag")]
        if all(name in figures for name in names):
            figures[task, "metacost", IMPROVEMENT] = max(figures[name] for name in names)
    for method in {method for _, method, _ in figures}:
        keys = [(task, method, IMPROVEMENT) for task in TASKS]
        if all(key in figures for key in keys):
            saved, errors, runs = np.array([figures[key] for key in keys]).T
            error = math.sqrt(np.sum(errors**2)) / len(TASKS)
            figures["mean", method, IMPROVEMENT] = (saved.mean(), error, int(runs.min()))
            figures["std", method, SPREAD] = (saved.std(ddof=1), 0.0, int(runs.min()))
    return figures


def _saving(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Return per cent saved by the sums over the runs, and its error by the jackknife."""
    saved = 100.0 * (1.0 - after.sum() / before.sum())
    n = len(before)
    if n == 1:
        return saved, 0.0
    left_out = 1.0 - (after.sum() - after) / np.maximum(before.sum() - before, 1e-12)
    return saved, 100.0 * math.sqrt((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2))


def rarity_costs_of(y_train: np.ndarray, rng: Any, labels: np.ndarray) -> CostMatrix:
    """Return N_pred / (N_pred + N_true) with the counts of the training part."""
    counts = np.array([np.sum(y_train == label) for label in labels])
    return CostMatrix(rarity_costs(counts), labels.astype(str))


def random_costs_of(y_train: np.ndarray, rng: Any, labels: np.ndarray) -> CostMatrix:
    """Return costs drawn uniformly from [1, 10]."""
    return random_uniform(labels.astype(str), random_state=rng)


PAPER = Experiment(
    paper="obrien2008",
    title="O'Brien, Gupta, Gray: Cost-sensitive Multi-class Classification from Probability "
    "Estimates, ICML 2008",
    tables=("1",),
    protocol="rarity",
    costs=rarity_costs_of,
    tasks=TASKS,
    methods={
        **methods_of(plug_in, metacost_inclusive, metacost_out_of_bag, lf, partition),
        **methods_of(shrunk_partition, ours=True),
    },
    split=stratified_fold(10),
    metrics={"cost": partial(by_costs, total_cost)},
    summarize=improvements,
    runs=100,
    folds=10,
)
EXPERIMENTS = (PAPER, PAPER.read_as("random", "", tables=("2",), costs=random_costs_of))

READINGS = (
    PAPER.read_as(
        "all_classes",
        "every row and every class, however rare",
        tasks=tasks_of("obrien2008", min_class_size=1, first_rows=None),
        runs=5,
    ),
    PAPER.read_as(
        "least_qda",
        "covariances regularised as little as needed",
        tasks={name: load for name, load in TASKS.items() if name.endswith("/qda")},
        runs=5,
    ),
)
