"""Storing what a benchmark measured: figures, date and versions."""

import datetime
import importlib.metadata
import json
import os
import platform
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("stakes", "numpy", "scipy", "scikit-learn", "numba", "highspy", "lightgbm", "xgboost")


def kept(name: str) -> dict:
    """Return the figures that were stored, to go on from; {} where there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def store(name: str, figures: dict) -> Path:
    """Write ``results/<name>.json``: the figures, the date, the versions, the cores."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    record = {
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "versions": versions,
        "figures": figures,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(record, indent=2) + "\n")
    scratch.replace(path)
    return path
