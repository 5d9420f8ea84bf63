"""The numbers that the page computes with: probabilities, truths, prices."""

import base64
from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.words import Money, price_digits

# What the encoded arrays of a page may weigh; beyond that a random sample of examples goes in.
MAX_BYTES = 4_000_000


def sample_rows(comparison: Comparison, limit: int) -> np.ndarray:
    """Return the tested rows, or where they are too many a random sample of them, in order."""
    rows = comparison.tested
    if len(rows) <= limit:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))


def make_payload(
    comparison: Comparison,
    method: str,
    money: Money,
    labels: list[dict],
    *,
    recommended: np.ndarray | None,
    private: bool = False,
) -> dict[str, Any]:
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
    recommended : ndarray of shape (n_samples,) or None
        The recommended decisions, where they are not those of `method`'s probabilities.
    private : bool, default=False
        Whether to put the rows into an order that tells nothing of the data's.
    """
    costs, k = comparison.problem.costs, comparison.problem.n_classes
    hindsight = comparison.kind == "hindsight"
    varying: list[tuple[int, int]] = []
    if costs.tensor is not None:
        varying = [(t, d) for t, d in np.ndindex(k, k) if np.ptp(costs.tensor[:, t, d]) > 0]
    numbers = 4 * k + 6 + 8 * len(varying) + (8 * k if hindsight else 0)
    rows = sample_rows(comparison, int(MAX_BYTES * 3 / 4 / numbers))
    if private:
        proba = comparison.results[method].proba[rows]
        rows = rows[np.lexsort([*proba.T, comparison.problem.y[rows]])]
    costs = costs.take(rows)
    full = [str(label) for label in comparison.classes.tolist()]
    return {
        "k": k,
        "n": len(rows),
        "scale": len(comparison.tested) / len(rows),
        "kind": comparison.kind,
        "order": comparison.order,
        "labels": [label["short"] for label in labels],
        "fullLabels": full if sum(map(len, full)) < 20_000 else [b["full"] for b in labels],
        "money": {"currency": money.currency, "each": money.each, "total": money.total},
        "policy": comparison.policy.named(range(k)).to_dict(),
        "digits": price_digits(comparison.cost_matrix.ravel(), money.currency),
        "y": encode(costs.y, np.uint16),
        "baseline": encode(comparison.results[comparison.baseline].decisions[rows], np.uint16),
        "recommended": None if recommended is None else encode(recommended[rows], np.uint16),
        "proba": encode(comparison.results[method].proba[rows], np.float32),
        "cells": [
            {"t": t, "d": d, "values": encode(costs.tensor[:, t, d], np.float64)}
            for t, d in varying
            if costs.tensor is not None
        ],
        "fixed": None if costs.tensor is None else costs.tensor[0].tolist(),
        "costs": encode(costs.table, np.float64) if hindsight else None,
    }


def encode(values: np.ndarray, dtype: Any) -> str:
    """Return an array as base64 of its little-endian bytes."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")
