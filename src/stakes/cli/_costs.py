"""stakes costs: a table to fill in, and a check of it in words."""

from pathlib import Path

import numpy as np

from stakes.cli._main import UserError
from stakes.cli._prices import HEURISTICS, read_cost_matrix
from stakes.cli._run import check_writable
from stakes.cli._tables import quote, read_table, split_target
from stakes.cli._terminal import console
from stakes.compare.words import Money, percent
from stakes.costs import CostMatrix, check_cost_matrix
from stakes.costs.arithmetic import binary_threshold

MAX_SENTENCES = 6


def run_costs(data, target, *, heuristic, check, out: Path, currency, separator, encoding) -> None:
    """Write a cost table for the classes of the data, or check one."""
    y = None
    if data is not None:
        table = read_table(data, separator=separator, encoding=encoding)
        _, y = split_target(table, target)
    if check is not None:
        classes = None if y is None else np.unique(y)
        matrix = read_cost_matrix(str(check), classes)
        if isinstance(matrix, str):
            raise UserError(f"there is no file {check}.")
        _print(in_words(matrix, currency))
        return
    if y is None:
        raise UserError("say for which data to write a cost table, or --check FILE.")
    if heuristic not in HEURISTICS:
        raise UserError(f"--heuristic {quote(heuristic)} is unknown: {', '.join(HEURISTICS)}.")
    check_writable(out)
    if out.exists():
        raise UserError(f"{out} exists: choose another name with --out, or --check it.")
    classes = np.unique(y)
    values = check_cost_matrix(heuristic, classes=classes, y=y)
    matrix = CostMatrix(values, labels=[str(c) for c in classes.tolist()])
    from stakes.compare import write_atomically

    write_atomically(out, matrix.to_frame().to_csv())
    console().print(repr(matrix), markup=False, soft_wrap=True)
    console().print(
        f"Written: {out}. Rows are the truth, columns the decision: fill in what each mistake "
        f"costs, then 'stakes costs --check {out}'.",
        markup=False,
        soft_wrap=True,
    )


def in_words(matrix: CostMatrix, currency: str = "") -> list[str]:
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
            f"These are the dearest of {len(off)} kinds of mistake; the cheapest costs "
            f"{money.price(values[off[-1]])}."
        )
    if np.diag(values).any():
        lines.append("Some right decisions are not free, or bring something in.")
    if k == 2:
        threshold = binary_threshold(values)
        if 0 < threshold < 1:
            lines.append(
                f"{quote(labels[1])} is decided from a probability of {percent(threshold)} on."
            )
        else:
            always = labels[1] if threshold <= 0 else labels[0]
            lines.append(f"At these prices {quote(always)} is always decided.")
    complaints = matrix.complaints()
    lines += [f"Look again: {text}." for text in complaints] or ["Nothing looks wrong with it."]
    return lines


def _print(lines: list[str]) -> None:
    for line in lines:
        console().print(line, markup=False, soft_wrap=True)
