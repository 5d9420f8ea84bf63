"""
Serving decisions
=================

``stakes serve model.skops --state watched.json`` makes a model file a service: the request's
schema comes from the model, prices may come with each request, ``/metrics`` is for Prometheus, a
monitor watches what the decisions cost. The same from Python, within an application of your own:
``uvicorn --factory serve_fastapi:make_service``.
"""

from stakes import CostMatrix
from stakes.compare import fit_model
from stakes.datasets import load_dataset
from stakes.monitor import Monitor
from stakes.serve import make_app

PRICES = CostMatrix.binary(fp=1, fn=10, labels=["B", "M"])


def make_service():
    """Return a service for a model that finds tumours: a missed one costs 10 false alarms."""
    data = load_dataset("wdbc")
    model = fit_model(data.X[::2], data.y[::2], "calibrated", cost_matrix=PRICES)
    monitor = Monitor(model, reference=(data.X[1::2], data.y[1::2]))
    return make_app(model, monitor=monitor, batch=100)
