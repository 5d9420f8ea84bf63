"""The types that a user's own type checker sees."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stakes

api = pytest.importorskip("mypy.api")
SCRIPT = Path(__file__).parent / "typed" / "script.py"
SOURCE = Path(stakes.__file__).parents[1]
STRICT = ["--strict", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]


def check(path, monkeypatch):
    """Return what `mypy --strict` says of a script, as of a package that is installed."""
    monkeypatch.setenv("MYPYPATH", str(SOURCE))
    cache = SOURCE.parent / ".mypy_cache" / "strict"
    said, trouble, _ = api.run([*STRICT, f"--cache-dir={cache}", str(path)])
    assert trouble == ""
    return said


def test_a_users_script_passes_strictly_and_a_wrong_one_does_not(monkeypatch, tmp_path):
    assert "Success" in check(SCRIPT, monkeypatch)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from stakes import CostMatrix, StakesClassifier\n"
        "from stakes.compare import load_model\n"
        "CostMatrix.binary(fp=1.0, fn=5.0).no_such()\n"
        "StakesClassifier().fit([[0]], [0]).predict([[0]]).no_such()\n"
        "load_model('model.skops').decide([[0]]).no_such()\n"
    )
    said = check(wrong, monkeypatch)
    assert [f"wrong.py:{line}: error" in said for line in (3, 4, 5)] == [True] * 3, said


def test_the_script_runs(tmp_path):
    script = runpy.run_path(str(SCRIPT))
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=120)})
    y = np.where(X["age"] + rng.normal(size=120) > 1, "bad", "good")
    model = script["fit"](X, y, tmp_path / "model.skops")
    assert script["watch"](model, X, y) > 0
    assert len(script["costs_of"](X, y)) == 9
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert script["decide"](proba, np.array(["bad", "good"])).tolist() == ["bad", "bad"]
