"""Another process that loads models and decides: what a user does the next day.

Reads lines of JSON, {"model": path, "data": path, "tensor": path or null}, and answers each with the
decisions, or with the error.
"""

import json
import sys

import numpy as np
import pandas as pd

from stakes.compare import load_model


def answer(asked):
    """Return what the model decides on the data."""
    try:
        X = pd.read_pickle(asked["data"])
        tensor = None if asked["tensor"] is None else np.load(asked["tensor"])
        decided = load_model(asked["model"]).decide(X, cost_tensor=tensor)
        return {"table": decided.to_dict(orient="list")}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
