"""`stakes serve` on a mixed table of 20 columns: seconds, and processor time, of requests of one row.

The client shares the machine with the service, and whatever else runs there: the load beside the
figures says how far seconds can be trusted. Processor time of the service can be.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import psutil
from _results import store

from stakes.compare import fit_model, save_model

REQUESTS = {1: 300, 8: 800}  # by the number of clients
PRICES = [[0.0, 1.0], [5.0, 0.0]]


def loans(n: int = 2_000) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = {f"amount {i}": rng.normal(size=n) for i in range(10)}
    columns |= {f"kind {i}": rng.choice(list("abcd"), n) for i in range(7)}
    columns["town"] = rng.choice([f"town {i}" for i in range(60)], n)
    columns["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    columns["owner"] = rng.random(n) < 0.5
    X = pd.DataFrame(columns)
    noise = rng.normal(size=n) * 0.5
    return X, (X["amount 0"] + (X["kind 0"] == "a") + noise > 0.5).to_numpy(dtype=int)


async def ask(url: str, process: psutil.Process, bodies: list[str], n_clients: int) -> dict:
    seconds: list[float] = []
    limits = httpx.Limits(max_connections=n_clients)
    headers = {"content-type": "application/json"}
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def one(k: int) -> None:
            for i in range(REQUESTS[n_clients] // n_clients):
                start = time.perf_counter()
                body = bodies[(31 * k + i) % len(bodies)]
                said = await client.post("/decide", content=body, headers=headers)
                said.raise_for_status()
                seconds.append(time.perf_counter() - start)

        await client.post("/decide", content=bodies[0], headers=headers)
        before, start = sum(process.cpu_times()[:2]), time.perf_counter()
        await asyncio.gather(*map(one, range(n_clients)))
        wall, used = time.perf_counter() - start, sum(process.cpu_times()[:2]) - before
    return {
        "p50_ms": round(1e3 * float(np.median(seconds)), 1),
        "p99_ms": round(1e3 * float(np.quantile(seconds, 0.99)), 1),
        "requests_per_second": round(len(seconds) / wall),
        "processor_ms_per_request": round(1e3 * used / len(seconds), 2),
        "load": round(os.getloadavg()[0], 1),
    }


def serve(file: Path, bodies: list[str]) -> dict:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen([sys.executable, "-m", "stakes.serve", str(file), *options])
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                httpx.get(f"{url}/health")
                break
            except httpx.TransportError:
                time.sleep(0.2)
        known = psutil.Process(process.pid)
        return {f"{n} clients": asyncio.run(ask(url, known, bodies, n)) for n in REQUESTS}
    finally:
        process.terminate()
        process.wait(30)


def main() -> None:
    X, y = loans()
    rows = X[:200].assign(day=X["day"].dt.strftime("%Y-%m-%d")).astype(object)
    bodies = [json.dumps({"rows": [row]}) for row in rows.to_dict(orient="records")]
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for method in ("tree", "stakes"):
            file = Path(folder) / f"{method}.skops"
            save_model(fit_model(X, y, method, cost_matrix=PRICES), file)
            figures[method] = serve(file, bodies)
            print(method, figures[method])
    store("service", figures)


if __name__ == "__main__":
    main()
