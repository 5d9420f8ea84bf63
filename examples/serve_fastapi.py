"""
Serving decisions with FastAPI
==============================

A service in forty lines: the request's schema comes from the model, prices may come with each
request, a monitor watches what the decisions cost. Run it with
``uvicorn --factory serve_fastapi:make_app`` and look at ``/docs``.
"""

from typing import Any

import numpy as np
import pandas as pd
from fastapi import FastAPI
from pydantic import create_model

from stakes.compare import fit_model
from stakes.datasets import load_dataset
from stakes.export import OnnxDecider, to_onnx
from stakes.monitor import Monitor

BATCH = 100  # rows after which the monitor looks


def make_app(model: Any = None, reference: Any = None) -> FastAPI:
    """Return a service for a model; by default of the German credit data."""
    if model is None:
        data = load_dataset("german_credit")
        model = fit_model(data.X[::2], data.y[::2], "calibrated", cost_matrix=data.cost_matrix)
        reference = data.X[1::2], data.y[1::2]
    decider = OnnxDecider(to_onnx(model))
    about, monitor, seen = decider.about, Monitor(model, reference=reference), []
    kinds = {"number": float | None, "text": str | None}
    fields = {name: (kinds[kind], None) for name, kind in zip(about["order"], about["kinds"])}
    Row = create_model("Row", **fields)
    app = FastAPI(title=f"Decisions by {about['method']}")

    @app.post("/decide")
    def decide(row: Row, prices: list[list[float]] | None = None) -> dict:
        table = pd.DataFrame([row.model_dump()])
        tensor = None if prices is None else np.array([prices])
        seen.append(table)
        if len(seen) == BATCH:
            monitor.update(pd.concat(seen, ignore_index=True))
            seen.clear()
        return decider.decide(table, cost_tensor=tensor).iloc[0].to_dict()

    @app.get("/health")
    def health() -> dict:
        return {"verified": about["verification"], "alarms": monitor.alarms}

    return app
