"""The command line as a user meets it; in this process, because that is quick."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import FAST, GOOD, refused, run, table

from stakes.compare._archive import SEAL, reseal
from stakes.compare._model_file import FORMAT
from stakes.costs import CostMatrix
from stakes.datasets import load_dataset


def test_compare_writes_a_page_and_says_what_to_use(capsys, data):
    out, _ = run(
        capsys, "compare", data, *GOOD, *FAST,
        "--json", "--csv", "--currency", "€", "-o", "out/page.html",
    )  # fmt: skip
    assert "mec" in out.split()
    assert "Model with your prices" in out
    assert "Written: out/page.html" in out
    found = json.loads(Path("out/page.json").read_text())
    assert found["cost_matrix"] == [[0, 1], [5, 0]]
    assert [row["method"] for row in found["methods"]] == ["constant", "plain", "mec"]
    assert found["reason"] in out
    assert pd.read_csv("out/page.csv", index_col=0).index.tolist() == ["constant", "plain", "mec"]
    assert "€" in Path("out/page.html").read_text()


def test_a_page_without_rows_of_the_data(capsys, data):
    run(capsys, "compare", data, *GOOD, *FAST, "--private", "-o", "page.html")
    page = Path("page.html").read_text()
    assert "this page holds no row of the data" in page
    assert "raw rows of the data" not in page


def test_the_positive_class_can_be_named(capsys, data):
    _, err = run(
        capsys, "compare", data, "--target", "risk", "--fp", 1, "--fn", 5, *FAST,
        "--positive", "bad", "--json",
    )  # fmt: skip
    assert "'bad'" in err
    found = json.loads(Path("report.json").read_text())
    assert found["classes"] == ["bad", "good"]
    assert found["cost_matrix"] == [[0, 5], [1, 0]]


def test_prices_in_columns_stay_features(capsys, data):
    run(
        capsys,
        "compare",
        data,
        "--target",
        "risk",
        "--fp",
        2,
        "--fn",
        "amount",
        "--positive",
        "good",
        *FAST,
        "--json",
    )
    found = json.loads(Path("report.json").read_text())
    assert found["kind"] == "deciding"
    frame = table()
    bad = frame["risk"] == "good"
    assert found["cost_matrix"][1][0] == pytest.approx(frame.loc[bad, "amount"].mean())
    page = Path("report.html").read_text()
    assert 'title="score"' in page
    assert 'title="amount"' in page


def test_one_column_per_decision(capsys, here):
    frame = table()
    frame["cost_bad"] = np.where(frame["risk"] == "good", frame["amount"], 0)
    frame["cost_good"] = np.where(frame["risk"] == "bad", 7, 0)
    frame.to_parquet("data.parquet")
    run(
        capsys, "compare", "data.parquet", "--target", "risk", "--cost", "bad=cost_bad",
        "--cost", "good=cost_good", *FAST, "--json",
    )  # fmt: skip
    found = json.loads(Path("report.json").read_text())
    assert found["kind"] == "hindsight"
    assert found["cost_matrix"][0] == [0, 7]


def test_a_labelled_file_in_another_order(capsys, here):
    table(150, ("bad", "good", "ugly")).to_csv("data.csv", index=False, sep=";")
    Path("costs.csv").write_text(
        "true,ugly,good,bad\ngood,7,0,1\nbad,3,2,0\nugly,0,5,6\n", encoding="utf-8-sig"
    )
    run(capsys, "compare", "data.csv", "--target", "risk", "--costs", "costs.csv", *FAST, "--json")
    found = json.loads(Path("report.json").read_text())
    assert found["classes"] == ["bad", "good", "ugly"]
    assert found["cost_matrix"] == [[0, 2, 3], [1, 0, 7], [6, 5, 0]]


def test_costs_writes_a_file_that_compare_takes(capsys, data):
    out, _ = run(capsys, "costs", data, "--target", "risk", "--heuristic", "imbalance")
    assert "Written: costs.csv" in out
    assert CostMatrix.from_csv("costs.csv").labels == ("bad", "good")
    out, _ = run(capsys, "costs", "--check", "costs.csv")
    assert "Deciding 'good' when the truth is 'bad' costs 1." in out
    assert "Nothing looks wrong with it." in out
    run(capsys, "compare", data, "--target", "risk", "--costs", "costs.csv", *FAST)
    assert "costs.csv exists" in refused(capsys, "costs", data, "--target", "risk")


def test_an_unreasonable_file_is_described(capsys, here):
    Path("c.csv").write_text("true,a,b\na,3,1\nb,5,0\n")
    out, _ = run(capsys, "costs", "--check", "c.csv")
    assert "Look again: deciding 'b' when the truth is 'a' costs 1, less than" in out


def test_fit_then_predict(capsys, data):
    prices = ["--target", "risk", "--fp", 2, "--fn", "amount", "--positive", "good"]
    run(capsys, "fit", data, *prices, "--method", "mec", "-o", "m.skops")
    _, err = run(capsys, "predict", "m.skops", data)
    assert "120 rows decided by mec" in err
    found = pd.read_csv("decisions.csv")
    assert list(found) == ["row", "decision", "expected_cost", "next_best", "next_best_cost"]
    assert set(found["decision"]) == {"bad", "good"}
    assert (found["decision"] != found["next_best"]).all()
    assert (found["expected_cost"] <= found["next_best_cost"] + 1e-9).all()
    run(capsys, "predict", "m.skops", data, "--with-data", "-o", "all.csv")
    assert list(pd.read_csv("all.csv"))[:2] == ["age", "job"]
    table().drop(columns="amount").to_csv("less.csv", index=False)
    said = refused(capsys, "predict", "m.skops", "less.csv")
    assert said == (
        "Error: the model needs the column 'amount' for the prices of each row, and less.csv has "
        "none of that name."
    )
    table().drop(columns="score").to_csv("less.csv", index=False)
    assert "The data lacks the columns 'score'" in refused(
        capsys, "predict", "m.skops", "less.csv"
    )


def test_a_method_without_expected_costs_says_its_decisions_alone(capsys, data):
    run(capsys, "fit", data, *GOOD, "--method", "arcx4", "-o", "m.skops")
    table(1).to_csv("one.csv", index=False)
    _, err = run(capsys, "predict", "m.skops", "one.csv")
    assert err.splitlines()[-1] == "1 row decided by arcx4."
    assert list(pd.read_csv("decisions.csv")) == ["row", "decision"]


def test_the_best_of_a_comparison_is_fitted(capsys, data):
    prices = ["--target", "risk", "--fp", 1, "--fn", 20, "--positive", "good"]
    run(capsys, "compare", data, *prices, "--fast", "--folds", 3)
    _, err = run(capsys, "fit", data, *prices, "--fast", "--folds", 3, "--best")
    assert "Going on from finished fits." in err
    assert "Fitting " in err


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


def test_a_pickle_bomb_is_refused_and_does_not_go_off(capsys, data):
    Path("m.skops").write_bytes(pickle.dumps(Bomb()))
    assert "looks like a pickle" in refused(capsys, "predict", "m.skops", data)
    schema = {
        "__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 1,
        "content": {"module_path": "os", "function": "system"}, "protocol": 2,
        "_skops_version": "0.16.0", "format": FORMAT,
    }  # fmt: skip
    with zipfile.ZipFile("m.skops", "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
        archive.comment = SEAL + b"0" * 64
    Path("m.skops").write_bytes(reseal(Path("m.skops").read_bytes()))
    said = refused(capsys, "predict", "m.skops", data)
    assert "nothing in it was run" in said
    assert "os.system" in said
    with zipfile.ZipFile("m.skops", "w") as archive:
        archive.writestr("data.txt", "hello")
    assert "not a model file" in refused(capsys, "predict", "m.skops", data)
    assert not Path("exploded").exists()


def write(name, content, encoding="utf-8"):
    Path(name).write_text(content, encoding=encoding)
    return name


def bad_files():
    csv = table().to_csv(index=False)
    yield "no such file", lambda: "none.csv", GOOD, "there is no file none.csv"
    yield "empty", lambda: write("e.csv", ""), GOOD, "e.csv is empty"
    yield "only newlines", lambda: write("e.csv", "\n\n"), GOOD, "e.csv"
    yield "header only", lambda: write("e.csv", "a,risk\n"), GOOD, "no rows"
    yield (
        "one column",
        lambda: write("e.csv", "risk\nbad\ngood\n"),
        GOOD,
        "a single column, 'risk'",
    )
    yield "target missing", lambda: write("e.csv", csv), ["--target", "rsk"], "did you mean 'risk'"
    yield "no target", lambda: write("e.csv", csv), ["--fp", "1"], "--target COLUMN"
    one = table().assign(risk="bad").to_csv(index=False)
    yield "one class", lambda: write("e.csv", one), GOOD, "only one class, 'bad'"
    few = table().assign(risk=["bad"] * 118 + ["good"] * 2).to_csv(index=False)
    yield "few", lambda: write("e.csv", few), GOOD, "'good' has 2 examples, fewer than the 5 folds"
    quantity = [*GOOD[2:], "--target", "score"]
    yield "quantity", lambda: write("e.csv", csv), quantity, "looks like a quantity"
    yield "no prices", lambda: write("e.csv", csv), GOOD[:2], "say what mistakes cost"
    yield "one price", lambda: write("e.csv", csv), GOOD[:4], "both --fp"
    yield (
        "text price",
        lambda: write("e.csv", csv),
        [*GOOD, "--fn", "job"],
        "'job' of --fn has",
    )
    nan = [*GOOD, "--fn", "nan"]
    yield "nan price", lambda: write("e.csv", csv), nan, "neither a finite number nor a column"
    yield (
        "latin-1",
        lambda: write("e.csv", csv.replace("cook", "köchin"), "latin-1"),
        GOOD,
        (
            "not UTF-8 text (byte 0xf6): save it as UTF-8, or if it is Latin-1, say --encoding latin-1"
        ),
    )
    yield "binary", lambda: write("e.csv", "a,b\n\0\0\0\1"), GOOD, "binary data"
    yield "ragged", lambda: write("e.csv", "a,risk\n1,bad\n1,2,3,4\n"), GOOD, "is not a table"
    yield "folder", lambda: (Path("e").mkdir(), "e")[1], GOOD, "is a folder"
    yield "two ways", lambda: write("e.csv", csv), [*GOOD, "--costs", "rarity"], "in one way"
    four = table(classes=("bad", "good", "ugly")).to_csv(index=False)
    yield "three classes", lambda: write("e.csv", four), GOOD, "are for 2 classes, but"
    strange = [*GOOD[:6], "--positive", "ugly"]
    yield (
        "no class",
        lambda: write("e.csv", csv),
        strange,
        "'ugly' is not a class: there are 'bad'",
    )
    alone = [*GOOD[:2], "--costs", "rarity", "--positive", "bad"]
    yield "positive", lambda: write("e.csv", csv), alone, "--positive goes with --fp and --fn"
    part = [*GOOD[:2], "--cost", "bad=amount"]
    yield (
        "one decision",
        lambda: write("e.csv", csv),
        part,
        "--cost is missing for the class 'good'",
    )
    same = [*GOOD[:2], "--cost", "bad=1", "--cost", "good=2"]
    yield (
        "same in each row",
        lambda: write("e.csv", csv),
        same,
        "the same prices, whatever the truth",
    )
    equals = [*GOOD[:2], "--cost", "bad"]
    yield "no column", lambda: write("e.csv", csv), equals, "the form CLASS=PRICE"
    yield (
        "no cost file",
        lambda: write("e.csv", csv),
        [*GOOD[:2], "--costs", "n.csv"],
        "no file n.csv",
    )
    yield "method", lambda: write("e.csv", csv), [*GOOD, "-m", "gbs"], "did you mean 'gbse'"


@pytest.mark.parametrize(
    ("make", "arguments", "said"), [pytest.param(*c[1:], id=c[0]) for c in bad_files()]
)
def test_bad_input_is_one_sentence(capsys, here, make, arguments, said):
    assert said in refused(capsys, "compare", make(), *arguments)
    assert not Path("report.html").exists()


def test_a_line_without_end_is_refused_at_once(capsys, here):
    with open("e.csv", "wb") as file:
        file.write(b"a,risk\n1,")
        file.write(b"x" * 20_000_000)
        file.truncate(2_000_000_000)
    start = time.perf_counter()
    assert "a line of more than 16 MB" in refused(capsys, "compare", "e.csv", *GOOD)
    assert time.perf_counter() - start < 20


def test_a_truncated_parquet(capsys, here):
    table().to_parquet("d.parquet")
    whole = Path("d.parquet").read_bytes()
    for size in (3, len(whole) // 2, len(whole) - 3):
        Path("d.parquet").write_bytes(whole[:size])
        assert "no whole Parquet file" in refused(capsys, "compare", "d.parquet", *GOOD)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ("true,bad,good\nbad,0,x\ngood,1,0\n", "c.csv: cost_matrix has 'x' at row 'bad', column"),
        ("true,bad,good\nbad,0,\ngood,1,0\n", "c.csv: cost_matrix has '' at row 'bad'"),
        (
            "true,bad,evil\nbad,0,1\nevil,1,0\n",
            "c.csv: the class 'evil' of the cost table is not in the data",
        ),
        ("true,bad\nbad,0\n", "c.csv: a cost matrix needs at least 2 classes"),
        ("true,bad,good\nbad,0,1\n", "c.csv: a cost matrix needs at least 2 classes"),
        ("", "c.csv is empty"),
    ],
)
def test_bad_cost_files(capsys, data, costs, said):
    Path("c.csv").write_text(costs)
    assert said in refused(capsys, "compare", data, "--target", "risk", "--costs", "c.csv")


def test_an_output_that_cannot_be_written_is_refused_before_any_work(capsys, data):
    Path("page").mkdir()
    assert "page is a folder" in refused(capsys, "compare", data, *GOOD, "-o", "page")
    Path("file").touch()
    assert "cannot be written" in refused(capsys, "compare", data, *GOOD, "-o", "file/page.html")
    said = refused(capsys, "compare", data, *GOOD, "-o", "/proc/nowhere/page.html")
    assert "cannot be written" in said


def test_fresh_never_removes_what_is_not_ours(capsys, data):
    Path("notes").mkdir()
    Path("notes/kept.txt").write_text("mine")
    command = ("compare", data, *GOOD, *FAST, "--fresh")
    for store in (".", "notes", data):
        assert "is no folder of finished fits" in refused(capsys, *command, "--store", store)
    assert sorted(os.listdir()) == ["data.csv", "notes"]
    assert Path("notes/kept.txt").read_text() == "mine"
    run(capsys, *command, "--store", "fits")
    before = {path: path.read_bytes() for path in Path("fits").rglob("*.run")}
    Path("fits/mine.txt").write_text("mine")
    run(capsys, *command, "--store", "fits", "--seed", 1)
    assert Path("fits/mine.txt").read_text() == "mine"
    assert before.keys().isdisjoint(Path("fits").rglob("*.run"))


def test_dialects_are_read(capsys, here):
    frame = table().assign(job="köchin")
    frame.to_csv("bom.csv", index=False, encoding="utf-8-sig")
    frame.to_csv("semicolon.csv", index=False, sep=";")
    frame.to_csv("latin.csv", index=False, encoding="latin-1")
    frame.to_csv("tab.csv.gz", index=False, sep="\t")
    for name, more in (
        ("bom.csv", []),
        ("semicolon.csv", []),
        ("latin.csv", ["--encoding", "latin-1"]),
        ("tab.csv.gz", []),
    ):
        run(capsys, "compare", name, *GOOD, *FAST, *more, "--json", "-o", f"{name}.html")
        kept = [json.loads(f.read_text()) for f in Path().glob("*.json")]
    assert all(k["n_examples"] == 120 for k in kept)
    assert len({json.dumps([m.get("cost") for m in k["methods"]]) for k in kept}) == 1


def test_rows_without_a_target_are_left_out(capsys, here):
    frame = table()
    frame.loc[[3, 5], "risk"] = None
    frame.to_csv("d.csv", index=False)
    _, err = run(capsys, "compare", "d.csv", *GOOD, *FAST, "--json")
    assert "Left out: 2 rows without a target." in err
    assert json.loads(Path("report.json").read_text())["n_examples"] == 118


def test_a_data_set_by_name_brings_its_prices(capsys, here):
    out, _ = run(capsys, "compare", "balance", "--costs", "imbalance", *FAST)
    assert "Written: report.html" in out
    assert "no data set called chekques (did you mean cheques?)" in refused(
        capsys, "compare", "chekques"
    )


def test_lists(capsys):
    assert "cheques" in run(capsys, "datasets")[0]
    assert "1,797 rows, 64 columns" in run(capsys, "datasets", "cheques")[0]
    methods = run(capsys, "methods")[0]
    lines = {line.split()[0]: line for line in methods.splitlines() if line.strip()}
    assert lines["mec"].split()[1:4] == ["decision", "all", "any"]
    assert lines["gbse"].split()[1:5] == ["reduction", "class,", "hindsight", "any"]
    assert lines["combo"].split()[2:5] == ["class,", "hindsight", "classes"]
    assert "costs known when deciding, costs known in hindsight." in methods
    one = run(capsys, "methods", "csovo")[0]
    assert "limits on a batch of rows: no: it decides by votes, not by expected costs" in one
    assert "prices that are not known for sure: yes" in one
    assert "did you mean" in refused(capsys, "methods", "csov")
    from stakes.compare import list_methods

    assert set(list_methods().index) < set(lines)
    assert run(capsys, "--version")[0].startswith("stakes ")
    assert "--install-completion" in run(capsys, "--help")[0]


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["compare", "--nonsense"], ["compare", "x", "--folds", "many"],
                  ["predict"], ["fit", "--method", "gbs"]]
)  # fmt: skip
def test_wrong_usage_is_one_sentence(capsys, here, arguments):
    refused(capsys, *arguments)


def test_killed_it_goes_on_with_the_same_command(here):
    """SIGKILL and Ctrl-C in the middle of a comparison lose nothing that was finished."""
    table(400).to_csv("data.csv", index=False)
    command = [
        sys.executable, "-c", "from stakes.cli import main; main()", "compare", "data.csv", *GOOD,
        "--methods", "mec,weighted", "--json",
    ]  # fmt: skip
    finished = 0
    for how in (signal.SIGKILL, signal.SIGINT):
        job = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        wanted = finished + 4
        while len(list(Path(".stakes").rglob("fold*.json"))) < wanted and job.poll() is None:
            time.sleep(0.05)
        job.send_signal(how)
        _, err = job.communicate()
        if how == signal.SIGINT and job.returncode != 0:
            assert job.returncode == 130
            assert "the same command goes on" in err
            assert "Traceback" not in err
        finished = len(list(Path(".stakes").rglob("fold*.json")))
        assert finished >= wanted or job.returncode == 0
    before = {f: f.stat().st_mtime_ns for f in Path(".stakes").rglob("fold*.json")}
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Going on from finished fits." in done.stderr
    after = {f: f.stat().st_mtime_ns for f in Path(".stakes").rglob("fold*.json")}
    assert all(after[f] == t for f, t in before.items())
    assert Path("report.html").exists()


def test_german_credit_as_in_the_guide(capsys, here):
    try:
        data = load_dataset("german_credit")
    except (ValueError, OSError, ConnectionError) as error:
        pytest.skip(f"german_credit is not at hand: {error}")
    run(capsys, "compare", "german_credit", *FAST, "--json")
    found = json.loads(Path("report.json").read_text())
    assert found["cost_matrix"] == data.cost_matrix.align(data.classes).tolist()
    rows = {row["method"]: row for row in found["methods"]}
    assert rows["mec"]["total"] < rows["plain"]["total"]


def test_commands_share_their_options(capsys):
    """What compare and fit take alike is written once, and both have it."""
    from stakes.cli._app import Dialect, PriceOptions, RunOptions, Source

    shared = {
        f"--{name.replace('_', '-')}"
        for group in (Source, PriceOptions, RunOptions, Dialect)
        for name in vars(group())
    } - {"--data", "--every"} | {"--all"}
    for command in ("compare", "fit"):
        help_text = run(capsys, command, "--help")[0]
        assert all(option in help_text.replace(",", " ").split() for option in shared)


# -- limits and other populations ----------------------------------------------------------------


def test_predict_keeps_to_limits_and_adapts(capsys, data):
    run(capsys, "fit", data, *GOOD, "--method", "mec", "--out", "m.skops")
    _, err = run(capsys, "predict", "m.skops", data, "--capacity", "good=700", "-o", "d.csv")
    assert "'good' is 700, but there are only 120 rows: it limits nothing here." in err
    _, err = run(capsys, "predict", "m.skops", data, "--capacity", "good=7", "-o", "d.csv")
    assert (pd.read_csv("d.csv")["decision"] == "good").sum() == 7
    assert "good: 7 rows, at most 7 asked for; one more would save" in err
    _, err = run(capsys, "predict", "m.skops", data, "--adapt", "-o", "d.csv")
    assert "Class frequencies have" in err
    wrong = {
        "good": "--capacity good: write the decision and its limit, as inspect=100.",
        "x=3": "--capacity x=3: there is no decision 'x'; there are bad, good.",
        "good=many": "--capacity good=many: 'many' is neither a number of rows nor a share",
        "good=150%": "--capacity good=150%: '150%' is neither",
        "good=-1": "--capacity good=-1: '-1' is neither",
        "good=..": "--capacity good=..: say a minimum, a limit or both",
        "good=9000..": "at least 9,000 decisions in sum, but there are only 120 rows",
        "good=9..3": "the minimum is above the limit",
    }
    for typed, words in wrong.items():
        said = refused(capsys, "predict", "m.skops", data, "--capacity", typed, "-o", "d.csv")
        assert words in said


def test_predict_leaves_rows_at_a_price(capsys, data):
    run(capsys, "fit", data, *GOOD, "--method", "mec", "--out", "m.skops")
    how = ["m.skops", data, "-o", "d.csv", "--abstain-cost", "0.3"]
    _, err = run(capsys, "predict", *how)
    left = (pd.read_csv("d.csv")["decision"] == "abstain").sum()
    assert left > 3
    assert f"abstain: {left} of 120 rows are left, at 0.3 each." in err
    _, err = run(capsys, "predict", *how, "--capacity", "abstain=3")
    assert (pd.read_csv("d.csv")["decision"] == "abstain").sum() == 3
    assert "abstain: 3 rows, at most 3 asked for; one more would save" in err
    said = refused(capsys, "predict", *how[:-1], "nan")
    assert "--abstain-cost nan: give a finite number." in said
    said = refused(capsys, "predict", *how[:-2], "--capacity", "abstain=3")
    assert "--capacity abstain=3: say what abstaining costs, by --abstain-cost." in said


def test_compare_says_what_leaving_cases_would_save(capsys, data):
    out, _ = run(capsys, "compare", data, *GOOD, *FAST, "--abstain-cost", "0.3")
    assert " of the cases to somebody else at 0.3 each, " in out
    assert "Leave the hard cases to somebody else?" in Path("report.html").read_text()
    each = ["--cost", "good=1", "--cost", "bad=amount"]
    hindsight = ["--target", "risk", *each, "--abstain-cost", "1"]
    assert "known in hindsight" in refused(capsys, "compare", data, *FAST, *hindsight)


def test_compare_keeps_to_limits(capsys, data):
    out, _ = run(capsys, "compare", data, *GOOD, *FAST, "--capacity", "good=10%", "--csv")
    assert "Written: report.html" in out
    assert "Limits" in Path("report.html").read_text()


def test_a_row_is_explained(capsys, data):
    run(capsys, "fit", data, *GOOD, "--method", "mec", "--no-reference")
    out, _ = run(capsys, "explain", "model.skops", data, "--row", 2)
    assert out.startswith("Decided ")
    assert "The next best, " in out
    assert "score = " in out
    members = pd.read_csv(data).assign(member=lambda t: np.where(t["score"] > 0, "Yes", "No"))
    members.to_csv("members.csv", index=False)
    run(capsys, "fit", "members.csv", *GOOD, "--method", "mec", "--no-reference", "--force")
    out, _ = run(capsys, "explain", "model.skops", "members.csv", "--row", 2)
    assert f"  member = {members['member'][1]}: " in out
    assert "--row 999: sample.csv has" in refused(
        capsys, "explain", "model.skops", data, "--row", 999
    ).replace(str(data), "sample.csv")
