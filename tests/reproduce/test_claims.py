import os

import numpy as np
import pytest

from stakes.reproduce import (
    PAPERS,
    Cell,
    check_claims,
    draw_figure,
    draw_figures,
    experiments_of,
    readings_of,
    render_page,
    reproduce,
    save_results,
    summary,
)
from stakes.reproduce._claims import seed_share, strict_share
from stakes.reproduce._data import agrees, data_cells
from stakes.reproduce._experiment import Method
from stakes.reproduce._published import PublishedCell, published_tables
from stakes.reproduce._verdict import count_verdict
from stakes.reproduce.obrien2008 import TASKS, improvements
from stakes.reproduce.zhang2005 import TASKS as ZHANG_TASKS
from stakes.reproduce.zhang2005 import with_wins

needs_data = pytest.mark.skipif(
    "STAKES_DATA" not in os.environ, reason="needs the folder STAKES_DATA"
)


def cells_of(paper, table, metric, figures):
    return [
        Cell(paper, table, task, method, metric, value, 0.0, 1, "1", "", "matched")
        for task, row in figures.items()
        for method, value in row.items()
    ]


@pytest.mark.parametrize(("n_good", "held"), [(5, True), (4, False)])
def test_gbse_must_be_among_the_first_two_on_five_of_six(n_good, held):
    rows = {
        f"set{i}": {"dse": 1.0, "metacost": 3.0, "gbse": 2.0 if i < n_good else 4.0}
        for i in range(6)
    }
    (claim,) = check_claims({"abe2004": cells_of("abe2004", "2", "average_cost", rows)})

    assert claim.held is held
    assert "; rank: set0 2, set1 2" in claim.figures


def test_a_claim_needs_all_its_cells():
    rows = {f"set{i}": {"dse": 1.0, "gbse": 2.0} for i in range(5)}  # five of six sets
    assert check_claims({"abe2004": cells_of("abe2004", "2", "average_cost", rows)}) == []
    assert check_claims({}) == []


def test_claims_on_norms_wins_and_means():
    norms = {
        "balance": {"combo": 0.4, "adaboost_mm": 0.5},
        "yeast": {"combo": 2, "adaboost_mm": 1},
    }
    errors = {f"set{i}": dict.fromkeys(("svm", "arcing"), 9.0) for i in range(20)}
    for i, row in enumerate(errors.values()):
        row.update(bacing=1.0 if i < 11 else 3.0, bagging=2.0)
    means = {"mean": {"partition": -0.5}}
    claims = check_claims(
        {
            "koco2013": cells_of("koco2013", "3", "confusion_norm", norms),
            "zhang2005": cells_of("zhang2005", "1", "percent_error", errors),
            "obrien2008": cells_of("obrien2008", "1", "percent_improvement", means),
        }
    )

    assert [claim.held for claim in claims] == [True, False, True, False]
    assert claims[2].figures == "11 won, 9 lost"


def test_extra_columns_and_quoted_rivals_do_not_count():
    cells = [
        Cell("p", "1", "t", "gbse", "average_cost", 1.0, 0.0, 1, "1", "", "short"),
        Cell("p", "1", "t", "iw", "average_cost", 1.0, 0.0, 1, "1", "", "beaten"),
        Cell("p", "1", "t", "smoteboost", "average_cost", 1.0, 0.0, 1, "1", "", "short"),
        Cell("p", "1", "t", "partition", "average_cost", 1.0, 0.0, 1),
    ]
    assert seed_share(cells) == (1, 2)


def test_a_cell_counts_once_and_tables_of_wide_margins_do_not():
    printed = ("combo", "g_mean", 0.98, 0.001, 10, "0.967", "0.01")
    cells = [
        Cell("koco2013", "2", "car", *printed, "beaten"),
        Cell("koco2013", "3", "car", *printed, "beaten"),
        Cell(
            "obrien2008",
            "2",
            "car/nb",
            "lf",
            "percent_improvement",
            1.0,
            0.0,
            1,
            "30",
            "",
            "short",
        ),
        Cell("zhang2005", "2", "all", "bacing", "wins", "12-8", 0.0, 1, "14-6", "", "matched"),
    ]
    assert seed_share(cells) == strict_share(cells) == (1, 1)


def test_wins_and_losses_by_hand():
    # bagging: better on the first set beyond doubt, worse on the second by chance, equal on the
    # others; the other methods are as good as the SVM everywhere
    rng = np.random.RandomState(0)
    per_fold = {}
    for number, task in enumerate(ZHANG_TASKS):
        svm = rng.uniform(20, 30, size=50)
        for method in ("svm", "bagging", "arcing", "bacing"):
            per_fold[task, method, "percent_error"] = svm
        noise = rng.normal(size=50)
        if number == 0:
            per_fold[task, "bagging", "percent_error"] = svm - 5 + noise
        if number == 1:
            per_fold[task, "bagging", "percent_error"] = svm + 20 * (noise - noise.mean()) + 0.1
    per_run = {key: values.reshape(5, 10).mean(axis=1) for key, values in per_fold.items()}

    figures = with_wins(per_run, per_fold)

    assert figures["all", "bagging_vs_svm", "absolute_win_loss_tie"][0] == "1-1-18"
    assert figures["all", "bagging_vs_svm", "significant_win_loss"][0] == "1-0"
    assert figures["all", "bacing_vs_bagging", "absolute_win_loss_tie"][0] == "1-1-18"
    assert figures["all", "bacing_vs_svm", "absolute_win_loss_tie"] == ("0-0-20", 0.0, 5)


@pytest.mark.parametrize(
    ("ours", "said"), [("14-5-1", "matched"), ("20-0-0", "beaten"), ("3-17-0", "short")]
)
def test_counts_are_compared_by_wins_less_losses(ours, said):
    assert count_verdict(ours, "14-5-1") == said


def test_the_mean_and_the_spread_need_every_task():
    costs = {}
    for number, task in enumerate(TASKS):
        costs[task, "plug_in", "cost"] = np.array([10.0, 10.0])
        costs[task, "partition", "cost"] = np.array([8.0, 8.0]) if number else np.array([5.0, 5.0])
    mean = improvements(costs)["mean", "partition", "percent_improvement"]
    assert mean[0] == pytest.approx((20 * 20 + 50) / 21)
    spread = improvements(costs)["std", "partition", "spread_of_improvement"]
    assert spread[0] == pytest.approx(30 / np.sqrt(21))  # one of 21 is 30 away from the others
    del costs["car/nb", "partition", "cost"]
    assert ("mean", "partition", "percent_improvement") not in improvements(costs)
    assert ("std", "partition", "spread_of_improvement") not in improvements(costs)


def test_facts_of_the_data_agree_to_the_printed_digits():
    def printed(value):
        return PublishedCell("p", "1", "t", "data", "m", value, "")

    assert agrees(0.013158, printed("0.01316"))
    assert not agrees(0.0117, printed("0.01316"))
    assert agrees("150/35/30", printed("30/150/35"))
    assert not agrees("150/35/29", printed("30/150/35"))


@needs_data
def test_data_of_koco_are_the_published_ones():
    (experiment,) = experiments_of("koco2013")
    cells = data_cells(experiment, ["car", "glass", "nursery_s", "yeast"])
    assert len(cells) == 16
    assert {cell.verdict for cell in cells} == {"matched"}


def test_a_method_takes_part_where_and_as_often_as_it_says():
    method = Method(print, tasks=("a",), runs=2)
    assert [method.takes_part("a", 1), method.takes_part("a", 2), method.takes_part("b", 0)] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("paper", PAPERS)
def test_other_readings_answer_published_cells(paper):
    for name, reading in readings_of(paper).items():
        assert reading.protocol == name
        assert reading.says
        published = {c.task for table in reading.tables for c in published_tables(paper)[table]}
        assert set(reading.tasks) <= published


def test_unknown_readings_and_figures_are_refused_by_name():
    with pytest.raises(ValueError, match="abe2004 has no other reading 'x': it has 'unpruned'"):
        reproduce("abe2004", reading="x")
    with pytest.raises(ValueError, match="obrien2008 has no figure 'x' here: it has 'figure1'"):
        draw_figure("obrien2008", "x")


def test_summary_and_page_tell_the_share_the_claims_and_the_readings(tmp_path):
    rows = {f"set{i}": {"dse": 1.0, "metacost": 3.0, "gbse": 2.0} for i in range(6)}
    usual = cells_of("abe2004", "2", "average_cost", rows)
    other = [Cell(*list(vars(c).values())[:10], "short") for c in usual[:3]]
    save_results("abe2004", usual, tmp_path)

    found = summary(tmp_path)
    page = render_page({"abe2004": usual}, {("abe2004", "unpruned"): other})

    assert found["own_methods"] == {"matched_or_beaten": 18, "cells": 18}
    assert [claim["held"] for claim in found["claims"]] == [True]
    said = "yes (first on 0, where the paper has it first on five; rank: set0 2"
    assert f"- GBSE is best or second on five of the six sets: {said}" in page
    assert "| abe2004 | in use | 0 | 3 | 0 | 0 | 3/3 (100%) |" in page
    assert "| abe2004 | the tree that stands in for C4.5 is not pruned | 0 | 0 | 3 |" in page


@needs_data
def test_figures_become_files(tmp_path):
    pytest.importorskip("matplotlib")
    paths = draw_figures("zhang2005", tmp_path / "new") + draw_figures("abe2004", tmp_path)
    assert [path.name for path in paths] == ["zhang2005_figures1and2.png"]
    assert paths[0].stat().st_size > 10_000


@pytest.mark.parametrize(("noise", "held"), [(0.0, True), (60.0, False)])
def test_lf_must_save_and_fail_where_it_is_printed(noise, held):
    rng = np.random.RandomState(0)
    printed = np.linspace(-100, 60, 21)
    ours = printed + noise * rng.normal(size=21)
    cells = [
        Cell(
            "obrien2008",
            "1",
            task,
            "lf",
            "percent_improvement",
            x,
            0.0,
            1,
            f"{y:.0f}",
            "",
            "short",
        )
        for task, x, y in zip(TASKS, ours, printed)
    ]
    (claim,) = check_claims({"obrien2008": cells})
    assert claim.held is held
    assert claim.figures.startswith(f"correlation {np.corrcoef(ours, printed)[0, 1]:.2f}")
