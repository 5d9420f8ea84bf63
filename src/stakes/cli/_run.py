"""compare, fit and predict: from files to a page, a model, decisions."""

import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stakes.cli._main import UserError
from stakes.cli._prices import PriceOptions, Prices, find_prices, tensor_again
from stakes.cli._tables import Table, read_table, split_target
from stakes.cli._terminal import Progress, console, print_comparison, say


@dataclass
class Source:
    """Where the data and the prices come from, as the command line says it."""

    data: str
    target: str | None
    prices: PriceOptions
    drop: tuple[str, ...] = ()
    separator: str | None = None
    encoding: str | None = None


@dataclass
class Loaded:
    """Data and prices, read and checked."""

    table: Table
    X: Any
    y: np.ndarray
    prices: Prices
    target: str


def load(source: Source) -> Loaded:
    """Read the data and find the prices."""
    table = read_table(source.data, separator=source.separator, encoding=source.encoding)
    X, y = split_target(table, source.target, source.drop)
    prices = find_prices(source.prices, table, y, source.data)
    X = X.drop(columns=[c for c in prices.columns if c in X.columns])
    if X.shape[1] == 0:
        raise UserError("no column is left to learn from: the others hold the target and prices.")
    for note in [*table.notes, prices.note]:
        if note:
            say(note)
    target = source.target or table.target or ""
    table.frame = None  # the prices are found: only X is needed from here on
    return Loaded(table, X, y, prices, target)


def run_compare(source: Source, *, methods, fast, folds, seed, jobs, currency, out, json, csv,
                open_page, store, fresh) -> None:  # fmt: skip
    """Compare, print the table, write the page."""
    outputs = [out]
    outputs += [out.with_suffix(".json")] if json else []
    outputs += [out.with_suffix(".csv")] if csv else []
    for path in outputs:
        check_writable(path)
    loaded = load(source)
    found = _compare(
        loaded, out=out, methods=split_names(methods), fast=fast, folds=folds, seed=seed,
        jobs=jobs, store=store, fresh=fresh, currency=currency,
    )  # fmt: skip
    print_comparison(found)
    found.to_html(out, command=command_line(), image_shape=loaded.table.image_shape)
    if json:
        found.to_json(out.with_suffix(".json"))
    if csv:
        found.to_csv(out.with_suffix(".csv"))
    for path in outputs:
        console().print(f"Written: [bold]{path}[/bold]", soft_wrap=True, highlight=False)
    if open_page:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


def _compare(loaded, *, out, methods, fast, folds, seed, jobs, store, fresh, currency=""):
    from stakes.compare import compare

    folder = store or out.resolve().parent / ".stakes" / "runs"
    check_writable(folder / "probe")
    if fresh:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    with Progress() as progress:
        return compare(
            loaded.X,
            loaded.y,
            **loaded.prices.given,
            methods=methods,
            fast=fast,
            cv=folds,
            random_state=seed,
            n_jobs=jobs,
            store=folder,
            progress=progress,
            currency=currency,
            name=loaded.table.name,
        )


def run_fit(source: Source, *, method, fast, folds, seed, jobs, out, store) -> None:
    """Fit one method, or the recommended one of a comparison, and save it."""
    import joblib

    from stakes.compare import fit_model, save_model
    from stakes.compare._methods import find_method

    check_writable(out)
    if method is not None:
        find_method(method)
    loaded = load(source)
    if method is None:
        found = _compare(
            loaded, out=out, methods=None, fast=fast, folds=folds, seed=seed, jobs=jobs,
            store=store, fresh=False,
        )  # fmt: skip
        method = found.recommended
        say(found.reason)
    say(f"Fitting {method} on {len(loaded.y):,} rows.")
    model = fit_model(
        loaded.X,
        loaded.y,
        method,
        **loaded.prices.given,
        random_state=seed,
        threads=joblib.cpu_count(),
    )
    model.info = {"target": loaded.target, "prices": loaded.prices.recipe}
    save_model(model, out)
    console().print(f"Written: [bold]{out}[/bold]", soft_wrap=True, highlight=False)


def run_predict(model_path: Path, data: str, out: Path, *, with_data, separator, encoding) -> None:
    """Decide the rows of a table with a saved model."""
    from stakes.compare import load_model, write_atomically

    if not model_path.exists():
        raise UserError(f"there is no file {model_path}.")
    if model_path.is_dir():
        raise UserError(f"{model_path} is a folder, not a model file.")
    check_writable(out)
    model = load_model(model_path)
    table = read_table(data, separator=separator, encoding=encoding)
    tensor = None
    if model.situation == "B1":
        recipe = model.info.get("prices", {})
        if recipe.get("kind") == "binary":
            tensor = tensor_again(recipe, table)
        elif table.cost_tensor is not None:
            tensor = table.cost_tensor
        else:
            raise UserError(
                f"the model decides by the prices of each row, which {table.name} does not have."
            )
    decided = model.decide(table.frame, cost_tensor=tensor)
    if with_data:
        import pandas as pd

        decided = pd.concat([table.frame.reset_index(drop=True), decided], axis=1)
    write_atomically(out, decided.to_csv(index=not with_data, index_label="row"))
    expected = float(decided["expected_cost"].sum())
    say(f"{len(decided):,} rows decided by {model.method}; expected cost in sum {expected:,.6g}.")
    console().print(f"Written: [bold]{out}[/bold]", soft_wrap=True, highlight=False)


def check_writable(path: Path) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    folder = path.parent if str(path.parent) else Path()
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file to write.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".stakes-"):
            pass
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}.") from None
    if path.exists() and not os.access(path, os.W_OK):
        raise UserError(f"{path} cannot be written: it is read-only.")


def split_names(methods: list[str] | None) -> list[str] | None:
    """Return names given by repetition, by commas, or both."""
    if not methods:
        return None
    names = [name.strip() for part in methods for name in part.split(",") if name.strip()]
    return list(dict.fromkeys(names))


def command_line() -> str:
    """Return the command as it could be typed again."""
    return shlex.join(["stakes", *sys.argv[1:]])
