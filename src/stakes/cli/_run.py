"""compare, fit and predict: from files to a page, a model, decisions."""

import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from stakes.cli._app import Currency, Dialect, PriceOptions, RunOptions, Source, command
from stakes.cli._errors import UserError
from stakes.cli._terminal import Progress, say, show, show_table, show_written

EXAMPLE = "cheques"


@dataclass
class Loaded:
    """Data and prices, read and checked."""

    name: str
    target: str
    X: Any
    y: Any
    costs: dict[str, Any]
    recipe: dict[str, Any]
    image_shape: tuple[int, int] | None


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
    target = source.target or table.target or ""
    return Loaded(table.name, target, X, y, prices.given, prices.recipe, table.image_shape)


@command
def compare(
    source: Source,
    prices: PriceOptions,
    methods: Annotated[
        list[str] | None,
        Option("--methods", "-m", help="Methods by name, separated by commas (stakes methods)."),
    ] = None,
    *,
    runs: RunOptions,
    currency: Currency = "",
    out: Annotated[Path, Option("--out", "-o", help="Where to write the page.")] = Path(
        "report.html"
    ),
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
    loaded = load(source, prices, dialect)
    found = _compare(
        loaded, runs, out, methods=split_names(methods), fresh=fresh, currency=currency
    )
    _show_comparison(found)
    found.to_html(out, command=command_line(), image_shape=loaded.image_shape)
    if json:
        found.to_json(figures)
    if csv:
        found.to_csv(cells)
    for path in outputs:
        show_written(path)
    if open_page:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


def _compare(
    loaded: Loaded, runs: RunOptions, out: Path, *, fresh: bool = False, **options: Any
) -> Any:
    from stakes.compare import compare

    folder = runs.store or out.resolve().parent / ".stakes" / "runs"
    check_writable(folder / "probe")
    if fresh:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    with Progress() as progress:
        return compare(
            loaded.X,
            loaded.y,
            **loaded.costs,
            fast=runs.fast,
            cv=runs.folds,
            random_state=runs.seed,
            n_jobs=runs.jobs,
            store=folder,
            progress=progress,
            name=loaded.name,
            **options,
        )


def _show_comparison(comparison: Any) -> None:
    """Print the table of a comparison, and what to use."""
    from stakes.compare.words import COLUMNS, table_cells

    rows: list[list[str]] = []
    without, strong = [], []
    for name, cells in table_cells(comparison):
        result = comparison.results[name]
        if result.status != "ok":
            without.append(f"{name}: {result.status} ({result.reason})")
            continue
        if name == comparison.recommended and comparison.clear:
            strong.append(len(rows))
        rows.append([f"{cells[0]} ({name})", *cells[1:]])
    show_table(COLUMNS, rows, right=COLUMNS[1:], strong=strong)
    for line in without:
        show(line, style="dim")
    show("")
    show(comparison.reason, style="bold")
    if comparison.as_good:
        show(f"Not clearly more expensive: {', '.join(comparison.as_good)}.")


@command
def fit(
    source: Source,
    prices: PriceOptions,
    method: Annotated[str, Option(help="The method, by name (stakes methods).")] = "stakes",
    best: Annotated[
        bool,
        Option("--best", help="The recommended method of a comparison (finished fits count)."),
    ] = False,
    *,
    runs: RunOptions,
    out: Annotated[Path, Option("--out", "-o", help="Where to write the model.")] = Path(
        "model.skops"
    ),
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
    loaded = load(source, prices, dialect)
    if best:
        found = _compare(loaded, runs, out)
        method = found.recommended
        say(found.reason)
    say(f"Fitting {method} on {counted(len(loaded.y), 'row')}.")
    model = fit_model(
        loaded.X,
        loaded.y,
        method,
        **loaded.costs,
        random_state=runs.seed,
        n_jobs=-1,
        fast=runs.fast,
    )
    model.info = {"target": loaded.target, "prices": loaded.recipe}
    save_model(model, out)
    show_written(out)


@command
def predict(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    data: Annotated[str, Argument(help="A CSV or Parquet file, or a data set's name.")],
    out: Annotated[Path, Option("--out", "-o", help="Where to write the decisions.")] = Path(
        "decisions.csv"
    ),
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
    show_written(out)


def _known_prices(decider: Any, table: Any) -> Any:
    """Return the prices of new rows, where they are known when deciding."""
    from stakes.cli._prices import binary_tensor

    if decider.kind != "deciding":
        return None
    recipe = decider.info.get("prices", {})
    if recipe.get("kind") == "binary":
        return binary_tensor(recipe, table, whose="the model's ")
    if table.cost_tensor is None:
        raise UserError(
            f"the model decides by the prices of each row, which {table.name} does not have."
        )
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
    if not given:
        return None
    names = [name.strip() for part in given for name in part.split(",") if name.strip()]
    return list(dict.fromkeys(names))


def command_line() -> str:
    """Return the command as it could be typed again."""
    return shlex.join(["stakes", *sys.argv[1:]])
