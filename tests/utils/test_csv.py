import gzip

import pytest

from stakes.utils._csv import CsvError, read_csv


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_dialects(tmp_path, encoding, separator):
    path = tmp_path / "table.csv"
    path.write_text(f"ä{separator}b\n1{separator}x\n", encoding=encoding, newline="")
    found = read_csv(path, encoding=None if encoding.startswith("utf-8") else encoding)
    assert found.to_dict("list") == {"ä": [1], "b": ["x"]}


def test_compressed_and_with_a_separator_of_its_own(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a b,c\n1 2\n"))
    assert read_csv(path, separator=" ").to_dict("list") == {"a": [1], "b,c": [2]}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CsvError, match=r"table.csv.gz cannot be decompressed"):
        read_csv(path)


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", {}, "table.csv is empty."),
        (b"a,b\n\0\1", {}, "table.csv holds binary data, not a table."),
        (b"a,b\nk\xf6ln,1\n", {}, r"not UTF-8 text \(byte 0xf6\): save it as UTF-8."),
        (b"a,b\n1,2,3,4\n1,2,3,4,5\n", {}, "table.csv is not a table: Expected 4 fields"),
        (b"a,b\n1,2\n", {"encoding": "klingon"}, "There is no encoding called klingon."),
        (b"a,b\n1,2\n", {"separator": "::"}, "The separator must be one character, not '::'."),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path, content, options, said):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(CsvError, match=said):
        read_csv(path, **options)


def test_a_file_is_read_once_and_no_further_than_a_line_without_end(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 300_000)
    read = []
    from stakes.utils import _csv

    class Counting(_csv._Lines):
        def readinto(self, buffer):
            read.append(super().readinto(buffer))
            return read[-1]

    monkeypatch.setattr(_csv, "_Lines", Counting)
    assert len(read_csv(path)) == 300_000
    assert sum(read) < 1.2 * path.stat().st_size
    path.write_bytes(b"a,b\n1," + b"x" * 40_000_000)
    read.clear()
    with pytest.raises(CsvError, match="a line of more than 16 MB"):
        read_csv(path)
    assert sum(read) < 17_000_000
