"""Rules are declared beside their classes, and everything that lists them reads that."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import stakes
import stakes.decision
from stakes import _methods
from stakes._learning.folds import HoldOut
from stakes.decision import (
    BinaryThreshold,
    ClassThresholds,
    CostDecisionClassifier,
    MinimumExpectedCost,
    ParallelPartition,
    Partition,
    _rule,
)
from stakes.decision._declare import exactly, rule

C = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [20.0, 10.0, 0.0]])
RULE_METHODS = {
    name: method
    for name, method in _methods.declared_methods().items()
    if issubclass(method.cls, _rule.BaseRule)
}
WEIGHING = {"mec", "calibrated", "plain", "partition", "row_partition", "column_partition"}


def setting(n_classes=3, **more):
    return _methods.Setting(n_classes, 300, GaussianNB, cost_matrix=None, **more)


def drawn(n_classes=3, n=300):
    return make_classification(n, n_classes=n_classes, n_informative=4, flip_y=0.2, random_state=0)


def test_the_methods_that_are_rules():
    assert set(RULE_METHODS) == WEIGHING | {
        "thresholds",
        "full_partition",
        "lachiche_flach",
        "mossman",
        "binary_threshold",
        "least_regret",
        "risk_averse",
    }
    for name, method in RULE_METHODS.items():
        assert ("deciding" in method.kinds) == (name in WEIGHING)
        assert {"class", "hindsight"} < set(method.kinds) or name not in WEIGHING
    default = {name for name, method in RULE_METHODS.items() if method.default}
    assert default == {"plain", "mec", "calibrated", "partition", "thresholds"}
    fast = {name for name, method in RULE_METHODS.items() if method.fast}
    assert fast == {"plain", "mec", "calibrated", "partition"}
    assert [name for name, method in RULE_METHODS.items() if method.reference] == ["plain"]


def test_notes_say_what_is_scaled():
    # RowPartition scales the columns of our matrix, [true, predicted]: a factor per decision
    _, y = drawn()
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    for name, by in (("row_partition", (0, "decision")), ("column_partition", (1, "true class"))):
        method = RULE_METHODS[name]
        fitted = method.cls(cost_matrix=C).fit(proba, y)
        ratio = fitted.partition_[C > 0] / C[C > 0]
        factors = np.broadcast_to(np.expand_dims(fitted.parameters_, by[0]), C.shape)
        np.testing.assert_allclose(ratio, factors[C > 0])
        assert method.note.endswith(f"one factor per {by[1]}.")


def test_a_method_is_the_plain_model_with_its_rule():
    built = RULE_METHODS["calibrated"].make(setting(random_state=3, smallest_class=4))
    assert isinstance(built, CostDecisionClassifier)
    assert isinstance(built.estimator, GaussianNB)
    assert isinstance(built.rule, MinimumExpectedCost)
    assert built.calibration == "temperature"
    assert isinstance(built.cv, StratifiedKFold)
    assert (built.cv.n_splits, built.cv.random_state) == (4, 3)
    assert RULE_METHODS["mec"].make(setting()).calibration is None
    fast = RULE_METHODS["partition"].make(setting(fast=True, random_state=3))
    assert isinstance(fast.cv, HoldOut)
    assert (fast.cv.share, fast.cv.random_state) == (0.25, 3)
    assert RULE_METHODS["partition"].make(setting(smallest_class=1)).cv.n_splits == 2


@pytest.mark.parametrize("name", RULE_METHODS)
@pytest.mark.parametrize("fast", [False, True])
def test_every_method_learns_and_decides_with_its_kinds_of_costs(name, fast):
    method = RULE_METHODS[name]
    n_classes = 2 if name == "binary_threshold" else 3
    X, y = drawn(n_classes)
    costs = C[:n_classes, :n_classes]
    tensor = costs * np.random.default_rng(0).lognormal(size=len(y))[:, None, None]
    problem = setting(n_classes, fast=fast)
    given = {"class": {}, "deciding": {"cost_tensor": tensor}, "hindsight": {"costs": costs[y]}}
    for kind in method.kinds:
        assert method.unfit(problem, kind) == ""
        model = method.make(problem)
        if kind == "class":
            model.set_params(cost_matrix=costs)
        model.fit(X, y, **given[kind])
        known = {"cost_tensor": tensor} if kind == "deciding" else {}
        assert set(model.predict(X, **known)) <= set(range(n_classes))
        assert model.cost_kind_ == kind


def test_some_rules_serve_one_number_of_classes():
    reason = RULE_METHODS["mossman"].unfit(setting(4), "class")
    assert reason == "it is for 3 classes, but there are 4"
    assert RULE_METHODS["mossman"].unfit(setting(3), "class") == ""
    reason = RULE_METHODS["binary_threshold"].unfit(setting(3), "class")
    assert reason == "it is for 2 classes, but there are 3"
    assert exactly(2)(setting(2)) == ""


def test_whether_a_classifier_weighs_costs_is_up_to_its_rule():
    def weighs(rule):
        return CostDecisionClassifier(GaussianNB(), rule=rule)._weighs_cost_tensor

    assert weighs("parallel_partition")
    assert weighs(ParallelPartition())
    assert not weighs("class_thresholds")
    assert not weighs(ClassThresholds())
    assert not weighs(BinaryThreshold())
    assert weighs(BinaryThreshold(method="theoretical"))
    X, y = drawn()
    tensor = np.broadcast_to(C, (300, 3, 3))
    model = CostDecisionClassifier(GaussianNB(), rule="class_thresholds").fit(X, y)
    for asked in (model.predict, model.expected_costs):
        with pytest.raises(ValueError, match="ClassThresholds learns where to decide and cannot"):
            asked(X, cost_tensor=tensor)


@pytest.fixture
def _forgotten():
    """Forget what a test declares."""
    rules, methods = dict(_rule._rules), dict(_methods._declared)
    yield
    for known, before in ((_rule._rules, rules), (_methods._declared, methods)):
        known.clear()
        known.update(before)


@pytest.mark.usefixtures("_forgotten")
def test_a_rule_of_ones_own():
    @rule("always_first", method="first", only=exactly(3))
    class AlwaysFirst(MinimumExpectedCost):
        """Always first: the first class, whatever is known."""

        def _numbers(self):
            return Partition.fixed(np.tile([0.0, 1.0, 1.0], (3, 1)))

    X, y = drawn()
    model = CostDecisionClassifier(GaussianNB(), rule="always_first").fit(X, y)
    assert set(model.predict(X)) == {0}
    declared = _methods.declared_methods()["first"]
    assert (declared.title, declared.note) == (
        "Always first",
        "The first class, whatever is known.",
    )
    assert isinstance(declared.make(setting()).rule, AlwaysFirst)
    with pytest.raises(ValueError, match="Two rules are called 'always_first': .*AlwaysFirst and"):
        rule("always_first", method="second")(ParallelPartition)


def test_an_unknown_rule_is_refused_with_the_names():
    X, y = drawn()
    model = CostDecisionClassifier(GaussianNB(), rule="parallel")
    with pytest.raises(ValueError, match="There is no rule 'parallel': .*'parallel_partition'"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="'rule' parameter of CostDecisionClassifier must be"):
        clone(model).set_params(rule=3).fit(X, y)


NEW_RULE = '''
"""A new rule."""

import numpy as np

from stakes.decision._declare import rule
from stakes.decision._numbers import Partition
from stakes.decision._rule import BaseRule


@rule("last_class", method="last_class")
class LastClass(BaseRule):
    """Last class: the last class, whatever is known."""

    _learns = False

    def _numbers(self):
        k = len(self.classes_)
        return Partition.fixed(np.tile(np.arange(k)[::-1].astype(float), (k, 1)))
'''
USE = """
import stakes.decision
from sklearn.dummy import DummyClassifier
from stakes._methods import declared_methods
from stakes.decision import CostDecisionClassifier, LastClass

model = CostDecisionClassifier(DummyClassifier(), rule="last_class").fit([[0]] * 4, [0, 1, 2, 0])
print(model.predict([[0]]), "LastClass" in stakes.decision.__all__)
print(declared_methods()["last_class"].note)
"""


def test_a_new_rule_is_one_new_file(tmp_path):
    package = tmp_path / "stakes"
    shutil.copytree(
        Path(stakes.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "decision" / "_rules" / "_last_class.py").write_text(NEW_RULE)
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout == "[2] True\nThe last class, whatever is known.\n"
