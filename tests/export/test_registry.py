"""Every method of the registry either exports and verifies, or says why not."""

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from stakes.compare import UnfitMethodError, fit_model, list_methods
from stakes.compare._registry import all_methods
from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier
from stakes.export import NotExportable, OnnxDecider, from_json, to_c, to_json, to_onnx, to_sql

pytest.importorskip("onnxruntime")
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have valid feature names"),
]
METHODS = all_methods()
PRICES = {
    2: np.array([[0.0, 1.0], [8.0, 0.0]]),
    3: np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]]),
}


def make_data(n_classes, mixed=True, seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n) + y,
            "z": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) * (y + 1)),
        }
    )
    if mixed:
        X["job"] = rng.choice(["cook", "smith", "baker"], n)
    return X, np.array(["a", "b", "c"])[y]


def fitted(name, mixed=True):
    n_classes = 2 if name == "binary_threshold" else 3
    X, y = make_data(n_classes, mixed)
    # nearest neighbours and kernels keep training rows, which files do not hold
    method = name
    if name == "stakes":
        from stakes.auto import StakesClassifier

        method = StakesClassifier(members=["linear", "boosting"], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "stakes":
            return X, method.set_params(cost_matrix=PRICES[3]).fit(X, y)
        return X, fit_model(X, y, method, cost_matrix=PRICES[n_classes])


def agree(model, decider, X):
    """Say whether decisions are the same, but for ties of expected costs."""
    ours, theirs = model.predict(X), decider.run(X)
    differ = ours != theirs["decision"]
    if not differ.any():
        return True
    costs = np.sort(theirs["expected_costs"][differ], axis=1)
    return bool((costs[:, 1] - costs[:, 0] < 1e-6).all())


@pytest.mark.parametrize("name", [n for n in METHODS if "onnx" in METHODS[n].exports])
def test_a_method_that_declares_it_exports_and_verifies(name):
    X, model = fitted(name)
    decider = OnnxDecider(to_onnx(model, X=X))
    new, _ = make_data(2 if name == "binary_threshold" else 3, seed=1)
    assert agree(model, decider, new)
    assert decider.about["verification"]["n_rows"] >= 1100
    for form in METHODS[name].exports:
        if form == "json":
            file = to_json(model)
        elif form == "sql":
            to_sql(file)  # verified as it was made
        elif form == "c":
            to_c(fitted(name, mixed=False)[1])


def changed(model, kind):
    """Return a model in another case, or why it cannot be."""
    try:
        if kind == "stream":
            aside = model.with_abstention(0.8)
            expected = np.tile(aside.policy.prices[0], (50, 1))
            policy = aside.policy.with_shares({"c": 0.3, "abstain": 0.4}, expected)
            return replace(aside, policy=policy.having(shadow_prices=np.array([0, 0.2, 0.4, 0.1])))
        moved = model.adapt(None, priors=[0.6, 0.3, 0.1]) if kind == "priors" else model
        return moved.with_abstention(0.8)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("kind", ["abstain", "priors", "stream"])
@pytest.mark.parametrize("name", [n for n in METHODS if "onnx" in METHODS[n].exports])
def test_a_method_is_exported_in_every_case_that_it_has(name, kind):
    """Leaving rows to somebody else, alone, for another population, and on a stream."""
    if name == "stakes":
        pytest.skip("the test above fits it as an estimator")
    X, model = fitted(name)
    if len(model.policy.classes) == 2:
        pytest.skip("its case has two classes")
    model = changed(model, kind)
    if isinstance(model, str):
        assert re.search("votes|what decisions cost|rule", model), model
        return
    decider = OnnxDecider(to_onnx(model, X=X))
    new, _ = make_data(3, seed=1)
    assert agree(model, decider, new)
    states = model.policy.states
    if states == "probabilities":
        found = decider.run(new)
        policy = from_json(to_json(model))
        known = policy.stated().having(priors=None).decide(found["probabilities"])
        assert (known.labels == found["decision"]).mean() > 0.98  # but for ties
        to_sql(model)
    else:
        with pytest.raises(NotExportable, match="does not decide by probabilities"):
            to_json(model)


@pytest.mark.parametrize("name", [n for n in METHODS if "onnx" in METHODS[n].exports])
def test_a_method_is_exported_with_four_decisions_about_two_classes(name):
    """A payment is fraud or fine: approve it, ask for a code, review it, block it."""
    X, y = make_data(2, mixed=False)
    what = ["approve", "ask for a code", "review", "block"]
    prices = CostMatrix([[0, 1, 5, 20], [100, 20, 10, 0]], labels=["a", "b"], decisions=what)
    if name == "stakes":
        from stakes.auto import StakesClassifier

        model = StakesClassifier(prices, members=["linear"], random_state=0).fit(X, y)
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fit_model(X, y, name, cost_matrix=prices)
        except UnfitMethodError as error:
            pytest.skip(str(error))
    meant = model.predict(X)
    if name == "plain":  # the most probable class, then its cheapest decision: no matrix
        with pytest.raises(NotExportable, match="is no matrix"):
            to_onnx(model)
        return
    decider = OnnxDecider(to_onnx(model, X=X))
    assert decider.about["decisions"] == what
    assert (decider.run(X)["decision"] == meant).mean() > 0.98  # but for ties


@pytest.mark.parametrize("name", [n for n in METHODS if not METHODS[n].exports])
def test_a_method_without_export_says_why(name):
    assert METHODS[name].no_export
    X, y = make_data(3)
    with pytest.raises(NotExportable, match="has no export|no export"):
        to_onnx(fit_model(X, y, name, cost_matrix=PRICES[3]))


def test_the_list_of_methods_says_it():
    table = list_methods()
    assert table.loc["tree", "exports"] == ("onnx", "c")
    assert all(bool(row.exports) != bool(row.no_export) for row in table.itertuples())


@pytest.mark.parametrize(
    "name", ["forest", "gbse", pytest.param("stakes", marks=pytest.mark.slow)]
)
def test_costs_known_in_hindsight(name):
    X, y = make_data(3)
    rng = np.random.default_rng(0)
    codes = np.unique(y, return_inverse=True)[1]
    costs = PRICES[3][codes] * rng.lognormal(0, 0.7, (len(y), 1))
    if name == "stakes":
        from stakes.auto import StakesClassifier

        model = StakesClassifier(members=["linear"], random_state=0).fit(X, y, costs=costs)
    else:
        model = fit_model(X, y, name, costs=costs)
    assert agree(model, OnnxDecider(to_onnx(model, X=X)), X)


def test_prices_from_columns():
    X, y = make_data(2)
    amount = np.random.default_rng(0).lognormal(2, 1, len(X))
    tensor = np.zeros((len(X), 2, 2))
    tensor[:, 0, 1], tensor[:, 1, 0] = 5.0, 0.75 * amount + 2.0
    model = fit_model(X, y, "mec", cost_tensor=tensor)
    with pytest.raises(ValueError, match="must be 2 lists"):
        to_onnx(model, prices=[["amount"]])
    cells = [[0, 5], [lambda column: np.maximum(0.75 * column("amount"), 0) + 2.0, 0]]
    decider = OnnxDecider(to_onnx(model, prices=cells))
    assert decider.about["price_columns"] == ["amount"]
    found = decider.decide(X.assign(amount=amount))
    assert found["decision"].tolist() == model.predict(X, cost_tensor=tensor).tolist()
    needed = OnnxDecider(to_onnx(model))
    with pytest.raises(ValueError, match="give cost_tensor"):
        needed.decide(X)
    same = needed.decide(X, cost_tensor=tensor)["decision"]
    assert same.tolist() == found["decision"].tolist()


def test_neighbours_are_exported_only_where_training_rows_may_be():
    from stakes.auto import StakesClassifier

    X, y = make_data(3)
    model = StakesClassifier(PRICES[3], members=["neighbours", "kernel"], random_state=0).fit(X, y)
    with pytest.raises(NotExportable, match="compares with training rows in kernel") as told:
        to_onnx(model)
    assert "fit with other `members`, or say training_rows=True" in str(told.value)
    default = StakesClassifier(PRICES[3], cv=2, random_state=0).fit(X, y)
    assert agree(default, OnnxDecider(to_onnx(default, X=X)), X)
    assert agree(model, OnnxDecider(to_onnx(model, training_rows=True, X=X)), X)


CALIBRATIONS = [None, "sigmoid", "isotonic", "vector", "matrix", "binning", "temperature"]


def plain(n_classes=3, **given):
    """Return a fitted model on numbers, and its rows."""
    X, y = make_data(n_classes, mixed=False)
    X = X.fillna(0.0).to_numpy()
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=PRICES[n_classes], **given)
    return model.fit(X, y), X


def decided(model, X, tensor=None):
    """Return what the graph and the policy in JSON decide of rows."""
    graph = OnnxDecider(to_onnx(model, X=X)).run(X, cost_tensor=tensor)["decision"]
    proba = model.estimator_.predict_proba(X)
    policy = from_json(json.loads(json.dumps(to_json(model))))
    return graph.tolist(), policy.decide(proba, tensor).labels.tolist()


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_an_abstention_is_exported(calibration):
    model, X = plain(abstain_cost=0.8, calibration=calibration, cv=2)
    ours = model.predict(X).tolist()
    assert decided(model, X) == (ours, ours)
    assert {"abstain"} < set(ours)
    about = OnnxDecider(to_onnx(model)).about
    assert about["classes"] == ["a", "b", "c"]
    assert about["decisions"] == ["a", "b", "c", "abstain"]


# What a rule learns is exported with all that stands beside it.
LEARNED = ["parallel_partition", "row_partition", "column_partition", "full_partition"]
LEARNED += ["class_thresholds", "lachiche_flach", "mossman", "most_probable"]


@pytest.mark.parametrize("rule", ["minimum_expected_cost", *LEARNED])
@pytest.mark.parametrize("more", [{}, {"priors": [0.7, 0.2, 0.1]}, {"abstain_cost": 0.8}])
def test_rules_go_with_priors_abstention_and_prices_of_rows(rule, more):
    model, X = plain(rule=rule, cv=2, calibration="vector", **more)
    ours = model.predict(X).tolist()
    assert decided(model, X) == (ours, ours)
    if model.policy_.weighs_prices:
        rng = np.random.default_rng(0)
        tensor = PRICES[3] * rng.lognormal(0, 1, (len(X), 1, 3)) + rng.random((len(X), 3, 1))
        ours = model.predict(X, cost_tensor=tensor).tolist()
        assert decided(model, X, tensor) == (ours, ours)


def test_a_calibration_of_the_users_own_is_refused_by_name():
    class Foreign(BaseEstimator):
        def fit(self, proba, y, sample_weight=None):
            return self

        def transform(self, proba):
            return proba**2 / (proba**2).sum(axis=1, keepdims=True)

    model, _ = plain(calibration=Foreign(), cv=2)
    for export in (to_onnx, to_json):
        with pytest.raises(NotExportable, match="The calibration Foreign has no export: use"):
            export(model)


def test_models_of_another_population_and_of_limits():
    shifted, X = plain(priors=[0.7, 0.2, 0.1])
    ours = shifted.predict(X).tolist()
    assert decided(shifted, X) == (ours, ours)
    limited, _ = plain(cv=2, capacity={"c": 10})
    for write in (to_onnx, to_json, to_sql):
        with pytest.raises(NotExportable, match="keeps to limits"):
            write(limited)
    # on a stream each row is decided alone, at prices that are known
    limited, X = plain(cv=2, capacity={"c": 0.1}, capacity_mode="stream", abstain_cost=0.8)
    assert limited.policy_.shadow_prices.any()
    ours = limited.predict(X).tolist()
    assert decided(limited, X) == (ours, ours)
    table, labels = make_data(3)
    model = fit_model(table, labels, "forest", cost_matrix=PRICES[3])
    with pytest.raises(NotExportable, match="does not decide by probabilities and a rule"):
        to_json(model)
    moved = model.adapt(None, priors=[0.7, 0.2, 0.1])
    assert agree(moved, OnnxDecider(to_onnx(moved, X=table)), table)
    known = from_json(to_json(moved)).decide(model.predict_proba(table))
    assert known.labels.tolist() == moved.predict(table).tolist()
    with pytest.raises(NotExportable, match="keeps to limits"):
        to_onnx(model.with_limits({"c": 10}))


def test_a_model_of_32_bits_goes_into_a_graph_of_64():
    X, y = make_data(3, mixed=False)
    X = X.fillna(0.0).to_numpy(dtype=np.float32)
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=PRICES[3]).fit(X, y)
    # as scikit-learn keeps them from 1.9 on
    model.estimator_.coef_ = model.estimator_.coef_.astype(np.float32)
    new = X.astype(np.float64)
    assert OnnxDecider(to_onnx(model)).run(new)["decision"].tolist() == model.predict(new).tolist()


def test_bags_of_linear_members():
    X, y = make_data(2)  # of more classes the members are trees
    model = fit_model(X, y, "bacing", cost_matrix=PRICES[2])
    decider = OnnxDecider(to_onnx(model, X=X))
    assert decider.run(X)["decision"].tolist() == model.predict(X).tolist()
