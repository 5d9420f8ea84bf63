"""Graphs that decide as the model does: worked cases, tables, prices, refusals, privacy."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.compare import fit_model, load_model, save_model
from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier
from stakes.export import ExportRefused, NotExportable, OnnxDecider, about_onnx, to_onnx
from stakes.export._graph import Graph
from stakes.export._onnx import build, verify
from stakes.export._source import Source
from stakes.export._trees import Leaves, constant_tree, leaves_of, tree_sums
from stakes.tree import CostTreeClassifier

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

C = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
COSTS = CostMatrix(C, labels=["mid", "new", "old"])


def mixed_table(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, n_rows).round(1)
    job = rng.choice(["cook", "smith", "baker"], n_rows).astype(object)
    y = np.where(age + 10 * (job == "cook") > 48, "old", np.where(age > 35, "mid", "new"))
    age[rng.random(n_rows) < 0.1] = np.nan
    job[rng.random(n_rows) < 0.1] = None
    table = pd.DataFrame({"age": age, "job": job, "member": rng.random(n_rows) < 0.5})
    return table, y


def test_a_tree_worked_by_hand():
    # Leaves: x <= 2.5 holds two of class 0; above it two of each. A miss costs 5, a false alarm 1.
    X, y = [[1], [2], [3], [4], [3], [4]], [0, 0, 0, 0, 1, 1]
    tree = CostTreeClassifier([[0, 1], [5, 0]], min_samples_leaf=2).fit(X, y)
    decider = OnnxDecider(to_onnx(tree))
    found = decider.run(np.array([[2.5], [2.6], [np.nan]]))
    assert found["decision"].tolist() == [0, 1, 1]
    np.testing.assert_allclose(found["probabilities"][:2], [[1, 0], [0.5, 0.5]], atol=1e-12)
    np.testing.assert_allclose(found["expected_costs"][:2], [[0, 1], [2.5, 0.5]], atol=1e-12)
    # prices of the rows, [true, predicted]: the first row's false alarm is free, the second's dear
    prices = np.array([[[0, 0], [5, 0]], [[0, 9], [5, 0]]], dtype=float)
    found = decider.run(np.array([[1.0], [4.0]]), cost_tensor=prices)
    assert found["decision"].tolist() == [0, 0]
    np.testing.assert_allclose(found["expected_costs"][1], [2.5, 4.5], atol=1e-12)


def test_sums_of_trees_are_those_of_float64():
    # 40 trees of three values, in groups; one of them a leaf alone; and trees of one value each
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    grown = [CostTreeClassifier(max_depth=3).fit(X, rng.integers(3, size=300)) for _ in range(40)]
    for width, tolerance in ((3, 1e-13), (1, 1e-8)):
        members = [leaves_of(t.tree_, rng.normal(size=(t.tree_.n_leaves, width))) for t in grown]
        members.append(Leaves(constant_tree(), np.full((1, width), np.pi)))
        if width == 1:
            members = [m._replace(first=i % 3) for i, m in enumerate(members)]
        g = Graph()
        sums = tree_sums(g, g.input("X", float, ["n", 4]), members, 3)
        g.output("sums", sums, float, ["n", 3])
        session = onnxruntime.InferenceSession(g.model({}, "0").SerializeToString())
        found = session.run(None, {"X": X})[0]
        expected = np.zeros((300, 3))
        for m, t in zip(members, grown):
            expected[:, m.first : m.first + width] += m.values[t.apply(X)]
        last = members[-1]
        expected[:, last.first : last.first + width] += np.pi
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore:.*were not there in training")
@pytest.mark.parametrize("method", ["tree", "mec"])
def test_a_mixed_table_from_model_file_to_decision(tmp_path, method):
    X, y = mixed_table()
    model = fit_model(X, y, method, cost_matrix=COSTS)
    save_model(model, tmp_path / "model.skops")
    to_onnx(load_model(tmp_path / "model.skops"), tmp_path / "model.onnx")
    decider = OnnxDecider(tmp_path / "model.onnx")
    new, _ = mixed_table(seed=1)
    new.loc[:3, "job"] = ["chemist", "", None, "smith"]
    ours, theirs = model.decide(new), decider.decide(new)
    assert ours["decision"].tolist() == theirs["decision"].tolist()
    assert ours["next_best"].tolist() == theirs["next_best"].tolist()
    columns = ["expected_cost", "next_best_cost"]
    np.testing.assert_allclose(ours[columns], theirs[columns], atol=1e-9)
    prices = C[None] * np.random.default_rng(0).uniform(0.1, 9, (len(new), 1, 1))
    ours, theirs = (m.decide(new, cost_tensor=prices) for m in (model, decider))
    assert ours["decision"].tolist() == theirs["decision"].tolist()


@pytest.mark.parametrize("how", [{"interaction_only": True, "include_bias": False}, {"degree": 3}])
def test_products_of_columns(how):
    from sklearn.preprocessing import PolynomialFeatures

    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X[:, :4])
    learner = make_pipeline(PolynomialFeatures(**how), LogisticRegression(max_iter=500))
    model = CostDecisionClassifier(learner, cost_matrix=C).fit(X, y)
    found = OnnxDecider(to_onnx(model)).run(X)
    assert found["decision"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)


def test_categories_of_a_tree_go_where_they_went():
    X, y = mixed_table()
    X["level"] = pd.Categorical(np.random.default_rng(2).integers(0, 70, len(X)) * 3)
    y = np.where(X["level"].cat.codes % 2 == 1, "odd", y)
    tree = CostTreeClassifier(min_samples_leaf=3).fit(X, y)
    assert len(tree.tree_.questions().categories) > 2
    decider = OnnxDecider(to_onnx(tree, X=X))
    assert decider.run(X)["decision"].tolist() == tree.predict(X).tolist()


def test_a_changed_coefficient_is_refused():
    X, y = load_wine(return_X_y=True)
    source = Source(CostTreeClassifier(C, min_samples_leaf=5).fit(X, y))
    proto, asked = build(source)
    verify(proto.SerializeToString(), source, asked)
    leaves = source.estimator.tree_.n_leaves
    (table,) = (t for t in proto.graph.initializer if list(t.dims) == [leaves, 3])
    changed = onnx.numpy_helper.to_array(table).copy()
    changed.flat[changed.argmax()] *= 1.01
    table.CopyFrom(onnx.numpy_helper.from_array(changed, table.name))
    with pytest.raises(ExportRefused, match="Not exported: in .* rows of those tried") as refused:
        verify(proto.SerializeToString(), source, asked)
    assert refused.value.rows


def test_what_has_no_export_is_refused_by_name(tmp_path):
    from sklearn.gaussian_process import GaussianProcessClassifier

    X, y = load_wine(return_X_y=True)
    model = CostDecisionClassifier(GaussianProcessClassifier(), cost_matrix=C).fit(X[::9], y[::9])
    with pytest.raises(NotExportable, match="GaussianProcessClassifier has no export"):
        to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_file_says_what_it_is_and_nothing_of_where_it_came_from(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "a_certain_user")
    X, y = mixed_table()
    path = tmp_path / "model.onnx"
    data = to_onnx(fit_model(X, y, "tree", cost_matrix=COSTS), path, X=X)
    assert path.read_bytes() == data
    about = OnnxDecider(path).about
    assert about["format"] == "stakes-onnx-2"
    assert about["classes"] == about["decisions"] == ["mid", "new", "old"]
    assert about["versions"]["opset"] == 17
    assert about["verification"]["n_rows"] > len(X)
    assert str(tmp_path).encode() not in data
    assert b"a_certain_user" not in data
    ages = X["age"].dropna().to_numpy()
    assert not any(
        row.tobytes() in data for row in np.lib.stride_tricks.sliding_window_view(ages, 3)
    )


def test_labels_of_every_kind():
    X = np.arange(40.0)[:, None]
    for labels in (["no", "yes"], [3, 7], [1.0, 2.0], [False, True]):
        y = np.array(labels)[(X[:, 0] > 20).astype(int)]
        tree = CostTreeClassifier([[0, 1], [5, 0]], min_samples_leaf=2).fit(X, y)
        found = OnnxDecider(to_onnx(tree)).run(X)["decision"]
        assert found.tolist() == tree.predict(X).tolist()


def test_json_metadata_is_plain():
    X, y = load_wine(return_X_y=True)
    about = OnnxDecider(to_onnx(CostTreeClassifier(C).fit(X, y))).about
    assert json.loads(json.dumps(about)) == about
    assert about["prices"] == "taken"


def test_prices_and_columns_are_checked_before_the_graph_runs():
    X = pd.DataFrame({"amount": [1.0, 2.0, 3.0, 4.0] * 5, "age": [30.0] * 20})
    y, C = ["good", "bad"] * 10, np.array([[0.0, 5.0], [1.0, 0.0]])
    tree = CostTreeClassifier(CostMatrix(C, labels=["bad", "good"])).fit(X, y)
    decider = OnnxDecider(to_onnx(tree))
    for prices in (C[None], C, np.full((20, 2, 2), np.nan)):
        with pytest.raises(ValueError, match="cost_tensor"):
            decider.decide(X, cost_tensor=prices)
    with pytest.raises(ValueError, match="The data lacks the columns 'age'"):
        decider.decide(X[["amount"]])
    priced = OnnxDecider(to_onnx(tree, prices=[[0, "amount"], [1, 0]]))
    assert len(priced.decide(X)) == 20
    with pytest.raises(ValueError, match="The table of prices has NaN at row 0, column 0"):
        priced.decide(X.assign(amount=np.nan))
    shuffled = X.set_axis(np.arange(20)[::-1])
    assert decider.decide(shuffled).index.equals(shuffled.index)


def test_a_graph_of_the_first_version_is_read():
    # bad, good: a miss costs 5, a false alarm 1; half of the loans above 2.5 are bad
    decider = OnnxDecider(Path(__file__).parent / "old_tree.onnx")
    assert decider.about["format"] == "stakes-onnx-1"
    assert decider.about["classes"] == decider.about["decisions"] == ["bad", "good"]
    found = decider.decide([[1.0], [4.0]])
    assert found["decision"].tolist() == ["good", "bad"]
    prices = np.array([[[0.0, 5.0], [1.0, 0.0]], [[0.0, 5.0], [9.0, 0.0]]])
    found = decider.decide([[1.0], [4.0]], cost_tensor=prices)
    assert found["decision"].tolist() == ["good", "good"]


def test_a_graph_of_another_version_is_refused():
    model = onnx.load(Path(__file__).parent / "old_tree.onnx")
    for text in ('{"format": "stakes-onnx-9"}', "{}"):
        onnx.helper.set_model_props(model, {"stakes": text})
        with pytest.raises(
            ValueError, match="none of stakes, or of a newer one.*again with to_onnx"
        ):
            OnnxDecider(model.SerializeToString())


def test_one_session_runs_each_part_once(monkeypatch):
    X, y = load_wine(return_X_y=True)
    tree = CostTreeClassifier(C, min_samples_leaf=5).fit(X, y)
    made, asked = [], []
    session, said = onnxruntime.InferenceSession, Source.said
    monkeypatch.setattr(
        onnxruntime, "InferenceSession", lambda *a, **k: made.append(1) or session(*a, **k)
    )
    monkeypatch.setattr(
        Source, "said", lambda self, X, *a, **k: asked.append(len(X)) or said(self, X, *a, **k)
    )
    about = about_onnx(to_onnx(tree, X=X))
    assert len(made) == 1
    # the rows of X, those drawn, at questions and at edges: without prices of rows, and with them
    assert sum(asked) == 2 * about["verification"]["n_rows"]


def test_a_rule_of_tiny_numbers_is_checked_as_any_other():
    # Mossman's first two decisions differ by 1e-20 times what tells them apart: no tie for that
    X, y = load_wine(return_X_y=True)
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.02))
    source = Source(CostDecisionClassifier(learner, cost_matrix=C, rule="mossman", cv=2).fit(X, y))
    offset = np.array(source.numbers["rule"]["offset"])
    source.numbers["rule"]["offset"] = offset[:, [1, 0, 2]].tolist()
    proto, asked = build(source)
    with pytest.raises(ExportRefused, match="decisions differ"):
        verify(proto.SerializeToString(), source, asked, X)


@pytest.mark.parametrize("part", ["month", "day", "day_of_week", "hour"])
def test_dates_become_their_parts_in_a_graph(part):
    # A tree that is asked for one part of a date alone; 97.3 days from one row to the next, from
    # 1790 to 2190, with leap years that are left out and one that is not.
    rng = np.random.default_rng(0)
    n, steps = 1500, (np.arange(1500) * 97.3 * 86_400e6).astype("timedelta64[us]")
    since = np.datetime64("1790-01-01", "us") + steps
    table = pd.DataFrame({"since": since[rng.permutation(n)], "x": rng.normal(size=n)})
    value = getattr(table["since"].dt, part)
    y = (value > value.median()).astype(int).to_numpy()
    model = fit_model(table, y, "tree", cost_matrix=[[0, 1], [5, 0]])
    decider = OnnxDecider(to_onnx(model))
    new = table.assign(since=(table["since"] + pd.Timedelta("17h")).where(table.index % 9 > 0))
    found, ours = decider.decide(new), model.decide(new)
    np.testing.assert_array_equal(found["decision"], ours["decision"])
    assert (model.decide(table)["decision"] == y).mean() > 0.85
