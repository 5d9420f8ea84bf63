"""MLflow, and the service of the gallery."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stakes.compare import fit_model
from stakes.costs import CostMatrix
from stakes.export import NotExportable, to_mlflow

ROOT = Path(__file__).resolve().parents[2]
C = np.array([[0.0, 1.0], [5.0, 0.0]])
COSTS = CostMatrix(C, labels=["bad", "good"])


def loans(seed=0, n=160):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    table = pd.DataFrame({"age": rng.normal(40, 9, n) + 8 * y, "amount": rng.lognormal(2, 1, n)})
    return table.assign(job=rng.choice(["cook", "smith"], n)), np.array(["good", "bad"])[y]


@pytest.mark.filterwarnings("ignore")  # of MLflow, which has many
def test_mlflow_returns_what_decide_returns(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # where MLflow may leave what it likes
    X, y = loans()
    model = fit_model(X, y, "tree", cost_matrix=COSTS)
    to_mlflow(model, tmp_path / "pyfunc")
    found = mlflow.pyfunc.load_model(str(tmp_path / "pyfunc"))
    assert {c.name for c in found.metadata.signature.inputs} == set(X.columns)
    new, _ = loans(seed=1)
    pd.testing.assert_frame_equal(found.predict(new), model.decide(new))
    text = "".join(p.read_text() for p in (tmp_path / "pyfunc").glob("*") if p.is_file())
    assert str(tmp_path) not in text
    with pytest.raises(FileExistsError, match="is there already"):
        to_mlflow(model, tmp_path / "pyfunc")

    def full(**given):
        (Path(given["path"]) / "half").write_text("")
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(mlflow.pyfunc, "save_model", full)
        with pytest.raises(OSError, match="full"):
            to_mlflow(model, tmp_path / "half")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "pyfunc"]
    tensor = np.broadcast_to(C, (len(X), 2, 2))
    with pytest.raises(NotExportable, match="prices of each row"):
        to_mlflow(fit_model(X, y, "tree", cost_tensor=tensor), tmp_path / "other")


@pytest.mark.filterwarnings("ignore")
def test_mlflow_takes_the_table_that_the_model_was_fitted_on(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.chdir(tmp_path)
    X, y = loans()
    rng = np.random.default_rng(0)
    X["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, len(X)), "D")
    X["owner"], X["children"] = rng.random(len(X)) < 0.5, rng.integers(0, 4, len(X))
    X["job"] = X["job"].astype("category")
    for method in ("tree", "calibrated"):
        model = fit_model(X, y, method, cost_matrix=COSTS)
        to_mlflow(model, tmp_path / method)
        found = mlflow.pyfunc.load_model(str(tmp_path / method))
        for table in (X, X.assign(job=X["job"].astype(str), age=np.nan)):
            pd.testing.assert_frame_equal(found.predict(table), model.decide(table))
    named = X.assign(name=[f"Ann{i} Smith{i}" for i in range(len(X))], customer=range(len(X)))
    model = fit_model(named, y, "mec", cost_matrix=COSTS, keep_identifiers=True)
    to_mlflow(model, tmp_path / "named")
    found = mlflow.pyfunc.load_model(str(tmp_path / "named"))
    pd.testing.assert_frame_equal(found.predict(named), model.decide(named))
    array = X[["age", "amount"]].to_numpy()
    model = fit_model(array, y, "tree", cost_matrix=COSTS)
    to_mlflow(model, tmp_path / "array")
    found = mlflow.pyfunc.load_model(str(tmp_path / "array"))
    pd.testing.assert_frame_equal(found.predict(array), model.decide(array))
