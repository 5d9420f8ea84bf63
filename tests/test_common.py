"""Every classifier meets scikit-learn's contract and the contract of costs; names mean one thing."""

import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes.utils.estimator_checks import cost_checks
from tests.instances import (
    QUICK,
    all_estimators,
    cost_sensitive_estimators,
    make_instance,
    public_estimators,
)

# Why weights are not repeated rows, where they are not; for dense and for sparse data alike.
NO_REPEATED_ROWS = {
    "folds are made of rows, not weights": [
        "StakesClassifier",
        "ExpectedCostBoostingClassifier",
        "CascadeClassifier",
    ],
    "its default learner counts rows": [
        "CostRegressionClassifier",
        "FilterTreeClassifier",
        "WeightedAllPairsClassifier",
    ],
    "min_samples_leaf counts rows, not weights": ["CostTreeClassifier"],
    "the rows of a tree are drawn one by one": ["CostForestClassifier"],
    "smaller classes are drawn again by rows": ["SMOTEBoostClassifier"],
    "samples are drawn row by row": [
        "ArcX4Classifier",
        "AverageCostClassifier",
        "BacingClassifier",
        "CostingClassifier",
        "DataSpaceExpansionClassifier",
        "GBSEClassifier",
        "IterativeWeightingClassifier",
        "MetaCostClassifier",
    ],
    "its default tree counts rows, not weights": ["CostSensitiveOneVsOneClassifier"],
}
# Checks that an estimator may fail, each with its reason.
EXPECTED_SKLEARN_FAILURES: dict[str, dict[str, str]] = {
    name: {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}
    for why, names in NO_REPEATED_ROWS.items()
    for name in names
}
# Why prices do not all decide, where they do not: a method's own loss, or too few draws for the tests.
NOT_EVERY_PRICE = {
    "its loss bounds what decisions cost; it is not that": [
        "AdaBoostMMClassifier",
        "CoMBoClassifier",
    ],
    "each example has one weight, whatever else it is taken for": [
        "ArcX4Classifier",
        "AverageCostClassifier",
        "CostingClassifier",
        "SMOTEBoostClassifier",
    ],
    "six members have seen few of the mistakes of the last": ["IterativeWeightingClassifier"],
    "classes as likely as their means are near": ["NearestMeanClassifier"],
}
EXPECTED_COST_FAILURES: dict[str, dict[str, str]] = {
    name: dict.fromkeys(["every_price_decides", "every_example_price_decides"], why)
    for why, names in NOT_EVERY_PRICE.items()
    for name in names
}
for name, why in {
    "AdaBoostNCClassifier": "weights follow the disagreement of members, too",
    "ArcX4Classifier": "six members draw few rows",
    "CoMBoClassifier": "classes count alike, however frequent",
    "SMOTEBoostClassifier": "smaller classes are drawn again until all are as frequent",
}.items():
    EXPECTED_COST_FAILURES.setdefault(name, {})["the_price_of_two_classes_decides"] = why
EXPECTED_COST_FAILURES["NearestMeanClassifier"]["prices_when_deciding_count"] = "as above"
EXPECTED_COST_FAILURES["CoMBoClassifier"]["sample_weight_counts"] = "classes count alike"
EXPECTED_COST_FAILURES["ArcX4Classifier"]["sample_weight_counts"] = "six members draw few rows"


INSTANCES = [make_instance(cls) for _, cls in all_estimators()]
COST_INSTANCES = [
    (make_instance(cls), name, check)
    for cls in cost_sensitive_estimators()
    for name, check in cost_checks()
]


@parametrize_with_checks(
    INSTANCES,
    expected_failed_checks=lambda e: EXPECTED_SKLEARN_FAILURES.get(type(e).__name__, {}),
)
# The checks of sparse data draw the labels at random.
@pytest.mark.filterwarnings(
    "ignore:.*no better than guessing:sklearn.exceptions.ConvergenceWarning"
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "name", "check"),
    COST_INSTANCES,
    ids=[f"{type(e).__name__}-{name}" for e, name, _ in COST_INSTANCES],
)
@pytest.mark.filterwarnings("ignore")  # the checks feed costs that are odd on purpose
def test_cost_contract(estimator, name, check):
    reason = EXPECTED_COST_FAILURES.get(type(estimator).__name__, {}).get(name)
    if reason:
        pytest.xfail(reason)
    check(estimator)


# -- one table of names ----------------------------------------------------------------------

NAMES = Path(__file__).parents[1] / "docs" / "names.md"
# Loops that may stop early do, and optional attributes are set, so that their names show.
FULL = QUICK | {"early_stopping": "cost", "oob_score": True, "random_state": 0}
DATA = np.random.RandomState(0).normal(size=(60, 3))
PUBLIC = public_estimators()
# With few members some rows have no out-of-bag estimate.
few_members = pytest.mark.filterwarnings("ignore:.*out-of-bag")
# What wraps any classifier has the estimator first, every other learner the costs.
WRAPPERS = ("stakes.decision", "stakes.reductions", "stakes.bagging")


def names_of(section):
    """Return the names in the first column of a table of docs/names.md."""
    text = (
        NAMES.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    )
    found = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert found, f"docs/names.md has no table under {section!r}"
    assert len(found) == len(set(found)), f"a name stands twice under {section!r}"
    return set(found)


@cache
def fitted(cls, **given):
    """Return an instance fitted on three classes (two where a rule is for two), or None."""
    n_classes = 2 if cls.__name__ == "BinaryThreshold" else 3
    y = np.arange(len(DATA)) % n_classes
    if issubclass(cls, ClassifierMixin):
        return make_instance(cls, FULL | given).fit(DATA + y[:, None], y)
    if hasattr(cls, "decide"):  # a rule
        return make_instance(cls, FULL).fit(softmax(DATA[:, :n_classes], axis=1), y)
    return None


def parameters_of(cls):
    return dict(inspect.signature(cls).parameters)


def attributes_of(cls):
    found = dir(fitted(cls)) if fitted(cls) is not None else []
    return [name for name in found if name.endswith("_") and not name.startswith("_")]


@pytest.mark.parametrize("cls", PUBLIC)
def test_the_first_parameter_is_the_estimator_or_the_costs(cls):
    parameters = parameters_of(cls)
    positional = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    if not issubclass(cls, ClassifierMixin):
        assert len(positional) <= 1
    elif "stages" in parameters:  # several estimators, as in scikit-learn's own of this kind
        assert positional == ["stages"]
    elif cls.__module__.startswith(WRAPPERS) and "estimator" in parameters:
        assert positional == ["estimator"]
    elif "cost_matrix" in parameters:
        assert positional == ["cost_matrix"]
    else:
        assert len(positional) <= 1


@few_members
@pytest.mark.parametrize("cls", PUBLIC)
def test_no_retired_name_is_used(cls):
    used = {*parameters_of(cls), *attributes_of(cls)}
    assert sorted(used & names_of("Retired names")) == []


@few_members
@pytest.mark.parametrize(
    ("section", "read"),
    [("Parameters", parameters_of), ("Fitted attributes", attributes_of)],
    ids=["parameters", "attributes"],
)
def test_names_that_estimators_share_are_in_the_table(section, read):
    users = Counter(name for cls in PUBLIC for name in read(cls))
    shared = {name for name, n_users in users.items() if n_users >= 2}
    lacking = sorted(shared - names_of(section))
    assert lacking == [], "two or more estimators share these names, but the table lacks them"
    unused = sorted(names_of(section) - set(users))
    assert unused == [], "these names are in the table, but no estimator has them"


@few_members
@pytest.mark.parametrize("cls", PUBLIC)
def test_attributes_mean_what_the_table_says(cls):
    model = fitted(cls)
    for name in ("training_cost_", "initial_cost_", "oob_score_"):
        assert np.isscalar(getattr(model, name, 0.0)), f"{name} should be a number"
    for name in ("training_costs_", "validation_costs_"):
        assert np.ndim(getattr(model, name, [])) == 1, f"{name} should have one per round"
    assert getattr(model, "oob_score_", 0.0) <= 0, "oob_score_ is minus the average cost"
    assert getattr(model, "cost_kind_", "class") == "class"
    if "oob_score" in parameters_of(cls):
        assert hasattr(model, "oob_score_")


@few_members
@pytest.mark.parametrize("cls", [cls for cls in PUBLIC if "n_jobs" in parameters_of(cls)])
def test_n_jobs_means_what_it_means_in_scikit_learn(cls):
    assert parameters_of(cls)["n_jobs"].default is None
    none, one = (fitted(cls, **given).predict(DATA) for given in ({}, {"n_jobs": 1}))
    assert (none == one).all()


@few_members
@pytest.mark.parametrize("cls", [cls for cls in PUBLIC if issubclass(cls, ClassifierMixin)])
def test_verbose_tells_of_each_round_on_standard_error(cls, capfd):
    fitted.__wrapped__(cls)
    quiet = capfd.readouterr()
    assert quiet.out == quiet.err == ""
    if "verbose" not in parameters_of(cls):
        return
    assert parameters_of(cls)["verbose"].default == 0
    fitted.__wrapped__(cls, verbose=1)
    told = capfd.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert lines, "verbose=1 says nothing: without a loop there is no verbose"
    assert all(line.startswith(f"[{cls.__name__}] ") for line in lines)
