"""The service as a process of its own: started, asked, killed, started again."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from tests.serve.test_app import PRICES, as_rows, loans

from stakes.cli import main
from stakes.compare import add_reference, fit_model, save_model
from stakes.serve.__main__ import main as serve_main

pytest.importorskip("uvicorn")
# Imports that serving must do without.
WITHOUT = "import sys\nfor name in ('typer', 'rich', 'jinja2'): sys.modules[name] = None\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, y = loans(400)
    X = X[["age", "owner"]].astype(float)
    model = fit_model(X, y, "tree", cost_matrix=PRICES)
    add_reference(model, X, y, cost_matrix=PRICES)
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save_model(model, path)
    return path


@contextmanager
def running(file, *options, env=None):
    """Start the service on a free port of this machine; give its process and a client."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = WITHOUT + "from stakes.serve.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"
    command = [sys.executable, "-c", code, str(file), "--port", str(port), *map(str, options)]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            for _ in range(300):
                try:
                    client.get("/health")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, process.stderr.read()
                    time.sleep(0.2)
            yield process, client
    finally:
        process.kill()
        process.communicate()


def test_a_service_needs_no_typer_and_no_home(file, tmp_path):
    env = {**os.environ, "HOME": "/nonexistent", "NUMBA_CACHE_DIR": str(tmp_path)}
    rows = as_rows(loans()[0][["age", "owner"]].astype(float))
    with running(file, env=env) as (process, client):
        with ThreadPoolExecutor(4) as clients:
            said = list(
                clients.map(lambda row: client.post("/decide", json={"rows": [row]}), rows)
            )
        assert {answer.status_code for answer in said} == {200}
        metrics = client.get("/metrics").text
        assert f"stakes_rows_total {len(rows)}\n" in metrics
        process.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in process.communicate(timeout=30)[1].splitlines()]
    ours = [line for line in lines if line["logger"] == "stakes.serve"]
    assert [line["event"] for line in ours] == ["started", "stopped"]
    assert ours[-1]["rows"] == len(rows)


def test_who_is_killed_loses_no_more_than_the_batch_in_flight(file, tmp_path):
    state = tmp_path / "watched.json"
    (row,) = as_rows(loans()[0][["age", "owner"]].astype(float).iloc[:1])
    with running(file, "--state", state, "--batch", 20) as (process, client):
        for _ in range(10):
            client.post("/decide", json={"rows": [row] * 5})
        while client.get("/health").json()["monitor"]["rows"] < 40:
            time.sleep(0.05)
        process.kill()  # ten rows wait
    with running(file, "--state", state, "--batch", 20) as (process, client):
        client.post("/decide", json={"rows": [row] * 7})
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    batches = json.loads(state.read_text())["batches"]
    assert [batch["n"] for batch in batches] == [20, 20, 7]


def test_what_cannot_be_served_is_said_in_a_sentence(file, tmp_path, capsys):
    (tmp_path / "model.skops").write_text("no model")
    assert serve_main([str(tmp_path / "model.skops")]) == 2
    assert "cannot be read as a model" in capsys.readouterr().err
    (tmp_path / "key").write_text("a secret\n")
    assert serve_main([str(file), "--key", str(tmp_path / "key")]) == 2
    assert "it is not signed, and a key was given" in capsys.readouterr().err
    assert serve_main([str(file), "--state", str(file / "watched.json")]) == 2
    assert "model.skops cannot be written: File exists." in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none.skops")]) == 2
    assert "none.skops" in capsys.readouterr().err
