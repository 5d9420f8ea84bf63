import shutil
from pathlib import Path

import pytest
from tests.chaos.harness import COMMANDS, INPUTS, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("warm"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def quiet(server, tmp_path_factory):
    """A folder for each command in which it ran to its end, and how long that took."""
    found = {}
    warm = Path(server.process.args[-1])
    for name, arguments in COMMANDS.items():
        folder = tmp_path_factory.mktemp(name)
        for file in INPUTS[name]:
            shutil.copy(warm / file, folder)
        answer = server.run(arguments, folder)
        assert answer["code"] == 0, answer["err"]
        found[name] = folder, answer
    return found
