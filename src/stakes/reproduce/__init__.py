"""The experiments of five documents, by their own protocols, beside their own figures."""

from stakes.reproduce._base_learners import (
    FeatureQuantizer,
    RegularizedQDA,
    quantized_naive_bayes,
)
from stakes.reproduce._claims import check_claims
from stakes.reproduce._figures import draw_figure, draw_figures
from stakes.reproduce._page import render_page, write_page
from stakes.reproduce._run import (
    PAPERS,
    experiments_of,
    load_readings,
    load_results,
    plan,
    readings_of,
    reproduce,
    save_results,
    stored_cells,
    summary,
)
from stakes.reproduce._table import Cell

__all__ = [
    "PAPERS",
    "Cell",
    "FeatureQuantizer",
    "RegularizedQDA",
    "check_claims",
    "draw_figure",
    "draw_figures",
    "experiments_of",
    "load_readings",
    "load_results",
    "plan",
    "quantized_naive_bayes",
    "readings_of",
    "render_page",
    "reproduce",
    "save_results",
    "stored_cells",
    "summary",
    "write_page",
]
