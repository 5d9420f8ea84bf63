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
    decisions: list[dict],
    *,
    kept: dict[str, np.ndarray],
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
    labels, decisions : list of dict
        Short labels of the classes and of the decisions.
    kept : dict of str to ndarray of shape (n_samples,)
        Decisions that stay as they were, by the name of their way to decide.
    private : bool, default=False
        Whether to put the rows into an order that tells nothing of the data's.
    """
    costs, k, a = comparison.problem.costs, len(labels), len(decisions)
    hindsight = comparison.kind == "hindsight"
    varying: list[tuple[int, int]] = []
    if costs.tensor is not None:
        varying = [(t, d) for t, d in np.ndindex(k, a) if np.ptp(costs.tensor[:, t, d]) > 0]
    numbers = 4 * k + 2 * (1 + len(kept)) + 8 * len(varying) + (8 * a if hindsight else 0)
    rows = sample_rows(comparison, int(MAX_BYTES * 3 / 4 / numbers))
    if private:
        proba = comparison.results[method].proba[rows]
        rows = rows[np.lexsort([*proba.T, comparison.problem.y[rows]])]
    costs = costs.take(rows)
    return {
        "k": k,
        "a": a,
        "n": len(rows),
        "scale": len(comparison.tested) / len(rows),
        "kind": comparison.kind,
        "classes": _names(comparison.classes.tolist(), labels, comparison.order),
        "decisions": _names(comparison.decisions, decisions, comparison.decision_order),
        "choices": costs.choices is not None,
        "when": "the truth is" if comparison.problem.knows_truth else "the cheapest is",
        "right": [np.flatnonzero(row).tolist() for row in comparison.right],
        "shares": comparison.shares.tolist(),
        "money": {"currency": money.currency, "each": money.each, "total": money.total},
        "policy": comparison.policy.named(range(k), tuple(range(a))).to_dict(),
        "digits": price_digits(comparison.cost_matrix.ravel(), money.currency),
        "y": encode(costs.y, np.uint16),
        "kept": {key: encode(decided[rows], np.uint16) for key, decided in kept.items()},
        "proba": encode(comparison.results[method].proba[rows], np.float32),
        "cells": [
            {"t": t, "d": d, "values": encode(costs.tensor[:, t, d], np.float64)}
            for t, d in varying
            if costs.tensor is not None
        ],
        "fixed": None if costs.tensor is None else costs.tensor[0].tolist(),
        "costs": encode(costs.table, np.float64) if hindsight else None,
    }


def _names(labels: Any, short: list[dict], order: list[int]) -> dict[str, Any]:
    """Return labels as they are shown, as they are written into a file, and in which order."""
    full = [str(label) for label in labels]
    return {
        "short": [label["short"] for label in short],
        "full": full if sum(map(len, full)) < 20_000 else [label["full"] for label in short],
        "order": order,
    }


def encode(values: np.ndarray, dtype: Any) -> str:
    """Return an array as base64 of its little-endian bytes."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")
