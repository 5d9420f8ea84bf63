import numpy as np
import pandas as pd
import pytest

from stakes.costs import CostMatrix
from stakes.tree import CostTreeClassifier, export_cost_tree, plot_cost_tree


@pytest.fixture(scope="module")
def tree():
    frame = pd.DataFrame(
        {
            "amount": [10.0, 20.0, 30.0, 100.0, 200.0, 300.0, np.nan],
            "country": ["a", "b", "c", "a", "b", "c", "a"],
        }
    )
    y = ["ok", "ok", "ok", "ok", "fraud", "ok", "fraud"]
    matrix = CostMatrix([[0, 60.5], [1, 0]], labels=["fraud", "ok"])
    return CostTreeClassifier(matrix, min_samples_leaf=1).fit(frame, y)


def test_text_says_questions_decisions_and_costs(tree):
    # 200 and the missing amount are fraud; the cuts are halfway from 100 to 200 to 300
    assert export_cost_tree(tree, currency="$").splitlines() == [
        "amount <= 150",
        "    decide 'ok': $0 a row, 4 rows",
        "amount > 150",
        "    amount <= 250 or missing",
        "        decide 'fraud': $0 a row, 2 rows",
        "    amount > 250",
        "        decide 'ok': $0 a row, 1 row",
    ]


def test_categories_are_listed():
    frame = pd.DataFrame({"country": list("abcdefabcdef")})
    y = np.array([0, 1, 0, 0, 1, 0] * 2)
    tree = CostTreeClassifier(min_samples_leaf=1).fit(frame, y)
    text = export_cost_tree(tree)
    assert text.splitlines()[0] == "country in {b, e}"
    assert "country not in {b, e}" in text


def test_the_unit_of_dates_is_said():
    # 2024-01-01 is day 19,723 since 1970; the cut is halfway to the next day.
    when = pd.to_datetime(["2024-01-01", "2024-01-02"] * 3)
    frame = pd.DataFrame({"when": when, "spent": when - when[0]})
    for name, question in {
        "when": "when (days since 1970) <= 19723.5",
        "spent": "spent (seconds) <= 43200",
    }.items():
        tree = CostTreeClassifier(min_samples_leaf=1).fit(frame[[name]], [0, 1] * 3)
        assert export_cost_tree(tree).splitlines()[0] == question


def test_deep_branches_are_counted(tree):
    assert export_cost_tree(tree, max_depth=1).splitlines()[-1] == "    ... 2 leaves"
    assert export_cost_tree(tree, max_depth=0) == "... 3 leaves"


def test_wrong_names_are_refused(tree):
    with pytest.raises(
        ValueError, match="feature_names has 1 names, but the tree was fitted on 2"
    ):
        export_cost_tree(tree, feature_names=["x"])


def test_the_drawing_has_a_box_for_each_node(tree):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = plot_cost_tree(tree, currency="$")
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("yes") == texts.count("no") == 2
    assert len(texts) == 5 + 4
    assert "decide 'fraud'\n$0 a row\n2 rows" in texts
    assert plot_cost_tree(tree, max_depth=0, ax=ax) is ax
    assert "3 leaves" in [text.get_text() for text in ax.texts]
    pyplot.close("all")
