"""compare, fit and predict on a cluster say and decide what they do in memory."""

import os
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
pytest.importorskip("xgboost")

from stakes.cli import main
from stakes.cli._dask import LOCAL, cluster, with_local
from stakes.cluster import partitions
from stakes.compare import fit_model, load_model
from stakes.utils._files import is_part

PRICES = ["--target", "fraud", "--fp", "1", "--fn", "9"]


@pytest.fixture
def address(client):
    return client.scheduler.address


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Three files, one of them without the rarer class, and a target with a gap."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1500, 3)).astype(np.float32), columns=list("abc"))
    frame["amount"] = rng.uniform(1, 50, len(frame)).round(2)
    frame["fraud"] = np.where(frame["a"] + rng.normal(size=len(frame)) > 0.7, "yes", "no")
    frame.loc[1000:, "fraud"] = "no"
    frame.loc[3, "fraud"] = None
    os.mkdir("data")
    for i in range(3):
        part = frame.iloc[500 * i : 500 * (i + 1)]
        part.to_parquet(f"data/{i}.parquet", index=False)
    return frame


def test_a_comparison_and_its_page(rows, address, capsys):
    asked = ["compare", "data/*.parquet", *PRICES, "-m", "tree,arcx4", "--dask", address]
    assert main(asked) == 0
    told = capsys.readouterr()
    assert "Left out: 1 row without a target." in told.err
    assert "arcx4: left out (it learns in the memory of one machine)" in told.out
    page = Path("report.html").read_text()
    learned = re.search(r"learned from the other ([\d,]+) on 2 Dask workers", page)[1]
    held_out = 1499 - int(learned.replace(",", ""))
    assert f"{held_out} rows held out and decided" in page
    assert 200 < held_out < 400


def test_a_decision_that_is_no_class_can_be_limited(rows, address, capsys):
    Path("prices.csv").write_text("true,let go,ask,stop\nyes,9,3,0\nno,0,1,4\n")
    asked = ["compare", "data/*.parquet", "--target", "fraud", "--costs", "prices.csv"]
    asked += ["-m", "tree", "--capacity", "ask=10%", "--dask", address]
    assert main(asked) == 0, capsys.readouterr().err
    assert "ask: 0 to " in Path("report.html").read_text()


@pytest.mark.parametrize("prices", [["--fp", "1", "--fn", "9"], ["--fp", "1", "--fn", "amount"]])
def test_a_fit_and_its_decisions_are_those_of_memory(rows, address, capsys, prices):
    asked = ["fit", "data", "--target", "fraud", *prices, "--method", "tree", "--dask", address]
    assert main(asked) == 0
    assert "Fitting tree on 1,499 rows." in capsys.readouterr().err
    model = load_model("model.skops")
    known = rows[rows["fraud"].notna()]
    given = {"cost_matrix": [[0, 1], [9, 0]]}
    if "amount" in prices:
        tensor = np.zeros((len(known), 2, 2))
        tensor[:, 0, 1], tensor[:, 1, 0] = 1.0, known["amount"]
        given = {"cost_tensor": tensor}
    alone = fit_model(known.drop(columns="fraud"), known["fraud"], "tree", **given)
    assert model.columns == alone.columns
    assert main(["predict", "model.skops", "data/*.parquet", "--dask", address]) == 0
    told = capsys.readouterr().err
    assert "1,500 rows of 3 files decided by tree" in told
    assert "on 2 workers of tcp://" in told
    found = pd.read_parquet("decisions")
    assert found["row"].tolist() == list(range(1, 1501))
    rows.to_parquet("whole.parquet", index=False)
    assert main(["predict", "model.skops", "whole.parquet", "-o", "alone.parquet"]) == 0
    pd.testing.assert_frame_equal(found, pd.read_parquet("alone.parquet"))
    there = known.index
    wanted = alone.decide(rows.loc[there], cost_tensor=given.get("cost_tensor"))
    assert (found["decision"][there].to_numpy() == wanted["decision"].to_numpy()).all()


def test_nothing_is_half_written_or_written_over(rows, address, capsys, monkeypatch):
    assert main(["fit", "data", *PRICES, "--method", "constant", "--dask", address]) == 0
    decide = ["predict", "model.skops", "data", "--dask", address, "-o"]
    assert main([*decide, "data"]) == 2
    assert "which is read: name another folder" in capsys.readouterr().err
    os.mkdir("other")
    Path("other/mine.txt").touch()
    assert main([*decide, "other"]) == 2
    assert "holds 'mine.txt', which stakes predict has not written" in capsys.readouterr().err
    assert main([*decide, "done"]) == 0
    before = {path: path.read_bytes() for path in Path("done").iterdir()}
    assert len(before) == 3
    gather, calls = partitions.gather, []

    def fail_at_last(*given):
        calls.append(gather(*given))
        if len(calls) == 3:
            raise ValueError("of the last part")
        return calls[-1]

    monkeypatch.setattr(partitions, "gather", fail_at_last)
    assert main([*decide, "done"]) == 2
    assert calls[2][0]["rows"] == 500  # written by then
    assert "of the last part" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("done").iterdir()} == before
    assert not [name for name in os.listdir() if is_part(name)]


def test_one_sentence_before_anything_is_read(rows, capsys, monkeypatch):
    from stakes import tables

    monkeypatch.setattr(tables, "read_table", lambda *_, **__: pytest.fail("it was read"))
    monkeypatch.setattr(tables, "free_memory", lambda: 10_000)
    assert main(["compare", "data/0.parquet", *PRICES]) == 2
    told = capsys.readouterr().err
    assert "will not fit in memory: its 2,500 cells need" in told
    assert f"stakes compare data/0.parquet {' '.join(PRICES)} --dask." in told
    assert main(["compare", "data/*.parquet", *PRICES]) == 2
    assert "is a pattern of 3 files" in capsys.readouterr().err
    for options, said in (
        (["--groups", "a"], "--groups does not go with --dask"),
        (["--time-limit", "9"], "--time-limit does not go with --dask"),
        (["--folds", "3"], "--folds does not go with --dask"),
    ):
        assert main(["compare", "data", *PRICES, "--dask", "127.0.0.1:1", *options]) == 2
        assert said in capsys.readouterr().err
    assert main(["predict", "model.skops", "data", "--dask", "--adapt"]) == 2
    assert "--adapt does not go with --dask" in capsys.readouterr().err


def test_nobody_answers(rows, capsys, monkeypatch):
    assert main(["compare", "data", *PRICES, "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


def test_without_an_address_this_machine_works_with_limited_memory(monkeypatch):
    assert with_local(["fit", "x", "--dask"]) == ["fit", "x", f"--dask={LOCAL}"]
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    with cluster(LOCAL) as workers:
        info = workers.client.scheduler_info()["workers"].values()
        limits = [worker["memory_limit"] for worker in info]
    assert len(limits) == 1
    assert workers.words == f"1 worker on this machine, {limits[0] / 1e9:.1f} GB of memory each"
