import pytest

from stakes.datasets import _catalogue

# Three classes in ten rows; "size" is written with numbers but is a category.
TINY = {
    "title": "Tiny",
    "about": "Ten rows made up.",
    "donor": "nobody",
    "licence": "none",
    "papers": [],
    "rows": 10,
    "missing": 1,
    "features": ["weight", "size", "colour"],
    "categorical": ["size", "colour"],
    "mean_abs": [5.0],
    "levels": [3, 2],
    "other": ["target_taste"],
    "labels": ["1", "2", "3"],
    "counts": [5, 3, 2],
    "openml": {"id": 999_999},
    "targets": {"taste": {"labels": ["sour", "sweet"], "counts": [4, 5]}},
    "variants": {
        "tiny12": {"about": "two classes", "rows": 8, "keep": ["1", "2"]},
        "tiny4": {"about": "the first rows", "rows": 4, "first": 4},
        "tiny_merged": {"about": "joined", "rows": 10, "merge": {"lo": ["1", "2"], "hi": ["3"]}},
    },
}
# Mean |weight| is (1 + 2 + ... + 9) / 9 = 5; one weight is missing.
TINY_ROWS = """weight,size,colour,target_taste,target
1,2,red,sweet,1
-2,10,red,sweet,1
3,2,blue,sweet,1
4,2,blue,sour,1
5,9,red,,1
6,10,red,sour,2
7,2,red,sour,2
8,2,blue,sour,2
9,2,blue,sweet,3
,2,red,sweet,3
"""


@pytest.fixture
def tiny_rows():
    """The file of the set `tiny`, as text."""
    return TINY_ROWS


@pytest.fixture
def tiny(monkeypatch):
    """A catalogue with one entry, and no folder named."""
    entry = _catalogue._entry("tiny", TINY)
    monkeypatch.setattr(_catalogue, "catalogue", lambda: {"tiny": entry})
    monkeypatch.delenv("STAKES_DATA", raising=False)
    return entry


@pytest.fixture
def tiny_folder(tiny, tiny_rows, monkeypatch, tmp_path):
    """The same with its file in the folder of STAKES_DATA."""
    (tmp_path / "tiny.csv").write_text(tiny_rows)
    monkeypatch.setenv("STAKES_DATA", str(tmp_path))
    return tmp_path
