"""Verified at export: the file decides as the model does, or it is not written."""

from dataclasses import asdict, dataclass

import numpy as np

from stakes.tree.engine import Questions
from stakes.utils._arrays import counted

# Decisions may differ where their scores differ by no more than this.
TIE = 1e-6
# How far probabilities, and costs in units of the largest price, may be off.
TOLERANCE = 1e-5


# Greater numbers are not asked about: LightGBM has thresholds that nothing reaches.
LARGE = 1e300
WORDS = {"proba": "probabilities", "expected": "expected costs", "margins": "scores"}
# Questions of trees that are asked on both sides.
MOST_QUESTIONS = 1000


class NotExportable(ValueError):
    """A model that cannot be taken elsewhere as it is, and why."""


class ExportRefused(ValueError):
    """The exported model does not decide as the model does: nothing is written.

    Attributes
    ----------
    rows : list of int
        The rows that differ, counted from 0, of those that were tried.
    """

    def __init__(self, message: str, rows: list[int] | None = None):
        super().__init__(message)
        self.rows = rows or []


@dataclass
class Said:
    """What a model, or its export, says of rows; None where it says no such thing.

    Parameters
    ----------
    decision : ndarray of shape (n,)
        Positions in the decisions.
    tables : tuple of (ndarray of shape (n, n_some), ndarray of shape (n_classes, n_some) or None)
        By whose least it decided: scores of all decisions or of the first ones, the first table
        that has both; and what probabilities were multiplied with, in whose unit they are. Where
        two decisions are equal there, either may be taken.
    proba, expected, margins : ndarray or None
        Probabilities, expected costs, and what `decision_function` returns where it is no
        probability.
    """

    decision: np.ndarray
    tables: tuple[tuple[np.ndarray, np.ndarray | None], ...] = ()
    proba: np.ndarray | None = None
    expected: np.ndarray | None = None
    margins: np.ndarray | None = None


@dataclass
class Verification:
    """What the check at export found.

    Parameters
    ----------
    n_rows, n_edge_rows : int
        Rows tried, and how many of them are edge rows: missing values, unknown categories, extremes.
    n_ties : int
        Decisions that differ where two decisions are equally good, within 1e-6.
    largest_probability_error, largest_cost_error, largest_score_error : float
        The greatest differences; of costs in units of the largest price, of scores in those of
        the largest.
    with_prices : bool
        Whether prices of single rows were tried too.
    """

    n_rows: int
    n_edge_rows: int
    n_ties: int = 0
    largest_probability_error: float = 0.0
    largest_cost_error: float = 0.0
    largest_score_error: float = 0.0
    with_prices: bool = False

    def to_dict(self) -> dict:
        """Return the figures and the tolerances."""
        return asdict(self) | {"tie": TIE, "tolerance": TOLERANCE}


def compare_said(ours: Said, theirs: Said, scale: float, report: Verification) -> None:
    """Add what differs to `report`; refuse what is more than rounding."""
    for name, unit, kept in (
        ("proba", 1.0, "largest_probability_error"),
        ("expected", scale, "largest_cost_error"),
        ("margins", None, "largest_score_error"),
    ):
        a, b = getattr(ours, name), getattr(theirs, name)
        if a is None or b is None:
            continue
        unit = max(1.0, float(np.abs(a).max())) if unit is None else unit
        off = np.abs(a - b).max(axis=1) / unit
        off[np.isnan(off)] = np.inf
        setattr(report, kept, max(getattr(report, kept), float(off.max(initial=0.0))))
        if (off > TOLERANCE).any():
            _refuse(
                np.flatnonzero(off > TOLERANCE), f"{WORDS[name]} differ by up to {off.max():.3g}"
            )
    differ = np.flatnonzero(ours.decision != theirs.decision)
    if not len(differ):
        return
    gap = np.full(len(differ), np.inf)
    pair = np.stack([ours.decision[differ], theirs.decision[differ]])
    for scores, matrix in ours.tables[::-1]:
        here = (pair < scores.shape[1]).all(axis=0)
        first, second = (side[here] for side in pair)
        apart = np.abs(scores[differ[here], first] - scores[differ[here], second])
        if matrix is not None:
            unit = np.abs(matrix[:, first] - matrix[:, second]).max(axis=0)
            apart /= np.where(unit > 0, unit, 1.0)
        gap[here] = apart
    gap[np.isnan(gap)] = np.inf
    if (gap > TIE).any():
        by = "" if np.isinf(gap.max()) else f" by up to {gap.max():.3g} in their scores"
        _refuse(differ[gap > TIE], f"decisions differ{by}")
    report.n_ties += len(differ)


def _refuse(rows: np.ndarray, what: str) -> None:
    shown = ", ".join(map(str, rows[:5].tolist())) + (", ..." if len(rows) > 5 else "")
    raise ExportRefused(
        f"Not exported: in {counted(len(rows), 'row')} of those tried ({shown}, counted from 0) "
        f"the {what} between the model and its export. Please report this with the versions in use.",
        rows.tolist(),
    )


# -- rows to try -------------------------------------------------------------------------------


def draw_rows(columns: list[dict], n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return columns of values to try: numbers around the known ones, known categories.

    Parameters
    ----------
    columns : list of dict
        For each column ``{"numbers": array}`` of values to draw near, or ``{"texts": list}``.
    n_rows : int
        How many.
    rng : Generator
        Draws.
    """
    table = []
    for column in columns:
        if "texts" in column:
            texts = np.array([*column["texts"], "", "a value never seen"], dtype=object)
            table.append(texts[rng.integers(len(texts), size=n_rows)])
            continue
        known = np.asarray(column["numbers"], dtype=np.float64)
        known = known[np.isfinite(known)]
        if not len(known):
            known = np.zeros(1)
        spread = float(known.std()) or max(1.0, abs(float(known[0])))
        values = known[rng.integers(len(known), size=n_rows)]
        # some at the very values where trees cut, most near them
        values = values + spread * rng.normal(size=n_rows) * (rng.random(n_rows) < 0.7)
        values[rng.random(n_rows) < 0.1] = np.nan
        table.append(values)
    return table


def edge_rows(columns: list[dict]) -> list[np.ndarray]:
    """Return rows at the edges: all missing, all unknown, zero, and very large or small numbers."""
    extremes = np.array([np.nan, 0.0, -0.0, 1e-300, -1e-300, 1.0, -1.0, 1e9, -1e9, 1e30, -1e30])
    n = len(extremes)
    table = []
    for column in columns:
        if "texts" in column:
            known = [str(t) for t in column["texts"]] or [""]
            texts = ["", "a value never seen", " ", "\u00e9\u4e16", *known]
            table.append(np.array([texts[i % len(texts)] for i in range(n)], dtype=object))
        else:
            table.append(extremes.copy())
    return table


def rows_at_questions(
    asked: list[tuple[dict[int, int], Questions]],
    drawn: list[np.ndarray],
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return rows that come to the questions of trees, at the threshold and just beside it.

    Each row is one of the drawn ones, changed in the columns that lead to a question; one in
    three such rows is at the threshold, one just above it, one just below.

    Parameters
    ----------
    asked : list of (dict, Questions)
        The trees, and which column each of their features is; -1 where it is none of numbers.
    drawn : list of ndarray
        Columns of drawn rows.
    rng : Generator
        Draws which questions are asked, where there are many.
    """
    questions = [
        (t, int(n)) for t, (_, tree) in enumerate(asked) for n in np.flatnonzero(tree.leaf < 0)
    ]
    if len(questions) > MOST_QUESTIONS:
        chosen = np.sort(rng.choice(len(questions), MOST_QUESTIONS, replace=False))
        questions = [questions[i] for i in chosen]
    table = [column[np.arange(3 * len(questions)) % len(column)] for column in drawn]
    parents = {t: _parents(asked[t][1]) for t in {t for t, _ in questions}}
    for row, (t, node) in enumerate(questions):
        columns, tree = asked[t]
        at = tree.threshold[node]
        spans: dict[int, tuple[float, float]] = {}
        child = node
        while child > 0:
            parent, is_left = parents[t][child]
            feature, cut = int(tree.feature[parent]), tree.threshold[parent]
            low, high = spans.get(feature, (-np.inf, np.inf))
            spans[feature] = (low, min(high, cut)) if is_left else (max(low, cut), high)
            child = parent
        for feature, (low, high) in spans.items():
            column = columns.get(feature, -1)
            if column >= 0:
                table[column][3 * row : 3 * row + 3] = _inside(low, high)
        column = columns.get(int(tree.feature[node]), -1)
        if column >= 0 and abs(at) < LARGE:
            table[column][3 * row : 3 * row + 3] = (
                at,
                np.nextafter(at, np.inf),
                np.nextafter(at, -np.inf),
            )
    return table


def _parents(tree: Questions) -> dict[int, tuple[int, bool]]:
    """Return the parent of each node, and whether it is the left child."""
    inner = np.flatnonzero(tree.leaf < 0).tolist()
    parents = {int(tree.left[n]): (n, True) for n in inner}
    return parents | {int(tree.right[n]): (n, False) for n in inner}


def _inside(low: float, high: float) -> float:
    """Return a number above `low` and at most `high`."""
    low, high = (0.0 if abs(end) >= LARGE and not np.isinf(end) else end for end in (low, high))
    if np.isinf(high):
        return 0.0 if np.isinf(low) else low + max(1.0, abs(low))
    return high


def sample_prices(matrix: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return prices of rows near a matrix, (n, n_classes, n_priced); none of them need be 0."""
    scale = float(np.abs(matrix).max()) or 1.0
    noise = rng.exponential(size=(n_rows, *matrix.shape)) * (1.0 - np.eye(*matrix.shape))
    shift = rng.random((n_rows, len(matrix), 1))  # what is right costs something, too
    return np.asarray(matrix)[None] + scale * (0.5 * noise + shift)
