"""Requests and what they are answered, without a process."""

import logging
import runpy
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from stakes.compare import fit_model
from stakes.datasets import load_dataset
from stakes.monitor import Monitor
from stakes.serve import Service, make_app

PRICES = [[0.0, 1.0], [5.0, 0.0]]


def loans(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 9.0, size=n),
            "job": rng.choice(["cook", "smith"], n),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "owner": rng.random(n) < 0.5,
        }
    )
    y = (X["age"] + 9 * (X["job"] == "cook") + rng.normal(size=n) > 42).to_numpy(dtype=int)
    return X, y


def as_rows(X):
    table = X.assign(since=X["since"].dt.strftime("%Y-%m-%d")) if "since" in X else X
    return table.astype(object).where(table.notna(), None).to_dict(orient="records")


@pytest.fixture(scope="module")
def model():
    X, y = loans()
    return fit_model(X, y, "mec", cost_matrix=PRICES)


@pytest.fixture
def service(model):
    return Service(model)


@pytest.fixture
def client(service):
    with TestClient(make_app(service)) as client:
        yield client


def test_rows_are_decided_as_the_model_decides_them(model, client):
    X, _ = loans(seed=1)
    X.loc[3, "age"] = np.nan
    X.loc[5, "job"] = None
    said = client.post("/decide", json={"rows": as_rows(X)})
    assert said.status_code == 200
    table = pd.DataFrame(said.json())
    pd.testing.assert_frame_equal(table, model.decide(X), check_dtype=False)


def test_prices_come_with_the_request(model, client):
    row = as_rows(loans()[0].iloc[:2])
    free = [[[0.0, 0.0], [5.0, 0.0]], PRICES]
    said = client.post("/decide", json={"rows": row, "prices": free}).json()
    assert said["expected_cost"][0] == 0.0
    assert (
        said["expected_cost"][1]
        == client.post("/decide", json={"rows": row}).json()["expected_cost"][1]
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prices": [[[0.0, 1.0], [5.0]]]}, "prices[0] should have 2 rows, one for each true class"),
        ({"prices": [PRICES, PRICES]}, "prices has 2 matrices, but there are 1 rows."),
        ({"ids": ["a", "b"]}, "ids should be 1 different names"),
        ({"rows": []}, "rows: List should have at least 1 item"),
        ({"row": 1}, "row: Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_a_request_that_does_not_fit_is_refused_in_one_sentence(client, change, sentence):
    given = {"rows": as_rows(loans()[0].iloc[:1]), **change}
    said = client.post("/decide", json=given)
    assert said.status_code == 422
    assert sentence in said.json()["detail"]
    assert "\n" not in said.json()["detail"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"age": "old"}, "rows[0].age"),
        ({"age": True}, "rows[0].age"),
        ({"since": "yesterday"}, "rows[0].since"),
        ({"since": 20240101}, "rows[0].since"),
        ({"owner": "yes"}, "rows[0].owner"),
        ({"jobb": "cook"}, "rows[0].jobb"),
    ],
)
def test_a_cell_of_another_kind_is_refused_with_its_place(client, change, place):
    (row,) = as_rows(loans()[0].iloc[:1])
    said = client.post("/decide", json={"rows": [row | change]})
    assert said.status_code == 422
    assert said.json()["detail"].startswith(f"{place}")


def test_a_column_that_was_left_out_is_refused_and_not_taken_as_missing(client):
    (row,) = as_rows(loans()[0].iloc[:1])
    del row["job"]
    said = client.post("/decide", json={"rows": [row]})
    assert (said.status_code, said.json()["detail"]) == (422, "rows[0].job: Field required.")


def test_metrics_count_requests_decisions_costs_and_unseen_values(client):
    X, _ = loans(seed=2)
    X.loc[:4, "job"] = "spy"
    said = client.post("/decide", json={"rows": as_rows(X)}).json()
    client.post("/decide", json={"rows": []})
    lines = client.get("/metrics").text.splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert found['stakes_requests_total{path="/decide",status="200"}'] == "1"
    assert found['stakes_requests_total{path="/decide",status="422"}'] == "1"
    assert found["stakes_rows_total"] == "200"
    ones = sum(said["decision"])
    assert found['stakes_decisions_total{decision="1"}'] == str(ones)
    assert float(found["stakes_expected_cost_sum"]) == pytest.approx(sum(said["expected_cost"]))
    assert found['stakes_unseen_values_total{column="job"}'] == "5"
    assert found["stakes_request_seconds_count"] == "2"
    assert found['stakes_request_seconds_bucket{le="+Inf"}'] == "2"


def test_paths_that_are_none_do_not_each_become_a_number(client):
    for i in range(3):
        client.get(f"/no-such-{i}")
    text = client.get("/metrics").text
    assert 'stakes_requests_total{path="other",status="404"} 3' in text
    assert "no-such" not in text


def test_one_bad_job_does_not_spoil_those_beside_it(service, monkeypatch):
    rows = as_rows(loans()[0].iloc[:3])
    jobs = [service.take(service.request_type(rows=[row])) for row in rows]
    decide = service.model.answer

    def fail_of(table, prices):
        if (table["age"] == rows[1]["age"]).any():
            raise ValueError("this one")
        return decide(table, prices)

    monkeypatch.setattr(service.model, "answer", fail_of)
    answers = service.decide(jobs)
    assert [type(answer).__name__ for answer in answers] == ["dict", "ValueError", "dict"]


def test_what_fails_inside_is_a_sentence_and_a_line_of_the_log(service, monkeypatch, caplog):
    def fail(table, prices):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(service.model, "answer", fail)
    with TestClient(make_app(service)) as client, caplog.at_level(logging.INFO, "stakes.serve"):
        said = client.post("/decide", json={"rows": as_rows(loans()[0].iloc[:1])})
    assert (said.status_code, said.json()) == (
        500,
        {"detail": "The service failed; its log says why."},
    )
    assert "ZeroDivisionError" in caplog.text


def test_a_warning_is_counted_each_time_and_logged_once(service, caplog):
    for i in range(3):
        service.show_warning(f"row {i}", UserWarning, "prepare.py", 7)
    assert service.counters.value("stakes_warnings_total", category="UserWarning") == 3
    assert [record.message for record in caplog.records] == ["row 0"]


def test_limits_hold_for_a_request_and_not_for_those_beside_it(model):
    service = Service(model.with_limits({1: 1}))
    X, _ = loans()
    chosen = as_rows(X[X["age"] > 55].iloc[:2])
    jobs = [service.take(service.request_type(rows=[row])) for row in chosen]
    assert [answer["decision"] for answer in service.decide(jobs)] == [[1], [1]]


def test_a_model_of_an_array_takes_lists_of_numbers():
    X, y = np.array([[0.0, 1.0], [0.0, 2.0], [9.0, 1.0]] * 60), np.array([0, 0, 1] * 60)
    with TestClient(make_app(fit_model(X, y, "tree", cost_matrix=PRICES))) as client:
        said = client.post("/decide", json={"rows": [[0.0, 1.0], [9.0, None]]})
        assert said.json()["decision"] == [0, 1]
        said = client.post("/decide", json={"rows": [[0.0, 1.0, 2.0]]})
        assert said.json() == {"detail": "rows[0] has 3 numbers; the model takes 2."}


def test_prices_that_cannot_be_weighed_or_are_asked_for_are_said():
    X, y = loans()
    X = X[["age"]]
    tree = Service(fit_model(X, y, "weighted", cost_matrix=PRICES))
    request = {"rows": [{"age": 30.0}]}
    with pytest.raises(ValueError, match="cannot weigh prices of single rows"):
        tree.take(tree.request_type(**request, prices=[PRICES]))
    tensor = np.tile(PRICES, (len(X), 1, 1))
    asks = Service(fit_model(X, y, "mec", cost_tensor=tensor))
    with pytest.raises(ValueError, match="give prices"):
        asks.take(asks.request_type(**request))


def test_every_row_of_many_clients_reaches_the_monitor(model, tmp_path):
    state = tmp_path / "watched.json"
    watched = Monitor(model, reference=loans(seed=3))
    app = make_app(model, monitor=watched, state=state, batch=50)
    rows = as_rows(loans(seed=4)[0])
    with TestClient(app) as client:

        def send(k):
            for i in range(5):
                said = client.post("/decide", json={"rows": rows[3 * i : 3 * i + 1 + k % 3]})
                assert len(said.json()["decision"]) == 1 + k % 3

        threads = [threading.Thread(target=send, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        health = client.get("/health").json()
        assert health["rows"] == 5 * (3 * 1 + 3 * 2 + 2 * 3)
    sizes = [batch["n"] for batch in watched.batches]
    assert sum(sizes) == health["rows"]
    assert min(sizes[:-1]) >= 50  # what comes while the monitor looks is of the next batch
    assert len(Monitor.load(state, model).batches) == len(watched.batches)


def test_the_service_of_the_gallery():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "serve_fastapi.py"))
    rows = load_dataset("wdbc").X.iloc[:100].to_dict(orient="records")
    with TestClient(example["make_service"]()) as client:
        said = client.post("/decide", json={"rows": rows})
        assert said.status_code == 200, said.json()
        assert client.get("/health").json()["rows"] == 100


def watched(model, **options):
    return Service(model, monitor=Monitor(model, reference=loans(seed=3)), **options)


def wait_for(client, rows):
    while client.get("/health").json()["monitor"]["rows"] < rows:
        time.sleep(0.02)


def test_truth_comes_in_instalments_by_ids(model, tmp_path):
    state = tmp_path / "watched.json"
    X, y = loans(seed=4)
    rows, ids = as_rows(X)[:40], [f"loan {i}" for i in range(40)]
    service = watched(model, state=state, batch=20)
    with TestClient(make_app(service)) as client:

        def tell(names, classes):
            return client.post("/truth", json={"ids": names, "classes": classes}).json()

        for i in range(0, 40, 10):
            said = client.post("/decide", json={"rows": rows[i : i + 10], "ids": ids[i : i + 10]})
            assert said.json()["id"] == ids[i : i + 10]
        wait_for(client, 40)
        first = tell([*ids[15:25], "nobody"], [*y[15:25].tolist(), 1])
        assert first == {"known": 10, "waiting": 0, "unknown": ["nobody"]}
        second = tell(ids[:20], y[:20].tolist())
        assert second == {"known": 15, "waiting": 0, "unknown": ids[15:20]}
        text = client.get("/metrics").text
        assert "stakes_truths_total 25" in text
    assert [batch["n_truth"] for batch in service.watch.monitor.batches] == [20, 5]
    again = Service(model, monitor=Monitor.load(state, model), state=state, batch=20)
    with TestClient(make_app(again)) as client:
        rest = client.post("/truth", json={"ids": ids[20:], "classes": y[20:40].tolist()}).json()
        assert rest == {"known": 15, "waiting": 0, "unknown": ids[20:25]}
    paid = np.array(PRICES)[y[:40], model.predict(X[:40])]
    batches = Monitor.load(state, model).batches
    assert [batch["realised"] for batch in batches] == pytest.approx(
        [paid[:20].mean(), paid[20:].mean()]
    )


def test_truth_that_is_early_waits_for_the_batch_of_its_row(model):
    X, y = loans(seed=4)
    service = watched(model, batch=4)
    with TestClient(make_app(service)) as client:
        rows = as_rows(X)
        client.post("/decide", json={"rows": rows[:2], "ids": ["a", "b"]})
        said = client.post("/truth", json={"ids": ["a"], "classes": [int(y[0])]}).json()
        assert said == {"known": 0, "waiting": 1, "unknown": []}
        client.post("/decide", json={"rows": rows[2:4], "ids": ["c", "d"]})
        wait_for(client, 4)
        assert service.watch.monitor.batches[0]["n_truth"] == 1
        # who has its truth may be named again, who waits for it may not
        assert client.post("/decide", json={"rows": rows[:1], "ids": ["a"]}).status_code == 200
        said = client.post("/decide", json={"rows": rows[:2], "ids": ["e", "b"]})
        assert said.status_code == 422
        assert said.json()["detail"] == "ids: 'b' named other rows, whose truth is awaited."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ids": ["a"], "classes": [7]}, "classes: 7 is none of 0, 1."),
        ({"ids": ["a"], "classes": [0, 1]}, "ids and classes should name each row once"),
    ],
)
def test_truth_that_cannot_be_is_refused(model, client, given, sentence):
    said = client.post("/truth", json=given)
    assert said.json() == {"detail": "No monitor watches, so nothing asks for the truth."}
    with TestClient(make_app(watched(model))) as watching:
        said = watching.post("/truth", json=given)
    assert said.status_code == 422
    assert said.json()["detail"].startswith(sentence)


def test_rows_with_prices_are_watched_by_their_prices(model):
    X, _ = loans(seed=4)
    service = watched(model)
    with TestClient(make_app(service)) as client:
        rows = as_rows(X)[:3]
        client.post("/decide", json={"rows": rows, "prices": [[[0.0, 0.0], [0.0, 0.0]]] * 3})
        client.post("/decide", json={"rows": rows[:2]})
    free, priced = sorted(service.watch.monitor.batches, key=lambda batch: batch["stated"])
    assert (free["n"], free["stated"], priced["n"]) == (3, 0.0, 2)
    assert priced["stated"] > 0


def test_rows_that_the_monitor_cannot_keep_are_counted_and_said(model, monkeypatch, caplog):
    service = watched(model, batch=2)

    def refuse(*args, **given):
        raise OSError("the disk is full")

    monkeypatch.setattr(service.watch.monitor, "update", refuse)
    with TestClient(make_app(service)) as client:
        client.post("/decide", json={"rows": as_rows(loans()[0])[:3], "ids": ["a", "b", "c"]})
    lost = service.counters.value("stakes_monitor_lost_total")
    assert (lost, service.counters.value("stakes_monitor_waiting")) == (3, 0)
    assert "the monitor could not keep 3 rows" in caplog.text
    assert "the disk is full" in caplog.text


def test_rows_whose_state_cannot_be_saved_are_in_the_next_that_can(model, tmp_path, monkeypatch):
    state, rows = tmp_path / "watched.json", as_rows(loans()[0])
    service = watched(model, state=state, batch=3)

    def refuse(path):
        raise OSError("the disk is full")

    with TestClient(make_app(service)) as client:
        with monkeypatch.context() as broken:
            broken.setattr(service.watch.monitor, "save", refuse)
            client.post("/decide", json={"rows": rows[:3], "ids": ["a", "b", "c"]})
            wait_for(client, 3)
            said = client.post("/truth", json={"ids": ["a"], "classes": [1]}).json()
            assert said == {"known": 1, "waiting": 0, "unknown": []}
        assert not state.exists()
        assert "stakes_monitor_unsaved_total 2" in client.get("/metrics").text
        client.post("/decide", json={"rows": rows[3:6]})
        wait_for(client, 6)
    batches = Monitor.load(state, model).batches
    assert [(batch["n"], batch["n_truth"]) for batch in batches] == [(3, 1), (3, 0)]
    assert service.counters.value("stakes_monitor_lost_total") == 0
