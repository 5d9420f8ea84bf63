"""The experiments of five documents, by their own protocols, beside their own figures."""

from stakes.reproduce._page import render_page, write_page
from stakes.reproduce._run import (
    PAPERS,
    experiments_of,
    load_results,
    plan,
    reproduce,
    save_results,
    stored_cells,
    summary,
)
from stakes.reproduce._table import Cell, summarize

__all__ = [
    "PAPERS",
    "Cell",
    "experiments_of",
    "load_results",
    "plan",
    "render_page",
    "reproduce",
    "save_results",
    "stored_cells",
    "summarize",
    "summary",
    "write_page",
]
