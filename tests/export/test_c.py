"""A small tree in C, and the command."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from stakes.export import ExportRefused, NotExportable, OnnxDecider, _c, from_json, to_c
from stakes.tree import CostForestClassifier, CostTreeClassifier
from tests.cli.commands import GOOD, refused, run, table

C = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 4.0, 0.0]])


def wine():
    X, y = load_wine(return_X_y=True)
    X[::7, 3] = np.nan
    return X, y


def test_c_is_run_beside_the_model(monkeypatch, tmp_path):
    X, y = wine()
    tree = CostTreeClassifier(C, min_samples_leaf=3).fit(X, y)
    text = to_c(tree, tmp_path / "tree.c")
    assert "verified by running it" in text
    assert (tmp_path / "tree.c").read_text() == text
    assert "int stakes_decide(const double *x, double *c)" in text
    lines = _c._lines
    with monkeypatch.context() as broken:
        broken.setattr(_c, "_lines", lambda *g: [line.replace("<=", "<") for line in lines(*g)])
        with pytest.raises(ExportRefused, match="Not exported"):
            to_c(tree, tmp_path / "other.c")
    assert not (tmp_path / "other.c").exists()
    monkeypatch.setattr(_c.shutil, "which", lambda name: None)
    assert "not run: there was no C compiler" in to_c(tree)


def test_what_has_no_c_is_refused():
    X, y = wine()
    with pytest.raises(NotExportable, match="CostForestClassifier has no export to C"):
        to_c(CostForestClassifier(n_estimators=2).fit(X, y))
    rng = np.random.default_rng(0)
    many = CostTreeClassifier(max_depth=None, min_samples_leaf=1)
    many.fit(rng.normal(size=(2000, 2)), rng.integers(3, size=2000))
    with pytest.raises(NotExportable, match="leaves: C is for up to 200"):
        to_c(many)


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans = table()
    loans.to_csv("loans.csv", index=False)
    prices = [*GOOD[:2], "--fp", "1", "--fn", "max(amount, 3) + 2", *GOOD[-2:]]
    run(capsys, "fit", "loans.csv", *prices, "--method", "mec", "-o", "m.skops")
    out, err = run(capsys, "export", "m.skops", "--to", "onnx", "--data", "loans.csv")
    assert "as the model does" in err
    assert out == "Written: model.onnx\n"
    decider = OnnxDecider("model.onnx")
    run(capsys, "predict", "m.skops", "loans.csv", "--proba", "-o", "decided.csv")
    decided = pd.read_csv("decided.csv")
    assert decider.decide(loans)["decision"].tolist() == decided["decision"].tolist()
    for form, name in (("json", "policy.json"), ("sql", "decide.sql")):
        run(capsys, "export", "m.skops", "--to", form)
        run(capsys, "export", "m.skops", "--to", form)  # over its own kind
        assert (tmp_path / name).exists()
    # the query works out each row's prices from its columns, as the model does
    classes = from_json("policy.json").classes
    scores = decided[[f"proba {label}" for label in classes]].set_axis(["p0", "p1"], axis=1)
    base = sqlite3.connect(":memory:")
    scores.assign(amount=loans["amount"]).to_sql("scores", base, index=False)
    rows = base.execute((tmp_path / "decide.sql").read_text().rstrip(";\n")).fetchall()
    base.close()
    assert [row[2] for row in rows] == decided["decision"].tolist()
    run(capsys, "export", "m.skops", "--to", "sql", "--sql-dialect", "postgres")
    assert "DOUBLE PRECISION" in (tmp_path / "decide.sql").read_text()
    assert "--to doc is none of onnx, json" in refused(capsys, "export", "m.skops", "--to", "doc")
    assert "no export to c: its forms are onnx" in refused(
        capsys, "export", "m.skops", "--to", "c"
    )
    (tmp_path / "model.onnx").write_bytes(b"something else")
    assert "is not a graph" in refused(capsys, "export", "m.skops")
