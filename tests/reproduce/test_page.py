"""The stored results and the page made from them."""

from pathlib import Path

import pytest

from stakes.reproduce import (
    check_claims,
    load_readings,
    load_results,
    readings_of,
    render_page,
)
from stakes.reproduce._claims import seed_share
from stakes.reproduce._notes import read_notes
from stakes.reproduce._published import published_tables

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
PAPERS = ("abe2004", "koco2013", "zhang2005", "obrien2008")


def test_the_page_is_what_the_command_makes_of_the_results():
    page = (ROOT / "docs" / "reproduction.md").read_text()
    made = render_page(load_results(RESULTS), load_readings(RESULTS))
    assert page == made, "run: stakes reproduce --page docs/reproduction.md"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_cell_has_a_figure_of_ours(paper):
    stored = {c.key for c in load_results(RESULTS)[paper]}
    missing = [
        (table, c.task, c.method, c.metric)
        for table, cells in published_tables(paper).items()
        for c in cells
        if (table, c.task, c.method, c.metric) not in stored
    ]
    assert missing == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_short_cell_says_why_and_no_note_is_left_over(paper):
    cells = load_results(RESULTS)[paper]
    unexplained = [c for c in cells if c.verdict == "short" and not c.note]
    assert unexplained == []
    there = {c.key for c in cells}
    assert set(read_notes(paper)) <= there


@pytest.mark.parametrize("paper", PAPERS)
def test_every_other_reading_has_stored_results(paper):
    stored = {reading for name, reading in load_readings(RESULTS) if name == paper}
    assert stored == set(readings_of(paper))


def test_the_orderings_that_carry_the_papers_claims():
    claims = check_claims(load_results(RESULTS))
    assert len(claims) == 9
    assert [c.text for c in claims if not c.held] == []


def test_the_readme_gives_the_share_that_was_reached():
    cells = [c for found in load_results(RESULTS).values() for c in found]
    good, total = seed_share(cells)
    assert f"{good} of {total}" in " ".join((ROOT / "README.md").read_text().split())
