"""Prices as users write them: read back in words, refused before anything is fitted."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import FAST, GOOD, refused, run, table

from stakes.cli._expressions import ExpressionError, parse
from stakes.compare import fit_model
from stakes.costs import CostTensor

TARGET = ["--target", "risk"]


def figures():
    return json.loads(Path("report.json").read_text())


def test_prices_are_read_back_before_anything_is_fitted(capsys, data):
    _, err = run(
        capsys, "compare", data, *TARGET, "--fp", 1, "--fn", 5, "--positive", "bad", *FAST
    )
    first = err.splitlines()[0]
    assert first == (
        "Deciding 'good' when the truth is 'bad' costs 5; "
        "deciding 'bad' when the truth is 'good' costs 1."
    )


def test_an_average_read_back_is_that_of_the_page(capsys, here):
    rows = table(60, ("good", "bad"))
    rows["fee"] = np.where(rows["risk"] == "bad", 50.0, 20.0) + np.arange(60) // 2 % 4
    rows.to_csv("d.csv", index=False)
    prices = ["--fp", 1, "--fn", "2*fee", "--positive", "bad"]
    _, err = run(capsys, "compare", "d.csv", *TARGET, *prices, *FAST, "--json")
    found = figures()
    miss = found["cost_matrix"][found["classes"].index("bad")][found["classes"].index("good")]
    (low, high, mean) = re.search(
        r"costs 2\*fee \((\S+) to (\S+), (\S+) on average\)", err
    ).groups()
    assert (low, high) == ("100", "106")  # not the 40 of rows in which nothing can be missed
    assert float(mean) == pytest.approx(miss, abs=0.01)


def test_the_positive_class_is_asked_for(capsys, data):
    said = refused(capsys, "compare", data, *TARGET, "--fp", 1, "--fn", 5)
    assert said == (
        "Error: say which class is missed at the price --fn: --positive bad if --fn is the price of "
        "deciding 'good' when the truth is 'bad', or --positive good if it is that of deciding "
        "'bad' when the truth is 'good'."
    )
    assert not Path(".stakes").exists()


@pytest.mark.parametrize("classes", [(1, 0), ("No", "Yes"), ("f", "t"), ("negative", "positive")])
def test_a_plain_name_needs_no_asking(capsys, here, classes):
    table(60, classes).to_csv("d.csv", index=False)
    run(capsys, "compare", "d.csv", *TARGET, "--fp", 1, "--fn", 5, *FAST, "--json")
    found = figures()
    miss = [str(c).lower() in ("1", "yes", "t", "positive") for c in found["classes"]]
    assert np.array(found["cost_matrix"])[miss].max() == 5


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (["--fp", 1, "--fn", -5], "--fn -5: a miss cannot cost less than nothing"),
        (["--fp", 0, "--fn", 5], "--fp 0 is nowhere more than --tn 0: where a false alarm"),
        (["--fp", 1, "--fn", 5, "--tp", 5], "--fn 5 is nowhere more than --tp 5"),
        (
            ["--fp", 1, "--fn", "amout"],
            "neither a finite number nor a column of data.csv (did you",
        ),
        (["--fp", 1, "--fn", "2*amout"], "names 'amout', which is no column of data.csv (did you"),
        (["--fp", 1, "--fn", "2*"], "--fn '2*' ends where a number or a column should come."),
        (
            ["--fp", 1, "--fn", "1,5"],
            "',5' at character 2, where an operator such as + or * should",
        ),
        (["--fp", 1, "--fn", "1/(amount-amount)"], "is no finite number in row 1"),
        (["--fp", 1, "--fn", "2*job"], "the column 'job' of --fn"),
    ],
)
def test_wrong_prices_are_refused_once_before_anything_is_fitted(capsys, data, prices, said):
    assert said in refused(capsys, "compare", data, *TARGET, *prices, "--positive", "bad")
    assert not Path(".stakes").exists()
    assert not Path("report.html").exists()


def test_arithmetic_over_columns(capsys, here):
    table().rename(columns={"score": "the score"}).to_csv("d.csv", index=False)
    price = "0.5*amount + max(2, `the score`, 1)"
    plain = [*TARGET, "--fp", 2, "--fn", "0.5*the score", "--positive", "good"]
    said = "should come: write the column in backquotes, `the score`."
    assert said in refused(capsys, "compare", "d.csv", *plain)
    given = [*TARGET, "--fp", 2, "--fn", price, "--positive", "good"]
    _, err = run(capsys, "compare", "d.csv", *given, *FAST, "--json")
    frame = table()
    by_hand = 0.5 * frame["amount"] + np.maximum(frame["score"], 2)
    found = figures()
    assert found["kind"] == "deciding"
    good = frame["risk"] == "good"
    assert found["cost_matrix"][1][0] == pytest.approx(by_hand[good].mean())
    assert price in err.splitlines()[0]
    # the columns that it is made of stay features
    assert "Not learned from" not in err
    assert 'title="amount"' in Path("report.html").read_text()
    # and the model finds the prices of new rows again
    run(capsys, "fit", "d.csv", *given, "--method", "mec")
    run(capsys, "predict", "model.skops", "d.csv")
    table().drop(columns=["amount", "score"]).to_csv("less.csv", index=False)
    said = refused(capsys, "predict", "model.skops", "less.csv")
    assert "needs the columns 'amount', 'the score' for the prices of each row" in said
    assert "--fn" not in said


def test_what_is_not_learned_from_is_said(capsys, data):
    _, err = run(
        capsys, "compare", data, *TARGET, "--fp", 2, "--fn", "amount", "--positive", "good",
        "--groups", "age", *FAST,
    )  # fmt: skip
    assert "Not learned from: 'age' (groups)." in err  # a price is a column as any other
    _, err = run(
        capsys, "compare", data, *TARGET, "--fp", 2, "--fn", "amount", "--positive", "good",
        "--not-feature", "amount,score", *FAST,
    )  # fmt: skip
    assert "Not learned from: 'amount' (--not-feature), 'score' (--not-feature)." in err
    fit = [
        "fit",
        data,
        *TARGET,
        "--fp",
        2,
        "--fn",
        "amount",
        "--positive",
        "good",
        "--method",
        "mec",
    ]
    run(capsys, *fit, "--not-feature", "amount")
    run(capsys, "predict", "model.skops", data)  # the prices of rows are still found


@pytest.mark.parametrize("price", ["amount", "1*amount"])
def test_the_form_of_a_price_changes_no_figure(capsys, data, price):
    given = [*TARGET, "--fp", 2, "--fn", price, "--positive", "good"]
    run(capsys, "compare", data, *given, *FAST, "--json")
    found = figures()
    run(
        capsys,
        "compare",
        data,
        *TARGET,
        "--fp",
        2,
        "--fn",
        "amount + 0",
        "--positive",
        "good",
        *FAST,
        "--json",
    )
    assert [row["total"] for row in figures()["methods"]] == [
        row["total"] for row in found["methods"]
    ]


@pytest.mark.parametrize("price", ["won", "100*won", "amount + won"])
def test_a_price_that_names_the_target_is_refused(capsys, here, price):
    table().assign(won=(table()["risk"] == "good").astype(int)).to_csv("d.csv", index=False)
    given = ["--target", "won", "--fp", 2, "--fn", price]
    assert "names the target 'won': a price that knows the truth" in refused(
        capsys, "compare", "d.csv", *given
    )
    assert "is the target" in refused(
        capsys, "compare", "d.csv", "--target", "won", "--fp", 2, "--fn", 3, "--baseline", "won"
    )


def test_a_price_that_tells_the_truth_is_said(capsys, here):
    won = (table()["risk"] == "good").astype(int)
    table().assign(won=won, lost=1 - won).to_csv("d.csv", index=False)
    given = [
        "--target",
        "won",
        "--fp",
        2,
        "--fn",
        "100*(1 - lost) + amount/1000 + 3",
        "--drop",
        "risk",
    ]
    _, err = run(capsys, "compare", "d.csv", *given, "--not-feature", "lost", *FAST)
    assert "Warning ST102: 'price [true 1, decided 0]' alone tells the class of" in err


def test_columns_of_costs_in_hindsight_are_never_learned_from(capsys, data):
    costs = ["--cost", "bad=amount / 2", "--cost", "good=score - score + 7"]
    _, err = run(capsys, "compare", data, *TARGET, *costs, *FAST)
    assert "Not learned from: 'amount' (prices), 'score' (prices)." in err


def test_the_note_on_odd_prices_comes_once(capsys, here):
    table(150, ("bad", "good", "ugly")).to_csv("d.csv", index=False)
    Path("c.csv").write_text("true,bad,good,ugly\nbad,3,1,9\ngood,5,0,9\nugly,5,5,0\n")
    _, err = run(capsys, "compare", "d.csv", *TARGET, "--costs", "c.csv", *FAST)
    (note,) = [line for line in err.splitlines() if line.startswith("Note ")]
    assert "deciding 'good' when the truth is 'bad' costs 1, less than" in note


def test_a_table_with_nothing_to_decide_is_refused(capsys, data):
    Path("c.csv").write_text("true,bad,good\nbad,0,-5\ngood,1,0\n")
    said = refused(capsys, "compare", data, *TARGET, "--costs", "c.csv")
    assert "c.csv: deciding 'good' when the truth is 'bad' costs -5, no more than" in said


def test_columns_are_dropped_by_commas(capsys, here):
    table().assign(**{"a,b": 1.0}).to_csv("d.csv", index=False)
    run(capsys, "compare", "d.csv", *GOOD, *FAST, "--drop", "age,job", "--drop", "a,b")
    page = Path("report.html").read_text()
    assert 'title="score"' in page
    assert 'title="age"' not in page
    assert 'title="a,b"' not in page
    assert "no column 'agee'" in refused(capsys, "compare", "d.csv", *GOOD, "--drop", "agee,job")


@pytest.mark.parametrize(
    ("text", "value"),
    [("2+3*4", 14), ("(2+3)*4", 20), ("-2 - -3", 1), ("8/4/2", 1), ("abs(-2)*min(3,1,2)", 2),
     ("1e3 + .5", 1000.5), ("x*x - x/2", 14), ("`x`+`two words`", 14)],
)  # fmt: skip
def test_arithmetic_by_hand(text, value):
    columns = {"x": np.array([4.0, 4.0]), "two words": 10.0}
    found = parse(text)(columns.__getitem__)
    assert np.allclose(found, value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 ** 3", "has '* 3' at character 4, where a number or a column should come"),
        ("amount.real", "cannot be read from '.real' on"),
        ("f(2)", "has '(2)' at character 2, where an operator"),
        ("(1", "ends where ')' should come"),
        ("abs(1, 2)", "gives abs 2 values, but it takes 1"),
        ("max(1)", "gives max a single value"),
        ("[1]", "cannot be read from '[1]' on"),
        ("", "ends where a number or a column should come"),
        ("(" * 60 + "1" + ")" * 60, "nested more than 50 deep"),
        ("1+" * 400 + "1", "more than 300 parts"),
        ("__import__('os')", "cannot be read from"),
    ],
)
def test_what_is_no_arithmetic_is_refused(text, said):
    with pytest.raises(ExpressionError, match=re.escape(said)):
        parse(text)


# -- the user's own world ------------------------------------------------------------------


def test_today_is_a_row_and_what_all_is_compared_with(capsys, here):
    frame = table()
    frame["now"] = np.where(frame["age"] > 40, "good", "bad")
    frame.to_csv("d.csv", index=False)
    out, err = run(capsys, "compare", "d.csv", *GOOD, *FAST, "--baseline", "now", "--json")
    assert figures()["baseline"] == "today"
    wrong = pd.crosstab(frame["risk"], frame["now"])
    total = {row["method"]: row["total"] for row in figures()["methods"]}
    assert total["today"] == 5 * wrong.loc["good", "bad"] + wrong.loc["bad", "good"]
    assert "today" in out
    assert "Not learned from: 'now' (today's decisions)." in err
    # the same decisions as a score with a threshold
    out, err = run(capsys, "compare", "d.csv", *GOOD, *FAST, "--baseline", "age > 40", "--json")
    again = {row["method"]: row["total"] for row in figures()["methods"]}
    assert again["today"] == total["today"]
    assert f"Today 'good' is decided where age > 40: {(frame['age'] > 40).mean():.0%}" in err
    assert run(capsys, "compare", "d.csv", *GOOD, *FAST, "--baseline", "mec", "--json")
    assert figures()["baseline"] == "mec"
    for baseline, said in (
        ("job", "the column 'job' of --baseline is empty in"),
        ("age", "in row 1, which is no decision: there are 'bad', 'good'"),
        ("nowhere", "d.csv has no column 'nowhere'"),
        ("now>=1", "the column holds no numbers"),
    ):
        assert said in refused(capsys, "compare", "d.csv", *GOOD, "--baseline", baseline)


def test_time_and_a_test_file(capsys, here):
    frame = table().assign(when=pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d"))
    frame.to_csv("d.csv", index=False)
    run(capsys, "compare", "d.csv", *GOOD, *FAST, "--time", "when", "--json")
    found = figures()
    assert found["protocol"]["cv"].startswith("3 folds forward in time")
    assert found["n_examples"] == 90
    frame.iloc[:80].to_csv("old.csv", index=False)
    frame.iloc[80:].to_csv("new.csv", index=False)
    run(capsys, "compare", "old.csv", *GOOD, *FAST, "--test", "new.csv", "--json")
    found = figures()
    assert found["n_examples"] == 40
    assert found["protocol"]["cv"].startswith("learned from 80 rows, costed on 40 others")
    _, err = run(capsys, "fit", "old.csv", *GOOD, "--method", "mec", "--test", "new.csv")
    assert "Fitting mec on 80 rows." in err
    frame.iloc[80:].drop(columns="age").to_csv("new.csv", index=False)
    said = refused(capsys, "compare", "old.csv", *GOOD, "--test", "new.csv")
    assert "new.csv of --test lacks the column 'age'" in said
    frame.assign(when="soon").to_csv("d.csv", index=False)
    said = refused(capsys, "compare", "d.csv", *GOOD, "--time", "when")
    assert "of --time is text such as 'soon'" in said


def test_prices_may_be_ranges(capsys, data):
    how = ["--fp", "0.5..2", "--fn", "3 to 9", "--positive", "good", *FAST, "--json"]
    out, err = run(capsys, "compare", data, *TARGET, *how)
    assert err.splitlines()[0] == (
        "Deciding 'bad' when the truth is 'good' costs 3..9 (6 on average); "
        "deciding 'good' when the truth is 'bad' costs 0.5..2 (1.25 on average)."
    )
    assert figures()["cost_matrix"] == [[0, 1.25], [6, 0]]
    assert "stays the cheapest while deciding" in out
    assert "The prices are guesses. How likely to be the cheapest: " in out
    assert "The prices are guesses" in Path("report.html").read_text()
    Path("prices.csv").write_text("true,bad,good\nbad,0,0.5..2\ngood,3..9,0\n")
    again, _ = run(capsys, "compare", data, *TARGET, "--costs", "prices.csv", *FAST)
    lines = [line for line in again.splitlines() if line.startswith("The prices are guesses")]
    assert lines[0] in out
    run(
        capsys, "fit", data, *TARGET, "--costs", "prices.csv", "--method", "least_regret", "--fast"
    )
    run(capsys, "predict", "model.skops", data)
    assert len(pd.read_csv("decisions.csv")) == 120


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (
            ["--fp", "9..2", "--fn", 5],
            "--fp '9..2': the range is upside down, 9..2: give the lowest",
        ),
        (
            ["--fp", "1..2", "--fn", "amount"],
            "a range such as 5..20 is for prices that are the same",
        ),
        (["--costs", "bad.csv"], "bad.csv: the range at row 'bad', column 'good' is upside down"),
    ],
)
def test_bad_ranges_are_refused_before_anything_is_fitted(capsys, data, prices, said):
    Path("bad.csv").write_text("true,bad,good\nbad,0,9..2\ngood,3,0\n")
    more = [] if prices[0] == "--costs" else ["--positive", "good"]
    assert said in refused(capsys, "compare", data, *TARGET, *prices, *more)
    assert not Path(".stakes").exists()


def test_a_date_is_no_price(capsys, here):
    rows = table(60)
    rows["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), "D")
    rows.to_csv("d.csv", index=False)
    for price in ("since", "2*since"):
        said = refused(
            capsys,
            "compare",
            "d.csv",
            *TARGET,
            "--fp",
            1,
            "--fn",
            price,
            "--positive",
            "bad",
            *FAST,
        )
        assert "the column 'since' of --fn holds dates, such as '2024-01-01" in said


def test_a_cost_of_a_thousand_with_a_point_is_said_to_be_one(capsys, here):
    Path("prices.csv").write_text("true,bad,good\nbad,0,1.000\ngood,200,0\n")
    _, err = run(capsys, "costs", "--check", "prices.csv")
    assert "'1.000' is read with a decimal point, as 1: write 1000 if" in err
    Path("prices.csv").write_text("true,bad,good\nbad,0,1_0\ngood,2,0\n")
    assert "'1_0' at row 'bad', column 'good'" in refused(capsys, "costs", "--check", "prices.csv")


def test_a_column_written_otherwise_than_in_training_is_refused(capsys, here):
    rows = table(60)
    rows.to_csv("d.csv", index=False)
    run(capsys, "fit", "d.csv", *GOOD, "--method", "mec", "--fast", "--no-reference")
    rows["amount"] = [f"1.{int(cell):03d},85" for cell in rows["amount"]]
    rows.to_csv("new.csv", index=False)
    said = refused(capsys, "predict", "model.skops", "new.csv")
    assert "60 cells of 60 of 'amount' are no number as in training" in said
    assert "--allow-missing" in said
    assert not Path("decisions.csv").exists()
    _, err = run(capsys, "predict", "model.skops", "new.csv", "--allow-missing")
    assert "Taken as missing: 60 cells of 'amount'" in err
    assert len(pd.read_csv("decisions.csv")) == 60


# -- decisions that are not the classes ----------------------------------------------------------------


def test_a_table_of_prices_names_decisions(capsys, here):
    rng = np.random.default_rng(0)
    fraud = rng.random(150) < 0.3
    truth = np.where(fraud, "fraud", "honest")
    score = rng.normal(size=150) + 2 * fraud
    now = np.where(score > 1.5, "review", "approve")
    columns = {"score": score, "truth": truth, "now": now, "old": np.where(fraud, "lend", "block")}
    pd.DataFrame(columns).to_csv("payments.csv", index=False)
    Path("costs.csv").write_text(
        "true \\ decided,approve,review,block\nhonest,0,3,9\nfraud,50,8,0\n"
    )
    given = ("payments.csv", "--target", "truth", "--costs", "costs.csv")
    paid = np.array([[0, 3], [50, 8]])[fraud.astype(int), (now == "review").astype(int)].sum()
    said = refused(capsys, "compare", *given, "--baseline", "old")
    assert "no decision: there are 'approve', 'review', 'block'" in said
    said = refused(capsys, "compare", *given, "--baseline", "score>=2", "--positive", "fraud")
    assert "give a column of decisions" in said
    given += ("--drop", "old")
    today = ("--methods", "mec", "--fast", "--baseline", "now", "--json", "--force")
    run(capsys, "compare", *given, *today)
    assert {row["method"]: row["total"] for row in figures()["methods"]}["today"] == paid
    assert figures()["baseline"] == "today"
    given += ("--drop", "now")
    more = ("--methods", "mec,combo", "--capacity", "review=20%", "--fast", "--force")
    out, _ = run(capsys, "compare", *given, *more)
    assert "combo: left out (it decides the classes alone)" in out
    page = Path("report.html").read_text(encoding="utf-8")
    assert 'class="corner"><span>true</span>' in page
    assert "review: 0 to 30; each fold has its share" in page
    run(capsys, "fit", *given, "--method", "mec", "--out", "model.skops")
    run(capsys, "predict", "model.skops", "payments.csv", "--out", "decided.csv")
    assert set(pd.read_csv("decided.csv")["decision"]) <= {"approve", "review", "block"}


def test_costs_of_decisions_need_no_target(capsys, here):
    rng = np.random.default_rng(0)
    size = rng.normal(size=150)
    orders = pd.DataFrame({"size": size, "ship": 4 + 30 * (size > 0.5), "hold": 8})
    orders.to_csv("orders.csv", index=False)
    _, err = run(
        capsys,
        *("compare", "orders.csv", "--cost", "send=ship", "--cost", "keep=hold"),
        *("--methods", "tree", "--fast"),
    )
    assert "No --target: the cheapest decision of each row stands for its class." in err
    assert "Not learned from: 'ship' (prices), 'hold' (prices)." in err


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (["send=ship"], "--cost names one decision, 'send': give two or more"),
        (["send=ship", "send=hold"], "--cost names 'send' twice"),
        (["send=ship", "keep"], "--cost 'keep' must have the form CLASS=PRICE"),
        (["send=1", "keep=2"], "the decision 'send' is the cheapest in each row of costs"),
        (["send=shipp", "keep=hold"], "neither a finite number nor a column"),
    ],
)
def test_bad_costs_without_a_target_are_one_sentence(capsys, here, costs, said):
    pd.DataFrame({"size": [1, 2, 3], "ship": [1, 9, 2], "hold": [3, 3, 3]}).to_csv(
        "orders.csv", index=False
    )
    given = [part for cost in costs for part in ("--cost", cost)]
    assert said in refused(capsys, "compare", "orders.csv", *given)


def test_prices_of_four_classes_are_read_back(capsys, here):
    classes = ("bad", "good", "odd", "ugly")
    table(160, classes).to_csv("d.csv", index=False)
    rows = ["0,1,2,3", "4,0,5,6", "7,8,0,9", "10,11,12,0"]
    lines = ["true," + ",".join(classes), *(f"{c},{row}" for c, row in zip(classes, rows))]
    Path("c.csv").write_text("\n".join(lines) + "\n")
    _, err = run(capsys, "compare", "d.csv", *TARGET, "--costs", "c.csv", *FAST)
    assert "Deciding 'odd' when the truth is 'ugly' costs 12; deciding 'good'" in err
    assert (
        "deciding 'good' when the truth is 'bad' costs 1 (8 more lie between the last two)." in err
    )


def test_what_right_decisions_cost_is_read_back(capsys, data):
    prices = ["--fp", 2, "--fn", 9, "--tp", 1, "--tn", "-0.5", "--positive", "good"]
    _, err = run(capsys, "compare", data, *TARGET, *prices, *FAST)
    assert "; deciding 'good' rightly costs 1; deciding 'bad' rightly costs -0.5." in err


def test_a_table_of_prices_may_name_columns(capsys, here):
    rng = np.random.default_rng(0)
    fraud = rng.random(150) < 0.3
    truth = np.where(fraud, "fraud", "honest")
    amount = rng.uniform(5, 99, 150).round(2)
    frame = pd.DataFrame({"score": rng.normal(size=150) + 2 * fraud, "amount": amount})
    frame.assign(truth=truth, now="review").to_csv("d.csv", index=False)
    Path("costs.csv").write_text(
        "true \\ decided,approve,review,block\nhonest,0,3,9\nfraud,0.9*amount,amount / 8,0\n"
    )
    given = ("d.csv", "--target", "truth", "--costs", "costs.csv")
    run(capsys, "compare", *given, "--methods", "mec", "--fast", "--json", "--baseline", "now")
    paid = np.where(fraud, amount / 8, 3).sum()
    assert {row["method"]: row["total"] for row in figures()["methods"]}["today"] == pytest.approx(
        paid
    )
    given += ("--drop", "now")
    run(capsys, "fit", *given, "--method", "mec", "--out", "model.skops")
    run(capsys, "predict", "model.skops", "d.csv", "--out", "decided.csv")
    tensor = np.zeros((150, 2, 3))  # fraud, honest
    tensor[:, 0, :2] = np.column_stack([0.9 * amount, amount / 8])
    tensor[:, 1] = [0, 3, 9]
    tensor = CostTensor(tensor, ["approve", "review", "block"])
    model = fit_model(frame, truth, "mec", cost_tensor=tensor)
    decided = model.predict(frame, cost_tensor=tensor)
    assert pd.read_csv("decided.csv")["decision"].tolist() == decided.tolist()
    run(capsys, "export", "model.skops", "--to", "onnx", "--out", "model.onnx")
    for cells, said in (
        ("honest,0,3,9\nfraud,0.9*amuont,amount,0", "names 'amuont', which is no column of d.csv"),
        ("honest,0,3,9\nfraud,amount/0,1,0", "is no finite number in row 1"),
        ("honest,0,3,9\nlate,amount,1,0", "the class 'late' of the cost table is not in the data"),
    ):
        Path("bad.csv").write_text(f"true \\ decided,approve,review,block\n{cells}\n")
        bad = (*given[:-4], "--costs", "bad.csv", "--drop", "now")
        assert said in refused(capsys, "compare", *bad)
    Path("bad.csv").write_text("true,honest,fraud\napprove,0,9\nreview,3,1\nblock,9,0\n")
    assert "Its columns are these classes: turn it round." in refused(capsys, "compare", *bad)
    for header, said in (
        ("a,a,b", "more than one column for 'a'"),
        ("a,,b", "a column has no name"),
    ):
        Path("bad.csv").write_text(f"true,{header}\nhonest,0,3,9\nfraud,amount,1,0\n")
        assert said in refused(capsys, "compare", *bad)


def test_a_square_table_that_names_columns_is_two_prices(capsys, here):
    rng = np.random.default_rng(0)
    bad = rng.random(150) < 0.3
    amount = rng.uniform(5, 99, 150).round(2)
    frame = pd.DataFrame({"score": rng.normal(size=150) + 2 * bad, "amount": amount})
    frame.assign(risk=np.where(bad, "bad", "good")).to_csv("d.csv", index=False)
    Path("costs.csv").write_text("true,good,bad\ngood,0,amount/20\nbad,0.9*amount,0\n")
    how = ("--methods", "mec", "--fast", "--json", "--force")
    run(capsys, "compare", "d.csv", "--target", "risk", "--costs", "costs.csv", *how)
    cells = figures()
    two = ("--fp", "amount/20", "--fn", "0.9*amount", "--positive", "bad")
    run(capsys, "compare", "d.csv", "--target", "risk", *two, *how)
    for key in ("cost_matrix", "confusion", "decisions", "break_even"):
        assert cells[key] == figures()[key]
