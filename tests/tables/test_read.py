"""Tables of every kind: read right, and what was read is said."""

import datetime
import gzip
import json
import os
import threading
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from pandas.testing import assert_frame_equal
from tests.tables.formats import mixed, write_all

from stakes.tables import ColumnReading, TableError, _sources, apply_readings, read_table
from stakes.utils._csv import open_utf8


def written(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(folder, text, **options):
    return read_table(written(folder, text), **options)


def column(folder, *cells, **options):
    """Read one column, the third, beside two that prove nothing."""
    text = "a;b;x\n" + "".join(f"1;u;{cell}\n" for cell in cells)
    table = read(folder, text, separator=";", **options)
    return table.frame["x"].tolist(), table.readings["x"], table.notes


# -- what can be read in two ways -------------------------------------------------------------


def test_a_point_between_semicolons_is_asked_about(tmp_path):
    rows = "amount;age;risk\n1.234;30;a\n12.500;41;b\n"
    asks = (
        r"numbers of 'amount' in .* such as '1.234', can have a decimal point or a point between"
    )
    with pytest.raises(TableError, match=asks):
        read(tmp_path, rows)
    assert read(tmp_path, rows, decimal=".").frame["amount"].tolist() == [1.234, 12.5]
    assert read(tmp_path, rows, thousands=".").frame["amount"].tolist() == [1234, 12500]
    # Another column proves it, one way or the other; and between commas a point is a point.
    proved = rows.replace(";30;", ";30.5;").replace(";41;", ";41.25;")
    assert read(tmp_path, proved).frame["amount"].tolist() == [1.234, 12.5]
    proved = rows.replace(";30;", ";30,5;").replace(";41;", ";41,25;")
    assert read(tmp_path, proved).frame["amount"].tolist() == [1234, 12500]
    assert read(tmp_path, rows.replace(";", ",")).frame["amount"].tolist() == [1.234, 12.5]


@pytest.mark.parametrize(
    "cells", [["1E5", "1E05", "17"], ["0x10", "16", "17"], ["0X1F", "0x1f", "2"]]
)
def test_codes_are_no_numbers(tmp_path, cells):
    found, reading, notes = column(tmp_path, *cells)
    assert found == cells
    assert reading.kind == "category"
    assert any("codes with letters, such as" in note for note in notes)


@pytest.mark.parametrize("cells", [["1e+05", "2"], ["1.5e3", "2e2"], ["1e-3", "2e1"]])
def test_powers_of_ten_as_programs_write_them_are_numbers(tmp_path, cells):
    found, _, _ = column(tmp_path, *cells)
    assert found == [float(cell) for cell in cells]


def test_json_of_lists_in_lists_without_end_is_refused(tmp_path):
    # Arrow asks itself for each of them, and the process ends.
    deep = '{"a": ' + "[" * 10_000 + "]" * 10_000 + ', "b": 1}\n'
    with pytest.raises(
        TableError, match="line 2 has lists and objects in each other, 10,001 deep"
    ):
        read_table(written(tmp_path, '{"a": 1, "b": 2}\n' + deep, "table.jsonl"))
    smileys = json.dumps({"a": ":[" * 500, "b": 1})
    found = read_table(written(tmp_path, f"{smileys}\n{smileys}\n", "table.jsonl"))
    assert found.frame["a"][0] == ":[" * 500


def test_yes_and_no_with_gaps_stay_truth_values(tmp_path):
    found, reading, _ = column(tmp_path, "yes", "no", "", "yes")
    assert reading.kind == "boolean"
    assert [str(value) for value in found] == ["True", "False", "<NA>", "True"]


# -- shape -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,risk\n1,2,bad,\n3,4,good,\n", "header has 3 columns, but line 2 has 4; so it is with 1"),
        ("a,b,risk\n1,2,bad\n3,4\n", "header has 3 columns, but line 3 has 2."),
        ('a,b,risk\n"1\n2",2,bad\n3,4\n', "header has 3 columns, but line 4 has 2."),
        ('a, "b", risk\n1, "2, 3"\n', "header has 3 columns, but line 2 has 2."),
        ("a,risk,risk\n1,2,3\n", r"two columns called 'risk' \(columns 2 and 3\)"),
        ("a, a,risk\n1,2,3\n", r"two columns called 'a' \(columns 1 and 2\)"),
        ("a," * 2000 + "risk\n", r"2,000 columns called 'a' \(columns 1 and 2, …\): give"),
        ("risk\n1\n", "a single column, 'risk'"),
        ("a,risk\n", "a header but no rows"),
        ("", "is empty"),
        ("a,b\n" + "1,2\n" * 40_000 + "1,\0\n", "a NUL byte"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(TableError, match=said):
        read_table(path, target="risk")


def test_quotes_spaces_and_empty_lines(tmp_path):
    text = '\n"a b", "c ""d""" ,risk\n1, "x, y",bad\n\n2,5" pipe, good\n'
    frame = read(tmp_path, text, target="risk").frame
    assert frame.to_dict("list") == {
        "a b": [1, 2],
        'c "d"': ["x, y", '5" pipe'],
        "risk": ["bad", "good"],
    }


def test_columns_without_a_name(tmp_path):
    table = read(tmp_path, ",a,b,\n1,2,3,\n2,3,4,\n")
    assert list(table.frame) == ["Unnamed: 0", "a", "b"]
    said = " ".join(table.notes)
    assert "now called: 'Unnamed: 0'" in said
    assert "Left out: the last column" in said


# -- the target ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["None", "NA", "x", ""], ["None", "NA", "x", None]),
        (["01", "1", "1", "01"], ["01", "1", "1", "01"]),
        (["1e300", "2e300", "5", "5"], ["1e300", "2e300", "5", "5"]),
        (["1", "0", "-3", "12"], [1, 0, -3, 12]),
        (["1", "0", "", "12"], [1, 0, None, 12]),
        (["1.0", "0.0", "1.0", "1.0"], [1, 0, 1, 1]),
        (["1.0", "1", "1.0", "1.0"], ["1.0", "1", "1.0", "1.0"]),
        (["True", "False", "True", "true"], ["True", "False", "True", "true"]),
        (["2024-01-01", "null", "nan", "?"], ["2024-01-01", "null", "nan", "?"]),
        (["99999999999999999999", "1", "1", "1"], ["99999999999999999999", "1", "1", "1"]),
    ],
)
def test_the_target_is_read_as_written(tmp_path, cells, expected):
    text = "x,risk\n" + "".join(f"1,{cell}\n" for cell in cells)
    found = read(tmp_path, text, target="risk").frame["risk"]
    assert [None if pd.isna(v) else v for v in found.tolist()] == expected


def test_what_the_user_calls_missing_is_missing_in_the_target_too(tmp_path):
    found = read(tmp_path, "x,risk\n?,?\n2,NA\n", target="risk", na_values=["?"]).frame
    assert found["risk"].isna().tolist() == [True, False]
    assert found["x"].isna().tolist() == [True, False]


def test_the_classes_of_a_second_table_are_read_as_those_of_the_first(tmp_path):
    first = read(tmp_path, "x,risk\n1,01\n2,1\n", target="risk")
    second = read(tmp_path, "x,risk\n1,1\n2,1\n", target="risk", readings=first.readings)
    assert second.frame["risk"].tolist() == ["1", "1"]
    first = read(tmp_path, "x,risk\n1,0\n2,1\n", target="risk")
    second = read(tmp_path, "x,risk\n1,1\n2,\n", target="risk", readings=first.readings)
    assert second.frame["risk"].tolist()[0] == 1


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "expected", "how"),
    [
        (["1", "2"], [1, 2], ""),
        (["1.5", "2"], [1.5, 2.0], ""),
        (["1,5", "2"], [1.5, 2.0], "decimal comma"),
        (["1.234,56", "2"], [1234.56, 2.0], "decimal comma, thousands as 1.200,50"),
        (["1,200.50", "2"], [1200.5, 2.0], "thousands as 1,200.50"),
        (["1 200", "2"], [1200, 2], "thousands as 1 200.50"),
        (["1 200,5", "2\u00a0000,5"], [1200.5, 2000.5], "decimal comma, thousands as 1 200,50"),
        (["1'200.5", "2’000"], [1200.5, 2000], "thousands as 1'200.50"),
        (["1.234.567", "2"], [1234567, 2], "thousands as 1.200,50"),
        (["1,234", "1,5"], [1.234, 1.5], "decimal comma"),
        (["1,234", "1,234,567"], [1234, 1234567], "thousands as 1,200.50"),
        (["0,123", "1,234"], [0.123, 1.234], "decimal comma"),
        (["-1,5", "+2,5e3"], [-1.5, 2500.0], "decimal comma"),
        (["1.5", "NA", "null", "?"], [1.5, None, None, None], ""),
    ],
)  # fmt: skip
def test_local_numbers_are_recognised_and_said(tmp_path, cells, expected, how):
    found, reading, notes = column(tmp_path, *cells)
    assert [None if v != v else v for v in found] == expected
    assert (reading.kind, reading.how) == ("number", how)
    assert bool(how) == bool(notes)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["01234", "90210", ""], "category"),
        (["0", "1", "10"], "number"),
        (["0.5", "01"], "number"),
        (["-01", "2"], "number"),
    ],
)
def test_digits_with_leading_zeros_are_codes_and_this_is_said(tmp_path, cells, kind):
    found = read(tmp_path, "\n".join(["zip,other", *(f"{cell},1" for cell in cells)]) + "\n")
    assert found.readings["zip"].kind == kind
    if kind == "category":  # as a number 01234 would be 1234
        assert found.frame["zip"].tolist()[:2] == ["01234", "90210"]
        said = "'zip' is read as category: codes with leading zeros, such as '01234'."
        assert said in found.notes


def test_a_comma_that_proves_nothing_is_asked_about(tmp_path):
    with pytest.raises(
        TableError, match=r"'x' .*such as '1,234', .*say --decimal , or --thousands ,"
    ):
        column(tmp_path, "1,234", "12,500")
    assert column(tmp_path, "1,234", "12,500", decimal=",")[0] == [1.234, 12.5]
    assert column(tmp_path, "1,234", "12,500", thousands=",")[0] == [1234, 12500]
    assert column(tmp_path, "1,234", "12,500", decimal=".")[0] == [1234, 12500]


def test_the_other_columns_prove_what_one_does_not(tmp_path):
    points = read(tmp_path, "a;x\n1.5;1,234\n2.5;3,456\n", separator=";")
    assert points.frame["x"].tolist() == [1234, 3456]
    assert points.readings["x"].how == "thousands as 1,200.50, as 'a' shows"
    commas = read(tmp_path, "a;x;y\n1,5;1,234;1.234\n2,5;3,456;2\n")
    assert commas.frame["x"].tolist() == [1.234, 3.456]
    assert commas.frame["y"].tolist() == [1234, 2]
    assert commas.readings["y"].how == "thousands as 1.200,50, as 'a' shows"
    assert commas.notes[-1] == "'y' is read as number: thousands as 1.200,50, as 'a' shows."


def test_a_word_among_numbers_is_said(tmp_path):
    _, reading, notes = column(tmp_path, "1", "2", "old", "4")
    assert reading.kind == "category"
    assert notes == [
        "'x' is read as text: 1 cell of 4 is no number ('old' in row 3; --na-values calls it missing)."
    ]
    found, reading, _ = column(tmp_path, "1", "2", "old", "4", na_values=["old"])
    assert reading.kind == "number"
    assert np.isnan(found[2])


def test_missing_words_are_values_in_text(tmp_path):
    assert column(tmp_path, "None", "brick", "NA", "")[0][:3] == ["None", "brick", "NA"]
    assert pd.isna(column(tmp_path, "None", "brick", "NA", "")[0][3])


@pytest.mark.parametrize(
    ("cells", "how"), [(["true", "False"], ""), (["yes", "No"], "yes/No"), (["Y", "N"], "Y/N")]
)
def test_truth_values(tmp_path, cells, how):
    found, reading, _ = column(tmp_path, *cells)
    assert (found, reading.kind, reading.how) == ([True, False], "boolean", how)
    assert column(tmp_path, *cells, "")[0][:2] == [1.0, 0.0]


# -- dates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "expected", "how"),
    [
        (["2024-03-04", "2024-03-05"], "2024-03-04", ""),
        (["2024-03-04T10:30:00", "2024-03-05"], "2024-03-04 10:30", ""),
        (["2024-03-04 10:30+02:00", "2024-03-05"], "2024-03-04 08:30", ""),
        (["03/04/2024", "13/04/2024"], "2024-04-03", "dates day/month/year"),
        (["03/04/2024", "04/13/2024"], "2024-03-04", "dates month/day/year"),
        (["03.04.24", "13.04.24"], "2024-04-03", "dates day/month/year"),
        (
            ["03/04/2024 1:30 PM", "13/04/2024 12:30 am"],
            "2024-04-03 13:30",
            "dates day/month/year",
        ),
    ],
)
def test_dates_are_read_where_the_column_proves_them(tmp_path, cells, expected, how):
    found, reading, _ = column(tmp_path, *cells)
    assert found[0] == pd.Timestamp(expected)
    assert (reading.kind, reading.how) == ("date", how)


def test_an_ambiguous_date_is_asked_about(tmp_path):
    with pytest.raises(TableError, match="'x' .*such as '03/04/2024', .* say --dates day-first"):
        column(tmp_path, "03/04/2024", "05/06/2024")
    found = column(tmp_path, "03/04/2024", "05/06/2024", dates="day-first")[0]
    assert found[0] == pd.Timestamp("2024-04-03")
    found = column(tmp_path, "03/04/2024", "05/06/2024", dates="month-first")[0]
    assert found[0] == pd.Timestamp("2024-03-04")
    found = column(tmp_path, "03/04/2024", "05/06/2024", dates="text")
    assert (found[0][0], found[1].kind) == ("03/04/2024", "category")
    found, reading, notes = column(tmp_path, "13/04/2024", "04/13/2024")
    assert reading.kind == "category"
    assert "day/month and month/day in turn" in notes[0]
    path = written(tmp_path, "a,b\n1,2\n")
    with pytest.raises(TableError, match="dates must be one of day-first, month-first, text"):
        read_table(path, dates="mdy")


# -- new tables, read as before -------------------------------------------------------------------


def test_new_tables_are_read_as_the_first(tmp_path):
    first = read(
        tmp_path,
        "n;d;b;c\n1.234,5;13/04/2024;yes;u\n2,5;03/04/2024;no;v\n",
    )
    new = (
        "n;d;b;c\n1.234;2024-05-06;TRUE;1\nmany;05/06/2024;maybe;\n1,2,3;31/02/2024;0;x\nNA;;;u\n"
    )
    table = read_table(written(tmp_path, new), readings=first.readings)
    assert table.frame["n"].tolist()[0] == 1234
    assert table.frame["d"].tolist()[:2] == [
        pd.Timestamp("2024-05-06"),
        pd.Timestamp("2024-06-05"),
    ]
    assert table.frame["b"].tolist()[::2] == [1.0, 0.0]
    assert table.frame["c"].tolist()[0] == "1"
    bad = {name: (b.count, b.example, b.row) for name, b in table.unreadable.items()}
    assert bad == {"n": (2, "many", 2), "d": (1, "31/02/2024", 3), "b": (1, "maybe", 2)}
    kept = {
        n: ColumnReading.from_dict(json.loads(json.dumps(r.to_dict())))
        for n, r in first.readings.items()
    }
    assert kept == first.readings
    cells = pd.read_csv(tmp_path / "table.csv", sep=";", dtype=str)
    frame, again = apply_readings(cells, kept)
    assert_frame_equal(frame, table.frame)
    assert again == table.unreadable


def test_types_of_new_tables_meet_the_readings():
    readings = {
        "n": ColumnReading("n", "number"),
        "d": ColumnReading("d", "date", dates="iso"),
        "b": ColumnReading("b", "boolean"),
        "c": ColumnReading("c", "category"),
    }
    frame = pd.DataFrame({"n": [True, False], "d": [1, 2], "b": [1.0, 2.0], "c": [1.0, 2.5]})
    found, bad = apply_readings(frame, readings)
    assert found["n"].tolist() == [1, 0]
    assert found["d"].isna().all()
    assert found["b"].tolist()[0] == 1
    assert found["c"].tolist() == ["1", "2.5"]
    assert {name: (b.count, b.row) for name, b in bad.items()} == {"d": (2, 1), "b": (1, 2)}


# -- formats -----------------------------------------------------------------------------------


def test_one_table_in_every_format(tmp_path):
    frame = mixed()
    for path in write_all(frame, tmp_path):
        table = read_table(path, target="risk")
        found = table.frame.copy()
        assert [table.readings[c].kind for c in frame] == [
            "number", "number", "number", "category", "boolean", "date", "category"
        ], path.name  # fmt: skip
        assert_frame_equal(found, frame, check_exact=True)


def test_pipes_and_standard_input(tmp_path, monkeypatch):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    text = b"a,b\n1,x\n2,y\n"
    writer = threading.Thread(target=lambda: fifo.write_bytes(gzip.compress(text)))
    writer.start()
    assert read_table(fifo).frame["a"].tolist() == [1, 2]
    writer.join()
    for content in (text, b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'):
        handle = (tmp_path / "in").open("wb+")
        handle.write(content)
        handle.seek(0)
        monkeypatch.setattr("sys.stdin", type("In", (), {"buffer": handle}))
        assert read_table("-").frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
        handle.close()


def test_a_large_table_is_refused_before_it_is_taken_into_memory(tmp_path):
    gz = written(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000), "bomb.csv.gz")
    with pytest.raises(TableError, match="bomb.csv.gz has .* the limit is 500,000: .*--max-cells"):
        read_table(gz, limit=500_000)
    pd.DataFrame({"a": np.zeros(400_000), "b": 1}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="t.parquet has 800,000 cells"):
        read_table(tmp_path / "t.parquet", limit=500_000)
    pd.DataFrame({"a": np.zeros(400_000), "b": 1}).to_feather(tmp_path / "t.feather")
    with pytest.raises(TableError, match="t.feather has 524,288 cells or more"):
        read_table(tmp_path / "t.feather", limit=500_000)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.jsonl", b'[{"a": 1}]', "not JSON lines, which have one object in each line"),
        (
            "t.jsonl",
            b'{"a": 1}\n{"a": "x"}\n',
            r"not JSON lines: Column\(/a\) changed from number",
        ),
        ("t.xls", b"\xd0\xcf\x11\xe0abc", "old Excel file: save it as .xlsx"),
        ("t.zip", b"PK\x03\x04abcd", "no whole Excel file"),
        ("t.parquet", b"PAR1abcd", "no whole Parquet file"),
        ("t.arrow", b"ARROW1ab", "no whole Arrow file"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, name, content, said):
    path = written(tmp_path, content, name)
    with pytest.raises(TableError, match=said):
        read_table(path)


def test_sheets_and_mixed_cells(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"a": [1, 2], "b": ["x", 3]}).to_excel(book, sheet_name="one", index=False)
        pd.DataFrame({"c": [1, 2], "d": [1.5, None]}).to_excel(book, sheet_name="two", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame.to_dict("list") == {"a": [1, 2], "b": ["x", "3"]}
    assert "has 2 sheets; this is 'one' (--sheet)" in table.notes[0]
    assert list(read_table(tmp_path / "t.xlsx", sheet="two").frame) == ["c", "d"]
    with pytest.raises(TableError, match="has no sheet 'tow': did you mean 'two'?"):
        read_table(tmp_path / "t.xlsx", sheet="tow")


def test_nested_columns_and_the_index_of_pandas(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=pd.Index([7, 8], name="id")).to_parquet(
        tmp_path / "t.parquet"
    )
    table = read_table(tmp_path / "t.parquet")
    assert list(table.frame) == ["a", "b"]
    assert "Left out: 'id'" in table.notes[0]
    pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"'b' of .* holds list<.*leave it out \(--drop\)"):
        read_table(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet", spare=["b"]).frame) == ["a"]


def test_parquet_is_unpacked_a_few_columns_at_a_time(tmp_path, monkeypatch):
    frame = pd.DataFrame({f"a.{c}" if c % 2 else f"a{c}": np.arange(50) + c for c in range(5)})
    frame = frame.assign(a=["x", "y"] * 25).set_index(pd.Index(np.arange(50) ** 2, name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    whole = read_table(tmp_path / "t.parquet")
    calls = []
    read = pa.parquet.ParquetFile.read
    monkeypatch.setattr(
        pa.parquet.ParquetFile,
        "read",
        lambda self, columns=None: calls.append(columns) or read(self, columns=columns),
    )
    monkeypatch.setattr(_sources, "CELLS_AT_ONCE", 100)
    found = read_table(tmp_path / "t.parquet")
    assert max(map(len, calls)) == 2
    assert found.notes == whole.notes == [whole.notes[0]]  # the index is left out, and said
    assert_frame_equal(found.frame, whole.frame)


def test_other_types_of_parquet(tmp_path):
    table = pa.table(
        {
            "decimal": pa.array([1, 2]).cast(pa.decimal128(25, 2)),
            "date": pa.array([datetime.date(2024, 3, 4), None]),
            "zone": pa.array([datetime.datetime(2024, 3, 4, 10), None], pa.timestamp("ns", "Europe/Rome")),
            "time": pa.array([datetime.time(1, 0, 1), None]),
            "code": pa.array(["u", None]).dictionary_encode(),
            "none": pa.nulls(2),
            "small": pa.array([1, None], pa.int8()),
            "truth": pa.array([True, None]),
        }
    )  # fmt: skip
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert found.frame.iloc[0].tolist()[:5] == [
        1.0, pd.Timestamp("2024-03-04"), pd.Timestamp("2024-03-04 10:00"), 3601.0, "u"
    ]  # fmt: skip
    assert found.frame.iloc[1, 1:].isna().all()
    assert found.frame["truth"].tolist()[0] == 1.0
    assert found.readings["time"].how == "time in seconds"


def test_arrow_has_let_go_of_a_file_that_is_read(tmp_path, monkeypatch):
    # A thread of Arrow that lets go of it only while Python ends aborts the process.
    lent = []

    def lend(*given, **how):
        opened = open_utf8(*given, **how)
        lent.append(weakref.ref(opened))
        return opened

    monkeypatch.setattr(_sources, "open_utf8", lend)
    path = tmp_path / "empty.csv"
    path.write_text("a,b\n")
    for _ in range(20):
        with pytest.raises(ValueError, match="header but no rows"):
            read_table(path)
    assert len(lent) >= 20
    assert not [ref for ref in lent if ref() is not None]
