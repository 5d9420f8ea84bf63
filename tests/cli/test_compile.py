import pandas as pd

from stakes.cli import main
from stakes.compare import fit_model, list_methods


def test_fits_what_it_can_in_both_kinds_of_costs(monkeypatch, capsys):
    known = list_methods()
    few = known.loc[["tree", "binary_threshold", "stakes"]]
    assert isinstance(few, pd.DataFrame)
    monkeypatch.setattr("stakes.compare.list_methods", lambda: few)
    assert main(["compile"]) == 0
    # the tree twice; the threshold is for two classes alone, the default left out
    assert capsys.readouterr().out == "Compiled by 2 fits, and kept for every later one.\n"


def test_a_fit_that_fails_is_said_and_the_others_go_on(monkeypatch, capsys):
    known = list_methods()
    fitted = []

    def fit(X, y, name, **costs):
        fitted.append(name)
        if name == "tree" and "costs" in costs:
            raise ValueError("it is broken")
        return fit_model(X, y, name, **costs)

    monkeypatch.setattr("stakes.compare.list_methods", lambda: known.loc[["tree", "combo"]])
    monkeypatch.setattr("stakes.compare.fit_model", fit)
    assert main(["compile"]) == 2
    assert "tree with hindsight costs (ValueError: it is broken)" in capsys.readouterr().err
    assert fitted.count("combo") == 2
