"""Tries at silence where costs, rows and labels come in: each is right, or refused, or said.

Tables and the commands that read them have a file of their own beside this one.
"""

import importlib
import inspect
import pydoc
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.instances import cost_sensitive_estimators, make_instance

import stakes.compare
from stakes.cli._capacity import read_capacity
from stakes.cli._errors import UserError
from stakes.compare import compare, fit_model
from stakes.costs import CostMatrix, CostWarning, binary_cost_tensor
from stakes.datasets import load_dataset
from stakes.decision import (
    BinaryThreshold,
    CostDecisionClassifier,
    MinimumExpectedCost,
    ParallelPartition,
    ProbabilityCalibrator,
    decide_within,
)
from stakes.decision._calibration import METHODS
from stakes.metrics import (
    average_cost,
    make_cost_scorer,
    savings_score,
    stochastic_cost,
    total_cost,
)
from stakes.monitor import Monitor, estimate_cost
from stakes.tree import CostTreeClassifier

CLASSES = [
    cls for cls in cost_sensitive_estimators() if "costs" in inspect.signature(cls.fit).parameters
]
rng = np.random.RandomState(0)
N = 120
Y = np.arange(N) % 2
X = rng.normal(size=(N, 3)) + Y[:, None]
AMOUNT = rng.exponential(5.0, N) + 0.1
TENSOR = binary_cost_tensor(fp_cost=1.0, fn_cost=AMOUNT)
RISK = np.array(["good", "bad"])[Y]  # "bad" is the positive class, and the first by the alphabet
# Missing a bad one costs 5.
MEANT = CostMatrix.binary(fp=1, fn=5, labels=["bad", "good"], positive="bad")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# -- prices that are missing when deciding -------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_forgotten_prices_of_rows_are_refused(cls):
    model = make_instance(cls).fit(X, Y, cost_tensor=TENSOR)
    if not model._weighs_cost_tensor:  # learns what to decide: nothing is forgotten
        assert len(model.predict(X)) == N
        return
    for method in {"predict", "expected_costs"} & set(dir(cls)):
        with pytest.raises(
            ValueError, match="was fitted with costs known when deciding: give the"
        ):
            getattr(model, method)(X)
    average = model.predict(X, cost_tensor=model.cost_matrix_)  # asked for by name
    everywhere = np.broadcast_to(model.cost_matrix_, (N, 2, 2))
    assert (average == model.predict(X, cost_tensor=everywhere)).all()


@pytest.mark.parametrize("rule", [MinimumExpectedCost, ParallelPartition])
def test_a_rule_learned_at_prices_of_rows_asks_for_them(rule):
    proba = LogisticRegression().fit(X, Y).predict_proba(X)
    fitted = rule().fit(proba, Y, cost_tensor=TENSOR)
    with pytest.raises(ValueError, match=f"{rule.__name__} was fitted with costs known when"):
        fitted.predict(proba)
    assert len(fitted.predict(proba, cost_tensor=TENSOR)) == N


@pytest.mark.parametrize("rule", ["most_probable", "binary_threshold"])
def test_a_rule_that_prices_of_rows_do_not_move_does_without(rule):
    model = CostDecisionClassifier(LogisticRegression(), rule=rule, cv=3)
    assert len(model.fit(X, Y, cost_tensor=TENSOR).predict(X)) == N


# -- costs without labels -------------------------------------------------------------------------

UNLABELLED = {
    "list": [[0, 1], [5, 0]],
    "array": np.array([[0.0, 1.0], [5.0, 0.0]]),
    "binary": CostMatrix.binary(fp=1, fn=5),
    "by row": [[0, 1], [1, 2]],
}
NO_ORDER = [["good", "bad"], ["M", "F"], ["10", "9"], ["b1", "a1"], ["Yes", "no!"]]
IN_ORDER = [[0, 1], [False, True], [-1, 1], [1.0, 2.0], ["no", "yes"], ["0", "1"]]


@pytest.mark.parametrize("given", UNLABELLED)
@pytest.mark.parametrize("labels", NO_ORDER)
def test_costs_without_labels_do_not_go_by_the_alphabet(labels, given):
    y, matrix = np.array(labels)[Y], UNLABELLED[given]
    match = "nothing but the alphabet puts the classes .* the other way round, deciding"
    if given == "by row":  # the dearest is a right decision
        match = "nothing but the alphabet puts the classes"
    doors = [
        lambda: CostTreeClassifier(matrix, max_depth=2).fit(X, y),
        lambda: compare(X, y, cost_matrix=matrix, methods=["tree"], cv=2),
        lambda: total_cost(y, y, cost_matrix=matrix),
        lambda: savings_score(y, y, cost_matrix=matrix),
        lambda: MinimumExpectedCost(cost_matrix=matrix).fit(np.full((N, 2), 0.5), y),
        lambda: make_cost_scorer(matrix)(LogisticRegression().fit(X, y), X, y),
    ]
    for door in doors:
        with pytest.raises(ValueError, match=match):
            door()


@pytest.mark.parametrize("labels", IN_ORDER)
def test_classes_with_an_order_of_their_own_take_it(labels):
    y = np.array(labels)[Y]
    model = CostTreeClassifier([[0, 1], [5, 0]], max_depth=2).fit(X, y)
    assert model.score(X, y) == -average_cost(y, model.predict(X), cost_matrix=[[0, 1], [5, 0]])


@pytest.mark.parametrize(
    "matrix", [None, "zero_one", "imbalance", [[0, 7], [7, 0]], [[2, 3], [3, 2]]]
)
def test_costs_that_are_the_same_in_any_order_need_no_labels(matrix):
    assert CostTreeClassifier(matrix, max_depth=2).fit(X, RISK).classes_.tolist() == [
        "bad",
        "good",
    ]


def test_the_ways_out_mean_the_same():
    ways = [
        MEANT,
        CostMatrix([[0, 1], [5, 0]], labels=["good", "bad"]),
        CostMatrix.binary(fp=1, fn=5, labels=["good", "bad"]),
        pd.DataFrame([[0, 1], [5, 0]], index=["good", "bad"], columns=["good", "bad"]),
    ]
    decided = [CostTreeClassifier(way, max_depth=2).fit(X, RISK).predict(X) for way in ways]
    for other in decided[1:]:
        assert (decided[0] == other).all()
    with pytest.raises(ValueError, match="positive='ill' must be one of two labels"):
        CostMatrix.binary(fp=1, fn=5, labels=["bad", "good"], positive="ill")
    with pytest.raises(ValueError, match="positive='bad' must be one of two labels"):
        CostMatrix.binary(fp=1, fn=5, positive="bad")


def test_a_fitted_model_is_scored_by_its_own_costs_and_by_others_that_name_the_classes():
    model = CostTreeClassifier(MEANT, max_depth=2).fit(X, RISK)
    paid = average_cost(RISK, model.predict(X), cost_matrix=MEANT)
    assert model.score(X, RISK) == model.score(X, RISK, cost_matrix=MEANT) == -paid
    with pytest.raises(ValueError, match="nothing but the alphabet"):
        model.score(X, RISK, cost_matrix=[[0, 1], [5, 0]])


def test_clones_inside_others_keep_working():
    tree = CostTreeClassifier(MEANT, max_depth=2, random_state=0)
    bagged = BaggingClassifier(tree, n_estimators=3, random_state=0)
    with pytest.warns(CostWarning, match="0 is 'bad', 1 is 'good'"):  # it encodes the labels
        bagged.fit(X, RISK)
    assert set(bagged.predict(X)) == {"bad", "good"}
    search = GridSearchCV(tree, {"max_depth": [1, 2]}, cv=3, scoring=make_cost_scorer(MEANT))
    assert search.fit(X, RISK).best_score_ < 0
    plain = GridSearchCV(CostTreeClassifier([[0, 1], [5, 0]]), {"max_depth": [1, 2]}, cv=3)
    with pytest.raises(ValueError, match="nothing but the alphabet"):
        plain.fit(X, RISK)


# -- a row of weight 0 is a row that is not there -------------------------------------------------

WEIGHT = np.where(np.arange(N) % 4 == 3, 0.0, 1.0)
KEPT = np.flatnonzero(WEIGHT)
# What rows of weight 0 say, were they listened to, is very different.
LOUD = np.where(WEIGHT == 0, 500.0, 1.0)
COSTS_OF_ROWS = {
    "class": {},
    "rarity": {"cost_matrix": "rarity"},
    "imbalance": {"cost_matrix": "imbalance"},
    "hindsight": {"costs": TENSOR[np.arange(N), Y] * np.column_stack([np.ones(N), LOUD])},
    "deciding": {"cost_tensor": TENSOR * np.array([[0, 1], [1, 0]])[None] * LOUD[:, None, None]},
}


@pytest.mark.parametrize("kind", COSTS_OF_ROWS)
@pytest.mark.parametrize("cls", CLASSES)
def test_a_row_of_weight_0_is_not_there(cls, kind):
    given = dict(COSTS_OF_ROWS[kind])
    params = {"cost_matrix": given.pop("cost_matrix", None if given else [[0, 1], [5, 0]])}
    model = make_instance(cls).set_params(**params)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    y = np.where(WEIGHT == 0, 1, Y)  # of the rows that count, two thirds are 0
    there = clone(model).fit(X, y, sample_weight=WEIGHT, **given)
    gone = {name: values[KEPT] for name, values in given.items()}
    left_out = clone(model).fit(X[KEPT], y[KEPT], sample_weight=WEIGHT[KEPT], **gone)
    np.testing.assert_array_equal(there.cost_matrix_, left_out.cost_matrix_)
    known = {"cost_tensor": TENSOR} if left_out._weighs_cost_tensor and kind == "deciding" else {}
    np.testing.assert_array_equal(there.predict(X, **known), left_out.predict(X, **known))


def test_class_prices_are_averages_by_weight():
    # Misses of 2 (weight 3) and 6 (weight 1) cost 3 on average.
    y, costs = np.array([0, 1, 1]), np.array([[0.0, 1.0], [2.0, 0.0], [6.0, 0.0]])
    model = CostTreeClassifier(min_samples_leaf=1)
    model.fit([[0], [1], [2]], y, sample_weight=[1, 3, 1], costs=costs)
    assert model.cost_matrix_.tolist() == [[0.0, 1.0], [3.0, 0.0]]


@pytest.mark.parametrize("method", METHODS)
def test_weights_count_in_every_calibration(method):
    proba = np.random.RandomState(1).dirichlet([1, 1], N)
    whole = ProbabilityCalibrator(method, n_bins=4)
    gone = clone(whole).fit(proba[KEPT], Y[KEPT]).transform(proba)
    there = clone(whole).fit(proba, Y, WEIGHT).transform(proba)
    np.testing.assert_allclose(there, gone, atol=1e-9)
    times = 1 + np.arange(N) % 3
    again = clone(whole).fit(np.repeat(proba, times, 0), np.repeat(Y, times), np.ones(times.sum()))
    weighed = clone(whole).fit(proba, Y, times.astype(float))
    if method != "binning":  # of repeated rows the edges of bins lie between two of them
        np.testing.assert_allclose(weighed.transform(proba), again.transform(proba), atol=1e-4)
    else:
        edges = weighed.numbers()["maps"][0]["edges"]
        place = np.searchsorted(edges, proba[:, 1], side="right")
        assert np.ptp(np.bincount(place, times)) <= 6


@pytest.mark.parametrize("name", ["rarity", "imbalance"])
def test_measures_that_count_classes_leave_out_rows_of_weight_0(name):
    decided = 1 - Y
    y = np.where(WEIGHT == 0, 1, Y)
    there = average_cost(y, decided, cost_matrix=name, sample_weight=WEIGHT)
    assert there == pytest.approx(average_cost(y[KEPT], decided[KEPT], cost_matrix=name))


# -- what stands beside X -------------------------------------------------------------------------

FRAME = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"client {i}" for i in range(N)])
BESIDE = {
    "y": pd.Series(Y, index=FRAME.index),
    "sample_weight": pd.Series(np.linspace(0.5, 2, N), index=FRAME.index),
    "costs": pd.DataFrame(TENSOR[np.arange(N), Y], columns=[0, 1], index=FRAME.index),
    "groups": pd.Series(np.arange(N) // 3, index=FRAME.index),
    "time": pd.Series(np.arange(N), index=FRAME.index),
    "test": pd.Series(np.arange(N) >= 90, index=FRAME.index),
    "baseline": pd.Series(1 - Y, index=FRAME.index),
}
TURNS = {
    "reversed": lambda s: s[::-1],
    "sorted as text": lambda s: s.sort_index(),
    "shuffled": lambda s: s.sample(frac=1, random_state=0),
    "two changed places": lambda s: s.iloc[[1, 0, *range(2, N)]],
    "of other rows": lambda s: s.set_axis([f"client {i + 1}" for i in range(N)]),
}
DOORS = {
    "fit": (("y", "sample_weight", "costs"), lambda **g: make_tree().fit(FRAME, **g)),
    "fit an array": (("sample_weight", "costs"), lambda **g: make_tree().fit(X, **g)),
    "score": (
        ("y", "sample_weight", "costs"),
        lambda y, **g: make_tree().fit(FRAME, Y).score(FRAME, y, **g),
    ),
    "rule": (
        ("sample_weight", "costs"),
        lambda y, **g: MinimumExpectedCost().fit(np.full((N, 2), 0.5), y, **g),
    ),
    "measure": (
        ("sample_weight", "costs"),
        lambda y, **g: average_cost(y, np.ones(N, dtype=int), **g),
    ),
    "compare": (("y", "costs"), lambda **g: make_compare(**g)),
    "compare in time": (("time", "baseline"), lambda **g: make_compare(**g)),
    "compare in groups": (("groups",), lambda **g: make_compare(**g)),
    "compare a part": (("test",), lambda **g: make_compare(**g)),
}


def make_tree():
    return CostTreeClassifier(max_depth=2)


def make_compare(y, **given):
    return compare(FRAME, y, methods=["tree"], cv=2, **given)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(("door", "what"), [(d, w) for d in DOORS for w in DOORS[d][0]])
def test_columns_whose_index_names_other_rows_are_refused(door, what, turn):
    names, enter = DOORS[door]
    given = {name: BESIDE[name] for name in {"y", *names}}
    with pytest.raises(
        ValueError, match=r"The index of \w+ is (not )?that of \w+.*: give .*to_numpy"
    ):
        enter(**given | {what: TURNS[turn](given[what])})


@pytest.mark.parametrize("door", DOORS)
def test_columns_whose_index_is_that_of_x_or_only_counts_are_taken(door):
    names, enter = DOORS[door]
    given = {name: BESIDE[name] for name in {"y", *names}}
    enter(**given)
    enter(**{name: values.reset_index(drop=True) for name, values in given.items()})


def test_truth_in_another_order_is_no_truth():
    model = fit_model(FRAME, BESIDE["y"], "mec", cost_matrix=[[0, 1], [5, 0]], fast=True)
    turned = BESIDE["y"][::-1]
    with pytest.raises(ValueError, match="The index of y is that of X in another order"):
        estimate_cost(model, FRAME, reference=(FRAME, turned))
    watch = Monitor(model, reference=(FRAME, BESIDE["y"]))
    with pytest.raises(ValueError, match="The index of y is that of X in another order"):
        watch.update(FRAME, turned)
    watch.update(FRAME, label="first")
    with pytest.raises(ValueError, match="The index of y is that of X in another order"):
        watch.add_truth(FRAME, turned, "first")


# -- which rows are learned from ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "match"),
    [
        (
            (np.arange(N) >= 90).astype(int),
            "0 or 1 for each row, which would be the numbers of two",
        ),
        ((np.arange(N) >= 90).astype(float), "test must be a mask of True and False"),
        ((np.arange(N) >= 90).astype(str), "test must be a mask of True and False"),
        ((np.arange(N - 1) >= 90), "test has 119 values for 120 rows: one for each"),
        ([0, 1, N], "test has 120, which is none of the rows 0 to 119"),
        ([-1, 3], "test has -1, which is none of the rows"),
        ([3, 3, 4], "test has a row twice of the rows"),
    ],
)
def test_a_mask_that_is_none(test, match):
    with pytest.raises(ValueError, match=match):
        make_compare(Y, test=test)


@pytest.mark.parametrize(
    "time",
    [
        [str(i) for i in range(N)],
        [f"{1 + i % 28}.{1 + i // 28:02}.2024" for i in range(N)],
        [f"{i % 12 + 1}/1/2024" for i in range(N)],
        [["January", "February", "March"][i // 40] for i in range(N)],
        ["2024-01-05", *["2024-01-05 10:00"] * (N - 1)],
    ],
)
def test_text_is_not_put_in_the_order_of_the_alphabet(time):
    with pytest.raises(
        ValueError, match="which would be taken in the order of the alphabet: give"
    ):
        make_compare(Y, time=time)


def test_dates_as_text_whose_alphabet_is_time_are_right():
    days = pd.date_range("2023-12-20", periods=N)
    text = make_compare(Y, time=days.strftime("%Y-%m-%d").to_numpy())
    assert text.table["cost"].equals(make_compare(Y, time=days).table["cost"])


@pytest.mark.parametrize("twin", ["c1 ", " c1", "c1\t", "c\u00a01"])
def test_groups_told_apart_by_blanks_are_refused(twin):
    groups = np.array([f"c{i // 3}" for i in range(N)], dtype=object)
    groups[3] = twin
    if twin == "c\u00a01":
        groups[4] = "c 1"
    with pytest.raises(ValueError, match="which differ by blanks alone and would be two groups"):
        make_compare(Y, groups=groups)


# -- limits, tables of costs, probabilities, stored fits -------------------------------------------


@pytest.mark.parametrize("limit", [1, 3, 4, 7, 11, (2, 4), (4, 4), 0.05])
@pytest.mark.parametrize("folds", [2, 3, 5, 7])
def test_limits_of_folds_add_up_to_those_of_all_rows(limit, folds):
    found = compare(
        X, Y, cost_matrix=[[0, 1], [50, 0]], methods=["tree"], cv=folds, capacity={1: limit}
    )
    decided = found.results["tree"].decisions
    least, most = limit if isinstance(limit, tuple) else (0, limit)
    most = int(most * N) if most < 1 else most
    assert least <= (decided == 1).sum() == most  # a miss is dear: every place is taken


@pytest.mark.parametrize("labels", [["a", "a"], ["a", "b", "a"]])
def test_two_decisions_of_one_label_are_refused(labels):
    with pytest.raises(ValueError, match="Two decisions have one label"):
        decide_within(np.ones((4, len(labels))), {"a": 1}, labels=labels)


@pytest.mark.parametrize("text", ["bad=1.0", "bad=1e0", "bad=0..1.0"])
def test_a_limit_that_is_a_row_or_all_of_them_is_refused(text):
    with pytest.raises(UserError, match="write 1 for one row, or 100% for all of them"):
        read_capacity([text], ["bad", "good"])


@pytest.mark.parametrize(
    ("rows", "columns", "turned"),
    [
        ("predicted", "true", True),
        ("predicted", None, True),
        ("decision", None, True),
        (None, "actual", True),
        ("true", "predicted", False),
        ("actual class", None, False),
        (None, None, False),
        ("client", "branch", False),
        (0, 1, False),
    ],
)
def test_a_table_whose_axes_are_named_is_read_by_their_names(rows, columns, turned):
    values = [[0.0, 1.0], [5.0, 0.0]]
    frame = pd.DataFrame(values, index=["good", "bad"], columns=["good", "bad"])
    frame = frame.rename_axis(index=rows, columns=columns)
    if turned:
        with pytest.warns(CostWarning, match="rows were read as the decisions"):
            matrix = CostMatrix.from_frame(frame)
    else:
        matrix = CostMatrix.from_frame(frame)
    assert matrix.cost(true="bad", predicted="good") == (1 if turned else 5)
    assert CostMatrix.from_frame(matrix.to_frame()) == matrix


@pytest.mark.parametrize("proba", [[[50.0, 50.0]], [[0.5, 0.4]], [[1.5, -0.5]]])
def test_what_is_no_probability_has_no_expected_cost(proba):
    with pytest.raises(ValueError, match="proba has rows that do not sum to 1, or negative ones"):
        stochastic_cost([0, 1, 0], proba * 3, cost_matrix=[[0, 2], [8, 0]])


OWN = """
from sklearn.base import BaseEstimator, ClassifierMixin
import numpy as np

class Own(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[{at}])
"""


def test_a_class_that_was_edited_is_fitted_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    costs = {}
    for at in (0, 1, 0):
        (tmp_path / "own_of_mine.py").write_text(OWN.format(at=at))
        sys.modules.pop("own_of_mine", None)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        own = importlib.import_module("own_of_mine").Own()
        given = {"cost_matrix": [[0, 1], [5, 0]], "methods": {"own": own}, "cv": 2}
        found = compare(X, Y, **given, store=tmp_path / "runs")
        costs.setdefault(at, []).append(found.table.loc["own", "cost"])
    assert costs[0][0] == costs[0][1] == 2.5
    assert costs[1] == [0.5]
    sys.modules.pop("own_of_mine")


def test_a_function_that_nobody_can_compare_is_fitted_again(tmp_path):
    for factor in (1.0, 0.0):
        step = FunctionTransformer(lambda X, factor=factor: X * factor)
        own = make_pipeline(step, LogisticRegression())
        given = {"cost_matrix": [[0, 1], [1, 0]], "methods": {"own": own}, "cv": 2}
        found = compare(X, Y, **given, store=tmp_path / "runs")
        assert (found.table.loc["own", "cost"] < 0.4) == (factor == 1.0)


@pytest.mark.parametrize("costs", [{"fp": 1, "fn": 5}, {(0, 1): 1, (1, 0): 5}])
def test_costs_as_a_dict_are_refused_in_a_sentence(costs):
    for door in (
        lambda: CostDecisionClassifier(LogisticRegression(), cost_matrix=costs).fit(X, Y),
        lambda: compare(X, Y, cost_matrix=costs, methods=["tree"]),
        lambda: average_cost(Y, Y, cost_matrix=costs),
    ):
        with pytest.raises((ValueError, TypeError), match="dict"):
            door()


def test_costs_in_the_wrong_place_are_sent_to_the_right_one():
    model = CostDecisionClassifier(LogisticRegression())
    with pytest.raises(
        TypeError, match="cost_matrix is a parameter of the classifier, not of fit"
    ):
        model.fit(X, Y, cost_matrix=[[0, 1], [5, 0]])


def test_help_and_printing_say_what_a_thing_is():
    text = pydoc.render_doc(stakes.compare, renderer=pydoc.plaintext)
    assert text.index("methods : list") < text.index("PACKAGE CONTENTS")
    said = repr(load_dataset("iris"))
    assert said.startswith("iris: 150 rows x 4 columns, classes 'setosa', ")
    assert len(said) < 300


@pytest.mark.parametrize("dtype", ["string", "Int64", "boolean", object])
def test_a_target_with_gaps_is_refused_in_a_sentence(dtype):
    labels = {"string": ["a", "b"], "Int64": [0, 1], "boolean": [False, True], object: ["a", "b"]}
    y = pd.Series(np.array(labels[dtype], dtype=object)[Y], dtype=dtype)
    y[3] = pd.NA
    with pytest.raises(ValueError, match="contains NaN|missing in 1 row, the first of them row 4"):
        CostTreeClassifier().fit(X, y)
    with pytest.raises(
        ValueError, match="The target is missing in 1 row, the first of them row 4"
    ):
        compare(X, y, methods=["tree"], cv=2)


def test_scikit_learn_tunes_a_threshold_at_costs():
    # A miss costs 20: the threshold is far below a half, and cheaper than a half.
    scorer = make_cost_scorer([[0, 1], [20, 0]])
    plain = LogisticRegression().fit(X, Y)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer, cv=3).fit(X, Y)
    assert tuned.best_threshold_ < 0.3
    assert scorer(tuned, X, Y) > scorer(plain, X, Y)
    with pytest.raises(TypeError, match="Thresholds are tuned at class costs"):
        TunedThresholdClassifierCV(LogisticRegression(), scoring=make_cost_scorer(), cv=3).fit(
            X, Y
        )


def test_a_threshold_may_be_1():
    # A false alarm costs 5: of four that are sure to be positive three are not, so that none is
    # decided positive, at 2 misses of 1. Any threshold below 1 costs 15 at the least.
    p, y = np.array([0.1, 0.2, 0.9, 1, 1, 1, 1]), np.array([0, 0, 1, 0, 0, 0, 1])
    proba = np.column_stack([1 - p, p])
    rule = BinaryThreshold(cost_matrix=[[0, 5], [1, 0]]).fit(proba, y)
    assert rule.threshold_ == 1.0
    assert rule.cost_ == pytest.approx(2 / 7)
    assert not rule.predict(proba).any()
