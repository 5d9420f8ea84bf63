"""Reads a decision layer of stakes: plain Python, nothing to install. Copy it where you need it.

decide(layer, p) takes the dictionary of the JSON file and one row of probabilities, in the order
of layer["labels"], and returns (label, expected costs). They are those of the model behind it: what
the layer calibrates must not have been calibrated before. prices, if given, are the row's own
costs, prices[true][predicted].
"""

import math


def decide(layer, p, prices=None):
    """Return the decision for one row of probabilities, and the expected cost of each."""
    if layer.get("limits") is not None:
        raise ValueError("This reader knows no limits: use a newer one.")
    check(len(layer["labels"]), list(p), prices)
    p = calibrate(layer["calibration"], list(p))
    if layer["shifts"] is not None:  # other class frequencies than in training
        weighed = [x * f for x, f in zip(p, layer["shifts"]["factors"])]
        total = sum(weighed)
        p = [x / total for x in weighed] if total > 0 else p
    if prices is not None and layer["with_prices"] is None:
        raise ValueError("This layer cannot weigh the prices of single rows.")
    expected = weigh(p, layer["cost_matrix"] if prices is None else prices)
    rule = layer["rule"] if prices is None else layer["with_prices"]
    at = position(rule, p, prices)
    labels = list(layer["labels"])
    if layer["abstain"] is not None:
        aside = sum(x * c for x, c in zip(p, layer["abstain"]["costs"]))
        labels.append(layer["abstain"]["label"])
        if aside < expected[at]:
            at = len(labels) - 1
        expected = [*expected, aside]
    return labels[at], expected


def check(n, p, prices):
    """Refuse what are no n probabilities, and prices that are not n rows of n numbers."""
    if len(p) != n or not all(x >= -1e-6 for x in p) or not abs(sum(p) - 1) <= 1e-3:
        raise ValueError(f"Give {n} probabilities, in the order of the labels, that sum to 1.")
    square = prices is None or (len(prices) == n and all(len(row) == n for row in prices))
    if not square or not all(math.isfinite(c) for row in prices or [] for c in row):
        raise ValueError(f"Give prices[true][predicted]: {n} rows of {n} numbers.")


def weigh(p, matrix):
    """Return sum over t of p[t] * matrix[t][d], for each d."""
    return [sum(x * row[d] for x, row in zip(p, matrix)) for d in range(len(matrix[0]))]


def position(rule, p, prices):
    """Return the position of the decision: of equally good ones the first."""
    kind, by = rule["kind"], rule["parameters"]
    if kind == "threshold":
        return int(p[1] > by)
    if kind == "mossman":
        return 2 if p[2] > by[0] else int(p[1] - p[0] > by[1])
    if kind == "thresholds":
        scores = [-x / b for x, b in zip(p, by)]
    elif kind == "weights":
        scores = [-x * b for x, b in zip(p, by)]
    elif prices is None:
        scores = weigh(p, by)
    elif kind == "matrix":
        scores = weigh(p, prices)
    else:
        if kind == "class_scale":
            p = [x * b for x, b in zip(p, by)]
        scores = weigh(p, [[c - min(row) for c in row] for row in prices])
        if kind == "shift":
            scores = [s + b for s, b in zip(scores, by)]
        if kind == "scale":
            scores = [s * b for s, b in zip(scores, by)]
    return scores.index(min(scores))


def calibrate(how, p):
    """Return calibrated probabilities."""
    if how["method"] == "none":
        return p
    if how["method"] == "softmax":
        kept = [max(x, how["least"]) for x in p]
        total = sum(kept)
        logs = [math.log(x / total + how["added"]) for x in kept]
        slopes, biases = how["slopes"], how["biases"]
        scores = [
            z * slopes[k % len(slopes)] + biases[k % len(biases)] for k, z in enumerate(logs)
        ]
        most = max(scores)
        odds = [math.exp(s - most) for s in scores]
        return [x / sum(odds) for x in odds]
    maps = how["maps"]
    if len(maps) == 1:
        second = one_map(how, maps[0], p[1])
        return [1.0 - second, second]
    shares = [one_map(how, one, x) for one, x in zip(maps, p)]
    total = sum(shares)
    return [x / total for x in shares] if total > 0 else [1.0 / len(p)] * len(p)


def one_map(how, one, x):
    """Return one class's map of its probability."""
    if how["method"] == "sigmoid":
        x = min(max(x, how["least"]), 1.0 - how["least"])
        return 1.0 / (1.0 + math.exp(one["slope"] * math.log(x / (1.0 - x)) + one["bias"]))
    if how["method"] == "binning":
        return one["shares"][sum(edge <= x for edge in one["edges"])]
    xs, ys = one["x"], one["y"]
    x = min(max(x, xs[0]), xs[-1])
    at = sum(knot <= x for knot in xs[1:-1])
    if len(xs) == 1:
        return ys[0]
    return ys[at] + (ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at]) * (x - xs[at])
