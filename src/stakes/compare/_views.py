"""A comparison as a page, JSON, CSV: functions of a `Comparison`, which has them as methods."""

import json
import os
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from stakes.utils._files import write_atomically
from stakes.utils._formulas import harmless

# Ways to show a comparison; the page of `stakes.report` is entered under "html".
VIEWS = "stakes.views"


def to_html(comparison: Any, path: str | os.PathLike | None = None, **options: Any) -> str | None:
    """Write the page that a manager can play with, or return it as text.

    Parameters
    ----------
    path : path-like, default=None
        Where to; None returns the page.
    **options : dict
        Those of `stakes.report.render_page`: `command`, `image_shape`, `title`, `private`,
        `importance`.
    """
    # The report reads comparisons and not the other way round: it enters itself as a view.
    views = list(entry_points(group=VIEWS, name="html"))
    if not views:
        raise RuntimeError("The page is not installed: install stakes itself, by pip.")
    return _written(views[0].load()(comparison, **options), path)


def to_dict(comparison: Any) -> dict:
    """Return everything worth keeping as plain values."""
    finite = comparison.table.reset_index().replace([np.inf, -np.inf, np.nan], None)
    return {
        "name": comparison.name,
        "kind": comparison.kind,
        "n_examples": len(comparison.tested),
        "classes": comparison.classes.tolist(),
        "decisions": list(comparison.decisions),
        "class_counts": np.bincount(comparison.problem.y).tolist(),
        "cost_matrix": comparison.cost_matrix.tolist(),
        "currency": comparison.currency,
        "baseline": comparison.baseline,
        "recommended": comparison.recommended,
        "clear": comparison.clear,
        "as_good": comparison.as_good,
        "reason": comparison.reason,
        "methods": finite.to_dict(orient="records"),
        "break_even": _break_even_dict(comparison),
        "confusion": {m: comparison.confusion(m).tolist() for m in comparison.finished},
        "protocol": comparison.protocol,
        "check": None if comparison.check is None else comparison.check.to_dict(),
    }


def _break_even_dict(comparison: Any) -> list[dict]:
    table = comparison.break_even().reset_index()
    return (
        table.replace([np.inf, -np.inf], np.nan)
        .astype(object)
        .where(table.notna() & ~table.isin([np.inf, -np.inf]), None)
        .to_dict(orient="records")
    )


def to_json(comparison: Any, path: str | os.PathLike | None = None) -> str | None:
    """Write `to_dict` as JSON, or return it."""
    text = json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False, default=int)
    return _written(text + "\n", path)


def to_csv(comparison: Any, path: str | os.PathLike | None = None) -> str | None:
    """Write the table, unrounded, or return it.

    Text that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    table = comparison.table
    words = [name for name, kind in table.dtypes.items() if kind.kind == "O"]
    cells = [cell for name in words for cell in table[name].tolist()]
    if any(harmless(text) is not text for text in [*table.index, *table.columns, *cells]):
        table = table.assign(**table[words].map(harmless))
        table = table.rename(index=harmless, columns=harmless)
    return _written(table.to_csv(), path)


def _written(text: str, path: str | os.PathLike | None) -> str | None:
    """Write a text, or return it where there is no path."""
    if path is None:
        return text
    write_atomically(path, text)
    return None
