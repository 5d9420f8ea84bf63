"""compare, fit and predict: from files to a page, a model, decisions."""

import math
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from stakes.cli._app import (
    TABLE,
    Currency,
    Dialect,
    LimitOptions,
    List,
    Out,
    PriceOptions,
    ProtocolOptions,
    RunOptions,
    Source,
    Strict,
    command,
    command_line,
    command_name,
    seconds_passed,
    split_names,
)
from stakes.cli._capacity import read_capacity
from stakes.cli._complete import complete_data, complete_method
from stakes.cli._dask import Dask, check_by_row, check_spread, cluster, load_spread, predict_spread
from stakes.cli._errors import UserError
from stakes.cli._models import known_prices, model_readings
from stakes.cli._outputs import Force, check_outputs
from stakes.cli._terminal import Progress, say, show, show_table

EXAMPLE = "cheques"
LARGE = 50_000_000  # bytes of finished fits from which on their size is said


@dataclass
class Loaded:
    """Data and prices, read and checked."""

    table: Any
    X: Any
    y: Any
    costs: dict[str, Any]
    recipe: dict[str, Any]
    protocol: dict[str, Any]  # keyword arguments of `compare`: baseline, groups, time, test
    check: Any

    @property
    def decisions(self) -> list:
        """What can be decided: the classes, unless the prices name something else."""
        from stakes.cli._prices import decisions_of

        return decisions_of(self.costs, self.y)

    def learned(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return the rows, their classes and costs to fit a model on: not those of --test."""
        if "test" not in self.protocol:
            return self.X, self.y, self.costs
        rows = ~self.protocol["test"]
        by_row = {"costs", "cost_tensor"}
        costs = {name: v[rows] if name in by_row else v for name, v in self.costs.items()}
        return self.X[rows], self.y[rows], costs


def load(
    source: Source,
    options: PriceOptions,
    protocol: ProtocolOptions,
    dialect: Dialect,
    *,
    strict: bool = False,
    folds: int = 5,
    seed: int = 0,
) -> Loaded:
    """Read the data, find the prices, what to learn from and compare with, and what is odd."""
    from stakes.cli import _log
    from stakes.cli._check import say_warnings
    from stakes.cli._prices import Prices, decisions_of, find_prices
    from stakes.cli._protocol import find_protocol, is_score, join_test
    from stakes.cli._tables import dropped, read_table, say_unreadable, split_target
    from stakes.tables import check_table

    if source.data is None:
        raise UserError(
            f"say which table: stakes {command_name()} loans.csv --target risk --fp 1 --fn 5; "
            f"'stakes {command_name()} {EXAMPLE}' takes a built-in one."
        )
    data = source.data
    table = read_table(data, dialect, source.target, source.drop)
    log = _log.is_log(options, protocol, source.target)
    X, y = _examples(table, source, options, protocol, log)
    test = None
    if protocol.test is not None:
        apart = read_table(protocol.test, dialect, table.target, readings=table.readings or None)
        say_unreadable(apart, X.columns)
        X_test, y_test = split_target(apart, table.target, dropped(source, apart))
        X, y, test = join_test(table, X, y, (apart, X_test, y_test))
    score = is_score(protocol.baseline, table)
    if log:
        prices = Prices({}, columns=_log.columns_of(options))
    else:
        prices = find_prices(options, table, y, data, positive_serves=score)
    given, columns = find_protocol(
        protocol, table, y, decisions_of(prices.given, y), options.positive
    )
    if test is not None:
        given["test"] = test
    X = _features(table, X, {**prices.columns, **columns})
    if log:
        logged = _log.costs_of_log(options, table, X, y, given.get("groups"), seed)
        prices.given["costs"], given["baseline"] = logged, y
        y = logged.cheapest()
        table.notes.append(logged.summary())
    for note in table.notes:
        say(note)
    tensor = prices.given.get("cost_tensor")
    check = check_table(X, y, table.readings, folds=folds, cost_tensor=tensor)
    check = check.with_test(given.get("test"))
    if table.image_shape is not None:  # pixels at the edge are blank in every image
        check = check.without("constant")
    if log:  # its classes are decisions: 'none' is one of them
        check = check.without("class named missing")
    say_warnings(check, strict=strict)
    return Loaded(table, X, y, prices.given, prices.recipe, given, check)


def _examples(
    table: Any, source: Source, options: PriceOptions, protocol: ProtocolOptions, log: bool
) -> tuple[Any, Any]:
    """Return the columns and the classes; of a log what was done, of prices alone no class."""
    from stakes.cli import _log
    from stakes.cli._prices import without_target
    from stakes.cli._tables import dropped, split_target

    left_out = dropped(source, table)
    if log:
        return table.frame.drop(columns=left_out), _log.decided_of(options, table)
    if not options.cost or source.target is not None or table.target is not None:
        return split_target(table, source.target, left_out)
    if protocol.test is not None:
        raise UserError("--test needs a --target, whose classes both files have.")
    return without_target(table, options.cost, left_out)


def _features(table: Any, X: Any, columns: dict[str, str]) -> Any:
    """Return what is learned from: all but what prices, folds and the like are made of."""
    from stakes.cli._tables import quote

    columns = {name: why for name, why in columns.items() if name in X.columns}
    if columns:
        named = ", ".join(f"{quote(name)} ({why})" for name, why in columns.items())
        table.notes.append(f"Not learned from: {named}.")
    X = X.drop(columns=list(columns))
    if X.shape[1] == 0:
        raise UserError(
            "no column is left to learn from: the others hold the target, prices and the like."
        )
    return X


@contextmanager
def opened(
    dask: str | None,
    source: Source,
    prices: PriceOptions,
    protocol: ProtocolOptions,
    dialect: Dialect,
    *,
    strict: bool,
    runs: RunOptions,
) -> Iterator[Any]:
    """Give the data and prices: in memory, or on a cluster that is closed at the end."""
    if dask is None:
        how = {"folds": runs.folds, "seed": runs.seed}
        yield load(source, prices, protocol, dialect, strict=strict, **how)
        return
    if runs.time_limit is not None:
        raise UserError("--time-limit does not go with --dask.")
    if runs.folds != RunOptions.folds:
        raise UserError(
            "--folds does not go with --dask: some rows are held out once, for all methods."
        )
    files = check_spread(source, protocol)
    with cluster(dask) as workers:
        rows = load_spread(workers.client, files, source, prices, dialect, strict=strict)
        say(f"On {workers.words}.")
        yield rows


@dataclass
class PageOptions:
    """What is written of a comparison."""

    currency: Currency = ""
    out: Out = Path("report.html")
    json: Annotated[bool, Option("--json", help="Also write the figures as JSON.")] = False
    csv: Annotated[bool, Option("--csv", help="Also write the table as CSV.")] = False
    open_page: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False
    private: Annotated[
        bool | None,
        Option(
            "--private/--raw",
            help="Leave raw rows out of the page, or show them whole; by default they are shown "
            "without what looks like an identifier.",
        ),
    ] = None
    cases_per_year: Annotated[
        float | None,
        Option("--cases-per-year", min=0, help="The page tells money for so many cases a year."),
    ] = None

    def outputs(self) -> list[tuple[Path, str]]:
        """Return the files that are written, and of which kind each is."""
        figures, cells = (self.out.parent / (self.out.stem + end) for end in (".json", ".csv"))
        return [
            (self.out, "page"),
            *([(figures, "figures")] if self.json else []),
            *([(cells, "comparison")] if self.csv else []),
        ]


@command
def compare(
    source: Source,
    prices: PriceOptions,
    protocol: ProtocolOptions,
    methods: Annotated[
        List,
        Option(
            "--methods",
            "-m",
            help="By name, separated by commas (stakes methods).",
            autocompletion=complete_method,
        ),
    ] = None,
    *,
    limits: LimitOptions,
    runs: RunOptions,
    page: PageOptions,
    fresh: Annotated[
        bool, Option("--fresh", help="Forget finished fits of this table and begin anew.")
    ] = False,
    dask: Dask = None,
    strict: Strict = False,
    force: Force = False,
    dialect: Dialect,
) -> None:
    """Learn what each method would cost on your data, and which to use.

    A stopped run goes on where it stopped when the same command is given again.

    For example:
      stakes compare loans.csv --target risk --fp 1 --fn 5 --positive bad
      stakes compare loans.csv --target risk --fp 20 --fn "0.75*amount + 20" --positive bad
      stakes compare triage.csv --target illness --costs triage_prices.csv
      stakes compare loans.csv --target risk --fp 1 --fn 5 --positive bad --baseline "score>=0.5" --time date
      stakes compare german_credit --fast --time-limit 30
      stakes compare cheques  (built in: digits, with what misreading an amount costs)
      stakes compare 'data/*.parquet' --target fraud --fp 1 --fn 25 --dask
    """
    from stakes.compare.words import abstaining_in_words

    out, outputs, price = page.out, page.outputs(), limits.abstain_cost
    check_outputs(outputs, force=force, store=store_of(runs, out).folder)
    names = split_names(methods)
    for other, option in ((runs.fast, "--fast"), (names, "--methods")):
        if runs.every and other:
            raise UserError(f"give either {option} or --all, not both.")
    given = source, prices, protocol, dialect
    with opened(dask, *given, strict=strict, runs=runs) as data:
        check_abstain_cost(price, hindsight="costs" in data.costs)
        how: dict[str, Any] = {"methods": names, "fresh": fresh, "currency": page.currency}
        capacity = read_capacity(limits.capacity, data.decisions) or None
        comparison = _compare(data, runs, out, **how, capacity=capacity)
    _show_comparison(comparison)
    if price is not None:
        show(abstaining_in_words(comparison, price))
    shown = {"image_shape": data.table.image_shape, "private": page.private}
    shown["cases_per_year"] = page.cases_per_year
    comparison.to_html(out, command=command_line(), abstain_cost=price, **shown)
    for path, kind in outputs:
        if kind == "figures":
            comparison.to_json(path)
        elif kind == "comparison":
            comparison.to_csv(path)
    for path, _ in outputs:
        show(f"Written: {path}")
    _say_size(store_of(runs, out).folder)
    if page.open_page:
        webbrowser.open(out.resolve().as_uri())


def _compare(
    data: Loaded,
    runs: RunOptions,
    out: Path,
    *,
    methods: list[str] | None = None,
    fresh: bool = False,
    share: float = 0.9,
    **more: Any,
) -> Any:
    """Compare methods; of a time limit they have this share, less what has passed."""
    from stakes.compare import compare

    limit = runs.time_limit
    if limit is not None:
        if limit <= 0:
            raise UserError(f"--time-limit {limit:g}: give a number of seconds above 0.")
        limit = max(share * limit - seconds_passed(), 0.02 * limit)
    with Progress() as progress:
        compared = compare(
            data.X,
            data.y,
            **data.costs,
            **data.protocol,
            check=data.check,
            methods="all" if runs.every else methods,
            fast=runs.fast,
            time_limit=limit,
            cv=runs.folds,
            random_state=runs.seed,
            n_jobs=runs.jobs,
            keep_identifiers=runs.keep_identifiers,
            store=store_of(runs, out, fresh),
            progress=progress,
            name=data.table.name,
            **more,
        )
    if data.recipe.get("kind") == "binary":
        compared.positive = int(not data.recipe["swap"])
    return compared


def store_of(runs: RunOptions, out: Path, fresh: bool = False) -> Any:
    """Return the folder of finished fits; one of anything else is refused."""
    from stakes.compare import RunStore

    store = RunStore(runs.store or out.resolve().parent / ".stakes" / "runs", fresh=fresh)
    store.check()
    return store


def _say_size(folder: Path) -> None:
    """Say how large a folder of finished fits is, where it is large."""
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size > LARGE:
        say(
            f"The finished fits in {folder} take {size / 1e6:,.0f} MB: the same command takes them "
            "up again, with --fresh it forgets those of its table, and the folder can be removed."
        )


def _show_comparison(comparison: Any) -> None:
    """Print the table of a comparison, and what to use."""
    from stakes.compare.words import COLUMNS, doubts_in_words, standing_in_words, table_cells

    rows = {name: cells for name, cells in table_cells(comparison) if name in comparison.finished}
    figures = COLUMNS[1:]
    show_table(
        ("method", "what it is", *figures),
        [[name, *cells] for name, cells in rows.items()],
        right=figures,
        spare=("what it is", "seconds", "total", "95% interval ", "95% interval"),
        strong=[list(rows).index(comparison.recommended)] if comparison.clear else (),
    )
    for name, result in comparison.results.items():
        if result.status != "ok":
            show(f"{name}: {result.status} ({result.reason})", style="dim")
    show("")
    if "for time" in comparison.protocol["cv"]:
        show(f"What this rests on: {comparison.protocol['cv']}.")
    show(comparison.reason, style="bold")
    if comparison.as_good:
        show(f"Not clearly more expensive: {', '.join(comparison.as_good)}.")
    for line in [*doubts_in_words(comparison), *standing_in_words(comparison)]:
        show(line)


@command
def fit(
    source: Source,
    prices: PriceOptions,
    protocol: ProtocolOptions,
    method: Annotated[
        str,
        Option(help="The method, by name (stakes methods).", autocompletion=complete_method),
    ] = "stakes",
    best: Annotated[bool, Option("--best", help="The method a comparison recommends.")] = False,
    reference: Annotated[
        bool,
        Option(
            "--reference/--no-reference",
            help="Keep what the model says of held-out rows, for stakes monitor; methods other than "
            "the default are fitted again for it.",
        ),
    ] = True,
    *,
    runs: RunOptions,
    out: Out = Path("model.skops"),
    dask: Dask = None,
    strict: Strict = False,
    force: Force = False,
    dialect: Dialect,
) -> None:
    """Fit one method on all rows and save it as a model file.

    For example:
      stakes fit loans.csv --target risk --fp 1 --fn 5 --positive bad
      stakes fit triage.csv --target illness --costs triage_prices.csv --method mec
      stakes fit german_credit --best --fast
      stakes fit 'data/*.parquet' --target fraud --fp 1 --fn 25 --method combo --dask
    """
    from stakes.compare import add_reference, find_method, fit_model, save_model
    from stakes.utils._arrays import counted

    if best and method != "stakes":
        raise UserError("give either --method or --best, not both.")
    check_outputs(
        [(out, "model")], force=force, store=store_of(runs, out).folder if best else None
    )
    find_method(method)  # an unknown name is refused before any work
    given: dict[str, Any] = {"random_state": runs.seed, "n_jobs": -1, "fast": runs.fast}
    options = source, prices, protocol, dialect
    with opened(dask, *options, strict=strict, runs=runs) as data:
        if best:
            comparison = _compare(data, runs, out, share=0.6)
            method = comparison.recommended
            say(comparison.reason)
            _say_size(store_of(runs, out).folder)
        X, y, costs = data.learned()
        n_rows = len(y) if dask is None else data.n_rows
        say(f"Fitting {method} on {counted(n_rows, 'row')}.")
        limit = runs.time_limit
        if limit is not None:
            limit = max(0.9 * limit - seconds_passed(), 0.02 * limit)
            if best and not find_method(method).keeps_time:
                limit = None
        given["keep_identifiers"] = runs.keep_identifiers
        model = fit_model(X, y, method, **costs, **given, time_limit=limit)
        del given["keep_identifiers"]
    left_out = model.info.get("left_out", [])
    readings = [r.to_dict() for name, r in data.table.readings.items() if name not in left_out]
    if reference and dask is None:
        add_reference(model, X, y, **costs, **given, time_limit=limit)
    elif reference:
        say("Nothing is kept for stakes monitor: on a cluster no rows are held out from a fit.")
    model.info |= {"target": data.table.target, "prices": data.recipe, "readings": readings}
    save_model(model, out)
    show(f"Written: {out}")


@command
def predict(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    data: Annotated[str, Argument(help=TABLE, autocompletion=complete_data)],
    out: Out = Path("decisions.csv"),
    with_data: Annotated[
        bool, Option("--with-data", help="Repeat the columns of DATA beside the decisions.")
    ] = False,
    proba: Annotated[
        bool, Option("--proba", help="Also write the probability of each class.")
    ] = False,
    *,
    limits: LimitOptions,
    adapt: Annotated[
        bool,
        Option(
            "--adapt",
            help="Find the class frequencies of DATA, and decide by them where they have shifted.",
        ),
    ] = False,
    allow_missing: Annotated[
        bool,
        Option(
            "--allow-missing",
            help="Take cells that cannot be read as in training as missing, even most of a column.",
        ),
    ] = False,
    dask: Dask = None,
    strict: Annotated[
        bool,
        Option("--strict", help="What differs from training is an error, if it is a warning."),
    ] = False,
    force: Force = False,
    dialect: Dialect,
) -> None:
    """Decide every row; where the method expects a cost, with the next best decision and its cost.

    For example:
      stakes predict model.skops new.csv
      stakes predict model.skops new.csv --with-data --proba --out decided.csv
      stakes predict model.skops new.csv --capacity inspect=100 --adapt
      stakes predict model.skops new.csv --abstain-cost 2 --capacity abstain=50
      stakes predict model.skops 'new/*.parquet' --dask --out decisions
    """
    from stakes.compare import load_model
    from stakes.tables import write_table

    if dask is None:
        check_outputs([(out, "decisions")], force=force)
    else:
        check_by_row(limits.capacity, adapt)
        out = Path("decisions") if str(out) == "decisions.csv" else out  # the default
    decider = load_model(model)
    check_abstain_cost(limits.abstain_cost, hindsight=decider.kind == "hindsight")
    if dask is not None:
        how = {"with_data": with_data, "proba": proba, "abstain_cost": limits.abstain_cost}
        predict_spread(dask, decider, data, out, strict=strict, **how)
        show(f"Written: {out}")
        return
    table = _read_new(decider, data, dialect, with_data, allow_missing, strict)
    tensor = known_prices(decider, table)
    if adapt:
        decider = decider.adapt(table.frame)
        say(decider.info["shift"])
    decider = _with_limits(decider, limits)
    answer = decider.answer(table.frame, tensor, proba=proba)
    decided = answer.table()
    summary = _sum_up(decider, decided, answer.decided.plan, limits.abstain_cost)
    if with_data:
        decided = _beside_data(table, decided)
    else:
        decided.insert(0, "row", range(1, len(decided) + 1))
    for note in write_table(decided, out):
        say(note)
    say(f"{summary}.")
    if str(out) != "-":
        show(f"Written: {out}")


def _with_limits(decider: Any, limits: LimitOptions) -> Any:
    """Return a model that may leave cases at a price, and keeps to limits."""
    if limits.abstain_cost is not None:
        decider = decider.with_abstention(limits.abstain_cost)
    capacity = read_capacity(limits.capacity, decider.decisions)
    return decider.with_limits(capacity) if capacity else decider


def _read_new(
    decider: Any,
    data: str,
    dialect: Dialect,
    keep_cells: bool,
    allow_missing: bool,
    strict: bool,
) -> Any:
    """Read a table as the training table was read, and say in what it differs."""
    from stakes.cli._tables import read_table, say_differences, say_unreadable

    known = model_readings(decider)
    table = read_table(data, dialect, readings=known, keep_cells=keep_cells)
    prices = decider.info.get("prices", {}).get("columns", ())
    used = [*(decider.columns or ()), *prices]
    n_warnings = say_unreadable(table, used, allow_missing=allow_missing)
    n_warnings += say_differences(decider, table.frame, [*(known or ()), *prices])
    if strict and n_warnings:
        raise UserError(f"--strict: {table.name} differs from training, in {n_warnings} ways.")
    return table


def _beside_data(table: Any, decided: Any) -> Any:
    """Return decisions beside the cells of the table as they were read."""
    import pandas as pd

    from stakes.cli._tables import quote

    cells = table.frame if table.cells is None else table.cells
    twice = [quote(c) for c in decided if c in cells]
    if twice:
        raise UserError(f"--with-data: {table.name} has itself a column {' and '.join(twice)}.")
    return pd.concat([cells.reset_index(drop=True), decided], axis=1)


def _sum_up(decider: Any, decided: Any, plan: Any, abstain_cost: float | None) -> str:
    """Say how many rows are left and what limits did; return the rest in one clause."""
    from stakes.utils._arrays import counted

    rows, labels = counted(len(decided), "row"), decider.decisions
    if abstain_cost is not None:
        left = int((decided["decision"] == labels[-1]).sum())
        say(f"{labels[-1]}: {left:,} of {rows} are left, at {abstain_cost:g} each.")
    if plan is not None:
        _say_limits(labels, plan, in_currency="expected_cost" in decided)
    summary = f"{rows} decided by {decider.method}"
    if "expected_cost" in decided:
        summary += f"; expected cost in sum {decided['expected_cost'].sum():,.6g}"
    return summary


def check_abstain_cost(price: float | None, *, hindsight: bool = False) -> None:
    """Refuse a price of abstaining that is none, or that could not be weighed with others."""
    if price is None:
        return
    if not math.isfinite(price):
        raise UserError(f"--abstain-cost {price}: give a finite number.")
    if hindsight:
        raise UserError(
            "--abstain-cost is weighed with what a decision is expected to cost, which prices known "
            "in hindsight (--cost) do not say: give --costs, or --fp and --fn."
        )


def _say_limits(labels: list, plan: Any, *, in_currency: bool) -> None:
    """Say how often limited decisions are taken, and what one place more would be worth."""
    for d, label in enumerate(labels):
        low, high = int(plan.lower[d]), int(plan.upper[d])
        if low == 0 and high >= plan.counts.sum():
            continue
        bounds = f"{low:,} to {high:,}" if low else f"at most {high:,}"
        what = f"{label}: {plan.counts[d]:,} rows, {bounds} asked for"
        price = plan.shadow_prices[d] if in_currency else 0.0
        if price > 0:
            what += f"; one more would save {price:,.6g}"
        elif price < 0:
            what += f"; one less would save about {-price:,.6g}"
        say(f"{what}.")
