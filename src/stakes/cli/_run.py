"""compare, fit and predict: from files to a page, a model, decisions."""

import os
import shlex
import shutil
import sys
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from stakes.cli._app import Currency, Dialect, List, Out, PriceOptions, RunOptions, Source, command
from stakes.cli._errors import UserError
from stakes.cli._terminal import Progress, say, show, show_table

EXAMPLE = "cheques"


@dataclass
class Loaded:
    """Data and prices, read and checked."""

    table: Any
    X: Any
    y: Any
    costs: dict[str, Any]
    recipe: dict[str, Any]


def load(source: Source, options: PriceOptions, dialect: Dialect) -> Loaded:
    """Read the data and find the prices."""
    from stakes.cli._prices import find_prices
    from stakes.cli._tables import read_table, split_target

    data = source.data or EXAMPLE
    table = read_table(data, dialect)
    X, y = split_target(table, source.target, source.drop or ())
    prices = find_prices(options, table, y, data)
    X = X.drop(columns=[c for c in prices.columns if c in X.columns])
    if X.shape[1] == 0:
        raise UserError("no column is left to learn from: the others hold the target and prices.")
    for note in table.notes:
        say(note)
    return Loaded(table, X, y, prices.given, prices.recipe)


@command
def compare(
    source: Source,
    prices: PriceOptions,
    methods: Annotated[
        List, Option("--methods", "-m", help="By name, separated by commas (stakes methods).")
    ] = None,
    *,
    runs: RunOptions,
    currency: Currency = "",
    out: Out = Path("report.html"),
    json: Annotated[bool, Option("--json", help="Also write the figures as JSON.")] = False,
    csv: Annotated[bool, Option("--csv", help="Also write the table as CSV.")] = False,
    open_page: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    fresh: Annotated[bool, Option("--fresh", help="Forget finished fits and begin anew.")] = False,
    dialect: Dialect,
) -> None:
    """Learn what each method would cost on your data, and which to use.

    Without DATA the built-in cheques are compared: digits, with what misreading an amount
    costs. A stopped run goes on where it stopped when the same command is given again.
    """
    figures, cells = out.with_suffix(".json"), out.with_suffix(".csv")
    outputs = [out, *([figures] if json else []), *([cells] if csv else [])]
    for path in outputs:
        check_writable(path)
    data, names = load(source, prices, dialect), split_names(methods)
    found = _compare(data, runs, out, methods=names, fresh=fresh, currency=currency)
    _show_comparison(found)
    again = shlex.join(["stakes", *sys.argv[1:]])
    found.to_html(out, command=again, image_shape=data.table.image_shape)
    if json:
        found.to_json(figures)
    if csv:
        found.to_csv(cells)
    for path in outputs:
        show(f"Written: {path}")
    if open_page:
        webbrowser.open(out.resolve().as_uri())


def _compare(data: Loaded, runs: RunOptions, out: Path, fresh: bool = False, **more: Any) -> Any:
    from stakes.compare import compare

    folder = runs.store or out.resolve().parent / ".stakes" / "runs"
    check_writable(folder / "probe")
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    with Progress() as progress:
        return compare(
            data.X,
            data.y,
            **data.costs,
            fast=runs.fast,
            cv=runs.folds,
            random_state=runs.seed,
            n_jobs=runs.jobs,
            store=folder,
            progress=progress,
            name=data.table.name,
            **more,
        )


def _show_comparison(comparison: Any) -> None:
    """Print the table of a comparison, and what to use."""
    from stakes.compare.words import COLUMNS, table_cells

    rows = {name: cells for name, cells in table_cells(comparison) if name in comparison.finished}
    show_table(
        COLUMNS,
        [[f"{title} ({name})", *cells] for name, (title, *cells) in rows.items()],
        right=COLUMNS[1:],
        strong=[list(rows).index(comparison.recommended)] if comparison.clear else (),
    )
    for name, result in comparison.results.items():
        if result.status != "ok":
            show(f"{name}: {result.status} ({result.reason})", style="dim")
    show("")
    show(comparison.reason, style="bold")
    if comparison.as_good:
        show(f"Not clearly more expensive: {', '.join(comparison.as_good)}.")


@command
def fit(
    source: Source,
    prices: PriceOptions,
    method: Annotated[str, Option(help="The method, by name (stakes methods).")] = "stakes",
    best: Annotated[bool, Option("--best", help="The method a comparison recommends.")] = False,
    *,
    runs: RunOptions,
    out: Out = Path("model.skops"),
    dialect: Dialect,
) -> None:
    """Fit one method on all rows and save it as a model file."""
    from stakes.compare import fit_model, save_model
    from stakes.compare._registry import find_method
    from stakes.utils._arrays import counted

    if best and method != "stakes":
        raise UserError("give either --method or --best, not both.")
    check_writable(out)
    find_method(method)  # an unknown name is refused before any work
    data = load(source, prices, dialect)
    if best:
        found = _compare(data, runs, out)
        method = found.recommended
        say(found.reason)
    say(f"Fitting {method} on {counted(len(data.y), 'row')}.")
    model = fit_model(
        data.X, data.y, method, **data.costs, random_state=runs.seed, n_jobs=-1, fast=runs.fast
    )
    model.info = {"target": data.table.target, "prices": data.recipe}
    save_model(model, out)
    show(f"Written: {out}")


@command
def predict(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    data: Annotated[str, Argument(help="A CSV or Parquet file, or a data set's name.")],
    out: Out = Path("decisions.csv"),
    with_data: Annotated[
        bool, Option("--with-data", help="Repeat the columns of DATA beside the decisions.")
    ] = False,
    *,
    dialect: Dialect,
) -> None:
    """Decide every row; where the method expects a cost, with the next best decision and its cost."""
    from stakes.cli._tables import read_table
    from stakes.compare import load_model
    from stakes.utils._arrays import counted
    from stakes.utils._files import write_atomically

    check_writable(out)
    decider = load_model(model)
    table = read_table(data, dialect)
    decided = decider.decide(table.frame, cost_tensor=_known_prices(decider, table))
    summary = f"{counted(len(decided), 'row')} decided by {decider.method}"
    if "expected_cost" in decided:
        summary += f"; expected cost in sum {decided['expected_cost'].sum():,.6g}"
    if with_data:
        import pandas as pd

        decided = pd.concat([table.frame.reset_index(drop=True), decided], axis=1)
    write_atomically(out, decided.to_csv(index=not with_data, index_label="row"))
    say(f"{summary}.")
    show(f"Written: {out}")


def _known_prices(decider: Any, table: Any) -> Any:
    """Return the prices of new rows, where they are known when deciding."""
    from stakes.cli._prices import binary_tensor

    if decider.kind != "deciding":
        return None
    recipe = decider.info.get("prices", {})
    if recipe.get("kind") == "binary":
        return binary_tensor(recipe, table, whose="the model's ")
    if table.cost_tensor is None:
        raise UserError(f"the model needs the prices of each row, which {table.name} has not.")
    return table.cost_tensor


def check_writable(path: Path) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".stakes-"):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        if isinstance(error, (FileExistsError, NotADirectoryError)):
            why = f"{error.filename} is not a folder"
        raise UserError(f"{path} cannot be written: {why}.") from None
    if path.exists() and not os.access(path, os.W_OK):
        raise UserError(f"{path} cannot be written: it is read-only.")


def split_names(given: list[str] | None) -> list[str] | None:
    """Return names given by repetition, by commas, or both."""
    names = (name.strip() for part in given or () for name in part.split(","))
    return list(dict.fromkeys(filter(None, names))) or None
