import gzip
import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stakes.datasets import list_datasets, load_dataset
from stakes.datasets._catalogue import COST_COLUMNS, TARGET, catalogue
from stakes.datasets._files import read_table

LARGE = {"kdd99", "kdd99_10pct", "connect4", "credit_gmsc"}
EVERY = [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in catalogue()]


def file_or_skip(name):
    folder = os.environ.get("STAKES_DATA", "")
    path = os.path.join(folder, f"{name}.csv.gz")
    if not os.path.isfile(path):
        pytest.skip(f"STAKES_DATA names no folder with {name}.csv.gz")
    return path


def load_or_skip(name, **choice):
    entry = next(e for e in catalogue().values() if e.name == name or name in e.variants)
    if not entry.builtin:
        file_or_skip(entry.name)
    return load_dataset(name, **choice)


# -- every entry of the catalogue ------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_every_data_set_is_what_the_catalogue_says(name):
    entry, data = catalogue()[name], load_or_skip(name)
    labelled = sum(entry.targets[TARGET].counts)
    assert data.X.shape == (labelled, len(entry.features))
    assert list(data.X.columns) == list(entry.features)
    for column in data.X.columns:
        kind = "category" if column in entry.categorical else "float64"
        assert data.X[column].dtype == kind, column
    labels, counts = np.unique(data.y, return_counts=True)
    assert_array_equal(labels, data.classes)
    assert dict(zip(map(str, labels), counts)) == entry.targets[TARGET].class_counts()
    assert entry.title in data.description
    assert entry.licence in data.description
    if data.cost_tensor is not None:
        assert_allclose(
            data.costs, data.cost_tensor[np.arange(labelled), labels.searchsorted(data.y)]
        )


VARIANTS = [v for e in catalogue().values() if e.name not in LARGE for v in e.variants]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_has_its_rows(name):
    data = load_or_skip(name)
    entry = catalogue()[data.name]
    assert len(data.y) == len(data.X) == entry.variants[name].rows
    assert data.variant == name
    assert list(data.X.index) == list(range(len(data.X)))


@pytest.mark.parametrize("name", [n for n in catalogue() if n not in LARGE])
def test_every_other_target_has_its_classes(name):
    entry = catalogue()[name]
    others = [other for other in entry.targets if other != TARGET]
    if not others:
        return
    for other in others:
        data = load_or_skip(name, target=other)
        found = dict(zip(*(part.tolist() for part in np.unique(data.y, return_counts=True))))
        expected = entry.targets[other].class_counts()
        assert {str(label): count for label, count in found.items()} == expected
        assert data.cost_matrix is None


@pytest.mark.parametrize("name", ["balance", "iris", "wdbc", "wine"])
def test_built_in_sets_equal_their_files(name):
    path, entry = file_or_skip(name), catalogue()[name]
    table, data = read_table(path, entry), load_dataset(name)
    assert data.source == "built in"
    assert_allclose(data.X.to_numpy(), table[list(entry.features)].to_numpy())
    assert_array_equal(data.y.astype(str), table[TARGET].to_numpy().astype(str))


def test_the_papers_find_their_versions():
    assert_array_equal(load_or_skip("vehicle12").classes, ["opel", "saab"])
    assert_array_equal(load_or_skip("wine", variant="wine23").classes, [2, 3])
    assert "recommend" not in load_or_skip("nursery_s").classes
    assert len(load_or_skip("flare7").y) == 1388


# -- costs -----------------------------------------------------------------------------------


def test_cheques_by_hand():
    # A 2 read as 7 pays 5 too much; a 7 read as 2 costs 0.3 * 5 + 0.5 = 2.
    C = load_dataset("cheques").cost_matrix
    assert C.cost(true=2, predicted=7) == 5
    assert C.cost(true=7, predicted=2) == 2
    assert C.cost(true=1, predicted=0) == 0.8
    assert C.is_reasonable()
    assert load_dataset("digits").cost_matrix is None


def test_class_costs_keep_their_orientation():
    # UCI: calling a bad customer good costs 5, the reverse 1.
    C = load_or_skip("german_credit").cost_matrix
    assert C.cost(true="bad", predicted="good") == 5
    assert C.cost(true="good", predicted="bad") == 1


def test_costs_of_rows_follow_the_file():
    data, table = load_or_skip("churn_telco"), pd.read_csv(file_or_skip("churn_telco"))
    fp, fn, tp, tn = table[list(COST_COLUMNS)].to_numpy(dtype=float).T
    assert_allclose(data.cost_tensor[:, 0], np.column_stack([tn, fp]))  # truly "No"
    assert_allclose(data.cost_tensor[:, 1], np.column_stack([fn, tp]))
    stays = data.y == "No"
    assert_allclose(data.costs[stays, 1], fp[stays])
    assert_allclose(data.costs[~stays, 0], fn[~stays])
    assert not set(COST_COLUMNS) & set(data.X.columns)


# -- types, targets, variants, on ten rows ---------------------------------------------------


def test_types_by_hand(tiny_folder):
    data = load_dataset("tiny")
    assert list(data.X["size"].cat.categories) == ["2", "9", "10"]  # by value, not by letter
    assert list(data.X["colour"].cat.categories) == ["blue", "red"]
    assert data.X["weight"].isna().sum() == 1
    assert data.y.dtype.kind == "i"
    assert data.source == str(tiny_folder / "tiny.csv")
    assert "Ten rows made up." in data.description


def test_a_row_without_its_target_is_left_out(tiny_folder):
    data = load_dataset("tiny", target="taste")
    assert len(data.y) == len(data.X) == 9
    assert data.target_name == "target_taste"
    assert_array_equal(load_dataset("tiny", target="target_taste").y, data.y)


def test_variants_by_hand(tiny_folder):
    assert_array_equal(load_dataset("tiny12").y, [1] * 5 + [2] * 3)
    assert_array_equal(load_dataset("tiny", variant="tiny4").y, [1] * 4)
    assert_array_equal(load_dataset("tiny_merged").y, ["lo"] * 8 + ["hi"] * 2)
    assert "two classes" in load_dataset("tiny12").description


def test_a_compressed_file_comes_first(tiny_folder):
    text = (tiny_folder / "tiny.csv").read_bytes()
    (tiny_folder / "tiny.csv.gz").write_bytes(gzip.compress(text))
    assert load_dataset("tiny").source.endswith(".csv.gz")


# -- what is refused -------------------------------------------------------------------------


def test_an_unknown_name_lists_near_ones():
    with pytest.raises(ValueError, match=r"no data set 'vehicel'\. Near names: 'vehicle'"):
        load_dataset("vehicel")
    with pytest.raises(ValueError, match="No name is near it"):
        load_dataset("qqqqqqqq")


def test_an_unknown_target_or_variant_lists_the_known(tiny):
    with pytest.raises(ValueError, match="no target 'smell'; it has 'target', 'taste'"):
        load_dataset("tiny", target="smell")
    with pytest.raises(ValueError, match="no variant 'tiny7'; it has 'tiny12', 'tiny4'"):
        load_dataset("tiny", variant="tiny7")
    with pytest.raises(ValueError, match="'tiny12' is already a variant of 'tiny'"):
        load_dataset("tiny12", variant="tiny4")
    with pytest.raises(ValueError, match="does not go with target='taste'"):
        load_dataset("tiny12", target="taste")


def test_a_set_that_is_nowhere_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("STAKES_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"put bupa\.csv\.gz in a folder.*it is not set"):
        load_dataset("bupa")
    monkeypatch.setenv("STAKES_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="which has no such file"):
        load_dataset("bupa")
    monkeypatch.setenv("STAKES_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="which is no folder"):
        load_dataset("bupa")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("weight,size", "weight,girth", "lacks the columns 'size'; .*unknown columns 'girth'"),
        ("9,2,blue,sweet,3\n", "", "it has 9 rows instead of 10"),
        ("7,2,red", "seven,2,red", "column 'weight' should hold numbers, but row 7 has 'seven'"),
        ("sweet,3\n,", "sweet,2\n,", "class '2' of 'target' has 4 rows instead of 3"),
        ("-2,10,red,sweet", "-2,10,red,sour", "'sour' of 'target_taste' has 5 rows instead of 4"),
        ("8,2,blue", "8,,blue", "it has 2 empty feature cells instead of 1"),
        ("8,2,blue", "8,2,green", "column 'colour' has 3 values instead of 2"),
        ("8,2,blue", "800,2,blue", r"mean \|x\| of column 'weight' is 93 instead of 5"),
    ],
)
def test_a_file_that_differs_is_refused_with_what_differs(tiny_folder, old, new, complaint):
    path = tiny_folder / "tiny.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"tiny\.csv is not the data set 'tiny': .*{complaint}"):
        load_dataset("tiny")


def test_a_damaged_file_is_refused(tiny_folder):
    whole = gzip.compress((tiny_folder / "tiny.csv").read_bytes())
    damaged = {
        "cut": whole[: len(whole) // 2],
        "not gzip": b"weight,size\n",
        "empty": b"",
        "flipped": whole[:40] + bytes([whole[40] ^ 255]) + whole[41:],
        "not text": gzip.compress(bytes(range(128, 256)) * 8),
    }
    for content in damaged.values():
        (tiny_folder / "tiny.csv.gz").write_bytes(content)
        with pytest.raises(ValueError, match="is damaged and cannot be read|is not the data set"):
            load_dataset("tiny")


# -- the table ---------------------------------------------------------------------------------


def test_the_table_says_where_each_would_come_from(monkeypatch):
    monkeypatch.delenv("STAKES_DATA", raising=False)
    table = list_datasets()
    assert len(table) == len(catalogue()) == 47
    assert table.loc["iris", "source"] == "built in"
    assert table.loc["vehicle", ["source", "openml"]].tolist() == ["OpenML", "54"]
    assert table.loc["bupa", "source"] == ""
    assert set(table["costs"]) == {"", "class", "example"}
    assert table.loc["bridges2", "targets"] == "t_or_d, material, span, rel_l"
    assert "vehicle12" in table.loc["vehicle", "variants"]


def test_the_table_sees_the_folder(monkeypatch, tmp_path):
    (tmp_path / "bupa.csv").touch()
    monkeypatch.setenv("STAKES_DATA", str(tmp_path))
    assert list_datasets().loc["bupa", "source"] == "folder"


def test_names_of_variants_are_unique():
    variants = [v for entry in catalogue().values() for v in entry.variants]
    assert len(set(variants)) == len(variants)
    assert not set(variants) & set(catalogue())
