import gzip

import pytest

from stakes.utils import _csv
from stakes.utils._csv import CsvError, read_header, read_rows, utf8_blocks


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_dialects(tmp_path, encoding, separator):
    path = tmp_path / "table.csv"
    path.write_text(f"\nä{separator}b\n1{separator}x\n", encoding=encoding, newline="")
    how = None if encoding.startswith("utf-8") else encoding
    assert read_header(path, encoding=how) == (["ä", "b"], separator)
    if how is None:
        assert read_rows(path) == [["ä", "b"], ["1", "x"]]


def test_compressed_and_with_a_separator_of_its_own(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a b,c\n1 2\n"))
    assert read_rows(path, separator=" ") == [["a", "b,c"], ["1", "2"]]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CsvError, match=r"table.csv.gz cannot be decompressed"):
        read_rows(path)


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", {}, "table.csv is empty."),
        (b"\n\n", {}, "table.csv is empty."),
        (b"a,b\n\0\1", {}, r"table.csv holds binary data \(a NUL byte\), not a table."),
        (b"a,b\n" + b"1,2\n" * 900_000 + b"1,\0\n", {}, "holds binary data"),
        (b"a,b\nk\xf6ln,1\n", {}, r"not UTF-8 text \(byte 0xf6\): save it as UTF-8."),
        (
            b"a,b\n1,2,\n\n3\n1,2\n1,2,3\n",
            {},
            r"table.csv is not a table: its header has 2 columns, but line 2 has 3; so it is with "
            r"2 more lines \(4, 6\).",
        ),
        (b"a,b\n1,2\n", {"separator": "::"}, "The separator must be one character, not '::'."),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path, content, options, said):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(CsvError, match=said):
        read_rows(path, **options)


def test_an_unknown_encoding(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(CsvError, match="There is no encoding called klingon."):
        read_header(path, encoding="klingon")


def test_a_file_is_read_no_further_than_a_line_without_end(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    read = []
    blocks = _csv._raw_blocks

    def counting(path):
        for block in blocks(path):
            read.append(len(block))
            yield block

    monkeypatch.setattr(_csv, "_raw_blocks", counting)
    path.write_bytes(b"a,b\n" + b"1,2\n" * 1_300_000)
    assert read_header(path)[0] == ["a", "b"]
    assert sum(read) < 3_000_000
    assert sum(map(len, utf8_blocks(path))) == 5_200_004
    path.write_bytes(b"a,b\n1," + b"x" * 40_000_000)
    read.clear()
    with pytest.raises(CsvError, match="a line of more than 16 MB"):
        read_rows(path)
    assert sum(read) < 19_000_000
