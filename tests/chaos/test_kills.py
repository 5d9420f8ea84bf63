"""Killed at any moment, a command leaves nothing half-written, and goes on when it is given again."""

import json
import random
import shutil

import pytest
from tests.chaos.harness import COMMANDS, INPUTS, SEED, STORES, figures, rows
from tests.figures import record


def kept(name, folder):
    """Return the finished files of a store."""
    if name not in STORES:
        return {}
    return {file: file.read_bytes() for file in (folder / STORES[name]).rglob("fold*")}


def check_outputs(name, folder, before):
    """See that each output is as before, or whole."""
    whole = {
        ".html": lambda text: text.rstrip().endswith(b"</html>"),
        ".json": json.loads,
        ".csv": lambda text: text.endswith(b"\n"),
        ".skops": lambda text: (
            text.rstrip(b"\0")[-22:-18] == b"PK\x05\x06" or b"PK\x05\x06" in text
        ),
    }
    for file in [f for f in folder.rglob("*") if f.is_file() and ".stakes" not in f.parts]:
        if not file.name.endswith(".part") and file.read_bytes() != before.get(file):
            assert whole[file.suffix](file.read_bytes()), file


MANY = 100  # of which figures are kept


@pytest.mark.parametrize("n_kills", [2, pytest.param(250, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_lost_doubled_or_changed(server, quiet, tmp_path, name, n_kills):
    done, answer = quiet[name]
    expected, expected_rows = figures(name, done), rows(name, done)
    rng, kills, session = random.Random(SEED), 0, 0
    while kills < n_kills:
        session += 1
        folder = tmp_path / str(session)
        folder.mkdir()
        for file in INPUTS[name]:
            shutil.copy(done / file, folder)
        if rng.random() < 0.5:  # outputs of an earlier command are there
            for file in ("page.html", "page.json", "page.csv", "decided.csv"):
                if (done / file).exists() and file not in INPUTS[name]:
                    shutil.copy(done / file, folder)
        inputs = {file: (folder / file).read_bytes() for file in INPUTS[name]}
        for _ in range(rng.randint(1, 5)):
            before = {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}
            finished = kept(name, folder)
            if rng.random() < 0.5:
                moment = {"at": rng.randint(2, 2 * answer["steps"] + 1)}
            else:
                moment = {"after": rng.uniform(0, answer["seconds"])}
            found = server.run(COMMANDS[name], folder, **moment)
            assert found["code"] in (0, -9), found["err"]
            kills += found["code"] == -9
            now = kept(name, folder)
            assert all(now.get(file) == content for file, content in finished.items())
            check_outputs(name, folder, before)
        found = server.run(COMMANDS[name], folder)
        assert found["code"] == 0, found["err"]
        assert "damaged" not in found["err"]
        assert figures(name, folder) == expected
        assert rows(name, folder) == expected_rows
        assert {file: (folder / file).read_bytes() for file in INPUTS[name]} == inputs
        assert not list(folder.rglob("*.part"))
        shutil.rmtree(folder)
    if n_kills > MANY:
        record(f"kills-{name}", kills=kills, sessions=session)
