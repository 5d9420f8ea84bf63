"""What can be asked of a method in which case: declared data, read by the tables and by the tests.

A case or a way of asking names what it needs; a method's class declares what it states and what it
decides by, from which follows what it lacks, with the reason. A cell of the table is left out where
something is needed that the method lacks.
"""

from typing import NamedTuple, Protocol

from stakes._learning.statement import (
    LIKELIEST,
    MAYBE_NOT_LEAST,
    NO_COSTS,
    NO_MATRIX,
    NO_POLICY,
    NO_SUMS,
    NOT_FOLLOWING,
    NOT_LEAST,
    TOGETHER_ONLY,
)
from stakes.costs import ONLY_CLASSES


class Declaring(Protocol):
    """What the class of a method declares."""

    _states: str
    _states_for: dict[str, str]
    _decides_by: str
    _decides_by_for: dict[str, str]
    _decides_only_classes: bool
    _weighs_cost_tensor: bool


class Asked(NamedTuple):
    """A case in which a method decides, or a way of asking it.

    Attributes
    ----------
    title : str
        For people.
    needs : tuple of str
        What a method must not lack; see `lacks`.
    """

    title: str
    needs: tuple[str, ...] = ()


CASES = {
    "abstain": Asked("leaving rows to somebody else, at a price", ("costs",)),
    "batch": Asked("limits on a batch of rows", ("costs", "sums")),
    "stream": Asked("limits on a stream of rows", ("costs", "least cost")),
    "priors": Asked("other class frequencies", ("probabilities",)),
    "doubt": Asked("prices that are not known for sure"),
    "rows": Asked("prices of each row, known when deciding", ("rows",)),
    "choices": Asked("decisions that are not the classes", ("choices",)),
}
WAYS = {
    "fit_model": Asked("fitting"),
    "decide": Asked("deciding"),
    "plan": Asked("deciding within limits", ("costs", "sums")),
    "adapt": Asked("adapting to another population", ("probabilities",)),
    "estimate_cost": Asked("estimating what decisions will cost"),
    "Monitor": Asked("watching what decisions cost"),
    "save_model": Asked("saving and loading"),
    "to_onnx": Asked("a graph from features to decisions", ("matrix",)),
    "to_json": Asked("its policy as numbers", ("matrix", "policy")),
    "to_sql": Asked("its policy as a query", ("matrix", "policy")),
}
# What a way needs in one case besides.
TOGETHER: dict[tuple[str, str], tuple[str, ...]] = {("abstain", "plan"): ("sums", "least cost")}
TOGETHER |= {("batch", way): ("rows alone",) for way in ("to_onnx", "to_json", "to_sql")}
NO_ROWS = "cannot use costs known when deciding"


def states_of(cls: type[Declaring], kind: str) -> str:
    """Return what a class of classifiers or rules states of rows, for a kind of costs."""
    return cls._states_for.get(kind, cls._states)


def lacks(cls: type[Declaring], case: str = "doubt") -> dict[str, str]:
    """Return what the methods of a class lack in a case, each with the reason.

    Examples
    --------
    >>> from stakes._learning.capabilities import lacks
    >>> from stakes.decision import ClassThresholds, MinimumExpectedCost
    >>> lacks(MinimumExpectedCost)
    {}
    >>> list(lacks(ClassThresholds))
    ['least cost', 'rows', 'choices']
    """
    states, by = states_of(cls, "deciding" if case == "rows" else "class"), cls._decides_by
    by = cls._decides_by_for.get(case, by)
    if case == "priors" and states == "both":  # what it has learned to expect is left aside
        states = "probabilities"
    lacking = {"rows alone": TOGETHER_ONLY} if case == "batch" else {}
    if states != "probabilities":
        lacking["policy"] = NO_POLICY
    if states == "votes":
        lacking["costs"] = NO_COSTS
    if states in NOT_FOLLOWING:
        lacking["probabilities"] = NOT_FOLLOWING[states]
    if by == "doubt":
        lacking["sums"] = NO_SUMS
        lacking["matrix"] = NO_MATRIX
    if by == "likeliest":
        lacking["matrix"] = LIKELIEST
    if by != "prices":
        lacking["least cost"] = MAYBE_NOT_LEAST if by == "either" else NOT_LEAST
    if not cls._weighs_cost_tensor:
        lacking["rows"] = NO_ROWS
    if cls._decides_only_classes:
        lacking["choices"] = ONLY_CLASSES
    return lacking


def why_not(cls: type[Declaring], case: str, way: str | None = None) -> str:
    """Return why a method cannot be asked in this way in this case, or "".

    Parameters
    ----------
    cls : type
        The class that the method is declared beside.
    case, way : str
        Of `CASES` and `WAYS`; without a way, whether the case is for it at all.

    Examples
    --------
    >>> from stakes._learning.capabilities import why_not
    >>> from stakes.decision import ClassThresholds
    >>> why_not(ClassThresholds, "abstain"), why_not(ClassThresholds, "abstain", "plan")
    ('', 'decides by what its rule has learned, not by least expected cost')
    """
    needs = CASES[case].needs
    if way is not None:
        needs = (*needs, *TOGETHER.get((case, way), ()), *WAYS[way].needs)
    lacking = lacks(cls, case)
    return next((lacking[need] for need in needs if need in lacking), "")


def cannot(cls: type[Declaring]) -> dict[str, dict[str, str]]:
    """Return the reasons of all that is left out, by case and way."""
    cells = {case: {way: why_not(cls, case, way) for way in WAYS} for case in CASES}
    return {
        case: {way: reason for way, reason in ways.items() if reason}
        for case, ways in cells.items()
        if any(ways.values())
    }


def in_words(cls: type[Declaring]) -> dict[str, str]:
    """Return for each case "yes", or what is left out and why, for people.

    What holds in every case (a method that cannot keep to limits, has no policy) or for every method
    (limits on a batch are in no file for elsewhere) is not said again.

    Examples
    --------
    >>> from stakes._learning.capabilities import in_words
    >>> from stakes.decision import ClassThresholds
    >>> in_words(ClassThresholds)["abstain"]
    'not with plan: it decides by what its rule has learned, not by least expected cost'
    """
    said = {}
    for case in CASES:
        reason = why_not(cls, case)
        said[case] = f"no: it {reason}" if reason else "yes"
    for case, way in TOGETHER:
        reason = why_not(cls, case, way)
        its_own = reason != TOGETHER_ONLY and not why_not(cls, "doubt", way)
        if said[case] == "yes" and reason and its_own:
            said[case] = f"not with {way}: it {reason}"
    return said
