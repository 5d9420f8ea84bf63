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
    check(policy)
    if policy["limits"] is not None or policy["states"] != "probabilities":
        raise ValueError(
            "This file decides single rows by probabilities, and this policy does not."
        )
    table, proba = np.asarray(policy["prices"], dtype=float), numbers(proba)
    if proba is None or proba.shape[1:] != (len(table),) or not is_stochastic(proba):
        raise ValueError(
            f"Give rows of {len(table)} probabilities, in the order of the classes, that sum to 1."
        )
    if prices is None and policy["needs_prices"]:
        raise ValueError("This policy decides by the prices of each row: give prices.")
    if prices is not None:
        if not policy["weighs_prices"]:
            raise ValueError("This policy cannot weigh the prices of single rows.")
        own, n_rows = numbers(prices), len(proba)
        fewest = table.shape[1] - policy["abstains"]
        sizes = [(n_rows, len(table), n) for n in (fewest, table.shape[1])]
        if own is None or own.shape not in sizes or not np.isfinite(own).all():
            raise ValueError(
                f"Give prices[row][true][decided]: {n_rows} tables of {len(table)} rows of "
                f"{fewest} numbers."
            )
        kept = table[:, own.shape[2] :]
        kept = np.broadcast_to(kept, (n_rows, *kept.shape))
        table = np.concatenate([own, kept], axis=2)
    proba = calibrate(policy["calibration"], proba)
    if policy["priors"] is not None:
        now, before = (np.asarray(part, dtype=float) for part in policy["priors"])
        proba = reweight(proba, factors(now, before))
    expected = weigh(proba, table)
    if policy["rule"] is None:
        shadow = policy["shadow_prices"]  # that keep a stream of rows to its shares
        return (expected if shadow is None else expected + shadow).argmin(axis=1), expected
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


def numbers(value):
    """Return nested numbers as an array; None where there is text, a truth value or a gap."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    of_numbers = array.dtype.kind in "iuf" and not holds_truth(value)
    return array.astype(float) if of_numbers else None


def holds_truth(value):
    """Say whether nested lists hold True or False, which NumPy takes for 1 and 0."""
    return isinstance(value, bool) or (
        isinstance(value, (list, tuple)) and any(map(holds_truth, value))
    )


def check(policy):
    """Refuse what is no policy, and a policy whose parts do not belong together."""
    if not isinstance(policy, dict) or policy.get("format") != FORMAT:
        raise ValueError(
            f"This is no decision policy of this version, whose format is {FORMAT!r}: read an "
            "older one with stakes.export.from_json, or write it again with stakes.export.to_json."
        )
    k, n = (len(policy.get(name) or ()) for name in ("classes", "decisions"))
    holds = {
        "classes": k > 1 and len(set(policy["classes"])) == k,
        "decisions": n > 1 and len(set(policy["decisions"])) == n,
        "prices": shape(policy.get("prices")) == (k, n),
        "rule": is_rule(policy.get("rule", 0), k, n),
        "calibration": is_calibration(policy.get("calibration", 0), k),
        "priors": policy.get("priors", 0) is None or shape(policy.get("priors")) == (2, k),
        "limits": policy.get("limits", 0) is None or isinstance(policy.get("limits"), list),
        "shadow_prices": policy.get("shadow_prices", 0) is None
        or shape(policy.get("shadow_prices")) == (n,),
        "states": policy.get("states") in ("probabilities", "both", "costs", "votes"),
    }
    flags = ("weighs_prices", "needs_prices", "abstains")
    holds |= {name: isinstance(policy.get(name), bool) for name in flags}
    wrong = [name for name, fits in holds.items() if not fits]
    if wrong:
        raise ValueError(
            f"The policy does not hold together: {wrong[0]!r} is missing or does not fit the rest. "
            "Write it again with stakes.export.to_json."
        )


def shape(value):
    """Return the shape of nested finite numbers; None of anything else."""
    array = numbers(value)
    return None if array is None or not np.isfinite(array).all() else array.shape


def is_rule(rule, k, n):
    """Say whether a rule has a scale and an offset for each class and each of its decisions."""
    if not isinstance(rule, dict):
        return rule is None
    scale = shape(rule.get("scale"))
    fits = scale is not None and len(scale) == 2 and scale[0] == k and 0 < scale[1] <= n
    return fits and shape(rule.get("offset")) == scale


def is_calibration(how, k):
    """Say whether the numbers of a calibration are there, for each class."""
    if not isinstance(how, dict):
        return how is None
    if how.get("method") in ("softmax", "matrix"):
        sizes = all(shape(how.get(name)) in ((1,), (k,)) for name in ("slopes", "biases"))
        mixes = how["method"] == "softmax" or (
            shape(how.get("matrix")) == (k, k) and shape(how.get("unseen")) == ()
        )
        return sizes and mixes and shape(how.get("added")) == ()
    maps = how.get("maps")
    if not isinstance(maps, list) or len(maps) not in ((1, k) if k == 2 else (k,)):
        return False
    return all(isinstance(one, dict) and is_map(how.get("method"), one) for one in maps)


def is_map(method, one):
    """Say whether one class's map has its numbers, in their order."""
    if method == "sigmoid":
        return shape(one.get("slope")) == shape(one.get("bias")) == ()
    first, second = ("edges", "shares") if method == "binning" else ("x", "y")
    places = numbers(one.get(first))
    if method not in ("binning", "isotonic") or places is None or places.ndim != 1:
        return False
    size = len(places) + (method == "binning")
    return size > 0 and bool((np.diff(places) > 0).all()) and shape(one.get(second)) == (size,)
