"""Prices that have a name: of classes in an order, and of classes that are kinds of each other."""

from collections.abc import Mapping

import numpy as np

from stakes.costs._choices import repeated
from stakes.utils._arrays import finite_array, quoted


def ordinal_costs(n_classes: int, power: float, over: float, under: float) -> np.ndarray:
    """Return prices that grow with the steps between truth and decision, (K, K).

    ``over * steps ** power`` for a decision above the truth, ``under * ...`` for one below.

    Examples
    --------
    >>> from stakes.costs._named import ordinal_costs
    >>> ordinal_costs(3, power=2, over=1, under=5)
    array([[ 0.,  1.,  4.],
           [ 5.,  0.,  1.],
           [20.,  5.,  0.]])
    """
    for name, value in (("power", power), ("over", over), ("under", under)):
        if not finite_array(value, name=name).ndim == 0 or not value > 0:
            raise ValueError(f"{name}={value!r} must be a number above 0.")
    place = np.arange(n_classes)
    steps = place[None, :] - place[:, None]
    return np.where(steps > 0, over, under) * np.abs(steps).astype(float) ** power


def taxonomy_costs(
    tree: Mapping, vague: float, wrong: float
) -> tuple[np.ndarray, list[str], list[str]]:
    """Return prices of all nodes of a tree of kinds, its leaves, and its nodes: leaves first.

    From the truth up to what it has in common with the decision each level costs `vague`, from there
    down to the decision `wrong`; times the weight of the leaf that is true.

    Examples
    --------
    >>> from stakes.costs._named import taxonomy_costs
    >>> values, leaves, nodes = taxonomy_costs({"animal": {"cat": 1, "dog": 1}, "car": 3}, 1, 2)
    >>> leaves, nodes
    (['cat', 'dog', 'car'], ['cat', 'dog', 'car', 'animal'])
    >>> values
    array([[ 0.,  3.,  4.,  1.],
           [ 3.,  0.,  4.,  1.],
           [15., 15.,  0.,  9.]])
    """
    leaves: dict[str, tuple] = {}
    inner: dict[str, tuple] = {}
    weights: list[float] = []
    names: list[str] = []

    def walk(branch: Mapping, path: tuple) -> None:
        for name, below in branch.items():
            names.append(name)
            own = (*path, name)
            if isinstance(below, Mapping):
                if not below:
                    raise ValueError(f"The kind {name!r} has nothing below it: leave it out.")
                inner[name] = own
                walk(below, own)
            else:
                leaves[name] = own
                plain = below is None or below is ...
                weights.append(1.0 if plain else float(finite_array(below, name=str(name))))

    walk(tree, ())
    twice = repeated(tuple(names))
    if twice:
        raise ValueError(f"The tree names {quoted(twice)} twice: each kind has one place.")
    nodes = {**leaves, **inner}
    values = np.zeros((len(leaves), len(nodes)))
    for t, truth in enumerate(leaves.values()):
        for d, decided in enumerate(nodes.values()):
            shared = sum(a == b for a, b in zip(truth, decided))
            steps = vague * (len(truth) - shared) + wrong * (len(decided) - shared)
            values[t, d] = weights[t] * steps
    return values, list(leaves), list(nodes)
