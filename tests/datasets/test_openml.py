import os
from io import StringIO
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from stakes.datasets import load_dataset
from stakes.datasets._catalogue import TARGET, catalogue
from stakes.datasets._files import find_file, read_table


def openml_copy(table, entry, *, names=str.upper, labels=None):
    """What scikit-learn would give for it: other spellings, categories, no other columns."""
    X = table[list(entry.features)].copy()
    for column in entry.categorical:
        X[column] = ("'" + X[column] + "'").astype("category")
    X.columns = [names(column) for column in X.columns]
    y = table[TARGET].astype(str)
    if labels is not None:
        y = y.map(labels)
    return Bunch(data=X, target=y.astype("category"))


@pytest.fixture
def openml(monkeypatch):
    """Answers of OpenML by id; each is handed out instead of being fetched."""
    answers, asked = {}, []

    def fetch(*, data_id, **options):
        asked.append((data_id, options))
        answer = answers[data_id]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return answers, asked


@pytest.fixture
def tiny_table(tiny_rows):
    text = {"size": str, "colour": str, TARGET: str}
    return pd.read_csv(StringIO(tiny_rows), dtype=text)


def test_other_spellings_come_back_as_the_catalogue_has_them(
    tiny, tiny_table, tiny_rows, openml, monkeypatch, tmp_path
):
    answers, asked = openml
    # "1" -> "one": no letters in common, but 5, 3 and 2 rows tell the classes apart.
    labels = {"1": "one", "2": "two", "3": "three"}
    answers[999_999] = openml_copy(tiny_table, tiny, labels=labels)
    fetched = load_dataset("tiny")
    assert fetched.source == "OpenML, data id 999999"
    assert asked == [(999_999, {"as_frame": True})]  # scikit-learn's cache stays on

    (tmp_path / "tiny.csv").write_text(tiny_rows)
    monkeypatch.setenv("STAKES_DATA", str(tmp_path))
    local = load_dataset("tiny")
    assert len(asked) == 1  # the folder comes first
    assert fetched.X.equals(local.X)  # types and categories too
    assert_array_equal(fetched.y, local.y)


def test_unknown_names_are_matched_by_position(tiny, tiny_table, openml):
    copy = openml_copy(tiny_table, tiny)
    copy.data.columns = ["V1", "V2", "V3"]
    openml[0][999_999] = copy
    assert list(load_dataset("tiny").X.columns) == list(tiny.features)


def test_numbers_that_come_as_text_and_whole_categories_that_come_as_floats(
    tiny, tiny_table, openml
):
    copy = openml_copy(tiny_table, tiny)
    copy.data["WEIGHT"] = copy.data["WEIGHT"].map(str, na_action="ignore").astype("category")
    copy.data["SIZE"] = tiny_table["size"].astype(float)
    copy.target = tiny_table[TARGET].astype(float)
    openml[0][999_999] = copy
    data = load_dataset("tiny")
    assert_allclose(data.X["weight"].abs().mean(), 5)
    assert list(data.X["size"].cat.categories) == ["2", "9", "10"]
    assert_array_equal(data.classes, [1, 2, 3])


def test_swapped_columns_are_refused(tiny, tiny_table, openml):
    copy = openml_copy(tiny_table, tiny)
    copy.data = copy.data[["WEIGHT", "COLOUR", "SIZE"]]
    copy.data.columns = ["V1", "V2", "V3"]
    openml[0][999_999] = copy
    with pytest.raises(
        ValueError, match="OpenML's data id 999999 is not the data set 'tiny'.*'size'"
    ):
        load_dataset("tiny")


def test_another_data_set_is_refused(tiny, tiny_table, openml):
    copy = openml_copy(tiny_table, tiny)
    copy.data = copy.data.rename(columns={"COLOUR": "SMELL"}).assign(EXTRA=1.0)
    openml[0][999_999] = copy
    with pytest.raises(ValueError, match="lacks the columns 'weight'"):
        load_dataset("tiny")


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("too slow")])
def test_openml_out_of_reach_is_one_sentence(tiny, openml, error):
    openml[0][999_999] = error
    with pytest.raises(ConnectionError, match=r"'tiny' would come from OpenML \(data id 999999\)"):
        load_dataset("tiny")


def test_what_openml_lacks_is_said(tiny, tiny_table, openml):
    openml[0][999_999] = openml_copy(tiny_table, tiny)
    with pytest.raises(ValueError, match="has no column 'target_taste'"):
        load_dataset("tiny", target="taste")
    with pytest.raises(ValueError, match="may have another order"):
        load_dataset("tiny4")


WITH_ID = [n for n, e in catalogue().items() if e.openml and n != "connect4"]


@pytest.mark.parametrize("name", WITH_ID)
def test_every_id_leads_back_to_the_local_set(name, openml, monkeypatch):
    entry = catalogue()[name]
    path = find_file(entry)
    if path is None:
        pytest.skip(f"STAKES_DATA names no folder with {name}.csv.gz")
    table, local = read_table(path, entry), load_dataset(name)
    extra = {column: np.arange(entry.rows) for column in entry.openml.get("drop", [])}
    copy = openml_copy(table, entry, names=lambda c: c.replace("_", "-"))
    copy.data = copy.data.assign(**extra)
    openml[0][entry.openml["id"]] = copy
    monkeypatch.setitem(os.environ, "STAKES_DATA", "")
    fetched = load_dataset(name)
    assert fetched.X.equals(local.X)  # types and categories too
    assert_array_equal(fetched.y, local.y)
    assert fetched.cost_matrix == local.cost_matrix
    if local.costs is not None:  # the file has them rounded to four digits
        assert_allclose(fetched.cost_tensor, local.cost_tensor, atol=1e-4)
