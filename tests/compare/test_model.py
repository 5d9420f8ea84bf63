import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from stakes.compare import fit_model, load_model, on_decided, save_model
from stakes.compare._trusted import INNER_PARTS, is_trusted
from stakes.costs import binary_cost_tensor

C = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])


def make_data(n=150):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = pd.DataFrame({"x": rng.normal(size=n) + y, "z": rng.normal(size=n) * (y + 1)})
    return X, np.array(["a", "b", "c"])[y]


def check_round_trip(method, path, X, y):
    model = fit_model(X, y, method, cost_matrix=C)
    save_model(model, path)
    again = load_model(path)
    expected, found = model.decide(X), again.decide(X)
    pd.testing.assert_frame_equal(expected, found)
    assert set(expected["decision"]) <= {"a", "b", "c"}
    assert (expected["decision"] != expected["next_best"]).all()
    assert np.isfinite(expected["expected_cost"]).all()
    return model, found


def test_expected_costs_by_hand(tmp_path):
    X, y = make_data()
    model, found = check_round_trip("mec", tmp_path / "m.skops", X, y)
    proba = model.proba(X.to_numpy())
    assert_allclose(load_model(tmp_path / "m.skops").predict_proba(X), proba)
    expected = proba @ C
    assert_allclose(found["expected_cost"], expected.min(axis=1))
    assert_allclose(found["next_best_cost"], np.sort(expected, axis=1)[:, 1])
    # The best constant decision of equal classes: column means 4, 5/3 and 1.
    _, found = check_round_trip("constant", tmp_path / "c.skops", X, y)
    assert found["decision"].unique().tolist() == ["c"]
    assert_allclose(found["expected_cost"], 1)
    assert_allclose(found["next_best_cost"], 5 / 3)


def test_a_method_without_probabilities_says_so():
    X, y = make_data()
    with pytest.raises(AttributeError, match="'csovo' gives no probabilities"):
        fit_model(X, y, "csovo", cost_matrix=C).predict_proba(X)


def test_columns_are_found_by_name(tmp_path):
    X, y = make_data()
    X["job"] = np.random.default_rng(1).choice(["cook", "smith"], len(X))
    model = fit_model(X, y, "mec", cost_matrix=C)
    other = X[["job", "z", "x"]].assign(more=1)
    pd.testing.assert_frame_equal(model.decide(X), model.decide(other))
    lacking = X.drop(columns="job")
    with pytest.raises(ValueError, match="The data lacks the columns 'job'"):
        model.decide(lacking)
    numbers = fit_model(X[["x", "z"]], y, "mec", cost_matrix=C)
    texts = X.assign(z="many")
    with pytest.raises(ValueError, match="150 cells of 'z' that cannot be read as a number"):
        numbers.decide(texts)


def test_prices_of_new_rows_decide(tmp_path):
    X, y = make_data()
    y = np.where(y == "c", "yes", "no")
    low = binary_cost_tensor(fp_cost=5, fn_cost=1, n_samples=150)
    high = binary_cost_tensor(fp_cost=1, fn_cost=50, n_samples=150)
    model = fit_model(X, y, "mec", cost_tensor=low)
    save_model(model, tmp_path / "m.skops")
    model = load_model(tmp_path / "m.skops")
    few = (model.decide(X, cost_tensor=low)["decision"] == "yes").sum()
    many = (model.decide(X, cost_tensor=high)["decision"] == "yes").sum()
    assert few < many


class Foreign(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    X, y = make_data()
    fit_model(X, y, GaussianNB(), cost_matrix=C)
    model = fit_model(X, y, Foreign(), cost_matrix=C)
    with pytest.raises(
        ValueError, match=r"The model holds '.*Foreign', which a model file may not"
    ):
        save_model(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_an_estimator_of_the_users_learns_the_labels_themselves():
    X, y = make_data()
    model = fit_model(X, y, GaussianNB(), cost_matrix=C)
    assert model.estimator.classes_.tolist() == ["a", "b", "c"]
    assert model.decide(X).columns.tolist() == ["decision"]
    assert (model.predict(X) == model.estimator.predict(X.to_numpy())).all()


def test_prices_known_when_deciding_are_asked_for():
    X, y = make_data()
    model = fit_model(X, y, "mec", cost_tensor=np.tile(C, (150, 1, 1)))
    with pytest.raises(ValueError, match="give the cost_tensor of these rows"):
        model.decide(X)


def test_the_trusted_types_exist_and_run_nothing():
    for name in INNER_PARTS:
        module, _, kind = name.rpartition(".")
        if module.partition(".")[0] in ("stakes", "sklearn", "lightgbm", "xgboost"):
            assert hasattr(importlib.import_module(module), kind), name
    for strange in (
        "os.system",
        "subprocess.Popen",
        "builtins.eval",
        "pickle.loads",
        "stakes.compare._model_file.load_model",  # a function of ours
        "stakes.compare._model_file.Path",  # not defined there
        "stakes.no_such_module.Thing",
        "sklearn.datasets.fetch_openml",
        "sklearn.utils._bunch.os",
        "sklearn.externals.nothing.Here",
    ):
        assert not is_trusted(strange), strange


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_file_of_an_earlier_format_is_refused_with_what_to_do(number):
    old = Path(__file__).with_name("old") / f"model-{number}.skops"
    with pytest.raises(
        ValueError,
        match=f"in the format stakes-model-{number}, and .* reads stakes-model-5: fit the model again",
    ):
        load_model(old)


def test_a_file_of_this_format_is_read_for_ever():
    model = load_model(Path(__file__).with_name("old") / "model-5.skops")
    assert model.predict([[0.0, 1.0], [9.0, 2.0]]).tolist() == [0, 1]


def test_who_counts_decisions_is_told_of_each_call(caplog):
    X, y = make_data()
    model = fit_model(X, y, "tree", cost_matrix=C)
    told = []

    def count(of, decided, seconds):
        told.append((of is model, decided.labels.tolist(), seconds > 0))

    on_decided.append(count)
    try:
        with caplog.at_level("DEBUG", "stakes"):
            table, labels = model.decide(X), model.predict(X[:5])
    finally:
        on_decided.remove(count)
    assert told == [(True, table["decision"].tolist(), True), (True, labels.tolist(), True)]
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(" in ")[0] for line in said] == [
        "tree decided 150 rows",
        "tree decided 5 rows",
    ]


@pytest.mark.parametrize(
    "name", ["split_gain", "internal_value", "internal_weight", "internal_count", "leaf_weight",
             "leaf_count", "leaf_value", "threshold"],
)  # fmt: skip
def test_text_in_the_place_of_numbers_of_lightgbm_is_refused(name):
    lightgbm = pytest.importorskip("lightgbm")
    from stakes.compare._native import _pack_lightgbm, check_lightgbm

    X, y = make_data()
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y)
    text = _pack_lightgbm(model.booster_)["text"]
    check_lightgbm(text)
    at = text.index(f"\n{name}=") + len(name) + 2
    with pytest.raises(ValueError, match="A tree of LightGBM"):
        check_lightgbm(text[:at] + "x" + text[at + 1 :])  # as long as before: it would abort
