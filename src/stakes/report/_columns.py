"""What the page says of columns and rows: groups, importance, the data check, single mistakes."""

import shlex
from typing import Any

import numpy as np

from stakes.compare import Comparison
from stakes.compare.columns import MAX_COLUMNS, column_names, column_values, group_rows
from stakes.compare.words import Money, fixed, percent, price_digits, short_label, title_of
from stakes.report._images import image_uri
from stakes.report._payload import sample_rows
from stakes.tables import findings_said, looks_like_identifier, truth_words
from stakes.utils._frames import is_frame

MAX_MISTAKES = 12
MAX_FEATURES = 8
MAX_GROUPED, GROUPED_ROWS = 10, 2_000_000
MAX_SHOWN = 12
COLUMN_LETTERS = 40
# To see what a column is like.
ROWS_LOOKED_AT = 20_000


def identifier_columns(comparison: Comparison) -> list[int]:
    """Return the columns that look like identifiers, as positions."""
    X, rows = comparison.problem.X, sample_rows(comparison, ROWS_LOOKED_AT)
    if not is_frame(X):  # an array of numbers: whole ones are counts, not identifiers
        return []
    names = enumerate(column_names(X))
    return [c for c, name in names if looks_like_identifier(column_values(X, c, rows), name)]


def words_in_file(comparison: Comparison) -> dict[str, dict[str, str]]:
    """Return for columns of truth values what stood in the file for true and false."""
    columns = [] if comparison.check is None else comparison.check.columns
    return {
        column.name: {str(value): word for value, word in truth_words(column.truth).items()}
        for column in columns
    }


def summarize_groups(comparison: Comparison, money: Money, columns: list[int]) -> list[dict]:
    """Return the costs by groups of some columns, the ones where groups differ most first."""
    X, rows = comparison.problem.X, sample_rows(comparison, ROWS_LOOKED_AT)
    paid = comparison.results[comparison.recommended].paid[rows]
    spread: dict[int, float] = {}
    for c in columns[:MAX_COLUMNS]:
        values = column_values(X, c, rows)
        if values is None:
            return []
        names, codes = group_rows(values)
        if len(names) < 2:
            continue
        counts, sums = np.bincount(codes), np.bincount(codes, weights=paid)
        means = sums / counts  # by one group more, the spread grows by chance: it is shared out
        spread[c] = float((counts * (means - paid.mean()) ** 2).sum() / (len(names) - 1))
    # The more rows, the longer each column takes: fewer of them where rows are many.
    most = int(np.clip(GROUPED_ROWS / len(comparison.tested), 3, MAX_GROUPED))
    chosen = sorted(spread, key=lambda c: -spread[c])[:most]
    names = column_names(X)
    return [_group(comparison, money, names[c]) for c in chosen]


def _group(comparison: Comparison, money: Money, column: str) -> dict[str, Any]:
    table = comparison.by_group(column)
    saves = comparison.recommended != comparison.baseline
    words = words_in_file(comparison).get(column, {})
    high = float(max(table["high"].max(), 1e-300))
    rows = [
        {
            "name": short_label(words.get(name, name), COLUMN_LETTERS),
            "n": fixed(row.n, 0),
            "cost": money(row.cost),
            "interval": f"{money(row.low)} to {money(row.high)}",
            "total": money.sum(row.total),
            "saving": money(-row.difference) if saves else "–",
            "saving_interval": f"{money(-row.difference_high)} to {money(-row.difference_low)}"
            if saves
            else "",
            "at": round(100 * max(0.0, row.cost) / high, 2),
            "low": round(100 * max(0.0, row.low) / high, 2),
            "width": round(100 * max(0.0, row.high - max(0.0, row.low)) / high, 2),
        }
        for name, row in zip(table.index, table.itertuples())
    ]
    return {"column": short_label(column, COLUMN_LETTERS), "rows": rows}


def summarize_importance(
    comparison: Comparison, money: Money, columns: list[int]
) -> dict[str, Any] | None:
    """Return which columns move the money, or why that is not known."""
    method = comparison.recommended
    work = comparison.work
    known = [] if work is None else [m.name for m in work.methods.values()]
    if method not in known or method == "constant":  # today's decisions are no model
        able = [m for m in comparison.finished if m in known and m != "constant"]
        if not able:
            return None
        cost = dict(zip(comparison.finished, comparison.intervals.mean))
        method = min(able, key=lambda name: cost[name])
    summary: dict[str, Any] = {"title": title_of(comparison, method), "rows": [], "reason": ""}
    try:
        table = comparison.importance(method)
    except Exception as error:  # the page does without it, and says so
        return {**summary, "reason": str(error)}
    names, n = column_names(comparison.problem.X), len(comparison.tested)
    shown = {names[c] for c in columns}
    table = table[table.index.isin(shown)].iloc[:MAX_SHOWN]
    low, high = float(min(table["low"].min(), 0.0)), float(table["high"].max())
    unit = 100 / ((high - low) or 1.0)
    summary["zero"] = round(-low * unit, 2)
    summary["rows"] = [
        {
            "column": short_label(name, COLUMN_LETTERS),
            "cost": money(row.cost),
            "interval": f"{money(row.low)} to {money(row.high)}",
            "total": money.sum(row.cost * n),
            "at": round((row.cost - low) * unit, 2),
            "low": round((row.low - low) * unit, 2),
            "width": round((row.high - row.low) * unit, 2),
            "clear": row.low > 0,
        }
        for name, row in zip(table.index, table.itertuples())
    ]
    summary["left_out"] = len(names) - len(table)
    summary["first"] = MAX_COLUMNS if len(names) > MAX_COLUMNS else 0
    return summary


def summarize_check(comparison: Comparison, *, private: bool = False) -> dict[str, Any] | None:
    """Return what the data check found, where there was one; its words may quote the data."""
    check = comparison.check
    if check is None:
        return None
    drop = shlex.join(check.drop_options)
    said = {
        kind: [short_label(text, 600)["short"] for text in findings_said(findings)]
        for kind, findings in (
            ("warnings", check.warnings),
            ("notes", check.notes),
        )
    }
    return {
        "n_findings": len(check.findings),
        "n_warnings": len(check.warnings),
        **({"warnings": [], "notes": []} if private else said),
        "drop": "" if private or not check.drop else short_label(drop, 600)["short"],
        "columns": [
            {
                "name": short_label(row.name, COLUMN_LETTERS),
                "read_as": short_label(row.read_as)["short"],
                "missing": percent(row.missing),
                "notes": short_label(row.notes, 200)["short"] if row.notes and not private else "",
            }
            for row in check.columns[:MAX_COLUMNS]
            if not (private and "identifier" in row.notes)
        ],
    }


def summarize_mistakes(
    comparison: Comparison,
    money: Money,
    labels: list[dict],
    decisions: list[dict],
    columns: list[int],
    *,
    image_shape: tuple[int, int] | None = None,
    private: bool = False,
) -> dict[str, Any]:
    """Return the wrong decisions that cost most; their rows only where they may be seen."""
    result = comparison.results[comparison.recommended]
    y, X = comparison.problem.y, comparison.problem.X
    rows = comparison.tested
    wrong = rows[comparison.wrong(comparison.recommended)]
    order = wrong[np.argsort(-result.paid[wrong], kind="stable")][:MAX_MISTAKES]
    cells = X.iloc if is_frame(X) else X
    shown = [] if image_shape or private else columns[:MAX_FEATURES]
    names, prices = column_names(X), money.prices(result.paid[order])
    words = words_in_file(comparison)
    texts = {
        c: _texts([cells[row, c] for row in order.tolist()], words.get(names[c], {}))
        for c in shown
    }
    items = [
        {
            "row": "" if private else fixed(row + 1, 0),
            "truth": labels[y[row]],
            "decided": decisions[result.decisions[row]],
            "cost": cost,
            "believed": "" if result.proba is None else percent(result.proba[row, y[row]]),
            "features": [texts[c][place] for c in shown],
            "image": image_uri(cells[row], image_shape) if image_shape and not private else "",
        }
        for place, (row, cost) in enumerate(zip(order.tolist(), prices))
    ]
    return {
        "title": title_of(comparison, comparison.recommended),
        "n_wrong": fixed(len(wrong), 0),
        "items": items,
        "columns": [
            {"label": short_label(names[c], 20), "number": _holds_numbers(X, c)} for c in shown
        ],
        "more": 0 if image_shape or private else len(columns) - len(shown),
    }


def _holds_numbers(X: Any, column: int) -> bool:
    values = column_values(X, column, np.arange(0))
    return values is None or values.dtype.kind in "fiu"


def _texts(values: list, words: dict[str, str]) -> list[str]:
    """Return the values of a column as people read them, numbers all with the same digits."""
    numbers = [v for v in values if isinstance(v, (float, np.floating)) and np.isfinite(v)]
    digits = price_digits(numbers) if numbers else 0

    def text(value: Any) -> str:
        if value is None or value != value:
            return "missing"
        if isinstance(value, (float, np.floating)):
            return Money(each=digits)(float(value))
        said = str(value).removesuffix(" 00:00:00")
        return short_label(words.get(said, said), 40)["short"]

    return [text(value) for value in values]
