"""stakes export: the decision elsewhere, verified before it is written."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from stakes.cli._app import WRITTEN, Dialect, Text, command
from stakes.cli._errors import UserError
from stakes.cli._models import model_readings
from stakes.cli._outputs import Force, check_outputs
from stakes.cli._terminal import say, show

# What is written where --out names nothing, and what kind of file that is.
FORMS = {
    "onnx": ("model.onnx", "graph"),
    "json": ("policy.json", "policy"),
    "sql": ("decide.sql", "query"),
    "c": ("tree.c", "source"),
}


@command
def export(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    to: Annotated[str, Option("--to", help=f"The form: {', '.join(FORMS)}.")] = "onnx",
    data: Annotated[
        Text, Option("--data", help="A table of rows to verify on, besides those that are drawn.")
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="File to write; model.onnx, policy.json, ... by default."),
        WRITTEN,
    ] = None,
    training_rows: Annotated[
        bool,
        Option(
            "--training-rows", help="Let the file hold training rows, where a model keeps some."
        ),
    ] = False,
    *,
    sql_dialect: Annotated[
        str, Option("--sql-dialect", help="Whose SQL: sqlite, duckdb, postgres, mysql, bigquery.")
    ] = "sqlite",
    force: Force = False,
    dialect: Dialect,
) -> None:
    """Write a model in a form that runs elsewhere; it must decide as the model does, or is refused.

    For example:
      stakes export model.skops --to onnx
      stakes export model.skops --to onnx --data loans.csv --out loans.onnx
      stakes export model.skops --to json --out policy.json
      stakes export model.skops --to sql --sql-dialect postgres
    """
    from stakes.compare import load_model
    from stakes.compare.engine import all_methods

    if to not in FORMS:
        raise UserError(f"--to {to} is none of {', '.join(FORMS)}.")
    name, kind = FORMS[to]
    path = Path(name) if out is None else out
    check_outputs([(path, kind)], force=force)
    decider = load_model(model)
    declared = all_methods().get(decider.method)
    if declared is not None and to not in declared.exports:
        why = declared.no_export or f"its forms are {', '.join(declared.exports)}"
        raise UserError(f"the method {decider.method} has no export to {to}: {why}.")
    rows = _rows(decider, data, dialect)
    say(_write(decider, to, path, X=rows, training_rows=training_rows, sql_dialect=sql_dialect))
    show(f"Written: {path}")


def _rows(decider: Any, data: str | None, dialect: Dialect) -> Any:
    """Return the rows of a table, read as the model reads tables."""
    from stakes.cli._tables import read_table

    if data is None:
        return None
    return read_table(data, dialect, readings=model_readings(decider)).frame


def _write(
    decider: Any, to: str, path: Path, *, X: Any, training_rows: bool, sql_dialect: str
) -> str:
    """Write the export; return what was verified, as a sentence."""
    from stakes import export
    from stakes.utils._arrays import counted
    from stakes.utils._files import write_atomically

    if to == "onnx":
        how: dict[str, Any] = {"X": X, "prices": _prices(decider), "training_rows": training_rows}
        report = export.about_onnx(export.to_onnx(decider, path, **how))["verification"]
        ties = f", {report['n_ties']} of them ties" if report["n_ties"] else ""
        return f"Decided {counted(report['n_rows'], 'row')} as the model does{ties}."
    if to == "json":
        report = export.to_json(decider, path)["verification"]
        return f"Decided {counted(report['n_rows'], 'row')} of probabilities as the model does."
    if to == "sql":
        query = export.to_sql(decider, prices=_prices(decider), dialect=sql_dialect)
        write_atomically(path, f"-- Written by stakes: p0, p1, ... are probabilities.\n{query};\n")
        return "The policy that it is written from decides as the model does."
    export.to_c(decider, path)
    return "It was run beside the model, at every question, if there is a C compiler."


def _prices(decider: Any) -> list[list] | None:
    """Return how prices follow from columns, where the model was fitted with such prices."""
    from stakes.cli._expressions import parse
    from stakes.cli._prices import recipe_cells

    recipe = decider.info.get("prices", {})
    if decider.kind != "deciding" or "columns" not in recipe:
        return None
    columns = recipe["columns"]
    return [
        [text if text in columns else parse(text).value for text in row]
        for row in recipe_cells(recipe)
    ]
