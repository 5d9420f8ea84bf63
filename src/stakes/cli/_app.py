"""The program: its options, in groups that commands share, and how a command is entered."""

import dataclasses
import functools
import glob
import inspect
import os
import shlex
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

import stakes
from stakes.cli._complete import complete_data
from stakes.utils._checks import ignoring

# What the list of commands begins with, as people meet them.
FIRST = ("check", "compare", "fit", "predict", "costs")


class Commands(TyperGroup):
    """The commands, those that people begin with first."""

    def list_commands(self, context: Any) -> list[str]:
        """Return the names in the order of the help."""
        return sorted(self.commands, key=lambda name: (*FIRST, name).index(name))


app = typer.Typer(
    name="stakes",
    cls=Commands,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_started = time.monotonic()  # when the command began: the process, or a call of `main`

# What options are, where they may be left out.
Text = str | None
List = list[str] | None
File = Path | None
# Beside an option that names what is written; any other may name a file to read (`files_read`).
WRITTEN = "written"
Out = Annotated[Path, Option("--out", "-o", help="Where to write the result."), WRITTEN]
Currency = Annotated[str, Option(help="Such as € or EUR; for printing.")]
Strict = Annotated[bool, Option("--strict", help="What the data check warns of is an error.")]
Ignore = Annotated[
    List,
    Option("--ignore", metavar="CODES", help="Do not warn of these, such as ST101."),
]
Jobs = Annotated[int, Option("--jobs", "-j", help="Fits at a time; -1 for all cores.")]


TABLE = (
    "A table: CSV, TSV (or compressed by gzip), Parquet, Arrow, xlsx, JSON lines; - for standard "
    "input; or the name of a data set. Rows count from 1, the header not counted."
)


@dataclass
class Source:
    """Where the examples come from."""

    data: Annotated[
        Text,
        Argument(
            help=TABLE,
            show_default=False,
            autocompletion=complete_data,
        ),
    ] = None
    target: Annotated[Text, Option(help="The column to predict.")] = None
    drop: Annotated[List, Option(metavar="COLUMNS", help="To leave out, separated by commas.")] = (
        None
    )


@dataclass
class Dialect:
    """How a table is written."""

    separator: Annotated[
        Text,
        Option("--separator", "--sep", help="Between the cells of a CSV; found by default."),
    ] = None
    encoding: Annotated[Text, Option(help="Of a text file; UTF-8 by default.")] = None
    decimal: Annotated[
        Text,
        Option(help="Before the fraction of a number; found by default, where it is certain."),
    ] = None
    thousands: Annotated[
        Text,
        Option(help="Between the thousands of a number; found by default, where it is certain."),
    ] = None
    dates: Annotated[
        Text,
        Option(
            metavar="day-first|month-first|text",
            help="How dates such as 03/04/2024 are written, where no date of the column shows it.",
        ),
    ] = None
    na_values: Annotated[
        List,
        Option(
            metavar="TEXT",
            help="Cells that mean missing, in every column, by commas. Empty cells do, and words "
            "such as NA in columns of numbers, dates and truth values.",
        ),
    ] = None
    sheet: Annotated[Text, Option(help="Of an xlsx file; the first by default.")] = None
    max_cells: Annotated[
        int, Option(help="A larger table is refused before it is taken into memory.")
    ] = 200_000_000


@dataclass
class PriceOptions:
    """What mistakes cost."""

    costs: Annotated[
        Text,
        Option(
            help="A labelled CSV (rows true, columns decided), cells such as 12 or, where a price is a "
            "guess, 5..20; or zero_one, rarity, imbalance."
        ),
    ] = None
    fp: Annotated[
        Text,
        Option(
            help="Cost of a false alarm: a number, a range such as 5..20, a column, or such as "
            '"0.1*amount + 20".'
        ),
    ] = None
    fn: Annotated[Text, Option(help="Cost of a miss, likewise.")] = None
    tp: Annotated[Text, Option(help="Cost of a hit, likewise; else 0.")] = None
    tn: Annotated[Text, Option(help="Cost of rightly doing nothing, likewise; else 0.")] = None
    positive: Annotated[
        Text,
        Option(help="The class whose miss costs --fn, where the names do not make it plain."),
    ] = None
    cost: Annotated[
        List,
        Option(
            metavar="CLASS=PRICE",
            help="What deciding CLASS costs, known in hindsight; once for each class.",
        ),
    ] = None
    decision: Annotated[
        Text,
        Option(
            metavar="COLUMN", help="Of a log: what was done; with --paid, in place of --target."
        ),
    ] = None
    paid: Annotated[Text, Option(metavar="COLUMN", help="Of a log: what that cost.")] = None
    propensity: Annotated[
        Text,
        Option(
            metavar="COLUMN",
            help="Of a log: how likely it was that this was done; else it is estimated.",
        ),
    ] = None
    not_feature: Annotated[
        List,
        Option(
            metavar="COLUMNS",
            help="To decide by, as a price or a score, but not to learn from; separated by commas.",
        ),
    ] = None


@dataclass
class ProtocolOptions:
    """Which rows are learned from and decided, and what is decided today."""

    baseline: Annotated[
        Text,
        Option(
            metavar="COLUMN",
            help='What is decided today: a column of classes, or a score such as "score>=0.5". '
            "Everything is compared with it.",
        ),
    ] = None
    groups: Annotated[
        Text,
        Option(metavar="COLUMN", help="Such as the client: rows of one stay in one fold."),
    ] = None
    time: Annotated[
        Text, Option(metavar="COLUMN", help="Learn from the past and decide what came later.")
    ] = None
    test: Annotated[
        Text, Option(metavar="FILE", help="Learn from DATA and decide this table instead.")
    ] = None


@dataclass
class LimitOptions:
    """How many rows may be decided so, and whether rows may be left."""

    capacity: Annotated[
        List,
        Option(
            metavar="DECISION=LIMIT",
            help="At most so many rows are decided so: a number, a share (5%), or from..to; once for "
            "each limited decision.",
        ),
    ] = None
    abstain_cost: Annotated[
        float | None,
        Option(
            "--abstain-cost",
            help="What it costs to leave a row to somebody else, such as a human who looks at it.",
        ),
    ] = None


@dataclass
class RunOptions:
    """How methods are compared."""

    fast: Annotated[bool, Option("--fast", help="A handful of quick methods.")] = False
    every: Annotated[bool, Option("--all", help="Every method that can serve.")] = False
    time_limit: Annotated[
        float | None,
        Option(metavar="SECONDS", help="End in time; what does not fit is left out and said."),
    ] = None
    folds: Annotated[int, Option(min=2, help="Folds of the cross-validation.")] = 5
    seed: Annotated[int, Option(help="Seed of folds and methods.")] = 0
    keep_identifiers: Annotated[
        bool,
        Option("--keep-identifiers", help="Learn from columns that tell rows apart, too."),
    ] = False
    jobs: Jobs = 1
    store: Annotated[
        File,
        Option(help="Folder of finished fits; .stakes beside the output by default."),
        WRITTEN,
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
    options.append(
        inspect.Parameter(
            "ignore", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Ignore
        )
    )
    options = [option.replace(kind=option.KEYWORD_ONLY) for option in options]
    written = {
        option.name
        for option in options
        if WRITTEN in getattr(option.annotation, "__metadata__", ())
    }

    @functools.wraps(run)
    def call(**given: Any) -> None:
        _may_be_read.set([value for name, value in given.items() if name not in written])
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            given[name] = group(**{field: given.pop(field) for field in fields})
        with ignoring(*split_names(given.pop("ignore")) or ()):
            run(**given)

    call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in options}
    call.__doc__ = _unwrapped(run.__doc__)
    return app.command()(call)


def _unwrapped(text: str | None) -> str:
    """Return a help text whose examples stay lines of their own."""
    return inspect.cleandoc(text or "").replace("For example:\n", "\b\nFor example:\n")


def seconds_passed() -> float:
    """Return the seconds since the command began."""
    return time.monotonic() - _started


def split_names(given: list[str] | None) -> list[str] | None:
    """Return names given by repetition, by commas, or both."""
    names = (name.strip() for part in given or () for name in part.split(","))
    return list(dict.fromkeys(filter(None, names))) or None


_may_be_read: ContextVar[list[Any]] = ContextVar("may_be_read")
_typed: ContextVar[list[str]] = ContextVar("typed")


def typed(arguments: list[str] | None) -> None:
    """Take note of the arguments as they were typed, and of when; None are those of the process."""
    global _started
    if arguments is not None:
        _started = time.monotonic()
    _typed.set(sys.argv[1:] if arguments is None else list(arguments))


def command_line(*more: str) -> str:
    """Return the running command as it was typed, with more options, to copy."""
    return shlex.join(["stakes", *_typed.get([]), *more])


def command_name() -> str:
    """Return the name of the running command."""
    return next(iter(_typed.get([])), "")


def files_read() -> list[Path]:
    """Return the files that the arguments and options of the running command name, to be read."""
    values = _may_be_read.get([])
    names = [v for value in values for v in (value if isinstance(value, list) else [value])]
    texts = [str(n) for n in names if isinstance(n, (str, Path))]
    files = [n for text in texts for n in ([text] if os.path.exists(text) else glob.glob(text))]
    return [Path(n) for n in files if os.path.isfile(n)]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"stakes {stakes.__version__}")
        raise typer.Exit


WELCOME = """Classification where mistakes have different prices.

For example:
  stakes compare loans.csv --target risk --fp 1 --fn 5 --positive bad
  stakes fit loans.csv --target risk --fp 1 --fn 5 --positive bad --best
  stakes predict model.skops new.csv
"""


@app.callback(help=_unwrapped(WELCOME))
def _root(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Say what there is, where no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
