import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from stakes.reproduce import (
    PAPERS,
    Cell,
    experiments_of,
    load_results,
    plan,
    render_page,
    reproduce,
    save_results,
)
from stakes.reproduce._c45 import (
    DecisionTreePerValue,
    PessimisticTreeClassifier,
    prunable_nodes,
)
from stakes.reproduce._claims import seed_share
from stakes.reproduce._common import (
    numeric_table,
    random_two_thirds,
    stratified_fold,
    tasks_of,
)
from stakes.reproduce._experiment import Split, once_per_split
from stakes.reproduce._notes import read_notes, with_notes
from stakes.reproduce._page import read_choices
from stakes.reproduce._published import PublishedCell, published_tables
from stakes.reproduce._run import known_seconds
from stakes.reproduce._table import judge, read_cells, summarize, to_csv
from stakes.reproduce._verdict import NOT_COMPARABLE, verdict
from stakes.reproduce.koco2013 import small_depth
from stakes.reproduce.obrien2008 import improvements
from stakes.utils._files import StoreWarning

RESULTS = Path(__file__).resolve().parents[2] / "results"


@pytest.mark.parametrize(
    ("metric", "ours", "published", "errors", "expected"),
    [
        ("average_cost", 45.0, 33.7, (2.0, 4.3), "short"),  # 11.3 > 2 * 4.74
        ("average_cost", 42.0, 33.7, (2.0, 4.3), "matched"),  # 8.3 < 9.48
        ("average_cost", 20.0, 33.7, (2.0, 4.3), "beaten"),
        ("g_mean", 0.99, 0.967, (0.001, 0.007), "beaten"),
        ("g_mean", 0.90, 0.967, (0.001, 0.007), "short"),
        ("percent_error", 24.6, 23.69, (0.5, None), "matched"),  # within 1.0 point
        ("percent_error", 24.8, 23.69, (0.5, None), "short"),
        ("percent_error", 22.0, 23.69, (0.5, None), "beaten"),
        ("percent_improvement", 13.2, 18.0, (1.0, None), "matched"),  # within 5 points
        ("percent_improvement", 12.0, 18.0, (1.0, None), "short"),
        ("percent_improvement", 24.0, 18.0, (1.0, None), "beaten"),
        ("rate_win_draw", 0.155, 0.147, (0.001, None), "matched"),  # within a point
        ("rate_win_draw", 0.160, 0.147, (0.001, None), "short"),
        ("rate_win_draw", 0.130, 0.147, (0.001, None), "beaten"),  # a rate of errors
        ("n_samples_used", 900.0, 1002.8, (100.0, 183.0), "matched"),
        ("n_samples_used", 100.0, 1002.8, (10.0, 183.0), "short"),  # no direction to beat in
    ],
)
def test_verdicts(metric, ours, published, errors, expected):
    said = verdict(metric, ours, published, standard_error=errors[0], published_error=errors[1])
    assert said == expected


def test_a_printed_figure_is_whatever_rounds_to_it():
    exact = {"standard_error": 0.0, "published_error": 0.0}
    assert verdict("mauc", 0.9996, 1.0, **exact, rounding=0.0005) == "matched"
    assert verdict("mauc", 0.9994, 1.0, **exact, rounding=0.0005) == "short"
    assert verdict("mauc", 0.9996, 1.0, **exact) == "short"


def test_published_figures_are_those_of_the_papers():
    # Spot checks against the printed tables, one per table.
    def value(paper, table, task, method, metric):
        cells = published_tables(paper)[table]
        found = [c for c in cells if (c.task, c.method, c.metric) == (task, method, metric)]
        assert len(found) == 1
        return found[0].value, found[0].spread

    assert value("abe2004", "1", "kdd99", "data", "class_ratio") == ("0.0001278", "")
    assert value("abe2004", "2", "satimage", "dse", "average_cost") == ("116.8", "6.28")
    assert value("abe2004", "3", "letter", "gbse", "n_samples_used") == ("363001", "5557")
    assert value("koco2013", "1", "yeast", "data", "imbalance_ratio") == ("92.60", "")
    assert value("koco2013", "2", "satimage", "combo", "g_mean") == ("0.825", "0.012")
    assert value("koco2013", "3", "connect4", "adaboost_mm", "confusion_norm") == (
        "0.670",
        "0.040",
    )
    assert value("koco2013", "4", "connect4", "adaboost_mm", "rate_draw_win") == ("0.656", "")
    assert value("zhang2005", "1", "sonar", "bacing", "percent_error") == ("20.97", "")
    assert (
        value("zhang2005", "2", "all", "bacing_vs_bagging", "absolute_win_loss_tie")[0] == "14-5-1"
    )
    assert value("obrien2008", "1", "nursery/nb", "partition", "percent_improvement")[0] == "31"
    assert value("obrien2008", "2", "wine/qda", "lf", "percent_improvement")[0] == "68"


@pytest.mark.parametrize("paper", [p for p in PAPERS if p != "slides"])
def test_every_published_cell_of_a_run_table_has_its_task(paper):
    for experiment in experiments_of(paper):
        for table in experiment.tables:
            tasks = {c.task for c in published_tables(paper)[table]} - {"mean", "std", "all"}
            assert tasks <= set(experiment.tasks)


def test_means_of_the_published_improvements_are_the_printed_ones():
    # obrien2008 prints the means: -7.2, -2.1, 10.8 and -12.9, -7.8, 8.9.
    for table, means in (("1", (-7.2, -2.1, 10.8)), ("2", (-12.9, -7.8, 8.9))):
        cells = published_tables("obrien2008")[table]
        for method, mean in zip(("metacost", "lf", "partition"), means):
            values = [c.number for c in cells if c.method == method and "/" in c.task]
            assert len(values) == 21
            assert np.mean(values) == pytest.approx(mean, abs=0.06)


def test_the_slides_come_out_exactly():
    cells = reproduce("slides")
    assert len(cells) == 23
    assert {cell.verdict for cell in cells} == {"matched"}


def test_improvement_is_the_ratio_of_costs_and_metacost_the_better_variant():
    per_run = {
        ("t", "plug_in", "cost"): np.array([10.0, 30.0]),
        ("t", "partition", "cost"): np.array([8.0, 24.0]),
        ("t", "metacost_inclusive", "cost"): np.array([20.0, 20.0]),
        ("t", "metacost_out_of_bag", "cost"): np.array([22.0, 22.0]),
    }
    figures = improvements(per_run)
    assert figures["t", "partition", "percent_improvement"][0] == pytest.approx(20)
    assert figures["t", "partition", "percent_improvement"][1] == pytest.approx(0)
    assert figures["t", "metacost", "percent_improvement"][0] == pytest.approx(0)


def test_splits_depend_on_task_and_fold_alone():
    y = np.repeat(["a", "b", "c"], [30, 15, 6])
    X = np.arange(51)
    split = stratified_fold(5)
    parts = [split(X, y, np.random.RandomState(3), part)[1] for part in range(5)]
    assert sorted(np.concatenate(parts)) == list(range(51))
    for part in parts:
        assert np.sum(y[part] == "b") == 3
    again = split(X, y, np.random.RandomState(3), 2)[1]
    assert (again == parts[2]).all()


def test_folds_with_a_class_rarer_than_the_folds():
    y = np.repeat([0, 1, 2], [40, 7, 1])
    split = stratified_fold(10)
    parts = [split(None, y, np.random.RandomState(0), part)[1] for part in range(10)]
    assert sorted(np.concatenate(parts)) == list(range(48))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_random_two_thirds_hold_every_class():
    y = np.repeat([0, 1, 2], [60, 28, 2])
    for seed in range(5):
        train, test = random_two_thirds(None, y, np.random.RandomState(seed), 0)
        assert len(train) == 60
        assert set(y[train]) == {0, 1, 2}
        assert not set(train) & set(test)


def test_numeric_table_keeps_number_codes_and_fills_with_training_means():
    import pandas as pd

    frame = pd.DataFrame(
        {
            "code": pd.Categorical(["1", "4", None, "4"]),
            "word": pd.Categorical(["low", "high", "low", None]),
            "number": [1.0, np.nan, 3.0, 8.0],
        }
    )
    train, test = numeric_table(frame.iloc[:3], frame.iloc[3:])
    assert train[:, 0].tolist() == [1, 4, 2.5]
    assert train[:, 1].tolist() == [1, 0, 1]  # categories in order: high, low
    assert train[:, 2].tolist() == [1, 2, 3]
    assert test.tolist() == [[4, pytest.approx(2 / 3), 8]]


def test_pruning_by_hand():
    # A root of 16 with 15 of one class; children of 6 (pure), 9 (pure) and 1 (pure) as in
    # Quinlan's example: 6 * .206 + 9 * .143 + 1 * .75 = 3.273 predicted errors against
    # 16 * .157 = 2.512 for a leaf, so the root becomes a leaf. The inner node of 10 with one
    # error, 10 * .247 = 2.47, is no better than its children, 9 * .143 + .75 = 2.04.
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    counts = np.array([16.0, 6, 10, 9, 1])
    shares = np.array([[15 / 16, 1 / 16], [1, 0], [0.9, 0.1], [1, 0], [0, 1]])
    assert prunable_nodes(left, right, counts, shares, 0.25) == [0]


def test_the_stand_in_prunes_noise_and_keeps_structure():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] > 0).astype(int)
    noisy = np.where(rng.uniform(size=400) < 0.2, 1 - y, y)
    full = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(X, noisy)
    pruned = PessimisticTreeClassifier(random_state=0).fit(X, noisy)
    leaves = len(np.unique(pruned.apply(X)))
    assert leaves < 0.7 * full.get_n_leaves()
    X_new = rng.normal(size=(2000, 5))
    truth = (X_new[:, 0] > 0).astype(int)
    assert np.mean(pruned.predict(X_new) == truth) > np.mean(full.predict(X_new) == truth)


def test_results_make_the_round_trip_and_the_page(tmp_path):
    cells = [
        Cell(
            "abe2004",
            "2",
            "annealing",
            "gbse",
            "average_cost",
            30.5,
            2.0,
            20,
            "33.72",
            "4.29",
            "matched",
        ),
        Cell(
            "abe2004",
            "2",
            "annealing",
            "iw",
            "average_cost",
            99.0,
            2.0,
            20,
            "67.38",
            "9.22",
            "short",
            "why",
        ),
        Cell("abe2004", "2", "annealing", "cost_forest", "average_cost", 20.0, 1.0, 20),
    ]
    assert read_cells(to_csv(cells)) == cells
    save_results("abe2004", cells, tmp_path)
    results = load_results(tmp_path)
    assert results == {"abe2004": cells}
    assert summarize(cells) == {"abe2004": {"2": {"beaten": 0, "matched": 1, "short": 1}}}
    page = render_page(results)
    assert (
        "| annealing | 30.5 ± 2 = (33.72 ± 4.29) | 99 ± 2 ▼ (67.38 ± 9.22) | 20 ± 1 | 20 |" in page
    )
    assert "- annealing, iw (average_cost): why" in page


def test_a_cell_of_more_runs_is_kept_and_said_to_be(tmp_path):
    def cell(method, ours, runs):
        return Cell("abe2004", "2", "annealing", method, "average_cost", ours, 1.0, runs)

    save_results("abe2004", [cell("iw", 90.0, 20), cell("gbse", 40.0, 20)], tmp_path)
    # of as many runs the new one; what was not run now stays
    save_results("abe2004", [cell("gbse", 41.0, 20), cell("dse", 95.0, 1)], tmp_path)
    found = {c.method: c.ours for c in load_results(tmp_path)["abe2004"]}
    assert found == {"iw": 90.0, "gbse": 41.0, "dse": 95.0}
    fewer = [cell("gbse", 9.0, 1), cell("iw", 9.0, 1), cell("dse", 50.0, 2)]
    with pytest.warns(StoreWarning, match="keeps 2 cells of more runs .* annealing, gbse: 20"):
        path = save_results("abe2004", fewer, tmp_path)
    found = {c.method: c.ours for c in read_cells(path.read_text())}
    assert found == {"iw": 90.0, "gbse": 41.0, "dse": 50.0}
    save_results("abe2004", fewer, tmp_path, replace=True)
    assert read_cells(path.read_text()) == fewer


def test_unknown_choices_are_refused_by_name():
    with pytest.raises(ValueError, match="no paper 'abe2005' here: choose from 'abe2004'"):
        reproduce("abe2005")
    with pytest.raises(ValueError, match="abe2004 has no task 'iris': it has 'annealing'"):
        reproduce("abe2004", tasks=["iris"])
    with pytest.raises(ValueError, match="runs must be at least 1"):
        reproduce("abe2004", tasks=["splice"], runs=0)


@pytest.mark.skipif("STAKES_DATA" not in os.environ, reason="needs the folder STAKES_DATA")
def test_tasks_of_obrien_are_in_the_order_of_their_tables():
    # "ordered by increasing geometric-mean class size": TASKS are in the printed order
    from stakes.reproduce import obrien2008

    sizes = []
    for task in obrien2008.TASKS:
        counts = np.unique(obrien2008.TASKS[task]()[1], return_counts=True)[1]
        sizes.append(np.exp(np.log(counts).mean()))

    assert sizes == sorted(sizes)


def test_a_tree_per_value_takes_all_values_apart_at_once():
    # x, then the decision as three indicators. Decision 0 is right where x = 0, decision 1 where
    # x = 1, decision 2 never; decision 3 was not seen, so the most frequent answer counts: 0.
    decisions = np.eye(4)[[0, 0, 1, 1, 2, 2]]
    X = np.column_stack([[0, 1, 0, 1, 0, 1], decisions])
    model = DecisionTreePerValue(DecisionTreeClassifier(max_depth=1), 4, random_state=0)
    model.fit(X, [1, 0, 0, 1, 0, 0])
    assert model.predict(X).tolist() == [1, 0, 0, 1, 0, 0]
    assert model.predict(np.array([[1, 0, 0, 0, 1]])).tolist() == [0]
    # A single binary tree of the same depth cannot tell them apart.
    stump = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, [1, 0, 0, 1, 0, 0])
    assert stump.predict(X).tolist() != [1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(("columns", "depth"), [("ab", 4), ("ax", 3), ("xy", 3)])
def test_tables_of_categories_alone_get_deeper_trees(columns, depth):
    table = pd.DataFrame({"a": list("pq"), "b": list("rs")}, dtype="category")
    table = table.assign(x=[0.0, 1.0], y=[1.0, 0.0])[list(columns)]
    y = np.array([0, 1])
    assert small_depth(Split("any", table, y, table, y)) == depth


def test_a_note_belongs_to_a_cell_that_falls_short():
    notes = read_notes("zhang2005")
    key, (_, note) = next((k, v) for k, v in notes.items() if not v[0])
    figures = (27.0, 0.5, 5, "23.5", "")
    cells = [Cell("zhang2005", *key, *figures, said) for said in ("short", "matched")]
    cells.append(Cell("zhang2005", "1", "sonar", "svm", "percent_error", *figures, "short"))
    short, matched, unexplained = with_notes("zhang2005", cells)
    assert (short.note, matched.note, unexplained.note) == (note, "", "Not known.")


def test_a_cell_that_is_not_comparable_counts_neither_way():
    notes = read_notes("zhang2005")
    key, (said, note) = next((k, v) for k, v in notes.items() if v[0])
    assert said == NOT_COMPARABLE
    cells = [
        Cell("zhang2005", *key, 8.0, 0.1, 5, "12.95", "", "beaten"),
        Cell(
            "zhang2005", "1", "sonar", "svm", "percent_error", 23.0, 0.1, 5, "23.69", "", "matched"
        ),
        Cell("zhang2005", *key[:2], "cost_forest", "percent_error", 6.0, 0.1, 5),
    ]
    marked = with_notes("zhang2005", cells)
    assert [c.verdict for c in marked] == [NOT_COMPARABLE, "matched", ""]
    assert marked[0].note == note
    assert seed_share(marked) == (1, 1)
    assert summarize(marked)["zhang2005"]["1"][NOT_COMPARABLE] == 1
    page = render_page({"zhang2005": marked})
    assert "| zhang2005 | 1 | 0 | 1 | 0 | 1 | 1/1 (100%) |" in page
    assert "8 ± 0.1 ≁ (12.95)" in page


def test_costs_that_were_drawn_once_are_judged_by_the_spread_between_draws():
    def cell(table):
        return PublishedCell("obrien2008", table, "car/nb", "lf", "percent_improvement", "25", "")

    # 16 runs with a standard error of 1.5: one draw lies 6 from the next, so that 2 hypot(6, 1.5)
    # = 12.4 is allowed where costs are drawn, and 5 where they follow from the data.
    assert [judge(cell("2"), ours, 1.5, 16) for ours in (12.0, 13.0, 38.0)] == [
        "short",
        "matched",
        "beaten",
    ]
    assert judge(cell("1"), 13.0, 1.5, 16) == "short"


def test_the_page_tells_choices_beside_their_table_and_the_runs_of_each_cell():
    row = [
        Cell(
            "obrien2008",
            "2",
            "car/nb",
            method,
            "percent_improvement",
            20.0,
            1.0,
            runs,
            "25",
            "",
            "matched",
        )
        for method, runs in (("metacost", 55), ("lf", 15))
    ]
    page = render_page({"obrien2008": row})
    table = page.partition("### Table 2")[2]
    for choice in read_choices("obrien2008", "2"):
        assert f"- {choice}" in table
    assert "| car/nb | 20 ± 1 = (25) | 20 ± 1 = (25) | 55, 15 |" in table
    for paper in PAPERS:
        for table in published_tables(paper):
            assert all(isinstance(choice, str) for choice in read_choices(paper, table))


def test_the_time_of_a_plan_comes_from_the_times_beside_the_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    part = {"tasks": ["splice"], "methods": ["gbse", "iw"], "runs": 2, "store": "store"}
    found = plan("abe2004", **part)
    assert (found["missing"], found["seconds"], found["runs_never_timed"]) == (4, None, 4)

    (tmp_path / "results").mkdir()
    lines = "paper,task,method,seconds\nabe2004,splice,gbse,1.5\nkoco2013,splice,iw,9\n"
    (tmp_path / "results" / "seconds.csv").write_text(lines)
    assert known_seconds("abe2004") == {("splice", "gbse"): 1.5}
    found = plan("abe2004", **part)
    assert (found["missing"], found["seconds"], found["runs_never_timed"]) == (4, 3.0, 2)


def test_the_stored_times_are_those_of_methods_and_tasks_that_exist():
    for paper in PAPERS:
        for task, method in known_seconds(paper, RESULTS):
            experiments = experiments_of(paper)
            assert any(task in e.tasks and method in e.methods for e in experiments)


def test_a_reading_changes_what_is_loaded():
    (usual, other) = (tasks_of("obrien2008", ["audiology/nb"], **changes)["audiology/nb"].keywords
                      for changes in ({}, {"first_rows": None}))  # fmt: skip
    assert usual == {"name": "audiology", "first_rows": 200, "min_class_size": 10}
    assert other == {**usual, "first_rows": None}


def test_what_methods_of_a_fold_share_is_computed_once():
    asked = []

    @once_per_split
    def table(split):
        asked.append(split.task)
        return len(asked)

    first, second = (Split(task, None, None, None, None) for task in "ab")
    assert [table(first), table(first), table(second), table(first)] == [1, 1, 2, 1]
    assert asked == ["a", "b"]
