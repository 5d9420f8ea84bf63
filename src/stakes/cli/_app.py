"""The program: its options, in groups that commands share, and how a command is entered."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import stakes

app = typer.Typer(
    name="stakes",
    help="Classification where mistakes have different prices.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# What options are, where they may be left out.
Text = str | None
List = list[str] | None
File = Path | None
Out = Annotated[Path, Option("--out", "-o", help="Where to write the result.")]
Currency = Annotated[str, Option(help="Such as € or EUR; for printing.")]
Jobs = Annotated[int, Option("--jobs", "-j", help="Fits at a time; -1 for all cores.")]


@dataclass
class Source:
    """Where the examples come from."""

    data: Annotated[
        Text,
        Argument(help="A CSV or Parquet file, or the name of a data set.", show_default=False),
    ] = None
    target: Annotated[Text, Option(help="The column to predict.")] = None
    drop: Annotated[List, Option(help="Column to leave out; may be repeated.")] = None


@dataclass
class Dialect:
    """How a CSV file is written."""

    separator: Annotated[Text, Option(help="Between the cells of a CSV; found by default.")] = None
    encoding: Annotated[Text, Option(help="Of a CSV file; UTF-8 by default.")] = None


@dataclass
class PriceOptions:
    """What mistakes cost."""

    costs: Annotated[
        Text,
        Option(help="A labelled CSV (rows true, columns decided) or zero_one, rarity, imbalance."),
    ] = None
    fp: Annotated[Text, Option(help="Cost of a false alarm: a number or a column.")] = None
    fn: Annotated[Text, Option(help="Cost of a miss: a number or a column.")] = None
    tp: Annotated[Text, Option(help="Cost of a hit: a number or a column; else 0.")] = None
    tn: Annotated[
        Text, Option(help="Cost of rightly doing nothing: a number or a column; else 0.")
    ] = None
    positive: Annotated[
        Text, Option(help="The positive class of --fp and --fn; the last one by default.")
    ] = None
    cost: Annotated[
        List,
        Option(metavar="CLASS=COLUMN", help="What deciding CLASS costs; once for each class."),
    ] = None


@dataclass
class RunOptions:
    """How methods are compared."""

    fast: Annotated[bool, Option("--fast", help="A handful of quick methods.")] = False
    folds: Annotated[int, Option(min=2, help="Folds of the cross-validation.")] = 5
    seed: Annotated[int, Option(help="Seed of folds and methods.")] = 0
    jobs: Jobs = 1
    store: Annotated[
        File, Option(help="Folder of finished fits; .stakes beside the output by default.")
    ] = None


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Enter a function as the command of its name.

    The fields of a parameter that is a dataclass are options of the command; the function is
    given the dataclass.
    """
    parameters = inspect.signature(run).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if dataclasses.is_dataclass(p.annotation)
    }
    options: list[inspect.Parameter] = []
    for parameter in parameters:
        if parameter.name in groups:
            options += inspect.signature(groups[parameter.name]).parameters.values()
        else:
            options.append(parameter)
    options = [option.replace(kind=option.KEYWORD_ONLY) for option in options]

    @functools.wraps(run)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            given[name] = group(**{field: given.pop(field) for field in fields})
        run(**given)

    call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in options}
    return app.command()(call)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"stakes {stakes.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Classification where mistakes have different prices."""
