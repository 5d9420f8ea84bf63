"""Each call asks the model once, whatever it says of the rows."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

from stakes.cli import main
from stakes.compare import as_model, fit_model
from stakes.decision import CostDecisionClassifier
from stakes.monitor import Monitor
from stakes.tree import CostForestClassifier, CostTreeClassifier

N = 120
PRICES = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
RNG = np.random.default_rng(0)
CODES = np.arange(N) % 3
X = RNG.normal(size=(N, 2)) + CODES[:, None]
Y = np.array(["a", "b", "c"])[CODES]
TENSOR = RNG.lognormal(0, 1, N)[:, None, None] * PRICES


@pytest.fixture
def counts(monkeypatch):
    """Return how often models were asked, by the name of what was asked."""
    counts = {}

    def count(cls, name):
        inner = getattr(cls, name)

        def counting(self, *args, **params):
            counts[name] = counts.get(name, 0) + 1
            return inner(self, *args, **params)

        monkeypatch.setattr(cls, name, counting)

    for cls in (LogisticRegression, LGBMClassifier):
        count(cls, "predict_proba")
    for cls in (CostTreeClassifier, CostForestClassifier):
        count(cls, "_bin")  # the one way of rows into trees
    return counts


LOGISTIC = LogisticRegression()
MODELS = {
    "least cost": CostDecisionClassifier(LOGISTIC, cost_matrix=PRICES),
    "learned": CostDecisionClassifier(LOGISTIC, cost_matrix=PRICES, rule="parallel_partition"),
    "abstains": CostDecisionClassifier(
        LOGISTIC, cost_matrix=PRICES, rule="class_thresholds", abstain_cost=0.3
    ),
    "limits": CostDecisionClassifier(LOGISTIC, cost_matrix=PRICES, capacity={"a": 9}),
    "tree": CostTreeClassifier(PRICES, max_depth=3),
    "forest": CostForestClassifier(PRICES, n_estimators=5, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_asked_once(name, counts):
    estimator = MODELS[name]
    model = fit_model(X, Y, estimator, cost_matrix=PRICES)
    asked = {
        "decide": lambda: model.decide(X),
        "with probabilities": lambda: model.decide(X, proba=name != "limits"),
        "answer": lambda: model.answer(X, proba=True),
        "predict": lambda: model.predict(X),
        "probabilities": lambda: model.predict_proba(X),
        "classifier": lambda: model.estimator.predict(X),
    }
    if name != "abstains":
        asked["plan"] = lambda: model.plan(X, {"b": 5})
        asked["prices of rows"] = lambda: model.decide(X, cost_tensor=TENSOR)
    if name == "limits":
        asked["plan of a classifier"] = lambda: model.estimator.plan(X)
    for call in asked.values():
        counts.clear()
        call()
        assert sum(counts.values()) == 1, counts


def test_a_batch_that_is_watched_is_asked_once(counts):
    model = as_model(MODELS["least cost"].fit(X, Y))
    monitor = Monitor(model, reference=(X, Y))
    counts.clear()
    monitor.update(X, Y)
    assert counts == {"predict_proba": 1}


def test_the_command_asks_once_for_all_that_it_says(counts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X, columns=["x", "z"]).assign(target=Y)
    table.to_csv("data.csv", index=False)
    table.drop(columns="target").to_csv("new.csv", index=False)
    pd.DataFrame(PRICES, list("abc"), list("abc")).to_csv("prices.csv")

    def run(*words):
        assert main(list(words)) in (0, None)

    run("fit", "data.csv", "--target", "target", "--costs", "prices.csv", "--method", "mec",
        "--out", "m.skops")  # fmt: skip
    counts.clear()
    run("predict", "m.skops", "new.csv", "--capacity", "a=9", "--proba", "-o", "out.csv")
    assert counts == {"predict_proba": 1}
    assert "proba a" in pd.read_csv("out.csv")
