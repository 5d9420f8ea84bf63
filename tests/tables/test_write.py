"""Tables as files: whole, in the format of their name, and nothing in them runs."""

import gzip

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from stakes.tables import read_table, write_table

TABLE = pd.DataFrame(
    {
        "row": [1, 2, 3],
        "decision": ["good", "NA", "köln"],
        "cost": [0.1 + 0.2, -1e-300, np.nan],
        "sure": [True, False, True],
        "since": pd.to_datetime(["2024-01-02 00:00", "2024-01-02 10:30", None]).astype(
            "datetime64[us]"
        ),
    }
)


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather", "t.jsonl", "t"]
)
def test_what_is_written_is_read_again(tmp_path, name):
    assert write_table(TABLE, tmp_path / name) == []
    again = read_table(tmp_path / name, target="decision").frame
    assert_frame_equal(again, TABLE, check_exact=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_excel_file_keeps_sixteen_digits(tmp_path):
    write_table(TABLE, tmp_path / "t.xlsx")
    again = read_table(tmp_path / "t.xlsx", target="decision").frame
    assert_frame_equal(again, TABLE, rtol=1e-15)


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(TABLE, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"row,decision,")


HOSTILE = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1"]
HARMLESS = ["-5", "+5.5", "-1e3", "a=b", "", "it's"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx"])
def test_text_that_a_spreadsheet_would_run_is_neutralised(tmp_path, name):
    table = pd.DataFrame({"=x": [*HOSTILE, *HARMLESS], "n": -1.5})
    said = write_table(table, tmp_path / name)
    assert said == [
        "8 texts that a spreadsheet would run as a formula begin with an apostrophe now."
    ]
    if name == "t.xlsx":
        import openpyxl

        rows = list(openpyxl.load_workbook(tmp_path / name).active.iter_rows())
        assert all(cell.data_type != "f" for row in rows for cell in row)
        cells, numbers = zip(*([cell.value for cell in row] for row in rows[1:]))
        assert rows[0][0].value == "'=x"
    else:
        separator = "\t" if name == "t.tsv" else ","
        found = pd.read_csv(
            tmp_path / name, sep=separator, dtype={"'=x": str}, keep_default_na=False
        )
        cells, numbers = found["'=x"], found["n"]
    expected = ["'" + text for text in HOSTILE]
    if name == "t.xlsx":  # XML has one line end alone
        expected = [text.replace("\r", "\n") for text in expected]
    assert list(cells[: len(HOSTILE)]) == expected
    assert list(cells[-1:]) == ["it's"]
    assert cells[len(HOSTILE)] == "-5"
    assert set(numbers) == {-1.5}


def test_other_formats_keep_every_text(tmp_path):
    table = pd.DataFrame({"x": HOSTILE, "n": 1})
    for name in ("t.parquet", "t.jsonl", "t.arrow"):
        assert write_table(table, tmp_path / name) == []
        assert read_table(tmp_path / name, target="x").frame["x"].tolist() == HOSTILE
