"""stakes monitor: what a model's decisions cost now, before the truth is known."""

import re
import shlex
import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from stakes.cli._app import TABLE, WRITTEN, Currency, Dialect, File, Out, Text, command
from stakes.cli._complete import complete_data
from stakes.cli._errors import UserError
from stakes.cli._outputs import Force, check_outputs
from stakes.cli._terminal import say, show, show_table
from stakes.utils._arrays import quoted

# How months are written where they stand for batches.
MONTHS = ("%b %Y", "%B %Y", "%Y %b", "%Y %B", "%b-%y", "%b %y", "%b", "%B")
MAX_MOVED = 5  # columns that are named
MAX_DAYS = 31  # dates of more days are taken by the week


@command
def monitor(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    data: Annotated[str, Argument(help=TABLE, autocompletion=complete_data)],
    truth: Annotated[
        Text,
        Option(metavar="COLUMN", help="The true class; empty where it has not come in."),
    ] = None,
    by: Annotated[
        Text,
        Option(
            metavar="COLUMN",
            help="What a batch is: a column such as the week; dates of more than a month are taken "
            "by the week. Without it all rows are one batch.",
        ),
    ] = None,
    false_alarms: Annotated[
        float | None,
        Option(help="False alarms per unchanged batch; 0.01, or as in the state."),
    ] = None,
    state: Annotated[
        File,
        Option(help="A file to go on from, and to keep what was seen in; made if missing."),
        WRITTEN,
    ] = None,
    currency: Currency = "",
    out: Out = Path("monitor.html"),
    open_page: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    *,
    force: Force = False,
    dialect: Dialect,
) -> None:
    """Say what the decisions of a model cost now, and whether that has changed.

    Expected cost by batch with an interval, before the truth is known; where it has come in, what
    was paid; class frequencies, calibration, columns that moved; and alarms whose rate of false
    alarms is stated.

    For example:
      stakes monitor model.skops new.csv
      stakes monitor model.skops new.csv --truth paid_back --by week
      stakes monitor model.skops may.csv --state watched.json
    """
    from stakes.cli._models import model_readings
    from stakes.cli._tables import check_column, read_table, say_unreadable
    from stakes.compare import load_model
    from stakes.utils._files import locked

    outputs = [(out, "monitor"), *([(state, "state")] if state else [])]
    check_outputs(outputs, force=force)
    decider = load_model(model)
    if decider.reference is None:
        raise UserError(
            f"{model} keeps nothing of rows that it has not seen, which a monitor compares with: "
            "fit it again with this version of stakes fit, without --no-reference."
        )
    table = read_table(data, dialect, truth, readings=model_readings(decider))
    for column in filter(None, (truth, by)):
        check_column(table, column)
    say_unreadable(table, decider.columns or ())
    # Commands on one state go one after the other: none takes up what another is about to write.
    with locked(state.absolute().parent) if state else nullcontext():
        watched = _watch(decider, table, truth, by, state, false_alarms)
        _show(watched, currency)
        watched.to_html(
            out,
            title=f"{decider.method} on {table.name}",
            currency=currency,
            command=shlex.join(["stakes", *sys.argv[1:]]),
        )
        if state is not None:
            watched.save(state)
    for path, _ in outputs:
        show(f"Written: {path}")
    if open_page:
        webbrowser.open(out.resolve().as_uri())


def _watch(
    decider: Any,
    table: Any,
    truth: str | None,
    by: str | None,
    state: Path | None,
    false_alarms: float | None,
) -> Any:
    """Return a monitor, new or from its state, that has taken the batches of a table."""
    from stakes.cli._models import known_prices
    from stakes.monitor import Monitor

    if state is not None and state.exists() and (not state.is_file() or state.stat().st_size):
        watched = Monitor.load(state, decider)
    else:
        watched = Monitor(decider)
    if false_alarms is not None:
        watched.false_alarms = false_alarms
    prices = known_prices(decider, table)
    y = None if truth is None else true_classes(table.frame[truth])
    seen = {batch["label"]: batch for batch in watched.batches}
    for label, rows in batches_of(table.frame, by, len(watched.batches)):
        given = table.frame.iloc[rows], None if y is None else y[rows]
        known = None if prices is None else prices[rows]
        if label not in seen:
            watched.update(*given, label=label, cost_tensor=known)
        elif y is None or seen[label]["n_truth"]:
            raise UserError(
                f"{state} has seen the batch {label!r} already"
                + (", with its truth" if seen[label]["n_truth"] else "")
                + ": give the rows of new batches, or by --truth what has become of one without."
            )
        else:
            watched.add_truth(*given, label, cost_tensor=known)
    return watched


def true_classes(column: Any) -> np.ndarray:
    """Return true classes as they are compared: whole numbers without a point, missing as None."""
    values = column.to_numpy(dtype=object, na_value=None)
    whole = [int(v) if isinstance(v, float) and v == round(v) else v for v in values]
    return np.array([None if v is None or v != v else v for v in whole], dtype=object)


def batches_of(frame: Any, by: str | None, n_before: int = 0) -> list[tuple[str, np.ndarray]]:
    """Return the label and the rows of each batch, in order.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.cli._monitor import batches_of
    >>> frame = pd.DataFrame({"week": [2, 1, 2]})
    >>> [(label, rows.tolist()) for label, rows in batches_of(frame, "week")]
    [('1', [1]), ('2', [0, 2])]
    """
    if by is None:
        return [(str(n_before + 1), np.arange(len(frame)))]
    column = frame[by]
    if column.isna().any():
        row = int(column.isna().to_numpy().argmax()) + 1
        raise UserError(f"--by {by} is empty in row {row:,}: every row belongs to a batch.")
    if column.dtype.kind == "M":
        days = column.dt.strftime("%Y-%m-%d")
        column = column.dt.strftime("%G-W%V") if days.nunique() > MAX_DAYS else days
    elif column.dtype.kind == "f" and (column == column.round()).all():
        column = column.astype(int)
    values, codes = np.unique(column.to_numpy(), return_inverse=True)
    if len(values) > 2000:
        raise UserError(f"--by {by} has {len(values):,} different values: join them into batches.")
    labels = values.tolist()
    return [(str(labels[i]), np.flatnonzero(codes == i)) for i in in_time(labels)]


def in_time(labels: list) -> list[int]:
    """Return the order of batches: months by the calendar, numbers in text by their size.

    Examples
    --------
    >>> from stakes.cli._monitor import in_time
    >>> in_time(["week 10", "week 9"]), in_time(["Feb 2026", "Jan 2026"])
    ([1, 0], [1, 0])
    """
    import pandas as pd

    if not all(isinstance(label, str) for label in labels):
        return list(range(len(labels)))  # sorted already
    for written in MONTHS:
        months = pd.to_datetime(pd.Series(labels), format=written, errors="coerce")
        if months.notna().all():
            return months.argsort(kind="stable").tolist()

    def parts(i: int) -> list[tuple]:
        pieces = re.split(r"(\d+)", labels[i])
        return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pieces]

    return sorted(range(len(labels)), key=parts)


def _show(watched: Any, currency: str) -> None:
    """Print the batches, and what the alarms say."""
    from stakes.compare.words import Money, brief

    money = Money(currency, each=4)
    rows = [
        [
            batch["label"],
            f"{batch['n']:,}",
            money(batch["expected"]),
            f"{money(batch['low'])} to {money(batch['high'])}",
            money(batch["realised"]) if batch["n_truth"] else "",
            batch["alarm"] or batch["notice"],
        ]
        for batch in watched.batches[-20:]
    ]
    names = ("batch", "rows", "expected cost", "95% interval", "paid", "what has changed")
    show_table(names, rows, right=names[1:5], spare=("95% interval",))
    last = watched.batches[-1]
    if last["moved"]:
        moved = [part["column"] for part in last["moved"][:MAX_MOVED]]
        more = len(last["moved"]) - len(moved)
        say(
            f"Columns that have moved in {last['label']}: {quoted(moved)}"
            + (f" and {more} more." if more else ".")
        )
    alarms = watched.alarms
    rate = brief(round(1 / watched.false_alarms))
    if alarms:
        for alarm in alarms[-5:]:
            show(f"Alarm in {alarm['label']}: {alarm['alarm']}.", style="bold")
    else:
        show("No alarm.", style="bold")
    say(
        f"Each of the two charts gives a false alarm in one of {rate} quiet batches at most, in the long "
        "run; what batches share, such as their week, counts as chance."
    )
