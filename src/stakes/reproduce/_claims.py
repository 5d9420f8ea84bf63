"""Whether the orderings that carry each paper's claim come out in the stored results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from stakes.reproduce._published import as_number
from stakes.reproduce._table import Cell, strict_verdict
from stakes.reproduce._verdict import VERDICTS

# The methods that the documents propose or study, as against those they only quote.
SEED_METHODS = frozenset(
    {
        *("bagging", "metacost", "iw", "dse", "gbse", "combo", "adaboost_mm", "svm", "arcing"),
        *("bacing", "lf", "partition"),
    }
)


@dataclass(frozen=True)
class Claim:
    """One ordering: what is claimed, whether it holds here, and the figures."""

    paper: str
    text: str
    held: bool
    figures: str


def check_claims(results: Mapping[str, Iterable[Cell]]) -> list[Claim]:
    """Return the claims that the stored cells allow to be checked.

    Parameters
    ----------
    results : mapping of str to iterable of Cell
        The cells of each paper, as `load_results` gives them.
    """
    claims = []
    for paper, check in CHECKS.items():
        cells = [cell for cell in results.get(paper, ()) if cell.published]
        claims += [Claim(paper, *claim) for claim in check(cells)]
    return claims


# Tables whose margins are so wide that they hardly tell right from wrong: wins and losses of 20 sets
# (a coin matches four of five), improvements at costs drawn once (with shuffled targets nine of ten
# still pass). They are judged like the others, and stay out of the headline.
WIDE = {("zhang2005", "2"), ("obrien2008", "2")}


def own_cells(cells: Iterable[Cell], *, every: bool = False) -> list[Cell]:
    """Return the cells of the five papers' own methods that can be compared.

    A figure that a paper prints in two tables is one, and tables of wide margins are left out;
    `every` takes each cell of each table.
    """
    own: dict[tuple, Cell] = {}
    for cell in cells:
        if cell.method not in SEED_METHODS or cell.verdict not in VERDICTS:
            continue
        if every or (cell.paper, cell.table) not in WIDE:
            place = (cell.paper, *cell.key[1:], cell.published, cell.published_spread, cell.ours)
            own.setdefault((*place, cell.table if every else ""), cell)
    return list(own.values())


def seed_share(cells: Iterable[Cell], *, every: bool = False) -> tuple[int, int]:
    """Return how many cells of the five papers' own methods are matched or beaten, of how many."""
    verdicts = [cell.verdict for cell in own_cells(cells, every=every)]
    return sum(said != "short" for said in verdicts), len(verdicts)


def strict_share(cells: Iterable[Cell], *, every: bool = False) -> tuple[int, int]:
    """Return the same under stricter rules: the paper's own standard errors, 5 points without any."""
    verdicts = [strict_verdict(cell) for cell in own_cells(cells, every=every)]
    return sum(said != "short" for said in verdicts), len(verdicts)


def _figures(cells, table, metric) -> dict[str, dict[str, float]]:
    """Return task -> method -> our figure."""
    grid: dict = {}
    for cell in cells:
        if (cell.table, cell.metric) == (table, metric):
            grid.setdefault(cell.task, {})[cell.method] = cell.ours
    return grid


def _gbse_leads(cells):
    grid = _figures(cells, "2", "average_cost")
    ranks = {
        task: sorted(row, key=row.__getitem__).index("gbse") + 1
        for task, row in grid.items()
        if "gbse" in row
    }
    if len(ranks) == 6:
        good = sum(rank <= 2 for rank in ranks.values())
        said = ", ".join(f"{task} {rank}" for task, rank in ranks.items())
        first = sum(rank == 1 for rank in ranks.values())
        yield (
            "GBSE is best or second on five of the six sets",
            good >= 5,
            f"first on {first}, where the paper has it first on five; rank: {said}",
        )


def _combo_norms(cells):
    grid = _figures(cells, "3", "confusion_norm")
    for task in ("balance", "connect4", "yeast"):
        row = grid.get(task, {})
        if {"combo", "adaboost_mm"} <= set(row):
            combo, mm = row["combo"], row["adaboost_mm"]
            text = f"CoMBo's confusion norm is below AdaBoost.MM's on {task}"
            yield text, combo < mm, f"{combo:.3f} against {mm:.3f}"


def _bacing_wins(cells):
    grid = _figures(cells, "1", "percent_error")
    pairs = [(row["bacing"], row["bagging"]) for row in grid.values() if len(row) == 4]
    if len(pairs) == 20:
        wins = sum(bacing < bagging for bacing, bagging in pairs)
        losses = sum(bacing > bagging for bacing, bagging in pairs)
        text = "Bacing beats bagging on most of the 20 sets"
        yield text, wins > 10, f"{wins} won, {losses} lost"


def _partition_gains(cells):
    for table, costs in (("1", "rarity"), ("2", "random")):
        mean = _figures(cells, table, "percent_improvement").get("mean", {}).get("partition")
        if mean is not None:
            text = f"The parallel partition saves on average, {costs} costs"
            yield text, mean > 0, f"{mean:.1f}%"


def _lf_as_printed(cells):
    for table, costs, least in (("1", "rarity", 0.9), ("2", "random", 0.75)):
        pairs = [
            (cell.ours, as_number(cell.published))
            for cell in cells
            if (cell.table, cell.method) == (table, "lf") and "/" in cell.task
        ]
        if len(pairs) == 21:
            correlation = float(np.corrcoef(np.array(pairs, dtype=float).T)[0, 1])
            text = f"LF saves and fails where the paper prints it, {costs} costs"
            yield (
                text,
                correlation >= least,
                f"correlation {correlation:.2f}, at least {least} asked",
            )


def _obrien(cells):
    yield from _partition_gains(cells)
    yield from _lf_as_printed(cells)


CHECKS = {
    "abe2004": _gbse_leads,
    "koco2013": _combo_norms,
    "zhang2005": _bacing_wins,
    "obrien2008": _obrien,
}
