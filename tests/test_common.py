"""Every classifier of the package meets scikit-learn's contract and the contract of costs."""

import inspect

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes.utils import all_estimators
from stakes.utils.estimator_checks import cost_checks

# Small settings, so that the checks stay quick; they change no behaviour that is checked.
QUICK = {"n_estimators": 6, "max_iter": 200, "cv": 3}

# Checks that an estimator may fail, each with its reason.
EXPECTED_SKLEARN_FAILURES: dict[str, dict[str, str]] = {}
EXPECTED_COST_FAILURES: dict[str, dict[str, str]] = {}


def make_instance(cls, quick=QUICK):
    parameters = inspect.signature(cls).parameters
    given = {name: value for name, value in quick.items() if name in parameters}
    first = next(iter(parameters.values()), None)
    if first is not None and first.name == "estimator" and first.default is first.empty:
        given["estimator"] = LogisticRegression()
    return cls(**given)


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
