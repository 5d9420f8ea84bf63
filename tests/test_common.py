"""Every classifier of the package meets scikit-learn's contract and the contract of costs."""

import inspect

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes.utils import all_estimators
from stakes.utils.estimator_checks import cost_checks
from tests.instances import make_instance

# Checks that an estimator may fail, each with its reason.
EXPECTED_SKLEARN_FAILURES: dict[str, dict[str, str]] = {
    name: {"check_sample_weight_equivalence_on_dense_data": "folds are dealt by rows, not weights"}
    for name in ("StakesClassifier", "ExpectedCostBoostingClassifier")
} | {
    name: {"check_sample_weight_equivalence_on_dense_data": "its default learner counts rows"}
    for name in (
        "CostRegressionClassifier",
        "FilterTreeClassifier",
        "WeightedAllPairsClassifier",
    )
}
EXPECTED_SKLEARN_FAILURES["BacingClassifier"] = EXPECTED_SKLEARN_FAILURES["ArcX4Classifier"] = {
    f"check_sample_weight_equivalence_on_{kind}_data": "samples are drawn row by row"
    for kind in ("dense", "sparse")
}
EXPECTED_SKLEARN_FAILURES["CostTreeClassifier"] = {
    "check_sample_weight_equivalence_on_dense_data": "min_samples_leaf counts rows, not weights"
}
EXPECTED_SKLEARN_FAILURES["CostForestClassifier"] = {
    "check_sample_weight_equivalence_on_dense_data": "the rows of a tree are drawn one by one"
}
EXPECTED_SKLEARN_FAILURES["AdaBoostNCClassifier"] = EXPECTED_SKLEARN_FAILURES[
    "SMOTEBoostClassifier"
] = {"check_sample_weight_equivalence_on_dense_data": "smaller classes are drawn again by rows"}
for _name in (
    "AverageCostClassifier",
    "CostingClassifier",
    "DataSpaceExpansionClassifier",
    "GBSEClassifier",
    "IterativeWeightingClassifier",
    "MetaCostClassifier",
):
    EXPECTED_SKLEARN_FAILURES[_name] = {
        "check_sample_weight_equivalence_on_dense_data": "samples are drawn row by row"
    }
EXPECTED_SKLEARN_FAILURES["CostSensitiveOneVsOneClassifier"] = {
    "check_sample_weight_equivalence_on_dense_data": "its default tree counts rows, not weights"
}
EXPECTED_COST_FAILURES: dict[str, dict[str, str]] = {}


INSTANCES = [make_instance(cls) for _, cls in all_estimators()]
COST_INSTANCES = [
    (make_instance(cls), name, check)
    for _, cls in all_estimators()
    if "cost_matrix" in inspect.signature(cls).parameters
    for name, check in cost_checks()
]


@parametrize_with_checks(
    INSTANCES,
    expected_failed_checks=lambda e: EXPECTED_SKLEARN_FAILURES.get(type(e).__name__, {}),
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
