"""stakes costs: a table to fill in, and a check of it in words."""

from itertools import permutations
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from stakes.cli._app import Currency, Dialect, File, Out, Source, command
from stakes.cli._errors import UserError
from stakes.cli._outputs import Force, check_outputs
from stakes.cli._terminal import show

MAX_SENTENCES = 6


@command
def costs(
    source: Source,
    heuristic: Annotated[
        str, Option(help="What to begin with: zero_one, rarity or imbalance.")
    ] = "zero_one",
    check: Annotated[File, Option(help="Say in words what this cost file means.")] = None,
    out: Out = Path("costs.csv"),
    currency: Currency = "",
    *,
    force: Force = False,
    dialect: Dialect,
) -> None:
    """Write a cost table for your data's classes to fill in, or check one in words.

    For example:
      stakes costs triage.csv --target illness --out prices.csv
      stakes costs --check prices.csv
    """
    import numpy as np

    from stakes.cli._prices import HEURISTICS, read_cost_matrix
    from stakes.cli._tables import dropped, quote, read_table, split_target
    from stakes.costs import CostMatrix, check_cost_matrix

    classes = y = labels = None
    if source.data is not None:
        table = read_table(source.data, dialect, source.target, source.drop)
        _, y = split_target(table, source.target, dropped(source, table))
        classes = np.unique(y)
        labels = [str(c) for c in classes.tolist()]
    if check is not None:
        matrix = read_cost_matrix(str(check), labels)
        if isinstance(matrix, str):
            raise UserError(f"--check {check}: there is no such file.")
        for line in in_words(matrix, currency):
            show(line)
        return
    if classes is None:
        raise UserError("say for which data to write a cost table, or --check FILE.")
    if heuristic not in HEURISTICS:
        raise UserError(f"--heuristic {quote(heuristic)} is none of {', '.join(HEURISTICS)}.")
    check_outputs([(out, "costs")], force=force)
    values = check_cost_matrix(heuristic, classes=classes, y=y)
    matrix = CostMatrix(values, labels=labels)
    matrix.to_csv(out)
    show(repr(matrix))
    show(
        f"Written: {out}. Rows are the truth, columns the decision: fill in what each mistake "
        f"costs, then 'stakes costs --check {out}'."
    )


def in_words(matrix: Any, currency: str = "") -> list[str]:
    """Return what a cost table means, in sentences.

    Examples
    --------
    >>> from stakes.cli._costs import in_words
    >>> from stakes.costs import CostMatrix
    >>> C = CostMatrix([[0, 5], [1, 0]], labels=["bad", "good"])
    >>> for line in in_words(C):
    ...     print(line)
    Deciding 'good' when the truth is 'bad' costs 5.
    Deciding 'bad' when the truth is 'good' costs 1.
    'good' is decided from a probability of 83.3% on.
    Nothing looks wrong with it.
    """
    from stakes.cli._tables import quote
    from stakes.compare.words import Money, percent

    labels = [quote(label) for label in matrix.labels or range(matrix.n_classes)]
    values, money = matrix.values, Money(currency)
    off = sorted(permutations(range(len(labels)), 2), key=lambda cell: -values[cell])
    lines = [
        f"Deciding {labels[d]} when the truth is {labels[t]} costs {money.price(values[t, d])}."
        for t, d in off[:MAX_SENTENCES]
    ]
    if len(off) > MAX_SENTENCES:
        lines.append(
            f"These are the most expensive of {len(off)} kinds of mistake; the cheapest costs "
            f"{money.price(values[off[-1]])}."
        )
    if values.diagonal().any():
        lines.append("Some right decisions are not free, or bring something in.")
    if len(labels) == 2:
        threshold = matrix.threshold()
        if 0 < threshold < 1:
            share = percent(threshold)
            lines.append(f"{labels[1]} is decided from a probability of {share} on.")
        else:
            lines.append(f"At these prices {labels[int(threshold <= 0)]} is always decided.")
    complaints = [f"Look again: {text}." for text in matrix.complaints()]
    return lines + (complaints or ["Nothing looks wrong with it."])
