import pytest
from tests.cli.commands import table


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(here):
    table().to_csv("data.csv", index=False)
    return "data.csv"
