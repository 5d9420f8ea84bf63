"""stakes check: how a table is read, and what is odd about it, before anything is learned."""

from typing import Annotated, Any

from typer import Option

from stakes.cli._app import Dialect, Source, Strict, command, command_line
from stakes.cli._errors import UserError
from stakes.cli._terminal import say, show, show_json, show_table
from stakes.utils._arrays import counted

MAX_COLUMNS = 60  # so many are listed


@command
def check(
    source: Source,
    folds: Annotated[int, Option(min=2, help="Folds of the comparison to come.")] = 5,
    json: Annotated[bool, Option("--json", help="Print it as JSON.")] = False,
    strict: Strict = False,
    *,
    dialect: Dialect,
) -> None:
    """Say how each column is read, and what is odd about the table.

    Columns that tell rows apart or give the class away, that are empty or the same in every row,
    copied rows, classes of few rows, numbers and dates that cannot be read.

    For example:
      stakes check loans.csv --target risk
      stakes check loans.csv --target risk --drop number --strict
      stakes check german_credit --json
    """
    from stakes.cli._tables import dropped, read_table, split_target
    from stakes.tables import check_table, findings_said

    if source.data is None:
        raise UserError("say which table to check: a file, or the name of a data set.")
    table = read_table(source.data, dialect, source.target, source.drop, ask=False)
    y = None
    if source.target or table.target:
        X, y = split_target(table, source.target, dropped(source, table))
    else:
        X = table.frame.drop(columns=dropped(source, table))
    found = check_table(X, y, table.readings, folds=folds)
    if json:
        show_json(found.to_dict())
        return _refuse(found) if strict else None
    in_the_table = {reading.in_words for reading in table.readings.values()}
    for note in table.notes:
        if note not in in_the_table:
            say(note)
    size = f"{counted(found.rows, 'row')}, {counted(len(found.columns), 'column')}"
    if found.sampled:
        size += f"; columns were looked at in {found.looked_at:,} of the rows"
    show(f"{table.name}: {size}.")
    least = "at least " if found.sampled else ""
    listed = found.columns
    if len(listed) > MAX_COLUMNS:
        noted = [column for column in listed if column.notes]
        listed = [*noted, *(column for column in listed if not column.notes)][:MAX_COLUMNS]
    show_table(
        ("column", "read as", "missing", "different", "notes"),
        [
            [c.name, c.read_as, _share(c.missing), f"{least}{c.distinct:,}", c.notes]
            for c in listed
        ],
        right=("missing", "different"),
        spare=("different",),
    )
    if len(listed) < len(found.columns):
        show(f"and {len(found.columns) - len(listed):,} more columns")
    for title, findings in (("Warnings", found.warnings), ("Good to know", found.notes)):
        if findings:
            show(f"\n{title}", style="bold")
            for said in findings_said(findings):
                show(f"- {said}")
    if not found.warnings:
        show("\nNothing to warn of.")
    if y is None:
        say("Without --target nothing is said of classes, nor of columns that give them away.")
    if found.drop:
        show(f"\nThe same without these columns:\n{command_line(*found.drop_options)}")
    if strict:
        _refuse(found)
    return None


def say_warnings(check: Any, *, strict: bool = False) -> None:
    """Say what the data check warns of, the classes that may mean missing, and what to drop."""
    from stakes.tables import findings_said

    for said in findings_said(check.warnings):
        say(f"Warning {said}")
    for finding in check.notes:
        if finding.kind == "class named missing":
            say(str(finding))
    if check.drop:
        say(f"The same without these columns:\n{command_line(*check.drop_options)}")
    if strict:
        _refuse(check)


def _refuse(check: Any) -> None:
    if check.warnings:
        raise UserError(
            f"--strict: the data check warns of {counted(len(check.warnings), 'thing')}."
        )


def _share(missing: float) -> str:
    """Return a share that is 0% and 100% only where it is none and all."""
    return f"{missing:.0%}" if missing in (0, 1) else f"{min(max(missing, 0.001), 0.999):.1%}"
