"""O'Brien, Gupta, Gray, "Cost-sensitive Multi-class Classification from Probability
Estimates", ICML 2008: Tables 1 and 2.

Improvement over the plug-in rule in per cent, for MetaCost, the method of Lachiche and
Flach, and the parallel partition; a hundred ten-fold cross-validations with nine inner
folds; rarity costs and random costs; naive Bayes and regularised QDA.
"""  # noqa: D205

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from stakes.compare import Predictions
from stakes.costs import CostMatrix, random_uniform
from stakes.metrics import total_cost
from stakes.reproduce._common import dataset_task, decided_labels, stratified_fold, true_labels
from stakes.reproduce._experiment import Experiment, Method, Split

INNER_FOLDS = 9
RESAMPLES = 100

DATA = {
    "bridges2_type": dataset_task("bridges2"),
    "bridges2_material": dataset_task("bridges2", target="material"),
    "bridges2_rel_l": dataset_task("bridges2", target="rel_l"),
    "audiology": dataset_task("audiology"),
    "horse_site": dataset_task("horse_colic"),
    "horse_code": dataset_task("horse_colic", target="code"),
    "horse_type": dataset_task("horse_colic", target="type"),
    "horse_subtype": dataset_task("horse_colic", target="subtype"),
    "segmentation": dataset_task("segmentation", variant="segmentation_train"),
    "glass": dataset_task("glass"),
    "flags_religion": dataset_task("flags"),
    "iris": dataset_task("iris"),
    "ecoli": dataset_task("ecoli"),
    "dermatology": dataset_task("dermatology"),
    "wine": dataset_task("wine"),
    "flare2_common": dataset_task("flare2"),
    "car": dataset_task("car"),
    "nursery": dataset_task("nursery"),
}
TASKS = {
    f"{name}/{learner}": DATA[name]
    for name, learner in [
        ("bridges2_type", "nb"),
        ("bridges2_material", "nb"),
        ("audiology", "nb"),
        ("horse_site", "nb"),
        ("bridges2_rel_l", "nb"),
        ("segmentation", "nb"),
        ("segmentation", "qda"),
        ("horse_code", "nb"),
        ("glass", "nb"),
        ("glass", "qda"),
        ("flags_religion", "nb"),
        ("horse_type", "nb"),
        ("iris", "qda"),
        ("ecoli", "nb"),
        ("ecoli", "qda"),
        ("dermatology", "nb"),
        ("wine", "qda"),
        ("horse_subtype", "nb"),
        ("flare2_common", "nb"),
        ("car", "nb"),
        ("nursery", "nb"),
    ]
}


def learner_of(task: str):
    """Return the probability estimator that the paper used for a task."""
    from stakes.decision import RegularizedQDA, quantized_naive_bayes

    return RegularizedQDA() if task.endswith("/qda") else quantized_naive_bayes()


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
    from stakes.reductions import MetaCostClassifier

    model = MetaCostClassifier(
        _learner(split),
        cost_matrix=_own_costs(split),
        relabel=True,
        out_of_bag=out_of_bag,
        n_estimators=RESAMPLES,
        sampling="bootstrap",
        max_samples=1.0,
        random_state=split.seed,
    )
    model.fit(split.X_train, split.y_train)
    classes = np.unique(split.y_train)
    return _kept(split, np.searchsorted(classes, model.predict(split.X_test)))


def _kept(split: Split, decisions) -> Predictions:
    return Predictions({"decisions": decisions, "classes": np.unique(split.y_train).astype(str)})


def _learner(split: Split):
    return learner_of(split.task)


def _own_costs(split: Split) -> np.ndarray:
    """Return the costs among the classes that the training part holds."""
    labels = np.array(split.cost_matrix.labels)
    own = np.searchsorted(labels, np.unique(split.y_train))
    return split.cost_matrix.values[np.ix_(own, own)]


def _test_proba(split: Split) -> np.ndarray:
    if "test" not in split.shared:
        model = _learner(split).fit(split.X_train, split.y_train)
        split.shared["test"] = model.predict_proba(split.X_test)
    return split.shared["test"]


def _crossfitted(split: Split) -> np.ndarray:
    """Return probabilities of the training part by nine inner folds: 8/10 of the data each."""
    if "cross" not in split.shared:
        classes, y = np.unique(split.y_train, return_inverse=True)
        proba = np.zeros((len(y), len(classes)))
        folds = KFold(INNER_FOLDS, shuffle=True, random_state=split.seed % 2**31)
        for train, test in folds.split(y):
            model = clone(_learner(split)).fit(split.X_train.iloc[train], split.y_train[train])
            own = np.searchsorted(classes, model.classes_)
            proba[np.ix_(test, own)] = model.predict_proba(split.X_train.iloc[test])
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


def rarity_costs_of(y_train, rng, labels) -> CostMatrix:
    """Return N_pred / (N_pred + N_true) with the counts of the training part."""
    from stakes.costs._matrix import rarity_costs

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
        runs=100,
        folds=10,
    )


EXPERIMENTS = (
    _experiment("1", "rarity", rarity_costs_of),
    _experiment("2", "random", random_costs_of),
)
