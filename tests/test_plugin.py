"""A method of another package, of a few lines, is used as ours are."""

import numpy as np
import pytest

from stakes.cli import main
from stakes.compare import compare, fit_model, list_methods
from tests.instances import all_estimators


def test_it_is_listed_compared_and_fitted_by_name():
    assert list_methods().loc["nearest_mean", "title"] == "Nearest mean"
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 2)) + 2 * y[:, None]
    C = [[0, 1], [5, 0]]
    found = compare(X, y, cost_matrix=C, methods=["nearest_mean"], cv=2)
    assert found.table.loc["nearest_mean", "cost"] < found.table.loc["constant", "cost"]
    model = fit_model(X, y, "nearest_mean", cost_matrix=C)
    assert model.estimator[-1].means_.shape == (2, 2)


def test_it_meets_the_common_checks():
    assert "NearestMeanClassifier" in dict(all_estimators())


def test_the_command_lists_it(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["stakes", "methods"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert "nearest_mean" in capsys.readouterr().out
