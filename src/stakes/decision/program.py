"""From a model's probabilities to decisions: NumPy alone, so that this file can be copied and run anywhere.

`decide(policy, proba)` takes the dictionary of ``Policy.to_dict()`` (the file of ``to_json``) and rows of
probabilities, in the order of ``policy["classes"]``, and returns positions in ``policy["decisions"]``
and the expected cost of each decision. The probabilities are those of the model behind the policy: what
the policy calibrates must not have been calibrated before. `prices`, if given, are each row's own,
``prices[row][true][decision]``; decisions that they leave out keep the policy's prices.
"""

import numpy as np

FORMAT = "stakes-policy-1"
# What calibration keeps away from 0 and 1 before a logarithm is taken.
LEAST = 1e-5


def decide(policy, proba, prices=None):
    """Return the decision for each row, as positions, and the expected cost of each decision."""
    if policy.get("format") != FORMAT:
        raise ValueError(f"This is no decision policy: its format should be {FORMAT!r}.")
    if policy["limits"] is not None or policy["states"] != "probabilities":
        raise ValueError(
            "This file decides single rows by probabilities, and this policy does not."
        )
    table = np.asarray(policy["prices"], dtype=float)
    proba = np.asarray(proba, dtype=float)
    if proba.ndim != 2 or proba.shape[1] != len(table) or not is_stochastic(proba):
        raise ValueError(
            f"Give rows of {len(table)} probabilities, in the order of the classes, that sum to 1."
        )
    if prices is None and policy["needs_prices"]:
        raise ValueError("This policy decides by the prices of each row: give prices.")
    if prices is not None:
        if not policy["weighs_prices"]:
            raise ValueError("This policy cannot weigh the prices of single rows.")
        own = np.asarray(prices, dtype=float)
        shape = len(proba), len(table)
        if own.ndim != 3 or own.shape[:2] != shape or not np.isfinite(own).all():
            raise ValueError(f"Give prices[row][true][decision], {shape[0]} tables of numbers.")
        kept = np.broadcast_to(table[:, own.shape[2] :], (*shape, table.shape[1] - own.shape[2]))
        table = np.concatenate([own, kept], axis=2)
    proba = calibrate(policy["calibration"], proba)
    if policy["priors"] is not None:
        now, before = (np.asarray(part, dtype=float) for part in policy["priors"])
        proba = reweight(proba, factors(now, before))
    expected = weigh(proba, table)
    if policy["rule"] is None:
        return expected.argmin(axis=1), expected
    scale, offset = (np.asarray(policy["rule"][name], dtype=float) for name in ("scale", "offset"))
    scores = weigh(proba, partition(table, scale, offset))
    return or_beside(scores.argmin(axis=1), expected, scores.shape[1]), expected


def weigh(proba, table):
    """Return sum over t of proba[t] * table[t, d], for all rows or by a table for each."""
    return np.einsum("nt,td->nd" if table.ndim == 2 else "nt,ntd->nd", proba, table)


def partition(prices, scale, offset):
    """Return what a rule weighs in place of the prices; each row of prices has its least at 0."""
    ruled = prices[..., : scale.shape[1]]
    return scale * (ruled - ruled.min(axis=-1, keepdims=True)) + offset


def or_beside(decided, expected, ruled):
    """Return what a rule decided, or a decision beyond its first ones that is expected to cost less."""
    if expected.shape[1] == ruled:
        return decided
    rows = np.arange(len(decided))
    beside = ruled + expected[:, ruled:].argmin(axis=1)
    return np.where(expected[rows, beside] < expected[rows, decided], beside, decided)


def is_stochastic(proba):
    """Say whether all rows are probabilities, as far as rounding lets them."""
    return bool((proba >= -1e-6).all() and (np.abs(proba.sum(axis=1) - 1.0) <= 1e-3).all())


def factors(priors, before):
    """Return by what probabilities are multiplied; a class never seen keeps its own."""
    return np.divide(priors, before, out=np.ones_like(priors), where=before > 0)


def reweight(proba, by):
    """Return probabilities times factors, each row summing to 1 again."""
    weighed = proba * by
    total = weighed.sum(axis=1, keepdims=True)
    # Where only classes that no longer exist were possible, there is nothing better to say.
    return np.divide(weighed, total, out=proba.copy(), where=total > 0)


def calibrate(how, proba):
    """Return calibrated probabilities; `how` are the numbers of a calibration, or None."""
    if how is None:
        return proba
    if how["method"] in ("softmax", "matrix"):
        logs = np.log(even(np.maximum(proba, LEAST)) + how["added"])
        scores = logs * np.asarray(how["slopes"])
        if how["method"] == "softmax":
            return softmax(scores + np.asarray(how["biases"]))
        mixed = (1.0 - how["unseen"]) * softmax(scores) + how["unseen"] / proba.shape[1]
        return softmax(
            weigh(np.log(mixed), np.asarray(how["matrix"]).T) + np.asarray(how["biases"])
        )
    maps = how["maps"]
    if len(maps) == 1:  # of two classes, the second's
        second = one_map(how["method"], maps[0], proba[:, 1])
        return np.column_stack([1.0 - second, second])
    return even(np.column_stack([one_map(how["method"], m, p) for m, p in zip(maps, proba.T)]))


def one_map(method, numbers, p):
    """Return one class's map of its probability."""
    if method == "sigmoid":
        p = np.clip(p, LEAST, 1.0 - LEAST)
        score = -(numbers["slope"] * np.log(p / (1.0 - p)) + numbers["bias"])
        return 1.0 / (1.0 + np.exp(-score))
    if method == "binning":
        return np.asarray(numbers["shares"])[np.searchsorted(numbers["edges"], p, side="right")]
    return np.interp(p, numbers["x"], numbers["y"])


def softmax(scores):
    """Return rows of positive numbers in the proportions of exp(scores), summing to 1."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def even(table):
    """Return rows that sum to 1; a row of zeros is spread evenly."""
    total = table.sum(axis=1, keepdims=True)
    share = np.full_like(table, 1.0 / table.shape[1])
    return np.divide(table, total, out=share, where=total > 0)
