"""The numbers that the page computes with: probabilities, truths, prices."""

import base64
from typing import Any

import numpy as np

from stakes.compare._comparison import Comparison
from stakes.compare.words import Money

# What the encoded arrays of a page may weigh; beyond that a random sample of examples goes in.
MAX_BYTES = 4_000_000


def make_payload(comparison: Comparison, method: str, money: Money, labels: list[dict]) -> dict:
    """Return what the page's script needs, ready for JSON.

    Parameters
    ----------
    comparison : Comparison
        Finished.
    method : str
        Whose probabilities.
    money : Money
        How amounts are written.
    labels : list of dict
        Short labels.
    """
    problem = comparison.problem
    k = problem.n_classes
    varying: list[tuple[int, int]] = []
    if problem.tensor is not None:
        tensor = problem.tensor
        varying = [(t, d) for t in range(k) for d in range(k) if np.ptp(tensor[:, t, d]) > 0]
    numbers = 4 * k + 4 + 8 * len(varying) + (8 * k if problem.costs is not None else 0)
    fits = int(MAX_BYTES * 3 / 4 / numbers)
    rows = comparison.tested
    if len(rows) > fits:
        rows = np.sort(np.random.default_rng(0).choice(rows, fits, replace=False))
    matrix = comparison.cost_matrix
    proba = comparison.results[method].proba
    baseline = comparison.results[comparison.baseline].decisions
    payload: dict[str, Any] = {
        "k": k,
        "n": len(rows),
        "scale": len(comparison.tested) / len(rows),
        "situation": comparison.situation,
        "labels": [label["short"] for label in labels],
        "fullLabels": [str(label) for label in comparison.classes.tolist()]
        if sum(len(str(label)) for label in comparison.classes.tolist()) < 20_000
        else [label["full"] for label in labels],
        "money": {"currency": money.currency, "each": money.each, "total": money.total},
        "prices": matrix.tolist(),
        "y": encode(problem.y[rows], np.uint16),
        "baseline": encode(baseline[rows], np.uint16),
        "proba": encode(proba[rows], np.float32),
        "cells": [
            {"t": t, "d": d, "values": encode(problem.tensor[rows, t, d], np.float64)}
            for t, d in varying
        ]
        if problem.tensor is not None
        else [],
        "fixed": problem.tensor[0].tolist() if problem.tensor is not None else None,
        "costs": encode(problem.costs[rows], np.float64) if problem.costs is not None else None,
    }
    return payload


def encode(values: np.ndarray, dtype: Any) -> str:
    """Return an array as base64 of its little-endian bytes."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")
