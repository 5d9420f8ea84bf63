"""The coordinate descent over the parameters of a family of partitions.

It moves one parameter at a time to the cheapest span that the exact sweep finds, and never to
one that costs more.
"""

import numpy as np

from stakes.decision._sweep import Standing


def one_pass(family, parameters, order, examples, cost, *, literal=False, quiet=0):
    """Move each parameter once to its cheapest span, unless that gains nothing.

    Where the present value lies in a cheapest span it stays (0 inside the best gap keeps 0).

    Parameters
    ----------
    family : Family
        How the scores depend on the parameters.
    parameters : ndarray
        Where to begin; not changed.
    order : array-like of int
        The classes in the order in which to visit them.
    examples : Examples
        What the decisions cost.
    cost : float
        The total cost at the beginning.
    literal : bool, default=False
        Whether to sweep without bounds and to clip afterwards, as section 5.1 does.
    quiet : int, default=0
        How many visits before this pass have moved nothing; the pass stops once all
        coordinates in a row have not.

    Returns
    -------
    parameters : ndarray
        The new parameters.
    cost : float
        Their total cost.
    quiet : int
        How many of the last visits have moved nothing.
    """
    parameters = parameters.copy()
    standing = Standing(family.scores(parameters))
    slack = 1e-12 * (abs(cost) + examples.total_weight * family.scale * 1e-3)
    coordinates = family.coordinates(order)
    for coordinate in coordinates:
        if quiet >= len(coordinates):
            break
        quiet += 1
        span = family.sweep(parameters, coordinate, literal).best_span(standing, examples)
        if span.cost >= cost - slack:
            continue
        before = parameters[coordinate]
        parameters[coordinate] = family.value(span, parameters, coordinate)
        family.move(standing, parameters, coordinate)
        after = standing.total(examples)
        if after < cost - slack:
            cost, quiet = after, 0
        else:  # clipped into a span that costs more
            parameters[coordinate] = before
            family.move(standing, parameters, coordinate)
    return parameters, cost, quiet


def descend(
    family, order, examples, *, n_passes=1, starts=(), n_restarts=0, rng=None, literal=False
):
    """Descend from the family's own start and from others; return the cheapest.

    Parameters
    ----------
    family, order, examples
        As in `one_pass`.
    n_passes : int, default=1
        Passes of each descent, at most.
    starts : sequence of ndarray
        Other parameters to begin from.
    n_restarts : int, default=0
        Further descents, each from near the cheapest parameters found so far.
    rng : RandomState
        For the restarts.
    literal : bool, default=False
        Whether the very first pass follows section 5.1 to the letter.

    Returns
    -------
    parameters : ndarray
        The cheapest found.
    path : list of float
        The total cost at the start of that descent and after each of its passes.
    """
    best, best_path = _one_descent(
        family, family.initial(order), order, examples, n_passes, literal
    )
    for start in [*starts, *[None] * n_restarts]:
        start = family.perturbed(best, rng) if start is None else start
        reached, path = _one_descent(family, start, order, examples, n_passes, False)
        if path[-1] < best_path[-1]:
            best, best_path = reached, path
    return best, best_path


def _one_descent(family, start, order, examples, n_passes, literal):
    parameters, quiet = start, 0
    path = [examples.total(family.scores(start))]
    n_coordinates = len(family.coordinates(order))
    for number in range(n_passes):
        to_the_letter = literal and number == 0
        how = {"literal": to_the_letter, "quiet": quiet}
        parameters, cost, quiet = one_pass(family, parameters, order, examples, path[-1], **how)
        path.append(cost)
        if to_the_letter:
            quiet = 0  # other passes look inside the bounds
        elif quiet >= n_coordinates:
            break
    return parameters, path


def by_population(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the classes that have examples, from most to least populous."""
    counts = np.bincount(y, minlength=n_classes)
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] > 0]
