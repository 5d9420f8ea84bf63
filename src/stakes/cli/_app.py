"""The commands. They read, call the library and print; they decide nothing themselves."""

from pathlib import Path
from typing import Annotated

import typer

import stakes
from stakes.cli._main import UserError

app = typer.Typer(
    name="stakes",
    help="Classification where mistakes have different prices.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    str | None,
    typer.Argument(help="A CSV or Parquet file, or the name of a data set.", show_default=False),
]
Target = Annotated[str | None, typer.Option(help="The column to predict.")]
Costs = Annotated[
    str | None,
    typer.Option(
        help="A labelled K x K table of costs (CSV; rows true, columns decided), or "
        "zero_one, rarity, imbalance."
    ),
]
FalsePositive = Annotated[
    str | None, typer.Option("--fp", help="Cost of a false alarm: a number or a column.")
]
FalseNegative = Annotated[
    str | None, typer.Option("--fn", help="Cost of a miss: a number or a column.")
]
TruePositive = Annotated[
    str | None, typer.Option("--tp", help="Cost of a hit: a number or a column; 0 if not given.")
]
TrueNegative = Annotated[
    str | None,
    typer.Option("--tn", help="Cost of rightly doing nothing: a number or a column; else 0."),
]
Positive = Annotated[
    str | None, typer.Option(help="The positive class of --fp and --fn; the last one by default.")
]
Cost = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="CLASS=COLUMN",
        help="The column that says what deciding CLASS costs; once for each class.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--methods", "-m", help="Methods by name, separated by commas (stakes methods)."),
]
Fast = Annotated[bool, typer.Option("--fast", help="A handful of quick methods.")]
Folds = Annotated[int, typer.Option(help="Folds of the cross-validation.")]
Seed = Annotated[int, typer.Option(help="Seed of folds and methods.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Fits at a time; -1 for all cores.")]
Store = Annotated[
    Path | None,
    typer.Option(help="Folder of finished fits; .stakes beside the output by default."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget finished fits and begin anew.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Separator = Annotated[
    str | None, typer.Option(help="What separates the cells of a CSV file; found by default.")
]
Encoding = Annotated[
    str | None, typer.Option(help="The encoding of a CSV file; UTF-8 by default.")
]
Currency = Annotated[str, typer.Option(help="Such as € or EUR; for printing.")]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"stakes {stakes.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Classification where mistakes have different prices."""


@app.command()
def compare(
    data: Data = None,
    target: Target = None,
    costs: Costs = None,
    fp: FalsePositive = None,
    fn: FalseNegative = None,
    tp: TruePositive = None,
    tn: TrueNegative = None,
    positive: Positive = None,
    cost: Cost = None,
    methods: Methods = None,
    fast: Fast = False,
    folds: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = 1,
    currency: Currency = "",
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the page.")] = Path(
        "report.html"
    ),
    json: Annotated[
        bool, typer.Option("--json", help="Also write the figures as JSON beside the page.")
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Also write the table as CSV beside the page.")
    ] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    store: Store = None,
    fresh: Fresh = False,
    drop: Drop = None,
    separator: Separator = None,
    encoding: Encoding = None,
) -> None:
    """Learn what each method would cost on your data, and which to use.

    Without DATA the built-in cheques are compared: digits, with what misreading an amount
    costs. A stopped run goes on where it stopped when the same command is given again.
    """
    from stakes.cli._prices import PriceOptions
    from stakes.cli._run import Source, run_compare

    run_compare(
        Source(
            data=data or "cheques",
            target=target,
            prices=PriceOptions(costs, fp, fn, tp, tn, positive, tuple(cost or ())),
            drop=tuple(drop or ()),
            separator=separator,
            encoding=encoding,
        ),
        methods=methods,
        fast=fast,
        folds=folds,
        seed=seed,
        jobs=jobs,
        currency=currency,
        out=out,
        json=json,
        csv=csv,
        open_page=open_page,
        store=store,
        fresh=fresh,
    )


@app.command()
def fit(
    data: Data = None,
    target: Target = None,
    costs: Costs = None,
    fp: FalsePositive = None,
    fn: FalseNegative = None,
    tp: TruePositive = None,
    tn: TrueNegative = None,
    positive: Positive = None,
    cost: Cost = None,
    method: Annotated[str, typer.Option(help="The method, by name (stakes methods).")] = "stakes",
    best: Annotated[
        bool,
        typer.Option(
            "--best", help="The recommended method of a comparison (finished fits count)."
        ),
    ] = False,
    fast: Fast = False,
    folds: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the model.")] = Path(
        "model.skops"
    ),
    store: Store = None,
    drop: Drop = None,
    separator: Separator = None,
    encoding: Encoding = None,
) -> None:
    """Fit one method on all rows and save it as a model file."""
    from stakes.cli._prices import PriceOptions
    from stakes.cli._run import Source, run_fit

    if best and method != "stakes":
        raise UserError("give either --method or --best, not both.")
    run_fit(
        Source(
            data=data or "cheques",
            target=target,
            prices=PriceOptions(costs, fp, fn, tp, tn, positive, tuple(cost or ())),
            drop=tuple(drop or ()),
            separator=separator,
            encoding=encoding,
        ),
        method=None if best else method,
        fast=fast,
        folds=folds,
        seed=seed,
        jobs=jobs,
        out=out,
        store=store,
    )


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model file of stakes fit.")],
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, or a data set's name.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the decisions.")] = Path(
        "decisions.csv"
    ),
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Repeat the columns of DATA beside the decisions.")
    ] = False,
    separator: Separator = None,
    encoding: Encoding = None,
) -> None:
    """Decide every row: the decision, its expected cost, the next best and what that costs."""
    from stakes.cli._run import run_predict

    run_predict(model, data, out, with_data=with_data, separator=separator, encoding=encoding)


@app.command()
def costs(
    data: Data = None,
    target: Target = None,
    heuristic: Annotated[
        str, typer.Option(help="What to begin with: zero_one, rarity or imbalance.")
    ] = "zero_one",
    check: Annotated[
        Path | None, typer.Option(help="Say in words what this cost file means.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the table.")] = Path(
        "costs.csv"
    ),
    currency: Currency = "",
    separator: Separator = None,
    encoding: Encoding = None,
) -> None:
    """Write a cost table for your data's classes to fill in, or check one in words."""
    from stakes.cli._costs import run_costs

    run_costs(
        data,
        target,
        heuristic=heuristic,
        check=check,
        out=out,
        currency=currency,
        separator=separator,
        encoding=encoding,
    )


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="One data set, in detail.")] = None,
) -> None:
    """List the data sets, or describe one."""
    from stakes.cli._lists import run_datasets

    run_datasets(name)


@app.command()
def methods() -> None:
    """List the methods that can be compared and fitted by name."""
    from stakes.cli._lists import run_methods

    run_methods()


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(help="abe2004, koco2013, zhang2005, obrien2008, slides; all by default."),
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Some tasks only, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Some methods only, separated by commas.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="So many of the paper's runs only.")] = None,
    reading: Annotated[
        str | None, typer.Option(help="Another reading of the protocol, such as unpruned.")
    ] = None,
    jobs: Jobs = 1,
    store: Annotated[Path | None, typer.Option(help="Folder of finished runs.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Folder for one CSV of cells per paper.")
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Only the verdicts of the stored results.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="Only make the page of the stored results, as Markdown.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Only draw the papers' figures into this folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done, and how long it takes.")
    ] = False,
) -> None:
    """Run the published experiments and set our figures beside the published ones."""
    from stakes.cli._reproduce import run_reproduce

    run_reproduce(
        papers or [],
        tasks=tasks,
        methods=methods,
        runs=runs,
        reading=reading,
        jobs=jobs,
        store=store,
        results=results,
        summary=summary,
        page=page,
        figures=figures,
        as_json=json,
        dry_run=dry_run,
    )
