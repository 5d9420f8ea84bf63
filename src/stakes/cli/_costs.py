"""stakes costs: a table to fill in, and a check of it in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stakes.cli._app import Currency, Dialect, Source, command
from stakes.cli._errors import UserError
from stakes.cli._run import check_writable
from stakes.cli._terminal import show

if TYPE_CHECKING:
    from stakes.costs import CostMatrix

MAX_SENTENCES = 6


@command
def costs(
    source: Source,
    heuristic: Annotated[
        str, Option(help="What to begin with: zero_one, rarity or imbalance.")
    ] = "zero_one",
    check: Annotated[Path | None, Option(help="Say in words what this cost file means.")] = None,
    out: Annotated[Path, Option("--out", "-o", help="Where to write the table.")] = Path(
        "costs.csv"
    ),
    currency: Currency = "",
    *,
    dialect: Dialect,
) -> None:
    """Write a cost table for your data's classes to fill in, or check one in words."""
    import numpy as np

    from stakes.cli._prices import HEURISTICS, read_cost_matrix
    from stakes.cli._tables import quote, read_table, split_target
    from stakes.costs import CostMatrix, check_cost_matrix
    from stakes.utils._files import write_atomically

    classes = y = None
    if source.data is not None:
        table = read_table(source.data, dialect)
        _, y = split_target(table, source.target, source.drop or ())
        classes = np.unique(y)
    if check is not None:
        matrix = read_cost_matrix(str(check), classes)
        if isinstance(matrix, str):
            raise UserError(f"--check {check}: there is no such file.")
        for line in in_words(matrix, currency):
            show(line)
        return
    if classes is None:
        raise UserError("say for which data to write a cost table, or --check FILE.")
    if heuristic not in HEURISTICS:
        raise UserError(f"--heuristic {quote(heuristic)} is none of {', '.join(HEURISTICS)}.")
    check_writable(out)
    if out.exists():
        raise UserError(f"{out} exists: choose another name with --out, or --check it.")
    values = check_cost_matrix(heuristic, classes=classes, y=y)
    matrix = CostMatrix(values, labels=[str(c) for c in classes.tolist()])
    write_atomically(out, matrix.to_frame().to_csv())
    show(repr(matrix))
    show(
        f"Written: {out}. Rows are the truth, columns the decision: fill in what each mistake "
        f"costs, then 'stakes costs --check {out}'."
    )


def in_words(matrix: "CostMatrix", currency: str = "") -> list[str]:
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

    labels = [str(label) for label in matrix.labels or range(matrix.n_classes)]
    values = matrix.values
    money = Money(currency)
    k = len(labels)
    off = [(t, d) for t in range(k) for d in range(k) if t != d]
    off.sort(key=lambda cell: -values[cell])
    lines = [
        f"Deciding {quote(labels[d])} when the truth is {quote(labels[t])} costs "
        f"{money.price(values[t, d])}."
        for t, d in off[:MAX_SENTENCES]
    ]
    if len(off) > MAX_SENTENCES:
        lines.append(
            f"These are the most expensive of {len(off)} kinds of mistake; the cheapest costs "
            f"{money.price(values[off[-1]])}."
        )
    if values.diagonal().any():
        lines.append("Some right decisions are not free, or bring something in.")
    if k == 2:
        threshold = matrix.threshold()
        if 0 < threshold < 1:
            share = percent(threshold)
            lines.append(f"{quote(labels[1])} is decided from a probability of {share} on.")
        else:
            always = labels[1] if threshold <= 0 else labels[0]
            lines.append(f"At these prices {quote(always)} is always decided.")
    complaints = matrix.complaints()
    lines += [f"Look again: {text}." for text in complaints] or ["Nothing looks wrong with it."]
    return lines
