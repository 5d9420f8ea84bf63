import pandas as pd

from stakes.cli import main
from stakes.compare import list_methods


def test_fits_what_it_can_in_both_kinds_of_costs(monkeypatch, capsys):
    known = list_methods()
    few = known.loc[["tree", "binary_threshold", "stakes"]]
    assert isinstance(few, pd.DataFrame)
    monkeypatch.setattr("stakes.compare.list_methods", lambda: few)
    assert main(["compile"]) == 0
    # the tree twice; the threshold is for two classes alone, the default left out
    assert capsys.readouterr().out == "Compiled by 2 fits, and kept for every later one.\n"
