import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

from stakes.compare import compare
from stakes.compare.words import fixed, money_for, short_label
from stakes.costs import CostMatrix
from stakes.metrics import brier_curve, cost_curve, decision_curve
from stakes.report import render_page, summarize
from stakes.report._charts import calibration_chart, decision_regions, pair_threshold
from stakes.report._what_if import confusion_cells
from stakes.tables import ColumnReading, check_table


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    y = np.repeat(["keep", "sell"], [150, 50])
    X = pd.DataFrame(
        {"x": rng.normal(size=200) + (y == "sell"), "job": rng.choice(["a", "b"], 200)}
    )
    prices = CostMatrix([[0, 1], [6.5, 0]], labels=["keep", "sell"])
    how = {"methods": ["mec"], "fast": True, "currency": "£", "name": "toy"}
    return compare(X, y, cost_matrix=prices, **how)


def test_numbers_are_those_of_the_comparison(made):
    summary, money = summarize(made), money_for(made)
    rows = {row["name"]: row for row in summary["methods"]}
    assert set(rows) == {"constant", "plain", "mec"}
    for name, row in rows.items():
        figures = made.table.loc[name]
        assert row["cost"] == money(figures.cost)
        assert row["total"] == money.sum(figures.total)
        assert row["interval"] == f"{money(figures.low)} to {money(figures.high)}"
    assert summary["what_if"]["total"] == rows[made.probability_method]["total"]
    assert summary["tiles"][0]["value"] == rows["plain"]["total"]
    page = render_page(made)
    for row in rows.values():
        assert f'<td data-k="total">{row["total"]}</td>' in page


def told(page, what):
    return re.findall(rf'<td data-k="{what}">([^<]*)</td>', page.split('id="worth"')[1])


def test_curves_are_told_in_the_numbers_of_python(made):
    page, places = render_page(made), [0.1, 0.25, 0.5, 0.75, 0.9]
    y, proba = made.problem.y[made.tested], made.probabilities("mec")
    benefit = decision_curve(y, proba, thresholds=places).values
    paid, least = brier_curve(y, proba), cost_curve(y, proba)
    at = [10, 25, 50, 75, 90]
    expected = {
        "benefit": benefit,
        "cost": paid.values[at],
        "least": least.values[at],
        "same": paid.best_for_all[at],
    }
    for what, values in expected.items():
        shown = told(page, what)
        digits = len(shown[0].partition(".")[2])
        assert shown == [fixed(value, digits) for value in values]
    # At 50% a false alarm and a miss cost 1 each: the share of mistakes.
    assert paid.values[50] == pytest.approx(((proba[:, 1] >= 0.5) != y).mean())


def test_curves_of_three_classes_go_from_equal_prices_to_these():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = pd.DataFrame({"x": rng.normal(size=150) + y, "z": rng.normal(size=150)})
    C = np.array([[0.0, 1, 2], [4, 0, 3], [9, 5, 0]])
    made = compare(X, y, cost_matrix=C, methods=["mec"], fast=True)
    summary = summarize(made)["worth"]
    y, proba = made.problem.y[made.tested], made.probabilities("mec")
    path = {"cost_matrices": [4.0 * (1 - np.eye(3)), C], "n_points": 41}  # 24 / 6 on average
    benefit, paid = decision_curve(y, proba, **path), brier_curve(y, proba, **path)
    at = [0, 10, 20, 30, 40]
    assert [row["place"] for row in summary["rows"]] == ["0%", "25%", "50%", "75%", "100%"]
    assert [float(row["benefit"]) for row in summary["rows"]] == pytest.approx(
        benefit.values[at], abs=1e-3
    )
    assert [float(row["cost"]) for row in summary["rows"]] == pytest.approx(
        paid.values[at], abs=1e-3
    )
    # At the end the prices are these: what deciding by them costs.
    assert paid.values[-1] == pytest.approx(made.table.loc["mec"].cost)


def test_the_page_is_one_file_that_loads_nothing(made):
    page = render_page(made, command="stakes compare toy.csv")
    # No address of another file: the only ones are data, anchors and the name of SVG.
    assert not re.search(r'(?:src|href)\s*=\s*"(?!data:|#)', page)
    assert "@import" not in page
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert len(page) < 6_000_000


def test_labels_and_cells_are_escaped():
    evil = "</script><b>&\"'"
    y = np.array(["good", evil] * 60)
    X = pd.DataFrame({evil: np.arange(120.0), "t": [evil, "b", "c"] * 40})
    page = render_page(
        compare(
            X, y, cost_matrix="imbalance", methods=["mec"], fast=True, name=evil, currency=evil
        ),
        command=evil,
        title=evil,
    )
    assert "<b>&" not in page.replace("<b>€", "")
    assert page.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert json.loads(data.group(1))["classes"]["full"] == sorted({"good", evil})


def test_a_large_comparison_sends_a_sample(made, monkeypatch):
    monkeypatch.setattr("stakes.report._payload.MAX_BYTES", 1000)
    summary = summarize(made)
    payload = summary["what_if"]["payload"]
    assert payload["n"] == 62  # 1000 bytes * 3/4 / (2 float32 + 2 uint16)
    assert_allclose(payload["scale"] * payload["n"], 200)
    assert summary["what_if"]["sampled"]
    assert "random sample of 62 of the 200 cases" in render_page(made)


def test_the_page_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from stakes.compare import compare\n"
        "y = np.arange(60) % 2\n"
        "found = compare(y[:, None], y, cost_matrix=[[0, 1], [6, 0]], methods=['mec'], cv=2)\n"
        "print(len(found.to_html()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 10_000


def test_regions_meet_at_the_equal_risk_point():
    from stakes.costs import CostMatrix

    C = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [6.0, 4.0, 0.0]])
    point = CostMatrix(C).equal_risk_point()
    for region in decision_regions(C):
        assert np.abs(region - point).sum(axis=1).min() < 1e-9
    # A decision that never pays has no region.
    assert len(decision_regions(np.array([[0.0, 9, 1], [1, 9, 0], [1, 9, 0]]))[1]) <= 1


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([[0, 1], [9, 0]], "10.0%"),
        ([[0, 1], [0, 0]], "never"),
        ([[0, 0], [2, 0]], "always"),
        ([[0, 0], [0, 0]], "–"),
        ([[0, 3], [1, 0]], "75.0%"),
    ],
)
def test_thresholds_between_two(costs, said):
    assert pair_threshold(np.array(costs, dtype=float), 0, 1) == said


def test_calibration_of_honest_probabilities_is_close():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=20_000)
    chart = calibration_chart(p, rng.uniform(size=20_000) < p)
    assert float(chart["gap"].rstrip("%")) < 1.5
    over = calibration_chart(np.full(1000, 0.9), np.arange(1000) % 2 == 0)
    assert over["gap"] == "40.0%"


def test_shades_follow_the_money():
    made = confusion_cells(
        np.array([[5, 1], [2, 9]]), np.array([[0.0, 10], [40, 0]]), money_for_toy()
    )
    assert [cell["shade"] for row in made for cell in row] == [0, 0.25, 1, 0]


def money_for_toy():
    from stakes.compare.words import Money

    return Money("€")


@pytest.mark.parametrize("label", ["", " \n\t ", "\x00\x1b[31m", "\u202eabc", 3, 2.5, True, None])
def test_any_label_has_a_short_form(label):
    found = short_label(label)
    assert found["short"]
    assert found["short"].isprintable()


def test_images_of_the_most_expensive_mistakes():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = pd.DataFrame(rng.normal(size=(90, 4)) + y[:, None] * 0.4)
    made = compare(X, y, cost_matrix=[[0, 1, 2], [3, 0, 4], [5, 6, 0]], methods=["mec"], fast=True)
    found = summarize(made, image_shape=(2, 2))["mistakes"]
    assert found["items"][0]["image"].startswith("data:image/png;base64,")
    costs = [float(item["cost"]) for item in found["items"]]
    assert costs == sorted(costs, reverse=True)


def test_the_page_speaks_of_the_class_that_is_dearer_to_miss():
    X, y = make_classification(200, random_state=0)
    labels = np.array(["good", "bad"])[y]
    prices = CostMatrix(
        [[0, 5], [1, 0]], labels=["bad", "good"]
    )  # a bad one that is missed costs 5
    summary = summarize(compare(X, labels, cost_matrix=prices, methods=["mec"], cv=2))
    assert summary["labels"][summary["positive"]]["short"] == "bad"
    assert summary["what_if"]["threshold"] == "16.7%"  # 1 / (1 + 5)
    assert "never deciding “bad”" in summary["worth"]["charts"][0]["text"]
    assert summary["calibration"]["charts"][0]["label"]["short"] == "bad"


def test_truth_values_are_told_as_they_stood_in_the_file():
    rng = np.random.default_rng(2)
    y = np.array(["keep", "sell"])[rng.integers(0, 2, 120)]
    X = pd.DataFrame({"x": rng.normal(size=120), "seen": rng.random(120) < 0.5})
    reading = {"seen": ColumnReading("seen", "boolean", "Yes/No")}
    check = check_table(X, y, reading)
    prices = CostMatrix([[0, 1], [5, 0]], labels=["keep", "sell"])
    how = {"cost_matrix": prices, "methods": ["mec"], "fast": True, "cv": 2}
    made = compare(X, y, check=check, **how)
    groups = {g["column"]["short"]: g for g in summarize(made, importance=False)["groups"]}
    assert {row["name"]["short"] for row in groups["seen"]["rows"]} == {"Yes", "No"}
    items = summarize(made, importance=False)["mistakes"]["items"]
    assert {item["features"][1] for item in items} <= {"Yes", "No"}
