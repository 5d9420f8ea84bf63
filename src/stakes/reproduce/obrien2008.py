"""O'Brien, Gupta, Gray, "Cost-sensitive Multi-class Classification from Probability
Estimates", ICML 2008: Tables 1 and 2.

Improvement over the plug-in rule in per cent, for MetaCost, the method of Lachiche and
Flach, and the parallel partition; a hundred ten-fold cross-validations with nine inner
folds; rarity costs and random costs; naive Bayes and regularised QDA.
"""  # noqa: D205

import math
from dataclasses import replace

import numpy as np
from sklearn.model_selection import KFold

from stakes.compare import Predictions
from stakes.costs import CostMatrix, random_uniform
from stakes.metrics import total_cost
from stakes.reproduce._bagged import (
    average_members,
    bayes_members,
    bootstrap_counts,
    fitted_members,
)
from stakes.reproduce._common import dataset_task, decided_labels, stratified_fold, true_labels
from stakes.reproduce._experiment import Experiment, Method, Split

INNER_FOLDS = 9
RESAMPLES = 100
VALUES = 21
# By how much gamma and lambda rise at a time is not said. Wine tells: the partition and LF save
# 56% and 64% there; ours 58% and 64% with 0.01, 14% and 9% with 0.001, 50% and 53% with 0.05.
QDA_STEP = 0.01
IMPROVEMENT = "percent_improvement"
SPREAD = "spread_of_improvement"

# The tables are ordered by the geometric mean of the class sizes. That order is met, for all
# 21 rows, by the training files alone of Audiology (200 rows) and Horse colic (300) and without
# the classes that have fewer examples than the ten folds; it is not met with all rows or classes.
MIN_CLASS_SIZE = 10
HORSE: dict = {"name": "horse_colic", "first_rows": 300}
DATA: dict[str, dict] = {
    "bridges2_type": {"name": "bridges2"},
    "bridges2_material": {"name": "bridges2", "target": "material"},
    "bridges2_rel_l": {"name": "bridges2", "target": "rel_l"},
    "audiology": {"name": "audiology", "first_rows": 200},
    "horse_site": HORSE,
    "horse_code": {**HORSE, "target": "code"},
    "horse_type": {**HORSE, "target": "type"},
    "horse_subtype": {**HORSE, "target": "subtype"},
    "segmentation": {"name": "segmentation", "variant": "segmentation_train"},
    "flags_religion": {"name": "flags"},
    "flare2_common": {"name": "flare2"},
    **{name: {"name": name} for name in ("glass", "iris", "ecoli", "dermatology", "wine")},
    **{name: {"name": name} for name in ("car", "nursery")},
}
LEARNERS = (  # in the order of the tables
    *(("bridges2_type", "nb"), ("bridges2_material", "nb"), ("audiology", "nb")),
    *(("horse_site", "nb"), ("bridges2_rel_l", "nb"), ("segmentation", "nb")),
    *(("segmentation", "qda"), ("horse_code", "nb"), ("glass", "nb"), ("glass", "qda")),
    *(("flags_religion", "nb"), ("horse_type", "nb"), ("iris", "qda"), ("ecoli", "nb")),
    *(("ecoli", "qda"), ("dermatology", "nb"), ("wine", "qda"), ("horse_subtype", "nb")),
    *(("flare2_common", "nb"), ("car", "nb"), ("nursery", "nb")),
)


def tasks(**changes) -> dict:
    """Return the tasks in the order of the tables, with changes to what is loaded."""
    settings = {"min_class_size": MIN_CLASS_SIZE, **changes}
    return {
        f"{name}/{learner}": dataset_task(**{**DATA[name], **settings})
        for name, learner in LEARNERS
    }


TASKS = tasks()


def coded(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return both parts as the learner takes them: numbers for QDA, value codes for Bayes.

    Values are coded and quantised once on the training part, not anew in each resample.
    """
    from stakes.decision import FeatureQuantizer

    if "coded" not in split.shared:
        if split.task.endswith("/qda"):
            parts = split.X_train.to_numpy(float), split.X_test.to_numpy(float)
        else:
            coder = FeatureQuantizer(VALUES).fit(split.X_train)
            parts = coder.transform(split.X_train), coder.transform(split.X_test)
        split.shared["coded"] = parts
    return split.shared["coded"]


def learner(split: Split):
    """Return the probability estimator that the paper used for a task."""
    from sklearn.naive_bayes import CategoricalNB

    from stakes.decision import RegularizedQDA

    if split.task.endswith("/qda"):
        return RegularizedQDA(step=None if split.protocol == "least_qda" else QDA_STEP)
    # a resample may lack a value: it keeps its place in Laplace's correction
    return CategoricalNB(min_categories=coded(split)[0].max(axis=0) + 1)


def plug_in(split: Split):
    """Decide at least expected cost on the probabilities as they are: the baseline."""
    proba, costs = _test_proba(split), _own_costs(split)
    return _kept(split, (proba @ costs).argmin(axis=1))


def lachiche_flach(split: Split):
    """Learn one weight per class on cross-fitted probabilities."""
    from stakes.decision import LachicheFlach

    return _by_rule(LachicheFlach, split)


def parallel_partition(split: Split):
    """Learn the paper's partition: boundaries parallel to those of the costs."""
    from stakes.decision import ParallelPartition

    return _by_rule(ParallelPartition, split)


def metacost_inclusive(split: Split):
    """MetaCost whose probabilities average all members."""
    return _metacost(split, out_of_bag=False)


def metacost_out_of_bag(split: Split):
    """MetaCost whose probabilities average the members that did not see the example."""
    return _metacost(split, out_of_bag=True)


def shrunk_partition(split: Split):
    """Ours: the partition kept only where its cross-validated gain exceeds one error."""
    from stakes.decision import ParallelPartition

    return _by_rule(ParallelPartition, split, n_passes=5, shrink=True)


def _by_rule(cls, split: Split, **settings):
    classes = np.unique(split.y_train)
    rule = cls(cost_matrix=_own_costs(split), **settings)
    rule.fit(_crossfitted(split), split.y_train)
    return _kept(split, np.searchsorted(classes, rule.predict(_test_proba(split))))


def _metacost(split: Split, *, out_of_bag: bool):
    """Relabel the training part at least expected cost, and learn the new labels."""
    classes = np.unique(split.y_train)
    proba = _bagged(split)[1 if out_of_bag else 0]
    labels = (proba @ _own_costs(split)).argmin(axis=1)
    if (labels == labels[0]).all():
        return _kept(split, np.full(len(split.y_test), labels[0]))
    X_train, X_test = coded(split)
    final = learner(split).fit(X_train, classes[labels])
    return _kept(split, np.searchsorted(classes, final.predict(X_test)))


def _bagged(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the training part's bagged probabilities: all members, and out of bag."""
    if "bagged" not in split.shared:
        X = coded(split)[0]
        classes, y = np.unique(split.y_train, return_inverse=True)
        counts = bootstrap_counts(len(y), RESAMPLES, np.random.RandomState(split.seed))
        if split.task.endswith("/qda"):
            members = fitted_members(learner(split), X, y, len(classes), counts)
        else:
            members = bayes_members(X, y, len(classes), counts)
        split.shared["bagged"] = average_members(members, counts)
    return split.shared["bagged"]


def _kept(split: Split, decisions) -> Predictions:
    return Predictions({"decisions": decisions, "classes": np.unique(split.y_train).astype(str)})


def _own_costs(split: Split) -> np.ndarray:
    """Return the costs among the classes that the training part holds."""
    labels = np.array(split.cost_matrix.labels)
    own = np.searchsorted(labels, np.unique(split.y_train))
    return split.cost_matrix.values[np.ix_(own, own)]


def _test_proba(split: Split) -> np.ndarray:
    if "test" not in split.shared:
        X_train, X_test = coded(split)
        split.shared["test"] = learner(split).fit(X_train, split.y_train).predict_proba(X_test)
    return split.shared["test"]


def _crossfitted(split: Split) -> np.ndarray:
    """Return probabilities of the training part by nine inner folds: 8/10 of the data each."""
    if "cross" not in split.shared:
        X = coded(split)[0]
        classes, y = np.unique(split.y_train, return_inverse=True)
        proba = np.zeros((len(y), len(classes)))
        folds = KFold(INNER_FOLDS, shuffle=True, random_state=split.seed % 2**31)
        for train, test in folds.split(y):
            model = learner(split).fit(X[train], split.y_train[train])
            own = np.searchsorted(classes, model.classes_)
            proba[np.ix_(test, own)] = model.predict_proba(X[test])
        split.shared["cross"] = proba
    return split.shared["cross"]


def _cost(split: Split, predictions) -> float:
    return total_cost(
        true_labels(split),
        decided_labels(predictions),
        cost_matrix=CostMatrix(
            split.cost_matrix.values, [str(label) for label in split.cost_matrix.labels]
        ),
    )


def improvements(per_run: dict, per_fold: dict | None = None) -> dict:
    """Return per cent saved against the plug-in rule: ratio of mean costs, jackknife error.

    Of MetaCost's two variants the better one counts, as in the paper; the tasks ``mean`` and
    ``std`` are the mean and the standard deviation over all tasks, there once all have been run.
    """
    figures = {}
    for (task, method, _), costs in per_run.items():
        base = per_run.get((task, "plug_in", "cost"))
        if base is None or method == "plug_in":
            continue
        n = min(len(base), len(costs))
        before, after = base[:n], costs[:n]
        if before.sum() == 0:
            continue
        saved = 100.0 * (1.0 - after.sum() / before.sum())
        error = 0.0
        if n > 1:
            left_out = [
                100.0 * (1.0 - (after.sum() - after[i]) / max(before.sum() - before[i], 1e-12))
                for i in range(n)
            ]
            error = math.sqrt((n - 1) / n * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
        figures[task, method, IMPROVEMENT] = (saved, error, n)
    for task in {task for task, _, _ in figures}:
        variants = [
            figures[key] for key in figures if key[0] == task and key[1].startswith("metacost_")
        ]
        if len(variants) == 2:
            figures[task, "metacost", IMPROVEMENT] = max(variants)
    for method in {method for _, method, _ in figures}:
        of_method = [
            figures[task, method, IMPROVEMENT]
            for task in TASKS
            if (task, method, IMPROVEMENT) in figures
        ]
        if len(of_method) == len(TASKS):
            saved, errors, runs = np.array(of_method).T
            error = math.sqrt(np.sum(errors**2)) / len(TASKS)
            figures["mean", method, IMPROVEMENT] = (saved.mean(), error, int(runs.min()))
            figures["std", method, SPREAD] = (saved.std(ddof=1), 0.0, int(runs.min()))
    return figures


def rarity_costs_of(y_train, rng, labels) -> CostMatrix:
    """Return N_pred / (N_pred + N_true) with the counts of the training part."""
    from stakes.costs.arithmetic import rarity_costs

    counts = np.array([np.sum(y_train == label) for label in labels])
    return CostMatrix(rarity_costs(counts), labels)


def random_costs_of(y_train, rng, labels) -> CostMatrix:
    """Return costs drawn uniformly from [1, 10]."""
    return random_uniform(labels, random_state=rng)


def _experiment(table: str, protocol: str, costs) -> Experiment:
    return Experiment(
        paper="obrien2008",
        title="O'Brien, Gupta, Gray: Cost-sensitive Multi-class Classification from Probability "
        "Estimates, ICML 2008",
        tables=(table,),
        protocol=protocol,
        tasks=TASKS,
        methods={
            "plug_in": Method(plug_in),
            "metacost_inclusive": Method(metacost_inclusive),
            "metacost_out_of_bag": Method(metacost_out_of_bag),
            "lf": Method(lachiche_flach),
            "partition": Method(parallel_partition),
            "shrunk_partition": Method(shrunk_partition, ours=True),
        },
        split=stratified_fold(10),
        costs=costs,
        metrics={"cost": _cost},
        summarize=improvements,
        runs=100,
        folds=10,
    )


EXPERIMENTS = (
    _experiment("1", "rarity", rarity_costs_of),
    _experiment("2", "random", random_costs_of),
)

READINGS = {
    "all_classes": replace(
        EXPERIMENTS[0],
        protocol="all_classes",
        says="every row and every class, however rare",
        tasks=tasks(min_class_size=1, first_rows=None),
        runs=5,
    ),
    "least_qda": replace(
        EXPERIMENTS[0],
        protocol="least_qda",
        says="covariances regularised as little as needed",
        tasks={name: load for name, load in TASKS.items() if name.endswith("/qda")},
        runs=5,
    ),
}
