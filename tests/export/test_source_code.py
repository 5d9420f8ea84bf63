"""Small trees as source code, trees and forests in treelite, and the command."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from stakes.export import (
    ExportRefused,
    NotExportable,
    OnnxDecider,
    _source_code,
    to_source,
    to_treelite,
)
from stakes.tree import CostForestClassifier, CostTreeClassifier
from tests.cli.commands import GOOD, refused, run, table

C = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 4.0, 0.0]])


def wine():
    X, y = load_wine(return_X_y=True)
    X[::7, 3] = np.nan
    return X, y


def test_source_in_python_and_c_is_run_beside_the_model(monkeypatch):
    X, y = wine()
    tree = CostTreeClassifier(C, min_samples_leaf=3).fit(X, y)
    space = {}
    exec(compile(to_source(tree), "tree.py", "exec"), space)
    assert [space["decide"](row)[0] for row in X.tolist()] == tree.predict(X).tolist()
    assert "verified by running it" in to_source(tree, language="c")
    monkeypatch.setattr(_source_code.shutil, "which", lambda name: None)
    assert "not run: there was no C compiler" in to_source(tree, language="c")
    broken = _source_code._python
    monkeypatch.setattr(
        _source_code, "_python", lambda *given: broken(*given).replace("<=", "<", 1)
    )
    with pytest.raises(ExportRefused, match="Not exported"):
        to_source(tree)


def test_treelite_answers_with_expected_costs(tmp_path):
    treelite = pytest.importorskip("treelite")
    X, y = wine()
    for model in (
        CostTreeClassifier(C, min_samples_leaf=3).fit(X, y),
        CostForestClassifier(C, n_estimators=5, calibration=None, random_state=0).fit(X, y),
    ):
        to_treelite(model, tmp_path / "model.treelite")
        found = treelite.Model.deserialize(tmp_path / "model.treelite")
        costs = treelite.gtil.predict(found, X).reshape(len(X), 3)
        np.testing.assert_allclose(costs, model.expected_costs(X), atol=1e-9)


def test_what_has_no_source_is_refused():
    X, y = wine()
    with pytest.raises(NotExportable, match="CostForestClassifier has no export to source code"):
        to_source(CostForestClassifier(n_estimators=2).fit(X, y))
    with pytest.raises(NotExportable, match="calibration=None"):
        to_treelite(CostForestClassifier(n_estimators=5).fit(X, y))
    rng = np.random.default_rng(0)
    many = CostTreeClassifier(min_samples_leaf=1)
    many.fit(rng.normal(size=(2000, 2)), rng.integers(3, size=2000))
    with pytest.raises(NotExportable, match="leaves: source code is for up to 200"):
        to_source(many)


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("loans.csv", index=False)
    prices = [*GOOD[:2], "--fp", "1", "--fn", "max(amount, 3) + 2", *GOOD[-2:]]
    run(capsys, "fit", "loans.csv", *prices, "--method", "mec", "-o", "m.skops")
    out, err = run(capsys, "export", "m.skops", "--to", "onnx", "--data", "loans.csv")
    assert "as the model does" in err
    assert out == "Written: model.onnx\n"
    decider = OnnxDecider("model.onnx")
    run(capsys, "predict", "m.skops", "loans.csv", "-o", "decided.csv")
    import pandas as pd

    decided = pd.read_csv("decided.csv")["decision"].tolist()
    assert decider.decide(table())["decision"].tolist() == decided
    for form, name in (("json", "layer.json"), ("sql", "decide.sql")):
        run(capsys, "export", "m.skops", "--to", form)
        run(capsys, "export", "m.skops", "--to", form)  # over its own kind
        assert (tmp_path / name).exists()
    assert "--to doc is none of onnx, json" in refused(capsys, "export", "m.skops", "--to", "doc")
    assert "no export to c: its forms are onnx" in refused(
        capsys, "export", "m.skops", "--to", "c"
    )
    (tmp_path / "model.onnx").write_bytes(b"something else")
    assert "is not a graph" in refused(capsys, "export", "m.skops")
