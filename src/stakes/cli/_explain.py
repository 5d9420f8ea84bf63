"""explain: why a model decides a row of a table as it does."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from stakes.cli._app import TABLE, Dialect, command
from stakes.cli._complete import complete_data
from stakes.cli._errors import UserError
from stakes.cli._models import known_prices, model_readings
from stakes.cli._terminal import show

# Rows of the table with which a row is compared.
BACKGROUND = 50


@command
def explain(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    data: Annotated[str, Argument(help=TABLE, autocompletion=complete_data)],
    row: Annotated[int, Option(min=1, help="Which row of DATA, counted from 1.")] = 1,
    *,
    dialect: Dialect,
) -> None:
    """Say why a row is decided so: what else it could cost, and what each column adds to it.

    The row is compared with others of DATA. It takes a model with probabilities.

    For example:
      stakes explain model.skops new.csv --row 3
    """
    from stakes.cli._tables import read_table, say_unreadable
    from stakes.compare import load_model
    from stakes.decision import explain_decision
    from stakes.utils._arrays import counted

    decider = load_model(model)
    table = read_table(data, dialect, readings=model_readings(decider))
    prices = decider.info.get("prices", {}).get("columns", ())
    say_unreadable(table, [*(decider.columns or ()), *prices])
    n_rows = len(table.frame)
    if row > n_rows:
        raise UserError(f"--row {row}: {table.name} has {counted(n_rows, 'row')}.")
    tensor = known_prices(decider, table)
    one, others = table.frame.iloc[[row - 1]], table.frame.iloc[:: max(1, n_rows // BACKGROUND)]
    known = None if tensor is None else tensor[[row - 1]]
    told = explain_decision(decider, one, others, cost_tensor=known)
    readings, values = table.readings, told.columns["value"].items()
    told.columns["value"] = [readings[c].written(v) if c in readings else v for c, v in values]
    show(repr(told))
