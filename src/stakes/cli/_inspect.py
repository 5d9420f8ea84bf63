"""stakes inspect: what is in a model file."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from stakes.cli._app import command
from stakes.cli._terminal import show, show_json, show_table

SHOWN = 6  # values of one column


@command
def inspect(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    as_json: Annotated[
        bool, Option("--json", help="Print as JSON, with every value and word.")
    ] = False,
) -> None:
    """Say what a model file keeps of the rows that it was fitted on.

    For example:
      stakes inspect model.skops
      stakes inspect model.skops --json
    """
    from stakes.compare import kept_of_rows, load_model
    from stakes.utils._arrays import counted, quoted

    decider = load_model(model)
    parts = kept_of_rows(decider)
    left_out = decider.info.get("left_out", [])
    if as_json:
        show_json(
            {
                "method": decider.method,
                "rows": decider.n_training,
                "columns": decider.columns,
                "left_out": left_out,
                "kept": [kept._asdict() for kept in parts],
            }
        )
        return
    show(f"{model}: {decider.method}, fitted on {counted(decider.n_training, 'row')}.")
    if left_out:
        show(f"Not learned from, as they tell rows apart: {quoted(left_out, len(left_out))}.")
    if not parts:
        show("It keeps no value of any row.")
        return
    cells = [
        [kept.where, kept.what, f"{kept.size:,}", quoted(kept.values, SHOWN)] for kept in parts
    ]
    show_table(
        ("where", "what", "values", "such as"), cells, right=("values",), spare=("such as",)
    )
